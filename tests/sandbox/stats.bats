#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What people see of sandboxes that stay: stats, top, ls, inspect, and the help; and that no keeper, however stuck, hangs them.

load ../lib
load ../integration/words

make() { hutch create "${RUN_FLAGS[@]}" --disk 16m "$@" >/dev/null; } # FLAG... [-- COMMAND...]

teardown() {
    local pid
    for pid in $(keepers); do kill -CONT "$pid"; done
    hutch ls -q | while read -r name; do hutch rm -f "$name"; done
    rmdir "$HUTCH_HOME/lib/sandboxes" 2>/dev/null || true
    teardown_world
}

# The keepers of this test's sandboxes.
keepers() {
    local pid
    for pid in $(pgrep -x hutch-keeper); do
        ! tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -qxF "HUTCH_HOME=$HUTCH_HOME" || echo "$pid"
    done
}

ask() { # VERB...: $WORK/out, $WORK/said, $status
    status=0
    hutch "$@" >"$WORK/out" 2>"$WORK/said" || status=$?
}

# A Python script with a terminal in its hands; argv[1] is the program.
on_terminal() { # SCRIPT
    cp "$BATS_TEST_DIRNAME/../integration/fixtures/terminal.py" "$WORK/"
    printf '%s\n' "import os, re, signal, sys, time" "sys.path.insert(0, '$WORK')" "from terminal import Terminal, check" \
        "hutch = sys.argv[1]" "$1" >"$WORK/script.py"
    chmod o+rx "$WORK"
    caller "$PYTHON" -B "$WORK/script.py" "$HUTCH"
}

# --- stats ------------------------------------------------------------------------------------------------------------------

@test "stats: one line for each sandbox that runs, with the figures of what it does" {
    make --name busy --memory 64m -- sh -c 'while :; do :; done'
    make --name calm -- sleep 1000
    make --name over
    hutch stop over
    ask stats
    same "exit status" 0 "$status"
    same "lines" 3 "$(grep -c '' "$WORK/out")"
    same "sandboxes" "busy calm" "$(awk 'NR > 1 {print $1}' "$WORK/out" | xargs)"
    same "colour in a pipe" 0 "$(grep -c $'\033' "$WORK/out")"
    hutch stats --json >"$WORK/json"
    same "lines" 1 "$(grep -c '' "$WORK/json")"
    holds "names" '[.sandboxes[].name] == ["busy", "calm"]'
    [ "$HUTCH_TEST_AS" != user ] || holds "what nobody counts is not known" '[.sandboxes[] | .cpu_ms, .cpu_percent, .memory_bytes] | unique == [null]'
    [ "$HUTCH_TEST_AS" = user ] || holds "cpu" '.sandboxes[0].cpu_percent > 5 and .sandboxes[0].cpu_ms > 20 and .sandboxes[1].cpu_percent < 5'
    holds "command" '.sandboxes[1].command == "sleep 1000" and .sandboxes[1].running == 1'
    holds "disk" '.sandboxes[0].disk_limit_bytes == 16777216'
    [ "$HUTCH_TEST_AS" = user ] || holds "memory" '.sandboxes[0] | .memory_limit_bytes == 67108864 and .memory_bytes > 0 and .memory_peak_bytes >= .memory_bytes'
    [ "$HUTCH_TEST_AS" = user ] || holds "pids" '.sandboxes[1].pids == 1'
}

@test "stats: what is named and has no figures is a sentence; the others are shown" {
    make --name one
    make --name over
    hutch stop over
    ask stats over one
    refused 125 "sandbox 'over' is (stopped|dead) and uses nothing"
    same "sandboxes" one "$(awk 'NR > 1 {print $1}' "$WORK/out" | xargs)"
    ask stats nobody
    refused 125 "nobody"
    ask stats --label a=b one
    refused 125 "give one of them"
}

