#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What goes in and what comes out: pipes, readers that leave or sleep, terminals, closed and full descriptors.

load ../lib
load words

gone() { [ ! -e "/proc/$1" ]; }

# --- standard input ---------------------------------------------------------------------------------------------------------

@test "100 MB through cat with -i come out byte for byte, and end-of-file ends it" {
    head -c 100000000 /dev/urandom >"$WORK/data"
    hutch run -i -- cat <"$WORK/data" >"$WORK/from-file"
    cmp "$WORK/data" "$WORK/from-file"
    # shellcheck disable=SC2002
    cat "$WORK/data" | hutch run -i -- cat | cat >"$WORK/from-pipe"
    same "sha256 through pipes" "$(sha256sum <"$WORK/data")" "$(sha256sum <"$WORK/from-pipe")"
}

@test "without -i the command reads end-of-file at once, whatever hutch's own input is" {
    local began
    began=$(now_ms)
    sleep 3 | {
        hutch run -- wc -c >"$WORK/out"
        now_ms >"$WORK/ended"
    }
    same "what it read of one that is silent" 0 "$(cat "$WORK/out")"
    in_time "milliseconds" 0 2500 $(($(cat "$WORK/ended") - began))
    same "what it read of one that is not" 0 "$(echo input | hutch run -- wc -c)"
    echo input >"$WORK/input"
    { hutch run -- true && cat >"$WORK/left"; } <"$WORK/input"
    same "the input is left for the next reader" input "$(cat "$WORK/left")"
}

@test "a command that does not read its input neither hangs hutch nor is an error" {
    yes | hutch run -i -- true
    yes | hutch run -i -- head -c 10 >"$WORK/out"
    same "what was read" "$(yes | head -c 10)" "$(cat "$WORK/out")"
}

@test "input that is not there yet arrives when it comes" {
    # shellcheck disable=SC2016
    same "answer" "got hello" "$( (sleep 0.5; echo hello) | hutch run -i -- sh -c 'read x; echo got $x')"
}

# --- much output ------------------------------------------------------------------------------------------------------------

# What hutch itself takes for a command that says nothing, in KiB: the limits are about what comes on top of it.
quiet_rss() {
    cp "$BATS_TEST_DIRNAME/fixtures/peak_rss.py" "$(user_dir here)"
    caller "$PYTHON" "$WORK/here/peak_rss.py" "$WORK/here/quiet" "$HUTCH" run "${RUN_FLAGS[@]}" --json -- true >/dev/null
    cat "$WORK/here/quiet"
}

@test "10 GiB through stdout: less than 32 MiB of memory, head and tail right, dropped bytes exact" {
    local program='import os
os.write(1, b"HEAD")
block = b"x" * (1 << 20)
for _ in range(10 << 10):
    os.write(1, block)
os.write(1, b"TAIL")'
    local quiet
    quiet=$(quiet_rss)
    caller "$PYTHON" "$WORK/here/peak_rss.py" "$WORK/here/rss" "$HUTCH" run "${RUN_FLAGS[@]}" --json --output-limit 1m --cpus 2 \
        -- "$PYTHON" -c "$program" >"$WORK/json"
    same reason exited "$(field .reason)"
    same stdout_bytes $(((10 << 30) + 8)) "$(field .stdout_bytes)"
    same dropped_bytes $(((10 << 30) + 8 - (1 << 20))) "$(field .dropped_bytes)"
    same "kept" $((1 << 20)) "$(field '.stdout | length')"
    same "head" HEADxxxx "$(field '.stdout[0:8]')"
    same "tail" xxxxTAIL "$(field '.stdout[-8:]')"
    between "KiB at most" 100 $((quiet + 32768)) "$(cat "$WORK/here/rss")"
}

@test "a reader that leaves ends the command by SIGPIPE, and hutch with it" {
    local codes began
    began=$(now_ms)
    hutch run -- yes 2>"$WORK/said" | head -1 >"$WORK/out"
    codes=("${PIPESTATUS[@]}")
    same "what was read" y "$(cat "$WORK/out")"
    same "exit status" 141 "${codes[0]}"
    in_time milliseconds 0 5000 $(($(now_ms) - began))
}

