#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon over a long time, and files larger than what it may use."""
import hashlib
import os
import sys
import threading
import time

import hutchd

CLIENTS = 4
BLOCK = 1 << 20


# ---- cycles ----


def cycles(daemon, client_number, count, failures):
    client = daemon.client()
    for turn in range(count):
        name = f"soak-{client_number}-{turn}"
        try:
            client.post("/api/sandboxes/", {"name": name}).expect(201)
            result = client.post(f"/api/sandboxes/{name}/execute", {"command": ["echo", name]}).expect(200).json()
            if result["stdout"] != name + "\n":
                raise hutchd.Failed(f"{result}")
            client.delete(f"/api/sandboxes/{name}").expect(200)
        except Exception as error:
            failures.append(f"{name}: {error!r}")
    client.close()


def round_of(daemon, number, count, failures):
    """So many cycles by several clients; then what the daemon is when it rests."""
    threads = [threading.Thread(target=cycles, args=(daemon, f"{number}-{i}", count // CLIENTS, failures)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return at_rest(daemon)


def at_rest(daemon):
    """Threads and descriptors of the least use within a few seconds: workers end when there is nothing to do."""
    seen = []
    for _ in range(20):
        seen.append((daemon.descriptors(), daemon.threads()))
        time.sleep(0.1)
    return daemon.rss_kib(), *min(seen)


def slope(values):
    """Of a line through them, per value."""
    n = len(values)
    mean_x, mean_y = (n - 1) / 2, sum(values) / n
    return sum((x - mean_x) * (y - mean_y) for x, y in enumerate(values)) / sum((x - mean_x) ** 2 for x in range(n))


def soak(count):
    rounds, failures = 10 if count >= 10_000 else 4, []
    with hutchd.running() as daemon:
        round_of(daemon, "warm", max(40, count // 20), failures)
        rests = [round_of(daemon, number, count // rounds, failures) for number in range(rounds)]
    rss = [rest[0] for rest in rests]
    per_10000 = slope(rss) / (count // rounds) * 10_000
    print(f"{count} cycles, {len(failures)} failed; RSS {rss} KiB, slope {per_10000:.0f} KiB per 10,000; "
          f"descriptors {[rest[1] for rest in rests]}, threads {[rest[2] for rest in rests]}")
    if failures:
        raise hutchd.Failed("\n".join(failures[:20]))
    # few cycles cannot tell a slope from the pages that a heap takes at first
    if (per_10000 > 1024) if count >= 10_000 else (rss[-1] - rss[0] > 1024):
        raise hutchd.Failed(f"the daemon grows: {rss} KiB")
    for what, at in (("descriptors", 1), ("threads", 2)):
        if rests[-1][at] > rests[0][at] + 2:
            raise hutchd.Failed(f"{what} grow: {[rest[at] for rest in rests]}")


# ---- files ----


class Blocks:
    """A file that exists nowhere: each block is another, and known by its number."""

    def __init__(self, size):
        self.size, self.base = size, os.urandom(BLOCK - 8)
        self.hash = hashlib.sha256()

    def __iter__(self):
        self.hash = hashlib.sha256()
        for number in range(self.size // BLOCK):
            block = number.to_bytes(8, "big") + self.base
            self.hash.update(block)
            yield block


def upload(daemon, blocks, path, headers):
    answer = daemon.client(timeout=600).call("PUT", f"/api/sandboxes/files/files?path={path}", iter(blocks), {
        "Content-Type": "application/octet-stream", **headers})
    answer.expect(201)


def download(daemon, path):
    response = daemon.client(timeout=600).send("GET", f"/api/sandboxes/files/files?path={path}")
    if response.status != 200:
        raise hutchd.Failed(f"download: {response.status} {response.read()[:300]!r}")
    found, size = hashlib.sha256(), 0
    while block := response.read(BLOCK):
        found.update(block)
        size += len(block)
    return found.hexdigest(), size


def files(size):
    blocks = Blocks(size)
    with hutchd.running() as daemon:
        client = daemon.client(timeout=600)
        client.post("/api/sandboxes/", {"name": "files", "limits": {"disk": f"{(size >> 20) * 2 + 256}m"}}).expect(201)
        client.post("/api/sandboxes/files/execute", {"command": ["true"]}).expect(200)
        idle = daemon.rss_kib()
        daemon.forget_peak()
        for path, headers in (("/tmp/long", {"Content-Length": str(size)}), ("/tmp/chunks", {})):
            begin = time.monotonic()
            upload(daemon, blocks, path, headers)
            up = time.monotonic() - begin
            client.close()  # it was idle for longer than one may be
            inside = client.post("/api/sandboxes/files/execute", {"command": ["sha256sum", path], "timeout": "5m"}).expect(200).json()["stdout"]
            begin = time.monotonic()
            found, length = download(daemon, path)
            down = time.monotonic() - begin
            if not inside.startswith(blocks.hash.hexdigest()) or (found, length) != (blocks.hash.hexdigest(), size):
                raise hutchd.Failed(f"{path}: {length} of {size} bytes came back, or others")
            client.close()
            print(f"{size >> 20} MiB: up {size / up / 1e6:.0f} MB/s, down {size / down / 1e6:.0f} MB/s")
            client.delete(f"/api/sandboxes/files/files?path={path}").expect(204)
        grown = daemon.peak_kib() - idle
        print(f"{grown} KiB above idle at the most")
        client.delete("/api/sandboxes/files").expect(200)
        client.close()
    if grown > 16 * 1024:
        raise hutchd.Failed(f"{grown} KiB above idle, of at most 16 MiB")


if __name__ == "__main__":
    {"cycles": soak, "files": files}[sys.argv[1]](int(sys.argv[2]))
