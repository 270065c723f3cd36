#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every rule under, at and above what it allows.

load ../lib
load ../integration/words
load words

@test "a ceiling for every limit: under and at it is allowed, above it is refused with rule and line" {
    policy <<'END'
ceilings:
  limits:
    memory: 100m
    cpus: 0.5
    pids: 100
    disk: 50m
    inodes: 5000
    timeout: 30s
    idle_timeout: 20s
    output: 1k
    output_max: 2k
    open_files: 100
    log: 1m
  ttl: 1h
  max_lifetime: 2h
  egress_limits:
    connections: 10
    bytes: 1m
    rate: 64k
END
    local flag under at above rule line
    while read -r flag under at above rule line; do
        allowed run --dry-run "$flag" "$under" --egress a.example -- true
        allowed run --dry-run "$flag" "$at" --egress a.example -- true
        refused "ceilings.$rule" "$line" run --dry-run "$flag" "$above" --egress a.example -- true
    done <<'END'
--memory 99m 100m 101m limits.memory 3
--cpus 0.4 0.5 0.51 limits.cpus 4
--pids 99 100 101 limits.pids 5
--disk 49m 50m 51m limits.disk 6
--inodes 4999 5000 5001 limits.inodes 7
--timeout 29s 30s 30001ms limits.timeout 8
--idle-timeout 19s 20s none limits.idle_timeout 9
--output-limit 1023 1k 1025 limits.output 10
--output-max 2047 2k none limits.output_max 11
--open-files 99 100 101 limits.open_files 12
--egress-connections 9 10 11 egress_limits.connections 17
--egress-bytes 1023k 1m none egress_limits.bytes 18
--egress-rate 63k 64k 65k egress_limits.rate 19
END
    refused ceilings.ttl 14 create --dry-run --ttl 61m
    refused ceilings.max_lifetime 15 create --dry-run --max-lifetime none
    refused ceilings.limits.log 13 create --dry-run --log-limit 2m
    allowed create --dry-run --ttl 1h --max-lifetime 2h --log-limit 1m
}

@test "what nobody asked for gets the policy's default and never more than the ceiling" {
    policy <<'END'
defaults:
  limits: {memory: 64m, timeout: 10s}
ceilings:
  limits: {memory: 128m, pids: 32, idle_timeout: 1m}
END
    same memory 67108864 "$(becomes .limits.memory)"
    same timeout '"10s"' "$(becomes .limits.timeout)"
    same pids 32 "$(becomes .limits.pids)"
    same "none is more than any ceiling" '"1m"' "$(becomes .limits.idle_timeout)"
    same "asked for" 134217728 "$(becomes .limits.memory --memory 128m)"
    same "cpus, of which nothing is said" '"1"' "$(becomes .limits.cpus)"
    call create --dry-run
    same "a sandbox that stays: disk" 10737418240 "$(jq .limits.disk "$WORK/out")"
    policy <<<'ceilings: {limits: {disk: 1g}}'
    call create --dry-run
    same "its own default is held too" 1073741824 "$(jq .limits.disk "$WORK/out")"
}

@test "the limits that were decided are the ones in force" {
    needs_memory_group
    policy <<<$'on_exceed: clamp\nceilings: {limits: {memory: 32m, pids: 5}}'
    result --memory 1g --pids 100 -- "$PYTHON" -c 'a = bytearray(64 << 20)'
    same reason oom "$(field .reason)"
    policy <<<$'on_exceed: clamp\nceilings: {limits: {timeout: 1s}}'
    result --timeout 60s -- sleep 30
    same reason timeout "$(field .reason)"
}

@test "clamp makes a request smaller, says so in a dry run and records it" {
    policy <<<$'on_exceed: clamp\nceilings: {limits: {memory: 128m}}\negress: {hosts: [a.example]}'
    same memory 134217728 "$(becomes .limits.memory --memory 1g)"
    grep -qF "limits.memory: 128m instead of 1g, by rule 'ceilings.limits.memory' of $HUTCH_POLICY:2" "$WORK/said"
    same "hosts" '["a.example"]' "$(becomes .egress --egress a.example --egress b.example)"
    grep -qF "egress: without 'b.example', by rule 'egress.hosts' of $HUTCH_POLICY:3" "$WORK/said"
    same "ports" '["a.example:80"]' "$(becomes .egress --egress a.example:80,22)"
    grep -qF "egress: 'a.example:80' instead of 'a.example:80,22', by rule 'egress.hosts' of $HUTCH_POLICY:3" "$WORK/said"
    allowed run --memory 1g -- true
    grep -h '"kind":"policy"' "$HUTCH_HOME"/lib/audit/segment-* >"$WORK/events"
    same "events" 1 "$(wc -l <"$WORK/events")"
    same decision clamped "$(jq -r .decision "$WORK/events")"
    same "policy of the run" "$(jq -r .policy "$WORK/events")" \
        "$(grep -h '"kind":"run"' "$HUTCH_HOME"/lib/audit/segment-* | jq -r .policy)"
    # what has no lesser value is refused all the same
    policy <<<$'on_exceed: clamp\nbackends: [oci]'
    refused backends 2 run --backend native -- true
}

