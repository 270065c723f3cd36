#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Secrets that stay outside: requests to their hosts get them on the way, in plain HTTP and inside TLS that is intercepted for that.
# What the servers wrote down is the oracle.

load ../lib
load ../integration/words
load ../sandbox/words
load ../sandbox/secrets
load upstream

setup_file() { upstream_start; }
teardown_file() { upstream_stop; }

# After the words of sandboxes, which have a create of their own.
PLAIN='token:edge=web.hutch.test:Authorization: Bearer {}'
SECURE='token:edge-tls=web.hutch.test:Authorization: Bearer {}'
WEB_RULES=(--egress web.hutch.test:80,443,8080,8443 --egress git.hutch.test --egress other.hutch.test --egress a.b.many.hutch.test)

vault() { # VALUE
    providers '{"secrets": {"token": {"file": "VAULT/token"}}}'
    plant token "$1"
}

# What a server was sent in the header of this name, one a line.
received() { # HEADER [JQ-CONDITION]
    reached ".event == \"request\" and (${2:-true})" | jq -r --arg name "$1" '.headers[] | select((.[0] | ascii_downcase) == $name) | .[1]'
}

@test "plain HTTP: the header is added on the bound host and port, and nowhere else" {
    local value
    value=$(canary)
    vault "$value"
    result "${WEB_RULES[@]}" --secret "$PLAIN" -- sh -c '
        curl -sS http://web.hutch.test/one -H "Authorization: mine" -H "authorization: twice" -H "X-Other: stays"
        curl -sS http://web.hutch.test/two http://web.hutch.test/three
        curl -sS http://web.hutch.test:8080/four -H "Authorization: mine"
        curl -sS https://web.hutch.test/five
        curl -sS http://git.hutch.test/six'
    ended exited 0 null
    same "on the bound host" "$(printf 'Bearer %s\n' "$value" "$value" "$value")" "$(received authorization '.line | test("one|two|three")')"
    same "others of the request stay" stays "$(received x-other)"
    same "on another port, as it was sent" mine "$(received authorization '.line | test("four")')"
    same "elsewhere" "" "$(received authorization '.line | test("five|six")')"
    lacks "$value" "$WORK/json" "$WORK/said"
}

@test "a redirect does not take it along" {
    # shellcheck disable=SC2034 # where it leads is a place that others may not reach
    TRAP_MAY_BE_REACHED=1
    local value
    value=$(canary)
    vault "$value"
    result "${WEB_RULES[@]}" --secret "$PLAIN" -- curl -sSL -m 5 http://web.hutch.test/elsewhere
    same "only where it belongs" 1 "$(reached_count ".event == \"request\" and (.headers | tostring | contains(\"$value\"))")"
    lacks "$value" "$WORK/json"
}

@test "HTTPS: curl, python and node get it added, and trust what they see" {
    local value program
    value=$(canary)
    vault "$value"
    local -A programs=(
        [curl]='curl -sS https://web.hutch.test/by-curl -H "Authorization: mine"'
        [python]='python3 -c "import urllib.request; urllib.request.urlopen(\"https://web.hutch.test/by-python\").read()"'
        [node]='node -e "fetch(\"https://web.hutch.test/by-node\").then((r) => r.text()).then(console.log, (why) => { console.log(String(why)); process.exitCode = 1; })"'
    )
    for program in curl python node; do
        result --memory 1g "${WEB_RULES[@]}" --secret "$SECURE" -- sh -c "${programs[$program]}"
        ended exited 0 null
        lacks "$value" "$WORK/json" "$WORK/said"
        same "what the server got of $program" "Bearer $value" "$(received authorization ".line | test(\"by-$program\")")"
        same "its own name" web.hutch.test "$(reached ".event == \"request\" and (.line | test(\"by-$program\"))" | jq -r .sni)"
        holds "nothing was denied" '.egress_denied == []'
    done
}

@test "HTTPS: keep-alive, large bodies and the port that was bound" {
    vault hidden-token-value
    result "${WEB_RULES[@]}" --secret 'token:edge-tls=web.hutch.test:8443:X-Api-Key: {}' -- sh -c '
        head -c 3000000 /dev/zero >/tmp/up
        curl -sS -T /tmp/up https://web.hutch.test:8443/up https://web.hutch.test:8443/up2 | grep -o "body.*"
        curl -sS https://web.hutch.test:8443/bytes/9000000 | wc -c
        curl -sS https://web.hutch.test/other | wc -l'
    ended exited 0 null
    same stdout $'9000000\n1' "$(field .stdout | grep -v body)"
    same "on the port" 3 "$(received x-api-key | grep -c '^hidden-token-value$')"
    same "on another" 0 "$(reached '.event == "request" and (.line | test("other")) and (.headers | tostring | contains("hidden-token"))' | wc -l)"
}

