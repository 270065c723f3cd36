# SPDX-License-Identifier: Apache-2.0
"""layer_umoci.py LAYERTOOL: real images, unpacked by umoci into one tree and by us into layers with an overlay over them, are the
same: names, types, modes, owners, times, links, contents, attributes. Runs as root in an empty directory.

What differs on purpose is named here: devices in /dev, security.* attributes, the root's own time. mmdebstrap is asked once and its
archive kept beside the build."""
import os
import stat
import subprocess
import sys

TESTS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(TESTS, "..", "tar"))
from archives import (END, base256, directory, file, gnu_long, hardlink, header, octal,  # noqa: E402
                      pax, record, sparse, symlink)

LAYERTOOL = sys.argv[1]
KEPT = os.path.dirname(os.path.abspath(LAYERTOOL))


def run(*words, **options):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, **options).stdout


# ---- one tree as a dictionary ----

def attributes(path):
    names = [name for name in os.listxattr(path, follow_symlinks=False) if not name.startswith("security.")]
    return {name: os.getxattr(path, name, follow_symlinks=False) for name in names if not name.startswith("user.overlay.")}


def describe(path):
    info = os.lstat(path)
    what = {"mode": oct(info.st_mode), "owner": (info.st_uid, info.st_gid), "time": info.st_mtime_ns, "attributes": attributes(path)}
    if stat.S_ISREG(info.st_mode):
        with open(path, "rb") as content:
            what["content"] = hash(content.read())
        what["links"] = info.st_nlink
    if stat.S_ISLNK(info.st_mode):
        what["target"] = os.readlink(path)
    return info, what


