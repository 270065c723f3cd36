# SPDX-License-Identifier: Apache-2.0
"""Sessions as their clients have them. Each function is a test: sessions.py NAME."""
import base64
import contextlib
import json
import random
import subprocess
import sys
import time

import websocket
from hutchd import Failed, HUTCH, running

BOX = "/api/sandboxes/box"


def check(is_so, what):
    if not is_so:
        raise Failed(what)


def start(client, command, **fields):
    return client.post(f"{BOX}/exec", {"command": command, **fields}).expect(201).json()["id"]


def shell(client, script, **fields):
    return start(client, ["sh", "-c", script], **fields)


@contextlib.contextmanager
def box(*flags):
    with running(*flags) as daemon, contextlib.closing(daemon.client()) as client:
        client.post("/api/sandboxes/", {"name": "box"}).expect(201)
        yield daemon, client
        with contextlib.closing(daemon.client()) as last:
            last.delete(BOX).expect(200)


def events(response):
    """(event, id, data) of a stream, until it ends or is cut."""
    event = identity = None
    for line in response:
        line = line.rstrip(b"\n").decode()
        if line.startswith("event: "):
            event = line[7:]
        elif line.startswith("id: "):
            identity = int(line[4:])
        elif line.startswith("data: "):
            yield event, identity, json.loads(line[6:])


def bytes_of(data):
    return base64.b64decode(data["data"]) if data.get("encoding") else data["data"].encode()


NUMBERS = "i=0; while [ $i -lt 3000 ]; do echo \"line $i é\"; echo \"other $i\" >&2; i=$((i+1)); [ $((i % 50)) -ne 0 ] || sleep 0.03; done"


def expected():
    out = "".join(f"line {i} é\n" for i in range(3000)).encode()
    return {"stdout": out, "stderr": "".join(f"other {i}\n" for i in range(3000)).encode()}


def read_some(daemon, session, said, offset, most):
    """Reads a while and cuts the connection. The offset after it, and the result if there was one."""
    with contextlib.closing(daemon.client()) as client:
        response = client.send("GET", f"{BOX}/exec/{session}/attach",
                               headers={"Accept": "text/event-stream", "Last-Event-ID": str(offset)})
        check(response.status == 200, f"attach: {response.status}")
        for count, (event, identity, data) in enumerate(events(response)):
            if event == "result":
                return offset, data
            said[event] += bytes_of(data)
            offset = identity
            if count >= most:
                break
    return offset, None


def resume():
    """A reader that is cut off again and again, and comes back by the last id it has seen, misses nothing."""
    with box() as (daemon, client):
        session = shell(client, NUMBERS)
        said, offset, result, times = {"stdout": b"", "stderr": b""}, 0, None, 0
        while result is None:
            offset, result = read_some(daemon, session, said, offset, random.randrange(1, 12))
            times += 1
        check(said == expected(), "the pieces are not what was said")
        check(result["exit_code"] == 0 and times > 10, f"{times} times, {result}")


def daemon_dies():
    """The daemon is killed in the middle, more than once: the same, and the session is listed, written to and signalled after it."""
    with box() as (daemon, client):
        session = shell(client, NUMBERS + "; read x; echo got $x; sleep 100", stdin=True)
        said, offset = {"stdout": b"", "stderr": b""}, 0
        for _ in range(4):
            offset, result = read_some(daemon, session, said, offset, 30)
            check(result is None, "it has ended")
            daemon.kill9()
            daemon.start()
        client.close()
        listed = client.get(f"{BOX}/exec").expect(200).json()["sessions"]
        check([one["id"] for one in listed if one["state"] == "running"] == [session], f"{listed}")
        client.call("POST", f"{BOX}/exec/{session}/stdin", b"input\n").expect(204)
        want = expected()
        want["stdout"] += b"got input\n"
        while any(len(said[stream]) < len(want[stream]) for stream in want):
            offset, result = read_some(daemon, session, said, offset, 0)
        check(said == want, "the pieces are not what was said")
        client.post(f"{BOX}/exec/{session}/signal", {"signal": "TERM"}).expect(204)
        ended = client.get(f"{BOX}/exec/{session}?wait=1").expect(200).json()
        check(ended["result"]["signal"] == 15, f"{ended}")


def terminal():
    with box() as (daemon, client):
        session = shell(client, "stty -echo; echo ready; while read line; do stty size; echo \"<$line>\"; done; echo over", tty=True,
                        rows=11, cols=22)
        web = websocket.session(daemon.socket, f"{BOX}/exec/{session}")
        check(web.receive()[1].endswith(b"ready\r\n"), "no ready")
        web.order(type="resize", rows=33, cols=44)
        web.write("é\n".encode())
        web.order(type="close_stdin")
        said, offset, texts, code = websocket.read_to_end(web)
        check(said[1] == "33 44\r\n<é>\r\nover\r\n".encode() and code == 1000, f"{said} {code}")
        check([one["type"] for one in texts] == ["result"] and texts[0]["result"]["exit_code"] == 0, f"{texts}")
        # from an offset, after its end
        said, _, texts, code = websocket.read_to_end(websocket.session(daemon.socket, f"{BOX}/exec/{session}", offset - 6))
        check(said[1] == b"over\r\n" and code == 1000, f"{said}")


