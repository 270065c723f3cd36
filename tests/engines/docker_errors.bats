#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What can be wrong with an engine: the error says which it is, and what helps.

load ../lib
load ../integration/words
load engines

setup_file() { dockerd_for_file; }
teardown_file() { engines_stop; }

setup() {
    setup_world
    use_docker
}
teardown() {
    [ -z "${OLD_ENGINE:-}" ] || end_process "$OLD_ENGINE"
    use_docker
    engine_teardown
}

@test "no engine: neither a socket nor anybody who listens" {
    DOCKER_HOST=unix://$WORK/none engine_run -- true
    fails_with "$WORK/none" "DOCKER_HOST"
    : >"$WORK/file"
    DOCKER_HOST=unix://$WORK/file engine_run -- true
    fails_with "$WORK/file"
    DOCKER_HOST=tcp://127.0.0.1:1 engine_run -- true
    fails_with "127.0.0.1:1"
    DOCKER_HOST=nonsense engine_run -- true
    fails_with nonsense
    DOCKER_HOST=ssh://somewhere engine_run -- true
    fails_with ssh
}

@test "a socket that this user may not use" {
    status=0
    chmod 755 "$ENGINES/docker"
    mkdir "$WORK/theirs" && chown "$TEST_UID" "$WORK/theirs"
    HUTCH_HOME=$WORK/theirs as_user "$HUTCH" run --backend docker --image "$IMAGE" --allow-missing all -- true >"$WORK/out" 2>"$WORK/said" || status=$?
    fails_with "$DOCKER_SOCKET" "docker" "ermission"
}

@test "certificates: of another authority, of a server that is not known, none at all" {
    use_docker_tls stranger
    engine_run -- true
    fails_with "certificate" "$DOCKER_CERTS/stranger" "authority has signed"
    use_docker_tls deceived
    engine_run -- true
    fails_with "certificate" "$DOCKER_CERTS/deceived" "DOCKER_CERT_PATH"
    rm -rf "$WORK/half" && mkdir "$WORK/half"
    cp "$DOCKER_CERTS/good/ca.pem" "$WORK/half"
    DOCKER_CERT_PATH=$WORK/half engine_run -- true
    fails_with "certificate of yours" "cert.pem" "DOCKER_CERT_PATH"
    export DOCKER_CERT_PATH=$WORK/nowhere
    engine_run -- true
    fails_with "$WORK/nowhere"
    unset DOCKER_CERT_PATH DOCKER_TLS_VERIFY
    engine_run -- true
    fails_with "TLS" "DOCKER_TLS_VERIFY=1" "DOCKER_CERT_PATH"
}

@test "an image that is not there" {
    engine_run --image hutch-test/none:1 --pull never -- true
    fails_with "hutch-test/none:1" "--pull"
    engine_run --image 127.0.0.1:1/none:1 -- true
    fails_with "127.0.0.1:1/none:1"
    status=0
    hutch run --backend docker --allow-missing all -- true >"$WORK/out" 2>"$WORK/said" || status=$?
    fails_with "--image"
}

old_engine() { # API RELEASE
    "$PYTHON" "$TOP/tests/engines/old_engine.py" "$WORK/old.sock" "$@" "$WORK/asked" >"$WORK/old.log" 2>&1 3>&- &
    OLD_ENGINE=$!
    await 10 test -S "$WORK/old.sock"
    export DOCKER_HOST=unix://$WORK/old.sock
}

@test "an engine that is too old" {
    old_engine 1.26 1.13.1
    engine_run -- true
    fails_with "1.26" "1.41" "install Docker 20.10.9"
    # whose copying has a hole it says as well
    fails_with "CVE-2019-14271"
}

@test "an engine whose 'docker cp' has a known hole: nothing is made in it that needs a copy" {
    old_engine 1.41 20.10.8
    mkdir "$WORK/tree"
    engine_run --workspace "$WORK/tree" -- true
    fails_with "docker cp" "20.10.8" "CVE-2021-41089" "install 20.10.9"
    same "what it was asked but to look" "" "$(grep -v '^GET ' "$WORK/asked")"
    "$HUTCH" doctor --json >"$WORK/json" || true
    same "doctor" warn "$(field '.checks[] | select(.name == "docker.copy") | .status')"
}

@test "root inside, which the engine would make the host's root" {
    engine_run -u 0 -- true
    fails_with root
}

@test "what an engine does not enforce is refused by name" {
    status=0
    hutch run --backend docker --image "$IMAGE" -- true >"$WORK/out" 2>"$WORK/said" || status=$?
    fails_with "disk" "--allow-missing disk"
    # a network that would be open to all is none
    status=0
    hutch run --backend docker --image "$IMAGE" --allow-missing disk --allow-missing inodes --egress example.com -- true \
        >"$WORK/out" 2>"$WORK/said" || status=$?
    fails_with "egress 'example.com'" "backend 'docker'"
    engine_run --egress example.com -- sh -c 'cat /proc/net/dev | wc -l'
    same "lines about interfaces, with their heads" 3 "$(cat "$WORK/out")"
    engine_run --secret key:file -- true
    fails_with "native"
}

@test "doctor says what it found, and what helps" {
    "$HUTCH" doctor --json >"$WORK/json" || true
    same "with an engine" ok "$(field '.checks[] | select(.name == "docker.engine") | .status')"
    DOCKER_HOST=unix://$WORK/none "$HUTCH" doctor --json >"$WORK/json" || true
    same "without" warn "$(field '.checks[] | select(.name == "docker.engine") | .status')"
    [ -n "$(field '.checks[] | select(.name == "docker.engine") | .remedy')" ]
}