@test "stats, ls: a label chooses" {
    make --name red --label team=red
    make --name blue --label team=blue
    make --name bare
    same "stats" red "$(hutch stats --label team=red | awk 'NR > 1 {print $1}' | xargs)"
    same "stats" "blue red" "$(hutch stats --label team | awk 'NR > 1 {print $1}' | xargs)"
    same "ls" "blue red" "$(hutch ls -q --label team | xargs)"
    same "ls" blue "$(hutch ls --json --label team=blue | jq -r '.sandboxes[].name')"
}

@test "no control character of a command's words reaches the terminal" {
    make --name evil
    hutch exec -d evil -- sh -c $'sleep 1000; : \033]0;owned\a \302\233 31m \342\200\256 \377 \r ok' >/dev/null
    hutch stats evil >"$WORK/out"
    hutch ps evil >>"$WORK/out"
    same "bytes of codes" 0 "$(LC_ALL=C grep -c $'[\001-\010\013-\037\177\377]' "$WORK/out")"
    same "C1" 0 "$(LC_ALL=C grep -c $'\302\233' "$WORK/out")"
    same "turned writing" 0 "$(LC_ALL=C grep -c $'\342\200\256' "$WORK/out")"
    same "what is fit" 2 "$(grep -c 'sleep 1000; : ?]0;owned? ? 31m ? ? ? ok' "$WORK/out")"
    hutch stats --json evil | jq -e '.sandboxes[0].command | contains("\u001b]0;owned")' >/dev/null
}

@test "a keeper that does not answer hangs nobody: it is unresponsive, and goes on when it does" {
    make --name stuck -- sleep 1000
    kill -STOP "$(keepers)"
    make --name fine -- sleep 1000
    local from verb
    for verb in stats ls "ls --json" "stats --json"; do
        from=$(now_ms)
        # shellcheck disable=SC2086
        ask $verb
        same "$verb" 0 "$status"
        in_time "milliseconds of $verb" 0 4500 $(($(now_ms) - from))
        grep -q unresponsive "$WORK/out"
        grep -q running "$WORK/out"
    done
    ask stats stuck
    refused 125 "keeper of sandbox 'stuck' does not answer"
    ask ps stuck
    refused 125 "keeper of sandbox 'stuck' does not answer"
    same "state" unresponsive "$(hutch inspect stuck | json state)"
    local pid
    for pid in $(keepers); do kill -CONT "$pid"; done
    same "state" running "$(hutch inspect stuck | json state)"
    same "figures" 2 "$(hutch stats --json | jq '[.sandboxes[] | select(.running == 1)] | length')"
}

@test "a sandbox that vanishes between two looks is simply gone" {
    make --name stays
    (for _ in $(seq 12); do make --name fleeting && hutch rm -f fleeting; done) &
    local worker=$!
    while kill -0 $worker 2>/dev/null; do
        ask stats
        same "exit status" 0 "$status"
        same "words" "" "$(cat "$WORK/said")"
        grep -q '^stays ' "$WORK/out"
        hutch ls --json | jq -e '.sandboxes | length >= 1' >/dev/null
    done
    wait $worker
}

@test "looking is not using: an idle sandbox ends however often it is looked at" {
    make --name idle --idle-timeout 1s
    local end=$((SECONDS + 6))
    while hutch stats --json | jq -e '.sandboxes | length == 1' >/dev/null; do
        hutch ls >/dev/null
        hutch ps idle >/dev/null 2>&1 || true
        [ $SECONDS -lt $end ]
    done
    same "reason" idle_timeout "$(hutch inspect idle | json reason)"
}

# --- top --------------------------------------------------------------------------------------------------------------------

@test "top: where standard output is no terminal, one sentence names stats" {
    ask top
    refused 125 "use 'hutch stats'"
    ask top --interval 1ms
    refused 125 "interval"
    ask top name
    refused 125 "takes no argument"
}

