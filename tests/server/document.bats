#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The session that people know from the document, typed as it is written there: port 8888 is the test's own, in a network of its own.

load ../lib
load serve

@test "the curl session runs as it is written: create, execute, list, delete" {
    serve_end
    cat >"$WORK/session" <<'SESSION'
set -eu
ip link set lo up
"$HUTCH" serve --insecure-no-auth --socket "$WORK/serve.sock" >"$WORK/serve.out" 2>"$WORK/serve.log" 3>&- &
daemon=$!
trap 'kill -TERM $daemon; wait $daemon' EXIT
for try in $(seq 100); do curl -fsS -o "$WORK/health" http://localhost:8888/healthz 2>"$WORK/said" && break; sleep 0.05; done

curl -X POST http://localhost:8888/api/sandboxes/ \
  -H "Content-Type: application/json" \
  -d '{
    "project_name": "test",
    "memory_limit": "1g",
    "cpu_limit": "1.0"
  }' >"$WORK/created"
sandbox_id=$(jq -r .sandbox_id "$WORK/created")

curl -X POST http://localhost:8888/api/sandboxes/${sandbox_id}/execute \
  -H "Content-Type: application/json" \
  -d '{
    "command": ["node", "--version"],
    "workdir": "/workspace"
  }' >"$WORK/executed"

curl http://localhost:8888/api/sandboxes/ >"$WORK/listed"

curl -X DELETE http://localhost:8888/api/sandboxes/${sandbox_id} -w '%{http_code}' -o "$WORK/deleted" >"$WORK/deleted.code"

curl http://localhost:8888/api/sandboxes/ >"$WORK/listed.after"
SESSION
    export WORK HUTCH
    unshare -n bash "$WORK/session" || { cat "$WORK/serve.log" "$WORK/said" >&2 && false; }
    cat "$WORK/created" "$WORK/executed" "$WORK/listed"
    jq -e '.id and .sandbox_id and (.name | startswith("test")) and .status == "running"' "$WORK/created"
    jq -e '.exit_code == 0 and .ok and (.stdout | test("^v[0-9]+\\.")) and .reason == "exited"' "$WORK/executed"
    jq -e --arg id "$(jq -r .id "$WORK/created")" '[.. | objects | select(.id? == $id)] | length == 1' "$WORK/listed"
    grep -qE '^20[04]$' "$WORK/deleted.code"
    jq -e '[.. | objects | select(.name?)] | length == 0' "$WORK/listed.after"
}

@test "an insecure daemon says so, and only on loopback" {
    serve --insecure-no-auth
    grep -qi insecure "$WORK/serve.log"
    serve_end
    ! timeout 5 "$HUTCH" serve --insecure-no-auth --listen 0.0.0.0:"$(free_port)" --socket "$WORK/other.sock" 2>"$WORK/said" || false
    grep -qi loopback "$WORK/said"
}
