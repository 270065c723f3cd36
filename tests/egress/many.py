#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""many.py HUTCH INSIDE COUNT: makes COUNT sandboxes, each allowed a host of its own; a fifth of them are busy, alone and beside one that
floods. Fails when one got another's answer, or when the flood was felt."""
import json
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

hutch, inside, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
busy = max(2, count // 5)
ROUNDS = 12  # of each, four in a second
START_S = 5  # so long may it take to start them all, which needs every processor: what is measured comes after it
TRIES = 3  # the clock is everybody's


def call(*words):
    return subprocess.run([hutch, *words], check=True, capture_output=True, text=True).stdout


def host(i):
    return f"box{i}.many.hutch.test"


def create(i):
    call("create", "--name", f"box{i}", "--memory", "64m", "--mount", f"{inside}:/inside:ro", "--egress", f"{host(i)}:80")


def work(i, start):
    """Asks its own host, and tries its neighbour's: the times of its own, in ms."""
    out = call("exec", f"box{i}", "--", "/usr/bin/python3", "-B", "/inside/busy.py", host(i), host((i + 1) % count), str(ROUNDS),
        str(start + 0.25 * i / busy))
    told = json.loads(out)
    assert told["wrong"] == 0, (i, told)
    assert told["neighbour"] == "denied", (i, told)
    return told["times"]


def measure(what):
    start = time.time() + START_S
    with ThreadPoolExecutor(busy) as pool:
        times = sorted(t for each in pool.map(work, range(busy), [start] * busy) for t in each)
    median, late = statistics.median(times), times[int(len(times) * 0.95)]
    took = time.time() - start
    print(f"{what}: {len(times)} requests of {busy} sandboxes in {took:.1f} s, median {median:.1f} ms, 95 % {late:.1f} ms")
    return median, late


def memory():
    """KiB that gateways have, beyond what they share."""
    total = found = 0
    for pid in subprocess.run(["pgrep", "-x", "-f", "hutch-gateway.*"], capture_output=True, text=True, check=False).stdout.split():
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                total += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
            found += 1
        except OSError:
            pass
    return total / found if found else 0, found


def compare():
    """The times of the busy ones, alone and beside a flood."""
    quiet = measure("quiet")
    flood = subprocess.Popen([hutch, "exec", "flood", "--", "/usr/bin/python3", "-B", "/inside/flood.py"],
        stdout=subprocess.DEVNULL)
    time.sleep(1)
    loud = measure("beside a flood")
    assert flood.poll() is None, "the flood has ended by itself"
    flood.kill()
    flood.wait()
    return quiet, loud


def is_unharmed(quiet, loud):
    """The flood has one processor of its own, as every sandbox may; what it takes beyond that is not ours to give."""
    return loud[0] < 2 * quiet[0] + 2 and loud[1] < 3 * quiet[1] + 10


def main():
    start = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(create, range(count)))
        each, found = memory()
        print(f"{count} sandboxes in {time.monotonic() - start:.1f} s, {found} gateways of {each:.0f} KiB")
        assert found >= count, "every sandbox has a gateway"
        call("create", "--name", "flood", "--memory", "128m", "--mount", f"{inside}:/inside:ro", "--egress", "stream.hutch.test:9,19,7")
        for _ in range(TRIES):
            quiet, loud = compare()
            if is_unharmed(quiet, loud):
                break
        start = time.monotonic()
        call("rm", "-f", "flood", *(f"box{i}" for i in range(count)))
        print(f"removed in {time.monotonic() - start:.1f} s")
    assert is_unharmed(quiet, loud), (quiet, loud)


main()
