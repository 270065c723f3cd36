# SPDX-License-Identifier: Apache-2.0
"""old_engine.py SOCKET API RELEASE LOG: answers who asks for its version, its means and an image, as a Docker engine of that
release does, and notes in LOG what it was asked. Engines as old as these are in no distribution any more."""
import http.server
import json
import socketserver
import sys

socket, api, release, log = sys.argv[1:]
IMAGE = {"Id": "sha256:" + "0" * 64, "Os": "linux", "Architecture": "amd64", "Config": {}, "RootFS": {"Type": "layers", "Layers": []}}
INFO = {"MemoryLimit": True, "SwapLimit": True, "CpuCfsPeriod": True, "CpuCfsQuota": True, "PidsLimit": True, "Driver": "overlay2"}


class Old(http.server.BaseHTTPRequestHandler):
    def answer(self):
        with open(log, "a") as file:
            print(self.command, self.path, file=file)
        answers = {"/info": INFO, "/images": IMAGE}
        found = [answers[word] for word in answers if word in self.path]
        body = json.dumps(found[0] if found else {"Version": release, "ApiVersion": api}).encode()
        self.send_response(200 if self.command != "POST" else 500)
        self.send_header("Api-Version", api)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    do_GET = do_HEAD = do_POST = do_DELETE = answer

    def version_string(self):
        return f"Docker/{release} (linux)"

    def address_string(self):
        return "local"

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


Server(socket, Old).serve_forever()
