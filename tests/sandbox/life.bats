#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The life of a sandbox that stays: made, listed, paused, changed, stopped, started, ended by its times, removed.

load ../lib
load ../integration/words
load words

@test "create prints the name, ls and inspect know it, rm -f leaves nothing" {
    create box --label team=a --label x=
    call ls
    says_out "^box +running +[0-9]"
    call_json ls
    same "sandboxes" '["box"]' "$(jq -c '[.sandboxes[].name]' "$WORK/json")"
    same "state" running "$(jq -r '.sandboxes[0].state' "$WORK/json")"
    call inspect box
    same "spec" box "$(jq -r .spec.name "$WORK/out")"
    same "label" a "$(jq -r .spec.labels.team "$WORK/out")"
    call rm -f box
    same "status of rm" 0 "$status"
    call ls -q
    same "left in ls" "" "$(cat "$WORK/out")"
}
says_out() { grep -qE -- "$1" "$WORK/out" || { tell && return 1; }; }

@test "without a name one is made up, and create --json tells everything" {
    local name
    call_json create
    same status 0 "$status"
    name=$(field .name)
    [[ $name =~ ^box-[0-9a-f]{8}$ ]]
    same state running "$(field .state)"
    hutch exec "$name" -- true
    # an id is as good as a name
    hutch exec "$(field .id)" -- true
    hutch rm -f "$name"
}

@test "ls filters by label, as KEY and as KEY=VALUE" {
    create one --label team=a
    create two --label team=b --label deep=1
    create three
    same "by key" "one two" "$(hutch ls -q --label team | xargs)"
    same "by pair" two "$(hutch ls -q --label team=b)"
    same "by another" two "$(hutch ls -q --label deep)"
    same "by none" "" "$(hutch ls -q --label team=)"
    same "as JSON" '["one"]' "$(hutch ls --json --label team=a | jq -c '[.sandboxes[].name]')"
    hutch rm -f one two three
}

@test "stop keeps the files, start brings them back with the same spec" {
    needs_disk
    create box -e GREETING=hello --label keep=me
    inside box 'echo precious >/workspace/file; mkdir /tmp/d; echo x >/home/user/y'
    call stop box
    same status 0 "$status"
    same state stopped "$(state_of box)"
    same reason stopped "$(reason_of box)"
    hutch start box
    same state running "$(state_of box)"
    # shellcheck disable=SC2016
    same "what is inside" "precious hello x" "$(inside box 'echo $(cat /workspace/file) $GREETING $(cat /home/user/y)')"
    same label me "$(hutch inspect box | jq -r .spec.labels.keep)"
    hutch rm -f box
}

@test "ten times stopped and started: nothing is lost, nothing piles up" {
    needs_disk
    create box
    local i
    for i in 1 2 3 4 5 6 7 8 9 10; do
        inside box "echo $i >>/workspace/list"
        hutch stop --grace 0s box
        hutch start box
    done
    same list "$(seq 10 | xargs)" "$(inside box 'cat /workspace/list' | xargs)"
    same "layers in the pool" 1 "$(find "$HUTCH_HOME/lib/pool" -mindepth 1 -maxdepth 1 ! -name lost+found | wc -l)"
    hutch rm -f box
}

@test "the owner of files inside is the same after a start, whatever ids the host gave" {
    needs_disk
    create one
    create two
    inside one 'touch /workspace/mine'
    hutch exec -u 7:8 one -- touch /tmp/other
    hutch stop one
    hutch stop two
    hutch start two
    hutch start one
    same owners "1000:1000 7:8" "$(inside one 'stat -c %u:%g /workspace/mine /tmp/other' | xargs)"
    hutch rm -f one two
}

