# SPDX-License-Identifier: Apache-2.0
"""The programs hutch is measured against: how each is prepared, called and recognised.

A peer that is missing or refuses this host is kept, with its reason, so that the table can say so.
"""
import collections.abc
import dataclasses
import functools
import json
import os
import subprocess
import time

from world import Unavailable, check, end_process, find_program, reason_of, remove_if_new, why_not

PROBE_TIMEOUT_S = 60
ENGINE_SETTLE_S = 0.3


@dataclasses.dataclass
class Peer:
    key: str
    label: str
    argv: list = dataclasses.field(default_factory=list)
    runs_per_visit: int = 10  # slow peers are visited as often, but run less often
    settle_s: float = 0.02  # until what it leaves to the kernel or to its daemon is done
    env: dict | None = None  # additions to the environment
    before: collections.abc.Callable | None = None  # called before each visit, and after it
    after: collections.abc.Callable | None = None
    reason: str | None = None  # why it is not measured

    def environment(self):
        return {**os.environ, **self.env} if self.env else None


def probe(peer):
    """Runs a peer once: only a command that succeeds is measured."""
    argv = [arg.replace("{}", "probe") for arg in peer.argv]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, env=peer.environment(),
                              timeout=PROBE_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        peer.reason = why_not(error)
        return
    if done.returncode != 0:
        peer.reason = reason_of(done)


def prepared(key, label, prepare, **more):
    """A peer whose argv `prepare` returns, already probed."""
    peer = Peer(key, label, **more)
    try:
        peer.argv = prepare()
    except Unavailable as why:
        peer.reason = str(why)
        return peer
    probe(peer)
    return peer


