# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that stay: commands in them, their making and removal, forks, copies, and a thousand of them at once.

They live under a HUTCH_HOME of the bench's own (see bench.py), on the same busybox root as everything else. Each
section returns plain data; report_living.py compares it with the bars.
"""
import contextlib
import json
import os
import subprocess
import time

from peers import ENGINE_SETTLE_S, Peer, prepared
from world import Unavailable, check, find_program

BLOCK = os.urandom(1 << 20)  # files of the bench: nothing that could be stored as a hole or compressed
REMOVED_AT_ONCE = 50
API_WAYS = (  # key, label, handles, sandboxes
    ("one", "1 handle", 1, 1),
    ("shared", "2 handles of 1 sandbox", 2, 1),
    ("two", "2 handles, a sandbox each", 2, 2),
    ("four", "4 handles, a sandbox each", 4, 4),
)
COPY_SANDBOXES = (  # name, key, label
    ("copy", "", ""),
    ("copy-root", "_root", ", `--rootfs`"),
)


class Sandboxes:
    """The hutch that is measured, and what it keeps in the bench's HUTCH_HOME."""

    def __init__(self, world, hutch, root):
        self.hutch, self.root, self.world = hutch, root, world
        self.create_argv = [hutch, "create", "--rootfs", root]
        world.on_close(self.remove_all)

    def create(self, name):
        check([*self.create_argv, "--name", name])
        return name

    def names(self):
        listed = json.loads(check([self.hutch, "ls", "--json"], timeout=600))
        return [one["name"] for one in listed["sandboxes"]]

    def remove(self, names):
        for start in range(0, len(names), REMOVED_AT_ONCE):
            check([self.hutch, "rm", "-f", *names[start:start + REMOVED_AT_ONCE]], timeout=600)

    def remove_where(self, prefix):
        self.remove([name for name in self.names() if name.startswith(prefix)])

    def remove_all(self):
        with contextlib.suppress(Unavailable):
            self.remove(self.names())


class Container:
    """A container that stays, of the bench's own dockerd."""

    def __init__(self, world, docker, name):
        if docker.reason:
            raise Unavailable(docker.reason)
        self.client, self.name = docker.argv[:docker.argv.index("run")], name
        check([*self.client, "run", "-d", "--name", name, "--network", "none", "hutch-bench:latest",
               "/bin/sleep", "86400"])
        world.on_close(self.remove)

    def remove(self):
        subprocess.run([*self.client, "rm", "-f", self.name], capture_output=True, check=False)


# ---- commands ----


def measure_exec(measure, world, boxes, by_key, effort):
    """One command by the command line, beside a plain start of the same programs and `docker exec`."""
    name = boxes.create("exec")

    def docker_exec():
        container = Container(world, by_key["docker"], "bench-exec")
        return [*container.client, "exec", container.name, "/bin/true"]

    compared = [
        prepared("hutch_exec", "`hutch exec NAME true`", lambda: [boxes.hutch, "exec", name, "/bin/true"]),
        prepared("version", "`hutch version`: the CLI alone", lambda: [boxes.hutch, "version"]),
        by_key["exec"],
        prepared("docker_exec", "`docker exec NAME true`", docker_exec, runs_per_visit=1, settle_s=ENGINE_SETTLE_S),
    ]
    times = measure.in_turn(compared, effort.rounds)
    boxes.remove([name])
    return {"peers": {peer.key: peer for peer in compared}, "times": times}


def measure_api(measure, tool, boxes, by_key, effort):
    """Commands through the C API on open handles; the floor is the same command without a sandbox."""
    names = [boxes.create(f"api-{i}") for i in range(max(way[3] for way in API_WAYS))]
    series = {key: measure.series() for key, *_ in API_WAYS}
    plain = {1: measure.series(), 2: measure.series()}
    for _ in range(effort.api_rounds):
        for handles, one in plain.items():
            one.add(measure(by_key["exec"].argv, "-n", str(effort.api_runs), "-w", "5", "-j", str(handles)))
        for key, _, handles, count in API_WAYS:
            argv = [tool, "-n", str(effort.api_runs), "-j", str(handles), *names[:count], "--", "/bin/true"]
            done = subprocess.run(argv, capture_output=True, check=False)
            if done.returncode not in (0, 1):
                raise Unavailable(f"exec_loop: {done.stderr.decode(errors='replace').strip()[:200]}")
            series[key].add(json.loads(done.stdout))
    boxes.remove(names)
    return {"ways": {key: one.summary() for key, one in series.items()},
            "plain": {handles: one.summary() for handles, one in plain.items()}}


