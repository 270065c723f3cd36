#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hutch image build: what comes out, what is built again, and what is said when it fails.

# shellcheck disable=SC2016  # much is expanded inside

load ../lib
load ../integration/words
load registry
load bases

# The text on standard input is the Dockerfile of $WORK/app.
dockerfile() {
    mkdir -p "$WORK/app"
    cat >"$WORK/app/Dockerfile"
}

# What it says in $WORK/said, what it prints in $WORK/out.
build() { # FLAG... DIR
    status=0
    hutch image build "$@" >"$WORK/out" 2>"$WORK/said" || status=$?
}

steps_from_cache() { grep -c 'Using cache' "$WORK/said" || true; }

@test "a Dockerfile becomes an image that runs with what it says" {
    needs_root
    hub_start
    dockerfile <<'END'
FROM busybox
SHELL ["/bin/sh", "-e", "-c"]
RUN echo made >/made && stat -c %U:%a /made
COPY --chown=1234:1234 data /data
ENV MODE=built
USER user
WORKDIR /data
ENTRYPOINT ["sh", "-c"]
CMD ["cat /made; id -u; pwd; echo $MODE $FROM_IMAGE; stat -c %u:%g /data/file"]
END
    mkdir "$WORK/app/data"
    echo content >"$WORK/app/data/file"
    build -t app:1 "$WORK/app"
    same "exit status" 0 "$status"
    same "what it prints" app:1 "$(cat "$WORK/out")"
    grep -qx 'STEP 2/9: SHELL .*' "$WORK/said"
    grep -qx 'root:644' "$WORK/said" # the step's own output
    plain --image app:1
    same "exit status" 0 "$status"
    same "what it says" "made 1234 /data built yes 1234:1234" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
}

@test "a step that was done is not done again, until it changes or --no-cache asks for it" {
    needs_root
    hub_start
    dockerfile <<'END'
FROM busybox
RUN echo one >/one
RUN echo two >/two
END
    build -t app "$WORK/app"
    same "steps from the cache" 0 "$(steps_from_cache)"
    build -t app "$WORK/app"
    same "steps from the cache" 2 "$(steps_from_cache)"
    sed -i 's/echo two/echo three/' "$WORK/app/Dockerfile"
    build -t app "$WORK/app"
    same "steps from the cache" 1 "$(steps_from_cache)"
    build --no-cache -t app "$WORK/app"
    same "steps from the cache" 0 "$(steps_from_cache)"
    # without the registry: the base is there
    registry_stop
    build -t app "$WORK/app"
    same "exit status" 0 "$status"
    plain --image app -- cat /two
    same "what it says" three "$(cat "$WORK/out")"
    hutch image prune >"$WORK/out"
    grep -q 'build cache' "$WORK/out"
    [ ! -e "$HUTCH_HOME/lib/images/build/overlay" ]
}

@test "--build-arg, -f and the directory's own name" {
    needs_root
    hub_start
    dockerfile <<'END'
FROM scratch
END
    cat >"$WORK/other" <<END
ARG BASE=nothing
FROM \$BASE
ARG WORD=default
ARG SECOND
RUN echo "\$WORD \$SECOND" >/word
END
    build -f "$WORK/other" --build-arg BASE="$REGISTRY/library/busybox" --build-arg WORD='a b $c "d"' --build-arg SECOND=2 "$WORK/app"
    same "exit status" 0 "$status"
    same "what it prints" app "$(cat "$WORK/out")"
    plain --image app -- cat /word
    same "what it says" 'a b $c "d" 2' "$(cat "$WORK/out")"
    # one that can be read only once
    build -t piped -f <(printf 'FROM busybox\nRUN echo piped >/word\n') "$WORK/app"
    same "exit status" 0 "$status"
    plain --image piped -- cat /word
    same "what it says" piped "$(cat "$WORK/out")"
}

