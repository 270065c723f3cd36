#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Who asks, and by which way: tokens and their verb, uids, Host and Origin.

# shellcheck disable=SC2154  # code is what api found

load ../lib
load serve

@test "hutch token: create prints it once, ls tells all but the secret, rm by id and by name" {
    local token id
    token=$("$HUTCH" token create --tenant a --scope read --name robot --expires 1h)
    [[ $token =~ ^hutch_[0-9a-f]{16}\.[0-9a-f]{64}$ ]]
    "$HUTCH" token ls --json >"$WORK/tokens"
    jq -e '.tokens | length == 1 and .[0].name == "robot" and .[0].tenant == "a" and .[0].scope == "read" and .[0].expires != null' "$WORK/tokens"
    ! grep -q "${token##*.}" "$WORK/tokens" || false
    "$HUTCH" token ls | grep -q robot
    ! "$HUTCH" token create --name robot 2>"$WORK/said" || false
    grep -q 'already' "$WORK/said"
    "$HUTCH" token create --json >"$WORK/made"
    jq -e '.tenant == null and .scope == "write" and .expires == null and (.token | startswith("hutch_"))' "$WORK/made"
    id=$(jq -r .id "$WORK/made")
    "$HUTCH" token rm robot "$id"
    "$HUTCH" token ls --json | jq -e '.tokens == []'
    ! "$HUTCH" token rm robot 2>"$WORK/said" || false
    grep -q "no token 'robot'" "$WORK/said"
}

@test "hutch token: what makes no sense is refused" {
    local words
    for words in '--scope root' '--scope=' '--tenant ../x' '--tenant=' '--name a/b' '--expires never' '--expires 0s' '--expires -1h' 'more'; do
        # shellcheck disable=SC2086  # words
        ! "$HUTCH" token create $words >"$WORK/out" 2>"$WORK/said" || { echo "$words was taken" && false; }
        [ ! -s "$WORK/out" ]
        [ "$(wc -l <"$WORK/said")" = 1 ]
    done
    ! "$HUTCH" token rm '' 2>/dev/null || false
    "$HUTCH" token ls --json | jq -e '.tokens == []'
}

@test "a token whose print was lost is good for nobody" {
    ! "$HUTCH" token create >/dev/full 2>/dev/null || false
    "$HUTCH" token ls --json | jq -e '.tokens == []'
}