@test "only bound hosts are intercepted" {
    vault hidden-token-value
    # shellcheck disable=SC2016
    result "${WEB_RULES[@]}" --secret "$SECURE" -- python3 -c '
import socket, ssl
for host, port in ("web.hutch.test", 443), ("web.hutch.test", 8443), ("git.hutch.test", 443):
    with ssl.create_default_context().wrap_socket(socket.create_connection((host, port), 5), server_hostname=host) as tls:
        print(host, port, dict(part[0] for part in tls.getpeercert()["issuer"])["commonName"], tls.version() in ("TLSv1.2", "TLSv1.3"))'
    ended exited 0 null
    same "who signed" $'web.hutch.test 443 hutch sandbox authority True
web.hutch.test 8443 hutch tests True
git.hutch.test 443 hutch tests True' "$(field .stdout)"
}

@test "a server whose certificate is not good gets nothing" {
    local value
    value=$(canary)
    vault "$value"
    result "${WEB_RULES[@]}" --secret 'token:edge-tls=a.b.many.hutch.test:Authorization: {}' -- curl -sS -m 10 -w '%{http_code}' https://a.b.many.hutch.test/name
    holds "it is told" '[.egress_denied[] | select(.name == "a.b.many.hutch.test" and .why == "certificate")] | length > 0'
    same "requests that arrived" 0 "$(reached_count '.event == "request"')"
    # the same server, of an authority that this host does not know
    cp "$UPSTREAM/certs/ca-certificates.crt" "$WORK/trusted"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=another" -keyout "$WORK/key" \
        -out "$UPSTREAM/certs/ca-certificates.crt" 2>/dev/null
    result "${WEB_RULES[@]}" --secret "$SECURE" -- curl -sS -m 10 https://web.hutch.test/unknown
    cat "$WORK/trusted" >"$UPSTREAM/certs/ca-certificates.crt"
    same "requests that arrived" 0 "$(reached_count '.event == "request"')"
    not grep -qF "$value" "$UPSTREAM/reached.log"
}

@test "a client that does not trust the authority, and what is no HTTP, get nothing out" {
    vault hidden-token-value
    result "${WEB_RULES[@]}" --secret "$SECURE" -- sh -c '
        curl -sS -m 5 --cacert /dev/null https://web.hutch.test/untrusted; printf "GET / HTTP/1.1\r\nHost: web.hutch.test\r\n\r\n" | timeout 5 nc -w 2 web.hutch.test 443
        python3 -c "
import socket, ssl
tls = ssl.create_default_context().wrap_socket(socket.create_connection((\"web.hutch.test\", 443), 5), server_hostname=\"web.hutch.test\")
tls.sendall(b\"GET / HTTP/1.1\r\nHost: git.hutch.test\r\n\r\n\"); print(tls.recv(1000)[:12])
tls = ssl.create_default_context().wrap_socket(socket.create_connection((\"web.hutch.test\", 443), 5), server_hostname=\"web.hutch.test\")
tls.sendall(b\"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\")
try: print(tls.recv(1000)[:12])
except OSError as why: print(type(why).__name__)
"; true'
    same "requests with the value" 0 "$(reached_count '.event == "request" and (.headers | tostring | contains("hidden-token"))')"
}

@test "the value is nowhere inside, and nowhere in a process or file of hutch's; also when the gateway is killed" {
    local value gateway
    value=$(canary)
    vault "$value"
    create box "${WEB_RULES[@]}" --secret "$SECURE" --secret "$PLAIN"
    call exec box -- curl -sS https://web.hutch.test/first http://web.hutch.test/second
    same "exit status" 0 "$status"
    same "what arrived" 2 "$(received authorization | grep -cxF "Bearer $value")"
    nowhere "$value"
    # shellcheck disable=SC2016
    hutch exec box -- sh -c 'env; cat /proc/*/environ /proc/*/cmdline; cat /run/hutch/*; ls -laR /run /tmp /home /etc/ssl; true' >"$WORK/inside" 2>&1
    lacks "$value" "$WORK/inside"
    hutch inspect box >"$WORK/one"
    hutch egress --json box >"$WORK/two"
    lacks "$value" "$WORK/one" "$WORK/two"
    gateway=$(grep -lsxz hutch-gateway /proc/[0-9]*/cmdline | while IFS=/ read -r _ _ pid _; do
        [ ! "/proc/$pid/ns/net" -ef "/proc/$UPSTREAM_PID/ns/net" ] || echo "$pid"; done | tail -n 1)
    [ -n "$gateway" ]
    kill -KILL "$gateway"
    until_true 10 hutch exec box -- curl -sS -m 5 https://web.hutch.test/again
    same "by the next gateway, with the authority that is trusted" "Bearer $value" "$(received authorization '.line | test("again")' | tail -n 1)"
    hutch rm -f box
    nowhere "$value"
}

@test "what cannot be is refused" {
    vault $'two\nlines'
    call run "${WEB_RULES[@]}" --secret "$PLAIN" -- true
    same "exit status" 125 "$status"
    grep -q "bytes that no header can have" "$WORK/said"
    lacks lines "$WORK/said"
    plant token fine
    call run --egress git.hutch.test --secret "$PLAIN" -- true
    grep -q "which no rule of egress allows" "$WORK/said"
    call run --egress web.hutch.test:80 --secret "$SECURE" -- true
    grep -q "'web.hutch.test:443', which no rule" "$WORK/said"
}
