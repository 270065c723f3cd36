#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The images that are here: ls, inspect, tag, rm and prune, and what they leave to those who use an image.

# shellcheck disable=SC2016  # jq expands it

load ../lib
load ../integration/words
load ../sandbox/words

setup() { setup_world; }
teardown() {
    rm -rf "$HUTCH_HOME/lib/images"
    release_pool
    teardown_world
}

# An image of one layer: busybox, and a file that no other image has.
import() { # NAME
    local root
    root=$(user_dir "root-$1")
    mkdir -p "$root/bin" "$root/etc"
    cp /bin/busybox "$root/bin/busybox"
    ln -s busybox "$root/bin/sh"
    ln -s busybox "$root/bin/cat"
    ln -s busybox "$root/bin/sleep"
    echo 'root:x:0:0::/:/bin/sh' >"$root/etc/passwd"
    echo "$1" >"$root/etc/which"
    hutch image import -q "$root" "$1"
}

image() { # VERB...: $status, $WORK/out, $WORK/said
    status=0
    hutch image "$@" >"$WORK/out" 2>"$WORK/said" || status=$?
}

# A removed sandbox's keeper holds its image to its own end, which comes a moment after the answer.
prune_all() {
    local try
    for try in {1..50}; do
        image prune --all
        [ "$(held)" != "0 0 0 0 0 0" ] || return 0
        sleep 0.1
    done
    echo "after $try tries: $(held)" >&2
    return 1
}

names() { hutch image ls -q | tr '\n' ' ' | sed 's/ $//'; }
digest_of() { hutch image inspect "$1" | jq -r .digest; }
# How much of each kind the store holds.
held() {
    local kind
    for kind in images layers unpacked blobs partial tmp; do
        printf '%s ' "$(find "$HUTCH_HOME/lib/images/$kind" -mindepth 1 -maxdepth 1 | wc -l)"
    done | sed 's/ $//'
}

@test "ls, inspect and prune of a store that is not there find nothing and make nothing" {
    image ls --json
    same images '{"images":[]}' "$(cat "$WORK/out")"
    image prune
    same prune "nothing to remove" "$(cat "$WORK/out")"
    image rm nothing
    refused 125 "image 'nothing': there is no such image here"
    image inspect nothing
    refused 125 "image 'nothing': there is no such image here"
    [ ! -e "$HUTCH_HOME/lib/images" ]
}

@test "ls tells of every name, in their order" {
    import b && import a && hutch image tag a x.example:5000/deep/er/a:2
    image ls --json
    same names "docker.io/library/a:latest docker.io/library/b:latest x.example:5000/deep/er/a:2" \
        "$(jq -r '[.images[].reference] | join(" ")' "$WORK/out")"
    same names "a:latest b:latest x.example:5000/deep/er/a:2" "$(names)"
    same digests 2 "$(jq '[.images[].digest] | unique | length' "$WORK/out")"
    same platform "$(jq -r '.images[0].platform' "$WORK/out")" "linux/$(dpkg --print-architecture)"
    same layers 1 "$(jq '.images[0].layers' "$WORK/out")"
}

@test "inspect tells the names, the layers and the configuration, by name and by digest" {
    local digest
    import a && hutch image tag a other:1
    digest=$(digest_of a)
    for word in a other:1 "$digest" "a@$digest" "${digest:7:12}"; do
        image inspect "$word"
        same "exit status of $word" 0 "$status"
        same lines 1 "$(grep -c '' "$WORK/out")"
        same digest "$digest" "$(jq -r .digest "$WORK/out")"
        same names "docker.io/library/a:latest docker.io/library/other:1" "$(jq -r '.references | join(" ")' "$WORK/out")"
    done
    same "diff id" "$(jq -r '.config.rootfs.diff_ids[0]' "$WORK/out")" "$(jq -r '.layers[0].diff_id' "$WORK/out")"
    same size "$(stat -c %s "$HUTCH_HOME/lib/images/blobs/$(jq -r '.layers[0].digest[7:]' "$WORK/out")")" \
        "$(jq '.layers[0].size' "$WORK/out")"
}

@test "a tag is one more name for the same image, and can move" {
    import a && import b
    hutch image tag a new
    plain --image new -- cat /etc/which
    same which a "$(cat "$WORK/out")"
    hutch image tag b new
    plain --image new -- cat /etc/which
    same which b "$(cat "$WORK/out")"
    image tag nothing other
    refused 125 "image 'nothing'"
    image tag a "other@$(digest_of a)"
    refused 125 "only an image's content"
    image tag a 'Not A Name'
    same status 125 "$status"
    same names "a:latest b:latest new:latest" "$(names)"
}

@test "rm takes the name, and the content with the last of them" {
    import a && import b && hutch image tag a other
    same "two images" "2 2 2 6 0 0" "$(held)"
    image rm a
    same status 0 "$status"
    same "two images" "2 2 2 6 0 0" "$(held)"
    plain --image other -- cat /etc/which
    same which a "$(cat "$WORK/out")"
    image rm other nothing
    refused 125 "image 'nothing'"
    same "one image" "1 1 1 3 0 0" "$(held)"
    hutch image tag b more
    image rm "$(digest_of b)"
    same status 0 "$status"
    same "no image" "0 0 0 0 0 0" "$(held)"
    same names "" "$(names)"
}

