#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""layers_below.py OUT CASE: writes two layers, OUT.1 and OUT.2, of which the second has content in directories that it does not
mention and that are something else in the first."""
import io
import sys
import tarfile

LIB = [("lib", "usr/lib"), ("usr/", 0o755), ("usr/lib/", 0o755)]  # where /lib is a link, as everywhere
STAIRS = "/".join(["d"] * 60)


def climbing(name):
    """Links that lead down and up a stair again and again, each to the next."""
    links = [(name, "/" + STAIRS + "/" + "../d/" * 760 + "../l0")]
    links += [(STAIRS[:-1] + f"l{i}", "d/" + "../d/" * 790 + f"../l{i + 1}") for i in range(38)]
    return [(STAIRS + "/", 0o755), *links]


CASES = {
    "link": (LIB, [("lib/a", b"a"), ("lib/x/b", b"b")]),
    "fifo": ([("lib", None)], [("lib/a", b"a")]),
    "closed-moved": (LIB, [("lib/x/", 0o555), ("lib/x/a", b"a")]),
    "closed-target": (LIB, [("usr/", 0o555), ("usr/lib/", 0o555), ("lib/a", b"a")]),
    "closed-parent": (LIB, [("usr/", 0o555), ("lib/a", b"a")]),
    "closed-top": (LIB, [("./", 0o555), ("lib/a", b"a")]),
    "closed-both": (LIB, [("usr/lib/x/", 0o555), ("usr/lib/x/b", b"b"), ("lib/x/", 0o555), ("lib/x/a", b"a")]),
    "climbing": (climbing("lib"), [("lib/a", b"a")]),
    "climbing-passwd": (climbing("etc/passwd"), [("a", b"a")]),
    "many": ([("t/", 0o755)] + [(f"a{i}", "t") for i in range(1001)], [(f"a{i}/x{i}", b"") for i in range(1001)]),
}


def layer(path, entries):
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, what in entries:
            info = tarfile.TarInfo(name.rstrip("/"))
            info.mtime, info.mode = 1000000000, 0o644
            if isinstance(what, int):
                info.type, info.mode = tarfile.DIRTYPE, what
            elif what is None:
                info.type = tarfile.FIFOTYPE
            elif isinstance(what, str):
                info.type, info.linkname = tarfile.SYMTYPE, what
            else:
                info.size = len(what)
            tar.addfile(info, io.BytesIO(what) if isinstance(what, bytes) else None)


def main():
    out, case = sys.argv[1:]
    for number, entries in enumerate(CASES[case], 1):
        layer(f"{out}.{number}", entries)


main()
