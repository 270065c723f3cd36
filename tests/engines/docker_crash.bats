#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The engine dies under its containers, and comes back.

load ../lib
load ../integration/words
load engines

RUNS=50

setup_file() { dockerd_for_file; }
teardown_file() { engines_stop; }

setup() {
    setup_world
    use_docker
}
teardown() { engine_teardown; }

# How one ended: as its command did, as a sandbox that died, or as an error that names the engine.
judge() { # NUMBER
    local json=$WORK/run-$1.json said=$WORK/run-$1.said status
    status=$(cat "$WORK/run-$1.status" 2>/dev/null) || { echo hung && return; }
    case $status:$(jq -r .reason "$json" 2>/dev/null) in
    "0:exited") [ "$(jq -r .stdout "$json")" = $'on\noff' ] && echo whole || echo "lost output" ;;
    *:sandbox_died) echo died ;;
    125:*) grep -qiE 'docker|engine' "$said" && [ "$(wc -l <"$said")" -eq 1 ] && echo error || echo "no word: $(head -c 300 "$said")" ;;
    *) echo "wrong: status $status, $(head -c 300 "$json" "$said")" ;;
    esac
}

# PID 1 of containers of this engine, whether the engine knows them or not.
guests() { cat /sys/fs/cgroup/pids/"$ENGINE_GROUP"/*/tasks /sys/fs/cgroup/"$ENGINE_GROUP"/*/cgroup.procs 2>/dev/null |
    while read -r pid; do grep -qsaz '^/.hutch/init$' "/proc/$pid/cmdline" && echo "$pid"; done; }

@test "the engine is killed and comes back in the middle of 50 runs" {
    after_kill9
    export HUTCH IMAGE WORK
    seq $RUNS | xargs -P 8 -I{} sh -c '
        "$HUTCH" run --json --backend docker --image "$IMAGE" --allow-missing all --timeout 60s -- \
            sh -c "echo on; sleep 0.5; printf off" >"$WORK/run-{}.json" 2>"$WORK/run-{}.said" </dev/null
        status=$?
        echo $status >"$WORK/run-{}.status"
        [ $status = 0 ] || sleep 3 # without an engine a run fails at once: the others wait until it is back' 3>&- &
    local all=$! i
    await 60 eval '[ "$(find "$WORK" -name "run-*.status" | wc -l)" -ge 10 ]'
    dockerd_kill
    sleep 1
    dockerd_restart
    await 240 process_gone $all
    for ((i = 1; i <= RUNS; i++)); do judge $i; done | sort | uniq -c | tee "$WORK/judged" >&2
    same "wrong ends" "" "$(grep -vE ' (whole|died|error)$' "$WORK/judged")"
    # before and after it, most of them are not touched
    between "whole runs" 20 $RUNS "$(awk '$2 == "whole" {print $1}' "$WORK/judged")"
    hutch gc
    same "left in the engine" "" "$(engine_left)"
    # one that the engine was starting may be unknown to it ever after, and hears of no end: nobody speaks to it
    await 90 eval '[ -z "$(guests)" ]'
}

@test "a sandbox that stays is dead with its engine, and can be removed" {
    after_kill9
    hutch create --backend docker --image "$IMAGE" --allow-missing all --name box
    dockerd_kill
    await 20 eval '[ "$("$HUTCH" inspect box | jq -r .state)" != running ]'
    status=0
    hutch exec box -- true >"$WORK/out" 2>"$WORK/said" || status=$?
    same "exit status of exec" 125 "$status"
    dockerd_restart
    hutch rm -f box
    same "left in the engine" "" "$(engine_left)"
}
