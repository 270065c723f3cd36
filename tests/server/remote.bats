#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hutch --host: what is printed and what it exits with is compared with the same call without a daemon between. liar.py stands where a
# daemon should be.
#
# shellcheck disable=SC2016,SC2002  # what shells inside are told; a pipe where a file would be another thing

load ../lib
load serve

remote() { "$HUTCH" --host "unix://$SOCKET" "$@"; }
local_() { "$HUTCH" "$@"; }

# Both ways: the same words on both streams, and the same status. How long it took until a timeout may differ.
same() { # WORD...
    local here=0 there=0
    "$HUTCH" "$@" >"$WORK/here.out" 2>"$WORK/here.err" </dev/null || here=$?
    remote "$@" >"$WORK/there.out" 2>"$WORK/there.err" </dev/null || there=$?
    sed -i -E 's/timeout after [0-9]+ ms/timeout after some ms/' "$WORK/here.err" "$WORK/there.err"
    if [ "$here" = "$there" ] && cmp -s "$WORK/here.out" "$WORK/there.out" && cmp -s "$WORK/here.err" "$WORK/there.err"; then return 0; fi
    echo "'hutch $*': here $here, there $there" >&2
    diff "$WORK/here.out" "$WORK/there.out" >&2
    diff "$WORK/here.err" "$WORK/there.err" >&2
    return 1
}

# For what tells ages: a second may pass between the two calls.
soon_same() { # WORD...
    local try
    for try in {1..3}; do ! same "$@" || return 0; done
    echo "not once in $try times" >&2
    return 1
}

fails_with() { # STATUS PATTERN WORD...: one sentence on standard error
    local status=0 wanted=$1 pattern=$2
    shift 2
    timeout -k 5 60 "$@" >"$WORK/out" 2>"$WORK/said" </dev/null || status=$?
    if [ "$status" = "$wanted" ] && [ "$(wc -l <"$WORK/said")" = 1 ] && grep -qE "$pattern" "$WORK/said"; then return 0; fi
    echo "'$*' ended with $status and said:" >&2
    head -c 1000 "$WORK/said" >&2
    return 1
}

# --- running ----------------------------------------------------------------------------------------------------------------

@test "run: the exit codes and both streams are those of a run here" {
    serve
    same run -- true
    same run -- sh -c 'echo out; echo err >&2; exit 7'
    same run --timeout 300ms -- sleep 9
    same run -- /nowhere/nothing
    same run -- nothing-of-the-kind
    same run -- /etc/passwd
    same run -- sh -c 'kill -9 $$'
    same run -- sh -c 'kill -TERM $$'
    same run --memory 16m -- sh -c 'x=$(head -c 64m /dev/zero | tr "\0" a); echo ${#x}'
    same run --no-such-flag -- true
    same run --memory nonsense -- true
    same run -e A=1 --workdir /tmp --hostname there -- sh -c 'echo $A $(pwd) $(hostname)'
    echo B=2 >"$WORK/env"
    C=3 same run --env-file "$WORK/env" --pass-env C -- sh -c 'echo $B $C'
}

@test "run --json: the same object, but for what differs from one run to the next" {
    serve
    local what='del(.id, .duration_ms, .usage)'
    remote run --json -- sh -c 'echo out; echo err >&2; exit 3' >"$WORK/there" || [ $? = 3 ]
    local_ run --json -- sh -c 'echo out; echo err >&2; exit 3' >"$WORK/here" || [ $? = 3 ]
    diff <(jq -S "$what" "$WORK/here") <(jq -S "$what" "$WORK/there")
    remote run --json --output-limit 100 -- seq 10000 >"$WORK/there"
    local_ run --json --output-limit 100 -- seq 10000 >"$WORK/here"
    diff <(jq -S "$what" "$WORK/here") <(jq -S "$what" "$WORK/there")
    remote run --json -- head -c 1000 /dev/zero | jq -e '.stdout_bytes == 1000'
    same run --json --image 'no such image' -- true
}

