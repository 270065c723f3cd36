#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What hutch says happened is what happened: exit codes, signals, reasons, output and usage.

load ../lib
load words

# --- exit codes and signals -------------------------------------------------------------------------------------------------

@test "every exit status from 0 to 255 comes back as it is, with and without --json" {
    # shellcheck disable=SC2016
    caller bash -c '
        for n in {0..255}; do
            ok=false
            [ "$n" != 0 ] || ok=true
            json=$("$@" --json -- sh -c "exit $n" 2>&1)
            [ "$?" = "$n" ] || echo "exit $n with --json became another: $json"
            case $json in
            *"\"reason\":\"exited\",\"exit_code\":$n,\"signal\":null,\"ok\":$ok,"*) ;;
            *) echo "exit $n: $json" ;;
            esac
        done
        for n in 0 1 2 77 124 125 126 127 128 129 137 143 254 255; do
            said=$("$@" -- sh -c "exit $n" 2>&1)
            [ "$?" = "$n" ] || echo "exit $n without --json became another"
            [ -z "$said" ] || echo "exit $n made hutch say: $said"
        done' bash "$HUTCH" run "${RUN_FLAGS[@]}" >"$WORK/wrong"
    nothing_wrong "$WORK/wrong"
}

@test "every signal that ends a command is reported as 128+n, reason signaled and its number" {
    # shellcheck disable=SC2016
    caller bash -c '
        for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 24 25 26 27 29 30 31 34 35 48 63 64; do
            json=$("$@" --json -- sh -c "kill -$n \$\$; exit 99" 2>&1)
            [ "$?" = $((128 + n)) ] || echo "signal $n: another exit status"
            case $json in
            *"\"reason\":\"signaled\",\"exit_code\":$((128 + n)),\"signal\":$n,\"ok\":false,"*) ;;
            *) echo "signal $n: $json" ;;
            esac
        done' bash "$HUTCH" run "${RUN_FLAGS[@]}" >"$WORK/wrong"
    nothing_wrong "$WORK/wrong"
}

@test "a signal that is ignored by default does not end the command" {
    # shellcheck disable=SC2016
    caller bash -c '
        for n in 17 18 20 21 22 23 28; do
            "$@" -- sh -c "kill -$n \$\$; exit 99" 2>/dev/null
            [ "$?" = 99 ] || echo "signal $n ended the command"
        done' bash "$HUTCH" run "${RUN_FLAGS[@]}" >"$WORK/wrong"
    nothing_wrong "$WORK/wrong"
}

@test "a command that stops itself with SIGSTOP ends with the timeout" {
    # shellcheck disable=SC2016
    result --timeout 300ms -- sh -c 'kill -STOP $$'
    ended timeout 124 9
}

@test "124: a timeout keeps what was written before it, and is told in one line" {
    plain --timeout 300ms -- sh -c 'echo before; sleep 30'
    same "exit status" 124 "$status"
    same stdout before "$(cat "$WORK/out")"
    same stderr "hutch: timeout after 300 ms (--timeout)" "$(cat "$WORK/said")"
    result --timeout 300ms -- sh -c 'echo before; sleep 30'
    ended timeout 124 9
    same stdout before "$(field .stdout)"
    in_time duration_ms 300 1300 "$(field .duration_ms)"
}

@test "124: an idle timeout ends a silent command and spares one that keeps talking" {
    result --idle-timeout 400ms -- sh -c 'echo a; sleep 30'
    ended idle_timeout 124 9
    same stdout a "$(field .stdout)"
    result --idle-timeout 1s -- sh -c 'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.2; done'
    ended exited 0 null
}

@test "125: hutch's own failure is told apart from the command's in the JSON" {
    result --workdir /not/there -- true
    refused 125 "/not/there"
    same reason setup_failed "$(field .reason)"
    same ok false "$(field .ok)"
    holds "an error with a code and a message" '.error.code != "" and (.error.message | test("/not/there"))'
    result -- sh -c 'exit 125'
    ended exited 125 null
    same error null "$(field .error)"
}

@test "126: found but not executable: a directory, a file without x, a broken program" {
    local dir
    dir=$(user_dir bin)
    printf '#!/bin/sh\n' >"$dir/no-x"
    printf '\177ELF is only the beginning' >"$dir/broken"
    chmod 755 "$dir/broken"
    for command in /usr /b/no-x /b/broken; do
        result --mount "$dir:/b:ro" -- "$command"
        refused 126 "'$command'"
        ended setup_failed 126 null
        same code not_executable "$(field .error.code)"
    done
    # found by the search in PATH too
    result --mount "$dir:/b:ro" -e PATH=/nowhere:/b -- no-x
    refused 126 "'no-x'"
}

