# SPDX-License-Identifier: Apache-2.0
# What the suites about archives of images say often. Loaded after ../lib.bash, ../integration/words.bash and ../sandbox/words.bash.
#
# shellcheck shell=bash
# shellcheck disable=SC2034  # the tests read them

setup() { setup_world; }

# Whatever a test made in the store, nothing of it is work under way, and a prune takes all of it.
teardown() {
    local status=0 images=$HUTCH_HOME/lib/images left
    if [ -d "$images" ] && [ -n "${BATS_TEST_COMPLETED:-}" ]; then
        [ -n "$NEEDS_GC" ] || [ -z "$(ls "$images/tmp")" ] || { echo "work under way is left" >&2 && status=1; }
        hutch image prune --all >/dev/null || status=1
        left=$(find "$images" -mindepth 2 \( -type f -o -path '*/layers/*' -o -path '*/tmp/*' \))
        [ -z "$left" ] || { printf 'a prune leaves:\n%s\n' "$left" >&2 && status=1; }
    fi
    rm -rf "$images"
    teardown_world || status=1
    return $status
}

# --- trees --------------------------------------------------------------------------------------------------------------------

# A small root with one of everything that a tree can have.
make_root() { # DIRECTORY
    local root=$1 long
    mkdir -p "$root"/{bin,etc,tmp,usr/lib,var/empty}
    cp /bin/busybox "$root/bin/busybox"
    ln -s busybox "$root/bin/sh"
    ln -s /bin/busybox "$root/bin/cat"
    ln "$root/bin/busybox" "$root/bin/ls"
    printf 'root:x:0:0::/:/bin/sh\nbob:x:1000:1000::/:/bin/sh\n' >"$root/etc/passwd"
    long=$(printf 'n%.0s' {1..200})
    mkdir -p "$root/usr/$long/$long"
    echo deep >"$root/usr/$long/$long/$long"
    printf 'x' >"$root/usr/with space and ümlaut"
    truncate -s 3M "$root/usr/lib/sparse"
    printf 'end' | dd of="$root/usr/lib/sparse" bs=1 seek=2000000 conv=notrunc status=none
    mkfifo "$root/var/fifo"
    chmod 1777 "$root/tmp"
    chmod 0500 "$root/var/empty"
    setfattr -n user.note -v 'kept' "$root/etc/passwd" 2>/dev/null || true
    touch -h -d '2001-02-03 04:05:06.789012345' "$root/bin/sh" "$root/etc/passwd"
    if [ "$HUTCH_TEST_AS" = root ]; then
        chown 7:8 "$root/usr/lib"
        chown 3000000000:70000 "$root/usr/with space and ümlaut"
        chown -h 5:6 "$root/bin/cat"
        chmod 4755 "$root/bin/busybox"
    else
        chown -R "$TEST_UID:$TEST_UID" "$root"
    fi
    touch -d '2010-01-01 00:00:00' "$root"/{,bin,etc,tmp,usr,usr/lib,var,var/empty}
}

# A line for everything: name, kind, mode, owner, time, links, content, attributes.
tree_state() { # DIRECTORY
    (
        cd "$1" || exit 1
        find . -printf '%P|%y|%m|%U:%G|%T@|%l|%n\n' | sort
        find . -type f -exec sha256sum {} + | sort
        find . -type f -links +1 -printf '%i %P\n' | sort | awk '{print ($1 == last) ? "same inode" : "new inode", $2; last = $1}'
        getfattr -R -d -m '^user\.' --absolute-names . 2>/dev/null | grep -v '^$' | sort
    )
}

# The same without what an ordinary user cannot give.
tree_state_of_user() { tree_state "$1" | sed -E 's/^([^|]*\|[^|]*\|[^|]*\|)[0-9]+:[0-9]+/\1-/'; } # DIRECTORY

# --- the others ---------------------------------------------------------------------------------------------------------------

# With stores of its own below $WORK; runc and limits of its own, for there may be less than podman asks for.
podman_here() { # ARGUMENT...
    podman --root "$WORK/podman" --runroot "$WORK/podman-run" --storage-driver vfs --cgroup-manager cgroupfs --runtime runc "$@"
}

podman_run() { # IMAGE COMMAND...
    podman_here run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=200:200 "$@"
}

refs() { find "$HUTCH_HOME/lib/images/refs" -type f 2>/dev/null; }

# One line that begins as every failure does, and no name for what it was about.
refused() { # WHAT [PATTERN]
    same "exit status of $1" 125 "$status"
    same "lines about $1" 1 "$(wc -l <"$WORK/said")"
    grep -q '^hutch: ' "$WORK/said" || { echo "$1: $(cat "$WORK/said")" >&2 && return 1; }
    [ -z "${2:-}" ] || grep -qE "$2" "$WORK/said" || { echo "$1: «$(cat "$WORK/said")» does not say $2" >&2 && return 1; }
}
