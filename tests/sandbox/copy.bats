#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hutch cp: everything a file can be comes through both ways, and where it goes is what cp(1) would do.

load ../lib
load ../integration/words
load words
load files

@test "a tree of everything comes through both ways: kinds, names, modes, times, links, holes" {
    box box
    local dir
    dir=$(here)
    make_tree "$dir/tree"
    list_tree "$dir/tree" >"$WORK/list"
    copies "$dir/tree" box:/workspace/
    list_inside box /workspace/tree >"$WORK/list.inside"
    same_lists "inside" "$WORK/list" "$WORK/list.inside"
    copies box:/workspace/tree "$dir/back"
    list_tree "$dir/back" >"$WORK/list.back"
    same_lists "back again" "$WORK/list" "$WORK/list.back"
    # once more onto what is there: nothing is in the way, nothing is doubled
    copies "$dir/tree" box:/workspace
    copies box:/workspace/tree/. "$dir/back"
    hutch rm -f box
}

@test "holes stay holes, of 8 GiB too" {
    box box
    local dir
    dir=$(here)
    caller truncate -s 8G "$dir/huge"
    printf 'in the middle' | caller dd of="$dir/huge" bs=1M seek=5000 conv=notrunc status=none
    copies "$dir/huge" box:/workspace/huge
    between "KiB inside" 0 256 "$(inside box 'du -k /workspace/huge' | cut -f1)"
    same "bytes inside" $((8 << 30)) "$(inside box 'stat -c %s /workspace/huge')"
    same "the middle" "in the middle" "$(inside box 'dd if=/workspace/huge bs=1M skip=5000 count=1 status=none | tr -d "\0"')"
    copies box:/workspace/huge "$dir/back"
    between "KiB outside" 0 256 "$(du -k "$dir/back" | cut -f1)"
    same "bytes outside" $((8 << 30)) "$(stat -c %s "$dir/back")"
    same "the middle" "in the middle" "$(dd if="$dir/back" bs=1M skip=5000 count=1 status=none | tr -d '\0')"
    hutch rm -f box
}

@test "a large file comes through to its last byte, over one that is there too, and is not the sandbox's memory" {
    local dir
    dir=$(here)
    mkdir -m 777 "$dir/shared"
    [ "$HUTCH_TEST_AS" = root ] || chown "$TEST_UID" "$dir/shared"
    caller sh -c "head -c $(((70 << 20) + 12345)) /dev/urandom >$dir/large; echo old >$dir/shared/large"
    box box --workspace "$dir/shared:rw"
    copies "$dir/large" box:/workspace/large
    cmp "$dir/large" "$dir/shared/large"
    copies box:/workspace/large "$dir/back"
    cmp "$dir/large" "$dir/back"
    hutch rm -f box
    [ "$HUTCH_TEST_AS" = root ] || return 0
    # on a disk of its own
    box box --memory 256m --disk 1g
    copies "$dir/large" box:/tmp/large
    between "bytes at the most" 0 $((32 << 20)) "$(hutch inspect box | jq .usage.memory_peak_bytes)"
    hutch exec box -- cat /tmp/large | cmp - "$dir/large"
    hutch rm -f box
}

@test "the caller's files are the sandbox's user's inside, and the other way round" {
    box box
    local dir
    dir=$(here)
    caller sh -c "echo mine >$dir/mine && chmod 640 $dir/mine"
    copies "$dir/mine" box:/workspace/
    same "inside" "1000:1000 640" "$(inside box 'stat -c "%u:%g %a" /workspace/mine')"
    copies box:/workspace/mine "$dir/back"
    same "outside" "$(stat -c '%u:%g %a' "$dir/mine")" "$(stat -c '%u:%g %a' "$dir/back")"
    hutch rm -f box
    # whoever that user is
    box other -u 0
    copies "$dir/mine" other:/workspace/
    same "inside, as 0" "0:0 640" "$(inside other 'stat -c "%u:%g %a" /workspace/mine')"
    copies other:/workspace/mine "$dir/back2"
    same "outside, of 0" "$(stat -c '%u:%g %a' "$dir/mine")" "$(stat -c '%u:%g %a' "$dir/back2")"
    hutch rm -f other
}

