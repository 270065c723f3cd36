#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Crash: whoever is killed, whenever: nothing runs on, a sweep leaves nothing, and the result tells what happened.

load ../lib
load ../integration/words
load words

@test "killing PID 1 from the host is reported as sandbox_died, with the output so far" {
    local keeper init
    start --json -- sh -c 'echo before; sleep 100' >"$WORK/json" 2>"$WORK/said"
    keeper=$!
    init=$(pid1_of "$keeper")
    sleep 0.2
    kill -KILL "$init"
    status=0
    wait "$keeper" || status=$?
    ended sandbox_died 137 9
    same "the output" before "$(field .stdout)"
    says "the sentence" "the sandbox died"
}

@test "killing the command from the host is a signal, not the sandbox's death" {
    local keeper init
    start --json -- sleep 100 >"$WORK/json" 2>"$WORK/said"
    keeper=$!
    init=$(pid1_of "$keeper")
    kill -KILL "$(command_of "$init")"
    status=0
    wait "$keeper" || status=$?
    ended signaled 137 9
}

# Kills hutch once its sandbox is full of a payload: nothing of it may run on. The kernel kills it all at once; how long the dying
# takes depends on the share of the processor it has, which nobody is there to lift.
killed_with() { # NAME ARG...
    local keeper init namespace name=$1
    shift
    start --pids "$MANY" --timeout 100s -- "$PYTHON" -c "$(payload "$name")" "$@" >"$WORK/out" 2>/dev/null
    keeper=$!
    init=$(pid1_of "$keeper")
    namespace=$(namespace_of "$init")
    line_in "$WORK/out" 'left behind|stopped'
    kill -KILL "$keeper"
    wait "$keeper" || true
    all_gone_within 5000 "$namespace"
    hutch gc >/dev/null
    world_is_clean
}

@test "kill -9 of hutch ends daemons, stopped trees, busy ones and fork bombs" {
    local kind
    for kind in "survivors sleep 200" "survivors stopped 200" "survivors busy 30" "survivors fork 10" "bomb fork hold" "survivors stopped 20 stop"; do
        # shellcheck disable=SC2086
        killed_with $kind
    done
}

@test "kill -9 of hutch at random moments of a run leaves no process, and after a sweep nothing at all" {
    local keeper ws i
    ws=$(user_dir ws)
    head -c 2000000 /dev/urandom >"$ws/data"
    chown --reference "$ws" "$ws/data"
    for i in {1..40}; do
        start --workspace "$ws:copy" --artifacts "$(user_dir art)" -- sh -c 'sleep 0.01; echo x >/artifacts/x' >/dev/null 2>&1
        keeper=$!
        # from before the first system call to after the last
        "$PYTHON" -c "import time; time.sleep(0.0015 * $((i - 1)))"
        kill -KILL "$keeper" 2>/dev/null || true
        wait "$keeper" 2>/dev/null || true
    done
    sleep 0.3
    same "processes before any sweep" "" "$(living_inits)"
    hutch gc >/dev/null
    world_is_clean
}

@test "kill -9 of hutch and of PID 1 at once leaves nothing" {
    local keeper init namespace
    start -- "$PYTHON" -c "$(payload survivors)" stopped 20 >"$WORK/out" 2>/dev/null
    keeper=$!
    init=$(pid1_of "$keeper")
    namespace=$(namespace_of "$init")
    line_in "$WORK/out" "left behind"
    kill -KILL "$keeper" "$init"
    wait "$keeper" || true
    all_gone_within 5000 "$namespace"
    hutch gc >/dev/null
    world_is_clean
}

@test "a stopped hutch that is killed leaves nothing" {
    local keeper init namespace
    start -- sleep 100
    keeper=$!
    init=$(pid1_of "$keeper")
    namespace=$(namespace_of "$init")
    kill -STOP "$keeper"
    kill -KILL "$keeper"
    wait "$keeper" || true
    all_gone_within 5000 "$namespace"
    hutch gc >/dev/null
    world_is_clean
}

@test "a sweep leaves the living alone" {
    local keeper init
    start --json -- sh -c 'sleep 1.5; echo alive' >"$WORK/json" 2>/dev/null
    keeper=$!
    init=$(pid1_of "$keeper")
    for _ in 1 2 3 4 5; do hutch gc >/dev/null; done
    [ -d "/proc/$init" ]
    wait "$keeper"
    same "its output" alive "$(field .stdout)"
}

@test "a sweep believes no record that hutch could not have written" {
    needs_root
    local canary record
    canary=$(plant_canary canary)
    hutch run -- true # makes the file of leases
    sleep 30 &
    echo $! >"$canary/sub/cgroup.procs"
    fingerprint "$canary" >"$WORK/canary.canary"
    for record in "cgroup $canary/sub" "cgroup $canary" "pool $canary" "pool $canary/sub" "cgroup /sys/fs/cgroup/../../..$canary/hutch-1" \
        "cgroup /sys/fs/cgroup/memory" "pool /" "cgroup /" "nonsense $canary" "cgroup" "cgroup "; do
        # of a slot that nobody holds
        printf '%s\n' "$record" | dd of="$HUTCH_HOME/run/leases" bs=4096 seek=3999 conv=notrunc,sync 2>/dev/null
        hutch gc >"$WORK/out" 2>&1 || true
        canary_lives canary || { echo "by '$record'" >&2 && return 1; }
    done
    kill -0 %1 # the process that a forged group named as its member
    kill -KILL %1
    dd if=/dev/zero of="$HUTCH_HOME/run/leases" bs=4096 seek=3999 count=1 conv=notrunc 2>/dev/null
    wait || true
}
