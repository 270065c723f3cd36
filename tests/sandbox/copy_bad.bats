#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hutch cp that cannot work, or is ended in the middle: one clear sentence, and nothing left.

load ../lib
load ../integration/words
load words
load files

no_copier_of() { # NAME
    local pid
    for pid in $(hutch exec "$1" -- sh -c 'grep -lsa ^hutch-copy /proc/[0-9]*/cmdline'); do
        echo "still there: $pid" >&2
        return 1
    done
}
no_copier_soon() { until_true 3 no_copier_of "$1" 2>/dev/null || no_copier_of "$1"; }

@test "a sandbox that is stopped, paused or unknown" {
    local dir
    dir=$(here)
    caller sh -c "echo x >$dir/f"
    box box
    inside box 'echo x >/workspace/f'
    if [ "$HUTCH_TEST_AS" != user ]; then
        hutch pause box
        call cp "$dir/f" box:/workspace/
        refused 125 "is paused; 'hutch resume box'"
        call cp box:/workspace/f "$dir/g"
        refused 125 "is paused; 'hutch resume box'"
        status=0
        hutch cp box:/workspace/f - >"$WORK/out" 2>"$WORK/said" || status=$?
        refused 125 "is paused"
        hutch resume box
        copies "$dir/f" box:/workspace/
    fi
    hutch stop --grace 0s box
    call cp "$dir/f" box:/workspace/
    refused 125 "sandbox 'box'.*stopped|is not running"
    call cp box:/workspace/f "$dir/g"
    refused 125 "sandbox 'box'.*stopped|is not running"
    not test -e "$dir/g"
    hutch rm -f box
    call cp box:/workspace/f "$dir/g"
    refused 125 "there is no sandbox 'box'"
    call cp "$dir/f" box:/
    refused 125 "there is no sandbox 'box'"
    not test -e "$dir/g"
}

@test "words that make no sense" {
    local dir
    dir=$(here)
    caller sh -c "echo x >$dir/f; echo colon >'$dir/with:colon'; mkdir $dir/d"
    box box
    call cp
    same status 125 "$status"
    call cp "$dir/f"
    same status 125 "$status"
    call cp a b c
    same status 125 "$status"
    call cp "$dir/f" "$dir/g"
    refused 125 "no side is in a sandbox"
    call cp box:/a box:/b
    refused 125 "both sides are in a sandbox"
    call cp "$dir/f" box:
    refused 125 "empty path"
    call cp box: "$dir/g"
    refused 125 "empty path"
    call cp "" box:/
    refused 125 "empty path|no side"
    call cp box:/etc ""
    refused 125 "empty path|no side"
    call cp "$dir/none" box:/
    refused 125 "none'.*No such file"
    call cp box:/none "$dir/g"
    refused 125 "none' inside: No such file"
    call cp box:/none/deeper "$dir/g"
    refused 125 "none' inside: No such file"
    call cp box:/etc/passwd/x "$dir/g"
    refused 125 "inside: Not a directory"
    call cp "$dir/f/x" box:/
    refused 125 "Not a directory"
    call cp "$dir/f" "../x:/y"
    refused 125 "no side"
    call cp "$dir/f" "BOX:/"
    same status 125 "$status"
    call cp "$dir/f" ":/x"
    refused 125 "no side"
    # a path of the host that has a colon
    (cd "$dir" && copies ./with:colon box:/workspace/)
    copies "$dir/with:colon" box:/workspace/other:colon
    same "inside" "colon colon" "$(inside box 'cat /workspace/with:colon /workspace/other:colon' | xargs)"
    copies box:/workspace/other:colon "$dir/out:colon"
    same "outside" colon "$(cat "$dir/out:colon")"
    call cp "$dir/$(printf '%0300d' 0)" box:/
    refused 125 "[Ff]ile ?name too long"
    call cp "$dir/f" "box:/workspace/$(printf '%0300d' 0)"
    refused 125 "[Ff]ile ?name too long"
    call cp "$dir/f" "box:$(printf '/%0200d' {1..30})"
    refused 125 "No such file|[Ff]ile ?name too long"
    same "nothing came" "d f out:colon with:colon" "$(cd "$dir" && echo *)"
    hutch rm -f box
}

