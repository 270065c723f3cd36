#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # code is what api() leaves
# POST /api/run: one command, one answer or a stream of what it says.

load ../lib
load serve

# The stream of a run, whole: $WORK/stream.
stream() { # TYPE JSON
    curl -sS -N -m 30 --unix-socket "$SOCKET" -H "Accept: $1" -H 'Content-Type: application/json' --data-binary "$2" http://localhost/api/run >"$WORK/stream"
}

@test "a run is answered with how it ended" {
    serve
    api POST /api/run '{"command": ["sh", "-c", "echo out; echo err >&2; exit 3"], "memory_limit": "64m", "cpu_limit": 1}'
    expect 200 '.exit_code == 3 and .reason == "exited" and (.ok | not) and .stdout == "out\n" and .stderr == "err\n" and .isolation.backend == "native"'
    api POST /api/run/ '{"command": ["true"]}'
    expect 200 '.ok and .stdout == "" and (.id | length) > 8'
    api POST /api/run '{"command": ["no-such-program"]}'
    expect 200 '.exit_code == 127 and .error.code == "no_command"'
    api POST /api/run '{"command": ["sleep", "20"], "limits": {"timeout": "300ms"}}'
    expect 200 '.reason == "timeout" and .exit_code == 124'
    api POST /api/run '{"command": ["printf", "\\377\\376"]}'
    expect 200 '.encoding == "base64" and .stdout == "//4="'
}

@test "what it reads is text, base64 or nothing" {
    serve
    api POST /api/run '{"command": ["cat"], "stdin": "söme text\n"}'
    expect 200 '.stdout == "söme text\n"'
    api POST /api/run '{"command": ["od", "-An", "-tx1"], "stdin": "AP8K", "stdin_encoding": "base64"}'
    expect 200 '.stdout == " 00 ff 0a\n"'
    api POST /api/run '{"command": ["cat"], "stdin": ""}'
    expect 200 '.ok and .stdout == ""'
    api POST /api/run '{"command": ["cat"]}'
    expect 200 '.ok and .stdout == ""'
    api POST /api/run '{"command": ["cat"], "stdin": "***", "stdin_encoding": "base64"}'
    expect_problem 400 invalid
    api POST /api/run '{"command": ["cat"], "stdin": "x", "stdin_encoding": "rot13"}'
    expect_problem 400 invalid
    api POST /api/run '{"command": ["cat"], "stdin_encoding": "base64"}'
    expect_problem 400 invalid
}

@test "a stream tells what is said when it is said, and at last how it ended" {
    serve
    stream text/event-stream '{"command": ["sh", "-c", "echo one; sleep 0.2; echo two >&2; sleep 0.2; printf three; exit 4"]}'
    [ "$(grep '^event: ' "$WORK/stream" | tr '\n' ' ')" = "event: stdout event: stderr event: stdout event: result " ]
    [ "$(sed -n 's/^id: //p' "$WORK/stream" | tr '\n' ' ')" = "4 8 13 " ]
    sed -n '/^event: result/{n;s/^data: //p}' "$WORK/stream" | jq -e '.exit_code == 4 and .stdout == "" and .stdout_bytes == 9'
    stream application/x-ndjson '{"command": ["sh", "-c", "echo one; printf \"\\377\" >&2"]}'
    jq -se 'map(select(.stream == "stdout"))[0].data == "one\n" and map(select(.stream == "stderr"))[0].encoding == "base64" and .[-1].result.ok' "$WORK/stream"
    stream application/x-ndjson '{"command": ["cat"], "stdin": "fed"}'
    jq -se '.[0].data == "fed" and .[-1].result.exit_code == 0' "$WORK/stream"
    stream application/x-ndjson '{"command": ["no-such-program"]}'
    jq -se '.[-1].result.exit_code == 127' "$WORK/stream"
    api POST '/api/run?stream=ndjson' '{"command": []}'
    expect_problem 400 invalid
    api POST '/api/run?stream=xml' '{"command": ["true"]}'
    expect_problem 400 invalid
}

@test "a long stream is whole, and a slow reader only slows the command" {
    serve
    curl -sS -N -m 60 --limit-rate 8M --unix-socket "$SOCKET" -H 'Accept: application/x-ndjson' -H 'Content-Type: application/json' \
        --data-binary '{"command": ["seq", "400000"]}' http://localhost/api/run >"$WORK/stream"
    jq -j 'select(.stream == "stdout").data' "$WORK/stream" | cmp - <(seq 400000)
    tail -n 1 "$WORK/stream" | jq -e '.result.ok and .result.stdout_bytes == 2688895'
}

@test "who goes away has cancelled the run" {
    serve
    local form
    for form in application/json text/event-stream; do
        curl -sS -N -m 0.5 --unix-socket "$SOCKET" -H "Accept: $form" -H 'Content-Type: application/json' \
            --data-binary '{"command": ["sleep", "100"], "labels": {"gone": "yes"}}' http://localhost/api/run >/dev/null 2>&1 || true
        for _ in {1..60}; do
            [ "$("$HUTCH" audit --json --label gone=yes | grep -c cancelled)" = "$(case $form in *json) echo 1 ;; *) echo 2 ;; esac)" ] && break
            sleep 0.05
        done
    done
    [ "$("$HUTCH" audit --json --label gone=yes | grep -c cancelled)" = 2 ]
}

@test "what is no run is refused before anything runs" {
    serve
    local body
    for body in '{}' '{"command": []}' '{"command": "true"}' '{"command": [7, {}]}' '{"command": ["true"], "ttl": "1s"}' '{"command": ["true"], "unknown": 1}' \
        '{"command": ["true"], "limits": {"timeout": "-1s"}}' '{"command": ["true"], "pass_env": ["HOME"]}' '{"command": ["true"], "policy": {"audit": "off"}}' \
        '{"command": ["true"], "stdin": 5}' '{"command": ["true\u0000"]}'; do
        api POST /api/run "$body"
        expect_problem 400 invalid || { echo "body: $body" >&2 && false; }
    done
    api POST /api/run
    expect_problem 400 invalid
    api GET /api/run
    [ "$code" = 405 ]
}

@test "many at the same time" {
    serve
    seq 40 | xargs -P 8 -I{} curl -sS -m 60 --unix-socket "$SOCKET" -H 'Content-Type: application/json' -d '{"command": ["echo", "{}"]}' -o "$WORK/answer.{}" http://localhost/api/run
    cat "$WORK"/answer.* | jq -se 'map(.stdout | rtrimstr("\n") | tonumber) | sort == [range(1; 41)]'
}