@test "files that others could have written are no tokens" {
    local token file
    token=$(new_token a read)
    serve
    api_tcp "$token" GET /api/sandboxes/
    expect 200
    file=$(echo "$HUTCH_HOME"/lib/tokens/*.json)
    chmod 666 "$file"
    api_tcp "$token" GET /api/sandboxes/
    expect_problem 401 unauthorized
    chmod 600 "$file"
    api_tcp "$token" GET /api/sandboxes/
    expect 200
    cp "$file" "$WORK/token" && echo '{"id":1}' >"$file"
    api_tcp "$token" GET /api/sandboxes/
    expect_problem 401 unauthorized
    rm "$file" && ln -s "$WORK/token" "$file"
    api_tcp "$token" GET /api/sandboxes/
    expect_problem 401 unauthorized
}

@test "401 says how; 403 says what is missing; a token narrows who comes by the socket" {
    serve
    api_tcp "" GET /api/sandboxes/
    expect_problem 401 unauthorized
    grep -qi '^www-authenticate: Bearer realm="hutch"' "$WORK/head"
    local reader
    reader=$(new_token a read)
    api_tcp "$reader" POST /api/run '{"command": ["true"]}'
    expect_problem 403 permission
    api POST /api/run '{"command": ["true"]}' -H "Authorization: Bearer $reader"
    expect_problem 403 permission
    api GET /api/sandboxes/ -H "Authorization: Bearer nonsense"
    expect_problem 401 unauthorized
}

@test "a tenant works without any policy, and not where the policy does not know it" {
    local token
    token=$(new_token a write)
    serve
    api_tcp "$token" POST /api/sandboxes/ '{"name": "mine"}'
    expect 201 '.tenant == "a"'
    api_tcp "$token" GET /api/sandboxes/
    expect 200 '.sandboxes | length == 1'
    api_tcp "$(new_token b write)" GET /api/sandboxes/mine
    expect_problem 404 not_found
    api_tcp "$(new_token b write)" GET /api/sandboxes/
    expect 200 '.sandboxes == []'
    api_tcp "$token" DELETE /api/sandboxes/mine
    expect 200
    serve_end
    echo '{"tenants": {"b": {}}}' >"$WORK/policy.json"
    chmod 600 "$WORK/policy.json"
    serve --policy "$WORK/policy.json"
    api_tcp "$token" GET /api/sandboxes/
    expect_problem 403 permission
    api_tcp "$(new_token b write)" GET /api/sandboxes/
    expect 200
}

@test "what is the host's is not a tenant's, unless the policy lists it" {
    local token field
    token=$(new_token a admin)
    mkdir "$WORK/open"
    echo '{"tenants": {"a": {"mounts": {"read": ["'"$WORK"'/open"], "write": []}}}}' >"$WORK/policy.json"
    chmod 600 "$WORK/policy.json"
    serve
    for field in '"mounts": [{"source": "/etc", "target": "/x"}]' '"workspace": "/etc"' '"rootfs": "/"' '"artifacts": "/etc"' '"pass_env": ["PATH"]' \
        '"env_files": ["/etc/environment"]' '"secrets": ["x"]'; do
        api_tcp "$token" POST /api/run '{"command": ["true"], '"$field"'}'
        [ "$code" = 403 ] || expect_problem 400 invalid
    done
    api_tcp "$token" POST /api/run '{"command": ["true"], "policy": {"tenant": "b"}}'
    expect_problem 400 invalid
    serve_end
    serve --policy "$WORK/policy.json"
    api_tcp "$token" POST /api/run '{"command": ["ls", "/x"], "mounts": ["'"$WORK"'/open:/x:ro"]}'
    expect 200 .ok
    api_tcp "$token" POST /api/run '{"command": ["true"], "mounts": [{"source": "/etc", "target": "/x"}]}'
    expect_problem 403 permission
}

@test "Host must be a name of ours, Origin too or one that was named" {
    local host origin
    serve --insecure-no-auth --host-name hutch.test --cors-origin https://page.test
    for host in localhost "localhost:$PORT" 127.0.0.1 '[::1]:1' hutch.test HUTCH.test:80 hutch.test.; do
        api_tcp "" GET /api/sandboxes/ -H "Host: $host"
        expect 200
    done
    for host in evil.test "evil.test:$PORT" 10.0.0.1 localhost.evil.test 'hutch.test:x' 'hutch.test@evil.test' 0.0.0.0; do
        api_tcp "" GET /api/sandboxes/ -H "Host: $host"
        [ "$code" = 421 ] || [ "$code" = 400 ] || { echo "$host: $code" && false; }
    done
    for origin in "http://127.0.0.1:$PORT" https://page.test; do
        api_tcp "" GET /api/sandboxes/ -H "Origin: $origin"
        expect 200
    done
    grep -qi '^access-control-allow-origin: https://page.test' "$WORK/head"
    for origin in null https://evil.test "https://127.0.0.1:$PORT" "http://127.0.0.1:$PORT.evil.test" http://page.test; do
        api_tcp "" GET /api/sandboxes/ -H "Origin: $origin"
        expect_problem 403 permission
        ! grep -qi '^access-control' "$WORK/head" || false
    done
    api_tcp "" OPTIONS /api/sandboxes/ -H 'Origin: https://page.test' -H 'Access-Control-Request-Method: POST'
    expect 204
    grep -qi '^access-control-allow-methods: .*POST' "$WORK/head"
    api_tcp "" OPTIONS /api/sandboxes/ -H 'Origin: https://evil.test' -H 'Access-Control-Request-Method: POST'
    expect_problem 403 permission
}
