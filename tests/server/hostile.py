#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that lie about where a request ends, and bodies that are no good. The oracle is the host's: which sandboxes there are."""
import concurrent.futures
import json
import re
import socket
import subprocess
import sys

import ambiguous
import hutchd

PATIENCE_S = 20
AT_ONCE = 8


def on_host():
    """The names that `hutch ls` has, without asking the daemon."""
    listed = json.loads(subprocess.run([hutchd.HUTCH, "ls", "--json"], check=True, capture_output=True).stdout)
    return {one["name"] for one in listed["sandboxes"]}


def talk(daemon, data, piece=None):
    """Sends bytes and reads until the other side closes, or says nothing more. What came, and whether it closed."""
    with socket.create_connection(("127.0.0.1", daemon.port), PATIENCE_S) as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        came = b""
        try:
            for start in range(0, len(data), piece or len(data)):
                link.sendall(data[start:start + (piece or len(data))])
        except OSError:
            pass  # it has closed already, and need not take the rest
        try:
            while more := link.recv(65536):
                came += more
        except TimeoutError:
            return came, False
        except OSError:
            pass
        return came, True


def statuses(came):
    """Of every answer in it: whoever smuggled a request in gets two."""
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", came)]


def judge_framing(daemon, name, data, piece):
    came, closed = talk(daemon, data + ambiguous.create("smuggled"), piece)
    answers = statuses(came)
    if not closed:
        return f"{name}: the connection stayed open after {answers}"
    if len(answers) > 1 or any(status < 400 for status in answers):
        return f"{name}: answered with {answers}"
    return None


def judge_refused(daemon, name, data, piece):
    came, _ = talk(daemon, data.replace(b"\r\n", b"\r\nConnection: close\r\n", 1), piece)
    answers = statuses(came)
    if len(answers) != 1 or not 400 <= answers[0] < 600 or answers[0] == 500:
        return f"{name}: answered with {answers}"
    return None


def judge_harmless(daemon, name, data, piece):
    answers = statuses(talk(daemon, data.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) if not data.startswith(b"\r\n") else data +
                            ambiguous.get(b"Connection: close"), piece)[0])
    return f"{name}: answered with {answers}" if 500 in answers else None


def ambiguous_requests():
    failed = []
    with hutchd.running("--insecure-no-auth") as daemon, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        client = daemon.client()
        # what is smuggled would work: the same bytes alone make a sandbox
        assert statuses(talk(daemon, ambiguous.create("canary", b"Connection: close"))[0]) == [201], "a creation in order was refused"
        assert on_host() == {"canary"}
        kinds = ((judge_framing, ambiguous.FRAMING), (judge_refused, ambiguous.REFUSED), (judge_harmless, ambiguous.HARMLESS))
        waiting = [pool.submit(judge, daemon, name, data, piece)
                   for judge, cases in kinds for name, data in cases.items() for piece in (None, 7) if not piece or len(data) < 5000]
        failed = [one.result() for one in waiting if one.result()]
        # the oracle: neither what was in doubt nor what came behind it was carried out
        if on_host() != {"canary"}:
            failed.append(f"sandboxes that nobody may have made: {on_host() - {'canary'}}")
        for name in client.names():
            client.delete(f"/api/sandboxes/{name}").expect(200)
    print(f"{len(waiting)} requests")
    return failed


# ---- requests that are in order, one behind the other ----


def pipelined():
    """Answers come in the order of the questions, also when the first takes longest, and each once."""
    with hutchd.running("--insecure-no-auth") as daemon:
        run = json.dumps({"command": ["sh", "-c", "sleep 0.3; echo slow"]}).encode()
        slow = ambiguous.create("x").replace(b"/api/sandboxes/", b"/api/run").split(b"Content-Length")[0] + b"Content-Length: %d\r\n\r\n%s" % (len(run), run)
        quick = ambiguous.get(first=b"GET /healthz HTTP/1.1")
        missing = ambiguous.get(first=b"GET /api/sandboxes/none HTTP/1.1")
        came, closed = talk(daemon, slow + quick + missing + quick + ambiguous.get(b"Connection: close"))
        answers = statuses(came)
        if answers != [200, 200, 404, 200, 200] or not closed or came.index(b"slow") > came.index(b"not_found"):
            return [f"pipelined: {answers}, closed: {closed}"]
        # a great many: as many answers, or a connection that is closed, never more than were asked for
        came, _ = talk(daemon, quick * 5000 + ambiguous.get(b"Connection: close"), 4096)
        answers = statuses(came)
        if set(answers) - {200, 429, 503} or len(answers) > 5001:
            return [f"5,000 pipelined: {len(answers)} answers, {set(answers)}"]
        # what comes behind "Connection: close" is not read
        came, closed = talk(daemon, ambiguous.get(b"Connection: close") + ambiguous.create("smuggled"))
        if statuses(came) != [200] or not closed or on_host():
            return [f"behind a close: {statuses(came)}, {on_host()}"]
    return []


