#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Gateways of sandboxes that stay: what changes, what dies and comes back, what is counted, what is limited.

load ../lib
load ../integration/words
load ../sandbox/words
load upstream

setup_file() { upstream_start; }
teardown_file() { upstream_stop; }

fetch() { hutch exec "$1" -- curl -sS -m 5 "http://$2/"; } # NAME HOST
reaches() { [ "$(fetch "$1" "$2" 2>/dev/null)" = ok ]; }   # NAME HOST: one of those that answer ok
denies() { not reaches "$1" "$2"; }

another_gateway() { # KEEPER PID
    local now
    now=$(gateway_of "$1")
    [ -n "$now" ] && [ "$now" != "$2" ]
}

@test "update changes the list of a living sandbox at once, also for connections that are open" {
    create box --egress raw.hutch.test
    reaches box raw.hutch.test
    denies box a.wild.hutch.test
    hutch update box --egress '*.wild.hutch.test' --egress stream.hutch.test:7
    reaches box a.wild.hutch.test
    denies box raw.hutch.test
    hutch exec box -- /usr/bin/python3 -c '
import socket, time
sock = socket.create_connection(("stream.hutch.test", 7), 5)
sock.sendall(b"a"); sock.recv(1); open("/tmp/open", "w").close()
start = time.monotonic()
try: gone = sock.recv(1) == b""
except ConnectionResetError: gone = True
print(gone)' >"$WORK/open" 3>&- &
    until_true 10 hutch exec box -- test -e /tmp/open
    forget
    hutch update box --egress none
    wait $!
    same "an open connection to what was taken away ends" True "$(cat "$WORK/open")"
    denies box a.wild.hutch.test
    denies box raw.hutch.test
    same "questions" 0 "$(question_count)"
    hutch update box --egress raw.hutch.test:7000 --egress-connections 9
    denies box raw.hutch.test
    same "the port of the new rule" ok "$(fetch box raw.hutch.test:7000)"
    call update box --egress 1.2.3.4
    refused 125 "1.2.3.4"
    same "a bad list changes nothing" ok "$(fetch box raw.hutch.test:7000)"
    same "inspect has the list" '["raw.hutch.test:7000"]' "$(hutch inspect box | jq -c '.spec.egress // .egress.rules')"
    hutch rm -f box
}

@test "what was decided stays: stop and start" {
    create box --egress raw.hutch.test
    hutch stop box
    hutch start box
    reaches box raw.hutch.test
    denies box a.wild.hutch.test
    hutch update box --egress none
    hutch stop box
    hutch start box
    denies box raw.hutch.test
    hutch rm -f box
}

@test "what was decided goes with a fork" {
    create box --egress raw.hutch.test
    hutch fork box twin
    reaches twin raw.hutch.test
    denies twin a.wild.hutch.test
    hutch update box --egress none
    reaches twin raw.hutch.test
    denies box raw.hutch.test
    hutch rm -f box twin
}

@test "a gateway that is killed closes the network, and another opens it" {
    local keeper old addresses
    create box --egress raw.hutch.test --egress stream.hutch.test:7
    addresses=$(hutch exec box -- getent ahosts raw.hutch.test | awk '/STREAM/{print $1}')
    between "addresses of the name" 1 2 "$(wc -w <<<"$addresses")"
    reaches box raw.hutch.test
    keeper=$(keeper_of box)
    old=$(gateway_of "$keeper")
    same "gateways" 1 "$(wc -w <<<"$old")"
    hutch exec box -- /usr/bin/python3 -c '
import socket
sock = socket.create_connection(("stream.hutch.test", 7), 5)
sock.sendall(b"a"); sock.recv(1); open("/tmp/open", "w").close()
try: print(sock.recv(1))
except ConnectionResetError: print("reset")' >"$WORK/open" 3>&- &
    until_true 10 hutch exec box -- test -e /tmp/open
    kill -STOP "$keeper" # nobody starts another
    kill -KILL "$old"
    wait_gone "$old"
    # shellcheck disable=SC2086
    same "what is inside sees" gone "$(timeout 20 nsenter --target "$(network_of "$keeper")" --net -- /usr/bin/python3 -c '
import socket, sys
for address, port in [(a, 80) for a in sys.argv[1:]] + [("198.18.0.1", 53), ("fd68:7574:6368::1", 53)]:
    try: socket.create_connection((address, port), 2); print("open", address, port)
    except ConnectionRefusedError: pass
print("gone")' $addresses)"
    kill -CONT "$keeper"
    until_true 5 another_gateway "$keeper" "$old"
    wait
    grep -qE "^(reset|b'')$" "$WORK/open"
    until_true 5 reaches box raw.hutch.test
    denies box a.wild.hutch.test
    same "what was counted is still there" true "$(hutch inspect box | jq '.egress.connections >= 3')"
    for _ in 1 2 3 4 5 6; do
        old=$(gateway_of "$keeper")
        [ -z "$old" ] || kill -KILL "$old"
        sleep 0.1
    done
    until_true 10 reaches box raw.hutch.test
    same "keeper" "$keeper" "$(keeper_of box)"
    hutch rm -f box
}

