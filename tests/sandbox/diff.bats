#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hutch diff and hutch apply: what a sandbox has changed, told and written back.

load ../lib
load ../integration/words
load words
load files

# An ordinary user's overlay leaves its marks in extended attributes that a filesystem in memory has since Linux 6.6.
needs_overlay() {
    [ "$HUTCH_TEST_AS" = root ] || [ "$(printf '%s\n6.6\n' "$(uname -r)" | sort -V | head -n 1)" = 6.6 ] ||
        skip "an ordinary user's overlay needs Linux 6.6"
}

changes() { hutch diff --root "$1" | sort; } # NAME

workspace() { # a directory under version control
    local dir
    dir=$(here project)
    caller sh -c "cd $dir && mkdir -p src/deep empty && seq 100 >src/numbers && echo keep >keep && echo gone >gone &&
        printf 'no newline' >src/bare && echo x >src/deep/x && printf '\\0\\1\\2binary' >blob && ln -s keep link && echo run >tool && chmod 755 tool"
    (cd "$dir" && caller env HOME="$WORK" git init -q . 2>/dev/null &&
        caller env HOME="$WORK" git -c user.name=n -c user.email=e add -A && caller env HOME="$WORK" git -c user.name=n -c user.email=e commit -qm x)
    sleep 0.05
    echo "$dir"
}

change_all() { # NAME
    hutch exec "$1" -- sh -c 'cd /workspace && sed -i s/^50$/fifty/ src/numbers && rm gone && echo new >src/new && mkdir more && echo m >more/m &&
        printf "bare no more\n" >src/bare && rm link && ln -s tool link && chmod 644 tool && rm -r src/deep && echo "with space" >"a b" &&
        printf "\303\244\n" >"$(printf "\303\244")" && : >nothing'
}

@test "against the host's programs: what was added, and nothing of the set-up" {
    box box
    call diff box
    same "of a new one" "" "$(cat "$WORK/out")"
    inside box 'mkdir /workspace/d; echo x >/workspace/d/f; ln -s f /workspace/d/l; touch /tmp/t; mkdir -p ~/deep/er'
    same "changes" "added /home/user/deep added /home/user/deep/er added /tmp/t added /workspace/d added /workspace/d/f added /workspace/d/l" \
        "$(changes box | xargs)"
    inside box 'rm -r /workspace/d'
    same "after removing" "added /home/user/deep added /home/user/deep/er added /tmp/t" "$(changes box | xargs)"
    call_json diff box
    same json '[["added","home/user/deep"],["added","home/user/deep/er"],["added","tmp/t"]]' "$(jq -c '[.changes[] | [.kind, .path]] | sort' "$WORK/json")"
    hutch rm -f box
}

@test "against a root: added, modified, deleted, type, metadata" {
    needs_overlay
    local root
    root=$(small_root root)
    chmod -R a+rwX "$root/data"
    box box --rootfs "$root" -u 0
    call diff --root box
    same "of a new one" "" "$(cat "$WORK/out")"
    inside box 'cd /data; echo more >>one; rm two; rm link; mkdir link; chmod 700 deep; echo new >deep/new; rm deep/three; ln -s x deep/three'
    same "changes" "added /data/deep/new deleted /data/two metadata /data/deep modified /data/one type /data/deep/three type /data/link" \
        "$(changes box | xargs)"
    inside box 'rm -r /data; mkdir /data; echo again >/data/one'
    hutch diff --root box | grep -q "deleted  */data/deep/three"
    same "as JSON" "$(changes box | wc -l)" "$(hutch diff --json box | jq '.changes | length')"
    # the root itself is as it was
    same "the root" "one two three" "$(cat "$root/data/one" "$root/data/two" "$root/data/deep/three" | xargs)"
    hutch rm -f box
}

