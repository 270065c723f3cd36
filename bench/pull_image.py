# SPDX-License-Identifier: Apache-2.0
"""The images that are pulled: files of this host's own Debian packages, so that sizes, names and contents are real ones.

The same packages give the same bytes. What Debian requires comes first and the rest by name, a few packages to a layer.
"""
import dataclasses
import gzip
import json
import os
import stat
import subprocess
import sys

from world import Unavailable, check, find_program

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "image"))
import make_image  # pylint: disable=wrong-import-position

PRIORITIES = ("required", "important", "standard", "optional")
LARGEST_PACKAGE_KIB = 16 << 10  # images have many packages, and not one compiler
LAYERS = 4
OTHER_SHARE = 20  # the layer that only the second image has is this part of the whole
GZIP_LEVEL = 6  # as engines that make images use


@dataclasses.dataclass
class Layer:
    paths: dict = dataclasses.field(default_factory=dict)  # names without the first slash; an ordered set
    inodes: set = dataclasses.field(default_factory=set)
    size: int = 0


def package_files():
    """For each package that qualifies, what it has put below /usr."""
    query = find_program("dpkg-query")
    listed = check([query, "-W", "-f", "${Priority} ${binary:Package} ${Installed-Size} ${db:Status-Status}\n"], text=True)
    found = []
    for priority, name, size, state in (line.split() for line in listed.splitlines() if len(line.split()) == 4):
        if priority in PRIORITIES and state == "installed" and int(size) <= LARGEST_PACKAGE_KIB:
            found.append((PRIORITIES.index(priority), name))
    names = [name for _, name in sorted(found)]
    for one in check([query, "-L", *names], text=True).split("\n\n"):
        paths = [line for line in one.splitlines() if line.startswith("/")]
        # /bin and /lib are links to directories of /usr
        real = {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in paths}
        yield sorted(path for path in real if path.startswith("/usr/"))


def add_file(layer, path):
    try:
        status = os.lstat(path)
    except OSError:
        return  # left out when it was installed, as documentation often is
    parent = os.path.dirname(path[1:])
    missing = []
    while parent and parent not in layer.paths:
        missing.append(parent)
        parent = os.path.dirname(parent)
    layer.paths |= dict.fromkeys([*reversed(missing), path[1:]])
    if stat.S_ISREG(status.st_mode) and status.st_ino not in layer.inodes:
        layer.inodes.add(status.st_ino)
        layer.size += status.st_size


def choose_layers(size):
    """LAYERS layers of `size` bytes together, and a smaller one."""
    ends = [size * i // LAYERS for i in range(1, LAYERS + 1)] + [size + size // OTHER_SHARE]
    layers = [Layer()]
    for paths in package_files():
        if sum(layer.size for layer in layers) >= ends[len(layers) - 1]:
            if len(layers) == len(ends):
                return layers
            layers.append(Layer())
        for path in paths:
            add_file(layers[-1], path)
    raise Unavailable(f"this host's packages do not make an image of {size >> 20} MiB")


def pack(layer):
    # in the order of a walk through the tree, as whatever builds images writes them
    names = "\0".join(sorted(layer.paths, key=lambda path: path.split("/"))).encode()
    # each file once: a later name of the same file is a link
    done = subprocess.run(["tar", "-C", "/", "-c", "--format=gnu", "--numeric-owner", "--no-recursion", "--null", "-T", "-"],
                          input=names, capture_output=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"tar: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return done.stdout


@dataclasses.dataclass
class Image:
    """An OCI layout and what is in it."""

    path: str
    layers: list  # descriptors, the lowest first
    parts: int  # bytes of all that a pull must fetch: layers, configuration, manifest
    unpacked: int = 0
    files: int = 0


def write_layout(path, packed):
    """`packed`: for each layer its digest unpacked, and its bytes."""
    layout = make_image.Layout(path)
    layers = [layout.add(data, make_image.OCI["gzip"]) for _, data in packed]
    config = {"os": "linux", "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine),
              "config": {"Cmd": ["/bin/sh"]}, "rootfs": {"type": "layers", "diff_ids": [diff_id for diff_id, _ in packed]}}
    described = layout.add(json.dumps(config).encode(), make_image.OCI["config"])
    manifest = layout.add(json.dumps({"schemaVersion": 2, "mediaType": make_image.OCI["manifest"], "config": described,
                                      "layers": layers}).encode(), make_image.OCI["manifest"])
    layout.finish(manifest)
    return Image(path, layers, sum(one["size"] for one in [*layers, described, manifest]))


def make_images(world, size):
    """An image of about `size` bytes unpacked, and one with another topmost layer."""
    layers, packed = choose_layers(size), []
    for layer in layers:
        data = pack(layer)
        packed.append((make_image.digest_of(data), gzip.compress(data, GZIP_LEVEL, mtime=0)))
    first = write_layout(world.path("pull-first"), packed[:LAYERS])
    first.unpacked = sum(layer.size for layer in layers[:LAYERS])
    first.files = sum(len(layer.paths) for layer in layers[:LAYERS])
    return first, write_layout(world.path("pull-second"), [*packed[:LAYERS - 1], packed[LAYERS]])
