#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Who may ask, and what each sees: on every route that there is, for the list of them is the daemon's own.

load ../lib
load serve

check_way() { python3 "$TOP/tests/server/tenants.py" "$1" >&2; } # WAY

@test "every route wants a token, but those that say nothing about anybody" { check_way every_route; }

@test "tokens that are none: cut, changed, expired, removed, in the wrong place" { check_way bad_tokens; }

@test "a scope counts on every route" { check_way scopes; }

@test "another tenant's sandbox is not there: on every route, in lists and figures" { check_way another_tenants; }

@test "tokens are kept as hashes, in files of their owner alone" {
    local token
    token=$(new_token a write)
    [[ $token == hutch_* ]]
    serve
    api_tcp "$token" GET /api/sandboxes/
    expect 200
    serve_end
    ! grep -rqF "$token" "$HUTCH_HOME" "$WORK/serve.log" || false
    ! grep -rqF "${token: -20}" "$HUTCH_HOME" || false
    [ -z "$(find "$HUTCH_HOME" -path '*tokens*' -type f ! -perm 600)" ]
    [ -n "$(find "$HUTCH_HOME" -path '*tokens*' -type f)" ]
    rm -r "$HUTCH_HOME"/lib/tokens
}

@test "another user of this host is not let in by the socket" {
    serve
    chmod o+x "$WORK" # so that it is the socket that decides
    local status=0
    as_user curl -sS -m 10 -o "$WORK/said" -w '%{http_code}' --unix-socket "$SOCKET" http://localhost/api/sandboxes/ >"$WORK/code" 2>/dev/null || status=$?
    # neither connected nor let in
    [ "$status" != 0 ] || grep -qE '^40[13]$' "$WORK/code"
}
