#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Layers with content in directories that they do not mention, and that are links, files or closed in the layers below.

load ../lib
load ../integration/words
load ../sandbox/words
load archive_words

load_case() { # CASE
    "$PYTHON" "$TOP/tests/image/layers_below.py" "$WORK/layer" "$1"
    "$PYTHON" "$TOP/tests/image/make_image.py" "$WORK/$1" --layer "$WORK/layer.1" --layer "$WORK/layer.2" --compress none
    chmod -R a+rX "$WORK/$1"
    status=0
    hutch image load -q --name "$1:1" "$WORK/$1" >"$WORK/out" 2>"$WORK/said" || status=$?
}

# What the image has beneath a directory: name, kind, mode and time.
listing() { # CASE DIRECTORY
    hutch image export "$1:1" | tar -tvf - --utc --full-time --transform "s,^\./,," --show-transformed-names "./$2" | awk '{print $6, $1, $4}' | sort
}

STAMP=2001-09-09

@test "content goes where the link below leads, and nothing else changes" {
    load_case link
    same "exit status" 0 "$status"
    same "content" "usr/lib/ drwxr-xr-x $STAMP
usr/lib/a -rw-r--r-- $STAMP
usr/lib/x/ drwxr-xr-x 1970-01-01
usr/lib/x/b -rw-r--r-- $STAMP" "$(listing link usr/lib)"
    same "the link" "lib lrwxrwxrwx $STAMP" "$(listing link lib)"
}

@test "directories that deny writing are no hindrance, and stay as they are" {
    local name
    for name in closed-moved closed-target closed-parent closed-top closed-both; do
        load_case "$name"
        same "exit status of $name: $(cat "$WORK/said")" 0 "$status"
        same "the link in $name" "lib lrwxrwxrwx $STAMP" "$(listing "$name" lib)"
    done
    same "moved" "usr/lib/x/ dr-xr-xr-x $STAMP
usr/lib/x/a -rw-r--r-- $STAMP" "$(listing closed-moved usr/lib/x)"
    same "target" "usr/ dr-xr-xr-x $STAMP
usr/lib/ dr-xr-xr-x $STAMP
usr/lib/a -rw-r--r-- $STAMP" "$(listing closed-target usr)"
    same "parent" "usr/ dr-xr-xr-x $STAMP
usr/lib/ drwxr-xr-x $STAMP
usr/lib/a -rw-r--r-- $STAMP" "$(listing closed-parent usr)"
    same "both" "usr/lib/x/ dr-xr-xr-x $STAMP
usr/lib/x/a -rw-r--r-- $STAMP
usr/lib/x/b -rw-r--r-- $STAMP" "$(listing closed-both usr/lib/x)"
}

@test "a FIFO below is hidden as any file" {
    load_case fifo
    same "exit status: $(cat "$WORK/said")" 0 "$status"
    same "content" "lib/ drwxr-xr-x 1970-01-01
lib/a -rw-r--r-- $STAMP" "$(listing fifo lib)"
}

@test "links that climb up and down without end cost nothing" {
    local before=$SECONDS name
    for name in climbing climbing-passwd; do
        load_case "$name"
        same "exit status of $name" 0 "$status"
    done
    status=0
    hutch run --image climbing-passwd:1 -u bob -- /a 2>"$WORK/said" || status=$?
    same "exit status" 125 "$status"
    grep -q "'bob'" "$WORK/said"
    [ $((SECONDS - before)) -lt 12 ] || { echo "it took $((SECONDS - before)) s" >&2 && return 1; }
}

@test "a layer on more links than anybody needs is refused" {
    load_case many
    refused many 'more than 1000 of its directories are links'
    same "names" "" "$(refs)"
}

@test "a name that cannot be written leaves no directory behind" {
    needs_root
    load_case link
    mkdir -p "$WORK/small"
    # shellcheck disable=SC2016  # for the inner shell
    unshare -m --propagation private bash -c '
        mount -t tmpfs -o size=1m none "$1" && export HUTCH_HOME=$1 && "$2" image load -q --name link:1 "$3" >/dev/null || exit 1
        dd if=/dev/zero of="$1/fill" bs=4k 2>/dev/null
        "$2" image tag link:1 ghcr.io/other/name:1; echo "$?" >"$4/tag"
        find "$1/lib/images/refs" -name ghcr.io >"$4/left"' - "$WORK/small" "$HUTCH" "$WORK/link" "$WORK" 2>"$WORK/said"
    same "exit status" 125 "$(cat "$WORK/tag")"
    same "left" "" "$(cat "$WORK/left")"
}
