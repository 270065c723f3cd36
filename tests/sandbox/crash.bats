#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# kill -9 of whoever acts, at any moment: a sandbox is usable, or stopped with all that was acknowledged, or gone; nothing is left.

load ../lib
load ../integration/words
load words

# HUTCH_CHAOS_KILLS=500 is the whole of it.
@test "kill -9 of command lines and keepers at random moments of random operations" {
    local seed=$RANDOM kills=${HUTCH_CHAOS_KILLS:-250} on_disk=1
    [ "$HUTCH_TEST_AS" = root ] || on_disk=0
    after_kill9
    user_dir fixtures >/dev/null
    cp "$FIXTURES/chaos.py" "$WORK/fixtures/"
    chmod 644 "$WORK/fixtures/chaos.py"
    echo "seed $seed"
    # as root: it has to see which keeper is whose
    AS=()
    [ "$HUTCH_TEST_AS" = root ] || AS=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups)
    printf '#!/bin/sh\nexec %s "$@"\n' "${AS[*]} $HUTCH" >"$WORK/fixtures/hutch"
    chmod 755 "$WORK/fixtures/hutch"
    "$PYTHON" "$WORK/fixtures/chaos.py" "$WORK/fixtures/hutch" "$kills" "$seed" 6 "$on_disk" "${CREATE_FLAGS[@]}" 3>&-
    hutch gc >/dev/null
    same "left in ls" "" "$(hutch ls -q)"
    hutch gc >/dev/null
}

# The pool has files of sandboxes that are there, and no others.
pool_is_known() {
    local id
    for id in $(find "$HUTCH_HOME/lib/pool" -mindepth 1 -maxdepth 1 ! -name lost+found -printf '%f\n'); do
        grep -qxF "$id" "$HUTCH_HOME"/lib/sandboxes/*/id || return 1
    done
}

@test "kill -9 of who creates: what it had made of the sandbox's files goes with it, without a sweep" {
    [ "$HUTCH_TEST_AS" = root ] || skip "the files of an ordinary user's sandbox are in memory"
    local i
    create first
    for i in $(seq 60); do
        "$HUTCH" create --name "box$i" "${CREATE_FLAGS[@]}" >/dev/null 2>&1 3>&- &
        sleep "0.00$((RANDOM % 10))"
        kill -9 $! 2>/dev/null || true
        wait $! 2>/dev/null || true
    done
    until_true 5 pool_is_known
    after_kill9
    hutch rm -f first $(hutch ls -q | grep -v '^first$') >/dev/null
}

@test "kill -9 of the keeper ends every process of the sandbox at once; its files can be started again" {
    create box
    inside box 'echo kept >/workspace/kept'
    hutch exec -d box -- sh -c "setsid sleep 60.$$ & : $(marker); sleep 60" >/dev/null
    until_true 5 some_bears "$(marker)"
    kill -9 "$(keeper_of box)"
    until_true 2 none_bears "$(marker)"
    until_true 2 none_bears "60.$$"
    same reason keeper_died "$(reason_of box)"
    call exec box -- true
    same status 125 "$status"
    after_kill9
    if [ "$HUTCH_TEST_AS" = root ]; then
        same state stopped "$(state_of box)"
        hutch start box
        same file kept "$(inside box 'cat /workspace/kept')"
    else
        same state dead "$(state_of box)"
    fi
    hutch rm -f box
}

@test "kill -9 of the keeper of a paused sandbox: a sweep thaws and ends what was frozen" {
    needs_groups
    create box
    hutch exec -d box -- sh -c ": $(marker); sleep 60" >/dev/null
    until_true 5 some_bears "$(marker)"
    hutch pause box
    kill -9 "$(keeper_of box)"
    until_true 5 eval '! is box paused'
    hutch gc >/dev/null
    until_true 3 none_bears "$(marker)"
    after_kill9
    [ "$HUTCH_TEST_AS" != root ] || hutch rm -f box # else the sweep has taken it: its files were in memory
    is_gone box
}

@test "kill -9 while it is being made: usable, or gone after a sweep" {
    local i pid kept
    after_kill9
    for i in $(seq 30); do
        become "$HUTCH" create "${CREATE_FLAGS[@]}" --name "box$i" >/dev/null 2>&1 &
        pid=$!
        sleep "0.0$((RANDOM % 3))$((RANDOM % 10))"
        kill -9 "$pid" 2>/dev/null || true
        { wait "$pid" || true; } 2>/dev/null
    done
    until_true 5 eval '! hutch ls | grep -q starting'
    hutch gc >/dev/null
    kept=$(hutch ls -q | wc -l)
    echo "$kept of 30 went on"
    for i in $(hutch ls -q); do
        hutch exec "$i" -- true
        hutch rm -f "$i"
    done
    same "homes left" "" "$(ls -A "$HUTCH_HOME/lib/sandboxes")"
}

@test "a keeper that is killed while it makes the sandbox: create says so, and nothing is left" {
    needs_root
    local i pid keeper failed=0
    after_kill9
    for i in $(seq 20); do
        "$HUTCH" create --name box >"$WORK/out" 2>"$WORK/said" 3>&- &
        pid=$!
        for _ in $(seq 200); do
            keeper=$(keeper_of box 2>/dev/null) && break
        done
        [ -z "$keeper" ] || kill -9 "$keeper" 2>/dev/null || true
        status=0
        wait "$pid" || status=$?
        if [ "$status" -ne 0 ]; then
            failed=$((failed + 1))
            refused 125 "keeper"
            is_gone box
        fi
        hutch rm -f box 2>/dev/null || true
    done
    echo "$failed of 20 were met while being made"
}

@test "ls, inspect and ps return though the keeper does not answer" {
    create box
    local keeper before
    keeper=$(keeper_of box)
    kill -STOP "$keeper"
    before=$(now_ms)
    call_json ls
    in_time "ms of ls" 0 5000 $(($(now_ms) - before))
    same "state" unresponsive "$(field '.sandboxes[0].state')"
    call inspect box
    before=$(now_ms)
    call ps box
    in_time "ms of ps" 0 5000 $(($(now_ms) - before))
    refused 125 "does not answer"
    kill -CONT "$keeper"
    hutch exec box -- true
    # by force it goes also when its keeper never answers again
    kill -STOP "$keeper"
    before=$(now_ms)
    hutch rm -f box
    in_time "ms of rm -f" 0 10000 $(($(now_ms) - before))
    is_gone box
    after_kill9
}