# As root, owners who have a number on both sides keep it; root itself has none where the workspace is root's.
workspace_of() { # OWNER OTHERS
    local dir
    dir=$(here "of-$1")
    mkdir "$dir/shared"
    chown "$1:$1" "$dir/shared"
    caller sh -c "mkdir -p $dir/t/d; echo 1 >$dir/t/a; echo 2 >$dir/t/d/b; ln -s a $dir/t/link; ln $dir/t/d/b $dir/t/other; mkfifo $dir/t/fifo"
    [ "$HUTCH_TEST_AS" != root ] || chown "$2" "$dir/t/a"
    box box --workspace "$dir/shared:rw"
    copies "$dir/t/d/b" box:/workspace/b
    copies "$dir/t" box:/workspace/
    copies "$dir/t" box:/workspace/ # once more onto what is there
    tar c -C "$dir" t | hutch cp - box:/workspace/t/d
    same "outside" "$1:$1" "$(find "$dir/shared" ! -name a -printf '%U:%G\n' | sort -u)"
    same "inside" 1000:1000 "$(inside box 'find /workspace ! -name a -exec stat -c %u:%g {} +' | sort -u)"
    same "what came" "./b ./t ./t/a ./t/d ./t/d/b ./t/fifo ./t/link ./t/other" \
        "$(cd "$dir/shared" && find . -mindepth 1 ! -path './t/d/t*' | LC_ALL=C sort | xargs)"
    cmp "$dir/t/d/b" "$dir/shared/t/d/t/d/b"
    same "one file" "$(stat -c %i "$dir/shared/t/d/b")" "$(stat -c %i "$dir/shared/t/other")"
    same "the others' one" "$2" "$(stat -c %u:%g "$dir/shared/t/a")"
    hutch exec box -- rm -r /workspace/t
    hutch rm -f box
}

@test "what goes into a workspace belongs to who owns it, or keeps the owner it had" {
    workspace_of "$TEST_UID" "$([ "$HUTCH_TEST_AS" = root ] && echo 33:34 || echo "$TEST_UID:$TEST_UID")"
    [ "$HUTCH_TEST_AS" = root ] || return 0
    workspace_of 0 33:34
}

# Root's own workspace is the sandbox's user's inside, and so is every directory that a copy makes there until it leaves.
HOLD_FILES='
import glob, os, time
held, end = 0, time.time() + 60
open("/workspace/ready", "w").close()
while not os.path.exists("/workspace/stop") and time.time() < end:
    for name in glob.glob("/workspace/t/*"):
        try:
            with open(name, "r+b") as file:
                held += 1
        except OSError:
            pass
print(held)'