# ---- bodies ----

DEEP = 100_000
BODIES = {
    "white space": b"  ",
    "no JSON": b"name=x",
    "half of it": b'{"project_name": "carrier"',
    "something behind": b'{"project_name": "carrier"} {}',
    "a list": b'[{"project_name": "carrier"}]',
    "a text": b'"carrier"',
    "null": b"null",
    "a byte order mark": b'\xef\xbb\xbf{"project_name": "carrier"}',
    "UTF-16": '{"project_name": "carrier"}'.encode("utf-16"),
    "bytes that are no UTF-8": b'{"project_name": "carr\xffier"}',
    "an overlong NUL": b'{"project_name": "carr\xc0\x80ier"}',
    "half a surrogate": b'{"project_name": "carr\\ud800ier"}',
    "a NUL": b'{"project_name": "carr\\u0000ier"}',
    "a NUL in a key": b'{"project_name\\u0000": "carrier"}',
    "a line break in a text": b'{"project_name": "carr\nier"}',
    "a comment": b'{"project_name": "carrier" /* x */}',
    "a comma too many": b'{"project_name": "carrier",}',
    "single quotes": b"{'project_name': 'carrier'}",
    "a key twice": b'{"project_name": "other", "project_name": "carrier"}',
    "a key twice, once escaped": b'{"project_name": "other", "project\\u005fname": "carrier"}',
    "a key twice, within": b'{"project_name": "carrier", "limits": {"memory": "64m", "memory": "1g"}}',
    "a key twice, within a list": b'{"project_name": "carrier", "mounts": [{"source": "/usr", "target": "/a", "source": "/etc"}]}',
    "a limit in two ways": b'{"project_name": "carrier", "memory_limit": "64m", "limits": {"memory": "1g"}}',
    "an unknown key": b'{"project_name": "carrier", "no_such_field": 1}',
    "another case": b'{"Project_Name": "carrier", "project_name": "carrier"}',
    "a number for a name": b'{"project_name": 5}',
    "a list for a name": b'{"project_name": ["carrier"]}',
    "an empty name": b'{"project_name": ""}',
    "a name that is a path": b'{"name": "../../carrier"}',
    "a name without end": b'{"name": "' + b"a" * 10_000 + b'"}',
    "a negative limit": b'{"project_name": "carrier", "memory_limit": "-1g"}',
    "a limit that overflows": b'{"project_name": "carrier", "memory_limit": "18446744073709551617"}',
    "a limit that is no number": b'{"project_name": "carrier", "cpu_limit": "NaN"}',
    "not a number": b'{"project_name": "carrier", "cpu_limit": NaN}',
    "1e999": b'{"project_name": "carrier", "cpu_limit": 1e999}',
    "a number without end": b'{"project_name": "carrier", "cpu_limit": ' + b"1" * 100_000 + b"}",
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep lists in a field": b'{"project_name": "carrier", "labels": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep without an end": b"[" * DEEP,
    "a hundred thousand keys": json.dumps({f"k{i}": i for i in range(100_000)}).encode(),
}


def bodies():
    failed = []
    with hutchd.running("--insecure-no-auth") as daemon:
        client = daemon.tcp()
        for name, body in BODIES.items():
            answer = client.call("POST", "/api/sandboxes/", body, {"Content-Type": "application/json"})
            if answer.status not in (400, 413, 422) or (answer.body and "code" not in answer.json()):
                failed.append(f"{name}: {answer.status} {answer.body[:200]!r}")
            if on_host():
                failed.append(f"{name}: made {on_host()}")
                for made in on_host():
                    client.delete(f"/api/sandboxes/{made}")
        failed += oversized(daemon)
        client.post("/api/run", {"command": ["true"]}).expect(200)
    print(f"{len(BODIES)} bodies")
    return failed


def oversized(daemon):
    """Who announces or sends too much is told so before it has been read, and it costs no memory."""
    failed = []
    before = daemon.rss_kib()
    announced = ambiguous.post(b"Content-Length: 10000000000", body=b"{")
    came, closed = talk(daemon, announced)
    if statuses(came) != [413] or not closed:
        failed.append(f"10 GB announced: {statuses(came)}, closed: {closed}")
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
    came, closed = talk(daemon, ambiguous.chunked(piece * 1000), 1 << 20)
    if statuses(came) not in ([413], []) or not closed:
        failed.append(f"64 MB in chunks: {statuses(came)}, closed: {closed}")
    grown = daemon.rss_kib() - before
    if grown > 16 * 1024:
        failed.append(f"large bodies cost {grown} KiB")
    return failed


WAYS = {"ambiguous": ambiguous_requests, "pipelined": pipelined, "bodies": bodies}

if __name__ == "__main__":
    found = WAYS[sys.argv[1]]()
    print("\n".join(found))
    sys.exit(bool(found))
