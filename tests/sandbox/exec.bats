#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A command in a sandbox that is there already: its end, its surroundings, its input and output, its terminal, its signals.

load ../lib
load ../integration/words
load words

@test "the exit code is the command's, 0 to 255, and signals are 128 more" {
    create box
    local code
    for code in 0 1 2 7 42 100 123 124 125 126 127 128 200 255; do
        call exec box -- sh -c "exit $code"
        same "exit code" "$code" "$status"
    done
    for code in 1 2 3 6 9 10 14 15; do
        # shellcheck disable=SC2016
        call exec box -- sh -c 'kill -$1 $$' sh "$code"
        same "after signal $code" $((128 + code)) "$status"
    done
    hutch rm -f box
}

@test "all exit codes, as JSON" {
    create box
    local code
    for code in 0 3 255; do
        call_json exec box -- sh -c "echo out; echo err >&2; exit $code"
        ended exited "$code" null
        same stdout out "$(field .stdout)"
        same stderr err "$(field .stderr)"
    done
    # shellcheck disable=SC2016
    call_json exec box -- sh -c 'kill -9 $$'
    ended signaled 137 9
    call_json exec --timeout 300ms box -- sleep 60
    same reason timeout "$(field .reason)"
    same status 124 "$status"
    call_json exec box -- no-such-program
    same status 127 "$status"
    hutch rm -f box
}

@test "user, group, directory, environment" {
    create box -e FIRST=1 -e SECOND=2 -w /tmp
    same "the sandbox's own" "1000:1000 /tmp 1 2" "$(inside box 'echo $(id -u):$(id -g) $(pwd) $FIRST $SECOND')"
    same "added and replaced" "1 two 3" "$(hutch exec -e SECOND=two -e THIRD=3 box -- sh -c 'echo $FIRST $SECOND $THIRD')"
    same "not kept" "1 2" "$(inside box 'echo $FIRST $SECOND $THIRD')"
    same directory /usr/bin "$(hutch exec -w /usr/bin box -- pwd)"
    same "nothing of the caller's" "" "$(CANARY_OF_CALLER=1 hutch exec box -- env | grep CANARY || true)"
    if [ "$HUTCH_TEST_AS" = root ]; then
        same "another user" "0:0" "$(hutch exec -u 0 box -- sh -c 'echo $(id -u):$(id -g)')"
        same "by name" 0 "$(hutch exec -u root box -- id -u)"
        same "with a group" "5:6" "$(hutch exec -u 5:6 box -- sh -c 'echo $(id -u):$(id -g)')"
        same "no groups beside" "5" "$(hutch exec -u 5:5 box -- id -G)"
    fi
    hutch rm -f box
}

@test "standard input: nothing without -i, all of it with -i, of a pipe, a file and nowhere" {
    create box
    same "without -i" "" "$(echo hello | hutch exec box -- cat)"
    same "with -i" hello "$(echo hello | hutch exec -i box -- cat)"
    user_dir here >/dev/null
    seq 200000 >"$WORK/here/file"
    chmod 644 "$WORK/here/file"
    hutch exec -i box -- cat <"$WORK/here/file" | cmp - "$WORK/here/file"
    hutch exec -i box -- cat <"$WORK/here/file" >"$WORK/copy"
    cmp "$WORK/copy" "$WORK/here/file"
    # shellcheck disable=SC2002
    cat "$WORK/here/file" | hutch exec -i box -- cat | cmp - "$WORK/here/file"
    same "of /dev/null" "" "$(hutch exec -i box -- cat </dev/null)"
    same "of a closed one" "" "$(hutch exec -i box -- cat <&-)"
    same "a command that reads none of it" 0 "$(hutch exec -i box -- true <"$WORK/here/file" && echo 0)"
    same "a command that reads some of it" 1 "$(hutch exec -i box -- head -n 1 <"$WORK/here/file")"
    hutch rm -f box
}

@test "output to a pipe, a file, a closed descriptor and a full device" {
    create box
    hutch exec box -- seq 300000 >"$WORK/out"
    seq 300000 | cmp - "$WORK/out"
    hutch exec box -- seq 300000 | cmp - "$WORK/out"
    hutch exec box -- sh -c 'seq 1000 >&2' 2>"$WORK/err" >/dev/null
    seq 1000 | cmp - "$WORK/err"
    # appended, in order, to what is there
    echo before >"$WORK/both"
    hutch exec box -- sh -c 'echo one; echo two >&2; echo three' >>"$WORK/both" 2>&1
    same "one file for both" "before one two three" "$(xargs <"$WORK/both")"
    status=0
    hutch exec box -- echo x >&- 2>"$WORK/said" || status=$?
    hutch exec box -- seq 100000 2>/dev/null | head -n 1 >"$WORK/out"
    same "a reader that goes" 1 "$(cat "$WORK/out")"
    hutch rm -f box
}