@test "bytes pass unchanged: standard input and output of run and exec, through pipes and files" {
    serve
    head -c 3000000 /dev/urandom >"$WORK/bytes"
    head -c 1000 /dev/urandom >"$WORK/few"
    cmp "$WORK/bytes" <(remote run -i -- cat <"$WORK/bytes")
    cmp "$WORK/bytes" <(cat "$WORK/bytes" | remote run -i -- cat)
    cmp "$WORK/few" <(remote run -i -- cat <"$WORK/few")
    remote create --name box
    cmp "$WORK/bytes" <(cat "$WORK/bytes" | remote exec -i box -- cat)
    cmp "$WORK/bytes" <(remote exec -i box -- sh -c 'cat >&2' <"$WORK/bytes" 2>&1 >/dev/null)
    [ "$(printf 'echo %s\n' a b c | remote shell box)" = $'a\nb\nc' ]
    [ -z "$(remote exec box -- cat </dev/null)" ]
    remote rm -f box
}

# bats test_tags=memory
@test "much output passes at bounded memory" {
    serve
    local size
    size=$(long_or 268435456 10737418240)
    [ "$(remote run --timeout 30m -- head -c "$size" /dev/zero | wc -c)" = "$size" ]
    (ulimit -v 400000 && remote run --timeout 30m -- head -c "$size" /dev/urandom) | wc -c | grep -qx "$size"
    remote create --name box
    (ulimit -v 400000 && remote exec box -- head -c 268435456 /dev/urandom) | wc -c | grep -qx 268435456
    remote rm -f box
}

@test "what ends the client ends the command: SIGINT, and kill -9 of run, run -i and exec" {
    serve
    local kind pid
    timeout --preserve-status -s INT 1 "$HUTCH" --host "unix://$SOCKET" run -- sleep 1001 || [ $? = 130 ]
    remote create --name box
    mkfifo "$WORK/feed" # input that never ends, and nobody's process
    exec 9<>"$WORK/feed"
    for kind in 'run --' 'run -i --' 'exec box --' 'exec -i box --'; do
        # shellcheck disable=SC2086 # the words of a call
        "$HUTCH" --host "unix://$SOCKET" $kind sleep 1002 <"$WORK/feed" 3>&- 9>&- &
        for try in {1..100}; do pgrep -f '^sleep 1002' >/dev/null && break; sleep 0.05; done
        # shellcheck disable=SC2086
        pid=$(pgrep -o -f "^$HUTCH $kind sleep 1002")
        kill -KILL "$pid"
        for try in {1..100}; do pgrep -f '^sleep 1002' >/dev/null || break; sleep 0.05; done
        ! pgrep -f '^sleep 1002' || { echo "'$kind' left its command ($try)" >&2 && false; }
    done
    for try in {1..60}; do [ "$(remote ls --json | jq -r '[.sandboxes[].name] | join(" ")')" = box ] && break; sleep 0.1; done
    [ "$(remote ls --json | jq -r '[.sandboxes[].name] | join(" ")')" = box ]
    exec 9>&-
    remote rm -f box
}