def read_tree(top):
    """Names with what they are, and which of them are one file."""
    tree, inodes = {}, {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            info, what = describe(path)
            place = os.path.relpath(path, top)
            if place.startswith("dev/") and (stat.S_ISCHR(info.st_mode) or stat.S_ISBLK(info.st_mode)):
                continue
            tree[place] = what
            if stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
                inodes.setdefault(info.st_ino, []).append(place)
    tree["."] = {"mode": oct(os.lstat(top).st_mode), "owner": (os.lstat(top).st_uid, os.lstat(top).st_gid)}
    return tree, sorted(sorted(names) for names in inodes.values())


# ---- the two ways ----

def unpack_by_umoci(layout):
    run("umoci", "unpack", "--image", layout + ":latest", "by-umoci")
    return "by-umoci/rootfs"


counted = []  # of each layer, whether it was unpacked without a look through it afterwards


def unpack_by_us(archives):
    layers = []
    for number, archive in enumerate(archives):
        layers.insert(0, f"layer{number}")
        os.mkdir(layers[0])
        with open(archive, "rb") as layer:
            said = run(LAYERTOOL, "unpack", "-o", layers[0], stdin=layer, stderr=subprocess.STDOUT).decode()
        assert "implicit" not in said, said
        counted.append("counted" in said)
    os.mkdir("by-us")
    if len(layers) == 1:
        run("mount", "--bind", layers[0], "by-us")
    else:
        run("mount", "-t", "overlay", "-o", "ro,userxattr,lowerdir=" + ":".join(layers), "overlay", "by-us")
    return "by-us"


def compare(name, archives, compress="gzip"):
    os.mkdir(name)
    home = os.getcwd()
    os.chdir(name)
    words = [word for archive in archives for word in ("--layer", archive)]
    run("python3", os.path.join(TESTS, "make_image.py"), "layout", "--compress", compress, *words)
    with open("layout/index.json", encoding="ascii") as index:
        text = index.read()
    if "org.opencontainers.image.ref.name" not in text:  # umoci finds images by this name
        run("umoci", "--version")
        text = text.replace('"manifests": [{', '"manifests": [{"annotations": {"org.opencontainers.image.ref.name": "latest"}, ', 1)
        with open("layout/index.json", "w", encoding="ascii") as index:
            index.write(text)
    theirs, their_links = read_tree(unpack_by_umoci("layout"))
    ours, our_links = read_tree(unpack_by_us(archives))
    assert sorted(theirs) == sorted(ours), (name, sorted(set(theirs) ^ set(ours))[:20])
    for place, what in theirs.items():
        assert ours[place] == what, (name, place, what, ours[place])
    assert our_links == their_links, (name, our_links, their_links)
    run("umount", "by-us")
    os.chdir(home)
    print(f"equal: {name}, {len(ours)} names", flush=True)


# ---- images ----

def write(path, *pieces):
    with open(path, "wb") as archive:
        archive.write(b"".join(pieces) + END)
    return os.path.abspath(path)


def attribute(name, value):
    return record(b"SCHILY.xattr." + name, value)


def make_by_hand():
    """Several layers with everything that is unusual. Whiteouts come first: umoci touches a directory by a later one."""
    at = octal(1_600_000_000, 12)
    below = write(
        "0.tar", directory(b"./", mode=0o755, mtime=at),
        *[directory(name, mtime=at) for name in [b"etc/", b"opt/", b"opt/gone/", b"opt/opaque/", b"opt/opaque/deep/", b"both/", b"kept/"]],
        file(b"etc/passwd", b"root:x:0:0::/:\n", mtime=at), file(b"opt/gone/x"), file(b"opt/opaque/old"), file(b"opt/opaque/deep/old"),
        file(b"both/old"), file(b"kept/a", b"a"), file(b"kept/removed"), symlink(b"kept/link", b"a"), symlink(b"kept/turned", b"/etc"),
        file(b"kept/su", mode=0o4755), file(b"kept/sg", mode=0o2755), directory(b"kept/tmp", mode=0o1777), file(b"file-to-directory"),
        directory(b"directory-to-file"), file(b"directory-to-file/x"))
    middle = write(
        "1.tar", file(b".wh.both", b""), directory(b"opt/"), file(b"opt/.wh.gone", b""), directory(b"opt/opaque/", mode=0o750),
        file(b"opt/opaque/.wh..wh..opq", b""), file(b"opt/opaque/new", b"new"), directory(b"both"), file(b"both/new"),
        directory(b"kept/"), file(b"kept/.wh.removed", b""), directory(b"kept/turned"), file(b"kept/turned/x"),
        directory(b"file-to-directory/"), file(b"file-to-directory/x"), file(b"directory-to-file", b"file now"))
    large = pax(record(b"uid", b"4000000000"), record(b"gid", b"3000000000"))
    above = write(
        "2.tar", directory(b"many/", mtime=base256(-1000, 12)),
        pax(record(b"mtime", b"1234567890.123456789")) + file(b"many/precise"), pax(record(b"mtime", b"-5.5")) + file(b"many/early"),
        large + file(b"many/owned"), large + directory(b"many/owned.d"), large + header(b"many/owned.l", b"2", link=b"owned"),
        file(b"many/one", b"linked"), hardlink(b"many/two", b"many/one"), hardlink(b"many/three", b"many/two"),
        pax(attribute(b"user.a", b"value"), attribute(b"user.b", b"\0\1\2"), attribute(b"trusted.c", b"t")) + file(b"many/attributes"),
        pax(attribute(b"user.d", b"directory")) + directory(b"many/attributes.d"),
        sparse(b"many/sparse", b"1048580", b"2\n0\n4\n1048576\n4\n", b"headtail"), header(b"many/fifo", b"6", mode=0o640),
        gnu_long(b"many/" + b"n" * 150) + file(b"x"), pax(record(b"path", b"many/" + b"p" * 150)) + file(b"x"),
        file(b"many/\xff\xfe", b"not UTF-8"), file(b"many/empty", b""), file(b"many/block", b"b" * 512), file(b"many/more", b"m" * 513))
    return [below, middle, above]


def make_busybox():
    tree = "busybox-tree"
    os.makedirs(tree + "/bin")
    run("cp", "/bin/busybox", tree + "/bin/busybox")
    for applet in run("/bin/busybox", "--list").decode().split()[:200]:
        if applet != "busybox":
            os.link(tree + "/bin/busybox", f"{tree}/bin/{applet}")
    for folder in ["etc", "root", "tmp", "var/spool", "dev"]:
        os.makedirs(f"{tree}/{folder}")
    os.chmod(tree + "/tmp", 0o1777)
    os.chown(tree + "/var/spool", 8, 8)
    os.symlink("bin/busybox", tree + "/linuxrc")
    run("tar", "-C", tree, "--numeric-owner", "--xattrs", "--sort=name", "-cf", "busybox.tar", ".")
    return [os.path.abspath("busybox.tar")]


def make_debian():
    kept = os.path.join(KEPT, "debian-minbase.tar")
    if not os.path.exists(kept):
        run(os.path.join(TESTS, "bootstrap"), kept + ".new.tar", cwd="/")
        os.rename(kept + ".new.tar", kept)
    return [kept]


def main():
    with open("/proc/self/uid_map", encoding="ascii") as numbers:
        if numbers.read().split() != ["0", "0", "4294967295"]:
            sys.exit(77)  # the owners of images are not all there
    os.umask(0o022)
    compare("by-hand", make_by_hand())
    compare("by-hand-plain", make_by_hand(), "none")
    compare("busybox", make_busybox())
    compare("debian", make_debian())
    assert counted[-1], "a plain Debian had to be looked through"


main()