@test "a reader that leaves does not hurt a command that ignores it" {
    hutch run -- sh -c 'trap "" PIPE; echo a; sleep 0.3; echo b; sleep 0.3; echo c; exit 7' 2>"$WORK/said" | head -1 >"$WORK/out" ||
        true
    same "what was read" a "$(cat "$WORK/out")"
}

@test "a reader that never reads: the sandbox is gone within a second of the deadline, hutch soon after, memory bounded" {
    local began pid init reader quiet
    quiet=$(quiet_rss)
    mkfifo "$WORK/fifo"
    # shellcheck disable=SC2217  # that it does not read is the point
    sleep 60 <"$WORK/fifo" 3>&- &
    reader=$!
    start --timeout 1s -- sh -c 'yes & yes >&2 & yes' >"$WORK/fifo" 2>"$WORK/fifo"
    pid=$!
    began=$(now_ms)
    until_true 5 running "$pid"
    init=$(init_of "$pid")
    until_true 5 gone "$init"
    in_time "milliseconds until every process is dead" 900 2500 $(($(now_ms) - began))
    between "VmHWM of hutch in KiB" 100 $((quiet + 16384)) "$(awk '/VmHWM/ {print $2}' "/proc/$pid/status")"
    status=0
    wait "$pid" || status=$?
    same "exit status" 124 "$status"
    in_time "milliseconds until hutch has ended" 900 12000 $(($(now_ms) - began))
    kill "$reader"
}
running() { [ -n "$(init_of "$1")" ]; }

@test "a slow reader gets everything, although the command has long ended" {
    local slow='import sys, time
total = 0
while chunk := sys.stdin.buffer.read1(65536):
    total += len(chunk)
    time.sleep(0.005)
print(total)'
    same "bytes" 8000000 "$(hutch run -- head -c 8000000 /dev/zero | "$PYTHON" -c "$slow")"
}

@test "a background process that holds the pipe does not hold hutch, and is reported" {
    local began
    began=$(now_ms)
    result -- sh -c 'sleep 20 & echo done'
    ended exited 0 null
    same stdout "done" "$(field .stdout)"
    same held_pipes true "$(field .held_pipes)"
    plain -- sh -c 'sleep 20 & echo done'
    same "exit status" 0 "$status"
    in_time "milliseconds for both" 0 3000 $(($(now_ms) - began))
    result -- sh -c 'sleep 20 >/dev/null 2>&1 & echo done'
    ended exited 0 null
    same "held_pipes of a silent one" false "$(field .held_pipes)"
}

@test "what a background process writes at once is not lost" {
    result -- sh -c '(sleep 0.03; echo late) & echo early'
    same output $'early\nlate' "$(field .stdout)"
}

@test "the order of one stream is kept" {
    plain -- sh -c 'i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done'
    seq 0 2999 | cmp - "$WORK/out"
}

# --- descriptors ------------------------------------------------------------------------------------------------------------

@test "only descriptors 0, 1 and 2 exist inside, whatever was open outside" {
    hutch run -- ls /proc/self/fd 5</ 9</etc 63</etc/passwd >"$WORK/out"
    same "descriptors, and the one ls reads by" "0 1 2 3" "$(xargs <"$WORK/out")"
}

@test "closed standard descriptors are /dev/null, never another file" {
    same "closed input" 0 "$(hutch run -i -- wc -c <&-)"
    status=0
    hutch run -- sh -c 'echo lost; exit 3' >&- || status=$?
    same "exit status with stdout closed" 3 "$status"
    status=0
    hutch run -- sh -c 'echo lost >&2; exit 3' 2>&- || status=$?
    same "exit status with stderr closed" 3 "$status"
    status=0
    hutch run -i -- sh -c 'cat; echo lost; echo lost >&2; exit 3' <&- >&- 2>&- || status=$?
    same "exit status with all closed" 3 "$status"
    hutch run --json -- true >&-
}

