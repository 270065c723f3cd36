# SPDX-License-Identifier: Apache-2.0
# What the suite of the daemon says often. Loaded after ../lib.
#
# serve FLAG... starts the real daemon on the test's own home, a unix socket and a port of its own; what is still running when the
# test ends is ended by its process id, before the world is compared.
#
# A test that measures the daemon's memory has the tag "memory": in a sanitized build it would measure the sanitizer.
#
# shellcheck shell=bash
# shellcheck disable=SC2034  # URL, SOCKET and what curl found are read by the tests

SERVE_PID=
export PYTHONDONTWRITEBYTECODE=1

# Long forms (20,000 cycles, 300 kills, 4 GiB, 10 GB) take a quarter of an hour: HUTCH_TEST_LONG=1.
long_or() { if [ -n "${HUTCH_TEST_LONG:-}" ]; then echo "$2"; else echo "$1"; fi; } # SHORT LONG

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

serve() { # FLAG...
    PORT=$(free_port) SOCKET=$WORK/serve.sock
    URL=http://127.0.0.1:$PORT
    "$HUTCH" serve --listen "127.0.0.1:$PORT" --socket "$SOCKET" "$@" >"$WORK/serve.out" 2>"$WORK/serve.log" 3>&- &
    SERVE_PID=$!
    serve_answers
}

serve_answers() {
    local try
    for try in {1..100}; do
        ! curl -fsS -o /dev/null --unix-socket "$SOCKET" http://localhost/healthz 2>/dev/null || return 0
        kill -0 "$SERVE_PID" 2>/dev/null || break
        sleep 0.05
    done
    echo "the daemon does not answer (try $try); it said:" >&2
    tail -n 20 "$WORK/serve.log" >&2
    return 1
}

# It ends in order: what it was asked is answered first.
serve_end() {
    local status=0
    [ -n "$SERVE_PID" ] || return 0
    kill -TERM "$SERVE_PID" 2>/dev/null
    wait "$SERVE_PID" || status=$?
    SERVE_PID=
    return $status
}

serve_kill9() {
    kill -KILL "$SERVE_PID"
    wait "$SERVE_PID" 2>/dev/null || true
    SERVE_PID=
}

# One request by the unix socket, as whoever runs the daemon. The answer's body is in $WORK/body, its head in $WORK/head, its status
# in $code.
api() { # METHOD PATH [JSON] [CURL-FLAG...]
    local method=$1 path=$2 body=()
    shift 2
    case ${1:-} in '{'* | '['*) body=(-H 'Content-Type: application/json' --data-binary "$1") && shift ;; esac
    : >"$WORK/body"
    code=$(curl -sS -m 60 -o "$WORK/body" -D "$WORK/head" -w '%{http_code}' -X "$method" --unix-socket "$SOCKET" \
        "${body[@]}" "$@" "http://localhost$path")
}

# The same by TCP, with a token ("" for none).
api_tcp() { # TOKEN METHOD PATH [JSON] [CURL-FLAG...]
    local token=$1 method=$2 path=$3 words=()
    shift 3
    [ -z "$token" ] || words=(-H "Authorization: Bearer $token")
    case ${1:-} in '{'* | '['*) words+=(-H 'Content-Type: application/json' --data-binary "$1") && shift ;; esac
    : >"$WORK/body"
    code=$(curl -sS -m 60 -o "$WORK/body" -D "$WORK/head" -w '%{http_code}' -X "$method" "${words[@]}" "$@" "$URL$path")
}

field() { jq -r ".$1" "$WORK/body"; } # of the last answer

expect() { # STATUS [JQ-CONDITION]: of the last answer
    if [ "$code" = "$1" ] && { [ $# -lt 2 ] || [ "$(jq -r "$2" "$WORK/body" 2>&1)" = true ]; }; then return 0; fi
    printf 'expected status %s%s, got %s:\n' "$1" "${2:+ and $2}" "$code" >&2
    head -c 2000 "$WORK/body" >&2
    echo >&2
    tail -n 5 "$WORK/serve.log" >&2
    return 1
}

# A problem document (RFC 9457) with this status and code.
expect_problem() { # STATUS CODE
    expect "$1" ".status == $1 and .code == \"$2\" and (.title | type) == \"string\" and (.detail | length) > 0" &&
        grep -qi '^content-type: application/problem+json' "$WORK/head"
}

new_token() { # TENANT SCOPE [FLAG...]
    local tenant=$1 scope=$2
    shift 2
    "$HUTCH" token create --tenant "$tenant" --scope "$scope" "$@"
}

setup() { setup_world; }
teardown() { serve_teardown; }

# A file with a teardown of its own ends with this one.
serve_teardown() {
    local status=0
    if [ -n "$SERVE_PID" ]; then serve_end || { echo "the daemon ended with an error" >&2 && tail -n 20 "$WORK/serve.log" >&2 && status=1; }; fi
    rm -rf "$HUTCH_HOME/lib/tokens" "$HUTCH_HOME/lib/answers" # what a daemon remembers
    [ -z "${BATS_TEST_COMPLETED:-}" ] || release_pool || status=1
    teardown_world || status=1
    return $status
}

# The mount of the quota pool stays until a sweep finds it empty: that is not something left behind.
release_pool() {
    local swept
    swept=$("$HUTCH" gc)
    for _ in {1..100}; do
        # its file system ends a while after its mount when much was removed from it
        grep -qs "^$HUTCH_HOME/" /sys/block/loop*/loop/backing_file || break
        sleep 0.1
    done
    case $NEEDS_GC$swept in
    1* | "nothing to remove" | "removed mount quota pool") ;;
    *) printf 'a sweep found something:\n%s\n' "$swept" >&2 && return 1 ;;
    esac
}
