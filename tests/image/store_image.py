#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""store_image.py HOME REFERENCE [UID]: writes an image straight into the store below HOME, as src/image/store.h lays it out.

What the image is stands on standard input, as calls of the functions below, the lowest layer first:

    layer({"etc/motd": "hello\\n", "opt/": None, "old": WHITEOUT, "dir/": OPAQUE, "link": Link("/etc/motd")})
    layer(busybox())
    config(cmd=["sh"], env=["A=1"])

So a test can have what no registry would serve and no unpacking would make. With UID everything belongs to that user, as when
an ordinary user has pulled it. Prints the image's digest.
"""
import hashlib
import json
import os
import shutil
import stat
import sys

WHITEOUT, OPAQUE = object(), object()


class Link(str):
    """A symlink to this."""


class Owned:
    """A file or (text None) directory with its own mode and owner."""

    def __init__(self, text, mode=0o644, uid=0, gid=0):
        self.text, self.mode, self.uid, self.gid = text, mode, uid, gid


def busybox():
    names = ("sh cat echo ls id env pwd touch rm mkdir sleep stat grep head wc ln mv cp chmod readlink tail test true false "
             "find kill trap printf od df mount dd").split()
    files = {f"bin/{name}": Link("busybox") for name in names}
    files["bin/busybox"] = Owned(open(shutil.which("busybox"), "rb").read(), 0o755)
    return files


def tree(top):
    """All that a directory holds."""
    files = {}
    for path, names, plain in os.walk(top):
        for name in names + plain:
            at = os.path.join(path, name)
            info = os.lstat(at)
            if stat.S_ISLNK(info.st_mode):
                what = Link(os.readlink(at))
            else:
                text = None if stat.S_ISDIR(info.st_mode) else open(at, "rb").read()
                what = Owned(text, stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid)
            files[os.path.relpath(at, top)] = what
    return files


class Store:
    def __init__(self, home, uid):
        self.top, self.uid = os.path.join(home, "lib", "images"), uid
        for path in (home, os.path.join(home, "lib"), self.top):
            self.directory(path)
        for name in ("blobs", "partial", "layers", "unpacked", "images", "refs", "tmp"):
            self.directory(os.path.join(self.top, name))
        self.names, self.fields = [], {}

    def own(self, path, uid=0, gid=0):
        uid, gid = (uid, gid) if self.uid is None else (self.uid, self.uid)
        os.chown(path, uid, gid, follow_symlinks=False)

    def directory(self, path):
        if not os.path.isdir(path):
            os.mkdir(path, 0o700)
            self.own(path)

    def file(self, path, text):
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        self.own(path)

    def entry(self, top, path, what):
        at = os.path.join(top, path.rstrip("/"))
        if not isinstance(what, Owned):
            what = what if what in (WHITEOUT, OPAQUE) or isinstance(what, Link) else Owned(what, 0o755 if what is None else 0o644)
        missing = os.path.dirname(path.rstrip("/"))
        if missing and not os.path.isdir(os.path.join(top, missing)):
            self.entry(top, missing, None)
        if what is WHITEOUT:
            os.mknod(at, stat.S_IFCHR | 0o644, 0)
        elif isinstance(what, Link):
            os.symlink(what, at)
        elif what is OPAQUE or what.text is None:
            os.makedirs(at, exist_ok=True)
            if what is OPAQUE:
                os.setxattr(at, "user.overlay.opaque", b"y")
        else:
            with open(at, "wb") as out:
                out.write(what.text if isinstance(what.text, bytes) else what.text.encode())
        is_owned = isinstance(what, Owned)
        self.own(at, what.uid if is_owned else 0, what.gid if is_owned else 0)
        if is_owned:
            os.chmod(at, what.mode)

    def layer(self, files):
        number = str(1 + max([int(name) for name in os.listdir(os.path.join(self.top, "layers"))], default=0))
        top = os.path.join(self.top, "layers", number)
        os.mkdir(top, 0o755)
        self.own(top)
        for path, what in files.items():
            self.entry(top, path, what)
        self.names.append(number)
        return number

    def again(self, number):
        self.names.append(number)

    def config(self, **fields):
        self.fields.update(fields)

    def finish(self, reference):
        record = {"config_digest": "sha256:" + "c" * 64, "os": "linux", "architecture": "amd64", "variant": "", "created": None,
                  "user": "", "workdir": "", "stop_signal": "", "env": [], "entrypoint": [], "cmd": [], "labels": [],
                  "bytes": 1, "layers": self.names[::-1], **self.fields}
        text = json.dumps(record)
        name = hashlib.sha256(text.encode()).hexdigest()
        self.file(os.path.join(self.top, "images", name), text + "\n")
        repository, _, tag = reference.partition(":")
        at = os.path.join(self.top, "refs")
        for part in ("docker.io/library/" + repository).split("/"):
            at = os.path.join(at, part)
            self.directory(at)
        self.file(os.path.join(at, ":" + (tag or "latest")), f"sha256:{name}\n")
        print(f"sha256:{name}")


def main():
    home, reference = sys.argv[1:3]
    store = Store(home, int(sys.argv[3]) if len(sys.argv) > 3 else None)
    words = {"layer": store.layer, "again": store.again, "config": store.config, "busybox": busybox, "tree": tree,
             "WHITEOUT": WHITEOUT, "OPAQUE": OPAQUE, "Link": Link, "Owned": Owned}
    exec(sys.stdin.read(), words)  # pylint: disable=exec-used
    store.finish(reference)


main()
