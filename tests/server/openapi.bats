#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# /openapi.json: what it says is what is answered, and others can read it.

load ../lib
load serve

SPECTRAL=$TOP/build/test-tools/spectral

# From npm, once. Without a network it can only be done where it was done before.
setup_file() {
    [ -x "$SPECTRAL/node_modules/.bin/spectral" ] && return 0
    mkdir -p "$SPECTRAL"
    npm install --silent --no-audit --no-fund --prefix "$SPECTRAL" @stoplight/spectral-cli@6 >"$SPECTRAL/log" 2>&1 3>&- || true
}

@test "every route answers as the document says" {
    python3 "$TOP/tests/server/routes.py" >&2
    rm -rf "$HUTCH_HOME/lib/images"
}

@test "Spectral finds nothing in the document" {
    if [ ! -x "$SPECTRAL/node_modules/.bin/spectral" ]; then
        [ -z "${CI:-}" ] || { tail -n 5 "$SPECTRAL/log" >&2 && false; }
        skip "npm cannot install @stoplight/spectral-cli: $(tail -n 1 "$SPECTRAL/log")"
    fi
    serve
    api GET /openapi.json
    expect 200 '.openapi == "3.1.0"'
    cp "$WORK/body" "$WORK/openapi.json"
    "$SPECTRAL/node_modules/.bin/spectral" lint --fail-severity=warn --ruleset "$TOP/tests/server/spectral.yml" "$WORK/openapi.json" >&2
}
