#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Clients inside that try to get further than their rules: names, addresses, handshakes, requests, other ways out.

load ../lib
load ../integration/words
load ../sandbox/words
load upstream

setup_file() { upstream_start; }
teardown_file() { upstream_stop; }

# One a line, as printf %b reads it.
bad_rules() {
    cat <<'END'

\040
*
*.
.
..
a..b
.a.b
*a.hutch.test
a.*.test
**.a.test
*.*.a.test
*.1.2
1.2.3.4
45.45.45.20:80
[::1]
[::1]:80
::1
2a09:beef::20
127.1
0x7f.1
2130706433
017700000001
0x7f000001
1.2.3.0x4
a.b.4
http://raw.hutch.test
raw.hutch.test/
raw.hutch.test/x
user@raw.hutch.test
raw.hutch.test:
raw.hutch.test:0
raw.hutch.test:65536
raw.hutch.test:80a
raw.hutch.test:-1
raw.hutch.test:+80
raw.hutch.test: 80
raw.hutch.test:80:81
raw.hutch.test:80,
raw.hutch.test:,80
raw.hutch.test:*
raw.hutch.test:http
raw.hutch.test:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17
:80
raw hutch.test
 raw.hutch.test
raw.hutch.test\040
raw.hutch.test\n\040
raw\t.hutch.test
räw.hutch.test
ｒａｗ.hutch.test
raw。hutch.test
raw.hutch.test?
raw.hutch.test#
raw%2ehutch.test
raw\\\\.hutch.test
[raw.hutch.test]
(raw.hutch.test)
"raw.hutch.test"
-
END
    printf 'a%.0s' {1..64} && echo .test
    printf 'aaaa.%.0s' {1..60} && echo test
}

@test "rules that are none are refused in one sentence, and nothing runs" {
    local rule count=0
    while IFS= read -r rule; do
        plain --egress "$(printf %b "$rule")" -- echo ran </dev/null
        same "exit status for '$rule'" 125 "$status"
        same "output for '$rule'" "" "$(cat "$WORK/out")"
        same "lines about '$rule'" 1 "$(grep -c '' "$WORK/said")"
        count=$((count + 1))
    done < <(bad_rules)
    between "rules" 60 100 $count
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
    # shellcheck disable=SC2016
    result --egress raw.hutch.test --egress '*.wild.hutch.test' -- sh -c '
        for name in hutch.test a.raw.hutch.test evilraw.hutch.test raw.hutch.test.evil.test wild.hutch.test \
            evilwild.hutch.test a.wild.hutch.test.evil.test localhost.evil.test raw; do
            curl -sS -m 5 "http://$name/$name"; echo $?; done'
    same "curl's ends" "6 6 6 6 6 6 6 6 6" "$(field '.stdout' | xargs)"
    same "questions" 0 "$(question_count)"
    for name in hutch.test a.raw.hutch.test evilraw.hutch.test raw.hutch.test.evil.test wild.hutch.test raw; do
        holds "$name is told" "any(.egress_denied[]; .name == \"$name\" and .why == \"name\")"
    done
}