@test "what a run uses outlives its name" {
    import a
    start --image a -- sh -c 'echo ready; sleep 3; cat /etc/which' >"$WORK/out"
    local run=$!
    until_true 5 grep -q ready "$WORK/out"
    hutch image rm a
    same "still there" "1 1 1 3 0 0" "$(held)"
    hutch image prune -a >/dev/null
    same "still there" "1 1 1 3 0 0" "$(held)"
    wait "$run"
    same "what it says" "ready a" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    hutch image prune >/dev/null
    same "gone" "0 0 0 0 0 0" "$(held)"
}

@test "what a sandbox is pinned to outlives its name, also while it is stopped" {
    import a && import b
    hutch create --name box --image a -- sleep 1000
    hutch image tag b a # the name means another image by now
    hutch image prune -a >/dev/null
    same "only the sandbox's" "1 1 1 3 0 0" "$(held)"
    same which a "$(hutch exec box -- cat /etc/which)"
    hutch stop box
    hutch image prune -a >/dev/null
    same "only the sandbox's" "1 1 1 3 0 0" "$(held)"
    hutch start box
    same which a "$(hutch exec box -- cat /etc/which)"
    hutch rm -f box
    prune_all
}

@test "prune removes what no name leads to and every leftover, and tells it" {
    local images
    import a && import b
    images=$HUTCH_HOME/lib/images
    hutch image tag b a # the first a has no name any more
    as_owner sh -c "mkdir -p $images/tmp/cut/layer/etc && echo x >$images/tmp/file && echo x >$images/partial/$(printf '%064d' 1)"
    image prune --dry-run --json
    same "would go" "blob blob blob image layer leftover leftover partial" "$(jq -r '[.items[].kind] | sort | join(" ")' "$WORK/out")"
    same "all there" "2 2 2 6 1 2" "$(held)"
    image prune --json
    same "went" "blob blob blob image layer leftover leftover partial" "$(jq -r '[.items[].kind] | sort | join(" ")' "$WORK/out")"
    same "one image" "1 1 1 3 0 0" "$(held)"
    same "bytes" true "$(jq '.bytes > 500000' "$WORK/out")"
    image prune
    same "again" "nothing to remove" "$(cat "$WORK/out")"
    same names "a:latest b:latest" "$(names)"
}

@test "prune --all takes the names that no sandbox uses" {
    import a && import b
    hutch create --name box --image a -- sleep 1000
    image prune --all
    same names "a:latest" "$(names)"
    grep -q '^removed name docker.io/library/b:latest$' "$WORK/out"
    hutch rm -f box
    prune_all
    same names "" "$(names)"
}

@test "a damaged record or layer is said in one sentence, and can be made again" {
    local record
    import a
    record=$HUTCH_HOME/lib/images/images/$(digest_of a | cut -d: -f2)
    cp "$record" "$WORK/whole"
    for text in '' '{' '{"os":"linux"}' "$(jq -c '.layers = ["77"]' "$WORK/whole")"; do
        printf '%s' "$text" >"$record"
        plain --pull never --image a -- true
        refused 125 "fetch it with 'hutch image pull a'"
        same platform damaged "$(hutch image ls --json | jq -r '.images[0].platform')"
        image inspect a
        refused 125 "is damaged, pull it again"
    done
    import_again a
    plain --image a -- cat /etc/which
    same which a "$(cat "$WORK/out")"
}

@test "a damaged name keeps nobody from the others: it is listed, named by prune, removed or made again" {
    local file text
    import a && import b
    file=$HUTCH_HOME/lib/images/refs/docker.io/library/a/:latest
    for text in '' 'sha256:12' "$(printf '%0200d' 0)"; do
        printf '%s' "$text" >"$file"
        same "what ls shows" "a:latest damaged b:latest linux/amd64" "$(hutch image ls --json | jq -r '[.images[] | .name, .platform] | join(" ")')"
        image ls
        same "exit status" 0 "$status"
        plain --pull never --image a -- true
        refused 125 "damaged; pull the image again"
        plain --image b -- cat /etc/which
        same which b "$(cat "$WORK/out")"
        image inspect b
        same "exit status" 0 "$status"
        # it may have been the only name of anything
        image prune
        refused 125 "'a:latest' is damaged.*hutch image rm a:latest"
        same "all there" "2 2 2 6 0 0" "$(held)"
    done
    image rm b
    same "exit status" 0 "$status"
    same "content of b" 1 "$(find "$HUTCH_HOME/lib/images/layers" -mindepth 1 -maxdepth 1 | wc -l)"
    import_again a
    plain --image a -- cat /etc/which
    same which a "$(cat "$WORK/out")"
    echo x >"$file"
    image rm a
    same "exit status" 0 "$status"
    image prune
    same "no image" "0 0 0 0 0 0" "$(held)"
}

as_owner() {
    if [ "$HUTCH_TEST_AS" = root ]; then "$@"; else as_user "$@"; fi
}

import_again() { # NAME
    rm -rf "$WORK/root-$1"
    import "$1"
}
