#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""crash.py KILLS: kills the daemon again and again under load, and compares what was acknowledged with what is there.

Theory of operation. Workers make, use and remove sandboxes, each under names of its own that are never used twice, and write down what was
answered: after 201 a sandbox is *there*, after the answer to its removal it is *gone*, and where the answer was lost it is in *doubt*, as is
whatever was asked for without an answer. A follower reads the output of a command that goes on all the time, and goes on by its offset
whenever the daemon is back. At the end the host is asked, not the daemon.
"""
import contextlib
import http.client
import json
import random
import subprocess
import sys
import threading
import time

import hutchd

WORKERS = 3
LOST = (OSError, http.client.HTTPException)


class Ledger:
    """What was acknowledged."""

    def __init__(self):
        self.lock = threading.Lock()
        self.there, self.gone, self.doubt, self.failed = {}, set(), set(), []
        self.keyed = {}  # key: (name that was asked for, id that was answered)
        self.counts = {"created": 0, "executed": 0, "removed": 0, "ran": 0, "lost": 0}

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def wrong(self, text):
        with self.lock:
            self.failed.append(text)


class Worker(threading.Thread):
    def __init__(self, number, daemon, ledger, until):
        super().__init__(daemon=True)
        self.number, self.served, self.ledger, self.until = number, daemon, ledger, until
        self.turn, self.mine = 0, {}
        self.dice = random.Random(number)

    def run(self):
        try:
            while not self.until.is_set():
                self.dice.choice((self.create, self.create, self.execute, self.execute, self.remove, self.once, self.run_one))()
        except Exception as error:  # a thread that dies silently would prove nothing
            self.ledger.wrong(f"worker {self.number}: {error!r}")

    def ask(self, method, path, body=None, key=None):
        """The answer; None when it was lost. Busy is no answer: it is asked again."""
        headers = {"Idempotency-Key": key} if key else {}
        for _ in range(200):
            client = self.served.client(timeout=30)
            try:
                answer = client.call(method, path, body, headers)
            except LOST:
                self.ledger.count("lost")
                self.wait_for_daemon()
                return None
            finally:
                client.close()
            if answer.status not in (429, 503):
                return answer
            time.sleep(0.05)
        raise hutchd.Failed(f"{method} {path}: busy for 200 tries")

    def wait_for_daemon(self):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with contextlib.suppress(LOST), contextlib.closing(self.served.client(timeout=5)) as client:
                if client.get("/healthz").status == 200:
                    return
            time.sleep(0.01)
        raise hutchd.Failed("the daemon did not come back")

    def new_name(self, kind):
        self.turn += 1
        return f"{kind}-{self.number}-{self.turn}"

    def create(self):
        if len(self.mine) > 6:
            self.remove()
            return
        name = self.new_name("box")
        answer = self.ask("POST", "/api/sandboxes/", {"name": name})
        if answer is None:
            self.ledger.doubt.add(name)
            return
        made = answer.expect(201).json()
        if made["name"] != name:
            self.ledger.wrong(f"asked for '{name}', got '{made['name']}'")
        self.mine[name] = made["id"]
        self.ledger.there[name] = made["id"]
        self.ledger.count("created")

    def execute(self):
        if not self.mine:
            return
        name = self.dice.choice(list(self.mine))
        answer = self.ask("POST", f"/api/sandboxes/{name}/execute", {"command": ["echo", name]})
        if answer is None:
            return
        result = answer.expect(200).json()
        if not result["ok"] or result["stdout"] != name + "\n":
            self.ledger.wrong(f"execute in {name}: {result}")
        self.ledger.count("executed")

    def remove(self):
        if not self.mine:
            return
        name = self.dice.choice(list(self.mine))
        del self.mine[name]
        del self.ledger.there[name]
        answer = self.ask("DELETE", f"/api/sandboxes/{name}")
        if answer is None:
            self.ledger.doubt.add(name)
            return
        answer.expect(200)
        self.ledger.gone.add(name)
        self.ledger.count("removed")

    def once(self):
        """The same request with the same key until it is answered: then that answer is the only one it ever has."""
        name, key = self.new_name("once"), f"key-{self.number}-{self.turn}-{self.served.port}"
        self.ledger.doubt.add(name)
        for _ in range(50):
            answer = self.ask("POST", "/api/sandboxes/", {"project_name": name, "labels": {"once": name}}, key)
            if answer is None:
                continue
            made = answer.expect(201, 409).json()
            if answer.status == 201:
                self.ledger.keyed[key] = (name, made["id"])
            return

    def run_one(self):
        answer = self.ask("POST", "/api/run", {"command": ["echo", "ran"]})
        if answer is None:
            return
        result = answer.expect(200).json()
        if not result["ok"] or result["stdout"] != "ran\n":
            self.ledger.wrong(f"run: {result}")
        self.ledger.count("ran")


class Follower(threading.Thread):
    """Reads lines 0, 1, 2, ... of a command, over every death of the daemon."""

    def __init__(self, daemon, ledger):
        super().__init__(daemon=True)
        self.served, self.ledger = daemon, ledger
        client = daemon.client()
        client.post("/api/sandboxes/", {"name": "stream"}).expect(201)
        script = "i=0; until [ -e /tmp/stop ]; do echo line $i; i=$((i+1)); sleep 0.01; done; echo end"
        self.session = client.post("/api/sandboxes/stream/exec", {"command": ["sh", "-c", script]}).expect(201).json()["id"]
        self.data, self.offset, self.ended, self.resumed = "", None, False, 0

    def run(self):
        end = time.monotonic() + 1800
        while not self.ended and time.monotonic() < end:
            try:
                self.follow()
            except LOST:
                self.resumed += 1
                time.sleep(0.02)
            except Exception as error:
                self.ledger.wrong(f"follower: {error!r}")
                return

    def follow(self):
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": self.offset} if self.offset else {})}
        client = self.served.client(timeout=30)
        response = client.send("GET", f"/api/sandboxes/stream/exec/{self.session}/attach", None, headers)
        if response.status in (429, 503):
            raise OSError("busy")
        if response.status != 200:
            raise hutchd.Failed(f"attach: {response.status} {response.read()[:300]!r}")
        event = {}
        for raw in response:
            line = raw.decode().rstrip("\r\n")
            if line:
                name, _, value = line.partition(":")
                event[name] = value.removeprefix(" ")
                continue
            self.take(event)
            event = {}
            if self.ended:
                return
        raise OSError("the stream was cut")

    def take(self, event):
        kind = event.get("event")
        if kind in ("stdout", "stderr"):
            self.data += json.loads(event["data"])["data"]
            self.offset = event["id"]
        elif kind == "result":
            self.ended = True
        elif kind == "error":
            raise hutchd.Failed(event["data"])

    def judge(self):
        lines = self.data.split("\n")
        expected = [f"line {i}" for i in range(len(lines) - 2)] + ["end", ""]
        if lines != expected:
            at = next((i for i, (a, b) in enumerate(zip(lines, expected)) if a != b), min(len(lines), len(expected)))
            self.ledger.wrong(f"the stream differs at line {at}: {lines[at - 1:at + 2]}")


def on_host():
    listed = json.loads(subprocess.run([hutchd.HUTCH, "ls", "--json"], check=True, capture_output=True).stdout)
    return {one["name"]: one for one in listed["sandboxes"]}


def kill_again_and_again(daemon, kills, dice):
    slowest = 0
    for _ in range(kills):
        time.sleep(dice.uniform(0.02, 0.5))
        daemon.kill9()
        begin = time.monotonic()
        daemon.start()
        slowest = max(slowest, time.monotonic() - begin)
    time.sleep(0.3)
    print(f"{kills} kills, back after {slowest:.2f} s at the slowest")


def judge(ledger, daemon):
    found = on_host()
    for name, one in ledger.there.items():
        if name not in found:
            ledger.wrong(f"'{name}' was acknowledged and is not there")
        elif found[name]["id"] != one:
            ledger.wrong(f"'{name}' is another one than was acknowledged")
    for name in ledger.gone & found.keys():
        ledger.wrong(f"'{name}' was removed and is there")
    known = ledger.there.keys() | ledger.doubt | {"stream"}
    for name in found:
        # a name that was taken gets a suffix
        if not any(name == one or name.startswith(one + "-") for one in known):
            ledger.wrong(f"'{name}' is there, and nobody asked for it")
    client = daemon.client()
    for name in ledger.there:
        result = client.post(f"/api/sandboxes/{name}/execute", {"command": ["echo", name]}).expect(200).json()
        if result["stdout"] != name + "\n":
            ledger.wrong(f"'{name}' is not usable: {result}")
    for key, (name, made) in ledger.keyed.items():
        answer = client.call("POST", "/api/sandboxes/", {"project_name": name, "labels": {"once": name}}, {"Idempotency-Key": key})
        if answer.status != 201 or answer.json()["id"] != made:
            ledger.wrong(f"the same key was answered with {answer.status} {answer.body[:200]!r} instead of {made}")
    if client.names() != set(on_host()):
        ledger.wrong(f"the daemon's list differs from the host's: {client.names() ^ set(on_host())}")


def main(kills):
    ledger, until = Ledger(), threading.Event()
    daemon = hutchd.Daemon().start()
    try:
        follower = Follower(daemon, ledger)
        workers = [Worker(number, daemon, ledger, until) for number in range(WORKERS)]
        for thread in [follower, *workers]:
            thread.start()
        kill_again_and_again(daemon, kills, random.Random())
        until.set()
        for worker in workers:
            worker.join()
        daemon.client().post("/api/sandboxes/stream/execute", {"command": ["touch", "/tmp/stop"]}).expect(200)
        follower.join()
        follower.judge()
        judge(ledger, daemon)
        client = daemon.client()
        for name in client.names():
            client.delete(f"/api/sandboxes/{name}").expect(200)
        client.close()
        if not daemon.stop():
            ledger.wrong("the daemon did not end in order")
    finally:
        until.set()
        if daemon.process.poll() is None:
            daemon.kill9()
    print(ledger.counts, f"stream: {len(follower.data)} bytes, resumed {follower.resumed} times")
    for what in ("created", "executed", "removed", "ran"):
        if not ledger.counts[what]:
            ledger.wrong(f"nothing was {what}: this proves nothing")
    print("\n".join(ledger.failed[:50]))
    sys.exit(bool(ledger.failed))


if __name__ == "__main__":
    main(int(sys.argv[1]))
