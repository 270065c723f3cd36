#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Sessions belong to the sandbox's keeper: a daemon only shows them, by streams that go on where they were cut.

load ../lib
load serve

client() { python3 "$TOP/tests/server/sessions.py" "$1" >&2; } # NAME

@test "a session is started, listed, waited for, and is there after its end" {
    serve
    api POST /api/sandboxes/ '{"name": "box"}'
    api POST /api/sandboxes/box/exec '{"command": ["sh", "-c", "read x; echo got $x; exit 3"], "stdin": true, "env": {"A": "b"}}'
    expect 201 '.state == "running" and .tty == false and .stdin and .command[0] == "sh" and (has("result") | not)'
    local id
    id=$(field id)
    api GET /api/sandboxes/box/exec
    expect 200 ".sessions | map(.id) == [\"$id\"]"
    api POST "/api/sandboxes/box/exec/$id/stdin?close=1" --data-binary 'this'
    expect 204
    api GET "/api/sandboxes/box/exec/$id?wait=1"
    expect 200 '.state == "ended" and .result.exit_code == 3 and .result.reason == "exited"'
    api POST "/api/sandboxes/box/exec/$id/stdin" --data-binary 'more'
    expect_problem 409 conflict
    api POST "/api/sandboxes/box/exec/$id/signal" '{"signal": "INT"}'
    expect_problem 409 conflict
    api GET "/api/sandboxes/box/exec/$id/attach" -H 'Accept: application/x-ndjson'
    [ "$code" = 200 ]
    [ "$(jq -r 'select(.stream == "stdout") | .data' "$WORK/body")" = "got this" ]
    [ "$(jq -r 'select(.result) | .result.exit_code' "$WORK/body")" = 3 ]
    api POST /api/sandboxes/box/stop '{}'
    api GET "/api/sandboxes/box/exec/$id"
    expect 200 '.state == "ended" and .result.exit_code == 3'
    api DELETE /api/sandboxes/box
}

@test "what is no session, no signal and no size is told apart" {
    serve
    api POST /api/sandboxes/ '{"name": "box"}'
    api POST /api/sandboxes/box/exec '{"command": ["sleep", "100"]}'
    local id
    id=$(field id)
    for bad in '{"signal": "NOPE"}' '{"signal": 0}' '{"signal": 65}' '{"signal": -1}' '{"signal": ""}' '{"signal": [2]}'; do
        api POST "/api/sandboxes/box/exec/$id/signal" "$bad"
        expect_problem 400 invalid
    done
    api POST "/api/sandboxes/box/exec/$id/resize" '{"rows": 1, "cols": 70000}'
    expect_problem 400 invalid
    api POST "/api/sandboxes/box/exec/$id/resize" '{"rows": 10, "cols": 20}'
    expect_problem 409 conflict # it has no terminal
    api POST "/api/sandboxes/box/exec/$id/stdin" --data-binary x
    expect_problem 409 conflict # it reads nothing
    for nobody in 0123456789abcdef XYZ %2e%2e; do
        api GET "/api/sandboxes/box/exec/$nobody/attach"
        [ "$code" = 404 ]
    done
    api GET "/api/sandboxes/box/exec/$id/attach" -H 'Last-Event-ID: -5'
    expect_problem 400 invalid
    api POST /api/sandboxes/box/exec '{"command": []}'
    expect_problem 400 invalid
    api POST /api/sandboxes/box/exec '{"command": ["true"], "rows": 5}'
    expect_problem 400 invalid
    api POST /api/sandboxes/box/exec '{"command": ["nothing-like-it"]}'
    [ "$code" = 422 ] || [ "$code" = 404 ] || [ "$code" = 400 ]
    api POST "/api/sandboxes/box/exec/$id/signal" '{"signal": "SIGKILL"}'
    expect 204
    api GET "/api/sandboxes/box/exec/$id?wait=1"
    expect 200 '.result.signal == 9'
    api DELETE /api/sandboxes/box
}

@test "a session is kept in by the same walls as any other command, whatever it reads and writes" {
    local look fields plain
    look='for f in /proc/self/fd/*; do echo ${f##*/}; done | xargs; grep -E "^(Cap|NoNew|Seccomp|Uid|Gid|Groups)" /proc/self/status; ulimit -a; readlink /proc/self/ns/*'
    serve
    api POST /api/sandboxes/ '{"name": "box"}'
    api POST /api/sandboxes/box/execute "$(jq -n --arg look "$look" '{command: ["sh", "-c", $look]}')"
    plain=$(field stdout)
    [ "${plain%%$'\n'*}" = "0 1 2 3" ] # the last is the shell's own, of the directory that it lists
    for fields in '{}' '{"stdin": true}' '{"tty": true}'; do
        api POST /api/sandboxes/box/exec "$(jq -n --arg look "$look" --argjson fields "$fields" '{command: ["sh", "-c", $look]} + $fields')"
        local id
        id=$(field id)
        api GET "/api/sandboxes/box/exec/$id?wait=1"
        api GET "/api/sandboxes/box/logs?exec=$id"
        diff <(echo "$plain") <(tr -d '\r' <"$WORK/body")
    done
    api DELETE /api/sandboxes/box
}

@test "a reader that is cut off again and again, and comes back by Last-Event-ID, misses nothing" { client resume; }
@test "sessions outlive a daemon that is killed: listed, followed without loss, written to, signalled" {
    after_kill9
    client daemon_dies
}
@test "a terminal by WebSocket: written to, resized, closed, and looked at again from an offset" { client terminal; }
# bats test_tags=memory
@test "much in both directions of a WebSocket: whoever is slow holds up the other, nothing is lost" { client duplex; }
# bats test_tags=memory
@test "a command that does not read holds its client up, and costs the daemon nothing" { client unread_input; }
@test "messages that make no sense end a WebSocket, input that nobody reads does not" { client nonsense; }
@test "clients that go away leave nothing in the daemon" { client goes_away; }
@test "who may only read looks at a session by WebSocket and cannot write to it" { client only_looks; }
