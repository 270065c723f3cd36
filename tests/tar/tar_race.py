# SPDX-License-Identifier: Apache-2.0
"""tar_race.py TARTOOL: a process exchanges a directory and a file with symlinks to a canary's, over and over, while the trees
they are in are packed and unpacked. Not a byte of the canary may be read or written. Runs in an empty directory."""
import ctypes
import io
import os
import signal
import subprocess
import sys
import tarfile

TARTOOL = sys.argv[1]
ROUNDS = 2000
SECRET = b"CANARY-" + os.urandom(8).hex().encode()
RENAME_EXCHANGE = 2
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


def exchange(one, other):
    return libc.renameat2(-100, one.encode(), -100, other.encode(), RENAME_EXCHANGE) == 0


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def make_world():
    os.makedirs("outside/deep")
    for path in ["outside/secret", "outside/deep/secret", "outside/one"]:
        write(path, SECRET)
    for tree in ["source", "target"]:
        os.makedirs(f"{tree}/a/swapped/deep")
        os.makedirs(f"{tree}/b")
        for name in ["a/swapped/secret", "a/swapped/deep/secret", "a/swapped/one", "a/file", "b/file"]:
            write(f"{tree}/{name}", b"harmless")


def swapper(tree):
    """Unpacking replaces symlinks that are in an entry's own place, so they are made anew."""
    pairs = [(f"{tree}/a/swapped", f"{tree}.link", "../../outside"), (f"{tree}/a/file", f"{tree}.file", "../../outside/secret")]
    while True:
        for inside, beside, target in pairs:
            try:
                if not exchange(inside, beside):
                    os.symlink(os.path.abspath(f"{tree}/a/{target}"), beside)
            except FileExistsError:
                try:
                    os.rename(beside, inside)
                except OSError:
                    pass


def swapping(tree):
    for beside, target in [(f"{tree}.link", "outside"), (f"{tree}.file", "outside/secret")]:
        os.symlink(os.path.abspath(target), beside)
    child = os.fork()
    if child == 0:
        try:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # also when the test fails
            swapper(tree)
        finally:
            os._exit(1)
    return child


def stop(child):
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def outside():
    state = []
    for path in ["outside", "outside/deep", "outside/secret", "outside/deep/secret", "outside/one"]:
        info = os.stat(path)
        names = sorted(os.listdir(path)) if os.path.isdir(path) else open(path, "rb").read()
        state.append((path, names, info.st_ino, info.st_mode, info.st_uid, info.st_mtime_ns, info.st_ctime_ns, info.st_nlink))
    return state


def make_archive():
    """Comes back to the swapped directory again and again, so that it is opened anew each time."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
        def add(name, kind=tarfile.REGTYPE, link="", mode=0o777):
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.mode, info.mtime, info.size = kind, link, mode, 1.5, 4 if kind == tarfile.REGTYPE else 0
            tar.addfile(info, io.BytesIO(b"evil"))
        for number in range(20):
            add("a/swapped/secret")
            add("a/file")
            add(f"b/link{number}", tarfile.LNKTYPE, "a/swapped/one")
            add("a/swapped/deep/secret")
            add("b/file")
            if number % 5 == 4:
                add("a/swapped", tarfile.DIRTYPE)
                add("a/swapped/new")
                add("a/swapped/deep", tarfile.DIRTYPE)
    return data.getvalue()


def pack_rounds():
    kinds = {True: 0, False: 0}
    child = swapping("source")
    for _ in range(ROUNDS):
        done = subprocess.run([TARTOOL, "pack", "source"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert SECRET not in done.stdout, "the canary was read"
        assert done.returncode == 0, done.stderr
        kinds[b"source/a/swapped/deep" in done.stdout] += 1
    stop(child)
    print(f"packed {ROUNDS} times, the directory in {kinds[True]}, the symlink in {kinds[False]}")
    assert min(kinds.values()) > 0, "the race has not taken place"


def unpack_rounds():
    archive, before = make_archive(), outside()
    results = {0: 0, 1: 0}
    child = swapping("target")
    for _ in range(ROUNDS):
        done = subprocess.run([TARTOOL, "unpack", "-o", "-C", "target"], input=archive, stderr=subprocess.PIPE)
        assert outside() == before, "the canary was touched"
        results[done.returncode] += 1
    stop(child)
    print(f"unpacked {ROUNDS} times, {results[0]} to the end, {results[1]} refused")
    assert results[1] > 0, "the race has not taken place"


def main():
    make_world()
    pack_rounds()
    unpack_rounds()


main()
