#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is noted, of whom, and what is not; questions about it.

load ../lib
load ../integration/words
load ../sandbox/words
load words

@test "a run is two events: who asked for what, and how it ended with what it used" {
    status=0
    hutch run --label team=red --memory 64m -- sh -c 'exit 7' || status=$?
    same "exit status" 7 "$status"
    events
    same "events" 2 "$(wc -l <"$WORK/events")"
    local uid=0
    [ "$HUTCH_TEST_AS" = root ] || uid=$TEST_UID
    has "the beginning" 1 ".seq == 1 and .kind == \"run\" and .who.uid == $uid and .who.pid > 1 and .who.program == \"hutch\" and
        .argv == [\"sh\", \"-c\", \"exit 7\"] and .limits.memory_bytes == 67108864 and .limits.pids == 256 and
        .labels == {team: \"red\"} and .backend == \"native\" and (.id | test(\"^[0-9a-f]{16}$\")) and .life == \"begins\""
    has "the end" 1 '.seq == 2 and .kind == "end" and .of == 1 and .reason == "exited" and .exit_code == 7 and .usage.cpu_us > 0 and .duration_ms >= 0'
    same "ids" 1 "$(jq -r .id "$WORK/events" | sort -u | wc -l)"
    has "times" 2 '.time | test("^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{6}Z$")'
    verifies
}

@test "the id in a result is that of its events" {
    result -- true
    local id
    id=$(field .id)
    events
    has "events of this id" 2 ".id == \"$id\""
}

@test "what could not be set up has an end that says so" {
    plain -- /no/such/program
    events
    has "the end" 1 '.kind == "end" and .of == 1 and .reason == "setup_failed" and .exit_code == 127 and .error == "no_command"'
    plain --rootfs /no/such/root -- true
    events
    has "an end for each beginning" "$(count_of '.life == "begins"')" '.life == "ends"'
}

@test "all that is done to a sandbox is noted, with who did it" {
    create box --label team=blue -- sleep 1000
    hutch exec box -- echo inside
    hutch exec box -- sh -c 'exit 3' || true
    hutch exec box -- /no/such/program || true
    echo x >"$WORK/file" && chmod 644 "$WORK/file"
    hutch cp "$WORK/file" box:/tmp/file
    hutch cp box:/tmp/file "$(user_dir copies)/file"
    hutch update box --idle-timeout 1h
    call pause box
    [ "$status" != 0 ] || hutch resume box
    local paused=$status
    hutch stop box
    hutch start box || true
    hutch rm -f box
    events
    has create 1 '.kind == "create" and .name == "box" and .argv == ["sleep", "1000"] and .labels.team == "blue" and .who.program == "hutch"'
    has exec 1 '.kind == "exec" and .argv == ["echo", "inside"] and .who.program == "hutch"'
    has "its end" 1 '.kind == "exec_end" and .reason == "exited" and .exit_code == 0'
    has "the end of another" 1 '.kind == "exec_end" and .exit_code == 3'
    has "the end of one that could not be executed" 1 '.kind == "exec_end" and .error == "no_command"'
    has "an end for each exec" 3 '.kind == "exec_end" and .exec'
    has "a copy in" 1 ".kind == \"copy_in\" and .from == \"$WORK/file\" and .to == \"/tmp/file\""
    has "a copy out" 1 '.kind == "copy_out" and .from == "/tmp/file"'
    has "an update" 1 '.kind == "update" and (.set | tostring | test("1h"))'
    has "a pause" 1 '.kind == "pause"'
    [ "$paused" = 0 ] || has "that failed" 1 '.kind == "failed" and .what == "pause"'
    [ "$paused" != 0 ] || has "a resume" 1 '.kind == "resume"'
    has "a stop" 1 '.kind == "stop"'
    has "its end" 1 '.kind == "end" and .reason == "stopped" and .usage and .duration_ms > 0'
    has "a start" 1 '.kind == "start"'
    has "a removal" 1 '.kind == "remove"'
    has "an end for each beginning" "$(count_of '.life == "begins"')" '.life == "ends"'
    has "one sandbox" 0 '.name != "box"'
    verifies
}

@test "what a sandbox lacks is noted as it is of a run" {
    hutch run --disk 20g --allow-missing all -- true
    hutch create --name box --disk 20g --allow-missing all >/dev/null
    hutch rm -f box
    hutch audit --json >"$WORK/events"
    same "missing" "$(jq -c '.events[] | select(.kind == "run") | .missing // []' "$WORK/events")" \
        "$(jq -c '.events[] | select(.kind == "create") | .missing // []' "$WORK/events")"
}

@test "a copy of a sandbox is noted with both of them" {
    needs_root
    create box -- sleep 1000
    hutch fork box other
    hutch snapshot box kept
    hutch rm -f box other kept
    events
    has "the fork" 1 '.kind == "fork" and .name == "box" and .to == "other"'
    has "what it made" 1 '.kind == "create" and .name == "other"'
    has "the snapshot" 1 '.kind == "snapshot" and .name == "box" and .to == "kept"'
    verifies
}

@test "a sandbox that ends by itself has an end that says why" {
    create box --ttl 1s
    until_true 10 is_gone box
    events
    has "the end" 1 '.kind == "end" and .name == "box" and .reason == "ttl" and .removed'
}

a_run_is_noted() { grep -qs '"kind":"run"' "$HUTCH_HOME"/lib/audit/segment-*; }

@test "a run whose hutch was killed gets its end from the sweep, once" {
    start -- sleep 1000
    local pid=$!
    until_true 10 init_of "$pid"
    until_true 10 a_run_is_noted
    kill -9 "$pid"
    wait "$pid" 2>/dev/null || true
    after_kill9
    hutch gc >/dev/null
    hutch gc >/dev/null
    events
    events
    has "the end that was found" 1 '.kind == "end" and .of == 1 and .reason == "keeper_died"'
    same "events" 2 "$(wc -l <"$WORK/events")"
    verifies
}

@test "a sandbox whose keeper was killed gets its end from the sweep; one that lives is left alone" {
    create box -- sleep 1000
    create other -- sleep 1000
    kill -9 "$(keeper_of box)"
    after_kill9
    until_true 10 is box "$([ "$HUTCH_TEST_AS" = root ] && echo stopped || echo dead)"
    hutch gc >/dev/null
    events
    has "the end that was found" 1 '.kind == "end" and .name == "box" and .reason == "keeper_died"'
    has "an end of the other" 0 '.kind == "end" and .name == "other"'
    hutch rm -f box 2>/dev/null || true
    hutch rm -f other
}

@test "no value of a variable and no error message is noted, nor the environment of the caller" {
    local canary=canary-$RANDOM$RANDOM
    printf 'FILED=%s\n' "$canary-file" >"$WORK/env" && chmod 644 "$WORK/env"
    export PASSED=$canary-passed CALLER=$canary-caller
    hutch run -e "GIVEN=$canary-given" --pass-env PASSED --env-file "$WORK/env" -- env | grep -c "$canary" | grep -qx 3
    create box -e "GIVEN=$canary-given"
    hutch exec -e "MORE=$canary-more" box -- true
    hutch exec -e "$canary-bad" box -- true 2>/dev/null || true
    hutch rm -f box
    events
    between "events" 6 20 "$(wc -l <"$WORK/events")"
    not grep -r "$canary" "$HUTCH_HOME/$JOURNAL"
}

@test "a command line beyond measure is cut, and told by its sum" {
    local long
    long=$(head -c 100000 /dev/zero | tr '\0' x)
    hutch run -- true "$long"
    events
    has "its sum" 1 '.kind == "run" and .argc == 2 and (.argv_sha256 | length) == 64 and (.argv | tostring | length) < 5000'
    same "the sum" "$(printf 'true\0%s\0' "$long" | sha256sum | cut -d ' ' -f 1)" "$(jq -r 'select(.argv_sha256) | .argv_sha256' "$WORK/events")"
}

@test "--label and --since choose; usage adds up what has ended" {
    hutch run --label team=red --label app=x -- true
    hutch run --label team=red -- true
    hutch run --label team=blue -- true
    hutch run -- true
    create box --label team=blue
    hutch exec box -- true
    hutch rm -f box
    events --label team=red
    has "beginnings and ends" 4 true
    events --label app
    has "of one" 2 true
    events --label team=blue
    has "an exec of a sandbox with the label" 1 '.kind == "exec"'
    events --label team=none
    has "none" 0 true
    events --since 1h
    has "all" 6 '.life == "begins" or .kind == "exec"'
    events --since 2100-01-01
    has "none" 0 true
    hutch usage --by label.team --json >"$WORK/json"
    holds "groups" '[.usage[] | [.group, .runs]] == [["", 1], ["blue", 2], ["red", 2]]'
    holds "figures" 'all(.usage[]; .cpu_seconds > 0 and .memory_mib_seconds >= 0 and .egress_bytes == 0)'
    hutch usage --json --label team=red --by user >"$WORK/json"
    holds "of one team" '.usage | length == 1 and .[0].runs == 2'
    hutch usage >"$WORK/out"
    grep -q '^GROUP  *RUNS  *CPU-SECONDS  *MEMORY-MIB-SECONDS  *EGRESS$' "$WORK/out"
}

@test "what is listed is one line each, whatever a command line holds" {
    hutch run -- true $'a\nb\e[31mc' 'd"e' $'\xff'
    hutch audit >"$WORK/out"
    same "lines" 2 "$(wc -l <"$WORK/out")"
    not grep -q $'\e' "$WORK/out"
    grep -qE '^20[^ ]*Z +[0-9]+ run +[0-9a-f]{16} true a.b.\[31mc d"e ' "$WORK/out"
    grep -qE ' end +[0-9a-f]{16} exited 0$' "$WORK/out"
    hutch audit --json | jq -e '.events[0].argv[1] == "a\nb\u001b[31mc"'
}

@test "what was not let out is noted, with the sums of a life and no more" {
    [ -e /proc/self/ns/net ] || skip "no network namespaces"
    hutch run --egress allowed.example -- getent hosts forbidden.example || true
    events
    has "the rules" 1 '.kind == "run" and .egress_rules == ["allowed.example"]'
    has "the attempt" 1 '.kind == "denied" and .attempts[0].host == "forbidden.example" and .attempts[0].why == "name"'
    has "the sums" 1 '.kind == "end" and .egress.denied > 0 and .egress.bytes_in == 0'
    hutch audit | grep -q ' denied .*forbidden.example:0 name'
    create box --egress allowed.example
    hutch exec box -- getent hosts one.example || true
    hutch stop box
    [ "$HUTCH_TEST_AS" != root ] || { hutch start box && hutch stop box; }
    hutch rm box
    events
    has "attempts of the sandbox, once" 1 '.kind == "denied" and .name == "box"'
    [ "$HUTCH_TEST_AS" != root ] || has "the end of a life without any" 1 '.kind == "end" and .name == "box" and .egress.denied == 0'
    verifies
}

@test "the policy decides what is noted of command lines, whether anything is, and for how long" {
    export HUTCH_POLICY=$WORK/policy.json
    echo '{"audit": {"argv": "digest"}}' >"$HUTCH_POLICY" && chmod 644 "$HUTCH_POLICY"
    hutch run -- echo canary-word
    events
    has "the sum" 1 ".kind == \"run\" and .argc == 2 and .argv_sha256 == \"$(printf 'echo\0canary-word\0' | sha256sum | cut -d ' ' -f 1)\" and (.policy | length) > 10"
    not grep -r canary-word "$HUTCH_HOME/$JOURNAL"
    echo '{"audit": "off"}' >"$HUTCH_POLICY"
    hutch run -- true
    create box
    hutch exec box -- true
    hutch rm -f box
    unset HUTCH_POLICY
    events
    has "nothing more" 2 true
    export HUTCH_POLICY=$WORK/policy.json
    # longer than a run and a question take where others keep the machine busy
    echo '{"audit": {"retention": "5s"}}' >"$HUTCH_POLICY"
    sleep 5.1
    hutch run -- true
    events
    has "what is younger" 2 true
    verifies
}

@test "what the policy refuses is noted" {
    export HUTCH_POLICY=$WORK/policy.json
    echo '{"ceilings": {"limits": {"memory": "64m"}}}' >"$HUTCH_POLICY" && chmod 644 "$HUTCH_POLICY"
    plain --memory 65m -- true
    same "exit status" 125 "$status"
    events
    has "the refusal" 1 '.kind == "policy" and .decision == "refused" and .what == "run" and (.why | test("64"))'
    has "a run" 0 '.kind == "run"'
}

@test "questions that make no sense are refused" {
    call audit --since yesterday
    refused 125 "is no time"
    local moment
    for moment in 2026-13-01 2026-02-30 2026-11-17T25:00 2026-11-17T10:61:00Z; do
        call audit --since "$moment"
        refused 125 "is no time"
    done
    hutch audit --since 2024-02-29T23:59:59Z
    call audit --verify --expect "-3:$(printf 'a%.0s' {1..64})"
    refused 125 "SEQ:HASH"
    call audit --verify --since 1h
    refused 125 "all of the audit"
    call audit --expect 1:2
    refused 125 "give both"
    call audit --verify --expect 1:2
    refused 125 "SEQ:HASH"
    call usage --by weather
    refused 125 "label.KEY, user, image, backend, day"
    call audit extra
    same "exit status" 125 "$status"
}

@test "where nothing was done there is nothing to tell, and nothing is made" {
    same "events" '{"events":[]}' "$(hutch audit --json)"
    same "usage" '{"by":"user","usage":[]}' "$(hutch usage --json)"
    verifies
    same "files" "" "$(find "$HUTCH_HOME" -name audit)"
}

@test "nobody else may look at it" {
    hutch run -- true
    hutch audit >/dev/null
    same "the directory" 700 "$(stat -c %a "$HUTCH_HOME/$JOURNAL")"
    same "files" 600 "$(stat -c %a "$HUTCH_HOME/$JOURNAL"/* | sort -u)"
}

@test "what cannot be noted is not done" {
    hutch run -- true
    local witness
    witness=$(user_dir witness)
    : >"$HUTCH_HOME/$JOURNAL/taken"
    mv "$HUTCH_HOME/$JOURNAL" "$HUTCH_HOME/aside"
    : >"$HUTCH_HOME/$JOURNAL"
    plain --mount "$witness:/witness" -- touch /witness/ran
    refused 125 "audit journal"
    call create --name box
    same "exit status of create" 125 "$status"
    says "why" "audit journal"
    same "what ran" "" "$(ls "$witness")"
    rm "$HUTCH_HOME/$JOURNAL"
    mv "$HUTCH_HOME/aside" "$HUTCH_HOME/$JOURNAL"
    rm "$HUTCH_HOME/$JOURNAL/taken"
    plain --mount "$witness:/witness" -- touch /witness/ran
    same "what ran" ran "$(ls "$witness")"
}

@test "many runs at the same time are one line of events" {
    local i
    for i in {1..40}; do hutch run -- true & done
    wait
    events
    has "beginnings" 40 '.kind == "run"'
    has "ends" 40 '.kind == "end"'
    same "numbers" "$(seq 80)" "$(jq .seq "$WORK/events")"
    verifies
}

@test "what is older goes, from the beginning on; the rest still verifies" {
    local i kept
    for i in 1 2 3; do hutch run -- true; done
    kept=$(hutch audit --verify --json | jq -r '"\(.last_seq):\(.last_hash)"')
    hutch audit --prune 1h | grep -qx 'removed 0 events'
    start -- sleep 1000
    local pid=$!
    until_true 10 eval '[ "$(hutch audit --verify --json | jq .last_seq)" = 7 ]' # it is noted
    hutch run -- true
    hutch audit --prune 0s | grep -qx 'removed 6 events' # up to what still lives
    verifies
    grep -q "6 before them were removed" "$WORK/out"
    kill "$pid"
    wait "$pid" || true
    hutch audit --prune 0s | grep -qx 'removed 4 events'
    hutch run -- true
    verifies
    call audit --verify --expect "$kept" # of an event that is gone nobody can tell whether it was this one
    same "exit status" 125 "$status"
    grep -q 'event 6 .*was removed by a prune' "$WORK/out"
    events
    has "what is left" 2 '.seq > 10'
}

@test "a stranger that holds the journal for good delays others for seconds, not for ever" {
    hutch run -- true
    python3 - "$HUTCH_HOME/lib/audit/head" <<'PYTHON' 3>&- &
import fcntl, os, struct, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
F_OFD_SETLK = 37
fcntl.fcntl(fd, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))
print("held", flush=True)
time.sleep(60)
PYTHON
    local holder=$!
    sleep 1
    status=0
    words=$(hutch run -- true 2>&1) || status=$?
    kill "$holder"
    wait "$holder" 2>/dev/null || true
    same "exit status" 125 "$status"
    [[ $words == *"audit journal"* ]]
    hutch run -- true
}
