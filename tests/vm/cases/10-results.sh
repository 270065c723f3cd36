# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2016,SC2034,SC2154
# What came of the command, and that hutch's own exit status says the same.

for code in 0 7 255; do
    test_that "exit $code"
    run -- payload exit $code
    want_status $code
    want reason exited
    want exit_code $code
    want signal null
    want isolation.backend native
    want isolation.missing "[]"
done

test_that "a command that is not there is 127"
run -- /usr/bin/no-such-command
want_status 127

test_that "a command that cannot be executed is 126"
run -- /etc/passwd
want_status 126

for signal in 9 11 15; do
    test_that "killed by signal $signal"
    run -- payload kill-self $signal
    want_status $((128 + signal))
    want reason signaled
    want signal $signal
done

test_that "both streams are in the result"
run -- sh -c 'echo out; echo err >&2'
want stdout out
want stderr err
want stdout_bytes 4

test_that "usage comes from the kernel's counters"
run -- payload alloc 48
want_status 0
want_between usage.memory_peak_bytes $((48 << 20)) $((128 << 20))
want_between usage.pids_peak 1 8
want_between usage.cpu_ms 1 5000

test_that "the sandbox sees its own cgroup as the root and cannot reach a cgroup file"
run -- sh -c 'cat /proc/self/cgroup; ls /sys/fs/cgroup/cgroup.procs; echo 1 >/sys/fs/cgroup/cgroup.kill'
want_has stdout 0::/
want_not grep -q slice /case/out
want_not grep -qF '/../' /case/out
want exit_code 1
