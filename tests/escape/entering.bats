#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Entering: nothing of the caller's comes along, and what hutch leaves inside cannot be used.

load ../lib
load ../integration/words
load words

# --- descriptors ------------------------------------------------------------------------------------------------------------

@test "only descriptors 0, 1 and 2 exist inside, whatever the caller had open" {
    hutch run -- sh -c 'exec ls /proc/self/fd' >"$WORK/out" 9</ 63</etc/passwd 200>"$WORK/open"
    same "descriptors inside (3 is ls's own)" "0 1 2 3" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    # the same outside: they are there
    sh -c 'exec ls /proc/self/fd' >"$WORK/out" 9</ 63</etc/passwd 200>"$WORK/open"
    grep -qx 63 "$WORK/out"
}

@test "a caller with a thousand open directories hands none of them in, to no process inside" {
    local canary
    canary=$(plant_canary canary)
    cat >"$WORK/opener.py" <<'PY'
import os, sys
os.dup2(os.open("/", os.O_RDONLY), 0)
for i in range(1000):
    os.set_inheritable(os.open(sys.argv[1], os.O_RDONLY), True)
os.execvp(sys.argv[2], sys.argv[2:])
PY
    chmod 644 "$WORK/opener.py"
    become "$PYTHON" "$WORK/opener.py" "$canary" "$HUTCH" run "${RUN_FLAGS[@]}" -- sleep 20 &
    local keeper=$! init pid holders
    init=$(pid1_of "$keeper")
    holders=$(find "/proc/$keeper/fd" -lname "$canary" | wc -l)
    between "directories that hutch itself has open (the control)" 1000 1000 "$holders"
    for pid in $(members "$(namespace_of "$init")"); do
        same "process $pid has the caller's directory" "" "$(find "/proc/$pid/fd" -lname "$canary" 2>/dev/null)"
        same "process $pid has the caller's root directory as its input" "" "$(find "/proc/$pid/fd" -name '[012]' -lname / 2>/dev/null)"
    done
    same "descriptors of the command" "0 1 2" "$(find "/proc/$(command_of "$init")/fd" -mindepth 1 -printf '%f\n' | sort -n | tr '\n' ' ' | sed 's/ $//')"
    kill -TERM "$keeper"
    wait "$keeper" || true
}

@test "no process inside holds the caller's own input, output or error, PID 1 included" {
    local keeper init pid
    echo input >"$WORK/stdin"
    become "$HUTCH" run "${RUN_FLAGS[@]}" -i -- sleep 20 <"$WORK/stdin" >"$WORK/stdout" 2>"$WORK/stderr" &
    keeper=$!
    init=$(pid1_of "$keeper")
    for pid in $(members "$(namespace_of "$init")"); do
        same "what $pid holds" "" "$(find "/proc/$pid/fd" -lname "$WORK/std*" 2>/dev/null)"
    done
    between "what hutch holds (the control)" 3 3 "$(find "/proc/$keeper/fd" -lname "$WORK/std*" | wc -l)"
    kill -TERM "$keeper"
    wait "$keeper" || true
}

@test "a directory as standard input is no way out, with and without -i" {
    local flags
    for flags in "" -i "-u 0" "-i -u 0"; do
        # with -i hutch says that it cannot read a directory: that is all that may happen
        # shellcheck disable=SC2086
        inside $flags -- descriptors </ || same "exit status of hutch" 125 $?
        grep -qx 'descriptors 0 1 2' "$WORK/attempts"
        all_refused 15
    done
    outside descriptors 5</
    done_all "directory 5" "parent 5" "chdir 5" "list 5"
}

@test "a host file as standard output is neither truncated, read, overwritten nor replaced" {
    echo "first line" >"$WORK/log"
    hutch run -- "$PYTHON" -c "$(payload streams)" >>"$WORK/log" 2>>"$WORK/log"
    same "the first line" "first line" "$(head -n 1 "$WORK/log")"
    cp "$WORK/log" "$WORK/attempts"
    : >"$WORK/said"
    all_refused 14
    # opened for reading and writing
    echo "first line" >"$WORK/log"
    hutch run -- "$PYTHON" -c "$(payload streams)" 1<>"$WORK/log.2" 2>>"$WORK/log"
    same "the first line" "first line" "$(head -n 1 "$WORK/log")"
    # outside, the same program destroys it
    echo "first line" >"$WORK/log"
    "$PYTHON" -c "$(payload streams)" >>"$WORK/log" 2>>"$WORK/log"
    [ "$(head -n 1 "$WORK/log")" != "first line" ]
}

