# SPDX-License-Identifier: Apache-2.0
# The real engines, from the distribution's packages. Loaded after ../lib.bash.
#
#     dockerd_start            a Docker engine: DOCKER_SOCKET, and over TCP with TLS: DOCKER_TCP, DOCKER_CERTS (ca, cert, key .pem)
#     dockerd_start btrfs      the same with storage that has quotas; nothing is started where the kernel has no btrfs
#     dockerd_kill, dockerd_restart        as a crash, and as a service manager after it
#     podman_start             podman's service: PODMAN_SOCKET
#     engine_images            puts the images into the engines that were started: busybox as $IMAGE
#     engine_left              what is left of ours in them
#     engines_stop             ends what was started, by pid, and takes their files away
#
# One engine serves a whole file of tests: it is started in setup_file and ended in teardown_file. Everything of it is below
# $ENGINES, and its containers are in cgroups of its own.
#
# shellcheck shell=bash
# shellcheck disable=SC2034 # the tests read them

IMAGE=hutch-test/busybox:latest
DOCKER=/usr/bin/docker # the distribution's own: a newer client elsewhere may not speak to this engine

# Where the engines should be there, one that is missing is a failure; elsewhere it is told and passed over.
no_engine() { # WHY
    echo "no engine: $*" >&2
    if [ "${CI:-}" = true ]; then return 1; fi
    skip "$*"
}

engines_setup() {
    export ENGINES=$BATS_FILE_TMPDIR/engines ENGINE_GROUP=hutchtest-engines-$$
    mkdir -p "$ENGINES"
    chmod 755 "$ENGINES" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
    [ "$(id -u)" = 0 ] || no_engine "engines are started as root"
}

await() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}

process_alive() { kill -0 "$1" 2>/dev/null && ! grep -qs '^State:.*zombie' "/proc/$1/status"; } # PID
process_gone() { ! process_alive "$1"; }

end_process() { # PID
    kill "$1" 2>/dev/null || return 0
    await 20 process_gone "$1" || kill -KILL "$1" 2>/dev/null || true
    await 10 process_gone "$1"
}

# --- docker -----------------------------------------------------------------------------------------------------------------

