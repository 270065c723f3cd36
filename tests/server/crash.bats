#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The daemon holds no sandbox: killed at any moment, it takes nothing with it and has said nothing untrue.

load ../lib
load serve

@test "kill -9 of the daemon under load: what was acknowledged is so, nothing leaks, streams go on where they were" {
    after_kill9 # what ran in the daemon itself, a POST /api/run, ends with it
    python3 "$TOP/tests/server/crash.py" "$(long_or 15 300)" >&2
    "$HUTCH" gc >&2
    [ "$("$HUTCH" ls --json | jq '.sandboxes | length')" = 0 ]
    "$HUTCH" audit --verify >&2
}

@test "a daemon that is killed while it has streams leaves commands and files as they are" {
    after_kill9
    serve
    api POST /api/sandboxes/ '{"name": "kept"}'
    expect 201
    api POST /api/sandboxes/kept/exec '{"command": ["sh", "-c", "echo before; sleep 2; echo after"]}'
    expect 201
    local session
    session=$(field id)
    curl -sS -N --unix-socket "$SOCKET" -H 'Accept: text/event-stream' "http://localhost/api/sandboxes/kept/exec/$session/attach" >"$WORK/first" 2>/dev/null &
    local reader=$!
    for _ in {1..100}; do ! grep -qs before "$WORK/first" || break && sleep 0.05; done
    serve_kill9
    wait "$reader" || true
    serve
    api GET "/api/sandboxes/kept/exec/$session?wait=1"
    expect 200 '.result.exit_code == 0'
    local offset
    offset=$(sed -n 's/^id: *//p' "$WORK/first" | tail -n 1)
    api GET "/api/sandboxes/kept/exec/$session/attach?from=$offset" -H 'Accept: text/event-stream'
    expect 200
    grep -q after "$WORK/body"
    ! grep -q before "$WORK/body" || false
    api DELETE /api/sandboxes/kept
    expect 200
}

@test "a daemon that is told to end answers what it was asked, and takes nothing new" {
    serve
    curl -sS --unix-socket "$SOCKET" -H 'Content-Type: application/json' -d '{"command": ["sh", "-c", "sleep 1; echo done"]}' http://localhost/api/run >"$WORK/answer" &
    local asked=$!
    sleep 0.5
    serve_end
    wait "$asked"
    jq -e '.ok and .stdout == "done\n"' "$WORK/answer"
}

@test "a daemon whose program was replaced by a newer one goes on making sandboxes" {
    local built programs
    built=$(dirname "$HUTCH")
    programs=("$built"/hutch "$built"/hutch-serve)
    [ ! -e "$built/hutch-full" ] || programs+=("$built/hutch-full") # in a sanitized build 'hutch' is the complete one
    mkdir "$WORK/bin"
    cp "${programs[@]}" "$WORK/bin"
    HUTCH=$WORK/bin/hutch serve
    for program in "${programs[@]}"; do
        cp "$program" "$WORK/bin/new" && mv "$WORK/bin/new" "$WORK/bin/${program##*/}"
    done
    api POST /api/sandboxes/ '{"name": "box"}'
    expect 201
    api DELETE /api/sandboxes/box
    expect 200
}
