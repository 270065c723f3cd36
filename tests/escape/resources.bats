#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Resources: bombs stop at the limit with the right reason, nobody else notices, and nothing outlives its deadline.

load ../lib
load ../integration/words
load words

bomb() { result "${@:2}" -- "$PYTHON" -c "$(payload bomb)" $1; } # "KIND ARG..." FLAG...

# --- memory -----------------------------------------------------------------------------------------------------------------

@test "memory bombs of every kind stop at the limit with reason oom" {
    needs_memory_group
    local kind
    for kind in malloc shared memfd shm tmpfs "tmpfs /dev/shm" "tmpfs /home/user" "tmpfs /workspace" "tmpfs /extra"; do
        bomb "$kind" --memory 64m --tmpfs /extra:1g --timeout 30s
        same "reason of $kind" oom "$(field .reason)"
        holds "peak of $kind" ".usage.memory_peak_bytes <= $((64 << 20)) and .usage.memory_peak_bytes > $((32 << 20))"
        holds "$kind was counted" '.usage.oom_kills > 0'
    done
}

@test "memory that the kernel keeps for a sandbox counts as the sandbox's" {
    needs_memory_group
    local kind
    # pipes and sockets have budgets of their own besides; either stops them, and far below what they asked for
    for kind in pipes sockets; do
        bomb "$kind" --memory 64m --open-files 4096 --timeout 60s
        holds "the peak of $kind" ".usage.memory_peak_bytes <= $((64 << 20))"
        holds "the end of $kind" '.reason == "oom" or .reason == "exited"'
    done
}

@test "swap does not stretch the memory limit" {
    needs_memory_group
    grep -q '[1-9]' <(awk 'NR > 1 {print $3}' /proc/swaps) || skip "this host has no swap"
    bomb malloc --memory 64m --timeout 30s
    same reason oom "$(field .reason)"
}

# --- processes --------------------------------------------------------------------------------------------------------------

@test "fork bombs stop at the limit" {
    local kind
    for kind in fork tree threads; do
        bomb "$kind" --pids 40 --timeout 3s --cpus 1
        # without a pids group the kernel limits but does not count: then it is the command's own failure
        [ "$HUTCH_TEST_AS" = user ] || holds "the end of $kind" '.reason == "pids_limit" or .reason == "timeout"'
        if [ "$HUTCH_TEST_AS" = root ]; then
            holds "processes of $kind" '.usage.pids_peak <= 40 and .usage.pids_peak >= 30'
        fi
    done
    bomb fork --pids 40 --timeout 10s
    [ "$HUTCH_TEST_AS" = user ] || same "reason" pids_limit "$(field .reason)"
    between "processes it got, besides itself" 37 40 "$(field .stdout | awk '{print $3}')"
}

@test "a process limit is the sandbox's own: two of one user do not share it" {
    local keeper
    start --pids 60 -- "$PYTHON" -c "$(payload bomb)" fork hold >"$WORK/first" 2>/dev/null
    keeper=$!
    line_in "$WORK/first" stopped
    bomb fork --pids 60 --timeout 10s
    between "processes of the second" 55 60 "$(field .stdout | awk '{print $3}')"
    kill -TERM "$keeper"
    wait "$keeper" || true
}

# --- files ------------------------------------------------------------------------------------------------------------------

@test "disk and inode bombs stop at the limit with reason disk_limit" {
    bomb "tmpfs" --disk 16m --timeout 30s
    same "reason" disk_limit "$(field .reason)"
    between "MiB written" 12 16 "$(field .stdout | awk '{print $3}')"
    bomb "files" --inodes 1000 --timeout 30s
    same "reason" disk_limit "$(field .reason)"
    between "files made" 900 1000 "$(field .stdout | awk '{print $3}')"
    bomb "symlinks" --disk 16m --inodes 100000 --timeout 30s
    holds "the end" '.reason == "disk_limit"'
}

@test "a hundred thousand files and a very deep tree are gone in a moment" {
    local began kind
    for kind in files directories; do
        began=$(now_ms)
        bomb "$kind" --inodes 100000 --timeout 60s
        in_time "ms from the command's end to hutch's, for $kind" 0 6000 $(($(now_ms) - began - $(field .duration_ms)))
    done
    grep -q '^deep' <(field .stdout)
}

