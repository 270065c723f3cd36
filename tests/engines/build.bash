# SPDX-License-Identifier: Apache-2.0
# Builds by an engine. Loaded after engines.bash; what holds on every engine is a function here, and a test of each.
#
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034  # much is expanded inside; the tests read them

# The text on standard input is the Dockerfile of $WORK/app.
dockerfile() {
    mkdir -p "$WORK/app"
    cat >"$WORK/app/Dockerfile"
}

# What it says in $WORK/said, what it prints in $WORK/out. There is no buildah, nor any other program, on its path.
engine_build() { # FLAG... DIR
    status=0
    PATH=$WORK/no-programs "$HUTCH" image build --backend docker "$@" >"$WORK/out" 2>"$WORK/said" </dev/null || status=$?
}

built() { # FLAG... DIR
    engine_build "$@"
    [ "$status" = 0 ] || { cat "$WORK/said" >&2 && return 1; }
}

# One sentence after the log.
build_fails_with() { # WORD...
    local word
    same "exit status" 125 "$status"
    for word; do
        tail -n 1 "$WORK/said" | grep -qF -- "$word" || { printf '«%s» is not in: %s\n' "$word" "$(cat "$WORK/said")" >&2 && return 1; }
    done
}

# A '!' alone fails no test.
not() { # COMMAND...
    if "$@"; then
        echo "unexpectedly true: $*" >&2
        return 1
    fi
}

# What hutch's own store has is no leak.
forget_store() { rm -rf "$HUTCH_HOME/lib/images"; }

run_in() { # IMAGE COMMAND...
    local image=$1
    shift
    "$HUTCH" run --backend docker --image "$image" --pull never --allow-missing all -- "$@" </dev/null
}

engine_has() { # NAME
    engine_names | grep -q "\(^\|/\)$1\$"
}
engine_names() {
    [ -z "${DOCKER_SOCKET:-}" ] || docker_cli images --format '{{.Repository}}:{{.Tag}}'
    [ -z "${PODMAN_SOCKET:-}" ] || podman_cli images --format '{{.Repository}}:{{.Tag}}'
}

an_image_is_built_and_found() {
    dockerfile <<END
ARG BASE=nothing
FROM \$BASE
ARG WHO=nobody
COPY data /data
RUN echo "made for \$WHO" >/made && cat /data/file /made
ENV MODE=built
WORKDIR /data
CMD ["sh", "-c", "cat /made; pwd; echo \$MODE"]
END
    mkdir "$WORK/app/data"
    echo content >"$WORK/app/data/file"
    built -t app:1 --build-arg "BASE=$IMAGE" --build-arg WHO=me "$WORK/app"
    same "what it prints" app:1 "$(cat "$WORK/out")"
    grep -qx 'content' "$WORK/said" # the step's own output
    grep -qx 'made for me' "$WORK/said"
    engine_has app:1
    same "what runs" "made for me /data built" "$(run_in app:1 sh -c 'cat /made; pwd; echo $MODE' | tr '\n' ' ' | sed 's/ $//')"
    same "hutch's own store" "" "$("$HUTCH" image ls --quiet 2>/dev/null || true)"
    # the same again comes from the engine's cache, and --no-cache does not
    built -t app:1 --build-arg "BASE=$IMAGE" --build-arg WHO=me "$WORK/app"
    not grep -qx 'made for me' "$WORK/said"
    built -t app:1 --no-cache --build-arg "BASE=$IMAGE" --build-arg WHO=me "$WORK/app"
    grep -qx 'made for me' "$WORK/said"
    # without buildah there is nothing else that could have built it
    not /usr/bin/env PATH="$WORK/no-programs" "$HUTCH" image build "$WORK/app" 2>"$WORK/said"
    grep -q 'buildah.*not in PATH' "$WORK/said"
}

