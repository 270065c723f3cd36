#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Images by HTTP, against a real registry on loopback.

# shellcheck disable=SC2154 # code: the last answer's, of serve.bash
load ../lib
load ../image/registry
load serve

setup() {
    setup_world
    setup_registries
    registry_start r
    registry_fill "$(busybox_image)" shelf/busybox:1
}

teardown() {
    local status=0
    serve_end || status=1
    registry_stop
    rm -rf "$HUTCH_HOME/lib/images"
    serve_teardown || status=1
    return $status
}

shelf() { printf '{"reference": "%s/shelf/%s"}' "$REGISTRY" "$1"; } # NAME

@test "an image is pulled, runs, gets another name, is pushed under it and removed" {
    serve
    api POST /api/images/pull "$(shelf busybox:1)" && expect 200 '.status == "pulled" and (.digest | startswith("sha256:")) and
        (.log | length) > 0'
    digest=$(field digest)
    api GET /api/images && expect 200 '.images | length == 1'
    api POST /api/run "{\"image\": \"$REGISTRY/shelf/busybox:1\", \"command\": [\"sh\", \"-c\", \"echo \$FROM_IMAGE\"]}"
    expect 200 '.stdout == "yes\n"'
    api POST /api/images/tag "{\"reference\": \"$digest\", \"new_reference\": \"$REGISTRY/shelf/mine:2\"}" && expect 200
    api GET "/api/images/inspect?reference=$REGISTRY/shelf/mine:2" && expect 200 ".digest == \"$digest\" and (.references | length) == 2"
    api POST /api/images/push "$(shelf mine:2)" && expect 200 '.status == "pushed"'
    curl -fsS -o /dev/null "http://$REGISTRY/v2/shelf/mine/manifests/2" -H 'Accept: application/vnd.oci.image.manifest.v1+json'
    api DELETE "/api/images?reference=$digest" && expect 200 '.status == "removed" and .digest == null'
    api GET /api/images && expect 200 '.images == []'
    api GET "/api/images/inspect?reference=$digest" && expect_problem 404 not_found
}

@test "the log comes as it is said, and the answer at last" {
    serve
    api POST '/api/images/pull?stream=ndjson' "$(shelf busybox:1)" && [ "$code" = 200 ]
    jq -se '.[-1].result.status == "pulled" and .[-1].result.log == [] and (.[0].log | type) == "string"' "$WORK/body"
    api POST /api/images/pull "$(shelf nobody:1)" -H 'Accept: text/event-stream' && [ "$code" = 200 ]
    grep -A 1 '^event: error' "$WORK/body" | sed -n 's/^data: //p' | jq -e '.status == 404 and .code == "not_found"'
    api POST /api/images/pull "$(shelf nobody:1)" && expect_problem 404 not_found
}

@test "what is wrong is refused with its own code, and no word of it becomes a flag" {
    serve
    api POST /api/images/pull '{"reference": "--help"}' && expect_problem 400 invalid
    api POST /api/images/pull '{"reference": ""}' && expect_problem 400 invalid
    api POST /api/images/pull '{}' && expect_problem 400 invalid
    api POST /api/images/pull "{\"reference\": \"$REGISTRY/shelf/busybox:1\", \"platform\": \"--quiet\"}" && expect_problem 404 not_found
    api POST '/api/images/import?reference=x:1' --data-binary 'no archive' && expect_problem 400 invalid
    api POST '/api/images/import?reference=x:1' && expect_problem 400 invalid
    api GET '/api/images/save?reference=nobody' && expect_problem 404 not_found
    api GET '/api/images/save?reference=nobody&format=zip' && expect_problem 400 invalid
    api DELETE '/api/images?reference=nobody' && expect_problem 404 not_found
}

