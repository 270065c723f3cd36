# SPDX-License-Identifier: Apache-2.0
"""A daemon for a test, and clients of it. Everything is the real thing: `hutch serve` on $HUTCH_HOME, by socket and port."""
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time

HUTCH = os.environ.get("HUTCH_UNDER_TEST") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "hutch")


class Failed(Exception):
    pass


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def expect(self, *statuses):
        if self.status not in statuses:
            raise Failed(f"expected {statuses}, got {self.status}: {self.body[:500]!r}")
        return self


class Client:
    """One connection that stays open; made again when the other side has closed it."""

    def __init__(self, address, token=None, timeout=60):
        self.address, self.token, self.timeout = address, token, timeout
        self.connection = None

    def connect(self):
        if self.connection is None:
            self.connection = (UnixConnection(self.address, self.timeout) if isinstance(self.address, str)
                               else http.client.HTTPConnection(*self.address, timeout=self.timeout))
        return self.connection

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def send(self, method, path, body=None, headers=None):
        """Returns the response before its body was read."""
        head = dict(headers or {})
        if self.token:
            head["Authorization"] = f"Bearer {self.token}"
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        if body is not None:
            head.setdefault("Content-Type", "application/json")
        connection = self.connect()
        try:
            connection.request(method, path, body, head)
            return connection.getresponse()
        except BaseException:
            self.close()
            raise

    def call(self, method, path, body=None, headers=None):
        response = self.send(method, path, body, headers)
        try:
            answer = Answer(response.status, dict(response.getheaders()), response.read())
        except BaseException:
            self.close()
            raise
        if response.will_close:
            self.close()
        return answer

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body=None):
        return self.call("POST", path, body)

    def delete(self, path):
        return self.call("DELETE", path)

    def names(self):
        """The names of the sandboxes that it sees."""
        found = self.get("/api/sandboxes/").expect(200).json()
        return {one["name"] for one in (found["sandboxes"] if isinstance(found, dict) else found)}


class Daemon:
    def __init__(self, *flags, log=None):
        self.flags = flags
        self.port = free_port()
        self.socket = os.path.join(os.environ["HUTCH_HOME"], f"test-{self.port}.sock")
        self.log = log or os.path.join(os.path.dirname(os.environ["HUTCH_HOME"]), "serve.log")
        self.process = None

    def start(self, patience_s=20):
        argv = [HUTCH, "serve", "--listen", f"127.0.0.1:{self.port}", "--socket", self.socket, *self.flags]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(self.client(timeout=5)) as client:
                if client.get("/healthz").status == 200:
                    return self
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise Failed(f"the daemon does not answer: {self.said()}")

    def said(self):
        with open(self.log, "rb") as log:
            return log.read()[-2000:].decode(errors="replace")

    def kill9(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """In order; whether it ended well."""
        if self.process is None or self.process.poll() is not None:
            return self.process is None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30) == 0
        except subprocess.TimeoutExpired:
            self.kill9()
            return False
        finally:
            with contextlib.suppress(OSError):
                os.unlink(self.socket)

    def client(self, token=None, timeout=60):
        return Client(self.socket, token, timeout)

    def tcp(self, token=None, timeout=60):
        return Client(("127.0.0.1", self.port), token, timeout)

    # ---- what it costs ----

    def status_of(self, name):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(name + ":"):
                    return int(line.split()[1])
        raise Failed(f"no {name} in the status of {self.process.pid}")

    def rss_kib(self):
        return self.status_of("VmRSS")

    def peak_kib(self):
        return self.status_of("VmHWM")

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w", encoding="ascii") as refs:
            refs.write("5")

    def threads(self):
        return self.status_of("Threads")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@contextlib.contextmanager
def running(*flags):
    daemon = Daemon(*flags)
    try:
        yield daemon.start()
        if not daemon.stop():
            raise Failed(f"the daemon did not end in order: {daemon.said()}")
    finally:
        if daemon.process and daemon.process.poll() is None:
            daemon.kill9()


def quantile(values, q):
    return sorted(values)[round(q * (len(values) - 1))]
