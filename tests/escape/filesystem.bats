#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The root filesystem: planted names never lead out, nothing of the host can be turned, taken or changed.

load ../lib
load ../integration/words
load words

# --- names planted in an image ----------------------------------------------------------------------------------------------

# Every name that hutch makes, opens, mounts on or reads in a root filesystem.
PLANTED=(dev proc sys etc tmp var var/tmp run home root workspace artifacts dev/null dev/pts dev/shm dev/ptmx dev/fd etc/hosts
    etc/hostname etc/passwd etc/group etc/resolv.conf etc/mtab etc/ld.so.cache home/bob home/user proc/sys proc/self sys/fs
    extra extra/target)

# Puts something at a name of the image and runs every option that touches names there. Whether that is refused or goes well is
# not the question; it has to end, and the host has to be what it was.
run_planted() { # ROOT
    plain --rootfs "$1" -u bob:bob --workspace "$WORK/ws" --artifacts "$WORK/art" --tmpfs /extra/tmpfs --mount "$WORK/src:/extra/target" \
        --timeout 20s -- /bin/sh -c 'for d in tmp etc dev artifacts home/user home/bob var/tmp run extra workspace; do echo x >/$d/x; done; mkdir /var/x; true'
    [ "$status" -ne 124 ]
    plain --rootfs "$1" --timeout 20s -- /bin/sh -c 'for d in tmp etc dev home/user var/tmp run root; do echo x >/$d/x; done; true'
    [ "$status" -ne 124 ]
}

plant_everywhere() { # KIND COMMAND...: called with the name to make
    local name root=$WORK/root kind=$1
    shift
    needs_busybox
    user_dir ws >/dev/null
    user_dir art >/dev/null
    user_dir src >/dev/null
    plant_canary canary >/dev/null
    make_rootfs pristine >/dev/null
    for name in "${PLANTED[@]}"; do
        rm -rf "$root"
        cp -a --link "$WORK/pristine" "$root"
        rm -rf "${root:?}/$name"
        mkdir -p "$(dirname "$root/$name")"
        "$@" "$root/$name"
        fingerprint "$root" >"$WORK/root.before"
        run_planted "$root"
        canary_lives canary || { echo "by a $kind at $name" >&2 && return 1; }
        fingerprint "$root" | diff "$WORK/root.before" - >&2 || { echo "the image was changed, with a $kind at $name" >&2 && return 1; }
    done
}

@test "symlinks to the host planted in an image at any name that hutch touches never lead out" {
    link() { ln -s "$WORK/canary" "$1"; }
    plant_everywhere "absolute symlink" link
}

@test "symlinks that climb out of an image never lead out" {
    link() { ln -s "../../../../../../../../../..$WORK/canary" "$1"; }
    plant_everywhere "climbing symlink" link
}

@test "symlinks to a file of the host planted in an image never lead to it" {
    link() { ln -s "$WORK/canary/file" "$1"; }
    plant_everywhere "symlink to a file" link
}

@test "magic links planted in an image never lead out" {
    link() { ln -s /proc/self/fd/9/../../../../../../../.."$WORK/canary" "$1"; }
    exec 9</
    plant_everywhere "magic link" link
    exec 9<&-
}

@test "a FIFO planted in an image at any name does not hang hutch" {
    plant_everywhere fifo mkfifo
}

@test "a device planted in an image at any name is not opened" {
    needs_root
    # the watchdog of a machine would reboot it when opened; the null device would not be noticed, this one reads for ever
    node() { mknod "$1" c 1 5; }
    plant_everywhere device node
}

@test "the canary notices: what an unguarded set-up would do is seen" {
    local canary
    canary=$(plant_canary canary)
    mkdir "$WORK/root"
    ln -s "$canary" "$WORK/root/dev"
    mkdir "$WORK/root/dev/pts"
    not canary_lives canary 2>/dev/null
}

