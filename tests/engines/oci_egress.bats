#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Egress by hostname on OCI runtimes: the tests of the native gateway, on containers of runc and of gVisor's runsc; and what is theirs alone.

load ../lib
load ../integration/words
load ../sandbox/words
load ../egress/upstream

RUNTIMES=(runc runsc)

setup_file() { upstream_start; }
teardown_file() { upstream_stop; }

# The tests of a file of ../egress, with sandboxes of a runtime.
holds_on() { # RUNTIME FILE [FILTER]
    local name=${2%.bats}-$1
    env -u UPSTREAM -u UPSTREAM_PID EGRESS_RUNTIME="$1" HUTCH_TEST_AS=root \
        bats --tap --filter "${3:-.}" "$TOP/tests/egress/$2" >"$WORK/$name.tap" 2>&1 </dev/null 3>&- || true
    if grep -qE '^not ok' "$WORK/$name.tap" || ! grep -qE '^ok' "$WORK/$name.tap"; then
        grep -vE '^ok' "$WORK/$name.tap" >&2
        return 1
    fi
}

on_each() { # FUNCTION
    local runtime
    for runtime in "${RUNTIMES[@]}"; do
        BACKEND_FLAGS=(--backend oci --runtime "$runtime")
        "$1" "$runtime"
    done
}

# All but fork, which containers have not; and of gVisor those that do not take a read() that waits (docs/BACKENDS.md), or Linux's errno.
GVISOR_LIVING='update changes|stop and start|is killed closes|dies with its keeper|is nobody|limits:|what happened is told'
LIVING="$GVISOR_LIVING|its resolv.conf|without egress"

@test "runc: hostile clients get no further than their rules" { holds_on runc hostile.bats; }
@test "runsc (gVisor): hostile clients get no further than their rules" { holds_on runsc hostile.bats; }
@test "runc: real programs reach what is allowed, and nothing else" { holds_on runc programs.bats; }
@test "runsc (gVisor): real programs reach what is allowed, and nothing else" { holds_on runsc programs.bats; }
@test "runc: update, death of a gateway, limits, what is told" { holds_on runc living.bats "$LIVING"; }
@test "runsc (gVisor): update, death of a gateway, limits, what is told" { holds_on runsc living.bats "$GVISOR_LIVING"; }
@test "runc: secrets in requests" { holds_on runc secrets.bats; }
@test "runsc (gVisor): secrets in requests" { holds_on runsc secrets.bats; }
@test "runc and runsc (gVisor): what the operator decided" {
    holds_on runc policy.bats
    holds_on runsc policy.bats
}

# --- what is theirs alone ---------------------------------------------------------------------------------------------------------

# One of the host's, in the network that hutch runs in: a sandbox that shared it could connect.
abstract_socket() { # RUNTIME
    there /usr/bin/python3 -c '
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind("\0hutch-test-" + sys.argv[1])
server.listen()
print("there", flush=True)
server.accept()' "$1" >"$WORK/server" 3>&- &
    until_true 10 test -s "$WORK/server"
    result --egress raw.hutch.test -- /usr/bin/python3 -c '
import os, socket, sys
try: socket.socket(socket.AF_UNIX).connect("\0hutch-test-" + sys.argv[1]); print("connected")
except OSError as error: print(error.strerror)
print(sorted(name for _, name in socket.if_nameindex()))' "$1"
    ended exited 0 null
    same "what $1 sees" $'Connection refused\n[\'lo\']' "$(field .stdout)"
    there /usr/bin/python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect("\0hutch-test-" + sys.argv[1])' "$1"
    wait
}

@test "no socket of the host's is in the container's network, and no device" { on_each abstract_socket; }

