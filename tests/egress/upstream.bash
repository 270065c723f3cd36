# SPDX-License-Identifier: Apache-2.0
# The world behind a gateway: network and mount namespaces of the test's own, in which hutch runs. Loaded after ../lib.bash,
# ../integration/words.bash and ../sandbox/words.bash.
#
#     upstream_start, upstream_stop      of setup_file and teardown_file: names, servers and traps (upstream/main.py)
#     hutch ...                          as ever, but in that world, whose /etc/resolv.conf, /etc/hosts and certificates are its own
#     questions                          what its name server was asked since the test began, a name a line
#     asked_only NAME...                 fails when it was asked for any other
#     reached JQ-CONDITION               what its servers wrote down since the test began
#     attack SCRIPT ARG... -- FLAG...    lets one of inside/ loose in a sandbox
#     judge LEAST                        compares what it says (inside/attack.py) with what has arrived
#
# The servers are the oracle: what did not reach them did not leave. On every address that must never be reached something listens and
# tells (upstream/places.py), and after each test nothing may have reached one. Nothing of the host's own network is touched.
#
# shellcheck shell=bash
# shellcheck disable=SC2034 # the tests read them

EGRESS_TESTS=$TOP/tests/egress
INSIDE=(--mount "$EGRESS_TESTS/inside:/inside:ro")
TRAP_MAY_BE_REACHED=
BACKEND_FLAGS=() # where sandboxes are made, such as --runtime runsc; of the tests that root runs
[ -z "${EGRESS_RUNTIME:-}" ] || BACKEND_FLAGS=(--backend oci --runtime "$EGRESS_RUNTIME")

upstream_start() {
    export UPSTREAM=$BATS_FILE_TMPDIR/upstream UPSTREAM_PID=
    [ "$(id -u)" = 0 ] || skip "needs root to make namespaces"
    mkdir -p "$UPSTREAM"/{static/simple/hutchling,git,certs}
    chmod 755 "$UPSTREAM" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
    upstream_certificates "$UPSTREAM" 2>/dev/null || return 1
    upstream_files "$UPSTREAM" || return 1
    unshare --net --mount sh -c '
        mount --bind "$0/resolv.conf" /etc/resolv.conf && mount --bind "$0/hosts" /etc/hosts && mount --bind "$0/certs" /etc/ssl/certs &&
            exec /usr/bin/python3 "$1" "$0"' "$UPSTREAM" "$EGRESS_TESTS/upstream/main.py" >"$UPSTREAM/out" 2>&1 3>&- &
    UPSTREAM_PID=$!
    until_true 20 test -s "$UPSTREAM/ready" || { cat "$UPSTREAM/out" >&2 && return 1; }
}

upstream_stop() { [ -z "${UPSTREAM_PID:-}" ] || kill "$UPSTREAM_PID"; }

# An authority that the world trusts, a certificate for its names, and one of an authority that nobody knows.
upstream_certificates() { # DIRECTORY
    local dir=$1 curve=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
    printf 'subjectAltName=DNS:*.hutch.test,DNS:*.many.hutch.test,DNS:*.wild.hutch.test\n' >"$dir/server.ext"
    openssl req -x509 "${curve[@]}" -days 2 -subj "/CN=hutch tests" -keyout "$dir/ca.key" -out "$dir/ca.pem"
    openssl req "${curve[@]}" -subj /CN=web.hutch.test -keyout "$dir/server.key" -out "$dir/server.csr"
    openssl x509 -req -in "$dir/server.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -CAcreateserial -days 2 -extfile "$dir/server.ext" \
        -out "$dir/server.pem"
    cp "$dir/ca.pem" "$dir/certs/ca-certificates.crt"
    openssl rehash "$dir/certs"
}

upstream_files() { # DIRECTORY
    local dir=$1
    printf 'nameserver 127.0.0.53\noptions timeout:1 attempts:1\nsearch evil.test\n' >"$dir/resolv.conf"
    printf '127.0.0.1 localhost\n::1 localhost\n45.45.45.10 byhosts.hutch.test\n10.0.0.1 inhosts.hutch.test\n' >"$dir/hosts"
    echo '<a href="/packages/hutchling-1.0-py3-none-any.whl">hutchling-1.0-py3-none-any.whl</a>' >"$dir/static/simple/hutchling/index.html"
    mkdir "$dir/static/packages"
    /usr/bin/python3 - "$dir/static/packages/hutchling-1.0-py3-none-any.whl" <<'PY'
import sys, zipfile
about = "hutchling-1.0.dist-info/"
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("hutchling.py", "SAYS = 'a small rabbit'\n")
    wheel.writestr(about + "METADATA", "Metadata-Version: 2.1\nName: hutchling\nVersion: 1.0\n")
    wheel.writestr(about + "WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(about + "RECORD", "hutchling.py,,\n")
PY
    git init -q -b main "$dir/work"
    git -C "$dir/work" -c user.name=T -c user.email=t@hutch.test commit -q --allow-empty -m "over the wire"
    git clone -q --bare "$dir/work" "$dir/git/repo.git"
}

# --- hutch, in that world ------------------------------------------------------------------------------------------------------

there() { nsenter --target "$UPSTREAM_PID" --net --mount -- "$@"; } # COMMAND...

hutch() {
    local verb=${1:-}
    case $HUTCH_TEST_AS:$verb in
    root:run | root:create)
        shift
        there "$HUTCH" "$verb" "${BACKEND_FLAGS[@]}" "$@"
        ;;
    root:*) there "$HUTCH" "$@" ;;
    user:run | user:create)
        shift
        there setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups "$HUTCH" "$verb" --allow-missing memory --allow-missing cpus "$@"
        ;;
    *) there setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups "$HUTCH" "$@" ;;
    esac
}