@test "-u reads the image's passwd beneath the image, never the host's" {
    needs_busybox
    local root
    root=$(make_rootfs root)
    user_dir secret >/dev/null
    echo "mallory:x:4321:4321::/:/bin/sh" >"$WORK/secret/passwd"
    chmod 644 "$WORK/secret/passwd"
    ln -sf "$WORK/secret/passwd" "$root/etc/passwd"
    plain --rootfs "$root" -u mallory -- /bin/true
    refused 125 "'mallory' is not in"
    rm -r "${root:?}/etc" && ln -s "$WORK/secret" "$root/etc"
    plain --rootfs "$root" -u mallory -- /bin/true
    refused 125 "'mallory' is not in"
    # the control: the same link, leading to a file of the image
    mkdir -p "$root/$WORK/secret" && cp "$WORK/secret/passwd" "$root/$WORK/secret/passwd"
    rm "$root/etc" && mkdir "$root/etc" && ln -s "$WORK/secret/passwd" "$root/etc/passwd"
    [ "$HUTCH_TEST_AS" = root ] || chown -Rh "$TEST_UID:$TEST_UID" "$root"
    plain --rootfs "$root" -u mallory -- /bin/id -u
    same "the user" 4321 "$(cat "$WORK/out")"
}

@test "a home in the image's passwd that climbs out of the image is made nowhere" {
    needs_busybox
    local root up climb
    root=$(make_rootfs root)
    up=../../../../../../../../../..
    mkdir -m 1777 "$WORK/open"
    chmod o+x "$WORK" "$WORK/.." "$WORK/../.." # so that whatever ids a sandbox has could come here
    # through what the image lacks, through what it has, and beside the layer that hutch fills
    mkdir -p "$root/srv"
    for climb in "/home/new/$up/$up$WORK/open/made" "/home/$up/$up$WORK/open/made" "/home/../srv/$up/$up$WORK/open/made" \
        "/home/new/../../../lower/made" "/home/new/../../../made/made"; do
        printf 'bob:x:1234:1234::%s:/bin/sh\n' "$climb" >"$root/etc/passwd"
        plain --rootfs "$root" -u bob -- /bin/sh -c 'ls -d /made /lower /upper'
        same "what the host has of $climb" "" "$(ls -A "$WORK/open")"
        same "what the image has of $climb" "" "$(find "$root" -name made)"
    done
    # the control: the same name without the climb is made, in the sandbox
    printf 'bob:x:1234:1234::/home/new/made:/bin/sh\n' >"$root/etc/passwd"
    plain --rootfs "$root" -u bob -- /bin/sh -c 'cd && ls -d "$PWD"'
    same "the home" /home/new/made "$(cat "$WORK/out")"
}

# --- names planted in a workspace, and in what comes out --------------------------------------------------------------------

# The command's order is sent without waiting for the tree. strace holds the keeper back before it hears that there is none: its kill
# is then far too late. What would run has its own word for it, in a directory of the host that anybody may write to.
@test "a sandbox that could not be built starts nothing, however late its keeper hears of it" {
    needs_busybox
    local root reached status=0
    root=$(make_rootfs root)
    reached=$(mktemp -d /tmp/reached-XXXXXX) # $WORK is not for everybody
    chmod 777 "$reached"
    late() { # FLAG... -- COMMAND...
        caller strace -o /dev/null -e trace=ppoll -e inject=ppoll:delay_enter=300000 "$HUTCH" run "${RUN_FLAGS[@]}" --rootfs "$root" -w / "$@"
    }
    ln -s /tmp "$root/dev"
    late -- /bin/touch "$reached/ran" 2>"$WORK/said" || status=$?
    same "status" 125 "$status"
    grep -q "the target is a symlink" "$WORK/said"
    same "what ran" "" "$(ls -A "$reached")"
    # the control: held back alike, one that can be built does run
    rm "$root/dev"
    late --mount "$reached:/reached" -- /bin/touch /reached/ran
    same "what ran" ran "$(ls -A "$reached")"
    rm -rf "$reached"
}