# An authority, and what it has signed: the server's certificate for loopback, the client's; and a client's of another authority.
make_certificates() { # DIRECTORY
    local dir=$1 who
    mkdir -p "$dir" && cd "$dir" || return 1
    printf 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n' >server.ext
    printf 'extendedKeyUsage=clientAuth\n' >client.ext
    cp client.ext stranger.ext
    for who in ca other-ca; do
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=hutch test $who" \
            -keyout "$who-key.pem" -out "$who.pem"
    done
    for who in server client stranger; do
        local ca=ca
        [ "$who" != stranger ] || ca=other-ca
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$who" -keyout "$who-key.pem" -out "$who.csr"
        openssl x509 -req -in "$who.csr" -CA $ca.pem -CAkey $ca-key.pem -CAcreateserial -days 2 -extfile "$who.ext" -out "$who.pem"
    done
    # directories as DOCKER_CERT_PATH wants them
    mkdir good stranger deceived
    cp ca.pem good/ca.pem && cp client.pem good/cert.pem && cp client-key.pem good/key.pem
    cp ca.pem stranger/ca.pem && cp stranger.pem stranger/cert.pem && cp stranger-key.pem stranger/key.pem
    cp good/*.pem deceived/ && cp other-ca.pem deceived/ca.pem
}

free_port() { /usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# The engine's own client, over its socket, whatever hutch is told to use.
docker_cli() { env -u DOCKER_HOST -u DOCKER_TLS_VERIFY -u DOCKER_CERT_PATH "$DOCKER" --host "unix://$DOCKER_SOCKET" "$@"; }

# What is started in a test, and lives on when it has ended, would keep the test's groups from going.
outside_the_groups() { # COMMAND...
    local dir
    for dir in "${GROUPS_OF_TEST[@]}"; do echo 0 >"${dir%/*}/tasks"; done
    exec "$@"
}

dockerd_launch() { # DRIVER
    local dir=$ENGINES/docker
    mkdir -p "$dir"
    # its containerd ends with it, but where nobody has reaped that yet it would be taken for alive
    rm -f "$dir/pid" "$dir/run/containerd/containerd.pid"
    # no rules and no bridge: nothing of the host's network is touched
    outside_the_groups setsid dockerd --host "unix://$DOCKER_SOCKET" --host "$DOCKER_TCP" --tlsverify --tlscacert "$DOCKER_CERTS/ca.pem" \
        --tlscert "$DOCKER_CERTS/server.pem" --tlskey "$DOCKER_CERTS/server-key.pem" --data-root "$dir/data-$1" \
        --exec-root "$dir/run" --pidfile "$dir/pid" --iptables=false --ip6tables=false --bridge=none --storage-driver "$1" \
        --cgroup-parent "/$ENGINE_GROUP" </dev/null >>"$dir/log" 2>&1 3>&- &
    DOCKERD_PID=$!
    disown "$DOCKERD_PID" # nothing is to be said about its end
    echo "$DOCKERD_PID $1" >"$dir/running"
    await 30 dockerd_answers_or_ended && docker_cli info >/dev/null 2>&1
}

dockerd_answers_or_ended() { docker_cli info >/dev/null 2>&1 || process_gone "$DOCKERD_PID"; }

# A filesystem in a file, in which an engine can bound what a container writes.
make_btrfs() { # DIRECTORY
    local image=$ENGINES/btrfs.img
    truncate -s 1G "$image" && mkfs.btrfs --quiet "$image" && mkdir -p "$1" && mount -o loop "$image" "$1"
}

dockerd_start() { # [DRIVER...]
    local dir=$ENGINES/docker driver
    command -v dockerd >/dev/null || no_engine "docker.io is not installed" || return 1
    mkdir -p "$dir"
    DOCKER_TCP=tcp://127.0.0.1:$(free_port)
    export DOCKER_TCP DOCKER_SOCKET=$dir/socket DOCKER_CERTS=$dir/certs DOCKER_CONFIG=$dir/config
    mkdir -p "$DOCKER_CONFIG"
    (make_certificates "$DOCKER_CERTS") >"$dir/openssl.log" 2>&1 || { cat "$dir/openssl.log" >&2 && return 1; }
    [ $# -gt 0 ] || set -- overlay2 vfs
    for driver; do
        [ "$driver" != btrfs ] || make_btrfs "$dir/data-btrfs" >"$dir/btrfs.log" 2>&1 || no_engine "no btrfs here" || return 1
        if dockerd_launch $driver; then return 0; fi
        end_process "$DOCKERD_PID"
    done
    tail -n 5 "$dir/log" >&2
    no_engine "dockerd does not start here"
}

dockerd_pid() { cut -d ' ' -f 1 "$ENGINES/docker/running"; }

dockerd_kill() {
    local pid
    pid=$(dockerd_pid)
    kill -KILL "$pid"
    await 10 process_gone "$pid"
}

dockerd_restart() { dockerd_launch "$(cut -d ' ' -f 2 "$ENGINES/docker/running")"; }

# --- podman -----------------------------------------------------------------------------------------------------------------

podman_words() {
    PODMAN=(podman --root "$ENGINES/podman/root" --runroot "$ENGINES/podman/run" --runtime runc --cgroup-manager cgroupfs)
}

podman_cli() {
    podman_words
    "${PODMAN[@]}" "$@"
}

podman_start() {
    local dir=$ENGINES/podman
    command -v podman >/dev/null || no_engine "podman is not installed" || return 1
    mkdir -p "$dir"
    # Locks in files and state below its own directory: nothing is shared with the host's podman. Root without CAP_SYS_RESOURCE
    # cannot raise the limits that podman asks for by default.
    cat >"$dir/containers.conf" <<END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
lock_type = "file"
tmp_dir = "$dir/tmp"
static_dir = "$dir/static"
volume_path = "$dir/volumes"
events_logger = "file"
END
    export CONTAINERS_CONF=$dir/containers.conf PODMAN_SOCKET=$dir/socket
    podman_words
    # its conmon leaves a note about memory in the directory where it was started
    setsid env --chdir="$dir" "${PODMAN[@]}" system service --time=0 "unix://$PODMAN_SOCKET" </dev/null >"$dir/log" 2>&1 3>&- &
    disown $!
    echo $! >"$dir/running"
    await 30 curl --silent --fail --unix-socket "$PODMAN_SOCKET" http://podman/_ping && return 0
    tail -n 5 "$dir/log" >&2
    no_engine "podman's service does not start here"
}

# --- images -----------------------------------------------------------------------------------------------------------------

# A root with busybox and nothing else, as a tar archive; made once for all files.
busybox_tar() {
    local tar=$BATS_RUN_TMPDIR/engine-busybox.tar tree=$ENGINES/busybox applet name
    [ ! -f "$tar" ] || { echo "$tar" && return 0; }
    for name in bin dev etc proc root sys tmp; do mkdir -p "$tree/$name"; done
    cp -L "$(command -v busybox)" "$tree/bin/busybox"
    for applet in $(busybox --list | grep -vx busybox); do ln -s busybox "$tree/bin/$applet"; done
    printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$tree/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$tree/etc/group"
    chmod 1777 "$tree/tmp"
    tar -C "$tree" --owner=0 --group=0 --numeric-owner -cf "$tar.new" . && mv "$tar.new" "$tar"
    rm -rf "$tree"
    echo "$tar"
}

engine_images() {
    local tar change='CMD ["/bin/sh"]'
    tar=$(busybox_tar)
    [ -z "${DOCKER_SOCKET:-}" ] || docker_cli import --change "$change" "$tar" "$IMAGE" >/dev/null || return 1
    [ -z "${PODMAN_SOCKET:-}" ] || podman_cli import --quiet --change "$change" "$tar" "docker.io/$IMAGE" >/dev/null
}

# --- afterwards -------------------------------------------------------------------------------------------------------------

# Containers, volumes and networks: in an engine that only these tests use, whatever is there is ours.
engine_left() {
    if [ -n "${DOCKER_SOCKET:-}" ]; then
        docker_cli ps --all --format 'docker container {{.Names}} {{.Status}}'
        docker_cli volume ls --format 'docker volume {{.Name}}'
    fi
    if [ -n "${PODMAN_SOCKET:-}" ]; then
        podman_cli ps --all --external --format 'podman container {{.Names}} {{.Status}}'
        podman_cli volume ls --format 'podman volume {{.Name}}'
    fi
}

nothing_left_in_engines() {
    local left try
    for try in {1..50}; do
        left=$(engine_left)
        [ -n "$left" ] || return 0
        sleep 0.1
    done
    printf 'left in the engine after %d looks:\n%s\n' "$try" "$left" | head -n 30 >&2
    return 1
}

# Of an engine that was killed while it made a container, containerd's shim stays, and what it holds.
end_shims() {
    local pid
    for pid in $(pgrep -f "^[^ ]*containerd-shim[^ ]* .*-address $ENGINES/"); do
        pgrep -P "$pid" | xargs -r kill -KILL "$pid" || true
        kill -KILL "$pid" 2>/dev/null || true
    done
}

# What an engine's containers were in: the kernel takes a moment to end them.
engine_groups() {
    local group
    for group in /sys/fs/cgroup/*/"$ENGINE_GROUP" /sys/fs/cgroup/"$ENGINE_GROUP"; do
        [ ! -d "$group" ] || echo "$group"
    done
}
engine_groups_gone() {
    engine_groups | while read -r group; do find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null; done
    [ -z "$(engine_groups)" ]
}