# --- the working directory --------------------------------------------------------------------------------------------------

@test "--workdir may not name /proc, a relative path or a way up" {
    local dir
    for dir in /proc/self/fd/9 /proc/self/fd /proc/self/cwd /proc/1/root /proc/thread-self/fd/9 /proc/self/root /proc \
        //proc/self/fd/9 /workspace/../proc/self/fd/9 /./proc/self/fd/9 ../.. . "" relative /workspace/.. /proc/../proc/1/cwd; do
        plain --workdir="$dir" -- touch /workspace/ran 9</
        same "exit status for --workdir='$dir'" 125 "$status"
    done
    plain --workdir=/tmp -- pwd 9</
    same "the control" /tmp "$(cat "$WORK/out")"
}

@test "--workdir through a planted symlink is resolved inside" {
    local ws canary target
    canary=$(plant_canary canary)
    ws=$(user_dir ws)
    for target in "$canary" "../../../../../../..$canary" /proc/self/fd/9 /proc/1/root /proc/1/cwd /proc/self/fd/9/../../.. /dev/fd/9; do
        ln -sfn "$target" "$ws/link"
        plain --workspace "$ws" --workdir=/workspace/link -- cat file sub/../file 9<"$canary"
        [ "$status" -ne 0 ]
        not grep -q canary "$WORK/out"
    done
    ln -sfn /tmp "$ws/link"
    plain --workspace "$ws" --workdir=/workspace/link -- pwd -P
    same "the control: a link within the sandbox" /tmp "$(cat "$WORK/out")"
    canary_lives canary
}

@test "--workdir through a symlink of the root filesystem is resolved inside" {
    needs_busybox
    local root canary target
    canary=$(plant_canary canary)
    root=$(make_rootfs root)
    for target in "$canary" "../../../../..$canary" /proc/self/fd/9 /proc/1/root /proc/1/cwd; do
        ln -sfn "$target" "$root/link"
        plain --rootfs "$root" --workdir=/link -- cat file 9<"$canary"
        [ "$status" -ne 0 ]
        not grep -q canary "$WORK/out"
    done
}

# --- the runner's binary and PID 1 ------------------------------------------------------------------------------------------

@test "the runner's binary cannot be reached, executed or written from inside" {
    local ws interpreter user before
    before=$(sha256sum "$HUTCH")
    ws=$(user_dir ws)
    for interpreter in /proc/self/exe /proc/1/exe /proc/thread-self/exe /proc/self/fd/3; do
        for user in 1000 0; do
            printf '#!%s\n' "$interpreter" >"$ws/script"
            chmod 755 "$ws/script"
            # a script whose interpreter is the very program that executes it: what CVE-2019-5736 began with
            plain --workspace "$ws" -u "$user" --timeout 10s -- ./script run -- touch /workspace/ran
            [ "$status" -ne 0 ]
            [ ! -e "$ws/ran" ]
        done
    done
    for user in 1000 0; do
        inside -u "$user" -- pid1 1 spare
        all_refused 40
    done
    same "the binary" "$before" "$(sha256sum "$HUTCH")"
}

# PID 1 of a sandbox that starts now is executed from this, and not even root of the host can write to it meanwhile.
pid1_is_executed_from() { # PATH
    local keeper init
    start -- sleep 20
    keeper=$!
    init=$(pid1_of "$keeper")
    same "the program of PID 1" "$1" "$(readlink "/proc/$init/exe")"
    not dd if=/dev/zero of="/proc/$init/exe" bs=1 count=1 conv=notrunc 2>"$WORK/said"
    not truncate -s 0 "/proc/$init/exe" 2>>"$WORK/said"
    kill -TERM "$keeper"
    wait "$keeper" || true
}

@test "PID 1 of an ordinary user, and the first of root, runs from sealed memory, not from a file of the host" {
    [ "$HUTCH_TEST_AS" = root ] || plain -- true
    pid1_is_executed_from "/memfd:hutch-init (deleted)"
}

