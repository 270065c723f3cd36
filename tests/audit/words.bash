# SPDX-License-Identifier: Apache-2.0
# What the suite of the audit says often. Loaded after ../lib.bash, ../integration/words.bash and ../sandbox/words.bash.
#
# shellcheck shell=bash
# shellcheck disable=SC2034  # status and the files are read by the tests

JOURNAL=lib/audit

# Every event, one a line of $WORK/events.
events() { # FLAG...
    hutch audit --json "$@" >"$WORK/json"
    jq -c '.events[]' "$WORK/json" >"$WORK/events"
}

# How many there are of which this is true.
count_of() { jq -s "map(select($1)) | length" "$WORK/events"; } # JQ-CONDITION

has() { # WHAT TIMES JQ-CONDITION
    [ "$(count_of "$3")" = "$2" ] && return 0
    printf '%s: expected %s times, got %s: %s\n' "$1" "$2" "$(count_of "$3")" "$3" >&2
    cut -c 1-600 "$WORK/events" | tail -n 30 >&2
    return 1
}

verifies() {
    status=0
    hutch audit --verify >"$WORK/out" 2>"$WORK/said" || status=$?
    same "exit status of --verify" 0 "$status"
}

# --verify fails, and names this.
finds() { # WHAT PATTERN
    status=0
    hutch audit --verify >"$WORK/out" 2>"$WORK/said" || status=$?
    same "exit status of --verify with $1" 125 "$status"
    grep -qE -- "$2" "$WORK/out" && return 0
    printf '%s: expected a fault like «%s»\n' "$1" "$2" >&2
    tell
    return 1
}
