#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Clients inside that try to get further than their rules: names, addresses, handshakes, requests, other ways out.

load ../lib
load ../integration/words
load upstream

setup_file() { upstream_start; }
teardown_file() { upstream_stop; }

@test "rules that are none are refused in one sentence, and nothing runs" {
    local rule
    for rule in '' ' ' '*' '*.' '.' '..' 'a..b' '.a.b' '*a.hutch.test' 'a.*.test' '**.a.test' '*.*.a.test' '*.1.2' \
        '1.2.3.4' '45.45.45.20:80' '[::1]' '[::1]:80' '::1' '2a09:beef::20' '127.1' '0x7f.1' '2130706433' '017700000001' '0x7f000001' '1.2.3.0x4' 'a.b.4' \
        'http://raw.hutch.test' 'raw.hutch.test/' 'raw.hutch.test/x' 'user@raw.hutch.test' 'raw.hutch.test:' 'raw.hutch.test:0' 'raw.hutch.test:65536' 'raw.hutch.test:80a' \
        'raw.hutch.test:-1' 'raw.hutch.test:+80' 'raw.hutch.test: 80' 'raw.hutch.test:80:81' 'raw.hutch.test:80,' 'raw.hutch.test:*' 'raw.hutch.test:http' ':80' 'raw hutch.test' ' raw.hutch.test' \
        'raw.hutch.test ' $'raw.hutch.test\n' $'raw\t.hutch.test' 'räw.hutch.test' 'ｒａｗ.hutch.test' 'raw。hutch.test' 'raw.hutch.test?' 'raw.hutch.test#' 'raw%2ehutch.test' 'raw\.hutch.test' \
        "$(printf 'a%.0s' {1..64}).test" "$(printf 'aaaa.%.0s' {1..60})test" 'raw.hutch.test:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17' '[raw.hutch.test]' '(raw.hutch.test)' '"raw.hutch.test"' '-'; do
        plain --egress "$rule" -- echo ran
        same "exit status for '$rule'" 125 "$status"
        same "output for '$rule'" "" "$(cat "$WORK/out")"
        same "lines about '$rule'" 1 "$(grep -c '' "$WORK/said")"
    done
    same "questions" 0 "$(question_count)"
}

@test "one name in many spellings is one rule" {
    local rule
    for rule in RAW.Hutch.TEST raw.hutch.test. raw.hutch.test:80 raw.hutch.test:81,80 '*.hutch.test:80' '*.Hutch.TEST.'; do
        result --egress "$rule" -- curl -sS -m 5 http://raw.hutch.test/
        same "$rule" ok "$(field '.stdout | rtrimstr("\n")')"
    done
    asked_only raw.hutch.test
}

@test "a rule for a name is no rule for its parent, its children or what looks like it" {
    local name
    forget
    result --egress raw.hutch.test --egress '*.wild.hutch.test' -- sh -c 'for name in hutch.test a.raw.hutch.test evilraw.hutch.test raw.hutch.test.evil.test wild.hutch.test \
        evilwild.hutch.test a.wild.hutch.test.evil.test localhost.evil.test raw; do curl -sS -m 5 "http://$name/$name"; echo $?; done'
    same "curl's ends" "6 6 6 6 6 6 6 6 6" "$(field '.stdout' | xargs)"
    same "questions" 0 "$(question_count)"
    for name in hutch.test a.raw.hutch.test evilraw.hutch.test raw.hutch.test.evil.test wild.hutch.test raw; do
        holds "$name is told" "any(.egress_denied[]; .name == \"$name\" and .why == \"name\")"
    done
}

@test "questions that are no good get no answer that helps, and none goes further" {
    result "${INSIDE[@]}" --timeout 60s --egress raw.hutch.test --egress '*.wild.hutch.test' -- /usr/bin/python3 /inside/name_attacks.py
    ended exited 0 null
    same "what went wrong" "done" "$(field '.stdout | rtrimstr("\n")')"
    same "questions" 0 "$(question_count)"
}

