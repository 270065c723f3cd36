#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hutch image pull: what it fetches and what it does not, what it shows, and what is left of it when it is cut at any moment.

load ../lib
load ../integration/words
load registry
load pull_words

teardown() {
    registry_stop
    forget_images
    teardown_world
}

# --- what arrives -----------------------------------------------------------------------------------------------------------

@test "a pulled image has its digest and its name, and runs" {
    local layout
    layout=$(busybox_image)
    registry_start r
    registry_fill "$layout" shelf/busybox:1
    pull "$REGISTRY/shelf/busybox:1"
    works
    same digest "$(manifest_digest_of "$layout")" "$(cat "$WORK/out")"
    same names "$REGISTRY/shelf/busybox:1" "$(hutch image ls -q)"
    plain --image "$REGISTRY/shelf/busybox:1" -- sh -c 'echo $FROM_IMAGE'
    same "what it says" yes "$(cat "$WORK/out")"
    pull "$REGISTRY/shelf/busybox@$(manifest_digest_of "$layout")"
    works
    same names 2 "$(hutch image ls -q | wc -l)"
}

@test "layers come as gzip, zstd or neither, in images of docker's kind or of OCI's" {
    local how
    tree a </dev/null
    registry_start r
    for how in "--compress gzip" "--compress zstd" "--compress none" "--docker"; do
        # shellcheck disable=SC2086
        make_image "layout$how" --layer "$WORK/a" $how
        registry_fill "$WORK/layout$how" "kind:${how##*[ -]}"
        pull "$REGISTRY/kind:${how##*[ -]}"
        works
        same "$how" "a" "$(cat "$(layer_of "$REGISTRY/kind:${how##*[ -]}" 0)/a/name")"
        forget_images
    done
}

@test "what is there is not fetched again, and of an image that shares layers only the difference" {
    tree a && tree b && tree c
    make_image one --layer "$WORK/a" --layer "$WORK/b"
    make_image two --layer "$WORK/a" --layer "$WORK/c"
    registry_start r
    registry_fill "$WORK/one" one
    registry_fill "$WORK/two" two
    pull "$REGISTRY/one" && works
    same "blobs of the first" 3 "$(blobs_fetched)"
    pull "$REGISTRY/one" && works
    same "blobs of the second pull" 3 "$(blobs_fetched)"
    pull "$REGISTRY/two" && works
    same "blobs with the second image" 5 "$(blobs_fetched)"
    says "the shared one" "already there"
    # also under another name, and after its first name is gone
    hutch image tag "$REGISTRY/two" other
    hutch image rm "$REGISTRY/two"
    pull "$REGISTRY/two" && works
    same "blobs after all" 5 "$(blobs_fetched)"
}

@test "pulls at the same time share the work" {
    local i pids=()
    registry_start r
    registry_fill "$(noise_image)" noise
    for i in 1 2 3 4; do
        become "$HUTCH" image pull "$REGISTRY/noise" >"$WORK/out.$i" 2>"$WORK/said.$i" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i"; done
    same "every blob once" 3 "$(blobs_fetched)"
    same "one digest" 1 "$(cat "$WORK"/out.[1-4] | sort -u | wc -l)"
    same layers 2 "$(find "$HUTCH_HOME/lib/images/layers" -mindepth 1 -maxdepth 1 | wc -l)"
    nothing_under_way
}

@test "one blob may be two layers of an image" {
    tree a && tree b
    make_image twice --layer "$WORK/a" --layer "$WORK/b" --layer "$WORK/a"
    registry_start r
    registry_fill "$WORK/twice" twice
    pull "$REGISTRY/twice" && works
    same blobs 3 "$(blobs_fetched)"
    same layers 3 "$(record_of "$REGISTRY/twice" | jq '.layers | length')"
}

@test "of an index the image for the platform is taken" {
    tree a && tree b
    registry_start r
    make_image amd --layer "$WORK/a" --platform linux/amd64
    make_image arm --layer "$WORK/b" --platform linux/arm64/v8
    registry_fill "$WORK/amd" multi:amd
    registry_fill "$WORK/arm" multi:arm
    put_index multi latest "$WORK/amd" "$WORK/arm"
    pull --platform linux/amd64 "$REGISTRY/multi" && works
    same amd64 "$(manifest_digest_of "$WORK/amd")" "$(cat "$WORK/out")"
    pull --platform arm64 "$REGISTRY/multi" && works
    same arm64 "$(manifest_digest_of "$WORK/arm")" "$(cat "$WORK/out")"
    same "the name" "linux/arm64/v8" "$(hutch image ls --json | jq -r '.images[0].platform')"
    pull --platform linux/s390x "$REGISTRY/multi"
    refused 125 'no image for linux/s390x, only for: linux/amd64, linux/arm64/v8'
    pull --platform linux/s390x "$REGISTRY/multi:arm"
    refused 125 "for linux/arm64 and not for linux/s390x"
    pull --platform 'linux/' "$REGISTRY/multi"
    refused 125 "is not a platform, write it like 'linux/amd64'"
}

