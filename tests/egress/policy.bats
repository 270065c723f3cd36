#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What an operator says about the network: hosts, ranges that are opened, a proxy on the way out.

load ../lib
load ../integration/words
load ../sandbox/words
load upstream

setup_file() { upstream_start; }
teardown_file() { upstream_stop; }

policy() { # JSON
    echo "$1" >"$WORK/policy.json"
    chmod 644 "$WORK/policy.json"
}
under() { result --policy "$WORK/policy.json" "$@"; } # FLAG... -- COMMAND...

@test "hosts that the policy does not have are refused by its line" {
    policy '{"egress": {"hosts": ["raw.hutch.test:80", "*.wild.hutch.test"]}}'
    under --egress raw.hutch.test:80 --egress a.wild.hutch.test -- curl -sS -m 5 http://raw.hutch.test/
    same stdout ok "$(field '.stdout | rtrimstr("\n")')"
    local rule
    for rule in web.hutch.test raw.hutch.test:443 raw.hutch.test '*.hutch.test' wild.hutch.test '*.wild.hutch.test:22' a.raw.hutch.test; do
        status=0
        hutch run --policy "$WORK/policy.json" --egress "$rule" -- echo ran >"$WORK/out" 2>"$WORK/said" || status=$?
        refused 125 "egress.hosts.*policy.json"
        same "output for $rule" "" "$(cat "$WORK/out")"
    done
    policy '{"egress": {"hosts": []}}'
    status=0
    hutch run --policy "$WORK/policy.json" --egress raw.hutch.test -- echo ran >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "egress.hosts"
}

@test "a range that is opened is reached, its neighbours are not" {
    export TRAP_MAY_BE_REACHED=1
    policy '{"egress": {"hosts": ["*.ip.hutch.test"], "ranges": ["10.0.0.0/30", "fd00:ec2::254/128"]}}'
    under --egress '*.ip.hutch.test' -- sh -c 'for name in 0a000001 fd000ec2000000000000000000000254; do curl -sS -m 5 "http://$name.ip.hutch.test/"; done
        for name in 0afffffe 7f000001 a9fea9fe 0064ff9b00000000000000000a000001 20020a00000100000000000000000001 00000000000000000000ffff0a000001 c0a80001; do
            curl -s -m 5 "http://$name.ip.hutch.test/"; done; echo end'
    same stdout $'ok\nok\nend' "$(field .stdout)"
    same "traps that were reached" "10.0.0.1 fd00:ec2::254" "$(reached '.event == "connect" and .kind == "trap"' | jq -r .local | sort -u | xargs)"
}

@test "through a proxy by SOCKS and by CONNECT: the name goes there, no question is asked for it, the checks are as ever" {
    local proxy event
    for proxy in socks5://proxy.hutch.test:1080 http://proxy.hutch.test:3128; do
        forget
        policy "{\"egress\": {\"proxy\": \"$proxy\"}}"
        under --egress raw.hutch.test --egress web.hutch.test -- sh -c 'curl -sS -m 5 http://raw.hutch.test/ && curl -sS -m 5 https://web.hutch.test/proxied
            curl -s -m 5 -H "Host: other.hutch.test" http://raw.hutch.test/ -o /dev/null -w "%{http_code}\n"; curl -s -m 5 http://other.hutch.test/ || echo $?'
        same "through $proxy" $'ok\n{"host": "web.hutch.test", "sni": "web.hutch.test", "method": "GET", "path": "/proxied", "body": 0}\n403\n6' "$(field .stdout)"
        asked_only proxy.hutch.test
        event=socks
        [ "${proxy%%:*}" = socks5 ] || event=connect_proxy
        same "names that the proxy heard" "raw.hutch.test:80 web.hutch.test:443" \
            "$(reached ".event == \"$event\"" | jq -r '"\(.name):\(.port)"' | sort -u | xargs)"

    done
}
