#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # code is what api() leaves
# Sandboxes over HTTP: made, looked at, changed, derived from, removed; and what is no request for one.

load ../lib
load serve

keeper_of() { # NAME: the process that keeps it
    fuser "$HUTCH_HOME/lib/sandboxes/$1/lock" 2>/dev/null | tr -d ' '
}

@test "a sandbox is made, listed, looked at by name and id, and removed; answers have the names that people know" {
    serve
    api POST /api/sandboxes/ '{"name": "one", "labels": {"team": "a"}, "memory_limit": "1g", "cpu_limit": "1.5"}'
    expect 201 '.id == .sandbox_id and .status == "running" and .state == .status and .name == "one" and .labels.team == "a" and
        .spec.limits.memory == 1073741824 and .spec.limits.cpus == "1.5" and (.created | test("^20.*Z$")) and .tenant == null'
    grep -qi '^location: /api/sandboxes/one' "$WORK/head"
    local id
    id=$(field id)
    api POST /api/sandboxes '{"cpu_limit": 0.5}'
    expect 201 '.spec.limits.cpus == "0.5" and (.name | startswith("box-"))'
    local other
    other=$(field name)
    api GET "/api/sandboxes/$id"
    expect 200 '.name == "one" and .usage.running == 0'
    api GET /api/sandboxes/one/
    expect 200 ".id == \"$id\""
    api GET /api/sandboxes
    expect 200 '[.sandboxes[].name] | length == 2 and contains(["one"])'
    api GET '/api/sandboxes/?label=team=a'
    expect 200 '[.sandboxes[].name] == ["one"] and .sandboxes[0].sandbox_id == .sandboxes[0].id and .sandboxes[0].labels.team == "a"'
    api GET '/api/sandboxes/?label=team=b'
    expect 200 '.sandboxes == []'
    api DELETE '/api/sandboxes/one?force=0'
    expect_problem 409 conflict
    api DELETE /api/sandboxes/one
    expect 200 ".id == \"$id\" and .status == \"removed\" and .name == \"one\""
    api DELETE /api/sandboxes/one
    expect_problem 404 not_found
    api DELETE "/api/sandboxes/$other"
    expect 200
}

@test "a project's name becomes one that a sandbox may have, and another where that is taken" {
    serve
    api POST /api/sandboxes/ '{"project_name": "My Project!"}'
    expect 201 '.name == "my-project"'
    api POST /api/sandboxes/ '{"project_name": "My Project!"}'
    expect 201 '.name | test("^my-project-[0-9a-f]{8}$")'
    api DELETE "/api/sandboxes/$(field name)"
    api POST /api/sandboxes/ '{"name": "my-project"}'
    expect_problem 409 conflict
    api POST /api/sandboxes/ '{"name": "a", "project_name": "b"}'
    expect_problem 400 invalid
    api POST /api/sandboxes/ '{"project_name": "***"}'
    expect_problem 400 invalid
    api POST /api/sandboxes/ '{"project_name": "../../etc"}'
    expect 201 '.name == "etc"'
    api DELETE /api/sandboxes/etc
    api DELETE /api/sandboxes/my-project
    expect 200
}

@test "stop, start, pause, resume, kill: each answers with what it is then, and says when that cannot be" {
    serve
    api POST /api/sandboxes/ '{"name": "life"}'
    expect 201
    api POST /api/sandboxes/life/start
    expect_problem 409 conflict
    api POST /api/sandboxes/life/pause
    expect 200 '.status == "paused"'
    api POST /api/sandboxes/life/pause
    expect_problem 409 conflict
    api POST /api/sandboxes/life/resume
    expect 200 '.status == "running"'
    api POST /api/sandboxes/life/stop '{"grace": "1s"}'
    expect 200 '.status == "stopped" and .reason == "stopped" and .ended_ms > 0'
    api POST /api/sandboxes/life/stop
    expect_problem 409 conflict
    api GET /api/sandboxes/life/stats
    expect_problem 409 conflict
    api POST /api/sandboxes/life/start
    expect 200 '.status == "running"'
    api POST /api/sandboxes/life/kill
    expect 200 '.status == "stopped" and .reason == "killed"'
    api POST /api/sandboxes/none/start
    expect_problem 404 not_found
    api DELETE '/api/sandboxes/life?force=0'
    expect 200
}

