#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures hutch against its peers and against the floor, in one run, and prints the result as Markdown.

Theory of operation. Machines are noisy, so only ratios within one run count: the peers are visited in turn, a few
runs at each visit, until each has enough. Every run is timed by the same small program (measure.c), which spawns the
command, waits for it and checks its exit status; a run that failed has no time. Each section, here and in living.py,
measures one thing and returns plain data; report.py compares it with the bars and writes the tables.
"""
import argparse
import collections.abc
import dataclasses
import json
import os
import random
import statistics
import subprocess
import sys
import time

import audit
import egress
import engines
import image_run
import living
import peers as peer_list
import pull
import report
import report_living
import report_serve
import serve
from world import Unavailable, World, check, end_process, find_program, reason_of

HERE = os.path.dirname(os.path.abspath(__file__))
PARALLEL = 8
MANY_MOUNTS = 100


@dataclasses.dataclass(frozen=True)
class Effort:
    rounds: int
    parallel_rounds: int
    parallel_runs: int
    alive: tuple
    alive_rounds: int
    stream_bytes: int
    stream_rounds: int
    api_rounds: int
    api_runs: int
    fork_rounds: int
    fork_bytes: int
    fork_files: int
    copy_rounds: int
    copy_bytes: int
    copy_files: int
    many: tuple
    many_rounds: int
    pull_bytes: int
    pull_rounds: int
    egress_bytes: int
    egress_rounds: int
    serve_rounds: int
    serve_seconds: int
    serve_runs: int
    serve_execs: int
    serve_creates: int
    docker_execs: int


FULL = Effort(rounds=30, parallel_rounds=9, parallel_runs=500, alive=(0, 100, 300), alive_rounds=10,
              stream_bytes=2 << 30, stream_rounds=5, api_rounds=10, api_runs=500, fork_rounds=10, fork_bytes=1 << 30,
              fork_files=10000, copy_rounds=5, copy_bytes=1 << 30, copy_files=10000, many=(10, 100, 1000),
              many_rounds=10, pull_bytes=200_000_000, pull_rounds=5, egress_bytes=2 << 30, egress_rounds=5, serve_rounds=5, serve_seconds=4,
              serve_runs=400, serve_execs=3200, serve_creates=100, docker_execs=160)
QUICK = Effort(rounds=4, parallel_rounds=1, parallel_runs=100, alive=(0, 20), alive_rounds=2,
               stream_bytes=256 << 20, stream_rounds=2, api_rounds=2, api_runs=200, fork_rounds=2,
               fork_bytes=128 << 20, fork_files=1000, copy_rounds=1, copy_bytes=128 << 20, copy_files=1000,
               many=(10, 200), many_rounds=2, pull_bytes=200_000_000, pull_rounds=2, egress_bytes=512 << 20, egress_rounds=2,
               serve_rounds=2, serve_seconds=1, serve_runs=100, serve_execs=640, serve_creates=30, docker_execs=32)


class Series:
    """The times of one command, in nanoseconds, successful runs only."""

    def __init__(self):
        self.samples = []
        self.failures = 0
        self.rates = []  # runs per second, one figure for each visit

    def add(self, outcome):
        self.samples += outcome["samples_ns"]
        self.failures += outcome["failures"]
        self.rates.append(outcome["per_second"])

    def quantile(self, q):
        return sorted(self.samples)[round(q * (len(self.samples) - 1))] / 1e6

    def summary(self):
        if not self.samples:
            return {"runs": 0, "failures": self.failures}
        return {"runs": len(self.samples), "failures": self.failures, "median_ms": self.quantile(0.5),
                "min_ms": self.quantile(0), "p99_ms": self.quantile(0.99),
                "mean_ms": statistics.fmean(self.samples) / 1e6, "per_second": statistics.median(self.rates)}


class Measure:
    """Calls measure.c."""

    def __init__(self, program):
        self.program = program

    def __call__(self, argv, *options, env=None):
        done = subprocess.run([self.program, "--samples", *options, "--", *argv], stdin=subprocess.DEVNULL,
                              capture_output=True, env=env, check=False)
        if done.returncode not in (0, 1):  # 1: some run failed, and was counted
            raise Unavailable(f"measure: {reason_of(done)}")
        return json.loads(done.stdout)

    @staticmethod
    def series():
        return Series()

    def in_turn(self, peers, rounds, *options, runs=None, warmups=1):
        """Visits the peers in turn; returns a summary for each that can be measured."""
        visited = [peer for peer in peers if not peer.reason]
        series = {peer.key: Series() for peer in visited}
        order = random.Random(1)  # shuffled, for a peer's after-effects must not always meet the same next one
        for _ in range(rounds):
            for peer in order.sample(visited, len(visited)):
                if peer.before:
                    peer.before()
                count = str(runs or peer.runs_per_visit)
                series[peer.key].add(self(peer.argv, "-n", count, "-w", str(warmups), *options,
                                          env=peer.environment()))
                if peer.after:
                    peer.after()
                time.sleep(peer.settle_s)
        return {key: one.summary() for key, one in series.items()}


def require(*needed):
    for peer in needed:
        if peer.reason:
            raise Unavailable(f"{peer.label}: {peer.reason}")


def measure_latency(measure, all_peers, effort):
    return measure.in_turn(all_peers, effort.rounds)


def measure_parallel(measure, by_key, effort):
    chosen = [by_key[key] for key in ("floor", "hutch_root", "hutch_host", "bwrap_root")]
    require(by_key["floor"])
    return measure.in_turn(chosen, effort.parallel_rounds, "-j", str(PARALLEL), runs=effort.parallel_runs)


def measure_memory(measure, by_key):
    """Peak of the hutch process alone, in KiB: with the output passed on, and recorded."""
    require(by_key["hutch_host"])
    argv = by_key["hutch_host"].argv
    recorded = [argv[0], "run", "--json", *argv[2:]]
    return {"run": measure(argv, "--rss", "-n", "5")["peak_rss_kib"],
            "run --json": measure(recorded, "--rss", "-n", "5")["peak_rss_kib"]}


class Alive:
    """Sandboxes that sleep in the background; each has said that it is up before it counts."""

    def __init__(self, world, hutch):
        self.argv = [hutch, "run", "--", "/bin/sh", "-c", "echo up; exec sleep 600"]
        self.processes = []
        world.on_close(self.end)

    def grow_to(self, count):
        fresh = [subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
                 for _ in range(count - len(self.processes))]
        self.processes += fresh
        for process in fresh:
            if process.stdout.readline() != b"up\n":
                raise Unavailable(f"a background sandbox did not start (of {count})")

    def check(self):
        dead = sum(process.poll() is not None for process in self.processes)
        if dead:
            raise Unavailable(f"{dead} of {len(self.processes)} background sandboxes ended early")

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            end_process(process)
            process.stdout.close()
        self.processes.clear()


def measure_alive(measure, world, by_key, effort):
    """The cost of one more sandbox while others live; the floor beside it shows the kernel's own share."""
    hutch = by_key["hutch_host"]
    require(hutch)
    alive, rows = Alive(world, hutch.argv[0]), {}
    try:
        for count in effort.alive:
            alive.grow_to(count)
            time.sleep(0.5)
            rows[count] = measure.in_turn([hutch, by_key["floor"]], effort.alive_rounds)
            alive.check()
    finally:
        alive.end()
    return rows


