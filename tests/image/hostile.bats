#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A registry that lies, stalls and leads astray: what it sends is checked, what it asks for it does not get.

load ../lib
load registry
load registry_words

hostile() { # [--tls]
    IMAGE=$(noise_image)
    hostile_start "$IMAGE" "$@"
    INTO=$(user_dir into)
}

# --- what arrives -----------------------------------------------------------------------------------------------------------

@test "the hostile registry is a good one where it is asked to be" {
    hostile
    works fetch "$HOSTILE/good" "$INTO"
    has_fetched "$IMAGE" "$INTO"
    works fetch "$HOSTILE/good@$(manifest_digest_of "$IMAGE")" "$INTO"
    works fetch "$HOSTILE/chunked" "$(user_dir other)"
    has_fetched "$IMAGE" "$WORK/other"
}

@test "a blob that is wrong by one byte is found" {
    hostile
    fails 'has the digest' fetch "$HOSTILE/one-byte" "$INTO"
}

@test "a blob that is longer than it should be ends at once" {
    hostile
    fails 'more than the [0-9]+ bytes' fetch "$HOSTILE/longer" "$INTO"
    fails 'more than the [0-9]+ bytes' fetch "$HOSTILE/longer-chunked" "$(user_dir b)"
    fails 'more than the [0-9]+ bytes' fetch "$HOSTILE/endless" "$(user_dir c)"
    [ "$(du -sm "$WORK/c" | cut -f1)" -le 8 ]
}

# Whoever unpacks it is done with it by then.
@test "what follows a whole blob is not looked at" {
    local name
    hostile
    hutch image pull -q "$HOSTILE/longer-late"
    for name in "$IMAGE"/blobs/sha256/*; do cmp "$name" "$HUTCH_HOME/lib/images/blobs/${name##*/}"; done
    rm -rf "$HUTCH_HOME/lib/images"
}

gives_up() { # NAME PATTERN: with words and files of its own
    local into
    into=$(user_dir "into-$1")
    mkdir "$WORK/$1"
    local WORK=$WORK/$1
    fails "$2" fetch "$HOSTILE/$1" "$into"
}

drip_gives_up() {
    local -x HUTCH_REGISTRIES
    HUTCH_REGISTRIES=$(user_dir slow)/registries.yml
    echo "$HOSTILE: {stall: 1, insecure: true}" >"$HUTCH_REGISTRIES"
    gives_up drip 'unavailable: blob .* after [0-9] of'
}

# Each is asked again after longer and longer waits: all at once, that is the time of one.
@test "a server that never sends all of it is asked again, and not for ever" {
    local pid pids=()
    hostile
    gives_up truncated 'less than there is' & pids+=($!)
    gives_up cut 'after [0-9]+ of [0-9]+ bytes' & pids+=($!)
    gives_up reset-always 'unavailable: blob .* after [0-9]+ of [0-9]+ bytes' & pids+=($!)
    drip_gives_up & pids+=($!)
    for pid in "${pids[@]}"; do wait "$pid"; done
    # each of the two layers six times
    [ "$(hostile_heard HOSTILE | jq -r 'select(.path | test("/truncated/blobs")) | .path' | wc -l)" -le 13 ]
}

@test "a manifest of 1 GiB is cut off at once" {
    hostile
    fails 'longer than the 4194304 bytes' manifest "$HOSTILE/huge-manifest"
    fails 'longer than the 4194304 bytes' manifest "$HOSTILE/endless-manifest"
    [ "$(cat "$HOSTILE_DIR/HOSTILE.sent")" -lt 100000000 ]
}

@test "headers without end are cut off" {
    hostile
    fails 'headers are longer' manifest "$HOSTILE/huge-headers"
}

@test "a manifest that is not what its digest promises is refused" {
    local digest
    hostile
    digest=$(manifest_digest_of "$IMAGE")
    fails "has the digest .*but $digest" manifest "$HOSTILE/wrong-manifest@$digest"
    fails "has the digest .*but $digest" manifest "$HOSTILE/wrong-manifest-silent@$digest"
    fails "has the digest .*but $digest" manifest "$HOSTILE/wrong-manifest:latest"
}

@test "a manifest of another media type is refused" {
    hostile
    fails "invalid: .*'text/html'" manifest "$HOSTILE/wrong-type"
}