@test "questions that are no good get no answer that helps, and none goes further" {
    attack name_attacks.py -- --egress raw.hutch.test --egress '*.wild.hutch.test'
    same "what went wrong" "done" "$(cat "$WORK/rows")"
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

# The names of upstream/zone.py for all that must not be dialled: alone, beside a good address, and after one.
inward_labels() {
    /usr/bin/python3 -B - "$EGRESS_TESTS/upstream" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from places import RAW, TRAPS, UNBOUND, hexed
good = hexed(RAW[0])
print("\n".join(hexed(address) for address in TRAPS + UNBOUND))
for bad in map(hexed, ("127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254")):
    print(f"{bad}-{good}", f"{good}-{bad}", f"flip-{good}-{bad}", sep="\n")
PY
}

@test "names below a wildcard, without end: the gateway keeps its size, and exact names go on" {
    attack wild_names.py -- --egress raw.hutch.test --egress '*.wild.hutch.test'
    same "what went wrong" "done" "$(cat "$WORK/rows")"
    asked_only raw.hutch.test # which is dialled in the end
}

@test "an allowed name that leads to what is private, loopback, link-local or metadata, in any disguise, is not dialled" {
    local labels name
    mapfile -t labels < <(inward_labels)
    attack address_attacks.py "${labels[@]}" -- --egress '*.ip.hutch.test:80,7000'
    judge $((3 * ${#labels[@]}))
    no_trap_was_reached
    holds "it is told why" '[.egress_denied[] | .why] | unique == ["range"]'
    for name in inward.hutch.test inhosts.hutch.test 7f000001.ip.hutch.test; do
        result --egress "$name" -- curl -s -m 5 "http://$name/"
        holds "$name is told" "[.egress_denied[] | \"\(.name) \(.port) \(.why)\"] == [\"$name 80 range\"]"
    done
}

@test "a name whose answer changes is looked at whenever it is dialled" {
    local name=flip-2d2d2d14-ac100001.ip.hutch.test
    create box --egress "$name"
    same "the first time" ok "$(hutch exec box -- curl -sS -4 -m 5 "http://$name/")"
    sleep 6 # its answers are good for five seconds
    not hutch exec box -- curl -sS -m 5 "http://$name/"
    no_trap_was_reached
    hutch rm -f box
}

@test "HTTP: every request on a connection names the host that was dialled, in one way only" {
    attack http_attacks.py -- --egress raw.hutch.test:80,443,7000
    judge 300
    asked_only raw.hutch.test
}

@test "TLS: the handshake names the host that was dialled and hides nothing, however it is cut" {
    attack tls_attacks.py -- --egress raw.hutch.test:443,7000
    judge 120
    asked_only raw.hutch.test
}

@test "a refused request is told: 403 with a sentence to the client, host and reason in the result" {
    result --egress web.hutch.test -- sh -c 'curl -sS -m 5 -i -H "Host: other.hutch.test" http://web.hutch.test/
        curl -sS -k -m 5 --connect-to other.hutch.test:443:web.hutch.test:443 https://other.hutch.test/'
    holds "the client is told" '.stdout | startswith("HTTP/1.1 403 ") and contains("web.hutch.test") and contains("Host")'
    holds "both are told" '[.egress_denied[] | "\(.name) \(.port) \(.why)"] | sort == ["web.hutch.test 443 sni", "web.hutch.test 80 host"]'
    same "requests that arrived" 0 "$(reached_count '.event == "request"')"
}

@test "a name on the same server is not reached by the allowed one's connection" {
    # shellcheck disable=SC2016
    result --egress web.hutch.test -- sh -c 'address=$(getent ahostsv4 web.hutch.test | sed -n "1s/ .*//p")
        curl -s -m 5 -k --resolve "shared.hutch.test:443:$address" https://shared.hutch.test/; echo $?
        curl -s -m 5 -L http://web.hutch.test/elsewhere; echo $?'
    holds "neither by its address nor by a redirection" '.stdout | test("^(35|56|16|52|55)\n6\n$")'
    same "requests for shared" 0 "$(reached_count '.event == "request" and (tostring | test("shared"))')"
}

@test "no other way out: addresses, ports, UDP, raw sockets, IPv6, routes; and servers of its own work" {
    local mark
    attack doors.py -- --egress raw.hutch.test:7000
    same "open doors" "" "$(grep BAD "$WORK/rows" || true)"
    asked_only raw.hutch.test
    mark=$(sed -n 's/^MARK //p' "$WORK/rows" | tr -d '\n' | od -An -tx1 | tr -d ' \n')
    same "length of the mark" 64 ${#mark}
    same "what has arrived" "" "$(reached ".event == \"bytes\" and (.data | contains(\"$mark\"))" | head -n 3)"
    same "connections to others than raw:7000" 0 "$(reached_count '.event == "connect" and (.kind != "raw" or .port != 7000)')"
    holds "ports that no rule has are told" 'any(.egress_denied[]; .name == "raw.hutch.test" and .port == 8080 and .why == "port")'
    holds "addresses are told" 'any(.egress_denied[]; .why == "address")'
    holds "UDP is told" 'any(.egress_denied[]; .why == "udp")'
}