def check_capture(argv, size):
    """A capture that loses count is not a capture: the result must tell every byte."""
    result = json.loads(check(argv))
    if result.get("exit_code") != 0 or result.get("stdout_bytes") != size:
        raise Unavailable(f"the result says exit_code {result.get('exit_code')}, stdout_bytes "
                          f"{result.get('stdout_bytes')} where 0 and {size} are right")


def measure_stream(measure, by_key, effort):
    """Bytes per second of one producer: into a plain pipe, through `hutch run`, and recorded by `hutch run --json`."""
    require(by_key["hutch_host"])
    hutch, head = by_key["hutch_host"].argv[0], find_program("head", "/usr/bin/head")

    def producer(size):
        return [head, "-c", str(size), "/dev/zero"]

    capture = [hutch, "run", "--json", "--output-limit", "1m", "--"]
    check_capture([*capture, *producer(4 << 20)], 4 << 20)
    size = effort.stream_bytes
    ways = {
        "plain pipe": (producer(size), "--drain"),
        "hutch run": ([hutch, "run", "--", *producer(size)], "--drain"),
        "hutch run --json": ([*capture, *producer(size)], "-j1"),  # its stdout is /dev/null: the JSON is dropped
    }
    rates = {name: [] for name in ways}
    for _ in range(effort.stream_rounds):
        for name, (argv, how) in ways.items():
            outcome = measure(argv, how, "-n", "1")
            if outcome["failures"] or (how == "--drain" and outcome["drained_bytes"] != size):
                raise Unavailable(f"{name}: the run failed or lost bytes")
            rates[name].append(size / outcome["samples_ns"][0] * 1e9)
    return {name: statistics.median(values) for name, values in rates.items()}