# --- directories that a layer does not mention ------------------------------------------------------------------------------

@test "a directory that a layer does not mention is what it is below, also a link" {
    mkdir -p "$WORK/low/usr/bin" "$WORK/low/etc/keep"
    ln -s usr/bin "$WORK/low/bin"
    echo low >"$WORK/low/usr/bin/low"
    chmod 750 "$WORK/low/etc"
    chmod 711 "$WORK/low/usr/bin"
    touch -d @1000000000 "$WORK/low/etc" "$WORK/low/usr/bin"
    mkdir -p "$WORK/top/bin/sub" "$WORK/top/etc"
    echo top | tee "$WORK/top/bin/top" "$WORK/top/bin/sub/deep" >"$WORK/top/etc/top"
    tar -C "$WORK/top" -cf "$WORK/top.tar" bin/top bin/sub/deep etc/top
    make_image implicit --layer "$WORK/low" --layer "$WORK/top.tar"
    registry_start r
    registry_fill "$WORK/implicit" implicit
    pull "$REGISTRY/implicit" && works
    local upper
    upper=$(layer_of "$REGISTRY/implicit" 0)
    [ ! -e "$upper/bin" ]
    same "moved" "top top" "$(cat "$upper/usr/bin/top" "$upper/usr/bin/sub/deep" | paste -sd ' ')"
    same etc "750 1000000000" "$(stat -c '%a %Y' "$upper/etc")"
    same usr/bin "711 1000000000" "$(stat -c '%a %Y' "$upper/usr/bin")"
    # by itself the layer is another one: nothing below has a say
    make_image alone --layer "$WORK/top.tar"
    registry_fill "$WORK/alone" alone
    pull "$REGISTRY/alone" && works
    same "alone" "top 755" "$(cat "$(layer_of "$REGISTRY/alone" 0)/bin/top") $(stat -c %a "$(layer_of "$REGISTRY/alone" 0)/etc")"
    pull "$REGISTRY/implicit" && works
}

@test "a link that a layer below has never leads out of the image" {
    mkdir -p "$WORK/low" "$WORK/top/out" "$WORK/top/up" "$WORK/top/root" "$WORK/top/self" "$WORK/top/file"
    echo hello >"$WORK/low/plain"
    ln -s "$WORK/outside" "$WORK/low/out"
    ln -s ../../../../../../../../../../../../tmp "$WORK/low/up"
    ln -s / "$WORK/low/root"
    ln -s self "$WORK/low/self"
    ln -s plain "$WORK/low/file"
    mkdir "$WORK/outside"
    chmod 777 "$WORK/outside"
    for name in out up root self file; do echo planted >"$WORK/top/$name/planted-$BATS_TEST_NUMBER"; done
    tar -C "$WORK/top" -cf "$WORK/top.tar" out/planted-"$BATS_TEST_NUMBER" up/planted-"$BATS_TEST_NUMBER" \
        root/planted-"$BATS_TEST_NUMBER" self/planted-"$BATS_TEST_NUMBER" file/planted-"$BATS_TEST_NUMBER"
    make_image links --layer "$WORK/low" --layer "$WORK/top.tar"
    registry_start r
    registry_fill "$WORK/links" links
    pull "$REGISTRY/links" && works
    [ -z "$(ls -A "$WORK/outside")" ]
    [ ! -e "/tmp/planted-$BATS_TEST_NUMBER" ]
    [ ! -e "/planted-$BATS_TEST_NUMBER" ]
    # all of it is in the layer, whichever way
    same files 5 "$(find "$(layer_of "$REGISTRY/links" 0)" -type f | wc -l)"
}

# --- what goes wrong --------------------------------------------------------------------------------------------------------

