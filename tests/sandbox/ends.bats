#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A command that does not want to end is gone to the last process one second after its time, and the others do not notice.

load ../lib
load ../integration/words
load words

UNRULY() { cat "$FIXTURES/unruly.py"; }

# Its time is 700 ms; at 1,700 ms nothing of it may be there, while another command ticks on.
ends_in_time() { # FLAG... -- WAY...
    local flags=() before
    by_the_clock
    while [ "$1" != -- ]; do flags+=("$1") && shift; done
    shift
    [ -d "$(home_of box)" ] || create box --pids 60 "${flags[@]}"
    local other
    other=$(hutch exec -d box -- "$PYTHON" -c 'import time
for i in range(50): print(i, flush=True); time.sleep(0.05)')
    before=$(now_ms)
    call exec --timeout 700ms box -- "$PYTHON" -c "$(UNRULY)" "$(marker)" "$@"
    while [ $(($(now_ms) - before)) -lt 1650 ]; do sleep 0.01; done
    bearing "$(marker)" >"$WORK/left"
    nothing_wrong "$WORK/left"
    case $* in *kill_parents*) between status 124 137 "$status" ;; *) same status 124 "$status" ;; esac
    case $* in *_parents*) return 0 ;; esac # the other was attacked as well
    # the other has gone on
    call exec --attach "$other" box
    same "the other's status" 0 "$status"
    same "the other's lines" 50 "$(wc -l <"$WORK/out")"
}

@test "forked twice, in sessions of its own, deaf to every signal" {
    ends_in_time -- double_fork double_fork
    hutch rm -f box
}

@test "stopped" {
    ends_in_time -- stop stop double_fork
    hutch rm -f box
}

@test "whoever stops all that appear keeps no other user's command from starting, and no timeout from ending one" {
    needs_root
    local storm='import os
while True: os.kill(-1, 19)' i
    create box
    hutch exec -d box -- "$PYTHON" -c "$storm" >/dev/null
    for i in {1..40}; do # stopped before it has executed its program, a command kept PID 1 waiting
        status=0
        timeout -k 1 10 "$HUTCH" exec --timeout 300ms box -- true 2>"$WORK/said" || status=$?
        [ "$status" -eq 0 ] || same "status of start $i" 124 "$status"
        status=0
        timeout -k 1 10 "$HUTCH" exec -u 0 --timeout 5s box -- true 2>"$WORK/said" || status=$?
        same "status of another user's command, start $i" 0 "$status"
    done
    hutch rm -f box
}

@test "a fork bomb" {
    ends_in_time -- bomb
    hutch exec box -- true
    hutch rm -f box
}

@test "a fork bomb at half a processor" {
    needs_groups
    ends_in_time --cpus 0.5 -- bomb bomb
    hutch rm -f box
}

@test "with pipes full to the brim" {
    ends_in_time -- pipes double_fork
    hutch rm -f box
}

@test "at PID 1's throat" {
    ends_in_time -- trace double_fork
    hutch rm -f box
}

@test "what kills or stops those who watch over it gains nothing" {
    ends_in_time -- double_fork stop kill_parents
    hutch exec box -- true
    ends_in_time -- double_fork stop stop_parents
    hutch exec box -- true
    hutch rm -f box
}

@test "kill --exec takes all of it, too" {
    create box
    local id
    id=$(hutch exec -d box -- "$PYTHON" -c "$(UNRULY)" "$(marker)" double_fork stop)
    until_true 5 eval "hutch logs --exec $id box | grep -q up"
    hutch kill --exec "$id" box
    until_true 1 none_bears "$(marker)"
    hutch rm -f box
}

@test "the sandbox's own command may have a timeout; the sandbox stays" {
    create box --timeout 500ms -- "$PYTHON" -c "$(UNRULY)" "$(marker)" double_fork
    until_true 5 some_bears "$(marker)"
    until_true 2 none_bears "$(marker)"
    hutch exec box -- true
    hutch rm -f box
}

@test "600 commands at the same moment do not make keeper and PID 1 wait for each other" {
    create box --pids 2000
    local keeper
    keeper=$(keeper_of box)
    user_dir fixtures >/dev/null
    cat >"$WORK/fixtures/many.py" <<'PY'
import os, signal, subprocess, sys, time
hutch, keeper, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.kill(keeper, signal.SIGSTOP)  # so that all of them arrive at once
many = [subprocess.Popen([hutch, "exec", "-e", "X=" + "y" * 3000, "box", "--", "true"]) for _ in range(count)]
time.sleep(1)
os.kill(keeper, signal.SIGCONT)
end = time.monotonic() + 40
for process in many:
    code = process.wait(max(0.1, end - time.monotonic()))
    assert code == 0, code
PY
    chmod 644 "$WORK/fixtures/many.py"
    local count=600
    [ "$HUTCH_TEST_AS" != user ] || count=100 # each costs a process more there
    caller "$PYTHON" "$WORK/fixtures/many.py" "$HUTCH" "$keeper" "$count"
    hutch rm -f box
}
