#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whatever is wrong with a request: one clear sentence on standard error, the right exit status, the same in JSON, nothing left.

load ../lib
load words

# Runs twice, with and without --json, and checks everything an error must be.
bad() { # EXIT-STATUS PATTERN FLAG...
    local expected=$1 pattern=$2 sentence
    shift 2
    plain "$@"
    refused "$expected" "$pattern"
    same "standard output of: $*" "" "$(cat "$WORK/out")"
    sentence=$(sed 's/^hutch: //' "$WORK/said")
    rm "$WORK/out"
    result "$@"
    refused "$expected" "$pattern"
    check_error_object "$expected"
    # bytes that are no text are U+FFFD in JSON and '?' on a terminal
    same "the sentence in JSON" "$sentence" "$(field .error.message | sed $'s/\xef\xbf\xbd/?/g')"
}

check_error_object() { # EXIT-STATUS
    same "lines of JSON" 1 "$(grep -c '' "$WORK/json")"
    iconv -f utf-8 "$WORK/json" >/dev/null
    same reason setup_failed "$(field .reason)"
    same exit_code "$1" "$(field .exit_code)"
    same ok false "$(field .ok)"
    holds "a code and a message" '(.error.code | test("^[a-z_]+$")) and (.error.message | length > 10)'
}

# --- flags and words --------------------------------------------------------------------------------------------------------

@test "an unknown flag is refused with the one that was meant" {
    bad 125 "memroy.*did you mean '--memory'" --memroy 1g -- true
    bad 125 "timeuot.*did you mean '--timeout'" --timeuot=5s -- true
    bad 125 "'--frobnicate'" --frobnicate -- true
    bad 125 "'?-Z" -Z -- true
    bad 125 "needs a value|value" --memory
    bad 125 "--json" --json=yes -- true
}

@test "an unknown command of hutch's is refused with the one that was meant" {
    local word
    for word in rnu docter gcc; do
        status=0
        caller "$HUTCH" $word >"$WORK/out" 2>"$WORK/said" || status=$?
        refused 125 "did you mean '(run|doctor|gc)'"
    done
    status=0
    caller "$HUTCH" --memory 5g >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "hutch run"
}

@test "a missing or empty command is refused" {
    bad 125 "no command"
    bad 125 "no command" --
    bad 125 "empty" -- ''
    bad 125 "no command" --memory 512m --
}

@test "flags after the command belong to the command" {
    same "its arguments" "--memory nonsense --json" "$(hutch run echo --memory nonsense --json)"
    same "its arguments" "-- -t" "$(hutch run -- echo -- -t)"
}

@test "flags behind a name take no name for their value" {
    local words
    for words in '-f' '-qf' '--file'; do
        status=0
        caller "$HUTCH" image build nowhere $words >"$WORK/out" 2>"$WORK/said" || status=$?
        refused 125 "'--file' needs a value"
    done
}

@test "unknown fields, duplicate keys and broken documents are refused with their names" {
    spec() { printf '%s' "$1" >"$WORK/spec.json" && chmod 644 "$WORK/spec.json"; }
    spec '{"command": ["true"], "memroy": "1g"}'
    bad 125 "memroy.*did you mean 'limits.memory'" --spec "$WORK/spec.json"
    spec '{"command": ["true"], "limits": {"memory": "1g", "memory": "2g"}}'
    bad 125 "memory" --spec "$WORK/spec.json"
    spec '{"command": ["true"'
    bad 125 "spec.json" --spec "$WORK/spec.json"
    spec '{"command": "true"}'
    bad 125 "command" --spec "$WORK/spec.json"
    spec '{"command": ["true"], "limits": {"pids": "many"}}'
    bad 125 "limits.pids" --spec "$WORK/spec.json"
    spec ''
    bad 125 "spec.json" --spec "$WORK/spec.json"
    bad 125 "not-there" --spec "$WORK/not-there" -- true
    bad 125 "standard input" --spec - -i -- true
}

# --- quantities -------------------------------------------------------------------------------------------------------------