@test "archives go in and out whole: import, export, save, load, build" {
    serve
    mkdir "$WORK/root" && cp /bin/busybox "$WORK/root/busybox"
    head -c 20000000 /dev/urandom >"$WORK/root/noise"
    tar -C "$WORK/root" -cz . >"$WORK/root.tgz"
    api POST '/api/images/import?reference=r:1' --data-binary "@$WORK/root.tgz" && expect 200 '.status == "imported"'
    api GET '/api/images/export?reference=r:1' && [ "$code" = 200 ]
    tar -xOf "$WORK/body" --wildcards '*noise' | cmp - "$WORK/root/noise"
    api GET '/api/images/save?reference=r:1&format=docker' && [ "$code" = 200 ]
    cp "$WORK/body" "$WORK/saved.tar"
    api DELETE '/api/images?reference=r:1' && expect 200
    api POST /api/images/load --data-binary "@$WORK/saved.tar" && expect 200 '.references == ["r:1"]'
    printf 'FROM scratch\nCOPY busybox /busybox\n' >"$WORK/root/Dockerfile"
    tar -C "$WORK/root" -c Dockerfile busybox >"$WORK/context.tar"
    api POST '/api/images/build?reference=b:1&stream=sse' --data-binary "@$WORK/context.tar" && [ "$code" = 200 ]
    grep -q '^event: log' "$WORK/body"
    grep -A 1 '^event: result' "$WORK/body" | grep -q '"status":"built"'
    api POST /api/run '{"image": "b:1", "command": ["/busybox", "echo", "built"]}' && expect 200 '.stdout == "built\n"'
}

@test "a client that goes takes its pull along, and nothing is left half done" {
    serve
    mkfifo "$WORK/never"
    exec 8<>"$WORK/never"
    curl -s -m 1 --unix-socket "$SOCKET" -X POST -T - 'http://localhost/api/images/import?reference=slow:1' <"$WORK/never" 8>&- || true
    exec 8>&-
    for try in {1..100}; do
        ! pgrep -P "$SERVE_PID" >/dev/null || { sleep 0.05 && continue; }
        break
    done
    [ "$try" -lt 100 ]
    api GET /api/images && expect 200 '[.images[] | select(.name == "slow:1")] == []'
    api POST /api/images/prune '{}' && expect 200 # what its process had begun
    [ -z "$(ls "$HUTCH_HOME/lib/images/tmp")" ]
}

@test "a tenant uses what its policy allows, and changes nothing" {
    printf 'tenants:\n  red: {uids: [4001], images: ["%s/shelf/*:*"]}\n' "$REGISTRY" >"$WORK/policy.yml"
    serve --policy "$WORK/policy.yml"
    red=$(new_token red admin)
    api_tcp "$red" POST /api/images/pull "$(shelf busybox:1)" && expect 200
    api POST /api/images/tag "{\"reference\": \"$REGISTRY/shelf/busybox:1\", \"new_reference\": \"hidden:1\"}" && expect 200
    api_tcp "$red" GET /api/images && expect 200 ".images | map(.reference) == [\"$REGISTRY/shelf/busybox:1\"]"
    api_tcp "$red" GET "/api/images/inspect?reference=$REGISTRY/shelf/busybox:1" && expect 200 '.references | length == 1'
    api_tcp "$red" GET '/api/images/inspect?reference=hidden:1' && expect_problem 403 permission
    api_tcp "$red" GET '/api/images/save?reference=hidden:1' && expect_problem 403 permission
    api_tcp "$red" POST /api/images/pull '{"reference": "docker.io/library/alpine"}' && expect_problem 403 permission
    api_tcp "$red" POST /api/images/tag "{\"reference\": \"$REGISTRY/shelf/busybox:1\", \"new_reference\": \"x:1\"}" && expect_problem 403 permission
    api_tcp "$red" DELETE "/api/images?reference=$REGISTRY/shelf/busybox:1" && expect_problem 403 permission
    api_tcp "$(new_token red write)" POST /api/images/pull "$(shelf busybox:1)" && expect_problem 403 permission
}
