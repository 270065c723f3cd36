# SPDX-License-Identifier: Apache-2.0
"""tar_interop.py TARTOOL: what one tar program packs, another unpacks to the same tree. Runs in an empty directory.

GNU tar and Python's tarfile are always there; bsdtar is used where it is installed."""
import os
import shutil
import socket
import stat
import subprocess
import sys
import tarfile

TARTOOL = sys.argv[1]
NANOSECONDS = 10**9


def run(*words, stdin=None, stdout=None, fails=False):
    done = subprocess.run(words, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE)
    assert (done.returncode != 0) == fails, (words, done.returncode, done.stderr)
    return done.stderr.decode(errors="replace")


def write(path, data, mode=0o644):
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)


def make_plain(top):
    """What every format can say."""
    os.makedirs(f"{top}/sub/empty")
    write(f"{top}/empty", b"")
    write(f"{top}/block", b"x" * 512)
    write(f"{top}/odd", os.urandom(70001), 0o751)
    os.symlink("odd", f"{top}/symlink")
    os.symlink("/nowhere/at/all", f"{top}/sub/dangling")
    os.link(f"{top}/odd", f"{top}/sub/hard")
    write(f"{top}/sub/readonly", b"r", 0o400)
    os.mkdir(f"{top}/locked")
    write(f"{top}/locked/inside", b"in")
    os.chmod(f"{top}/locked", 0o555)
    settle(top)


