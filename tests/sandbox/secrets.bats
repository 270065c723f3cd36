#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Secrets: where values come from, what is refused, where they appear, and that they are nowhere else.

load ../lib
load ../integration/words
load words
load secrets

FROM_FILE='{"secrets": {"api-key": {"file": "VAULT/key"}}}'

refused() { # WORDS-OF-THE-SENTENCE COMMAND...
    local words=$1
    shift
    call "$@"
    same "exit status" 125 "$status"
    grep -qF -- "$words" "$WORK/said" || { cat "$WORK/said" >&2 && return 1; }
}

@test "a secret is a variable, a file, or a file elsewhere, and nothing but what was asked for" {
    providers "$FROM_FILE"
    plant key $'the value\n'
    plain --secret api-key -- printenv API_KEY
    same "the variable" "the value" "$(cat "$WORK/out")"
    plain --secret api-key:env=OTHER -- sh -c 'echo "$OTHER$API_KEY"; ls /run/secrets 2>&1'
    grep -qx "the value" "$WORK/out"
    grep -q "No such file" "$WORK/out"
    plain --secret api-key:file --secret api-key:file=/etc/app/key -- sh -c \
        'env | grep -c value; stat -c "%a %U %s" /run/secrets/api-key /etc/app/key; cat /etc/app/key /run/secrets/api-key; ls -A /run/secrets'
    same "files" "0 400 user 9 400 user 9 the valuethe valueapi-key" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    plain --secret api-key:file=/etc/app/key -- sh -c 'echo x >/etc/app/key || rm -f /etc/app/key || mv /etc/app/key /tmp || cat /etc/app/key'
    same "what cannot be changed" "the value" "$(cat "$WORK/out")"
}

@test "beside a read-only root, its own root adds nothing to the directories of secrets and certificates" {
    local try='cd "$0" && { touch new 2>&1 || rm -f *; ls | wc -l; }'
    providers "$FROM_FILE"
    plant key value
    plain -u 0 --read-only --secret api-key:file --secret api-key:file=/tmp/key -- sh -c "$try; cat api-key /tmp/key" /run/secrets
    grep -q "Read-only file system" "$WORK/out"
    same "what is there" "1 valuevalue" "$(tail -n 2 "$WORK/out" | xargs)"
    plain -u 0 --read-only --egress good.test --secret 'api-key:edge-tls=good.test:Authorization: Bearer {}' -- sh -c "$try" /run/hutch
    grep -q "Read-only file system" "$WORK/out"
    same "certificates" 2 "$(tail -n 1 "$WORK/out")"
}

@test "values may be any bytes but what their place cannot hold" {
    providers "$FROM_FILE"
    plant key placeholder
    printf 'a\0b\377\xfe' >"$VAULT/key"
    plain --secret api-key:file -- sha256sum /run/secrets/api-key
    same "bytes" "$(sha256sum <"$VAULT/key" | cut -d' ' -f1)" "$(cut -d' ' -f1 "$WORK/out")"
    refused "has a NUL byte" run --secret api-key -- true
    lacks $'\377' "$WORK/said"
    printf 'a\377\xfe\n' >"$VAULT/key"
    plain --secret api-key -- printenv API_KEY
    same "a variable that is not UTF-8" 61fffe0a "$(od -An -tx1 <"$WORK/out" | tr -d ' \n')"
    head -c 65536 /dev/zero | tr '\0' x >"$VAULT/key"
    plain --secret api-key -- sh -c 'echo ${#API_KEY}'
    same "the largest" 65536 "$(cat "$WORK/out")"
    head -c 65537 /dev/zero | tr '\0' x >"$VAULT/key"
    refused "more than 65536 bytes" run --secret api-key -- true
    lacks xxxxxxxx "$WORK/said"
    : >"$VAULT/key"
    refused "is empty" run --secret api-key -- true
    printf '\n' >"$VAULT/key"
    refused "is empty" run --secret api-key -- true
}

@test "one newline at the end is not part of a value, unless it is asked for" {
    providers '{"secrets": {"a": {"file": "VAULT/key"}, "b": {"file": "VAULT/key", "keep_newline": true},
        "c": {"command": ["/bin/sh", "-c", "printf \"x\\r\\n\""]}}}'
    plant key $'one\n\n'
    plain --secret a:file --secret b:file --secret c:file -- sh -c 'cd /run/secrets; stat -c %s a b c'
    same "sizes" "4 5 1" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
}