@test "stop warns with TERM, waits for the grace, then kills" {
    create box
    hutch exec -d box -- sh -c 'trap "sleep 0.3; echo saved >/workspace/saved; exit 0" TERM; touch /workspace/up; while :; do sleep 0.05; done' >/dev/null
    until_true 5 inside box 'test -e /workspace/up'
    local before
    before=$(now_ms)
    hutch stop --grace 8s box
    in_time "ms until it had ended by itself" 250 5000 $(($(now_ms) - before))
    if [ "$HUTCH_TEST_AS" = root ]; then
        hutch start box
        same "what it saved" saved "$(inside box 'cat /workspace/saved')"
        hutch exec -d box -- sh -c "trap '' TERM; : $(marker); while :; do sleep 0.05; done" >/dev/null
        until_true 5 some_bears "$(marker)"
        before=$(now_ms)
        hutch stop --grace 500ms box
        in_time "ms until it was killed" 450 4000 $(($(now_ms) - before))
        none_bears "$(marker)"
    fi
    hutch rm -f box
}

@test "kill ends everything at once" {
    create box
    hutch exec -d box -- sh -c "trap '' TERM; setsid sleep 60 & : $(marker); while :; do sleep 0.05; done" >/dev/null
    until_true 5 some_bears "$(marker)"
    local before
    before=$(now_ms)
    hutch kill box
    in_time "ms" 0 2000 $(($(now_ms) - before))
    none_bears "$(marker)"
    same reason killed "$(reason_of box)"
    hutch rm box
}

@test "kill --exec reaches one command, with any signal, and no other" {
    create box
    local id other
    id=$(hutch exec -d box -- sh -c 'trap "echo usr1; exit 3" USR1; echo up; while :; do sleep 0.05; done')
    other=$(hutch exec -d box -- sleep 60)
    until_true 5 sh -c "$(declare -f hutch as_user); HUTCH_TEST_AS=$HUTCH_TEST_AS TEST_UID=$TEST_UID HUTCH=$HUTCH; hutch logs --exec $id box | grep -q up"
    hutch kill --exec "$id" --signal USR1 box
    call exec --attach "$id" box
    same "its exit status" 3 "$status"
    same "its output" "up usr1" "$(xargs <"$WORK/out")"
    hutch kill box --exec "$other" --signal KILL # flags stand where one likes
    call exec --attach "$other" box
    same "exit status of the killed" 137 "$status"
    call kill --exec "$other" --signal NONSENSE box
    refused 125 "is not a signal"
    call kill --signal TERM box
    refused 125 "'--exec ID' names"
    hutch exec box -- true
    hutch rm -f box
}

@test "who pauses a sandbox while it is being started does not end it" {
    local pauser
    needs_groups
    create box --disk 16m
    inside box 'echo kept >/workspace/file'
    for _ in {1..10}; do
        hutch stop box
        for _ in {1..8}; do hutch pause box 2>"$WORK/refused" && break; done &
        pauser=$!
        call start box
        same "exit status of start" 0 "$status"
        wait "$pauser" || grep -q "not running\|being started" "$WORK/refused"
        if is box paused; then hutch resume box; fi
    done
    same "its files" kept "$(inside box 'cat /workspace/file')"
    hutch rm -f box
}

@test "pause freezes everything, resume lets it go on" {
    needs_groups
    create box
    hutch exec -d box -- sh -c 'i=0; while :; do i=$((i+1)); echo $i >/workspace/count; sleep 0.01; done' >/dev/null
    until_true 5 inside box 'test -s /workspace/count'
    hutch pause box
    same state paused "$(state_of box)"
    call exec box -- true
    refused 125 "is paused; 'hutch resume box' lets it go on"
    call pause box
    refused 125 "paused already"
    local first second
    first=$(frozen_cpu)
    sleep 0.5
    second=$(frozen_cpu)
    same "processor time while paused" "$first" "$second"
    hutch resume box
    same state running "$(state_of box)"
    first=$(inside box 'cat /workspace/count')
    sleep 0.3
    not same "the counter" "$first" "$(inside box 'cat /workspace/count')" 2>/dev/null
    call resume box
    refused 125 "is not paused"
    hutch rm -f box
}
frozen_cpu() { hutch inspect box | jq .usage.cpu_ms; }

