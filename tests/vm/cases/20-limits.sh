# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2016,SC2034,SC2154
# Each limit holds, is written into the kernel's own file, and is the reason the result names.
warm_up

test_that "memory: an allocation bomb ends with reason oom"
run --memory 64m -- payload alloc 256
want_status 137
want reason oom
want_between usage.memory_peak_bytes $((48 << 20)) $((64 << 20))

test_that "memory: a memory file counts as well"
run --memory 64m -- payload memfd 256
want reason oom

test_that "memory: what fits is given"
run --memory 128m -- payload alloc 96
want_status 0
want reason exited

test_that "memory: a bomb in a child of a shell that lives on is still reported"
run --memory 64m -- sh -c 'payload alloc 256; echo after'
want_has usage.oom_kills 1

test_that "memory: swap is there and the sandbox gets none of it"
want_that grep -q swapfile /proc/swaps
before=$(awk '/SwapFree/ {print $2}' /proc/meminfo)
run --memory 64m -- payload alloc 100
want reason oom
want_that test "$(awk '/SwapFree/ {print $2}' /proc/meminfo)" -ge $((before - 1024))

test_that "pids: a fork bomb meets the limit"
run --pids 8 -- payload fork 100
want reason pids_limit
want exit_code 28
want_between usage.pids_peak 2 8

test_that "pids: what fits is given"
run --pids 16 -- payload fork 8
want_status 0
want reason exited

test_that "cpus: half a processor is half of the time"
run --cpus 0.5 -- payload spin 3000
want_status 0
want_cpu_share 30 65

test_that "disk: writing stops at the limit"
run --disk 8m -- payload write /tmp/big 32
want reason disk_limit
want exit_code 28
want_has stderr "No space left"

test_that "disk: what fits is given"
run --disk 16m -- payload write /tmp/big 8
want_status 0
want reason exited

test_that "disk: every writable place together has one limit"
run --disk 8m -- sh -c 'payload write /tmp/a 3 && payload write "$HOME/b" 3 && payload write /workspace/c 3'
want reason disk_limit
want_has stdout "wrote 3145728"

test_that "inodes: creating stops at the limit"
run --inodes 200 -- payload files /tmp 1000
want reason disk_limit
want exit_code 28

test_that "the limits are in the kernel's own files"
run_in_background --memory 64m --pids 9 --cpus 0.5 -- sleep 30
want_that within 50 pidof sleep
group=$cgroup$(sed -n 's/^0:://p' "/proc/$(pidof sleep)/cgroup")
# The command may sit in a child of the group that has the limits.
limits_of() {
    cat "$group/$1" "${group%/*}/$1" 2>/dev/null
}
limits_of memory.max >/case/memory
limits_of memory.swap.max >/case/swap
limits_of pids.max >/case/pids
limits_of cpu.max >/case/cpu
want_that grep -qx $((64 << 20)) /case/memory
want_that grep -qx 0 /case/swap
want_that grep -qE '^(9|10)$' /case/pids
want_that awk '$1 * 2 == $2 { found = 1 } END { exit !found }' /case/cpu
kill "$pid"
finish
