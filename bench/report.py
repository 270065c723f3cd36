# SPDX-License-Identifier: Apache-2.0
"""The bars, and the tables. Pure: takes what bench.py found and returns text. See also report_living.py."""
import dataclasses
import os
import platform
import time

FLAT_RATIO = 1.25  # what "flat" allows for noise


@dataclasses.dataclass
class Found:
    """Each section that was asked for is its data, or the exception that says why there is none."""

    effort: object
    quick: bool
    peers: dict
    versions: dict
    load: float
    sections: dict


@dataclasses.dataclass
class Bar:
    """A promise about speed. `measured` and `met` are None when it could not be measured: `why` says the reason."""

    promise: str
    measured: str | None = None
    met: bool | None = None
    why: str = ""


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def ms(value):
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def data_of(section):
    """A section's data; raises LookupError with the reason when there is none."""
    if isinstance(section, Exception):
        raise LookupError(str(section))
    return section


def times(found, section, key):
    """A peer's times in a section; raises LookupError with the reason when there are none."""
    row = data_of(section).get(key)
    if not row:
        raise LookupError(f"{found.peers[key].label}: {found.peers[key].reason}")
    if row["failures"]:
        raise LookupError(f"{found.peers[key].label}: {row['failures']} runs failed")
    return row


def bar(promise, function):
    """`function` returns (measured, met) or raises LookupError."""
    try:
        measured, met = function()
        return Bar(promise, measured, met)
    except LookupError as why:
        return Bar(promise, why=str(why.args[0]))


def share_text(ratio):
    inverse = f" (1/{1 / ratio:.1f})" if ratio < 0.5 else ""
    return f"{ratio:.3f}{inverse}"


def ratio_bar(found, ours, theirs, most, promise):
    def compare():
        ratio = times(found, found.sections["latency"], ours)["median_ms"] / times(found, found.sections["latency"], theirs)["median_ms"]
        return share_text(ratio), ratio <= most

    return bar(promise, compare)


def floor_bar(found, ours, promise):
    def compare():
        ours_ms, exec_ms, floor_ms = (times(found, found.sections["latency"], key)["median_ms"] for key in (ours, "exec", "floor"))
        ratio = (ours_ms - exec_ms) / floor_ms
        return f"{ratio:.2f} × the floor + one exec", ratio <= 1.6

    return bar(promise, compare)


def latency_bars(found):
    made = []
    for ours, theirs, name in (("hutch_host", "bwrap_host", "`hutch run`, host's files"),
                               ("hutch_root", "bwrap_root", "`hutch run --rootfs`, busybox root")):
        made += [ratio_bar(found, ours, theirs, 0.8, f"{name}: median ≤ 0.8 × bwrap"),
                 ratio_bar(found, ours, "runc", 1 / 7, f"{name}: median ≤ 1/7 of runc run"),
                 ratio_bar(found, ours, "docker", 1 / 60, f"{name}: median ≤ 1/60 of docker run"),
                 floor_bar(found, ours, f"{name}: median ≤ 1.6 × the floor plus one exec of a static binary")]
    return made


def parallel_bars(found):
    def throughput():
        ours, floor = (times(found, found.sections["parallel"], key) for key in ("hutch_root", "floor"))
        share = ours["per_second"] / floor["per_second"]
        return f"{share:.0%}", share >= 0.75

    def failures():
        row = data_of(found.sections["parallel"]).get("hutch_root")
        if not row:
            raise LookupError(f"{found.peers['hutch_root'].label}: {found.peers['hutch_root'].reason}")
        return str(row["failures"]), row["failures"] == 0

    def tail():
        ours = times(found, found.sections["parallel"], "hutch_root")
        ratio = ours["p99_ms"] / ours["median_ms"]
        return f"{ratio:.2f}", ratio <= 4

    what = f"{found.effort.parallel_runs} runs, 8 at a time"
    return [bar(f"{what}: throughput ≥ 75 % of the floor's", throughput), bar(f"{what}: no failure", failures),
            bar(f"{what}: p99 ≤ 4 × p50", tail)]


def memory_bars(found):
    def memory():
        peak = max(data_of(found.sections["memory"]).values())
        return f"{peak / 1024:.2f} MiB", 0 < peak <= 3 * 1024

    return [bar("peak RSS of the hutch process ≤ 3 MiB", memory)]


def alive_bars(found):
    def flat():
        rows = list(data_of(found.sections["alive"]).items())
        (_, alone), (most, crowded) = rows[0], rows[-1]
        ratio = (times(found, crowded, "hutch_host")["median_ms"] / times(found, alone, "hutch_host")["median_ms"])
        return f"{ratio:.2f} × with {most} alive", ratio <= FLAT_RATIO

    return [bar(f"cost flat with the sandboxes already alive (≤ {FLAT_RATIO} ×)", flat)]


def stream_bars(found):
    def capture():
        rates = data_of(found.sections["stream"])
        share = rates["hutch run --json"] / rates["plain pipe"]
        return f"{share:.0%}", share >= 0.7

    return [bar("stdout through capture ≥ 70 % of a plain pipe", capture)]


BARS = {"latency": latency_bars, "parallel": parallel_bars, "memory": memory_bars, "alive": alive_bars,
        "stream": stream_bars}


def bars(found, makers):
    """`makers`: for each section, the function that returns its bars."""
    return [one for name, make in makers.items() if name in found.sections for one in make(found)]


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def cgroup_mode():
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        return "v2"
    return "hybrid (v1 and v2)" if os.path.exists("/sys/fs/cgroup/unified") else "v1"


