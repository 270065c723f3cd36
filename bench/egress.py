#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The network of a sandbox with egress: a stream, new connections, and the start; the section, its bars and its tables.

Streams are measured in a network namespace of the bench's own, where a server listens at an address that is nobody's: by
direct connection, from a sandbox through its gateway, and from a namespace that slirp4netns or pasta connects. This file is
a program too: the part that runs in that namespace, which prints what it found as JSON.
"""
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time

import peers as peer_list
from report import bar, data_of, table
from report_living import most, peers_table
from world import Unavailable, check, end_process, find_program

ADDRESS = "93.184.216.34"
NAME = "peer.example"
RULE = f"{NAME}:9100,9101,9102"  # stream.c
CONNECTS = 300
INSIDE = f'exec /bench/stream "$1" "$(getent ahostsv4 {NAME} | head -n 1 | cut -d " " -f 1)" "$2"'


# ---- in the namespace ----

class Direct:
    label = "direct, the host's loopback"

    def argv(self, stream):
        return lambda verb, count: [stream, verb, ADDRESS, count]


class Hutch:
    label = "`hutch run --egress`"

    def __init__(self, hutch):
        self.hutch = hutch

    def argv(self, stream):
        options = ["--egress", RULE, "--mount", f"{os.path.dirname(stream)}:/bench:ro", "--timeout", "10m"]
        return lambda verb, count: [self.hutch, "run", *options, "--", "sh", "-c", INSIDE, "sh", verb, count]


class Slirp:
    label = "slirp4netns"

    def __init__(self, keep):
        program = find_program("slirp4netns")
        self.holder = keep.enter_context(subprocess.Popen(["unshare", "--net", "sleep", "3600"]))
        keep.callback(end_process, self.holder)
        time.sleep(0.3)
        slirp = keep.enter_context(subprocess.Popen([program, "--configure", "--mtu=65520", str(self.holder.pid), "tap0"],
                                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        keep.callback(end_process, slirp)
        time.sleep(0.5)

    def argv(self, stream):
        return lambda verb, count: ["nsenter", "-t", str(self.holder.pid), "--net", stream, verb, "10.0.2.2", count]


class Pasta:
    label = "pasta"

    def __init__(self, _keep):
        self.program = find_program("pasta")

    def argv(self, stream):
        return lambda verb, count: [self.program, "--quiet", "--runas", "0", "--config-net", "-t", "none", "-u", "none", "-T", "none", "-U", "none",
                                    "--", stream, verb, "192.0.2.1", count]


def prepare_namespace(directory):
    """An address that is nobody's, a name for it, and a device with a route, without which pasta refuses to start."""
    for words in (["link", "set", "lo", "up"], ["addr", "add", f"{ADDRESS}/32", "dev", "lo"]):
        check(["ip", *words])
    with contextlib.suppress(Unavailable):
        for words in (["link", "add", "bench0", "type", "veth", "peer", "name", "bench1"], ["link", "set", "bench1", "up"], ["addr", "add", "192.0.2.2/24", "dev", "bench0"],
                      ["link", "set", "bench0", "up"], ["route", "add", "default", "via", "192.0.2.1"]):
            check(["ip", *words])
    hosts = os.path.join(directory, "hosts")
    with open(hosts, "w", encoding="utf-8") as file:
        file.write(f"127.0.0.1 localhost\n{ADDRESS} {NAME}\n")
    check(["mount", "--bind", hosts, "/etc/hosts"])


def numbers(argv):
    """What hangs is ended with all it has started, which would keep its pipes open."""
    return [int(line) for line in check(["timeout", "-k", "5", "90", *argv]).split()]


def measure_ways(ways, stream, size, rounds):
    found = {key: {"label": way.label, "get": [], "put": [], "connect": [], "apart": [], "why": ""} for key, way in ways.items()}
    for _ in range(rounds):
        for key, way in ways.items():
            argv = way.argv(stream)
            if found[key]["why"]:
                continue
            try:
                for verb, count in (("get", size), ("put", size), ("connect", CONNECTS), ("apart", CONNECTS)):
                    found[key][verb] += numbers(argv(verb, str(count)))
            except Unavailable as error:
                found[key]["why"] = str(error)
    return found


