# SPDX-License-Identifier: Apache-2.0
"""layer_hostile.py LAYERTOOL: layers that try to get out of their directory or to be more than they may, and layers that mean
something unusual. Runs in an empty directory.

After every layer, the world beside the target has to be what it was."""
import bz2
import errno
import gzip
import hashlib
import lzma
import os
import random
import shutil
import stat
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tar"))
from archives import (END, base256, directory, file, gnu_long, hardlink, header, octal,  # noqa: E402
                      pax, record, sparse, symlink)

LAYERTOOL = sys.argv[1]
CANARY = b"canary\n"
OPAQUE = "user.overlay.opaque"
LEAVES = "leaves the target"
with open("/proc/self/uid_map", encoding="ascii") as numbers:
    HAS_ALL_OWNERS = numbers.read().split() == ["0", "0", "4294967295"]


# ---- the world around the target ----

def make_world():
    shutil.rmtree("world", ignore_errors=True)
    if os.path.exists("world"):  # too deep for Python
        subprocess.run(["rm", "-rf", "world"], check=True)
    os.makedirs("world/outside")
    os.mkdir("world/target")
    for path in ["world/canary", "world/outside/canary"]:
        with open(path, "wb") as canary:
            canary.write(CANARY)


def check_world(name):
    around = sorted(os.listdir("world")), os.listdir("world/outside")
    assert around == (["canary", "outside", "target"], ["canary"]), (name, around)
    for path in ["world/canary", "world/outside/canary"]:
        info = os.stat(path)
        assert open(path, "rb").read() == CANARY and info.st_nlink == 1, (name, path)
        assert stat.S_IMODE(info.st_mode) == 0o644 and info.st_mtime > 1_000_000, (name, path)
    info = os.stat("world/outside")
    assert stat.S_IMODE(info.st_mode) == 0o755 and not os.listxattr("world/outside"), name


def unpack(layer, *options):
    return subprocess.run([LAYERTOOL, "unpack", "-o", *options, "world/target"], input=layer, capture_output=True, timeout=120,
                          check=False)


def refused(name, layer, why, *options):
    make_world()
    done = unpack(layer, *options)
    said = done.stderr.decode(errors="replace")
    assert done.returncode == 1 and why in said, (name, done.returncode, said)
    assert all(character >= " " or character == "\n" for character in said), (name, said)
    check_world(name)
    print(f"refused: {name}", flush=True)


def taken(name, layer, check, *options, implicit=()):
    make_world()
    done = unpack(layer, *options)
    assert done.returncode == 0, (name, done.stderr)
    check_world(name)
    lines = done.stdout.decode(errors="surrogateescape").splitlines()
    assert lines[1:] == [f"implicit {path}" for path in implicit], (name, lines)
    assert check("world/target/"), name
    print(f"taken: {name}", flush=True)


def content(name, data=b"data"):
    return lambda target: open(target + name, "rb").read() == data and not os.path.islink(target + name)


def is_whiteout(path):
    info = os.lstat(path)
    return stat.S_ISCHR(info.st_mode) and info.st_rdev == 0


def xattr(path, name):
    try:
        return os.getxattr(path, name, follow_symlinks=False)
    except OSError as error:
        assert error.errno == errno.ENODATA, path
        return None


def is_opaque(path):
    return os.path.isdir(path) and xattr(path, OPAQUE) == b"y"


def is_plain_directory(path):
    return os.path.isdir(path) and not os.path.islink(path) and xattr(path, OPAQUE) is None


# ---- names ----

