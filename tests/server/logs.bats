#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a sandbox's own command has said, and a session's: as bytes and as events.

load ../lib
load serve

at=/api/sandboxes/box/logs

box() { # COMMAND as JSON
    serve
    api POST /api/sandboxes/ "{\"name\": \"box\", \"command\": $1}"
    expect 201
}
has_ended() { "$HUTCH" logs -f box >/dev/null 2>&1; }

@test "logs as they were: all, the last lines, from an offset, one stream" {
    box '["sh", "-c", "for i in 1 2 3 4; do echo out $i; done; sleep 0.3; echo err >&2; sleep 0.3; printf \"\\377\""]'
    has_ended
    api GET $at
    [ "$code" = 200 ]
    printf 'out 1\nout 2\nout 3\nout 4\nerr\n\377' | cmp - "$WORK/body"
    api GET "$at?from=18"
    printf 'out 4\nerr\n\377' | cmp - "$WORK/body"
    api GET "$at?stream=stderr"
    printf 'err\n' | cmp - "$WORK/body"
    api GET "$at?tail=2&stream=stdout"
    printf 'out 4\n\377' | cmp - "$WORK/body"
    api GET "$at?since=1h"
    [ "$(wc -c <"$WORK/body")" = 29 ]
    api GET "$at?stream=ndjson" # which is the name of the stream here
    expect_problem 400 invalid
    api GET "$at" -H 'Accept: application/x-ndjson'
    [ "$(jq -s -r 'map(select(.stream == "stderr")) | .[0].data + (.[0].offset | tostring)' "$WORK/body")" = "$(printf 'err\n28')" ]
    jq -s -e 'last | .data == "/w==" and .encoding == "base64" and .offset == 29' "$WORK/body"
    for bad in from=-1 from=x tail=x since=yesterday follow=perhaps stream=both colour=1 exec=../log exec=; do
        api GET "$at?$bad"
        [ "$code" = 400 ] || [ "$code" = 404 ]
    done
    api DELETE /api/sandboxes/box
}

@test "following goes on until the command has ended, and from where it was cut" {
    box '["sh", "-c", "i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 0.05; done"]'
    timeout 1 curl -sS -N --unix-socket "$SOCKET" -H 'Accept: text/event-stream' "http://localhost$at?follow=1" >"$WORK/first" || true
    local last
    # what was cut in the middle of an event counts as not seen
    last=$(awk '/^id: /{id=$2} /^$/{if (id) print id}' "$WORK/first" | tail -n 1)
    [ "$last" -gt 0 ]
    api GET "$at?follow=1" -H 'Accept: text/event-stream' -H "Last-Event-ID: $last"
    [ "$(tail -n 3 "$WORK/body" | head -n 1)" = "event: end" ]
    api GET "$at?from=$last"
    cp "$WORK/body" "$WORK/rest"
    api GET "$at?follow=1"
    cmp <("$HUTCH" logs box) "$WORK/body"
    cmp <(tail -c "+$((last + 1))" "$WORK/body") "$WORK/rest"
    api DELETE /api/sandboxes/box
}

# bats test_tags=memory
@test "a follower that does not read holds nothing up, one that goes leaves nothing" {
    box '["sh", "-c", "head -c 30000000 /dev/zero; echo over >&2"]'
    python3 - "$SOCKET" "$TOP/tests/server" >&2 <<'EOP'
import socket, sys, time
sys.path.insert(0, sys.argv[2])
from hutchd import Client
stalled = socket.socket(socket.AF_UNIX)
stalled.connect(sys.argv[1])
stalled.sendall(b"GET /api/sandboxes/box/logs?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
client = Client(sys.argv[1])
for _ in range(100):
    said = client.get("/api/sandboxes/box/logs?stream=stderr").body
    if said == b"over\n":
        break
    time.sleep(0.1)
assert said == b"over\n", said
stalled.close()
EOP
    [ "$(awk '/^VmHWM/{print $2}' "/proc/$SERVE_PID/status")" -lt 24576 ]
    api DELETE /api/sandboxes/box
}
