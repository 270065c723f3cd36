#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What commands in the background say: recorded, read from any offset, bounded, and there after everything else has gone.

load ../lib
load ../integration/words
load words

@test "the sandbox's own command: its log, while it runs and after a stop" {
    create box -- sh -c 'echo out; echo err >&2; echo more; sleep 60'
    until_true 5 eval 'hutch logs box 2>/dev/null | grep -q more'
    call logs box
    same stdout "out more" "$(xargs <"$WORK/out")"
    same stderr err "$(cat "$WORK/said")"
    same "one stream" err "$(hutch logs --stream stderr box 2>&1 >/dev/null)"
    same "the other" "out more" "$(hutch logs --stream stdout box 2>&1 | xargs)"
    same tail more "$(hutch logs --stream stdout --tail 1 box)"
    same "from an offset" "ut more" "$(hutch logs --stream stdout --from 1 box | xargs)"
    hutch stop --grace 0s box
    same "after the stop" "out more" "$(hutch logs --stream stdout box | xargs)"
    hutch rm box
}

@test "since: what was said lately" {
    create box -- sh -c 'echo old; sleep 2; echo new; sleep 60'
    until_true 6 eval 'hutch logs box | grep -q new'
    same "the last second and a half" new "$(hutch logs --since 1500ms box)"
    hutch rm -f box
}

@test "follow: every line as it comes, until the command has ended" {
    create box -- sh -c 'for i in 1 2 3 4 5; do echo $i; sleep 0.2; done'
    same lines "1 2 3 4 5" "$(timeout 10 cat <(hutch logs -f box) | xargs)"
    hutch rm -f box
}

@test "follow: of a sandbox without a command there is nothing to wait for" {
    create box
    call logs box
    same "exit status of logs" 0 "$status"
    status=0
    caller timeout 5 "$HUTCH" logs -f box >"$WORK/out" 2>"$WORK/said" || status=$?
    same "exit status of logs -f" 0 "$status"
    same "what it shows" "" "$(cat "$WORK/out" "$WORK/said")"
    hutch rm -f box
}

@test "exec -d and --attach: all of it, the end of it, from any offset, several at once" {
    create box
    local id
    id=$(hutch exec -d box -- sh -c 'seq 1000; sleep 1; seq 1001 2000; exit 5')
    (status=0; hutch exec --attach "$id" box >"$WORK/a" 3>&- || status=$?; echo "$status" >"$WORK/a.status") &
    (status=0; hutch exec --attach "$id" --from 3893 box >"$WORK/b" 3>&- || status=$?; echo "$status" >"$WORK/b.status") &
    wait
    seq 2000 | cmp - "$WORK/a"
    seq 1001 2000 | cmp - "$WORK/b"
    same "ends" "5 5" "$(cat "$WORK/a.status" "$WORK/b.status" | xargs)"
    # again, after its end
    call exec --attach "$id" --from 8892 box
    same "its end again" 5 "$status"
    same "beyond its last byte but one" "" "$(xargs <"$WORK/out")"
    call_json exec --attach "$id" box
    ended exited 5 null
    call exec --attach 0123456789abcdef box
    same status 125 "$status"
    call exec --attach ../../log box
    same status 125 "$status"
    call exec --attach "$id" --from nonsense box
    refused 125 "is not an offset"
    hutch rm -f box
}

@test "a background child that keeps stdout open: the result is not delayed, its later output is in the log" {
    create box
    local id before
    before=$(now_ms)
    id=$(hutch exec -d box -- sh -c '(sleep 1.5; echo later) & echo now; exit 3')
    call_json exec --attach "$id" box
    in_time "ms until the result" 0 1300 $(($(now_ms) - before))
    same status 3 "$status"
    same held_pipes true "$(field .held_pipes)"
    call exec --attach "$id" box
    in_time "ms until the output so far was there" 0 1400 $(($(now_ms) - before))
    same "status again" 3 "$status"
    same "its output so far" now "$(cat "$WORK/out")"
    until_true 5 eval "hutch logs --exec $id box | grep -q later"
    same "all of it" "now later" "$(hutch logs --exec "$id" box | xargs)"
    hutch rm -f box
}

