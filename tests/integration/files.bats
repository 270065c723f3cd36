#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a command sees of files, what it may write, and what of it reaches the host.

load ../lib
load words

# Everything about a tree that a careless overlay or copy could change.
fingerprint() { # DIRECTORY
    (
        cd "$1" || exit
        find . -printf '%P %y %m %U:%G %n %T@ %l\n' | sort
        find . -type f -exec sha256sum {} + | sort
    )
}

owned_by_caller() { # PATH...
    [ "$HUTCH_TEST_AS" = root ] || chown -hR "$TEST_UID:$TEST_UID" "$@"
}

# A directory with a bit of everything, owned by the caller. In $dir.
workspace() {
    dir=$(user_dir "${1:-project}")
    mkdir "$dir/sub"
    echo original >"$dir/file"
    echo deep >"$dir/sub/file"
    printf '#!/bin/sh\necho script ran\n' >"$dir/script"
    chmod 755 "$dir/script"
    ln -s file "$dir/link"
    ln -s /nowhere/at/all "$dir/dangling"
    owned_by_caller "$dir"
}

# Makes, changes, renames and removes; the same for every kind of writable workspace.
HAVOC='echo changed >file && echo new >new && mkdir made && echo x >made/x && rm sub/file && mv link moved && chmod 700 script &&
    ./script && ls -A | sort | xargs'
HAVOC_SHOWS='script ran
dangling file made moved new script sub'

# --- the default root -------------------------------------------------------------------------------------------------------

@test "default root: /usr cannot be written, by the user nor by the sandbox's root" {
    for user in user root; do
        result -u "$user" -- sh -c 'touch /usr/x || touch /usr/bin/x || touch /usr/local/x || rm -f /usr/bin/env || chmod 777 /usr'
        same "attempts as $user" 5 "$(field .stderr | grep -c .)"
        same "refusals" 5 "$(field .stderr | grep -c 'Read-only file system')"
    done
    [ ! -e /usr/x ] && [ ! -e /usr/bin/x ] && [ ! -e /usr/local/x ] && [ -e /usr/bin/env ]
}

@test "default root: /tmp, /var/tmp, /home/user, /workspace and /dev/shm are writable, empty and private" {
    local place
    for place in /tmp /var/tmp /home/user /workspace /dev/shm; do
        result -- sh -c "ls -A $place; echo x >$place/hutch-private && cat $place/hutch-private"
        ended exited 0 null
        same "what $place shows" x "$(field .stdout)"
        [ ! -e "$place/hutch-private" ]
    done
    # with a single-user map everything in the sandbox's own root is the user's
    [ "$HUTCH_TEST_AS" = root ] || return 0
    result -- sh -c 'for p in / /etc /var /run /root /sys /proc /dev; do touch $p/x 2>/dev/null && echo "$p is writable"; done; exit 0'
    same "elsewhere" "" "$(field .stdout)"
}

@test "default root: nothing of one run is left for the next" {
    hutch run -- sh -c 'echo x >/tmp/a; echo x >/workspace/b; echo x >/home/user/c; echo x >/dev/shm/d'
    result -- find /tmp /workspace /home /dev/shm /var/tmp -type f
    same "files found" "" "$(field .stdout)"
}

@test "default root: /etc has only what programs need, and none of the host's secrets" {
    local expected="alternatives group hostname hosts ld.so.cache localtime mtab nsswitch.conf os-release passwd ssl" name
    result -- ls -A /etc
    for name in $(field .stdout); do
        case " $expected " in
        *" $name "*) ;;
        *) same "an entry of /etc that nobody needs" "" "$name" ;;
        esac
    done
    for name in passwd group hosts hostname nsswitch.conf; do
        field .stdout | grep -qx "$name"
    done
    result -- sh -c 'ls -d /etc/shadow /etc/gshadow /etc/ssh /etc/machine-id /etc/sudoers /etc/ssl/private /var/lib /var/log /root/.ssh \
        /run/systemd /var/lib/dbus /sys/class /boot /srv /mnt /opt 2>/dev/null'
    same "the host's own" "" "$(field .stdout)"
    result -- cat /etc/hostname /proc/sys/kernel/hostname
    same "host name" $'hutch\nhutch' "$(field .stdout)"
    result -- getent passwd
    same "accounts" "root user nobody" "$(field .stdout | cut -d: -f1 | xargs)"
}

