# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2086 # $runner is words, and no path here has a space
# The words the cases are written in. A test is
#
#     test_that "a bomb ends with reason oom"
#     run --memory 64m -- guest alloc 256
#     want reason oom
#
# and ends where the next one begins. It has passed when everything wanted was so and the machine is afterwards what it was
# before: no process, mount, cgroup, loop device or file more or less.

cgroup=/sys/fs/cgroup
test_name=
lib=/case/.lib
mkdir -p $lib
echo 0 >$lib/passed
echo 0 >$lib/failed

count() { # passed|failed
    echo $(($(cat "$lib/$1") + 1)) >"$lib/$1"
}

# ---- who runs hutch, and where ----

as_root() { # PLACE
    uid=0
    user_env="PATH=$PATH HOME=/root"
    place=$1
}

# alice has no subuid range, bob has one.
as_user() { # NAME PLACE
    uid=$(id -u "$1")
    user_env="PATH=$PATH HOME=/home/$1 USER=$1 XDG_RUNTIME_DIR=/run/user/$uid"
    place=$2
}

# A place is a cgroup, "-" for the case's own, or one of
#   session  a login session, which belongs to root
#   scope    what 'systemd-run --user --scope -p Delegate=yes' makes: new for each run, the user's own
#   service  a service with User= and Delegate=yes: the same, but what is above it is root's
enter() {
    case $place in
    session) dir=$cgroup/user.slice/user-$uid.slice/session-1.scope ;;
    scope) make_unit "$cgroup/user.slice/user-$uid.slice/user@$uid.service/app.slice" ;;
    service) make_unit $cgroup/system.slice ;;
    *) dir=$place ;;
    esac
    runner="guest as $uid $uid $dir env -i $user_env"
}

delegate() { # DIR
    mkdir "$1"
    chown "$uid:$uid" "$1" "$1/cgroup.procs" "$1/cgroup.subtree_control" "$1/cgroup.threads"
}

make_unit() { # PARENT
    units=$((units + 1))
    dir=$1/run-$units.unit
    delegate "$dir"
    echo "$dir" >>$lib/units
}

# systemd removes a unit's cgroup with what is below it once nobody lives there. The leaf in which hutch itself lived may be
# there, for hutch cannot remove it; a sandbox's may not.
remove_units() {
    local unit
    while read -r unit; do
        find "$unit" -mindepth 1 -type d ! -name hutch-supervisor >$lib/left
        [ ! -s $lib/left ] || fail "left in the unit: $(cat $lib/left)"
        find "$unit" -depth -type d -exec rmdir {} +
    done <$lib/units
    : >$lib/units
}

units=0
: >$lib/units
as_root -

# ---- running ----

# hutch run --json …: leaves status, /case/out (the result), /case/err and elapsed_ms.
run() {
    hutch_command run --json "$@"
}

hutch_command() {
    local start
    enter
    start=$(guest now)
    status=0
    (cd / && exec $runner hutch "$@") </dev/null >/case/out 2>/case/err || status=$?
    elapsed_ms=$(($(guest now) - start))
}

# The same in the background: pid is hutch's own. finish waits for it.
run_in_background() {
    enter
    (cd / && exec $runner hutch run --json "$@") </dev/null >/case/out 2>/case/err &
    pid=$!
}

finish() {
    status=0
    wait "$pid" 2>/dev/null || status=$?
}

# A command that is true within so many tenths of a second.
within() { # TENTHS COMMAND…
    local left=$1
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 0.1
    done
}

no_process() { # NAME
    ! pidof "$1"
}

# ---- wanting ----

fail() {
    why="${why:+$why; }$*"
}

field() {
    guest json /case/out "$1"
}

want() { # FIELD VALUE
    local value
    value=$(field "$1")
    [ "$value" = "$2" ] || fail "$1 is '$value', not '$2'"
}

want_between() { # FIELD LOW HIGH
    local value
    value=$(field "$1")
    if ! [ "$value" -ge "$2" ] 2>/dev/null || ! [ "$value" -le "$3" ]; then
        fail "$1 is '$value', not $2 to $3"
    fi
}

want_has() { # FIELD TEXT
    local value
    value=$(field "$1")
    case $value in
    *"$2"*) ;;
    *) fail "$1 is '$value', without '$2'" ;;
    esac
}

# Processor time as a share of wall time, in percent.
want_cpu_share() { # LOW HIGH
    local cpu wall
    cpu=$(field usage.cpu_ms)
    wall=$(field duration_ms)
    if ! [ "$cpu" -ge 0 ] 2>/dev/null || ! [ "$wall" -gt 0 ] 2>/dev/null; then
        fail "usage.cpu_ms is '$cpu', duration_ms is '$wall'"
    elif [ $((cpu * 100)) -lt $((wall * $1)) ] || [ $((cpu * 100)) -gt $((wall * $2)) ]; then
        fail "$cpu ms of processor time in $wall ms is not $1 to $2 %"
    fi
}

want_status() {
    [ "$status" -eq "$1" ] || fail "exit status is $status, not $1"
}

want_message() { # TEXT
    grep -qiF -- "$1" /case/err || fail "the message does not say '$1'"
}

# The cause and the remedy are in the message itself, or the message sends the reader to the doctor and they are there.
want_explained() { # TEXT
    grep -qiF -- "$1" /case/err && return
    want_message "hutch doctor"
    enter
    (cd / && exec $runner hutch doctor) </dev/null >/case/doctor 2>&1
    grep -qiF -- "$1" /case/doctor || fail "neither the message nor hutch doctor says '$1'"
}

want_that() { # COMMAND…
    "$@" >/dev/null 2>&1 || fail "not so: $*"
}

want_not() { # COMMAND…
    ! "$@" >/dev/null 2>&1 || fail "should not be so: $*"
}

# ---- the world ----

take_world() { # FILE
    guest world >"$1.raw"
    sort "$1.raw" >"$1"
}

# hutch makes its own directories once: after this they belong to the world as it was.
warm_up() { # FLAG…
    end_test
    run "$@" -- true
    remove_units
    baseline
}

# What may be there from now on.
baseline() {
    take_world $lib/before
}

# Leaves the differences in /case/.lib/changes, and true when there are none. No pipe here: its other end would be one of the
# processes.
world_is_as_before() {
    take_world $lib/after
    diff $lib/before $lib/after >$lib/diff
    sed -n '/^[+-][^+-]/p' $lib/diff >$lib/changes
    [ ! -s $lib/changes ]
}

# ---- a test ----

end_test() {
    [ -n "$test_name" ] || return 0
    remove_units
    world_is_as_before || fail "something was left or lost"
    if [ -z "$why" ]; then
        count passed
        echo "ok $CASE: $test_name"
    else
        count failed
        echo "not ok $CASE: $test_name: $(echo "$why" | tr '\n' ' ')"
        head -n 20 $lib/changes | sed 's/^/#   world /'
        echo "#   status ${status:-none} after ${elapsed_ms:-?} ms"
        head -c 1200 /case/out 2>/dev/null | sed 's/^/#   stdout /'
        echo
        head -c 1200 /case/err 2>/dev/null | sed 's/^/#   stderr /'
        baseline
    fi
    test_name=
}

test_that() {
    end_test
    test_name=$1
    why=
    status=
    elapsed_ms=
    : >/case/out
    : >/case/err
}

baseline
trap end_test EXIT
