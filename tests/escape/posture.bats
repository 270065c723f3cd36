#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The exact state of a process inside: ids, capabilities, namespaces, descriptors, limits, mounts, filter, per thread.
# A line more, less or different is a failure, until somebody has looked at it and accepted it: with HUTCH_ACCEPT_POSTURE=1 this
# suite writes golden/ anew.

load ../lib
load ../integration/words
load words

# The program in a place that everybody can reach.
posture_copy() {
    [ -e "$WORK/bin/posture" ] && return 0
    mkdir -p "$WORK/bin"
    cp "$POSTURE" "$WORK/bin/posture"
    chmod 755 "$WORK/bin" "$WORK/bin/posture"
}

host_namespaces() {
    local name
    for name in cgroup ipc mnt net pid time user uts; do echo "$name=$(readlink "/proc/self/ns/$name")"; done
}

# Where a limit is "as high as the caller's", the number is the host's.
posture() { # FLAG...
    posture_copy
    # shellcheck disable=SC2046
    hutch run --mount "$WORK/bin/posture:/posture:ro" "$@" -- /posture $(host_namespaces) |
        sed -E "s/^limit nproc: soft $(ulimit -Hu) hard $(ulimit -Hu)\$/limit nproc: the caller's/; s|^(/posture [0-7]*) .*|\1|; s/ \$//"
}

processors_of() { taskset -cp "$1" | sed 's/.*: //'; } # PID

# The facts that no flag changes.
core_facts() { grep -E '^(Cap|NoNewPrivs|Seccomp|first thread|the second|seccomp|no new|securebits|keeps|namespace|limit|supplementary|Groups|Sig|ShdPnd|signal|nice|scheduling|io prio|oom|user namesp|inotify|personality|parent-death|network|route|/proc/|host name|cgroup)'; }

@test "the posture of run is exactly what the golden file of its user says" {
    posture >"$WORK/posture"
    [ -z "${HUTCH_ACCEPT_POSTURE:-}" ] || cp "$WORK/posture" "$BATS_TEST_DIRNAME/golden/posture-$HUTCH_TEST_AS.txt"
    diff -u "$BATS_TEST_DIRNAME/golden/posture-$HUTCH_TEST_AS.txt" "$WORK/posture"
}

# The same program by 'hutch exec' in a sandbox that stays. Hidden is what differs by nature: a command is not the first process of
# its sandbox; it has a cgroup of its own below the sandbox's, or where there is none a guard for a parent (src/init/guard.c).
posture_of_exec() {
    posture_copy
    hutch create --name posture --disk 64m --mount "$WORK/bin/posture:/posture:ro" >/dev/null
    # shellcheck disable=SC2046
    hutch exec posture -- /posture $(host_namespaces) </dev/null | cat |
        sed -E "s/^limit nproc: soft $(ulimit -Hu) hard $(ulimit -Hu)\$/limit nproc: the caller's/; s|^(/posture [0-7]*) .*|\1|; s/ \$//"
    hutch rm -f posture
}
but_numbers() { sed -E '/^cgroup in sight: [0-9]+:(pids|cpuacct)?:\/exec-[0-9a-f]{16}$/d; /^(NSpid|NSpgid|NSsid|pid [0-9]+, parent|process in sight)/d'; }

@test "the posture of exec is that of run" {
    posture --disk 64m | but_numbers >"$WORK/run"
    between "facts" 100 400 "$(wc -l <"$WORK/run")"
    posture_of_exec | but_numbers >"$WORK/exec"
    diff -u "$WORK/run" "$WORK/exec"
}

@test "no flag changes the core of the posture" {
    local ws
    ws=$(user_dir ws)
    posture | core_facts >"$WORK/core"
    between "facts" 60 200 "$(wc -l <"$WORK/core")"
    posture -u 0 | core_facts | diff -u "$WORK/core" -
    posture -u 65535 | core_facts | diff -u "$WORK/core" -
    posture --workspace "$ws" | core_facts | diff -u "$WORK/core" -
    posture --workspace "$ws:ro" --tmpfs /x --mount "$ws:/y" | core_facts | diff -u "$WORK/core" -
    posture --read-only --workspace "$ws" | core_facts | diff -u "$WORK/core" -
    posture --workspace "$ws:copy" --artifacts "$(user_dir art)" | core_facts | diff -u "$WORK/core" -
    posture --timeout 5s --idle-timeout 4s --cpus 2 --memory 100m --label a=b -e X=y | core_facts | diff -u "$WORK/core" -
}

