# SPDX-License-Identifier: Apache-2.0
# What the suites of the policy say often. Loaded after ../lib.bash and ../integration/words.bash, and
# where sandboxes stay ../sandbox/words.bash.
#
# shellcheck shell=bash
# shellcheck disable=SC2034  # status is read by the tests

# The policy of this test, from standard input: $HUTCH_POLICY names it. JSON is read by the small program itself.
policy() { # [NAME]
    export HUTCH_POLICY=$WORK/${1:-policy.yml}
    cat >"$HUTCH_POLICY"
    chmod 644 "$HUTCH_POLICY"
}

# Any verb: $WORK/out, $WORK/said, the exit status in $status.
call() { # VERB ARG...
    status=0
    hutch "$@" >"$WORK/out" 2>"$WORK/said" || status=$?
}

allowed() { # VERB ARG...
    call "$@"
    same "exit status of hutch $*" 0 "$status"
}

# Refused by this rule, which stands in this line of the policy.
refused() { # RULE LINE VERB ARG...
    call "${@:3}"
    same "exit status of hutch ${*:3}" 125 "$status"
    grep -qF "rule '$1' of " "$WORK/said" || { echo "rule '$1' is not named" >&2 && tell && return 1; }
    grep -qF "$HUTCH_POLICY:$2" "$WORK/said" || { echo "line $2 is not named" >&2 && tell && return 1; }
    same "lines said" 1 "$(wc -l <"$WORK/said")"
}

# A field of what a run would become.
becomes() { # JQ-PATH FLAG...
    hutch run --dry-run "${@:2}" -- true 2>"$WORK/said" | jq -c "$1"
}

# A file that is no policy: what is said about it, and that nothing runs under it.
broken() { # PATTERN
    call policy check "$HUTCH_POLICY"
    same "exit status of policy check" 125 "$status"
    grep -qE -- "$1" "$WORK/said" || { echo "expected: $1" >&2 && tell && return 1; }
    call run -- touch /ran
    same "exit status of a run under it" 125 "$status"
    grep -qE -- "$1" "$WORK/said" || { echo "of run expected: $1" >&2 && tell && return 1; }
}
