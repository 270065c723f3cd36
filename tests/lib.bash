# SPDX-License-Identifier: Apache-2.0
# What every bats file loads: who runs hutch, where its state lives, and the check that the world is as clean as before.
#
# HUTCH_TEST_AS says who: root, user (uid 65534 without any cgroup of its own), delegated (the same user inside cgroups that were
# handed to it). `hutch ...` calls the program under test as that user; `hutch_root ...` always as root.
#
# shellcheck shell=bash

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
HUTCH=${HUTCH_UNDER_TEST:-$TOP/build/hutch}
TEST_UID=65534
: "${HUTCH_TEST_AS:=root}"

# --- who --------------------------------------------------------------------------------------------------------------------

# Every test runs in cgroups of its own (v1 and hybrid hosts), so that whatever hutch starts or makes for it can be told from what
# others do on this machine at the same time. For the delegated user they are handed over, as a service manager would.
GROUPS_OF_TEST=()

enter_groups() {
    local lines names path name dir
    mapfile -t lines </proc/self/cgroup # first all of it: the moves change it
    while IFS=: read -r _ names path; do
        for name in ${names//,/ }; do
            case $name in
            memory | cpu | cpuacct | pids | freezer) ;;
            *) continue ;;
            esac
            dir=/sys/fs/cgroup/$name${path%/}/hutchtest-$$-$BATS_TEST_NUMBER
            mkdir "$dir" 2>/dev/null || continue
            [ "$HUTCH_TEST_AS" != delegated ] || chown -R "$TEST_UID:$TEST_UID" "$dir"
            echo 0 >"$dir/tasks"
            GROUPS_OF_TEST+=("$dir")
        done
    done < <(printf '%s\n' "${lines[@]}")
}

leave_groups() {
    local dir
    for dir in "${GROUPS_OF_TEST[@]}"; do
        echo 0 >"${dir%/*}/tasks"
        for _ in {1..100}; do # a process is in its group for a moment after it was waited for
            find "$dir" -depth -type d -exec rmdir {} + 2>/dev/null || true
            [ -d "$dir" ] || break
            sleep 0.02
        done
    done
}

as_user() { setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups "$@"; }

hutch_root() { "$HUTCH" "$@"; }

# The limits an ordinary user cannot have are allowed to be missing only where they really cannot be had.
hutch() {
    local verb=${1:-}
    case $HUTCH_TEST_AS:$verb in
    root:*) "$HUTCH" "$@" ;;
    user:run | user:create)
        shift
        as_user "$HUTCH" "$verb" --allow-missing memory --allow-missing cpus "$@"
        ;;
    *) as_user "$HUTCH" "$@" ;;
    esac
}

# A directory that the test's user owns and can reach.
user_dir() { # NAME
    local dir=$WORK/$1
    mkdir -p "$dir"
    [ "$HUTCH_TEST_AS" = root ] || chown "$TEST_UID:$TEST_UID" "$dir"
    echo "$dir"
}

# --- the world --------------------------------------------------------------------------------------------------------------

# A sandbox's PID 1. Its comm differs between kernels: it is executed by descriptor.
is_init() { # /proc/PID
    local argv0=
    read -r -d '' argv0 2>/dev/null <"$1/cmdline"
    [ "$argv0" = hutch-init ]
}

# The processes that may be this test's: those in its groups, or all of them where it has none.
candidates() {
    local dir
    for dir in "${GROUPS_OF_TEST[@]}"; do
        case $dir in /sys/fs/cgroup/pids/*) find "$dir" -name tasks -exec cat {} + 2>/dev/null && return ;; esac
    done
    (cd /proc && echo [0-9]*)
}

# Everything a sandbox could leave behind, one line each. Called in a subshell.
world() {
    local pid comm
    trap - DEBUG # by which bats follows every single command
    set +e       # what is gone by the time it is looked at is no failure
    for pid in $(candidates); do
        comm=
        read -r comm 2>/dev/null <"/proc/$pid/comm" || continue
        case $comm in
        hutch | hutch-full | hutch-remote | hutch-serve | hutch-keeper) echo "process $pid $comm" ;;
        *) [ "/proc/$pid/ns/pid" -ef /proc/self/ns/pid ] || [ ! -e "/proc/$pid/ns/pid" ] ||
            # ended, and an orphan: the host's PID 1 reaps it in its own time
            grep -qs '^State:.*zombie' "/proc/$pid/status" || echo "process $pid $comm" ;;
        esac
    done
    # keepers leave the cgroups of nobody, but are found by their home wherever they are
    grep -lsaxz "HUTCH_HOME=$HUTCH_HOME" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do
        comm=
        read -r comm 2>/dev/null <"/proc/$pid/comm" && [ "$comm" = hutch-keeper ] && echo "process $pid $comm"
    done
    # hutch makes groups beneath its own, or at the top of a v2 tree
    find "${GROUPS_OF_TEST[@]}" -mindepth 1 -type d -printf 'cgroup %p\n' 2>/dev/null
    [ -n "${GROUPS_OF_TEST[*]}" ] || find /sys/fs/cgroup -maxdepth 2 -type d -name 'hutch-[0-9a-f]*' -printf 'cgroup %p\n' 2>/dev/null
    # what others mount below directories for temporary files is theirs
    awk -v own="$BATS_RUN_TMPDIR/" -v engines="${ENGINES:-/none}/" 'index($5, engines) == 1 {next} # an engine has its own
        $5 !~ "^(/var)?/tmp/" || index($5, own) == 1 {print "mount", $3, $4, $5}' /proc/self/mountinfo
    grep -H . /sys/block/loop*/loop/backing_file 2>/dev/null |
        # of a file that is gone nothing is left but copies of its mount in namespaces that others have just made; they end with
        # those, and tests/run looks for what has not
        awk -F: -v own="$BATS_RUN_TMPDIR/" '/ \(deleted\)$/ {next} $2 !~ "^(/var)?/tmp/" || index($2, own) == 1 {print "loop", $0}'
    find /dev/shm -maxdepth 1 -name '*hutch*' -printf 'file %p\n' 2>/dev/null
    find /tmp -maxdepth 1 \( -name 'hutch-[0-9]*' -o -name '.hutch*' \) -printf 'file %p\n' 2>/dev/null
    # the quota pool's file and its mount point stay: making them anew would cost every first run; so do root's copies of hutch's
    # own programs, what is kept about an engine, the note that one was used, the audit journal, and the lock under which a tenant's sandboxes are counted
    find "$HUTCH_HOME" -mindepth 1 \( -path "$HUTCH_HOME/lib/pool*" -o -path "$HUTCH_HOME/lib/docker" -o -path "$HUTCH_HOME/lib/programs" -o -path "$HUTCH_HOME/lib/audit" \) -prune -o ! -name run \
        ! -name lib ! -name swept ! -name leases ! -path "$HUTCH_HOME/lib/claims" ! -path "$HUTCH_HOME/lib/claims/lock" ! -path "$HUTCH_HOME/lib/containers.*" ! -path "$HUTCH_HOME/lib/sandboxes" -printf 'state %p\n' 2>/dev/null
    find "$HUTCH_HOME/lib/pool" -mindepth 1 -maxdepth 1 ! -name lost+found -printf 'layer %p\n' 2>/dev/null
    return 0
}