@test "default root: a canary file of the host is nowhere to be found" {
    echo "canary $$" >"$WORK/canary-$$"
    chmod 644 "$WORK/canary-$$"
    result -- find / -xdev -name "canary-$$"
    same "found" "" "$(field .stdout)"
    result -- cat "$WORK/canary-$$"
    same "exit code" 1 "$(field .exit_code)"
}

@test "default root: shared libraries, certificates, time zone and users resolve" {
    result -- sh -c 'ldconfig -p | head -1; id -un; date +%Z; test -e /etc/localtime; readlink -e /bin/sh; hostname; getent hosts localhost'
    ended exited 0 null
    same "the user" user "$(field .stdout | sed -n 2p)"
    same "the zone" "$(date +%Z)" "$(field .stdout | sed -n 3p)"
}

# --- --rootfs ---------------------------------------------------------------------------------------------------------------

# A small system of its own. In $root.
busybox_root() {
    local busybox applet
    busybox=$(command -v busybox) || skip "busybox is not installed"
    ! ldd "$busybox" >/dev/null 2>&1 || skip "busybox is not static (Debian: busybox-static)"
    root=$(user_dir root)
    mkdir -p "$root"/{bin,etc,tmp,home,opt}
    cp "$busybox" "$root/bin/busybox"
    for applet in sh ls cat id touch rm mkdir chmod find sleep echo env mv stat; do ln -s busybox "$root/bin/$applet"; done
    printf 'root:x:0:0:root:/root:/bin/sh\nalice:x:1234:1235:Alice:/home/alice:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\nteam:x:1235:\n' >"$root/etc/group"
    echo "an image file" >"$root/opt/file"
    chmod 1777 "$root/tmp"
    owned_by_caller "$root"
}

@test "--rootfs: the directory is the root, everything in it can be changed, and the original is untouched" {
    busybox_root
    local before
    before=$(fingerprint "$root")
    result --rootfs "$root" -u 0 -- sh -c 'ls /; cat /opt/file; rm -r /opt; echo x >/new; echo y >/etc/passwd; rm /bin/mv; ls /opt'
    holds "it is the image" '.stdout | contains("an image file") and contains("workspace") and (contains("usr") | not)'
    holds "what was removed is gone" '.stderr | contains("/opt: No such file")'
    same "the directory" "$before" "$(fingerprint "$root")"
}

@test "--rootfs: users and groups come from its own passwd" {
    busybox_root
    result --rootfs "$root" -u alice -- sh -c 'id; echo $HOME $USER; touch $HOME/x && stat -c %U:%G $HOME/x'
    ended exited 0 null
    same "identity" $'uid=1234(alice) gid=1235(team)\n/home/alice alice\nalice:team' "$(field .stdout)"
    result --rootfs "$root" -u 1234:77 -- id -g
    same "group by number" 77 "$(field .stdout)"
    result --rootfs "$root" -u user -- true
    refused 125 "user"
}

@test "--rootfs: /proc, /dev, /tmp and /workspace are there, devices of the image are not used" {
    busybox_root
    mkdir "$root/dev" "$root/proc"
    echo "not a device" >"$root/dev/null"
    owned_by_caller "$root"
    result --rootfs "$root" -- sh -c 'echo x >/dev/null && cat /dev/null; cat /proc/self/comm; echo ok >/tmp/x && cat /tmp/x; ls -d /workspace'
    ended exited 0 null
    same stdout $'cat\nok\n/workspace' "$(field .stdout)"
}

@test "--rootfs: symlinks in it at names hutch touches never lead out" {
    busybox_root
    local victim before name
    victim=$(user_dir victim)
    echo precious >"$victim/file"
    owned_by_caller "$victim"
    before=$(fingerprint "$victim")
    for name in proc dev sys workspace tmp etc/hosts etc/hostname artifacts; do
        rm -rf "${root:?}/$name"
        ln -s "$victim" "$root/$name"
        status=0
        hutch run --rootfs "$root" --artifacts "$(user_dir artifacts)" -- /bin/sh -c 'echo x >/workspace/x; echo x >/tmp/x' \
            >"$WORK/out" 2>"$WORK/said" || status=$?
        rm "$root/$name"
    done
    same "the victim" "$before" "$(fingerprint "$victim")"
}

