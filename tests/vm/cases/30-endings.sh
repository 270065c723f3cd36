# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2016,SC2034,SC2154
# However a sandbox ends, all of it ends, soon, and nothing stays.
warm_up

test_that "timeout: 124, reason timeout, and what was written before is kept"
run --timeout 1s -- sh -c 'echo early; sleep 60'
want_status 124
want reason timeout
want stdout early
want_that test "$elapsed_ms" -ge 1000
want_that test "$elapsed_ms" -le 4000

test_that "timeout: a daemon in its own session that ignores every signal is gone"
run --timeout 1s -- payload daemon 60000
want_status 124
want reason timeout
want_that test "$elapsed_ms" -le 4000

test_that "a daemon that stays when its leader ends is gone, and holds up nobody"
run -- payload daemon 100
want_status 0
want reason exited
want held_pipes true
want_that test "$elapsed_ms" -le 4000

test_that "timeout: a fork bomb is gone"
run --pids 64 --timeout 2s -- sh -c 'bomb() { bomb | bomb & }; bomb; sleep 60'
want_that test "$elapsed_ms" -le 6000

test_that "timeout: a stopped process is gone"
run --timeout 1s -- sh -c 'kill -STOP $$'
want_status 124
want reason timeout

test_that "timeout: a frozen cgroup is gone"
run_in_background --timeout 2s -- payload daemon 60000
want_that within 50 pidof payload
for process in $(pidof payload); do
    echo 1 >"$cgroup$(sed -n 's/^0:://p' "/proc/$process/cgroup")/cgroup.freeze"
done
finish
want_status 124
want reason timeout

for signal in INT TERM; do
    test_that "SIG$signal: the sandbox ends with reason cancelled"
    run_in_background -- payload daemon 60000
    want_that within 50 pidof payload
    kill -$signal "$pid" 2>/dev/null
    finish
    want reason cancelled
done

test_that "kill -9 of hutch: no process is left a second later, and gc removes the rest"
run_in_background -- payload daemon 60000
want_that within 50 pidof payload
sleep 0.3
kill -9 "$pid" 2>/dev/null
finish
want_that within 10 no_process payload
world_is_as_before || sed 's/^/# before gc: /' /case/.lib/changes
hutch_command gc
want_status 0

test_that "kill -9 at a dozen moments, then gc"
for tenths in 00 01 02 03 04 05 06 08 10 15 20 30; do
    run_in_background --timeout 20s -- payload daemon 60000
    sleep "0.$tenths"
    kill -9 "$pid" 2>/dev/null
    finish
done
want_that within 10 no_process payload
hutch_command gc
want_status 0

test_that "gc does not touch a sandbox that lives"
run_in_background -- sh -c 'payload daemon 2000; echo lived'
want_that within 50 pidof payload
enter
$runner hutch gc >/case/gc 2>&1
finish
want_status 0
want stdout lived

test_that "eight at a time"
enter
for n in 1 2 3 4 5 6 7 8; do
    (cd / && exec $runner hutch run -- payload exit $((n + 10))) </dev/null >/dev/null 2>&1 &
    eval "pid_$n=$!"
done
for n in 1 2 3 4 5 6 7 8; do
    eval "pid=\$pid_$n"
    finish
    want_status $((n + 10))
done
