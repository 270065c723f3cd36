#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How files get into a container and out of it, where the engine is on this host and where it is not.

load ../lib
load ../integration/words
load engines

setup_file() { dockerd_for_file; }
teardown_file() { engines_stop; }

setup() {
    setup_world
    use_docker
    mkdir -p "$WORK/tree/sub"
    echo kept >"$WORK/tree/kept"
    echo gone >"$WORK/tree/gone"
    echo old >"$WORK/tree/sub/file"
    chmod 700 "$WORK/tree"
    chmod 600 "$WORK/tree/kept"
}
teardown() {
    use_docker
    engine_teardown
}

changes='rm gone; echo new >sub/file; mkdir more; echo more >more/file; ln -s /etc/shadow link; chmod 640 kept; cat kept'

changed_as_it_should_be() { # OWNER
    same "what was said" kept "$(cat "$WORK/out" "$WORK/said")"
    [ ! -e "$WORK/tree/gone" ]
    same "changed" new "$(cat "$WORK/tree/sub/file")"
    same "added" more "$(cat "$WORK/tree/more/file")"
    same "link" /etc/shadow "$(readlink "$WORK/tree/link")"
    same "mode" 640 "$(stat -c %a "$WORK/tree/kept")"
    same "owners" "$1" "$(find "$WORK/tree" -printf '%U\n' | sort -u)"
}

@test "a writable workspace of root's is copied in, and what was changed comes back as root's" {
    engine_run --workspace "$WORK/tree" -- sh -c "$changes"
    changed_as_it_should_be 0
}

@test "a writable workspace of somebody else is mounted, and the command is that user" {
    chown -R 1234:1234 "$WORK/tree"
    chmod 755 "$WORK" "$BATS_TEST_TMPDIR"
    engine_run --workspace "$WORK/tree" -- sh -c "id -u >&2; $changes"
    same "user" 1234 "$(cat "$WORK/said")"
    : >"$WORK/said"
    changed_as_it_should_be 1234
}

@test "an engine that is far away gets copies, and they come back" {
    use_docker_tls
    engine_run --workspace "$WORK/tree" -- sh -c "$changes"
    changed_as_it_should_be 0
    engine_run --mount "$WORK/tree:/data" -- true
    fails_with "--workspace"
}

@test "a read-only workspace can be read and nothing else, here and far away" {
    for where in use_docker use_docker_tls; do
        $where
        engine_run --workspace "$WORK/tree:ro" -- sh -c 'cat kept sub/file; echo x >new || rm -f kept || echo y >>kept'
        same "status" 1 "$status"
        same "read" "kept old" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
        same "files" "gone kept sub" "$(cd "$WORK/tree" && echo *)"
    done
}

@test "overlay and copy leave the directory as it is" {
    for mode in overlay copy; do
        engine_run --workspace "$WORK/tree:$mode" -- sh -c "$changes"
        same "read" kept "$(cat "$WORK/out")"
        same "there" "gone kept old" "$(cat "$WORK/tree/gone" "$WORK/tree/kept" "$WORK/tree/sub/file" | tr '\n' ' ' | sed 's/ $//')"
        [ ! -e "$WORK/tree/more" ]
    done
}

@test "what somebody changes meanwhile is left alone, and told" {
    (
        await 20 test -s "$WORK/out"
        sleep 0.1
        echo mine >"$WORK/tree/sub/file"
    ) 3>&- &
    engine_run --workspace "$WORK/tree" -- sh -c 'echo theirs >sub/file; echo x; sleep 3; cat sub/file'
    wait
    same "what was said" "x theirs " "$(tr '\n' ' ' <"$WORK/out")"
    same "the file" mine "$(cat "$WORK/tree/sub/file")"
    grep -q "'sub/file' was changed" "$WORK/said"
}

