#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whatever is asked wrongly, or has been damaged: one clear sentence, the right exit status, nothing lost, and rm -f always works.

load ../lib
load ../integration/words
load words

@test "names: only plain ones are taken, and what is not one is never a path" {
    local name
    for name in .. . / a/b ../x .hidden -x --json '' ' ' 'a b' "$(printf 'a\nb')" "$(head -c 300 /dev/zero | tr '\0' a)" 'bοx' 'b​ox' 'Ａ' '*' 'a;b' '~'; do
        call create "--name=$name"
        same "exit status for the name «$name»" 125 "$status"
        same "lines" 1 "$(grep -c '' "$WORK/said")"
        for verb in exec inspect rm stop start logs; do
            call "$verb" -- "$name" true
            same "exit status of $verb «$name»" 125 "$status"
        done
    done
    same "made" "" "$(hutch ls -q)"
    same "homes" "" "$(ls -A "$HUTCH_HOME/lib/sandboxes" 2>/dev/null)"
}

@test "labels: control characters and what is not UTF-8 are refused, in keys and in values" {
    local label
    for label in "$(printf 'a=b\nc')" "$(printf 'a\tb=c')" "$(printf 'a=\033[31m')" "$(printf 'a=\302\2331m')" "$(printf 'a=\177')"; do
        call create "--label=$label"
        refused 125 "--label: a label has a control character after"
    done
    call create --label "$(printf 'a=\377')"
    refused 125 "--label: a label is not UTF-8"
    same "made" "" "$(hutch ls -q)"
    create box --label 'größe=sehr groß' --label leer=
    same "found again" box "$(hutch ls -q --label 'größe=sehr groß')"
    same "found again" box "$(hutch ls -q --label leer=)"
    hutch rm -f box
}

@test "an unknown, a stopped and a dead sandbox" {
    local verb
    for verb in "exec nobody -- true" "shell nobody true" "start nobody" "stop nobody" "kill nobody" "pause nobody" "resume nobody" \
        "rm nobody" "rm -f nobody" "logs nobody" "ps nobody" "inspect nobody" "prefix nobody" "update nobody --pids 5"; do
        # shellcheck disable=SC2086
        call $verb
        refused 125 "there is no sandbox 'nobody'; 'hutch ls' lists those there are"
    done
    create box
    hutch stop box
    for verb in "exec box -- true" "pause box" "resume box" "ps box" "update box --pids 5" "stop box" "kill box"; do
        # shellcheck disable=SC2086
        call $verb
        refused 125 "sandbox 'box' is (not running|stopped|dead)"
    done
    hutch rm box
}

@test "commands: a missing one is 127, one that is not executable 126, no user, no directory, no command 125" {
    create box
    call exec box -- no-such-program
    refused 127 "no-such-program"
    call exec box -- /etc/passwd
    refused 126 "/etc/passwd"
    call exec -u nosuchuser box -- true
    refused 125 "nosuchuser"
    call exec -u 4294967296 box -- true
    refused 125 "4294967296"
    call exec -u 4294967295 box -- true
    same status 125 "$status"
    call exec -w /no/such box -- true
    same status 125 "$status"
    says "the sentence" "/no/such"
    call exec -w /proc/self/fd box -- true
    same status 125 "$status"
    call exec -e NOVALUE box -- true
    refused 125 "KEY=VALUE"
    call exec box
    refused 125 "no command"
    call exec box -- ''
    refused 125 "the command '' is empty"
    call exec -d box -- ''
    refused 125 "the command '' is empty"
    call exec --timeout 0 box -- true
    refused 125 "--timeout: '0' is too little, the least is '1ms'"
    call exec --from 3 box -- true
    refused 125 "'--attach'"
    call exec --attach '' box
    refused 125 "no recorded command ''"
    call exec --nonsense box -- true
    same status 125 "$status"
    call create --name box
    refused 125 "there is a sandbox 'box' already"
    hutch exec box -- true
    hutch rm -f box
}