@test "odd names in a list stay on their line" {
    box box
    hutch exec box -- "$PYTHON" -c '
for name in [b"two\nlines", b"\xff", b"\"quoted\"", b"-x", b"a\x1b[2J"]:
    open(b"/workspace/" + name, "w").close()
'
    same lines 5 "$(hutch diff box | grep -c '^added    /workspace/')"
    same "all lines" 5 "$(hutch diff box | grep -c '')"
    call_json diff box
    same "as JSON" 5 "$(jq '.changes | length' "$WORK/json")"
    same "the newline" '"workspace/two\nlines"' "$(jq -c '.changes[].path | select(contains("lines"))' "$WORK/json")"
    hutch rm -f box
}

@test "a workspace's patch is what patch and git apply take, and gives what the sandbox has" {
    needs_overlay
    local dir copy tool
    dir=$(workspace)
    box box --workspace "$dir:overlay"
    call diff box
    same "of a new one" "" "$(cat "$WORK/out")"
    change_all box
    hutch diff box >"$WORK/patch"
    for tool in "git apply" "patch -s -p1"; do
        copy=$WORK/copy-${tool%% *}
        cp -a "$dir" "$copy"
        [ "$tool" = "git apply" ] || rm "$copy/link" # GNU patch does not change where a link leads
        (cd "$copy" && $tool <"$WORK/patch" >"$WORK/out" 2>&1) || { [ "${tool%% *}" = patch ] || { cat "$WORK/out" "$WORK/patch" >&2 && false; }; }
        same "$tool" "fifty new m bare no more" "$(cd "$copy" && { sed -n 50p src/numbers && cat src/new more/m src/bare; } | xargs)"
        not test -e "$copy/gone"
        not test -e "$copy/src/deep/x"
        same "odd names" "with space ä" "$(cd "$copy" && cat 'a b' 'ä' | xargs)"
    done
    same "git's mode" 644 "$(stat -c %a "$WORK/copy-git/tool")"
    same "git's link" tool "$(readlink "$WORK/copy-git/link")"
    same "the workspace itself" keep "$(readlink "$dir/link")"
    hutch rm -f box
}

@test "apply writes it back: dry-run changes nothing, twice is once, owners are the workspace's" {
    needs_overlay
    local dir owner
    dir=$(workspace)
    owner=$(stat -c %u:%g "$dir")
    box box --workspace "$dir:overlay"
    change_all box
    list_tree "$dir" >"$WORK/list"
    call apply --dry-run box
    same status 0 "$status"
    same "would be" "would be: 6 added, 4 modified, 3 deleted, 0 left alone" "$(cat "$WORK/out")"
    list_tree "$dir" >"$WORK/list.after"
    same_lists "after a dry run" "$WORK/list" "$WORK/list.after"
    call apply box
    same status 0 "$status"
    same "is" "6 added, 4 modified, 3 deleted, 0 left alone" "$(cat "$WORK/out")"
    same "content" "fifty new m bare no more" "$(cd "$dir" && { sed -n 50p src/numbers && cat src/new more/m src/bare; } | xargs)"
    not test -e "$dir/gone"
    not test -e "$dir/src/deep"
    same "mode" 644 "$(stat -c %a "$dir/tool")"
    same "link" tool "$(readlink "$dir/link")"
    same "owners" "$owner" "$(find "$dir" -path "$dir/.git" -prune -o -printf '%U:%G\n' | sort -u)"
    call apply box
    same "again" "0 0 added, 0 modified, 0 deleted, 0 left alone" "$status $(cat "$WORK/out")"
    # what comes later is applied too
    inside box 'echo later >/workspace/later'
    call apply box
    same "later" "0 later" "$status $(cat "$dir/later")"
    hutch rm -f box
}

@test "apply: what takes a directory's place belongs to the workspace's owner too" {
    needs_overlay
    local dir owner
    dir=$(workspace)
    owner=$(stat -c %u:%g "$dir")
    box box --workspace "$dir:overlay"
    inside box 'cd /workspace && rm -r src/deep empty && echo file >src/deep && ln -s keep empty'
    call apply box
    same status 0 "$status"
    same "in their places" "file keep" "$(cat "$dir/src/deep") $(readlink "$dir/empty")"
    same "owners" "$owner" "$(find "$dir" -path "$dir/.git" -prune -o -printf '%U:%G\n' | sort -u)"
    hutch rm -f box
}