@test "files that others can use, links and what is no file are refused" {
    providers "$FROM_FILE"
    local value
    value=$(canary)
    for mode in 640 604 620 602 644 660 666 777; do
        plant key "$value" "$mode"
        refused "has mode 0$mode" run --secret api-key -- true
        lacks "$value" "$WORK/said"
    done
    rm "$VAULT/key"
    refused "No such file" run --secret api-key -- true
    plant real "$value"
    ln -s real "$VAULT/key"
    own "$VAULT/real" 600
    refused "is a symbolic link" run --secret api-key -- true
    rm "$VAULT/key"
    mkfifo -m 600 "$VAULT/key"
    [ "$HUTCH_TEST_AS" = root ] || chown "$TEST_UID" "$VAULT/key"
    refused "is not a regular file" run --secret api-key -- true
    rm "$VAULT/key"
    mkdir "$VAULT/key"
    refused "is not a regular file" run --secret api-key -- true
    rmdir "$VAULT/key"
    plant key "$value"
    chown 12345 "$VAULT/key"
    call run --secret api-key -- true
    same "exit status" 125 "$status"
    grep -qE "belongs to user 12345|Permission denied" "$WORK/said"
    nowhere "$value"
}

@test "a document of providers that others can change is not read" {
    providers "$FROM_FILE"
    plant key value
    chmod 620 "$HUTCH_SECRETS"
    refused "others can change it" run --secret api-key -- true
    chmod 600 "$HUTCH_SECRETS"
    chmod 777 "$VAULT"
    refused "others can change it" run --secret api-key -- true
    chmod 700 "$VAULT"
    plain --secret api-key -- printenv API_KEY
    same "as it was" value "$(cat "$WORK/out")"
    chmod 644 "$HUTCH_SECRETS"
    chown 12345 "$HUTCH_SECRETS"
    refused "others can change it" run --secret api-key -- true
}

@test "commands have a time and a size, and what they say elsewhere is not passed on" {
    providers '{"secrets": {"good": {"command": ["/bin/sh", "-c", "echo good; echo noise >&2"]},
        "slow": {"command": ["/bin/sleep", "60"], "timeout": "200ms"},
        "stays": {"command": ["/bin/sh", "-c", "echo early; exec >&-; sleep 60"], "timeout": "200ms"},
        "bad": {"command": ["/bin/sh", "-c", "echo leaked; echo leaked >&2; exit 3"]},
        "dies": {"command": ["/bin/sh", "-c", "kill -9 $$"]},
        "none": {"command": ["/no/such/program"]},
        "large": {"command": ["/bin/sh", "-c", "yes leaked"]}}}'
    plain --secret good -- printenv GOOD
    same "the value" good "$(cat "$WORK/out")"
    same "what was said" "" "$(cat "$WORK/said")"
    refused "has not ended after 200 ms" run --secret slow -- true
    refused "has not ended after 200 ms" run --secret stays -- true
    refused "exited with 3" run --secret bad -- true
    refused "signal 9" run --secret dies -- true
    refused "start '/no/such/program'" run --secret none -- true
    refused "more than 65536 bytes" run --secret large -- true
    lacks leaked "$WORK/said"
}

@test "directories as Docker and Kubernetes mount them" {
    providers '{"directories": ["VAULT/mounted"]}'
    local dir=$VAULT/mounted
    mkdir -p "$dir/..data"
    chmod 755 "$dir" "$dir/..data"
    [ "$HUTCH_TEST_AS" = root ] || chown -R "$TEST_UID" "$dir"
    echo docker >"$dir/plain"
    echo kubernetes >"$dir/..data/linked"
    ln -s ..data/linked "$dir/linked"
    ln -s /etc/hostname "$dir/out"
    ln -s ../../../../../etc/hostname "$dir/up"
    ln -s /proc/self/environ "$dir/magic"
    chmod 444 "$dir/plain" "$dir/..data/linked"
    plain --secret plain --secret linked -- sh -c 'echo $PLAIN $LINKED'
    same "values" "docker kubernetes" "$(cat "$WORK/out")"
    refused "leads out of the directory" run --secret out -- true
    refused "leads out of the directory" run --secret up -- true
    refused "leads out of the directory" run --secret magic -- true
    call_json secret ls
    jq -e '[.secrets[] | select(.provider == "directory") | .name] | contains(["linked", "plain"])' "$WORK/json"
    chmod 777 "$dir"
    refused "there is no secret 'plain'" run --secret plain -- true
    chmod 755 "$dir"
    chmod 666 "$dir/plain"
    refused "others can change" run --secret plain -- true
    HUTCH_SECRETS=$dir
    chmod 444 "$dir/plain"
    plain --secret plain -- printenv PLAIN
    same "named by itself" docker "$(cat "$WORK/out")"
}