@test "--rootfs: directories in which hutch makes something keep their modes and owners" {
    busybox_root
    chmod 2751 "$root/etc"
    chmod 711 "$root/home"
    [ "$HUTCH_TEST_AS" != root ] || chown 1234:1235 "$root/home"
    [ "$HUTCH_TEST_AS" != root ] || chmod 711 "$root/home"
    result --rootfs "$root" -- sh -c 'stat -c %a /etc /home /home/user /var/tmp /root; cat /etc/hostname'
    ended exited 0 null
    same "modes" $'2751\n711\n755\n1777\n700\nhutch' "$(field .stdout)"
    [ "$HUTCH_TEST_AS" = root ] || return 0
    result --rootfs "$root" -- stat -c %u:%g /etc /home /home/user
    same "owners" $'0:0\n1234:1235\n1000:1000' "$(field .stdout)"
}

@test "--rootfs: directories in which hutch finds all it would make keep their times" {
    busybox_root
    mkdir -p "$root"/home/user "$root"/var/tmp
    owned_by_caller "$root"
    touch -d @1000000000 "$root/home" "$root/var"
    result --rootfs "$root" -- stat -c %Y /home /var
    same "times" $'1000000000\n1000000000' "$(field .stdout)"
}

@test "--rootfs: what hutch adds does not depend on how plain its directories are" {
    busybox_root
    python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.note", b"x")' "$root/etc" || skip "no user attributes here"
    [ "$HUTCH_TEST_AS" != root ] || mknod "$root/etc/hosts" c 0 0 # an overlay's whiteout: there is nothing
    result --rootfs "$root" -- sh -c 'cat /etc/hosts /etc/hostname; ls -d /home/user /workspace'
    ended exited 0 null
    same "names" $'127.0.0.1 localhost hutch\n::1 localhost hutch\nhutch\n/home/user\n/workspace' "$(field .stdout)"
}

@test "--rootfs: a rootfs that is not there or is a file is one clear sentence" {
    result --rootfs "$WORK/not-there" -- true
    refused 125 "not-there"
    echo x >"$WORK/a-file"
    result --rootfs "$WORK/a-file" -- true
    refused 125 "not a directory"
}

# --- the workspace ----------------------------------------------------------------------------------------------------------

@test "workspace rw: the command's changes are the host's, and belong to the workspace's owner" {
    workspace
    result --workspace "$dir" -- sh -c "$HAVOC"
    ended exited 0 null
    same "seen inside" "$HAVOC_SHOWS" "$(field .stdout)"
    same "changed" changed "$(cat "$dir/file")"
    same "made" x "$(cat "$dir/made/x")"
    [ ! -e "$dir/sub/file" ] && [ -L "$dir/moved" ]
    same "owners" "$(stat -c %u:%g "$dir")" "$(find "$dir" -printf '%U:%G\n' | sort -u)"
    result --workspace "$dir:rw" -- cat file
    same "rw is the default" changed "$(field .stdout)"
}

@test "workspace rw as root: files belong to the owner, be it uid 1234 or root, and inside to the command" {
    needs_root
    for owner in 1234:1235 0:0 1000:1000 65534:65534 70000:70000; do
        rm -rf "${WORK:?}/project"
        workspace
        chown -R "$owner" "$dir"
        chmod 700 "$dir"
        result --workspace "$dir" -- sh -c 'stat -c %U . file; echo new >new && mkdir made && echo x >made/x && echo changed >file'
        ended exited 0 null
        same "inside it is the command's" $'user\nuser' "$(field .stdout)"
        same "owners of all of it" "$owner" "$(find "$dir" -printf '%U:%G\n' | sort -u)"
        result -u root --workspace "$dir" -- sh -c 'echo more >more'
        ended exited 0 null
        same "written by the sandbox's root" "$owner" "$(stat -c %u:%g "$dir/more")"
    done
}