@test "nothing of the host's comes in by a standard descriptor: no directory, no file to open again, no terminal" {
    create box
    user_dir here >/dev/null
    echo canary >"$WORK/here/secret"
    chown "$TEST_UID" "$WORK/here/secret"
    [ "$HUTCH_TEST_AS" != root ] || chown 0 "$WORK/here/secret"
    chmod 666 "$WORK/here/secret"
    # a directory is no input, and never a way in
    hutch exec -i box -- sh -c 'cat /proc/self/fd/0/secret; cd /proc/self/fd/0 && cat secret; ls /proc/self/fd/0/.' \
        <"$WORK/here" >"$WORK/out" 2>&1 || true
    not grep -qx -e canary -e secret "$WORK/out"
    hutch exec box -- sh -c 'cat /proc/self/fd/1/secret >&2; cat /proc/self/fd/2/secret' >"$WORK/out" 2>&1 || true
    # a file is read to the command, not handed to it
    hutch exec -i box -- sh -c 'echo evil >/proc/self/fd/0; echo evil >>/dev/stdin; truncate -s 0 /proc/self/fd/0' \
        <"$WORK/here/secret" >/dev/null 2>&1 || true
    same "the file" canary "$(cat "$WORK/here/secret")"
    echo canary >"$WORK/here/secret"
    hutch exec --timeout 1s box -- sh -c 'cat </proc/self/fd/1 >&2' >>"$WORK/here/secret" 2>"$WORK/err" & wait $! || true
    not grep -q canary "$WORK/err"
    same "kinds of descriptors" "character special file fifo fifo" \
        "$(hutch exec box -- stat -Lc %F /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 2>"$WORK/here/secret" | xargs)"
    hutch rm -f box
}

@test "only descriptors 0 to 2 exist inside, whatever the caller had open" {
    create box
    same "descriptors" "0 1 2 3" "$(hutch exec box -- ls /proc/self/fd 9</ 63</etc/passwd 7>"$WORK/x" | xargs)"
    hutch rm -f box
}

@test "timeout: 124, soon, and the others go on" {
    create box
    local before other
    other=$(hutch exec -d box -- sh -c 'sleep 1.5; echo done')
    before=$(now_ms)
    call exec --timeout 500ms box -- sleep 60
    same status 124 "$status"
    in_time ms 450 2500 $(($(now_ms) - before))
    call exec --attach "$other" box
    same "the other" 0 "$status"
    same "its output" "done" "$(cat "$WORK/out")"
    call exec --timeout nonsense box -- true
    refused 125 "--timeout: "
    hutch rm -f box
}

@test "fifty at once, each with its own input, output and end" {
    create box
    local i
    for i in $(seq 50); do
        (
            code=0
            echo "line $i" | hutch exec -i -e "N=$i" box -- sh -c 'read -r line; echo "$line $N"; exit $N' >"$WORK/out.$i" 2>&1 3>&- || code=$?
            echo "$code" >>"$WORK/out.$i"
        ) &
    done
    wait
    for i in $(seq 50); do same "number $i" "line $i $i $i" "$(xargs <"$WORK/out.$i")"; done
    same "left in ps" 0 "$(hutch ps --json box | jq '.commands | length')"
    hutch rm -f box
}

