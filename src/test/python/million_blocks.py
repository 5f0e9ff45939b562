#!/usr/bin/env python3
"""A million blocks from libzmq into a running Baton, every answer checked.

Start Baton (the README's command), then: /usr/bin/python3 src/test/python/million_blocks.py [URL]
Needs python3-zmq and python3-msgpack. Publishes 1,000,000 blocks of 16 tokens as vLLM does, in batches of 64,
while it keeps querying; then asks for all of them. Prints what it took; exits with 1 at the first wrong answer.
"""

import hashlib
import http.client
import struct
import sys
import time
from urllib.parse import urlparse

import msgpack
import zmq

BLOCK = 16
BATCH = 64
BLOCKS = 1_000_000
PROMPT_BLOCKS = 62_500  # a million tokens
URL = urlparse(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:13333")
PROFILE = {
    "strategy": "vllm_v1",
    "algorithm": "sha256_cbor",
    "python_hash_seed": "0",
    "index_projection": "low64_be",
}


def head(major, value):
    if value < 24:
        return bytes([major << 5 | value])
    if value < 256:
        return bytes([major << 5 | 24, value])
    if value < 65536:
        return struct.pack(">BH", major << 5 | 25, value)
    return struct.pack(">BI", major << 5 | 26, value)


SMALL = [head(0, i) for i in range(65536)]


def chain(tokens):
    """The keys of a prompt's complete blocks."""
    digest = hashlib.sha256(head(3, 1) + b"0").digest()
    keys = []
    for at in range(0, len(tokens) - BLOCK + 1, BLOCK):
        body = b"".join(SMALL[t] if t < 65536 else head(0, t) for t in tokens[at : at + BLOCK])
        digest = hashlib.sha256(b"\x83\x58\x20" + digest + b"\x90" + body + b"\xf6").digest()
        keys.append(int.from_bytes(digest[24:], "big"))
    return keys


class Baton:
    def __init__(self):
        self.connection = http.client.HTTPConnection(URL.hostname, URL.port, timeout=60)

    def call(self, path, body):
        start = time.perf_counter()
        self.connection.request(
            "POST", path, msgpack.packb(body), {"Content-Type": "application/msgpack"}
        )
        reply = self.connection.getresponse()
        data = reply.read()
        seconds = time.perf_counter() - start
        if reply.status != 200:
            sys.exit(f"{path}: {reply.status} {msgpack.unpackb(data)}")
        return msgpack.unpackb(data), seconds

    def depth(self, tokens):
        packed = struct.pack(f"<{len(tokens)}i", *tokens)
        answer, seconds = self.call(
            "/query", {"model": "million", "block_size": BLOCK, "token_ids": packed}
        )
        hit = answer["instances"]["libzmq-0"]
        if hit["device"] != hit["longest_matched"] or hit["dp"]["0"] != hit["device"]:
            sys.exit(f"tiers disagree: {hit}")
        return hit["device"], seconds


def main():
    prompts = []
    for i in range(BLOCKS // PROMPT_BLOCKS):
        prompts.append([(t * 7 + i * 1009) % 128_000 for t in range(PROMPT_BLOCKS * BLOCK)])
        prompts[-1][0] = i
    keys = [chain(p) for p in prompts]
    print(f"{sum(map(len, keys))} blocks hashed here")

    context = zmq.Context()
    socket = context.socket(zmq.XPUB)
    socket.sndhwm = 0
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    baton = Baton()
    baton.call(
        "/register",
        {
            "endpoint": f"tcp://127.0.0.1:{port}",
            "type": "vLLM",
            "modelname": "million",
            "instance_id": "libzmq-0",
            "block_size": BLOCK,
            "dp_rank": 0,
            "hash_profile": PROFILE,
        },
    )
    socket.recv()  # the subscription

    start = time.perf_counter()
    sequence = 0
    during = []
    for prompt, prompt_keys in zip(prompts, keys):
        for at in range(0, len(prompt_keys), BATCH):
            event = {
                "type": "BlockStored",
                "block_hashes": prompt_keys[at : at + BATCH],
                "parent_block_hash": prompt_keys[at - 1] if at else None,
                "token_ids": prompt[at * BLOCK : (at + BATCH) * BLOCK],
                "block_size": BLOCK,
                "lora_id": None,
                "medium": "GPU",
                "lora_name": None,
            }
            payload = msgpack.packb([time.time(), [event], 0])
            socket.send_multipart([b"kv", struct.pack(">Q", sequence), payload])
            sequence += 1
            if sequence % 64 == 0:
                sent = (at + BATCH) * BLOCK
                depth, seconds = baton.depth(prompt[:8192])
                if depth > min(sent, 8192):
                    sys.exit(f"a false hit: {depth} tokens before they were published")
                during.append(seconds)
    published = time.perf_counter() - start

    deadline = time.perf_counter() + 60
    while baton.depth(prompts[-1])[0] < len(prompts[-1]):
        if time.perf_counter() > deadline:
            sys.exit("the last prompt did not become visible")
    visible = time.perf_counter() - start

    full = []
    for prompt in prompts:
        depth, seconds = baton.depth(prompt)
        if depth != len(prompt):
            sys.exit(f"only {depth} of {len(prompt)} tokens")
        full.append(seconds)
        never = list(prompt)
        never[-BLOCK] += 1
        if baton.depth(never)[0] != len(prompt) - BLOCK:
            sys.exit("a wrong answer for a prompt whose last block was never published")
    if baton.depth([99] + prompts[0][1:])[0] != 0:
        sys.exit("a false hit on a prompt that was never published")

    during.sort()
    full.sort()
    print(f"{sequence} batches, {BLOCKS} blocks published in {published:.1f} s, all visible after {visible:.1f} s")
    print(
        f"{len(during)} queries of 8,192 tokens meanwhile: median {during[len(during) // 2] * 1e3:.2f} ms,"
        f" p99 {during[len(during) * 99 // 100] * 1e3:.2f} ms"
    )
    print(f"query of 1,000,000 tokens, all hit: median {full[len(full) // 2] * 1e3:.1f} ms, best {full[0] * 1e3:.1f} ms")
    baton.call("/unregister", {"instance_id": "libzmq-0", "dp_rank": 0})
    print("all answers were right")


main()
