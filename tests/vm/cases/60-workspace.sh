# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2016,SC2034,SC2154
# Files that cross the border keep their owners. On this kernel ext4 can be mounted with another id map and tmpfs can not
# (that came with 6.3), so both roads are walked.
# Before 6.6 an overlay's layer is in the quota pool, which stays mounted until a sweep: made once here, swept after each use.
mkdir /case/warm
warm_up --workspace /case/warm:overlay
rmdir /case/warm
hutch_command gc
baseline

write_into() { # DIR
    mkdir -p "$1"
    echo before >"$1/before"
    chown -R 1000:1000 "$1"
    run --workspace "$1:rw" -- sh -c 'cat /workspace/before && echo after >/workspace/after'
}

want_owned() { # DIR
    want_status 0
    want stdout before
    want_that test "$(stat -c %u:%g "$1/after" 2>/dev/null)" = 1000:1000
}

test_that "root, a user's workspace on ext4: what is written belongs to that user"
write_into /case/work
want_owned /case/work
rm -rf /case/work

test_that "root, a user's workspace on tmpfs: what is written belongs to that user, or it is refused with the reason"
write_into /tmp/work
echo "# exit status $status: $(head -n 1 /case/err)"
case $status in
125) want_message filesystem ;;
*) want_owned /tmp/work ;;
esac
rm -rf /tmp/work

test_that "overlay leaves the original as it was"
mkdir /case/original
echo one >/case/original/file
run --workspace /case/original:overlay -- sh -c 'echo two >/workspace/file; cat /workspace/file'
want_status 0
want stdout two
want_that grep -qx one /case/original/file
rm -rf /case/original
hutch_command gc

# Before 6.6 tmpfs has no user.* attributes, and there overlayfs in a user namespace keeps what makes a directory opaque.
remake() { # [FLAG…]
    mkdir -p /case/original/directory
    echo old >/case/original/directory/file
    chown -R "$uid:$uid" /case/original
    run --workspace /case/original:overlay "$@" -- \
        sh -c 'rm -r /workspace/directory && mkdir /workspace/directory && ls -A /workspace/directory'
    want_status 0
    want stdout ""
    want stderr ""
    want_that test -e /case/original/directory/file
    rm -rf /case/original
    hutch_command gc
}

test_that "overlay: a directory of the original can be removed and made again"
remake

test_that "overlay on disk: a directory of the original can be removed and made again"
remake --disk 96m --memory 32m
hutch_command gc
world_is_as_before
sed -n 's/^+file/# the pool keeps/p' /case/.lib/changes
baseline

as_user alice scope
warm_up
test_that "an ordinary user's overlay is refused where tmpfs cannot carry it"
mkdir -p /case/original
run --workspace /case/original:overlay -- true
want_status 125
want_message 'needs Linux 6.6'
rm -rf /case/original

as_root -
test_that "a root file system of one's own"
mkdir -p /case/rootfs/bin /case/rootfs/etc
cp /usr/bin/busybox /case/rootfs/bin/busybox
run --rootfs /case/rootfs -- /bin/busybox echo inside
want_status 0
want stdout inside
want_not test -e /case/rootfs/proc
rm -rf /case/rootfs
hutch_command gc

test_that "a root file system of one's own: a directory of it can be removed and made again"
mkdir -p /case/rootfs/bin /case/rootfs/opt/directory
cp /usr/bin/busybox /case/rootfs/bin/busybox
ln -s busybox /case/rootfs/bin/sh
chmod 777 /case/rootfs/opt /case/rootfs/opt/directory
run --rootfs /case/rootfs -- sh -c 'busybox rmdir /opt/directory && busybox mkdir /opt/directory'
want_status 0
want stderr ""
rm -rf /case/rootfs
hutch_command gc

test_that "artifacts come out after a timeout as well"
mkdir /case/artifacts
run --timeout 1s --artifacts /case/artifacts -- sh -c 'echo kept >/artifacts/file; sleep 60'
want_status 124
want_that grep -qx kept /case/artifacts/file
rm -rf /case/artifacts
