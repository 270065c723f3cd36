#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A Docker engine whose storage can bound what a container writes.

load ../lib
load ../integration/words
load engines

setup_file() { dockerd_for_file btrfs; }
teardown_file() { engines_stop; }

setup() {
    setup_world
    use_docker
}
teardown() { engine_teardown; }

@test "the limit is not missing, and holds for what is in memory" {
    result --backend docker --image "$IMAGE" --allow-missing inodes --disk 4m -- sh -c 'df -T /tmp | tail -n 1; head -c 20m /dev/zero >/tmp/big'
    same "reason" disk_limit "$(field .reason)"
    field .stdout | grep -q '[[:space:]]tmpfs[[:space:]]'
    same "missing" inodes "$(field '.isolation.missing | join(" ")')"
}

@test "what the engine's own storage holds is bounded too" {
    # with less memory than disk nothing of it is in memory
    result --backend docker --image "$IMAGE" --allow-missing inodes --memory 32m --disk 40m -- sh -c 'df -T /tmp | tail -n 1; cat /dev/zero >/tmp/big'
    same "reason" disk_limit "$(field .reason)"
    field .stdout | grep -q '[[:space:]]btrfs[[:space:]]'
    # whoever fails with room left has failed by himself
    result --backend docker --image "$IMAGE" --allow-missing inodes --memory 32m --disk 40m -- sh -c 'head -c 8m /dev/zero >/tmp/big; exit 3'
    same "reason" "exited 3" "$(field .reason) $(field .exit_code)"
}

@test "a sandbox that stays is bounded, and the others on its disk are not" {
    local name
    for name in one two; do
        hutch create --backend docker --image "$IMAGE" --allow-missing inodes --disk 40m --name $name
    done
    status=0
    hutch exec one -- sh -c 'cat /dev/zero >/tmp/big' >"$WORK/out" 2>&1 || status=$?
    [ "$status" -ne 0 ]
    between "bytes in it" $((20 << 20)) $((40 << 20)) "$(hutch exec one -- stat -c %s /tmp/big)"
    hutch exec two -- sh -c 'head -c 8m /dev/zero >/tmp/big'
    hutch rm -f one two
}
