#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Debian's docker-registry as it is set up in the world: plain, with passwords, with tokens, over TLS; mirrors, helpers, logins, push.

load ../lib
load registry
load registry_words

filled() { # KIND [REPOSITORY]
    IMAGE=$(noise_image)
    registry_start r "$1"
    registry_fill "$IMAGE" "${2:-team/noise}:1"
    INTO=$(user_dir into)
}

# --- pull -------------------------------------------------------------------------------------------------------------------

@test "a plain registry on this machine needs no configuration" {
    filled plain
    works fetch "$REGISTRY/team/noise:1" "$INTO"
    has_fetched "$IMAGE" "$INTO"
    grep -q "^manifest $(manifest_digest_of "$IMAGE") application/vnd.oci.image.manifest.v1+json" "$WORK/out"
    works manifest "$REGISTRY/team/noise@$(manifest_digest_of "$IMAGE")"
    works manifest "localhost:${REGISTRY##*:}/team/noise:1"
}

@test "what is not there is said to be not there" {
    filled plain
    fails "not_found: .*404.*'team/noise:2'" manifest "$REGISTRY/team/noise:2"
    fails "not_found: .*404" manifest "$REGISTRY/nobody/nothing"
    fails "not_found: .*404" manifest "$REGISTRY/team/noise@sha256:$(printf '0%.0s' {1..64})"
    registry_stop
    fails "unavailable: ask '$REGISTRY'.*nobody answers" manifest "$REGISTRY/team/noise:1"
    fails "unavailable: ask 'no.such.invalid'.*is the name right" manifest "no.such.invalid/team/noise:1"
}

@test "basic: without a login, with a wrong one, with the right one" {
    filled basic
    fails "permission: .*asks for a login.*hutch image login $REGISTRY" manifest "$REGISTRY/team/noise:1"
    log_in "$REGISTRY" "$USER_NAME" wrong
    fails "permission: .*refuses the login of '$USER_NAME' from .*config.json" manifest "$REGISTRY/team/noise:1"
    log_in "$REGISTRY"
    works fetch "$REGISTRY/team/noise:1" "$INTO"
    has_fetched "$IMAGE" "$INTO"
}

@test "token: everybody's images without a login, the others with the right one" {
    filled token public/noise
    works fetch "$REGISTRY/public/noise:1" "$INTO"
    has_fetched "$IMAGE" "$INTO"
    registry_fill "$IMAGE" team/noise:1
    fails "permission: .*401.*hutch image login $REGISTRY" manifest "$REGISTRY/team/noise:1"
    log_in "$REGISTRY" "$USER_NAME" wrong
    fails "permission: .*token service .*refuses the login of '$USER_NAME'" manifest "$REGISTRY/team/noise:1"
    log_in "$REGISTRY"
    works fetch "$REGISTRY/team/noise:1" "$(user_dir b)"
    has_fetched "$IMAGE" "$WORK/b"
    # no more than what is needed was asked for
    tail -n 1 "$REGISTRY_DIR/token.log" | jq -e '.user == "somebody" and .service == "hutch-tests" and .scopes == ["repository:team/noise:pull"]'
}

@test "token: an identity token is exchanged by POST" {
    filled token
    jq -n --arg r "$REGISTRY" --arg t "refresh-$USER_PASSWORD" '{auths: {($r): {auth: "", identitytoken: $t}}}' >"$DOCKER_CONFIG/config.json"
    works manifest "$REGISTRY/team/noise:1"
    tail -n 1 "$REGISTRY_DIR/token.log" | jq -e '.method == "POST" and .user == "somebody"'
    jq -n --arg r "$REGISTRY" '{auths: {($r): {identitytoken: "wrong"}}}' >"$DOCKER_CONFIG/config.json"
    fails "permission: .*token service" manifest "$REGISTRY/team/noise:1"
}