@test "a root that must be read-only is, and who asks for another is refused" {
    policy <<<'read_only: required'
    same "not asked for" true "$(becomes .read_only)"
    same "asked for" true "$(becomes .read_only --read-only)"
    result -u 0 -- sh -c ': >/etc/x'
    same "in force" 2 "$(field .exit_code)"
    echo '{"command": ["true"], "read_only": false}' >"$WORK/spec.json"
    chmod 644 "$WORK/spec.json"
    refused read_only 1 run --spec "$WORK/spec.json"
    policy <<<'read_only: optional'
    same "where it need not be" false "$(becomes .read_only)"
    allowed run --spec "$WORK/spec.json"
    policy <<<'read_only: true'
    call run -- true
    grep -qF "read_only: 'on' must be 'required' or 'optional'" "$WORK/said"
}

@test "a refusal is recorded with its rule" {
    policy <<<'ceilings: {limits: {pids: 10}}'
    refused ceilings.limits.pids 1 run --pids 11 -- true
    grep -h '"kind":"policy"' "$HUTCH_HOME"/lib/audit/segment-* >"$WORK/events"
    same decision refused "$(jq -r .decision "$WORK/events")"
    same what run "$(jq -r .what "$WORK/events")"
    grep -q "ceilings.limits.pids" "$WORK/events"
    same "nothing was run" "" "$(grep -h '"kind":"run"' "$HUTCH_HOME"/lib/audit/segment-*)"
}

@test "audit: digest keeps command lines out of the record, off keeps everything out" {
    policy <<<'audit: {argv: digest}'
    allowed run -- echo canary-in-argv
    grep -q argv_sha256 "$HUTCH_HOME"/lib/audit/segment-*
    same "canary" "" "$(grep -rl canary-in-argv "$HUTCH_HOME" || true)"
    rm -rf "$HUTCH_HOME/lib/audit"
    policy <<<'audit: off'
    allowed run -- true
    same "events" "" "$(cat "$HUTCH_HOME"/lib/audit/segment-* 2>/dev/null || true)"
}

@test "a limit with a ceiling may not be missing, unless the policy says so" {
    needs_root
    policy <<<'ceilings: {limits: {memory: 1g}}'
    refused ceilings.limits.memory 1 run --allow-missing memory -- true
    refused ceilings.limits.memory 1 run --allow-missing all -- true
    allowed run --allow-missing cpus -- true
    policy <<<$'ceilings: {limits: {memory: 1g}}\nallow_missing: [memory]'
    allowed run --allow-missing memory -- true
}

@test "backends and isolation: what is not listed is refused, the first is taken where none is asked for" {
    policy <<<'backends: [native]'
    allowed run -- true
    allowed run --backend native -- true
    refused backends 1 run --backend docker -- true
    refused backends 1 run --isolation gvisor -- true
    policy <<<'backends: [oci, docker]'
    same "the first" '"oci"' "$(becomes .backend)"
    refused backends 1 run --backend native -- true
    policy <<<'isolation: [gvisor]'
    same "the level" '"gvisor"' "$(becomes .isolation)"
    refused isolation 1 run --backend native -- true
    refused isolation 1 run --backend oci --runtime runc -- true
    policy <<<'backends: []'
    refused backends 1 run -- true
}

@test "labels that are required" {
    policy <<<$'required_labels:\n  - team\n  - stage=test'
    refused required_labels 2 run -- true
    refused required_labels 3 run --label team=a -- true
    refused required_labels 3 run --label team=a --label stage=live -- true
    refused required_labels 2 run --label teams=a --label stage=test -- true
    allowed run --label team=a --label stage=test -- true
}

