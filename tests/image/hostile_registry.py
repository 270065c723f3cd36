#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hostile_registry.py LAYOUT DIRECTORY [--tls]: a registry that lies, stalls and leads astray.

It serves the image of an OCI layout under many names, each of them wrong in one way: the repository's name says which (the keys of
MANIFESTS and BLOBS below, and what ACCESS says about logins). A second port is "elsewhere": it serves the same blobs, and whoever
is sent there should bring nothing along. DIRECTORY gets ports (HOSTILE ELSEWHERE, once both listen), HOSTILE.log and ELSEWHERE.log: a
JSON object a request, with all its headers. With --tls the hostile port speaks TLS with server.pem and server.key of DIRECTORY.
"""
import base64
import collections
import http.server
import json
import os
import re
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

LOGIN = "Basic " + base64.b64encode("somebody:s3cret & wörd:/?".encode()).decode()
GIB = 1 << 30


class Image:
    def __init__(self, layout):
        self.blobs = {}
        folder = os.path.join(layout, "blobs", "sha256")
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                self.blobs["sha256:" + name] = file.read()
        with open(os.path.join(layout, "index.json"), encoding="utf-8") as file:
            entry = json.load(file)["manifests"][0]
        self.digest, self.media_type = entry["digest"], entry["mediaType"]
        layers = json.loads(self.blobs[self.digest])["layers"]
        self.layers = {layer["digest"] for layer in layers}


# ---- manifests: what is sent instead of the right one ----

def manifest_good(handler):
    image = handler.image
    handler.answer(200, image.blobs[image.digest], image.media_type, {"Docker-Content-Digest": image.digest})


def manifest_huge(handler):
    handler.start(200, GIB, handler.image.media_type)
    handler.pour(b"[" + b" " * 65535, GIB)


def manifest_endless(handler):
    handler.start(200, None, handler.image.media_type)
    handler.pour(b"%x\r\n" % 65536 + b" " * 65536 + b"\r\n", 64 * GIB)


def manifest_wrong_type(handler):
    handler.answer(200, handler.image.blobs[handler.image.digest], "text/html")


def manifest_other(handler):
    text = handler.image.blobs[handler.image.digest]
    handler.answer(200, text + b" ", handler.image.media_type, {"Docker-Content-Digest": handler.image.digest})


def manifest_other_silent(handler):
    handler.answer(200, handler.image.blobs[handler.image.digest] + b" ", handler.image.media_type)


def manifest_huge_headers(handler):
    handler.send_response(200)
    handler.flush_headers()
    line = b"X-Filler: " + b"x" * 8000 + b"\r\n"
    for _ in range(20000):
        handler.wfile.write(line)
    handler.end_headers()


def manifest_to_elsewhere(handler):
    handler.redirect(handler.server.elsewhere + handler.path)


def manifest_denied(handler):
    handler.answer(403, b'{"errors": [{"code": "DENIED", "message": "\\u001b[31mnot\\u0007 for you"}]}')


MANIFESTS = {"huge-manifest": manifest_huge, "endless-manifest": manifest_endless, "wrong-type": manifest_wrong_type,
             "wrong-manifest": manifest_other, "wrong-manifest-silent": manifest_other_silent, "huge-headers": manifest_huge_headers,
             "manifest-elsewhere": manifest_to_elsewhere, "denied": manifest_denied,
             "manifest-truncated": lambda handler: handler.cut(handler.image.blobs[handler.image.digest], 100),
             "manifest-gone": lambda handler: handler.answer(404, b"<html>" + b"no such page " * 10000)}


# ---- blobs: the same; `data` is the right content ----

def blob_good(handler, data):
    handler.blob(data)


def blob_one_byte(handler, data):
    middle = len(data) // 2
    handler.blob(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1:])


def blob_endless(handler, _data):
    handler.start(200, None, "application/octet-stream")
    handler.pour(b"%x\r\n" % 65536 + b"\0" * 65536 + b"\r\n", 64 * GIB)


# All of it, time enough to unpack it, and then something more.
def blob_longer_late(handler, data):
    handler.start(200, None, "application/octet-stream")
    handler.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")
    handler.wfile.flush()
    handler.server.ending.wait(1)
    handler.wfile.write(b"4\r\nmore\r\n0\r\n\r\n")


def blob_stall(handler, data):
    if handler.turn() > 1:
        return handler.blob(data)
    handler.start(200, len(data), "application/octet-stream")
    handler.wfile.write(data[:len(data) // 2])
    handler.wfile.flush()
    return handler.server.ending.wait(120)


def blob_drip(handler, data):
    start = handler.range_start()
    handler.start_range(data, start)
    for i in range(start, len(data)):
        handler.wfile.write(data[i:i + 1])
        if handler.server.ending.wait(4):
            return


# Each time a part more, and then the connection is reset.
def blob_reset(handler, data):
    start = handler.range_start()
    handler.start_range(data, start)
    step = len(data) // 4 + 1
    handler.wfile.write(data[start:start + step])
    if start + step < len(data):
        handler.reset()


def blob_reset_no_range(handler, data):
    handler.start(200, len(data), "application/octet-stream")
    if handler.turn() > 2:
        handler.wfile.write(data)
    else:
        handler.wfile.write(data[:len(data) // 2])
        handler.reset()


def blob_reset_always(handler, data):
    start = handler.range_start()
    handler.start_range(data, start)
    handler.wfile.write(data[start:len(data) // 2])
    handler.reset()


# Asked for the rest, it sends the start again and calls it the rest.
def blob_wrong_range(handler, data):
    start = handler.range_start()
    if not start:
        return blob_reset_always(handler, data)
    handler.start(206, len(data), "application/octet-stream", {"Content-Range": f"bytes 0-{len(data) - 1}/{len(data)}"})
    return handler.wfile.write(data)


def blob_patience(status, headers):
    def serve(handler, data):
        if handler.turn() > 2:
            return handler.blob(data)
        return handler.answer(status, b"later", "text/plain", headers)
    return serve


def blob_redirect(location):
    return lambda handler, data: handler.redirect(location(handler))


BLOBS = {"one-byte": blob_one_byte, "endless": blob_endless, "stall": blob_stall, "drip": blob_drip, "reset": blob_reset,
         "reset-no-range": blob_reset_no_range, "reset-always": blob_reset_always, "wrong-range": blob_wrong_range,
         "longer": lambda handler, data: handler.answer(200, data + b"more", "application/octet-stream"),
         "longer-late": blob_longer_late,
         "longer-chunked": lambda handler, data: handler.chunked(data + b"more"),
         "chunked": lambda handler, data: handler.chunked(data),
         "truncated": lambda handler, data: handler.answer(200, data[:-7], "application/octet-stream"),
         "cut": lambda handler, data: handler.cut(data, len(data) // 2),
         "later": blob_patience(429, {"Retry-After": "1"}), "broken": blob_patience(503, {}),
         "never": lambda handler, data: handler.answer(429, b"", "text/plain", {"Retry-After": "100000"}),
         "missing": lambda handler, data: handler.answer(404, b'{"errors": [{"code": "BLOB_UNKNOWN"}]}'),
         "elsewhere": blob_redirect(lambda handler: handler.server.elsewhere + handler.path),
         "elsewhere-user": blob_redirect(
             lambda handler: handler.server.elsewhere.replace("//", "//planted:secret@") + handler.path),
         "loop": blob_redirect(lambda handler: handler.path + "x"),
         "to-file": blob_redirect(lambda handler: "file:///etc/passwd"),
         "to-ftp": blob_redirect(lambda handler: "ftp://127.0.0.1/x"),
         "to-nothing": lambda handler, data: handler.answer(302, b""),
         "relative": lambda handler, data: handler.blob(data) if "?again" in handler.path else
         handler.redirect("?again")}


# ---- logins: the first word of the repository's name, before "." ----

def ask_basic(handler):
    if handler.headers.get("Authorization") == LOGIN:
        return True
    handler.unauthorized('Basic realm="hostile"')
    return False


def ask_token(handler):
    if handler.headers.get("Authorization", "").startswith("Bearer good"):
        return True
    handler.unauthorized(f'Bearer realm="{handler.server.here}/token",service="hostile"')
    return False


# Each token opens three requests.
def ask_short_token(handler):
    word = handler.headers.get("Authorization", "")
    with handler.server.lock:
        handler.server.turns[word] += 1
        spent = handler.server.turns[word] > 3
    if word.startswith("Bearer good") and not spent:
        return True
    handler.unauthorized(f'Bearer realm="{handler.server.here}/token",service="hostile",error="invalid_token"')
    return False


def ask_for_ever(handler):
    handler.unauthorized(f'Bearer realm="{handler.server.here}/token",service="hostile"')
    return False


def ask_with(challenge):
    def ask(handler):
        handler.unauthorized(challenge(handler))
        return False
    return ask


ACCESS = {"basic": ask_basic, "token": ask_token, "short": ask_short_token, "loop401": ask_for_ever,
          "realm-http": ask_with(lambda handler: f'Bearer realm="{handler.server.elsewhere}/token",service="x"'),
          "realm-file": ask_with(lambda handler: 'Bearer realm="file:///etc/passwd",service="x"'),
          "realm-huge": ask_with(lambda handler: f'Bearer realm="{handler.server.here}/token-huge",service="x"'),
          "realm-bad": ask_with(lambda handler: f'Bearer realm="{handler.server.here}/token-bad",service="x"'),
          "realm-moved": ask_with(lambda handler: f'Bearer realm="{handler.server.here}/token-moved",service="x"'),
          "realm-none": ask_with(lambda handler: 'Bearer service="x"'),
          "realm-torn": ask_with(lambda handler: 'Bearer realm="http://127.0.0.1'),
          "strange": ask_with(lambda handler: "Negotiate"),
          "digest": ask_with(lambda handler: 'Digest realm="x", nonce="y"')}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "hostile"

    def log_message(self, *_arguments):
        pass

    @property
    def image(self):
        return self.server.image

    # ---- what an answer is made of ----

    def start(self, status, length, media_type, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def answer(self, status, body, media_type="application/json", headers=None):
        self.start(status, len(body), media_type, headers)
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunked(self, data):
        self.start(200, None, "application/octet-stream")
        for i in range(0, len(data), 65536):
            part = data[i:i + 65536]
            self.wfile.write(b"%x\r\n" % len(part) + part + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def pour(self, part, total):
        sent = 0
        while sent < total:
            self.wfile.write(part)
            sent += len(part)
            self.server.note(self.server.log_name + ".sent", sent)

    def cut(self, data, length):
        self.start(200, len(data), "application/octet-stream")
        self.wfile.write(data[:length])
        self.close_connection = True

    def reset(self):
        self.wfile.flush()
        time.sleep(0.05)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def redirect(self, location):
        self.answer(307, b"", "text/plain", {"Location": location})

    def unauthorized(self, challenge):
        self.answer(401, b'{"errors": [{"code": "UNAUTHORIZED"}]}', "application/json", {"WWW-Authenticate": challenge})

    def range_start(self):
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        return int(match.group(1)) if match else 0

    def start_range(self, data, start):
        if start:
            self.start(206, len(data) - start, "application/octet-stream",
                       {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"})
        else:
            self.start(200, len(data), "application/octet-stream")

    def blob(self, data):
        start = self.range_start()
        self.start_range(data, start)
        self.wfile.write(data[start:])

    # How often this was asked for, this time counted.
    def turn(self):
        with self.server.lock:
            self.server.turns[self.path] += 1
            return self.server.turns[self.path]

    # ---- what is asked ----

    # Who begins with TLS where there is none waits for an answer, and would wait for ever.
    def handle_one_request(self):
        if not isinstance(self.connection, ssl.SSLSocket) and self.connection.recv(1, socket.MSG_PEEK) == b"\x16":
            self.close_connection = True
            return
        super().handle_one_request()

    def do_GET(self):
        try:
            self.server.log(self)
            self.route()
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True

    do_HEAD = do_GET

    # As a proxy it answers for everybody whose name it is told, but opens no tunnels.
    def do_CONNECT(self):
        self.server.log(self)
        self.answer(403, b"")
        self.close_connection = True

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.do_GET()

    def token(self, path):
        if path == "/token-huge":
            self.start(200, GIB, "application/json")
            return self.pour(b" " * 65536, GIB)
        if path == "/token-bad":
            return self.answer(200, b'{"token": "with\\r\\nX-Planted: header"}')
        if path == "/token-moved":
            return self.redirect(self.server.elsewhere + "/token")
        return self.answer(200, b'{"token": "good%d", "expires_in": 300}' % self.turn())

    def route(self):
        path = urllib.parse.urlsplit(self.path).path
        if path.startswith("/token"):
            return self.token(path)
        match = re.fullmatch(r"/v2/(?:([a-z0-9-]+)\.)?([a-z0-9-]+)/(manifests|blobs)/([^/]+)", path)
        if not match:
            return self.answer(200 if path == "/v2/" else 404, b"{}")
        login, name, kind, what = match.groups()
        if login and not ACCESS[login](self):
            return None
        if kind == "manifests":
            return MANIFESTS.get(name, manifest_good)(self)
        data = self.image.blobs.get(what.rstrip("x"))
        if data is None:
            return self.answer(404, b"{}")
        is_layer = what.rstrip("x") in self.image.layers
        return (BLOBS.get(name, blob_good) if is_layer else blob_good)(self, data)


class Elsewhere(Handler):
    def route(self):
        path = urllib.parse.urlsplit(self.path).path
        if path.startswith("/token"):
            return self.token(path)
        kind, what = path.split("/")[-2:]
        if kind == "manifests":
            return manifest_good(self)
        return self.blob(self.image.blobs[what])


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, handler, log_name, image, directory):
        super().__init__(("127.0.0.1", 0), handler)
        self.image, self.directory, self.log_name = image, directory, log_name
        self.lock = threading.Lock()
        self.turns = collections.Counter()
        self.ending = threading.Event()
        self.elsewhere = self.here = f"http://127.0.0.1:{self.server_port}"

    def note(self, name, value):
        with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def log(self, handler):
        record = {"method": handler.command, "path": handler.path, "headers": dict(handler.headers)}
        with self.lock, open(os.path.join(self.directory, self.log_name + ".log"), "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def handle_error(self, request, client_address):
        error = sys.exc_info()[1]
        if not isinstance(error, (OSError, ValueError)):
            super().handle_error(request, client_address)


def main():
    layout, directory = sys.argv[1:3]
    image = Image(layout)
    hostile, elsewhere = Server(Handler, "HOSTILE", image, directory), Server(Elsewhere, "ELSEWHERE", image, directory)
    hostile.elsewhere = elsewhere.here
    if "--tls" in sys.argv:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(directory, "server.pem"), os.path.join(directory, "server.key"))
        hostile.socket = context.wrap_socket(hostile.socket, server_side=True)
        hostile.here = hostile.here.replace("http:", "https:")
    threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
    with open(os.path.join(directory, "ports.new"), "w", encoding="ascii") as file:
        file.write(f"127.0.0.1:{hostile.server_port} 127.0.0.1:{elsewhere.server_port}\n")
    os.rename(os.path.join(directory, "ports.new"), os.path.join(directory, "ports"))
    hostile.serve_forever()


if __name__ == "__main__":
    main()
