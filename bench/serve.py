# SPDX-License-Identifier: Apache-2.0
"""The daemon: requests per second beside nginx, runs beside the C library, commands beside Docker's API, what it costs at rest.

Everything is on loopback or a unix socket of the bench's own, with connections that stay open, and the two sides of each comparison are
visited in turn. nginx has a configuration, a pid file and a port of its own. report_serve.py compares with the bars.
"""
import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import threading
import time

import living
from world import Unavailable, check, end_process, find_program

CLIENTS = 16
PARALLEL = 8
PACE_US = 50_000  # between the starts of two commands of one client
POOL = 20
STREAMS = 1000
EXEC_WAYS = (  # key, label, clients, pause
    ("alone", "1 client, flat out", 1, 0),
    ("paced", f"{CLIENTS} clients, each a command every {PACE_US // 1000} ms", CLIENTS, PACE_US),
    ("flat", f"{CLIENTS} clients, flat out", CLIENTS, 0),
)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def ask(self, method, path, body=None, status=(200, 201, 204)):
        headers = {"Content-Type": "application/json"} if body is not None else {}
        self.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self.getresponse()
        text = answer.read()
        if answer.status not in status:
            raise Unavailable(f"{method} {path}: {answer.status} {text[:200].decode(errors='replace')}")
        return json.loads(text) if text else None


class Daemon:
    """`hutch serve`, on the bench's HUTCH_HOME."""

    def __init__(self, world, hutch, name, *flags, env=None):
        self.port, self.socket, self.log = free_port(), world.path(f"{name}.sock"), world.path(f"{name}.access")
        with open(world.path(f"{name}.log"), "wb") as said:
            self.process = subprocess.Popen(
                [hutch, "serve", "--listen", f"127.0.0.1:{self.port}", "--socket", self.socket, "--insecure-no-auth", *flags],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, env={**os.environ, **(env or {})})
        world.on_close(self.end)
        wait_for(lambda: self.connect().ask("GET", "/healthz"), self.process, "hutch serve")

    def connect(self):
        return UnixConnection(self.socket)

    def rss_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

    def end(self):
        end_process(self.process, grace_s=30)