@test "10,000 denied names: not one question upstream" {
    result "${INSIDE[@]}" --timeout 100s --egress raw.hutch.test -- /usr/bin/python3 -c '
import sys; sys.path.insert(0, "/inside")
import os, socket, time
from attack import ask, question, reply_code
denied, start = 0, time.monotonic()
for i in range(9800):
    name = os.urandom(8).hex().encode() + (b".evil.test", b".hutch.test", b".raw.hutch.test", b".com")[i % 4]
    denied += reply_code(ask(question(name, (1, 28, 16, 65)[i // 4 % 4]), ("198.18.0.1", "fd68:7574:6368::1")[i % 2])) == (3, 0)
for i in range(200):
    try: socket.getaddrinfo(f"data-{i}.evil.test", 443)
    except socket.gaierror: denied += 1
print(denied)
print(f"{time.monotonic() - start:.1f} s", file=sys.stderr)'
    same "denied" 10000 "$(field '.stdout | rtrimstr("\n")')"
    same "questions" 0 "$(question_count)"
    holds "all of them are counted" '.egress.denied >= 10000'
    holds "the table of them is bounded" '.egress_denied | length > 0 and length <= 256'
    forget
    result --egress raw.hutch.test -- curl -sS -m 5 http://raw.hutch.test/
    same "the oracle hears" raw.hutch.test "$(questions)"
}

@test "an allowed name that resolves to what is private, loopback, link-local, metadata, or such an address in disguise is not dialled" {
    local labels
    mapfile -t labels < <(/usr/bin/python3 -c '
import sys; sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from places import TRAPS, UNBOUND, RAW, hexed
bad = TRAPS + UNBOUND
for address in bad: print(hexed(address))
for address in "127.0.0.1", "10.0.0.1", "169.254.169.254": # beside a good one, before it and after it
    print(hexed(address) + "-" + hexed(RAW[0])); print(hexed(RAW[0]) + "-" + hexed(address)); print("flip-" + hexed(RAW[0]) + "-" + hexed(address))
print(hexed("::1") + "-" + hexed(RAW[0]))
' "$EGRESS_TESTS/upstream")
    status=0
    hutch run --json --timeout 100s --output-limit 8m "${INSIDE[@]}" --egress '*.ip.hutch.test:80,7000' -- /usr/bin/python3 /inside/address_attacks.py "${labels[@]}" \
        >"$WORK/json" 2>"$WORK/said" || status=$?
    ended exited 0 null
    field .stdout >"$WORK/rows"
    judge "$WORK/rows" $((3 * ${#labels[@]}))
    no_trap_was_reached
    holds "it is told why" '[.egress_denied[] | .why] | unique == ["range"]'
    # a name whose answer changes is looked at whenever it is dialled
    result --egress flip-2d2d2d14-7f000001.ip.hutch.test:7000 --egress inward.hutch.test:7000 --egress inhosts.hutch.test -- sh -c 'for i in 1 2 3; do
        sleep 0.1; echo hello | timeout 5 python3 -c "import socket; s = socket.create_connection((\"inward.hutch.test\", 7000), 3); s.sendall(b\"inward\"); print(s.recv(9))" 2>&1 | tail -n 1
        curl -s -m 5 http://inhosts.hutch.test/ || echo denied; done'
    no_trap_was_reached
    holds "it is told why" 'any(.egress_denied[]; .name == "inward.hutch.test" and .why == "range") and any(.egress_denied[]; .name == "inhosts.hutch.test" and .why == "range")'
}

@test "HTTP: every request on a connection names the host that was dialled, in one way only" {
    attack 300 http_attacks.py --egress raw.hutch.test:80,443,7000
    asked_only raw.hutch.test
}

@test "TLS: the handshake names the host that was dialled and hides nothing, however it is cut" {
    attack 110 tls_attacks.py --egress raw.hutch.test:443,7000
    asked_only raw.hutch.test
}

@test "a refused request is told: 403 with a sentence to the client, host and reason in the result" {
    result --egress web.hutch.test -- sh -c 'curl -sS -m 5 -i -H "Host: other.hutch.test" http://web.hutch.test/; curl -sS -k -m 5 --connect-to other.hutch.test:443:web.hutch.test:443 https://other.hutch.test/'
    holds "the client is told" '.stdout | startswith("HTTP/1.1 403 ") and contains("other.hutch.test")'
    holds "both are told" '[.egress_denied[] | "\(.name) \(.port) \(.why)"] | sort == ["web.hutch.test 443 sni", "web.hutch.test 80 host"]'
    same "requests that arrived" 0 "$(reached_count '.event == "request"')"
}

@test "a name on the same server is not reached by the allowed one's connection" {
    result --egress web.hutch.test -- sh -c 'curl -s -m 5 -k --resolve shared.hutch.test:443:$(getent ahostsv4 web.hutch.test | awk "NR == 1 {print \$1}") https://shared.hutch.test/; echo $?
        curl -s -m 5 -L http://web.hutch.test/elsewhere; echo $?'
    holds "neither by its address nor by a redirection" '.stdout | test("^(35|56|16|52|55)\n6\n$")'
    same "requests for shared" 0 "$(reached_count '.event == "request" and ((.sni == "shared.hutch.test") or (.headers | tostring | test("shared")))')"
}

@test "no other way out: addresses, ports, UDP, raw sockets, IPv6, routes; and servers of its own work" {
    result "${INSIDE[@]}" --timeout 60s --egress raw.hutch.test:7000 -- /usr/bin/python3 /inside/doors.py
    ended exited 0 null
    same "open doors" "" "$(field .stdout | grep BAD || true)"
    asked_only raw.hutch.test
    local mark
    mark=$(field .stdout | sed -n 's/^MARK //p' | od -An -tx1 | tr -d ' \n')
    same "what has arrived" "" "$(reached ".event == \"bytes\" and (.data | contains(\"${mark%0a}\"))" | head -n 3)"
    same "connections to others than raw:7000" 0 "$(reached_count '.event == "connect" and (.kind != "raw" or .port != 7000)')"
    holds "ports that no rule has are told" 'any(.egress_denied[]; .name == "raw.hutch.test" and .port == 8080 and .why == "port")'
    holds "addresses are told" 'any(.egress_denied[]; .why == "address")'
    holds "UDP is told" 'any(.egress_denied[]; .why == "udp")'
}