def measure_mounts(measure, world, by_key, effort):
    """Starting with 100 directories mounted."""
    sources = [world.make_dir("mounts", str(i)) for i in range(MANY_MOUNTS)]
    hutch_flags = [flag for i, source in enumerate(sources) for flag in ("--mount", f"{source}:/mnt/{i}:ro")]
    bwrap_flags = [flag for i, source in enumerate(sources) for flag in ("--ro-bind", source, f"/tmp/{i}")]
    hutch = by_key["hutch_host"]
    require(hutch)
    compared = [
        hutch,
        peer_list.prepared("hutch_mounts", f"`hutch run` with {MANY_MOUNTS} `--mount`",
                           lambda: [hutch.argv[0], "run", *hutch_flags, "--", "/bin/true"], runs_per_visit=5),
        by_key["bwrap_host"],
        peer_list.prepared("bwrap_mounts", f"`bwrap` with {MANY_MOUNTS} `--ro-bind`",
                           lambda: peer_list.prepare_bwrap("/", "--tmpfs", "/tmp", *bwrap_flags), runs_per_visit=5),
    ]
    return {"peers": {peer.key: peer for peer in compared}, "times": measure.in_turn(compared, effort.rounds)}


def find_tool(world, build, name):
    """A program of bench/ from the build directory; compiled on the spot when there is none."""
    built = os.path.join(build, "bench", name)
    if os.access(built, os.X_OK):
        return built
    made = world.path(name)
    check([os.environ.get("CC", "cc"), "-O2", "-static", "-std=gnu17", "-D_GNU_SOURCE", "-o", made,
           os.path.join(HERE, f"{name}.c")])
    return made


def find_built(build, name):
    """A program of bench/ that is linked with the library."""
    built = os.path.join(build, "bench", name)
    if not os.access(built, os.X_OK):
        raise Unavailable(f"'{built}' is not there; 'tools/build --tests' makes it")
    return built


class Bench:
    """What the sections work with."""

    def __init__(self, world, options, effort):
        # the sandboxes of this run are its own, and whoever else has some is left alone
        os.environ["HUTCH_HOME"], os.environ["HUTCH_PROGRAM"] = world.make_dir("hutch-home"), options.hutch
        self.world, self.options, self.effort = world, options, effort
        self.measure = Measure(find_tool(world, options.build, "measure"))
        self.root = peer_list.make_busybox_root(world)
        self.boxes = living.Sandboxes(world, options.hutch, self.root)
        self.by_key = {}

    def prepare(self, needed):
        """The peers with these keys; None: all."""
        floor = find_tool(self.world, self.options.build, "floor")
        makers = peer_list.host_peers(self.options.hutch)
        makers += peer_list.root_peers(self.world, self.root, self.options.hutch, floor)
        makers += peer_list.engine_peers(self.world, self.root, not self.options.no_engines)
        if needed is None:
            needed = {make.args[0] for make in makers}
        self.by_key = {peer.key: peer for peer in peer_list.prepare_all(makers, needed)}
        for peer in self.by_key.values():
            if peer.reason:
                print(f"bench: {peer.label}: not measured: {peer.reason}", file=sys.stderr)


@dataclasses.dataclass(frozen=True)
class Section:
    needs: set | None  # keys of peers; None: all of them
    run: collections.abc.Callable  # with a Bench, returns its data