@test "root's copy of PID 1's program is read, written and executed by nobody else" {
    needs_root
    local ws copy before nobody=(setpriv --reuid=1879049192 --regid=1879049192 --clear-groups)
    plain -- true
    copy=$(echo "$HUTCH_HOME"/lib/programs/hutch-init-*)
    same "whose it is" "500 0:0" "$(stat -c '%a %u:%g' "$copy")"
    pid1_is_executed_from "$copy"
    before=$(sha256sum <"$copy")
    # on the host, as whoever the command is there, and with every directory on the way open
    open_way "$copy"
    "${nobody[@]}" test -f "$copy"
    not "${nobody[@]}" test -r "$copy"
    not "${nobody[@]}" test -w "$copy"
    not "${nobody[@]}" test -x "$copy"
    # inside it is not even an interpreter
    ws=$(user_dir ws)
    printf '#!/proc/self/exe\n' >"$ws/script"
    chmod 755 "$ws/script"
    plain --workspace "$ws" --timeout 10s -- ./script
    same "exit status of the script" 126 "$status"
    same "the copy" "$before" "$(sha256sum <"$copy")"
}

@test "a copy of PID 1's program that is not as it was made is not executed, and made anew" {
    needs_root
    local copy whole damage
    plain -- true
    copy=$(echo "$HUTCH_HOME"/lib/programs/hutch-init-*)
    whole=$(sha256sum <"$copy")
    for damage in 'chmod 700 "$copy"' 'chmod 4500 "$copy"' 'truncate -s -1 "$copy"' 'truncate -s 0 "$copy"' 'chown 65534 "$copy"' \
        'rm "$copy" && cp /bin/true "$copy"' 'rm "$copy" && ln -s /bin/true "$copy"' 'rm "$copy" && mkfifo -m 500 "$copy"'; do
        eval "$damage"
        plain --timeout 10s -- echo fine
        same "exit status after: $damage" 0 "$status"
        same "output after: $damage" fine "$(cat "$WORK/out")"
        plain -- true
        same "the copy after: $damage" "500 0 $whole" "$(stat -c '%a %u' "$copy") $(sha256sum <"$copy")"
    done
    # what the kernel does not execute is executed from memory; what it does, and which dies, is not executed again
    exec 8>>"$copy"
    plain -- echo fine
    exec 8>&-
    same "output beside a writer" fine "$(cat "$WORK/out")"
    dd if=/dev/zero of="$copy" bs=4096 count=1 conv=notrunc 2>"$WORK/said"
    plain -- echo fine
    same "output without a header" fine "$(cat "$WORK/out")"
    rm "$copy"
    plain -- true
    dd if=/dev/zero of="$copy" bs=4096 seek=1 count=8 conv=notrunc 2>"$WORK/said"
    plain -- echo fine
    same "exit status without most of its code" 125 "$status"
    plain -- echo fine
    same "the run after that" fine "$(cat "$WORK/out")"
    same "and the copy" "$whole" "$(sha256sum <"$copy")"
    mkdir "$WORK/not-a-file"
    mv "$copy" "$WORK/not-a-file"
    mkdir "$copy" # nothing of ours: left alone
    plain -- echo fine
    same "output beside a directory" fine "$(cat "$WORK/out")"
    rmdir "$copy"
    # of another version: gone with the next sweep, and nothing else is
    touch "$HUTCH_HOME/lib/programs/hutch-init-0000000000000000"
    plain -- true
    same "what gc says" "removed file programs of other versions" "$(hutch gc)"
    same "what is there" "$copy" "$(echo "$HUTCH_HOME"/lib/programs/*)"
}

@test "nothing inside can trace, read, limit or slow down PID 1" {
    local user
    for user in 1000 0; do
        inside -u "$user" -- pid1 1
        all_refused 55
    done
    # the attempts are real: on a child of one's own most of them succeed
    become sleep 30 &
    sleep 0.2
    outside pid1 $!
    done_all "read environ" "read maps" "open mem" "follow exe" "open root" "open ns mnt" "prlimit NOFILE" nice
    kill -9 %% && wait || true
}

@test "no signal from inside stops, kills or distracts PID 1" {
    local user keeper init
    for user in 1000 0; do
        start -u "$user" -- "$PYTHON" -c "$(payload signals)" 20 >"$WORK/out" 2>"$WORK/said"
        keeper=$!
        init=$(pid1_of "$keeper")
        line_in "$WORK/out" zombies
        same "zombies it has left" "zombies 0" "$(cat "$WORK/out")"
        same "its state, seen from the host" S "$(awk '/^State:/ {print $2}' "/proc/$init/status")"
        kill -TERM "$keeper"
        wait "$keeper" || true
    done
    # the control: the same signal from the host stops it
    start -- sleep 20
    keeper=$!
    init=$(pid1_of "$keeper")
    kill -STOP "$init"
    sleep 0.1
    same "its state" T "$(awk '/^State:/ {print $2}' "/proc/$init/status")"
    kill -TERM "$keeper"
    wait "$keeper" || true
}