def make_busybox_root(world):
    """The root that all peers share: a static busybox and empty mount points."""
    busybox = find_program("busybox")
    root = world.make_dir("root")
    for name in ("bin", "dev", "etc", "home", "proc", "root", "sys", "tmp", "workspace"):
        world.make_dir("root", name)
    os.chmod(world.path("root", "tmp"), 0o1777)  # the sandbox's user removes there what was copied in
    check(["cp", "-L", busybox, os.path.join(root, "bin", "busybox")])
    for applet in check([busybox, "--list"], text=True).split():
        link = os.path.join(root, "bin", applet)
        if not os.path.lexists(link):
            os.symlink("busybox", link)
    with open(os.path.join(root, "etc", "passwd"), "w", encoding="ascii") as passwd:
        passwd.write("root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
    with open(os.path.join(root, "etc", "group"), "w", encoding="ascii") as group:
        group.write("root:x:0:\nnogroup:x:65534:\n")
    return root


def make_bundle(world, root):
    """An OCI bundle for /bin/true: what `runc spec` proposes, without a terminal and on our root."""
    bundle = world.make_dir("bundle")
    check([find_program("runc"), "spec", "--bundle", bundle])
    path = os.path.join(bundle, "config.json")
    with open(path, encoding="utf-8") as text:
        config = json.load(text)
    config["process"]["terminal"] = False
    config["process"]["args"] = ["/bin/true"]
    config["root"] = {"path": root, "readonly": True}
    config["linux"]["cgroupsPath"] = f"/{world.cgroup}/oci"
    with open(path, "w", encoding="utf-8") as text:
        json.dump(config, text)
    return bundle


def prepare_runtime(world, name, root):
    runtime = find_program(name)
    bundle = world.path("bundle")
    if not os.path.isdir(bundle):
        bundle = make_bundle(world, root)
    return [runtime, "--root", world.make_dir(name), "run", "--bundle", bundle, "bench-{}"]


def prepare_bwrap(root, *more):
    return [find_program("bwrap"), "--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev", *more,
            "--unshare-all", "/bin/true"]


def podman_environment(world):
    """Locks in files and state in our own directory: nothing shared with the host's podman."""
    conf = world.path("containers.conf")
    with open(conf, "w", encoding="utf-8") as text:
        text.write(f'[engine]\nlock_type = "file"\ntmp_dir = "{world.path("podman", "tmp")}"\n'
                   f'static_dir = "{world.path("podman", "static")}"\nvolume_path = "{world.path("podman", "volumes")}"\n'
                   'events_logger = "none"\n')
    return {"CONTAINERS_CONF": conf}


def prepare_podman(world, root, env):
    if os.geteuid() != 0:
        raise Unavailable("measured as root only")
    podman = [find_program("podman"), "--root", world.make_dir("podman", "root"), "--runroot",
              world.make_dir("podman", "run"), "--runtime", "runc", "--cgroup-manager", "cgroupfs"]
    archive = make_archive(world, root)
    check([*podman, "import", archive, "hutch-bench:latest"], env={**os.environ, **env})
    # Root without CAP_SYS_RESOURCE cannot raise the limits that podman asks for by default.
    return [*podman, "run", "--rm", "--network", "none", "--cgroup-parent", f"/{world.cgroup}", "--ulimit",
            "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "hutch-bench:latest", "/bin/true"]


def make_archive(world, root):
    archive = world.path("root.tar")
    if not os.path.exists(archive):
        check(["tar", "-C", root, "-cf", archive, "."])
    return archive


def start_dockerd(world, storage_driver, name="docker"):
    """Our own daemon, with its own socket and directories; returns its client's first arguments, and the process."""
    socket, log_path = f"unix://{world.path(name + '.sock')}", world.path(f"{name}-{storage_driver}.log")
    # The distribution's client first: a newer one elsewhere in PATH may not speak to this daemon.
    client = [find_program("docker", "/usr/bin/docker"), "--host", socket]
    data, run = world.make_dir(f"{name}-{storage_driver}"), world.make_dir(f"{name}-run")
    for shared in ("/run/docker", "/run/containerd"):
        world.on_close(remove_if_new(shared))
    with open(log_path, "wb") as log:
        daemon = subprocess.Popen(
            [find_program("dockerd"), "--host", socket, "--data-root", data,
             "--exec-root", run, "--pidfile", world.path(f"{name}.pid"), "--iptables=false", "--ip6tables=false",
             "--bridge=none", "--storage-driver", storage_driver, "--cgroup-parent", f"/{world.cgroup}"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    world.on_close(end_process, daemon)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and daemon.poll() is None:
        if subprocess.run([*client, "info"], capture_output=True, check=False).returncode == 0:
            return client, daemon
        time.sleep(0.1)
    end_process(daemon)
    with open(log_path, encoding="utf-8", errors="replace") as log:
        lines = log.read().splitlines()
    raise Unavailable(f"dockerd does not start: {lines[-1][:200] if lines else 'no message'}")


def prepare_docker(world, root):
    if os.geteuid() != 0:
        raise Unavailable("measured as root only")
    try:
        docker, _ = start_dockerd(world, "overlay2")
    except Unavailable:
        docker, _ = start_dockerd(world, "vfs")
    check([*docker, "import", make_archive(world, root), "hutch-bench:latest"])
    return [*docker, "run", "--rm", "--network", "none", "hutch-bench:latest", "/bin/true"]


def host_peers(hutch):
    """On the host's own files."""
    return [
        functools.partial(prepared, "hutch_host", "`hutch run` (default: the host's files)",
                          lambda: [hutch, "run", "--", "/bin/true"]),
        functools.partial(prepared, "bwrap_host", "`bwrap --ro-bind / /`", lambda: prepare_bwrap("/")),
    ]


def root_peers(world, root, hutch, floor):
    """On the same busybox root."""
    true = os.path.join(root, "bin", "true")
    make = functools.partial
    return [
        make(prepared, "exec", "exec of a static binary, no sandbox", lambda: [true], runs_per_visit=20),
        make(prepared, "floor", "floor (bare system calls)", lambda: [floor, "--lower", root, "--", "/bin/true"]),
        make(prepared, "hutch_root", "`hutch run --rootfs`",
             lambda: [hutch, "run", "--rootfs", root, "--", "/bin/true"]),
        make(prepared, "bwrap_root", "`bwrap --ro-bind ROOT /`", lambda: prepare_bwrap(root)),
        make(prepared, "runc", "`runc run`", lambda: prepare_runtime(world, "runc", root), runs_per_visit=3),
        make(prepared, "crun", "`crun run`", lambda: prepare_runtime(world, "crun", root), runs_per_visit=3),
    ]


def engine_peers(world, root, wanted):
    if not wanted:
        return [functools.partial(Peer, "podman", "`podman run`", reason="--no-engines"),
                functools.partial(Peer, "docker", "`docker run`", reason="--no-engines")]
    env = podman_environment(world)
    return [
        functools.partial(prepared, "podman", "`podman run` (runc)", lambda: prepare_podman(world, root, env),
                          runs_per_visit=1, settle_s=ENGINE_SETTLE_S, env=env),
        functools.partial(prepared, "docker", "`docker run`", lambda: prepare_docker(world, root), runs_per_visit=1,
                          settle_s=ENGINE_SETTLE_S),
    ]


def prepare_all(makers, needed):
    """The peers among them whose keys are needed."""
    return [make() for make in makers if make.args[0] in needed]


VERSION_COMMANDS = {
    "hutch": None,  # its path is an option
    "bubblewrap": ["bwrap", "--version"],
    "runc": ["runc", "--version"],
    "crun": ["crun", "--version"],
    "runsc": ["runsc", "--version"],
    "podman": ["podman", "--version"],
    "docker": ["dockerd", "--version"],
    "busybox": ["busybox"],
}


def versions(hutch):
    found = {}
    for name, argv in VERSION_COMMANDS.items():
        try:
            argv = [hutch, "version"] if argv is None else [find_program(argv[0]), *argv[1:]]
            lines = check(argv, text=True).splitlines()
            found[name] = lines[0].strip() if lines else "unknown"
        except Unavailable as why:
            found[name] = f"none ({why})"
    return found