# What was mounted for containers is gone with the engine; the rest lies below its own directory.
engines_stop() {
    local file point
    # of a test that failed
    [ -z "${DOCKER_SOCKET:-}" ] || docker_cli ps --all --quiet 2>/dev/null | xargs -r env -u DOCKER_TLS_VERIFY "$DOCKER" \
        --host "unix://$DOCKER_SOCKET" rm --force >/dev/null 2>&1 || true
    [ -z "${PODMAN_SOCKET:-}" ] || podman_cli rm --force --all --time 0 >/dev/null 2>&1 || true
    for file in "$ENGINES"/*/running; do
        [ ! -f "$file" ] || end_process "$(cut -d ' ' -f 1 "$file")"
    done
    end_shims
    awk -v top="$ENGINES/" 'index($5, top) == 1 {print $5}' /proc/self/mountinfo | sort -r |
        while read -r point; do umount -l "$point"; done
    await 20 engine_groups_gone || engine_groups >&2
    # podman has one for all of its containers; while somebody else's are in it, it stays
    [ -z "${PODMAN_SOCKET:-}" ] || rmdir /sys/fs/cgroup/*/libpod_parent 2>/dev/null || true
    rm -rf "$ENGINES"
}

# What every file of tests with an engine begins and each of its tests ends with.
dockerd_for_file() { # [DRIVER...]
    engines_setup
    dockerd_start "$@"
    engine_images
}
engine_teardown() {
    local status=0
    teardown_world || status=1
    nothing_left_in_engines || status=1
    return $status
}