@test "standard output on a full disk is an error of hutch's, with and without --json" {
    status=0
    hutch run -- echo hello >/dev/full 2>"$WORK/said" || status=$?
    refused 125 "No space left on device"
    status=0
    hutch run --json -- echo hello >/dev/full 2>"$WORK/said" || status=$?
    refused 125 "No space left on device"
    status=0
    hutch run -- sh -c 'while :; do echo hello || exit; done' >/dev/full 2>"$WORK/said" || status=$?
    refused 125 "No space left on device"
}

@test "of a command that ran the result tells, also when what it wrote or read was lost" {
    local ws
    ws=$(user_dir ws)
    status=0
    hutch run --json --stream --workspace "$ws" -- sh -c 'echo hi; sleep 0.2; echo ran >ran; exit 3' >"$WORK/json" 2>/dev/full || status=$?
    same "exit status" 125 "$status"
    same "the command" ran "$(cat "$ws/ran")"
    same "the result" 'exited 125 3 false' "$(jq -r '"\(.reason) \(.exit_code) \(.stdout_bytes) \(.ok)"' "$WORK/json")"
    same "the cause" 'pass on what the command wrote to standard output: No space left on device' "$(jq -r .error.message "$WORK/json")"
    status=0
    hutch run --json -i -- sh -c 'echo ran; exit 3' </ >"$WORK/json" || status=$?
    same "exit status" 125 "$status"
    same "the result" 'exited 125 ran' "$(jq -r '"\(.reason) \(.exit_code) \(.stdout)"' "$WORK/json")"
}

@test "a limit on the size of the caller's files is an error of hutch's, and no sudden death" {
    local limit
    # in KiB: one that hutch itself cannot work with, and one that only its output meets
    for limit in 4 20000; do
        status=0
        # shellcheck disable=SC2016
        caller bash -c 'ulimit -f "$0"; exec "$@"' $limit "$HUTCH" run "${RUN_FLAGS[@]}" -- head -c 30000000 /dev/zero >"$WORK/out" \
            2>"$WORK/said" || status=$?
        refused 125 "File too large"
    done
    same "what could be written" 20480000 "$(stat -c %s "$WORK/out")"
}

@test "output to a file is appended, not overwritten, and its flags stay as they were" {
    echo first >"$WORK/log"
    hutch run -- echo second >>"$WORK/log"
    same log $'first\nsecond' "$(cat "$WORK/log")"
    # a pipe shared with another program must not become non-blocking behind its back
    {
        hutch run -- echo x
        "$PYTHON" -c 'import fcntl, os; print("blocking" if not fcntl.fcntl(1, fcntl.F_GETFL) & os.O_NONBLOCK else "not")'
    } | cat >"$WORK/out"
    same "the pipe" $'x\nblocking' "$(cat "$WORK/out")"
}

@test "standard output may be a socket" {
    caller "$PYTHON" -c 'import socket, subprocess, sys
ours, theirs = socket.socketpair()
child = subprocess.Popen(sys.argv[1:], stdout=theirs)
theirs.close()
total = 0
while data := ours.recv(65536):
    total += len(data)
print(total, child.wait())' "$HUTCH" run "${RUN_FLAGS[@]}" -- head -c 1000000 /dev/zero >"$WORK/out"
    same "bytes and status" "1000000 0" "$(cat "$WORK/out")"
}

# --- a terminal -------------------------------------------------------------------------------------------------------------

# The script on standard input drives a Terminal, as the test's user: HUTCH is the command line up to "run".
on_terminal() {
    local dir
    dir=$(user_dir terminal)
    cp "$BATS_TEST_DIRNAME/fixtures/terminal.py" "$dir"
    {
        echo 'import os, signal, sys, time'
        echo 'sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))'
        echo 'from terminal import Terminal, check'
        echo 'HUTCH = sys.argv[1:]'
        cat
    } >"$dir/script.py"
    caller "$PYTHON" "$dir/script.py" "$HUTCH" run "${RUN_FLAGS[@]}"
}

@test "-t: the command has a terminal of its own, with the size of ours" {
    on_terminal <<'END'
t = Terminal(*HUTCH, "-it", "--", "sh", "-c", "tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo terminal; echo $TERM")
t.expect(b"/dev/pts/0\r\n31 97\r\nterminal\r\nxterm")
check("exit status", 0, t.wait())
t.check_restored()
END
}

