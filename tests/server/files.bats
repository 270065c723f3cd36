#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Single files of a sandbox: of any length, whole or not at all, and never one of the host's.

load ../lib
load serve

at=/api/sandboxes/box/files

box() { serve && api POST /api/sandboxes/ '{"name": "box"}' && expect 201; }
inside() { "$HUTCH" exec box -- sh -c "$1"; }
peak() { awk '/^VmHWM/{print $2}' "/proc/$SERVE_PID/status"; }

@test "a file goes in, is looked at, comes out whole or in part, and goes" {
    box
    api PUT "$at?path=/tmp/a%20b&mode=750" --data-binary 'some words'
    expect 201 '.name == "a b" and .type == "file" and .size == 10 and .mode == "750"'
    [ "$(inside 'cat "/tmp/a b"; [ -O "/tmp/a b" ] && echo mine')" = "some wordsmine" ]
    api GET "$at?path=/tmp/a%20b"
    [ "$code" = 200 ] && [ "$(cat "$WORK/body")" = "some words" ]
    local range
    for range in 0-3:some 5-:words -5:words 5-99:words; do
        api GET "$at?path=/tmp/a%20b" -H "Range: bytes=${range%:*}"
        [ "$code" = 206 ] && [ "$(cat "$WORK/body")" = "${range#*:}" ]
    done
    for range in 10- 99-100 -0; do
        api GET "$at?path=/tmp/a%20b" -H "Range: bytes=$range"
        expect_problem 416 invalid
        grep -qi '^content-range: bytes \*/10' "$WORK/head"
    done
    for range in 'bytes=0-1,3-4' 'bytes=x' 'lines=1-2' 'bytes=5-2' 'bytes=99999999999999999999-'; do # to be ignored
        api GET "$at?path=/tmp/a%20b" -H "Range: $range"
        [ "$code" = 200 ]
    done
    curl -sS -I --unix-socket "$SOCKET" "http://localhost$at?path=/tmp/a%20b" | grep -qi '^content-length: 10'
    api PUT "$at?path=/tmp/empty" --data-binary ''
    expect 201 '.size == 0 and .mode == "644"'
    inside 'cd /tmp; ln -s "a b" link; mkdir -p deep/er; touch deep/er/x; mkfifo fifo'
    api GET "$at?path=/tmp/link&stat=1"
    expect 200 '.type == "link" and .target == "a b"'
    api GET "$at?path=/tmp/link"
    [ "$(cat "$WORK/body")" = "some words" ]
    api GET "$at?path=/tmp&list=1"
    expect 200 '.entries | map(.name + " " + .type) | sort == ["a b file", "deep directory", "empty file", "fifo fifo", "link link"]'
    api DELETE "$at?path=/tmp/link"
    expect 204
    api DELETE "$at?path=/tmp/deep"
    expect_problem 409 conflict
    api DELETE "$at?path=/tmp/deep&recursive=1"
    expect 204
    api DELETE "$at?path=/tmp/deep"
    expect_problem 404 not_found
    [ "$(inside 'ls /tmp')" = "$(printf 'a b\nempty\nfifo')" ]
    api DELETE /api/sandboxes/box
}

@test "what is no file, not there or no path is told apart, and nothing hangs" {
    box
    inside 'cd /tmp; mkfifo fifo; ln -s loop loop; mkdir dir; echo x >x'
    local path
    for path in /tmp/fifo /dev/null /dev/zero /tmp/dir /tmp/loop /proc/self/status /tmp/x/y; do
        api GET "$at?path=$path"
        expect_problem 400 invalid
    done
    for path in /dev/null /tmp/fifo /tmp/dir /; do
        api PUT "$at?path=$path" --data-binary x
        [ "$code" = 400 ] || [ "$code" = 404 ]
    done
    for path in '' relative ../up; do
        api GET "$at?path=$path"
        expect_problem 400 invalid
    done
    api GET "$at"
    expect_problem 400 invalid
    api GET "$at?path=/tmp/%ff"
    [ "$code" = 400 ]
    api GET "$at?path=/nowhere/x"
    expect_problem 404 not_found
    api PUT "$at?path=/nowhere/x" --data-binary x
    expect_problem 404 not_found
    for mode in 999 4755 x '' 07777; do
        api PUT "$at?path=/tmp/m&mode=$mode" --data-binary x
        expect_problem 400 invalid
    done
    inside 'printf "" >"/tmp/$(printf "\\377\\n")"'
    api GET "$at?path=/tmp&list=1"
    expect 200 '.entries | map(.name) | contains(["\uFFFD"])'
    api POST /api/sandboxes/box/stop '{}'
    api GET "$at?path=/tmp/x"
    expect_problem 409 conflict
    api DELETE /api/sandboxes/box
}