@test "limits change while it lives: all that are given, or none" {
    serve
    api POST /api/sandboxes/ '{"name": "up", "egress": ["example.org"]}'
    expect 201
    api POST /api/sandboxes/up/update '{"limits": {"memory": "256m", "pids": 64}, "egress": ["example.net", "example.com:8080"]}'
    expect 200 '.spec.limits.memory == 268435456 and .spec.limits.pids == 64 and .spec.egress == ["example.net", "example.com:8080"]'
    api POST /api/sandboxes/up/update '{"memory_limit": "128m", "egress": []}'
    expect 200 '.spec.limits.memory == 134217728 and .spec.egress == []'
    api POST /api/sandboxes/up/update '{"limits": {"memory": "64m", "pids": 0}}'
    expect_problem 400 invalid
    api GET /api/sandboxes/up
    expect 200 '.spec.limits.memory == 134217728'
    api POST /api/sandboxes/up/update '{}'
    expect_problem 400 invalid
    api POST /api/sandboxes/up/update '{"image": "alpine"}'
    expect_problem 400 invalid
    api POST /api/sandboxes/up/update '{"limits": {"memory": [1]}}'
    expect_problem 400 invalid
    api DELETE /api/sandboxes/up
    expect 200
}

@test "a field that cannot change takes nothing else past the policy" {
    echo '{"ceilings": {"max_lifetime": "3s"}}' >"$WORK/policy.json"
    chmod 600 "$WORK/policy.json"
    serve --policy "$WORK/policy.json"
    api POST /api/sandboxes/ '{"name": "up"}'
    expect 201
    api POST /api/sandboxes/up/update '{"max_lifetime": null}'
    expect_problem 403 permission
    api POST /api/sandboxes/up/update '{"max_lifetime": null, "limits": {"timeout": "1s"}}'
    expect_problem 422 unsupported
    sleep 4
    api GET /api/sandboxes/up
    expect 200 '.state == "stopped" and .reason == "max_lifetime"'
    api DELETE /api/sandboxes/up
    expect 200
}

@test "a second one with the same files; a snapshot to be forked; what differs, as a list and as a patch, and back" {
    mkdir "$WORK/ws" && echo one >"$WORK/ws/file"
    serve
    api POST /api/sandboxes/ "{\"name\": \"first\", \"workspace\": \"$WORK/ws:overlay\"}"
    expect 201
    "$HUTCH" exec first -- sh -c 'echo two >/workspace/file; echo x >/tmp/f'
    api GET /api/sandboxes/first/diff
    expect 200 '.changes | type == "array"'
    api GET '/api/sandboxes/first/diff?workspace=1'
    [ "$code" = 200 ]
    grep -q '^+two' "$WORK/body"
    grep -qi '^content-type: text/x-diff' "$WORK/head"
    api POST /api/sandboxes/first/apply '{"dry_run": true}'
    expect 200 '.modified == 1 and .dry_run and .left_alone == []'
    [ "$(cat "$WORK/ws/file")" = one ]
    api POST /api/sandboxes/first/apply
    expect 200 '.modified == 1 and (.dry_run | not)'
    [ "$(cat "$WORK/ws/file")" = two ]
    api POST /api/sandboxes/first/fork '{"name": "second"}'
    expect 201 '.name == "second" and .status == "running"'
    api POST /api/sandboxes/first/fork '{"name": "second"}'
    expect_problem 409 conflict
    api POST /api/sandboxes/second/snapshot '{"name": "kept"}'
    expect 201 '.name == "kept" and .kind == "sandbox"'
    api GET /api/sandboxes/kept
    expect 200 '.status == "stopped"'
    api POST /api/sandboxes/second/snapshot '{}'
    expect_problem 400 invalid
    api POST /api/sandboxes/second/snapshot '{"name": "a", "reference": "b"}'
    expect_problem 400 invalid
    api POST /api/sandboxes/ '{"name": "plain"}'
    expect 201
    api GET '/api/sandboxes/plain/diff?workspace=1'
    expect_problem 409 conflict
    for name in first second kept plain; do api DELETE /api/sandboxes/$name && expect 200; done
}

