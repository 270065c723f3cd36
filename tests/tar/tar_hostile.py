# SPDX-License-Identifier: Apache-2.0
"""tar_hostile.py TARTOOL: archives that try to get out of the target, or to be more than they may. Runs in an empty directory.

After every archive, the world beside the target has to be what it was."""
import os
import stat
import subprocess
import sys

from archives import END, base256, directory, file, gnu_long, hardlink, header, octal, pax, record, sparse, symlink

TARTOOL = sys.argv[1]
CANARY = b"canary\n"


# ---- the world around the target ----

def make_world():
    subprocess.run(["rm", "-rf", "world"], check=True)
    os.makedirs("world/outside")
    os.mkdir("world/target")
    for path in ["world/canary", "world/outside/canary", "world/target/mine"]:
        with open(path, "wb") as canary:
            canary.write(CANARY)
    os.symlink("../outside", "world/target/way_out")
    os.symlink("../canary", "world/target/way_to_file")


def check_world(name):
    around = sorted(os.listdir("world")), os.listdir("world/outside")
    assert around == (["canary", "outside", "target"], ["canary"]), (name, around)
    for path in ["world/canary", "world/outside/canary"]:
        info = os.stat(path)
        assert open(path, "rb").read() == CANARY and info.st_nlink == 1, (name, path)
        assert stat.S_IMODE(info.st_mode) == 0o644 and info.st_mtime > 1_000_000, (name, path)
    assert stat.S_IMODE(os.stat("world/outside").st_mode) == 0o755, name
    assert os.stat("world/target").st_mtime > 1_000_000, name


def unpack(archive, *options):
    return subprocess.run([TARTOOL, "unpack", "-C", "world/target", *options], input=archive, stderr=subprocess.PIPE, timeout=60)


def refused(name, archive, why, *options):
    make_world()
    done = unpack(archive, *options)
    said = done.stderr.decode(errors="replace")
    assert done.returncode == 1 and why in said, (name, done.returncode, said)
    assert all(character >= " " or character == "\n" for character in said), (name, said)
    check_world(name)
    print(f"refused: {name}", flush=True)


def taken(name, archive, check, *options):
    make_world()
    done = unpack(archive, *options)
    assert done.returncode == 0, (name, done.stderr)
    check_world(name)
    assert check("world/target/"), name
    print(f"taken: {name}", flush=True)


def content(name, data=b"data"):
    return lambda target: open(target + name, "rb").read() == data and not os.path.islink(target + name)


# ---- names ----

def check_names():
    leaves = "leaves the target"
    for name in [b"../x", b"a/../../x", b"a/..", b"..", b"/x", b"/", b"", b"./../x", b"way_out/../../x"]:
        refused(f"name {name}", file(name) + END, leaves)
        refused(f"directory {name}", directory(name) + END, leaves)
        refused(f"pax name {name}", pax(record(b"path", name)) + file(name and b"x") + END, leaves)
        refused(f"GNU name {name}", gnu_long(name) + file(b"x") + END, leaves)
        refused(f"link target {name}", file(b"x") + hardlink(b"y", name) + END, leaves)
    refused("prefix", file(b"x", prefix=b"..") + END, leaves)
    refused("absolute prefix", file(b"x", prefix=b"/etc") + END, leaves)
    refused("sparse name", sparse(b"../x", b"0", b"0\n") + END, leaves)
    refused("global path", pax(record(b"path", b"../x"), kind=b"g") + file(b"x") + END, leaves)
    taken("absolute, made relative", file(b"//x") + END, content("x"), "-R")
    taken("'..', made relative", file(b"a/../../b/../c/x") + END, content("c/x"), "-R")
    taken("odd but inside", file(b"./a//.///b/./x") + END, content("a/b/x"))
    taken("control characters", file(b"a\x1b[31m\n") + END, content("a\x1b[31m\n"))
    refused("control characters", symlink(b"a\x1b[31m\n", b"/") + file(b"a\x1b[31m\n/x") + END, "through a symlink")
    refused("NUL", pax(record(b"path", b"a\0b")) + file(b"x") + END, "makes no sense")
    refused("component of 256 bytes", pax(record(b"path", b"a/" + b"n" * 256)) + file(b"x") + END, "cannot write")
    refused("directory of 256 bytes", pax(record(b"path", b"n" * 256 + b"/a")) + file(b"x") + END, "cannot write")
    refused("name of 2 MiB", pax(record(b"path", b"a/" * (1 << 20))) + file(b"x") + END, "longer than allowed")
    refused("short ceiling", file(b"abcdef") + END, "longer than allowed", "-l", "5")
    refused("deep", pax(record(b"path", b"a/" * 5000 + b"x")) + file(b"x") + END, "inside each other")
    refused("deep in many steps", b"".join(pax(record(b"path", b"a/" * n)) + directory(b"x") for n in range(1, 50)) + END,
            "inside each other", "-d", "40")
    taken("deep enough", pax(record(b"path", b"a/" * 4000 + b"x")) + file(b"x") + END, lambda target: os.path.isdir(target + "a/a/a"))