# Nobody inside may change the network, nor does anybody have more power than without egress.
posture() { # RUNTIME
    result --egress raw.hutch.test -- sh -c 'grep -E "^(CapInh|CapPrm|CapEff|CapBnd|CapAmb)" /proc/self/status | sort -u -k 2 | wc -l
        grep -c "^CapEff:.*0000000000000000" /proc/self/status; id -u
        ip link set lo down 2>&1 | head -c 1 | wc -c; ip route add default dev lo 2>/dev/null; echo $?'
    ended exited 0 null
    same "capability sets of $1 that differ from none, whether that is none, and the user" "1 1 1000" "$(field .stdout | head -n 3 | xargs)"
    [ "$(field .stdout | tail -n 1)" != 0 ]
    same "missing on $1" null "$(field '.isolation.missing | if length == 0 then null else . end')"
}

@test "a container with egress has no more power than one without" { on_each posture; }

# The file with the limit on memory, of the container's group.
group_of() { # PID-OF-KEEPER
    find /sys/fs/cgroup -path "*hutch-$(hutch inspect box | jq -r .id)*" \( -name memory.limit_in_bytes -o -name memory.max \) 2>/dev/null | head -n 1
}

pause() { # RUNTIME
    create box --egress raw.hutch.test
    hutch pause box
    hutch update box --egress raw.hutch.test --egress web.hutch.test:80
    hutch resume box
    same "after a pause on $1" ok "$(hutch exec box -- curl -s -m 10 http://raw.hutch.test/)"
    hutch update box --memory 300m
    same "memory of $1" 314572800 "$(cat "$(group_of "$(keeper_of box)")")"
    hutch rm -f box
}

@test "limits hold, and pause and update go on, with egress" {
    local runtime
    on_each pause
    for runtime in "${RUNTIMES[@]}"; do
        BACKEND_FLAGS=(--backend oci --runtime "$runtime")
        result --memory 64m --egress raw.hutch.test -- /usr/bin/python3 -c 'x = b"x" * (1 << 28); print(len(x))'
        same "reason on $runtime" oom "$(field .reason)"
        result --timeout 2s --egress raw.hutch.test -- sleep 60
        same "reason on $runtime" timeout "$(field .reason)"
    done
}

closed_root() { # RUNTIME
    result --read-only --egress raw.hutch.test -- sh -c 'curl -s -m 10 http://raw.hutch.test/; touch /etc/new 2>/dev/null || echo closed'
    ended exited 0 null
    same "with a read-only root on $1" okclosed "$(field .stdout | tr -d '\n')"
}

@test "a read-only root has egress too" { on_each closed_root; }

# A runtime that does not keep to the bundle: here one that is told to leave the network as it is.
@test "a container that a runtime has started in another network runs nothing" {
    local real
    real=$(command -v runc)
    cp "$real" "$WORK/runc.real"
    cat >"$WORK/runc" <<END
#!/usr/bin/python3
import json, os, sys
if "--bundle" in sys.argv:
    path = sys.argv[sys.argv.index("--bundle") + 1] + "/config.json"
    config = json.load(open(path))
    config["linux"]["namespaces"] = [row if row["type"] != "network" else {"type": "network", "path": "/proc/%d/ns/net" % os.getppid()}
                                     for row in config["linux"]["namespaces"]]
    json.dump(config, open(path, "w"))
os.execv("$WORK/runc.real", ["runc"] + sys.argv[1:])
END
    chmod 755 "$WORK/runc" "$WORK/runc.real"
    status=0
    # shellcheck disable=SC2016 # for the inner shell
    there unshare -m sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' "$WORK/runc" "$real" \
        "$HUTCH" run --backend oci --runtime runc --egress raw.hutch.test -- touch /tmp/ran >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "did not start the container in the network that it was given"
}

@test "nothing is left when keeper, porter or builder is killed, and without the builder there is no container" {
    local runtime keeper porter builder
    for runtime in "${RUNTIMES[@]}"; do
        BACKEND_FLAGS=(--backend oci --runtime "$runtime")
        for victim in keeper porter builder; do
            create box --egress raw.hutch.test
            keeper=$(keeper_of box)
            porter=$(pgrep -P "$keeper" -f '^hutch-porter')
            builder=$(init_of "$porter" | head -n 1)
            kill -KILL "${!victim}"
            if [ "$victim" = builder ]; then until_true 10 is box stopped; else after_kill9; fi
            hutch rm -f box
        done
    done
}
