# SPDX-License-Identifier: Apache-2.0
"""Bars and tables of the sandboxes that stay. Pure, as report.py is."""
import living
from report import bar, data_of, ms, share_text, table

FORK_FLAT_RATIO = 1.5  # what "independent of its size" allows for noise


def median_of(part, key):
    """A peer's median in a section that brings its own peers; raises LookupError with the reason."""
    peer, row = part["peers"][key], part["times"].get(key)
    if not row:
        raise LookupError(f"{peer.label}: {peer.reason}")
    if row["failures"] or not row["runs"]:
        raise LookupError(f"{peer.label}: {row['failures']} runs failed")
    return row["median_ms"]


def ratio(part, ours, *theirs):
    return median_of(part, ours) / sum(median_of(part, key) for key in theirs)


def most(part, ours, theirs, limit):
    """For bar(): ours at most so many times the sum of theirs."""
    def compare():
        found = ratio(data_of(part), ours, *theirs)
        return share_text(found), found <= limit
    return compare


def exec_bars(found):
    part = found.sections["exec"]
    return [bar("`hutch exec NAME true`: median ≤ 1.5 × a plain start of the CLI plus the command",
                most(part, "hutch_exec", ("version", "exec"), 1.5)),
            bar("`hutch exec NAME true`: median ≤ 1/25 of docker exec",
                most(part, "hutch_exec", ("docker_exec",), 1 / 25))]


def api_bars(found):
    def way(key):
        row = data_of(found.sections["api"])["ways"][key]
        if row["failures"] or not row["runs"]:
            raise LookupError(f"{row['failures']} runs failed")
        return row

    def latency():
        median = way("one")["median_ms"]
        return f"{median:.2f} ms", median <= 1

    def rate():
        best = way("two")["per_second"]
        return f"{best:.0f}", best >= 800

    return [bar("exec by the C API on an open handle: p50 ≤ 1.0 ms", latency),
            bar("exec by the C API, 2 handles: ≥ 800 per second", rate)]


def cycle_bars(found):
    section = found.sections["cycle"]
    return [bar("create + exec + rm: median ≤ 2 × `hutch run`", most(section, "cycle", ("run",), 2)),
            bar("the same, both with `--rootfs`", most(section, "cycle_root", ("run_root",), 2))]


def fork_bars(found):
    part = found.sections["fork"]

    def full():
        median = median_of(data_of(part), "full")
        return f"{median:.1f} ms", median <= 20

    what = f"fork of a sandbox with {found.effort.fork_bytes >> 20} MiB in {found.effort.fork_files} files"
    return [bar(f"{what}: median ≤ 20 ms", full),
            bar(f"{what}: independent of its size (≤ {FORK_FLAT_RATIO} × an empty one)",
                most(part, "full", ("empty",), FORK_FLAT_RATIO))]


def copy_bars(found):
    made = []
    for tree in ("large", "small"):
        try:
            part = data_of(found.sections["copy"])[tree]
            label = part["label"]
        except LookupError:
            part, label = found.sections["copy"], f"the {tree} tree"
        for way in ("in", "out"):
            made += [bar(f"cp {way} of {label}: ≤ 1.3 × `tar \\| tar`", most(part, way, ("tar",), 1.3)),
                     bar("the same, of a sandbox with `--rootfs`", most(part, f"{way}_root", ("tar",), 1.3)),
                     bar(f"cp {way} of {label}: ≤ 0.5 × docker cp", most(part, way, (f"docker_{way}",), 0.5))]
    return made


def many_bars(found):
    part = found.sections["many"]

    def level(index):
        return list(data_of(part)["levels"].items())[index]

    def median(row, key):
        if row[key]["failures"]:
            raise LookupError(f"{row[key]['failures']} runs failed")
        return row[key]["median_ms"]

    def flat():
        (_, few), (count, many) = level(0), level(-1)
        found_ratio = median(many, "create") / median(few, "create")
        beside = median(many, "floor") / median(few, "floor")
        return f"{found_ratio:.2f} × at {count} (the floor: {beside:.2f} ×)", found_ratio <= 1.5

    def cost():
        kib = sum(level(-1)[1]["cost"].values())
        return f"{kib / 1024:.2f} MiB", kib <= 1024

    def gone():
        left = data_of(part)["left"]
        return str(left), left == 0

    few, many = found.effort.many[0], found.effort.many[-1]
    return [bar(f"{many} sandboxes alive: create ≤ 1.5 × that at {few}", flat),
            bar(f"{many} sandboxes alive: idle cost of each, keeper and init (PSS) ≤ 1 MiB", cost),
            bar(f"{many} sandboxes removed: nothing left", gone)]