setup() {
    setup_world
    unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy no_proxy
    forget
}

# What follows is told of what happens from now on.
forget() {
    QUESTIONS_FROM=$(($(wc -l <"$UPSTREAM/questions.log") + 1))
    REACHED_FROM=$(($(wc -l <"$UPSTREAM/reached.log") + 1))
}

teardown() {
    local status=0 left
    left=$(jobs -p)
    # shellcheck disable=SC2086
    [ -z "$left" ] || kill -KILL $left 2>/dev/null || true
    wait
    [ -n "$TRAP_MAY_BE_REACHED" ] || no_trap_was_reached || status=1
    hutch gc >/dev/null 2>&1 || true # the pool's mount stays until a sweep finds it empty
    teardown_world || status=1
    return $status
}

# --- the oracle ------------------------------------------------------------------------------------------------------------------

questions() { tail -n "+$QUESTIONS_FROM" "$UPSTREAM/questions.log" | jq -r 'if .event == "question" then .name else .event end' | sort -u; }
question_count() { tail -n "+$QUESTIONS_FROM" "$UPSTREAM/questions.log" | wc -l; }
reached() { tail -n "+$REACHED_FROM" "$UPSTREAM/reached.log" | jq -c "select($1)"; } # JQ-CONDITION
reached_count() { reached "$1" | wc -l; }

asked_only() { # NAME...
    local others
    others=$(questions | grep -vxF "$(printf '%s\n' none "$@")" || true)
    same "other questions to the name server" "" "$others"
}

no_trap_was_reached() {
    local where
    where=$(reached '.event == "connect" and (.kind == "trap" or .kind == "other")' | jq -r '"\(.local):\(.port)"' | sort -u | head -n 20)
    same "addresses that nobody may reach" "" "$where"
}

# Attacks: what must be denied has not arrived, what must pass has; and nobody was kept waiting.
judge() { # LEAST: so many attacks at least
    tail -n "+$REACHED_FROM" "$UPSTREAM/reached.log" >"$WORK/reached"
    /usr/bin/python3 "$EGRESS_TESTS/judge.py" "$WORK/rows" "$WORK/reached" "$1" >"$WORK/complaints" || echo "no judgement" >>"$WORK/complaints"
    nothing_wrong "$WORK/complaints"
}

# --- gateways ---------------------------------------------------------------------------------------------------------------------

# A keeper has one.
gateway_of() { # PID-OF-KEEPER
    local child argv0
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
        argv0=
        read -r -d '' argv0 2>/dev/null <"/proc/$child/cmdline"
        [ "$argv0" != hutch-gateway ] || echo "$child"
    done
}

# A process in the sandbox's network: PID 1, or who keeps that of a container.
network_of() { # PID-OF-KEEPER
    local pid
    for pid in "$1" $(cat "/proc/$1/task/$1/children"); do init_of "$pid"; done | head -n 1
}

# Runs a script of inside/ in a sandbox of its own: what it prints is in $WORK/rows, what hutch tells of the sandbox in $WORK/json.
# No gateway may fall to what it does: another would come and hide it.
attack() { # SCRIPT [ARG...] -- FLAG...
    local script=$1 arguments=() gateway keeper
    shift
    while [ "$1" != -- ]; do arguments+=("$1") && shift; done
    shift
    create attacker "${INSIDE[@]}" "$@"
    keeper=$(keeper_of attacker)
    gateway=$(gateway_of "$keeper")
    status=0
    hutch exec --timeout 100s attacker -- /usr/bin/python3 -B "/inside/$script" "${arguments[@]}" >"$WORK/rows" 2>"$WORK/said" || status=$?
    same "exit status of $script" 0 "$status"
    same "the gateway that has served" "$gateway" "$(gateway_of "$keeper")"
    between "KiB that the gateway has" 1 16384 "$(awk '/^VmHWM:/{print $2}' "/proc/$gateway/status")"
    hutch inspect attacker >"$WORK/json"
    hutch rm -f attacker
}