def check_names():
    for name in [b"../x", b"a/../../x", b"a/..", b"..", b"/x", b"/", b"", b"./../x"]:
        refused(f"name {name}", file(name) + END, LEAVES)
        refused(f"directory {name}", directory(name) + END, LEAVES)
        refused(f"pax name {name}", pax(record(b"path", name)) + file(name and b"x") + END, LEAVES)
        refused(f"GNU name {name}", gnu_long(name) + file(b"x") + END, LEAVES)
        refused(f"link target {name}", file(b"x") + hardlink(b"y", name) + END, LEAVES)
        if name.endswith(b"x"):
            refused(f"whiteout {name}", file(name[:-1] + b".wh.x", b"") + END, LEAVES)
            refused(f"opaque {name}", file(name[:-1] + b".wh..wh..opq", b"") + END, LEAVES)
    refused("sparse name", sparse(b"../x", b"0", b"0\n") + END, LEAVES)
    refused("global path", pax(record(b"path", b"../x"), kind=b"g") + file(b"x") + END, LEAVES)
    refused("NUL", pax(record(b"path", b"a\0b")) + file(b"x") + END, "makes no sense")
    refused("name of 100 KiB", pax(record(b"path", b"a/" * 50_000)) + file(b"x") + END, "longer than allowed")
    refused("deep", pax(record(b"path", b"a/" * 5000 + b"x")) + file(b"x") + END, "inside each other")
    refused("pax of 9 MiB", pax(record(b"comment", b"c" * (9 << 20))) + file(b"x") + END, "longer than allowed")
    taken("not UTF-8", file(b"\xff\xfe\x80") + END, lambda target: os.listdir(os.fsencode(target)) == [b"\xff\xfe\x80"])
    taken("GNU long name", gnu_long(b"d/" + b"n" * 200) + file(b"x") + END, content("d/" + "n" * 200), implicit=["d"])
    taken("global header", pax(record(b"comment", b"c"), kind=b"g") + file(b"x") + END, content("x"))


# ---- whiteouts ----

def check_bad_whiteouts():
    nothing = "a whiteout that hides nothing"
    for name in [b".wh.", b".wh..", b".wh...", b".wh.a/b", b"d/.wh.", b"d/.wh...", b"d/.wh.a/b/c", b".wh.../canary"]:
        refused(f"whiteout {name}", file(name, b"") + END, nothing)
    refused("whiteout as directory", directory(b".wh.a") + END, nothing)
    refused("whiteout as symlink", symlink(b".wh.a", b"../outside") + END, nothing)
    refused("whiteout as device", header(b".wh.a", b"3") + END, nothing)
    refused("whiteout as FIFO", header(b".wh..wh..opq", b"6") + END, nothing)
    for mark in [b".wh.canary", b".wh..wh..opq", b"sub/.wh.x"]:
        refused(f"{mark} through a symlink", symlink(b"l", b"../outside") + file(b"l/" + mark, b"") + END, "through a symlink")
    taken("notes of other storages", directory(b".wh..wh.plnk") + file(b".wh..wh.plnk/1.2") + file(b".wh..wh.aufs", b"") +
          hardlink(b"a/.wh..wh.orph/x", b"../../canary") + file(b"d/.wh..wh..opq/x") + file(b"x") + END,
          lambda target: os.listdir(target) == ["x"])


def check_whiteouts():
    def whiteout(target):
        return os.listdir(target) == ["a"] and is_whiteout(target + "a")
    taken("whiteout", file(b".wh.a", b"") + END, whiteout)
    taken("whiteout with content", file(b".wh.a", b"x" * 1000) + END, whiteout)
    taken("whiteout as a hard link", hardlink(b".wh.a", b".wh..wh.aufs") + END, whiteout)
    taken("whiteout twice", file(b".wh.a", b"") * 2 + END, whiteout)
    taken("whiteout of a whiteout's name", file(b".wh.a.wh.b", b"") + END, lambda target: is_whiteout(target + "a.wh.b"))
    mark, opaque = file(b".wh.a", b""), file(b"a/.wh..wh..opq", b"")
    taken("whiteout, then file", mark + file(b"a") + END, content("a"))
    taken("file, then whiteout", file(b"a") + mark + END, content("a"))
    for order in [symlink(b"a", b"../canary") + mark, mark + symlink(b"a", b"../canary")]:
        taken("whiteout and symlink", order + END, lambda target: os.readlink(target + "a") == "../canary")
    inside = directory(b"a") + file(b"a/x")
    for name, order in {"first": mark + inside, "last": inside + mark, "between": directory(b"a") + mark + file(b"a/x")}.items():
        taken(f"whiteout and directory: {name}", order + END,
              lambda target: is_opaque(target + "a") and content("a/x")(target))
    for name, order in {"first": mark + file(b"a/x"), "last": file(b"a/x") + mark}.items():
        taken(f"whiteout and implied directory: {name}", order + END,
              lambda target: is_opaque(target + "a") and content("a/x")(target))
    for name, order in {"first": directory(b"a") + opaque + file(b"a/x"), "last": inside + opaque,
                        "before its directory": opaque + inside, "without its directory": opaque + file(b"a/x")}.items():
        taken(f"opaque: {name}", order + END, lambda target: is_opaque(target + "a") and os.listdir(target + "a") == ["x"])
    taken("opaque top", file(b".wh..wh..opq", b"") + file(b"x") + END, lambda target: is_opaque(target) and content("x")(target))
    taken("whiteout below a file that became a directory", file(b"a") + directory(b"a") + END, lambda target: is_opaque(target + "a"))