@test "the directory can come as an archive of any compression, and nothing in it leads out" {
    needs_root
    printf 'FROM scratch\nCOPY file /file\n' | dockerfile
    echo in the archive >"$WORK/app/file"
    ln -s /etc/shadow "$WORK/app/Leads"
    for flag in -c -cz -cJ; do
        tar -C "$WORK/app" $flag . >"$WORK/app.tar"
        build -q -t app:1 - <"$WORK/app.tar"
        same "status of $flag" 0 "$status"
        same "its file" "in the archive" "$(hutch image export app:1 | tar -xO --wildcards '*file')"
        hutch image rm app:1
    done
    for name in Leads ../app/Dockerfile /etc/passwd nowhere; do
        build -q -t app:1 -f "$name" - <"$WORK/app.tar"
        same "status of $name" 125 "$status"
        grep -q "the archive has no file '$name'" "$WORK/said"
    done
    build -t app:1 - < <(head -c 100 "$WORK/app.tar")
    same "status of half an archive" 125 "$status"
    build - <"$WORK/app.tar"
    grep -q -e --tag "$WORK/said"
}

@test "a base that only the store has is taken from there, as its name is now" {
    needs_root
    local layout flag
    layout=$(busybox_image)
    registry_start none # nobody else has it
    export HUTCH_REGISTRIES=$WORK/registries.yml
    printf 'docker.io:\n  mirrors: [http://%s]\n' "$REGISTRY" >"$HUTCH_REGISTRIES"
    hutch image load --name base:1 "$layout" >/dev/null
    printf 'FROM base:1\nRUN echo tools >/number\n' | dockerfile
    build -t tools "$WORK/app"
    same "exit status" 0 "$status"
    dockerfile <<'END'
ARG NAME=base
FROM ${NAME}:1 AS first
RUN echo one >/number
FROM $NAME:1
COPY --from=tools /number /from-tools
COPY --from=first /number /number
END
    build -t app "$WORK/app"
    same "exit status" 0 "$status"
    plain --image app -- cat /number /from-tools
    same "what it says" "one tools" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    # a name that means another image now is that one, also where nothing of the cache is used
    hutch image tag tools base:1
    printf 'ARG NAME\nFROM $NAME\nRUN cp /number /copy\n' | dockerfile
    for flag in --quiet --no-cache; do
        build $flag --build-arg NAME=base:1 -t app "$WORK/app"
        same "exit status" 0 "$status"
        plain --image app -- cat /copy
        same "what it says" tools "$(cat "$WORK/out")"
    done
    build --build-arg NAME=base:1 -t app "$WORK/app"
    same "steps from the cache" 1 "$(steps_from_cache)"
}

@test "a step that fails is named with its line, after its own output" {
    needs_root
    hub_start
    dockerfile <<'END'
# a comment
ARG BASE=busybox
FROM scratch AS first
COPY data /a

FROM $BASE
COPY --from=first \
    # in between
    /a /a
RUN echo fine
RUN echo this is why >&2; exit 3
RUN echo never
END
    echo content >"$WORK/app/data"
    build -t app "$WORK/app"
    same "exit status" 125 "$status"
    grep -qx 'this is why' "$WORK/said"
    same "steps after it" 0 "$(grep -c '^never' "$WORK/said" || true)"
    same "the last line" "hutch: $WORK/app/Dockerfile:11: 'RUN echo this is why >&2; exit 3': exit status 3" "$(tail -n 1 "$WORK/said")"
    # nothing has the name
    plain --image app --pull never -- true
    same "exit status" 125 "$status"
    # and what did not fail is in the cache
    sed -i 's/exit 3/exit 0/' "$WORK/app/Dockerfile"
    build -t app "$WORK/app"
    same "exit status" 0 "$status"
    grep -q 'Using cache' "$WORK/said"
}

@test "what is wrong with a build is told in one sentence" {
    needs_root
    hub_start
    local text pattern wrong=0
    while IFS='|' read -r text pattern; do
        printf '%b' "$text" | dockerfile
        build -t app "$WORK/app"
        { [ "$status" = 125 ] && tail -n 1 "$WORK/said" | grep -qE "^hutch: .*$pattern"; } ||
            { printf '«%s»: %s, «%s»\n' "$text" "$status" "$(tail -n 1 "$WORK/said")" >&2 && wrong=1; }
    done <<'END'
FROM nothere:1\n|/app/Dockerfile:1: 'FROM nothere:1': .*(unknown|not found)
FROM scratch\nCOPY nope /\n|/app/Dockerfile:2: 'COPY nope /': .*nope.*no such file
FROM scratch\n\nFROB x\n|/app/Dockerfile:3: 'FROB x': .*[Uu]nknown instruction
RUN x\n|/app/Dockerfile: no FROM
|/app/Dockerfile: no contents
FROM busybox\nRUN ["/nope"]\n|/app/Dockerfile:2: 'RUN .*nope
END
    [ "$wrong" = 0 ]
}