# ---- links ----

def check_links():
    through = "through a symlink"
    for where in [b"../outside", b"/", b".", b"mine"]:
        refused(f"file through a symlink to {where}", symlink(b"l", where) + file(b"l/canary", b"evil") + END, through)
        refused(f"directory through a symlink to {where}", symlink(b"l", where) + directory(b"l/d", mode=0o777) + END, through)
        refused(f"link through a symlink to {where}", symlink(b"l", where) + hardlink(b"x", b"l/canary") + END, through)
    refused("symlink that was there", file(b"way_out/canary", b"evil") + END, through)
    refused("hard link through one that was there", hardlink(b"x", b"way_out/canary") + END, through)
    refused("symlink in the middle", directory(b"d") + symlink(b"d/l", b"../../outside") + file(b"d/l/x/y") + END, through)
    taken("file over a symlink", file(b"way_to_file", b"data") + END, content("way_to_file"))
    taken("symlink, then a file of its name", symlink(b"l", b"../canary") + file(b"l") + END, content("l"))
    taken("symlink, then a directory of its name", symlink(b"l", b"../outside") + directory(b"l", mode=0o700) + file(b"l/x") + END,
          content("l/x"))
    taken("directory over a symlink", directory(b"way_out", mode=0o777) + file(b"way_out/x") + END, content("way_out/x"))
    taken("hard link to a symlink, then a file", hardlink(b"x", b"way_to_file") + file(b"x") + END, content("x"))
    taken("file over a hard link keeps the other", hardlink(b"x", b"mine") + file(b"x") + END, content("mine", CANARY))
    taken("hard link to itself", file(b"x") + hardlink(b"x", b"x") + END, content("x"))
    taken("hard link, twice", file(b"x") + hardlink(b"y", b"x") + hardlink(b"y", b"x") + END, content("y"))
    refused("hard link to nothing", hardlink(b"x", b"missing") + END, "cannot write")
    refused("hard link to a directory", directory(b"d") + hardlink(b"x", b"d") + END, "cannot write")
    refused("hard link to the target", hardlink(b"x", b".") + END, "leaves the target")
    taken("symlinks stay texts", symlink(b"l", b"/etc/passwd") + END, lambda target: os.readlink(target + "l") == "/etc/passwd")
    refused("empty symlink", symlink(b"l", b"") + END, "makes no sense")
    refused("long symlink", pax(record(b"linkpath", b"l" * 5000)) + symlink(b"l", b"x") + END, "cannot write")


# ---- kinds ----

