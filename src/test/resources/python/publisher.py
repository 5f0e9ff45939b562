"""An engine's event socket by libzmq and Python's msgpack, played from outside.

Commands come on stdin, one JSON object a line; each is answered by one line on stdout.
Byte strings inside a payload are written {"$hex": "00ff"}.

  {"op": "serve", "endpoint": "tcp://127.0.0.1:*", "hwm": 1000}  -> {"endpoint": "tcp://..."}
  {"op": "connect", "endpoint": "tcp://127.0.0.1:5557"}          -> {"endpoint": "tcp://..."}
  {"op": "await"}           waits for a new subscriber           -> {"subscribed": true}
  {"op": "send", "sequence": 0, "payloads": [tree, ...]}         -> {"next": 1}
  {"op": "frames", "frames": ["hex", ...]}                       -> {}
  {"op": "close"}                                                -> {}
"""

import json
import struct
import sys

import msgpack
import zmq

PATIENCE_MS = 60_000


def tree(value):
    if isinstance(value, dict):
        if list(value) == ["$hex"]:
            return bytes.fromhex(value["$hex"])
        return {key: tree(item) for key, item in value.items()}
    if isinstance(value, list):
        return [tree(item) for item in value]
    return value


class Publisher:
    def __init__(self):
        self.context = zmq.Context()
        self.socket = None

    def open(self, hwm):
        self.socket = self.context.socket(zmq.XPUB)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.IPV6, 1)
        self.socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        self.socket.setsockopt(zmq.SNDHWM, hwm)

    def serve(self, endpoint, hwm=1000):
        self.open(hwm)
        self.socket.bind(endpoint)
        return {"endpoint": self.socket.getsockopt_string(zmq.LAST_ENDPOINT)}

    def connect(self, endpoint, hwm=1000):
        self.open(hwm)
        self.socket.connect(endpoint)
        return {"endpoint": endpoint}

    def wait(self):
        while self.socket.poll(PATIENCE_MS):
            if self.socket.recv()[:1] == b"\x01":
                return {"subscribed": True}
        return {"subscribed": False}

    def send(self, sequence, payloads):
        for payload in payloads:
            packed = msgpack.packb(tree(payload))
            self.socket.send_multipart([b"kv-events", struct.pack(">q", sequence), packed])
            sequence += 1
        return {"next": sequence}

    def frames(self, frames):
        self.socket.send_multipart([bytes.fromhex(frame) for frame in frames])
        return {}

    def close(self):
        self.socket.close()
        return {}


def main():
    publisher = Publisher()
    commands = {
        "serve": publisher.serve,
        "connect": publisher.connect,
        "await": publisher.wait,
        "send": publisher.send,
        "frames": publisher.frames,
        "close": publisher.close,
    }
    for line in sys.stdin:
        command = json.loads(line)
        answer = commands[command.pop("op")](**command)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