@test "negative, zero, absurd, overflowing and malformed sizes are refused by the flag's name" {
    # shellcheck disable=SC2016
    caller bash -c '
        hutch=("$@")
        try() {
            said=$("${hutch[@]}" "$1" "$2" -- true 2>&1)
            status=$?
            [ "$status" = 125 ] || echo "$1 «$2»: exit status $status"
            case $said in
            *$'"'\n'"'*) echo "$1 «$2»: more than a line: $said" ;;
            "hutch: $1: "*) ;;
            *) echo "$1 «$2»: $said" ;;
            esac
        }
        for flag in --memory --disk --output-max --timeout --idle-timeout --pids --inodes --open-files --cpus; do
            for value in -1 "" " " 1x 99999999999999999999 18446744073709551616 18446744073709551615 1e9 0x10 1.2.3 nan inf -0 +5 ٣ \
                5\; "5 m" 1mm 99999999999g 9007199254740993t 1,5; do
                try "$flag" "$value"
            done
        done
        # for --output-max and --idle-timeout 0 is a way to say none, and for --output-limit nothing is kept
        for flag in --memory --disk --timeout --pids --inodes --open-files --cpus; do try "$flag" 0; done
        for value in -1 "" 1x 99999999999999999999 2g; do try --output-limit "$value"; done
        for value in 1 4095 1k; do try --memory "$value"; done
        for value in 31d 721h; do try --timeout "$value"; done
        for value in 0.001 5000 0.0; do try --cpus "$value"; done
        for value in 0 1.5 1m; do try --pids "$value"; done
        for value in /x:0 /x:-1 /x:99999999999999999999 /x:1q /x: relative:1m; do try --tmpfs "$value"; done
        ' bash "$HUTCH" run "${RUN_FLAGS[@]}" >"$WORK/wrong"
    nothing_wrong "$WORK/wrong"
}

@test "a wrong size is an error object too" {
    bad 125 "^hutch: --memory: " --memory -5 -- true
    bad 125 "^hutch: --timeout: " --timeout 0 -- true
    bad 125 "^hutch: --cpus: " --cpus 99999999999999999999 -- true
}

@test "ids and names that overflow or are malformed are refused" {
    for value in -1 65536 4294967295 4294967296 18446744073709551616 1:2:3 : 5: :5 'a b' '../x' ''; do
        bad 125 "^hutch: --user: " -u "$value" -- true
    done
    bad 125 "^hutch: --hostname: " --hostname 'a b' -- true
    bad 125 "^hutch: --name: " --name '../x' -- true
    bad 125 "^hutch: (--env|.*variable|.*KEY)" -e =x -- true
    bad 125 "^hutch: --allow-missing: .*memory" --allow-missing memroy -- true
    bad 125 "^hutch: .*backend" --backend nosuch -- true
}

# --- files ------------------------------------------------------------------------------------------------------------------

@test "a mount source that does not exist is named" {
    bad 125 "'$WORK/not-there'" --mount "$WORK/not-there:/data" -- true
    bad 125 "'$WORK/not-there/deeper'" --mount "$WORK/not-there/deeper:/data:ro" -- true
}

@test "a mount target that is a symlink, or behind one, is refused" {
    local dir
    dir=$(user_dir source)
    bad 125 "symlink" --mount "$dir:/bin" -- true
    bad 125 "symlink" --mount "$dir:/bin/inside" -- true
    bad 125 "symlink" --tmpfs /lib/x -- true
}

@test "a mount target that is /, relative, not normal, in /proc, /dev or /sys, or missing is refused" {
    local dir target
    dir=$(user_dir source)
    bad 125 "'/'" --mount "$dir:/" -- true
    bad 125 "'/'" --tmpfs / -- true
    for target in data /a/../b /a//b /./a .. /proc /proc/1 /dev /dev/x /sys/x; do
        bad 125 "${target//./\\.}" --mount "$dir:$target" -- true
    done
    bad 125 "mount" --mount "$dir" -- true
    bad 125 "mount" --mount "$dir:/data:rx" -- true
    bad 125 "mount" --mount ":/data" -- true
    bad 125 "read-only|outside /usr" --mount "$dir:/usr/not-there" -- true
}

@test "a target given twice is refused, whatever kinds of flags gave it" {
    local dir
    dir=$(user_dir source)
    bad 125 "'/data'.*twice" --mount "$dir:/data" --mount "$dir:/data:ro" -- true
    bad 125 "'/data'.*twice" --mount "$dir:/data" --mount "$dir:/data/" -- true
    bad 125 "'/data'.*twice" --mount "$dir:/data" --tmpfs /data -- true
    bad 125 "'/data'.*twice" --tmpfs /data --tmpfs /data:1m -- true
    bad 125 "'/workspace'.*twice" --mount "$dir:/workspace" --workspace "$dir" -- true
    bad 125 "'/artifacts'.*twice" --tmpfs /artifacts --artifacts "$dir" -- true
}

@test "a mount of the kernel's own file systems or of a device is refused" {
    bad 125 "'/proc'" --mount /proc:/data -- true
    bad 125 "'/sys'" --mount /sys:/data -- true
    bad 125 "device" --mount /dev/null:/data -- true
}

@test "a workspace that is a file, missing, or of an unknown kind is refused" {
    echo x >"$WORK/file"
    bad 125 "not a directory" --workspace "$WORK/file" -- true
    bad 125 "not a directory" --workspace "$WORK/file:ro" -- true
    bad 125 "not a directory" --workspace "$WORK/file:copy" -- true
    bad 125 "not a directory" --workspace "$WORK/file:overlay" -- true
    bad 125 "not-there" --workspace "$WORK/not-there" -- true
    bad 125 "rwx" --workspace "$(user_dir project):rwx" -- true
}