@test "tls: an unknown authority is refused, a named one is not, insecure looks at none" {
    filled tls
    fails "permission: .*certificate.*'ca' in registries.yml" manifest "$REGISTRY/team/noise:1"
    configure "$REGISTRY: {ca: $REGISTRY_DIR/ca.pem}"
    works fetch "$REGISTRY/team/noise:1" "$INTO"
    has_fetched "$IMAGE" "$INTO"
    make_ca "$(user_dir other)"
    configure "$REGISTRY: {ca: $WORK/other/ca.pem}"
    fails "permission: .*certificate" manifest "$REGISTRY/team/noise:1"
    configure "$REGISTRY: {insecure: true}"
    works manifest "$REGISTRY/team/noise:1"
    configure "$REGISTRY: {ca: ca.pem}"
    cp "$REGISTRY_DIR/ca.pem" "$XDG_CONFIG_HOME/hutch/ca.pem"
    works manifest "$REGISTRY/team/noise:1"
}

@test "tls: a certificate for another name is refused" {
    filled tls
    configure "127.0.0.2:${REGISTRY##*:}: {ca: $REGISTRY_DIR/ca.pem}"
    sed -i 's/^  addr: .*/  addr: 127.0.0.2:0/' "$REGISTRY_DIR/config.yml"
    docker-registry serve "$REGISTRY_DIR/config.yml" >"$REGISTRY_DIR/log2" 2>&1 3>&- &
    REGISTRY_PIDS+=($!)
    registry_await "docker-registry" grep -q 'listening on' "$REGISTRY_DIR/log2"
    REGISTRY=127.0.0.2:$(sed -n 's/.*listening on [^"]*:\([0-9]*\).*/\1/p' "$REGISTRY_DIR/log2" | head -n 1)
    configure "$REGISTRY: {ca: $REGISTRY_DIR/ca.pem}"
    fails "permission: .*127.0.0.2" manifest "$REGISTRY/team/noise:1"
}

@test "a plain registry that is not on this machine's own name needs 'insecure'" {
    filled plain
    sed -i 's/^  addr: .*/  addr: 127.0.0.2:0/' "$REGISTRY_DIR/config.yml"
    docker-registry serve "$REGISTRY_DIR/config.yml" >"$REGISTRY_DIR/log2" 2>&1 3>&- &
    REGISTRY_PIDS+=($!)
    registry_await "docker-registry" grep -q 'listening on' "$REGISTRY_DIR/log2"
    REGISTRY=127.0.0.2:$(sed -n 's/.*listening on [^"]*:\([0-9]*\).*/\1/p' "$REGISTRY_DIR/log2" | head -n 1)
    fails "unavailable: .*'insecure: true'" manifest "$REGISTRY/team/noise:1"
    configure "$REGISTRY: {insecure: true}"
    works manifest "$REGISTRY/team/noise:1"
}

# --- mirrors and configuration ----------------------------------------------------------------------------------------------

@test "a mirror is asked first, and the registry itself when the mirror does not have it" {
    local mirror
    filled plain
    mirror=$REGISTRY
    registry_start main
    registry_fill "$(busybox_image)" team/busybox:1
    configure "$REGISTRY: {mirrors: [\"http://$mirror\"]}"
    works fetch "$REGISTRY/team/noise:1" "$INTO"
    has_fetched "$IMAGE" "$INTO"
    works fetch "$REGISTRY/team/busybox:1" "$(user_dir b)"
    has_fetched "$(busybox_image)" "$WORK/b"
    # a mirror that is gone, and one that lies
    configure "$REGISTRY: {mirrors: [\"http://127.0.0.1:1\"]}"
    works manifest "$REGISTRY/team/busybox:1"
    fails "not_found: '$REGISTRY' answers 404" manifest "$REGISTRY/team/noise:1"
}

@test "docker.io goes to its mirror" {
    filled plain library/noise
    configure "docker.io: {mirrors: [\"http://$REGISTRY\"]}"
    works fetch noise:1 "$INTO"
    has_fetched "$IMAGE" "$INTO"
}

@test "a blob that a mirror sends wrongly comes from the registry itself" {
    hostile_start "$(noise_image)"
    filled plain longer
    configure "$REGISTRY: {mirrors: [\"http://$HOSTILE\"]}"
    works fetch "$REGISTRY/longer:1" "$INTO"
    has_fetched "$IMAGE" "$INTO"
}

