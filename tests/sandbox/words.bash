# SPDX-License-Identifier: Apache-2.0
# What the suites of sandboxes that stay say often. Loaded after ../lib.bash and ../integration/words.bash.
#
# shellcheck shell=bash
# shellcheck disable=SC2034  # status and the files are read by the tests

FIXTURES=$TOP/tests/sandbox/fixtures
TERMINALS=$TOP/tests/integration/fixtures
CREATE_FLAGS=("${RUN_FLAGS[@]}")

# --- asking hutch -----------------------------------------------------------------------------------------------------------

# Any verb: $WORK/out, $WORK/said, the exit status in $status.
call() { # VERB ARG...
    status=0
    hutch "$@" >"$WORK/out" 2>"$WORK/said" || status=$?
}

# With --json where the verb has it: $WORK/json.
call_json() { # VERB ARG...
    status=0
    hutch "$1" --json "${@:2}" >"$WORK/json" 2>"$WORK/said" || status=$?
}

create() { # NAME FLAG... [-- COMMAND...]
    call create --name "$@"
    same "exit status of create" 0 "$status"
    same "what create prints" "$1" "$(cat "$WORK/out")"
}

inside() { hutch exec "$1" -- sh -c "$2"; } # NAME SCRIPT

state_of() { hutch inspect "$1" | jq -r .state; }
reason_of() { hutch inspect "$1" | jq -r .reason; }
is() { [ "$(state_of "$1" 2>/dev/null)" = "$2" ]; } # NAME STATE
is_gone() { ! hutch inspect "$1" >/dev/null 2>&1; }
home_of() { echo "$HUTCH_HOME/lib/sandboxes/$1"; }

# bats takes no notice of a plain "!".
not() { # COMMAND...
    if "$@"; then
        echo "this must not succeed: $*" >&2
        return 1
    fi
}

# --- its processes, as the host sees them ------------------------------------------------------------------------------------

# The keeper: whoever holds the lock of the home and is called so.
keeper_of() { # NAME
    local inode pid
    inode=$(stat -c %i "$(home_of "$1")/lock") || return 1
    for pid in $(candidates); do
        [ "$(cat "/proc/$pid/comm" 2>&1)" = hutch-keeper ] || continue
        find "/proc/$pid/fd" -lname "$(home_of "$1")/lock" -printf "$pid\n" -quit 2>/dev/null | grep . && return 0
    done
    return 1
}
init_inside() { init_of "$(keeper_of "$1")"; }

# Everything below a process, itself included.
tree_of() { # PID
    local child
    echo "$1"
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do tree_of "$child"; done
}

# Processes anywhere whose arguments contain the word, zombies left out.
bearing() { # WORD
    local file
    for file in $(grep -lsa "$1" /proc/[0-9]*/cmdline); do
        [ "$file" = "/proc/$$/cmdline" ] || [ "$file" = "/proc/$BASHPID/cmdline" ] || echo "${file//[!0-9]/}"
    done
}
none_bears() { [ -z "$(bearing "$1")" ]; }
some_bears() { [ -n "$(bearing "$1")" ]; }
# A word that no other process on this machine carries.
marker() { echo "marker-$$-$BATS_TEST_NUMBER${1:-}"; }

# --- every test ---------------------------------------------------------------------------------------------------------------

needs_disk() { [ "$HUTCH_TEST_AS" = root ] || skip "an ordinary user's sandbox has its files in memory"; }
needs_groups() { [ "$HUTCH_TEST_AS" != user ] || skip "an ordinary user without delegated cgroups has none to freeze or limit"; }

# What a failed test has left ends with it; what a good one left is a failure. The pool's mount stays until a sweep finds it
# empty: that is not something left behind.
teardown() {
    local left name
    left=$(jobs -p)
    # shellcheck disable=SC2086
    [ -z "$left" ] || kill -KILL $left 2>/dev/null || true
    wait
    if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
        for name in $(hutch ls -q 2>/dev/null); do hutch rm -f "$name" >/dev/null 2>&1 || true; done
        hutch gc >/dev/null 2>&1 || true
        leave_groups
        return 0
    fi
    [ -n "$NEEDS_GC" ] || release_pool
    teardown_world
}

release_pool() {
    local swept
    swept=$(hutch gc)
    # the pool's file system ends a while after its mount when much was removed from it
    until_true 10 eval '! grep -qs "^$HUTCH_HOME/" /sys/block/loop*/loop/backing_file'
    case $swept in
    "nothing to remove" | "removed mount quota pool") ;;
    *)
        printf 'a sweep found something:\n%s\n' "$swept" >&2
        return 1
        ;;
    esac
}