wait_gone() { until_true 5 eval "! kill -0 $1 2>/dev/null || grep -qs '^State:.*zombie' /proc/$1/status"; } # PID

@test "a gateway dies with its keeper, and a run's comes back too" {
    local keeper gateway
    create box --egress raw.hutch.test
    keeper=$(keeper_of box)
    gateway=$(gateway_of "$keeper")
    kill -KILL "$keeper"
    after_kill9
    wait_gone "$gateway"
    hutch rm -f box || true
    # by exec, so that the pid is that of hutch; a gateway that dies before the command has begun ends the run
    (exec nsenter --target "$UPSTREAM_PID" --net --mount -- "$HUTCH" run "${BACKEND_FLAGS[@]}" --egress raw.hutch.test -- sh -c 'echo begun; sleep 2
        for i in 1 2 3 4 5 6 7 8; do curl -s -m 5 http://raw.hutch.test/ && break; sleep 0.3; done' >"$WORK/out" 2>"$WORK/said" 3>&-) &
    local run=$! status=0
    until_true 20 grep -q begun "$WORK/out"
    kill -KILL "$(gateway_of $run)"
    wait $run || status=$?
    same "its end, and what it said" "0 " "$status $(cat "$WORK/said")"
    same "after its gateway was killed" "begun ok" "$(xargs <"$WORK/out")"
}

@test "a gateway is nobody: no capability, no privilege, no descriptor too many, not the sandbox's user" {
    needs_root
    local gateway keeper uid
    create box --egress raw.hutch.test
    keeper=$(keeper_of box)
    gateway=$(gateway_of "$keeper")
    uid=$(awk '/^Uid:/{print $2, $3, $4, $5}' "/proc/$gateway/status")
    not test "$uid" = "0 0 0 0"
    same "one uid" 1 "$(xargs -n1 <<<"$uid" | sort -u | wc -l)"
    not test "${uid%% *}" = "$(awk '/^Uid:/{print $2}' "/proc/$(init_of "$keeper")/status")"
    same groups "" "$(sed -n 's/^Groups:[[:space:]]*//p' "/proc/$gateway/status" | xargs)"
    same capabilities 0000000000000000 "$(awk '/^Cap(Inh|Prm|Eff|Amb):/{print $2}' "/proc/$gateway/status" | sort -u)"
    same "no new privileges" 1 "$(awk '/^NoNewPrivs:/{print $2}' "/proc/$gateway/status")"
    same "files of the host's" "" "$(find "/proc/$gateway/fd" -printf '%l\n' |
        grep '^/' | grep -vxE '/memfd:.*|/dev/null|/etc/(resolv.conf|hosts)|.*/sandboxes/box/egress' || true)" # the last is the table
    same "environment" "" "$(tr '\0' '\n' <"/proc/$gateway/environ")"
    hutch rm -f box
}

@test "root's copy of the gateway's program is executed by its id, and read or written by nobody but root" {
    needs_root
    local copy keeper gateway nobody=(setpriv --reuid=1879049192 --regid=1879049192 --clear-groups)
    result --egress raw.hutch.test -- true
    copy=$(echo "$HUTCH_HOME"/lib/programs/hutch-gateway-*)
    same "whose it is" "511 0:0" "$(stat -c '%a %u:%g' "$copy")"
    create box --egress raw.hutch.test
    keeper=$(keeper_of box)
    gateway=$(gateway_of "$keeper")
    same "its program" "$copy" "$(readlink "/proc/$gateway/exe")"
    reaches box raw.hutch.test
    hutch rm -f box
    open_way "$copy"
    "${nobody[@]}" test -x "$copy"
    not "${nobody[@]}" test -r "$copy"
    not "${nobody[@]}" test -w "$copy"
    chmod 755 "$copy"
    result --egress raw.hutch.test -- curl -sS -m 5 http://raw.hutch.test/
    same "with a copy that was touched" "ok" "$(field .stdout | xargs)"
    same "whose it is after that" "511 0:0" "$(stat -c '%a %u:%g' "$copy")"
}

