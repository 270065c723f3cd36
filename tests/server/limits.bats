#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is refused before a handler sees it: paths, methods, queries, bodies; and who has to wait or come again.

# shellcheck disable=SC2030,SC2031,SC2154  # code is what api found

load ../lib
load serve

says() { grep -qF -- "$1" "$WORK/body" || { cat "$WORK/body" >&2 && false; }; }

@test "a path that is not there is 404, a method that it does not know 405 with Allow, HEAD is a GET without its body" {
    serve
    api GET /api/nothing
    expect_problem 404 not_found
    api GET //api/sandboxes/
    [ "$code" = 404 ] || [ "$code" = 400 ]
    api PATCH /api/sandboxes/x
    expect_problem 405 method_not_allowed
    grep -qiE '^allow: .*GET.*(HEAD|DELETE)' "$WORK/head"
    code=$(curl -sS -I -o "$WORK/head" -w '%{http_code} %{size_download}' --unix-socket "$SOCKET" http://localhost/api/sandboxes/)
    [ "$code" = "200 0" ]
    grep -qi '^content-length: 16' "$WORK/head"
}

@test "a path's parameters are decoded and checked" {
    serve
    api POST /api/sandboxes/ '{"name": "box"}'
    expect 201
    api GET /api/sandboxes/%62ox
    expect 200 '.name == "box"'
    api GET /api/sandboxes/box/
    expect 200 '.name == "box"'
    local bad
    for bad in %00 bo%2Fx %ff %zz %; do
        api GET "/api/sandboxes/$bad"
        [ "$code" = 400 ] || { echo "$bad: $code" && false; }
    done
    api GET '/api/sandboxes/..%2e'
    [ "$code" = 404 ] || [ "$code" = 400 ]
    api GET /api/sandboxes/no-such-box
    expect_problem 404 not_found
    api DELETE /api/sandboxes/box
    expect 200
}

@test "a query is held against its table" {
    serve
    api GET '/api/sandboxes/?lable=x'
    expect_problem 400 invalid
    says "did you mean 'label'"
    api GET '/api/sandboxes/?label=a&label=b'
    expect_problem 400 invalid
    says "'label' is given twice"
    api GET '/api/sandboxes/?label=%ff'
    expect_problem 400 invalid
    api GET '/api/sandboxes/?label=%00'
    expect_problem 400 invalid
    api GET '/api/sandboxes/?label=%4'
    expect_problem 400 invalid
    api GET '/api/audit?limit=-1'
    expect_problem 400 invalid
    says "'limit' must be"
    api GET '/healthz?x=1'
    expect_problem 400 invalid
}

@test "a body is one JSON object without surprises" {
    serve
    local type
    for type in text/plain application/x-www-form-urlencoded 'application/json; charset=latin1' application/jsonx; do
        api POST /api/run -H "Content-Type: $type" -d '{"command": ["true"]}'
        expect_problem 415 unsupported_media_type
    done
    api POST /api/run -H 'Content-Type: application/json; charset=UTF-8' -d '{"command": ["true"]}'
    expect 200 .ok
    for type in '[' '[]' '1' '"x"' '{} {}' '{"command": ["true"]' "{'command': 1}" '{"command": NaN}' '{"a": 1e999}' '{"command": ["\u0000"]}' '{"command": ["\ud800"]}'; do
        api POST /api/run -H 'Content-Type: application/json' -d "$type"
        expect_problem 400 invalid
    done
    printf '{"name": "\xff\xfe"}' >"$WORK/bytes"
    api POST /api/sandboxes/ -H 'Content-Type: application/json' --data-binary "@$WORK/bytes"
    expect_problem 400 invalid
    api POST /api/run '{"command": ["true"], "command": ["false"]}'
    expect_problem 400 invalid
    says duplicate
    api POST /api/run '{"command": ["true"], "limits": {"memory": "1g", "memory": "2g"}}'
    expect_problem 400 invalid
    says duplicate
    api POST /api/run '{"command": ["true"], "lables": {}}'
    expect_problem 400 invalid
    says "did you mean 'labels'"
    api POST /api/run '{"command": ["true"], "limits": {"memroy": "1g"}}'
    expect_problem 400 invalid
    says memroy
    api POST /api/run '{"command": "true"}'
    expect_problem 400 invalid
    says command
    python3 -c 'print("{\"command\": " + "[" * 100000 + "]" * 100000 + "}")' >"$WORK/deep"
    api POST /api/run -H 'Content-Type: application/json' --data-binary "@$WORK/deep"
    expect_problem 400 invalid
    says "levels deep"
    head -c 5000000 /dev/zero | tr '\0' ' ' >"$WORK/long"
    api POST /api/run -H 'Content-Type: application/json' --data-binary "@$WORK/long"
    expect 413
    api DELETE /api/sandboxes/x '{"force": true}'
    expect_problem 400 invalid
    says "takes no body"
}

@test "limits that were set hold" {
    serve --limit body-bytes=100 --limit json-depth=3
    api POST /api/run '{"command": ["echo", "12345678901234567890123456789012345678901234567890123456789012345678901234567890"]}'
    expect 413
    api POST /api/run '{"command": [[["x"]]]}'
    expect_problem 400 invalid
    says "3 levels"
    api POST /api/run '{"command": ["true"]}'
    expect 200 .ok
}

run_slowly() { # TOKEN FILE: one that takes its time
    curl -sS -m 30 -o "$WORK/$2" -w '%{http_code}\n' -H "Authorization: Bearer $1" -H 'Content-Type: application/json' \
        -d '{"command": ["sleep", "1"]}' "$URL/api/run" >"$WORK/$2.code" 3>&- &
}

@test "who finds no place waits, who finds the queue full is told to come again, and tenants take turns" {
    local a b one
    a=$(new_token a write) b=$(new_token b write)
    serve --limit running=1 --limit queue=3
    for one in 1 2 3 4; do run_slowly "$a" "a$one"; done
    sleep 0.5
    api_tcp "$a" POST /api/run '{"command": ["true"]}'
    expect_problem 429 too_many_requests
    grep -qi '^retry-after: [0-9]' "$WORK/head"
    # b comes last and is second: it does not wait for all of a's
    local before=$SECONDS
    api_tcp "$b" POST /api/run '{"command": ["true"]}'
    expect 200 .ok
    [ $((SECONDS - before)) -le 3 ]
    # others are not held up
    api_tcp "$a" GET /api/sandboxes/
    expect 200
    for one in 1 2 3 4; do
        local try
        for try in {1..80}; do [ ! -s "$WORK/a$one.code" ] || break; sleep 0.1; done
        [ "$(cat "$WORK/a$one.code")" = 200 ] || { echo "a$one after $try looks" && false; }
    done
}

@test "who waits and goes is forgotten" {
    local token one
    token=$(new_token a write)
    serve --limit running=1 --limit queue=8
    run_slowly "$token" first
    sleep 0.2
    for one in 1 2 3 4 5; do
        curl -sS -m 0.2 -o /dev/null -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"command": ["sleep", "5"]}' "$URL/api/run" 2>/dev/null || true
    done
    local before=$SECONDS
    api_tcp "$token" POST /api/run '{"command": ["true"]}'
    expect 200 .ok
    [ $((SECONDS - before)) -le 4 ]
}