@test "what is wrong before a build is told in one sentence, and nothing is made" {
    needs_root
    mkdir "$WORK/empty" && dockerfile <<<'FROM scratch'
    build "$WORK/empty"
    refused 125 "there is no '.*/empty/Dockerfile'.*-f FILE"
    build "$WORK/nowhere"
    refused 125 "nowhere.*No such file"
    build -t app "$WORK/app/Dockerfile"
    refused 125 "is no directory"
    build -t 'App:1' "$WORK/app"
    refused 125 "App"
    build -t "app@sha256:$(printf '0%.0s' {1..64})" "$WORK/app"
    refused 125 "digest"
    build
    refused 125 "DIR"
    status=0
    PATH=$WORK/empty "$HUTCH" image build "$WORK/app" >"$WORK/out" 2>"$WORK/said" || status=$?
    refused 125 "install buildah: sudo apt-get install buildah"
    [ ! -e "$HUTCH_HOME/lib/images/build" ]
}

@test "an ordinary user without subordinate ids is told what to do" {
    [ "$HUTCH_TEST_AS" = user ] || skip "about an ordinary user"
    mkdir "$WORK/app" && echo 'FROM scratch' >"$WORK/app/Dockerfile"
    build "$WORK/app"
    refused 125 "subordinate ids.*usermod --add-subuids"
    [ ! -e "$HUTCH_HOME/lib/images/build" ]
}

@test "a build that is killed leaves nothing running, and the next one works" {
    needs_root
    hub_start
    dockerfile <<'END'
FROM busybox
RUN echo early >/early
RUN sleep 4242
END
    "$HUTCH" image build -t app "$WORK/app" >"$WORK/out" 2>"$WORK/said" 3>&- &
    local pid=$!
    registry_await "the step" pgrep -f '^sleep 4242$'
    kill -9 "$pid"
    wait "$pid" 2>/dev/null || true
    registry_await "the end of the step" sh -c '! pgrep -f "^sleep 4242\$"'
    same "mounts" "" "$(grep "$HUTCH_HOME" /proc/self/mountinfo || true)"
    sed -i 's/sleep 4242/echo late >\/late/' "$WORK/app/Dockerfile"
    build -t app "$WORK/app"
    same "exit status" 0 "$status"
    same "steps from the cache" 1 "$(steps_from_cache)"
    same "working containers" '[]' "$(cat "$HUTCH_HOME/lib/images/build/overlay/overlay-containers/containers.json")"
    plain --image app -- cat /early /late
    same "what it says" "early late" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
}

@test "a prune removes what a killed build has left" {
    needs_root
    hub_start
    dockerfile <<'END'
FROM busybox
RUN sleep 4243
END
    "$HUTCH" image build -t app "$WORK/app" >"$WORK/out" 2>"$WORK/said" 3>&- &
    local pid=$!
    registry_await "the step" pgrep -f '^sleep 4243$'
    hutch image prune >"$WORK/out" # not while it is going on
    [ -d "$HUTCH_HOME/lib/images/build/overlay" ]
    kill -9 "$pid"
    wait "$pid" 2>/dev/null || true
    registry_await "the end of the step" sh -c '! pgrep -f "^sleep 4243\$"'
    hutch image prune >"$WORK/out"
    same "what is left" lock "$(ls "$HUTCH_HOME/lib/images/build")"
}

@test "builds at the same time take turns" {
    needs_root
    hub_start
    local name pids=()
    for name in one two three; do
        mkdir "$WORK/$name"
        printf 'FROM busybox\nRUN echo %s >/name\n' $name >"$WORK/$name/Dockerfile"
        "$HUTCH" image build "$WORK/$name" >"$WORK/$name.out" 2>"$WORK/$name.said" 3>&- &
        pids+=($!)
    done
    for name in "${pids[@]}"; do wait "$name"; done
    grep -q 'waiting for another build' "$WORK"/*.said
    for name in one two three; do
        plain --image $name -- cat /name
        same "what it says" $name "$(cat "$WORK/out")"
    done
}