@test "ps lists what runs, with its words, and nothing that would confuse a terminal" {
    create box
    local id
    id=$(hutch exec -d box -- sh -c 'sleep 60' "$(printf 'a\033[31mb\nc')" 'x"y\')
    call_json ps box
    same id "$id" "$(field '.commands[0].id')"
    same state running "$(field '.commands[0].state')"
    same recorded true "$(field '.commands[0].recorded')"
    same words "$(jq -nc --arg a "$(printf 'a\033[31mb\nc')" --arg b 'x"y\' '["sh","-c","sleep 60",$a,$b]')" "$(jq -c '.commands[0].command' "$WORK/json")"
    call ps box
    same lines 2 "$(wc -l <"$WORK/out")"
    not grep -q "$(printf '\033')" "$WORK/out"
    hutch rm -f box
}

@test "a shell from standard input, with a script, with an exit code" {
    create box
    same "script from input" "a b" "$(printf 'echo a\necho b\n' | hutch shell box | xargs)"
    same "script as a word" 6 "$(hutch shell box 'echo $((2*3))')"
    call shell box 'exit 9'
    same status 9 "$status"
    same "user and directory" "/tmp x" "$(hutch shell -w /tmp -e A=x box 'echo $(pwd) $A')"
    hutch rm -f box
}

in_terminal() { # PYTHON-LINES
    user_dir fixtures >/dev/null
    cp "$TERMINALS/terminal.py" "$WORK/fixtures/"
    printf 'import sys, os, signal, time\nfrom terminal import *\nhutch = sys.argv[1]\n%s\n' "$1" >"$WORK/fixtures/test.py"
    chmod 644 "$WORK/fixtures/"*
    PYTHONDONTWRITEBYTECODE=1 caller "$PYTHON" "$WORK/fixtures/test.py" "$HUTCH"
}

@test "a terminal: its size, a resize, Ctrl-C, its end" {
    create box
    in_terminal '
t = Terminal(hutch, "exec", "-it", "box", "--", "sh", "-c", "tty; stty size; trap \"echo got-int\" INT; echo ready; while ! read x; do :; done; stty size; echo read-$x; exit 5")
t.expect(b"/dev/pts/")
t.expect(b"31 97")
t.expect(b"ready")
assert t.is_raw()
t.resize(50, 120)
t.send(b"\x03")
t.expect(b"got-int")
t.send(b"word\n")
t.expect(b"50 120")
t.expect(b"read-word")
check("exit status", 5, t.wait())
t.check_restored()
'
    hutch rm -f box
}

@test "a terminal: a shell in it, its window shrinks while it runs, hutch is killed" {
    create box
    in_terminal '
t = Terminal(hutch, "shell", "box")
t.send(b"echo sum-$((20+22))\n")
t.expect(b"sum-42")
t.resize(10, 40)
t.send(b"stty size\n")
t.expect(b"10 40")
t.send(b"exit 7\n")
check("exit status", 7, t.wait())
t.check_restored()
t = Terminal(hutch, "exec", "-it", "box", "--", "sh", "-c", "echo up; exec sleep 71.'"$$"'")
t.expect(b"up")
os.kill(t.pid, signal.SIGKILL)
t.wait()
'
    until_true 3 none_bears "71.$$"
    hutch rm -f box
}

@test "terminals: PID 1 keeps none of them, whether their command began or not" {
    local init before command
    create box
    inside box true
    init=$(init_inside box)
    before=$(find "/proc/$init/fd" -mindepth 1 | wc -l)
    for command in true nosuch; do
        in_terminal '
for i in range(70):
    check("exit status", '"$([ $command = true ] && echo 0 || echo 127)"', Terminal(hutch, "exec", "-it", "box", "--", "'$command'").wait())
'
        same "descriptors of PID 1 after 70 times $command" "$before" "$(find "/proc/$init/fd" -mindepth 1 | wc -l)"
    done
    hutch rm -f box
}

@test "-t without a terminal is refused" {
    create box
    call exec -t box -- true
    refused 125 "'--tty' needs a terminal"
    hutch rm -f box
}

@test "signals reach the command through exec: INT, TERM, HUP, QUIT, USR1, USR2" {
    create box
    local name pid
    for name in INT TERM HUP QUIT USR1 USR2; do
        : >"$WORK/out"
        become "$HUTCH" exec box -- sh -c "trap 'echo got $name; exit 33' $name; echo up; while :; do sleep 0.05; done" >"$WORK/out" 2>"$WORK/said" &
        pid=$!
        until_true 5 grep -q up "$WORK/out"
        kill "-$name" "$pid"
        status=0
        wait "$pid" || status=$?
        same "exit status after $name" 33 "$status"
        same "heard" "up got $name" "$(xargs <"$WORK/out")"
    done
    hutch rm -f box
}

@test "a signal that ends the command gives 128 and its number" {
    create box
    become "$HUTCH" exec box -- sh -c 'echo up; sleep 60' >"$WORK/out" 2>"$WORK/said" &
    local pid=$!
    until_true 5 grep -q up "$WORK/out"
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    same status 143 "$status"
    hutch rm -f box
}

@test "kill -9 of hutch exec ends what it ran, and nothing else" {
    create box
    local other pid
    other=$(hutch exec -d box -- sh -c 'sleep 1.5; echo fine')
    become "$HUTCH" exec box -- sh -c "trap '' TERM HUP INT; (setsid sleep 61.$$ &) ; : $(marker); echo up; while :; do sleep 0.05; done" >"$WORK/out" 2>&1 &
    pid=$!
    until_true 5 grep -q up "$WORK/out"
    kill -9 "$pid"
    { wait "$pid" || true; } 2>/dev/null
    until_true 2 none_bears "$(marker)"
    until_true 2 none_bears "61.$$"
    call exec --attach "$other" box
    same "the other" "0 fine" "$status $(cat "$WORK/out")"
    hutch rm -f box
}

@test "the prefix, as Python's subprocess uses it: input, signals, exit code, kill" {
    create box
    user_dir fixtures >/dev/null
    cp "$FIXTURES/prefix.py" "$WORK/fixtures/"
    chmod 644 "$WORK/fixtures/prefix.py"
    caller "$PYTHON" "$WORK/fixtures/prefix.py" "$HUTCH" box "$(marker)"
    until_true 2 none_bears "$(marker)"
    hutch rm -f box
}

@test "a background child that holds the output does not delay the end" {
    create box
    local before
    before=$(now_ms)
    call_json exec box -- sh -c 'sleep 3 & echo now'
    in_time ms 0 2500 $(($(now_ms) - before))
    same stdout now "$(field .stdout)"
    same held_pipes true "$(field .held_pipes)"
    call_json exec box -- sh -c 'sleep 3 >/dev/null 2>&1 & sleep 0.2; echo now'
    same held_pipes false "$(field .held_pipes)"
    hutch rm -f box
}

@test "long arguments and environments: 1 MiB in, and what is too long is refused with a sentence" {
    create box
    same "one long word" 131071 "$(hutch exec box -- sh -c 'echo ${#1}' sh "$(head -c 131071 /dev/zero | tr '\0' x)")"
    user_dir fixtures >/dev/null
    cat >"$WORK/fixtures/long.py" <<'PY'
import subprocess, sys
words = ["x" * 1000] * 1000
out = subprocess.run([sys.argv[1], "exec", "box", "--", "sh", "-c", "echo $#", "sh", *words], capture_output=True)
assert out.stdout == b"1000\n", out
PY
    chmod 644 "$WORK/fixtures/long.py"
    caller "$PYTHON" "$WORK/fixtures/long.py" "$HUTCH"
    hutch rm -f box
}

@test "memory: the command over the limit is the one that is killed, the sandbox stays" {
    needs_memory_group
    create box --memory 64m
    call_json exec box -- "$PYTHON" -c 'bytearray(200 << 20)'
    same reason oom "$(field .reason)"
    between "processes that were ended" 1 100 "$(field .usage.oom_kills)"
    call exec box -- echo alive
    same "the sandbox after" alive "$(cat "$WORK/out")"
    hutch rm -f box
}

# Groups of commands below those of the test's sandboxes.
command_groups() { find "${GROUPS_OF_TEST[@]}" -type d -name 'exec-*' 2>/dev/null; }

@test "a command's figures are its own, also in groups that another has used" {
    needs_memory_group
    create box
    call_json exec box -- "$PYTHON" -c 'import time
while time.process_time() < 0.3: pass'
    between "cpu of one that computes" 300 3000 "$(field .usage.cpu_ms)"
    call_json exec box -- true
    between "cpu of the next" 0 100 "$(field .usage.cpu_ms)"
    same "its processes" 1 "$(field .usage.pids_peak)"
    call_json exec box -- sh -c 'sleep 0.2 & sleep 0.2 & wait'
    same "the processes of three" 3 "$(field .usage.pids_peak)"
    for _ in 1 2 3; do
        call_json exec box -- true
        same "those of one after them" 1 "$(field .usage.pids_peak)"
        call_json exec --timeout 100ms box -- sleep 10
        same "that of one that is killed" timeout "$(field .reason)"
        call_json exec box -- sh -c 'sleep 0; exit 3' # one that was told to refuse processes is not used again
        same "exit status of one that forks" 3 "$status"
    done
    hutch rm -f box
}

@test "groups that wait for a next command go when none comes" {
    needs_memory_group
    create box
    hutch exec box -- true
    same "after one" 1 "$(command_groups | xargs -r -n 1 basename | sort -u | wc -l)"
    hutch exec box -- true
    same "after two" 1 "$(command_groups | xargs -r -n 1 basename | sort -u | wc -l)"
    until_true 15 eval '[ -z "$(command_groups)" ]'
    hutch exec box -- true
    hutch rm -f box
    same "after its removal" '' "$(command_groups)"
}