@test "top: a screen of its own that fits, follows the size, and is given back by q, Ctrl-C, SIGTERM and kill -9" {
    make --name calm -- sleep 1000
    make --name busy-with-a-name-that-is-longer-than-most -- sh -c 'while :; do :; done'
    on_terminal '
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
plain = lambda data: re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", data).replace(b"\r", b"")
def frame(terminal, last):
    terminal.expect(b"\x1b[H")
    terminal.expect(b"\x1b[H")          # a second one: figures are there
    while last not in terminal.seen:
        terminal.seen += os.read(terminal.master, 65536)
    return plain(terminal.seen.partition(last)[0])
def ends(how, status, left=True):
    terminal = Terminal(hutch, "top", rows=12, columns=70)
    terminal.expect(ENTER)
    terminal.expect(b"calm")
    how(terminal)
    check("exit status", status, terminal.wait())
    terminal.check_restored()
    time.sleep(0.2)
    while LEAVE not in terminal.seen:
        terminal.expect(LEAVE)
        break

ends(lambda t: t.send(b"q"), 0)
ends(lambda t: t.send(b"\x03"), 0)
ends(lambda t: os.kill(t.pid, signal.SIGTERM), 128 + 15)
ends(lambda t: os.kill(t.pid, signal.SIGKILL), 128 + 9)

terminal = Terminal(hutch, "top", "--interval", "200ms", rows=12, columns=70)
terminal.expect(ENTER)
text = frame(terminal, b"q quits").decode()
lines = text.split("\n")
assert "2 sandboxes, 2 commands" in text, text
assert all(len(line) < 70 for line in lines), text
rows = [line for line in lines if "running" in line]
assert rows[0].startswith("busy-with") and "~" in rows[0] and rows[1].startswith("calm"), text
terminal.resize(6, 40)
os.kill(terminal.pid, signal.SIGWINCH)
terminal.expect(b"\x1b[6;1H")            # the last line is another one
text = frame(terminal, b"\x1b[6;1H").decode()
assert all(len(line) < 40 for line in text.split("\n")), text
assert "CPU%" in text and "MEMORY" in text and "LIMIT" not in text, text
terminal.send(b"q")
check("exit status", 0, terminal.wait())
'
}

@test "top, ls: colour on a terminal, and none with NO_COLOR" {
    make --name one
    on_terminal '
for colour in True, False:
    if not colour:
        os.environ["NO_COLOR"] = "1"
    terminal = Terminal(hutch, "ls")
    check("exit status", 0, terminal.wait())
    check("colour of ls", colour, b"\x1b[32mrunning" in terminal.seen)
    check("codes of ls", colour, b"\x1b" in terminal.seen)
    terminal = Terminal(hutch, "top")
    terminal.expect(b"one")
    terminal.send(b"q")
    check("exit status", 0, terminal.wait())
    check("colour of top", colour, bool(re.search(rb"\x1b\[[0-9;]*m", terminal.seen)))
'
}

# --- ls, inspect ------------------------------------------------------------------------------------------------------------

@test "ls: as wide as its names in a pipe, cut to a narrow terminal" {
    local long=a-name-of-sixty-three-characters-is-the-longest-that-there-may-be
    make --name "${long:0:63}" --label a=b
    make --name x
    hutch ls >"$WORK/out"
    same "the long name" 1 "$(grep -c "^${long:0:63} *running " "$WORK/out")"
    same "columns are straight" 1 "$(awk '{print index($0, NR == 1 ? "STATE" : "running")}' "$WORK/out" | sort -u | wc -l)"
    same "spaces at the ends" 0 "$(grep -c ' $' "$WORK/out")"
    on_terminal '
for columns in 100, 60, 40, 24:
    terminal = Terminal(hutch, "ls", columns=columns)
    check("exit status", 0, terminal.wait())
    text = re.sub(rb"\x1b\[[0-9;]*m", b"", terminal.seen).decode().replace("\r", "")
    assert all(len(line) <= columns for line in text.split("\n")), (columns, text)
    assert text.count("running") == 2, (columns, text)
'
}