@test "no process inside has the caller's terminal, PID 1 included, nor has the gateway" {
    cp "$BATS_TEST_DIRNAME/../integration/fixtures/terminal.py" "$WORK/"
    cat >"$WORK/terminals.py" <<'PY'
import glob, sys
from terminal import Terminal
LOOK = "for p in 1 self; do cut -d' ' -f7 /proc/$p/stat; done | xargs echo seen; (: </dev/tty) 2>&1 || echo none; echo end"
def stat_of(pid):
    name, _, rest = open(f"/proc/{pid}/stat").read().rpartition(") ")
    return name.partition("(")[2], [int(word) for word in rest.split()[1:6]]  # ppid, group, session, terminal, ...
def look(*argv):
    t = Terminal(*argv)
    t.expect(b"seen ")
    assert t.wait() == 0
    return t.seen.decode().split()
def children(parent):
    found = {}
    for path in glob.glob("/proc/[0-9]*"):
        try:
            name, (above, _, session, terminal, _) = stat_of(path[6:])
        except OSError:
            continue
        if above == parent:
            found[name] = (session == int(path[6:]), terminal)
    return found
control = look("/bin/sh", "-c", LOOK)
assert control[1] != "0" and "none" not in control, control
run = look(*sys.argv[1:], "--", "sh", "-c", LOOK)
assert run[:2] == ["0", "0"] and "none" in run, run
run = look(*sys.argv[1:], "-t", "--", "sh", "-c", LOOK)
assert run[0] == "0" and run[1] != "0" and "none" not in run, run  # its own
t = Terminal(*sys.argv[1:], "--egress", "web.hutch.test:443", "--", "sh", "-c", "echo up; exec sleep 30")
t.expect(b"up")
found = children(t.pid)
assert "hutch-init" in found and list(found.values()) == [(True, 0)] * 2, found
t.send(b"\x03")
assert t.wait() == 130
PY
    chmod 644 "$WORK/"*.py
    PYTHONDONTWRITEBYTECODE=1 caller "$PYTHON" "$WORK/terminals.py" "$HUTCH" run "${RUN_FLAGS[@]}"
}

# --- environment ------------------------------------------------------------------------------------------------------------

# Looks for a text in a process's environment, arguments and whole memory, with the host's rights.
carries() { # PID TEXT
    "$PYTHON" - "$@" <<'PY'
import re, sys
pid, text = sys.argv[1], sys.argv[2].encode()
found = [name for name in ("environ", "cmdline") if text in open("/proc/%s/%s" % (pid, name), "rb").read()]
with open("/proc/%s/mem" % pid, "rb", buffering=0) as memory:
    for line in open("/proc/%s/maps" % pid):
        begin, end, flags = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
        if "r" not in flags or "vvar" in line or "vsyscall" in line:
            continue
        if int(end, 16) - int(begin, 16) > 1 << 32:  # a sanitizer's shadow
            continue
        try:
            memory.seek(int(begin, 16))
            if text in memory.read(int(end, 16) - int(begin, 16)):
                found.append(line.split()[-1])
        except OSError:
            pass
print(*found)
sys.exit(0 if found else 1)
PY
}

@test "no process inside carries the caller's environment, PID 1's memory included" {
    local keeper init pid
    export FOO="canary-$RANDOM-$RANDOM" LD_LIBRARY_PATH=/nonexistent SSH_AUTH_SOCK=/tmp/canary-agent
    start -e ASKED=for -- sh -c 'sleep 20; true'
    keeper=$!
    init=$(pid1_of "$keeper")
    carries "$keeper" "$FOO" # the control: hutch itself has it
    carries "$(command_of "$init")" ASKED=for
    for pid in $(members "$(namespace_of "$init")"); do
        not carries "$pid" "$FOO"
        not carries "$pid" canary-agent
    done
    same "PID 1's environment" "" "$(tr '\0' '\n' <"/proc/$init/environ")"
    same "PID 1's arguments" hutch-init "$(tr '\0' '\n' <"/proc/$init/cmdline")"
    kill -TERM "$keeper"
    wait "$keeper" || true
}