@test "a paused sandbox can be stopped, killed, removed and listed" {
    needs_groups
    local verb
    for verb in "stop --grace 1s" kill "rm -f"; do
        create box
        hutch exec -d box -- sleep 60 >/dev/null
        hutch pause box
        same "in ls" paused "$(hutch ls --json | jq -r '.sandboxes[0].state')"
        # shellcheck disable=SC2086
        hutch $verb box
        [ "$verb" = "rm -f" ] || hutch rm box
        is_gone box
    done
}

@test "a timeout holds also for what is paused when it comes" {
    needs_groups
    create box
    local id
    id=$(hutch exec -d --timeout 500ms box -- sleep 60)
    hutch pause box
    sleep 1
    # nothing burns the processor meanwhile
    between "ticks of the keeper in half a second" 0 5 "$(ticks "$(keeper_of box)" 0.5)"
    hutch resume box
    call exec --attach "$id" box
    same status 124 "$status"
    hutch rm -f box
}
ticks() { # PID SECONDS: of processor time used meanwhile
    local before after
    before=$(awk '{print $14 + $15}' "/proc/$1/stat")
    sleep "$2"
    after=$(awk '{print $14 + $15}' "/proc/$1/stat")
    echo $((after - before))
}

@test "update changes limits of the living one, all or none, and they are kept" {
    needs_groups
    create box
    hutch update box --memory 64m --pids 40
    same memory 67108864 "$(hutch inspect box | jq .spec.limits.memory)"
    call exec box -- "$PYTHON" -c 'bytearray(100 << 20)'
    same "exit status over the new limit" 137 "$status"
    call update box --memory 128m --cpus nonsense
    same status 125 "$status"
    same "memory after a refused change" 67108864 "$(hutch inspect box | jq .spec.limits.memory)"
    call update box --rootfs /nowhere
    refused 125 "has no flag"
    call update box
    refused 125 "nothing to change"
    if [ "$HUTCH_TEST_AS" = root ]; then
        hutch stop box
        hutch start box
        same "memory after a start" 67108864 "$(hutch inspect box | jq .spec.limits.memory)"
    fi
    hutch rm -f box
}

# Its files lie where they were put when it was made: on disk for the small memory, in memory for the small disk.
@test "an update does not move the files of a sandbox: a start finds them, rm takes them" {
    needs_disk
    create disk --memory 128m --disk 200m
    create memory --memory 1g --disk 100m
    local name
    for name in disk memory; do
        same "layer of $name" "$name" "$(hutch inspect $name | jq -r .writable_layer)"
        inside $name 'echo precious >/workspace/file'
    done
    hutch update disk --memory 1g
    hutch update memory --memory 64m
    for name in disk memory; do
        hutch stop $name
        hutch start $name
        same "the file of $name" precious "$(inside $name 'cat /workspace/file')"
        hutch rm -f $name
    done
    until_true 5 no_layers
}

@test "a disk limit below what is used holds, and can be raised again" {
    needs_disk
    create box --disk 300m
    inside box 'head -c 50000000 /dev/zero >/workspace/much; sync'
    hutch update box --disk 10m
    call exec box -- sh -c 'head -c 1000000 /dev/zero >/workspace/more'
    grep -q "Disk quota exceeded" "$WORK/said"
    call update box --disk 1g
    same "exit status of raising it" 0 "$status"
    inside box 'head -c 400000000 /dev/zero >/workspace/more'
    hutch update box --disk 10m
    hutch stop box
    hutch start box
    hutch update box --disk 1g
    hutch rm -f box
}

limits_of() { hutch inspect "$1" | jq -c '.spec.limits | [.disk, .inodes, .pids]'; } # NAME