@test "registries.yml: what is wrong is told with file and line" {
    local file=$XDG_CONFIG_HOME/hutch/registries.yml
    configure $'localhost:5000:\n  insecure: true\n  mirors: [x]'
    fails "invalid: .*registries.yml:3: unknown key 'mirors'; did you mean 'mirrors'" manifest localhost:5000/x
    configure $'a.b:\n  insecure: yes please'
    fails "registries.yml:2: insecure: a string stands where true or false must be" manifest localhost:5000/x
    configure $'a.b:\n  stall: 5x'
    fails "registries.yml:2: stall: " manifest localhost:5000/x
    configure $'a.b:\n  ca: /no/such.pem'
    fails "registries.yml:2: ca: .*'/no/such.pem'" manifest localhost:5000/x
    configure $'a.b:\n  mirrors: [ftp://x]'
    fails "registries.yml:2: mirrors: 'ftp://x' is no mirror" manifest localhost:5000/x
    configure $'https://a.b: {}'
    fails "registries.yml:1: 'https://a.b' is no registry" manifest localhost:5000/x
    configure '- a'
    fails "invalid: .*registries.yml" manifest localhost:5000/x
    rm "$file"
    export HUTCH_REGISTRIES=$WORK/none.yml
    fails "not_found: .*none.yml" manifest localhost:5000/x
    printf '{"a.b": {"insecure": 1}}' >"$WORK/some.json"
    HUTCH_REGISTRIES=$WORK/some.json
    fails "some.json:1: insecure: a number stands" manifest localhost:5000/x
}

# --- logins -----------------------------------------------------------------------------------------------------------------

@test "login checks, keeps what else is in the file, and the file to its owner; logout takes it away" {
    local kind
    for kind in basic token; do
        filled $kind
        printf '{"auths": {"other.example": {"auth": "eDp5"}}, "psFormat": "x", "n": [1, 2.5, null, true, "\\u00e9\\n"]}' >"$DOCKER_CONFIG/config.json"
        chmod 644 "$DOCKER_CONFIG/config.json"
        [ "$HUTCH_TEST_AS" = root ] || chown "$TEST_UID" "$DOCKER_CONFIG/config.json"
        cp "$DOCKER_CONFIG/config.json" "$WORK/before.json"
        fails "permission: .*refuses the login of '$USER_NAME'" login "$REGISTRY" "$USER_NAME" wrong
        cmp "$WORK/before.json" "$DOCKER_CONFIG/config.json"
        works login "$REGISTRY" "$USER_NAME" "$USER_PASSWORD"
        [ "$(stat -c %a "$DOCKER_CONFIG/config.json")" = 600 ]
        jq -e --slurpfile b "$WORK/before.json" 'del(.auths) == ($b[0] | del(.auths)) and .auths["other.example"].auth == "eDp5"' "$DOCKER_CONFIG/config.json"
        works manifest "$REGISTRY/team/noise:1"
        # docker's own tools read it
        skopeo inspect --authfile "$DOCKER_CONFIG/config.json" --tls-verify=false "docker://$REGISTRY/team/noise:1" >/dev/null
        works logout "$REGISTRY"
        jq -e --slurpfile b "$WORK/before.json" '. == $b[0]' "$DOCKER_CONFIG/config.json"
        fails "permission" manifest "$REGISTRY/team/noise:1"
        fails "not_found: there is no login for '$REGISTRY'" logout "$REGISTRY"
        [ "$(find "$DOCKER_CONFIG" -type f | wc -l)" = 1 ]
        registry_stop
        rm -rf "$WORK/registry-r"
    done
}

