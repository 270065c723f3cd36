# SPDX-License-Identifier: Apache-2.0
# What the escape suites say often. Loaded after ../lib.bash and ../integration/words.bash.
#
# A hostile program (payloads/NAME.py) makes attempts and prints a line for each: "NAME refused (why)" or "NAME DONE (what)".
# What it prints is half of a test: the other half is looked up on the host, and the same program run outside shows that
# the attempts are real ones.
#
# shellcheck shell=bash
# shellcheck disable=SC2034  # what the tests read

SURFACE=$(dirname "$HUTCH")/tests/escape/surface
POSTURE=$(dirname "$HUTCH")/tests/escape/posture

# Where nothing limits their share of the processor, fewer of them are enough to keep the whole host busy.
MANY=250
[ "$HUTCH_TEST_AS" != user ] || MANY=60

# What a failed test has left running ends with it.
teardown() {
    local left
    left=$(jobs -p)
    # shellcheck disable=SC2086
    [ -z "$left" ] || kill -KILL $left 2>/dev/null || true
    wait
    teardown_world
}

# bats takes no notice of a plain "!".
not() { # COMMAND...
    if "$@"; then
        echo "this must not succeed: $*" >&2
        return 1
    fi
}

# --- attacking --------------------------------------------------------------------------------------------------------------

payload() { cat "$BATS_TEST_DIRNAME/payloads/attempt.py" "$BATS_TEST_DIRNAME/payloads/$1.py"; } # NAME

# In a sandbox. Its lines are in $WORK/attempts.
inside() { # FLAG... -- NAME ARG...
    local flags=() name
    while [ "$1" != -- ]; do
        flags+=("$1")
        shift
    done
    name=$2
    shift 2
    hutch run "${flags[@]}" -- "$PYTHON" -c "$(payload "$name")" "$@" >"$WORK/attempts" 2>"$WORK/said"
}

# The same program on the host, as the test's user.
outside() { # NAME ARG...
    local name=$1
    shift
    caller "$PYTHON" -c "$(payload "$name")" "$@" >"$WORK/attempts" 2>"$WORK/said" || true
}

show() {
    echo "attempts:" >&2
    cat "$WORK/attempts" "$WORK/said" >&2
}

# Each attempt was made and refused, and there were as many as expected, at least.
all_refused() { # LEAST
    if grep -q 'DONE' "$WORK/attempts" || [ "$(grep -c ' refused' "$WORK/attempts")" -lt "$1" ]; then
        echo "expected at least $1 attempts, all refused" >&2
        show
        return 1
    fi
}

# The control: these attempts succeed where nothing stands in their way.
done_all() { # NAME...
    local name
    for name in "$@"; do
        grep -qE "^$name DONE" "$WORK/attempts" && continue
        echo "the control proves nothing: '$name' did not succeed" >&2
        show
        return 1
    done
}

refused_all() { # NAME...
    local name
    for name in "$@"; do
        grep -qE "^$name refused" "$WORK/attempts" && continue
        echo "'$name' was not refused" >&2
        show
        return 1
    done
}

# --- looking from the host --------------------------------------------------------------------------------------------------

# Without a single fork: on a busy host each costs more than all the rest.
comm_of() { # PID VARIABLE
    printf -v "$2" %s ""
    [ ! -r "/proc/$1/comm" ] || read -r "$2" <"/proc/$1/comm" || true
} 2>/dev/null

# PID 1 of the sandbox that a hutch keeps, once its command runs.
pid1_of() { # HUTCH-PID
    local init child name end=$((SECONDS + 20))
    while [ $SECONDS -lt $end ] && [ -d "/proc/$1" ]; do
        for init in $(<"/proc/$1/task/$1/children"); do
            comm_of "$init" name
            [ "$name" = hutch-init ] || continue
            for child in $(<"/proc/$init/task/$init/children"); do
                comm_of "$child" name
                [ -n "$name" ] && [ "$name" != hutch-init ] || continue
                echo "$init"
                return 0
            done
        done 2>/dev/null
        sleep 0.02
    done
    echo "hutch $1 has started no command" >&2
    return 1
}

