#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Images: what their layers and configurations plant leads nowhere, and a sandbox on an image is as tight as any other.

load ../lib
load ../integration/words
load words
load ../image/images

# --- posture ------------------------------------------------------------------------------------------------------------------

# Hidden is what differs by nature: the names of the lower directories.
posture_on() { # FLAG...
    hutch run --mount "$WORK/bin:/probe:ro" "$@" -- /probe/posture | sed -E 's/lowerdir=[^ ,]*/lowerdir/; s| $||'
}

@test "the posture on an image is exactly that on a root filesystem of the same files" {
    needs_busybox
    local root
    mkdir -p "$WORK/bin" && cp "$POSTURE" "$WORK/bin/posture" && chmod -R 755 "$WORK/bin"
    root=$(make_rootfs root)
    image same >/dev/null <<<"layer(tree('$root'))"
    world_snapshot
    local user
    for user in 1000:1000 0 1234; do
        posture_on --rootfs "$root" -u "$user" >"$WORK/on-rootfs"
        between "facts" 100 400 "$(wc -l <"$WORK/on-rootfs")"
        posture_on --image same -u "$user" | diff -u "$WORK/on-rootfs" -
    done
}

@test "an image whose user is root has a root who is nobody on the host" {
    base_image rooted 'config(user="root")' >/dev/null
    result --image rooted -- sh -c 'id -u; cat /proc/self/uid_map; grep CapEff /proc/self/status; mount -t tmpfs x /tmp 2>/dev/null && echo MOUNTED; true'
    same "who" 0 "$(field .stdout | sed -n 1p)"
    same "of the host's ids, root is not one" "" "$(field .stdout | awk 'NF == 3 && $2 == 0')"
    same "capabilities" "0000000000000000" "$(field .stdout | awk '/CapEff/ {print $2}')"
    not grep -q MOUNTED "$WORK/json"
}

# --- planted names ------------------------------------------------------------------------------------------------------------

# Every name that hutch makes, opens, mounts on or reads in an image.
PLANTED=(dev proc sys etc tmp var var/tmp run home root workspace artifacts dev/null dev/pts dev/shm etc/hosts etc/hostname
    etc/passwd etc/group home/bob home/user proc/self app app/deep extra extra/target)

plant_everywhere() { # TARGET
    local name
    base_image >/dev/null # its busybox is layer 1
    user_dir ws >/dev/null
    user_dir art >/dev/null
    user_dir src >/dev/null
    plant_canary canary >/dev/null
    for name in "${PLANTED[@]}"; do
        image planted >/dev/null <<EOF
again("1")
layer({"$name": Link("$1")})
config(env=["PATH=/bin"], user="1234:1234", workdir="/app/deep/er")
EOF
        layers_state >"$WORK/layers.before"
        plain --image planted --workspace "$WORK/ws" --artifacts "$WORK/art" --tmpfs /extra/tmpfs --mount "$WORK/src:/extra/target" \
            --timeout 20s -- sh -c 'for d in tmp etc dev artifacts home/user home/bob var/tmp run extra workspace app/deep; do echo x >/$d/x; done; true'
        [ "$status" -ne 124 ]
        plain --image planted -u bob --timeout 20s -- sh -c 'for d in tmp etc dev root app; do echo x >/$d/x; done; true'
        [ "$status" -ne 124 ]
        canary_lives canary || { echo "by a link at $name" >&2 && return 1; }
        layers_state | diff "$WORK/layers.before" - >&2 || { echo "a layer was changed, with a link at $name" >&2 && return 1; }
    done
}

@test "symlinks to the host planted in a layer at any name that hutch touches never lead out" {
    plant_everywhere "$WORK/canary"
}

@test "symlinks that climb out of a layer never lead out" {
    plant_everywhere "../../../../../../../../../..$WORK/canary"
}

@test "symlinks to a file of the host planted in a layer never lead to it" {
    plant_everywhere "$WORK/canary/file"
}

@test "users are looked up in the image alone, whatever its passwd is a link to" {
    local target
    for target in /proc/self/root/etc/passwd "$TOP/../../../../../../etc/passwd" /etc/passwd ../../../../../../etc/passwd /proc/1/root/etc/passwd; do
        image links >/dev/null <<EOF
layer(busybox())
layer({"etc/passwd": Link("$target"), "etc/group": Link("$target")})
config(env=["PATH=/bin"])
EOF
        plain --image links -u nobody -- true # every host has one
        same "exit status with a link to $target" 125 "$status"
        plain --image links -u 7 -- id -u
        same "by number" 7 "$(cat "$WORK/out")"
    done
    image links >/dev/null <<'EOF'
layer(busybox())
layer({"etc/passwd": Link("../srv/users"), "srv/users": "eve:x:66:66::/:/bin/sh\n"})
config(env=["PATH=/bin"])
EOF
    plain --image links -u eve -- id -u
    same "a link inside the image" 66 "$(cat "$WORK/out")"
}

@test "labels, volumes and odd names in a configuration reach nothing" {
    plant_canary canary >/dev/null
    base_image odd "config(labels=['a=\$(touch $WORK/canary/x)', 'org.opencontainers.image.source=$WORK/canary'],
                           entrypoint=['sh', '-c', 'echo \"\$0\"', '\$(touch $WORK/canary/y)'], cmd=[],
                           env=['PATH=/bin', 'LD_PRELOAD=$WORK/canary/x.so', 'HUTCH_HOME=$WORK/canary', 'HUTCH_PROGRAM=$WORK/canary/x'],
                           workdir='/\$(touch $WORK/canary/z)')" >/dev/null
    plain --image odd
    same "what it says" "\$(touch $WORK/canary/y)" "$(cat "$WORK/out")"
    canary_lives canary
}

# --- subordinate ids ----------------------------------------------------------------------------------------------------------

with_subids() { # COMMAND...
    printf '%s:300000:65536\n' "$TEST_UID" >"$WORK/subid"
    unshare -m --propagation private sh -c 'mount --bind "$1" /etc/subuid && mount --bind "$1" /etc/subgid && shift && exec "$@"' \
        sh "$WORK/subid" "$@"
}

@test "with subordinate ids an ordinary user's image is the command's own, and every id is there" {
    [ "$HUTCH_TEST_AS" = user ] || skip "about ordinary users"
    [ -x /usr/bin/newuidmap ] && [ -e /etc/subuid ] && [ -e /etc/subgid ] || skip "needs newuidmap"
    grep -q "^[^:]*:[^:]*:$TEST_UID:" /etc/passwd || skip "needs a name for uid $TEST_UID"
    local user
    base_image >/dev/null
    layers_state >"$WORK/layers.before"
    for user in 1000 0 65535 bob; do
        with_subids setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups "$HUTCH" run "${RUN_FLAGS[@]}" --json --image base -u "$user" -- \
            sh -c 'stat -c %u /etc/motd; id -u; echo x >/etc/motd; cat /etc/motd; wc -l </proc/self/uid_map; rm -r /dir/a && mkdir /dir/a && ls /dir/a' >"$WORK/json" || tell
        same "exit status of -u $user" "exited 0" "$(field '"\(.reason) \(.exit_code)"')"
        same "the file's owner is the command's user" "$(field .stdout | sed -n 2p)" "$(field .stdout | sed -n 1p)"
        same "it can be changed" x "$(field .stdout | sed -n 3p)"
        between "ranges" 2 3 "$(field .stdout | sed -n 4p)"
    done
    layers_state | diff "$WORK/layers.before" - >&2
}