def environment(found):
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        virtual = "hypervisor" in info.read()
    rows = [("date", time.strftime("%Y-%m-%d", time.gmtime())),
            ("kernel", f"{platform.release()} {platform.machine()}"),
            ("CPU", f"{cpu_model()}, {os.cpu_count()} cores{', virtual machine' if virtual else ''}"),
            ("load average before", f"{found.load:.2f}"), ("cgroups", cgroup_mode()), ("run as", "root" if os.geteuid() == 0 else f"uid {os.geteuid()}")]
    return table(("", ""), rows + list(found.versions.items()))


def bars_table(made):
    def row(one):
        if one.met is None:
            return one.promise, "–", f"not measured: {one.why}"
        return one.promise, one.measured, "met" if one.met else "**missed**"

    return table(("bar", "measured", ""), [row(one) for one in made])


def latency_table(found):
    def row(peer):
        if peer.reason:
            return peer.label, "–", "–", "–", "–", f"not measured: {peer.reason}"
        one = found.sections["latency"][peer.key]
        if not one["runs"]:
            return peer.label, "–", "–", "–", 0, f"{one['failures']} failed"
        failed = f"{one['failures']} failed" if one["failures"] else ""
        return peer.label, ms(one["median_ms"]), ms(one["min_ms"]), ms(one["p99_ms"]), one["runs"], failed

    return table(("ms", "median", "min", "p99", "runs", ""), [row(peer) for peer in found.peers.values()])


def parallel_table(found):
    rows = []
    for key, one in found.sections["parallel"].items():
        if one["runs"]:
            rows.append((found.peers[key].label, f"{one['per_second']:.0f}", ms(one["median_ms"]), ms(one["p99_ms"]),
                         f"{one['p99_ms'] / one['median_ms']:.2f}", one["failures"]))
    return table(("", "runs per second", "p50 ms", "p99 ms", "p99/p50", "failures"), rows)


def memory_table(found):
    return table(("", "peak RSS, KiB"), [(f"`hutch {name} -- /bin/true`", kib) for name, kib in found.sections["memory"].items()])


def alive_table(found):
    def cell(row, key):
        return ms(row[key]["median_ms"]) if row.get(key, {}).get("runs") else "–"

    return table(("sandboxes alive", "`hutch run` median ms", "floor median ms"),
                 [(count, cell(row, "hutch_host"), cell(row, "floor")) for count, row in found.sections["alive"].items()])


def stream_table(found):
    plain = found.sections["stream"]["plain pipe"]
    return table(("", "MiB/s", "of the plain pipe"),
                 [(name, f"{rate / (1 << 20):.0f}", f"{rate / plain:.0%}") for name, rate in found.sections["stream"].items()])


def mounts_table(found):
    rows = []
    for key, peer in found.sections["mounts"]["peers"].items():
        one = found.sections["mounts"]["times"].get(key)
        rows.append((peer.label, ms(one["median_ms"]) if one and one["runs"] else f"not measured: {peer.reason}"))
    return table(("", "median ms"), rows)


SECTIONS = (
    ("Start and end of one sandbox", "latency", latency_table,
     "Times of the whole command, from spawn to the end of wait, running `/bin/true`. The peers below the second line "
     "share one busybox root; inside, `true` is a static busybox."),
    ("Eight at a time", "parallel", parallel_table, "On the busybox root, unless the line says otherwise."),
    ("Memory", "memory", memory_table,
     "VmHWM of the hutch process alone, read at the moment it exits; the sandboxed command does not count."),
    ("With sandboxes already alive", "alive", alive_table, "The floor beside it shows what the kernel itself adds."),
    ("Standard output", "stream", stream_table,
     "`head -c SIZE /dev/zero`, read through a pipe with 64 KiB reads; with `--json`, recorded by hutch "
     "(`--output-limit 1m`) and the JSON dropped."),
    ("A hundred mounts", "mounts", mounts_table, ""),
)


def section(found, title, name, make, text):
    data = found.sections[name]
    body = f"Not measured: {data}." if isinstance(data, Exception) else make(found)
    return "\n\n".join(part for part in (f"## {title}", text, body) if part)


def words_kept(page):
    """What people have written of other runs, from the page as it was: it stays."""
    _, heading, rest = page.partition("## What other runs have shown\n")
    return [(heading + rest.partition("\n## ")[0]).strip()] if heading else []


def markdown(found, made, sections, page):
    """`page`: the one that this one takes the place of."""
    effort = found.effort
    how = (f"Made by `make bench` (`bench/run`{' --quick' if found.quick else ''}): the peers are visited in turn in "
           f"{effort.rounds} rounds, so that noise meets all of them; compare ratios, not milliseconds. Each run is "
           "spawned, timed and its exit status checked by the same program (`bench/measure.c`); a run that failed has "
           "no time. The floor (`bench/floor.c`) makes the bare system calls of a sandbox with all namespaces, an "
           "overlay and cgroup limits, and nothing else. *What other runs have shown* is written by hand, and kept.")
    parts = ["# Benchmarks", how, environment(found), "## The bars", bars_table(made), *words_kept(page)]
    parts += [section(found, *one) for one in sections if one[1] in found.sections]
    return "\n\n".join(parts)


def plain_data(value):
    """Without the peers that a section brings along: JSON has only their figures."""
    if isinstance(value, Exception):
        return {"not_measured": str(value)}
    if isinstance(value, dict):
        return {key: plain_data(one) for key, one in value.items() if key != "peers"}
    return value


def as_json(found, made):
    refused = {key: peer.reason for key, peer in found.peers.items() if peer.reason}
    return {"versions": found.versions, "not_measured": refused, "bars": [vars(one) for one in made],
            **plain_data(found.sections)}