@test "images: patterns and digests, under and beyond them" {
    local digest=sha256:1111111111111111111111111111111111111111111111111111111111111111 name
    policy <<END
images: ["python:3.*", "ghcr.io/acme/*", "quay.io/all/**", "debian", "localhost:5000/x:*", "$digest"]
END
    for name in python:3.11 docker.io/library/python:3.9-slim ghcr.io/acme/tool ghcr.io/acme/tool:v1 quay.io/all/a/b/c:d debian debian:latest \
        localhost:5000/x:1 localhost:5000/x@$digest anything/else@$digest $digest ghcr.io/acme/tool@${digest/1111/2222}; do
        allowed run --dry-run --image "$name" -- true
    done
    for name in python python:2.7 evil/python:3.11 python-evil:3.11 evil.io/library/python:3.11 ghcr.io/acme/a/b ghcr.io/acme ghcr.io/acmes/x \
        quay.io/other/a debian:12 localhost:5000/xy:1 localhost:5001/x:1 python:3.11@${digest/1111/2222} ghcr.io.evil.io/acme/x; do
        # a tag may lead to an allowed digest, but none of these is here
        refused images 1 run --dry-run --image "$name" -- true
        refused images 1 create --dry-run --image "$name"
        call image pull "$name"
        same "exit status of pulling $name" 125 "$status"
        grep -qF "rule 'images' of $HUTCH_POLICY:1" "$WORK/said" || { tell && return 1; }
    done
    grep -qF "only its digest could allow it" <(hutch run --dry-run --image debian:12 -- true 2>&1)
    policy <<<"images: ['python:3.*', 'x@$digest']"
    refused images 1 run --dry-run --image nothere.test/a -- true
    same "what no digest could allow" 0 "$(grep -c digest "$WORK/said")"
    policy <<<'images: ["python:3.*"]'
    refused images 1 run --image debian -- true
    refused images 1 create --image python:2.7
    policy <<<'images: []'
    refused images 1 run --image python:3.11 -- true
    allowed run -- true
}

@test "mounts, workspace, rootfs, artifacts and env files: read and write places" {
    local in out
    in=$(user_dir in) out=$(user_dir elsewhere)
    mkdir -p "$in/sub" "$in/write" "$WORK/inside"
    echo K=V >"$out/env"
    echo K=V >"$in/env"
    policy <<END
mounts:
  read: [$in]
  write: [$in/write]
END
    allowed run --mount "$in:/a:ro" -- true
    allowed run --mount "$in/sub:/a:ro" -- true
    allowed run --mount "$in/write:/a" -- true
    allowed run --mount "$in/write:/a:ro" -- true
    allowed run --workspace "$in/sub:ro" -- true
    allowed run --workspace "$in/write:rw" -- true
    allowed run --env-file "$in/env" -- true
    refused mounts.write 3 run --mount "$in:/a" -- true
    refused mounts.write 3 run --workspace "$in" -- true
    refused mounts.write 3 run --artifacts "$in/art" -- true
    refused mounts.read 2 run --mount "$out:/a:ro" -- true
    refused mounts.read 2 run --mount "$in/..:/a:ro" -- true
    refused mounts.read 2 run --mount "${in}side:/a:ro" -- true
    refused mounts.read 2 run --workspace "$out:overlay" -- true
    refused mounts.read 2 run --rootfs "$out" -- true
    refused mounts.read 2 run --env-file "$out/env" -- true
    refused mounts.write 3 create --mount "$out:/a"
    allowed run --artifacts "$in/write/art" -- sh -c 'echo x >/artifacts/f'
    same "artifact" x "$(cat "$in/write/art/f")"
    policy <<<'mounts: {read: []}'
    refused mounts.read 1 run --mount "$in:/a:ro" -- true
    refused mounts.read 1 run --mount "$in:/a" -- true
    policy <<<'mounts: {read: [/], write: []}'
    allowed run --mount "$in:/a:ro" -- true
    refused mounts.write 1 run --mount "$in:/a" -- true
}