a_directory_comes_as_an_archive() {
    dockerfile <<END
FROM $IMAGE
COPY . /data
END
    echo one >"$WORK/app/one"
    ln -s /etc/hostname "$WORK/app/link"
    echo one >"$WORK/outside"
    ln -s "$WORK/outside" "$WORK/app/.dockerignore"
    tar -C "$WORK/app" -cz . >"$WORK/app.tgz"
    status=0
    "$HUTCH" image build --backend docker -t tarred - <"$WORK/app.tgz" >"$WORK/out" 2>"$WORK/said" || status=$?
    build_fails_with "'.dockerignore' of the archive is a link"
    rm "$WORK/app/.dockerignore"
    tar -C "$WORK/app" -cz . >"$WORK/app.tgz"
    status=0
    "$HUTCH" image build --backend docker -t tarred - <"$WORK/app.tgz" >"$WORK/out" 2>"$WORK/said" || status=$?
    same "exit status" 0 "$status"
    same "its files" "Dockerfile link one" "$(run_in tarred ls /data | tr '\n' ' ' | sed 's/ $//')"
    same "what is left" "lock" "$(ls "$HUTCH_HOME/lib/images/build")"
    forget_store
}

# What the steps see of a directory, and of the Dockerfile, wherever that lies.
seen_by() { # BACKEND FLAG...
    local backend=$1
    shift
    "$HUTCH" image build --backend "$backend" -t "seen-$backend" --build-arg "BASE=$IMAGE" "$@" "$WORK/app" >/dev/null 2>"$WORK/said" ||
        { cat "$WORK/said" >&2 && return 1; }
    case $backend in
    docker) run_in "seen-$backend" sh -c 'cd /data && find . ! -name . | sort' ;;
    *) "$HUTCH" image export "seen-$backend" | tar -t | sed -n 's|^\(\./\)\{0,1\}data/\(..*\)|./\2|p' | sed 's|/$||' | sort ;;
    esac
}

same_as_with_buildah() { # FLAG...
    seen_by native "$@" >"$WORK/native" || return 1
    seen_by docker "$@" >"$WORK/engine" || return 1
    diff -u "$WORK/native" "$WORK/engine" >&2
}

what_is_ignored_is_the_same_as_with_buildah() {
    local name
    "$HUTCH" image import "$(busybox_tar)" "$IMAGE" >/dev/null 2>&1
    dockerfile <<'END'
ARG BASE
FROM $BASE
COPY . /data
END
    cd "$WORK/app" || return 1
    mkdir -p docs/deep node_modules/x src/gen kept/a kept/b empty
    for name in a.txt b.txt c.log docs/README.md docs/deep/x.md docs/deep/y.txt node_modules/x/y src/main.c src/gen/g.c src/gen/keep.c \
        kept/a/1 kept/b/2 'with space' 'br[ack]' .hidden README.md; do echo "$name" >"$name"; done
    cp Dockerfile "$WORK/elsewhere"
    same_as_with_buildah
    grep -qx ./.hidden "$WORK/engine"
    printf '%s\n' '# comment' '' '  c.log  ' '**/*.md' '!README.md' 'node_modules' '/src/gen/*' '!src/gen/keep.c' 'br\[ack\]' 'with space' \
        'a.tx?' '[b-c].txt' '.hidden/' './docs/../docs/deep/y.*' >.dockerignore
    same_as_with_buildah
    not grep -qE 'c.log|a.txt|b.txt|node_modules|g\.c|y.txt|space|brack|hidden' "$WORK/engine"
    grep -qx ./src/gen/keep.c "$WORK/engine"
    printf '%s\n' 'kept' '!kept/a' '*.txt' 'Dockerfile' '.dockerignore' >.dockerignore
    same_as_with_buildah
    not grep -qE 'Dockerfile|dockerignore|kept/b' "$WORK/engine"
    grep -qx ./kept/a/1 "$WORK/engine"
    # a Dockerfile from elsewhere is nothing that a step sees, with an ignore file or without
    same_as_with_buildah -f "$WORK/elsewhere"
    rm .dockerignore
    same_as_with_buildah -f "$WORK/elsewhere"
    not grep -qE 'elsewhere|hutch|dockerignore' "$WORK/engine"
    # a link to one elsewhere is followed, and no step sees that
    printf 'docs\nDockerfile\n.dockerignore\n' >"$WORK/shared"
    ln -s ../shared .dockerignore
    same_as_with_buildah
    not grep -qE 'docs|Dockerfile' "$WORK/engine"
    rm .dockerignore
    # one of its own, and podman's name for the usual one
    printf 'docs\n' >Dockerfile.dockerignore
    printf 'src\n' >.containerignore
    same_as_with_buildah
    not grep -q docs "$WORK/engine"
    grep -q src "$WORK/engine"
    rm Dockerfile.dockerignore
    same_as_with_buildah
    not grep -q src "$WORK/engine"
    printf '*\n' >.containerignore
    printf 'FROM %s\n' "$IMAGE" >Dockerfile
    built -t all-ignored "$WORK/app"
    forget_store
}

