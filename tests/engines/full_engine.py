# SPDX-License-Identifier: Apache-2.0
"""full_engine.py SOCKET: an engine whose disk is full: it has no image, and its build ends as Docker's does then. To fill the disk of a
real one would take that of everybody else."""
import http.server
import json
import socketserver
import sys

SAID = [{"stream": "Step 1/2 : FROM scratch\n"}, {"stream": "Step 2/2 : COPY . /\n"},
        {"errorDetail": {"message": "write /big: no space left on device"}, "error": "write /big: no space left on device"}]


class Full(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Api-Version", "1.41")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(404, b'{"message": "no such image"}')

    def do_POST(self):
        while size := int(self.rfile.readline(), 16):
            self.rfile.read(size + 2)
        self.rfile.readline()
        self.answer(200, b"".join(json.dumps(step).encode() + b"\r\n" for step in SAID))

    def version_string(self):
        return "Docker/20.10.24 (linux)"

    def address_string(self):
        return "local"

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


Server(sys.argv[1], Full).serve_forever()