def check_kinds():
    for kind in b"34DMNZ\xff":
        refused(f"kind {kind:#x}", header(b"x", bytes([kind])) + END, "neither a file")
    taken("FIFO, not asked for", header(b"p", b"6") + file(b"x") + END, lambda target: not os.path.exists(target + "p"))
    taken("FIFO", header(b"p", b"6", mode=0o4622) + END,
          lambda target: stat.filemode(os.stat(target + "p").st_mode) == "prw--w--w-", "-f")
    taken("set-id bits", file(b"x", mode=0o6755) + directory(b"d", mode=0o7777) + END,
          lambda target: os.stat(target + "x").st_mode & 0o7777 == 0o755 and os.stat(target + "d").st_mode & 0o7777 == 0o777)
    refused("file over a directory", directory(b"d") + file(b"d/x") + file(b"d") + END, "cannot write")
    taken("duplicate names", file(b"x", b"one") + file(b"x", b"two") + file(b"x", b"three") + END, content("x", b"three"))
    taken("the target's own attributes", directory(b".", mode=0) + directory(b"./", mode=0) + file(b"x") + END, content("x"))
    taken("locked directory", directory(b"d", mode=0) + file(b"d/x") + END, lambda target: os.stat(target + "d").st_mtime == 1)


# ---- one tree ----

def check_one_tree():
    beside = "beside the one asked for"
    refused("second top", file(b"report") + file(b".bashrc") + END, beside, "-r", "report")
    refused("second top, stripped", directory(b"a") + file(b"b/x") + END, beside, "-s")
    refused("link out of the tree", file(b"a") + hardlink(b"a", b"mine") + END, beside, "-r", "a")
    refused("no top", directory(b".") + END, "leaves the target", "-r", "a")
    refused("top that is no directory", file(b"a") + END, "leaves the target", "-s")
    refused("name with a slash", file(b"a") + END, "contradict", "-r", "../a")
    taken("renamed whatever it says", file(b".bashrc") + END, lambda target: sorted(os.listdir(target)) == ["mine", "report", "way_out", "way_to_file"],
          "-r", "report")
    taken("links are renamed too", directory(b"a") + file(b"a/x") + hardlink(b"a/y", b"a/x") + END, content("b/y"), "-r", "b")
    taken("stripped", directory(b"a", mode=0) + file(b"a/x") + hardlink(b"a/y", b"a/x") + END, content("y"), "-s")


# ---- sizes and counts ----

def check_sizes():
    truncated, senseless = "ends in the middle", "makes no sense"
    whole = directory(b"d") + file(b"d/x", b"data" * 200) + END
    for cut in list(range(0, len(whole) - 1023, 256)):
        refused(f"cut at {cut}", whole[:cut], truncated)
    refused("half a file", header(b"x", size=1000) + b"data", truncated)
    assert not os.path.exists("world/target/x"), "half a file passes for one"
    refused("huge claim", header(b"x", size=base256(1 << 62, 12)) + b"data", truncated)
    refused("huge claim, ceiling", header(b"x", size=base256(1 << 62, 12)) + b"data", "more bytes", "-b", "1000000")
    refused("sum of files", file(b"x", b"d" * 600) + file(b"y", b"d" * 600) + END, "more bytes", "-b", "1000")
    for size in [base256(-1, 12), base256(-(1 << 70), 12), base256(1 << 70, 12), b"9" * 12, b"-1\0".ljust(12, b"\0"), b"12x4".ljust(12, b"\0")]:
        refused(f"size {size}", header(b"x", size=size) + END, senseless)
    for value in [b"-1", b"1e3", b" 1", b"0x10", b"9223372036854775808", b"18446744073709551617", b"1.5", b"1\n", b"1\0"]:
        refused(f"pax size {value}", pax(record(b"size", value)) + file(b"x") + END, senseless)
    for key in [b"uid", b"gid"]:
        refused(f"pax {key}", pax(record(key, b"4294967296")) + file(b"x") + END, senseless)
    for value in [b"", b"nan", b"1.2.3", b"--1", b"99999999999999999999", b"1,5"]:
        if value:
            refused(f"pax mtime {value}", pax(record(b"mtime", value)) + file(b"x") + END, senseless)
    refused("negative uid", file(b"x", uid=base256(-5, 8)) + END, senseless)
    for sum_ in [b"0000000\0", b"       \0", b"xxxxxxxx", base256(-1, 8)]:
        refused(f"checksum {sum_}", file(b"x", checksum=sum_) + END, "wrong checksum")
    refused("noise", os.urandom(10240), "checksum")
    for records in [b"x", b"5 a=b", b"7 a=b\n", b"0 a=b\n", b"-6 a=b\n", b"999999999999 a=b\n", b"4 a\n", b"4 =\n", b"5 =b\n",
                    b"99999999999999999999999 a=b\n", b"2 \n", b"\n", b" 6 a=b\n", b"6a=b\n", b"3 \n"]:
        refused(f"records {records}", pax(records) + file(b"x") + END, senseless)
    refused("records of 1 TiB", header(b"x", b"x", size=base256(1 << 40, 12)) + b"\0" * 4096, "longer than allowed")
    refused("headers without an entry", pax(record(b"a", b"b")) * 100 + file(b"x") + END, senseless)
    taken("attributes are passed over", pax(record(b"SCHILY.xattr.security.capability", b"\1\0\0\2\n=" * 10000)) + file(b"x") + END, content("x"))


