#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# execute and shell: a command, and how it ended.

load ../lib
load serve

box() { serve && api POST /api/sandboxes/ '{"name": "box"}' && expect 201; }
run_in() { api POST /api/sandboxes/box/execute "$@"; } # JSON

@test "a command has its words, directory, variables, input and time" {
    box
    run_in '{"command": ["sh", "-c", "pwd; echo $A; cat; echo err >&2; exit 7"], "workdir": "/tmp", "env": {"A": "b c"}, "stdin": "né"}'
    expect 200 '.exit_code == 7 and .stdout == "/tmp\nb c\nné" and .stderr == "err\n" and .reason == "exited" and (.ok | not)'
    run_in '{"command": ["od", "-An", "-tx1"], "stdin": "/wA=", "stdin_encoding": "base64"}'
    expect 200 '.stdout == " ff 00\n"'
    run_in '{"command": ["sleep", "10"], "timeout": "200ms"}'
    expect 200 '.reason == "timeout" and .exit_code == 124'
    run_in '{"command": ["sleep", "10"], "timeout": 0.2}'
    expect 200 '.reason == "timeout"'
    run_in '{"command": ["printf", "\\377"]}'
    expect 200 '.encoding == "base64" and .stdout == "/w=="'
    run_in '{"command": ["no-such-command"]}'
    expect 200 '.exit_code == 127 and .reason == "setup_failed" and .error.code == "no_command"'
    api POST /api/sandboxes/box/shell '{"script": "x=\"a  b\"; echo \"$x\" | tr a c; false"}'
    expect 200 '.stdout == "c  b\n" and .exit_code == 1'
    api DELETE /api/sandboxes/box
}

@test "much input goes in, whether it is read or not" {
    box
    python3 -c 'import json; print(json.dumps({"command": ["wc", "-c"], "stdin": "x" * 3000000}))' >"$WORK/much"
    api POST /api/sandboxes/box/execute -H 'Content-Type: application/json' --data-binary "@$WORK/much"
    expect 200 '.stdout == "3000000\n"'
    api POST '/api/sandboxes/box/execute?stream=ndjson' -H 'Content-Type: application/json' --data-binary "@$WORK/much"
    grep -q '"data":"3000000\\n"' "$WORK/body"
    sed -i 's/"wc", "-c"/"true"/' "$WORK/much"
    api POST /api/sandboxes/box/execute -H 'Content-Type: application/json' --data-binary "@$WORK/much"
    expect 200 '.ok'
    api DELETE /api/sandboxes/box
}

@test "what is wrong with a command is told by its field" {
    box
    for bad in '{}' '{"command": []}' '{"command": "ls"}' '{"command": ["ls"], "env": {"A=B": "c"}}' '{"command": ["ls"], "env": {"": "c"}}' \
        '{"command": ["cat"], "stdin": "%", "stdin_encoding": "base64"}' '{"command": ["cat"], "stdin": "x", "stdin_encoding": "rot13"}' \
        '{"command": ["ls"], "colour": 1}' '{"command": ["ls"], "command": ["id"]}' '{"command": ["ls"], "timeout": -1}'; do
        run_in "$bad"
        expect_problem 400 invalid
    done
    run_in '{"command": ["ls"], "workdir": "/proc/self/fd/3"}'
    [ "$code" != 200 ]
    api POST /api/sandboxes/nobody/execute '{"command": ["ls"]}'
    expect_problem 404 not_found
    api DELETE /api/sandboxes/box
}

@test "a stream tells each piece with the offset after it, bytes that are no text as base64, and the result at last" {
    box
    run_in '{"command": ["sh", "-c", "printf one; sleep 0.2; printf \"\\377\" >&2; sleep 0.2; printf \"t\\303\"; sleep 0.2; printf \"\\251\"; exit 4"]}' \
        -H 'Accept: text/event-stream'
    [ "$code" = 200 ]
    grep -qi '^content-type: text/event-stream' "$WORK/head"
    printf '%s\n' 'event: stdout' 'id: 3' 'data: {"data":"one"}' '' 'event: stderr' 'id: 4' 'data: {"data":"/w==","encoding":"base64"}' '' \
        'event: stdout' 'id: 5' 'data: {"data":"t"}' '' 'event: stdout' 'id: 7' 'data: {"data":"é"}' '' 'event: result' >"$WORK/want"
    diff "$WORK/want" <(head -n 17 "$WORK/body")
    [ "$(tail -n 2 "$WORK/body" | sed -n 's/^data: //p' | jq '.exit_code == 4 and .stdout == ""')" = true ]
    local exec
    exec=$(sed -n 's/^x-hutch-exec: *\([0-9a-f]*\).*/\1/Ip' "$WORK/head")
    api GET "/api/sandboxes/box/exec/$exec/attach?stream=ndjson" -H 'Last-Event-ID: 5'
    [ "$(jq -r 'select(.stream) | .data + " " + (.offset | tostring)' "$WORK/body")" = "é 7" ]
    api DELETE /api/sandboxes/box
}

@test "a client that goes away takes its command along; a stream's goes on" {
    box
    curl -sS -m 1 --unix-socket "$SOCKET" -H 'Content-Type: application/json' -d '{"command": ["sleep", "123"]}' \
        http://localhost/api/sandboxes/box/execute || true
    for _ in {1..100}; do [ "$("$HUTCH" ps --json box | grep -c 123)" != 0 ] || break && sleep 0.05; done
    [ "$("$HUTCH" ps --json box | grep -c 123)" = 0 ]
    curl -sS -m 1 --unix-socket "$SOCKET" -H 'Content-Type: application/json' -d '{"command": ["sleep", "124"]}' \
        'http://localhost/api/sandboxes/box/execute?stream=sse' || true
    "$HUTCH" ps --json box | grep -q 124
    api DELETE /api/sandboxes/box
}

@test "a hundred commands on one connection, each within its time" {
    box
    python3 - "$SOCKET" "$TOP/tests/server" >&2 <<'EOP'
import sys, time
sys.path.insert(0, sys.argv[2])
from hutchd import Client, quantile
client, times = Client(sys.argv[1]), []
for number in range(100):
    before = time.monotonic()
    answer = client.post("/api/sandboxes/box/execute", {"command": ["echo", str(number)]}).expect(200).json()
    times.append(time.monotonic() - before)
    assert answer["stdout"] == f"{number}\n", answer
print(f"p50 {quantile(times, 0.5) * 1000:.2f} ms")
assert quantile(times, 0.5) < 0.05
EOP
    api DELETE /api/sandboxes/box
}