@test "YAML says the same as JSON, also to a keeper, and names the line of a mistake" {
    providers '{}'
    plant key "of yaml"
    printf 'secrets:\n  api-key:\n    file: %s/key\n' "$VAULT" >"$VAULT/secrets.yml"
    own "$VAULT/secrets.yml" 600
    HUTCH_SECRETS=$VAULT/secrets.yml
    plain --secret api-key -- printenv API_KEY
    same "in a run" "of yaml" "$(cat "$WORK/out")"
    create box --secret api-key
    call exec box -- printenv API_KEY
    same "in a sandbox that stays" "of yaml" "$(cat "$WORK/out")"
    hutch rm -f box
    printf 'secrets:\n  api-key:\n    fiel: /x\n' >"$VAULT/secrets.yml"
    refused "line 3: 'fiel'" run --secret api-key -- true
}

@test "a sandbox that stays has its secrets in every command and after every start" {
    providers '{"secrets": {"api-key": {"file": "VAULT/key"}, "mine": {"env": "MINE"}}}'
    plant key first
    # shellcheck disable=SC2016
    create box --secret api-key --secret api-key:file -- sh -c 'echo $API_KEY; cat /run/secrets/api-key; sleep 60'
    sleep 0.5
    same "its own command" firstfirst "$(hutch logs box | tr -d '\n')"
    same "an exec" "first first" "$(inside box 'echo $API_KEY $(cat /run/secrets/api-key)')"
    plant key second
    same "as at its start" first "$(inside box 'echo $API_KEY')"
    hutch stop box
    hutch start box
    same "after the next" "second second" "$(inside box 'echo $API_KEY $(cat /run/secrets/api-key)')"
    hutch inspect box >"$WORK/json"
    jq -e '.spec.secrets == [{"name": "api-key", "env": "API_KEY"}, {"name": "api-key", "file": "/run/secrets/api-key"}]' "$WORK/json"
    hutch rm -f box
    MINE=x refused "which the keeper of a sandbox that stays does not have" create --name other --secret mine
    same "no sandbox is left" "" "$(ls "$HUTCH_HOME/lib/sandboxes")"
    MINE="of the caller" plain --secret mine -- printenv MINE
    same "a run has the caller's" "of the caller" "$(cat "$WORK/out")"
}

@test "values are taken out of output, logs and results, in pieces too" {
    providers "$FROM_FILE"
    local value
    value=$(canary)
    plant key "$value"
    # shellcheck disable=SC2016
    local script='echo "<$API_KEY>"; printf %s "${API_KEY%????}"; sleep 0.2; printf "%s\n" "${API_KEY#"${API_KEY%????}"}"; echo "${API_KEY%?}" | cut -c1-6; echo "$API_KEY" >&2'
    plain --redact --secret api-key -- sh -c "$script"
    same "of a run" "<[secret api-key]> [secret api-key] canary" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    same "its errors" "[secret api-key]" "$(cat "$WORK/said")"
    result --redact --secret api-key -- sh -c "$script"
    lacks "$value" "$WORK/json"
    same "of a result" "[secret api-key]" "$(field .stderr)"
    create box --redact --secret api-key -- sh -c "$script"
    sleep 0.5
    call logs box
    grep -qF "<[secret api-key]>" "$WORK/out"
    lacks "$value" "$WORK/out" "$WORK/said"
    call exec box -- sh -c "$script"
    same "of an exec" "<[secret api-key]> [secret api-key] canary" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    hutch exec box -- sh -c "$script" 2>&1 | cat >"$WORK/piped"
    lacks "$value" "$WORK/piped"
    call_json exec box -- sh -c "$script"
    lacks "$value" "$WORK/json"
    local id
    id=$(hutch exec -d box -- sh -c "$script")
    sleep 0.5
    call logs --exec "$id" box
    lacks "$value" "$WORK/out"
    nowhere "$value"
    hutch rm -f box
    plant key abc
    refused "fewer than 4 bytes" run --redact --secret api-key -- true
}