class Nginx:
    """A static file of the size of /healthz's answer. As it comes, a worker for each processor; without an access log, as the daemon."""

    def __init__(self, world, size):
        self.port, directory = free_port(), world.make_dir("nginx")
        for name in ("site", "tmp"):
            world.make_dir("nginx", name)
        with open(os.path.join(directory, "site", "healthz"), "w", encoding="ascii") as file:
            file.write("x" * size)
        config = os.path.join(directory, "nginx.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"daemon off; worker_processes auto; pid {directory}/pid; error_log {directory}/error.log;\n"
                       "events { worker_connections 1024; }\n"
                       "http { access_log off; keepalive_requests 100000000; sendfile on; tcp_nopush on; default_type application/json;\n"
                       + "".join(f"{kind}_temp_path {directory}/tmp/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                       + f"server {{ listen 127.0.0.1:{self.port}; root {directory}/site; }} }}\n")
        # workers become 'nobody': they must get to the file
        self.process = subprocess.Popen([find_program("nginx"), "-p", directory, "-c", config, "-e", f"{directory}/error.log"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        world.on_close(end_process, self.process)
        wait_for(lambda: check(["curl", "-fsS", f"http://127.0.0.1:{self.port}/healthz"]), self.process, "nginx")


def wait_for(question, process, name):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError, http.client.HTTPException, Unavailable):
            question()
            return
        time.sleep(0.05)
    raise Unavailable(f"{name} does not answer")


# ---- small answers ----


def wrk(port, seconds):
    said = check([find_program("wrk"), "-t2", "-c64", f"-d{seconds}s", f"http://127.0.0.1:{port}/healthz"], text=True)
    if "Non-2xx" in said or "Socket errors" in said:
        raise Unavailable(f"wrk: {said.splitlines()[-3]}")
    return next(float(line.split(":")[1]) for line in said.splitlines() if line.startswith("Requests/sec"))


def measure_small(world, daemon, effort):
    rates = {"hutch": [], "nginx": []}
    connection = daemon.connect()
    connection.request("GET", "/healthz")
    nginx = Nginx(world, len(connection.getresponse().read()))
    for _ in range(effort.serve_rounds):
        rates["nginx"].append(wrk(nginx.port, effort.serve_seconds))
        rates["hutch"].append(wrk(daemon.port, effort.serve_seconds))
    end_process(nginx.process)
    return {name: statistics.median(values) for name, values in rates.items()}


# ---- runs and commands ----


class Load:
    """Calls http_load.c with one request."""

    def __init__(self, world, tool, address):
        self.world, self.tool, self.address = world, tool, address

    def __call__(self, path, body, requests, clients, pause_us=0, status=200):
        text = json.dumps(body)
        file = self.world.path("request")
        with open(file, "w", encoding="ascii") as out:
            out.write(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}")
        done = subprocess.run([self.tool, "-n", str(requests), "-j", str(clients), "-i", str(pause_us), "-s", str(status),
                               self.address, file], capture_output=True, check=False)
        if done.returncode not in (0, 1):
            raise Unavailable(done.stderr.decode(errors="replace").strip()[:300])
        return json.loads(done.stdout)


def measure_runs(measure, load, library, root, effort):
    """`true` in a new sandbox, so many at a time: by POST /api/run, and by hutch_run() in one process."""
    series = {"api": measure.series(), "library": measure.series()}
    body = {"rootfs": root, "command": ["/bin/true"]}
    for _ in range(effort.serve_rounds):
        done = subprocess.run([library, "-n", str(effort.serve_runs), "-j", str(PARALLEL), "-r", root, "--", "/bin/true"],
                              capture_output=True, check=False)
        if done.returncode not in (0, 1):
            raise Unavailable(done.stderr.decode(errors="replace").strip()[:300])
        series["library"].add(json.loads(done.stdout))
        series["api"].add(load("/api/run", body, effort.serve_runs, PARALLEL))
    return {key: one.summary() for key, one in series.items()}


def measure_execs(measure, load, boxes, effort):
    name = boxes.create("serve-exec")
    series = {key: measure.series() for key, *_ in EXEC_WAYS}
    for _ in range(effort.serve_rounds):
        for key, _, clients, pause in EXEC_WAYS:
            series[key].add(load(f"/api/sandboxes/{name}/execute", {"command": ["/bin/true"]}, effort.serve_execs, clients, pause))
    boxes.remove([name])
    return {key: one.summary() for key, one in series.items()}


def docker_exec(connection, container):
    """What one command takes by Docker's API: made, started and read to its end, asked for its exit code."""
    made = connection.ask("POST", f"/containers/{container}/exec", {"Cmd": ["/bin/true"], "AttachStdout": True, "AttachStderr": True})
    connection.request("POST", f"/exec/{made['Id']}/start", json.dumps({"Detach": False}), {"Content-Type": "application/json"})
    connection.getresponse().read()
    connection.close()  # a connection that carried a command's output is not used again
    if connection.ask("GET", f"/exec/{made['Id']}/json")["ExitCode"] != 0:
        raise Unavailable("docker exec failed")


def measure_docker(measure, world, docker, effort):
    container = living.Container(world, docker, "bench-serve")
    path = container.client[container.client.index("--host") + 1].removeprefix("unix://")
    series, found, each = measure.series(), [], max(2, effort.docker_execs // CLIENTS)

    def client():
        connection = UnixConnection(path)
        for _ in range(each):
            begin = time.monotonic_ns()
            docker_exec(connection, container.name)
            found.append(time.monotonic_ns() - begin)

    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    missing = CLIENTS * each - len(found)
    series.add({"samples_ns": found, "failures": missing, "per_second": len(found) / (time.monotonic() - begin)})
    container.remove()
    return series.summary()


# ---- made ahead ----


def measure_pool(measure, world, hutch, tool, root, effort):
    """From a warm pool: as the client sees it, and as the daemon's own log has it."""
    templates = world.make_dir("templates", "bench")
    with open(os.path.join(templates, "sandbox.yml"), "w", encoding="utf-8") as file:
        file.write(f"rootfs: {root}\n")
    daemon = Daemon(world, hutch, "pool", "--pool", f"bench={POOL}", "--access-log", world.path("pool.access"),
                    env={"HUTCH_SANDBOXES": os.path.dirname(templates)})
    time.sleep(3)  # until it is full
    series = measure.series()
    load = Load(world, tool, daemon.socket)
    # slower than it is filled
    series.add(load("/api/sandboxes/", {"template": "bench"}, effort.serve_creates, 1, 100_000, 201))
    daemon.end()
    with open(world.path("pool.access"), encoding="utf-8") as log:
        lines = [json.loads(line) for line in log]
    on_server = [line["us"] / 1000 for line in lines if line.get("status") == 201]
    return {"client": series.summary(), "server_ms": statistics.median(on_server) if on_server else None}


# ---- what it costs to wait ----


def measure_idle(world, hutch):
    daemon = Daemon(world, hutch, "idle", "--limit", f"streams={STREAMS * 2}")
    time.sleep(0.5)
    idle, links = daemon.rss_kib(), []
    for _ in range(STREAMS):
        link = socket.socket(socket.AF_UNIX)
        link.connect(daemon.socket)
        link.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
        if not link.recv(12).endswith(b"200"):
            raise Unavailable(f"stream {len(links)} was refused")
        links.append(link)
    time.sleep(2)
    crowded = daemon.rss_kib()
    for link in links:
        link.close()
    daemon.end()
    return {"idle_kib": idle, "streams_kib": crowded - idle}


def part(function, *arguments):
    """A part that is not possible here does not take the others with it."""
    try:
        return function(*arguments)
    except Unavailable as why:
        return {"why": str(why)}


def measure_serve(measure, world, options, boxes, tool, library, docker, effort):
    daemon = Daemon(world, options.hutch, "serve")
    load = Load(world, tool, daemon.socket)
    found = {
        "small": part(measure_small, world, daemon, effort),
        "runs": part(measure_runs, measure, load, library, boxes.root, effort),
        "execs": part(measure_execs, measure, load, boxes, effort),
        "docker": part(measure_docker, measure, world, docker, effort),
    }
    daemon.end()
    found["pool"] = part(measure_pool, measure, world, options.hutch, tool, boxes.root, effort)
    found["idle"] = part(measure_idle, world, options.hutch)
    return found
