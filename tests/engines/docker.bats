#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A real Docker engine, over its socket and over TCP with TLS.

load ../lib
load ../integration/words
load engines
load ../image/registry
load ../image/bases

setup_file() {
    dockerd_for_file
    export ENGINE_LIST="env -u DOCKER_TLS_VERIFY $DOCKER --host unix://$DOCKER_SOCKET ps --all --format '{{.Names}} {{.Status}}'"
}
teardown_file() { engines_stop; }

setup() {
    setup_world
    use_docker
}
teardown() {
    [ -z "${RELAY:-}" ] || end_process "$RELAY"
    use_docker
    engine_teardown
}

@test "the contract holds on docker" {
    contract_holds docker "image=$IMAGE"
}

@test "the contract holds on docker over TCP with TLS" {
    use_docker_tls
    contract_holds docker "image=$IMAGE"
}

@test "an image of a whole system: its programs run, its user is not root" {
    tar -C "$(debian_tar)" --numeric-owner -c . | docker_cli import --change 'CMD ["bash"]' - hutch-test/debian >/dev/null
    engine_run --image hutch-test/debian -- python3 -c 'import os, sys; print(os.getuid(), sys.version_info[0])'
    same "what it said" "1000 3" "$(cat "$WORK/out" "$WORK/said")"
    # without a command the image's own
    status=0
    echo 'echo $((6 * 7)); exit 4' |
        hutch run --backend docker --image hutch-test/debian --allow-missing all -i >"$WORK/out" 2>"$WORK/said" || status=$?
    same "exit status" 4 "$status"
    same "what it said" 42 "$(cat "$WORK/out")"
}

@test "no value of a variable or secret is in the engine's records, its files or on a command line" {
    local secret=s3cret-$RANDOM$RANDOM$RANDOM id
    printf 'TOKEN=%s\n' "$secret" >"$WORK/env"
    (umask 077 && mkdir "$WORK/secrets" && printf '%s-kept' "$secret" >"$WORK/secrets/key")
    HUTCH_SECRETS=$WORK/secrets hutch create --backend docker --image "$IMAGE" --allow-missing all --name box --env-file "$WORK/env" \
        --secret key -- sh -c 'echo "$TOKEN $KEY"; sleep 1000'
    same "inside" "$secret $secret-kept" "$(hutch exec box -- sh -c 'echo "$TOKEN $KEY"')"
    id=$(docker_cli ps --quiet --no-trunc)
    [ -n "$id" ]
    docker_cli inspect "$id" >"$WORK/inspect"
    docker_cli logs "$id" >>"$WORK/inspect" 2>&1 || true # there is no log to read
    docker_cli top "$id" -o pid,args >>"$WORK/inspect"
    cat /proc/[0-9]*/cmdline >>"$WORK/inspect" 2>/dev/null || true
    same "mentions" 0 "$(grep -cF "$secret" "$WORK/inspect")"
    same "files" "" "$(grep -rlF "$secret" "$ENGINES/docker" 2>/dev/null | head)"
    hutch rm -f box
}