SECTIONS = {
    "latency": Section(None, lambda b: measure_latency(b.measure, list(b.by_key.values()), b.effort)),
    "parallel": Section({"floor", "hutch_root", "hutch_host", "bwrap_root"},
                        lambda b: measure_parallel(b.measure, b.by_key, b.effort)),
    "memory": Section({"hutch_host"}, lambda b: measure_memory(b.measure, b.by_key)),
    "alive": Section({"hutch_host", "floor"}, lambda b: measure_alive(b.measure, b.world, b.by_key, b.effort)),
    "stream": Section({"hutch_host"}, lambda b: measure_stream(b.measure, b.by_key, b.effort)),
    "mounts": Section({"hutch_host", "bwrap_host"},
                      lambda b: measure_mounts(b.measure, b.world, b.by_key, b.effort)),
    "image": Section(set(), lambda b: image_run.measure_image(b.measure, b.options.hutch, b.root, b.effort)),
    "egress": Section(set(), lambda b: egress.measure_egress(b.measure, b.world, b.options.hutch,
                                                             find_tool(b.world, b.options.build, "stream"), b.effort)),
    "audit": Section(set(), lambda b: audit.measure_audit(b.measure, b.world, b.options.hutch, b.effort)),
    "engines": Section({"docker"}, lambda b: engines.measure_engines(b.measure, b.world, b.options.hutch, b.root,
                                                                     b.by_key["docker"], b.effort)),
    "exec": Section({"exec", "docker"}, lambda b: living.measure_exec(b.measure, b.world, b.boxes, b.by_key, b.effort)),
    "api": Section({"exec"}, lambda b: living.measure_api(b.measure, find_built(b.options.build, "exec_loop"), b.boxes,
                                                          b.by_key, b.effort)),
    "cycle": Section(set(), lambda b: living.measure_cycle(b.measure, b.boxes, b.effort)),
    "many": Section({"floor"}, lambda b: living.measure_many(b.measure, b.boxes, b.by_key, b.effort)),
    "serve": Section({"docker"}, lambda b: serve.measure_serve(b.measure, b.world, b.options, b.boxes,
                                                               find_tool(b.world, b.options.build, "http_load"),
                                                               find_built(b.options.build, "exec_loop"), b.by_key["docker"], b.effort)),
    # what deletes thousands of files comes last: ext4 takes its time for every new one after that
    "fork": Section(set(), lambda b: living.measure_fork(b.measure, b.world, b.boxes, b.effort)),
    "copy": Section({"docker"}, lambda b: living.measure_copy(b.measure, b.world, b.boxes, b.by_key, b.effort)),
    "pull": Section({"docker"}, lambda b: pull.measure_pull(b.measure, b.world, b.options, b.by_key["docker"], b.effort)),
}


def needed_by(names):
    if any(SECTIONS[name].needs is None for name in names):
        return None
    return set().union(*(SECTIONS[name].needs for name in names))


def parse():
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__.splitlines()[0])
    build = os.path.join(os.path.dirname(HERE), "build")
    parser.add_argument("--quick", action="store_true", help="few runs: to see that everything works")
    parser.add_argument("--only", metavar="SECTION", action="append", choices=SECTIONS,
                        help=f"measure this section, may be given again: {', '.join(SECTIONS)}")
    parser.add_argument("--no-engines", action="store_true", help="leave podman and docker out")
    parser.add_argument("--no-install", action="store_true", help="install no Debian packages")
    parser.add_argument("--build", metavar="DIR", default=build, help="build directory (default: %(default)s)")
    parser.add_argument("--hutch", metavar="PATH", help="the hutch to measure (default: hutch in the build directory)")
    parser.add_argument("--out", metavar="FILE", help="write the Markdown to FILE too")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON to FILE")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed or was not measured")
    options = parser.parse_args()
    options.hutch = os.path.abspath(options.hutch or os.path.join(options.build, "hutch"))
    return options


def attempt(name, section, bench):
    """A section that is not possible here is replaced by the reason."""
    print(f"bench: {name}", file=sys.stderr)
    try:
        return section.run(bench)
    except Unavailable as why:
        print(f"bench: {name}: not measured: {why}", file=sys.stderr)
        return why


def measure_all(options):
    names = options.only or list(SECTIONS)
    load = os.getloadavg()[0]
    world = World()
    try:
        bench = Bench(world, options, QUICK if options.quick else FULL)
        print("bench: preparing the peers", file=sys.stderr)
        bench.prepare(needed_by(names))
        return report.Found(effort=bench.effort, quick=options.quick, peers=bench.by_key,
                            versions=peer_list.versions(options.hutch), load=load,
                            sections={name: attempt(name, SECTIONS[name], bench) for name in names})
    except Unavailable as why:
        sys.exit(f"bench: {why}")
    finally:
        world.close()


def page_before(path):
    if not path or not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as page:
        return page.read()


def main():
    options = parse()
    found = measure_all(options)
    bars = report.bars(found, {**report.BARS, **image_run.BARS, **egress.BARS, **audit.BARS, **engines.BARS, **pull.BARS, **report_living.BARS, **report_serve.BARS})
    text = report.markdown(found, bars, report.SECTIONS + image_run.SECTIONS + egress.SECTIONS + audit.SECTIONS + engines.SECTIONS + pull.SECTIONS + report_living.SECTIONS + report_serve.SECTIONS,
                           page_before(options.out))
    print(text)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as out:
            out.write(text + "\n")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(report.as_json(found, bars), out, indent=1)
    sys.exit(1 if options.check and not all(bar.met for bar in bars) else 0)


if __name__ == "__main__":
    main()
