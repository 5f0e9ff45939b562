#!/usr/bin/env python3
"""What a query of 8,192 tokens costs over RPC and over HTTP with MessagePack, side by side, every answer checked.

Start Baton, then: /usr/bin/python3 src/test/python/rpc_cost.py PID [HTTP_PORT RPC_PORT]
Needs python3-zmq and python3-msgpack. Both channels ask for the same prompt, of which one engine holds every block,
in alternating rounds over one connection each; CPU is the server process's own, from /proc.
"""

import hashlib
import os
import socket
import struct
import sys
import time

import msgpack
import zmq

PID = int(sys.argv[1])
HTTP_PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 13333
RPC_PORT = int(sys.argv[3]) if len(sys.argv) > 3 else 13334
BLOCK, TOKENS, ROUNDS, CALLS = 16, 8192, 10, 500
PROFILE = {
    "strategy": "sglang",
    "algorithm": "sha256_raw",
    "python_hash_seed": "0",
    "index_projection": "first64_be",
}
PROMPT = [(i * 7) % 128_000 for i in range(TOKENS)]


def keys():
    digest, found = b"", []
    for at in range(0, TOKENS, BLOCK):
        digest = hashlib.sha256(digest + struct.pack("<16I", *PROMPT[at : at + BLOCK])).digest()
        found.append(int.from_bytes(digest[:8], "big"))
    return found


def http_request(path, body):
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def http_call(sock, request):
    sock.sendall(request)
    data = b""
    while b"\r\n\r\n" not in data:
        data += sock.recv(65536)
    head, body = data.split(b"\r\n\r\n", 1)
    length = int([h for h in head.split(b"\r\n") if h.lower().startswith(b"content-length")][0].split(b":")[1])
    while len(body) < length:
        body += sock.recv(65536)
    if not head.startswith(b"HTTP/1.1 200"):
        sys.exit(f"{head} {body}")
    return msgpack.unpackb(body)


def rpc_request(seq):
    def text(value):
        return struct.pack("<H", len(value)) + value

    payload = text(b"") + text(b"cost") + text(b"") + struct.pack("<q", BLOCK)
    payload += struct.pack("<H", TOKENS) + struct.pack(f"<{TOKENS}i", *PROMPT) + b"\x00\x00"
    body = struct.pack("<I", 0xF9001A1C | 1) + bytes([1 << 3]) + payload
    return struct.pack("<BBBBIIII", 0x15, 0, 0, 0, seq, 0x479276FF, len(body), 0) + body


def rpc_call(sock, request):
    sock.sendall(request)
    data = b""
    while len(data) < 16:
        data += sock.recv(65536)
    _, _, code, _, _, length, _ = struct.unpack("<BBBBIII", data[:16])
    while len(data) < 16 + length:
        data += sock.recv(65536)
    # hash, 1 for a value, one instance "e": its longest match is the first number
    if code or data[20:22] != b"\x01\x01" or struct.unpack("<q", data[24:32])[0] != TOKENS:
        sys.exit(f"a wrong answer over RPC: {data.hex()}")


def cpu():
    fields = open(f"/proc/{PID}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    http = socket.create_connection(("127.0.0.1", HTTP_PORT))
    rpc = socket.create_connection(("127.0.0.1", RPC_PORT))
    for sock in (http, rpc):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    publisher = zmq.Context().socket(zmq.XPUB)
    port = publisher.bind_to_random_port("tcp://127.0.0.1")
    registration = {
        "endpoint": f"tcp://127.0.0.1:{port}",
        "type": "SGLang",
        "modelname": "cost",
        "instance_id": "e",
        "block_size": BLOCK,
        "dp_rank": 0,
        "hash_profile": PROFILE,
    }
    http_call(http, http_request("/register", msgpack.packb(registration)))
    publisher.recv()
    event = ["BlockStored", keys(), None, [], BLOCK, None, "GPU"]
    publisher.send_multipart([b"kv", struct.pack(">Q", 0), msgpack.packb([1.0, [event], 0])])
    packed = struct.pack(f"<{TOKENS}i", *PROMPT)
    query = {"model": "cost", "block_size": BLOCK, "token_ids": packed}
    http_query, rpc_query = http_request("/query", msgpack.packb(query)), rpc_request(1)

    def over_http():
        if http_call(http, http_query)["instances"]["e"]["longest_matched"] != TOKENS:
            sys.exit("a wrong answer over HTTP")

    def over_rpc():
        rpc_call(rpc, rpc_query)

    deadline = time.time() + 10
    while http_call(http, http_query)["instances"]["e"]["longest_matched"] != TOKENS:
        if time.time() > deadline:
            sys.exit("the blocks did not become visible")
    for _ in range(3000):
        over_http()
        over_rpc()

    times = {"HTTP/MessagePack": [], "RPC": []}
    used = dict.fromkeys(times, 0.0)
    for _ in range(ROUNDS):
        for name, call in (("HTTP/MessagePack", over_http), ("RPC", over_rpc)):
            before = cpu()
            for _ in range(CALLS):
                start = time.perf_counter()
                call()
                times[name].append(time.perf_counter() - start)
            used[name] += cpu() - before
    for name, seconds in times.items():
        seconds.sort()
        print(
            f"{name}: median {seconds[len(seconds) // 2] * 1e6:.0f} us,"
            f" p99 {seconds[len(seconds) * 99 // 100] * 1e6:.0f} us,"
            f" server CPU {used[name] / len(seconds) * 1e6:.0f} us a query ({len(seconds)} queries)"
        )
    http_call(http, http_request("/unregister", msgpack.packb({"instance_id": "e", "dp_rank": 0})))


main()