@test "a registry's words reach a message as printable text, cut" {
    hostile
    fails 'permission: .*403.*it says: .\[31mnot. for you' manifest "$HOSTILE/denied"
    tr -d '\n[:print:]' <"$WORK/said" | nothing_like .
    fails 'not_found: .*404' manifest "$HOSTILE/manifest-gone"
    [ "$(wc -c <"$WORK/said")" -lt 500 ]
}

# --- the connection ---------------------------------------------------------------------------------------------------------

@test "a connection that is reset in the middle is taken up again where it broke" {
    hostile
    works fetch "$HOSTILE/reset" "$INTO"
    has_fetched "$IMAGE" "$INTO"
    grep -q 'restarts 0' "$WORK/out"
    nothing_like 'restarts [1-9]' <"$WORK/out"
    [ "$(hostile_heard HOSTILE | jq -r 'select(.headers.Range != null) | .headers.Range' | sort -u | wc -l)" -ge 6 ]
}

@test "a server that knows no ranges sends it all again" {
    hostile
    works fetch "$HOSTILE/reset-no-range" "$INTO"
    has_fetched "$IMAGE" "$INTO"
    grep -q 'restarts [1-9]' "$WORK/out"
}

@test "what an earlier try left is taken up, and not fetched again" {
    local digest size
    hostile
    works fetch "$HOSTILE/good" "$INTO"
    digest=$(jq -r '.layers[0].digest' "$IMAGE/blobs/sha256/$(manifest_digest_of "$IMAGE" | cut -d: -f2)")
    size=$(stat -c %s "$INTO/${digest#sha256:}")
    truncate -s 1000000 "$INTO/${digest#sha256:}"
    works fetch "$HOSTILE/good" "$INTO"
    has_fetched "$IMAGE" "$INTO"
    [ "$(hostile_heard HOSTILE | jq -r 'select(.headers.Range != null) | .headers.Range')" = "bytes=1000000-" ]
    [ "$size" -gt 1000000 ]
}

@test "a part that is not the one asked for is not taken for it" {
    hostile
    fails 'another part than asked for|reset' fetch "$HOSTILE/wrong-range" "$INTO"
}

@test "a connection that falls silent is cut and taken up again" {
    hostile
    configure "$HOSTILE: {stall: 2s, insecure: true}"
    works fetch "$HOSTILE/stall" "$INTO"
    has_fetched "$IMAGE" "$INTO"
}

@test "a server that asks for patience gets it, within reason" {
    local began=$SECONDS
    hostile
    works fetch "$HOSTILE/later" "$INTO"
    [ $((SECONDS - began)) -ge 2 ]
    has_fetched "$IMAGE" "$INTO"
    works fetch "$HOSTILE/broken" "$(user_dir b)"
    has_fetched "$IMAGE" "$WORK/b"
    began=$SECONDS
    fails 'unavailable: .*429' fetch "$HOSTILE/never" "$(user_dir c)"
    [ $((SECONDS - began)) -le 5 ]
    fails 'not_found: blob' fetch "$HOSTILE/missing" "$(user_dir d)"
}

# --- where it leads ---------------------------------------------------------------------------------------------------------

@test "a redirect elsewhere is followed without the login" {
    local kind
    hostile
    log_in "$HOSTILE"
    for kind in basic token; do
        works fetch "$HOSTILE/$kind.elsewhere" "$(user_dir $kind)"
        has_fetched "$IMAGE" "$WORK/$kind"
        works manifest "$HOSTILE/$kind.manifest-elsewhere"
    done
    # the registry itself was told, elsewhere was not
    hostile_heard HOSTILE | grep -q '"Authorization": "Basic '
    hostile_heard HOSTILE | grep -q '"Authorization": "Bearer good'
    [ "$(hostile_heard ELSEWHERE | wc -l)" -ge 4 ]
    hostile_heard ELSEWHERE | header_names | nothing_like 'authorization|cookie'
}

@test "a redirect that stays is followed with the login" {
    hostile
    log_in "$HOSTILE"
    works fetch "$HOSTILE/basic.relative" "$INTO"
    has_fetched "$IMAGE" "$INTO"
}