@test "a full disk inside: the command hears of it, the sandbox stays usable" {
    create box --disk 16m
    call exec box -- sh -c 'head -c 64M /dev/zero >/workspace/big'
    not same "status" 0 "$status" 2>/dev/null
    call_json exec box -- sh -c 'head -c 64M /dev/zero >>/workspace/big'
    same reason disk_limit "$(field .reason)"
    between "bytes that were seen" 8000000 17000000 "$(field .usage.disk_peak_bytes)"
    call_json exec box -- true
    same "the reason of a success" exited "$(field .reason)"
    hutch exec box -- rm /workspace/big
    call_json exec box -- false
    same "the reason after making room" exited "$(field .reason)"
    same "after making room" x "$(inside box 'echo x >/workspace/x; cat /workspace/x')"
    hutch rm -f box
}

@test "a full disk outside: keeper and logs go on as far as they can, rm works" {
    needs_root
    mkdir "$WORK/small"
    mount -t tmpfs -o size=600k tmpfs "$WORK/small"
    chmod 700 "$WORK/small"
    status=0
    (
        export HUTCH_HOME=$WORK/small
        hutch create --name box --disk 32m >/dev/null
        hutch exec -d box -- sh -c 'seq 200000; sleep 60' >/dev/null
        sleep 0.5
        hutch exec box -- true
        hutch ls >/dev/null
        hutch rm -f box
    ) || status=$?
    # the keeper ends a moment after its answer
    for _ in {1..50}; do umount "$WORK/small" 2>/dev/null && break || sleep 0.2; done
    same "mounts" "" "$(grep "$WORK/small" /proc/self/mounts || true)"
    same "status of all" 0 "$status"
}

# Goes on whatever fails: the sandbox has to be gone before its disk.
stop_on_full_disk() {
    hutch create --name box --disk 32m >/dev/null
    inside box 'echo kept >/tmp/file'
    head -c 2M /dev/zero >"$HUTCH_HOME/fill" 2>/dev/null
    hutch stop box
    echo "$(state_of box) $(reason_of box)"
    hutch start box 2>&1 | grep -o "No space left on device"
    state_of box
    rm "$HUTCH_HOME/fill"
    hutch start box
    state_of box
    inside box 'cat /tmp/file'
    hutch rm -f box
}

@test "a full disk outside: one that is stopped is known to be, and can be started when there is room" {
    needs_root
    mkdir "$WORK/small"
    mount -t tmpfs -o size=600k tmpfs "$WORK/small"
    chmod 700 "$WORK/small"
    HUTCH_HOME=$WORK/small stop_on_full_disk >"$WORK/steps" || true
    for _ in {1..50}; do umount "$WORK/small" 2>/dev/null && break || sleep 0.2; done
    same "mounts" "" "$(grep "$WORK/small" /proc/self/mounts || true)"
    same "steps" "stopped stopped No space left on device stopped running kept" "$(xargs <"$WORK/steps")"
}

@test "start after its root filesystem vanished: a sentence, and the sandbox is there when it is back" {
    needs_disk
    command -v busybox >/dev/null || skip "needs busybox"
    mkdir -p "$WORK/root/bin"
    cp "$(command -v busybox)" "$WORK/root/bin/"
    ln -s busybox "$WORK/root/bin/sh"
    ln -s busybox "$WORK/root/bin/cat"
    create box --rootfs "$WORK/root"
    hutch exec box -- sh -c 'echo kept >/workspace/kept'
    hutch stop box
    mv "$WORK/root" "$WORK/elsewhere"
    call start box
    refused 125 "root"
    same state stopped "$(state_of box)"
    mv "$WORK/elsewhere" "$WORK/root"
    hutch start box
    same "its files" kept "$(hutch exec box -- cat /workspace/kept)"
    hutch rm -f box
}

@test "start after its files vanished from the pool" {
    needs_disk
    create box
    local id
    id=$(hutch inspect box | jq -r .id)
    hutch stop box
    btrfs subvolume delete "$HUTCH_HOME/lib/pool/$id" >/dev/null 2>&1 || rm -rf "$HUTCH_HOME/lib/pool/${id:?}"
    [ ! -e "$HUTCH_HOME/lib/pool/$id" ] || skip "the pool's directory cannot be taken away"
    call start box
    refused 125 "files"
    hutch rm box
}