failures_are_told() {
    local base="FROM $IMAGE"
    printf '# a comment\n%s\n\nRUN echo before && \\\n    exit 7\n' "$base" | dockerfile
    engine_build -t bad:1 "$WORK/app"
    build_fails_with "$WORK/app/Dockerfile:4: 'RUN echo before" 7
    grep -qx before "$WORK/said"
    printf '%s\nNONSENSE x\n' "$base" | dockerfile
    engine_build -t bad:1 "$WORK/app"
    build_fails_with "$WORK/app/Dockerfile" nstruction NONSENSE
    printf '%s\nCOPY missing /\n' "$base" | dockerfile
    engine_build -t bad:1 "$WORK/app"
    build_fails_with "$WORK/app/Dockerfile:2: 'COPY missing /'" missing
    : | dockerfile
    engine_build -t bad:1 "$WORK/app"
    build_fails_with "$WORK/app/Dockerfile"
    printf '%s\n' "$base" | dockerfile
    printf '[\n' >"$WORK/app/.dockerignore"
    engine_build -t bad:1 "$WORK/app"
    build_fails_with .dockerignore "line 1"
    printf 'a\0\nsecret\n' >"$WORK/app/.dockerignore"
    engine_build -t bad:1 "$WORK/app"
    build_fails_with .dockerignore "zero byte"
    not engine_has bad:1
    same "what is left of hutch" "" "$(find "$HUTCH_HOME" -name 'image*' -o -name build 2>/dev/null)"
}

refused_before_it_begins() {
    dockerfile <<<"FROM $IMAGE"
    engine_build -t no:1 "$WORK/nowhere"
    build_fails_with "$WORK/nowhere"
    engine_build -t no:1 -f "$WORK/none" "$WORK/app"
    build_fails_with "there is no '$WORK/none'" "-f FILE"
    rm "$WORK/app/Dockerfile"
    engine_build -t no:1 "$WORK/app"
    build_fails_with "there is no '$WORK/app/Dockerfile'"
    dockerfile <<<"FROM $IMAGE"
    engine_build -t 'No:1' "$WORK/app"
    build_fails_with 'No:1'
    engine_build -t "no@sha256:$(printf '%064d' 0)" "$WORK/app"
    build_fails_with digest
    DOCKER_HOST=unix://$WORK/none engine_build -t no:1 "$WORK/app"
    build_fails_with "$WORK/none" DOCKER_HOST
    engine_build --platform linux/s390x -t no:1 "$WORK/app"
    build_fails_with "fetch image '$IMAGE'" # what the engine has is of another platform
    engine_build --platform 'a b' -t no:1 "$WORK/app"
    build_fails_with "'a b' is not a platform"
    engine_build --backend podman -t no:1 "$WORK/app"
    build_fails_with "'podman' is not known" docker
    engine_build -t no:1 --build-arg "LONG=$(head -c 130000 /dev/zero | tr '\0' ' ')" --build-arg "MORE=$(head -c 130000 /dev/zero | tr '\0' ' ')" "$WORK/app"
    build_fails_with "build arguments are longer"
}

the_log_comes_line_by_line() {
    dockerfile <<END
FROM $IMAGE
RUN echo early; sleep 3; echo late
END
    PATH=$WORK/no-programs "$HUTCH" image build --backend docker -t slow "$WORK/app" >"$WORK/out" 2>"$WORK/said" </dev/null 3>&- &
    local pid=$!
    await 20 grep -qx early "$WORK/said"
    not grep -qx late "$WORK/said"
    kill -0 "$pid"
    wait "$pid"
    grep -qx late "$WORK/said"
}

# The shell of a step, by an odd number in its words.
step_runs() { pgrep -f "^/bin/sh -c sleep [0-9]*; : $1\$"; } # NUMBER
step_gone() { not step_runs "$1"; }
our_processes() { pgrep -f "hutch-porter build docker"; }
ours_gone() { not our_processes; }