@test "figures once and as a stream, which ends with its reader or its sandbox" {
    serve
    api POST /api/sandboxes/ '{"name": "busy"}'
    expect 201
    api GET /api/sandboxes/busy/stats
    expect 200 '.name == "busy" and .memory_limit_bytes == 536870912 and .cpus_limit == 1 and .running == 0 and .cpu_percent == null'
    api GET '/api/sandboxes/busy/stats?interval=1ms' -H 'Accept: text/event-stream'
    expect_problem 400 invalid
    api GET '/api/sandboxes/busy/stats?interval=soon'
    expect_problem 400 invalid
    curl -sS -N -m 1 --unix-socket "$SOCKET" -H 'Accept: text/event-stream' 'http://localhost/api/sandboxes/busy/stats?interval=200ms' >"$WORK/stats" 2>/dev/null || true
    [ "$(grep -c '^event: stats' "$WORK/stats")" -ge 3 ]
    sed -n 's/^data: //p' "$WORK/stats" | tail -n 1 | jq -e '.cpu_percent != null'
    curl -sS -N -m 10 --unix-socket "$SOCKET" 'http://localhost/api/sandboxes/busy/stats?interval=100ms&stream=ndjson' >"$WORK/lines" &
    local reader=$!
    sleep 0.5
    api DELETE /api/sandboxes/busy
    expect 200
    wait "$reader"
    tail -n 1 "$WORK/lines" | jq -e '.error.code'
    head -n 1 "$WORK/lines" | jq -e '.name == "busy"'
}

@test "what went out and what did not, once and as it happens" {
    serve
    api POST /api/sandboxes/ '{"name": "closed"}'
    expect 201
    api GET /api/sandboxes/closed/egress
    expect_problem 404 not_found
    api POST /api/sandboxes/ '{"name": "open", "egress": ["localhost.example"]}'
    expect 201
    api GET /api/sandboxes/open/egress
    expect 200 '.connections == 0 and .denials == []'
    curl -sS -N -m 10 --unix-socket "$SOCKET" -H 'Accept: text/event-stream' 'http://localhost/api/sandboxes/open/egress?follow=1' >"$WORK/events" &
    local reader=$!
    sleep 0.3
    "$HUTCH" exec open -- python3 -c 'import socket; socket.getaddrinfo("denied.example", 80)' 2>/dev/null || true
    sleep 0.6
    api GET /api/sandboxes/open/egress
    expect 200 '.denials[0].name == "denied.example"'
    api DELETE /api/sandboxes/open
    wait "$reader"
    grep -q '^event: egress' "$WORK/events"
    sed -n '/^event: denied/{n;s/^data: //p}' "$WORK/events" | head -n 1 | jq -e '.name == "denied.example" and .why == "name" and .times >= 1'
    api DELETE /api/sandboxes/closed
    expect 200
}

@test "what is no request is refused, and says which field it is" {
    serve
    local body
    for body in '{"memroy_limit": "1g"}' '{"limits": {"memroy": "1g"}}' '{"memory_limit": "lots"}' '{"memory_limit": "1g", "limits": {"memory": "2g"}}' \
        '{"memory_limit": -1}' '{"cpu_limit": {"a": 1}}' '{"cpu_limit": "x"}' '{"name": "../x"}' '{"name": ""}' '{"project_name": ""}' '{"name": "a", "name": "b"}' \
        '{"policy": {"tenant": "x"}}' '{"egress_policy": {"proxy": "http://x:1"}}' '{"labels": {"hutch.pool": "default"}}' '{"pass_env": ["PATH"]}' \
        '{"template": "no such"}' '{"workspace": 3}' '[1]' '{' '{"name": "\ud800"}'; do
        api POST /api/sandboxes/ "$body"
        expect_problem 400 invalid || { echo "body: $body" >&2 && false; }
    done
    api POST /api/sandboxes/ '{"template": "missing"}'
    expect_problem 404 not_found
    api POST /api/sandboxes/ '{"image": "hutch.local/none:1", "pull": "never"}'
    expect_problem 404 not_found
    api POST /api/sandboxes/ '{"memroy_limit": "1g"}'
    field detail | grep -q memory_limit
    api GET /api/sandboxes/%2e%2e
    expect_problem 404 not_found
    api GET "/api/sandboxes/$(printf 'a%.0s' {1..300})"
    expect_problem 404 not_found
    api GET /api/sandboxes/
    expect 200 '.sandboxes == []'
}