@test "127: not there: by name, by path, by the interpreter it names" {
    local dir
    dir=$(user_dir bin)
    printf '#!/not/there\n' >"$dir/script"
    chmod 755 "$dir/script"
    for command in no-such-program /no/such/program /b/script /etc/passwd/x; do
        result --mount "$dir:/b:ro" -- "$command"
        refused 127 "'$command'"
        ended setup_failed 127 null
        same code no_command "$(field .error.code)"
    done
}

# --- reasons ----------------------------------------------------------------------------------------------------------------

@test "oom: a command that needs more than its memory" {
    needs_memory_group
    result --memory 64m --disk 16m -- "$PYTHON" -c 'x = bytearray(200 << 20)'
    ended oom 137 9
    holds "the kernel counted it" '.usage.oom_kills >= 1'
    between memory_peak_bytes $((56 << 20)) $((64 << 20)) "$(field .usage.memory_peak_bytes)"
    says "the person is told" "^hutch: out of memory"
}

@test "oom: a worker that was killed for memory does not spoil a leader that exits 0" {
    needs_memory_group
    result --memory 64m --disk 16m -- sh -c "$PYTHON -c 'x = bytearray(200 << 20)'; test \$? = 137 && exit 0"
    ended exited 0 null
    same ok true "$(field .ok)"
    holds "the kernel counted it" '.usage.oom_kills >= 1'
}

@test "oom is not guessed from 137: a SIGKILL of one's own is signaled" {
    # shellcheck disable=SC2016
    result -- sh -c 'kill -9 $$'
    ended signaled 137 9
    same oom_kills 0 "$(field .usage.oom_kills)"
}

@test "pids_limit: a command that needs more processes than it may have" {
    result --pids 10 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; exit 3'
    if [ "$HUTCH_TEST_AS" = user ]; then
        # RLIMIT_NPROC stops it all the same, but has no counter
        holds "it failed" '.exit_code != 0 and (.stderr | test("fork"))'
    else
        ended pids_limit 2 null
        same pids_peak 10 "$(field .usage.pids_peak)"
    fi
}

@test "pids_limit: exactly as many processes as promised are allowed" {
    # the shell itself and nine more
    result --pids 10 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1 & done; wait'
    ended exited 0 null
}

@test "disk_limit: bytes" {
    result --disk 8m -- dd if=/dev/zero of=/tmp/big bs=1M count=100
    ended disk_limit 1 null
    says "the person is told" "^hutch: the disk limit was reached"
    result --disk 8m -- dd if=/dev/zero of=/tmp/small bs=1M count=4
    ended exited 0 null
}

@test "disk_limit: inodes" {
    result --inodes 500 -- sh -c 'i=0; while [ $i -lt 1000 ]; do : >/tmp/$i || exit 4; i=$((i+1)); done'
    same reason disk_limit "$(field .reason)"
    result --inodes 500 -- sh -c 'i=0; while [ $i -lt 300 ]; do : >/tmp/$i || exit 4; i=$((i+1)); done'
    ended exited 0 null
}

@test "disk_limit: a full disk that the command cleaned up again is still the reason of its failure" {
    result --disk 8m -- sh -c 'dd if=/dev/zero of=/tmp/big bs=1M count=100 2>/dev/null || { sleep 0.1; rm /tmp/big; exit 5; }'
    ended disk_limit 5 null
}

@test "output_limit: --output-max ends a chatty command at once, stdout or stderr" {
    local began
    began=$(now_ms)
    result --output-max 64k -- yes
    ended output_limit 137 9
    same "what was let through" 65536 "$(field '.stdout_bytes - .dropped_bytes')"
    says "the person is told" "^hutch: the output limit was reached"
    result --output-max 64k -- sh -c 'yes >&2'
    ended output_limit 137 9
    in_time "both, in milliseconds" 0 3000 $(($(now_ms) - began))
    result --output-max 64k -- sh -c 'head -c 65536 /dev/zero'
    ended exited 0 null
}

@test "output_limit: what came and was not let through is counted" {
    result --output-max 10 -- sh -c 'printf 0123456789abcdefghij; sleep 5'
    ended output_limit 137 9
    holds counted '.truncated and .dropped_bytes == 10 and .stdout_bytes == 20 and (.stdout | startswith("0123456789"))'
}

cancel_with() { # SIGNAL
    start --json -- sh -c 'echo ready; sleep 30' >"$WORK/json" 2>"$WORK/said"
    local pid=$!
    until_true 5 running "$pid"
    sleep 0.1
    kill -s "$1" "$pid"
    status=0
    wait "$pid" || status=$?
}
running() { [ -n "$(init_of "$1")" ]; }

@test "cancelled: SIGINT, SIGTERM and SIGHUP to hutch end the sandbox and keep its output" {
    local began
    for signal in INT TERM HUP; do
        began=$(now_ms)
        cancel_with $signal
        ended cancelled $((128 + $(kill -l $signal))) "$(kill -l $signal)"
        same "stdout after SIG$signal" ready "$(field .stdout)"
        in_time "milliseconds" 0 3000 $(($(now_ms) - began))
    done
}

