# SPDX-License-Identifier: Apache-2.0
# What the integration suites say often. Loaded after ../lib.bash.
#
# shellcheck shell=bash
# shellcheck disable=SC2034  # status and the files are read by the tests

RUN_FLAGS=()
[ "$HUTCH_TEST_AS" != user ] || RUN_FLAGS=(--allow-missing memory --allow-missing cpus)
PYTHON=/usr/bin/python3

# --- running ----------------------------------------------------------------------------------------------------------------

# Replaces this (sub)shell by a command that runs as the test's user, so that the pid in $! is the command's own. SIGINT, which a
# shell makes its background jobs ignore, is back to its default, and bats's own descriptor is closed.
become() { # COMMAND...
    local drop=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups)
    [ "$HUTCH_TEST_AS" != root ] || drop=()
    exec "${drop[@]}" env --default-signal=INT,QUIT "$@" 3>&-
}

caller() { (become "$@"); }                                # COMMAND...
start() { become "$HUTCH" run "${RUN_FLAGS[@]}" "$@" & }    # FLAG... -- COMMAND...; its pid is $!

# Runs with --json: the result is in $WORK/json, what hutch said in $WORK/said, the exit status in $status.
result() { # FLAG... -- COMMAND...
    status=0
    hutch run --json "$@" >"$WORK/json" 2>"$WORK/said" || status=$?
}

# The same without --json: $WORK/out and $WORK/said.
plain() { # FLAG... -- COMMAND...
    status=0
    hutch run "$@" >"$WORK/out" 2>"$WORK/said" || status=$?
}

# --- asking -----------------------------------------------------------------------------------------------------------------

field() { jq -r "$1" "$WORK/json"; } # JQ-PATH

same() { # WHAT EXPECTED ACTUAL
    [ "$2" = "$3" ] && return 0
    printf '%s: expected «%s», got «%s»\n' "$1" "$2" "$3" >&2
    tell
    return 1
}

between() { # WHAT LEAST MOST ACTUAL
    case $4 in
    '' | *[!0-9]*) ;;
    *) [ "$4" -ge "$2" ] && [ "$4" -le "$3" ] && return 0 ;;
    esac
    printf '%s: expected %s to %s, got «%s»\n' "$1" "$2" "$3" "$4" >&2
    tell
    return 1
}

# The same of a time. A sanitizer's program may take several times as long (tests/sanitize).
in_time() { # WHAT LEAST MOST ACTUAL
    by_the_clock
    between "$1" "$2" $(($3 * ${HUTCH_TEST_SLOWER:-1})) "$4"
}

# The same of memory, which is not a program's own where a sanitizer keeps its books.
of_memory() { # WHAT LEAST MOST ACTUAL
    [ -n "${HUTCH_TEST_SLOWER:-}" ] || between "$@"
}

holds() { # WHAT JQ-CONDITION: about the result
    [ "$(jq "$2" "$WORK/json")" = true ] && return 0
    printf '%s: not so: %s\n' "$1" "$2" >&2
    tell
    return 1
}

says() { # WHAT PATTERN: on standard error
    grep -qE -- "$2" "$WORK/said" && return 0
    printf '%s: expected words like «%s»\n' "$1" "$2" >&2
    tell
    return 1
}

nothing_wrong() { # FILE: collects complaints, one a line
    [ ! -s "$1" ] && return 0
    cat "$1" >&2
    return 1
}

tell() {
    local file
    for file in json out said; do
        [ ! -f "$WORK/$file" ] || [ ! -s "$WORK/$file" ] || { echo "--- $file" && head -c 2000 "$WORK/$file"; } >&2
    done
}

# The end of a run, in one line.
ended() { # REASON EXIT-CODE SIGNAL
    same reason "$1" "$(field .reason)"
    same exit_code "$2" "$(field .exit_code)"
    same signal "$3" "$(field .signal)"
    same "exit status of hutch" "$2" "$status"
}

# hutch's own failure: the exit status, and one sentence on one line.
refused() { # EXIT-STATUS PATTERN
    same "exit status of hutch" "$1" "$status"
    same "lines on standard error" 1 "$(grep -c '' "$WORK/said")"
    says "the sentence" "^hutch: "
    says "the sentence" "$2"
}

# --- time and processes ----------------------------------------------------------------------------------------------------

now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

until_true() { # SECONDS COMMAND...: waits for it
    local end=$((SECONDS + $1 + 1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || { by_the_clock && return 1; }
        sleep 0.02
    done
}

# The sandbox's PID 1, as the host sees it.
init_of() { # PID-OF-HUTCH
    local child
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        ! is_init "/proc/$child" || echo "$child"
    done
}