@test "workspace rw: setuid and devices inside it are inert" {
    workspace
    cp /usr/bin/id "$dir/suid"
    chmod 4755 "$dir/suid"
    result --workspace "$dir" -- ./suid -u
    same "uid" 1000 "$(field .stdout)"
    result --workspace "$dir" -- mknod device c 1 3
    [ "$(field .exit_code)" != 0 ]
}

@test "workspace ro: nothing can be written, programs run" {
    workspace
    local before
    before=$(fingerprint "$dir")
    result --workspace "$dir:ro" -- sh -c './script; cat sub/file; echo x >file; touch new; rm sub/file; chmod 777 .'
    same "what runs" $'script ran\ndeep' "$(field .stdout)"
    same "refusals" 4 "$(field .stderr | grep -c 'Read-only file system')"
    same "the directory" "$before" "$(fingerprint "$dir")"
}

@test "workspace overlay and copy: everything can be changed, the original is untouched" {
    for mode in overlay copy; do
        rm -rf "${WORK:?}/project"
        workspace
        local before
        before=$(fingerprint "$dir")
        result --workspace "$dir:$mode" -- sh -c "$HAVOC"
        ended exited 0 null
        same "seen inside with $mode" "$HAVOC_SHOWS" "$(field .stdout)"
        same "the directory after $mode" "$before" "$(fingerprint "$dir")"
        result --workspace "$dir:$mode" -- sh -c 'stat -c %U . file sub sub/file script | sort -u; rm -rf ./* && ls -A'
        ended exited 0 null
        same "owner inside" user "$(field .stdout)"
        same "the directory after $mode" "$before" "$(fingerprint "$dir")"
    done
}

@test "workspace overlay and copy as root: of a directory that belongs to uid 1234, and of one that belongs to root" {
    needs_root
    for owner in 1234:1235 0:0; do
        for mode in overlay copy; do
            rm -rf "${WORK:?}/project"
            workspace
            chown -R "$owner" "$dir"
            chmod 700 "$dir"
            local before
            before=$(fingerprint "$dir")
            result --workspace "$dir:$mode" -- sh -c "$HAVOC"
            ended exited 0 null
            same "the directory of $owner after $mode" "$before" "$(fingerprint "$dir")"
        done
    done
}

@test "workspace copy: the copy counts against the disk limit, and one that does not fit is refused" {
    workspace
    head -c 20000000 /dev/zero >"$dir/big"
    owned_by_caller "$dir"
    result --disk 8m --workspace "$dir:copy" -- true
    refused 125 "--disk"
    result --disk 32m --workspace "$dir:copy" -- stat -c %s big
    same "size inside" 20000000 "$(field .stdout)"
}

@test "workspace copy and overlay: a FIFO or a socket in it does not hang anything" {
    workspace
    mkfifo "$dir/fifo"
    owned_by_caller "$dir"
    for mode in copy overlay; do
        result --timeout 5s --workspace "$dir:$mode" -- cat file
        ended exited 0 null
    done
}

# --- mounts and tmpfs -------------------------------------------------------------------------------------------------------

@test "--mount: a directory and a file, rw and ro, at places that exist and at new ones" {
    workspace data
    local data=$dir
    result --mount "$data:/data" --mount "$data/file:/etc/one-file:ro" --mount "$data/sub:/opt/a/b/c:ro" --mount "$data:/usr/local:ro" -- sh -c '
        echo new >/data/new; cat /etc/one-file; cat /opt/a/b/c/file; cat /usr/local/file
        echo x >/etc/one-file; echo x >/opt/a/b/c/new; echo x >/usr/local/new; exit 0'
    ended exited 0 null
    same "what was read" $'original\ndeep\noriginal' "$(field .stdout)"
    same "refusals" 3 "$(field .stderr | grep -c 'Read-only file system')"
    same "what was written" new "$(cat "$data/new")"
    same "its owner" "$(stat -c %u:%g "$data")" "$(stat -c %u:%g "$data/new")"
    result --mount "$data/file:/one:rw" -- sh -c 'echo changed >/one'
    same "a file, rw" changed "$(cat "$data/file")"
}