def check_sparse():
    senseless = "makes no sense"
    for map_text in [b"1\n0\n", b"x\n", b"1\n-1\n4\n", b"1\n0\n5\n", b"1\n0\n3\n", b"2\n2\n2\n0\n2\n", b"2\n0\n3\n1\n1\n", b"", b"1",
                     b"1\n9223372036854775807\n4\n", b"99999999999999999999\n0\n4\n", b"9223372036854775807\n" + b"0\n0\n" * 50,
                     b"1\n8\n4\n", b"1" * 600]:
        refused(f"map {map_text[:40]}", sparse(b"x", b"10", map_text, b"data") + END, senseless)
    refused("sparse, ceiling", sparse(b"x", b"9000000000000000000", b"1\n0\n4\n", b"data") + END, "more bytes", "-b", "1000000")
    refused("version", pax(record(b"GNU.sparse.major", b"2"), record(b"GNU.sparse.realsize", b"4")) + file(b"x") + END, senseless)
    refused("odd map", pax(record(b"GNU.sparse.map", b"0,4,5"), record(b"GNU.sparse.size", b"4")) + file(b"x") + END, senseless)
    refused("overlap", pax(record(b"GNU.sparse.map", b"0,3,1,1"), record(b"GNU.sparse.size", b"4")) + file(b"x") + END, senseless)
    block = bytearray(header(b"x", b"S", size=4, magic=b"ustar  \0"))
    block[386:410], block[482], block[483:495] = octal(0, 12) + octal(4, 12), 1, octal(4, 12)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    endless = b"\0" * 504 + b"\1" + b"\0" * 7
    refused("old header that goes on", bytes(block) + endless * 1000, senseless)
    taken("sparse", sparse(b"x", b"10", b"1\n3\n4\n", b"data") + END, content("x", b"\0\0\0data\0\0\0"))


def feed(words, piece, times):
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        try:
            for _ in range(times):
                child.stdin.write(piece)
            child.stdin.close()
        except BrokenPipeError:
            pass
        return child.wait()


def check_counts():
    refused("entries", file(b"x") * 11 + END, "more entries", "-e", "10")
    taken("just enough entries", file(b"x") * 10 + END, content("x"), "-e", "10")
    make_world()
    piece = b"".join(file(b"%d" % i, b"") for i in range(10_000))
    words = [TARTOOL, "unpack", "-C", "world/target", "-e"]
    assert feed([*words, "5000"], piece, 100) == 1 and len(os.listdir("world/target")) == 5003
    assert feed([*words, "999999"], directory(b"./") * 10_000, 100) == 1 and len(os.listdir("world/target")) == 5003
    check_world("a million empty files")
    print("refused: a million empty files", flush=True)


def main():
    os.umask(0o022)
    for check in [check_names, check_links, check_kinds, check_one_tree, check_sizes, check_sparse, check_counts]:
        check()


main()