@test "sandbox_died: somebody on the host kills the sandbox's PID 1" {
    start --json -- sh -c 'echo ready; sleep 30' >"$WORK/json" 2>"$WORK/said"
    local pid=$!
    until_true 5 running "$pid"
    sleep 0.1
    kill -9 "$(init_of "$pid")"
    status=0
    wait "$pid" || status=$?
    ended sandbox_died 137 9
    same stdout ready "$(field .stdout)"
}

# --- the document -----------------------------------------------------------------------------------------------------------

@test "--json has exactly the documented keys, with their types, and is the only thing on stdout" {
    result -- sh -c 'echo out; echo err >&2'
    ended exited 0 null
    same "lines" 1 "$(wc -l <"$WORK/json")"
    same "hutch's own words" "" "$(cat "$WORK/said")"
    same keys "$(
        printf '%s\n' dropped_bytes duration_ms egress_denied exit_code held_pipes id isolation ok output reason signal \
            stderr stderr_bytes stdout stdout_bytes truncated usage
    )" "$(field 'keys[]')"
    same "keys of usage" "cpu_ms disk_peak_bytes memory_peak_bytes oom_kills pids_peak" "$(field '.usage | keys | join(" ")')"
    same "keys of isolation" "backend level missing writable_layer" "$(field '.isolation | keys | join(" ")')"
    holds types '[.id, .reason, .stdout, .stderr, .output, .isolation.backend, .isolation.level] | all(type == "string")'
    holds types '[.exit_code, .stdout_bytes, .stderr_bytes, .dropped_bytes, .duration_ms, .usage.cpu_ms] | all(type == "number" and floor == .)'
    holds types '[.ok, .truncated, .held_pipes] | all(type == "boolean")'
    holds types '(.isolation.missing | type == "array") and .egress_denied == [] and .signal == null'
    holds "an id of its own" '.id | test("^[0-9a-f]{16}$")'
    holds values '.stdout == "out\n" and .stderr == "err\n" and .stdout_bytes == 4 and .stderr_bytes == 4'
    holds values '.output | length == 8 and contains("out\n") and contains("err\n")'
    holds values '.ok and .truncated == false and .dropped_bytes == 0 and .isolation.backend == "native" and .isolation.level == "namespaces"'
    if [ "$HUTCH_TEST_AS" = user ]; then
        holds "what is missing is said" '.isolation.missing == ["memory", "cpus"] and .usage.memory_peak_bytes == null'
    else
        holds "nothing is missing" '.isolation.missing == []'
        holds "what the kernel counted" '.usage.memory_peak_bytes > 0 and .usage.pids_peak >= 1'
    fi
}

@test "two runs have different ids" {
    result -- true
    local first
    first=$(field .id)
    result -- true
    [ "$first" != "$(field .id)" ]
}

@test "valid UTF-8 comes as text, control characters and quotes included" {
    # shellcheck disable=SC2016
    result -- printf 'h\303\251llo \360\237\220\207 "q" \\ \t\001\033[0m\000end\n'
    ended exited 0 null
    holds "text" 'has("encoding") | not'
    same "stdout, byte by byte" "$(printf 'h\303\251llo \360\237\220\207 "q" \\ \t\001\033[0m\000end\n' | od -An -tx1)" \
        "$(jq -j .stdout "$WORK/json" | od -An -tx1)"
}

@test "output that is not UTF-8 comes base64-encoded, and says so" {
    local program='import sys; sys.stdout.buffer.write(bytes(range(256)) * 40); sys.stderr.buffer.write(b"plain")'
    result -- "$PYTHON" -c "$program"
    ended exited 0 null
    same encoding base64 "$(field .encoding)"
    same "stdout" "$($PYTHON -c "$program" 2>/dev/null | sha256sum)" "$(field .stdout | base64 -d | sha256sum)"
    same "stderr" plain "$(field .stderr | base64 -d)"
    same stdout_bytes 10240 "$(field .stdout_bytes)"
    for broken in '\300\257' '\355\240\200' '\364\220\200\200' 'abc\303'; do
        result -- printf "$broken"
        same "encoding of $broken" base64 "$(field .encoding)"
    done
}

