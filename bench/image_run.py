# SPDX-License-Identifier: Apache-2.0
"""Runs on images that are there already, against runs without one: the section, its bar and its table."""
import os
import subprocess
import sys

import peers as peer_list
from report import bar, data_of
from report_living import most, peers_table
from world import Unavailable, reason_of

STORE_IMAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "image", "store_image.py")
LAYERS = (1, 10, 128)
BAR_LAYERS = 10  # as many as images that people use mostly have, and some more


def make_image(name, layers):
    """Busybox and a passwd file in this many layers, written straight into the store."""
    text = ['layer({**busybox(), "etc/passwd": "root:x:0:0::/root:/bin/sh\\n"})']
    text += [f'layer({{"opt/{i}": "{i}"}})' for i in range(1, layers)] + ['config(env=["PATH=/bin"])']
    done = subprocess.run([sys.executable, STORE_IMAGE, os.environ["HUTCH_HOME"], name], input="\n".join(text).encode(),
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise Unavailable(reason_of(done))


def measure_image(measure, hutch, root, effort):
    compared = [peer_list.prepared("run", "`hutch run` (default: the host's files)", lambda: [hutch, "run", "--", "/bin/true"]),
                peer_list.prepared("rootfs", "`hutch run --rootfs`", lambda: [hutch, "run", "--rootfs", root, "--", "/bin/true"])]
    for layers in LAYERS:
        make_image(f"bench-{layers}", layers)
        compared.append(peer_list.prepared(f"image_{layers}", f"`hutch run --image`, layers: {layers}",
                                           lambda name=f"bench-{layers}": [hutch, "run", "--image", name, "--", "/bin/true"]))
    return {"peers": {peer.key: peer for peer in compared}, "times": measure.in_turn(compared, effort.rounds)}


def image_bars(found):
    return [bar(f"`hutch run --image`, an image of {BAR_LAYERS} layers: median ≤ 1.3 × a run without image",
                most(found.sections["image"], f"image_{BAR_LAYERS}", ("run",), 1.3))]


def image_table(found):
    return peers_table(data_of(found.sections["image"]), ("run",))


BARS = {"image": image_bars}
SECTIONS = (
    ("Images that are there", "image", image_table,
     "The same busybox in as many layers; finding the image, its configuration and its user is part of the run."),
)
