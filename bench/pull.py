# SPDX-License-Identifier: Apache-2.0
"""Pulls of an image that nobody has yet, from a registry on loopback: the section, its bars and its table.

Each peer begins with an empty store; the registry's files are in memory for all of them. What the registry has sent
is counted at every visit, for a peer that had kept something would have won by that.
"""
import contextlib
import os
import shlex
import subprocess
import time

import peers as peer_list
import pull_image
from registry import Registry
from report import bar, data_of, share_text, table
from report_living import most, peers_table
from world import Unavailable, check, end_process, find_program, reason_of

DAEMON_SETTLE_S = 2  # what it still does after it has answered first is not the pull
MEMORY_LIMIT_KIB = 64 << 10
SAMPLE_S = 0.002
MIB = 1 << 20


class Puller:
    """What the peers have in common: the registry, the image in it, and a directory for each peer's store."""

    def __init__(self, world, registry, image, repository):
        self.world, self.registry, self.image = world, registry, image
        self.reference = registry.fill(image.path, repository)
        self.blobs = f"http://{registry.address}/v2/{repository.split(':')[0]}/blobs"
        self.disks = world.make_dir("pull-disks")
        check(["mount", "-t", "tmpfs", "-o", "mode=0700", "tmpfs", self.disks])
        world.on_close(world.unmount, self.disks)

    def clear(self, name):
        """A new filesystem for a peer, in memory."""
        return self.world.new_disk(name, os.path.join(self.disks, name))

    def peer(self, key, label, prepare, clear, env=None):
        """A peer whose every visit is checked: it must have fetched the whole image."""
        mark = None

        def before():
            nonlocal mark
            clear()
            mark = self.registry.mark()

        def after():
            sent = self.registry.sent_since(mark, self.image.parts)
            if sent < sum(layer["size"] for layer in self.image.layers):
                raise Unavailable(f"{label} fetched {sent} bytes only")

        try:
            clear()
        except Unavailable as why:
            return peer_list.Peer(key, label, reason=str(why))
        return peer_list.prepared(key, label, prepare, runs_per_visit=1, settle_s=0.3, env=env, before=before, after=after)


def hutch_peer(puller, hutch):
    return puller.peer("hutch", "`hutch image pull`", lambda: [hutch, "image", "pull", puller.reference],
                       lambda: puller.clear("pull-hutch"), env={"HUTCH_HOME": puller.world.path("pull-hutch")})


def pipeline_peer(puller):
    """The same layers by programs that each do one thing, one layer after the other. No digest is checked."""
    def prepare():
        curl, igzip, tar = map(find_program, ("curl", "igzip", "tar"))
        target = shlex.quote(puller.world.path("pull-pipeline"))
        lines = [f"{curl} -fsS {puller.blobs}/{layer['digest']} | {igzip} -d | {tar} -x -C {target}"
                 for layer in puller.image.layers]
        return [find_program("bash"), "-e", "-o", "pipefail", "-c", "\n".join(lines)]

    return puller.peer("pipeline", "`curl \\| igzip -d \\| tar x`", prepare, lambda: puller.clear("pull-pipeline"))


def podman_peer(puller, wanted):
    label = "`podman pull`"
    if not wanted:
        return peer_list.Peer("podman", label, reason="--no-engines")
    # its blobs go where the rest goes; by itself it has them in /var/tmp
    env = peer_list.podman_environment(puller.world) | {"TMPDIR": puller.world.path("pull-podman")}
    try:
        podman = [find_program("podman"), "--root", puller.world.path("pull-podman", "root"), "--runroot",
                  puller.world.path("pull-podman", "run")]
        driver = check([*podman, "info", "--format", "{{.Store.GraphDriverName}}"], text=True, env={**os.environ, **env})
    except Unavailable as why:
        return peer_list.Peer("podman", label, reason=str(why))
    return puller.peer("podman", f"{label} ({driver.strip()})",
                       lambda: [*podman, "pull", "-q", "--tls-verify=false", puller.reference],
                       lambda: puller.clear("pull-podman"), env=env)


def docker_peer(puller, docker):
    label = "`docker pull`"
    if docker.reason:
        return peer_list.Peer("docker", label, reason=docker.reason)
    try:
        driver = check([*docker.argv[:docker.argv.index("run")], "info", "--format", "{{.Driver}}"], text=True).strip()
    except Unavailable as why:
        return peer_list.Peer("docker", label, reason=str(why))
    client, daemon = [], None

    def clear():
        """A daemon that has never pulled."""
        nonlocal daemon
        if daemon:
            end_process(daemon)
        puller.clear(f"pull-docker-{driver}")
        client[:], daemon = peer_list.start_dockerd(puller.world, driver, "pull-docker")
        time.sleep(DAEMON_SETTLE_S)

    return puller.peer("docker", f"{label} ({driver})", lambda: [*client, "pull", "-q", puller.reference], clear)


# ---- memory, and what is fetched ----


def read_words(path):
    with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as text:
        return text.read().split()
    return []


