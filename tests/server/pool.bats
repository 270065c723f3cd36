#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Sandboxes that are ready before anybody asks: handed out once, to whom they fit, with name and tenant; and never lost or reused.

load ../lib
load serve

# Those that wait.
pool() { "$HUTCH" ls --json --label hutch.pool | jq -r '.sandboxes[] | select(.state == "running").name'; }

# Until so many wait.
pool_has() { # COUNT
    local try
    for try in {1..200}; do
        [ "$(pool | wc -l)" != "$1" ] || break
        sleep 0.05
    done
    sleep 0.05 # the daemon hears of it, too
    [ "$(pool | wc -l)" = "$1" ] || { echo "after $try looks the pool has: $(pool)" >&2 && return 1; }
}

until_gone() { # NAME
    for _ in {1..200}; do
        "$HUTCH" inspect "$1" >/dev/null 2>&1 || return 0
        sleep 0.05
    done
    echo "$1 is still there" >&2
    return 1
}

id_of() { "$HUTCH" inspect "$1" | jq -r .id; }

@test "a plain create gets one that waits, under its own name and labels, and another is made in its place" {
    serve --pool default=2
    pool_has 2
    local waiting
    waiting=$(for name in $(pool); do id_of "$name"; done)
    api POST /api/sandboxes/ '{"name": "mine", "labels": {"a": "b"}}'
    expect 201 '.name == "mine" and .status == "running" and .labels == {"a": "b"} and .spec.name == "mine"'
    grep -qx "$(field id)" <<<"$waiting"
    api POST /api/sandboxes/ '{"project_name": "mine"}'
    expect 201 '.name | test("^mine-[0-9a-f]{8}$")'
    local other
    other=$(field name)
    grep -qx "$(field id)" <<<"$waiting"
    [ "$("$HUTCH" exec mine -- echo inside)" = inside ]
    pool_has 2
    api GET /api/sandboxes/
    expect 200 "[.sandboxes[].name] == [\"mine\", \"$other\"]"
    api GET '/api/sandboxes/?label=hutch.pool'
    expect 200 '.sandboxes | length == 2'
    for name in mine "$other"; do api DELETE "/api/sandboxes/$name" && expect 200; done
    serve_end
    [ -z "$("$HUTCH" ls -q)" ]
}

@test "what asks for anything else, or for a name that is taken, gets none of them" {
    serve --pool default=1
    pool_has 1
    local member
    member=$(id_of "$(pool)")
    api POST /api/sandboxes/ '{"name": "larger", "memory_limit": "1g"}'
    expect 201 ".id != \"$member\""
    api POST /api/sandboxes/ '{"name": "larger"}'
    expect_problem 409 conflict
    api POST /api/sandboxes/ '{"name": "with-env", "env": {"A": "b"}}'
    expect 201 ".id != \"$member\""
    api POST /api/sandboxes/ '{"name": "x", "labels": {"hutch.pool": "default"}}'
    expect_problem 400 invalid
    [ "$(id_of "$(pool)")" = "$member" ]
    for name in larger with-env; do api DELETE /api/sandboxes/$name && expect 200; done
}

@test "one that was used while it waited is never handed out" {
    serve --pool default=1
    pool_has 1
    local name used
    name=$(pool)
    used=$(id_of "$name")
    "$HUTCH" exec "$name" -- sh -c 'echo secret >/tmp/left'
    for i in 1 2 3; do
        api POST /api/sandboxes/ "{\"name\": \"n$i\"}"
        expect 201 ".id != \"$used\""
    done
    pool_has 1
    [ "$(id_of "$(pool)")" != "$used" ]
    for i in 1 2 3; do api DELETE /api/sandboxes/n$i && expect 200; done
}

@test "a restarted daemon takes up those that wait; one without pools removes them" {
    serve --pool default=2
    pool_has 2
    local waiting
    waiting=$(pool)
    after_kill9
    serve_kill9
    [ "$(pool)" = "$waiting" ]
    serve --pool default=3
    pool_has 3
    [ "$(comm -12 <(pool) <(echo "$waiting"))" = "$waiting" ]
    api POST /api/sandboxes/ '{"name": "adopted"}'
    expect 201
    pool_has 3
    after_kill9
    serve_kill9
    serve
    pool_has 0
    api GET /api/sandboxes/adopted
    expect 200 '.status == "running"'
    api DELETE /api/sandboxes/adopted
    expect 200
}

@test "a keeper that was killed in the middle of a claim takes nobody's name" {
    serve --pool default=1
    pool_has 1
    local name
    name=$(pool)
    after_kill9
    serve_kill9
    # as far as it had come: the name that was wanted, and the spec of one that waits
    mv "$HUTCH_HOME/lib/sandboxes/$name" "$HUTCH_HOME/lib/sandboxes/wanted"
    serve
    until_gone wanted
    api POST /api/sandboxes/ '{"name": "wanted"}'
    expect 201
    api DELETE /api/sandboxes/wanted
    expect 200
}

