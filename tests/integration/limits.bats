#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every limit holds against a command that tries to pass it, with the right reason, and the neighbours do not notice.

load ../lib
load words

# --- memory -----------------------------------------------------------------------------------------------------------------

@test "memory: a program that uses 400 MiB works under the default of 512 MiB" {
    result -- "$PYTHON" -c 'x = b"x" * (400 << 20); print(len(x) >> 20)'
    ended exited 0 null
    same "what it allocated" 400 "$(field .stdout)"
    [ "$HUTCH_TEST_AS" = user ] || between memory_peak_bytes $((400 << 20)) $((512 << 20)) "$(field .usage.memory_peak_bytes)"
}

@test "memory: bombs by malloc, by many processes, by tmpfs, /tmp, memfd, shared memory and page tables all end as oom" {
    needs_memory_group
    local bomb
    local -A bombs=(
        [malloc]='x = bytearray(300 << 20)'
        [processes]='import os, time
for _ in range(10):
    if os.fork() == 0:
        x = bytearray(20 << 20)
        time.sleep(20)
for _ in range(10):
    if os.wait()[1]: raise SystemExit(1)'
        [tmpfs]='open("/big/x", "wb").write(b"x" * (300 << 20))'
        [tmp]='f = open("/tmp/x", "wb")
while True: f.write(b"x" * (1 << 20))'
        [memfd]='import os
fd = os.memfd_create("x")
while True: os.write(fd, b"x" * (1 << 20))'
        [shared]='import mmap
m = mmap.mmap(-1, 300 << 20)
for i in range(0, 300 << 20, 4096): m[i] = 1'
        [sysv]='import ctypes
c = ctypes.CDLL(None)
c.shmat.restype = ctypes.c_void_p
p = c.shmat(c.shmget(0, 300 << 20, 0o1600), None, 0)
ctypes.memset(p, 1, 300 << 20)'
        [devshm]='from multiprocessing import shared_memory
s = shared_memory.SharedMemory(create=True, size=50 << 20)
s.buf[:] = b"x" * (50 << 20)
x = bytearray(60 << 20)'
        [pipes]='import os, fcntl
while True:
    r, w = os.pipe()
    os.set_blocking(w, False)
    x = bytearray(4 << 20)
    globals().setdefault("all", []).append((x, r, w))'
    )
    for bomb in "${!bombs[@]}"; do
        result --memory 64m --disk 64m --tmpfs /big:1g --timeout 20s -- "$PYTHON" -c "${bombs[$bomb]}"
        same "reason of the bomb by $bomb" oom "$(field .reason)"
        holds "$bomb: the limit was kept" '.usage.memory_peak_bytes <= 67108864 and .usage.oom_kills >= 1'
    done
}

@test "memory: there is no swap to escape to" {
    needs_memory_group
    result --memory 32m --disk 8m -- "$PYTHON" -c 'x = bytearray(64 << 20)'
    same reason oom "$(field .reason)"
}

@test "memory: a limit below the default layer needs no other flag" {
    result --memory 48m -- sh -c 'echo fine; df -k --output=size / | tail -1'
    ended exited 0 null
    between "the layer in KiB" 1024 $((256 << 10)) "$(field '.stdout | split("\n")[1]' | xargs)"
}

# --- processes --------------------------------------------------------------------------------------------------------------

FORK_BOMB='import os
while True:
    os.fork()'
FORK_STORM='import os
while True:
    try:
        os.fork()
    except OSError:
        pass'

@test "pids: a fork bomb stops at its limit" {
    result --pids 100 --timeout 20s -- "$PYTHON" -c "$FORK_BOMB"
    if [ "$HUTCH_TEST_AS" = user ]; then
        holds "it failed" '.reason == "exited" and .exit_code == 1 and (.stderr | test("BlockingIOError"))'
    else
        ended pids_limit 1 null
        same pids_peak 100 "$(field .usage.pids_peak)"
    fi
}

