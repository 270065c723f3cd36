#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hutch doctor tells what works here, and is right; hutch gc removes what the dead left, and nothing of the living.

load ../lib
load words

doctor() { # FLAG...
    status=0
    hutch doctor "$@" >"$WORK/out" 2>"$WORK/said" || status=$?
}

# --- doctor -----------------------------------------------------------------------------------------------------------------

@test "doctor --json: one object; every check has a name, a status, a detail, and a remedy when it is not ok" {
    doctor --json
    cp "$WORK/out" "$WORK/json"
    same "lines" 1 "$(grep -c '' "$WORK/json")"
    same "hutch's own words" "" "$(cat "$WORK/said")"
    holds "keys" '(keys == ["checks", "ok"]) and (.ok | type == "boolean") and ([.checks[] | keys == ["detail", "name", "remedy", "status"]] | all)'
    holds "values" '[.checks[] | (.name | test("^[a-z_.]+$")) and (.status | IN("ok", "warn", "fail")) and (.detail | length > 0)] | all'
    holds "remedies" '[.checks[] | (.status == "ok") or (.remedy | length > 0)] | all'
    holds "names are unique" '([.checks[].name] | length) == ([.checks[].name] | unique | length)'
    holds "ok means that nothing failed" '.ok == ([.checks[].status] | index("fail") == null)'
    same "exit status" "$([ "$(field .ok)" = true ] && echo 0 || echo 1)" "$status"
}

@test "doctor: it looks at everything a sandbox needs" {
    doctor --json
    cp "$WORK/out" "$WORK/json"
    local name
    for name in kernel namespace.user namespace.mount namespace.pid namespace.net namespace.ipc namespace.uts namespace.cgroup seccomp overlayfs \
        idmapped_mounts cgroup.version cgroup.memory cgroup.cpu cgroup.pids ids.subuid ids.subgid engine.docker engine.podman engine.crun \
        engine.runc engine.gvisor engine.kubernetes; do
        holds "check $name" "[.checks[].name] | index(\"$name\") != null"
    done
}

@test "doctor: what it says about limits is what a run meets" {
    doctor --json
    cp "$WORK/out" "$WORK/json"
    local memory cpu
    memory=$(field '.checks[] | select(.name == "cgroup.memory") | .status')
    cpu=$(field '.checks[] | select(.name == "cgroup.cpu") | .status')
    status=0
    caller "$HUTCH" run -- true >"$WORK/out" 2>"$WORK/said" || status=$?
    if [ "$memory/$cpu" = ok/ok ]; then
        same "exit status of a run without any exception" 0 "$status"
        [ "$HUTCH_TEST_AS" != user ]
    else
        refused 125 "cannot be enforced"
        holds "the remedy" '.checks[] | select(.name == "cgroup.memory") | .remedy | contains("--allow-missing memory")'
        same "who" user "$HUTCH_TEST_AS"
    fi
}

@test "doctor: without --json in a pipe, one line a check, no colour, the same statuses" {
    doctor --json
    jq -r '.checks[] | "\(.status) \(.name)"' "$WORK/out" >"$WORK/expected"
    doctor
    same "statuses" "$(cat "$WORK/expected")" "$(sed 's/^\([a-z]* [a-z_.]*\): .*/\1/' "$WORK/out")"
    same "escape characters" 0 "$(grep -c $'\e' "$WORK/out" || true)"
}

@test "doctor: on a terminal in colour unless NO_COLOR is set, with a summary" {
    local script=$WORK/here/script.py
    user_dir here >/dev/null
    cp "$BATS_TEST_DIRNAME/fixtures/terminal.py" "$WORK/here"
    cat >"$script" <<'END'
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
from terminal import Terminal, check
for colour in True, False:
    if not colour: os.environ["NO_COLOR"] = "1"
    t = Terminal(sys.argv[1], "doctor", rows=100, columns=200)
    t.wait(20)
    check("colour", colour, b"\x1b[" in t.seen)
    check("summary", True, b" checks: " in t.seen)
END
    caller "$PYTHON" "$script" "$HUTCH"
}

@test "doctor: unknown flags are refused, and it changes nothing" {
    status=0
    caller "$HUTCH" doctor --jsno >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "did you mean '--json'"
    doctor
    same "state it has made" "" "$(find "$HUTCH_HOME" -mindepth 1)"
}

@test "doctor: a standard output that cannot be written is an error" {
    status=0
    hutch doctor >/dev/full 2>"$WORK/said" || status=$?
    refused 125 "No space left on device"
}

# --- gc ---------------------------------------------------------------------------------------------------------------------

sweep() { # FLAG...
    status=0
    hutch gc "$@" >"$WORK/out" 2>"$WORK/said" || status=$?
    same "exit status of gc" 0 "$status"
}