@test "login makes the file where there is none, and refuses what is no login" {
    filled basic
    rmdir "$DOCKER_CONFIG"
    [ "$HUTCH_TEST_AS" = root ] || DOCKER_CONFIG=$(user_dir parent)/docker
    works login "https://$REGISTRY/" "$USER_NAME" "$USER_PASSWORD"
    works manifest "$REGISTRY/team/noise:1"
    fails "invalid: .*is no registry" login "http://x y" u p
    fails "invalid: a login is" login "$REGISTRY" '' p
    fails "invalid: a login is" login "$REGISTRY" a:b p
}

@test "a login is found under every name that docker gives a registry, and by no other" {
    local name
    for name in https://index.docker.io/v1/ docker.io index.docker.io; do
        log_in "$name" hubert
        works user docker.io
        [ "$(cat "$WORK/out")" = hubert ]
    done
    for name in reg.example:5000 https://reg.example:5000 https://reg.example:5000/v2/; do
        log_in "$name" other
        works user reg.example:5000
        [ "$(cat "$WORK/out")" = other ]
    done
    for name in reg.example reg.example:5001 xreg.example:5000 reg.example:5000x docker.io; do
        works user "$name"
        [ "$(cat "$WORK/out")" = nobody ]
    done
}

@test "a registry's login is not for its mirrors" {
    hostile_start "$(noise_image)"
    configure "hub.invalid: {mirrors: [\"http://$HOSTILE\"]}"
    log_in hub.invalid
    fails "ask 'hub.invalid'" manifest hub.invalid/basic.good
    fails "ask 'hub.invalid'" manifest hub.invalid/loop401.good
    hostile_heard HOSTILE | header_names | sort -u >"$WORK/names"
    grep -q user-agent "$WORK/names"
    hostile_heard HOSTILE | nothing_like '"Basic '
    log_in "$HOSTILE"
    works manifest hub.invalid/basic.good
}

# A helper that keeps its one login in a file.
helper() {
    local dir
    dir=$(user_dir helpers)
    cat >"$dir/docker-credential-file" <<END
#!/bin/sh
read -r line
echo "\$1 \$line" >>$dir/asked
case \$1 in
get) [ -f $dir/kept ] || { echo "credentials not found in native keychain"; exit 1; }; cat $dir/kept ;;
store) echo "\$line" >$dir/kept ;;
erase) rm -f $dir/kept ;;
esac
END
    printf '#!/bin/sh\nyes\n' >"$dir/docker-credential-endless"
    printf '#!/bin/sh\necho the keychain is locked\nexit 2\n' >"$dir/docker-credential-locked"
    printf '#!/bin/sh\necho "{}"\n' >"$dir/docker-credential-empty"
    chmod 755 "$dir"/docker-credential-*
    PATH=$dir:$PATH
}

@test "credential helpers are asked, for one registry or for all, and keep logins" {
    local key
    filled basic
    helper
    for key in credHelpers credsStore; do
        jq -n --arg r "$REGISTRY" --arg k $key '{($k): (if $k == "credsStore" then "file" else {($r): "file"} end)}' >"$DOCKER_CONFIG/config.json"
        [ "$HUTCH_TEST_AS" = root ] || chown "$TEST_UID" "$DOCKER_CONFIG/config.json"
        fails "permission: .*asks for a login" manifest "$REGISTRY/team/noise:1"
        works login "$REGISTRY" "$USER_NAME" "$USER_PASSWORD"
        grep -q "^get $REGISTRY$" "$WORK/helpers/asked"
        works manifest "$REGISTRY/team/noise:1"
        # nothing of the password is in the file itself
        jq -e --arg r "$REGISTRY" '.auths[$r] == {}' "$DOCKER_CONFIG/config.json"
        works logout "$REGISTRY"
        fails "permission" manifest "$REGISTRY/team/noise:1"
    done
}

