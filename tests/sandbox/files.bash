# SPDX-License-Identifier: Apache-2.0
# What the suites about a sandbox's files say often. Loaded after words.bash.
#
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154

TREE=$TOP/tests/sandbox/fixtures/tree.py

# A sandbox with the largest layer that whoever runs the test can have.
DISK=()
[ "$HUTCH_TEST_AS" = root ] || DISK=(--disk 64m --inodes 20000)
box() { create "$1" "${DISK[@]}" "${@:2}"; } # NAME FLAG...

# hutch cp, which has to work and to say nothing.
copies() { # SOURCE TARGET
    call cp "$1" "$2"
    same "exit status of cp $1 $2" 0 "$status"
    same "what cp says" "" "$(cat "$WORK/said")"
}

here() { user_dir "${1:-here}"; }                                        # [NAME]: a directory of the caller's
make_tree() { caller "$PYTHON" "$TREE" make "$1"; }                      # DIR
list_tree() { "$PYTHON" "$TREE" list "$1"; }                             # DIR
list_inside() { hutch exec -i "$1" -- "$PYTHON" - list "$2" <"$TREE"; } # NAME DIR

same_lists() { # WHAT FILE FILE
    cmp -s "$2" "$3" && return 0
    echo "$1: the trees differ" >&2
    diff "$2" "$3" | head -n 20 >&2
    return 1
}

# Nothing that hutch says steers a terminal.
harmless() { # FILE
    not grep -qaP '[\x00-\x08\x0b-\x1f\x7f]' "$1"
}

# --- a canary on the host --------------------------------------------------------------------------------------------------

# A file and a directory outside, with a secret that never comes out of a copy, and that no copy touches.
plant_canary() {
    CANARY=$(here canary)
    SECRET="secret-of-the-host-$RANDOM-$RANDOM"
    echo "$SECRET" >"$CANARY/file"
    mkdir "$CANARY/dir"
    echo "$SECRET" >"$CANARY/dir/file"
    touch -d '2001-02-03 04:05:06.789' "$CANARY/file" "$CANARY/dir/file" "$CANARY/dir" "$CANARY"
    [ "$HUTCH_TEST_AS" = root ] || chown -R "$TEST_UID" "$CANARY"
    canary_state >"$WORK/canary.before"
}
canary_state() {
    find "$CANARY" -printf '%p %y %i %m %U:%G %s %TY-%Tm-%Td %TT %CT %l\n' | sort
    sha256sum "$CANARY/file" "$CANARY/dir/file"
}
canary_lives() {
    canary_state >"$WORK/canary.after"
    same_lists "the canary" "$WORK/canary.before" "$WORK/canary.after"
}
no_secret_in() { not grep -rqaF -- "$SECRET" "$@"; } # FILE...

# --- a small root ----------------------------------------------------------------------------------------------------------

small_root() { # NAME
    local dir applet
    [ -x /bin/busybox ] || skip "needs a static busybox"
    dir=$(here "$1")
    mkdir -p "$dir"/{bin,etc,proc,dev,tmp,sys,workspace,data/deep}
    cp /bin/busybox "$dir/bin/busybox"
    for applet in sh ls cat echo true id mkdir touch sleep rm mv ln chmod mkfifo cp rmdir dd printf; do
        ln -s busybox "$dir/bin/$applet"
    done
    chmod 1777 "$dir/tmp"
    echo one >"$dir/data/one"
    echo two >"$dir/data/two"
    echo three >"$dir/data/deep/three"
    ln -s one "$dir/data/link"
    [ "$HUTCH_TEST_AS" = root ] || chown -R "$TEST_UID:$TEST_UID" "$dir"
    echo "$dir"
}
