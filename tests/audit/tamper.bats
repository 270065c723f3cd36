#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whatever is done to the journal or the database behind hutch's back is found and named.

load ../lib
load ../integration/words
load ../sandbox/words
load words

setup() {
    setup_world
    local i
    for i in 1 2 3 4; do hutch run -- true "$i"; done
    SEGMENT=$HUTCH_HOME/$JOURNAL/segment-00000000000000000001
    DATABASE=$HUTCH_HOME/$JOURNAL/audit.db
    cp -p "$SEGMENT" "$WORK/segment"
    cp -p "$HUTCH_HOME/$JOURNAL/head" "$WORK/head"
}

restore() {
    cat "$WORK/segment" >"$SEGMENT"
    cat "$WORK/head" >"$HUTCH_HOME/$JOURNAL/head"
}

@test "a changed word of the journal is named with its event, file and line" {
    verifies
    sed -i 's/"true","2"/"true","9"/' "$SEGMENT"
    finds "a changed argument" '^event 3 \(segment-00000000000000000001:3\): its hash does not fit'
    restore
    sed -i '5s/"uid":[0-9]*/"uid":12345/' "$SEGMENT"
    finds "another user" '^event 5 \(segment-00000000000000000001:5\)'
    restore
    verifies
}

@test "a line that is taken out, moved, doubled or forged is named" {
    sed -i 4d "$SEGMENT"
    finds "a line less" '^event 5 .*1 events before it are missing'
    restore
    { sed -n 1,2p "$WORK/segment" && sed -n 4p "$WORK/segment" && sed -n 3p "$WORK/segment" && sed -n '5,$p' "$WORK/segment"; } >"$SEGMENT"
    finds "two that changed places" 'out of order'
    restore
    sed -i 2p "$SEGMENT"
    finds "one that is there twice" '^event 2 .*out of order'
    restore
    python3 - "$SEGMENT" <<'PYTHON'
import hashlib, sys
lines = open(sys.argv[1]).read().splitlines()
body = lines[2].rsplit(',"hash":', 1)[0].replace('"2"', '"9"')
before = lines[1].rsplit('"hash":"', 1)[1][:64]
lines[2] = f'{body},"hash":"{hashlib.sha256((before + body).encode()).hexdigest()}"}}'
open(sys.argv[1], "w").write("\n".join(lines) + "\n")
PYTHON
    finds "a line with a hash that fits it" '^event 4 .*or the one before it'
    restore
    verifies
}

@test "an end that is cut off is named, by whole lines and within one" {
    local lines bytes
    lines=$(wc -l <"$WORK/segment")
    sed -n "1,$((lines - 2))p" "$WORK/segment" >"$SEGMENT"
    finds "two lines less" '^event 6 \(head\): events 7 to 8 at the end are missing'
    restore
    bytes=$(stat -c %s "$WORK/segment")
    truncate -s $((bytes - 10)) "$SEGMENT"
    finds "ten bytes less" 'cut short'
    : >"$SEGMENT"
    finds "all of it" 'events 1 to 8 at the end are missing'
    rm "$SEGMENT"
    finds "the file" 'events 1 to 8 at the end are missing'
    cp -p "$WORK/segment" "$SEGMENT"
    rm "$HUTCH_HOME/$JOURNAL/head"
    finds "the head" 'head\): it is missing or damaged'
    cp -p "$WORK/head" "$HUTCH_HOME/$JOURNAL/head"
    verifies
}

@test "after a cut work goes on, and the gap stays named" {
    sed -n 1,4p "$WORK/segment" >"$SEGMENT"
    hutch run -- true later
    finds "four lines less" '4 events before it are missing'
    events
    has "the note of it" 1 '.kind == "mended" and .lost_from == 5 and .lost_to == 8 and .follows == 4'
    has "what came later" 1 '.argv == ["true", "later"]'
    finds "the same in the database" '4 events before it are missing'
}

@test "what the database has is compared with the chain and with the journal" {
    events
    verifies
    sqlite3 "$DATABASE" "DROP TRIGGER events_stay; UPDATE events SET line = replace(line, '\"2\"', '\"9\"') WHERE seq = 3"
    finds "a changed row" '^event 3 \(audit.db\): its hash does not fit'
    # every call puts them back
    sqlite3 "$DATABASE" "DROP TRIGGER events_stay; UPDATE events SET line = replace(line, '\"9\"', '\"2\"') WHERE seq = 3"
    verifies
    sqlite3 "$DATABASE" "DROP TRIGGER events_go_first_to_last; DELETE FROM events WHERE seq = 5"
    finds "a missing row" '^event 6 \(audit.db\): 1 events before it are missing'
}

@test "the database lets nothing be changed or taken out" {
    events
    not sqlite3 "$DATABASE" "UPDATE events SET kind = 'x'" 2>"$WORK/said"
    says "why" "events are never changed"
    not sqlite3 "$DATABASE" "DELETE FROM events WHERE seq = 1" 2>"$WORK/said"
    says "why" "only what the anchor stands for"
    hutch audit --prune 0s >/dev/null
    not sqlite3 "$DATABASE" "UPDATE anchor SET position = 1" 2>"$WORK/said"
    says "why" "only goes forward"
    not sqlite3 "$DATABASE" "DELETE FROM anchor" 2>"$WORK/said"
    verifies
}

@test "whoever writes a new chain is found out by a hash that was kept elsewhere" {
    local kept
    kept=$(hutch audit --verify --json | jq -r '"\(.last_seq):\(.last_hash)"')
    hutch run -- true more
    hutch audit --verify --expect "$kept"
    rm -r "${HUTCH_HOME:?}/$JOURNAL"
    local i
    for i in 1 2 3 4 5; do hutch run -- true harmless; done
    verifies
    call audit --verify --expect "$kept"
    same "exit status" 125 "$status"
    grep -q 'event 8 .*its hash is not the expected one' "$WORK/out"
}

@test "a file that is none of ours, or damaged beyond reading, is one sentence" {
    head -c 5000 /dev/urandom >"$SEGMENT"
    finds "noise" 'missing|no event|cut short'
    hutch run -- true
    events
    head -c 5000 /dev/urandom >"$DATABASE"
    call audit
    refused 125 "audit database"
}
