#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Real programs reach what a rule names, and nothing else. None of them knows of a proxy.

load ../lib
load ../integration/words
load ../sandbox/words
load upstream

setup_file() { upstream_start; }
teardown_file() { upstream_stop; }

# as it comes with python3-venv
PIP="/usr/bin/python3 \$(echo /usr/share/python-wheels/pip-*.whl)/pip"
declare -gA PROGRAM=(
    [curl]='curl -sS -m 20 https://web.hutch.test/by-curl && curl -sS -m 20 http://web.hutch.test/plainly'
    [git]='git clone -q https://git.hutch.test/repo.git /tmp/repo && git -C /tmp/repo log --format=%s'
    [pip]="$PIP install -q --no-cache-dir --disable-pip-version-check --retries 0 --root-user-action ignore --target /tmp/site \
        --index-url https://pypi.hutch.test/simple hutchling && PYTHONPATH=/tmp/site python3 -c 'import hutchling; print(hutchling.SAYS)'"
    [node]='NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt node -e "fetch(\"https://web.hutch.test/by-node\")
        .then((r) => r.json()).then((told) => console.log(told.sni + told.path), (why) => { console.log(String(why)); process.exitCode = 1; })"'
    [python]='python3 -c "
import socket
with socket.create_connection((\"stream.hutch.test\", 7), 5) as sock:
    sock.sendall(b\"there and back\"); sock.shutdown(socket.SHUT_WR)
    print(sock.makefile().read())
"'
    [urllib]='python3 -c "import urllib.request; print(urllib.request.urlopen(\"https://web.hutch.test/by-urllib\").status)"'
    [redis-cli]='redis-cli -h redis.hutch.test SET hutch rabbit && redis-cli -h redis.hutch.test GET hutch'
    [kept]='python3 -c "
import http.client
connection = http.client.HTTPConnection(\"web.hutch.test\")
for i in range(20): connection.request(\"GET\", f\"/{i}\"), connection.getresponse().read()
print(20)
"'
)
RULES=(--egress web.hutch.test --egress git.hutch.test:443 --egress pypi.hutch.test --egress redis.hutch.test:6379)
RULES+=(--egress stream.hutch.test:7)
NAMES=(web.hutch.test git.hutch.test pypi.hutch.test redis.hutch.test stream.hutch.test)

works() { # PROGRAM EXPECTED-STDOUT
    result --memory 1g "${RULES[@]}" -- sh -c "${PROGRAM[$1]}"
    ended exited 0 null
    same "what $1 prints" "$2" "$(field .stdout)"
    holds "nothing was denied to $1" '.egress_denied == []'
    asked_only "${NAMES[@]}"
}

@test "curl: HTTPS and HTTP" {
    works curl $'{"host": "web.hutch.test", "sni": "web.hutch.test", "method": "GET", "path": "/by-curl", "body": 0}
{"host": "web.hutch.test", "sni": null, "method": "GET", "path": "/plainly", "body": 0}'
    holds "both connections are counted" '.egress.connections == 2 and .egress.bytes_in > 200 and .egress.bytes_out > 100'
    holds "by host and port" '[.egress.hosts[] | "\(.name):\(.port) \(.connections)"] | sort == ["web.hutch.test:443 1", "web.hutch.test:80 1"]'
}

@test "curl: a body of 4 MiB up, 20 MiB down, by IPv4 and by IPv6 alone" {
    result "${RULES[@]}" -- sh -c 'head -c 4194304 /dev/zero >/tmp/up && for ip in -4 -6; do
        curl -sS $ip -T /tmp/up https://web.hutch.test/up | grep -o "body.*" && curl -sS $ip http://web.hutch.test/bytes/20971520 | wc -c; done'
    ended exited 0 null
    same stdout $'body": 4194304}\n20971520\nbody": 4194304}\n20971520' "$(field .stdout)"
    between "bytes out" 8388608 9400000 "$(field .egress.bytes_out)"
    between "bytes in" 41943040 43000000 "$(field .egress.bytes_in)"
}

@test "git clones over HTTPS" { works git 'over the wire'; }
@test "pip installs from an index" { works pip 'a small rabbit'; }
@test "node fetches" { works node 'web.hutch.test/by-node'; }
@test "python: a socket of its own to a raw port, half-closed" { works python 'there and back'; }
@test "python: urllib verifies the real server's certificate" { works urllib '200'; }
@test "python: 20 requests on one connection that is kept alive" { works kept '20'; }
@test "redis-cli stores and reads a value" {
    works redis-cli $'OK\nrabbit'
    same "what the server heard" '["SET","hutch","rabbit"]' "$(reached '.event == "redis" and .words[0] == "SET"' | jq -c .words)"
}

@test "a server that speaks first, and one that is upgraded" {
    result --egress stream.hutch.test:25 --egress web.hutch.test -- /usr/bin/python3 -c '
import socket
with socket.create_connection(("stream.hutch.test", 25), 5) as sock:
    lines = sock.makefile()
    print(lines.readline().strip())
    sock.sendall(b"HELO\r\n")
    print(lines.readline().strip())
with socket.create_connection(("web.hutch.test", 80), 5) as sock:
    sock.sendall(b"GET /up HTTP/1.1\r\nHost: web.hutch.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
    print(sock.recv(4096).split(b"\r\n")[0].decode())
    sock.sendall(b"\0opaque\1")
    print(sock.recv(100))'
    ended exited 0 null
    same stdout $'220 hutch ready\n250 HELO\nHTTP/1.1 101 Switching Protocols\nb\'\\x00opaque\\x01\'' "$(field .stdout)"
}

@test "names that are aliases, in /etc/hosts, of one family, with a truncated or a forged answer, and one server of two dead" {
    local name
    for name in alias chain byhosts four six big forged half under_score; do
        result --egress "$name.hutch.test" -- curl -sS -m 10 "http://$name.hutch.test/x"
        ended exited 0 null
        same "$name" "$name.hutch.test" "$(field '.stdout | fromjson | .host')"
    done
    asked_only alias.hutch.test chain.hutch.test four.hutch.test six.hutch.test big.hutch.test forged.hutch.test half.hutch.test under_score.hutch.test \
        web.hutch.test chain2.hutch.test byhosts.hutch.test
}

@test "names that cannot be had fail soon and are told" {
    local name why=resolve
    for name in nx servfail garbage empty loop silent dead; do
        [ $name != dead ] || why=connect
        result --egress "$name.hutch.test" -- curl -sS -m 30 "http://$name.hutch.test/"
        holds "curl fails for $name" '.exit_code != 0 and .exit_code != 28'
        in_time "$name, ms" 0 12000 "$(field .duration_ms)"
        holds "it is told for $name" "[.egress_denied[] | \"\(.name) \(.port) \(.why)\"] == [\"$name.hutch.test 80 $why\"]"
    done
}

# Without a rule there is no name server and no gateway; with another's rule there is one that denies.
fails_at_once() { # FLAG...
    local program
    for program in "${!PROGRAM[@]}"; do
        result --memory 1g "$@" -- sh -c "${PROGRAM[$program]}"
        holds "$program fails" '.reason == "exited" and .exit_code != 0'
        # pip computes for seconds before it asks, longer where others do too; what counts is that nobody waits
        in_time "ms that $program waited" 0 2000 "$(field '[.duration_ms - 3 * .usage.cpu_ms, 0] | max')"
    done
    same "questions" 0 "$(question_count)"
    same "connections" 0 "$(reached_count true)"
}

@test "with an empty list all of them fail at once" {
    fails_at_once
    holds "nothing is told of a network that is not there" '.egress_denied == [] and (has("egress") | not)'
    result --egress none -- sh -c "${PROGRAM[curl]}"
    holds "an empty list in words" '.exit_code != 0 and .duration_ms < 2000'
    same "questions" 0 "$(question_count)"
}

@test "with a list that names another host all of them fail at once, and are told" {
    fails_at_once --egress raw.hutch.test
    holds "the last one is told" '.egress_denied | length > 0 and all(.why == "name" and .port == 0 and .times > 0)'
}