@test "--mount: a read-only mount stays so for the sandbox's root, and nothing is set-id or a device in it" {
    workspace data
    result -u 0 --mount "$dir:/data:ro" -- sh -c 'mount -o remount,rw /data; umount /data; echo x >/data/x'
    [ ! -e "$dir/x" ]
    result --mount "$dir:/data" -- sh -c 'grep " /data " /proc/self/mounts'
    holds "flags" '.stdout | contains("nosuid") and contains("nodev")'
}

@test "100 mounts at once" {
    local args=() i many
    many=$(user_dir many)
    for i in $(seq 100); do
        mkdir "$many/$i"
        echo "content $i" >"$many/$i/file"
        args+=(--mount "$many/$i:/m/$i:ro")
    done
    owned_by_caller "$many"
    result "${args[@]}" -- sh -c 'for i in $(seq 100); do cat /m/$i/file; done'
    ended exited 0 null
    same "all of them" "$(seq -f 'content %g' 100)" "$(field .stdout)"
}

@test "--tmpfs: empty, writable, of the size that was asked for, 64m by default" {
    result --tmpfs /scratch:8m --tmpfs /second -- sh -c 'ls -A /scratch; df -k --output=size /scratch /second | tail -2 | xargs
        dd if=/dev/zero of=/scratch/x bs=1M count=4 2>/dev/null && echo fits
        dd if=/dev/zero of=/scratch/x bs=1M count=16 2>&1 | grep -o "No space left on device"'
    same stdout $'8192 65536\nfits\nNo space left on device' "$(field .stdout)"
}

@test "--tmpfs hides a directory that the sandbox may not even enter" {
    local ws
    ws=$(user_dir ws)
    mkdir "$ws/private"
    echo private >"$ws/private/file"
    chown 5000000 "$ws/private"
    chmod 700 "$ws/private"
    result --workspace "$ws" --tmpfs /workspace/private:1m -- sh -c 'ls -A /workspace/private; echo mine >/workspace/private/file && cat /workspace/private/file'
    same stdout mine "$(field .stdout)"
    same "on the host" private "$(cat "$ws/private/file")"
}

# --- --read-only ------------------------------------------------------------------------------------------------------------

# Every directory in which something can be written.
WRITABLE='for d in / /* /var/* /etc/ssl /proc/self/root /proc/self/cwd/.. /home/* /dev/*; do [ -d $d ] && (: >$d/hutch-x) 2>/dev/null && echo $d; done; exit 0'

@test "--read-only: the command's own directories are writable and nothing else, for the sandbox's root too" {
    result --read-only -- sh -c "$WRITABLE"
    ended exited 0 null
    same "where something can be written" "/home /tmp /workspace /home/user /dev/shm" "$(field .stdout | xargs)"
    result --read-only -u 0 -- sh -c "$WRITABLE"
    same "as root" "/home /tmp /workspace /dev/shm" "$(field .stdout | xargs)"
    result --read-only -u 0 -- sh -c 'rm /etc/passwd; echo x >>/etc/hosts; mv /etc /etc2; ln -s x /x; mkdir /opt'
    same "refusals" 5 "$(field .stderr | grep -c 'Read-only file system')"
}

@test "--read-only: of a --rootfs too, with its /dev, whatever user is asked for" {
    busybox_root
    local before user
    before=$(fingerprint "$root")
    result --read-only --rootfs "$root" -- sh -c "$WRITABLE"
    same "where something can be written" "/tmp /workspace /home/user /dev/shm" "$(field .stdout | grep -vx /home | xargs)"
    for user in alice 0; do
        result --read-only --rootfs "$root" -u "$user" -- sh -c 'for d in / /bin /etc /opt /dev /dev/pts; do (: >$d/x) 2>/dev/null && echo $d; done; rm /opt/file
            echo x >/dev/null && cat /opt/file && echo y >/tmp/y && cat /tmp/y'
        ended exited 0 null
        same "as $user" $'an image file\ny' "$(field .stdout)"
    done
    same "the directory" "$before" "$(fingerprint "$root")"
}