@test "places that cannot be written to, inside and outside" {
    local dir
    dir=$(here)
    caller sh -c "mkdir $dir/t; echo x >$dir/t/f"
    box box
    call cp "$dir/t" box:/usr/bin/
    refused 125 "cannot write.*inside: (that place is read-only|Permission denied)"
    for place in /proc /proc/self /proc/1/fd /proc/sys/kernel; do
        call cp "$dir/t" "box:$place"
        refused 125 "cannot write"
    done
    call cp "$dir/t/f" box:/dev/null
    inside box 'test -c /dev/null && echo x >/dev/null'
    # a device, a FIFO or what leads there is not what a copy is meant to replace
    inside box 'mkfifo /workspace/fifo'
    call cp "$dir/t/f" box:/workspace/fifo
    refused 125 "cannot replace a device, FIFO or socket by a copy '/workspace/fifo' inside"
    caller sh -c "mkfifo $dir/fifo; ln -s fifo $dir/to-fifo; ln -s /dev/null $dir/to-null"
    for place in fifo to-fifo to-null; do
        call cp box:/etc/hostname "$dir/$place"
        refused 125 "cannot replace a device, FIFO or socket by a copy '$dir/$place'"
    done
    same "still" "fifo symbolic link symbolic link" "$(stat -c %F "$dir"/{fifo,to-fifo,to-null} | xargs)"
    call cp box:/proc/sys/kernel/hostname "$dir/hostname"
    refused 125 "inside: (Operation n|N)ot supported"
    call cp box:/proc "$dir/proc"
    refused 125 "inside: (Operation n|N)ot supported"
    call cp box:/dev/zero "$dir/zero"
    refused 125 "neither a file"
    if [ "$HUTCH_TEST_AS" != root ]; then
        call cp box:/etc/hostname /etc/hutch-test-never
        refused 125 "Permission denied"
        mkdir -m 700 "$dir/closed"
        call cp "$dir/closed" box:/workspace/
        refused 125 "Permission denied"
        call cp box:/etc/hostname "$dir/closed/"
        refused 125 "Permission denied"
        caller sh -c "mkdir $dir/part; echo a >$dir/part/a; echo b >$dir/part/b; chmod 0 $dir/part/b"
        call cp "$dir/part" box:/workspace/
        same status 0 "$status"
        says "what cannot be read" "left out 'part/b': Permission denied"
    fi
    hutch rm -f box
}

@test "a full disk inside: one sentence, no half file, and the sandbox goes on" {
    local dir
    dir=$(here)
    caller sh -c "mkdir $dir/t; head -c 6000000 /dev/urandom >$dir/t/a; cp $dir/t/a $dir/t/b; cp $dir/t/a $dir/t/c; cp $dir/t/a $dir/t/d"
    box box --disk 16m
    call cp "$dir/t" box:/workspace/
    refused 125 "copy: cannot write 't/[abcd]' inside: (No space left on device|Disk quota exceeded)"
    same "half files" "" "$(inside box 'find /workspace -type f ! -size 6000000c')"
    inside box 'rm -r /workspace/t'
    copies "$dir/t/a" box:/workspace/
    hutch rm -f box
    box box --disk 32m --inodes 100
    caller sh -c "mkdir $dir/many; cd $dir/many; touch \$(seq 300)"
    call cp "$dir/many" box:/workspace/
    refused 125 "inside: (No space left on device|Disk quota exceeded)"
    hutch rm -f box
}

