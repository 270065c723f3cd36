#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""overlay.py STORE_TOOL [TEST...]: what src/store says about a real overlay, against what can be seen of it.

Everything happens on a tmpfs in a mount namespace of its own. Prints one line per test and exits with 1 if one failed,
with 77 when there are no overlays for us here."""
import os
import pathlib
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ODD_NAMES = [b"two words", b"tab\there", b'quo"te', b"back\\slash", b"new\nline", "ä".encode(), b"\xff\xfe", b"-dash", b" ", b"a b c ",
             b"$(x)", b"*", b"x" * 200, b"\x01\x7f"]
KILLS = 50


def write(path, content, mode=None):
    path = os.fsencode(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    if mode is not None:
        os.chmod(path, mode)


def snapshot(top):
    """Path -> (mode, content) of everything beneath top. Goes by descriptor, however deep."""
    found = {}
    top = os.fsencode(top)

    def visit(dir_fd, prefix):
        for name in os.listdir(dir_fd):
            name = os.fsencode(name)
            info = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
            content = b""
            if stat.S_ISLNK(info.st_mode):
                content = os.readlink(name, dir_fd=dir_fd)
            elif stat.S_ISREG(info.st_mode):
                fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=dir_fd)
                with open(fd, "rb") as file:
                    content = file.read()
            found[prefix + name] = (info.st_mode, info.st_uid, info.st_gid, content)
            if stat.S_ISDIR(info.st_mode):
                fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=dir_fd)
                try:
                    visit(fd, prefix + name + b"/")
                finally:
                    os.close(fd)

    fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        visit(fd, b"")
    finally:
        os.close(fd)
    return found


def expected_changes(lower, merged):
    """The same as the tool's answer, from two snapshots."""
    wanted = []
    for path in sorted(set(lower) | set(merged), key=lambda path: path.split(b"/")):
        old, new = lower.get(path), merged.get(path)
        if old == new:
            continue
        if old is None:
            kind = b"added"
        elif new is None:
            kind = b"deleted"
        elif stat.S_IFMT(old[0]) != stat.S_IFMT(new[0]):
            kind = b"type"
        else:
            kind = b"modified" if old[3] != new[3] else b"metadata"
        wanted.append((kind, old[0] if old else 0, new[0] if new else 0, path))
    return wanted


