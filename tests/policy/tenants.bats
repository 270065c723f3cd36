#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tenants, and what all living sandboxes of one may have together.

load ../lib
load ../integration/words
load ../sandbox/words
load words

@test "a tenant is known by its uid; its rules take the place of those for everybody, one by one" {
    local own
    own=$(id -u)
    [ "$HUTCH_TEST_AS" = root ] || own=$TEST_UID
    policy <<END
ceilings:
  limits: {pids: 50, open_files: 100}
tenants:
  ours:
    uids: [$own]
    ceilings:
      limits: {pids: 200}
  theirs:
    uids: [4242]
    ceilings: {limits: {pids: none}}
END
    allowed run --pids 200 -- true
    refused ceilings.limits.pids 7 run --pids 201 -- true
    grep -q "tenant 'ours'" "$WORK/said"
    refused ceilings.limits.open_files 2 run --open-files 101 -- true
    call policy show --json
    same tenant ours "$(jq -r .tenant "$WORK/out")"
    call policy show --json --tenant theirs
    same "ceiling of theirs" none "$(jq -r '.rules[] | select(.rule == "ceilings.limits.pids").value' "$WORK/out")"
    call policy show --tenant nobody
    same "a tenant that is not there" 125 "$status"
}

@test "two tenants on one host have their own rules" {
    needs_root
    local home=$WORK/other
    mkdir "$home"
    chown "$TEST_UID" "$home"
    chmod o+x "$WORK" "$(dirname "$WORK")" "$(dirname "$(dirname "$WORK")")"
    policy <<END
tenants:
  admins: {uids: [0], ceilings: {limits: {pids: 100}}}
  guests: {uids: [$TEST_UID], ceilings: {limits: {pids: 10}}}
END
    allowed run --pids 100 -- true
    HUTCH_HOME=$home as_user "$HUTCH" run --dry-run --pids 10 -- true >/dev/null
    status=0
    HUTCH_HOME=$home as_user "$HUTCH" run --dry-run --pids 11 -- true 2>"$WORK/said" || status=$?
    same "guest" 125 "$status"
    grep -q "tenant 'guests'" "$WORK/said"
}

@test "totals: sandboxes that stay count while they live; stopped and removed ones do not" {
    policy <<<$'totals:\n  sandboxes: 2\n  pids: 100'
    allowed create --name a --pids 40
    allowed create --name b --pids 40
    refused totals.sandboxes 2 create --name c --pids 10
    refused totals.sandboxes 2 run --pids 10 -- true
    allowed rm -f b
    refused totals.pids 3 create --name c --pids 61
    allowed create --name c --pids 60
    refused totals.pids 3 update a --pids 41
    allowed update a --pids 30
    allowed update a --pids 40
    allowed stop a
    allowed run --pids 40 -- true
    if hutch inspect a | jq -e '.writable_layer == "disk"' >/dev/null; then
        allowed create --name d --pids 5
        refused totals.sandboxes 2 start a
        allowed rm -f d
        allowed start a
    fi
    allowed rm -f a c
}

@test "totals: runs count as long as they live, killed ones too no longer" {
    policy policy.json <<<'{"totals": {"sandboxes": 1}}'
    hutch run -- sleep 60 &
    local run=$!
    until grep -qs . "$HUTCH_HOME"/lib/claims/run-*; do sleep 0.05; done
    refused totals.sandboxes 1 run -- true
    kill -9 "$(pgrep -P "$run" -x hutch || echo "$run")" 2>/dev/null || kill -9 "$run"
    wait "$run" || true
    after_kill9
    for _ in {1..40}; do
        call run -- true
        [ "$status" != 0 ] || break
        sleep 0.05
    done
    same "after its end" 0 "$status"
    same "claims that are left" "" "$(cd "$HUTCH_HOME/lib/claims" && ls | grep -v '^lock$' || true)"
}

@test "totals: of twenty at the same moment, no more than allowed pass" {
    needs_root
    policy policy.json <<<'{"totals": {"sandboxes": 3}}'
    local i pids=()
    for i in {1..20}; do
        hutch create --name "n$i" >/dev/null 2>"$WORK/said.$i" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i" || true; done
    same "sandboxes" 3 "$(hutch ls -q | wc -l)"
    same "refusals" 17 "$(grep -l "rule 'totals.sandboxes'" "$WORK"/said.* | wc -l)"
    # shellcheck disable=SC2046 # names are single words
    allowed rm -f $(hutch ls -q)
}

@test "start and fork are held against the policy of now, and exec against its time" {
    needs_root
    unset HUTCH_POLICY
    allowed create --name a --pids 100 --label team=x
    policy <<<$'ceilings:\n  limits: {pids: 100, timeout: 2s}\n  ttl: 1h'
    allowed fork a b
    same "ttl of the fork" '"1h"' "$(hutch inspect b | jq -c .spec.ttl)"
    allowed stop a
    allowed start a
    same "ttl after the start" '"1h"' "$(hutch inspect a | jq -c .spec.ttl)"
    allowed stop a
    policy <<<'ceilings: {limits: {pids: 50, timeout: 2s}}'
    refused ceilings.limits.pids 1 start a
    refused ceilings.limits.pids 1 fork b c
    refused ceilings.limits.timeout 1 exec --timeout 3s b -- true
    allowed exec --timeout 2s b -- true
    call exec b -- sleep 20
    same "a command without a time of its own" 124 "$status"
    refused ceilings.limits.pids 1 update b --pids 51
    allowed update b --pids 50
    policy <<<$'on_exceed: clamp\nceilings: {limits: {pids: 40}}'
    allowed update b --pids 1000
    same "clamped" 40 "$(hutch inspect b | jq .spec.limits.pids)"
    unset HUTCH_POLICY
    allowed rm -f a b
}