@test "redirects in a circle, to files, to other protocols, with a login in them or to nowhere are refused" {
    hostile
    fails 'more than 5 times' fetch "$HOSTILE/loop" "$(user_dir 1)"
    fails 'permission: .*only HTTP and HTTPS' fetch "$HOSTILE/to-file" "$(user_dir 2)"
    fails 'permission: .*only HTTP and HTTPS' fetch "$HOSTILE/to-ftp" "$(user_dir 3)"
    fails 'permission: .*carries a login' fetch "$HOSTILE/elsewhere-user" "$(user_dir 4)"
    fails 'but not where to' fetch "$HOSTILE/to-nothing" "$(user_dir 5)"
    cat "$WORK"/2/* | nothing_like root:
    [ -z "$(hostile_heard ELSEWHERE)" ]
}

@test "nothing leads from HTTPS to HTTP, neither a redirect nor a token service" {
    hostile --tls
    configure "$HOSTILE: {ca: $HOSTILE_DIR/ca.pem}"
    log_in "$HOSTILE"
    works fetch "$HOSTILE/good" "$INTO"
    fails 'from HTTPS to plain HTTP' fetch "$HOSTILE/elsewhere" "$(user_dir b)"
    fails 'token service .*from HTTPS to plain HTTP' manifest "$HOSTILE/realm-http.good"
    [ -z "$(hostile_heard ELSEWHERE)" ]
    # unless the registry is said to be insecure
    configure "$HOSTILE: {insecure: true}"
    works fetch "$HOSTILE/elsewhere" "$(user_dir c)"
    has_fetched "$IMAGE" "$WORK/c"
}

# --- logins -----------------------------------------------------------------------------------------------------------------

@test "a registry that is never content with a token is asked a few times only" {
    hostile
    fails 'permission: .*401' manifest "$HOSTILE/loop401.good"
    [ "$(hostile_heard HOSTILE | wc -l)" -le 12 ]
    log_in "$HOSTILE"
    fails 'permission: .*401' manifest "$HOSTILE/loop401.good"
}

@test "tokens that end in the middle are renewed" {
    hostile
    works fetch "$HOSTILE/short.reset" "$INTO"
    has_fetched "$IMAGE" "$INTO"
    [ "$(hostile_heard HOSTILE | jq -r 'select(.path | startswith("/token?")) | .path' | wc -l)" -ge 3 ]
}

@test "token services that are no such thing are refused" {
    hostile
    log_in "$HOSTILE"
    fails 'only HTTP and HTTPS' manifest "$HOSTILE/realm-file.good"
    fails 'longer than the 65536 bytes' manifest "$HOSTILE/realm-huge.good"
    fails 'holds no token' manifest "$HOSTILE/realm-bad.good"
    fails 'cannot be understood' manifest "$HOSTILE/realm-none.good"
    fails 'cannot be understood' manifest "$HOSTILE/realm-torn.good"
    fails 'neither for a token nor for a password' manifest "$HOSTILE/strange.good"
    fails 'neither for a token nor for a password' manifest "$HOSTILE/digest.good"
    hostile_heard HOSTILE | header_names | nothing_like planted
}

@test "a token service that moves gets no password at its new place" {
    hostile
    log_in "$HOSTILE"
    tool manifest "$HOSTILE/realm-moved.good"
    hostile_heard HOSTILE | jq -es 'map(select((.path | startswith("/token-moved")) and .headers.Authorization != null)) | length > 0'
    [ "$(hostile_heard ELSEWHERE | wc -l)" -ge 1 ]
    hostile_heard ELSEWHERE | header_names | nothing_like authorization
    # an identity token would be in the body
    printf '{"auths": {"%s": {"identitytoken": "planted"}}}' "$HOSTILE" >"$DOCKER_CONFIG/config.json"
    fails 'permission: .*sent elsewhere with a secret' manifest "$HOSTILE/realm-moved.good"
}

# --- proxies ----------------------------------------------------------------------------------------------------------------

@test "a proxy of the environment is used, and is not told the login of what is behind it" {
    hostile
    configure $'mirrored.invalid: {mirrors: ["http://behind.invalid"]}\nsecure.invalid: {}'
    log_in secure.invalid
    export http_proxy=http://$HOSTILE https_proxy=http://$HOSTILE
    works fetch mirrored.invalid/good "$INTO"
    has_fetched "$IMAGE" "$INTO"
    hostile_heard HOSTILE | jq -es 'map(select(.path | startswith("http://behind.invalid/v2/good/"))) | length >= 4'
    fails "ask 'secure.invalid'" manifest secure.invalid/basic.good
    hostile_heard HOSTILE | jq -es 'map(select(.method == "CONNECT" and .path == "secure.invalid:443")) | length > 0'
    hostile_heard HOSTILE | header_names | nothing_like authorization
    export no_proxy=mirrored.invalid,behind.invalid
    fails "is the name right" manifest mirrored.invalid/good
}