class World:
    """A lower directory, an overlay on it, and the tool."""

    def __init__(self, tool, home):
        self.tool, self.home = tool, pathlib.Path(home)
        self.lower, self.upper, self.merged = (self.home / name for name in ("lower", "upper", "merged"))
        for name in ("lower", "upper", "work", "merged"):
            (self.home / name).mkdir()
        self.mounted = False

    def mount(self):
        # the kernel stamps by the coarse clock
        time.sleep(0.02)
        self.since = time.clock_gettime_ns(time.CLOCK_REALTIME)
        time.sleep(0.02)
        options = f"userxattr,lowerdir={self.lower},upperdir={self.upper},workdir={self.home}/work"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, self.merged], check=True)
        self.mounted = True

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.merged], check=True)

    def run(self, *words, check=True):
        tool = self.tool if isinstance(self.tool, list) else [self.tool]
        done = subprocess.run([*tool, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        if check and done.returncode:
            raise AssertionError(f"{words}: status {done.returncode}: {done.stderr!r}")
        return done.stdout

    def changes(self):
        records = self.run("changes", self.upper, self.lower).split(b"\0")[:-1]
        split = [record.split(b" ", 3) for record in records]
        return [(kind, int(old, 8), int(new, 8), path) for kind, old, new, path in split]

    def apply(self, lower=None, how=None, since=None):
        words = ["apply", self.upper, lower or self.lower, str(since or self.since)] + ([how] if how else [])
        records = self.run(*words).split(b"\0")[:-1]
        conflicts = [tuple(record.split(b" ", 2)[1:]) for record in records if record.startswith(b"conflict ")]
        return conflicts, [int(word) for word in records[-1].split()[1:]]

    def check_changes(self):
        wanted = expected_changes(snapshot(self.lower), snapshot(self.merged))
        got = self.changes()
        assert got == wanted, f"got {sorted(set(got) - set(wanted))[:5]}, missing {sorted(set(wanted) - set(got))[:5]}"

    def copy_lower(self, name="copy"):
        target = self.home / name
        subprocess.run(["cp", "-a", self.lower, target], check=True)
        return target

    def check_applied(self, merged):
        now = snapshot(self.lower)
        wanted = {path: (mode & ~0o6000, *rest) for path, (mode, *rest) in merged.items()}
        assert now == wanted, f"{[(p, now.get(p), wanted.get(p)) for p in set(now) | set(wanted) if now.get(p) != wanted.get(p)][:3]}"

    def check_apply(self):
        merged, lower = snapshot(self.merged), snapshot(self.lower)
        conflicts, dry = self.apply(how="dry")
        assert snapshot(self.lower) == lower, "a dry run has written"
        done_conflicts, counts = self.apply()
        assert not conflicts and not done_conflicts, done_conflicts
        assert dry == counts, (dry, counts)
        self.check_applied(merged)
        assert self.apply() == ([], [0, 0, 0, 0, 0]), "a second apply finds something to do"


def files_only(tree):
    """What a patch can say of a tree."""
    return {path: (b"link" if stat.S_ISLNK(mode) else b"x" if mode & 0o100 else b"-", content)
            for path, (mode, _, _, content) in tree.items() if not stat.S_ISDIR(mode)}


def check_patch(world, command):
    copy = world.copy_lower("copy-" + command[0])
    patch = world.home / "patch"
    patch.write_bytes(world.run("diff", world.upper, world.lower))
    if patch.stat().st_size:
        done = subprocess.run([*command, patch], cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "GIT_CEILING_DIRECTORIES": str(world.home)})
        assert done.returncode == 0, f"{command}: {done.stdout!r}"
    got, wanted = files_only(snapshot(copy)), files_only(snapshot(world.merged))
    assert got == wanted, f"{[(p, got.get(p), wanted.get(p)) for p in set(got) | set(wanted) if got.get(p) != wanted.get(p)][:3]}"


def check_git(world):
    check_patch(world, ["git", "apply", "-p1", "--whitespace=nowarn"])


def check_gnu(world):
    check_patch(world, ["patch", "-p1", "--no-backup-if-mismatch", "-s", "-i"])


# ---- the tests -----------------------------------------------------------------------------------------------------------


def lines(count, salt=""):
    return "".join(f"line {i}{salt}\n" for i in range(count))


def make_plain(world):
    low = world.lower
    write(low / "same", "same\n")
    write(low / "edited", lines(100))
    write(low / "noeol", "a\nb")
    write(low / "becomes-noeol", "a\nb\n")
    write(low / "emptied", "x\n")
    write(low / "filled", "")
    write(low / "removed", "gone\n")
    write(low / "renamed", lines(20))
    write(low / "mode", "#!/bin/sh\n", 0o644)
    write(low / "private", "x\n", 0o644)
    write(low / "touched", "touched\n")
    write(low / "to-link", "text\n")
    write(low / "dir/inner/file", "inner\n")
    write(low / "dir/other", "other\n")
    write(low / "doomed/a/b", "b\n")
    write(low / "doomed/c", "c\n")
    os.symlink("same", low / "link")
    os.symlink("/etc/passwd", low / "link-gone")
    os.symlink("x", low / "to-file")


def change_plain(top):
    text = lines(100).replace("line 3\n", "LINE 3\n").replace("line 50\n", "").replace("line 97\n", "line 97\nmore\n")
    write(top / "edited", text)
    write(top / "noeol", "a\nc")
    write(top / "becomes-noeol", "a\nb")
    write(top / "emptied", "")
    write(top / "filled", "filled\n")
    os.remove(top / "removed")
    os.rename(top / "renamed", top / "dir/renamed")
    os.chmod(top / "mode", 0o755)
    os.chmod(top / "private", 0o600)
    os.utime(top / "touched")
    write(top / "touched", "touched\n")
    os.remove(top / "to-link")
    os.symlink("same", top / "to-link")
    os.remove(top / "to-file")
    write(top / "to-file", "file\n")
    write(top / "new/deep/file", "new\n", 0o755)
    write(top / "new/empty", "")
    write(top / "new/empty with space", "")
    write(top / "new/with space", "text\n")
    os.symlink("nowhere", top / "new/link")
    os.remove(top / "link")
    os.symlink("edited", top / "link")
    os.remove(top / "link-gone")
    shutil.rmtree(top / "doomed")
    write(top / "dir/inner/file", "changed\n")


def test_plain_changes_are_seen_and_can_be_patched_and_applied(world):
    make_plain(world)
    world.mount()
    assert world.changes() == [] and world.run("diff", world.upper, world.lower) == b""
    change_plain(world.merged)
    world.check_changes()
    check_git(world)
    check_gnu(world)
    world.check_apply()


def test_odd_names(world):
    for index, name in enumerate(ODD_NAMES):
        if index % 2:
            write(os.fsencode(world.lower) + b"/" + name, b"old\n")
    world.mount()
    for index, name in enumerate(ODD_NAMES):
        path = os.fsencode(world.merged) + b"/" + name
        if index % 4 == 3:
            os.remove(path)
        else:
            write(path, b"new %d\n" % index)
        write(os.fsencode(world.merged) + b"/d/" + name + b"/empty" + name[:200], b"")
    world.check_changes()
    check_git(world)
    check_gnu(world)
    world.check_apply()


def test_files_become_directories_and_the_reverse(world):
    low = world.lower
    write(low / "file", "f\n")
    write(low / "dir/a/b", "b\n")
    write(low / "dir/c", "c\n")
    write(low / "dir-link/x", "x\n")
    os.symlink("file", low / "link-dir")
    world.mount()
    top = world.merged
    os.remove(top / "file")
    write(top / "file/now/dir", "d\n")
    shutil.rmtree(top / "dir")
    write(top / "dir", "now a file\n")
    shutil.rmtree(top / "dir-link")
    os.symlink("dir", top / "dir-link")
    os.remove(top / "link-dir")
    write(top / "link-dir/x", "x\n")
    world.check_changes()
    check_git(world)
    world.check_apply()


def test_opaque_directories(world):
    low = world.lower
    for name in ("one", "two", "sub/three", "sub/four"):
        write(low / "d" / name, name + "\n")
    world.mount()
    top = world.merged
    shutil.rmtree(top / "d")
    write(top / "d/one", "other\n")
    write(top / "d/sub/four", "sub/four\n")
    write(top / "d/five", "five\n")
    opaque = os.getxattr(world.upper / "d", "user.overlay.opaque")
    assert opaque == b"y", opaque
    world.check_changes()
    check_git(world)
    check_gnu(world)
    world.check_apply()


def test_whiteouts_that_are_empty_files(world):
    write(world.lower / "d/hidden", "x\n")
    write(world.lower / "d/empty", "x\n")
    (world.upper / "d").mkdir()
    os.setxattr(world.upper / "d", "user.overlay.opaque", b"x")
    write(world.upper / "d/hidden", "")
    write(world.upper / "d/empty", "")
    os.setxattr(world.upper / "d/hidden", "user.overlay.whiteout", b"")
    got = [(kind, path) for kind, _, _, path in world.changes()]
    assert got == [(b"modified", b"d/empty"), (b"deleted", b"d/hidden")], got


def test_a_sandbox_cannot_write_marks(world):
    write(world.lower / "d/file", "x\n")
    world.mount()
    for name in ("user.overlay.opaque", "user.overlay.whiteout"):
        try:
            os.setxattr(world.merged / "d", name, b"y")
        except OSError:
            pass
    try:
        os.mknod(world.merged / "d/null", stat.S_IFCHR | 0o600, os.makedev(0, 0))
    except OSError:
        pass
    world.check_changes()


def chain(top, depth, name=b"d"):
    """Makes a chain of directories, by descriptor, and returns one of the last."""
    fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for _ in range(depth):
            os.mkdir(name, dir_fd=fd)
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
            os.close(fd)
            fd = below
    except OSError:
        os.close(fd)
        raise
    return fd


def test_trees_of_2000_levels(world):
    fd = chain(world.lower, 2000)
    for name in (b"gone", b"kept"):
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    world.mount()
    fd = os.open(world.merged, os.O_RDONLY | os.O_DIRECTORY)
    for level in range(2000):
        below = os.open(b"d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = below
        if level % 500 == 499:
            os.close(os.open(b"x", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.remove(b"gone", dir_fd=fd)
    os.close(fd)
    os.close(chain(world.merged, 2000, b"n"))
    world.tool = ["prlimit", "--nofile=100", world.tool]
    started = time.monotonic()
    got = [(kind, path.count(b"/"), path[-4:]) for kind, _, _, path in world.changes() if path.startswith(b"d")]
    assert got == [(b"deleted", 2000, b"gone"), (b"added", 2000, b"/d/x"), (b"added", 1500, b"/d/x"), (b"added", 1000, b"/d/x"),
                   (b"added", 500, b"/d/x")], got
    conflicts, counts = world.apply()
    assert (conflicts, counts) == ([], [2004, 0, 1, 0, 0]), counts
    assert world.apply() == ([], [0, 0, 0, 0, 0])
    assert world.changes() == []
    subprocess.run(["rm", "-rf", world.merged / "d"], check=True)
    conflicts, counts = world.apply(since=time.time_ns())
    assert (conflicts, counts) == ([], [0, 0, 2005, 0, 0]), counts
    took = time.monotonic() - started
    assert took < 20, f"took {took:.1f} s"


def test_devices_and_fifos_are_left_alone(world):
    write(world.lower / "file", "x\n")
    world.mount()
    os.mkfifo(world.merged / "fifo")
    os.mknod(world.merged / "zero", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    os.remove(world.merged / "file")
    os.mkfifo(world.merged / "file")
    world.check_changes()
    assert world.run("diff", world.upper, world.lower).startswith(b"diff --git a/file b/file\ndeleted file mode")
    conflicts, counts = world.apply()
    assert conflicts == [(b"4", b"fifo"), (b"4", b"file"), (b"4", b"zero")], conflicts
    assert set(snapshot(world.lower)) == {b"file"}


def test_set_id_bits_are_dropped_and_holes_stay(world):
    write(world.lower / "suid", "x\n", 0o4755)
    world.mount()
    write(world.merged / "new", "x\n", 0o6755)
    write(world.merged / "suid", "y\n", 0o4755)
    with open(world.merged / "sparse", "wb") as file:
        file.truncate(1 << 40)
        file.seek(1 << 30)
        file.write(b"middle")
    world.apply()
    assert stat.S_IMODE(os.stat(world.lower / "new").st_mode) == 0o755
    assert stat.S_IMODE(os.stat(world.lower / "suid").st_mode) == 0o755
    info = os.stat(world.lower / "sparse")
    assert info.st_size == 1 << 40 and info.st_blocks < 1000, info
    with open(world.lower / "sparse", "rb") as file:
        file.seek(1 << 30)
        assert file.read(6) == b"middle"


def test_directory_modes(world):
    for name in ("a", "b"):
        write(world.lower / name / "old", "x\n")
    world.mount()
    write(world.merged / "a/new", "x\n")
    os.chmod(world.merged / "a", 0o555)
    os.chmod(world.merged / "b", 0o1777)
    write(world.merged / "c/new", "x\n")
    os.chmod(world.merged / "c", 0o500)
    world.check_changes()
    world.check_apply()


def test_what_changed_outside_is_a_conflict(world):
    low = world.lower
    for name in ("edited-by-both", "removed-here", "edited-there", "d/a", "d/sub/b", "e/a", "became-link/x", "f"):
        write(low / name, "old\n")
    world.mount()
    top = world.merged
    write(top / "edited-by-both", "sandbox\n")
    os.remove(top / "removed-here")
    shutil.rmtree(top / "d")
    shutil.rmtree(top / "e")
    write(top / "both-added", "sandbox\n")
    write(top / "both-added-same", "same\n")
    write(top / "became-link/x", "sandbox\n")
    write(top / "became-link/y", "sandbox\n")
    write(top / "f", "sandbox\n")
    time.sleep(0.02)
    write(low / "edited-by-both", "outside\n")
    write(low / "removed-here", "outside\n")
    write(low / "edited-there", "outside\n")
    write(low / "d/sub/new", "outside\n")
    write(low / "both-added", "outside\n")
    write(low / "both-added-same", "same\n")
    victim = world.home / "victim"
    victim.mkdir()
    shutil.rmtree(low / "became-link")
    os.symlink(victim, low / "became-link")
    before = snapshot(low)
    dry = world.apply(how="dry")
    assert snapshot(low) == before
    done = world.apply()
    assert dry == done, (dry, done)
    assert done[0] == [(b"1", b"became-link"), (b"1", b"both-added"), (b"1", b"d/sub/new"), (b"2", b"d/sub"), (b"2", b"d"),
                       (b"0", b"edited-by-both"), (b"0", b"removed-here")], done[0]
    assert snapshot(victim) == {}
    now = snapshot(low)
    assert {path: entry[3] for path, entry in now.items() if not stat.S_ISDIR(entry[0])} == {
        b"became-link": os.fsencode(victim), b"both-added": b"outside\n", b"both-added-same": b"same\n", b"d/sub/new": b"outside\n",
        b"edited-by-both": b"outside\n", b"edited-there": b"outside\n", b"f": b"sandbox\n", b"removed-here": b"outside\n"}
    again = world.apply()
    assert again[0] == done[0] and again[1][:4] == [0, 0, 0, 0], again


def test_a_mount_in_the_real_directory_is_not_written_to(world):
    write(world.lower / "m/file", "x\n")
    world.mount()
    write(world.merged / "m/file", "y\n")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", world.lower / "m"], check=True)
    try:
        conflicts, _ = world.apply()
        assert conflicts == [(b"3", b"m/file")], conflicts
        assert snapshot(world.lower / "m") == {}
    finally:
        subprocess.run(["umount", world.lower / "m"], check=True)


def test_the_temporary_name(world):
    write(world.lower / "d/file", "x\n")
    (world.lower / "gone").mkdir()
    world.mount()
    write(world.merged / "d/file", "y\n")
    write(world.merged / "d/.hutch-apply.tmp", "mine\n")
    os.rmdir(world.merged / "gone")
    write(world.lower / "d/.hutch-apply.tmp", "left by a crash\n")
    (world.lower / ".hutch-apply.tmp").mkdir()
    write(world.lower / "gone/.hutch-apply.tmp", "left by a crash\n")
    conflicts, _ = world.apply()
    assert conflicts == [(b"5", b"d/.hutch-apply.tmp")], conflicts
    assert set(snapshot(world.lower)) == {b"d", b"d/file"}


def test_a_layer_without_anything_below(world):
    for name in ("etc/passwd", "etc/new", "tmp/x/y", "proc/1"):
        write(world.upper / name, "x\n")
    got = world.run("layer", world.upper, "tmp", "etc", "etc/passwd", "proc", "proc/1").split(b"\0")[:-1]
    assert [record.split(b" ", 3)[3] for record in got] == [b"etc/new", b"tmp/x", b"tmp/x/y"], got
    assert all(record.startswith(b"added 000000 ") for record in got)


def random_tree(rng, top, count):
    """Does count random things beneath top."""
    for _ in range(count):
        everything = sorted(snapshot(top)) or [b""]
        place = os.fsencode(top) + b"/" + rng.choice(everything)
        name = rng.choice([b"a", b"b", b"c", b"d", b"e f", b"\xc3\xa4"])
        try:
            what = rng.randrange(9)
            if what == 0:
                os.mkdir(place + b"/" + name)
            elif what <= 2:
                write(place + b"/" + name, "".join(rng.choice("abc") + "\n" for _ in range(rng.randrange(40))))
            elif what == 3:
                os.symlink(rng.choice(["a", "b", "/x"]), place + b"/" + name)
            elif what == 4:
                os.remove(place)
            elif what == 5 and os.path.isdir(place) and place != os.fsencode(top) + b"/":
                shutil.rmtree(place)
            elif what == 6:
                os.rename(place, os.path.dirname(place) + b"/" + name)
            elif what == 7 and not os.path.islink(place):
                os.chmod(place, rng.choice([0o755, 0o644, 0o700]))
            elif what == 8 and os.path.isfile(place):
                with open(place, "ab") as file:
                    file.write(b"more")
        except OSError:
            pass


def test_random_changes(world):
    rng = random.Random(1)
    homes = []
    for turn in range(25):
        home = world.home / f"turn-{turn}"
        home.mkdir()
        homes.append(home)
        inner = World(world.tool, home)
        try:
            random_tree(rng, inner.lower, 60)
            inner.mount()
            random_tree(rng, inner.merged, 60)
            inner.check_changes()
            check_git(inner)
            inner.check_apply()
        finally:
            inner.close()
            shutil.rmtree(home, ignore_errors=True)


def make_much(world):
    for i in range(40):
        write(world.lower / f"d{i % 5}/f{i}", "old" * 20000)
    world.mount()
    for i in range(40):
        if i % 4 == 0:
            os.remove(world.merged / f"d{i % 5}/f{i}")
        else:
            write(world.merged / f"d{i % 5}/f{i}", "new" * 20000)
        write(world.merged / f"n{i % 3}/f{i}", "add" * 10000)
    shutil.rmtree(world.merged / "d4")


def apply_for(world, seconds):
    """Applies, killed after that long. Returns how long it took."""
    started = time.monotonic()
    process = subprocess.Popen([world.tool, "apply", world.upper, world.lower, str(world.since)], stdout=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return time.monotonic() - started


def test_apply_survives_being_killed(world):
    rng, takes, halves = random.Random(2), 0, 0
    for turn in range(KILLS + 1):
        home = world.home / f"kill-{turn}"
        home.mkdir()
        inner = World(world.tool, home)
        try:
            make_much(inner)
            merged, lower = snapshot(inner.merged), snapshot(inner.lower)
            took = apply_for(inner, rng.uniform(0, takes) if turn else 60)
            takes = takes or took
            now = snapshot(inner.lower)
            halves += now not in (lower, merged)
            for path, entry in now.items():
                known = path.endswith(b".hutch-apply.tmp") or entry in (lower.get(path), merged.get(path))
                assert known, f"{path!r} is neither old nor new"
            conflicts, _ = inner.apply()
            assert not conflicts, conflicts
            inner.check_applied(merged)
        finally:
            inner.close()
            shutil.rmtree(home, ignore_errors=True)
    assert halves > KILLS / 10, f"only {halves} of {KILLS} were killed in the middle"


def test_an_upper_directory_that_changes_meanwhile(world):
    elsewhere = world.home / "elsewhere"
    write(elsewhere / "secret", "secret\n")
    write(world.lower / "a/file", "x\n")
    world.mount()
    stop = threading.Event()
    depth = 80

    def disturb():
        rng = random.Random(3)
        top = os.fsencode(world.merged)
        while not stop.is_set():
            try:
                name = rng.choice([b"/a", b"/b", b"/c"])
                what = rng.randrange(6)
                if what == 0:
                    os.close(chain(top, rng.randrange(depth), name[1:]))
                elif what == 1:
                    subprocess.run(["rm", "-rf", top + name], stderr=subprocess.DEVNULL)
                elif what == 2:
                    os.symlink(elsewhere, top + name)
                elif what == 3:
                    os.remove(top + name)
                elif what == 4:
                    os.rename(top + name + b"/b" * 40, top + b"/moved")
                elif what == 5:
                    os.mkfifo(top + name)
            except OSError:
                pass

    threads = [threading.Thread(target=disturb) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        ends = time.monotonic() + 5
        while time.monotonic() < ends:
            for verb in ("changes", "diff"):
                done = subprocess.run([world.tool, verb, world.upper, world.lower], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      timeout=20)
                assert done.returncode == 0 or b"was moved while" in done.stderr, done.stderr
                assert b"secret" not in done.stdout
            done = subprocess.run([world.tool, "apply", world.upper, world.lower, str(world.since), "dry"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=20)
            assert done.returncode == 0 or b"was moved while" in done.stderr, done.stderr
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert (elsewhere / "secret").read_text() == "secret\n"


def test_large_and_binary_files_only_differ(world):
    write(world.lower / "large", "a\n" * (9 << 20))
    write(world.lower / "binary", b"\0a")
    world.mount()
    write(world.merged / "large", "b\n" * (9 << 20))
    write(world.merged / "binary", b"\0b")
    write(world.merged / "new", b"\0b")
    patch = world.run("diff", world.upper, world.lower).decode()
    for line in ("Binary files a/large and b/large differ", "Binary files a/binary and b/binary differ",
                 "Binary files /dev/null and b/new differ"):
        assert line in patch.splitlines(), patch
    world.check_changes()
    world.check_apply()


def run_test(name, test, tool, home):
    directory = tempfile.mkdtemp(dir=home)
    world = World(tool, directory)
    started = time.monotonic()
    try:
        test(world)
        print(f"ok {name} ({time.monotonic() - started:.1f} s)", flush=True)
        return True
    except Exception:
        print(f"not ok {name}\n{traceback.format_exc()}", flush=True)
        return False
    finally:
        world.close()
        subprocess.run(["rm", "-rf", directory], check=False)


def enter_namespace():
    """Runs this once more, where its mounts are nobody else's business."""
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(77)
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv[:1], "--inside", *sys.argv[1:]])


def main():
    if sys.argv[1] != "--inside":
        enter_namespace()
    tool, only = os.path.abspath(sys.argv[2]), sys.argv[3:]
    sys.setrecursionlimit(10000)
    home = tempfile.mkdtemp(prefix="hutch-store-")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600m", "tmpfs", home], check=True)
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_") and (not only or name in only)]
    good = [run_test(name[5:].replace("_", " "), test, tool, home) for name, test in tests]
    subprocess.run(["umount", home], check=True)
    os.rmdir(home)
    sys.exit(0 if tests and all(good) else 1)


if __name__ == "__main__":
    main()