command_of() { # INIT-PID
    local children
    read -r -a children <"/proc/$1/task/$1/children" || true
    echo "${children[0]}"
}

namespace_of() { readlink "/proc/$1/ns/pid"; } # PID

# Has it ended and only waits to be reaped? An orphan is reaped by the host's PID 1, in its own time.
is_zombie() { grep -qs '^State:.*zombie' "/proc/$1/status"; } # PID

# The processes of a sandbox that are still there.
members() { # PID-NAMESPACE
    local pid
    # shellcheck disable=SC2010,SC2012
    for pid in $(ls -l /proc/[0-9]*/ns/pid 2>/dev/null | grep -F "$1" | sed 's|.* /proc/\([0-9]*\)/ns/pid .*|\1|'); do
        is_zombie "$pid" || echo "$pid"
    done
}

# Every PID 1 of any sandbox.
living_inits() {
    local pid
    for pid in $(pgrep -x hutch-init); do
        # of this test: others may run beside it
        [ ${#GROUPS_OF_TEST[@]} -eq 0 ] || grep -qsF "/${GROUPS_OF_TEST[0]##*/}" "/proc/$pid/cgroup" || continue
        is_zombie "$pid" || echo "$pid"
    done
}

# How long after a moment its last process is gone.
all_gone_within() { # MILLISECONDS PID-NAMESPACE
    local began
    began=$(now_ms)
    while [ -n "$(members "$2")" ]; do
        if [ $(($(now_ms) - began)) -gt "$1" ]; then
            echo "still there after $1 ms: $(members "$2" | tr '\n' ' ')" >&2
            return 1
        fi
        sleep 0.02
    done
}

# Waits until a file has a line.
line_in() { # FILE PATTERN
    local try
    for try in {1..200}; do
        grep -qsE "$2" "$1" && return 0
        sleep 0.05
    done
    echo "no line like '$2' in $1 after $try looks" >&2
    cat "$1" >&2
    return 1
}

# Everything about a tree that a write, chown, chmod, mkdir, link or unlink would change.
fingerprint() { # DIR
    (
        cd "$1" || exit 1
        find . -printf '%p %y %m %U %G %n %s %T@ %C@ %l\n' | sort
        find . -type f -exec sha256sum {} + | sort
    )
}

open_the_way() { # DIR
    local dir=$1
    while [ "$dir" != / ] && [ "$dir" != /tmp ]; do
        chmod o+x "$dir"
        dir=$(dirname "$dir")
    done
}

# A directory of the host that nothing may change, with a file in it. Its state is kept. Everybody could change it: what
# protects it is that nobody gets there.
plant_canary() { # NAME
    local dir
    dir=$(user_dir "$1")
    echo "canary $1 $BATS_TEST_NUMBER" >"$dir/file"
    mkdir -p "$dir/sub"
    [ "$HUTCH_TEST_AS" = root ] || chown -R "$TEST_UID:$TEST_UID" "$dir"
    chmod -R a+rwX "$dir"
    open_the_way "$dir"
    fingerprint "$dir" >"$WORK/$1.canary"
    echo "$dir"
}

canary_lives() { # NAME
    fingerprint "$WORK/$1" | diff "$WORK/$1.canary" - >&2
}

# A small root filesystem: busybox and nothing else.
make_rootfs() { # NAME
    local dir applet
    dir=$(user_dir "$1")
    mkdir -p "$dir"/{bin,etc,lib}
    cp /bin/busybox "$dir/bin/busybox"
    for applet in sh ls cat echo true id mkdir touch sleep readlink; do ln -sf busybox "$dir/bin/$applet"; done
    printf 'root:x:0:0::/root:/bin/sh\nbob:x:1234:1234::/home/bob:/bin/sh\n' >"$dir/etc/passwd"
    printf 'root:x:0:\nbob:x:1234:\n' >"$dir/etc/group"
    [ "$HUTCH_TEST_AS" = root ] || chown -R "$TEST_UID:$TEST_UID" "$dir"
    echo "$dir"
}

needs_busybox() { [ -x /bin/busybox ] || skip "needs a static busybox"; }