# An engine ends a step whose build nobody waits for: docker at once, podman when the step ends by itself.
killed_it_leaves_nothing() { # SECONDS-OF-ITS-STEP
    local signal number pid
    for signal in KILL INT TERM; do
        number=$RANDOM$BATS_SUITE_TEST_NUMBER
        printf 'FROM %s\nRUN sleep %s; : %s\n' "$IMAGE" "$1" "$number" | dockerfile
        # a shell's background process would ignore the interrupt
        env --default-signal=INT "$HUTCH" image build --backend docker -t killed:1 "$WORK/app" >"$WORK/out" 2>"$WORK/said" </dev/null 3>&- &
        pid=$!
        await 20 step_runs "$number"
        kill "-$signal" "$pid"
        wait "$pid" 2>/dev/null || true
        await 5 ours_gone
        await 20 step_gone "$number"
        nothing_left_in_engines
        not engine_has killed:1
    done
    sed -i 's/sleep.*/true/' "$WORK/app/Dockerfile"
    built -t killed:1 "$WORK/app"
}

arguments_are_nobodys_to_read() {
    local secret=s3cret-$RANDOM-argument pid
    printf 'FROM %s\nARG TOKEN\nRUN test -n "$TOKEN"; sleep 4; exit 9\n' "$IMAGE" | dockerfile
    TOKEN=$secret "$HUTCH" image build --backend docker -t quiet:1 --build-arg TOKEN "$WORK/app" >"$WORK/out" 2>"$WORK/said" </dev/null 3>&- &
    pid=$!
    await 20 grep -q 'sleep 4' "$WORK/said"
    await 10 our_processes
    not grep -aqs "$secret" /proc/"$pid"/cmdline
    for pid in $(our_processes || true); do
        not grep -aqs "$secret" "/proc/$pid/cmdline" "/proc/$pid/environ"
    done
    wait || true
    not grep -rqs "$secret" "$WORK/said" "$WORK/out" "$HUTCH_HOME"
    tail -n 1 "$WORK/said" | grep -q 9
}

a_base_of_the_store_is_given() {
    "$HUTCH" image import "$(busybox_tar)" hutch.example/only-here:1 >/dev/null 2>&1
    dockerfile <<'END'
FROM hutch.example/only-here:1
RUN echo on it >/made
END
    built -t on-it "$WORK/app"
    same "made" "on it" "$(run_in on-it cat /made)"
    forget_store
}

named_sandboxes_are_built_by_the_engine() {
    local sandbox=$WORK/sandboxes/one names
    named() { PATH=$WORK/no-programs "$HUTCH" run --sandbox-dir "$WORK/sandboxes" --sandbox one --allow-missing all "$@" >"$WORK/out" 2>"$WORK/said" </dev/null; }
    mkdir -p "$sandbox"
    printf 'ARG BASE=%s\nFROM $BASE\nCOPY word /word\n' "$IMAGE" >"$sandbox/Dockerfile"
    echo first >"$sandbox/word"
    named --backend docker --dry-run
    not grep -q sandbox/one <(engine_names)
    named --backend docker -- cat /word
    same "said" first "$(cat "$WORK/out")"
    grep -qi 'step 2/' "$WORK/said"
    named --backend docker -- cat /word
    same "built again" "" "$(grep -i step "$WORK/said" || true)"
    echo second >"$sandbox/word"
    named --backend docker -- cat /word
    same "said" second "$(cat "$WORK/out")"
    same "images of it" 1 "$(engine_names | grep -c 'hutch.local/sandbox/one:')"
    printf 'backend: docker\n' >"$sandbox/sandbox.yml"
    named -- cat /word
    same "said" second "$(cat "$WORK/out")"
    grep -qi 'step 2/' "$WORK/said"
    # a policy that chooses the backend chooses who builds; one that forbids it lets nobody build
    rm "$sandbox/sandbox.yml"
    echo third >"$sandbox/word"
    echo 'backends: [native]' >"$WORK/policy.yml"
    status=0
    named --policy "$WORK/policy.yml" --backend docker -- cat /word || status=$?
    build_fails_with "backend 'docker' is not among the allowed ones"
    same "lines said" 1 "$(wc -l <"$WORK/said")"
    echo 'backends: [docker]' >"$WORK/policy.yml"
    named --policy "$WORK/policy.yml" -- cat /word
    same "said" third "$(cat "$WORK/out")"
    printf 'backend: docker\n' >"$sandbox/sandbox.yml"
    printf 'FROM %s\nRUN exit 3\n' "$IMAGE" >"$sandbox/Dockerfile"
    status=0
    named -- cat /word || status=$?
    build_fails_with "$sandbox/Dockerfile:2: 'RUN exit 3'"
}
