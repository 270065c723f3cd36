#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The daemon as a program: its flags, where it listens, how it ends, what it reads again.

# shellcheck disable=SC2030,SC2031  # what serve and api leave

load ../lib
load serve

refused() { # SENTENCE FLAG...: it does not start, with exit status 125 and this in its one line
    local sentence=$1 status=0
    shift
    timeout 10 "$HUTCH" serve --socket "$WORK/refused.sock" "$@" >"$WORK/out" 2>"$WORK/said" 3>&- || status=$?
    [ "$status" = 125 ] && grep -qF -- "$sentence" "$WORK/said" && [ "$(grep -c '^hutch: ' "$WORK/said")" = "$(wc -l <"$WORK/said")" ] && return 0
    echo "exit status $status, and it said:" >&2
    cat "$WORK/said" >&2
    return 1
}

@test "flags that make no sense are refused with one sentence" {
    refused "--listen takes ADDRESS:PORT" --listen 8888
    refused "--listen takes ADDRESS:PORT" --listen 127.0.0.1:99999
    refused "--listen takes ADDRESS:PORT" --listen ::1:8888
    refused "--listen takes ADDRESS:PORT" --listen ''
    refused "belong together" --listen none --tls-cert "$WORK/none.pem"
    refused "--client-ca needs" --listen none --client-ca "$WORK/none.pem"
    refused "TEMPLATE=N" --listen none --pool python
    refused "TEMPLATE=N" --listen none --pool python=0
    refused "twice" --listen none --pool python=1 --pool python=2
    refused "NAME=VALUE" --listen none --limit queue
    refused "did you mean 'queue'" --listen none --limit qeue=1
    refused "must be a number from" --listen none --limit queue=-1
    refused "must be a number from" --listen none --limit json-depth=100000
    refused "policy" --listen none --policy "$WORK/none.yml"
    refused "access log" --listen none --access-log "$WORK/no/such/log"
    refused "there is no group" --listen none --socket-group no-such-group
    refused "takes no argument" --listen none more
    refused "the path of a socket" --listen none --socket "$WORK/$(printf 'x%.0s' {1..200})"
}

@test "who listens where others can reach it needs TLS or says that it does without" {
    refused "unencrypted" --listen "0.0.0.0:$(free_port)"
    refused "loopback" --insecure-no-auth --insecure-no-tls --listen "0.0.0.0:$(free_port)"
    serve --listen "0.0.0.0:$(free_port)" --insecure-no-tls
    api GET /healthz
    expect 200
}

@test "limits are listed, each with what it is for" {
    "$HUTCH" serve --list-limits >"$WORK/limits"
    grep -q '^body-bytes .*JSON' "$WORK/limits"
    grep -q '^head-bytes ' "$WORK/limits"
    [ "$(wc -l <"$WORK/limits")" -gt 15 ]
}

@test "a port that is taken is an error, and so is the socket of a living daemon; a dead one's is replaced" {
    serve
    refused "listen on '127.0.0.1:$PORT'" --listen "127.0.0.1:$PORT"
    ! timeout 10 "$HUTCH" serve --listen none --socket "$SOCKET" 2>"$WORK/said" || false
    grep -q 'another daemon listens' "$WORK/said"
    api GET /healthz
    expect 200
    serve_kill9
    [ -S "$SOCKET" ]
    serve
    api GET /healthz
    expect 200
    serve_end
    [ ! -e "$SOCKET" ]
    echo text >"$WORK/file"
    ! timeout 10 "$HUTCH" serve --listen none --socket "$WORK/file" 2>"$WORK/said" || false
    grep -q 'no socket' "$WORK/said"
    [ "$(cat "$WORK/file")" = text ]
}

@test "the unix socket is its owner's alone" {
    serve
    [ "$(stat -c %a "$SOCKET")" = 600 ]
    serve_end
    serve --socket-group nogroup
    [ "$(stat -c '%a %G' "$SOCKET")" = "660 nogroup" ]
}