@test "an unknown registry, name, tag, or a name that is none: one sentence each" {
    registry_start r
    registry_fill "$(busybox_image)" here:1
    pull "$REGISTRY/here:2"
    refused 125 "pull '$REGISTRY/here:2': .*(not|no) "
    pull "$REGISTRY/nowhere"
    refused 125 "pull '$REGISTRY/nowhere:latest': .*(not|no) "
    pull 127.0.0.1:9/x
    refused 125 "pull '127.0.0.1:9/x:latest': .*127.0.0.1:9"
    pull "Upper/Case"
    refused 125 "'Upper/Case' is not the name of an image, .*write it like"
    pull "$REGISTRY/here@sha256:$(printf '0%.0s' {1..64})"
    refused 125 "pull '.*(not|no) "
    same "nothing came" "" "$(hutch image ls -q)"
    nothing_under_way
}

@test "without credentials, and with wrong ones, it says how to log in" {
    registry_start r basic
    registry_fill "$(busybox_image)" private
    pull "$REGISTRY/private"
    refused 125 "hutch image login $REGISTRY"
    status=0
    printf 'wrong' | hutch image login -u "$USER_NAME" --password-stdin "$REGISTRY" >"$WORK/out" 2>"$WORK/said" || status=$?
    [ "$status" = 125 ]
    printf '%s\n' "$USER_PASSWORD" | hutch image login -u "$USER_NAME" --password-stdin "$REGISTRY"
    pull "$REGISTRY/private" && works
    hutch image logout "$REGISTRY"
    pull "$REGISTRY/private"
    refused 125 "hutch image login $REGISTRY"
}

@test "a damaged layer is refused, and nothing of it is kept" {
    hostile_start "$(noise_image)"
    pull "$HOSTILE/one-byte"
    same "exit status" 125 "$status"
    says "the sentence" "layer '[0-9a-f]{12}'|blob 'sha256:"
    same names "" "$(hutch image ls -q)"
    hutch image prune >"$WORK/pruned"
    nothing_under_way
    blobs_are_whole
    pull "$HOSTILE/good" && works
}

@test "a registry that cuts, resets and begins again is borne" {
    local kind
    hostile_start "$(noise_image)"
    for kind in reset reset-no-range chunked; do
        pull "$HOSTILE/$kind" && works
        blobs_are_whole
        forget_images
    done
}

@test "a manifest and a configuration that do not fit each other are refused" {
    tree a
    make_image fits --layer "$WORK/a"
    registry_start r
    skew_image fits '.rootfs.diff_ids += [.rootfs.diff_ids[0]]' more
    skew_image fits '.rootfs.diff_ids[0] = "sha256:" + ("0" * 64)' other
    skew_image fits '.os = "plan9"' system
    registry_fill "$WORK/more" more
    registry_fill "$WORK/other" other
    registry_fill "$WORK/system" system
    pull "$REGISTRY/more"
    refused 125 'the manifest names 1 layers and the configuration 2'
    pull "$REGISTRY/other"
    same "exit status" 125 "$status"
    says "the sentence" "its content is 'sha256:.* and not 'sha256:000000000000'"
    pull "$REGISTRY/system"
    refused 125 'the image is for plan9/'
    hutch image prune >"$WORK/pruned"
    same "nothing is left" "" "$(find "$HUTCH_HOME/lib/images"/{blobs,layers,unpacked,images,partial,tmp} -mindepth 1)"
}

@test "a full disk is told, with what helps, and leaves nothing half-made" {
    needs_root
    local home=$WORK/small
    registry_start r
    registry_fill "$(noise_image)" noise
    mkdir "$home"
    status=0
    unshare -m sh -c 'mount -t tmpfs -o size=2m none "$1" && shift && HUTCH_HOME=$1 && export HUTCH_HOME && shift &&
        { "$@"; status=$?; find "$HUTCH_HOME/lib/images/tmp" -mindepth 1 >&2; exit $status; }' sh \
        "$home" "$home" "$HUTCH" image pull -q "$REGISTRY/noise" >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "No space left on device; 'hutch image prune' makes room"
}

# --- cut at any moment ------------------------------------------------------------------------------------------------------

@test "Ctrl-C leaves what came, and the next pull goes on from there" {
    hostile_start "$(noise_image)"
    become "$HUTCH" image pull "$HOSTILE/stall" >"$WORK/out" 2>"$WORK/said" &
    local pid=$!
    until_true 10 has_partial 400000
    kill -INT "$pid"
    status=0
    wait "$pid" || status=$?
    same "exit status" 130 "$status"
    pull "$HOSTILE/stall" && works
    [ "$(hostile_heard HOSTILE | jq -r 'select(.path | test("/stall/blobs")) | .headers.Range // empty' | wc -l)" -ge 1 ]
    blobs_are_whole
    hutch image prune >"$WORK/pruned"
    nothing_under_way
}