@test "pids: neighbours of a fork bomb keep working, and it dies with its deadline" {
    local bomb began
    start --pids 200 --timeout 3s --json -- "$PYTHON" -c "$FORK_STORM" >"$WORK/bomb" 2>/dev/null
    bomb=$!
    sleep 1
    for _ in 1 2 3 4 5; do
        began=$(now_ms)
        result --pids 20 -- sh -c 'true | true | true && echo fine'
        ended exited 0 null
        in_time "milliseconds of a neighbour" 0 1500 $(($(now_ms) - began))
    done
    status=0
    wait "$bomb" || status=$?
    same "exit status of the bomb" 124 "$status"
    same "its reason" timeout "$(jq -r .reason "$WORK/bomb")"
    in_time "its duration" 3000 4000 "$(jq .duration_ms "$WORK/bomb")"
}

@test "pids: threads count too" {
    result --pids 20 -- "$PYTHON" -c 'import threading, time
for _ in range(30):
    threading.Thread(target=time.sleep, args=(1,), daemon=True).start()'
    same "exit code" 1 "$(field .exit_code)"
    holds "no thread beyond" '.stderr | contains("can'"'"'t start new thread")'
    [ "$HUTCH_TEST_AS" = user ] || same reason pids_limit "$(field .reason)"
}

# --- disk -------------------------------------------------------------------------------------------------------------------

@test "disk: the limit holds over all writable places together" {
    result --disk 16m -- sh -c 'for d in /tmp /home/user /workspace /var/tmp /dev/shm; do dd if=/dev/zero of=$d/x bs=1M count=5 2>/dev/null || exit 9; done'
    ended disk_limit 9 null
    between disk_peak_bytes $((15 << 20)) $((16 << 20)) "$(field .usage.disk_peak_bytes)"
}

@test "disk: what is removed can be written again, and a sparse file costs nothing" {
    result --disk 16m -- sh -c 'for i in 1 2 3 4 5; do dd if=/dev/zero of=/tmp/x bs=1M count=10 2>/dev/null || exit 9; rm /tmp/x; done
        truncate -s 10G /tmp/sparse && stat -c %s /tmp/sparse'
    ended exited 0 null
    same "the sparse file" 10737418240 "$(field .stdout)"
}

@test "disk: the upper layers of --workspace DIR:overlay and of a copy are within it" {
    local dir mode
    dir=$(user_dir project)
    for mode in overlay copy; do
        result --disk 8m --workspace "$dir:$mode" -- dd if=/dev/zero of=/workspace/x bs=1M count=20
        same "reason with $mode" disk_limit "$(field .reason)"
    done
}

@test "disk: a million files stop at the inode limit" {
    result --inodes 1000 --timeout 20s -- "$PYTHON" -c 'for i in range(1000000): open(f"/tmp/{i}", "w")'
    ended disk_limit 1 null
    holds "the command was told" '.stderr | contains("No space left on device")'
}

@test "disk: --disk 1g with --memory 512m takes 900 MB and stops at 1 GiB with disk_limit" {
    needs_root
    [ "$(hutch doctor --json | jq -r '.checks[] | select(.name == "pool.quota") | .status')" = ok ] ||
        skip "this host can have no quota pool: see hutch doctor"
    after_kill9 # the pool stays mounted until a sweep
    result --disk 1g --memory 512m -- dd if=/dev/zero of=/tmp/x bs=1M count=900
    ended exited 0 null
    same "where it was written" disk "$(field .isolation.writable_layer)"
    result --disk 1g --memory 512m -- dd if=/dev/zero of=/tmp/x bs=1M count=1200
    ended disk_limit 1 null
    between "what fitted" $((900 << 20)) $((1 << 30)) "$(field .usage.disk_peak_bytes)"
}

@test "disk: a layer that cannot be had here is refused, and --allow-missing is the way out" {
    [ "$HUTCH_TEST_AS" != root ] || skip "root can have a quota pool"
    result --disk 1g -- true
    refused 125 "disk"
    result --disk 1g --allow-missing disk --allow-missing inodes -- true
    ended exited 0 null
    holds "it is said in the result" '.isolation.missing | contains(["disk", "inodes"])'
}

# --- processor, descriptors -------------------------------------------------------------------------------------------------

SPIN='import os, time
os.fork()
os.fork()
end = time.monotonic() + 2
while time.monotonic() < end: pass
for _ in range(2):
    try: os.wait()
    except ChildProcessError: pass'

