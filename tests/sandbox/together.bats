#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Many sandboxes, and several who act on one at the same moment.

load ../lib
load ../integration/words
load words

@test "200 creates at once with distinct environments: each sees only its own" {
    local count=200
    [ "$HUTCH_TEST_AS" = root ] || count=60
    user_dir fixtures >/dev/null
    cat >"$WORK/fixtures/many.py" <<'PY'
import os, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
hutch, count, flags = sys.argv[1], int(sys.argv[2]), sys.argv[3:]

def one(i):
    env = dict(os.environ, PASSED=f"passed{i}")
    name = f"box{i}"
    subprocess.run([hutch, "create", *flags, "--name", name, "-e", f"OWN=own{i}", "--pass-env", "PASSED", "--label", f"n={i}"],
                   env=env, check=True, stdout=subprocess.DEVNULL)
    out = subprocess.check_output([hutch, "exec", name, "--", "sh", "-c", "env | grep -E '^(OWN|PASSED)=' | sort"], text=True)
    assert out == f"OWN=own{i}\nPASSED=passed{i}\n", (i, out)

with ThreadPoolExecutor(40) as pool:
    list(pool.map(one, range(count)))
names = subprocess.check_output([hutch, "ls", "-q"], text=True).split()
assert len(names) == count, len(names)
PY
    chmod 644 "$WORK/fixtures/many.py"
    caller "$PYTHON" "$WORK/fixtures/many.py" "$HUTCH" "$count" "${CREATE_FLAGS[@]}"
    # what it costs to keep one that does nothing: keeper and PID 1
    local pid total=0 pss
    for pid in $(candidates | sort -u); do
        case $(cat "/proc/$pid/cmdline" 2>&1 | tr '\0' ' ') in
        hutch-keeper* | hutch-init*) pss=$(awk '/^Pss:/{print $2}' "/proc/$pid/smaps_rollup") && total=$((total + pss)) ;;
        esac
    done
    echo "$((total / count)) KiB each"
    of_memory "KiB of PSS for each" 1 1024 $((total / count))
    # shellcheck disable=SC2046
    hutch rm -f $(hutch ls -q)
}

# Starts both at the same moment: $first and $second are their exit statuses, their words are in $WORK/said.1 and .2.
both() { # COMMAND -- COMMAND
    local one=()
    while [ "$1" != -- ]; do one+=("$1") && shift; done
    shift
    hutch "${one[@]}" >"$WORK/out.1" 2>"$WORK/said.1" 3>&- &
    local pid=$!
    second=0
    hutch "$@" >"$WORK/out.2" 2>"$WORK/said.2" 3>&- || second=$?
    first=0
    wait "$pid" || first=$?
    for said in "$WORK"/said.[12]; do [ "$(wc -l <"$said")" -le 1 ] || { cat "$said" >&2 && return 1; }; done
}

@test "create and create on one name: one wins, the other is told" {
    local i
    for i in $(seq 15); do
        both create --name box -- create --name box
        same "one of the two" 125 $((first + second))
        cat "$WORK"/said.[12] | grep -q "there is a sandbox 'box' already"
        hutch exec box -- true
        hutch rm -f box
    done
}

@test "start and start, rm and start, rm and rm, stop and exec: one sentence each, and the state is right" {
    local i
    for i in $(seq 8); do
        if [ "$HUTCH_TEST_AS" = root ]; then
            create box
            inside box 'echo x >/workspace/x'
            hutch stop box
            both start box -- start box
            same "one of the two starts" 125 $((first + second))
            same "its files" x "$(inside box 'cat /workspace/x')"
            hutch stop box
            both rm box -- start box
            if is_gone box; then
                same "rm won" "0 125" "$first $second"
            else
                same "start won" "125 0" "$first $second"
                same "its files" x "$(inside box 'cat /workspace/x')"
                hutch rm -f box
            fi
        fi
        create box
        both stop --grace 0s box -- exec box -- sleep 0.1
        same "stop" 0 "$first"
        not is box running
        both rm box -- rm box
        is_gone box
        same "one of the two" 0 $((first * second))
        create box
        both rm -f box -- rm -f box
        is_gone box
        create box
        both rm -f box -- exec box -- true
        is_gone box
        same "rm -f" 0 "$first"
    done
}

@test "gc at the same moment as create, stop and rm takes nothing away" {
    for _ in $(seq 15); do
        both create --name box -- gc
        same "create beside gc" "0 0" "$first $second"
        inside box 'echo x >/workspace/x'
        both stop box -- gc
        same "stop beside gc" "0 0" "$first $second"
        [ "$HUTCH_TEST_AS" != root ] || { both start box -- gc && same "start beside gc" "0 0" "$first $second"; }
        [ "$HUTCH_TEST_AS" != root ] || same "its files" x "$(inside box 'cat /workspace/x')"
        hutch rm -f box 2>/dev/null || [ "$HUTCH_TEST_AS" != root ]
    done
    hutch gc >/dev/null
}
