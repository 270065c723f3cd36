#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Events as they happen: none lost, none twice, none of others, and a listener costs next to nothing.

# shellcheck disable=SC2154 # code: the last answer's, of serve.bash
load ../lib
load serve

LISTENERS=()

# Into a file until the test ends it. It listens when it returns: the head of the answer is there.
listen() { # FILE QUERY [CURL-FLAG...]
    local file=$1 query=$2
    shift 2
    rm -f "$WORK/$file.head"
    curl -sN --unix-socket "$SOCKET" -D "$WORK/$file.head" "$@" "http://localhost/api/events$query" >"$WORK/$file" 2>/dev/null 3>&- &
    LISTENERS+=($!)
    for _ in {1..200}; do
        [ ! -s "$WORK/$file.head" ] || return 0
        sleep 0.05
    done
    return 1
}

deaf() {
    local pid
    for pid in "${LISTENERS[@]}"; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    LISTENERS=()
}

teardown() {
    deaf
    serve_teardown
}

ids() { sed -n 's/^id: //p' "$WORK/$1" | paste -sd ' '; } # FILE

heard() { # FILE COUNT
    local try
    for try in {1..100}; do
        [ "$(grep -c '^id: ' "$WORK/$1")" -lt "$2" ] || return 0
        sleep 0.05
    done
    echo "heard in $1 after $try tries: $(cat "$WORK/$1")" >&2
    return 1
}

@test "what happens is told as it happens, and a listener that comes back misses nothing" {
    serve
    api POST /api/run '{"command": ["true"]}' && expect 200
    listen all '?from=1'
    listen new ''
    heard all 2
    api POST /api/run '{"command": ["true"]}' && expect 200
    hutch run -- true # somebody else's, on the same host
    heard all 6
    heard new 4
    [ "$(ids all)" = "1 2 3 4 5 6" ]
    [ "$(ids new)" = "3 4 5 6" ]
    sed -n 's/^data: //p' "$WORK/all" | jq -se 'map(.kind) == ["run", "end", "run", "end", "run", "end"]'
    deaf
    hutch run -- true
    listen again '?from=1' -H 'Last-Event-ID: 4'
    heard again 4
    [ "$(ids again)" = "5 6 7 8" ]
    listen lines '?from=7' -H 'Accept: application/x-ndjson'
    sleep 0.3
    [ "$(jq -s 'map(.seq)' -c "$WORK/lines")" = "[7,8]" ]
    api GET /api/events -H 'Last-Event-ID: x' && expect_problem 400 invalid
    api GET "/api/events?stream=xml" && expect_problem 400 invalid
}

@test "what was collected into the database is told from there, and the rest without a gap" {
    serve
    for _ in 1 2 3; do hutch run -- true; done
    hutch audit >/dev/null
    hutch run -- true
    listen all '?from=2'
    heard all 7
    hutch audit >/dev/null
    hutch run -- true
    heard all 9
    [ "$(ids all)" = "2 3 4 5 6 7 8 9 10" ]
}

@test "a label's events, and a tenant's own, also of sandboxes that were there before" {
    printf 'tenants:\n  red: {uids: [4001]}\n' >"$WORK/policy.yml"
    serve --policy "$WORK/policy.yml"
    red=$(new_token red admin)
    api_tcp "$red" POST /api/sandboxes/ '{"name": "ours", "labels": {"team": "t"}}' && expect 201
    serve_end
    serve --policy "$WORK/policy.yml"
    curl -sN -H "Authorization: Bearer $red" "$URL/api/events" >"$WORK/red" 3>&- &
    LISTENERS+=($!)
    listen labelled '?label=team=t'
    listen others '?label=team=other'
    sleep 0.3
    api POST /api/run '{"command": ["true"]}' && expect 200
    api_tcp "$red" POST /api/sandboxes/ours/execute '{"command": ["true"]}' && expect 200
    heard red 2
    heard labelled 2
    sed -n 's/^data: //p' "$WORK/red" | jq -se 'map(.name) | unique == ["ours"]'
    [ ! -s "$WORK/others" ]
    api DELETE /api/sandboxes/ours && expect 200
}

@test "a listener that does not read for a while misses nothing, and keeps nobody waiting" {
    serve
    python3 - "$SOCKET" "$HUTCH" "$(long_or 150 1500)" >&2 <<'END'
import re, socket, subprocess, sys
def listen(query):
    one = socket.socket(socket.AF_UNIX)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.settimeout(20)
    one.connect(sys.argv[1])
    one.sendall(f"GET /api/events?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return one
def ids(one, last):
    data = b""
    while f"id: {last}\n".encode() not in data:
        data += one.recv(65536)
    return [int(n) for n in re.findall(rb"(?m)^id: (\d+)", data)]
slow, quick, runs = listen("from=1"), listen("from=1"), int(sys.argv[3])
# a long command line: so few events fill every buffer on the way
batch = "\n".join('{"command": ["true", "%s"]}' % ("x" * 3000) for _ in range(runs))
subprocess.run(["curl", "-sS", "-o", "/dev/null", "--unix-socket", sys.argv[1], "-H", "Content-Type: application/x-ndjson", "--data-binary", "@-",
                "http://localhost/api/batch"], input=batch.encode(), check=True)
assert ids(quick, 2 * runs) == list(range(1, 2 * runs + 1))
assert ids(slow, 2 * runs) == list(range(1, 2 * runs + 1))
END
}

# bats test_tags=memory
@test "a daemon that ends lets its listeners go, and 300 of them cost it little" {
    serve
    python3 - "$SOCKET" "$SERVE_PID" >&2 <<'END'
import socket, sys, time
def rss(): return int(next(l for l in open(f"/proc/{sys.argv[2]}/status") if l.startswith("VmRSS")).split()[1])
def threads(): return int(next(l for l in open(f"/proc/{sys.argv[2]}/status") if l.startswith("Threads")).split()[1])
before, open_ones = rss(), []
for _ in range(300):
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(10)
    one.connect(sys.argv[1])
    one.sendall(b"GET /api/events?from=1 HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
    assert b" 200 " in one.recv(4096)
    open_ones.append(one)
time.sleep(0.5)
print(f"{rss() - before} KiB more, {threads()} threads")
assert rss() - before < 10 * 1024
assert threads() < 64
END
    api GET /api/audit && expect 200
    serve_end
}
