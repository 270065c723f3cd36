#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# However hutch itself ends, nothing stays: no process even before a sweep, and nothing at all after it.

load ../lib
load words

# Sends signals to runs of hutch at random moments, as the test's user. $met: how many of the runs it found alive.
signal_runs() { # SIGNALS COUNT PARALLEL LONGEST-MS FLAG... -- COMMAND...
    local seed=$RANDOM script
    script=$(user_dir fixtures)/signal_runs.py
    cp "$BATS_TEST_DIRNAME/fixtures/signal_runs.py" "$script"
    echo "seed $seed"
    met=$(caller "$PYTHON" "$script" "$1" "$2" "$3" "$4" "$seed" "$HUTCH" run "${RUN_FLAGS[@]}" "${@:5}")
}

# No process of a sandbox is left, before anybody has swept.
no_process() {
    local end=$((SECONDS + 3))
    while world | sort -u | comm -13 "$WORK/world.before" - | grep '^process' >"$WORK/processes"; do
        [ $SECONDS -lt $end ] || nothing_wrong "$WORK/processes"
        sleep 0.05
    done
    # whatever the command was called, in whatever cgroup
    grep -lsa "[m]arker-$$-$BATS_TEST_NUMBER" /proc/[0-9]*/cmdline >"$WORK/processes" || true
    nothing_wrong "$WORK/processes"
}

# A command that can be found again by its arguments, and that does not end by itself.
stubborn() { echo "trap '' HUP INT TERM; : marker-$$-$BATS_TEST_NUMBER; sleep 60 & setsid sleep 60 & sleep 60"; }

@test "kill -9 at 120 random moments of the first 8 ms leaves no process, and after a sweep nothing" {
    after_kill9
    signal_runs KILL 120 4 8 -- sh -c "$(stubborn)"
    between "runs that were met alive" 100 120 "$met"
    no_process
}

@test "kill -9 at 40 random moments of a run with mounts, a workspace overlay and artifacts" {
    local dir out
    dir=$(user_dir project)
    out=$(user_dir artifacts)
    after_kill9
    signal_runs KILL 40 4 15 --workspace "$dir:overlay" --mount "$dir:/data" --tmpfs /scratch --artifacts "$out" -- sh -c "$(stubborn)"
    between "runs that were met alive" 35 40 "$met"
    no_process
}

@test "kill -9 of 40 running sandboxes, 20 at a time" {
    after_kill9
    signal_runs KILL 40 20 400 -- sh -c "$(stubborn)"
    same "runs that were met alive" 40 "$met"
    no_process
}

@test "kill -9 while the command floods its output and forks" {
    after_kill9
    signal_runs KILL 20 10 300 --pids 50 --json -- sh -c "$(stubborn) & while :; do yes | head -1000; done"
    same "runs that were met alive" 20 "$met"
    no_process
}

@test "kill -9 of hutch while its PID 1 is stopped ends both" {
    after_kill9
    start -- sh -c "$(stubborn)" >"$WORK/out" 2>&1
    local pid=$!
    until_true 5 running "$pid"
    sleep 0.2
    kill -STOP "$(init_of "$pid")"
    kill -9 "$pid"
    { wait "$pid" || true; } 2>/dev/null
    no_process
}

@test "kill -9 with a layer in the quota pool leaves nothing after a sweep" {
    needs_root
    [ "$(hutch doctor --json | jq -r '.checks[] | select(.name == "pool.quota") | .status')" = ok ] ||
        skip "this host can have no quota pool: see hutch doctor"
    hutch run --disk 300m --memory 512m -- true
    after_kill9
    signal_runs KILL 20 4 40 --disk 300m --memory 512m -- sh -c "$(stubborn)"
    between "runs that were met alive" 15 20 "$met"
    no_process
}

@test "a pool that was never whole goes with the next sweep, unless somebody makes it just now" {
    needs_root
    local lib=$HUTCH_HOME/lib
    hutch run -- true # makes the directory
    truncate -s 1G "$lib/pool.new"
    same "what a dry run says" "would remove file pool.new" "$(hutch gc --dry-run | grep pool.new)"
    exec 8>"$lib/pool.lock"
    flock 8
    same "while it is being made" "" "$(hutch gc 8>&- | grep pool.new)"
    [ -e "$lib/pool.new" ]
    exec 8>&-
    same "what a sweep says" "removed file pool.new" "$(hutch gc | grep pool.new)"
    [ ! -e "$lib/pool.new" ]
}

@test "SIGINT, SIGTERM, SIGHUP and SIGQUIT at 80 random moments leave nothing, without any sweep" {
    signal_runs INT,TERM,HUP,QUIT 80 4 12 -- sh -c "$(stubborn)"
    between "runs that were met alive" 70 80 "$met"
    no_process
}

@test "SIGTERM to 40 running sandboxes, 20 at a time, leaves nothing, without any sweep" {
    signal_runs TERM 40 20 300 -- sh -c "$(stubborn)"
    same "runs that were met alive" 40 "$met"
    no_process
}

@test "Ctrl-C of a whole process group, as a terminal sends it, ends everything" {
    start -- sh -c "$(stubborn)" >"$WORK/out" 2>&1
    local pid=$!
    until_true 5 running "$pid"
    sleep 0.2
    # everything the signal could reach directly: hutch, and the sandbox's PID 1
    kill -INT "$pid" "$(init_of "$pid")"
    status=0
    wait "$pid" || status=$?
    same "exit status" 130 "$status"
    no_process
}
running() { [ -n "$(init_of "$1")" ]; }

@test "20 at a time, 100 in all: every run succeeds and nothing is left" {
    # shellcheck disable=SC2016
    caller bash -c 'seq 100 | xargs -P 20 -I N "$@" -- sh -c "echo line-N" | sort -t- -k2n' bash "$HUTCH" run "${RUN_FLAGS[@]}" >"$WORK/out"
    seq -f 'line-%g' 100 | cmp - "$WORK/out"
}

@test "the parent that dies without a word takes its sandboxes along when they are told to go" {
    user_dir here >/dev/null
    after_kill9
    # a script that is killed leaves hutch behind; hutch's end is still the sandbox's end
    caller bash -c '"$@" & echo $! >"$HUTCH_HOME/../here/pid"; kill -9 $$' bash "$HUTCH" run "${RUN_FLAGS[@]}" -- sh -c "$(stubborn)" || true
    local pid
    pid=$(cat "$WORK/here/pid")
    until_true 5 running "$pid"
    kill -9 "$pid"
    no_process
}