def descendants(pid):
    for task in os.listdir(f"/proc/{pid}/task"):
        for child in read_words(f"/proc/{pid}/task/{task}/children"):
            yield child
            with contextlib.suppress(OSError):
                yield from descendants(child)


def peak_kib(pid):
    words = read_words(f"/proc/{pid}/status")
    return int(words[words.index("VmHWM:") + 1]) if "VmHWM:" in words else 0


def measure_memory(argv, env):
    """The peaks of all processes of a command added up, in KiB: never less than what they had together at one time."""
    with subprocess.Popen(["/bin/sh", "-c", '"$@"; exit', "sh", *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, env=env) as shell:
        peaks = {}
        while shell.poll() is None:
            with contextlib.suppress(OSError):
                for pid in descendants(shell.pid):
                    peaks[pid] = max(peaks.get(pid, 0), peak_kib(pid))
            time.sleep(SAMPLE_S)
        done = subprocess.CompletedProcess(argv, shell.returncode, stderr=shell.stderr.read())
    if done.returncode != 0 or not peaks:
        raise Unavailable(f"{argv[0]}: {reason_of(done)}")
    return sum(peaks.values())


def measure_second(puller, peer, second, repository):
    """What a pull of an image fetches when all of its layers but one are there."""
    reference = puller.registry.fill(second.path, repository)
    known = {layer["digest"] for layer in puller.image.layers}
    shared = sum(layer["size"] for layer in second.layers if layer["digest"] in known)
    mark = puller.registry.mark()
    check([*peer.argv[:-1], reference], env=peer.environment(), timeout=600)
    difference = second.parts - shared
    return {"fetched": puller.registry.sent_since(mark, difference), "difference": difference, "all": second.parts}


def measure_pull(measure, world, options, docker, effort):
    first, second = pull_image.make_images(world, effort.pull_bytes)
    puller = Puller(world, Registry(world), first, "debian:first")
    hutch = hutch_peer(puller, options.hutch)
    compared = [hutch, pipeline_peer(puller), podman_peer(puller, not options.no_engines), docker_peer(puller, docker)]
    found = {"peers": {peer.key: peer for peer in compared},
             "times": measure.in_turn(compared, effort.pull_rounds, warmups=0),
             "image": {"layers": len(first.layers), "files": first.files, "unpacked": first.unpacked, "packed": first.parts}}
    if not hutch.reason:
        hutch.before()
        found["memory_kib"] = measure_memory(hutch.argv, hutch.environment())
        found["second"] = measure_second(puller, hutch, second, "debian:second")
    return found


# ---- report ----


def pull_bars(found):
    part = found.sections["pull"]

    def hutch_only(key):
        data = data_of(part)
        if key not in data:
            raise LookupError(data["peers"]["hutch"].reason)
        return data[key]

    def memory():
        peak = hutch_only("memory_kib")
        return f"{peak / 1024:.1f} MiB", 0 < peak <= MEMORY_LIMIT_KIB

    def second():
        data = hutch_only("second")
        ratio = data["fetched"] / data["difference"]
        return f"{share_text(ratio)} × the difference", 0 < data["fetched"] <= data["difference"]

    what = f"`hutch image pull` of a Debian image of about {found.effort.pull_bytes / 1e6:.0f} MB"
    return [bar(f"{what}: median ≤ 1.3 × `curl \\| igzip -d \\| tar x`", most(part, "hutch", ("pipeline",), 1.3)),
            bar(f"{what}: median ≤ 0.5 × podman pull", most(part, "hutch", ("podman",), 0.5)),
            bar(f"{what}: median ≤ 0.2 × docker pull", most(part, "hutch", ("docker",), 0.2)),
            bar(f"{what}: peak RSS of all its processes ≤ {MEMORY_LIMIT_KIB >> 10} MiB", memory),
            bar("a second image that shares layers: only the difference is fetched", second)]


def pull_table(found):
    part = found.sections["pull"]
    image, made = part["image"], [peers_table(part, ("pipeline",))]
    made.append(f"The image: {image['unpacked'] / 1e6:.0f} MB in {image['files']} files and {image['layers']} layers, "
                f"{image['packed'] / 1e6:.0f} MB with gzip.")
    if "second" in part:
        rows = [("peak RSS of `hutch image pull`, all processes", f"{part['memory_kib'] / 1024:.1f} MiB"),
                ("a second image with one other layer: fetched", f"{part['second']['fetched'] / MIB:.2f} MiB"),
                ("its difference from the first", f"{part['second']['difference'] / MIB:.2f} MiB"),
                ("all of it", f"{part['second']['all'] / MIB:.2f} MiB")]
        made.append(table(("", ""), rows))
    return "\n\n".join(made)


BARS = {"pull": pull_bars}
SECTIONS = (
    ("Images that are not there", "pull", pull_table,
     "From Debian's docker-registry on loopback, each into an ext4 that was made for this one pull, in memory. The files are "
     "those of this host's Debian packages. The pipeline takes one layer after the other, and checks no digest. Memory is the "
     "sum of VmHWM of all processes."),
)