@test "a limit that nothing would hold is refused by update, with all that was asked beside it" {
    create memory --disk 100m --pids 50
    local before
    before=$(limits_of memory)
    call update memory --pids 60 --disk 50m
    refused 125 "'--disk' of sandbox 'memory' cannot change: its files are in memory"
    call update memory --pids 60 --inodes 100
    refused 125 "'--inodes' of sandbox 'memory' cannot change: its files are in memory"
    same "limits after the refusals" "$before" "$(limits_of memory)"
    hutch rm -f memory
}

@test "on disk update takes the limit of inodes only where the pool counts them" {
    needs_disk
    create disk --pids 50
    if [ ! -e "$HUTCH_HOME/lib/pool.btrfs" ]; then
        hutch rm -f disk
        skip "a pool on ext4 counts inodes"
    fi
    local before
    before=$(limits_of disk)
    call update disk --pids 60 --inodes 100
    refused 125 "'--inodes' of sandbox 'disk' cannot change: its files are on disk"
    same "limits after the refusal" "$before" "$(limits_of disk)"
    hutch rm -f disk
}

no_layers() {
    [ -z "$(find "$HUTCH_HOME/lib/pool" -mindepth 1 -maxdepth 1 ! -name lost+found 2>/dev/null)" ]
}

@test "ttl: it is gone, files and all, and a sweep does it where no keeper is left" {
    create box --ttl 1s
    until_true 5 is_gone box
    until_true 5 no_layers
    create box --ttl 2s
    hutch stop box
    sleep 3.1
    hutch gc >/dev/null
    is_gone box
}

@test "what is refused with an update has not been done, its time to live included" {
    create box
    hutch exec box -- sh -c 'echo precious >/tmp/file'
    call update box --ttl 1s --egress a.test
    refused 125 "was made without egress"
    call update box --max-lifetime 1s --egress a.test
    refused 125 "was made without egress"
    sleep 2.5
    same "what it holds" precious "$(hutch exec box -- cat /tmp/file)"
    hutch rm -f box
}

@test "max-lifetime stops it, whatever runs" {
    create box --max-lifetime 1s
    hutch exec -d box -- sleep 60 >/dev/null
    until_true 6 eval '! is box running'
    same reason max_lifetime "$(reason_of box)"
    hutch rm box
}

@test "idle-timeout stops it when nothing runs, and not before" {
    create box --idle-timeout 1s
    hutch exec -d box -- sleep 2 >/dev/null
    sleep 1.6
    same "state while something runs" running "$(state_of box)"
    until_true 6 eval '! is box running'
    same reason idle_timeout "$(reason_of box)"
    hutch rm box
}

@test "looking at a sandbox does not keep it from being idle" {
    create box --idle-timeout 1500ms
    local end=$((SECONDS + 6))
    while is box running; do
        [ $SECONDS -lt $end ] || { echo "still running" >&2 && return 1; }
        hutch ls --json >/dev/null
        sleep 0.2
    done
    hutch rm box
}

@test "files in memory outlive a stop, but not the keeper, and it says so" {
    create box --disk 64m
    hutch exec box -- sh -c 'echo kept >/tmp/file'
    hutch stop box
    is box stopped
    hutch start box
    same "the file" kept "$(hutch exec box -- cat /tmp/file)"
    hutch stop box
    kill -9 "$(keeper_of box)"
    until_true 5 is box dead
    call start box
    refused 125 "its files were in memory"
    call rm box
    same status 0 "$status"
}

@test "rm without force refuses one that runs, several names at once work, one bad name does not stop the others" {
    create one
    create two
    call rm one
    refused 125 "stop it first, or remove it with 'hutch rm -f one'"
    call rm -f one nobody two
    same status 125 "$status"
    says "the sentence" "no sandbox 'nobody'"
    same left "" "$(hutch ls -q)"
}

