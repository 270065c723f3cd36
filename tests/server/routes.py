#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every route that /openapi.json has is asked for real, and every answer is held against what it says."""
import io
import json
import re
import sys
import tarfile
import urllib.parse

import hutchd
import schema

AT = "/api/sandboxes/{id}"
SSE = {"Accept": "text/event-stream"}


def tar_of(**files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, text in files.items():
            head = tarfile.TarInfo(name)
            head.size, head.mode = len(text), 0o755
            archive.addfile(head, io.BytesIO(text))
    return out.getvalue()


class Walk:
    def __init__(self, client):
        self.client = client
        self.document = client.get("/openapi.json").expect(200).json()
        self.left = {(method.upper(), path) for path, methods in self.document["paths"].items() for method in methods}
        self.values = {}

    def check(self, method, path, answer):
        told = self.document["paths"][path][method.lower()]["responses"]
        kind = answer.headers.get("Content-Type", "").split(";")[0]
        if answer.status >= 400 and kind == "application/problem+json":
            schema.check(self.document, {"$ref": "#/components/schemas/Problem"}, answer.json())
            return
        content = schema.resolve(self.document, told[str(answer.status)]).get("content", {})
        if kind not in content and "*/*" not in content and (kind or answer.body):
            raise schema.Wrong(f"an answer of the kind '{kind}'; told were {list(content)}")
        if kind == "application/json" and kind in content:
            schema.check(self.document, content[kind]["schema"], answer.json())

    def ask(self, method, path, /, *statuses, body=None, headers=None, **query):
        """The answer, with a status that is expected (or what the route says, without any)."""
        where = re.sub(r"\{(\w+)\}", lambda name: self.values[name.group(1)], path)
        if query:
            where += "?" + urllib.parse.urlencode(query)
        answer = self.client.call(method, where, body, headers)
        good = [int(status) for status in self.document["paths"][path][method.lower()]["responses"] if status.isdigit()]
        try:
            answer.expect(*(statuses or good))
            self.check(method, path, answer)
        except (hutchd.Failed, schema.Wrong, KeyError, ValueError) as wrong:
            raise hutchd.Failed(f"{method} {where}: {wrong!r}") from wrong
        self.left.discard((method, path))
        return answer

    def listen(self, path, /, **query):
        """The first bytes of a stream that does not end."""
        response = self.client.send("GET", path + "?" + urllib.parse.urlencode(query), headers=SSE)
        first = response.readline()
        self.client.close()
        if response.status != 200 or not first:
            raise hutchd.Failed(f"GET {path}: {response.status} {first!r}")
        self.left.discard(("GET", path))


def sandboxes(walk):
    made = walk.ask("POST", "/api/sandboxes", body={"project_name": "walk", "memory_limit": "256m", "labels": {"team": "red"},
                                                         "egress": ["example.com"]})
    walk.values["id"] = made.json()["id"]
    for path in ("/api/sandboxes", AT, AT + "/stats", AT + "/diff", AT + "/egress"):
        walk.ask("GET", path)
    for verb in ("pause", "resume", "stop", "start"):
        walk.ask("POST", f"{AT}/{verb}")
    walk.ask("POST", AT + "/update", body={"limits": {"pids": 99}})
    walk.ask("POST", AT + "/execute", body={"command": ["sh", "-c", "echo out; echo err >&2"]})
    walk.ask("POST", AT + "/shell", body={"script": "exit 3"})
    walk.ask("POST", AT + "/execute", 200, body={"command": ["echo", "x"]}, headers=SSE)
    walk.ask("POST", AT + "/execute", 400, 422, body={"command": []})
    walk.ask("GET", AT, 200)


def commands(walk):
    session = walk.ask("POST", AT + "/exec", body={"command": ["cat"], "tty": True, "rows": 24, "cols": 80, "stdin": True}).json()
    walk.ask("GET", AT + "/ps")
    walk.values["exec"] = session["id"]
    one = AT + "/exec/{exec}"
    walk.ask("GET", AT + "/exec")
    walk.ask("POST", one + "/stdin", body=b"hello\n")
    walk.ask("POST", one + "/resize", body={"rows": 30, "cols": 100})
    walk.ask("POST", one + "/signal", body={"signal": "KILL"})
    walk.ask("GET", one, wait=1)
    walk.ask("GET", one + "/attach", 200, headers=SSE, **{"from": 0})
    walk.ask("GET", AT + "/logs", exec=walk.values["exec"])


def files(walk):
    walk.ask("PUT", AT + "/files", path="/tmp/walk", body=b"bytes")
    walk.ask("GET", AT + "/files", path="/tmp/walk")
    walk.ask("GET", AT + "/files", path="/tmp/walk", stat=1)
    walk.ask("GET", AT + "/files", path="/tmp", list=1)
    if ("HEAD", AT + "/files") in walk.left:
        walk.ask("HEAD", AT + "/files", path="/tmp/walk")
    walk.ask("PUT", AT + "/archive", path="/tmp", body=tar_of(packed=b"x"))
    walk.ask("GET", AT + "/archive", path="/tmp")
    walk.ask("DELETE", AT + "/files", path="/tmp/walk")


def derived(walk):
    walk.ask("POST", AT + "/apply", 200, 400, 409, 422, body={"dry_run": True})
    walk.ask("POST", AT + "/stop")
    walk.ask("POST", AT + "/fork", body={"name": "walk-fork"})
    walk.ask("POST", AT + "/snapshot", body={"name": "walk-snapshot"})
    walk.ask("POST", AT + "/start")
    walk.ask("POST", AT + "/kill")
    for name in ("walk-fork", "walk-snapshot", walk.values["id"]):
        walk.values["id"] = name
        walk.ask("DELETE", AT)
    walk.ask("GET", AT, 404)


def runs(walk):
    walk.ask("POST", "/api/run", body={"command": ["true"], "labels": {"team": "red"}})
    walk.ask("POST", "/api/run", 200, body={"command": ["true"]}, headers={"Accept": "application/x-ndjson"})
    lines = walk.ask("POST", "/api/batch", body=b'{"id": "a", "command": ["true"]}\n', headers={"Content-Type": "application/x-ndjson"})
    for line in lines.body.splitlines():
        schema.check(walk.document, {"$ref": "#/components/schemas/BatchLine"}, json.loads(line))


def images(walk):
    with open("/bin/busybox", "rb") as busybox:
        walk.ask("POST", "/api/images/import", reference="walk:1", body=tar_of(**{"bin/busybox": busybox.read()}))
    walk.ask("POST", "/api/images/tag", body={"reference": "walk:1", "new_reference": "walk:2"})
    walk.ask("GET", "/api/images")
    walk.ask("GET", "/api/images/inspect", reference="walk:1")
    walk.ask("GET", "/api/images/export", reference="walk:1")
    saved = walk.ask("GET", "/api/images/save", reference="walk:2").body
    walk.ask("DELETE", "/api/images", reference="walk:2")
    walk.ask("POST", "/api/images/load", body=saved)
    walk.ask("POST", "/api/images/build", reference="walk:3", body=tar_of(Dockerfile=b"FROM scratch\nCOPY Dockerfile /\n"))
    # with a registry these are in images.bats
    walk.ask("POST", "/api/images/pull", 400, 404, 503, body={"reference": "127.0.0.1:1/nobody"})
    walk.ask("POST", "/api/images/push", 400, 404, 503, body={"reference": "walk:1", "to": "127.0.0.1:1/nobody"})
    walk.ask("POST", "/api/images/prune", body={"all": True})


def host(walk):
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/api/templates", "/api/audit", "/api/audit/verify"):
        walk.ask("GET", path)
    walk.ask("GET", "/api/audit", 200, label="team=red", limit=1)
    walk.ask("GET", "/api/usage", by="label.team")
    walk.ask("GET", "/api/usage", 400, by="nonsense")
    walk.listen("/api/events", **{"from": 1})


def main():
    with hutchd.running() as daemon:
        walk = Walk(daemon.client(timeout=120))
        for part in (runs, sandboxes, commands, files, derived, images, host):
            part(walk)
        if walk.left:
            raise hutchd.Failed(f"nobody asked for {sorted(walk.left)}")
        print(f"{len(walk.document['paths'])} paths")


if __name__ == "__main__":
    sys.exit(main())