# ---- what stands in the place already ----

def check_duplicates():
    taken("file twice", file(b"a", b"1") + file(b"a", b"2") + END, content("a", b"2"))
    taken("directory becomes file", directory(b"a") + directory(b"a/b") + file(b"a/b/c") + file(b"a") + END, content("a"))
    taken("directory becomes symlink", directory(b"a") + file(b"a/c") + symlink(b"a", b"../outside") + END,
          lambda target: os.readlink(target + "a") == "../outside")
    refused("and is written through", directory(b"a") + symlink(b"a", b"../outside") + file(b"a/c") + END, "through a symlink")
    taken("directory becomes hard link", file(b"f") + directory(b"a") + file(b"a/c") + hardlink(b"a", b"f") + END,
          lambda target: os.path.samefile(target + "a", target + "f"))
    taken("deep directory becomes file", pax(record(b"path", b"a/" * 900 + b"x")) + file(b"x") + file(b"a") + END, content("a"))
    taken("symlink becomes directory", symlink(b"a", b"../outside") + directory(b"a") + file(b"a/new") + END, content("a/new"))
    taken("FIFO becomes file", header(b"a", b"6") + file(b"a") + END, content("a"))


def check_returns():
    order = directory(b"a", mode=0o555, mtime=octal(1000, 12)) + directory(b"b") + file(b"a/x") + directory(b"c") + file(b"a/y") + END
    taken("back to a directory", order, lambda target: os.stat(target + "a").st_mtime == 1000 and
          stat.S_IMODE(os.stat(target + "a").st_mode) == 0o555)
    twice = directory(b"a", mode=0o700) + file(b"a/x") + directory(b"b") + directory(b"a", mode=0o1777, mtime=octal(5, 12)) + END
    taken("directory twice", twice, lambda target: stat.S_IMODE(os.stat(target + "a").st_mode) == 0o1777 and
          os.stat(target + "a").st_mtime == 5)
    taken("implied, mentioned later", file(b"a/b/x") + directory(b"a") + END, content("a/b/x"), implicit=["a/b"])
    taken("implied", file(b"a-b/x") + file(b"a/b/x") + file(b"a-b/y") + END, content("a/b/x"), implicit=["a", "a-b", "a/b"])
    taken("implied beneath an opaque one", file(b"a/b/c/x") + file(b"a/b/.wh..wh..opq", b"") + END, content("a/b/c/x"), implicit=["a"])
    top = directory(b"./", mode=0o711, mtime=octal(77, 12)) + file(b"x")
    taken("the top itself", top + END, lambda target: stat.S_IMODE(os.stat(target).st_mode) == 0o711 and os.stat(target).st_mtime == 77)
    taken("no word of the top", file(b"x") + END, lambda target: stat.S_IMODE(os.stat(target).st_mode) == 0o755)


# ---- links ----

def check_links():
    through = "through a symlink"
    for where in [b"../outside", b"/", b".", b"d"]:
        way = directory(b"d") + symlink(b"l", where)
        refused(f"file through a link to {where}", way + file(b"l/x") + END, through)
        refused(f"directory through a link to {where}", way + directory(b"l/x") + END, through)
        refused(f"hard link through a link to {where}", way + hardlink(b"y", b"l/canary") + END, through)
    refused("chain of links", symlink(b"a", b"b") + symlink(b"b", b"../outside") + file(b"a/x") + END, through)
    taken("file in a link's place", symlink(b"l", b"../canary") + file(b"l") + END, content("l"))
    lacks = "a hard link to a file that it lacks"
    refused("hard link to nothing", hardlink(b"y", b"canary") + END, lacks)
    refused("hard link into nothing", hardlink(b"y", b"d/canary") + END, lacks)
    refused("hard link to a whiteout", file(b".wh.a", b"") + hardlink(b"y", b"a") + END, lacks)
    refused("hard link to a directory", directory(b"a") + hardlink(b"y", b"a") + END, lacks)
    taken("hard link to a symlink", symlink(b"l", b"../canary") + hardlink(b"y", b"l") + END,
          lambda target: os.readlink(target + "y") == "../canary")
    taken("hard link to itself", file(b"a") + hardlink(b"a", b"a") + END, content("a"))
    taken("hard link with content", file(b"a") + hardlink(b"b", b"a", size=5) + END, content("b"))