# One file of the home replaced by something else.
damage() { # FILE HOW
    local file
    file=$(home_of box)/$1
    case $2 in
    missing) rm -rf "$file" ;;
    empty) rm -rf "$file" && : >"$file" ;;
    truncated) truncate -s 7 "$file" ;;
    garbage) rm -rf "$file" && head -c 5000 /dev/urandom >"$file" ;;
    "garbage of 16 bytes") rm -rf "$file" && echo -n "not hexadecimal." >"$file" ;; # as long as an id
    directory) rm -rf "$file" && mkdir "$file" && touch "$file/x" ;;
    symlink) rm -rf "$file" && ln -s /etc/passwd "$file" ;;
    dangling) rm -rf "$file" && ln -s /nowhere "$file" ;;
    fifo) rm -rf "$file" && mkfifo "$file" ;;
    esac
    [ "$HUTCH_TEST_AS" = root ] || [ ! -e "$file" ] || chown -hR "$TEST_UID:$TEST_UID" "$file"
}

@test "a damaged home of a stopped sandbox: every verb answers with a sentence, a sweep takes none of its files, rm -f removes it" {
    local file how verb layers
    for file in state spec lock socket log exec id; do
        for how in missing empty truncated garbage "garbage of 16 bytes" directory symlink dangling fifo; do
            create box
            hutch stop box
            layers=$(ls "$HUTCH_HOME/lib/pool" 2>/dev/null || true)
            [ "$how" != truncated ] || [ -f "$(home_of box)/$file" ] || how=garbage
            damage "$file" "$how"
            for verb in "exec box -- true" "inspect box" "logs box" "ls" "ls --json" "ps box" "gc"; do
                status=0
                # shellcheck disable=SC2086
                timeout 5 "${AS[@]}" "$HUTCH" $verb >"$WORK/out" 2>"$WORK/said" </dev/null || status=$?
                case $status in
                0) ;;
                125) same "lines of '$verb' with $file $how" 1 "$(grep -c '' "$WORK/said")" ;;
                *) same "status of '$verb' with $file $how" "0 or 125" "$status" ;;
                esac
            done
            same "files in the pool after a sweep with $file $how" "$layers" "$(ls "$HUTCH_HOME/lib/pool" 2>/dev/null || true)"
            [ "$HUTCH_TEST_AS" != root ] || grep -q box <(hutch ls -q) || same "in ls with $file $how" box ""
            status=0
            timeout 10 "${AS[@]}" "$HUTCH" rm -f box >"$WORK/out" 2>"$WORK/said" || status=$?
            # without cgroups and pool a sweep may have been first: it was dead
            [ "$HUTCH_TEST_AS" != root ] || same "rm -f with $file $how" 0 "$status"
            same "left with $file $how" "" "$(ls -A "$HUTCH_HOME/lib/sandboxes")"
        done
    done
}

@test "a damaged home of a running sandbox: it goes on, and rm -f ends and removes it" {
    local file how
    for file in state spec lock id socket log exec; do
        for how in missing garbage directory symlink fifo; do
            create box
            damage "$file" "$how"
            status=0
            timeout 5 "${AS[@]}" "$HUTCH" ls >"$WORK/out" 2>"$WORK/said" || status=$?
            same "status of ls" 0 "$status"
            status=0
            timeout 5 "${AS[@]}" "$HUTCH" exec box -- true >"$WORK/out" 2>"$WORK/said" || status=$?
            between "status of exec with $file $how" 0 125 "$status"
            status=0
            timeout 15 "${AS[@]}" "$HUTCH" rm -f box >"$WORK/out" 2>"$WORK/said" || status=$?
            same "rm -f with $file $how" 0 "$status"
            same "left with $file $how" "" "$(ls -A "$HUTCH_HOME/lib/sandboxes")"
        done
    done
    hutch gc >/dev/null
}

@test "a keeper whose socket was taken away listens again, also at rest; one whose home was removed ends" {
    local way keeper
    create box
    for way in missing garbage directory; do
        damage socket "$way"
        until_true 5 hutch exec box -- true
    done
    hutch stop box
    damage socket missing
    until_true 5 hutch start box
    same "after all that" alive "$(inside box 'echo alive')"
    keeper=$(keeper_of box)
    rm -rf "$(home_of box)"
    until_true 5 test ! -e "/proc/$keeper"
    same "listed" "" "$(hutch ls -q)"
    same "files in the pool" "" "$(ls "$HUTCH_HOME/lib/pool" 2>/dev/null || true)"
}

setup() {
    AS=()
    [ "$HUTCH_TEST_AS" = root ] || AS=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups)
    setup_world
}