# bats test_tags=memory
@test "no libcurl is loaded, and an idle daemon is small" {
    serve
    ! grep -q libcurl "/proc/$SERVE_PID/maps" || false
    sleep 1
    [ "$(awk '/^VmRSS:/ {print $2}' "/proc/$SERVE_PID/status")" -le 8192 ]
}

@test "sockets that somebody else has opened are taken: LISTEN_FDS" {
    PORT=$(free_port) SOCKET=$WORK/given.sock URL=http://127.0.0.1:$PORT
    cat >"$WORK/activate.py" <<'PYTHON'
import os, socket, sys
hutch, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
tcp, local = socket.socket(), socket.socket(socket.AF_UNIX)
tcp.bind(("127.0.0.1", port))
local.bind(path)
for number, one in ((13, tcp), (14, local)):
    one.listen()
    os.dup2(one.fileno(), number)
os.dup2(13, 3), os.dup2(14, 4)
os.set_inheritable(3, True), os.set_inheritable(4, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2")
os.execv(hutch, [hutch, "serve"])
PYTHON
    python3 "$WORK/activate.py" "$(realpath "$HUTCH")" "$PORT" "$SOCKET" >"$WORK/serve.out" 2>"$WORK/serve.log" 3>&- &
    SERVE_PID=$!
    serve_answers
    api_tcp "" GET /healthz
    expect 200
    api GET /api/sandboxes/
    expect 200 '.sandboxes == []'
    [ ! -e "$HUTCH_HOME/run/serve.sock" ]
    serve_end
    [ -S "$SOCKET" ] # it is not ours to remove
    rm "$SOCKET"
}

@test "SIGTERM: what was asked is answered, nothing new is taken, and it ends" {
    serve
    api POST /api/sandboxes/ '{"name": "slow"}'
    expect 201
    api POST /api/run '{"command": ["sleep", "1"]}' --max-time 0.2 || true
    curl -sS -o "$WORK/ran" --unix-socket "$SOCKET" -H 'Content-Type: application/json' -d '{"command": ["sh", "-c", "sleep 1.5; echo done"]}' \
        http://localhost/api/run 3>&- &
    local client=$!
    sleep 0.5
    kill -TERM "$SERVE_PID"
    sleep 0.2
    ! curl -sS -o /dev/null "$URL/healthz" 2>/dev/null || false
    wait "$client"
    jq -e '.ok and .stdout == "done\n"' "$WORK/ran"
    wait "$SERVE_PID"
    SERVE_PID=
    [ ! -e "$SOCKET" ]
    hutch rm -f slow
}

@test "SIGTERM does not wait for who only listens, and for others only so long" {
    serve --limit drain-ms=500
    curl -sS -N -o "$WORK/events" --unix-socket "$SOCKET" -H 'Accept: text/event-stream' http://localhost/api/events 3>&- &
    local listener=$!
    sleep 0.3
    local before=$SECONDS
    serve_end
    [ $((SECONDS - before)) -le 3 ]
    wait "$listener" || true
    serve --limit drain-ms=500
    curl -sS -o "$WORK/ran" --unix-socket "$SOCKET" -H 'Content-Type: application/json' -d '{"command": ["sleep", "20"]}' http://localhost/api/run 3>&- &
    local runner=$!
    sleep 0.3
    before=$SECONDS
    serve_end
    [ $((SECONDS - before)) -le 5 ]
    wait "$runner" || true
}

@test "a policy that changes holds from then on, a broken one leaves it as it was" {
    echo 'ceilings: {limits: {memory: 1g}}' >"$WORK/policy.yml"
    chmod 600 "$WORK/policy.yml"
    serve --policy "$WORK/policy.yml"
    api POST /api/run '{"command": ["true"], "limits": {"memory": "2g"}}'
    expect_problem 403 permission
    echo 'ceilings: {limits: {memory: 4g}}' >"$WORK/policy.yml"
    kill -HUP "$SERVE_PID"
    sleep 0.5
    api POST /api/run '{"command": ["true"], "limits": {"memory": "2g"}}'
    expect 200 .ok
    echo 'ceilings: [' >"$WORK/policy.yml"
    kill -HUP "$SERVE_PID"
    sleep 0.5
    grep -q 'stays as it was' "$WORK/serve.log"
    api POST /api/run '{"command": ["true"], "limits": {"memory": "2g"}}'
    expect 200 .ok
    echo 'ceilings: {limits: {memory: 1g}}' >"$WORK/policy.yml"
    sleep 3 # nobody has told it
    api POST /api/run '{"command": ["true"], "limits": {"memory": "2g"}}'
    expect_problem 403 permission
}

@test "the access log has a line of JSON for every request, without what stands behind the '?'" {
    serve --access-log "$WORK/access"
    api GET '/api/sandboxes/?label=secret'
    expect 200
    api_tcp "" GET '/api/sandboxes/?token=hutch_secret'
    expect_problem 401 unauthorized
    local token
    token=$(new_token a read --name robot)
    api_tcp "$token" GET /api/sandboxes/ -H 'X-Request-Id: mine-1'
    expect 200
    jq -es 'map(select(.path == "/api/sandboxes/")) | map([.who, .method, .status]) == [["uid 0", "GET", 200], ["", "GET", 401], ["token robot", "GET", 200]]' "$WORK/access"
    jq -es '.[-1].request_id == "mine-1" and (.[-1] | .us > 0 and .bytes > 0)' "$WORK/access"
    ! grep -q 'secret\|hutch_' "$WORK/access" || false
    mv "$WORK/access" "$WORK/access.1" # rotated
    kill -HUP "$SERVE_PID"
    sleep 0.2
    api GET /healthz
    jq -es 'any(.path == "/healthz")' "$WORK/access"
}

@test "TLS: by its certificate, 1.2 and newer, and clients by theirs" {
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$WORK/key.pem" -out "$WORK/cert.pem" -days 2 -subj /CN=hutch.test \
        -addext subjectAltName=DNS:hutch.test,IP:127.0.0.1 2>/dev/null
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$WORK/client.key" -out "$WORK/client.pem" -days 2 -subj /CN=robot 2>/dev/null
    local token
    token=$(new_token a read)
    serve --tls-cert "$WORK/cert.pem" --tls-key "$WORK/key.pem"
    URL=https://hutch.test:$PORT
    api_tcp "$token" GET /api/sandboxes/ --cacert "$WORK/cert.pem" --resolve "hutch.test:$PORT:127.0.0.1"
    expect 200
    ! curl -sS --tls-max 1.1 --cacert "$WORK/cert.pem" --resolve "hutch.test:$PORT:127.0.0.1" "$URL/healthz" 2>/dev/null || false
    ! curl -sS "http://127.0.0.1:$PORT/healthz" 2>/dev/null || false
    serve_end
    serve --tls-cert "$WORK/cert.pem" --tls-key "$WORK/key.pem" --client-ca "$WORK/client.pem"
    URL=https://hutch.test:$PORT
    ! curl -fsS --cacert "$WORK/cert.pem" --resolve "hutch.test:$PORT:127.0.0.1" "$URL/healthz" 2>/dev/null || false
    api_tcp "$token" GET /api/sandboxes/ --cacert "$WORK/cert.pem" --resolve "hutch.test:$PORT:127.0.0.1" --cert "$WORK/client.pem" --key "$WORK/client.key"
    expect 200
    api_tcp "" GET /api/sandboxes/ --cacert "$WORK/cert.pem" --resolve "hutch.test:$PORT:127.0.0.1" --cert "$WORK/client.pem" --key "$WORK/client.key"
    expect_problem 401 unauthorized
}