@test "a tenant has nothing of the host without a rule, sees its own alone, and names no image" {
    local token body
    token=$(new_token a write)
    serve
    for body in "{\"workspace\": \"$WORK\"}" '{"mounts": ["/etc:/x:ro"]}' '{"rootfs": "/"}' '{"artifacts": "/tmp"}' '{"env_files": ["/etc/environment"]}' '{"secrets": ["x"]}'; do
        api_tcp "$token" POST /api/sandboxes/ "$body"
        expect_problem 403 permission || { echo "body: $body" >&2 && false; }
        api_tcp "$token" POST /api/run "${body%\}}, \"command\": [\"true\"]}"
        expect_problem 403 permission
    done
    api POST /api/sandboxes/ '{"name": "operators"}'
    expect 201
    api_tcp "$token" POST /api/sandboxes/ '{"name": "tenants"}'
    expect 201 '.tenant == "a"'
    api_tcp "$token" GET /api/sandboxes/
    expect 200 '[.sandboxes[].name] == ["tenants"]'
    api_tcp "$token" GET /api/sandboxes/operators
    expect_problem 404 not_found
    api_tcp "$token" POST /api/sandboxes/tenants/snapshot '{"reference": "python:3"}'
    expect_problem 403 permission
    api_tcp "$token" POST /api/sandboxes/tenants/fork '{"name": "copy"}'
    expect 201 '.tenant == "a"'
    api_tcp "$token" POST /api/sandboxes/copy/snapshot '{"name": "snap"}'
    expect 201
    api_tcp "$token" GET /api/sandboxes/snap
    expect 200 '.tenant == "a"'
    for name in operators tenants copy snap; do api DELETE /api/sandboxes/$name && expect 200; done
}

@test "with a policy a tenant mounts what it allows, and that only" {
    mkdir "$WORK/data" && echo hello >"$WORK/data/file"
    printf '{"tenants": {"a": {"mounts": {"read": ["%s"], "write": []}}, "b": {}}}' "$WORK/data" >"$WORK/policy.json"
    local a b
    a=$(new_token a write) b=$(new_token b write)
    serve --policy "$WORK/policy.json"
    api_tcp "$a" POST /api/run "{\"command\": [\"cat\", \"/data/file\"], \"mounts\": [\"$WORK/data:/data:ro\"]}"
    expect 200 '.stdout == "hello\n"'
    api_tcp "$a" POST /api/run "{\"command\": [\"true\"], \"mounts\": [\"$WORK/data:/data:rw\"]}"
    expect_problem 403 permission
    api_tcp "$a" POST /api/run '{"command": ["true"], "mounts": ["/etc:/data:ro"]}'
    expect_problem 403 permission
    api_tcp "$b" POST /api/run "{\"command\": [\"true\"], \"mounts\": [\"$WORK/data:/data:ro\"]}"
    expect_problem 403 permission
}

@test "a keeper that does not answer is listed as such, and keeps nobody waiting" {
    serve
    api POST /api/sandboxes/ '{"name": "silent"}'
    expect 201
    api POST /api/sandboxes/ '{"name": "well"}'
    expect 201
    local keeper
    keeper=$(keeper_of silent)
    kill -STOP "$keeper"
    local before=$SECONDS
    api GET /api/sandboxes/
    expect 200 '(.sandboxes[] | select(.name == "silent") | .status) == "unresponsive" and (.sandboxes[] | select(.name == "well") | .status) == "running"'
    [ $((SECONDS - before)) -le 3 ]
    api GET /api/sandboxes/silent
    expect 200 '.status == "unresponsive"'
    kill -CONT "$keeper"
    for name in silent well; do api DELETE /api/sandboxes/$name && expect 200; done
}