@test "a long output keeps its head and its tail, and counts exactly what was dropped" {
    result --output-limit 1000 -- sh -c 'seq 1 100000; seq 1 50000 >&2'
    ended exited 0 null
    local out_bytes err_bytes
    out_bytes=$(seq 1 100000 | wc -c)
    err_bytes=$(seq 1 50000 | wc -c)
    same truncated true "$(field .truncated)"
    same stdout_bytes "$out_bytes" "$(field .stdout_bytes)"
    same stderr_bytes "$err_bytes" "$(field .stderr_bytes)"
    same dropped_bytes $((out_bytes + err_bytes - 2000)) "$(field .dropped_bytes)"
    same "stdout" "$(seq 1 100000 | head -c 500; seq 1 100000 | tail -c 500)" "$(field .stdout)"
    same "stderr" "$(seq 1 50000 | head -c 500; seq 1 50000 | tail -c 500)" "$(field .stderr)"
    same stdout_head_bytes 500 "$(field .stdout_head_bytes)"
    same stderr_head_bytes 500 "$(field .stderr_head_bytes)"
}

@test "an output of exactly the limit is whole, one byte more is not" {
    result --output-limit 1000 -- head -c 1000 /dev/zero
    holds whole '.truncated == false and .dropped_bytes == 0 and (.stdout | length) == 1000'
    result --output-limit 1000 -- head -c 1001 /dev/zero
    holds cut '.truncated and .dropped_bytes == 1 and (.stdout | length) == 1000'
}

@test "a limit of 0 keeps nothing and counts everything" {
    result --output-limit 0 -- echo hello
    ended exited 0 null
    holds nothing '.stdout == "" and .output == "" and .stdout_bytes == 6 and .dropped_bytes == 6 and .truncated'
}

@test "a cut in the middle of a character leaves text, and the bytes still add up" {
    # shellcheck disable=SC2016
    result --output-limit 1001 -- "$PYTHON" -c 'print("x" + "\N{RABBIT}\N{EURO SIGN}\u00e9" * 2000, end="")'
    holds "text" 'has("encoding") | not'
    holds "kept and dropped are all" '(.stdout | utf8bytelength) + .dropped_bytes == .stdout_bytes'
    holds "no half characters" '.stdout | contains("\ufffd") | not'
    holds "little was lost to it" '(.stdout | utf8bytelength) >= 1001 - 6'
}

@test "standard output and standard error stay apart, byte for byte" {
    local program='import os
for i in range(256):
    os.write(1, bytes([i]) * 300)
    os.write(2, bytes([255 - i]) * 200)'
    plain -- "$PYTHON" -c "$program"
    same "exit status" 0 "$status"
    $PYTHON -c "$program" >"$WORK/expected.out" 2>"$WORK/expected.err"
    cmp "$WORK/expected.out" "$WORK/out"
    cmp "$WORK/expected.err" "$WORK/said"
}

@test "--stream copies the output to stderr while the command runs, and --json stays alone on stdout" {
    start --json --stream -- sh -c 'echo early; sleep 1; echo late' >"$WORK/json" 2>"$WORK/said"
    local pid=$!
    until_true 5 grep -q early "$WORK/said"
    same "what is there before its time" 0 "$(grep -c late "$WORK/said")"
    status=0
    wait "$pid" || status=$?
    ended exited 0 null
    same "what was streamed" $'early\nlate' "$(cat "$WORK/said")"
    same "what was kept" $'early\nlate' "$(field .stdout)"
}

# --- usage ------------------------------------------------------------------------------------------------------------------

@test "cpu_ms is the processor time of a spinning command, and next to nothing for a sleeping one" {
    result -- "$PYTHON" -c 'import time
while time.process_time() < 0.5: pass'
    in_time "cpu_ms of half a second's work" 490 900 "$(field .usage.cpu_ms)"
    result -- sleep 0.5
    in_time "cpu_ms of half a second's sleep" 0 100 "$(field .usage.cpu_ms)"
    in_time "duration_ms of it" 500 1500 "$(field .duration_ms)"
}

@test "cpu_ms counts children that nobody waited for" {
    needs_memory_group
    result -- sh -c "$PYTHON -c 'import time
while time.process_time() < 0.3: pass' & sleep 1"
    in_time cpu_ms 290 900 "$(field .usage.cpu_ms)"
}

@test "memory_peak_bytes of a 100 MiB allocation is about that" {
    needs_memory_group
    result -- "$PYTHON" -c 'x = b"x" * (100 << 20)'
    between memory_peak_bytes $((100 << 20)) $((140 << 20)) "$(field .usage.memory_peak_bytes)"
}

@test "pids_peak counts the command's processes and not hutch's own" {
    needs_memory_group
    result -- true
    same pids_peak 1 "$(field .usage.pids_peak)"
    result -- sh -c 'sleep 0.2 & sleep 0.2 & sleep 0.2 & wait'
    same pids_peak 4 "$(field .usage.pids_peak)"
}

@test "disk_peak_bytes sees what was written" {
    result -- dd if=/dev/zero of=/tmp/file bs=1M count=20
    between disk_peak_bytes $((20 << 20)) $((22 << 20)) "$(field .usage.disk_peak_bytes)"
}
