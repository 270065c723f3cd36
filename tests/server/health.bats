#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whether the daemon answers, whether it is ready, and what it counts.

# shellcheck disable=SC2154 # code: the last answer's, of serve.bash
load ../lib
load serve

PROMTOOL=$TOP/build/test-tools/prometheus/usr/bin/promtool

# Out of Debian's package, which is not installed: that would start a service.
setup_file() {
    local place=$TOP/build/test-tools
    [ -x "$PROMTOOL" ] && return 0
    mkdir -p "$place/download"
    (cd "$place/download" && apt-get download prometheus >log 2>&1 && dpkg -x prometheus_*.deb "$place/prometheus") || true
    rm -f "$place"/download/*.deb
}

@test "it is healthy and ready, without a token too" {
    serve
    api GET /healthz && expect 200 '.status == "ok"'
    api_tcp "" GET /healthz && expect 200
    api_tcp "" GET /readyz && expect 200 '.ready and .reasons == []'
    api_tcp "" GET /metrics && expect 401
}

@test "where no sandbox can be made it is not ready, and says why" {
    printf '#!/bin/sh\necho "fail cgroup.pids: gone"\nexit 1\n' >"$WORK/hutch"
    chmod +x "$WORK/hutch"
    HUTCH_PROGRAM=$WORK/hutch serve
    api GET /readyz
    expect 503 '(.ready | not) and .reasons == ["cgroup.pids"]'
    grep -qi '^retry-after: [0-9]' "$WORK/head"
    api GET /healthz && expect 200
}

@test "what it counts is what was asked, and promtool finds no fault in it" {
    serve
    for _ in 1 2 3; do api GET /healthz; done
    api GET /api/sandboxes/nobody && expect 404
    api POST /api/sandboxes/ '{"name": "counted"}' && expect 201
    api GET /metrics && expect 200
    grep -qi '^content-type: text/plain; version=0.0.4' "$WORK/head"
    # one more by who waited for the daemon
    grep -qE '^hutch_http_requests_total\{method="GET",route="/healthz",status="200"\} [4-9]' "$WORK/body"
    grep -qF 'hutch_http_requests_total{method="GET",route="/api/sandboxes/{id}",status="404"} 1' "$WORK/body"
    grep -qE '^hutch_http_request_duration_seconds_count\{method="GET",route="/healthz"\} [4-9]' "$WORK/body"
    grep -qF 'hutch_sandboxes{state="running"} 1' "$WORK/body"
    grep -qE '^hutch_build_info\{version="[0-9]' "$WORK/body"
    [ "$(sed -n 's/^process_resident_memory_bytes //p' "$WORK/body")" -gt 1000000 ]
    api DELETE /api/sandboxes/counted && expect 200
    if [ ! -x "$PROMTOOL" ]; then
        [ -z "${CI:-}" ] || { cat "$TOP/build/test-tools/download/log" >&2 && false; }
        skip "promtool cannot be had: $(tail -n 1 "$TOP/build/test-tools/download/log")"
    fi
    api GET /metrics
    "$PROMTOOL" check metrics <"$WORK/body" >&2
}

@test "a tenant counts its own sandboxes and nothing else" {
    serve
    api POST /api/sandboxes/ '{"name": "others"}' && expect 201
    api_tcp "$(new_token red admin)" GET /metrics && expect 200
    grep -qF 'hutch_sandboxes{state="running"} 0' "$WORK/body"
    ! grep -qE '^(process|hutch_http)_' "$WORK/body" || false
    api DELETE /api/sandboxes/others && expect 200
}

@test "the daemon carries no library of network clients" {
    ! ldd "$(dirname "$HUTCH")/hutch-serve" | grep -E 'curl|nghttp|gnutls|ldap' || false
}