@test "a hundred thousand files and a very deep tree in the quota pool are gone with their sandbox" {
    needs_root
    local began kind
    for kind in "files 100000" directories; do
        began=$(now_ms)
        bomb "$kind" --disk 1g --memory 512m --timeout 100s
        [ "$(field .error.code 2>/dev/null)" != unenforceable ] || skip "this host can have no quota pool"
        same "where $kind were" disk "$(field .isolation.writable_layer)"
        in_time "ms from the command's end to hutch's, for $kind" 0 10000 $(($(now_ms) - began - $(field .duration_ms)))
        same "what is left of $kind in the pool" "" "$(ls -A "$HUTCH_HOME/lib/pool")"
    done
    # nobody else of the host can look into it
    same "its directory" "700 0" "$(stat -c '%a %u' "$HUTCH_HOME/lib")"
    findmnt -no OPTIONS "$HUTCH_HOME/lib/pool" | grep -q nosuid
    hutch gc >/dev/null
}

@test "a descriptor bomb stops at its limit, and the host gets its files back" {
    local before
    before=$(awk '{print $1}' /proc/sys/fs/file-nr)
    bomb fds --open-files 500 --timeout 10s
    between "descriptors it got" 490 500 "$(field .stdout | awk '{print $3}')"
    between "open files of the host" 0 $((before + 5000)) "$(awk '{print $1}' /proc/sys/fs/file-nr)"
}

# --- what everybody shares --------------------------------------------------------------------------------------------------

@test "one sandbox cannot use up the inotify instances or terminals of everybody" {
    local keeper kind
    for kind in inotify ptys; do
        start --open-files 4096 -- "$PYTHON" -c "$(payload bomb)" $kind hold >"$WORK/$kind" 2>/dev/null
        keeper=$!
        line_in "$WORK/$kind" stopped
        between "what it got of $kind" 16 64 "$(awk '{print $3}' "$WORK/$kind")"
        # its caller's user can still have one, and so can another sandbox
        caller "$PYTHON" -c 'import ctypes, os, pty
assert ctypes.CDLL(None).inotify_init() >= 0
pty.openpty()'
        plain -- "$PYTHON" -c 'import ctypes, os, pty
assert ctypes.CDLL(None).inotify_init() >= 0
pty.openpty()'
        same "exit status of the neighbour" 0 "$status"
        kill -TERM "$keeper"
        wait "$keeper" || true
    done
}

@test "no program for the kernel can be attached to a socket" {
    plain -- "$PYTHON" -c 'import ctypes, socket, struct
code = struct.pack("HBBI", 6, 0, 0, 0)
buffer = ctypes.create_string_buffer(code)
program = struct.pack("HP", 1, ctypes.addressof(buffer))
for family, kind in ((socket.AF_UNIX, socket.SOCK_DGRAM), (socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_INET, socket.SOCK_STREAM)):
    for option in (26, 50, 51, 52):
        try:
            socket.socket(family, kind).setsockopt(socket.SOL_SOCKET, option, program)
            print("attached", family, kind, option)
        except PermissionError:
            pass'
    same "what was attached" "" "$(cat "$WORK/out" "$WORK/said")"
}

# --- the processor, and neighbours ------------------------------------------------------------------------------------------

@test "a processor bomb gets its share and no more" {
    needs_memory_group
    bomb cpu --cpus 0.5 --timeout 2s
    same reason timeout "$(field .reason)"
    in_time "ms of processor time in 2 s" 500 1500 "$(field .usage.cpu_ms)"
}

# The time of some runs, in ms, the longest but one of ten: one may meet with somebody else's work.
latency() {
    local began
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        began=$(now_ms)
        hutch run -- true
        echo $(($(now_ms) - began))
    done | sort -n | sed -n 9p
}

@test "neighbours keep their latency beside bombs" {
    local kind keeper alone beside
    alone=$(latency)
    for kind in "bomb cpu" "bomb tree hold" "bomb files hold" "survivors write 10" "survivors fork 5"; do
        # shellcheck disable=SC2086
        set -- $kind
        start --timeout 60s --pids 64 --memory 128m -- "$PYTHON" -c "$(payload "$1")" "${@:2}" >/dev/null 2>&1
        keeper=$!
        pid1_of "$keeper" >/dev/null
        sleep 0.3
        beside=$(latency)
        kill -TERM "$keeper"
        wait "$keeper" || true
        in_time "ms beside '$kind', $alone alone" 0 $((alone * 10 + 250)) "$beside"
    done
}

# --- nothing outlives its deadline ------------------------------------------------------------------------------------------

