#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may ask for what, on every route that /openapi.json has."""
import json
import re
import subprocess
import sys

import hutchd

PUBLIC = {"/healthz", "/readyz", "/openapi.json"}


def token_for(tenant, scope, *flags):
    argv = [hutchd.HUTCH, "token", "create", "--tenant", tenant, "--scope", scope, *flags]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def routes(client):
    """Method and path of each; the path's parameters are filled in with `values`."""
    found = client.get("/openapi.json").expect(200).json()["paths"]
    return [(method.upper(), path) for path, methods in found.items() for method in methods
            if method in ("get", "head", "post", "put", "delete", "patch")]


def fill(path, sandbox):
    return re.sub(r"\{[^}]*\}", "0123456789abcdef", path.replace("{id}", sandbox, 1))


def ask(client, method, path, body="{}"):
    """The status alone: what is let in may be a stream that never ends."""
    try:
        return client.send(method, path, body if method in ("POST", "PUT") else None)
    finally:
        client.close()


def every_route():
    failed = []
    with hutchd.running() as daemon:
        known = routes(daemon.client())
        for method, path in known:
            if path in PUBLIC:
                continue
            for token in (None, "hutch_wrong", ""):
                status = ask(daemon.tcp(token), method, fill(path, "canary")).status
                if status != 401:
                    failed.append(f"{method} {path} with token {token!r}: {status}")
        if daemon.tcp().get("/api/no/such/route").status not in (401, 404):
            failed.append("a route that is not there")
    print(f"{len(known)} routes")
    if len(known) < 40:
        failed.append("these are not all the routes")
    return failed


def bad_tokens():
    failed = []
    with hutchd.running() as daemon:
        good = token_for("a", "read")
        daemon.tcp(good).get("/api/sandboxes/").expect(200)
        bad = {good[:-1]: "cut", good + "a": "longer", good[:-1] + ("a" if good[-1] != "a" else "b"): "changed", good.upper(): "large letters",
               " " + good: "a space before", good.replace("_", "-", 1): "another sign", good.split(".", maxsplit=1)[0]: "one half",
               "hutch_" + "a" * 10_000: "without end", token_for("a", "read", "--expires", "1s"): "expired"}
        subprocess.run(["sleep", "1.2"], check=True)
        for token, what in bad.items():
            status = daemon.tcp(token).get("/api/sandboxes/").status
            if status not in ((401, 431) if "end" in what else (401, 200) if "space" in what else (401,)):
                failed.append(f"{what}: {status}")
        for name, value in (("Authorization", f"Basic {good}"), ("Authorization", good), ("Authorization", f"Bearer {good} x"), ("Cookie", f"token={good}"),
                            ("X-Token", good)):
            if daemon.tcp().call("GET", "/api/sandboxes/", None, {name: value}).status != 401:
                failed.append(f"{name}: {value[:10]}")
        for query in ("token", "access_token", "authorization"):
            if daemon.tcp().get(f"/api/sandboxes/?{query}={good}").status not in (400, 401):
                failed.append(f"a token in the query: {query}")
        # one that is removed counts no longer, on a connection that is open too
        client = daemon.tcp(good)
        client.get("/api/sandboxes/").expect(200)
        listed = json.loads(subprocess.run([hutchd.HUTCH, "token", "ls", "--json"], check=True, capture_output=True).stdout)
        for one in listed["tokens"] if isinstance(listed, dict) else listed:
            subprocess.run([hutchd.HUTCH, "token", "rm", one["id"]], check=True, capture_output=True)
        if client.get("/api/sandboxes/").status != 401:
            failed.append("a token that was removed is let in")
        with open(daemon.log, "rb") as log:
            if good.encode() in log.read():
                failed.append("the log has a token")
    return failed


def scopes():
    failed = []
    with hutchd.running() as daemon:
        read = token_for("a", "read")
        daemon.client().post("/api/sandboxes/", {"name": "operators"}).expect(201)
        for method, path in routes(daemon.client()):
            status = ask(daemon.tcp(read), method, fill(path, "operators")).status
            if method not in ("GET", "HEAD") and status != 403:
                failed.append(f"{method} {path} with scope read: {status}")
            if method in ("GET", "HEAD") and status in (401, 500):
                failed.append(f"{method} {path} with scope read: {status}")
        daemon.client().delete("/api/sandboxes/operators").expect(200)
    return failed


def another_tenants():
    failed = []
    with hutchd.running() as daemon:
        mine, other = daemon.tcp(token_for("a", "write")), daemon.tcp(token_for("b", "write"))
        made = mine.post("/api/sandboxes/", {"name": "secretive", "labels": {"who": "a"}}).expect(201).json()
        mine.post("/api/sandboxes/secretive/execute", {"command": ["true"]}).expect(200)
        for name in ("secretive", made["id"]):
            for method, path in routes(daemon.client()):
                if "{id}" not in path:
                    continue
                answer = ask(other, method, fill(path, name))
                # a body or query that does not fit may be told before anything is looked up, as long as it is told of names that are nobody's, too
                nobody = ask(other, method, fill(path, "nobodys"))
                if answer.status != nobody.status or answer.status not in (400, 404, 422, 426):
                    failed.append(f"{method} {path}: {answer.status}, and {nobody.status} of one that is not there")
        if mine.names() != {"secretive"} or other.names():
            failed.append(f"lists: {mine.names()}, {other.names()}")
        for path in ("/api/audit", "/api/usage?by=label.who", "/metrics", "/api/sandboxes/?label=who=a"):
            answer = other.get(path)
            if answer.status not in (200, 403) or b"secretive" in answer.body or made["id"].encode() in answer.body:
                failed.append(f"{path} tells another tenant: {answer.status} {answer.body[:200]!r}")
        # what is taken is not told either: each tenant has its own names, or gets another one
        answer = other.post("/api/sandboxes/", {"project_name": "secretive"})
        if answer.status == 201:
            other.delete(f"/api/sandboxes/{answer.json()['id']}").expect(200)
        elif b"tenant" in answer.body:
            failed.append(f"a name that is taken: {answer.body!r}")
        if daemon.client().names() != {"secretive"}:
            failed.append("the sandbox has not survived")
        mine.post("/api/sandboxes/secretive/execute", {"command": ["true"]}).expect(200)
        mine.delete("/api/sandboxes/secretive").expect(200)
    return failed


WAYS = {"every_route": every_route, "bad_tokens": bad_tokens, "scopes": scopes, "another_tenants": another_tenants}

if __name__ == "__main__":
    found = WAYS[sys.argv[1]]()
    print("\n".join(found))
    sys.exit(bool(found))