def inner(hutch, stream, directory, size, rounds):
    prepare_namespace(directory)
    with contextlib.ExitStack() as keep:
        server = keep.enter_context(subprocess.Popen([stream, "serve"], stdout=subprocess.PIPE))
        keep.callback(end_process, server)
        server.stdout.readline()
        ways = {"direct": Direct(), "hutch": Hutch(hutch)}
        for key, make in (("slirp", Slirp), ("pasta", Pasta)):
            with contextlib.suppress(Unavailable):
                ways[key] = make(keep)
        return measure_ways(ways, stream, int(size), int(rounds))


# ---- the section ----

def measure_egress(measure, world, hutch, stream, effort):
    if os.getuid() != 0:
        raise Unavailable("a network namespace with a server takes root")
    directory = world.make_dir("egress")
    found = json.loads(check(["unshare", "--net", "--mount", sys.executable, os.path.abspath(__file__), hutch, stream, directory,
                              str(effort.egress_bytes), str(effort.egress_rounds)], timeout=1800))
    compared = [peer_list.prepared("without", "`hutch run`", lambda: [hutch, "run", "--", "/bin/true"]),
                peer_list.prepared("with", "`hutch run --egress`", lambda: [hutch, "run", "--egress", RULE, "--", "/bin/true"])]
    return {"ways": found, "bytes": effort.egress_bytes, "peers": {peer.key: peer for peer in compared},
            "times": measure.in_turn(compared, effort.rounds)}


def median(ways, key, verb):
    way = ways.get(key)
    if not way or not way[verb]:
        raise LookupError(f"{key}: {way['why'] if way else 'not installed'}")
    return statistics.median(way[verb])


def egress_bars(found):
    part = found.sections["egress"]

    def share():
        ways = data_of(part)["ways"]
        worst = min(median(ways, "direct", verb) / median(ways, "hutch", verb) for verb in ("get", "put"))
        return f"{worst:.0%}", worst >= 0.6

    def peers():
        ways = data_of(part)["ways"]
        others = [key for key in ("slirp", "pasta") if key in ways and ways[key]["get"] and ways[key]["put"]]
        if not others:
            raise LookupError("neither slirp4netns nor pasta ran")
        worst = min(median(ways, key, verb) / median(ways, "hutch", verb) for verb in ("get", "put") for key in others)
        return f"{worst:.2f} ×", worst >= 1.5

    def set_up(verb):
        ways = data_of(part)["ways"]
        ratio = median(ways, "hutch", verb) / median(ways, "direct", verb)
        return f"{ratio:.2f} ×", ratio <= 2

    return [bar("egress: one stream, either way: ≥ 60 % of a direct loopback connection", share),
            bar("egress: one stream, either way: ≥ 1.5 × slirp4netns and pasta", peers),
            bar("egress: a new connection, up to the first byte of a server on another processor: median ≤ 2 × direct",
                lambda: set_up("apart")),
            bar("egress: the same, wherever the scheduler puts client and server", lambda: set_up("connect")),
            bar("`hutch run --egress`: median ≤ 1.25 × a run without", most(part, "with", ("without",), 1.25))]


def egress_table(found):
    part = data_of(found.sections["egress"])

    def rate(way, verb):
        return f"{part['bytes'] / statistics.median(way[verb]):.2f} GB/s" if way[verb] else way["why"] or "–"

    def delay(way, verb):
        return f"{statistics.median(way[verb]) / 1000:.0f} µs" if way[verb] else "–"

    rows = [[way["label"], rate(way, "get"), rate(way, "put"), delay(way, "apart"), delay(way, "connect")] for way in part["ways"].values()]
    return table(["way", "received", "sent", "new connection", "the same, wherever the scheduler puts both"], rows) + "\n\n" + peers_table(part, ("without",))


BARS = {"egress": egress_bars}
SECTIONS = (
    ("Network", "egress", egress_table,
     "One TCP stream of a program in the sandbox and a server outside, either way, and new connections one after the other until "
     "the server's first byte; then the start of a sandbox with and without a network. Client and server have a processor each, as on "
     "two machines: left to itself, the scheduler often runs two who wait for each other on one, where a direct connection costs two "
     "switches and no wake-up. That is the last column."),
)

if __name__ == "__main__":
    print(json.dumps(inner(*sys.argv[1:])))