@test "ls --json: one object of what inspect shows" {
    make --name one --label a=b
    hutch ls --json >"$WORK/json"
    same "lines" 1 "$(grep -c '' "$WORK/json")"
    holds "the sandbox" '.sandboxes | length == 1 and (.[0] | .name == "one" and .state == "running" and .spec.labels.a == "b" and .usage.running == 0)'
    ask ls --json -q
    refused 125 "give one of them"
}

@test "inspect: a line each in a pipe, indented on a terminal, all of those that are there" {
    make --name one
    make --name two
    ask inspect one nobody two
    refused 125 "nobody"
    same "objects" "one two" "$(jq -r .name "$WORK/out" | xargs)"
    same "lines" 2 "$(grep -c '' "$WORK/out")"
    on_terminal '
import json
terminal = Terminal(hutch, "inspect", "one")
check("exit status", 0, terminal.wait())
text = terminal.seen.decode()
assert "\n  \"name\": \"one\"" in text, text
check("name", "one", json.loads(text)["name"])
'
}

# --- help -------------------------------------------------------------------------------------------------------------------

@test "help: every command has a page that begins with its own words" {
    local verb summary
    hutch help | sed -n 's/^  \([a-z]\+\) \+\([A-Z].*\)$/\1 \2/p' >"$WORK/verbs"
    [ "$(grep -c '' "$WORK/verbs")" -ge 22 ]
    while read -r verb summary; do
        case $verb in help | version) continue ;; esac
        hutch help "$verb" | grep -q "^Usage: hutch $verb" || { echo "no usage: $verb"; return 1; }
        grep -q "^@FLAGS@$" "$TOP/docs/man/hutch-$verb.1.scd" || { echo "no flags: $verb"; return 1; }
        grep -q "'hutch-$verb'" "$TOP/docs/man/meson.build" || { echo "not built: $verb"; return 1; }
        case $verb in doctor | gc) continue ;; esac
        grep -qiF "hutch-$verb - $summary" "$TOP/docs/man/hutch-$verb.1.scd" || { echo "other words: $verb"; return 1; }
    done <"$WORK/verbs"
}

@test "help: no line is wider than 80 columns" {
    hutch help >"$WORK/out"
    local verb
    for verb in $(sed -n 's/^  \([a-z]\+\) \+[A-Z].*$/\1/p' "$WORK/out"); do hutch help "$verb" >>"$WORK/out"; done
    same "lines that are" "" "$(grep -E '.{81}' "$WORK/out")"
}

@test "a field is a flag only where it does something, and its home is named elsewhere" {
    ask run --ttl 5s -- true
    refused 125 "'hutch run' has no flag '--ttl'; it belongs to 'hutch create', 'hutch update'"
    ask create --output-max 1m
    refused 125 "'hutch create' has no flag '--output-max'; it belongs to 'hutch run'"
    ask update one --env A=b
    refused 125 "'hutch update' has no flag '--env'"
    ask exec --memory 1g one true
    refused 125 "'hutch exec' has no flag '--memory'"
    echo '{"ttl": "5s", "command": ["true"]}' >"$WORK/spec.json"
    chmod o+rx "$WORK"
    ask run --spec "$WORK/spec.json"
    refused 125 "ttl: this is only for sandboxes that stay"
    same "run" 0 "$(hutch help run | grep -cE -- '^      --(ttl|max-lifetime|log-limit) ')"
    same "create" 3 "$(hutch help create | grep -cE -- '^      --(ttl|max-lifetime|log-limit) ')"
    same "update" "cpus disk egress egress-bytes egress-connections egress-rate help idle-timeout inodes max-lifetime memory output-limit pids ttl" \
        "$(hutch help update --scdoc | grep -oE '^\*.*--[a-z-]+' | sed 's/.*--//' | sort | xargs)"
}

@test "a mistyped command or flag is answered with the one that was meant" {
    ask exce
    refused 125 "did you mean 'exec'"
    ask stat
    refused 125 "did you mean 'stats'"
    ask stats --jsno
    refused 125 "did you mean '--json'"
    ask top --intervall 2s
    refused 125 "did you mean '--interval'"
    ask help crate
    refused 125 "did you mean 'create'"
}