@test "limits: connections at one time, bytes, rate" {
    result --egress stream.hutch.test:7 --egress-connections 3 -- /usr/bin/python3 -c '
import socket
good = []
for i in range(6):
    try:
        sock = socket.create_connection(("stream.hutch.test", 7), 3)
        sock.sendall(b"x")
        if sock.recv(1) == b"x": good.append(sock)
    except OSError: pass
print(len(good))
good.pop().close()
import time; time.sleep(0.3)
sock = socket.create_connection(("stream.hutch.test", 7), 3); sock.sendall(b"x"); print(sock.recv(1))'
    same "connections at one time" $'3\nb\'x\'' "$(field '.stdout | rtrimstr("\n")')"
    holds "told" 'any(.egress_denied[]; .why == "connections" and .name == "stream.hutch.test")'
    result --egress stream.hutch.test:19 --egress-bytes 1m -- /usr/bin/python3 -c '
import socket
total = 0
for i in range(3):
    try:
        sock = socket.create_connection(("stream.hutch.test", 19), 3)
        while data := sock.recv(65536): total += len(data)
    except OSError: pass
print(total)'
    between "bytes" 1 1300000 "$(field '.stdout | rtrimstr("\n")')"
    holds "told" 'any(.egress_denied[]; .why == "bytes")'
    holds "counted" '.egress.bytes_in + .egress.bytes_out | . >= 900000 and . <= 1300000'
    result --egress web.hutch.test --egress-rate 1m -- curl -sS -o /dev/null -w '%{size_download} %{time_total}' http://web.hutch.test/bytes/4194304
    same "bytes with a rate" 4194304 "$(field .stdout | cut -d' ' -f1)"
    in_time "ms at 1 MiB/s" 2500 6000 "$(field .stdout | awk '{print int(1000 * $2)}')"
}

@test "what happened is told in inspect and by 'hutch egress', live too" {
    create box --egress raw.hutch.test
    hutch egress -f --json box >"$WORK/live" 3>&- &
    sleep 0.3
    reaches box raw.hutch.test
    denies box other.hutch.test
    until_true 5 grep -qs other.hutch.test "$WORK/live"
    same "inspect" '{"connections":1,"hosts":[["raw.hutch.test",80,1]]}' \
        "$(hutch inspect box | jq -c '.egress | {connections, hosts: [.hosts[] | [.name, .port, .connections]]}')"
    same "inspect has what was denied" true \
        "$(hutch inspect box | jq 'any((.egress_denied // .egress.denials)[]; .name == "other.hutch.test" and .why == "name")')"
    hutch egress --json box >"$WORK/json"
    grep -q raw.hutch.test "$WORK/json"
    grep -q other.hutch.test "$WORK/json"
    hutch egress box >"$WORK/out"
    grep -q raw.hutch.test "$WORK/out"
    grep -q other.hutch.test "$WORK/out"
    hutch rm -f box
    wait
}

@test "a root of another's own: its resolv.conf does not count, wherever it leads" {
    needs_root
    local root=$WORK/root
    mkdir -p "$root"/{bin,etc,tmp,outside}
    cp /bin/busybox "$root/bin/"
    ln -s busybox "$root/bin/sh"
    for target in file /etc/hostname ../../../outside /nowhere; do
        rm -f "$root/etc/resolv.conf"
        if [ $target = file ]; then echo 'nameserver 45.45.45.53' >"$root/etc/resolv.conf"; else ln -s $target "$root/etc/resolv.conf"; fi
        result --rootfs "$root" --egress raw.hutch.test -- \
            /bin/busybox sh -c 'busybox grep nameserver /etc/resolv.conf; busybox wget -q -O- http://raw.hutch.test/'
        same "over $target" $'nameserver 198.18.0.1\nok' "$(field .stdout | grep -v fd68)"
    done
    same "the root is as it was" /nowhere "$(readlink "$root/etc/resolv.conf")"
}

@test "without egress nothing is different: no gateway, no address, no name server" {
    result -- /usr/bin/python3 -c '
import os, socket
print(os.path.exists("/etc/resolv.conf"))
for where in ("198.18.0.1", 53), ("198.18.0.2", 80):
    try: socket.create_connection(where, 2); print("open")
    except OSError as error: print(error.errno)'
    ended exited 0 null
    same stdout $'False\n101\n101\n' "$(field .stdout)"$'\n'
    create box
    same gateways "" "$(gateway_of "$(keeper_of box)")"
    hutch rm -f box
}

@test "a backend that has no gateway refuses, before it asks an engine" {
    local BACKEND_FLAGS=()
    call run --backend docker --image hutch-test/nothing --egress raw.hutch.test -- true
    refused 125 "egress 'raw.hutch.test'.*backend 'docker'"
    same "questions" 0 "$(question_count)"
}