@test "the core of the posture is the same on another root filesystem" {
    needs_busybox
    local root
    posture | core_facts >"$WORK/core"
    root=$(make_rootfs root)
    posture --rootfs "$root" | core_facts | diff -u "$WORK/core" -
}

@test "the core of the posture does not depend on the caller's own state" {
    posture | core_facts >"$WORK/core"
    posture_copy
    # signals ignored and blocked, a umask, nice, other directories, limits, more descriptors
    cat >"$WORK/odd.py" <<'PY'
import os, resource, signal, sys
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
os.umask(0o777)
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
os.chdir("/")
os.environ["LD_PRELOAD"] = "/nonexistent"
for fd in range(3, 60):
    os.dup2(os.open("/", os.O_RDONLY), fd)
os.execvp(sys.argv[1], sys.argv[1:])
PY
    chmod 644 "$WORK/odd.py"
    # shellcheck disable=SC2046
    caller "$PYTHON" "$WORK/odd.py" "$HUTCH" run "${RUN_FLAGS[@]}" --mount "$WORK/bin/posture:/posture:ro" -- /posture $(host_namespaces) |
        sed -E "s/^limit nproc: soft $(ulimit -Hu) hard $(ulimit -Hu)\$/limit nproc: the caller's/; s/ \$//" | core_facts | diff -u "$WORK/core" -
}

# Where processors are free a thread makes the network and PID 1 is moved (docs/adr/0017): neither may be seen from inside.
@test "the posture is the same where all processors are busy, and where there is one" {
    local busy=() one
    one=$(processors_of $$ | sed 's/[^0-9].*//')
    posture >"$WORK/free"
    for _ in $(seq $((3 * $(nproc) + 3))); do
        timeout 60 sh -c 'while :; do :; done' 3>&- &
        busy+=($!)
    done
    posture >"$WORK/busy"
    kill "${busy[@]}"
    wait "${busy[@]}" || true
    diff -u "$WORK/free" "$WORK/busy"
    taskset -cp "$one" "$BASHPID" >/dev/null
    posture >"$WORK/alone"
    diff -u "$WORK/free" "$WORK/alone"
}

# Where processors are free both are held on one of them while the command starts: several tries, for that is now and then.
@test "the command and PID 1 may use all the processors that the caller may" {
    local keeper init own
    [ "$(nproc)" -gt 1 ] || skip "there is one processor only"
    own=$(processors_of $$)
    for _ in 1 2 3 4 5; do
        start -- sleep 20
        keeper=$!
        init=$(pid1_of "$keeper")
        same "PID 1's processors" "$own" "$(processors_of "$init")"
        same "the command's processors" "$own" "$(processors_of "$(command_of "$init")")"
        kill -TERM "$keeper"
        wait "$keeper" || true
    done
}

@test "the caller's nice value and policy give the command no more than its share" {
    posture_copy
    # nice comes along, downwards only, and without a group for processor time there is nothing lower; a real-time
    # policy does not, one below the ordinary does
    local nice=10
    [ "$HUTCH_TEST_AS" != user ] || nice=19
    same "nice" "nice: $nice" "$(caller nice -n 10 "$HUTCH" run "${RUN_FLAGS[@]}" --mount "$WORK/bin/posture:/posture:ro" -- /posture | grep ^nice)"
    same "policy below the ordinary one" "scheduling policy: 5" \
        "$(caller chrt --idle 0 nice -n 5 "$HUTCH" run "${RUN_FLAGS[@]}" --mount "$WORK/bin/posture:/posture:ro" -- /posture | grep '^scheduling')"
    if [ "$HUTCH_TEST_AS" = root ] && chrt -r 1 true 2>/dev/null; then
        same "policy" "scheduling policy: 0" "$(chrt -r 1 "$HUTCH" run --mount "$WORK/bin/posture:/posture:ro" -- /posture | grep '^scheduling')"
    fi
}

@test "the control: outside the same program sees the host" {
    # shellcheck disable=SC2046
    "$POSTURE" $(host_namespaces) >"$WORK/posture"
    grep -q "^namespace mnt: the host's" "$WORK/posture"
    grep -q "^namespace user: the host's" "$WORK/posture"
    not grep -q '^CapEff: 0000000000000000' "$WORK/posture"
    grep -q '^seccomp mode: 0' "$WORK/posture"
}
