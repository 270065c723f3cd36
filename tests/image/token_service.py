#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""token_service.py DIRECTORY: the service that a registry with token authentication sends its clients to.

DIRECTORY holds key.pem and certificate.pem, with which the tokens are signed, and users (NAME:PASSWORD a line). It gets: port (once
the service listens), token.log (a JSON object a request). Who gives no credentials may pull what is below public/. A refresh token
is "refresh-" and the password.
"""
import base64
import http.server
import json
import os
import subprocess
import sys
import time
import urllib.parse

ISSUER = "hutch-tests"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class Service:
    def __init__(self, directory):
        self.directory = directory
        pem = open(os.path.join(directory, "certificate.pem"), encoding="ascii").read()
        self.certificate = "".join(line for line in pem.splitlines() if "-----" not in line)
        self.users = dict(line.rstrip("\n").split(":", 1) for line in open(os.path.join(directory, "users"), encoding="utf-8"))

    def log(self, **record):
        with open(os.path.join(self.directory, "token.log"), "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def sign(self, claims):
        header = {"typ": "JWT", "alg": "RS256", "x5c": [self.certificate]}
        text = encode(json.dumps(header).encode()) + b"." + encode(json.dumps(claims).encode())
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", os.path.join(self.directory, "key.pem")], input=text,
                                   stdout=subprocess.PIPE, check=True).stdout
        return (text + b"." + encode(signature)).decode()

    def token(self, user, service, scopes):
        access = []
        for scope in scopes:
            kind, name, actions = scope.rsplit(":", 1)[0].split(":", 1) + [scope.rsplit(":", 1)[1]]
            granted = actions.split(",") if user else ["pull"] if name.startswith("public/") else []
            access.append({"type": kind, "name": name, "actions": granted})
        now = int(time.time())
        return self.sign({"iss": ISSUER, "sub": user or "", "aud": service, "exp": now + 300, "nbf": now - 5, "iat": now,
                          "jti": str(time.monotonic_ns()), "access": access})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments):
        pass

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    # None: nobody; False: somebody with the wrong password
    def user(self):
        kind, _, text = self.headers.get("Authorization", "").partition(" ")
        if kind != "Basic":
            return None
        name, _, password = base64.b64decode(text).decode().partition(":")
        return name if self.server.service.users.get(name) == password else False

    def give(self, user, service, scopes):
        self.server.service.log(method=self.command, user=user, service=service, scopes=scopes)
        if user is False:
            return self.answer(401, {"details": "incorrect username or password"})
        token = self.server.service.token(user, service, scopes)
        return self.answer(200, {"token": token, "access_token": token, "expires_in": 300})

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        self.give(self.user(), query.get("service", [""])[0], query.get("scope", []))

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        refresh = form.get("refresh_token", [""])[0]
        users = [name for name, password in self.server.service.users.items() if refresh == "refresh-" + password]
        scopes = form.get("scope", [""])[0].split()
        self.give(users[0] if users else False, form.get("service", [""])[0], scopes)


def main():
    directory = sys.argv[1]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.service = Service(directory)
    with open(os.path.join(directory, "port.new"), "w", encoding="ascii") as file:
        file.write(str(server.server_port))
    os.rename(os.path.join(directory, "port.new"), os.path.join(directory, "port"))
    server.serve_forever()


if __name__ == "__main__":
    main()
