#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hutch snapshot on a sandbox made from an image: what it wrote becomes one more layer.

load ../lib
load ../integration/words
load ../sandbox/words
load archive_words

teardown() {
    local status=0
    hutch rm -f box >/dev/null 2>&1 || true
    rm -rf "$HUTCH_HOME/lib/images"
    [ -n "$NEEDS_GC" ] || release_pool || status=1
    teardown_world || status=1
    return $status
}

box() { # FLAG...
    make_root "$WORK/root"
    mkdir -p "$WORK/root/dir/old"
    echo old >"$WORK/root/dir/old/file"
    echo hidden >"$WORK/root/dir/gone"
    chmod 0777 "$WORK/root/dir"
    [ "$HUTCH_TEST_AS" = root ] || chown -R "$TEST_UID:$TEST_UID" "$WORK/root/dir"
    call image import -q "$WORK/root" base:1
    same "exit status of import" 0 "$status"
    world_snapshot
    create box --image base:1 "$@" -- /bin/busybox sleep 1000
}

# shellcheck disable=SC2016  # for the inside
script='busybox=/bin/busybox; $busybox rm /dir/gone; $busybox rm -r /dir/old; $busybox mkdir /dir/old; echo new >/dir/old/new; echo changed >/etc/motd'

@test "a snapshot has what was written, lacks what was removed, and the sandbox goes on" {
    needs_root
    box -u 0
    inside box "$script"
    call snapshot box snap/one:2
    same "exit status of snapshot" 0 "$status"
    same "state" running "$(state_of box)"
    hutch image export snap/one:2 | tar -tf - >"$WORK/names"
    grep -qx ./dir/old/new "$WORK/names"
    grep -qx ./etc/motd "$WORK/names"
    not grep -qxE './dir/(gone|old/file)' "$WORK/names"
    same "files of this one sandbox" "" "$(grep -xE './etc/(hosts|hostname)' "$WORK/names" || true)"
    plain --image snap/one:2 -- /bin/cat /etc/motd
    same "what a run sees" changed "$(cat "$WORK/out")"
    same "layers" 2 "$(hutch image save --format docker snap/one:2 | tar -tf - | grep -c '\.tar$')"
}

@test "owners in a snapshot are those that the sandbox saw" {
    needs_root
    box -u 1000
    inside box '/bin/busybox mkdir /tmp/x; echo mine >/tmp/x/file'
    call snapshot box snap/owners:1
    same "exit status of snapshot" 0 "$status"
    same "owner" "1000/1000" "$(hutch image export snap/owners:1 | tar --numeric-owner -tvf - | awk '$6 == "./tmp/x/file" {print $2}')"
    same "owners of what was there" "7/8" "$(hutch image export snap/owners:1 | tar --numeric-owner -tvf - | awk '$6 == "./usr/lib/" {print $2}')"
}

@test "a snapshot of a snapshot, of one that is stopped and of one that is paused" {
    needs_root
    box -u 0
    inside box 'echo 1 >/etc/step'
    call stop box
    call snapshot box snap/stopped:1
    same "stopped" 0 "$status"
    same "content" 1 "$(hutch image export snap/stopped:1 | tar -xOf - ./etc/step)"
    call start box
    inside box 'echo 2 >/etc/step'
    call pause box
    call snapshot box snap/paused:1
    same "paused" 0 "$status"
    same "state" paused "$(state_of box)"
    same "content" 2 "$(hutch image export snap/paused:1 | tar -xOf - ./etc/step)"
    call rm -f box
    create box --image snap/paused:1 -u 0 -- /bin/busybox sleep 1000
    inside box 'echo 3 >/etc/step'
    call snapshot box snap/second:1
    same "second" 0 "$status"
    same "content" 3 "$(hutch image export snap/second:1 | tar -xOf - ./etc/step)"
    same "layers" 3 "$(hutch image save --format docker snap/second:1 | tar -tf - | grep -c '\.tar$')"
}

@test "a snapshot that is killed leaves the sandbox running and no name" {
    needs_root
    local try pid
    after_kill9
    box -u 0
    inside box '/bin/busybox dd if=/dev/urandom of=/tmp/big bs=1M count=40 2>/dev/null'
    for try in 1 2 3 4 5; do
        (become "$HUTCH" snapshot box snap/killed:1 >/dev/null 2>&1) &
        pid=$!
        sleep "0.$((RANDOM % 3 + 1))"
        kill -9 "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
        hutch image rm snap/killed:1 >/dev/null 2>&1 || true
        inside box true
        same "state after try $try" running "$(state_of box)"
    done
    hutch image prune >/dev/null
    same "left" "" "$(cd "$HUTCH_HOME/lib/images" && find tmp partial -mindepth 1)"
}

@test "whoever cannot pause a sandbox stops it first, and then it is the same for everybody" {
    box
    inside box 'echo step >/tmp/step; /bin/busybox rm -f /dir/gone'
    call snapshot box snap/one:1
    if [ "$status" != 0 ]; then
        same "who cannot pause" user "$HUTCH_TEST_AS"
        refused "one that runs" "hutch stop box"
        call stop box
        call snapshot box snap/one:1
    fi
    same "exit status" 0 "$status"
    hutch image export snap/one:1 | tar --numeric-owner -tvf - >"$WORK/list"
    grep -q ' \./tmp/step$' "$WORK/list"
    not grep -q ' \./dir/gone$' "$WORK/list"
    plain --image snap/one:1 -- /bin/cat /tmp/step
    same "what a run sees" step "$(cat "$WORK/out")"
}

@test "bad names, a sandbox that is not there, and one without an image" {
    box
    call snapshot box 'Not A/Name'
    refused "a bad name" 'Not A/Name'
    call snapshot nobody snap:1
    refused "no sandbox" nobody
    call rm -f box
    create box -- sleep 1000
    # one without an image becomes a sandbox to be forked, where the pool can do that, and never an image
    call snapshot box other || grep -q '^hutch: ' "$WORK/said"
    same "names of images" base:1 "$(hutch image ls -q 2>/dev/null || hutch image ls | awk 'NR > 1 {print $1 ":" $2}')"
    hutch rm -f other >/dev/null 2>&1 || true
}