running() { [ -n "$(init_of "$1")" ]; }

# A sandbox whose hutch was killed. Its groups are left, its processes are not.
crash() {
    local pid init
    start -- sleep 60
    pid=$!
    until_true 5 running "$pid"
    init=$(init_of "$pid")
    sleep 0.1
    kill -9 "$pid"
    { wait "$pid" || true; } 2>/dev/null
    until_true 5 gone "$init"
}
gone() { [ ! -e "/proc/$1" ]; }
# How many of the groups that the last dry run has listed are still there.
groups_left() { sed -n 's/^would remove cgroup //p' "$WORK/listed" | while read -r path; do [ ! -d "$path" ] || echo "$path"; done | wc -l; }

@test "gc: nothing to remove on a clean machine" {
    sweep
    same stdout "nothing to remove" "$(cat "$WORK/out")"
    sweep --dry-run
    same stdout "nothing to remove" "$(cat "$WORK/out")"
    sweep --json
    same "as JSON" '{"dry_run":false,"items":[],"ok":true}' "$(jq -cS . "$WORK/out")"
}

@test "gc --dry-run tells what gc removes, and removes nothing" {
    [ "$HUTCH_TEST_AS" != user ] || skip "nothing of an ordinary user's without cgroups outlives hutch"
    after_kill9
    crash
    crash
    sweep --dry-run
    cp "$WORK/out" "$WORK/listed"
    same "lines that say so" "$(grep -c '' "$WORK/out")" "$(grep -c '^would remove ' "$WORK/out")"
    between "groups listed" 6 20 "$(grep -c ' cgroup ' "$WORK/listed")"
    same "groups after a dry run" "$(grep -c ' cgroup ' "$WORK/listed")" "$(groups_left)"
    sed 's/^would remove //' "$WORK/out" | sort >"$WORK/would"
    sweep --dry-run --json
    cp "$WORK/out" "$WORK/json"
    holds "as JSON" '.dry_run and .ok and (.items | length > 0) and ([.items[] | keys == ["kind", "what"]] | all)'
    same "the same in JSON" "$(cat "$WORK/would")" "$(field '.items[] | "\(.kind) \(.what)"' | sort)"
    sweep
    same "what was removed" "$(cat "$WORK/would")" "$(sed 's/^removed //' "$WORK/out" | sort)"
    same "groups after gc" 0 "$(groups_left)"
    sweep
    same "a second time" "nothing to remove" "$(cat "$WORK/out")"
}

@test "gc: a living sandbox is not touched" {
    after_kill9
    start --json -- sh -c 'sleep 1.5; echo survived' >"$WORK/json" 2>"$WORK/said"
    local pid=$!
    until_true 5 running "$pid"
    crash
    sweep
    sweep
    status=0
    wait "$pid" || status=$?
    ended exited 0 null
    same stdout survived "$(field .stdout)"
}

@test "gc: a crash while other sandboxes live and more start leaves nothing in the end" {
    after_kill9
    for _ in 1 2 3; do
        crash
        hutch run -- true &
        sweep
        wait
    done
}

@test "gc: the next run of root's sweeps by itself" {
    needs_root
    crash
    sweep --dry-run
    cp "$WORK/out" "$WORK/listed"
    [ "$(groups_left)" -gt 0 ]
    rm -f "$HUTCH_HOME/run/swept"
    hutch run -- true
    same "groups after the next run" 0 "$(groups_left)"
}

@test "gc: unknown flags are refused" {
    status=0
    caller "$HUTCH" gc --dry-rnu >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "did you mean '--dry-run'"
}

# --- help and version -------------------------------------------------------------------------------------------------------

@test "help and version go to standard output and succeed" {
    local words
    for words in help --help -h "help run" "run --help" "run -h" "doctor --help" "gc --help" version --version; do
        status=0
        # shellcheck disable=SC2086
        caller "$HUTCH" $words >"$WORK/out" 2>"$WORK/said" || status=$?
        same "exit status of $words" 0 "$status"
        same "standard error of $words" "" "$(cat "$WORK/said")"
        [ -s "$WORK/out" ]
    done
    caller "$HUTCH" run --help | grep -q -- --memory
    caller "$HUTCH" version | grep -Eq '[0-9]+\.[0-9]+\.[0-9]+'
}

@test "--dry-run checks everything, prints the spec and runs nothing" {
    result --dry-run --memory 256m -- sh -c 'echo ran'
    same "exit status" 0 "$status"
    holds "the spec" '.command == ["sh", "-c", "echo ran"]'
    holds "no result" 'has("stdout") | not'
    result --dry-run --memory nonsense -- true
    refused 125 "--memory"
}
