#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a client can do to the daemon, and through it to others: requests that are read in two ways, bodies that lie, readers that
# do not read. What counts is what the host sees: which sandboxes there are, what the daemon costs, how long the others wait.

# shellcheck disable=SC2154 # code: the last answer's, of serve.bash
load ../lib
load serve

attack() { python3 "$TOP/tests/server/$1.py" "$2" >&2; } # FILE WAY

@test "ambiguous requests are refused and closed, and what comes behind them is never read" { attack hostile ambiguous; }

@test "pipelined requests are answered in order, each once" { attack hostile pipelined; }

# bats test_tags=memory
@test "bodies that are too large, too deep, twice the same key, or no JSON make nothing" { attack hostile bodies; }

@test "heads and bodies that come a byte at a time cost the others nothing" { attack stalled slowloris; }

# bats test_tags=memory
@test "a thousand readers that do not read cost the others nothing" { attack stalled stalled; }

# bats test_tags=memory
@test "output without end to dead readers costs a bounded memory" { attack stalled flood; }

@test "a page of another site gets nothing by a name that leads here" {
    serve --insecure-no-auth
    # as a browser does after its name was bound to 127.0.0.1: no preflight, for these are simple requests
    for host in "evil.example:$PORT" evil.example "localhost.evil.example:$PORT"; do
        api_tcp "" GET /api/sandboxes/ -H "Host: $host"
        case $code in 400 | 403 | 421) ;; *) echo "host $host: $code" >&2 && false ;; esac
    done
    for origin in http://evil.example "http://evil.example:$PORT" null; do
        api_tcp "" POST /api/sandboxes/ '{"project_name": "rebound"}' -H "Origin: $origin"
        expect 403
        api_tcp "" OPTIONS /api/sandboxes/ -H "Origin: $origin" -H 'Access-Control-Request-Method: POST'
        ! grep -qi '^access-control-allow' "$WORK/head" || false
    done
    api_tcp "" GET /api/sandboxes/ -H "Host: localhost:$PORT"
    expect 200 '.sandboxes | length == 0'
    ! grep -qi '^access-control-allow' "$WORK/head" || false
    [ "$(hutch ls --json | jq '.sandboxes | length')" = 0 ]
}

@test "the API is unreachable from inside a sandbox: by its port, its socket, any address of the host" {
    serve --insecure-no-auth --access-log "$WORK/access.log"
    cp "$TOP/tests/server/inside.py" "$WORK/inside.py"
    local addresses
    addresses=$(ip -o addr show 2>/dev/null | awk '{sub("/.*", "", $4); print $4}' | tr '\n' ' ')
    "$TOP/tests/server/inside.py" "$PORT" "$SOCKET" 127.0.0.1 # the control: from the host it gets through
    grep -q inside-marker "$WORK/access.log"
    cp "$WORK/access.log" "$WORK/log.before"
    jq -n --arg port "$PORT" --arg socket "$SOCKET" --arg addresses "$addresses" --rawfile program "$WORK/inside.py" \
        '{command: (["python3", "-c", $program, $port, $socket] + ($addresses | split(" ") | map(select(. != ""))) + ["127.0.0.1", "::1", "0.0.0.0", "everywhere"])}' >"$WORK/request"
    api POST /api/run "$(cat "$WORK/request")"
    expect 200 '.exit_code == 1 and (.stdout | test("0 of [0-9]+"))'
    # nor by a way out that the sandbox was given: a loopback address cannot be allowed
    api POST /api/run "$(jq --arg rule "127.0.0.1:$PORT" '. + {egress: [$rule]}' "$WORK/request")"
    [ "$code" != 200 ] || expect 200 '.exit_code == 1'
    api POST /api/run "$(jq --arg rule "localhost:$PORT" '. + {egress: [$rule]}' "$WORK/request")"
    [ "$code" != 200 ] || expect 200 '.exit_code == 1'
    # the oracle: the daemon has heard of none of it
    ! tail -c +"$(($(stat -c %s "$WORK/log.before") + 1))" "$WORK/access.log" | grep inside-marker || false
}
