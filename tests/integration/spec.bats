#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A document says the same as flags, in JSON and in YAML, and flags win over it.

load ../lib
load words

spec() { cat >"$WORK/spec" && chmod 644 "$WORK/spec"; }

@test "--spec: the same request in JSON and in YAML" {
    spec <<'END'
{"command": ["sh", "-c", "echo $X $(id -u) $(pwd); ulimit -n"], "env": {"X": "from the document"}, "user": "4242", "workdir": "/tmp",
 "limits": {"open_files": 99, "timeout": "20s"}}
END
    result --spec "$WORK/spec"
    ended exited 0 null
    same "by JSON" $'from the document 4242 /tmp\n99' "$(field .stdout)"
    spec <<'END'
# the same
command: [sh, -c, 'echo $X $(id -u) $(pwd); ulimit -n']
env:
  X: from the document
user: "4242"
workdir: /tmp
limits:
  open_files: 99
  timeout: 20s
END
    result --spec "$WORK/spec"
    ended exited 0 null
    same "by YAML" $'from the document 4242 /tmp\n99' "$(field .stdout)"
}

@test "--spec -: from standard input, which the command then does not get" {
    echo '{"command": ["wc", "-c"]}' | hutch run --json --spec - >"$WORK/json"
    same stdout 0 "$(field .stdout)"
}

@test "--spec: flags and a command on the command line win, wherever they stand" {
    spec <<'END'
{"command": ["echo", "document"], "env": {"A": "document", "B": "document"}, "limits": {"open_files": 99}}
END
    result --open-files 50 --spec "$WORK/spec" -e A=flag -- sh -c 'echo $A $B; ulimit -n'
    ended exited 0 null
    same stdout $'flag document\n50' "$(field .stdout)"
}

@test "--dry-run: what it prints is a document that says the same" {
    local dir
    dir=$(user_dir project)
    echo hello >"$dir/file"
    hutch run --dry-run --workspace "$dir:ro" --tmpfs /scratch:2m --memory 1g --timeout 20s -e 'X=a b' -u 77 -- sh -c 'cat file; echo "$X"; id -u' |
        spec
    result --spec "$WORK/spec"
    ended exited 0 null
    same stdout $'hello\na b\n77' "$(field .stdout)"
    same "again" "$(jq -S . "$WORK/spec")" "$(caller "$HUTCH" run --dry-run --spec "$WORK/spec" | jq -S .)"
}

@test "--spec x.json: read by the small program itself, YAML by the one beside it" {
    [ -x "${HUTCH%/*}/hutch-full" ] || skip "one program does both"
    local small=$HUTCH HUTCH
    HUTCH=$(user_dir alone)/hutch
    cp "$small" "$HUTCH"
    echo '{"command": ["echo", "JSON"]}' >"${HUTCH%/*}/spec.json"
    echo 'command: [echo, YAML]' >"${HUTCH%/*}/spec.yaml"
    plain --spec "${HUTCH%/*}/spec.json"
    same stdout JSON "$(cat "$WORK/out")"
    plain --spec="${HUTCH%/*}/spec.json"
    same "after =" JSON "$(cat "$WORK/out")"
    plain --spec "${HUTCH%/*}/spec.yaml"
    same status 125 "$status"
    grep -q hutch-full "$WORK/said"
    cp "${small%/*}/hutch-full" "${HUTCH%/*}"
    plain --spec "${HUTCH%/*}/spec.yaml"
    same stdout YAML "$(cat "$WORK/out")"
}
