#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What was done and what it cost, by HTTP: in pieces that fit together, and to each tenant its own.

# shellcheck disable=SC2154 # code: the last answer's, of serve.bash
load ../lib
load serve

@test "events come in the order in which they happened, in pieces without a gap" {
    serve
    for _ in 1 2 3; do api POST /api/run '{"command": ["true"], "labels": {"team": "red"}}' && expect 200; done
    api GET /api/audit && expect 200 '.next == null and ([.events[].seq] == [range(1; 7)])'
    api GET '/api/audit?limit=4' && expect 200 '.next == 5 and (.events | length) == 4'
    api GET '/api/audit?from=5' && expect 200 '[.events[].seq] == [5, 6]'
    api GET '/api/audit?label=team=red&limit=10000' && expect 200 '.events | length == 6'
    api GET '/api/audit?label=team=blue' && expect 200 '.events == []'
    api GET '/api/audit?since=1h' && expect 200 '.events | length == 6'
    for query in limit=0 limit=10001 limit=-1 from=x since=yesterday nonsense=1; do
        api GET "/api/audit?$query" && expect_problem 400 invalid
    done
}

@test "the journal is verified, and what was changed is found" {
    serve
    api POST /api/run '{"command": ["true"]}' && expect 200
    api GET /api/audit/verify && expect 200 '.ok and .events == 2 and .faults == []'
    kept=$(field last_seq):$(field last_hash)
    api GET "/api/audit/verify?expect=$kept" && expect 200 .ok
    api GET "/api/audit/verify?expect=1:${kept#*:}" && expect 200 '(.ok | not) and (.faults | length) > 0'
    api GET '/api/audit/verify?expect=x' && expect_problem 400 invalid
}

@test "what was used is added up" {
    serve
    api POST /api/run '{"command": ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"], "labels": {"team": "red"}}' && expect 200
    api GET '/api/usage?by=label.team' && expect 200 '.by == "label.team" and .usage[0].group == "red" and .usage[0].runs == 1 and
        .usage[0].cpu_seconds > 0'
    api GET '/api/usage?by=moon' && expect_problem 400 invalid
}

@test "a tenant sees its own events and costs, and none of the others" {
    printf 'tenants:\n  red: {uids: [4001]}\n  blue: {uids: [4002]}\n' >"$WORK/policy.yml"
    serve --policy "$WORK/policy.yml"
    red=$(new_token red admin) blue=$(new_token blue admin)
    api_tcp "$red" POST /api/sandboxes/ '{"name": "ours", "labels": {"team": "t"}}' && expect 201
    api_tcp "$red" POST /api/sandboxes/ours/execute '{"command": ["true"]}' && expect 200
    api_tcp "$blue" POST /api/run '{"command": ["true"], "labels": {"team": "t"}}' && expect 200
    api POST /api/run '{"command": ["true"]}' && expect 200
    api_tcp "$red" DELETE /api/sandboxes/ours && expect 200
    api_tcp "$red" GET /api/audit && expect 200 '(.events | length) >= 4 and ([.events[] | select(.name != "ours")] == [])'
    api_tcp "$blue" GET '/api/audit?label=team' && expect 200 '[.events[].kind] == ["run", "end"]'
    api_tcp "$blue" GET '/api/usage?by=label.team' && expect 200 '[.usage[] | .runs] == [1]'
    api_tcp "$red" GET /api/audit/verify && expect_problem 403 permission
    api_tcp "$(new_token red read)" GET /api/audit && expect_problem 403 permission
    api GET '/api/usage?by=day' && expect 200 '[.usage[] | .runs] == [3]'
}
