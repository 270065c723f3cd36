# SPDX-License-Identifier: Apache-2.0
"""What the bench makes in the world, and takes away again whatever happens.

Everything lives under one temporary directory and in cgroups whose name is unique to this run. Processes are
ended by the ids they were started with, never by name.
"""
import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CGROUP_ROOT = "/sys/fs/cgroup"


class Unavailable(Exception):
    """A peer or a measurement is not possible here; the text says why."""


def reason_of(done):
    """The last line a failed command said, or its exit status."""
    text = done.stderr if isinstance(done.stderr, str) else done.stderr.decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = lines[-1][:200] if lines else "no message"
    return f"exit status {done.returncode}: {said}"


def why_not(error):
    """Of a command that was not there or did not end, without its words."""
    return f"no end after {error.timeout:.0f} s" if isinstance(error, subprocess.TimeoutExpired) else str(error)


def check(argv, **more):
    """Runs a preparing command; its failure makes what is being prepared unavailable."""
    more.setdefault("timeout", 120)
    try:
        done = subprocess.run(argv, capture_output=True, **more)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{os.path.basename(argv[0])}: {why_not(error)}") from error
    if done.returncode != 0:
        raise Unavailable(f"{os.path.basename(argv[0])}: {reason_of(done)}")
    return done.stdout


def find_program(name, *preferred):
    """The path of a program; sbin directories count also when they are not in PATH."""
    for path in preferred:
        if os.access(path, os.X_OK):
            return path
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise Unavailable(f"{name} is not installed")
    return path


DISK_BYTES = 2 << 30  # sparse


class World:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="hutch-bench-")
        os.chmod(self.dir, 0o755)  # a sandbox's mapped user must be able to walk through it
        self.cgroup = os.path.basename(self.dir)
        self._undo = contextlib.ExitStack()
        self._undo.callback(self._remove_dir)
        self._undo.callback(self._remove_cgroups)
        atexit.register(self.close)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda got, _frame: sys.exit(128 + got))

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def make_dir(self, *parts):
        path = self.path(*parts)
        os.makedirs(path, exist_ok=True)
        return path

    def on_close(self, function, *args):
        self._undo.callback(function, *args)

    def close(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # cleaning up is not interrupted
        self._undo.close()

    def _remove_dir(self):
        self.unmount_beneath(self.dir)
        shutil.rmtree(self.dir, ignore_errors=True)
        if os.path.exists(self.dir):
            print(f"bench: could not remove {self.dir}", file=sys.stderr)

    @staticmethod
    def unmount_beneath(directory):
        with open("/proc/self/mountinfo", encoding="utf-8") as table:
            points = [line.split()[4] for line in table]
        for point in reversed(points):
            if point.startswith(directory + "/"):
                subprocess.run(["umount", "-l", point], check=False)

    def unmount(self, directory):
        self.unmount_beneath(directory)
        subprocess.run(["umount", "-l", directory], capture_output=True, check=False)

    def new_disk(self, name, disk):
        """A directory on a new ext4 in the file `disk`. On one that all use, ext4 would look with every new file at all that were
        deleted within the last minutes, by whatever was measured before, which takes longer than what is measured."""
        directory = self.make_dir(name)
        self.unmount(directory)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(disk)
        with open(disk, "wb") as file:
            file.truncate(DISK_BYTES)
        check([find_program("mkfs.ext4"), "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", disk])
        check(["mount", "-o", "loop", disk, directory])
        self.on_close(self.unmount, directory)
        os.sync()
        return directory

    def _remove_cgroups(self):
        hierarchies = [CGROUP_ROOT]
        with contextlib.suppress(OSError):
            hierarchies += [entry.path for entry in os.scandir(CGROUP_ROOT) if entry.is_dir(follow_symlinks=False)]
        deadline = time.monotonic() + 5
        for hierarchy in hierarchies:
            top = os.path.join(hierarchy, self.cgroup)
            while os.path.isdir(top) and time.monotonic() < deadline:
                for group, _, _ in os.walk(top, topdown=False):
                    with contextlib.suppress(OSError):
                        os.rmdir(group)
                time.sleep(0.01)


def end_process(process, grace_s=10):
    """Ends a process that we started: asks, waits, insists."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(grace_s)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def remove_if_new(path):
    """Remembers whether a directory was there before; the returned function removes it, when empty, if it was not."""
    existed = os.path.exists(path)

    def undo():
        if existed:
            return
        for directory, _, _ in os.walk(path, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)

    return undo
