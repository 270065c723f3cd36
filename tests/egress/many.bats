#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Many sandboxes, each with a gateway of its own: none hears of another's names, none is kept waiting by one that floods.
# HUTCH_TEST_GATEWAYS says how many.

load ../lib
load ../integration/words
load ../sandbox/words
load upstream

setup_file() { upstream_start; }
teardown_file() { upstream_stop; }

@test "500 sandboxes, 100 of them busy, one that floods: no cross-talk, and nobody waits for it" {
    there /usr/bin/python3 -B "$EGRESS_TESTS/many.py" "$HUTCH" "$EGRESS_TESTS/inside" "${HUTCH_TEST_GATEWAYS:-500}" \
        >"$WORK/out" 2>"$WORK/said" || { tell && return 1; }
    cat "$WORK/out" >&3
    # each host was asked only for what its own sandbox asked
    same "hosts that heard of another's token" 0 "$(reached_count '.event == "request" and (.line | test("/token")) and
        ((.headers | map(select(.[0] == "Host")) | .[0][1]) as $host | .line | test("/token/\($host)[ /]") | not)')"
    questions | grep -vE '^(box[0-9]+\.many|stream)\.hutch\.test$' >"$WORK/complaints" || true
    nothing_wrong "$WORK/complaints"
}
