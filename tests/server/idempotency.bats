#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Idempotency-Key: nothing is done twice, whatever becomes of the answer and of the daemon.

# shellcheck disable=SC2154  # what serve and api leave

load ../lib
load serve

key() { echo "Idempotency-Key: $1"; }

@test "the same request under the same key gets the first answer, and nothing is made again" {
    serve
    api POST /api/sandboxes/ '{"project_name": "once"}' -H "$(key k1)"
    expect 201
    cp "$WORK/body" "$WORK/first"
    api POST /api/sandboxes/ '{"project_name": "once"}' -H "$(key k1)"
    expect 201
    cmp "$WORK/body" "$WORK/first"
    grep -qi '^idempotency-replayed: true' "$WORK/head"
    grep -qi '^location: /api/sandboxes/' "$WORK/head"
    api GET /api/sandboxes/
    expect 200 '.sandboxes | length == 1'
    api POST /api/sandboxes/ '{"project_name": "other"}' -H "$(key k1)"
    expect_problem 422 conflict
    api POST /api/run '{"command": ["true"]}' -H "$(key k1)"
    expect_problem 422 conflict
    api POST /api/sandboxes/ '{"project_name": "once"}' -H "$(key k2)"
    expect 201
    api GET /api/sandboxes/
    expect 200 '.sandboxes | length == 2'
    jq -r '.sandboxes[].name' "$WORK/body" | while read -r name; do hutch rm -f "$name"; done
}

@test "what was answered is answered again after kill -9" {
    serve
    api POST /api/sandboxes/ '{"project_name": "kept"}' -H "$(key after-a-kill)"
    expect 201
    cp "$WORK/body" "$WORK/first"
    serve_kill9
    serve
    api POST /api/sandboxes/ '{"project_name": "kept"}' -H "$(key after-a-kill)"
    expect 201
    cmp "$WORK/body" "$WORK/first"
    api GET /api/sandboxes/
    expect 200 '.sandboxes | length == 1'
    api DELETE /api/sandboxes/kept
    expect 200
}

@test "a failure is not kept, a key is its tenant's own, and two at once are not both done" {
    local a b
    a=$(new_token a write) b=$(new_token b write)
    serve
    api_tcp "$a" POST /api/run '{"command": ["true"], "image": "no-such-image:none", "pull": "never"}' -H "$(key k)"
    [ "$code" -ge 400 ]
    api_tcp "$a" POST /api/run '{"command": ["echo", "of a"]}' -H "$(key k)"
    expect 200 '.stdout == "of a\n"'
    api_tcp "$b" POST /api/run '{"command": ["echo", "of b"]}' -H "$(key k)"
    expect 200 '.stdout == "of b\n"'
    curl -sS -o "$WORK/slow" --unix-socket "$SOCKET" -H "$(key twice)" -H 'Content-Type: application/json' \
        -d '{"command": ["sleep", "1"]}' http://localhost/api/run 3>&- &
    local slow=$!
    sleep 0.3
    api POST /api/run '{"command": ["sleep", "1"]}' -H "$(key twice)"
    expect_problem 409 conflict
    grep -qi '^retry-after' "$WORK/head"
    wait "$slow"
    jq -e .ok "$WORK/slow"
    api POST /api/run '{"command": ["sleep", "1"]}' -H "$(key twice)"
    expect 200 .ok
    cmp "$WORK/body" "$WORK/slow"
}

@test "keys that are none, and answers that cannot be kept" {
    serve
    api POST /api/run '{"command": ["true"]}' -H 'Idempotency-Key: with space'
    expect_problem 400 invalid
    api POST /api/run '{"command": ["true"]}' -H "$(key "$(printf 'x%.0s' {1..256})")"
    expect_problem 400 invalid
    api POST /api/run '{"command": ["true"]}' -H "$(key stream)" -H 'Accept: text/event-stream'
    expect_problem 400 invalid
    api GET /api/sandboxes/ -H "$(key get)"
    expect 200
}

@test "only so many answers are kept, the oldest go" {
    serve --limit idempotency-keys=3
    local one
    for one in 1 2 3 4 5; do
        api POST /api/run '{"command": ["echo", "'"$one"'"]}' -H "$(key "$one")"
        expect 200
    done
    [ "$(find "$HUTCH_HOME/lib/answers" -type f | wc -l)" = 3 ]
    touch -d '2 days ago' "$HUTCH_HOME"/lib/answers/*
    api POST /api/run '{"command": ["echo", "5"]}' -H "$(key 5)"
    expect 200
    ! grep -qi '^idempotency-replayed' "$WORK/head" || false
    serve_end
    touch -d '2 days ago' "$HUTCH_HOME"/lib/answers/*
    touch "$HUTCH_HOME/lib/answers/.half"
    serve
    [ "$(find "$HUTCH_HOME/lib/answers" -type f | wc -l)" = 0 ]
}