@test "hutch run and hutch gc leave living sandboxes alone" {
    create box
    inside box 'echo x >/workspace/x'
    hutch run -- true
    hutch gc >/dev/null
    hutch run -- true
    same "still there" x "$(inside box 'cat /workspace/x')"
    hutch rm -f box
}

@test "the sandbox outlives whoever made it, its terminal and its directory" {
    user_dir here >/dev/null
    (cd "$WORK/here" && caller setsid bash -c '"$@" >/dev/null' bash "$HUTCH" create "${CREATE_FLAGS[@]}" --name box)
    rmdir "$WORK/here"
    sleep 0.2
    hutch exec box -- true
    local keeper
    keeper=$(keeper_of box)
    same "directory of the keeper" / "$(readlink "/proc/$keeper/cwd")"
    same "descriptors it has of others" "" "$(find "/proc/$keeper/fd" -lname '*bats*' ! -lname "$HUTCH_HOME/*" -printf '%l ')"
    same "its own session" "$keeper" "$(awk '{print $6}' "/proc/$keeper/stat")"
    hutch rm -f box
}

@test "SIGTERM to the keeper is a stop in order" {
    create box
    hutch exec -d box -- sleep 60 >/dev/null
    kill -TERM "$(keeper_of box)"
    until_true 5 eval '! is box running'
    same reason terminated "$(reason_of box)"
    hutch rm box
}

@test "artifacts of a sandbox that stays come out whenever it ends: stop, kill, rm" {
    local way
    for way in "stop --grace 0s" kill "rm -f"; do
        create box --artifacts "$(user_dir results)"
        inside box "mkdir /artifacts/sub; echo '$way' >/artifacts/sub/made"
        # shellcheck disable=SC2086
        hutch $way box
        same "what came out after $way" "$way" "$(cat "$WORK/results/sub/made")"
        rm -r "$WORK/results/sub"
        [ "$way" = "rm -f" ] || hutch rm -f box
    done
    for way in "stop --grace 0s" kill "rm -f"; do
        create box --artifacts "$(user_dir results)"
        inside box 'echo made >/artifacts/made'
        rmdir "$WORK/results"
        touch "$WORK/results"
        # shellcheck disable=SC2086
        call $way box
        refused 125 "sandbox 'box' has ended, but not all of its artifacts came out"
        rm "$WORK/results"
        [ "$way" = "rm -f" ] || hutch rm box
        same "left of it" "" "$(hutch ls -q)"
    done
    touch "$WORK/file"
    call create --name box --artifacts "$WORK/file"
    refused 125 "artifacts directory"
    same "left of it" "" "$(hutch ls -q)"
}

# What the sandbox's root has on the disk: kinds, modes, owners, names, and where links lead.
root_of() { # NAME
    find "$HUTCH_HOME/lib/pool/$(cat "$(home_of "$1")/id")" -printf '%y %m %U %G %P %l\n' | LC_ALL=C sort
}

@test "a sandbox's root is the same whoever makes it: the client, whatever its umask, or PID 1" {
    [ "$HUTCH_TEST_AS" = root ] || skip "the files of an ordinary user's sandbox are in memory"
    create usual
    (umask 077 && hutch create --name masked "${CREATE_FLAGS[@]}" >/dev/null)
    # of another group the client leaves it to PID 1
    setpriv --regid=1 --clear-groups "$HUTCH" create --name left "${CREATE_FLAGS[@]}" >/dev/null
    root_of usual >"$WORK/usual"
    same "with a umask" "$(cat "$WORK/usual")" "$(root_of masked)"
    same "by PID 1" "$(cat "$WORK/usual")" "$(root_of left)"
    [ "$(wc -l <"$WORK/usual")" -gt 40 ]
    hutch rm -f usual masked left >/dev/null
}

@test "a sandbox that cannot be made says why, though its files were being made" {
    [ "$HUTCH_TEST_AS" = root ] || skip "the files of an ordinary user's sandbox are in memory"
    local i
    for i in $(seq 20); do
        call create --name box --artifacts "$WORK/no/where"
        same status 125 "$status"
        grep -q "no/where" "$WORK/said"
    done
    same "files left" "" "$(find "$HUTCH_HOME/lib/pool" -mindepth 1 -maxdepth 1 ! -name lost+found 2>/dev/null)"
}

# What create and run say of the same command.
create_fails_as_run() { # EXIT-STATUS FLAG... -- COMMAND...
    local expected=$1
    shift
    plain "$@"
    same "exit status of run $*" "$expected" "$status"
    mv "$WORK/said" "$WORK/run-said"
    call create --name box "$@"
    same "exit status of create $*" "$expected" "$status"
    same "output of create $*" "" "$(cat "$WORK/out")"
    same "sentence of create $*" "$(cat "$WORK/run-said")" "$(cat "$WORK/said")"
    same "sandboxes left" "" "$(hutch ls -q)"
}

@test "a command that cannot start: create fails as run does, and nothing is left" {
    create_fails_as_run 127 -- nosuch
    create_fails_as_run 127 -- /no/such
    create_fails_as_run 126 -- /etc/passwd
    create_fails_as_run 125 --workdir /no/such -- true
    same "files left" "" "$(find "$HUTCH_HOME/lib/pool" -mindepth 1 -maxdepth 1 ! -name lost+found 2>/dev/null)"
}

@test "a command that cannot start again: start says why, its log ends, and the files stay" {
    local ws flags
    ws=$(user_dir ws)
    printf '#!/bin/sh\necho began\n' >"$WORK/tool"
    for flags in "--disk 64m" ""; do
        install -m 755 "$WORK/tool" "$ws/tool"
        # shellcheck disable=SC2086
        create box $flags --workspace "$ws" -- /workspace/tool
        inside box 'echo kept >/tmp/file'
        hutch stop box
        rm "$ws/tool"
        call start box
        refused 127 "'/workspace/tool'"
        until_true 5 is box stopped
        same "its reason" failed "$(reason_of box)"
        caller timeout 5 "$HUTCH" logs -f box >"$WORK/out"
        same "its log" began "$(cat "$WORK/out")"
        install -m 755 "$WORK/tool" "$ws/tool"
        hutch start box
        same "the file" kept "$(hutch exec box -- cat /tmp/file)"
        hutch rm -f box
    done
}

@test "a start that fails leaves files in memory as they are: the next one has them" {
    local ws
    ws=$(user_dir ws)
    create box --disk 64m --workspace "$ws"
    inside box 'echo kept >/tmp/file'
    hutch stop box
    for _ in 1 2; do
        mv "$ws" "$ws.away"
        call start box
        refused 125 "$ws"
        is box stopped
        same "its reason" failed "$(reason_of box)"
        mv "$ws.away" "$ws"
        hutch start box
        same "the file" kept "$(hutch exec box -- cat /tmp/file)"
        hutch stop box
    done
    hutch rm box
}

@test "more open files than the caller may have: create refuses as run does, and nothing is left" {
    local verb
    for verb in run create; do
        status=0
        caller bash -c 'ulimit -n 512; exec "$@"' 0 "$HUTCH" $verb "${CREATE_FLAGS[@]}" -- true >"$WORK/out" 2>"$WORK/said" || status=$?
        refused 125 "open_files 1024 is above this process's own hard limit of 512"
    done
    status=0
    caller bash -c 'ulimit -n 512; exec "$@"' 0 "$HUTCH" create "${CREATE_FLAGS[@]}" --name box >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "open_files 1024 is above this process's own hard limit of 512"
    same "sandboxes left" "" "$(hutch ls -q)"
    (ulimit -n 512 && create box --open-files 500)
    same "what it has" 500 "$(inside box 'ulimit -n')"
    hutch rm -f box
}