@test "much output with values on every boundary" {
    providers "$FROM_FILE"
    plant key SECRETVALUE
    # shellcheck disable=SC2016
    plain --redact --secret api-key -- awk 'BEGIN { v = ENVIRON["API_KEY"]; for (i = 0; i < 200000; i++) printf "%s%s\n", substr("0123456789", 1, i % 10), v }'
    same "none is left" 0 "$(grep -c SECRETVALUE "$WORK/out" || true)"
    same "each is named" 200000 "$(grep -c '\[secret api-key\]$' "$WORK/out")"
}

@test "a planted value is nowhere but where the spec put it" {
    providers '{"secrets": {"a": {"file": "VAULT/key"}, "b": {"command": ["/bin/cat", "VAULT/key"]}}}'
    local value
    value=$(canary)
    plant key "$value"
    # shellcheck disable=SC2016
    create box --secret a --secret b:file --secret a:file=/etc/a -- sh -c 'sleep 60'
    # shellcheck disable=SC2016
    start --secret a --secret b:file -- sh -c 'test -n "$A" && sleep 3'
    local runner=$!
    sleep 0.5
    # of the command itself, in the sandbox, where it is to be: elsewhere the sweep would find it
    grep -lsaF "$value" /proc/[0-9]*/environ >"$WORK/where" || true
    [ -s "$WORK/where" ]
    nowhere "$value"
    hutch inspect box >"$WORK/one"
    hutch ls --json >"$WORK/two"
    hutch ps --json box >"$WORK/three"
    hutch stats --json box >"$WORK/four" 2>&1 || true
    hutch logs box >"$WORK/five"
    hutch run --dry-run --json --secret a -- true >"$WORK/six"
    hutch secret ls >"$WORK/seven"
    hutch secret ls --json >"$WORK/eight"
    result --secret a --secret b:file -- false
    lacks "$value" "$WORK/json" "$WORK/said" "$WORK/one" "$WORK/two" "$WORK/three" "$WORK/four" "$WORK/five" "$WORK/six" \
        "$WORK/seven" "$WORK/eight"
    refused "" run --secret a --secret b --secret c -- true
    lacks "$value" "$WORK/said"
    refused "" run --secret a -- /no/such/program || true
    lacks "$value" "$WORK/said"
    wait "$runner"
    hutch stop box
    nowhere "$value"
    hutch rm -f box
    nowhere "$value"
}

@test "files of secrets are in no layer: not in a diff, a fork or a snapshot" {
    providers "$FROM_FILE"
    local value
    value=$(canary)
    plant key "$value"
    create box --secret api-key:file --secret api-key:file=/etc/app/key --disk 32m
    call diff box
    lacks "$value" "$WORK/out"
    hutch stop box
    nowhere "$value"
    hutch rm -f box
}

@test "what contradicts itself is refused" {
    providers "$FROM_FILE"
    plant key value
    refused "is to be the variable 'API_KEY', which env sets too" run --secret api-key -e API_KEY=x -- true
    refused "another secret" run --secret api-key --secret api-key -- true
    refused "given twice" run --secret api-key:file --secret api-key:file -- true
    refused "where secrets are" run --secret api-key:file --tmpfs /run/secrets -- true
    refused "is not the name of a secret" run --secret ../key -- true
    refused "which no rule of egress allows" run --secret 'api-key:edge=h.example:X: {}' -- true
    refused "needs backend native" run --backend oci --secret api-key:file -- true
    refused "there is no secret 'nothing'" run --secret nothing -- true
    unset HUTCH_SECRETS
    HOME=$WORK refused "there is no secret 'nothing'" run --secret nothing -- true
}