@test "a workspace the caller may not read is refused" {
    [ "$HUTCH_TEST_AS" != root ] || skip "root may read everything"
    mkdir "$WORK/private"
    chmod 700 "$WORK/private"
    mkdir "$WORK/private/project"
    bad 125 "Permission denied" --workspace "$WORK/private/project" -- true
}

@test "a rootfs without the program is 127, an empty one too" {
    local root
    root=$(user_dir empty)
    bad 127 "'sh'.*root filesystem" --rootfs "$root" -- sh
    bad 127 "'/bin/sh'.*root filesystem" --rootfs "$root" -- /bin/sh
    same "the directory stays empty" "" "$(ls -A "$root")"
}

@test "an artifacts directory that cannot be one is refused before anything runs" {
    echo x >"$WORK/file"
    bad 125 "'$WORK/file'" --artifacts "$WORK/file" -- true
    bad 125 "no/such/parent" --artifacts "$WORK/no/such/parent" -- true
    [ "$HUTCH_TEST_AS" = root ] || bad 125 "Permission denied" --artifacts "$WORK/not-mine" -- true
}

@test "an env file that is missing, malformed or holds a NUL is refused" {
    bad 125 "not-there" --env-file "$WORK/not-there" -- true
    printf 'GOOD=1\nno equals sign\n' >"$WORK/env"
    chmod 644 "$WORK/env"
    bad 125 "env.*line 2|line 2" --env-file "$WORK/env" -- true
    printf 'A=x\0y\n' >"$WORK/env"
    bad 125 "NUL" --env-file "$WORK/env" -- true
    bad 125 "." --env-file "$WORK" -- true
}

@test "-t without a terminal is refused, and so is -t with --json" {
    status=0
    hutch run -t -- true </dev/null >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "needs a terminal"
    status=0
    hutch run -it -- true </dev/null >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "needs a terminal"
    result -t -- true
    refused 125 "--json"
    check_error_object 125
}

# --- strange bytes and many of them -----------------------------------------------------------------------------------------

@test "a NUL in an argument can only come from a document, and is refused there" {
    printf '{"command": ["echo", "a\\u0000b"]}' >"$WORK/spec.json"
    chmod 644 "$WORK/spec.json"
    bad 125 "NUL|u0000|zero" --spec "$WORK/spec.json"
}

@test "arguments that are not UTF-8 reach the command as they are, and errors about them stay valid JSON" {
    same "bytes" "ff c3 28 0a 80" "$(hutch run -- printf %s $'\xff\xc3(\n\x80' | od -An -tx1 | xargs)"
    bad 127 "is not in the sandbox" -- $'/no/\xff\xc3('
    bad 125 "name" --name $'\xff' -- true
    bad 125 "." --mount $'/\xff:/x' -- true
}

@test "no control characters of an argument reach the terminal in an error" {
    plain -- $'/no/\e[31m\nsecond line\r'
    refused 127 "is not in the sandbox"
    same "escape characters" 0 "$(grep -c $'[\e\r]' "$WORK/said")"
}

@test "10,000 environment variables work, from flags, from a file and from the caller" {
    local args=() passed=()
    mapfile -t args < <(seq 10000 | sed 's/.*/--env=VAR_&=&/')
    mapfile -t passed < <(seq 10000 | sed 's/.*/--pass-env=VAR_&/')
    same "by --env" 10000 "$(hutch run "${args[@]}" -- sh -c 'env | grep -c ^VAR_')"
    seq 10000 | sed 's/.*/VAR_&=&/' >"$WORK/env"
    chmod 644 "$WORK/env"
    same "by --env-file" 10000 "$(hutch run --env-file "$WORK/env" -- sh -c 'env | grep -c ^VAR_')"
    # shellcheck disable=SC2016
    same "by --pass-env" 10000 "$(caller bash -c 'set -a; . "$1"; shift; exec "$@"' bash "$WORK/env" "$HUTCH" run "${RUN_FLAGS[@]}" "${passed[@]}" \
        -- sh -c 'env | grep -c ^VAR_')"
}

@test "more arguments and environment than a program can have is refused before it starts" {
    local long i args=()
    long=$(head -c 120000 /dev/zero | tr '\0' x)
    same "a long one" 120000 "$(hutch run -- sh -c 'printf %s "$1" | wc -c' sh "$long")"
    for i in $(seq 30); do echo "BIG_$i=$long"; done >"$WORK/env"
    chmod 644 "$WORK/env"
    bad 125 "." --env-file "$WORK/env" -- true
}

# --- the host ---------------------------------------------------------------------------------------------------------------

