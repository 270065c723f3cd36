#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hutch cp against a sandbox that works against it. What counts is what the host sees: a canary that nothing may read or touch.

load ../lib
load ../integration/words
load words
load files

SWAP=$TOP/tests/sandbox/fixtures/swap.py

# Many calls of cp, two at a time, by one process of the caller's: how each ends does not matter, that it ends does.
many() { # COUNT SOURCE TARGET
    seq "$1" | caller timeout $((50 * ${HUTCH_TEST_SLOWER:-1})) xargs -P 2 -I% "$HUTCH" cp "$2" "$3" >"$WORK/out" 2>"$WORK/said" || [ $? = 123 ]
}

swapping() { # NAME DIR TARGET...
    hutch exec -i "$1" -- sh -c 'cat >/tmp/swap.py' <"$SWAP"
    hutch exec -d "$1" -- "$PYTHON" /tmp/swap.py "${@:2}" >/dev/null
    until_true 5 hutch exec "$1" -- test -e "$2/ready"
}

@test "2,000 copies each way while the sandbox swaps directories for links: never a byte of the host" {
    plant_canary
    box box --cpus 2
    local dir
    dir=$(here)
    caller sh -c "mkdir -p $dir/in/tree/dir/deeper $dir/out; for f in tree/file tree/dir/file tree/dir/deeper/file; do echo of the caller >$dir/in/\$f; done"
    swapping box /workspace "$CANARY" "$CANARY/dir" / /etc ../../../../../../../../../../..
    many 2000 "$dir/in/tree" box:/workspace
    canary_lives
    many 2000 box:/workspace/tree "$dir/out"
    canary_lives
    many 100 box:/workspace/tree/dir/deeper/file "$dir/out/one"
    many 100 box:/workspace/tree/dir "$dir/out/new/"
    canary_lives
    no_secret_in "$dir/out" "$WORK/out" "$WORK/said"
    same "nothing beside" "" "$(find "$dir/out" -mindepth 1 -maxdepth 1 ! -name tree ! -name one)"
    harmless "$WORK/said"
    hutch exec box -- true
    hutch rm -f box
}

@test "copies from and to a directory that the sandbox shares and swaps: never a byte of the host" {
    plant_canary
    local dir
    dir=$(here)
    mkdir -m 777 "$dir/shared"
    [ "$HUTCH_TEST_AS" = root ] || chown "$TEST_UID" "$dir/shared"
    box box --cpus 2 --workspace "$dir/shared:rw"
    swapping box /workspace "$CANARY" "$CANARY/dir"
    inside box 'mkdir -p /tmp/tree/dir/deeper; echo evil >/tmp/tree/file; echo evil >/tmp/tree/dir/file; echo evil >/tmp/tree/dir/deeper/file'
    # a host's half that reads where the sandbox writes
    many 700 "$dir/shared/tree" box:/tmp/taken
    many 300 "$dir/shared" box:/tmp/all
    canary_lives
    not hutch exec box -- grep -rqaF -- "$SECRET" /tmp
    # and one that writes there
    many 1000 box:/tmp/tree "$dir/shared"
    canary_lives
    hutch rm -f box
}

@test "links that are there already lead nowhere: nothing is written through one" {
    plant_canary
    box box
    local dir
    dir=$(here)
    caller sh -c "mkdir -p $dir/t/d; ln -s $CANARY/dir $dir/t/d/e; ln -s $CANARY/file $dir/t/f; ln -s $CANARY/dir $dir/t/g"
    inside box 'mkdir -p /workspace/t/d/e /workspace/t/g; echo evil >/workspace/t/d/e/file; echo evil >/workspace/t/f; echo evil >/workspace/t/g/file'
    copies box:/workspace/t "$dir"
    canary_lives
    same "what was a link" evil "$(cat "$dir/t/d/e/file")"
    # the very name that is asked for
    caller ln -s "$CANARY/file" "$dir/f"
    copies box:/workspace/t/f "$dir/f"
    canary_lives
    not test -L "$dir/f"
    # inside, a link is followed as far as the inside goes
    inside box 'ln -s /tmp /workspace/to-tmp; ln -s /tmp/file /workspace/to-file'
    copies "$dir/t/f" box:/workspace/to-tmp/
    same "through a link" evil "$(inside box 'cat /tmp/f')"
    copies "$dir/t/f" box:/workspace/to-file
    same "onto a link" "regular file" "$(inside box 'stat -c %F /workspace/to-file')"
    hutch rm -f box
}

