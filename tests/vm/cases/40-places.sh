# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2016,SC2034,SC2154
# Where root may find itself on a v2 host: each limit is enforced or the run is refused, never neither.
warm_up

holds() { # the limit holds
    run --memory 64m --pids 8 -- payload alloc 256
    want reason oom
    run --memory 64m --pids 8 -- payload fork 100
    want reason pids_limit
    run --cpus 0.5 -- cat /proc/self/cgroup
    want_status 0
    want isolation.missing "[]"
}

test_that "in the root cgroup"
as_root "$cgroup"
holds

test_that "in a service of its own"
as_root "$cgroup/system.slice/test.service"
holds

test_that "in a cgroup without a single controller"
mkdir -p "$cgroup/bare/leaf"
as_root "$cgroup/bare/leaf"
holds
rmdir "$cgroup/bare/leaf" "$cgroup/bare"

# As root of a container: the root of the tree is the container's own cgroup, and hutch lives in it.
contained() { # SHELL-WORDS
    as_root service
    enter
    status=0
    $runner guest contained sh -c "$1 exec hutch run --json --memory 64m --pids 8 -- payload alloc 256" \
        </dev/null >/case/out 2>/case/err || status=$?
}

test_that "in a cgroup namespace: hutch steps aside and the limits hold"
contained ""
want reason oom
want isolation.missing "[]"

test_that "in a cgroup namespace with a file system that is read-only: refused, with the reason"
contained "mount -o remount,bind,ro /sys/fs/cgroup;"
want_status 125
want_message memory

as_root -
test_that "with a cgroup file system that is read-only: refused, with the reason"
status=0
unshare -m sh -c 'mount -o remount,bind,ro /sys/fs/cgroup && exec hutch run --json -- true' \
    </dev/null >/case/out 2>/case/err || status=$?
want_status 125
want_message memory

test_that "with a cgroup file system that is read-only: allowed to miss what it cannot have"
status=0
unshare -m sh -c 'mount -o remount,bind,ro /sys/fs/cgroup && exec hutch run --json --allow-missing all -- true' \
    </dev/null >/case/out 2>/case/err || status=$?
want_status 0
want_has isolation.missing '"memory"'

test_that "without any cgroup file system: refused, with the reason"
status=0
unshare -m sh -c 'umount /sys/fs/cgroup && exec hutch run --json -- true' </dev/null >/case/out 2>/case/err || status=$?
want_status 125
want_message memory
