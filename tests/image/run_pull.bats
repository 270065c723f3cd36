#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run and create with images that have to be fetched, and images that are taken away while they are in use.

# shellcheck disable=SC2016  # much is expanded inside

load ../lib
load ../integration/words
load ../sandbox/words
load registry
load pull_words
load images

setup() {
    setup_world
    setup_registries
}

teardown() {
    registry_stop
    [ -z "${BATS_TEST_COMPLETED:-}" ] || release_pool
    forget_images
    teardown_world
}

@test "run fetches an image that is missing, once; only the command is on standard output" {
    registry_start r
    registry_fill "$(busybox_image)" box:1
    plain --image "$REGISTRY/box:1" -- sh -c 'echo $FROM_IMAGE; echo err >&2'
    same "exit status" 0 "$status"
    same "standard output" yes "$(cat "$WORK/out")"
    [ "$(wc -l <"$WORK/said")" -gt 1 ] # it has told of the pull
    registry_stop
    plain --image "$REGISTRY/box:1" -- sh -c 'echo again; echo err >&2'
    same "without the registry" again "$(cat "$WORK/out")"
    same "standard error" err "$(cat "$WORK/said")"
    result --image "$REGISTRY/box:1" -- echo json
    same "as JSON" json "$(field .stdout)"
}

@test "always asks for the newest, missing is content with what is there, never with nothing else" {
    registry_start r
    tree a
    local base
    base=$(busybox_image)
    registry_fill "$base" box
    plain --image "$REGISTRY/box" -- echo one
    same "exit status" 0 "$status"
    cp -r "$(dirname "$(command -v busybox)")/busybox" "$WORK/a/true"
    make_image other --layer "$WORK/a"
    registry_fill "$WORK/other" box
    plain --image "$REGISTRY/box" -- ls -d /a
    same "missing: still the first" 1 "$status"
    plain --image "$REGISTRY/box" --pull never -- true
    same "never" 0 "$status"
    plain --image "$REGISTRY/box" --pull always -- /true
    same "always" 0 "$status"
    same "the digest is the new one" "$(manifest_digest_of "$WORK/other")" "$(hutch image inspect "$REGISTRY/box" | jq -r '.digest // .Digest')"
}

@test "a pull that fails is one sentence and 125, also as JSON, and leaves nothing" {
    registry_start r
    plain --image "$REGISTRY/nothing:here" -- true
    same "exit status" 125 "$status"
    says "which" "nothing"
    same "sentences" 1 "$(grep -c '^hutch: ' "$WORK/said")"
    not grep -q 'hutch: hutch:' "$WORK/said"
    result --image "$REGISTRY/nothing:here" -- true
    same "exit status" 125 "$status"
    holds "it names the image" '.error.message | contains("nothing")'
    call create --name box --image "$REGISTRY/nothing:here"
    same "exit status of create" 125 "$status"
    same "sandboxes" "" "$(hutch ls -q)"
}

@test "a signal ends a run that is still fetching" {
    hostile_start "$(busybox_image)"
    start --image "$HOSTILE/stall:latest" -- true 2>"$WORK/said"
    local pid=$!
    sleep 2
    kill -TERM "$pid" # it is still at it
    status=0
    wait "$pid" || status=$?
    same "exit status" 125 "$status"
    says "why" "the pull was ended"
    until_true 5 none_bears "$HOSTILE/stall"
}

pruned_all() { hutch image prune >"$WORK/pruned" 2>&1 && [ -z "$(ls "$HUTCH_HOME/lib/images/layers")" ]; }

@test "create fetches too, and prune takes neither the image of a sandbox nor that of a run" {
    registry_start r
    registry_fill "$(busybox_image)" box
    call create --name box --image "$REGISTRY/box"
    same "exit status of create" 0 "$status"
    hutch run --image "$REGISTRY/box" -- sh -c 'echo up; sleep 3; ls / >/dev/null && echo alive' >"$WORK/up" &
    local run=$!
    until_true 10 grep -q up "$WORK/up"
    hutch image rm "$REGISTRY/box"
    hutch image prune >"$WORK/pruned" 2>&1
    wait "$run"
    same "the run" "up alive" "$(tr '\n' ' ' <"$WORK/up" | sed 's/ $//')"
    same "the sandbox" yes "$(inside box 'echo $FROM_IMAGE')"
    if [ "$HUTCH_TEST_AS" = root ]; then
        call stop box
        hutch image prune >"$WORK/pruned" 2>&1
        call start box
        same "exit status of start" 0 "$status"
        same "after a prune at rest" yes "$(inside box 'echo $FROM_IMAGE')"
    fi
    hutch rm -f box
    until_true 10 pruned_all # its keeper holds the image to its own end, a moment after the answer
}

@test "a sandbox by digest alone keeps its image" {
    local digest
    digest=$(base_image base 'config(cmd=[])')
    call create --name box --image "$digest"
    same "exit status" 0 "$status"
    hutch image rm base
    hutch image prune >"$WORK/pruned" 2>&1
    same "it lives" hello "$(inside box 'cat /etc/motd')"
    hutch rm -f box
}