world_snapshot() { world | sort -u >"$WORK/world.before"; }

# Fails and tells when something is there that was not, in every one of several looks: a cgroup's or namespace's end may take the
# kernel a moment, and what comes and goes between two looks is somebody else's.
world_is_clean() {
    local try
    world | sort -u | comm -13 "$WORK/world.before" - >"$WORK/world.left"
    for try in {1..50}; do
        [ -s "$WORK/world.left" ] || return 0
        sleep 0.1
        world | sort -u | comm -12 "$WORK/world.left" - >"$WORK/world.still"
        mv "$WORK/world.still" "$WORK/world.left"
    done
    [ -s "$WORK/world.left" ] || return 0
    echo "left behind after $try looks:" >&2
    head -n 30 "$WORK/world.left" >&2
    return 1
}

# --- every test -------------------------------------------------------------------------------------------------------------

# Who is nobody here may go as far as this.
open_way() { # PATH
    local dir=$1
    [ -d "$dir" ] || dir=$(dirname "$dir")
    while [ "$dir" != / ] && [ "$dir" != /tmp ]; do
        chmod o+x "$dir"
        dir=$(dirname "$dir")
    done
}

setup_world() {
    [ "$BATS_TEST_TRY_NUMBER" -eq 1 ] || echo "# try $BATS_TEST_TRY_NUMBER of $BATS_TEST_DESCRIPTION" >&3
    WORK=$BATS_TEST_TMPDIR
    export HUTCH_HOME=$WORK/home
    mkdir -p "$HUTCH_HOME"
    if [ "$HUTCH_TEST_AS" != root ]; then
        [ "$(id -u)" = 0 ] || skip "needs root to become the ordinary user"
        chown "$TEST_UID:$TEST_UID" "$HUTCH_HOME"
        open_way "$WORK"
    fi
    enter_groups
    world_snapshot
}

# What ended in order leaves nothing. A test that kills hutch itself says so with after_kill9: then a sweep comes first.
NEEDS_GC=
after_kill9() { NEEDS_GC=1; }

teardown_world() {
    local status=0 swept home
    [ -n "${WORK:-}" ] && [ -f "$WORK/world.before" ] || return 0
    if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
        # it has told why it failed; what it had no time to remove must not meet its next try
        for home in "$HUTCH_HOME"/lib/sandboxes/*/; do hutch rm -f "$(basename "$home")" >/dev/null 2>&1 || true; done
    fi
    if [ -n "$NEEDS_GC" ]; then hutch gc >/dev/null || status=1; fi
    world_is_clean || status=1
    swept=$(hutch gc) || status=1
    if [ "$swept" != "nothing to remove" ]; then
        printf 'a sweep found something:\n%s\n' "$swept" | head -n 30 >&2
        status=1
    fi
    leave_groups
    return $status
}

setup() { setup_world; }
teardown() { teardown_world; }

# --- small words for tests --------------------------------------------------------------------------------------------------

# json KEY < document: the value at a dotted path, as jq prints it raw.
json() { jq -r ".$1"; }

# A promise that names a time holds on a machine that has time: where others keep it busy, the test gets a second and a third try,
# and the log says so. What is slow by itself is slow three times.
# shellcheck disable=SC2034 # read by bats
by_the_clock() { BATS_TEST_RETRIES=2; }

needs_root() { [ "$HUTCH_TEST_AS" = root ] || skip "only root can do this"; }
needs_memory_group() { [ "$HUTCH_TEST_AS" != user ] || skip "an ordinary user without delegated cgroups has no memory limit"; }