# HUTCH_TEST_KILLS: how often.
@test "killed at any moment, a pull leaves nothing that the next one trusts wrongly" {
    local kills=${HUTCH_TEST_KILLS:-200} killed=0 pid started window after_ms
    registry_start r
    registry_fill "$(noise_image)" noise
    started=$(now_ms)
    pull -q "$REGISTRY/noise" && works
    window=$(($(now_ms) - started)) # how long one takes that is left alone
    hutch image rm "$REGISTRY/noise"
    while [ "$killed" -lt "$kills" ]; do
        become "$HUTCH" image pull -q "$REGISTRY/noise" >/dev/null 2>&1 &
        pid=$!
        after_ms=$((RANDOM % window))
        sleep "$((after_ms / 1000)).$(printf %03d $((after_ms % 1000)))"
        kill -KILL "$pid" 2>/dev/null || true
        # one that was ready does not count, and the next ones are killed earlier
        if wait "$pid" 2>/dev/null; then window=$((window * 19 / 20 + 20)); else killed=$((killed + 1)); fi
        # what has its name is whole, at every moment
        blobs_are_whole
        if [ -e "$HUTCH_HOME/lib/images/refs/$REGISTRY/noise/:latest" ]; then
            hutch image rm "$REGISTRY/noise"
            hutch image prune >/dev/null
        fi
    done
    pull "$REGISTRY/noise" && works
    same "its files" "3145728 1048576" "$(stat -c %s "$(layer_of "$REGISTRY/noise" 1)/three" "$(layer_of "$REGISTRY/noise" 0)/one" | paste -sd ' ')"
    hutch image prune >"$WORK/pruned"
    nothing_under_way
    same "layers" 2 "$(find "$HUTCH_HOME/lib/images/layers" -mindepth 1 -maxdepth 1 | wc -l)"
    same "blobs" 4 "$(find "$HUTCH_HOME/lib/images/blobs" -type f | wc -l)"
}

# --- what it costs and shows ------------------------------------------------------------------------------------------------

@test "a large layer takes less than 64 MiB of memory" {
    mkdir "$WORK/large"
    openssl enc -aes-128-ctr -K 02 -iv 00 -in /dev/zero 2>/dev/null | head -c 157286400 >"$WORK/large/noise" || true
    make_image large --layer "$WORK/large" --compress none
    registry_start r
    registry_fill "$WORK/large" large
    caller "$PYTHON" "$TOP/tests/integration/fixtures/peak_rss.py" "$(user_dir peak)/kib" "$HUTCH" image pull -q "$REGISTRY/large" >"$WORK/out"
    between "peak in KiB" 1 65536 "$(cat "$WORK/peak/kib")"
}

@test "in a pipe there is one plain line for each layer, and nothing with --quiet" {
    registry_start r
    registry_fill "$(noise_image)" noise
    pull "$REGISTRY/noise" && works
    same "lines" 2 "$(grep -cE '^[0-9a-f]{12}  done  [0-9.]+[km]$' "$WORK/said")"
    same "all lines" 2 "$(wc -l <"$WORK/said")"
    forget_images
    pull -q "$REGISTRY/noise" && works
    same "what it says" "" "$(cat "$WORK/said")"
    same "digest alone" 1 "$(grep -cE '^sha256:[0-9a-f]{64}$' "$WORK/out")"
}

@test "on a terminal there is a bar for each layer under way" {
    registry_start r
    registry_fill "$(noise_image)" noise
    caller "$PYTHON" - "$TOP/tests/integration/fixtures" "$HUTCH" image pull "$REGISTRY/noise" <<'END'
import re, sys
sys.path.insert(0, sys.argv[1])
from terminal import Terminal, check
terminal = Terminal(*sys.argv[2:])
check("exit status", 0, terminal.wait(30))
check("a bar", True, re.search(rb"[0-9a-f]{12}  download  \[=* *\] [0-9.]+[bkm]/[0-9.]+m", terminal.seen) is not None)
check("finished lines", 2, len(re.findall(rb"[0-9a-f]{12}  done  [0-9.]+[km]", terminal.seen)))
terminal.check_restored()
END
}