@test "-t: a change of the window's size reaches the command" {
    on_terminal <<'END'
t = Terminal(*HUTCH, "-it", "--", "bash", "-c", "trap 'stty size; exit 5' WINCH; echo ready; while :; do sleep 0.05; done")
t.expect(b"ready")
t.resize(44, 111)
t.expect(b"44 111")
check("exit status", 5, t.wait())
t.check_restored()
END
}

@test "-it: the outer terminal is raw while the command runs, and as before after its exit" {
    on_terminal <<'END'
t = Terminal(*HUTCH, "-it", "--", "sh", "-c", "echo ready; read line; echo got $line; exit 9")
t.expect(b"ready")
check("raw", True, t.is_raw())
t.send(b"hello\r")
t.expect(b"got hello")
check("exit status", 9, t.wait())
t.check_restored()
END
}

@test "-it: the terminal is restored after a timeout, after SIGTERM and after kill -9" {
    after_kill9
    on_terminal <<'END'
t = Terminal(*HUTCH, "-it", "--timeout", "700ms", "--", "sh", "-c", "echo ready; sleep 30")
t.expect(b"ready")
check("raw", True, t.is_raw())
check("exit status", 124, t.wait())
t.check_restored()
for number in signal.SIGTERM, signal.SIGHUP, signal.SIGKILL:
    t = Terminal(*HUTCH, "-it", "--", "sh", "-c", "echo ready; sleep 30")
    t.expect(b"ready")
    check("raw", True, t.is_raw())
    os.kill(t.pid, number)
    check("it ended", True, t.wait() >= 128)
    t.check_restored()
END
}

@test "-it: Ctrl-C reaches the command and not hutch" {
    on_terminal <<'END'
t = Terminal(*HUTCH, "-it", "--", "bash", "-c", "trap 'echo interrupted; exit 3' INT; echo ready; while :; do sleep 0.05; done")
t.expect(b"ready")
t.send(b"\x03")
t.expect(b"interrupted")
check("exit status", 3, t.wait())
t.check_restored()
t = Terminal(*HUTCH, "-it", "--", "sleep", "30")
time.sleep(0.5)
t.send(b"\x03")
check("exit status of a command that SIGINT kills", 130, t.wait())
t.check_restored()
END
}

@test "-it: Ctrl-D is end-of-file, Ctrl-Z stops the job inside only" {
    on_terminal <<'END'
t = Terminal(*HUTCH, "-it", "--", "cat")
time.sleep(0.3)
t.send(b"line\r")
t.expect(b"line\r\nline\r\n")
t.send(b"\x04")
check("exit status", 0, t.wait())
t = Terminal(*HUTCH, "-it", "-e", "PS1=prompt> ", "--", "bash", "--norc", "--noediting", "-i")
t.expect(b"prompt> ")
t.send(b"sleep 30\r")
time.sleep(0.5)
t.send(b"\x1a")
t.expect(b"Stopped")
t.send(b"echo still $((6 * 7))\r")
t.expect(b"still 42")
t.send(b"kill -9 $$\r")
check("exit status", 137, t.wait())
t.check_restored()
END
}

@test "-t without -i: Ctrl-C ends the sandbox" {
    on_terminal <<'END'
t = Terminal(*HUTCH, "-t", "--", "sh", "-c", "trap '' INT; echo ready; sleep 30")
t.expect(b"ready")
t.send(b"\x03")
check("it ended", True, t.wait() >= 128)
t.check_restored()
END
}

@test "-it: a megabyte of output over the terminal is complete" {
    on_terminal <<'END'
t = Terminal(*HUTCH, "-it", "--", "sh", "-c", "stty -opost; head -c 1000000 /dev/zero | tr '\\0' x; echo end")
t.expect(b"end", 30)
check("exit status", 0, t.wait())
END
}

@test "-t without a terminal is refused with one sentence" {
    status=0
    hutch run -t -- true </dev/null >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "terminal"
    same stdout "" "$(cat "$WORK/out")"
}