@test "what was changed underneath is left alone and told, with exit status 1" {
    needs_overlay
    local dir
    dir=$(workspace)
    box box --workspace "$dir:overlay"
    sleep 0.05
    inside box 'cd /workspace; echo theirs >keep; echo theirs >made; rm gone; echo good >src/good; echo theirs >tool'
    caller sh -c "cd $dir; echo ours >keep; echo ours >made; echo ours >gone"
    call apply --dry-run box
    same status 1 "$status"
    call apply box
    same status 1 "$status"
    says "changed" "left alone 'keep': it was changed since the sandbox was created"
    says "made" "left alone 'made': it was made since"
    says "deleted" "left alone 'gone'"
    same "lines" 3 "$(grep -c '' "$WORK/said")"
    same "ours" "ours ours ours" "$(cat "$dir/keep" "$dir/made" "$dir/gone" | xargs)"
    same "the rest" "good theirs" "$(cat "$dir/src/good" "$dir/tool" | xargs)"
    hutch rm -f box
}

@test "apply goes nowhere else: links, devices and FIFOs inside the workspace" {
    needs_overlay
    plant_canary
    local dir
    dir=$(workspace)
    box box --workspace "$dir:overlay"
    inside box "cd /workspace; ln -s $CANARY/dir src/way; rm -r src/deep; ln -s $CANARY/dir src/deep; mkfifo pipe; ln -s $CANARY/file out"
    caller sh -c "rm -r $dir/empty; ln -s $CANARY/dir $dir/empty"
    inside box 'echo evil >/workspace/empty/file' || true
    call apply box
    same status 1 "$status"
    says "the FIFO" "left alone 'pipe'"
    canary_lives
    same "a link stays one" "$CANARY/dir" "$(readlink "$dir/src/deep")"
    hutch rm -f box
}

@test "kill -9 in the middle of apply, then again: every file whole, nothing beside" {
    needs_overlay
    local dir pid
    dir=$(here project)
    box box --workspace "$dir:overlay"
    inside box 'cd /workspace; for i in $(seq 400); do head -c 30000 /dev/zero | tr "\0" "x" >f$i; done'
    for _ in 1 2 3 4 5 6 7 8; do
        become "$HUTCH" apply box >/dev/null 2>&1 &
        pid=$!
        sleep "0.00$((RANDOM % 10))"
        kill -KILL $pid 2>/dev/null || true
        wait $pid 2>/dev/null || true
        same "half files" "" "$(find "$dir" -name 'f*' ! -size 30000c)"
    done
    call apply box
    same status 0 "$status"
    same "files" 400 "$(find "$dir" -type f -name 'f*' -size 30000c | wc -l)"
    same "beside" "" "$(find "$dir" -mindepth 1 ! -name 'f*')"
    hutch rm -f box
}

@test "diff and apply without a workspace to compare, of a stopped, paused and unknown one" {
    needs_overlay
    box box
    call apply box
    refused 125 "no workspace in mode overlay"
    call diff nobody
    refused 125 "no sandbox 'nobody'"
    call apply nobody
    refused 125 "no sandbox 'nobody'"
    hutch rm -f box
    local dir
    dir=$(workspace)
    box box --workspace "$dir:overlay"
    inside box 'echo new >/workspace/new'
    if [ "$HUTCH_TEST_AS" = root ]; then
        hutch pause box
        hutch diff box | grep -q '^+new'
        hutch resume box
    fi
    hutch stop box
    hutch diff box | grep -q '^+new'
    call apply box
    same "of a stopped one" "0 new" "$status $(cat "$dir/new")"
    hutch rm -f box
}