@test "credential helpers that are missing, locked, endless or not to be named so fail clearly" {
    filled basic
    helper
    configured() { printf '{"credsStore": "%s"}' "$1" >"$DOCKER_CONFIG/config.json"; }
    configured missing
    fails "unavailable: .*'docker-credential-missing' cannot be started" manifest "$REGISTRY/team/noise:1"
    configured locked
    fails "unavailable: .*failed to get: the keychain is locked" manifest "$REGISTRY/team/noise:1"
    configured endless
    fails "says more than" manifest "$REGISTRY/team/noise:1"
    configured empty
    fails "has no Username and Secret" manifest "$REGISTRY/team/noise:1"
    configured '../file'
    fails "cannot be the name of a credential helper" manifest "$REGISTRY/team/noise:1"
    configured 'x; touch y'
    fails "cannot be the name of a credential helper" manifest "$REGISTRY/team/noise:1"
    printf '{"auths": {"%s": {"auth": "???"}}}' "$REGISTRY" >"$DOCKER_CONFIG/config.json"
    fails "config.json.*auth: this is no base64" manifest "$REGISTRY/team/noise:1"
    printf '{"auths": ' >"$DOCKER_CONFIG/config.json"
    fails "invalid: .*config.json" manifest "$REGISTRY/team/noise:1"
}

@test "a password reaches neither arguments, messages nor the log of a failure" {
    filled basic
    log_in "$REGISTRY" "$USER_NAME" planted-secret
    fails "permission" manifest "$REGISTRY/team/noise:1"
    cat "$WORK/said" "$WORK/out" | nothing_like 'planted|cGxhbnRlZC'
}

# --- push -------------------------------------------------------------------------------------------------------------------

@test "push: what is sent is what skopeo reads back, and what is there is not sent again" {
    local kind
    IMAGE=$(noise_image)
    works load "$IMAGE" example.com/noise:1
    for kind in plain basic token; do
        registry_start "$kind" "$kind"
        [ "$kind" = plain ] || { fails permission push example.com/noise:1 "$REGISTRY/team/noise:1" && log_in "$REGISTRY"; }
        works push example.com/noise:1 "$REGISTRY/team/noise:1"
        [ "$(grep -c '^upload' "$WORK/out")" = 3 ]
        skopeo --insecure-policy copy -q --src-tls-verify=false --src-creds "$USER_NAME:$USER_PASSWORD" "docker://$REGISTRY/team/noise:1" "dir:$WORK/back-$kind"
        [ "sha256:$(sha256sum <"$WORK/back-$kind/manifest.json" | cut -d' ' -f1)" = "$(manifest_digest_of "$IMAGE")" ]
        works push example.com/noise:1 "$REGISTRY/team/noise:2"
        [ "$(grep -c '^exists' "$WORK/out")" = 3 ]
        nothing_like '^upload' <"$WORK/out"
    done
    rm -rf "$HUTCH_HOME/lib/images"
}

@test "push: an image that is not there, a registry that is not there" {
    fails "not_found" push example.com/none:1
    works load "$(busybox_image)" example.com/busybox:1
    fails "unavailable: .*nobody answers" push example.com/busybox:1 127.0.0.1:1/x
    rm -rf "$HUTCH_HOME/lib/images"
}

# --- the command ------------------------------------------------------------------------------------------------------------

@test "hutch image login, push, pull, logout: a sandbox runs on what has gone through a registry" {
    local digest
    registry_start r token
    hutch image load -q --name example.com/busybox:1 "$(busybox_image)"
    printf '%s\n' "$USER_PASSWORD" | hutch image login -u "$USER_NAME" --password-stdin "$REGISTRY"
    hutch image push -q example.com/busybox:1 "$REGISTRY/team/busybox:1"
    hutch image rm example.com/busybox:1
    hutch image prune >/dev/null
    digest=$(hutch image pull -q "$REGISTRY/team/busybox:1")
    [ "$digest" = "$(manifest_digest_of "$(busybox_image)")" ]
    [ "$(hutch run --image "$REGISTRY/team/busybox:1" -- sh -c 'echo "$FROM_IMAGE"')" = yes ]
    hutch image logout "$REGISTRY"
    hutch image rm "$REGISTRY/team/busybox:1"
    run hutch image pull "$REGISTRY/team/busybox:1"
    [ "$status" -eq 125 ]
    grep -q "hutch image login $REGISTRY" <<<"$output"
    rm -rf "$HUTCH_HOME/lib/images"
}
