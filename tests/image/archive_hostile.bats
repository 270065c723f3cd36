#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Archives of images that nobody honest writes: refused with a sentence, without a name for anything in them, and without a trace
# outside of the store.

load ../lib
load ../integration/words
load ../sandbox/words
load archive_words

HOSTILE=$TOP/tests/image/archive_hostile.py

@test "the archives of this suite are good but for their flaw" {
    local good
    for good in good-oci good-docker layout-good; do
        "$PYTHON" "$HOSTILE" "$WORK/$good" "$good"
        chmod -R a+rX "$WORK/$good"
        call image load -q "$WORK/$good"
        same "exit status of $good" 0 "$status"
        same "name in $good" hostile:1 "$(cat "$WORK/out")"
    done
}

@test "no flaw of an archive gets through" {
    local flaw wrong=0
    "$PYTHON" "$HOSTILE" "$WORK/good" good-oci
    chmod a+r "$WORK/good"
    call image load -q "$WORK/good"
    same "exit status of the good one" 0 "$status"
    for flaw in $("$PYTHON" "$HOSTILE" list); do
        case $flaw in good-* | layout-good) continue ;; esac
        "$PYTHON" "$HOSTILE" "$WORK/$flaw" "$flaw"
        chmod -R a+rX "$WORK/$flaw"
        rm -rf "$HUTCH_HOME/lib/images"
        status=0
        hutch image load -q "$WORK/$flaw" >"$WORK/out" 2>"$WORK/said" || status=$?
        refused "$flaw" || wrong=1
        [ ! -s "$WORK/out" ] || { echo "$flaw: says «$(cat "$WORK/out")»" >&2 && wrong=1; }
        [ -z "$(refs)" ] || { echo "$flaw: has a name" >&2 && wrong=1; }
        [ ! -e /tmp/hutch-escaped ] || { echo "$flaw: is outside" >&2 && rm -f /tmp/hutch-escaped && wrong=1; }
        ! LC_ALL=C grep -q '[[:cntrl:]]' "$WORK/said" || { echo "$flaw: steers the terminal" >&2 && wrong=1; }
        rm -rf "${WORK:?}/$flaw"
    done
    same "wrong" 0 "$wrong"
}

@test "an archive that is cut anywhere is refused, as a file and through a pipe" {
    local at size
    make_root "$WORK/root"
    call image import -q "$WORK/root" whole:1
    hutch image save --format oci whole:1 >"$WORK/whole.tar"
    hutch image save --format docker whole:1 >"$WORK/whole-docker.tar"
    rm -rf "$HUTCH_HOME/lib/images"
    for kind in whole whole-docker; do
        # two blocks of zeros are the end; the first of them is enough
        size=$(($(stat -c %s "$WORK/$kind.tar") - 1024))
        for at in 0 1 511 512 513 1024 $(shuf -i "1-$((size - 1))" -n 12) "$size"; do
            head -c "$at" "$WORK/$kind.tar" >"$WORK/cut"
            chmod a+r "$WORK/cut"
            call image load -q "$WORK/cut"
            refused "cut at $at"
            status=0
            hutch image load -q - < <(cat "$WORK/cut") >"$WORK/out" 2>"$WORK/said" || status=$?
            refused "cut at $at, through a pipe"
            same "names after $at" "" "$(refs)"
        done
    done
}

# bats test_tags=memory
@test "a manifest that claims to be huge costs nothing" {
    "$PYTHON" "$HOSTILE" "$WORK/huge" manifest-of-a-gigabyte
    chmod a+r "$WORK/huge"
    status=0
    (ulimit -v 400000 && hutch image load -q "$WORK/huge") >"$WORK/out" 2>"$WORK/said" || status=$?
    refused "a huge manifest" "at most"
}

@test "bytes of an archive changed at random never give another image" {
    local try digest
    "$PYTHON" "$HOSTILE" "$WORK/good" good-oci
    chmod a+r "$WORK/good"
    call image load -q "$WORK/good"
    same "exit status of the good one" 0 "$status"
    digest=$(hutch image inspect hostile:1 | jq -r '.digest // .Digest')
    for try in $(seq 1 60); do
        rm -rf "$HUTCH_HOME/lib/images"
        "$PYTHON" - "$WORK/good" "$WORK/changed" "$try" <<'EOF'
import random, sys
data = bytearray(open(sys.argv[1], "rb").read())
dice = random.Random(int(sys.argv[3]))
for _ in range(dice.randint(1, 4)):
    data[dice.randrange(len(data))] = dice.randrange(256)
open(sys.argv[2], "wb").write(data)
EOF
        chmod a+r "$WORK/changed"
        call image load -q "$WORK/changed"
        # a byte that nobody reads may be any; the name itself has no digest
        [ "$status" = 125 ] || while read -r name; do
            same "try $try" "$digest" "$(hutch image inspect "$name" | jq -r '.digest // .Digest')"
        done <"$WORK/out"
    done
}