@test "killed at any moment, each is a member of the pool or somebody's" {
    local round
    for round in $(seq "$(long_or 4 100)"); do
        serve --pool default=3
        pool_has 3
        for i in {1..6}; do
            curl -sS -m 5 --unix-socket "$SOCKET" -H 'Content-Type: application/json' -d "{\"name\": \"r$round-$i\"}" -o "$WORK/made.$round.$i" http://localhost/api/sandboxes/ 2>/dev/null &
        done
        sleep "0.0$((RANDOM % 10))"
        serve_kill9
        wait
    done
    after_kill9
    serve --pool default=3
    pool_has 3
    # what was acknowledged is there under its name
    for file in "$WORK"/made.*; do
        jq -e .id "$file" >/dev/null 2>&1 || continue
        [ "$(id_of "$(jq -r .name "$file")")" = "$(jq -r .id "$file")" ]
    done
    "$HUTCH" ls --json | jq -e 'all(.sandboxes[]; (.name | test("^r[0-9]+-[0-9]$")) != (.spec.labels | has("hutch.pool")))'
    for name in $("$HUTCH" ls -q | grep '^r'); do "$HUTCH" rm -f "$name"; done
    "$HUTCH" audit --verify >&2
}

@test "a tenant's is the tenant's before it is answered, and its totals hold" {
    echo '{"tenants": {"a": {"totals": {"sandboxes": 2}}, "b": {"ceilings": {"limits": {"memory": "256m"}}, "on_exceed": "clamp"}}}' >"$WORK/policy.json"
    local a b
    a=$(new_token a write) b=$(new_token b write)
    serve --policy "$WORK/policy.json" --pool default=2
    pool_has 2
    local waiting
    waiting=$(for name in $(pool); do id_of "$name"; done)
    api_tcp "$a" POST /api/sandboxes/ '{"name": "a1"}'
    expect 201 '.tenant == "a" and .spec.policy.tenant == "a"'
    grep -qx "$(field id)" <<<"$waiting"
    api_tcp "$b" GET /api/sandboxes/a1
    expect_problem 404 not_found
    api_tcp "$a" POST /api/sandboxes/ '{}'
    expect 201 '.name | startswith("box-")'
    local second
    second=$(field name)
    pool_has 2
    api_tcp "$a" POST /api/sandboxes/ '{"name": "a3"}'
    expect_problem 403 permission
    # what b gets is not what waits
    api_tcp "$b" POST /api/sandboxes/ '{"name": "b1"}'
    expect 201 '.spec.limits.memory == 268435456 and .tenant == "b"'
    api_tcp "$a" GET /api/sandboxes/
    expect 200 '.sandboxes | length == 2'
    for name in a1 "$second" b1; do api DELETE "/api/sandboxes/$name" && expect 200; done
}

@test "a pool of a named sandbox follows what its directory says" {
    mkdir -p "$WORK/named/small"
    echo 'limits: {memory: 64m}' >"$WORK/named/small/sandbox.yml"
    export HUTCH_SANDBOXES=$WORK/named
    serve --pool small=1 --pool default=1
    pool_has 2
    local waiting
    waiting=$(for name in $(pool); do id_of "$name"; done)
    api POST /api/sandboxes/ '{"name": "s", "template": "small"}'
    expect 201 '.spec.limits.memory == 67108864'
    grep -qx "$(field id)" <<<"$waiting"
    pool_has 2
    echo 'limits: {memory: 96m}' >"$WORK/named/small/sandbox.yml"
    api POST /api/sandboxes/ '{"name": "t", "template": "small"}'
    expect 201 '.spec.limits.memory == 100663296'
    for name in s t; do api DELETE /api/sandboxes/$name && expect 200; done
}

@test "a pool that cannot be filled says so and keeps nobody from anything; what is no pool is refused" {
    serve --pool no-such-template=2
    api POST /api/sandboxes/ '{"name": "plain"}'
    expect 201
    api POST /api/sandboxes/ '{"template": "no-such-template"}'
    expect_problem 404 not_found
    for _ in {1..60}; do ! grep -q 'no-such-template' "$WORK/serve.log" || break && sleep 0.05; done
    grep -q 'no-such-template' "$WORK/serve.log"
    api DELETE /api/sandboxes/plain
    serve_end
    local pool
    for pool in default default= default=x default=-1 '=2' 'Bad Name=1' default=100000000; do
        ! timeout 5 "$HUTCH" serve --socket "$WORK/x.sock" --listen "127.0.0.1:$(free_port)" --pool "$pool" 2>"$WORK/said" || { echo "accepted: $pool" >&2 && false; }
    done
    ! timeout 5 "$HUTCH" serve --socket "$WORK/x.sock" --listen "127.0.0.1:$(free_port)" --pool default=1 --pool default=2 2>"$WORK/said" || false
}
