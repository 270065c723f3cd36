#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What comes of a sandbox: a fork, a snapshot.

load ../lib
load ../integration/words
load words
load files

forks() { # NAME [NEW]
    call fork "$@"
    same "exit status of fork" 0 "$status"
    [ -z "${2:-}" ] || same "what fork prints" "$2" "$(cat "$WORK/out")"
}

@test "a fork has the same files, then each has its own; the original is not disturbed" {
    needs_disk
    create one -e GREETING=hello --label team=a --memory 300m --pids 77
    inside one 'echo shared >/workspace/file; ln /workspace/file /workspace/hard; mkdir -m 710 /tmp/d; echo x >/tmp/d/y; mkfifo /tmp/p'
    hutch exec -u 7:8 one -- touch /tmp/other
    local id
    id=$(hutch exec -d one -- sh -c 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i; sleep 0.005; done')
    forks one two
    same "files" "shared shared x" "$(inside two 'cat /workspace/file /workspace/hard /tmp/d/y' | xargs)"
    same "kinds" "2 710 7:8 fifo" "$(inside two 'echo $(stat -c %h /workspace/hard) $(stat -c %a /tmp/d) $(stat -c %u:%g /tmp/other) $(stat -c %F /tmp/p)')"
    inside two 'echo of two >/workspace/file; rm -r /tmp/d'
    inside one 'echo of one >/tmp/new'
    same "the first" "shared x" "$(inside one 'cat /workspace/file /tmp/d/y' | xargs)"
    same "the second" "of two" "$(inside two 'cat /workspace/hard')"
    not hutch exec two -- test -e /tmp/new
    call exec --attach "$id" one
    same "what ran meanwhile" "$(seq 300 | xargs)" "$(xargs <"$WORK/out")"
    # the spec
    same "environment" hello "$(hutch exec two -- sh -c 'echo $GREETING')"
    same "spec" "$(hutch inspect one | jq -cS '.spec | del(.name)')" "$(hutch inspect two | jq -cS '.spec | del(.name)')"
    same "its own name" two "$(hutch inspect two | jq -r .spec.name)"
    same "label" two "$(hutch ls -q --label team=a | grep two)"
    # it outlives its origin
    hutch rm -f one
    same "the second, alone" "of two" "$(inside two 'cat /workspace/file')"
    hutch stop two
    hutch start two
    same "and started again" "of two" "$(inside two 'cat /workspace/file')"
    hutch rm -f two
}

@test "forks of forks, of a stopped one and of a paused one; names made up and taken" {
    needs_disk
    create a
    inside a 'echo 1 >/workspace/list'
    forks a b
    inside b 'echo 2 >>/workspace/list'
    forks b c
    inside c 'echo 3 >>/workspace/list'
    same "the third" "1 2 3" "$(inside c 'cat /workspace/list' | xargs)"
    same "the first" 1 "$(inside a 'cat /workspace/list')"
    hutch stop c
    forks c d
    same "of a stopped one" "1 2 3" "$(inside d 'cat /workspace/list' | xargs)"
    is c stopped
    hutch pause b
    forks b e
    is b paused
    same "of a paused one" "1 2" "$(inside e 'cat /workspace/list' | xargs)"
    hutch resume b
    local name
    name=$(hutch fork a)
    [[ $name =~ ^box-[0-9a-f]{8}$ ]]
    same "under a name made up" 1 "$(inside "$name" 'cat /workspace/list')"
    call fork a b
    refused 125 "sandbox 'b'.*(already|exists|there is)"
    for name in '' .. a/b "$(printf '%0300d' 0)" --x; do
        call fork a "$name"
        same "status for '$name'" 125 "$status"
    done
    call fork nobody x
    refused 125 "no sandbox 'nobody'"
    call fork
    same status 125 "$status"
    call fork a b c
    same status 125 "$status"
    # shellcheck disable=SC2046
    hutch rm -f $(hutch ls -q)
}

@test "a snapshot is kept stopped and forked again and again" {
    needs_disk
    create work
    inside work 'echo base >/workspace/file'
    call snapshot work base
    same status 0 "$status"
    inside work 'echo later >/workspace/file'
    is base stopped
    same reason snapshot "$(reason_of base)"
    local i
    for i in 1 2 3; do
        forks base "n$i"
        same "file of $i" base "$(inside "n$i" 'cat /workspace/file')"
        inside "n$i" "echo $i >/workspace/file"
    done
    call snapshot work base
    refused 125 "'base'"
    call snapshot work
    same status 125 "$status"
    hutch rm -f work
    hutch start base
    same "the snapshot itself" base "$(inside base 'cat /workspace/file')"
    # shellcheck disable=SC2046
    hutch rm -f $(hutch ls -q)
}

@test "files in memory cannot be forked, and that is said" {
    create box --disk 64m
    call fork box two
    refused 125 "has its files in memory"
    call snapshot box two
    refused 125 "has its files in memory"
    same "left" box "$(hutch ls -q)"
    hutch rm -f box
}

@test "a fork has a disk limit of its own, and it holds" {
    needs_disk
    create one --disk 300m
    inside one 'head -c 50000000 /dev/urandom >/workspace/base'
    forks one two
    call exec two -- sh -c 'head -c 400000000 /dev/urandom >/workspace/much'
    same "too much" 1 "$status"
    inside one 'head -c 200000000 /dev/urandom >/workspace/mine'
    call exec one -- sh -c 'head -c 200000000 /dev/urandom >/workspace/more'
    same "too much for the first" 1 "$status"
    # what is shared counts for who wrote it
    between "MB that the second wrote" 200 300 "$(inside two 'du -sm /workspace/much' | cut -f1)"
    hutch rm -f one two
}

@test "a fork and a snapshot have the files also when an update made the disk as small as memory" {
    needs_disk
    create one
    inside one 'echo precious >/workspace/file'
    hutch update one --disk 200m
    forks one two
    same "the file in a fork" precious "$(inside two 'cat /workspace/file')"
    call snapshot one base
    same "exit status of snapshot" 0 "$status"
    hutch start base
    same "the file in a snapshot" precious "$(inside base 'cat /workspace/file')"
    hutch stop one
    hutch start one
    same "the file" precious "$(inside one 'cat /workspace/file')"
    hutch rm -f one two base
}

@test "forks of one at the same moment, and of one name" {
    needs_disk
    create one
    inside one 'echo x >/workspace/file'
    local i pids=() good=0
    for i in 1 2 3 4 5 6 7 8; do
        hutch fork one "f$i" >"$WORK/f$i" 2>&1 3>&- &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i"; done
    for i in 1 2 3 4 5 6 7 8; do same "file" x "$(inside "f$i" 'cat /workspace/file')"; done
    pids=()
    for i in 1 2 3 4; do
        hutch fork one same >"$WORK/s$i" 2>&1 3>&- &
        pids+=($!)
    done
    for i in "${pids[@]}"; do if wait "$i"; then good=$((good + 1)); fi; done
    same "how many had it" 1 "$good"
    same "file" x "$(inside same 'cat /workspace/file')"
    # shellcheck disable=SC2046
    hutch rm -f $(hutch ls -q)
}

@test "kill -9 in the middle of a fork leaves a sandbox that works or, after a sweep, nothing" {
    needs_disk
    after_kill9
    create one
    inside one 'echo x >/workspace/file'
    local i pid name
    for i in $(seq 25); do
        become "$HUTCH" fork one "k$i" >/dev/null 2>&1 &
        pid=$!
        sleep "0.00$((i % 10))$((RANDOM % 10))"
        kill -KILL $pid 2>/dev/null || true
        wait $pid 2>/dev/null || true
    done
    sleep 0.5
    hutch gc >/dev/null
    for name in $(hutch ls -q); do
        if is "$name" running; then
            same "file of $name" x "$(inside "$name" 'cat /workspace/file')"
        else
            same "why $name does not run" never_ready "$(reason_of "$name")"
        fi
    done
    # shellcheck disable=SC2046
    hutch rm -f $(hutch ls -q)
}
