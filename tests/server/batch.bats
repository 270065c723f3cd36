#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# POST /api/batch: a run a line, each answered when it has ended.

load ../lib
load serve

batch() { # [CURL-FLAG...] [PATH-TAIL]: lines on standard input, answers in $WORK/lines
    code=$(curl -sS -N -m 60 -o "$WORK/lines" -w '%{http_code}' --unix-socket "$SOCKET" -H 'Content-Type: application/x-ndjson' --data-binary @- "http://localhost/api/batch${1:-}")
}

@test "every line is answered, whatever becomes of the others" {
    serve
    batch '?parallel=3' <<'LINES'
{"id": "a", "command": ["echo", "one"]}

{"id": {"any": [1]}, "command": ["sh", "-c", "exit 7"]}
this is no JSON
{"id": 5, "command": ["no-such-program"]}
{"id": "unknown", "command": ["true"], "what": 1}
{"command": ["cat"], "stdin": "fed"}
[1, 2]
{"id": "none", "command": []}
{"id": "twice", "id": "twice", "command": ["true"]}
LINES
    [ "$code" = 200 ]
    jq -se 'length == 9 and (map(.index) | sort) == [0, 2, 3, 4, 5, 6, 7, 8, 9]' "$WORK/lines"
    jq -se 'map(select(.index == 0))[0] | .id == "a" and .result.stdout == "one\n"' "$WORK/lines"
    jq -se 'map(select(.index == 2))[0] | .id == {"any": [1]} and .result.exit_code == 7' "$WORK/lines"
    jq -se 'map(select(.index == 3))[0] | .error.code == "invalid" and (has("result") | not)' "$WORK/lines"
    jq -se 'map(select(.index == 4))[0] | .id == 5 and .result.exit_code == 127' "$WORK/lines"
    jq -se 'map(select(.index == 5))[0] | .id == "unknown" and (.error.message | test("what"))' "$WORK/lines"
    jq -se 'map(select(.index == 6))[0] | .result.stdout == "fed" and (has("id") | not)' "$WORK/lines"
    jq -se 'map(select(.index == 7 or .index == 8 or .index == 9).error.code) == ["invalid", "invalid", "invalid"]' "$WORK/lines"
}

@test "a line is run when it comes, and answered when it has ended: the next may wait for it" {
    serve
    python3 - "$SOCKET" <<'PYTHON'
import json, socket, sys
one = socket.socket(socket.AF_UNIX)
one.settimeout(20)
one.connect(sys.argv[1])
one.sendall(b"POST /api/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
answers = one.makefile("rb")
def send(line):
    data = (json.dumps(line) + "\n").encode()
    one.sendall(b"%x\r\n%s\r\n" % (len(data), data))
def answer():
    while True:
        line = answers.readline()
        assert line, "the answer ended"
        if line.startswith(b'{"index"'):
            return json.loads(line)
send({"id": 1, "command": ["echo", "first"]})
said = answer()
assert said["result"]["stdout"] == "first\n", said
send({"id": 2, "command": ["echo", said["result"]["stdout"].strip() + " again"]})
said = answer()
assert said["id"] == 2 and said["result"]["stdout"] == "first again\n", said
one.sendall(b"0\r\n\r\n")
assert b"0\r\n" in answers.readline() + answers.readline()
PYTHON
}

@test "a quick line does not wait for a slow one, and no more run than were asked for" {
    serve
    printf '%s\n' '{"id": "slow", "command": ["sleep", "1.5"]}' '{"id": "quick", "command": ["true"]}' | batch '?parallel=2'
    [ "$(jq -r .id "$WORK/lines" | tr '\n' ' ')" = "quick slow " ]
    printf '%s\n' '{"id": "slow", "command": ["sleep", "0.5"]}' '{"id": "quick", "command": ["true"]}' | batch '?parallel=1'
    [ "$(jq -r .id "$WORK/lines" | tr '\n' ' ')" = "slow quick " ]
    printf '%s\n' '{"command": ["true"]}' | batch '?parallel=1000000'
    jq -e .result.ok "$WORK/lines"
    batch '?parallel=-1' <<<'{"command": ["true"]}'
    [ "$code" = 400 ]
    batch '?parallel=many' <<<'{"command": ["true"]}'
    [ "$code" = 400 ]
}

@test "nothing, only empty lines, a line without an end, one that is too long" {
    serve
    batch </dev/null
    [ "$code" = 400 ] || { [ "$code" = 200 ] && [ ! -s "$WORK/lines" ]; }
    batch < <(printf '\n\n \r\n')
    [ "$code" = 200 ]
    [ ! -s "$WORK/lines" ]
    printf '{"command": ["true"]}' | batch
    jq -e '.index == 0 and .result.ok' "$WORK/lines"
    { python3 -c 'print("{\"command\": [\"" + "x" * (40 << 20) + "\"]}")' && echo '{"id": "after", "command": ["true"]}'; } | batch
    jq -se 'map(select(.index == 0))[0].error.code == "invalid" and map(select(.id == "after"))[0].result.ok' "$WORK/lines"
    printf '\377\376\n{"command": ["true"]}\n' | batch
    jq -se 'map(select(.index == 0))[0].error.code == "invalid" and map(select(.index == 1))[0].result.ok' "$WORK/lines"
}

@test "who goes away has cancelled what runs, and what had not begun never does" {
    serve
    for _ in {1..50}; do echo '{"command": ["sleep", "60"], "labels": {"gone": "yes"}}'; done |
        curl -sS -N -m 1 --unix-socket "$SOCKET" -H 'Content-Type: application/x-ndjson' --data-binary @- 'http://localhost/api/batch?parallel=2' >/dev/null 2>&1 || true
    for _ in {1..60}; do
        [ "$("$HUTCH" audit --json --label gone=yes | grep -c cancelled)" -lt 2 ] || break
        sleep 0.05
    done
    sleep 0.3
    local count
    count=$("$HUTCH" audit --json --label gone=yes | grep -c '"kind":"run"')
    [ "$count" -ge 1 ]
    [ "$count" -le 4 ]
}

@test "a hundred lines" {
    serve
    for i in {1..100}; do echo "{\"id\": $i, \"command\": [\"echo\", \"$i\"]}"; done | batch
    jq -se 'length == 100 and all(.result.stdout == "\(.id)\n")' "$WORK/lines"
}