def duplex():
    """Much in both directions: what is slow holds up the other side, and nothing is lost or piles up."""
    with box() as (daemon, client):
        session = start(client, ["cat"], stdin=True)
        web = websocket.session(daemon.socket, f"{BOX}/exec/{session}", receive_bytes=4096)
        data = bytes(random.randrange(256) for _ in range(1 << 16))
        for _ in range(64):
            web.write(data)
        web.order(type="close_stdin")
        time.sleep(0.5)  # nobody reads
        said, offset, texts, code = websocket.read_to_end(web)
        check(said[1] == data * 64 and offset == 64 << 16 and code == 1000, f"{len(said[1])} {offset} {code} {texts}")
        check(daemon.peak_kib() < 32 << 10, f"{daemon.peak_kib()} KiB")


def unread_input():
    """A command that does not read holds its client up; a signal goes by another way."""
    with box() as (daemon, client):
        session = start(client, ["sleep", "100"], stdin=True)
        web = websocket.session(daemon.socket, f"{BOX}/exec/{session}", timeout=2)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 64:
                web.write(b"x" * (1 << 18))
                sent += 1
        check(sent < 16, "all of it was taken though nobody reads")
        check(daemon.rss_kib() < 24 << 10, f"{daemon.rss_kib()} KiB")
        client.post(f"{BOX}/exec/{session}/signal", {"signal": 9}).expect(204)
        client.get(f"{BOX}/exec/{session}?wait=1").expect(200)


def nonsense():
    with box() as (daemon, client):
        session = start(client, ["sleep", "100"])
        for what in ({"type": "resize"}, {"type": "resize", "rows": 0, "cols": 70000}, {"type": "fly"}, {"rows": 1},
                     {"type": "signal", "signal": "NOPE"}):
            web = websocket.session(daemon.socket, f"{BOX}/exec/{session}")
            web.order(**what)
            _, _, texts, code = websocket.read_to_end(web)
            check(code == 1008 and texts[0]["type"] == "error" and texts[0]["error"]["code"] == "invalid", f"{texts} {code}")
        # one that reads nothing says so once, and goes on
        web = websocket.session(daemon.socket, f"{BOX}/exec/{session}")
        web.write(b"x")
        web.write(b"y")
        web.order(type="signal", signal="KILL")
        _, _, texts, code = websocket.read_to_end(web)
        check([one["type"] for one in texts] == ["error", "result"] and code == 1000, f"{texts} {code}")
        try:
            websocket.session(daemon.socket, f"{BOX}/exec/0123456789abcdef")
        except websocket.Refused as refused:
            check(refused.status == 404, f"{refused}")
        else:
            raise Failed("a session that is not there was opened")


def goes_away():
    """Clients that go leave nothing in the daemon; the session goes on."""
    with box() as (daemon, client):
        session = start(client, ["sleep", "100"], stdin=True)
        client.get("/healthz")
        before = daemon.descriptors()
        for number in range(40):
            web = websocket.session(daemon.socket, f"{BOX}/exec/{session}")
            if number % 2:
                web.send(websocket.CLOSE, b"\x03\xe8")
            web.close()
        for _ in range(100):
            if daemon.descriptors() <= before + 2:
                break
            time.sleep(0.05)
        check(daemon.descriptors() <= before + 2, f"{daemon.descriptors()} instead of {before}")
        check(client.get(f"{BOX}/exec/{session}").json()["state"] == "running", "it has ended")


def token_of(scope):
    made = subprocess.run([HUTCH, "token", "create", "--tenant", "acme", "--scope", scope], check=True, capture_output=True, text=True)
    return made.stdout.strip()


def only_looks():
    """Who may read looks at a session by WebSocket, and cannot write to it by that way either."""
    tokens = {scope: token_of(scope) for scope in ("read", "write")}
    with running() as daemon, contextlib.closing(daemon.tcp(tokens["write"])) as client:
        client.post("/api/sandboxes/", {"name": "box"}).expect(201)
        session = start(client, ["cat"], stdin=True)
        address = ("127.0.0.1", daemon.port)
        for what in ("write", "order"):
            web = websocket.session(address, f"{BOX}/exec/{session}", token=tokens["read"])
            if what == "write":
                web.write(b"mischief\n")
            else:
                web.order(type="signal", signal="KILL")
            _, _, texts, code = websocket.read_to_end(web)
            check(code == 1008 and texts[0]["type"] == "error", f"{texts} {code}")
        web = websocket.session(address, f"{BOX}/exec/{session}", token=tokens["write"])
        web.write(b"fine\n")
        web.order(type="close_stdin")
        said, _, _, code = websocket.read_to_end(web)
        check(said[1] == b"fine\n" and code == 1000, f"{said} {code}")
        for token in (None, "hutch_nobody"):
            try:
                websocket.session(address, f"{BOX}/exec/{session}", token=token)
            except websocket.Refused as refused:
                check(refused.status == 401, f"{refused}")
            else:
                raise Failed("somebody without a token came in")
        client.delete(BOX).expect(200)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