@test "a tree that grows while it is copied, one that is too deep and one that is full of names" {
    box box --cpus 2
    local dir id
    dir=$(here)
    id=$(hutch exec -d box -- sh -c 'mkdir -p /workspace/g; i=0; while :; do i=$((i+1)); echo x >/workspace/g/$i; echo more >>/workspace/long; done')
    hutch exec box -- sh -c 'until [ -s /workspace/long ]; do sleep 0.01; done'
    call cp box:/workspace/g "$dir/g"
    call cp box:/workspace/long "$dir/long"
    same status 0 "$status"
    hutch kill box --exec "$id"
    inside box 'rm -rf /workspace/g' # it has taken the room of the next tree
    hutch exec box -- "$PYTHON" -c '
import os
os.chdir("/workspace")
for i in range(5000):
    os.mkdir("d")
    os.chdir("d")
'
    local before
    before=$(now_ms)
    call cp box:/workspace/d "$dir/deep"
    refused 125 "more directories inside each other than allowed"
    in_time "ms" 0 20000 $(($(now_ms) - before))
    hutch rm -f box
    chmod -R u+rwx "$dir"
}

@test "whoever inside kills or stops the half that copies: one sentence, and the next copy works" {
    local user=() dir pid
    [ "$HUTCH_TEST_AS" != root ] || user=(-u 0)
    dir=$(here)
    caller dd if=/dev/urandom of="$dir/big" bs=1M count=24 status=none
    box box --cpus 2 "${user[@]}"
    cat >"$WORK/hunt.py" <<'PY'
import os, signal, sys
while True:
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and open(f"/proc/{name}/cmdline").read().startswith("hutch-copy"):
                for fd in range(3):
                    try:
                        os.open(f"/proc/{name}/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK)
                        open("/tmp/opened", "a").write(f"{fd}\n")
                    except OSError:
                        pass
                for place in "mem", "root/etc", "cwd/etc":
                    try:
                        os.open(f"/proc/{name}/{place}", os.O_RDONLY)
                        open("/tmp/opened", "a").write(place)
                    except OSError:
                        pass
                os.kill(int(name), int(sys.argv[1]))
        except OSError:
            pass
PY
    hutch exec -i box -- sh -c 'cat >/tmp/hunt.py' <"$WORK/hunt.py"
    hunt() { hutch exec -d box -- "$PYTHON" /tmp/hunt.py "$1"; }
    local id whole
    id=$(hunt 9)
    for _ in 1 2 3 4 5 6; do
        call cp "$dir/big" box:/tmp/big
        [ "$status" = 0 ] || refused 125 "copy: the half inside sandbox 'box' was ended"
        whole=$status
        call cp box:/tmp/big "$dir/back"
        [ "$status" = 0 ] || refused 125 "copy: the half inside sandbox 'box' was ended|copy: cannot read"
        [ "$whole$status" != 00 ] || cmp "$dir/big" "$dir/back"
        status=0
        hutch cp box:/tmp - >"$WORK/out" 2>"$WORK/said" || status=$?
        [ "$status" = 0 ] || refused 125 "copy: the half inside sandbox 'box' was ended"
    done
    hutch kill --exec "$id" box
    # one that is stopped for good costs its caller nothing but the wait, and goes when the caller does
    id=$(hunt 19)
    sleep 0.3
    become "$HUTCH" cp "$dir/big" box:/tmp/big2 >/dev/null 2>&1 &
    pid=$!
    sleep 1
    kill -INT $pid 2>/dev/null || true
    wait $pid || true
    hutch kill --exec "$id" box
    until_true 5 sh -c "! grep -lsa '^hutch-copy' /proc/[0-9]*/cmdline | grep -q ." || true
    same "what was opened" "" "$(inside box 'cat /tmp/opened 2>/dev/null')"
    copies "$dir/big" box:/tmp/big
    copies box:/tmp/big "$dir/back"
    cmp "$dir/big" "$dir/back"
    hutch rm -f box
}

@test "no name steers a terminal by way of a message" {
    box box
    local dir
    dir=$(here)
    hutch exec box -- "$PYTHON" -c '
import os, socket
os.mkdir("/workspace/t")
for number, name in enumerate([b"\x1b]0;evil\x07", b"\x1b[2J", b"a\nhutch: all is well", b"\x9b31m", b"\xc2\x9b31m", b"\x7f", b"\xff" * 255]):
    os.mkfifo(b"/workspace/t/" + name)
    open(b"/workspace/" + name, "w").close()
'
    call cp box:/workspace/t "$dir/t"
    same status 0 "$status"
    same "lines" 7 "$(grep -c '^hutch: left out' "$WORK/said")"
    same "all lines" 7 "$(grep -c '' "$WORK/said")"
    harmless "$WORK/said"
    not grep -qaP '\xc2?\x9b' "$WORK/said"
    call cp "box:/workspace/none"$'\x1b[2J' "$dir/"
    refused 125 "none"
    harmless "$WORK/said"
    call cp "$dir/none"$'\x1b[2J' box:/
    refused 125 "none"
    call diff box
    harmless "$WORK/out"
    not grep -qaP '\xc2?\x9b' "$WORK/out"
    hutch rm -f box
}