@test "the command sees none of the caller's variables but those it was given" {
    export FOO=canary HUTCH_TEST_SECRET=canary
    hutch run -- sh -c 'env; cat /proc/[0-9]*/environ 2>/dev/null | tr "\0" "\n"' >"$WORK/out"
    not grep -q canary "$WORK/out"
    same "their names" "HOME LANG PATH PWD USER" \
        "$(hutch run -- sh -c env | sed 's/=.*//' | sort | tr '\n' ' ' | sed 's/ $//')"
    same "the control" canary "$(hutch run --pass-env FOO -- sh -c 'echo $FOO')"
}

# --- users and groups -------------------------------------------------------------------------------------------------------

@test "a numeric user that overflows is an error, never a name and never root" {
    local ws user
    ws=$(user_dir ws)
    for user in 4294967296 4294967295 -1 70000 65536 99999999999999999999 18446744073709551616 2147483648 0x0 0x10 +0 ' 0' '0 ' 1e3 \
        1000: :1000 : 1000:4294967296 1000:-1 1000:65536 0:70000 1000:1000:1000 1000:+5 00000000000000000065536 -0 '' $'0\n'; do
        plain --workspace "$ws" --user="$user" -- touch /workspace/ran
        same "exit status for --user='$user'" 125 "$status"
        [ ! -e "$ws/ran" ]
    done
    for user in 0 1 65535 65535:65535 000:1000 nobody; do
        [ "$HUTCH_TEST_AS" = root ] || [ "${user#*:}" = "$user" ] || continue
        plain --user="$user" -- true
        same "exit status for the control --user='$user'" 0 "$status"
    done
}

@test "numbers are never looked up as names, whatever the image's passwd says" {
    needs_busybox
    local root user
    root=$(make_rootfs root)
    printf '%s\n' 4294967296:x:0:0::/:/bin/sh -1:x:0:0::/:/bin/sh 70000:x:0:0::/:/bin/sh 7:x:0:0::/:/bin/sh big:x:4294967296:0::/:/bin/sh \
        neg:x:-1:0::/:/bin/sh hex:x:0x0:0::/:/bin/sh >>"$root/etc/passwd"
    for user in 4294967296 -1 70000 big neg hex; do
        plain --rootfs "$root" --user="$user" -- /bin/id -u
        same "exit status for --user='$user'" 125 "$status"
    done
    plain --rootfs "$root" --user=7 -- /bin/id -u
    same "the user of 7" 7 "$(cat "$WORK/out")"
    plain --rootfs "$root" --user=bob -- /bin/id -u
    same "the control" 1234 "$(cat "$WORK/out")"
}

@test "nor are they by exec and shell, in passwd or in group" {
    needs_busybox
    local root verb user
    root=$(make_rootfs root)
    printf '%s\n' 4294967296:x:0:0::/:/bin/sh -1:x:0:0::/:/bin/sh 70000:x:0:0::/:/bin/sh +0:x:0:0::/:/bin/sh >>"$root/etc/passwd"
    printf '%s\n' 4294967296:x:0: -1:x:0: 70000:x:0: >>"$root/etc/group"
    hutch create "${RUN_FLAGS[@]}" --name box --rootfs "$root" -u bob >/dev/null
    for user in 4294967296 -1 70000 +0 1234:4294967296 1234:-1 1234:70000; do
        plain --rootfs "$root" --user="$user" -- /bin/id
        mv "$WORK/said" "$WORK/run-said"
        for verb in exec shell; do
            status=0
            hutch "$verb" --user="$user" box -- /bin/id >"$WORK/out" 2>"$WORK/said" || status=$?
            same "exit status of $verb for --user='$user'" 125 "$status"
            same "what $verb runs for --user='$user'" "" "$(cat "$WORK/out")"
            same "what $verb says for --user='$user'" "$(grep -o "'$user' .*" "$WORK/run-said")" "$(grep -o "'$user' .*" "$WORK/said")"
        done
    done
    same "the control" 1234 "$(hutch exec -u bob box -- /bin/id -u)"
    hutch rm -f box
    hutch gc >/dev/null
}

@test "supplementary groups are none" {
    needs_root
    local keeper init user
    for user in 1000 0 1000:5; do
        setpriv --groups 4,27,100 "$HUTCH" run -u "$user" -- sleep 20 3>&- &
        keeper=$!
        init=$(pid1_of "$keeper")
        grep -qE '^Groups:.*4.*27.*100' "/proc/$keeper/status" # the control
        same "groups of PID 1" "" "$(awk '/^Groups:/ {$1=""; print}' "/proc/$init/status" | tr -d ' ')"
        same "groups of the command" "" "$(awk '/^Groups:/ {$1=""; print}' "/proc/$(command_of "$init")/status" | tr -d ' ')"
        kill -TERM "$keeper"
        wait "$keeper" || true
    done
    same "seen from inside" 1000 "$(setpriv --groups 4,27,100 "$HUTCH" run -- id -G)"
}