@test "--read-only: workspaces, mounts, tmpfs and artifacts are what they are without it" {
    workspace
    local out mode
    out=$(user_dir out)
    for mode in copy overlay; do
        result --read-only --workspace "$dir:$mode" -- sh -c "$HAVOC"
        ended exited 0 null
        same "a workspace, $mode" "$HAVOC_SHOWS" "$(field .stdout)"
        same "the original" original "$(cat "$dir/file")"
    done
    result --read-only --workspace "$dir:ro" -- sh -c 'cat file; echo x >file'
    same "a read-only one" original "$(field .stdout)"
    result --read-only --workspace "$dir" --artifacts "$out" --mount "$dir/sub:/data/deep" --mount "$dir/sub:/tmp/sub:ro" --tmpfs /home/user/t -- sh -c '
        cat /tmp/sub/file; echo 1 >new; echo 2 >/artifacts/made; echo 3 >/data/deep/new; echo 4 >/home/user/t/x && cat /home/user/t/x
        echo x >/data/x; echo x >/tmp/sub/x'
    same "what was read" $'deep\n4' "$(field .stdout)"
    same "refusals" 2 "$(field .stderr | grep -c 'Read-only file system')"
    same "what was written" "1 2 3" "$(cat "$dir/new" "$out/made" "$dir/sub/new" | xargs)"
}

@test "--read-only: in a document, in the limits of the layer, and false is what it is without" {
    printf '{"command": ["sh", "-c", ": >/etc/x"], "user": "0", "read_only": true}' >"$WORK/spec.json"
    chmod 644 "$WORK/spec.json"
    result --spec "$WORK/spec.json"
    ended exited 2 null
    sed -i 's/true/false/' "$WORK/spec.json"
    result --spec "$WORK/spec.json"
    ended exited 0 null
    sed -i 's/false/"perhaps"/' "$WORK/spec.json"
    result --spec "$WORK/spec.json"
    refused 125 "read_only"
    # what is written beside the root counts as ever
    result --read-only --disk 4m -- sh -c 'head -c 8m /dev/zero >/tmp/big'
    same "reason" disk_limit "$(field .reason)"
}

# --- artifacts --------------------------------------------------------------------------------------------------------------

@test "--artifacts: what was left in /artifacts reaches the host after success and after failure" {
    local out
    out=$(user_dir out)
    result --artifacts "$out" -- sh -c 'cd /artifacts && mkdir -p a/b && echo deep >a/b/file && echo top >top && chmod 755 top && ln -s top link &&
        : >empty && printf "\0\377" >binary && exit 3'
    ended exited 3 null
    same "the tree" "a a/b a/b/file binary empty link top" "$(cd "$out" && find . -mindepth 1 -printf '%P\n' | sort | xargs)"
    same "content" "deep top" "$(cat "$out/a/b/file" "$out/top" | xargs)"
    same "mode" 755 "$(stat -c %a "$out/top")"
    same "a link stays a link" top "$(readlink "$out/link")"
    same "owners" "$(stat -c %u:%g "$out")" "$(find "$out" -printf '%U:%G\n' | sort -u)"
    # made when it is missing
    caller "$HUTCH" run "${RUN_FLAGS[@]}" --artifacts "$out/new" -- sh -c 'echo x >/artifacts/x'
    same "in a new directory" x "$(cat "$out/new/x")"
}

@test "--artifacts: also after a timeout, a cancelled run, an OOM and an output limit" {
    local out pid
    out=$(user_dir out)
    result --artifacts "$out" --timeout 400ms -- sh -c 'echo timeout >/artifacts/timeout; sleep 30'
    ended timeout 124 9
    result --artifacts "$out" --output-max 1k -- sh -c 'echo output >/artifacts/output; yes'
    same reason output_limit "$(field .reason)"
    start --artifacts "$out" -- sh -c 'echo cancelled >/artifacts/cancelled; sleep 30' 2>/dev/null
    pid=$!
    sleep 0.5
    kill "$pid"
    wait "$pid" || true
    if [ "$HUTCH_TEST_AS" != user ]; then
        result --artifacts "$out" --memory 64m --disk 16m -- sh -c "echo oom >/artifacts/oom; exec $PYTHON -c 'x = bytearray(200 << 20)'"
        same reason oom "$(field .reason)"
        same oom oom "$(cat "$out/oom")"
    fi
    same "the rest" "cancelled output timeout" "$(cat "$out/cancelled" "$out/output" "$out/timeout" | xargs)"
}

