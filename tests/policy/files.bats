#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Which files are a policy, where they are looked for, and that a broken one lets nothing run.

load ../lib
load ../integration/words
load words

@test "without a policy everything is as hutch has it" {
    call policy show --json
    same files '[]' "$(jq -c .files "$WORK/out")"
    same hash null "$(jq -c .hash "$WORK/out")"
    same "where the default of memory stands" hutch "$(jq -r '.rules[] | select(.rule == "defaults.limits.memory").from' "$WORK/out")"
    same memory 536870912 "$(becomes .limits.memory)"
    plain -- echo fine
    same output fine "$(cat "$WORK/out")"
}

@test "a good file is told by silence, and show names the line of every rule" {
    policy <<'END'
defaults:
  limits: {pids: 64}
ceilings:
  limits:
    pids: 100
  ttl: 1h
images: ["python:3.*"]
egress:
  hosts: []
END
    call policy check "$HUTCH_POLICY"
    same status 0 "$status"
    same said "" "$(cat "$WORK/said" "$WORK/out")"
    call policy show --json
    rule() { jq -r ".rules[] | select(.rule == \"$1\") | \"\(.value) \(.from)\"" "$WORK/out"; }
    same "default" "64 $HUTCH_POLICY:2" "$(rule defaults.limits.pids)"
    same "ceiling" "100 $HUTCH_POLICY:5" "$(rule ceilings.limits.pids)"
    same "ttl" "1h $HUTCH_POLICY:6" "$(rule ceilings.ttl)"
    same "images" "python:3.* $HUTCH_POLICY:7" "$(rule images)"
    same "an empty list" "nothing $HUTCH_POLICY:9" "$(rule egress.hosts)"
    call policy show
    same "exit status of the table" 0 "$status"
    grep -qE '^ceilings.limits.pids +100 +/' "$WORK/out"
}

@test "JSON is read by the small program itself, with its lines" {
    policy policy.json <<'END'
{
  "ceilings": {
    "limits": {"pids": 100}
  }
}
END
    refused ceilings.limits.pids 3 run --pids 101 -- true
    same "pids" 50 "$(becomes .limits.pids --pids 50)"
}

@test "--policy takes the place of the user's own file" {
    policy <<<'ceilings: {limits: {pids: 100}}'
    echo 'ceilings: {limits: {pids: 200}}' >"$WORK/other.yml"
    call run --policy "$WORK/other.yml" --pids 200 -- true
    same status 0 "$status"
    call run --policy="$WORK/other.yml" --pids 201 -- true
    same status 125 "$status"
    grep -qF "$WORK/other.yml:1" "$WORK/said"
    call run --policy "$WORK/none.yml" -- true
    same "a file that is not there" 125 "$status"
    grep -q "none.yml" "$WORK/said"
}

@test "the user's own configuration directory is looked into" {
    mkdir -p "$WORK/config/hutch"
    echo 'ceilings: {limits: {pids: 100}}' >"$WORK/config/hutch/policy.yml"
    export XDG_CONFIG_HOME=$WORK/config
    HUTCH_POLICY=$XDG_CONFIG_HOME/hutch/policy.yml refused ceilings.limits.pids 1 run --pids 101 -- true
    unset HUTCH_POLICY
    call run --pids 101 -- true
    same status 125 "$status"
    mv "$WORK/config/hutch/policy.yml" "$WORK/config/hutch/policy.yaml"
    call run --pids 101 -- true
    same "status with .yaml" 125 "$status"
    echo '{}' >"$WORK/config/hutch/policy.json"
    call run -- true
    same "status with two files" 125 "$status"
    grep -q "both .*policy.yaml.* and .*policy.json" "$WORK/said"
}

@test "a broken file lets nothing run: empty, unknown keys, duplicate ones, wrong values, each with its line" {
    policy </dev/null
    broken "policy.yml': line 1: the document is empty"
    policy <<<$'on_exceed: refuse\nceiling: {}'
    broken "line 2: unknown key 'ceiling', did you mean 'ceilings'"
    policy <<<$'ceilings:\n  limits:\n    memroy: 1g'
    broken "line 3: ceilings: 'limits.memroy' is not a limit, did you mean 'limits.memory'"
    policy <<<$'images: []\nimages: [a]'
    broken "line 2: duplicate key 'images'"
    policy <<<$'on_exceed: refuse\nimages:\n'
    broken "line 2: 'images' has no value"
    policy <<<$'on_exceed: ask'
    broken "line 1: on_exceed: 'ask' must be 'refuse' or 'clamp'"
    policy <<<$'totals: {sandboxes: many}'
    broken "line 1: totals: sandboxes: "
    policy <<<$'egress:\n  hosts:\n    - 10.0.0.1'
    broken "line 3: egress.hosts: entry 1: "
    policy <<<$'egress: {ranges: [10.0.0.1/8]}'
    broken "line 1: egress.ranges: entry 1: "
    policy <<<$'mounts: {read: [srv]}'
    broken "line 1: mounts.read: entry 1: 'srv' is not an absolute path"
    policy <<<$'tenants:\n  a: {uids: [1]}\n  b: {uids: [1]}'
    broken "tenant 'b': uid 1 is tenant 'a' already"
    policy <<<$'- a\n- b'
    broken "the document is a list"
    policy policy.json <<<'{"images": [}'
    broken "line 1: "
    policy < <(head -c 5000000 /dev/zero | tr '\0' ' ')
    broken "larger than"
}