@test "groups that an ordinary user cannot drop are told in the result" {
    [ "$HUTCH_TEST_AS" = user ] || skip "about ordinary users"
    setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --groups 100,101 "$HUTCH" run "${RUN_FLAGS[@]}" --json -- true >"$WORK/json"
    same "what is missing" true "$(field '.isolation.missing | any(. == "groups")')"
    result -- true
    same "the control: a caller without any" false "$(field '.isolation.missing | any(. == "groups")')"
}

# With ranges of its own for the test's user, in a mount namespace of its own.
with_subids() { # COMMAND...
    printf '%s:300000:65536\n' "$TEST_UID" >"$WORK/subid"
    unshare -m --propagation private sh -c 'mount --bind "$1" /etc/subuid && mount --bind "$1" /etc/subgid && shift && exec "$@"' \
        sh "$WORK/subid" "$@"
}

@test "with subordinate ids an ordinary user's groups are dropped, and nobody is root of the host" {
    [ "$HUTCH_TEST_AS" = user ] || skip "about ordinary users"
    [ -x /usr/bin/newuidmap ] && [ -e /etc/subuid ] && [ -e /etc/subgid ] || skip "needs newuidmap"
    grep -q "^[^:]*:[^:]*:$TEST_UID:" /etc/passwd || skip "needs a name for uid $TEST_UID"
    needs_busybox
    local root user
    root=$(make_rootfs root)
    for user in 1000 0 65535 bob; do
        with_subids setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --groups 100,101 "$HUTCH" run "${RUN_FLAGS[@]}" --json --rootfs "$root" -u "$user" -- \
            /bin/sh -c 'cat /proc/self/status /proc/1/status | grep -E "^(Groups|CapEff)"; cat /proc/self/uid_map /proc/self/gid_map' >"$WORK/json"
        same "reason for -u $user" exited "$(field .reason)"
        same "groups for -u $user" "" "$(field .stdout | sed -n 's/^Groups:[[:space:]]*//p')"
        same "ranges of -u $user that begin with root of the host" "" "$(field .stdout | awk 'NF == 3 && $2 == 0')"
        same "ids of -u $user" "65536 65536" "$(field .stdout | awk 'NF == 3 {n += $3; if (n == 65536) {printf "%s%d", s, n; s = " "; n = 0}}')"
        same "what is missing" false "$(field '.isolation.missing | any(. == "groups")')"
    done
}

# --- who it is on the host --------------------------------------------------------------------------------------------------

@test "no process of a sandbox is root of the host, also with -u 0" {
    local user keeper init pid
    for user in 1000 0 65535 nobody; do
        start -u "$user" -- sh -c 'sleep 20; true'
        keeper=$!
        init=$(pid1_of "$keeper")
        for pid in $(members "$(namespace_of "$init")"); do
            same "ids of process $pid that are 0 on the host" "" \
                "$(awk '/^(Uid|Gid):/ {for (i = 2; i <= NF; i++) if ($i == 0) print}' "/proc/$pid/status")"
        done
        if [ "$HUTCH_TEST_AS" = user ]; then
            same "its user on the host" "$TEST_UID" "$(awk '/^Uid:/ {print $2}' "/proc/$(command_of "$init")/status")"
        fi
        kill -TERM "$keeper"
        wait "$keeper" || true
    done
}

@test "two sandboxes at the same time have no id in common" {
    needs_root
    local keepers=() keeper init ids=""
    for _ in 1 2 3 4 5; do
        start -u 0 -- sleep 20
        keepers+=($!)
    done
    for keeper in "${keepers[@]}"; do
        init=$(pid1_of "$keeper")
        ids+=$(awk '{print $2}' "/proc/$init/uid_map")$'\n'
        same "the length of its range" 65536 "$(awk '{print $3}' "/proc/$init/uid_map")"
    done
    same "different ranges" 5 "$(sort -nu <<<"$ids" | grep -c .)"
    between "the least distance of two ranges" 65536 4294967295 \
        "$(sort -nu <<<"$ids" | grep . | awk 'NR > 1 && (!d || $1 - last < d) {d = $1 - last} {last = $1} END {print d}')"
    kill -TERM "${keepers[@]}"
    wait "${keepers[@]}" || true
}
