#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Ways around a policy that a caller may try: each is refused by the rule that it is meant to avoid.

load ../lib
load ../integration/words
load words
load secrets

policy() { # FILE JSON
    printf '%s' "$2" >"$WORK/$1"
    own "$WORK/$1" 644
}

refused() { # RULE VERB ARG...
    local rule=$1
    shift
    call "$@"
    same "exit status of hutch $*" 125 "$status"
    same "output of hutch $*" "" "$(cat "$WORK/out")"
    says "the sentence" "the policy refuses this.*'$rule'"
}

# With a policy of the host's own: /etc as it is, and one directory more that nobody else sees.
with_host_policy() { # JSON SCRIPT
    [ "$HUTCH_TEST_AS" = root ] || skip "only root can have a policy of the host's own for a test"
    mkdir -p "$WORK/etc"
    JSON=$1 WORK=$WORK HUTCH=$HUTCH unshare -m bash -euc '
        mount -t tmpfs etc "$WORK/etc" && mkdir "$WORK"/etc/{upper,work}
        mount -t overlay -o "lowerdir=/etc,upperdir=$WORK/etc/upper,workdir=$WORK/etc/work" etc /etc
        mkdir -p /etc/hutch && printf %s "$JSON" >/etc/hutch/policy.json
        '"$2"
}

@test "secrets that the policy does not have, or not in that way, are not handed over" {
    providers '{"secrets": {"api-key": {"file": "VAULT/key"}, "team-a": {"file": "VAULT/key"}}}'
    plant key the-value
    policy none.json '{"secrets": []}'
    refused secrets run --policy "$WORK/none.json" --secret api-key -- printenv API_KEY
    refused secrets create --policy "$WORK/none.json" --name box --secret api-key
    policy some.json '{"secrets": ["team-*", {"name": "api-key", "delivery": ["file"]}]}'
    plain --policy "$WORK/some.json" --secret team-a -- printenv TEAM_A
    same "one that is allowed" the-value "$(cat "$WORK/out")"
    plain --policy "$WORK/some.json" --secret api-key:file -- cat /run/secrets/api-key
    same "in the way that is allowed" the-value "$(cat "$WORK/out")"
    refused secrets run --policy "$WORK/some.json" --secret api-key -- printenv API_KEY
    says "the way" "not by .env."
    lacks the-value "$WORK/said"
}

@test "what an earlier policy opened is closed when a sandbox starts under a narrower one" {
    policy wide.json '{"egress": {"ranges": ["10.0.0.0/8"], "proxy": "http://proxy.test:3128"}, "audit": {"argv": "digest"}}'
    policy narrow.json '{"egress": {"hosts": ["a.test"]}}'
    export HUTCH_POLICY=$WORK/wide.json
    create box --egress a.test
    decided() { hutch inspect box | jq -c '[.spec.egress_policy.opened, .spec.egress_policy.proxy, .spec.policy.audit]'; }
    same "under the wide one" '[["10.0.0.0/8"],"http://proxy.test:3128","digest"]' "$(decided)"
    hutch stop box
    if [ "$HUTCH_TEST_AS" = root ]; then
        HUTCH_POLICY=$WORK/narrow.json hutch start box
        same "under the narrow one" '[[],null,null]' "$(decided)"
    else # its files are in memory, with the keeper that has the old one
        HUTCH_POLICY=$WORK/narrow.json call start box
        same "exit status under the narrow one" 125 "$status"
    fi
    hutch rm -f box
}

@test "changes of a workspace that may only be read are not written back" {
    local dir
    dir=$(user_dir tree)
    policy read.json "{\"mounts\": {\"read\": [\"$WORK\"]}}"
    export HUTCH_POLICY=$WORK/read.json
    call create --name box --workspace "$dir:overlay"
    [ "$status" = 0 ] || skip "no overlay here"
    inside box 'echo x >/workspace/new'
    refused mounts.read apply box
    not test -e "$dir/new"
    policy write.json "{\"mounts\": {\"write\": [\"$WORK\"]}}"
    HUTCH_POLICY=$WORK/write.json hutch apply box
    same "written back" x "$(cat "$dir/new")"
    hutch rm -f box
}

@test "a caller's own file gives no way out beside the host's, and hides no command line" {
    policy proxy.json '{"egress": {"proxy": "http://127.0.0.1:9"}}'
    policy digest.json '{"audit": {"argv": "digest"}}'
    with_host_policy '{"egress": {"hosts": ["a.test"]}}' '
        ! HUTCH_POLICY=$WORK/proxy.json "$HUTCH" run --dry-run --egress a.test -- true 2>"$WORK/said"
        HUTCH_POLICY=$WORK/digest.json "$HUTCH" run -- true seen-in-the-journal'
    says "the sentence" "the policy refuses this.*'egress.proxy'"
    grep -q seen-in-the-journal "$HUTCH_HOME"/lib/audit/segment-*
}

@test "a caller's own file does not make its sandboxes somebody else's, who are not counted" {
    policy a.json '{"tenants": {"a": {"uids": [0]}}}'
    policy b.json '{"tenants": {"a": {"uids": [1]}, "b": {"uids": [0]}}}'
    with_host_policy '{"totals": {"sandboxes": 1}}' '
        HUTCH_POLICY=$WORK/a.json "$HUTCH" create --name box
        ! HUTCH_POLICY=$WORK/b.json "$HUTCH" run -- echo ran >"$WORK/out" 2>"$WORK/said"
        "$HUTCH" rm -f box'
    same "the second one" "" "$(cat "$WORK/out")"
    says "the sentence" "the policy refuses this.*'totals.sandboxes'"
    rm -rf "$HUTCH_HOME/lib/claims"
}