@test "a reader that goes away ends the command" {
    serve
    remote create --name box
    [ "$(timeout 20 "$HUTCH" --host "unix://$SOCKET" exec box -- yes | head -n 1)" = y ]
    [ "$(timeout 20 "$HUTCH" --host "unix://$SOCKET" run -- yes | head -n 1)" = y ]
    [ -z "$(remote ps --json box | jq -r '.commands[].id')" ]
    remote rm -f box
}

# --- sandboxes --------------------------------------------------------------------------------------------------------------

@test "every verb of a sandbox does there what it does here" {
    serve
    [ "$(remote create --name box --label team=x -- sh -c 'echo begun; sleep 1000')" = box ]
    for try in {1..50}; do [ "$(remote logs box)" = begun ] && break; sleep 0.05; done
    same logs box
    same logs --tail 1 box
    same logs --stream stderr box
    same logs --from 3 box
    soon_same ls
    soon_same ls --label team=x
    same ls --label team=y
    same rm box
    same inspect nobody
    same exec box -- sh -c 'echo o; echo e >&2; exit 9'
    same exec -u 0 -w /tmp -e A=b box -- sh -c 'echo $(id -u) $(pwd) $A'
    same exec --timeout 300ms box -- sleep 5
    same exec box -- nothing-of-the-kind
    same exec nobody -- true
    same shell box 'echo $((6 * 7)); exit 4'
    diff <(local_ inspect box | jq -S 'del(.usage)') <(remote inspect box | jq -S 'del(.usage)')
    diff <(local_ ps --json box | jq 'del(.commands[].age_ms)') <(remote ps --json box | jq 'del(.commands[].age_ms)')
    diff <(local_ stats --json box | jq '.sandboxes[0] | keys') <(remote stats --json box | jq '.sandboxes[0] | keys')
    remote exec box -- sh -c 'echo changed >/tmp/new'
    same diff box
    same diff --json box
    same apply box
    same egress box
    remote pause box
    [ "$(remote inspect box | jq -r .state)" = paused ]
    remote resume box
    remote update box --memory 300m
    [ "$(local_ inspect box | jq .spec.limits.memory)" = 314572800 ]
    [ "$(remote fork box twin)" = twin ]
    [ "$(remote exec twin -- cat /tmp/new)" = changed ]
    remote snapshot box kept
    remote stop box
    same stop box
    remote start box
    remote kill twin
    soon_same ls
    remote rm -f box twin kept
    soon_same ls
    same ls --json
}

@test "a command in the background: its id, its output, its end, from there and from here" {
    serve
    remote create --name box
    id=$(remote exec -d box -- sh -c 'echo one; sleep 0.3; echo two; exit 5')
    [ "$(remote exec --attach "$id" box && echo || echo $?)" = $'one\ntwo\n5' ]
    same exec --attach "$id" box
    same exec --attach "$id" --from 4 box
    same logs --exec "$id" box
    same logs -f --exec "$id" box
    same exec --attach 00 box
    remote rm -f box
}

@test "signals reach the command" {
    serve
    remote create --name box
    "$HUTCH" --host "unix://$SOCKET" exec box -- sh -c 'trap "exit 42" USR1; echo ready; while :; do sleep 0.05; done' >"$WORK/out" 3>&- &
    pid=$!
    for try in {1..100}; do grep -q ready "$WORK/out" && break; sleep 0.05; done
    kill -USR1 "$pid"
    wait "$pid" || [ $? = 42 ]
    remote rm -f box
}

@test "a terminal: its size, a change of it, Ctrl-C, and the exit status" {
    serve
    remote create --name box
    for words in 'exec -it box -- sh' 'run -it -- sh'; do
        python3 "$BATS_TEST_DIRNAME/terminal.py" "$HUTCH" "unix://$SOCKET" "$words"
    done
    fails_with 125 'needs a terminal' "$HUTCH" --host "unix://$SOCKET" exec -it box -- sh
    remote rm -f box
}

@test "cp: files, directories, links and archives, both ways" {
    serve
    remote create --name box
    mkdir -p "$WORK/tree/sub"
    head -c 100000 /dev/urandom >"$WORK/tree/sub/file"
    ln -s sub/file "$WORK/tree/link"
    remote cp "$WORK/tree" box:/tmp
    remote cp "$WORK/tree" box:/tmp/other
    remote cp "$WORK/tree/sub/file" box:/tmp/one
    remote exec box -- sh -c 'cmp /tmp/one /tmp/tree/sub/file && cmp /tmp/one /tmp/other/link && test -O /tmp/one'
    remote cp box:/tmp/tree "$WORK/back"
    diff -r --no-dereference "$WORK/tree" "$WORK/back"
    [ "$(readlink "$WORK/back/link")" = sub/file ]
    remote exec box -- ln -s /workspace /tmp/link
    remote cp "$WORK/tree/sub/file" box:/tmp/link
    remote cp "$WORK/tree/sub/file" box:/tmp/one
    remote exec box -- sh -c 'test -L /tmp/link && test -f /workspace/file && test -f /tmp/one'
    mkdir "$WORK/into"
    remote cp box:/tmp/one "$WORK/into"
    cmp "$WORK/into/one" "$WORK/tree/sub/file"
    tar -C "$WORK" -c tree | remote cp - box:/workspace
    remote cp box:/workspace/tree - | tar -t | grep -qx tree/sub/file
    same cp "$WORK/nothing" box:/tmp
    fails_with 125 "cannot read '/nothing'" "$HUTCH" --host "unix://$SOCKET" cp box:/nothing "$WORK/x"
    fails_with 125 "cannot write '/nowhere/'" "$HUTCH" --host "unix://$SOCKET" cp "$WORK/tree" box:/nowhere/
    remote rm -f box
}

# bats test_tags=memory
@test "cp: a large file passes at bounded memory, both ways" {
    serve
    remote create --name box
    truncate -s "$(long_or 64M 1G)" "$WORK/large"
    (ulimit -v 400000 && remote cp "$WORK/large" box:/tmp/large && remote cp box:/tmp/large "$WORK/large.back")
    cmp "$WORK/large" "$WORK/large.back"
    remote rm -f box
}

@test "a workspace: the same directory by socket, its files sent along by TCP" {
    serve
    local token
    mkdir "$WORK/project"
    echo old >"$WORK/project/file"
    cd "$WORK"
    same run --workspace project:ro -- cat file
    remote create --name box --workspace project:overlay
    remote exec box -- sh -c 'echo new >file'
    same diff box
    remote apply box
    [ "$(cat project/file)" = new ]
    remote rm -f box
    token=$(new_token a write)
    export HUTCH_TOKEN=$token
    [ "$("$HUTCH" --host "$URL" run --workspace project:copy -- cat file)" = new ]
    "$HUTCH" --host "$URL" create --name box --workspace project:copy
    [ "$("$HUTCH" --host "$URL" exec box -- cat file)" = new ]
    "$HUTCH" --host "$URL" rm -f box
    fails_with 125 'may be on another.*copy' "$HUTCH" --host "$URL" run --workspace project -- ls
    fails_with 125 'may be on another' "$HUTCH" --host "$URL" run --mount /etc:/x:ro -- ls
    fails_with 125 'may be on another' "$HUTCH" --host "$URL" run --rootfs / -- ls
}

# --- the host ---------------------------------------------------------------------------------------------------------------

@test "images, the audit and usage are told as here" {
    serve
    mkdir -p "$WORK/root/bin"
    cp "$(command -v busybox)" "$WORK/root/bin/busybox"
    ln -s busybox "$WORK/root/bin/echo"
    ln -s busybox "$WORK/root/bin/cat"
    tar -C "$WORK/root" -c . | remote image import - small:1
    remote image import "$WORK/root" small:2
    same image ls -q
    same image ls --json
    same image inspect small:1
    same image inspect nothing:1
    remote image tag small:1 small:3
    remote image save -o "$WORK/saved" small:3
    remote image rm small:3
    [ "$(remote image load "$WORK/saved")" = small:3 ]
    remote image export small:1 | tar -t | grep -q bin/busybox
    [ "$(remote run --image small:1 -- echo inside)" = inside ]
    [ "$(echo typed | remote run -i --image small:1 -- cat)" = typed ]
    same image prune --dry-run --json
    remote image rm small:1 small:2 small:3
    soon_same image ls
    same sandboxes --help
    same audit
    same audit --json
    same audit --since 1h --label none
    same audit --verify
    same usage
    same usage --by day --json
    same usage --by nonsense
    rm -rf "$HUTCH_HOME/lib/images"
}

@test "verbs that have no remote form say so" {
    serve
    local verb
    for verb in doctor gc 'policy show' 'secret ls' serve 'token ls' 'run --dry-run -- true' 'audit --prune 1d' 'image logout x'; do
        # shellcheck disable=SC2086 # the words of a call
        fails_with 125 'has no remote form' "$HUTCH" --host "unix://$SOCKET" $verb
    done
    HUTCH_HOST=unix://$SOCKET fails_with 125 'has no remote form' "$HUTCH" doctor
    fails_with 125 'policy.*is of this machine' "$HUTCH" --host "unix://$SOCKET" run --policy "$WORK/p.json" -- true
    "$HUTCH" --host "unix://$SOCKET" help >"$WORK/out"
    grep -q -- --host "$WORK/out"
}

# --- the way there ----------------------------------------------------------------------------------------------------------

@test "who is not there, not let in, or not believed: one sentence each" {
    serve
    fails_with 125 "no daemon answers at 'unix://$WORK/none'" "$HUTCH" --host "unix://$WORK/none" ls
    fails_with 125 'no daemon answers' "$HUTCH" --host "http://127.0.0.1:$(free_port)" ls
    fails_with 125 'is no address' "$HUTCH" --host nonsense ls
    fails_with 125 'is no address' "$HUTCH" --host unix://relative ls
    fails_with 125 'is no address' "$HUTCH" --host ftp://x ls
    fails_with 125 'needs a value' "$HUTCH" --host
    fails_with 125 'HUTCH_TOKEN alone' "$HUTCH" --host http://me:secret@127.0.0.1 ls
    ! grep -q secret "$WORK/said" || false
    fails_with 125 'wants a token' "$HUTCH" --host "$URL" ls
    HUTCH_TOKEN=hutch_wrong fails_with 125 'does not accept the token' "$HUTCH" --host "$URL" ls
    ! grep -q hutch_wrong "$WORK/said" || false
    HUTCH_TOKEN=hutch_wrong fails_with 125 'everybody on the way.*https' "$HUTCH" --host http://192.0.2.1 ls
    HUTCH_TOKEN=$'a\r\nX: y' fails_with 125 'no token has' "$HUTCH" --host "$URL" ls
    fails_with 125 'does not speak TLS' "$HUTCH" --host "https://127.0.0.1:$PORT" ls
    new_token a read >"$WORK/token"
    chmod 644 "$WORK/token"
    HUTCH_TOKEN_FILE=$WORK/token fails_with 125 'chmod 600' "$HUTCH" --host "$URL" ls
    chmod 600 "$WORK/token"
    HUTCH_TOKEN_FILE=$WORK/token HUTCH_HOST=$URL "$HUTCH" ls
    HUTCH_TOKEN_FILE=$WORK/token HUTCH_HOST=$URL fails_with 125 scope "$HUTCH" run -- true
}

@test "TLS: a certificate that is not known is refused, with its authority everything passes" {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$WORK/key" -out "$WORK/cert" -days 2 \
        -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
    serve --tls-cert "$WORK/cert" --tls-key "$WORK/key"
    HUTCH_TOKEN=$(new_token a write)
    export HUTCH_TOKEN
    local host=https://127.0.0.1:$PORT
    fails_with 125 'certificate.*--tls-ca' "$HUTCH" --host "$host" ls
    [ "$("$HUTCH" --host "$host" --tls-ca "$WORK/cert" run -- echo safe)" = safe ]
    [ "$(echo typed | HUTCH_TLS_CA=$WORK/cert HUTCH_HOST=$host "$HUTCH" run -i -- cat)" = typed ]
    fails_with 125 'PEM' "$HUTCH" --host "$host" --tls-ca /etc/passwd ls
    fails_with 125 'HUTCH_TLS_CA' "$HUTCH" --host "$host" --tls-ca "$WORK/none" ls
}

@test "a daemon that is killed and comes back: exec goes on where it was" {
    serve
    remote create --name box
    "$HUTCH" --host "unix://$SOCKET" exec box -- sh -c 'for i in $(seq 30); do echo $i; sleep 0.1; done; exit 6' >"$WORK/out" 3>&- &
    pid=$!
    for try in {1..100}; do grep -qx 5 "$WORK/out" && break; sleep 0.05; done
    serve_kill9
    "$HUTCH" serve --listen none --socket "$SOCKET" >>"$WORK/serve.out" 2>>"$WORK/serve.log" 3>&- &
    SERVE_PID=$!
    serve_answers
    wait "$pid" || [ $? = 6 ]
    diff <(seq 30) "$WORK/out"
    remote rm -f box
}

# --- lies -------------------------------------------------------------------------------------------------------------------

with_liar() { # LIE WORD...: does that while the liar listens
    local lie=$1 liar ended=0
    shift
    rm -f "$WORK/liar.sock"
    python3 "$BATS_TEST_DIRNAME/liar.py" "$WORK/liar.sock" "$lie" >"$WORK/liar.log" 2>&1 3>&- &
    liar=$!
    for try in {1..100}; do [ -S "$WORK/liar.sock" ] && break; sleep 0.05; done
    "$@" || ended=$?
    kill "$liar"
    wait "$liar" || true
    [ $ended = 0 ] || echo "the lie was '$lie' (try $try)" >&2
    return $ended
}

lied() { # LIE STATUS PATTERN WORD...
    with_liar "$1" fails_with "$2" "$3" "$HUTCH" --host "unix://$WORK/liar.sock" "${@:4}"
}

asked() { # STATUS OUTPUT WORD...: all went well
    local status=0
    timeout -k 5 60 "$HUTCH" --host "unix://$WORK/liar.sock" "${@:3}" >"$WORK/out" 2>"$WORK/said" </dev/null || status=$?
    [ "$status" = "$1" ] && [ "$(cat "$WORK/out")" = "$2" ]
}

@test "answers that are no answers: each is told in a sentence, none is believed" {
    lied no_json 125 'no JSON' ls
    lied no_http 125 'no hutch daemon|was cut' ls
    lied other_server 125 'no hutch daemon, or one of another version' ls
    lied proxy 125 'proxy' ls
    lied redirect 125 'status 302' ls
    lied wrong_token 125 'HUTCH_TOKEN' ls
    lied conflict 125 'it is taken' ls
    lied escapes 125 '^hutch: one[?]' ls
    ! grep -q $'\e' "$WORK/said" || false
    lied hangs_up 125 'was cut' ls
    lied half 125 'was cut' ls
    lied endless 125 'too large' ls
    lied deep 125 'no JSON' ls
    lied other_version 125 'another version' ls
    lied strange_names 125 'another version' ls
}

@test "streams that lie or end early" {
    lied no_json 125 'without a result' run -- true
    lied no_command 127 'is not in the sandbox' run -- nix
    lied long_line 125 'without an end' run -- true
    lied cut_run 125 'was cut' run -- true
    [ "$(cat "$WORK/out")" = abc ]
    lied no_result 125 'without a result' run -- true
    lied bad_base64 125 base64 run -- true
    lied bad_result 125 'without a reason' run -- true
    lied bad_exit 125 'without an exit code' run -- true
    with_liar late_error asked 125 '' run -- true
    diff <(printf 'x\nhutch: the daemon is ending\n') "$WORK/said"
}

@test "sessions that are cut come back by their offset, and those that lie end" {
    with_liar resume asked 7 abcdefghi exec box -- true
    grep -c attach "$WORK/liar.log" | grep -qx 3
    lied cut_forever 125 'was cut' exec box -- true
    lied bad_accept 125 'a WebSocket that is none' exec box -- true
    lied no_head 125 'without a head' exec box -- true
    lied huge_frame 125 'too large' exec box -- true
    lied masked 125 'too large, or none' exec box -- true
    lied refuses 125 'has no command' exec box -- true
    with_liar pings asked 0 yes exec box -- true
}
