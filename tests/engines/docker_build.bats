#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Images that a Docker engine builds: hutch image build --backend docker, and named sandboxes.

load ../lib
load ../integration/words
load engines
load build

setup_file() { dockerd_for_file; }
teardown_file() { engines_stop; }

setup() {
    setup_world
    use_docker
}
teardown() {
    [ -z "${RELAY:-}" ] || end_process "$RELAY"
    [ -z "${FULL_ENGINE:-}" ] || end_process "$FULL_ENGINE"
    use_docker
    engine_teardown
}

@test "an engine builds an image without buildah, and a run finds it" { an_image_is_built_and_found; }
@test "the directory of an engine's build can come as an archive" { a_directory_comes_as_an_archive; }
@test "an ignore file leaves out for an engine what it does for buildah" { what_is_ignored_is_the_same_as_with_buildah; }
@test "a build that fails in an engine is told with its line, after its log" { failures_are_told; }
@test "what is wrong before an engine builds is told in one sentence" { refused_before_it_begins; }
@test "the log of an engine's build comes line by line" { the_log_comes_line_by_line; }
@test "an engine's build that is killed leaves nothing" { killed_it_leaves_nothing 4242; }
@test "arguments of an engine's build are on no command line and in no log" { arguments_are_nobodys_to_read; }
@test "a base that only hutch's store has is given to the engine" { a_base_of_the_store_is_given; }
@test "named sandboxes with backend docker are built by its engine, when something has changed" { named_sandboxes_are_built_by_the_engine; }

@test "an engine far away builds too" {
    use_docker_tls
    dockerfile <<<"FROM $IMAGE
COPY . /data"
    head -c 3000000 /dev/urandom >"$WORK/app/noise"
    built -t far "$WORK/app"
    same "sum" "$(sha256sum <"$WORK/app/noise")" "$(run_in far sha256sum /data/noise | sed 's| /data/noise| -|')"
}

@test "logins for the registries of its bases go in a header, and no others" {
    mkdir "$WORK/asked"
    /usr/bin/python3 "$BATS_TEST_DIRNAME/relay.py" "$WORK/relay" "$DOCKER_SOCKET" "$WORK/asked" 3>&- &
    RELAY=$!
    await 10 test -S "$WORK/relay"
    mkdir "$WORK/docker-config"
    printf '{"auths":{"127.0.0.1:9":{"auth":"%s"},"other.example":{"auth":"%s"}}}' "$(printf 'me:wórd?>' | base64)" "$(printf 'x:y' | base64)" \
        >"$WORK/docker-config/config.json"
    dockerfile <<<"FROM 127.0.0.1:9/x:1"
    DOCKER_CONFIG=$WORK/docker-config DOCKER_HOST=unix://$WORK/relay engine_build -t login:1 "$WORK/app"
    build_fails_with "'FROM 127.0.0.1:9/x:1'"
    cat "$WORK"/asked/* >"$WORK/all"
    grep -a '^X-Registry-Config: ' "$WORK/all" | cut -d ' ' -f 2 | tr -d '\r' | tr '_-' '/+' | base64 -d >"$WORK/logins"
    same "logins" '{"127.0.0.1:9":{"username":"me","password":"wórd?>","serveraddress":"127.0.0.1:9"}}' "$(jq -c . "$WORK/logins")"
    not grep -q 'wórd' "$WORK/said"
}

@test "an engine without space says so, and what helps" {
    /usr/bin/python3 "$BATS_TEST_DIRNAME/full_engine.py" "$WORK/full" 3>&- &
    FULL_ENGINE=$!
    await 10 test -S "$WORK/full"
    dockerfile <<<"FROM scratch
COPY . /"
    DOCKER_HOST=unix://$WORK/full engine_build -t full:1 "$WORK/app"
    build_fails_with "Dockerfile:2: 'COPY . /'" "no space left on device" "docker system prune"
}