@test "symlinks planted in a workspace never lead a mount out" {
    local ws src target
    ws=$(user_dir ws)
    src=$(user_dir src)
    plant_canary canary >/dev/null
    ln -s "$WORK/canary" "$ws/link"
    ln -s "../../../../../../..$WORK/canary" "$ws/climb"
    ln -s /proc/self/fd/9 "$ws/magic"
    for target in /workspace/link /workspace/link/sub /workspace/link/new /workspace/climb/new /workspace/magic /workspace/magic/new; do
        plain --workspace "$ws" --mount "$src:$target" -- true 9<"$WORK/canary"
        same "exit status for a mount on $target" 125 "$status"
        plain --workspace "$ws" --tmpfs "$target" -- true 9<"$WORK/canary"
        same "exit status for a tmpfs on $target" 125 "$status"
    done
    canary_lives canary
}

@test "a payload cannot have artifacts written through a link, whatever it plants and wherever" {
    local ws attack
    plant_canary canary >/dev/null
    # in the directory that receives them, which the payload can reach when it lies in the workspace
    for attack in \
        "ln -s CANARY /workspace/out/file; echo owned >/artifacts/file" \
        "ln -s CANARY /workspace/out/sub; mkdir /artifacts/sub; echo owned >/artifacts/sub/file" \
        "ln -s CANARY/file /workspace/out/file; echo owned >/artifacts/file" \
        "rmdir /workspace/out; ln -s CANARY /workspace/out; echo owned >/artifacts/file" \
        "mv /workspace/out /workspace/away; ln -s CANARY /workspace/out; mkdir /artifacts/sub; echo owned >/artifacts/sub/new" \
        "ln -s CANARY /workspace/out/.hutch-artifact; echo owned >/artifacts/file" \
        "ln -s CANARY/file /artifacts/file; ln -s CANARY /artifacts/sub" \
        "ln -s CANARY /artifacts/a; mkdir /artifacts/b; ln -s ../a /artifacts/b/c; echo owned >/artifacts/b/d" \
        "mkfifo /artifacts/fifo /workspace/out/file; echo owned >/artifacts/file"; do
        ws=$(user_dir ws)
        rm -rf "$ws/out" "$ws/away"
        mkdir "$ws/out"
        chown --reference "$ws" "$ws/out"
        plain --workspace "$ws" --artifacts "$ws/out" --timeout 10s -- sh -c "${attack//CANARY/$WORK/canary}"
        [ "$status" -ne 124 ]
        canary_lives canary || { echo "by: $attack" >&2 && return 1; }
    done
    # a second run into what the first left
    plain --artifacts "$WORK/art" -- sh -c "ln -s $WORK/canary /artifacts/sub; ln -s $WORK/canary/file /artifacts/file"
    plain --artifacts "$WORK/art" -- sh -c "mkdir /artifacts/sub; echo owned >/artifacts/sub/file; echo owned >/artifacts/file"
    canary_lives canary
}

@test "links stay links among the artifacts; FIFOs, sockets, devices and set-id bits stay inside" {
    local art
    art=$(user_dir art)
    plain --artifacts "$art" -- "$PYTHON" -c '
import os, socket
os.chdir("/artifacts")
os.symlink("/etc/shadow", "absolute"); os.symlink("../../../../etc/shadow", "climb"); os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
open("plain", "w").write("content"); os.link("plain", "hard"); os.mkdir("locked"); open("locked/in", "w").write("in")
os.chmod("locked/in", 0); os.chmod("locked", 0)'
    same "exit status" 0 "$status"
    same "what came out" "absolute:l climb:l hard:f locked/in:f locked:d plain:f" \
        "$(cd "$art" && find . -mindepth 1 -printf '%P:%y\n' | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')"
    same "the link" /etc/shadow "$(readlink "$art/absolute")"
    same "set-id files" "" "$(find "$art" -perm /6000)"
    same "owners" "$(stat -c %u "$art")" "$(find "$art" -mindepth 1 -printf '%U\n' | sort -u)"
}