@test "artifacts come out, here and far away, and nothing of them stays behind" {
    for where in use_docker use_docker_tls; do
        $where
        rm -rf "$WORK/art" && mkdir "$WORK/art"
        engine_run --artifacts "$WORK/art" -- sh -c 'echo made >/artifacts/file; ln -s /etc/shadow /artifacts/link'
        same "made" made "$(cat "$WORK/art/file")"
        same "link" /etc/shadow "$(readlink "$WORK/art/link")"
        same "left" "" "$(find "$HUTCH_HOME/lib" -name '.fetched-*')"
    done
}

@test "a read-only root: the engine knows it, copies go into volumes, and nobody else's directory is touched" {
    mkdir -m 750 "$WORK/own" "$WORK/homes"
    chown 1000:1000 "$WORK/own" "$WORK/homes"
    chmod 755 "$WORK" "$BATS_TEST_TMPDIR"
    hutch create --read-only --backend docker --image "$IMAGE" --allow-missing all --name box --mount "$WORK/own:/tmp" --mount "$WORK/homes:/home"
    same "read-only" true "$(docker_cli inspect --format '{{.HostConfig.ReadonlyRootfs}}' "$(docker_cli ps -q)")"
    same "containers" 1 "$(docker_cli ps --all --quiet | wc -l)"
    same "volumes" "/.hutch /workspace" "$(docker_cli inspect --format '{{range .Mounts}}{{if eq .Type "volume"}}{{.Destination}} {{end}}{{end}}' "$(docker_cli ps -q)" |
        xargs -n 1 | sort | xargs)"
    hutch exec box -- sh -c 'echo x >/tmp/x && echo x >/workspace/x'
    same "modes" "750 750" "$(stat -c %a "$WORK/own" "$WORK/homes" | xargs)"
    hutch rm -f box
    same "volumes left" "" "$(docker_cli volume ls -q)"
}

@test "an image's own volume is refused beside a read-only root, unless something else is put there" {
    printf 'FROM %s\nVOLUME ["/data/", "/tmp/inner"]\n' "$IMAGE" | docker_cli build -q -t volume:1 - >/dev/null
    engine_run --read-only --image volume:1 -- true
    fails_with "'/data'" "--tmpfs"
    engine_run --read-only --image volume:1 --tmpfs /data -- sh -c 'echo x >/data/x && touch /etc/x 2>/dev/null || echo closed'
    same "what it said" closed "$(cat "$WORK/out" "$WORK/said")"
    engine_run --image volume:1 -- ls -d /data
    same "what it said" /data "$(cat "$WORK/out" "$WORK/said")"
    docker_cli rmi volume:1 >/dev/null
}

@test "a container for files that was left by somebody who was killed is in nobody's way" {
    local id
    hutch create --read-only --backend docker --image "$IMAGE" --allow-missing all --name box
    hutch exec box -- sh -c 'echo kept >/workspace/kept'
    hutch stop box
    id=$(docker_cli ps --all --format '{{.Names}}')
    docker_cli create --name "$id-files" --volumes-from "$id" "$IMAGE" >/dev/null
    hutch start box
    same "what is there" kept "$(hutch exec box -- cat /workspace/kept)"
    hutch rm -f box
}

@test "an image that hutch has is given to an engine that has it not" {
    hutch image import "$(busybox_tar)" hutch-test/own:1
    engine_run --image hutch-test/own:1 --pull never -- echo given
    same "what it said" given "$(cat "$WORK/out" "$WORK/said")"
    docker_cli rmi hutch-test/own:1 >/dev/null
    hutch image rm hutch-test/own:1
    rm -rf "$HUTCH_HOME/lib/images"
}

@test "a sandbox that stays knows its engine, whatever the variables say later" {
    hutch create --backend docker --image "$IMAGE" --allow-missing all --name box
    unset DOCKER_HOST
    hutch stop box
    hutch start box
    same "what it said" on "$(hutch exec box -- echo on)"
    hutch stop box
    hutch rm box
    use_docker
    same "containers" "" "$(docker_cli ps --all --quiet)"
}
