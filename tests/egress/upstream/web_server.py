# SPDX-License-Identifier: Apache-2.0
"""HTTP and HTTPS as real programs want them: a page that tells what was asked, a package index, git repositories, an upgrade."""
import asyncio
import json
import os
import ssl
import subprocess
import urllib.parse

from raw_servers import addresses_of

GIT_BACKEND = os.path.join(subprocess.check_output(["git", "--exec-path"], text=True).strip(), "git-http-backend")


class Request:
    def __init__(self, head):
        lines = head.decode("latin-1").split("\r\n")
        self.line = lines[0]
        self.method, target, _ = (lines[0].split(" ") + ["", ""])[:3]
        parts = urllib.parse.urlsplit(target)
        self.path, self.query = urllib.parse.unquote(parts.path), parts.query
        self.headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:] if ":" in line]

    def get(self, name, default=""):
        return next((value for key, value in self.headers if key.lower() == name), default)


class WebServer:
    def __init__(self, log, directory):
        self.log, self.directory, self.count = log, directory, 0

    async def __call__(self, reader, writer):
        self.count += 1
        tls = writer.get_extra_info("ssl_object")
        about = {"id": f"web{self.count}", "tls": bool(tls), "sni": getattr(tls, "hutch_sni", None), **addresses_of(writer)}
        self.log(event="connect", kind="web", **about)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                request = Request(head[:-4])
                body = await self.body_of(reader, request)
                self.log(event="request", id=about["id"], sni=about["sni"], line=request.line, headers=request.headers, body=len(body))
                self.log(event="bytes", id=about["id"], data=head.hex())
                if request.get("upgrade"):
                    await self.upgrade(reader, writer)
                    break
                await self.answer(writer, request, body, about)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass
        writer.close()

    async def body_of(self, reader, request):
        if request.get("transfer-encoding").lower() == "chunked":
            body = b""
            while size := int((await reader.readline()).split(b";")[0], 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readline()
            return body
        return await reader.readexactly(int(request.get("content-length", "0")))

    async def upgrade(self, reader, writer):
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
        while data := await reader.read(65536):
            writer.write(data)

    async def answer(self, writer, request, body, about):
        if ".git/" in request.path:
            status, kind, content = await asyncio.to_thread(self.git, request, body)
        else:
            status, kind, content = self.page(request, body, about)
        extra = "".join(f"{key}: {value}\r\n" for key, value in kind.items())
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\n{extra}\r\n".encode())
        writer.write(b"" if request.method == "HEAD" else content)
        await writer.drain()

    def page(self, request, body, about):
        words = request.path.strip("/").split("/")
        if words[0] == "bytes":
            return "200 OK", {}, b"x" * int(words[1])
        if words[0] == "elsewhere":
            return "302 Found", {"Location": "http://other.hutch.test/"}, b""
        if words[0] == "token":  # what only the host of this name says
            return "200 OK", {}, f"token of {request.get('host')}\n".encode()
        path = os.path.join(self.directory, "static", *words)
        if os.path.isdir(path):
            path = os.path.join(path, "index.html")
        if words[0] and os.path.isfile(path):
            with open(path, "rb") as file:
                return "200 OK", {"Content-Type": "text/html" if path.endswith(".html") else "application/octet-stream"}, file.read()
        told = {"host": request.get("host"), "sni": about["sni"], "method": request.method, "path": request.path, "body": len(body)}
        return "200 OK", {"Content-Type": "application/json"}, json.dumps(told).encode() + b"\n"

    def git(self, request, body):
        variables = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": os.path.join(self.directory, "git"), "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            "PATH_INFO": request.path, "QUERY_STRING": request.query, "REQUEST_METHOD": request.method,
            "CONTENT_LENGTH": str(len(body)),
            "CONTENT_TYPE": request.get("content-type"), "HTTP_CONTENT_ENCODING": request.get("content-encoding"),
            "GIT_PROTOCOL": request.get("git-protocol"), "REMOTE_ADDR": "45.45.45.1",
        }  # fmt: skip
        answer = subprocess.run([GIT_BACKEND], env=variables, input=body, capture_output=True, check=False).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        return headers.pop("Status", "200 OK"), headers, content


def tls_context(directory):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(directory, "server.pem"), os.path.join(directory, "server.key"))

    def heard(tls, name, _):
        tls.hutch_sni = name

    context.sni_callback = heard
    return context


async def start(log, directory, addresses):
    web, tls = WebServer(log, directory), tls_context(directory)
    for address in addresses:
        for port, context in {80: None, 8080: None, 443: tls, 8443: tls}.items():
            await asyncio.start_server(web, address, port, ssl=context, backlog=512)