@test "a workspace that is copied or overlaid is not touched, through links neither" {
    local ws mode
    ws=$(user_dir ws)
    plant_canary canary >/dev/null
    ln -s "$WORK/canary" "$ws/link"
    echo original >"$ws/file"
    mkdir "$ws/dir"
    [ "$HUTCH_TEST_AS" = root ] || chown -hR "$TEST_UID:$TEST_UID" "$ws"
    fingerprint "$ws" >"$WORK/ws.before"
    for mode in copy overlay ro; do
        plain --workspace "$ws:$mode" -- sh -c 'echo changed >file; rm -rf dir; mkdir new; echo x >link/file; rm link; chmod 777 .; touch -d 2001-01-01 . file'
        fingerprint "$ws" | diff "$WORK/ws.before" -
        canary_lives canary
    done
    plain --workspace "$ws:rw" -- sh -c 'echo changed >file'
    same "the control" changed "$(cat "$ws/file")"
}

@test "an overlay's own directories are not in sight" {
    local ws
    ws=$(user_dir ws)
    plain --workspace "$ws:overlay" -- sh -c 'find / -xdev -maxdepth 2 \( -name "*-upper" -o -name "*-lower" -o -name "*-work" -o -name upper -o -name lower \) -not -path "/proc/*" 2>/dev/null; ls -a /'
    not grep -qE 'upper|lower|workspace-' "$WORK/out"
}

# --- knobs of the kernel ----------------------------------------------------------------------------------------------------