@test "links lead nowhere that the policy does not allow" {
    local in out
    in=$(user_dir in) out=$(user_dir elsewhere)
    mkdir "$in/real"
    echo canary >"$out/secret"
    ln -s "$out" "$in/link"
    ln -s real "$in/inner"
    policy <<<"mounts: {read: [$in], write: [$in]}"
    refused mounts.read 1 run --mount "$in/link:/a:ro" -- cat /a/secret
    refused mounts.write 1 run --mount "$in/link:/a" -- true
    refused mounts.write 1 run --workspace "$in/link" -- true
    refused mounts.write 1 run --artifacts "$in/link/new" -- true
    allowed run --mount "$in/inner:/a:ro" -- true
    same "what is mounted" "\"$in/real\"" "$(becomes '.mounts[0].source' --mount "$in/inner:/a:ro")"
}

# Another swaps a directory for a link to somewhere else as fast as it can.
@test "a directory that becomes a link between the check and the mount does not get in" {
    needs_root
    local in out i swapper
    in=$(user_dir in) out=$(user_dir elsewhere)
    mkdir "$in/d"
    echo canary >"$out/secret"
    policy policy.json <<<"{\"mounts\": {\"read\": [\"$in\"]}}"
    "$PYTHON" - "$in" "$out" <<'END' &
import ctypes, os, sys
inside, outside = sys.argv[1:]
os.symlink(outside, inside + "/l")
libc = ctypes.CDLL(None)
while os.path.exists(inside + "/d") or os.path.islink(inside + "/d"):
    libc.renameat2(-100, (inside + "/d").encode(), -100, (inside + "/l").encode(), 2)
END
    swapper=$!
    for i in {1..150}; do
        hutch run --mount "$in/d:/a:ro" -- cat /a/secret >>"$WORK/out" 2>>"$WORK/said" || true
    done
    kill "$swapper"
    wait "$swapper" || true
    same "what was read" "" "$(cat "$WORK/out")"
    grep -q "rule 'mounts.read'" "$WORK/said"
}

@test "egress: hosts and ports, wildcards within wildcards" {
    policy <<<$'egress:\n  hosts: [a.example, "*.b.example:443", "c.example:5432,5433"]'
    local rule
    for rule in a.example A.example. a.example:80 a.example:443 x.b.example:443 '*.b.example:443' '*.y.b.example:443' c.example:5432 c.example:5433,5432; do
        allowed run --dry-run --egress "$rule" -- true
    done
    for rule in b.example:443 x.b.example x.b.example:80 '*.example:443' '*.a.example' a.example:22 a.example:80,22 c.example xa.example a.example.evil; do
        refused egress.hosts 2 run --dry-run --egress "$rule" -- true
    done
    refused egress.hosts 2 run --dry-run --egress a.example --egress evil.example -- true
    allowed run --dry-run --egress none -- true
    policy <<<'egress: {hosts: ["a.example:80", "a.example:443"]}'
    allowed run --dry-run --egress a.example -- true
    refused egress.hosts 1 run --dry-run --egress a.example:80,443,22 -- true
    policy <<<$'egress:\n  hosts: [a.example]\n  ranges: [10.0.0.0/8]\n  proxy: socks5://10.0.0.1:1080\n  proxy_secret: Login'
    same "what the operator adds" '{"opened":["10.0.0.0/8"],"proxy":"socks5://10.0.0.1:1080","login":"Login"}' \
        "$(becomes .egress_policy --egress a.example)"
    same "not without egress" '{"opened":[],"proxy":null,"login":null}' "$(becomes .egress_policy)"
}

@test "no request can give what only the policy gives" {
    local field
    for field in '"policy":{"tenant":"x"}' '"policy":{"hash":"'"$(printf '%064d' 0)"'"}' '"policy":{"audit":"off"}' \
        '"egress_policy":{"opened":["10.0.0.0/8"]}' '"egress_policy":{"proxy":"http://a:1"}'; do
        echo "{$field,\"command\":[\"true\"]}" >"$WORK/spec.json"
        call run --spec "$WORK/spec.json"
        same "exit status with $field" 125 "$status"
        grep -q "only for the operator" "$WORK/said" || { tell && return 1; }
    done
}

@test "secrets: by name and by the way they are delivered" {
    policy <<<$'secrets: [db-*, {name: api, delivery: [edge]}]'
    allowed run --dry-run --secret db-main -- true
    allowed run --dry-run --secret db-main:file -- true
    refused secrets 1 run --dry-run --secret api -- true
    refused secrets 1 run --dry-run --secret api:file -- true
    refused secrets 1 run --dry-run --secret other -- true
    refused secrets 1 run --dry-run --secret xdb-main -- true
    policy <<<'secrets: []'
    refused secrets 1 run --dry-run --secret db-main -- true
    allowed run -- true
}