@test "a full disk outside: one sentence, and no half file" {
    [ "$(id -u)" = 0 ]
    box box
    inside box 'mkdir /workspace/t; for i in a b c d; do head -c 600000 /dev/urandom >/workspace/t/$i; done'
    # shellcheck disable=SC2016
    HUTCH=$HUTCH WORK=$WORK TEST_UID=$TEST_UID HUTCH_TEST_AS=$HUTCH_TEST_AS unshare -m bash -c '
        mkdir "$WORK/small" && mount -t tmpfs -o size=1m,mode=777 tmpfs "$WORK/small"
        drop=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups)
        [ "$HUTCH_TEST_AS" != root ] || drop=()
        "${drop[@]}" "$HUTCH" cp box:/workspace/t "$WORK/small/t" 2>"$WORK/said"
        echo $? >"$WORK/code"
        find "$WORK/small" -type f ! -size 600000c >"$WORK/half"
        "${drop[@]}" "$HUTCH" cp box:/workspace/t - >"$WORK/small/tar" 2>"$WORK/said2"
        echo $? >"$WORK/code2"
    ' 3>&-
    status=$(cat "$WORK/code")
    refused 125 "copy: cannot write 't/.': No space left on device"
    same "half files" "" "$(cat "$WORK/half")"
    mv "$WORK/said2" "$WORK/said"
    status=$(cat "$WORK/code2")
    refused 125 "copy: cannot write 'the archive': No space left on device"
    rmdir "$WORK/small"
    no_copier_soon box
    hutch rm -f box
}

@test "kill -9, TERM and Ctrl-C of cp leave nothing running inside" {
    local dir signal pid i
    dir=$(here)
    caller mkfifo "$dir/endless"
    box box
    # an archive that never ends, into the sandbox
    for signal in KILL INT TERM; do
        for i in 1 2 3; do
            become "$HUTCH" cp - box:/workspace <>"$dir/endless" >/dev/null 2>&1 &
            pid=$!
            sleep 0.1
            kill -$signal $pid
            wait $pid 2>/dev/null || true
            no_copier_soon box
        done
    done
    inside box 'truncate -s 20G /workspace/huge; head -c 30000000 /dev/zero | tr "\0" x >/workspace/long'
    # and one out of it that nobody reads
    for signal in KILL INT TERM; do
        become "$HUTCH" cp box:/workspace/long - 1<>"$dir/endless" 2>/dev/null &
        pid=$!
        sleep 0.15
        kill -$signal $pid
        wait $pid 2>/dev/null || true
        no_copier_soon box
        become "$HUTCH" cp box:/usr "$dir/out" >/dev/null 2>&1 &
        pid=$!
        sleep 0.1
        kill -$signal $pid
        wait $pid 2>/dev/null || true
        no_copier_soon box
    done
    same "sessions" "" "$(hutch ps box | tail -n +2)"
    hutch rm -f box
}

# Every file in a directory has one of two contents; what has another name than the target was left by the last step of a replacement.
all_whole() { # OLD NEW < lines of sha256sum
    local sum name
    while read -r sum name; do
        case ${name##*/} in
        target | .hutch-cp-*) ;;
        *) echo "left behind: $name" >&2 && return 1 ;;
        esac
        [ "$sum" = "$1" ] || [ "$sum" = "$2" ] || { echo "neither old nor new: $name" >&2 && return 1; }
    done
}

@test "kill -9 of cp at any moment: a file is the old one or the new one, never a part of it" {
    local dir i pid old new
    dir=$(here)
    caller sh -c "mkdir $dir/to; echo old >$dir/old; seq 1000000 >$dir/new"
    old=$(sha256sum <"$dir/old" | cut -d' ' -f1)
    new=$(sha256sum <"$dir/new" | cut -d' ' -f1)
    box box
    inside box 'mkdir /workspace/to'
    copies "$dir/new" box:/workspace/new
    for i in $(seq 30); do
        # every other time there is nothing to replace
        if ((i % 2)); then
            copies "$dir/old" box:/workspace/to/target
            caller cp "$dir/old" "$dir/to/target"
        else
            inside box 'rm -f /workspace/to/target'
            rm -f "$dir/to/target"
        fi
        become "$HUTCH" cp "$dir/new" box:/workspace/to/target >/dev/null 2>&1 &
        pid=$!
        sleep "0.0$((RANDOM % 10))"
        kill -KILL $pid 2>/dev/null || true
        wait $pid 2>/dev/null || true
        no_copier_soon box
        inside box 'cd /workspace/to && find . -type f -exec sha256sum {} +' | all_whole "$old" "$new"
        become "$HUTCH" cp box:/workspace/new "$dir/to/target" >/dev/null 2>&1 &
        pid=$!
        sleep "0.0$((RANDOM % 10))"
        kill -KILL $pid 2>/dev/null || true
        wait $pid 2>/dev/null || true
        find "$dir/to" -type f -exec sha256sum {} + | all_whole "$old" "$new"
    done
    copies "$dir/new" box:/workspace/to/target
    copies box:/workspace/to/target "$dir/to/target"
    cmp "$dir/new" "$dir/to/target"
    hutch rm -f box
}