@test "logs and ends survive a kill -9 of the keeper" {
    create box
    local id other
    id=$(hutch exec -d box -- sh -c 'seq 5000; exit 4')
    call exec --attach "$id" box
    other=$(hutch exec -d box -- sh -c 'seq 777; sleep 60')
    until_true 5 eval "hutch logs --exec $other box | grep -q 777"
    kill -9 "$(keeper_of box)"
    until_true 5 eval '! is box running'
    same "reason" keeper_died "$(reason_of box)"
    hutch logs --exec "$id" box | cmp - <(seq 5000)
    hutch logs --exec "$other" box | cmp - <(seq 777)
    call exec --attach "$id" box
    same "the end that was recorded" 4 "$status"
    call exec --attach "$other" box
    same "an end that nobody saw" 125 "$status"
    says "the sentence" "its keeper died before"
    after_kill9
    hutch rm -f box
}

@test "log-limit: the oldest goes, what is lost is told, the newest is whole" {
    create box --log-limit 1m -- sh -c 'seq 1000000; sleep 60'
    until_true 20 eval 'hutch logs --tail 1 box 2>/dev/null | grep -qx 1000000'
    call logs box
    says "what is lost" "[0-9]+ bytes of output are no longer there"
    tail -n 1000 "$WORK/out" | cmp - <(seq 999001 1000000)
    between "bytes on disk" 1 2200000 "$(du -sb "$(home_of box)/log" | cut -f1)"
    hutch rm -f box
}

@test "log-limit: ten thousand logs of ended commands are the most, and an eighth goes at once" {
    local left
    create box
    mkdir -p "$(home_of box)/exec"
    (cd "$(home_of box)/exec" && seq -f %016.0f 10000 | xargs mkdir)
    [ "$HUTCH_TEST_AS" = root ] || chown -R "$TEST_UID:$TEST_UID" "$(home_of box)/exec"
    hutch exec -d box -- true >/dev/null
    left=$(find "$(home_of box)/exec" -mindepth 1 -maxdepth 1 | wc -l)
    between "left" 8000 8750 "$left"
    hutch exec -d box -- true >/dev/null
    same "left after one more" $((left + 1)) "$(find "$(home_of box)/exec" -mindepth 1 -maxdepth 1 | wc -l)"
    hutch rm -f box
}

@test "log-limit: the logs of ended commands share it, and the oldest go" {
    create box --log-limit 256k
    local ids=() id
    for _ in 1 2 3 4 5 6; do
        id=$(hutch exec -d box -- sh -c 'head -c 100000 /dev/zero | tr "\0" x')
        hutch exec --attach "$id" box >/dev/null
        ids+=("$id")
        until_true 5 eval "! hutch ps box | grep -q $id"
    done
    between "bytes on disk" 300000 400000 "$(find "$(home_of box)/exec" -type f -printf '%s\n' | awk '{n += $1} END {print n}')"
    same "the newest" 100000 "$(hutch logs --exec "${ids[5]}" box | wc -c)"
    call logs --exec "${ids[0]}" box
    refused 125 "no recorded command"
    hutch rm -f box
}

@test "reattaching loses no byte, however often the reader is killed" {
    # HUTCH_REATTACH_LINES=100000000 is 1 GiB
    create box --log-limit 2g
    user_dir fixtures >/dev/null
    cp "$FIXTURES/reattach.py" "$WORK/fixtures/"
    chmod 644 "$WORK/fixtures/reattach.py"
    caller "$PYTHON" "$WORK/fixtures/reattach.py" "$HUTCH" box "${HUTCH_REATTACH_LINES:-4000000}" 50
    hutch rm -f box
}