# ---- kinds, owners, modes, times, attributes ----

def check_kinds():
    for kind in [b"3", b"4"]:
        refused("device", header(b"etc/null", kind) + END, "a device outside of /dev")
        refused("device at the top", header(b"dev", kind) + END, "a device outside of /dev")
        taken("device in /dev", directory(b"dev") + header(b"./dev/null", kind) + file(b"x") + END,
              lambda target: os.listdir(target + "dev") == [])
    taken("FIFO", header(b"p", b"6", mode=0o640) + END,
          lambda target: stat.S_ISFIFO(os.lstat(target + "p").st_mode) and os.lstat(target + "p").st_mode & 0o7777 == 0o640)
    refused("unknown kind", header(b"x", b"Q") + END, "neither a file")
    refused("an end in between", file(b"a") + b"\0" * 512 + file(b"b") + END, "makes no sense")
    for mode in [0o4755, 0o2755, 0o1777, 0o6711, 0o000]:
        taken(f"mode {mode:o}", file(b"a", mode=mode) + directory(b"d", mode=mode) + END, lambda target: all(
            stat.S_IMODE(os.stat(target + name).st_mode) == mode for name in "ad"))


def owned_by(number):
    return lambda target: all((os.lstat(target + name).st_uid, os.lstat(target + name).st_gid) == (number, number) for name in "adl")


def check_owners():
    def all_kinds(records, **fields):
        return (records + file(b"a", **fields) + records + directory(b"d", **fields) +
                records + header(b"l", b"2", link=b"x", **fields) + END)
    if HAS_ALL_OWNERS:
        for number in [1000, 65536, 4_000_000_000, 4_294_967_294]:
            text = b"%d" % number
            taken(f"owner {number}", all_kinds(pax(record(b"uid", text), record(b"gid", text))), owned_by(number))
        taken("owner in base 256", file(b"a", uid=base256(4_000_000_000, 8)) + END,
              lambda target: os.stat(target + "a").st_uid == 4_000_000_000)
    for kind in [file(b"a"), directory(b"d"), symlink(b"l", b"x")]:
        refused("owner -1", pax(record(b"uid", b"4294967295")) + kind + END, "owner who does not exist")
        refused("group -1", pax(record(b"gid", b"4294967295")) + kind + END, "owner who does not exist")
    refused("owner of 33 bits", pax(record(b"uid", b"4294967296")) + file(b"a") + END, "makes no sense")
    refused("negative owner", file(b"a", uid=base256(-1, 8)) + END, "makes no sense")


def check_ordinary():
    """Everything is the user's own, also what its mode closes to the user."""
    if not HAS_ALL_OWNERS:
        return
    closed = (directory(b"a", mode=0) + directory(b"b", mode=0o500) + file(b"a/x", mode=0) + file(b"b/y", uid=octal(5, 8)) +
              directory(b"a", mode=0o111) + directory(b"c", mode=0) + file(b"c/d/z") + file(b"b/.wh..wh..opq", b"") +
              pax(attribute(b"user.a", b"1"), attribute(b"trusted.b", b"2")) + file(b"r", mode=0o444) + file(b"c/.wh.gone", b"") +
              hardlink(b"b/link", b"a/x") + header(b"dev/null", b"3") + END)
    make_world()
    shutil.copy(LAYERTOOL, "layertool")
    os.chown("world/target", 65534, 65534)
    done = subprocess.run(["./layertool", "unpack", "world/target"], input=closed, capture_output=True, check=False, user=65534,
                          group=65534, extra_groups=[])
    assert done.returncode == 0, done.stderr
    check_world("ordinary")
    modes = {name: stat.S_IMODE(os.lstat("world/target/" + name).st_mode) for name in ["a", "b", "c", "a/x", "c/d", "r"]}
    assert modes == {"a": 0o111, "b": 0o500, "c": 0, "a/x": 0, "c/d": 0o755, "r": 0o444}, modes
    assert os.stat("world/target/b/y").st_uid == 65534 and os.listxattr("world/target/r") == ["user.a"]
    assert is_opaque("world/target/b") and is_whiteout("world/target/c/gone")
    print("taken: by an ordinary user", flush=True)