@test "a copy that fails leaves what it was to replace" {
    local dir
    dir=$(here)
    caller sh -c "echo old >$dir/old; head -c 12000000 /dev/urandom >$dir/big; ln $dir/old $dir/other"
    box box --disk 16m
    inside box 'head -c 8000000 /dev/zero >/workspace/ballast'
    copies "$dir/old" box:/workspace/target
    call cp "$dir/big" box:/workspace/target
    refused 125 "copy: cannot write 'big' inside: (No space left on device|Disk quota exceeded)"
    same "inside" old "$(inside box 'cat /workspace/target')"
    same "beside" "ballast target" "$(inside box 'ls -A /workspace' | xargs)"
    # a directory never makes way for a file, and another name of a replaced file keeps the old content
    inside box 'mkdir -p /workspace/t/d; echo new >/workspace/new; echo new >/workspace/t/e'
    caller sh -c "mkdir -p $dir/t/e; mkdir $dir/closed; chmod 500 $dir/closed"
    call cp box:/workspace/t "$dir"
    refused 125 "copy: cannot write 't/e': (Is a directory|File exists)"
    says "which" "t/e"
    same "outside" "" "$(find "$dir/t" -type f)"
    copies box:/workspace/new "$dir/old"
    same "replaced, and its other name" "new old" "$(cat "$dir/old" "$dir/other" | xargs)"
    if [ "$HUTCH_TEST_AS" != root ]; then
        call cp box:/workspace/new "$dir/closed/new"
        refused 125 "Permission denied"
    fi
    hutch rm -f box
}

@test "a sandbox that is killed, stopped or removed in the middle: one sentence, soon" {
    local dir verb pid before
    dir=$(here)
    caller mkfifo "$dir/endless"
    for verb in "kill" "stop --grace 0s" "rm -f"; do
        box box
        become "$HUTCH" cp - box:/workspace <>"$dir/endless" >"$WORK/out" 2>"$WORK/said" &
        pid=$!
        sleep 0.15
        before=$(now_ms)
        # shellcheck disable=SC2086
        hutch $verb box
        status=0
        wait $pid || status=$?
        in_time "ms until cp ended" 0 3000 $(($(now_ms) - before))
        refused 125 "copy: the half inside sandbox 'box' was ended"
        if [ "$verb" != "rm -f" ]; then hutch rm -f box; fi
    done
    box box
    become "$HUTCH" cp box:/usr "$dir/out" >"$WORK/out" 2>"$WORK/said" &
    pid=$!
    sleep 0.1
    hutch kill box
    status=0
    wait $pid || status=$?
    [ "$status" = 0 ] || refused 125 "copy: the half inside sandbox 'box' was ended"
    hutch rm -f box
}

@test "ten copies at once, both ways" {
    local dir i
    dir=$(here)
    box box
    for i in 1 2 3 4 5; do
        caller sh -c "mkdir $dir/$i; seq ${i}00000 >$dir/$i/f"
        inside box "mkdir /workspace/o$i; seq ${i}0000 >/workspace/o$i/f"
    done
    local pids=()
    for i in 1 2 3 4 5; do
        become "$HUTCH" cp "$dir/$i" box:/workspace/ >/dev/null 2>&1 &
        pids+=($!)
        become "$HUTCH" cp "box:/workspace/o$i" "$dir/" >/dev/null 2>&1 &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i"; done
    for i in 1 2 3 4 5; do
        inside box "cat /workspace/$i/f" | cmp - "$dir/$i/f"
        seq "${i}0000" | cmp - "$dir/o$i/f"
    done
    hutch rm -f box
}
