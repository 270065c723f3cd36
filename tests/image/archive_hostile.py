#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""archive_hostile.py list | archive_hostile.py OUT CASE

Writes an archive of images that no honest program writes. Without the flaw that its name tells, each would be a good one: the
cases "good-oci" and "good-docker" are. Cases whose name begins with "layout-" are directories, all others tar archives.
"""
import hashlib
import io
import json
import os
import sys
import tarfile

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
CASES = {}


def case(function):
    CASES[function.__name__.replace("_", "-")] = function
    return function


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def text(value):
    return json.dumps(value).encode()


def layer(names=("file",)):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 5
            tar.addfile(info, io.BytesIO(b"hello"))
    return out.getvalue()


def flipped(data):
    return data[:-1] + bytes([data[-1] ^ 1])


class Archive:
    """What is written, in order: (name, content or TarInfo)."""

    def __init__(self):
        self.members = []
        self.claims = {}  # sizes that headers have in place of the true ones

    def put(self, name, data):
        self.members.append((name, data))

    def blob(self, data, name=None):
        self.put("blobs/sha256/" + (name or digest(data)).split(":")[1], data)
        return digest(data)

    def drop(self, part):
        self.members = [member for member in self.members if part not in member[0]]

    def swap(self, part, data):
        self.members = [(name, data if part in name else old) for name, old in self.members]

    def special(self, name, kind, link=""):
        info = tarfile.TarInfo(name)
        info.type = kind
        info.linkname = link
        self.members.append((name, info))

    def write(self, path):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name, data in self.members:
                if isinstance(data, tarfile.TarInfo):
                    tar.addfile(data)
                    continue
                info = tarfile.TarInfo(name)
                info.size = self.claims.get(name, len(data))
                if info.size == len(data):
                    tar.addfile(info, io.BytesIO(data))
                else:
                    out.write(info.tobuf(tarfile.PAX_FORMAT))
                    out.write(data + bytes(-len(data) % 512))
                    tar.offset = out.tell()
        with open(path, "wb") as file:
            file.write(out.getvalue())

    def write_directory(self, path):
        for name, data in self.members:
            target = os.path.join(path, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if isinstance(data, tarfile.TarInfo) and data.type == tarfile.SYMTYPE:
                os.symlink(data.linkname, target)
            elif isinstance(data, tarfile.TarInfo):
                os.mkfifo(target)
            else:
                with open(target, "wb") as file:
                    file.write(data)


def descriptor(media, data, size=None, **more):
    return {"mediaType": media, "digest": digest(data), "size": len(data) if size is None else size, **more}


class Image:
    def __init__(self, layers=None, diff_ids=None, config=None):
        self.layers = [layer()] if layers is None else layers
        ids = [digest(data) for data in self.layers] if diff_ids is None else diff_ids
        self.config = config or text({"architecture": "amd64", "os": "linux", "config": {},
                                      "rootfs": {"type": "layers", "diff_ids": ids}})
        self.manifest = text({"schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(CONFIG, self.config),
                              "layers": [descriptor(LAYER, data) for data in self.layers]})

    def add(self, archive):
        for data in {digest(data): data for data in [self.manifest, self.config, *self.layers]}.values():
            archive.blob(data)


def oci(image=None, name="hostile:1", entries=None):
    image = image or Image()
    archive = Archive()
    archive.put("oci-layout", text({"imageLayoutVersion": "1.0.0"}))
    entry = descriptor(MANIFEST, image.manifest, annotations={"org.opencontainers.image.ref.name": name})
    archive.put("index.json", text({"schemaVersion": 2, "manifests": [entry] if entries is None else entries}))
    image.add(archive)
    return archive


def docker(image=None, config=None, layers=None, tags=("hostile:1",)):
    image = image or Image()
    archive = Archive()
    config_name = digest(image.config)[7:] + ".json"
    names = [digest(data)[7:] + "/layer.tar" for data in image.layers]
    for name, data in dict(zip(names, image.layers)).items():
        archive.put(name, data)
    archive.put(config_name, image.config)
    archive.put("manifest.json", text([{"Config": config or config_name, "RepoTags": list(tags),
                                        "Layers": names if layers is None else layers}]))
    return archive


# --- good ---------------------------------------------------------------------------------------------------------------------

@case
def good_oci():
    return oci()


@case
def good_docker():
    return docker()


@case
def layout_good():
    return oci()


# --- names and links ----------------------------------------------------------------------------------------------------------

@case
def dotdot_name():
    archive = oci()
    archive.put("../../../../../../../../tmp/hutch-escaped", b"out")
    return archive


@case
def absolute_name():
    archive = oci()
    archive.put("/tmp/hutch-escaped", b"out")
    return archive


def linked(link, kind=tarfile.SYMTYPE):
    archive, image = oci(), Image()
    name = "blobs/sha256/" + digest(image.layers[0])[7:]
    archive.drop(name)
    archive.special(name, kind, link)
    return archive


@case
def blob_is_link_to_host():
    return linked("/etc/passwd")


@case
def blob_is_link_out():
    return linked("../../../../../../../../etc/passwd")


@case
def blob_is_hard_link_to_host():
    return linked("/etc/passwd", tarfile.LNKTYPE)


@case
def blob_is_link_to_itself():
    return linked(digest(layer())[7:])


@case
def blob_is_fifo():
    return linked("", tarfile.FIFOTYPE)


@case
def blob_is_directory():
    return linked("", tarfile.DIRTYPE)


@case
def layout_blob_is_link():
    return linked("/etc/passwd")


@case
def layout_blob_is_fifo():
    return linked("", tarfile.FIFOTYPE)


@case
def layout_index_is_link():
    archive = oci()
    archive.drop("index.json")
    archive.special("index.json", tarfile.SYMTYPE, "/etc/passwd")
    return archive


@case
def index_twice():
    archive = oci()
    archive.put("index.json", text({"schemaVersion": 2, "manifests": []}))
    return archive


@case
def layer_leaves_its_place():
    return oci(Image([layer(("../../../../../../../../tmp/hutch-escaped",))]))


# --- content that is not what it is called -------------------------------------------------------------------------------------

def spoilt(part):
    image = Image()
    archive = oci(image)
    data = {"manifest": image.manifest, "config": image.config, "layer": image.layers[0]}[part]
    archive.swap(digest(data)[7:], flipped(data))
    return archive


@case
def manifest_of_other_content():
    return spoilt("manifest")


@case
def config_of_other_content():
    return spoilt("config")


@case
def layer_of_other_content():
    return spoilt("layer")


@case
def layer_too_short():
    image = Image()
    archive = oci(image)
    archive.swap(digest(image.layers[0])[7:], image.layers[0][:-512])
    return archive


@case
def wrong_size_of_manifest():
    image = Image()
    return oci(image, entries=[descriptor(MANIFEST, image.manifest, size=7, annotations={
        "org.opencontainers.image.ref.name": "hostile:1"})])


@case
def wrong_diff_id():
    return oci(Image(diff_ids=[digest(b"other")]))


@case
def more_diff_ids_than_layers():
    data = layer()
    return oci(Image([data], diff_ids=[digest(data)] * 2))


@case
def diff_id_is_a_path():
    return oci(Image(diff_ids=["sha256:../../../../etc"]))


# --- missing ------------------------------------------------------------------------------------------------------------------

@case
def no_layer():
    archive, image = oci(), Image()
    archive.drop(digest(image.layers[0])[7:])
    return archive


@case
def no_config():
    archive, image = oci(), Image()
    archive.drop(digest(image.config)[7:])
    return archive


@case
def no_manifest():
    archive, image = oci(), Image()
    archive.drop(digest(image.manifest)[7:])
    return archive


@case
def no_layout_file():
    archive = oci()
    archive.drop("oci-layout")
    return archive


@case
def nothing_of_images():
    archive = Archive()
    archive.put("etc/passwd", b"root:x:0:0::/:/bin/sh\n")
    return archive


# --- size and depth -------------------------------------------------------------------------------------------------------------

@case
def deep_indexes():
    image = Image()
    archive = oci(image)
    inner, media = image.manifest, MANIFEST
    for _ in range(40):
        inner, media = text({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
            descriptor(media, inner, platform={"os": "linux", "architecture": "amd64"})]}), INDEX
        archive.blob(inner)
    archive.swap("index.json", text({"schemaVersion": 2, "manifests": [descriptor(INDEX, inner, annotations={
        "org.opencontainers.image.ref.name": "hostile:1"})]}))
    return archive


@case
def index_names_itself():
    archive, name = oci(), "sha256:" + "a" * 64
    inner = text({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
        {"mediaType": INDEX, "digest": name, "size": 100, "platform": {"os": "linux", "architecture": "amd64"}}]})
    archive.blob(inner, name)
    archive.swap("index.json", text({"schemaVersion": 2, "manifests": [{"mediaType": INDEX, "digest": name, "size": len(inner),
                 "annotations": {"org.opencontainers.image.ref.name": "hostile:1"}}]}))
    return archive


@case
def index_claims_a_terabyte():
    archive = oci()
    archive.claims["index.json"] = 1 << 40
    return archive


@case
def manifest_of_a_gigabyte():
    image = Image()
    image.manifest = b" " * (5 << 20) + image.manifest
    return oci(image)


@case
def too_many_layers():
    data = layer()
    return oci(Image([data] * 600))


@case
def json_too_deep():
    archive = oci()
    archive.swap("index.json", b"[" * 100000 + b"]" * 100000)
    return archive


@case
def json_key_twice():
    archive, image = oci(), Image()
    entry = json.dumps([descriptor(MANIFEST, image.manifest)])
    archive.swap("index.json", ('{"schemaVersion":2,"manifests":[],"manifests":%s}' % entry).encode())
    return archive


@case
def json_of_other_types():
    archive = oci()
    archive.swap("index.json", text({"schemaVersion": 2, "manifests": [7, "x", None]}))
    return archive


# --- names of images -----------------------------------------------------------------------------------------------------------

@case
def image_name_is_a_path():
    return oci(name="../../../../tmp/hutch-escaped:1")


@case
def image_name_is_a_digest():
    return oci(name="sha256:" + "a" * 64)


@case
def image_name_has_control_characters():
    return oci(name="x\u001b[2J\nroot:1")


@case
def layout_of_the_future():
    archive = oci()
    archive.swap("oci-layout", text({"imageLayoutVersion": "2.0.0"}))
    return archive


# --- docker ---------------------------------------------------------------------------------------------------------------------

@case
def docker_config_on_the_host():
    return docker(config="../../../../../../etc/passwd")


@case
def docker_config_absolute():
    return docker(config="/etc/passwd")


@case
def docker_config_of_other_content():
    archive, image = docker(), Image()
    archive.swap(".json", b"")
    archive.drop("manifest.json")
    archive.swap(digest(image.config)[7:] + ".json", image.config + b" ")
    archive.put("manifest.json", text([{"Config": digest(image.config)[7:] + ".json", "RepoTags": ["hostile:1"],
                                        "Layers": [digest(image.layers[0])[7:] + "/layer.tar"]}]))
    return archive


@case
def docker_layer_on_the_host():
    return docker(layers=["../../../../../../etc/passwd"])


@case
def docker_layer_of_other_content():
    archive, image = docker(), Image()
    archive.swap("layer.tar", layer(("other",)))
    return archive


@case
def docker_fewer_layers():
    return docker(layers=[])


@case
def docker_tag_is_a_path():
    return docker(tags=("../../etc/x:1",))


@case
def docker_without_names():
    return docker(tags=())


@case
def docker_is_no_list():
    archive = docker()
    archive.swap("manifest.json", text({"Config": "x"}))
    return archive


def main():
    if sys.argv[1:] == ["list"]:
        print("\n".join(CASES))
        return
    out, name = sys.argv[1:]
    archive = CASES[name]()
    if name.startswith("layout-") and name != "layout-of-the-future":
        archive.write_directory(out)
    else:
        archive.write(out)


main()