@test "cpus: four spinning processes together get half a processor" {
    needs_memory_group
    result --cpus 0.5 -- "$PYTHON" -c "$SPIN"
    ended exited 0 null
    in_time "cpu_ms of two seconds" 300 1350 "$(field .usage.cpu_ms)"
}

@test "cpus: what cannot be limited here is refused unless it is allowed to be missing" {
    [ "$HUTCH_TEST_AS" = user ] || skip "the limit can be had here"
    for limit in memory cpus; do
        status=0
        as_user "$HUTCH" run --allow-missing $limit -- true >"$WORK/out" 2>"$WORK/said" || status=$?
        refused 125 "limit (memory|cpus) cannot be enforced here.*--allow-missing"
    done
}

@test "open files: a process can have exactly as many as asked for, and no more" {
    result --open-files 64 -- "$PYTHON" -c 'import os
count = 3
try:
    while True:
        os.dup(0)
        count += 1
except OSError as e:
    print(count, os.strerror(e.errno))'
    same "count and error" "64 Too many open files" "$(field .stdout)"
    result -- sh -c 'ulimit -n; ulimit -Hn; ulimit -c; ulimit -Hc'
    same "defaults" "1024 1024 0 0" "$(field .stdout | xargs)"
}

@test "open files: more than hutch itself may have is refused" {
    status=0
    caller bash -c 'ulimit -n 512; exec "$@"' bash "$HUTCH" run "${RUN_FLAGS[@]}" -- true >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "open_files.*ulimit"
}

# --- time -------------------------------------------------------------------------------------------------------------------

@test "timeout: a tree that is double-forked, in new sessions, deaf to TERM, stopped or busy is gone within a second" {
    local -A trees=(
        [deaf]='import signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
print("ready", flush=True)
while True: time.sleep(1)'
        [daemon]='import os, time
for _ in range(50):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
print("ready", flush=True)
time.sleep(60)'
        [stopped]='import os, signal, time
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        os.kill(os.getpid(), signal.SIGSTOP)
print("ready", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)'
        [busy]='import os
for _ in range(6): os.fork()
print("ready", flush=True)
while True: pass'
        [vfork]='import os, subprocess
print("ready", flush=True)
while True: subprocess.run(["/bin/true"])'
        [pipes]='import os
print("ready", flush=True)
for _ in range(4): os.fork()
while True: os.write(1, b"x" * 65536); os.write(2, b"x" * 65536)'
    )
    local tree began
    for tree in "${!trees[@]}"; do
        began=$(now_ms)
        result --timeout 1s -- "$PYTHON" -c "${trees[$tree]}"
        ended timeout 124 9
        in_time "milliseconds until hutch ended, tree $tree" 1000 2000 $(($(now_ms) - began))
        in_time "duration_ms, tree $tree" 1000 1500 "$(field .duration_ms)"
        holds "$tree had started" '.stdout | startswith("ready")'
        world_is_clean
    done
}

@test "timeout: a PID 1 that somebody has stopped does not delay it" {
    start --timeout 1500ms --json -- sh -c 'echo ready; sleep 60' >"$WORK/json" 2>"$WORK/said"
    local pid=$! began init
    began=$(now_ms)
    until_true 5 running "$pid"
    sleep 0.3
    init=$(init_of "$pid")
    kill -STOP "$init"
    status=0
    wait "$pid" || status=$?
    ended timeout 124 9
    in_time milliseconds 1500 3000 $(($(now_ms) - began))
}
running() { [ -n "$(init_of "$1")" ]; }

@test "timeout: the command cannot stop, kill or trace its PID 1" {
    result --timeout 5s -u 0 -- sh -c 'kill -STOP 1; kill -9 1; kill -TERM 1; kill -INT 1; sleep 0.2; echo alive; cat /proc/1/environ /proc/1/maps | wc -c'
    ended exited 0 null
    same "after all that" $'alive\n0' "$(field .stdout)"
}

@test "timeout: the clock starts with the command, and what is left behind by a leader that ends dies with it" {
    local began
    began=$(now_ms)
    result --timeout 30s -- sh -c 'setsid sh -c "trap : TERM; sleep 60; sleep 60" >/dev/null 2>&1 & exit 6'
    ended exited 6 null
    in_time milliseconds 0 2000 $(($(now_ms) - began))
}