def measure_cycle(measure, boxes, effort):
    """A sandbox made, used once and removed, beside `hutch run`: both on the host's root, and both on one of their own."""
    compared = []
    for key, label, root in (("", "", []), ("_root", " --rootfs", ["--rootfs", boxes.root])):
        cycle = [boxes.hutch, "create", *root, "--name", "cycle-{}", ",", boxes.hutch, "exec", "cycle-{}", "/bin/true", ",",
                 boxes.hutch, "rm", "-f", "cycle-{}"]
        compared += [Peer(f"cycle{key}", f"`hutch create{label}`, `exec`, `rm -f`", cycle),
                     prepared(f"run{key}", f"`hutch run{label}`",
                              lambda root=root: [boxes.hutch, "run", *root, "--", "/bin/true"])]
    times = measure.in_turn(compared, effort.rounds, "--chain")
    return {"peers": {peer.key: peer for peer in compared}, "times": times}


# ---- files ----


def write_file(path, size):
    with open(path, "wb") as out:
        for at in range(0, size, len(BLOCK)):
            out.write(BLOCK[:min(len(BLOCK), size - at)])


def make_tree(world, name, files, size):
    """A directory of so many files, a hundred in each directory, of so many bytes in all."""
    top = world.make_dir(name)
    for i in range(files):
        if i % 100 == 0:
            directory = world.make_dir(name, f"d{i // 100:04d}")
        write_file(os.path.join(directory, f"f{i:05d}"), size // files)
    return top


def measure_fork(measure, world, boxes, effort):
    """A fork of a sandbox that holds much, and of one that holds nothing."""
    tree = make_tree(world, "fork-tree", effort.fork_files, effort.fork_bytes)
    empty, full = boxes.create("origin-empty"), boxes.create("origin-full")
    check([boxes.hutch, "cp", tree, f"{full}:/data"], timeout=600)
    check(["rm", "-rf", tree])
    os.sync()  # what is not on disk yet is written first, by whoever asks for a snapshot
    compared = [Peer(key, label, [boxes.hutch, "fork", origin, "forked-{}"], runs_per_visit=5,
                     after=lambda: boxes.remove_where("forked-"))
                for key, label, origin in (("empty", "of an empty sandbox", empty),
                                           ("full", f"of one with {effort.fork_bytes >> 20} MiB in "
                                                    f"{effort.fork_files} files", full))]
    times = measure.in_turn(compared, effort.fork_rounds, "--chain")
    boxes.remove([empty, full])
    return {"peers": {peer.key: peer for peer in compared}, "times": times}


def copy_ways(boxes, container, source):
    """All ways for one tree. Each begins with a place that has nothing: of the host's, a new filesystem."""
    name, work = os.path.basename(source), os.path.dirname(source)
    shell, world = find_program("bash"), boxes.world
    host = world.path("copied")

    def way(key, label, argv, *clear):
        def before():
            if clear:
                check(list(clear), timeout=600)
            else:
                world.new_disk("copied", world.path("copied.ext4"))
            os.sync()
        return Peer(key, label, argv, runs_per_visit=1, before=before)

    made = [
        way("tar", "`tar c \\| tar x` on the host",
            [shell, "-c", f"set -o pipefail; mkdir {host}/t && tar c -C {work} {name} | tar x -C {host}/t"]),
    ]
    for sandbox, key, label in COPY_SANDBOXES:
        made += [
            way(f"in{key}", f"`hutch cp` in{label}", [boxes.hutch, "cp", source, f"{sandbox}:/tmp/in"],
                boxes.hutch, "exec", sandbox, "/bin/rm", "-rf", "/tmp/in"),
            way(f"out{key}", f"`hutch cp` out{label}", [boxes.hutch, "cp", f"{sandbox}:/tmp/kept", f"{host}/h"]),
        ]
        check([boxes.hutch, "exec", sandbox, "/bin/rm", "-rf", "/tmp/kept"], timeout=600)
        check([boxes.hutch, "cp", source, f"{sandbox}:/tmp/kept"], timeout=600)
    if isinstance(container, Exception):
        return made + [Peer("docker_in", "`docker cp` in", reason=str(container)),
                       Peer("docker_out", "`docker cp` out", reason=str(container))]
    docker, inside = container.client, container.name
    check([*docker, "exec", inside, "/bin/rm", "-rf", "/tmp/kept"], timeout=600)
    check([*docker, "cp", source, f"{inside}:/tmp/kept"], timeout=600)
    return made + [
        way("docker_in", "`docker cp` in", [*docker, "cp", source, f"{inside}:/tmp/in"],
            *docker, "exec", inside, "/bin/rm", "-rf", "/tmp/in"),
        way("docker_out", "`docker cp` out", [*docker, "cp", f"{inside}:/tmp/kept", f"{host}/d"]),
    ]


def measure_copy(measure, world, boxes, by_key, effort):
    """One large file and many small ones, each way."""
    source = world.make_dir("copy-source")
    write_file(os.path.join(source, "large"), effort.copy_bytes)
    large = os.path.join(source, "large")
    small = make_tree(world, os.path.join("copy-source", "small"), effort.copy_files, effort.copy_files * 4096)
    check([boxes.hutch, "create", "--name", "copy"])
    boxes.create("copy-root")
    try:
        container = Container(world, by_key["docker"], "bench-copy")
    except Unavailable as why:
        container = why
    found = {}
    for key, label, tree in (("large", f"one file of {effort.copy_bytes >> 20} MiB", large),
                             ("small", f"{effort.copy_files} files of 4 KiB", small)):
        ways = copy_ways(boxes, container, tree)
        found[key] = {"label": label, "peers": {peer.key: peer for peer in ways},
                      "times": measure.in_turn(ways, effort.copy_rounds, warmups=0)}
    boxes.remove([sandbox for sandbox, _, _ in COPY_SANDBOXES])
    world.unmount(world.path("copied"))
    check(["rm", "-rf", source, world.path("copied.ext4")])
    return found


# ---- many ----


def read_text(*path):
    with open(os.path.join(*path), encoding="utf-8", errors="replace") as text:
        return text.read()


def keepers():
    """The processes that keep the sandboxes of this HUTCH_HOME, each with its children: PID 1 of its sandbox."""
    mine, found = f"HUTCH_HOME={os.environ['HUTCH_HOME']}\0", {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if read_text("/proc", pid, "comm") == "hutch-keeper\n" and mine in read_text("/proc", pid, "environ"):
                found[pid] = read_text("/proc", pid, "task", pid, "children").split()
    return found


def pss_kib(pid):
    for line in read_text("/proc", pid, "smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def available_kib():
    for line in read_text("/proc", "meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1])
    return 0


def idle_cost(count):
    """PSS of keepers and of PID 1s, per sandbox, in KiB."""
    found = keepers()
    if len(found) != count or not all(found.values()):
        raise Unavailable(f"{len(found)} keepers, {sum(map(bool, found.values()))} with a sandbox, where {count} are "
                          "alive")
    return {"keeper_kib": sum(map(pss_kib, found)) / count,
            "init_kib": sum(pss_kib(child) for children in found.values() for child in children) / count}


def wait_until_gone(deadline_s=10):
    """What is left of the sandboxes after their removal: names, keepers, directories."""
    deadline = time.monotonic() + deadline_s
    while keepers() and time.monotonic() < deadline:
        time.sleep(0.05)
    return len(keepers())


def measure_many(measure, boxes, by_key, effort):
    """The cost of one more sandbox while many are alive, what an idle one costs, and that all go."""
    boxes.remove_all()
    available, alive, levels = available_kib(), 0, {}
    compared = [Peer("create", "`hutch create`", [*boxes.create_argv, "--name", "more-{}"], runs_per_visit=5,
                     after=lambda: boxes.remove_where("more-")), by_key["floor"]]
    for count in effort.many:
        grown = measure([*boxes.create_argv, "--name", "many-{}"], "--chain", "-n", str(count - alive))
        if grown["failures"]:
            raise Unavailable(f"{grown['failures']} of {count} sandboxes could not be made")
        alive = count
        levels[count] = {**measure.in_turn(compared, effort.many_rounds, "--chain"), "cost": idle_cost(count),
                         "host_kib": (available - available_kib()) / count}
    begin = time.monotonic()
    boxes.remove_all()
    took = time.monotonic() - begin
    return {"levels": levels, "left": len(boxes.names()) + wait_until_gone(), "remove_ms": took * 1e3 / alive}
