# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2016,SC2034,SC2154
# Ordinary users in a subtree that systemd would have delegated to them: all limits hold without root.

holds() {
    test_that "$1: the run has every limit"
    run -- id -u
    want_status 0
    want isolation.missing "[]"

    test_that "$1: memory"
    run --memory 64m -- payload alloc 256
    want_status 137
    want reason oom
    want_between usage.memory_peak_bytes $((48 << 20)) $((64 << 20))

    test_that "$1: pids"
    run --pids 8 -- payload fork 100
    want reason pids_limit

    test_that "$1: cpus"
    run --cpus 0.5 -- payload spin 2000
    want_cpu_share 30 65

    test_that "$1: timeout"
    run --timeout 1s -- payload daemon 60000
    want_status 124
    want reason timeout

    test_that "$1: kill -9, then gc"
    run_in_background -- payload daemon 60000
    want_that within 50 pidof payload
    sleep 0.3
    kill -9 "$pid"
    finish
    want_that within 10 no_process payload
    hutch_command gc
    want_status 0
}

as_user alice scope
warm_up
holds "a user with a single-user map"

as_user bob scope
warm_up
holds "a user with a subuid range"

test_that "a user with a subuid range: the payload's host uid is the user's or of the range, never root's"
run_in_background -- sleep 30
want_that within 50 pidof sleep
owner=$(stat -c %u "/proc/$(pidof sleep)")
echo "# bob's payload runs as host uid $owner"
want_that test "$owner" -ge 1001
kill "$pid" 2>/dev/null
finish

as_user alice service
holds "a user in a delegated service"

test_that "no cgroup may be made in the delegated one: refused, and the message names the place"
make_unit "$cgroup/system.slice"
echo 0 >"$dir/cgroup.max.descendants"
as_user alice "$dir"
run -- true
want_status 125
want_that grep -qE 'memory|cgroup' /case/err

# A terminal's scope, with a shell in it. The kernel lets memory be handed down only from a cgroup without processes; cpu and
# pids it would hand down, but then children are "domain invalid" and no process can live in them. What is above belongs to
# the user in the first place, and to root in the second.
for parent in "$cgroup/user.slice/user-1000.slice/user@1000.service/app.slice" "$cgroup/system.slice"; do
    end_test
    group=$parent/terminal.scope
    as_user alice "$group"
    delegate "$group"
    guest as 1000 1000 "$group" sleep 300 &
    shell=$!
    within 50 pidof sleep
    baseline

    test_that "others live in the delegated cgroup, ${parent##*/}: enforced, or refused with cause and remedy"
    run --memory 64m -- payload alloc 256
    echo "# exit status $status: $(head -n 1 /case/err)"
    case $status in
    125) want_explained systemd-run ;;
    *) want reason oom ;;
    esac

    test_that "others live in the delegated cgroup, ${parent##*/}: it runs with what may be missing"
    run --allow-missing memory --allow-missing cpus --allow-missing pids -- true
    want_status 0

    test_that "others live in the delegated cgroup, ${parent##*/}: their cgroup is as it was"
    want_that kill -0 $shell
    want_that test "$(cat "$group/cgroup.type" "$group/cgroup.subtree_control")" = domain
    end_test
    kill $shell
    wait $shell 2>/dev/null
    find "$group" -depth -type d -exec rmdir {} +
done
