#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_image.py OUT [--layer DIRECTORY|TAR]... [--config JSON] [--compress gzip|zstd|none] [--docker] [--platform OS/ARCH[/VARIANT]]

Writes an image as an OCI layout, from directories or tar archives as they are, the lowest layer first. The same input gives the
same bytes. --config is the configuration's inner part: {"Env": [...], "Cmd": [...]}. --docker uses Docker's media types.
"""
import argparse
import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile

OCI = {
    "manifest": "application/vnd.oci.image.manifest.v1+json",
    "config": "application/vnd.oci.image.config.v1+json",
    "none": "application/vnd.oci.image.layer.v1.tar",
    "gzip": "application/vnd.oci.image.layer.v1.tar+gzip",
    "zstd": "application/vnd.oci.image.layer.v1.tar+zstd",
}
DOCKER = {
    "manifest": "application/vnd.docker.distribution.manifest.v2+json",
    "config": "application/vnd.docker.container.image.v1+json",
    "gzip": "application/vnd.docker.image.rootfs.diff.tar.gzip",
}


def archive(source):
    if os.path.isfile(source):
        with open(source, "rb") as file:
            return file.read()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        names = []
        for folder, folders, files in os.walk(source):
            names += [os.path.relpath(os.path.join(folder, name), source) for name in folders + files]
        for name in sorted(names):
            tar.add(os.path.join(source, name), arcname=name, recursive=False)
    return out.getvalue()


def compress(data, how):
    if how == "gzip":
        return gzip.compress(data, mtime=0)
    if how == "zstd":
        return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Layout:
    def __init__(self, path):
        self.path = path
        os.makedirs(os.path.join(path, "blobs", "sha256"), exist_ok=True)

    def add(self, data, media_type):
        digest = digest_of(data)
        with open(os.path.join(self.path, "blobs", "sha256", digest[7:]), "wb") as file:
            file.write(data)
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    def finish(self, manifest):
        with open(os.path.join(self.path, "oci-layout"), "w", encoding="ascii") as file:
            file.write('{"imageLayoutVersion": "1.0.0"}')
        index = {"schemaVersion": 2, "manifests": [manifest]}
        with open(os.path.join(self.path, "index.json"), "w", encoding="ascii") as file:
            json.dump(index, file)


def make(options):
    types = DOCKER if options.docker else OCI
    layout = Layout(options.out)
    layers, diff_ids = [], []
    for source in options.layer:
        data = archive(source)
        diff_ids.append(digest_of(data))
        layers.append(layout.add(compress(data, options.compress), types[options.compress]))
    system, architecture, *variant = options.platform.split("/")
    config = {"created": "2024-01-02T03:04:05Z", "os": system, "architecture": architecture,
              "config": json.loads(options.config), "rootfs": {"type": "layers", "diff_ids": diff_ids},
              # without it buildah cannot commit what it builds on the image, and without times it finds nothing in its cache
              "history": [{"created": "2024-01-02T03:04:05Z", "created_by": os.path.basename(source)} for source in options.layer]}
    if variant:
        config["variant"] = variant[0]
    manifest = {"schemaVersion": 2, "mediaType": types["manifest"],
                "config": layout.add(json.dumps(config).encode(), types["config"]), "layers": layers}
    layout.finish(layout.add(json.dumps(manifest).encode(), types["manifest"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--layer", action="append", default=[])
    parser.add_argument("--config", default="{}")
    parser.add_argument("--compress", choices=["gzip", "zstd", "none"], default="gzip")
    parser.add_argument("--docker", action="store_true")
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    parser.add_argument("--platform", default="linux/" + machine)
    make(parser.parse_args())


if __name__ == "__main__":
    main()