def make_hard(top):
    """What needs pax or GNU's own headers."""
    make_plain(top)
    os.chmod(f"{top}/locked", 0o755)
    long = top + "/" + "/".join("d" * 60 for _ in range(8))
    os.makedirs(long)
    write(f"{long}/{'n' * 200}", b"deep")
    os.symlink("t" * 3000, f"{long}/long target")
    os.link(f"{long}/{'n' * 200}", f"{top}/short link to a long name")
    os.mkfifo(f"{top}/fifo", 0o640)
    write(f"{top}/setuid", b"s", 0o4755)
    write(os.fsencode(top) + b"/bytes \xff\xfe\nnewline", b"raw")
    write(os.fsencode(top) + b"/" + b"\xe9" * 150, b"long raw")
    os.chmod(f"{top}/locked", 0o555)
    settle(top)
    os.utime(top, ns=(0, -NANOSECONDS // 2 * 3))  # before 1970


def make_sparse(top):
    os.makedirs(top)
    for name, size, pieces in [("hole", 1 << 20, []), ("end", 3 << 20, [(0, b"begin")]), ("large", 9 << 30, [(8 << 30, b"far")]),
                               ("many", 8 << 20, [(i << 16, b"p" * 4096) for i in range(128)]), ("tail", 100001, [(100000, b"t")])]:
        with open(f"{top}/{name}", "wb") as file:
            file.truncate(size)
            for offset, data in pieces:
                file.seek(offset)
                file.write(data)
    settle(top)


def settle(top):
    """Times that are not now, with a fraction."""
    for number, path in enumerate(walk(top)):
        time = (1_500_000_000 + number) * NANOSECONDS + 123_456_789
        os.utime(path, ns=(time, time), follow_symlinks=False)


def walk(top):
    paths = [top]
    for root, directories, files in os.walk(top):
        paths += [f"{root}/{name}" for name in directories + files]
    return sorted(paths)


def sparse_content(path, size):
    """The bytes of the pieces; a file of many GiB is not read whole."""
    pieces, at = [], 0
    with open(path, "rb") as file:
        while at < size:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            pieces.append((at, os.pread(file.fileno(), end - at, at)))
            at = end
    return [(begin, data) for begin, data in pieces if data.strip(b"\0")]


def snapshot(top, nanoseconds=True, special=True, times=True):
    tree, inodes = {}, {}
    for path in walk(top):
        info = os.lstat(path)
        name = path[len(top):]
        mode = info.st_mode if special else info.st_mode & ~0o7000
        time = info.st_mtime_ns if nanoseconds else info.st_mtime_ns // NANOSECONDS
        content = None
        if stat.S_ISREG(mode):
            content = info.st_size, sparse_content(path, info.st_size)
        elif stat.S_ISLNK(mode):
            content = os.readlink(path)
        twin = inodes.setdefault(info.st_ino, name) if not stat.S_ISDIR(mode) else name
        tree[name] = (oct(mode), info.st_uid, info.st_gid, time if times else 0, twin, content)
    return tree


def same(one, other):
    assert one.keys() == other.keys(), one.keys() ^ other.keys()
    for name in one:
        assert one[name] == other[name], (name, str(one[name])[:300], str(other[name])[:300])


# ---- who packs, and who unpacks ----

def pack_ours(tree, archive):
    with open(archive, "wb") as file:
        run(TARTOOL, "pack", tree, stdout=file)


def unpack_ours(archive, target):
    with open(archive, "rb") as file:
        run(TARTOOL, "unpack", "-f", "-k", "-o", "-C", target, stdin=file)


def pack_gnu(*options):
    return lambda tree, archive: run("tar", "--numeric-owner", *options, "-cf", archive, tree)


def unpack_gnu(archive, target):
    run("tar", "--numeric-owner", "--same-owner", "-xpf", archive, "-C", target)


def pack_python(form):
    def pack(tree, archive):
        with tarfile.open(archive, "w", format=form) as tar:
            tar.add(tree)
    return pack


def unpack_python(archive, target):
    with tarfile.open(archive) as tar:
        tar.extractall(target, numeric_owner=True)


def pack_bsd(form):
    return lambda tree, archive: run("bsdtar", "--numeric-owner", "--no-xattrs", "--format", form, "-cf", archive, tree)


def unpack_bsd(archive, target):
    # it complains about names that are no text, and unpacks them all the same
    subprocess.run(["bsdtar", "--numeric-owner", "-xpf", archive, "-C", target], stderr=subprocess.DEVNULL)


WHOLE = {"nanoseconds": True}
SECONDS = {"nanoseconds": False}
CASES = [  # tree, packer, what the format or the program cannot say
    ("hard", "ours", pack_ours, WHOLE),
    ("hard", "gnu pax", pack_gnu("--format=pax"), WHOLE),
    ("hard", "gnu", pack_gnu("--format=gnu"), SECONDS),
    ("plain", "ustar", pack_gnu("--format=ustar"), SECONDS),
    ("plain", "v7", pack_gnu("--format=v7"), SECONDS),
    ("hard", "python pax", pack_python(tarfile.PAX_FORMAT), {"times": False}),
    ("hard", "python gnu", pack_python(tarfile.GNU_FORMAT), {"times": False}),
    ("sparse", "ours", pack_ours, WHOLE),
    ("sparse", "gnu 1.0", pack_gnu("--format=pax", "-S", "--sparse-version=1.0"), WHOLE),
    ("sparse", "gnu 0.1", pack_gnu("--format=pax", "-S", "--sparse-version=0.1"), WHOLE),
    ("sparse", "gnu 0.0", pack_gnu("--format=pax", "-S", "--sparse-version=0.0"), WHOLE),
    ("sparse", "gnu old", pack_gnu("--format=gnu", "-S"), SECONDS),
]
UNPACKERS = [("gnu", ["plain", "hard", "sparse"], unpack_gnu, WHOLE),
             ("python", ["plain", "hard"], unpack_python, {"times": False})]
if shutil.which("bsdtar"):
    CASES += [("hard", "bsd pax", pack_bsd("pax"), {"times": False}), ("sparse", "bsd pax", pack_bsd("pax"), {"times": False})]
    # it takes -1.5 for -0.5 (libarchive 3.6)
    UNPACKERS += [("bsd", ["plain", "hard", "sparse"], unpack_bsd, {"times": False})]


def compare(tree, pack, unpack, flags):
    shutil.rmtree("out", ignore_errors=True)
    os.mkdir("out")
    pack(tree, "archive")
    unpack("archive", "out")
    same(snapshot(tree, **flags), snapshot(f"out/{tree}", **flags))
    os.unlink("archive")


def check_copy():
    """cp -a: into a directory that is there, else under the new name."""
    os.mkdir("there")
    for target, result in [("there", "there/plain"), ("there/", "there/plain"), ("new", "new"), ("there/new", "there/new"), ("new", "new/plain")]:
        run(TARTOOL, "copy", "-f", "-k", "-o", "plain", target)
        same(snapshot("plain"), snapshot(result))
    run(TARTOOL, "copy", "plain/odd", "file")
    run(TARTOOL, "copy", "plain/block", "file")
    assert open("file", "rb").read() == open("plain/block", "rb").read()
    run(TARTOOL, "copy", "plain/odd", "missing/", fails=True)
    run(TARTOOL, "copy", "plain/odd", "missing/name", fails=True)
    run(TARTOOL, "copy", "plain/nothing", "file", fails=True)
    run(TARTOOL, "copy", "plain/symlink", "link")
    assert os.readlink("link") == "odd"
    run(TARTOOL, "copy", "plain/symlink/through", "x", fails=True)
    os.mkdir("dir")
    os.mkdir("holds")
    os.mkdir("holds/odd")
    run(TARTOOL, "copy", "plain/odd", "holds", fails=True)
    assert os.path.isdir("holds/odd")


def check_content():
    for path in ["plain/odd", "sparse/tail", "plain/empty"]:
        with open("archive", "wb") as file:
            run(TARTOOL, "pack", path, stdout=file)
        with open("archive", "rb") as file, open("content", "wb") as out:
            run(TARTOOL, "content", stdin=file, stdout=out)
        assert open("content", "rb").read() == open(path, "rb").read(), path
    with open("archive", "wb") as file:
        run(TARTOOL, "pack", "plain", stdout=file)
    with open("archive", "rb") as file:
        said = run(TARTOOL, "content", stdin=file, stdout=subprocess.DEVNULL, fails=True)
    assert "neither a file" in said, said


def check_left_out():
    """Sockets and devices are told by name; the special bits and FIFOs go only where they are asked for."""
    os.mkdir("odd")
    held = socket.socket(socket.AF_UNIX)
    held.bind("odd/socket")
    write("odd/suid", b"", 0o6755)
    os.mkfifo("odd/fifo")
    expected = {"skipped odd/socket 140000 0"}
    try:
        os.mknod("odd/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        expected.add("skipped odd/null 20000 0")
    except PermissionError:
        pass
    with open("archive", "wb") as file:
        said = run(TARTOOL, "pack", "odd", stdout=file)
    assert set(said.splitlines()) == expected, said
    os.mkdir("out2")
    with open("archive", "rb") as file:
        said = run(TARTOOL, "unpack", "-C", "out2", stdin=file)
    assert said == "skipped odd/fifo 10000 0\n", said
    assert stat.S_IMODE(os.stat("out2/odd/suid").st_mode) == 0o755
    assert sorted(os.listdir("out2/odd")) == ["suid"]


def check_depth():
    """Any depth with a few descriptors: the limit is 64 here, the tree ten times as deep."""
    os.mkdir("deep")
    here = os.open("deep", os.O_RDONLY)
    for number in range(600):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        file = os.open(f"zz{number}", os.O_WRONLY | os.O_CREAT, dir_fd=here)
        os.write(file, b"%d" % number)
        os.close(file)
        os.close(here)
        here = below
    os.close(here)
    run("sh", "-c", 'ulimit -n 64 && "$0" pack deep >archive && mkdir deep-out && "$0" unpack -C deep-out <archive', TARTOOL)
    files = subprocess.run(["find", "deep", "-type", "f"], stdout=subprocess.PIPE).stdout.split()
    again = subprocess.run(["find", "deep", "-type", "f"], cwd="deep-out", stdout=subprocess.PIPE).stdout.split()
    assert len(files) == 600 and sorted(files) == sorted(again)
    said = run(TARTOOL, "pack", "-d", "100", "deep", stdout=subprocess.DEVNULL, fails=True)
    assert "more directories inside each other" in said, said


def main():
    os.umask(0o022)
    make_plain("plain")
    make_hard("hard")
    make_sparse("sparse")
    for tree, name, pack, flags in CASES:
        print(f"{name} packs {tree}, we unpack", flush=True)
        compare(tree, pack, unpack_ours, flags)
    for name, trees, unpack, flags in UNPACKERS:
        for tree in trees:
            print(f"we pack {tree}, {name} unpacks", flush=True)
            compare(tree, pack_ours, unpack, flags)
    for check in [check_copy, check_content, check_left_out, check_depth]:
        print(check.__doc__ or check.__name__, flush=True)
        check()


main()