@test "a value travels through the stream that delivers it, and in no request to the engine" {
    local secret=s3cret-$RANDOM$RANDOM$RANDOM
    mkdir "$WORK/said-to"
    "$PYTHON" "$TOP/tests/engines/relay.py" "$WORK/relay" "$DOCKER_SOCKET" "$WORK/said-to" >"$WORK/relay.log" 2>&1 3>&- &
    RELAY=$!
    await 10 test -S "$WORK/relay"
    DOCKER_HOST=unix://$WORK/relay engine_run --env "TOKEN=$secret" -- sh -c 'echo "$TOKEN"; echo "$1"' - "argument-$secret"
    same "inside" "$secret argument-$secret" "$(xargs <"$WORK/out")"
    grep -laF "$secret" "$WORK/said-to"/* >"$WORK/with"
    same "connections with it" 1 "$(wc -l <"$WORK/with")"
    # that one is the stream of the container, and it begins with the only request in it
    same "requests" 1 "$(grep -caE '^(GET|POST|PUT|DELETE|HEAD) /' "$(cat "$WORK/with")")"
    head -n 1 "$(cat "$WORK/with")" | grep -qa '^POST /v[0-9.]*/containers/hutch-[0-9a-f]*/attach'
    # the create was seen, so this would have found it there
    grep -qaE '^POST /v[0-9.]*/containers/create' "$WORK/said-to"/*
}

@test "the posture that the engine was asked for" {
    hutch create --backend docker --image "$IMAGE" --allow-missing all --name box --memory 64m --pids 33 --label a=b
    docker_cli inspect "$(docker_cli ps --quiet)" | jq '.[0]' >"$WORK/json"
    same "network" none "$(field .HostConfig.NetworkMode)"
    same "capabilities" ALL "$(field '.HostConfig.CapDrop | join(" ")')"
    same "added" null "$(field .HostConfig.CapAdd)"
    same "privileged" false "$(field .HostConfig.Privileged)"
    same "memory" $((64 << 20)) "$(field .HostConfig.Memory)"
    same "with swap" $((64 << 20)) "$(field .HostConfig.MemorySwap)"
    field '.HostConfig.SecurityOpt[]' | grep -q '^no-new-privileges'
    same "unconfined" 0 "$(field '.HostConfig.SecurityOpt[]' | grep -c unconfined)"
    field .Config.User | grep -qE '^[1-9][0-9]*:[1-9][0-9]*$'
    same "restarts" no "$(field .HostConfig.RestartPolicy.Name)"
    same "label" box "$(field '.Config.Labels["hutch.name"]')"
    [ -n "$(field '.Config.Labels["hutch.id"]')" ]
    same "published" 0 "$(field '.HostConfig.PortBindings | length')"
    hutch rm -f box
}

@test "the words of 'hutch prefix' go before any command" {
    hutch create --backend docker --image "$IMAGE" --allow-missing all --name box
    hutch prefix box >"$WORK/prefix"
    "$PYTHON" - "$WORK/prefix" <<'END'
import json, signal, subprocess, sys
prefix = json.load(open(sys.argv[1]))
done = subprocess.run([*prefix, "sh", "-c", "cat; echo error >&2; exit 3"], input=b"\x00\xff\r\n" * 20000, capture_output=True)
assert (done.returncode, done.stdout, done.stderr) == (3, b"\x00\xff\r\n" * 20000, b"error\n"), done
assert subprocess.check_output([*prefix, "echo", "a b", "*"], text=True) == "a b *\n"
slow = subprocess.Popen([*prefix, "sh", "-c", "trap 'echo told; exit 7' TERM; echo on; while :; do sleep 0.1; done"],
                        stdout=subprocess.PIPE, text=True)
assert slow.stdout.readline() == "on\n"
slow.send_signal(signal.SIGTERM)
assert slow.communicate(timeout=20)[0] == "told\n" and slow.returncode == 7, slow.returncode
END
    hutch rm -f box
}

@test "what a container cannot do is refused, and said why" {
    local verb words
    hutch create --backend docker --image "$IMAGE" --allow-missing all --name box
    while read -r verb words; do
        status=0
        # shellcheck disable=SC2086 # a list of words
        hutch $verb $words >"$WORK/out" 2>"$WORK/said" </dev/null || status=$?
        fails_with "backend 'docker'" || { echo "hutch $verb $words" >&2 && return 1; }
    done <<'END'
exec -u 1001 box -- id
exec -u nobody box -- id
fork box other
snapshot box snap
diff box
END
    grep -qF "hutch cp" "$WORK/said"
    # itself it may name
    same "user" 1000 "$(hutch exec -u 1000 box -- id -u)"
    hutch rm -f box
}

@test "docker's contexts say which engine it is" {
    docker_cli context create near --docker "host=unix://$DOCKER_SOCKET" >/dev/null
    docker_cli context create far --docker \
        "host=$DOCKER_TCP,ca=$DOCKER_CERTS/good/ca.pem,cert=$DOCKER_CERTS/good/cert.pem,key=$DOCKER_CERTS/good/key.pem" >/dev/null
    docker_cli context create unsafe --docker "host=$DOCKER_TCP,skip-tls-verify=true" >/dev/null
    unset DOCKER_HOST
    for context in near far; do
        DOCKER_CONTEXT=$context engine_run -- echo "$context"
        same "by its name" "$context" "$(cat "$WORK/out" "$WORK/said")"
    done
    env -u DOCKER_CONTEXT "$DOCKER" context use far >/dev/null 2>&1
    engine_run -- echo chosen
    same "the one in use" chosen "$(cat "$WORK/out" "$WORK/said")"
    DOCKER_CONTEXT=unsafe engine_run -- true
    fails_with "unsafe" "certificate authority"
    DOCKER_CONTEXT=nowhere engine_run -- true
    fails_with "nowhere" "docker context ls"
    "$DOCKER" context use default >/dev/null 2>&1
    docker_cli context rm near far unsafe >/dev/null
}

@test "a keeper that was killed leaves a container, and a sweep takes it away" {
    after_kill9
    "$HUTCH" run --backend docker --image "$IMAGE" --allow-missing all -- sleep 1000 >/dev/null 2>&1 3>&- &
    local pid=$!
    disown $pid
    await 20 eval '[ -n "$(docker_cli ps --quiet)" ]'
    kill -KILL $pid
    await 20 process_gone $pid
    hutch gc
    same "containers" "" "$(docker_cli ps --all --quiet)"
}

@test "what belongs to others is never swept" {
    local id
    id=$(docker_cli create --network none "$IMAGE" true)
    hutch gc
    docker_cli inspect "$id" >/dev/null
    docker_cli rm "$id" >/dev/null
}