@test "a file of somebody else's cannot be opened by the sandbox while it is copied" {
    needs_root
    local dir pid
    dir=$(here)
    mkdir "$dir/shared" "$dir/t"
    for i in {1..400}; do head -c 200000 /dev/urandom >"$dir/t/$i"; done
    chown 33:34 "$dir"/t/*
    chmod 600 "$dir"/t/*
    box box --workspace "$dir/shared:rw"
    hutch exec box -- "$PYTHON" -c "$HOLD_FILES" >"$WORK/held" &
    pid=$!
    until_true 20 test -e "$dir/shared/ready"
    copies "$dir/t" box:/workspace/
    touch "$dir/shared/stop"
    wait "$pid"
    same "copied" 400 "$(find "$dir/shared/t" -type f -user 33 -group 34 | wc -l)"
    same "opened" 0 "$(cat "$WORK/held")"
    hutch rm -f box
}

@test "as root the numbers of others are kept, and nothing becomes the host's root that was not" {
    needs_root
    box box
    local dir
    dir=$(here)
    mkdir "$dir/t"
    touch "$dir/t/"{a,b,c}
    chown 5:6 "$dir/t/a"
    chown 33:0 "$dir/t/b"
    chown 3000000000:3000000000 "$dir/t/c"
    copies "$dir/t" box:/workspace/
    same "inside" "5:6 1000:1000" "$(hutch exec -u 0 box -- stat -c %u:%g /workspace/t/a /workspace/t/c | xargs)"
    hutch exec -u 7:8 box -- touch /tmp/of-7
    hutch exec -u 0 box -- touch /tmp/of-0
    copies box:/tmp/of-7 "$dir/of-7"
    same "outside" 7:8 "$(stat -c %u:%g "$dir/of-7")"
    copies box:/tmp/of-0 "$dir/of-0"
    same "outside, of 0" 0:0 "$(stat -c %u:%g "$dir/of-0")"
    copies box:/workspace/t "$dir/back"
    same "back" 5:6 "$(stat -c %u:%g "$dir/back/a")"
    hutch rm -f box
}

@test "set-user-ID, set-group-ID and sticky bits go in none and come out none" {
    box box
    local dir
    dir=$(here)
    caller sh -c "cp /bin/true $dir/suid && chmod 6755 $dir/suid && mkdir $dir/d && chmod 3777 $dir/d"
    copies "$dir/suid" box:/workspace/
    copies "$dir/d" box:/workspace/
    same "inside" "755 777" "$(inside box 'stat -c %a /workspace/suid /workspace/d' | xargs)"
    hutch rm -f box
    # no command inside can set them, but a root may have them
    local root
    root=$(small_root root)
    chmod 6755 "$root/bin/busybox"
    chmod 3777 "$root/data"
    box box --rootfs "$root"
    copies box:/bin/busybox "$dir/busybox"
    copies box:/data "$dir/data"
    same "outside" "755 777" "$(stat -c %a "$dir/busybox" "$dir/data" | xargs)"
    same "in an archive" "-rwxr-xr-x drwxrwxrwx" \
        "$( (hutch cp box:/bin/busybox - | tar -tvf - && hutch cp box:/data - | tar -tvf - | head -n 1) | cut -d' ' -f1 | xargs)"
    hutch rm -f box
}

@test "FIFOs go in and stay inside, sockets and devices are left out, and all that is told" {
    box box
    local dir
    dir=$(here)
    caller sh -c "mkdir $dir/t; mkfifo -m 622 $dir/t/fifo; echo x >$dir/t/file"
    caller "$PYTHON" -c "import socket; socket.socket(socket.AF_UNIX).bind('$dir/t/socket')"
    [ "$HUTCH_TEST_AS" != root ] || mknod "$dir/t/device" c 1 3
    call cp "$dir/t" box:/workspace/
    same status 0 "$status"
    says "the socket" "left out 't/socket': neither a file"
    [ "$HUTCH_TEST_AS" != root ] || says "the device" "left out 't/device'"
    same "inside" "fifo 622 regular file 644" "$(inside box 'stat -c "%F %a" /workspace/t/fifo /workspace/t/file' | xargs)"
    same "nothing else" "fifo file" "$(inside box 'ls /workspace/t' | xargs)"
    hutch exec box -- "$PYTHON" -c "import socket; socket.socket(socket.AF_UNIX).bind('/workspace/t/other')"
    call cp box:/workspace/t "$dir/back"
    same status 0 "$status"
    says "the FIFO" "left out 'back/fifo'"
    says "the socket" "left out '.*t/other'"
    same "outside" file "$(ls "$dir/back")"
    # asked for by its name
    call cp box:/workspace/t/fifo "$dir/fifo"
    refused 125 "neither a file, a directory nor a symlink 'fifo'"
    not test -e "$dir/fifo"
    call cp box:/workspace/t/other "$dir/socket"
    refused 125 "neither a file, a directory nor a symlink 'other' inside"
    not test -e "$dir/socket"
    hutch rm -f box
}

@test "where it goes: into a directory, onto a new name, onto a file; slashes and dots" {
    box box
    local dir
    dir=$(here)
    caller sh -c "cd $dir; echo one >one; echo two >two; mkdir d d/e; echo deep >d/e/f"
    inside box 'mkdir /workspace/there; echo old >/workspace/old; ln /workspace/old /workspace/old-too'
    copies "$dir/one" box:/workspace/there
    copies "$dir/two" box:/workspace/there/
    copies "$dir/one" box:/workspace/new
    copies "$dir/two" box:/workspace/old
    copies "$dir/d" box:/workspace/there
    copies "$dir/d/" box:/workspace/renamed
    copies "$dir/one" box:workspace/relative
    same "inside" "one two one two old deep deep one" "$(inside box 'cd /workspace; cat there/one there/two new old old-too there/d/e/f renamed/e/f relative' | xargs)"
    (cd "$dir" && copies ./one box:/tmp && copies d/../two box:/tmp/)
    same "dots" "one two" "$(inside box 'cat /tmp/one /tmp/two' | xargs)"
    (cd "$dir/d" && copies . box:/workspace/dot)
    same "a dot onto a new name" deep "$(inside box 'cat /workspace/dot/e/f')"
    (cd "$dir/d/e" && copies .. box:/workspace/dots)
    same "two dots" deep "$(inside box 'cat /workspace/dots/e/f')"
    # and out again
    mkdir "$dir/there" && chmod 777 "$dir/there"
    echo old >"$dir/old"
    chmod 666 "$dir/old"
    copies box:/workspace/new "$dir/there"
    copies box:/workspace/there/two "$dir/there/"
    copies box:/workspace/renamed/ "$dir/there"
    copies box:/workspace/new "$dir/new"
    copies box:/workspace/there/two "$dir/old"
    copies box:/workspace/renamed/. "$dir/dot"
    (cd "$dir/there" && copies box:/workspace/relative .)
    same "outside" "one two deep one two deep one" \
        "$(cd "$dir" && cat there/new there/two there/renamed/e/f new old dot/e/f there/relative | xargs)"
    call cp "$dir/one" box:/workspace/absent/
    refused 125 "absent"
    call cp "$dir/one" box:/workspace/absent/one
    refused 125 "absent"
    call cp "$dir/one" box:/workspace/new/
    refused 125 "new"
    call cp box:/workspace/new "$dir/absent/"
    refused 125 "absent"
    call cp "$dir/d" box:/workspace/new
    refused 125 "cannot write 'd' inside: Not a directory"
    same "the file that was in the way" one "$(inside box 'cat /workspace/new')"
    hutch rm -f box
}

@test "the whole of a sandbox's root can be asked for" {
    local root dir
    root=$(small_root root)
    dir=$(here)
    box box --rootfs "$root"
    call cp box:/data "$dir/data"
    same status 0 "$status"
    same content "one two three" "$(cat "$dir/data/one" "$dir/data/two" "$dir/data/deep/three" | xargs)"
    call cp box:/ "$dir/all"
    same status 0 "$status"
    says "what the kernel makes" "left out 'root/proc'"
    says "a device" "left out 'root/dev/null'"
    cmp "$dir/all/bin/busybox" "$root/bin/busybox"
    same "its data" one "$(cat "$dir/all/data/one")"
    hutch rm -f box
}

@test "a tar archive on standard input and output, as GNU tar makes and reads it" {
    box box
    local dir format
    dir=$(here)
    make_tree "$dir/tree"
    list_tree "$dir/tree" >"$WORK/list"
    for format in gnu posix; do
        inside box 'rm -rf /workspace/tree'
        caller tar -C "$dir" --format=$format -S -cf "$dir/$format.tar" tree
        hutch cp - box:/workspace <"$dir/$format.tar" 2>"$WORK/said"
        list_inside box /workspace/tree >"$WORK/list.inside"
        if [ $format = posix ]; then same_lists "$format" "$WORK/list" "$WORK/list.inside"; else
            same_lists "$format" <(sed -E 's/^(\S+ \S+ \S+ \S+ -?[0-9]+)[0-9]{9} /\1 /' "$WORK/list") \
                <(sed -E 's/^(\S+ \S+ \S+ \S+ -?[0-9]+)[0-9]{9} /\1 /' "$WORK/list.inside")
        fi
    done
    hutch cp box:/workspace/tree - >"$WORK/out.tar"
    mkdir "$dir/back"
    tar -C "$dir/back" -xpf "$WORK/out.tar"
    list_tree "$dir/back/tree" >"$WORK/list.back"
    same_lists "out" "$WORK/list" "$WORK/list.back"
    # through pipes, from one place inside to another
    hutch cp box:/workspace/tree - | hutch cp - box:/tmp
    list_inside box /tmp/tree >"$WORK/list.inside"
    same_lists "through a pipe" "$WORK/list" "$WORK/list.inside"
    hutch rm -f box
}

@test "a broken archive is one sentence" {
    box box
    local dir
    dir=$(here)
    make_tree "$dir/tree"
    caller tar -C "$dir" -cf "$dir/a.tar" tree
    broken() { # FILE PATTERN
        status=0
        hutch cp - box:/workspace <"$1" >"$WORK/out" 2>"$WORK/said" || status=$?
        refused 125 "$2"
    }
    head -c 100000 "$dir/a.tar" >"$WORK/cut.tar"
    broken "$WORK/cut.tar" "ends in the middle"
    yes | head -c 100000 >"$WORK/noise"
    broken "$WORK/noise" "header"
    broken "$dir" "cannot|director"
    status=0
    hutch cp - box:/workspace/none <"$dir/a.tar" >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "none"
    status=0
    hutch cp box:/usr/bin - 2>"$WORK/said" | head -c 1000 >/dev/null || status=$?
    if [ -s "$WORK/said" ]; then says "a reader that goes" "^hutch: copy: "; fi
    status=0
    hutch cp box:/usr/bin - >/dev/full 2>"$WORK/said" || status=$?
    refused 125 "No space left"
    broken /dev/null "ends in the middle"
    hutch rm -f box
}

@test "names of an archive lead nowhere else: absolute ones, dots and links" {
    box box
    local dir
    dir=$(here)
    caller "$PYTHON" - "$dir/evil.tar" <<'PY'
import io, sys, tarfile
with tarfile.open(sys.argv[1], "w") as tar:
    def add(name, **fields):
        info = tarfile.TarInfo(name)
        for key, value in fields.items():
            setattr(info, key, value)
        info.size = 4 if info.isreg() else 0
        tar.addfile(info, io.BytesIO(b"evil"))
    add("/workspace/absolute")
    add("../../tmp/dots")
    add("good")
PY
    hutch cp - box:/workspace <"$dir/evil.tar"
    same "where they are" "/workspace/good /workspace/tmp/dots /workspace/workspace/absolute" \
        "$(inside box 'find /workspace /tmp -type f | sort' | xargs)"
    hutch rm -f box
}
