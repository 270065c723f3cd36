#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Trees of files, as tar archives that pass by the daemon unread.

load ../lib
load serve

at=/api/sandboxes/box/archive

box() { serve && api POST /api/sandboxes/ '{"name": "box"}' && expect 201; }
inside() { "$HUTCH" exec box -- sh -c "$1"; }

@test "a tree goes in and comes out as it was" {
    box
    mkdir -p "$WORK/tree/sub" && echo one >"$WORK/tree/sub/file" && ln -s sub/file "$WORK/tree/link" && chmod 700 "$WORK/tree/sub"
    tar -C "$WORK" -cf "$WORK/in.tar" tree
    api PUT "$at?path=/tmp" -H 'Content-Type: application/x-tar' --data-binary "@$WORK/in.tar"
    expect 204
    [ "$(inside 'cat /tmp/tree/link; readlink /tmp/tree/link; stat -c %a /tmp/tree/sub')" = "$(printf 'one\nsub/file\n700')" ]
    api GET "$at?path=/tmp/tree"
    [ "$code" = 200 ]
    grep -qi '^content-type: application/x-tar' "$WORK/head"
    mkdir "$WORK/out" && tar -C "$WORK/out" -xf "$WORK/body"
    diff -r --no-dereference "$WORK/tree" "$WORK/out/tree"
    api GET "$at?path=/nowhere"
    expect_problem 404 not_found
    api PUT "$at?path=/nowhere" --data-binary "@$WORK/in.tar"
    expect_problem 404 not_found
    api PUT "$at?path=/tmp" --data-binary 'this is no archive'
    expect_problem 400 invalid
    api PUT "$at?path=/tmp"
    expect_problem 400 invalid
    api DELETE /api/sandboxes/box
}

@test "hostile archives and trees stay inside" {
    box
    echo canary >"$WORK/canary"
    python3 - "$WORK" <<'EOP'
import io, sys, tarfile
work = sys.argv[1]
with tarfile.open(work + "/evil.tar", "w") as tar:
    def add(name, kind=tarfile.REGTYPE, link="", data=b"evil"):
        one = tarfile.TarInfo(name)
        one.type, one.linkname, one.size = kind, link, len(data) if kind == tarfile.REGTYPE else 0
        tar.addfile(one, io.BytesIO(data) if kind == tarfile.REGTYPE else None)
    add("../../../../.." + work + "/canary")
    add(work + "/canary")
    add("fifo", tarfile.FIFOTYPE)
    add("device", tarfile.CHRTYPE)
EOP
    api PUT "$at?path=/tmp" --data-binary "@$WORK/evil.tar"
    [ "$(cat "$WORK/canary")" = canary ]
    inside '[ ! -e /tmp/device ] && mkfifo /tmp/f2; ln -s / /tmp/root'
    api GET "$at?path=/tmp"
    [ "$code" = 200 ]
    tar -tf "$WORK/body" >/dev/null
    ! tar -tf "$WORK/body" | grep -q '^tmp/root/' || false
    api DELETE /api/sandboxes/box
}

# bats test_tags=memory
@test "an archive of many bytes passes by, and one that is cut is told to be" {
    box
    inside 'head -c 100000000 /dev/zero >/tmp/big'
    api GET "$at?path=/tmp/big"
    [ "$(tar -xOf "$WORK/body" | wc -c)" = 100000000 ]
    [ "$(awk '/^VmHWM/{print $2}' "/proc/$SERVE_PID/status")" -le 16384 ]
    head -c 5000000 "$WORK/body" >"$WORK/cut"
    inside 'rm /tmp/big'
    api PUT "$at?path=/tmp" --data-binary "@$WORK/cut"
    expect_problem 400 invalid
    [ -z "$(inside 'ls -A /tmp')" ]
    api DELETE /api/sandboxes/box
}