@test "--artifacts: links are never followed, on neither side" {
    local out secret
    out=$(user_dir out)
    secret=$(user_dir secret)
    echo secret >"$secret/file"
    ln -s "$secret/file" "$out/evil"
    ln -s "$secret" "$out/dir"
    owned_by_caller "$out" "$secret"
    result --artifacts "$out" -- sh -c "cd /artifacts && ln -s /etc/shadow shadow && ln -s ../../../etc up && echo evil >evil && ln -s $secret/file again"
    same "exit code" 0 "$(field .exit_code)"
    same "the link" /etc/shadow "$(readlink "$out/shadow")"
    same "the link" ../../../etc "$(readlink "$out/up")"
    same "what the host's link pointed at" secret "$(cat "$secret/file")"
    [ ! -L "$out/evil" ]
    result --artifacts "$out" -- sh -c 'mkdir /artifacts/dir && echo x >/artifacts/dir/x'
    same "what the host's link to a directory pointed at" file "$(ls "$secret")"
}

@test "--artifacts: a FIFO never hangs it, a socket is left out, a device or a set-id program cannot even be made" {
    local out
    out=$(user_dir out)
    result --timeout 10s --artifacts "$out" -- sh -c 'cd /artifacts && mkfifo fifo && python3 -c "
import socket
socket.socket(socket.AF_UNIX).bind(\"socket\")" && cp /usr/bin/true program && ! chmod u+s program && ! chmod g+s program && ! mknod device c 1 3'
    ended exited 0 null
    same "what came out" program "$(ls "$out")"
    same "its mode" 755 "$(stat -c %a "$out/program")"
}

@test "--artifacts: what the command has locked away is brought out too" {
    local out
    out=$(user_dir out)
    result --artifacts "$out" -- sh -c 'cd /artifacts && mkdir locked && echo x >locked/file && chmod 000 locked/file locked'
    ended exited 0 null
    same "the file" x "$(cat "$out/locked/file")"
}

@test "--artifacts: strange names come out as they are" {
    local out
    out=$(user_dir out)
    result --artifacts "$out" -- "$PYTHON" -c 'import os
for name in (b"-rf", b"new\nline", b"\xff\xfe", b"with space", b"*", b"x" * 255):
    open(b"/artifacts/" + name, "w").write("x")'
    ended exited 0 null
    same "how many" 6 "$(find "$out" -mindepth 1 -printf x | wc -c)"
    [ -f "$out/"$'new\nline' ] && [ -f "$out/"$'\xff\xfe' ] && [ -f "$out/-rf" ]
}

@test "--artifacts: a tree that is too deep is an error and not a hang or a crash" {
    local out
    out=$(user_dir out)
    result --timeout 20s --artifacts "$out" -- "$PYTHON" -c 'import os
os.chdir("/artifacts")
for _ in range(500):
    os.mkdir("d")
    os.chdir("d")'
    says "the person is told" "deep"
    rm -rf "$out"
}

@test "--artifacts: a file that is longer than all that may come out is left out and told, the others come" {
    local out
    out=$(user_dir out)
    result --disk 64m --artifacts "$out" -- sh -c 'cd /artifacts && mkdir sub && truncate -s 1T sub/hole && truncate -s 65M long
        for i in 1 2 3 4 5 6; do echo $i >f$i; echo $i >sub/f$i; done'
    same status 125 "$status"
    says "the person is told" "File too large"
    same "reason" "exited" "$(field .reason)"
    same "what came" "1 2 3 4 5 6 1 2 3 4 5 6" "$(cat "$out"/f? "$out"/sub/f? | xargs)"
    same "how many" 13 "$(find "$out" -mindepth 1 -printf x | wc -c)"
}

@test "--artifacts: all files together stay below the ceiling" {
    local out
    out=$(user_dir out)
    result --disk 64m --artifacts "$out" -- sh -c 'cd /artifacts && for i in 1 2 3 4 5 6; do truncate -s 40M f$i; done'
    same status 125 "$status"
    says "the person is told" "File too large"
    same "how many" 1 "$(find "$out" -mindepth 1 -printf x | wc -c)"
}

# --- who and where ----------------------------------------------------------------------------------------------------------

@test "-u: by name, by number, with a group; the default is an ordinary user" {
    same "default" "uid=1000(user) gid=1000(user) groups=1000(user)" "$(hutch run -- id)"
    same "root" "uid=0(root) gid=0(root) groups=0(root)" "$(hutch run -u root -- id)"
    same "number" "uid=4242 gid=4242 groups=4242" "$(hutch run -u 4242 -- id)"
    same "number and group" "uid=4242 gid=77 groups=77" "$(hutch run -u 4242:77 -- id)"
    same "name and group" "uid=1000(user) gid=65534(nogroup) groups=65534(nogroup)" "$(hutch run -u user:nogroup -- id)"
    same "largest" 65535 "$(hutch run -u 65535 -- id -u)"
    result -u 65536 -- id
    refused 125 "65535"
    result -u 4294967296 -- id
    refused 125 "65535"
    result -u nosuchuser -- id
    refused 125 "nosuchuser"
}

@test "-u: whoever the command is inside, on the host it is never root, and two sandboxes of root's differ" {
    local pids=() uids uid
    for user in root user 4242; do
        start -u "$user" -- sleep 30
        pids+=($!)
    done
    for pid in "${pids[@]}"; do until_true 5 payload "$pid"; done
    uids=$(for pid in "${pids[@]}"; do awk '/^Uid/ {print $2, $3, $4, $5}' "/proc/$(payload "$pid")/status"; done | tr ' ' '\n' | sort -u)
    kill "${pids[@]}"
    wait || true
    for uid in $uids; do [ "$uid" != 0 ]; done
    if [ "$HUTCH_TEST_AS" = root ]; then
        same "different host uids" 3 "$(wc -l <<<"$uids")"
    else
        same "host uid" "$TEST_UID" "$uids"
    fi
}
payload() { # PID-OF-HUTCH: prints the command's pid
    local init child
    init=$(init_of "$1")
    [ -n "$init" ] || return 1
    read -r child _ <"/proc/$init/task/$init/children" || [ -n "$child" ] || return 1
    [ "$(cat "/proc/$child/comm")" = sleep ] && echo "$child"
}

@test "-w: the command starts there; /workspace is the default" {
    same "default" /workspace "$(hutch run -- pwd)"
    same "chosen" /usr/bin "$(hutch run -w /usr/bin -- pwd)"
    workspace
    same "in a mount" "deep" "$(hutch run --workspace "$dir" -w /workspace/sub -- cat file)"
    result -w /proc/self/fd/0 -- pwd
    refused 125 "/proc"
    result -w relative -- pwd
    refused 125 "relative"
}

@test "environment: built from nothing, nothing of the caller's is in it" {
    export HUTCH_TEST_CANARY=canary
    same "variables" "HOME LANG PATH USER" "$(hutch run -- env | cut -d= -f1 | sort | xargs)"
    result -- sh -c 'cat /proc/*/environ | tr "\0" "\n" | grep -c CANARY'
    same "canary anywhere inside" 0 "$(field .stdout)"
}

@test "environment: -e wins over --pass-env, that over --env-file, that over the defaults; later files win" {
    printf 'A=file\nB=file\nC=file\nD=file\nHOME=/file\n' >"$WORK/first"
    printf '# a comment\n\nD=second file\n' >"$WORK/second"
    chmod 644 "$WORK/first" "$WORK/second"
    export B=passed C=passed E=passed F=not-passed
    result --env-file "$WORK/first" -e A=flag -e C=flag --pass-env B --pass-env C --pass-env E --pass-env UNSET_HERE \
        --env-file "$WORK/second" -- sh -c 'echo "$A,$B,$C,$D,$E,$F,$HOME,${UNSET_HERE-unset}"'
    same "values" "flag,passed,flag,second file,passed,,/file,unset" "$(field .stdout)"
}

@test "environment: values with newlines, equals signs and bytes that are not UTF-8 arrive as they are" {
    local value=$'two\nlines = \xff "q"'
    same "the value" "$(printf %s "$value" | sha256sum)" "$(hutch run -e "X=$value" -- "$PYTHON" -c 'import os, sys
sys.stdout.buffer.write(os.environb[b"X"])' | sha256sum)"
}