@test "a file that others can change, or its directory, is not used" {
    policy <<<'ceilings: {limits: {pids: 100}}'
    chmod 664 "$HUTCH_POLICY"
    broken "others can change it"
    chmod 646 "$HUTCH_POLICY"
    broken "others can change it"
    chmod 644 "$HUTCH_POLICY"
    chown 12345 "$HUTCH_POLICY"
    broken "others can change it"
    chown 0 "$HUTCH_POLICY"
    mkdir "$WORK/open"
    mv "$HUTCH_POLICY" "$WORK/open/policy.yml"
    export HUTCH_POLICY=$WORK/open/policy.yml
    chmod 777 "$WORK/open"
    broken "others can change its directory"
    chmod 1777 "$WORK/open"
    allowed run -- true
    chmod 755 "$WORK/open"
    chown 12345 "$WORK/open"
    broken "others can change its directory"
}

@test "a symbolic link, a directory, a FIFO or an unreadable file is no policy, and nothing hangs" {
    echo 'ceilings: {limits: {pids: 100}}' >"$WORK/real.yml"
    ln -s real.yml "$WORK/link.yml"
    export HUTCH_POLICY=$WORK/link.yml
    broken "symbolic link"
    export HUTCH_POLICY=$WORK/dir.yml
    mkdir "$WORK/dir.yml"
    broken "not a regular file|directory"
    export HUTCH_POLICY=$WORK/fifo.yml
    mkfifo "$WORK/fifo.yml"
    broken "not a regular file"
    export HUTCH_POLICY=$WORK/gone.yml
    broken "No such file"
    if [ "$HUTCH_TEST_AS" != root ]; then
        export HUTCH_POLICY=$WORK/real.yml
        chmod 600 "$HUTCH_POLICY"
        broken "Permission denied"
    fi
}

# In a mount namespace of the test's own, with its own /etc/hutch.
with_etc() { # COMMAND...
    # shellcheck disable=SC2016 # they are the inner shell's
    unshare -m sh -c 'mount -t tmpfs -o mode=755 none /mnt && mkdir -p /mnt/up /mnt/work && mount -t overlay none -o lowerdir=/etc,upperdir=/mnt/up,workdir=/mnt/work /etc &&
        mkdir -p /etc/hutch && cp "$1" /etc/hutch/policy.yml && chmod "$2" /etc/hutch/policy.yml && shift 2 && "$@"' sh "$@"
}

@test "the host's own file holds always; another can only narrow it" {
    needs_root
    local mode=644
    echo 'ceilings: {limits: {pids: 100}}' >"$WORK/etc.yml"
    echo 'ceilings: {limits: {pids: 200, open_files: 64}}' >"$WORK/wide.yml"
    echo 'ceilings: {limits: {pids: 50}}' >"$WORK/narrow.yml"
    ours() { call_in "$@"; }
    call_in() { # ARG...
        status=0
        with_etc "$WORK/etc.yml" "$mode" "$HUTCH" "$@" >"$WORK/out" 2>"$WORK/said" || status=$?
    }
    ours run --pids 100 -- true
    same "at the host's ceiling" 0 "$status"
    ours run --policy "$WORK/wide.yml" --pids 101 -- true
    same "above it, whatever another file says" 125 "$status"
    grep -qF "/etc/hutch/policy.yml:1" "$WORK/said"
    ours run --policy "$WORK/wide.yml" --open-files 65 -- true
    same "what the other file narrows" 125 "$status"
    grep -qF "$WORK/wide.yml:1" "$WORK/said"
    ours run --policy "$WORK/narrow.yml" --pids 51 -- true
    same "narrowed" 125 "$status"
    ours policy show --json --policy "$WORK/narrow.yml"
    same files '["/etc/hutch/policy.yml","'"$WORK/narrow.yml"'"]' "$(jq -c .files "$WORK/out")"
    same "the lower ceiling" 50 "$(jq -r '.rules[] | select(.rule == "ceilings.limits.pids").value' "$WORK/out")"
    mode=666
    ours run -- true
    same "writable for others" 125 "$status"
    # what an ordinary user cannot read must not be forgotten
    mode=600
    status=0
    chown "$TEST_UID" "$HUTCH_HOME"
    with_etc "$WORK/etc.yml" 600 setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups "$HUTCH" run -- true 2>"$WORK/said" || status=$?
    chown 0 "$HUTCH_HOME"
    same "unreadable" 125 "$status"
    grep -q "policy.yml.*Permission denied" "$WORK/said"
}
