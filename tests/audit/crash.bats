#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# kill -9 at a thousand moments, of everybody who writes or collects, under load.

load ../lib
load ../integration/words
load ../sandbox/words
load words

@test "kill -9 of a thousand runs at any moment: the chain verifies, and what was acknowledged is there once" {
    local program=("$HUTCH")
    [ "$HUTCH_TEST_AS" = root ] || program=(setpriv "--reuid=$TEST_UID" "--regid=$TEST_UID" --clear-groups "$HUTCH")
    after_kill9
    python3 "$TOP/tests/audit/kill_many.py" 1000 "$WORK/acknowledged" "${RUN_FLAGS[*]}" "${program[@]}"
    hutch gc >/dev/null
    verifies
    events
    between "acknowledged" 50 1000 "$(wc -l <"$WORK/acknowledged")"
    # every id that a result told: one beginning, one end
    jq -r 'select(.life) | .id + " " + .life' "$WORK/events" | sort >"$WORK/lives"
    same "what is there twice" "" "$(uniq -d "$WORK/lives")"
    same "beginnings without an end, or the other way" "" "$(cut -d ' ' -f 1 "$WORK/lives" | uniq -c | awk '$1 != 2')"
    same "acknowledged and missing" "" "$(sort -u "$WORK/acknowledged" | comm -23 - <(cut -d ' ' -f 1 "$WORK/lives" | uniq))"
    has "ends that a sweep found" "$(count_of '.reason == "keeper_died"')" '.reason == "keeper_died" and (.usage | not)'
    between "ends that a sweep found" 50 1000 "$(count_of '.reason == "keeper_died"')"
}
