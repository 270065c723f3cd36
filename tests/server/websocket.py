# SPDX-License-Identifier: Apache-2.0
"""A WebSocket as small as the tests need it: RFC 6455 from the client's side, over a unix socket or TCP."""
import base64
import hashlib
import json
import os
import socket
import struct

from hutchd import Failed

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


class Refused(Failed):
    def __init__(self, status, head):
        super().__init__(f"no WebSocket: {head!r}")
        self.status = status


class WebSocket:
    def __init__(self, address, path, token=None, protocol="hutch.v1", timeout=30, receive_bytes=None):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.came = b""
        self.shake_hands(path, token, protocol)

    def shake_hands(self, path, token, protocol):
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}",
                 "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Protocol: {protocol}"]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        while b"\r\n\r\n" not in self.came:
            self.fill()
        head, self.came = self.came.split(b"\r\n\r\n", 1)
        status = int(head.split()[1])
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        if status != 101:
            raise Refused(status, head)
        if accept not in head or protocol.encode() not in head:
            raise Failed(f"a handshake that does not fit: {head!r}")

    def fill(self):
        more = self.socket.recv(1 << 16)
        if not more:
            raise Failed("the other side is gone")
        self.came += more

    def take(self, length):
        while len(self.came) < length:
            self.fill()
        data, self.came = self.came[:length], self.came[length:]
        return data

    def send(self, opcode, data=b""):
        mask = os.urandom(4)
        size = len(data)
        head = bytes([0x80 | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        repeated = mask * (size // 4 + 1)
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(repeated[:size], "big")).to_bytes(size, "big")
        self.socket.sendall(head + mask + masked)

    def write(self, data):
        self.send(BINARY, data)

    def order(self, **what):
        self.send(TEXT, json.dumps(what).encode())

    def frame(self):
        first, second = self.take(2)
        size = second & 0x7f
        if second & 0x80:
            raise Failed("a server's frame is masked")
        if size == 126:
            (size,) = struct.unpack(">H", self.take(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self.take(8))
        return first & 0x80, first & 15, self.take(size)

    def receive(self):
        """(TEXT, object), (BINARY, bytes) or (CLOSE, code)."""
        whole, kind = b"", None
        while True:
            final, opcode, data = self.frame()
            if opcode == PING:
                self.send(PONG, data)
            elif opcode == CLOSE:
                self.send(CLOSE, data[:2])
                return CLOSE, struct.unpack(">H", data[:2])[0] if data else 1005
            elif opcode != PONG:
                kind = opcode if opcode else kind
                whole += data
                if final:
                    return kind, json.loads(whole) if kind == TEXT else whole

    def close(self):
        self.socket.close()


def session(socket_of, session_path, offset=0, token=None, **options):
    return WebSocket(socket_of, f"{session_path}/attach?from={offset}", token, **options)


def read_to_end(web):
    """What both streams said, the last offset, the messages in text, the code that it was closed with."""
    said, offset, texts = {1: b"", 2: b""}, None, []
    while True:
        kind, data = web.receive()
        if kind == BINARY:
            said[data[0]] += data[9:]
            (offset,) = struct.unpack(">Q", data[1:9])
        elif kind == TEXT:
            texts.append(data)
        else:
            return said, offset, texts, data