# --- asking hutch -----------------------------------------------------------------------------------------------------------

use_docker() {
    export DOCKER_HOST=unix://$DOCKER_SOCKET
    unset DOCKER_TLS_VERIFY DOCKER_CERT_PATH
}
use_docker_tls() { export DOCKER_HOST=$DOCKER_TCP DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH=$DOCKER_CERTS/${1:-good}; } # [CERTIFICATES]
use_podman() {
    export DOCKER_HOST=unix://$PODMAN_SOCKET
    unset DOCKER_TLS_VERIFY DOCKER_CERT_PATH
}

# The contract (tests/contract), with the engine looked at as well.
contract_holds() { # BACKEND FIELD=VALUE...
    local home=$WORK/contract-home
    if [ -n "${ENGINE_LIST:-}" ]; then
        printf '#!/bin/sh\n%s\n' "$ENGINE_LIST" >"$WORK/left"
        chmod +x "$WORK/left"
        export CONTRACT_LEFT=$WORK/left
    fi
    [ ! -d "$home" ] || export CONTRACT_HOME=$home
    if HUTCH_PROGRAM=$HUTCH timeout 900 "$TOP/build/tests/contract/contract" "$@" >"$WORK/contract" 2>&1; then
        missing_as_told "$1"
        return
    fi
    grep -vE '^\[( RUN|       OK|=====)' "$WORK/contract" >&2
    return 1
}

# Of what the table of docs/BACKENDS.md says to hold always, nothing was missing.
missing_as_told() { # BACKEND
    local limit column
    column=$(("$(printf '%s\n' native docker oci | grep -nx "$1" | cut -d : -f 1)" + 3))
    for limit in $(sed -n 's/^contract: .* does not enforce \([a-z_]*\) here$/\1/p' "$WORK/contract"); do
        awk -F' *[|] *' -v limit="\`$limit\`" -v column=$column '$2 == limit && $column != "yes" {told = 1} END {exit !told}' \
            "$TOP/docs/BACKENDS.md" || { echo "$limit is missing, and docs/BACKENDS.md does not say so" >&2 && return 1; }
    done
}

# A run on the engine that is in use: $WORK/out, $WORK/said, $status.
engine_run() { # FLAG... -- COMMAND...
    status=0
    "$HUTCH" run --backend docker --image "$IMAGE" --allow-missing all "$@" >"$WORK/out" 2>"$WORK/said" </dev/null || status=$?
}

# One sentence about what is in the way, with these words in it.
fails_with() { # WORD...
    local word
    same "exit status" 125 "$status"
    same "lines said" 1 "$(wc -l <"$WORK/said")"
    for word; do
        grep -qF -- "$word" "$WORK/said" || { printf '«%s» is not in: %s\n' "$word" "$(cat "$WORK/said")" >&2 && return 1; }
    done
}