BARS = {"exec": exec_bars, "api": api_bars, "cycle": cycle_bars, "fork": fork_bars, "copy": copy_bars,
        "many": many_bars}


def peers_table(part, against=()):
    """Medians of a section that brings its own peers; `against` are the keys to compare with."""
    rows = []
    for key, peer in part["peers"].items():
        one = part["times"].get(key)
        if not one or not one["runs"]:
            rows.append((peer.label, "–", "–", "–", f"not measured: {peer.reason}" if not one else "failed",
                         *("–" for _ in against)))
            continue
        shares = [f"{one['median_ms'] / part['times'][other]['median_ms']:.2f}" if other in part["times"] else "–"
                  for other in against]
        rows.append((peer.label, ms(one["median_ms"]), ms(one["min_ms"]), ms(one["p99_ms"]), one["runs"], *shares))
    heads = [f"× {part['peers'][other].label}" for other in against]
    return table(("ms", "median", "min", "p99", "runs", *heads), rows)


def exec_table(found):
    return peers_table(found.sections["exec"])


def api_table(found):
    part = found.sections["api"]
    rows = [(label, part["ways"][key]) for key, label, *_ in living.API_WAYS]
    rows += [(f"the same command without a sandbox, {handles} at a time", one)
             for handles, one in part["plain"].items()]
    return table(("", "p50 ms", "p99 ms", "per second", "failures"),
                 [(label, ms(one["median_ms"]), ms(one["p99_ms"]), f"{one['per_second']:.0f}", one["failures"])
                  if one["runs"] else (label, "–", "–", "–", one["failures"]) for label, one in rows])


def cycle_table(found):
    return peers_table(found.sections["cycle"])


def fork_table(found):
    return peers_table(found.sections["fork"])


def copy_table(found):
    return "\n\n".join(f"{part['label'].capitalize()}:\n\n{peers_table(part, ('tar',))}"
                       for part in found.sections["copy"].values())


def many_table(found):
    part = found.sections["many"]
    rows = [(count, ms(row["create"]["median_ms"]), ms(row["floor"]["median_ms"]), f"{row['cost']['keeper_kib']:.0f}",
             f"{row['cost']['init_kib']:.0f}", f"{row['host_kib']:.0f}")
            for count, row in part["levels"].items() if row["create"]["runs"] and row["floor"]["runs"]]
    made = table(("alive", "`hutch create` median ms", "floor median ms", "keeper PSS, KiB", "init PSS, KiB",
                  "all of it, KiB"), rows)
    return f"{made}\n\nRemoving them took {part['remove_ms']:.1f} ms each, one after the other."


SECTIONS = (
    ("Commands in a sandbox that is there", "exec", exec_table,
     "By the command line. A plain start of the CLI plus the command is `hutch version` and the same static `true`, "
     "each spawned and waited for: their medians are added."),
    ("Commands by the C API", "api", api_table,
     "`bench/exec_loop.c`: threads of one process, each with an open handle, call `hutch_sandbox_exec` with its default "
     "options (output is kept) for a static `true`."),
    ("Made, used once, removed", "cycle", cycle_table, "Three commands, one after the other, measured as one. "
     "With a root of its own the sandbox's files are an overlay on the pool, and the kernel writes the pool out when that goes."),
    ("Forks", "fork", fork_table,
     "The whole of `hutch fork`: a second sandbox, running. What the first one has written is on disk before."),
    ("Copies", "copy", copy_table,
     "The target is removed and everything written out before each run. On the host it is an ext4 made for this one run, in a file "
     "on the same disk. "
     "With a root of its own the sandbox's files are an overlay on the pool."),
    ("A thousand at once", "many", many_table,
     "PSS from `/proc/PID/smaps_rollup`, the mean of all; the last column is what the host's MemAvailable lost to each, "
     "with the kernel's share (namespaces, mounts, cgroups)."),
)
