# SPDX-License-Identifier: Apache-2.0
"""Bars and tables of the daemon. Pure, as report.py is."""
import serve
from report import bar, data_of, ms, table


def part_of(found, name):
    data = data_of(found.sections["serve"])[name]
    if "why" in data:
        raise LookupError(data["why"])
    return data


def row_of(data, key):
    row = data[key]
    if row["failures"] or not row["runs"]:
        raise LookupError(f"{row['failures']} of {row['runs'] + row['failures']} failed")
    return row


def serve_bars(found):
    def small():
        rates = part_of(found, "small")
        share = rates["hutch"] / rates["nginx"]
        return f"{share:.0%}", share >= 0.5

    def runs():
        data = part_of(found, "runs")
        share = row_of(data, "api")["per_second"] / row_of(data, "library")["per_second"]
        return f"{share:.0%}", share >= 0.7

    def exec_p50():
        row = row_of(part_of(found, "execs"), "paced")
        return f"p50 {row['median_ms']:.2f} ms, p99 {row['p99_ms']:.2f} ms", row["median_ms"] <= 2 and row["p99_ms"] <= 10

    def docker():
        ours, theirs = row_of(part_of(found, "execs"), "flat"), part_of(found, "docker")
        if theirs["failures"] or not theirs["runs"]:
            raise LookupError(f"Docker's API: {theirs['failures']} failed")
        ratio = ours["per_second"] / theirs["per_second"]
        return f"{ratio:.0f} ×", ratio >= 40

    def pool():
        data = part_of(found, "pool")
        row_of(data, "client")
        if data["server_ms"] is None:
            raise LookupError("the daemon's log has no creation")
        return f"{data['server_ms']:.2f} ms", data["server_ms"] <= 1

    def idle():
        mib = part_of(found, "idle")["idle_kib"] / 1024
        return f"{mib:.1f} MiB", mib <= 8

    def streams():
        mib = part_of(found, "idle")["streams_kib"] / 1024
        return f"{mib:.1f} MiB", mib <= 32

    return [bar("`GET /healthz`: ≥ 50 % of nginx's requests per second for a static small file", small),
            bar(f"`POST /api/run` of `true`, {serve.PARALLEL} at a time: ≥ 70 % of the C library's throughput", runs),
            bar(f"exec on an open connection, {serve.CLIENTS} clients: p50 ≤ 2 ms, p99 ≤ 10 ms", exec_p50),
            bar(f"exec, {serve.CLIENTS} clients flat out: ≥ 40 × the same through Docker's API", docker),
            bar("create from the warm pool, on the server: p50 ≤ 1 ms", pool),
            bar("idle daemon: RSS ≤ 8 MiB", idle),
            bar(f"{serve.STREAMS} idle SSE streams: ≤ 32 MiB", streams)]


def times_row(label, row):
    if "why" in row:
        return label, "–", "–", "–", row["why"]
    if not row["runs"]:
        return label, "–", "–", "–", f"{row['failures']} failed"
    return label, ms(row["median_ms"]), ms(row["p99_ms"]), f"{row['per_second']:.0f}", f"{row['failures']} failed" if row["failures"] else ""


def serve_table(found):
    data = data_of(found.sections["serve"])
    rows = []
    if "why" not in data["small"]:
        rows += [(label, "–", "–", f"{data['small'][key]:.0f}", "") for key, label in
                 (("hutch", "`GET /healthz`, wrk with 64 connections"), ("nginx", "nginx, a static file of that size"))]
    if "why" not in data["runs"]:
        rows += [times_row(f"`POST /api/run` of `true`, {serve.PARALLEL} at a time", data["runs"]["api"]),
                 times_row("`hutch_run()` in one process, as many threads", data["runs"]["library"])]
    if "why" not in data["execs"]:
        rows += [times_row(f"execute of `true`: {label}", data["execs"][key]) for key, label, *_ in serve.EXEC_WAYS]
    rows.append(times_row(f"Docker's API, exec of `true`: {serve.CLIENTS} clients, flat out", data["docker"]))
    if "why" not in data["pool"]:
        rows.append(times_row("create from the warm pool, one every 100 ms", data["pool"]["client"]))
    rows += [(name, "–", "–", "–", f"not measured: {one['why']}") for name, one in data.items() if "why" in one and name != "docker"]
    return table(("", "p50 ms", "p99 ms", "per second", ""), rows)


BARS = {"serve": serve_bars}
SECTIONS = (
    ("The daemon", "serve", serve_table,
     "`hutch serve` and `bench/http_load.c`, a client with a thread and a connection for each of its clients, on a unix socket; wrk and nginx on loopback. "
     "Client and server share the processors. *Flat out*: each client asks again as soon as it is answered, so that with more clients than processors "
     "the time is mostly spent in the queue of whoever is next; *every 50 ms* is a pace at which the machine keeps up, the clients evenly shifted, "
     "and a request counts from when it was due."),
)