@test "no permission for namespaces: the sentence names them and points to hutch doctor" {
    # shellcheck disable=SC2016
    no_namespaces() {
        caller unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh "$HUTCH" "$@"
    }
    status=0
    no_namespaces run --allow-missing all -- true >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "namespace.*hutch doctor"
    status=0
    no_namespaces run --json --allow-missing all -- true >"$WORK/json" 2>"$WORK/said" || status=$?
    refused 125 "namespace.*hutch doctor"
    check_error_object 125
    status=0
    no_namespaces doctor --json >"$WORK/json" 2>"$WORK/said" || status=$?
    holds "doctor knows" '.ok == false and (.checks[] | select(.name == "namespace.user") | .status == "fail" and (.remedy | contains("max_user_namespaces")))'
}

# A state directory in a mount namespace of its own: on a tmpfs with these options, prepared by a script.
with_state() { # OPTIONS SCRIPT COMMAND...
    local options=$1 script=$2 caller
    shift 2
    caller=$(declare -f become)
    # shellcheck disable=SC2016
    unshare -m bash -c '
        mount -t tmpfs -o "$1,mode=700" none "$HUTCH_HOME" && chown "$(stat -c %u:%g "$HUTCH_HOME/..")" "$HUTCH_HOME" && cd "$HUTCH_HOME" || exit 99
        [ "$HUTCH_TEST_AS" = root ] || chown "$TEST_UID:$TEST_UID" "$HUTCH_HOME"
        eval "$2" && cd / || exit 99
        eval "$3"
        shift 3
        become "$@"' bash "$options" "$script" "$caller" "$@"
}

@test "a read-only state directory is one clear sentence" {
    export TEST_UID HUTCH_TEST_AS
    status=0
    with_state size=1m 'mount -o remount,ro .' "$HUTCH" run "${RUN_FLAGS[@]}" -- true >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "Read-only file system"
    says "the remedy" "HUTCH_HOME"
    status=0
    with_state size=1m 'mkdir -m 700 run lib && chown --reference=. lib && chown --reference=. run && mount -o remount,ro .' "$HUTCH" run "${RUN_FLAGS[@]}" --json -- true \
        >"$WORK/json" 2>"$WORK/said" || status=$?
    refused 125 "Read-only file system"
    check_error_object 125
}

@test "a state directory that may not be looked into is told, not taken for an empty one" {
    [ "$HUTCH_TEST_AS" != root ] || skip "root may look into everything"
    local verb place
    place=$(user_dir place)
    caller mkdir -m 000 "$place/locked"
    for verb in ls 'ls --json' stats gc; do
        status=0
        # shellcheck disable=SC2086 # verbs and flags are single words
        HUTCH_HOME=$place/locked hutch $verb >"$WORK/json" 2>"$WORK/said" || status=$?
        refused 125 "Permission denied"
    done
    HUTCH_HOME=$place/none hutch ls
    [ ! -e "$place/none" ]
}

@test "a state directory that was made under any umask can be used again" {
    local place mask
    place=$(user_dir place)
    for mask in 0777 0022; do
        (umask "$mask" && HUTCH_HOME=$place/a/b hutch run -- true)
        same "modes after $mask" "700 700" "$(stat -c %a "$place/a" "$place/a/b" | xargs)"
    done
    HUTCH_HOME=$place/a/b hutch ls
}

@test "a full disk under the state directory is one clear sentence" {
    export TEST_UID HUTCH_TEST_AS
    status=0
    with_state size=4k 'mkdir -m 700 run && chown --reference=. run && echo x >filler' "$HUTCH" run "${RUN_FLAGS[@]}" --json -- true \
        >"$WORK/json" 2>"$WORK/said" || status=$?
    refused 125 "No space left on device"
    check_error_object 125
    status=0
    with_state size=1m,nr_inodes=1 true "$HUTCH" run "${RUN_FLAGS[@]}" --json -- true >"$WORK/json" 2>"$WORK/said" || status=$?
    refused 125 "No space left on device"
    check_error_object 125
}

@test "a state directory that is relative, a file, or somebody else's is refused" {
    [ "$HUTCH_TEST_AS" != user ] || skip "an ordinary user without cgroups records nothing"
    local home=$HUTCH_HOME
    HUTCH_HOME=relative bad 125 "HUTCH_HOME" -- true
    echo x >"$WORK/file"
    HUTCH_HOME=$WORK/file bad 125 "HUTCH_HOME" -- true
    mkdir -p "$WORK/foreign/run"
    chown -R 4242 "$WORK/foreign"
    HUTCH_HOME=$WORK/foreign bad 125 "HUTCH_HOME" -- true
    export HUTCH_HOME=$home
}

@test "out of descriptors, hutch says so" {
    status=0
    caller bash -c 'ulimit -n 10; exec "$@"' bash "$HUTCH" run "${RUN_FLAGS[@]}" --open-files 8 -- true >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "Too many open files|descriptor"
}