# Starts survivors under a time limit; the last of them has to be gone within a second of it.
dies_in_time() { # TIMEOUT-MS "KIND COUNT ARG..." FLAG...
    local keeper init namespace limit=$1 words=$2 began
    shift 2
    # shellcheck disable=SC2086
    start --json --timeout "${limit}ms" "$@" -- "$PYTHON" -c "$(payload survivors)" $words >"$WORK/json" 2>"$WORK/said"
    keeper=$!
    began=$(now_ms)
    init=$(pid1_of "$keeper")
    namespace=$(namespace_of "$init")
    while kill -0 "$keeper" 2>/dev/null && [ $(($(now_ms) - began)) -lt $((limit + 20000)) ]; do sleep 0.02; done
    # from the start of hutch to its end: set-up, the limit, and the killing
    in_time "ms until everything of '$words' was over" "$limit" $((limit + 1500)) $(($(now_ms) - began))
    same "processes left of '$words'" "" "$(members "$namespace")"
    wait "$keeper" || true
    same "reason of '$words'" timeout "$(field .reason)"
}

@test "daemons, stopped trees, busy ones and writers are gone within a second of the deadline" {
    local kind
    for kind in "sleep 200" "quiet 200" "busy 30" "stopped 200" "vfork 50" "write 20" "fork 10" "stopped 100 stop"; do
        dies_in_time 3000 "$kind" --pids "$MANY" --output-limit 1k
    done
}

@test "a sandbox with hardly any processor time dies as fast" {
    needs_memory_group
    dies_in_time 6000 "busy 60" --cpus 0.02 --pids 250
}

@test "PID 1 stopped from the host does not delay the deadline" {
    local keeper init began
    start --json --timeout 4s -- sleep 100 >"$WORK/json" 2>/dev/null
    keeper=$!
    began=$(now_ms)
    init=$(pid1_of "$keeper")
    kill -STOP "$init"
    wait "$keeper" || true
    in_time ms 3900 5500 $(($(now_ms) - began))
    same reason timeout "$(field .reason)"
}

@test "a reader that does not read does not delay the end of the processes" {
    local keeper init namespace began
    mkfifo "$WORK/pipe"
    # shellcheck disable=SC2217  # it holds the pipe open and reads nothing
    sleep 60 <"$WORK/pipe" &
    become "$HUTCH" run "${RUN_FLAGS[@]}" --timeout 4s -- sh -c 'yes & yes >&2 & yes' >"$WORK/pipe" 2>"$WORK/pipe" &
    keeper=$!
    began=$(now_ms)
    init=$(pid1_of "$keeper")
    namespace=$(namespace_of "$init")
    sleep 3.5
    all_gone_within $((5200 - ($(now_ms) - began))) "$namespace"
    of_memory "KiB of hutch itself" 0 8192 "$(awk '/^VmRSS/ {print $2}' "/proc/$keeper/status" 2>/dev/null || echo 0)"
    kill -KILL "$keeper" %1 2>/dev/null || true
    wait || true
    hutch gc >/dev/null
}

@test "what a command leaves behind ends with it, whatever it is" {
    local kind began
    for kind in sleep quiet busy stopped write fork; do
        began=$(now_ms)
        result --pids "$MANY" --timeout 60s -- "$PYTHON" -c "$(payload survivors)" $kind 50 end
        same "reason with '$kind'" exited "$(field .reason)"
        in_time "ms from the command's end to hutch's, with '$kind'" 0 1500 $(($(now_ms) - began - $(field .duration_ms)))
        case $kind in
        sleep | busy | stopped | write) same "held_pipes with '$kind'" true "$(field .held_pipes)" ;;
        quiet) same "held_pipes with '$kind'" false "$(field .held_pipes)" ;;
        esac
    done
}

@test "a thousand background processes end with their command" {
    needs_memory_group
    local began
    began=$(now_ms)
    result --pids 1100 --timeout 120s --memory 1g --cpus 2 -- "$PYTHON" -c 'import os, time
for i in range(1000):
    if os.fork() == 0:
        time.sleep(1000)
print("forked", flush=True)'
    same reason exited "$(field .reason)"
    in_time "ms from the command's end to hutch's" 0 3000 $(($(now_ms) - began - $(field .duration_ms)))
}

@test "a flood of output from a daemon does not keep hutch from ending" {
    local began
    began=$(now_ms)
    plain --timeout 30s -- sh -c 'yes & yes & echo done'
    same "exit status" 0 "$status"
    in_time ms 0 5000 $(($(now_ms) - began))
}
