#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What answers where a daemon should be: one lie a call. liar.py SOCKET LIE listens on a unix socket; each lie is a function of this file
that gets a connection with its request read. Prints a line when it listens, and one for each request."""
import base64
import hashlib
import json
import os
import socket
import struct
import sys
import threading

SANDBOX = {"id": "0123456789abcdef", "sandbox_id": "0123456789abcdef", "name": "box", "state": "running", "status": "running",
           "created": None, "created_ms": 1, "started_ms": 1, "ended_ms": None, "spec": {}}
RESULT = {"id": "00ff", "reason": "exited", "exit_code": 7, "signal": None, "ok": False, "duration_ms": 5, "usage": {}, "isolation": {}}
calls = {}


class Request:
    def __init__(self, connection):
        self.connection = connection
        self.file = connection.makefile("rb")
        line = self.file.readline().decode("latin-1").split()
        self.method, self.path = (line + ["", ""])[:2]
        self.headers = {}
        for row in iter(self.file.readline, b"\r\n"):
            if not row:
                break
            key, _, value = row.decode("latin-1").partition(":")
            self.headers[key.strip().lower()] = value.strip()
        self.body = self.file.read(int(self.headers.get("content-length", 0)))
        print(self.method, self.path, flush=True)

    def send(self, data):
        self.connection.sendall(data)

    def answer(self, body, status="200 OK", kind="application/json", more=""):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send(f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)

    def stream(self, *rows):
        self.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
        for row in rows:
            self.chunk(row)

    def chunk(self, row):
        row = row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n"
        self.send(b"%x\r\n%s\r\n" % (len(row), row))

    def websocket(self, accept=None):
        key = self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = accept or base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: hutch.v1\r\n"
                  b"Sec-WebSocket-Accept: " + accept.encode() + b"\r\n\r\n")

    def frame(self, data, opcode=2):
        head = bytes([0x80 | opcode])
        if len(data) < 126:
            head += bytes([len(data)])
        else:
            head += bytes([126]) + struct.pack(">H", len(data)) if len(data) < 65536 else bytes([127]) + struct.pack(">Q", len(data))
        self.send(head + data)

    def piece(self, text, after, stream=1):
        self.frame(bytes([stream]) + struct.pack(">Q", after) + text)

    def result(self, **changes):
        self.frame(json.dumps({"type": "result", "result": {**RESULT, **changes}}).encode(), 1)
        self.frame(struct.pack(">H", 1000), 8)


# --- answers ----------------------------------------------------------------------------------------------------------------

def no_json(request):
    request.answer(b"<html>It works!</html>", kind="text/html")


def no_http(request):
    request.send(b"SSH-2.0-OpenSSH_9.2\r\n")


def other_server(request):
    request.answer(b"<html>404</html>", "404 Not Found", "text/html")


def proxy(request):
    request.answer(b"bad gateway", "502 Bad Gateway", "text/plain")


def redirect(request):
    request.answer(b"", "302 Found", more="Location: http://127.0.0.1:1/\r\n")


def wrong_token(request):
    request.answer({"status": 401, "title": "Unauthorized", "detail": "no", "code": "unauthorized"}, "401 Unauthorized")


def escapes(request):
    request.answer({"status": 409, "title": "x", "detail": "one\x1b[31m\ntwo\x9b2J", "code": "conflict"}, "409 Conflict", "application/problem+json")


def conflict(request):
    request.answer({"status": 409, "title": "x", "detail": "it is taken", "code": "conflict"}, "409 Conflict", "application/problem+json")


def no_command(request):
    request.answer({"status": 422, "title": "x", "detail": "'nix' is not in the sandbox", "code": "no_command"}, "422 Unprocessable", "application/problem+json")


def hangs_up(request):
    pass


def half(request):
    request.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"sandboxes\":")


def endless(request):
    request.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"%x\r\n%s\r\n" % (1 << 20, b"[" * (1 << 20))
    while True:
        request.send(piece)


def deep(request):
    request.answer(b"[" * 100000 + b"]" * 100000)


def other_version(request):
    request.answer({"boxes": []})


def strange_names(request):
    request.answer({"sandboxes": [{**SANDBOX, "name": "a\x1b[31m" * 100, "state": "x" * 4000}, {**SANDBOX, "name": 7}]})


def long_line(request):
    request.stream()
    while True:
        request.chunk(b"{" * 65536)


def cut_run(request):
    request.stream({"stream": "stdout", "offset": 3, "data": "abc"})


def no_result(request):
    request.stream({"stream": "stdout", "offset": 3, "data": "abc"})
    request.send(b"0\r\n\r\n")


def bad_base64(request):
    request.stream({"stream": "stdout", "offset": 3, "data": "a!", "encoding": "base64"}, {"result": RESULT})
    request.send(b"0\r\n\r\n")


def bad_result(request):
    request.stream({"result": {"reason": "tired", "exit_code": 0}})
    request.send(b"0\r\n\r\n")


def bad_exit(request):
    request.stream({"result": {**RESULT, "exit_code": 123456}})
    request.send(b"0\r\n\r\n")


def late_error(request):
    request.stream({"stream": "stderr", "offset": 2, "data": "x\n"},
                   {"error": {"status": 503, "code": "unavailable", "detail": "the daemon is ending"}})
    request.send(b"0\r\n\r\n")


def good_run(request):
    binary = base64.b64encode(bytes(range(256))).decode()
    request.stream(b"\n", {"news": 1}, {"stream": "stdout", "offset": 256, "data": binary, "encoding": "base64"},
                   {"stream": "stderr", "offset": 261, "data": "oops\n"}, {"result": RESULT})
    request.send(b"0\r\n\r\n")


# --- commands of a sandbox --------------------------------------------------------------------------------------------------

def session(attach):
    def lie(request):
        what = request.path.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
        if what == "attach":
            calls["attach"] = calls.get("attach", 0) + 1
            attach(request, calls["attach"])
        elif what == "exec":
            request.answer({**RESULT, "id": "00ff", "state": "running"}, "201 Created")
        elif what == "signal":
            request.answer(b"", "204 No Content")
        else:
            request.answer(SANDBOX)
    return lie


# The connection is cut twice; each time the client comes back and says where it was.
def resume(request, number):
    start = int(request.path.split("from=")[1])
    request.websocket()
    text = b"abcdefghi"
    for at in range(start, min(start + 3, 9)):
        request.piece(text[at:at + 1], at + 1)
    if start + 3 >= 9:
        request.result()


def cut_forever(request, number):
    if number == 1:
        request.websocket()
        request.piece(b"abc", 3)


def bad_accept(request, number):
    request.websocket("bm90aGluZyBvZiB0aGUga2luZCE=")


def no_head(request, number):
    request.websocket()
    request.frame(b"\x01abc")


def huge_frame(request, number):
    request.websocket()
    request.send(bytes([0x82, 127]) + struct.pack(">Q", 1 << 40) + b"x" * 65536)


def masked(request, number):
    request.websocket()
    request.send(bytes([0x82, 0x83, 1, 2, 3, 4, 5, 6, 7]))


def refuses(request, number):
    request.answer({"status": 404, "title": "x", "detail": "sandbox 'box' has no command '00ff'", "code": "not_found"}, "404 Not Found")


def pings(request, number):
    request.websocket()
    request.frame(b"are you there", 9)
    request.piece(b"yes\n", 4)
    request.result(exit_code=0, ok=True)


LIES = {name: value for name, value in globals().items() if callable(value) and value.__module__ == __name__ and name.islower()}
LIES.update({name: session(LIES[name]) for name in
             ("resume", "cut_forever", "bad_accept", "no_head", "huge_frame", "masked", "refuses", "pings")})


def serve(connection, lie):
    with connection:
        try:
            lie(Request(connection))
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(2)
            while connection.recv(65536):
                pass
        except OSError:
            pass


def main():
    path, name = sys.argv[1:]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen(16)
    os.rename(path + ".new", path)
    print("listening", flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, LIES[name]), daemon=True).start()


if __name__ == "__main__":
    main()