@test "links never lead to the host's files, however they are swapped meanwhile" {
    box
    echo canary >"$WORK/canary"
    inside "mkdir -p /tmp/in && ln -s '$WORK/canary' /tmp/in/out && ln -s / /tmp/in/root"
    api GET "$at?path=/tmp/in/out"
    expect_problem 404 not_found
    api GET "$at?path=/tmp/in/root$WORK/canary"
    expect_problem 404 not_found
    api PUT "$at?path=/tmp/in/out" --data-binary mine # takes the link's place
    expect 201
    inside 'cd /tmp && mkdir -p a b && (while :; do mv -T a c; ln -s / a; rm a; mv -T c a; done) >/dev/null 2>&1' 3>&- &
    local swapping=$!
    for _ in {1..20}; do
        api PUT "$at?path=/tmp/a$WORK/canary" --data-binary mine
        api DELETE "$at?path=/tmp/a$WORK/canary"
    done
    [ "$(cat "$WORK/canary")" = canary ]
    api DELETE /api/sandboxes/box
    wait "$swapping" || true
}

@test "an upload that is cut leaves what was there; one that is whole takes its place at once" {
    box
    api PUT "$at?path=/tmp/f" --data-binary before
    python3 - "$SOCKET" >&2 <<'EOP'
import socket, sys, time
for head in (b"Content-Length: 1000000", b"Transfer-Encoding: chunked"):
    one = socket.socket(socket.AF_UNIX)
    one.connect(sys.argv[1])
    one.sendall(b"PUT /api/sandboxes/box/files?path=/tmp/f HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n\r\n")
    one.sendall((b"10000\r\n" if b"chunked" in head else b"") + b"x" * 65536)
    time.sleep(0.3)
    one.close()
EOP
    sleep 0.5
    [ "$(inside 'cat /tmp/f; ls -A /tmp')" = "beforef" ]
    head -c 3000000 /dev/urandom >"$WORK/big"
    api PUT "$at?path=/tmp/f" -H 'Transfer-Encoding: chunked' --data-binary "@$WORK/big"
    expect 201 '.size == 3000000'
    api GET "$at?path=/tmp/f"
    cmp "$WORK/big" "$WORK/body"
    api DELETE /api/sandboxes/box
}

# bats test_tags=memory
@test "large files pass through, up and down, and the daemon keeps its size" {
    serve
    api POST /api/sandboxes/ '{"name": "box", "disk": "5g", "memory": "256m"}'
    [ "$code" = 201 ] || api POST /api/sandboxes/ '{"name": "box", "limits": {"disk": "5g", "memory": "256m"}}'
    expect 201
    local bytes sum
    bytes=$(long_or $((192 << 20)) $((4 << 30)))
    sum=$(head -c "$bytes" /dev/zero | tr '\0' 'x' | tee >(curl -sS -T - --unix-socket "$SOCKET" "http://localhost$at?path=/tmp/large" >"$WORK/answer") | sha256sum)
    for _ in {1..600}; do [ ! -s "$WORK/answer" ] || break && sleep 0.1; done
    [ "$(jq .size "$WORK/answer")" = "$bytes" ]
    [ "$(curl -sS --unix-socket "$SOCKET" "http://localhost$at?path=/tmp/large" | sha256sum)" = "$sum" ]
    echo "peak $(peak) KiB" >&2
    [ "$(peak)" -le 16384 ]
    api DELETE /api/sandboxes/box
}

@test "a full sandbox says so, and keeps nothing of what did not fit" {
    serve
    api POST /api/sandboxes/ '{"name": "box", "limits": {"disk": "16m"}}'
    expect 201
    head -c 40000000 /dev/urandom >"$WORK/big"
    api PUT "$at?path=/tmp/f" --data-binary "@$WORK/big"
    expect_problem 507 no_space
    [ -z "$(inside 'ls -A /tmp')" ]
    api DELETE /api/sandboxes/box
}
