# SPDX-License-Identifier: Apache-2.0
"""The same engine and the same image, by hutch and by the engine's own command: the section, its bars and its table."""
import os

import living
import peers as peer_list
from report import bar, data_of
from report_living import most, peers_table
from world import Unavailable, check, find_program

IMAGE = "hutch-bench:latest"


def docker_peers(world, hutch, docker):
    """On the bench's own dockerd."""
    env = {} if docker.reason else {"DOCKER_HOST": docker.argv[docker.argv.index("--host") + 1]}
    flags = ["--backend", "docker", "--image", IMAGE, "--allow-missing", "all"]
    few = {"runs_per_visit": 2, "settle_s": peer_list.ENGINE_SETTLE_S}

    def hutch_run():
        if docker.reason:
            raise Unavailable(docker.reason)
        return [hutch, "run", *flags, "--", "/bin/true"]

    def docker_exec():
        container = living.Container(world, docker, "bench-engine-exec")
        return [*container.client, "exec", container.name, "/bin/true"]

    def hutch_exec():
        hutch_run()
        check([hutch, "create", *flags, "--name", "bench-engine"], env={**os.environ, **env})
        return [hutch, "exec", "bench-engine", "--", "/bin/true"]

    return [docker,
            peer_list.prepared("hutch_docker", "`hutch run --backend docker`", hutch_run, env=env, **few),
            peer_list.prepared("docker_exec", "`docker exec`", docker_exec, **few),
            peer_list.prepared("hutch_docker_exec", "`hutch exec`, the sandbox on docker", hutch_exec, env=env)]


def gvisor_peers(world, hutch, root):
    def runsc():
        bundle = world.path("bundle")
        if not os.path.isdir(bundle):
            peer_list.make_bundle(world, root)
        # A file for its standard streams: runsc gives them to 'nobody', and the host's /dev/null is not its to give.
        streams = world.path("runsc-streams")
        open(streams, "w", encoding="utf-8").close()
        return ["/bin/sh", "-c", 'exec "$@" <"$0" >>"$0" 2>&1', streams, find_program("runsc"), "--root",
                world.make_dir("runsc"), "--network", "none", "run", "--bundle", bundle, "bench-{}"]

    few = {"runs_per_visit": 2, "settle_s": peer_list.ENGINE_SETTLE_S}
    return [peer_list.prepared("runsc", "`runsc run`", runsc, **few),
            peer_list.prepared("hutch_gvisor", "`hutch run --isolation gvisor`",
                               lambda: [hutch, "run", "--isolation", "gvisor", "--rootfs", root, "--", "/bin/true"], **few)]


def measure_engines(measure, world, hutch, root, docker, effort):
    compared = docker_peers(world, hutch, docker) + gvisor_peers(world, hutch, root)
    return {"peers": {peer.key: peer for peer in compared}, "times": measure.in_turn(compared, effort.rounds)}


def engine_bars(found):
    part = found.sections["engines"]
    return [bar("`hutch run --backend docker`: median ≤ 1.05 × docker run", most(part, "hutch_docker", ("docker",), 1.05)),
            bar("`hutch exec` on docker: median ≤ 1.0 × docker exec", most(part, "hutch_docker_exec", ("docker_exec",), 1.0)),
            bar("`hutch run --isolation gvisor`: median ≤ 1.1 × runsc run", most(part, "hutch_gvisor", ("runsc",), 1.1))]


def engines_table(found):
    return peers_table(data_of(found.sections["engines"]), ("docker", "runsc"))


BARS = {"engines": engine_bars}
SECTIONS = (
    ("Other engines", "engines", engines_table,
     "`/bin/true` on the same busybox root: by hutch on an engine, and by that engine's own command."),
)