knob_values() {
    local knob
    for knob in kernel/core_pattern kernel/modprobe kernel/sysrq kernel/hostname kernel/panic fs/suid_dumpable vm/overcommit_memory \
        net/ipv4/ip_forward kernel/randomize_va_space user/max_user_namespaces fs/inotify/max_user_instances; do
        echo "$knob $(cat "/proc/sys/$knob" 2>/dev/null)"
    done
    cat /sys/kernel/uevent_helper /sys/fs/cgroup/*/release_agent 2>/dev/null || true
}

@test "no knob of the kernel can be opened for writing, by nobody inside" {
    local user
    knob_values >"$WORK/knobs.before"
    for user in 1000 0 65535; do
        inside -u "$user" -- knobs
        all_refused 80
        between "files of /proc and /sys that were tried besides" 200 100000 "$(awk '/^files tried/ {print $3}' "$WORK/attempts")"
    done
    knob_values | diff "$WORK/knobs.before" -
}

@test "the control: outside the same program finds knobs to turn" {
    needs_root
    outside knobs
    done_all /proc/sys/kernel/core_pattern /proc/sys/kernel/panic /proc/sys/net/ipv4/ip_forward "a cgroup filesystem"
}

@test "no mount, no namespace and no device can be made inside" {
    local ws user
    ws=$(user_dir ws)
    for user in 1000 0; do
        inside -u "$user" --workspace "$ws" -- mounts /tmp /dev /dev/shm /workspace . /home/user
        all_refused 70
        same "devices in the workspace" "" "$(find "$ws" -type b -o -type c)"
    done
}

@test "the control: in a mount namespace of their own the same attempts succeed" {
    needs_root
    mkdir "$WORK/empty"
    (cd "$WORK/empty" && unshare -m --propagation private "$PYTHON" -c "$(payload mounts | sed '/attempt("umount \/"/d; /"pivot_root"/d; /"chroot"/d')" .) \
        >"$WORK/attempts" 2>"$WORK/said"
    done_all tmpfs bind fsopen open_tree "unshare net" "mknod whiteout in ." "mknod mem in ."
    rmdir /tmp/mnt
}

@test "device nodes that the host put into a workspace are dead, those of the sandbox work" {
    needs_root
    local ws
    ws=$(user_dir ws)
    mknod -m 666 "$ws/zero" c 1 5
    head -c 1 "$ws/zero" >/dev/null # the control
    plain --workspace "$ws" -- head -c 1 /workspace/zero
    same "exit status" 1 "$status"
    says "why" "Permission denied"
    plain -- sh -c 'head -c 3 /dev/zero | wc -c'
    same "the sandbox's own" 3 "$(cat "$WORK/out")"
}

# --- set-id -----------------------------------------------------------------------------------------------------------------

@test "no set-id file can be made in a workspace, by no call and no tool" {
    local ws user
    for user in 1000 0; do
        ws=$(user_dir "ws$user")
        inside -u "$user" --workspace "$ws" --workdir /workspace -- setuid
        all_refused 80
        same "set-id files on the host" "" "$(find "$ws" -perm /6000)"
        between "files it made" 20 1000 "$(find "$ws" -type f | wc -l)"
        same "files with capabilities on the host" "" "$(getfattr -R -m security.capability --absolute-names "$ws" 2>/dev/null)"
    done
}

@test "the control: outside the same program leaves set-id files" {
    local ws
    ws=$(user_dir ws)
    (cd "$ws" && outside setuid)
    done_all "4755 chmod" "4755 fchmodat" "4755 open" "4755 unnamed" "4755 mknod" "4755 tar" "4755 install"
    between "set-id files on the host" 20 1000 "$(find "$ws" -perm /6000 | wc -l)"
}

@test "no set-id file comes out among the artifacts or through a mount" {
    local src art
    src=$(user_dir src)
    art=$(user_dir art)
    hutch run --mount "$src:/data" --artifacts "$art" -- "$PYTHON" -c "import os
for place in ('/data', '/artifacts', '/tmp', '/home/user', '/dev/shm'):
    os.chdir(place)
    exec(compile('''$(payload setuid)''', 'setuid', 'exec'))" >"$WORK/attempts" 2>"$WORK/said"
    all_refused 300
    same "set-id files on the host" "" "$(find "$src" "$art" -perm /6000)"
}

@test "a set-id program or one with capabilities gains nothing inside" {
    [ "$(id -u)" = 0 ] || skip "needs root to make one"
    local ws
    ws=$(user_dir ws)
    cp /usr/bin/id "$ws/id"
    chown 12345:12346 "$ws/id"
    chmod 6755 "$ws/id"
    same "the control" 12345 "$(as_user "$ws/id" -u)"
    same "its user inside" 1000 "$(hutch run --workspace "$ws" -- ./id -u)"
    same "its group inside" 1000 "$(hutch run --workspace "$ws" -- ./id -g)"
    cp /bin/cat "$ws/cat"
    "$PYTHON" -c 'import os, struct, sys
os.setxattr(sys.argv[1], "security.capability", struct.pack("<IIIII", 0x02000001, 0x2000, 0, 0, 0))' "$ws/cat"
    same "the control" 0000000000002000 "$(as_user "$ws/cat" /proc/self/status | awk '/^CapEff/ {print $2}')"
    same "its capabilities inside" 0000000000000000 "$(hutch run --workspace "$ws" -- ./cat /proc/self/status | awk '/^CapEff/ {print $2}')"
}

@test "set-id programs of the host's own /usr gain nothing" {
    same "effective ids" "1000 1000" "$(hutch run -- sh -c 'for f in $(find /usr/bin /usr/sbin -perm /6000 2>/dev/null | head -3); do :; done; su -c "id -u" </dev/null >/dev/null 2>&1; echo $(id -u) $(id -g)')"
    plain -- "$PYTHON" -c 'import os
flags = os.statvfs("/usr").f_flag
print(bool(flags & os.ST_NOSUID), bool(flags & os.ST_RDONLY), bool(flags & os.ST_NODEV))'
    same "/usr is nosuid, read-only, nodev" "True True True" "$(cat "$WORK/out")"
}

# --- what is read-only, what is secret --------------------------------------------------------------------------------------

@test "nothing that is mounted read-only can be changed, linked or carried off" {
    local src ws user
    src=$(user_dir src)
    ws=$(user_dir ws)
    echo content >"$src/file"
    chown --reference "$src" "$src/file"
    fingerprint "$src" >"$WORK/src.before"
    for user in 1000 0; do
        inside -u "$user" --mount "$src:/given:ro" --workspace "$ws" -- readonly /given /workspace
        all_refused 20
        inside -u "$user" --workspace "$src:ro" --mount "$ws:/own" -- readonly /workspace /own
        all_refused 20
        fingerprint "$src" | diff "$WORK/src.before" -
    done
    outside readonly "$src" "$ws"
    done_all "write" "append" "link out" "link out by descriptor" "chmod" "reopen for writing" # the control
}

@test "a root that is read-only cannot be written to by any way, nor made writable, by its own root neither" {
    local user
    for user in 1000 0; do
        inside -u "$user" --read-only -- root
        all_refused 38
        inside -u "$user" --read-only --workspace "$(user_dir ws)" --mount "$(user_dir src):/given" --tmpfs /scratch -- root
        all_refused 38
    done
    inside -u 0 -- root # the control: what stood in the way is that alone
    done_all create "create in etc" append chmod utime mkdir symlink "rename in" "link in" socket fifo "unnamed file" \
        "by /proc/self/root" "by a descriptor" "out of /tmp" "out of /workspace" "in /dev" "in /run" rename truncate unlink
}

@test "a sandbox that stays with a read-only root: as closed by exec, as root, after a stop, and in a fork" {
    needs_root
    local user name
    hutch create --read-only --name box >/dev/null
    hutch fork box two >/dev/null
    hutch stop box
    hutch start box
    for name in box two; do
        for user in 1000 0; do
            hutch exec -u "$user" "$name" -- "$PYTHON" -c "$(payload root)" >"$WORK/attempts" 2>"$WORK/said"
            all_refused 38
        done
    done
    hutch rm -f box two
    hutch gc >/dev/null # the pool
}

@test "the host's programs cannot be changed from inside" {
    local user before
    before=$(find /usr -maxdepth 2 -printf '%p %m %U %s %T@ %C@\n' | sort | sha256sum)
    for user in 1000 0; do
        inside -u "$user" -- readonly /usr/lib/.. /tmp
        all_refused 20
        plain -u "$user" -- sh -c 'echo x >/usr/bin/hutch-canary; rm -f /usr/bin/env; mkdir /usr/x; chmod 777 /usr/bin; touch /usr; echo x >>/etc/ssl/certs/ca-certificates.crt; echo x >>/etc/ld.so.cache; rm /etc/alternatives/*'
    done
    same "/usr" "$before" "$(find /usr -maxdepth 2 -printf '%p %m %U %s %T@ %C@\n' | sort | sha256sum)"
}

@test "no secret, home, device or process of the host is in sight" {
    local user
    for user in 1000 0; do
        inside -u "$user" -- wide everywhere
        all_refused 40
    done
    outside wide
    done_all "there is /etc/shadow" "there is /var/lib" # the control
}

@test "files of the host's /usr that are not for everybody are not readable, neither for user 0 nor for a namesake" {
    needs_root
    local overlay=$WORK/overlay user
    mkdir -p "$overlay"/{upper,work}
    # in a mount namespace of its own, where /usr has a few private files more
    cat >"$WORK/attack" <<'SH'
set -eu
mount -t tmpfs none "$1" && mkdir "$1/upper" "$1/work"
mount -t overlay -o "lowerdir=/usr,upperdir=$1/upper,workdir=$1/work" none /usr
mkdir /usr/private
for owner in 0 1000 65535; do
    echo canary >"/usr/private/$owner"
    chown "$owner:$owner" "/usr/private/$owner"
    chmod 600 "/usr/private/$owner"
done
cp -a /usr/private/1000 /usr/private/open
chmod 644 /usr/private/open
for user in 0 1000 65535 0:0 1000:0; do
    for owner in 0 1000 65535; do
        ! "$2" run -u "$user" -- cat "/usr/private/$owner" 2>/dev/null || echo "user $user read the file of $owner"
    done
done
"$2" run -- cat /usr/private/open | sed 's/^/control: /'
SH
    same "what was read" "control: canary" "$(unshare -m --propagation private sh "$WORK/attack" "$overlay" "$HUTCH")"
}

# --- mounts -----------------------------------------------------------------------------------------------------------------

@test "filesystems that steer the host's kernel and devices are not mounted, also not below a directory" {
    local source
    for source in /proc /proc/sys /proc/self/fd /proc/1/root/proc /sys /sys/kernel /sys/fs/cgroup/memory /dev/pts /dev/null /dev/pts/ptmx; do
        [ -e "$source" ] || continue
        plain --mount "$source:/steer" -- ls /steer
        same "exit status for $source" 125 "$status"
        [ ! -d "$source" ] || plain --workspace "$source" -- ls
        same "exit status for the workspace $source" 125 "$status"
    done
    # a directory with them below it: root leaves them out, an ordinary user may not and is refused
    cat >"$WORK/attack" <<'SH'
mount -t tmpfs none "$1" && mkdir -p "$1/a b/proc" "$1/plain" && chmod 755 "$1" && mount -t proc none "$1/a b/proc" && mount -t tmpfs none "$1/plain" && touch "$1/plain/file"
shift
exec "$@"
SH
    mkdir "$WORK/tree"
    in_tree() { unshare -m --propagation private sh "$WORK/attack" "$WORK/tree" "$@"; }
    if [ "$HUTCH_TEST_AS" = root ]; then
        same "what is there of proc" "" "$(in_tree "$HUTCH" run --mount "$WORK/tree:/tree" -- sh -c 'ls "/tree/a b/proc"')"
    else
        run in_tree setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups "$HUTCH" run "${RUN_FLAGS[@]}" --mount "$WORK/tree:/tree" -- true
        [ "$status" -eq 125 ]
        [[ $output == *"has procfs mounted below it"* ]]
        same "the control: an ordinary filesystem below" file "$(in_tree setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups \
            "$HUTCH" run "${RUN_FLAGS[@]}" --mount "$WORK/tree/plain:/tree" -- ls /tree)"
    fi
}

@test "mounts made for a sandbox do not appear on the host, nor the host's later ones inside" {
    cat >"$WORK/attack" <<'SH'
set -eu
dir=$1
shift
mount -t tmpfs none "$dir" && mount --make-shared "$dir"
mkdir -p "$dir/ws/sub" "$dir/ws/late" "$dir/src" "$dir/later" && touch "$dir/src/canary" && chown -R 65534:65534 "$dir"
(sleep 0.7 && mount -t tmpfs none "$dir/ws/late" && touch "$dir/ws/late/canary") &
"$@" --workspace "$dir/ws" --mount "$dir/src:/workspace/sub" -- sh -c 'ls sub; sleep 1.5; ls late'
wait
echo "host: $(ls "$dir/ws/sub")"
echo "late: $(ls "$dir/ws/late")"
SH
    mkdir "$WORK/shared"
    local caller=("$HUTCH" run)
    [ "$HUTCH_TEST_AS" = root ] || caller=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups "$HUTCH" run "${RUN_FLAGS[@]}")
    same "what was seen" "canary|host: |late: canary" \
        "$(unshare -m --propagation private sh "$WORK/attack" "$WORK/shared" "${caller[@]}" | tr '\n' '|' | sed 's/|$//')"
}

@test "a host without some of the optional files has a sandbox without them, and no other in their place" {
    needs_root
    local hidden
    for hidden in /etc/ssl /etc/alternatives; do
        [ -d "$hidden" ] || continue
        same "what is in /dev and /etc with $hidden empty" "null:character special file passwd:regular file" \
            "$(unshare -m --propagation private sh -c 'mount -t tmpfs none "$1" && [ "$1" != /etc/alternatives ] || umount /etc/alternatives; exec "$2" run -- stat -c "%n:%F" /dev/null /etc/passwd' sh "$hidden" "$HUTCH" | sed 's|.*/||' | tr '\n' ' ' | sed 's/ $//')"
    done
}