def check_times():
    for text, expected in [(b"-1.5", -1_500_000_000), (b"1234.123456789", 1_234_123_456_789), (b"0", 0), (b"-86400", -86400 * 10**9)]:
        taken(f"time {text}", pax(record(b"mtime", text)) + file(b"a") + pax(record(b"mtime", text)) + directory(b"d") +
              pax(record(b"mtime", text)) + symlink(b"l", b"x") + END,
              lambda target: all(os.lstat(target + name).st_mtime_ns == expected for name in "adl"))
    taken("time in base 256", file(b"a", mtime=base256(-5, 12)) + END, lambda target: os.stat(target + "a").st_mtime == -5)


def attribute(name, value):
    return record(b"SCHILY.xattr." + name, value)


def check_xattrs():
    overlay = [attribute(b"user.overlay." + name, b"y") for name in [b"opaque", b"redirect", b"metacopy", b"whiteout", b"x"]]
    overlay += [attribute(b"trusted.overlay." + name, b"y") for name in [b"opaque", b"redirect", b"metacopy"]]
    odd = [attribute(b"security.capability", b"\1\0\0\2" + b"\0" * 16), attribute(b"security.selinux", b"x"),
           attribute(b"system.nfs4_acl", b"x"), attribute(b"nonsense", b"x"), attribute(b"btrfs.compression", b"zstd")]
    kept = [attribute(b"user.a", b"1\0\n2"), attribute(b"user.empty", b"")]
    for kind in [file(b"a"), directory(b"a")]:
        taken("attributes", pax(*overlay, *odd, *kept) + kind + file(b"b") + END, lambda target:
              sorted(os.listxattr(target + "a")) == ["user.a", "user.empty"] and os.getxattr(target + "a", "user.a") == b"1\0\n2" and
              os.listxattr(target + "b") == [])
    taken("attributes of others", pax(*overlay, *kept) + symlink(b"a", b"../canary") + pax(*kept) + header(b"p", b"6") + END,
          lambda target: os.listxattr(target + "a", follow_symlinks=False) == [])
    taken("attributes for all", pax(*kept, kind=b"g") + file(b"a") + END, lambda target: os.listxattr(target + "a") == [])
    refused("300 attributes", pax(*[attribute(b"user.%d" % i, b"x") for i in range(300)]) + file(b"a") + END, "longer than allowed")
    refused("attribute of 64 KiB and one", pax(attribute(b"user.a", b"x" * 65537)) + file(b"a") + END, "longer than allowed")
    refused("name of an attribute", pax(attribute(b"user." + b"a" * 256, b"x")) + file(b"a") + END, "longer than allowed")
    refused("NUL in an attribute's name", pax(attribute(b"user.\0a", b"x")) + file(b"a") + END, "makes no sense")


# ---- compression ----

PLAIN = directory(b"d") + file(b"d/x", b"data") + END


def zstd(data, *options):
    return subprocess.run(["zstd", "-qc", *options], input=data, stdout=subprocess.PIPE, check=True).stdout


def member(data, flags=0, extra=b"", crc=None, size=None):
    packer = zlib.compressobj(wbits=-15)
    body = packer.compress(data) + packer.flush()
    head = b"\x1f\x8b\x08" + bytes([flags]) + b"\0\0\0\0\0\3" + extra
    return head + body + struct.pack("<II", zlib.crc32(data) if crc is None else crc, len(data) if size is None else size)


def is_whole(target):
    return content("d/x")(target)


def check_compression():
    whole = {"gzip": gzip.compress(PLAIN), "zstd": zstd(PLAIN), "plain": PLAIN,
             "zstd without checksum": zstd(PLAIN, "--no-check"), "zstd in frames": zstd(PLAIN[:700]) + zstd(PLAIN[700:]),
             "zstd after a skippable frame": b"\x5a\x2a\x4d\x18\4\0\0\0abcd" + zstd(PLAIN),
             "gzip in members": b"".join(member(PLAIN[at:at + 100]) for at in range(0, len(PLAIN), 100)),
             "gzip with empty members": member(b"") + member(PLAIN) + member(b""),
             "gzip and zeros": gzip.compress(PLAIN) + b"\0" * 100_000,
             "gzip with a name": member(PLAIN, 8, b"name\0"), "gzip with a comment": member(PLAIN, 16, b"comment\0"),
             "gzip with extra": member(PLAIN, 4, b"\4\0abcd"), "gzip stored": gzip.compress(PLAIN, 0)}
    for name, layer in whole.items():
        taken(name, layer, is_whole)
        assert unpack_digest(layer) == hashlib.sha256(PLAIN).hexdigest(), name
    assert unpack_digest(PLAIN + b"\0" * 5000) == hashlib.sha256(PLAIN + b"\0" * 5000).hexdigest()
    garbage = gzip.compress(PLAIN)
    for tail in [b"x", b"\0\0x", b"\x1f", b"\x1f\x8b", garbage[:20], garbage[:-1]]:
        refused(f"gzip and {tail[:4]}", garbage + tail, "cannot be decompressed")
    refused("zstd and zeros", zstd(PLAIN) + b"\0" * 8, "cannot be decompressed")
    refused("wrong checksum", member(PLAIN, crc=1), "checksum")
    refused("wrong length", member(PLAIN, size=1), "checksum")
    refused("header checksum", member(PLAIN, 2, b"\0\0"), "cannot be decompressed")
    damaged = bytearray(zstd(PLAIN))
    damaged[-1] ^= 1
    refused("wrong zstd checksum", bytes(damaged), "cannot be decompressed")
    refused("xz", lzma.compress(PLAIN), "it is xz")
    refused("bzip2", bz2.compress(PLAIN), "it is bzip2")
    refused("nothing", b"", "ends in the middle")


def unpack_digest(layer):
    make_world()
    done = unpack(layer)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().split()[0].removeprefix("sha256:")


def check_truncation():
    """Less than everything is never a layer, but for the padding of an archive that is not compressed."""
    for name, layer, enough in [("gzip", gzip.compress(PLAIN), 0), ("zstd", zstd(PLAIN), 0), ("plain", PLAIN, 512),
                                ("two members", member(PLAIN[:600]) + member(PLAIN[600:]), 0)]:
        for length in range(0, len(layer) - enough):
            make_world()
            done = unpack(layer[:length])
            assert done.returncode == 1 and done.stderr, (name, length)
        check_world(name)
        print(f"refused: {name}, cut anywhere", flush=True)


def check_damage():
    """Any byte may be another: it is refused or it is a layer, and nothing happens outside."""
    chance = random.Random(1)
    for layer in [gzip.compress(PLAIN), zstd(PLAIN), PLAIN]:
        for _ in range(150):
            damaged = bytearray(layer)
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
            make_world()
            done = unpack(bytes(damaged))
            assert done.returncode in (0, 1), done
            check_world("damage")
    print("survived: damage", flush=True)


# ---- bombs ----

def peak_memory(layer, *options):
    """Of an unpacking, in KiB, and its exit status."""
    make_world()
    done = unpack(layer, "-m", *options)
    check_world("memory")
    return done.returncode, int(done.stderr.split()[-1])


def check_bombs():
    zeros = gzip.compress(b"\0" * (64 << 20), 1)
    refused("zeros without end", gzip.compress(file(b"x")) + zeros, "larger than", "-b", "1000000")
    refused("zeros in a file", gzip.compress(header(b"x", size=200 << 20) + b"\0" * (200 << 20), 1), "than", "-b", "1000000")
    refused("holes", sparse(b"x", b"%d" % (1 << 40), b"0\n") + END, "more bytes")
    refused("claimed size", header(b"x", size=base256(1 << 62, 12)) + END, "more bytes")
    refused("entries", file(b"x") * 11 + END, "more entries", "-e", "10")
    taken("just enough entries", file(b"x") * 10 + END, content("x"), "-e", "10")
    refused("whiteouts count", file(b".wh.x", b"") * 11 + END, "more entries", "-e", "10")
    deep = b"".join(pax(record(b"path", b"d%d/%s/x" % (n, b"n" * 200))) + file(b"x", b"") for n in range(20_000))
    status, used = peak_memory(gzip.compress(deep + END, 1), "-e", "100000")
    assert status == 0 and used < 64 << 10, (status, used)
    status, used = peak_memory(zstd(b"\0" * (100 << 20), "--ultra", "-22"))
    assert used < 64 << 10, used
    refused("window of 128 MiB", zstd(random.Random(2).randbytes(1 << 20) * 140, "--ultra", "-22", "--long=27"), "cannot be decompressed")
    status, used = peak_memory(zstd(file(b"x", b"\0" * (100 << 20)) + END, "--long=25"))
    assert status == 0 and used < 64 << 10, (status, used)
    print("survived: bombs", flush=True)


def main():
    os.umask(0o022)
    for check in [check_names, check_bad_whiteouts, check_whiteouts, check_duplicates, check_returns, check_links, check_kinds,
                  check_owners, check_ordinary, check_times, check_xattrs, check_compression, check_truncation, check_damage, check_bombs]:
        check()


main()
