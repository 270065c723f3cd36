#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Named sandboxes: how they are found, when they are built, what of them counts, and those that come with hutch.

# shellcheck disable=SC2016  # much is expanded inside

load ../lib
load ../integration/words
load registry
load bases

# A sandbox with this sandbox.yml on standard input, and a Dockerfile when the text is given.
named() { # DIRECTORY [DOCKERFILE]
    mkdir -p "$1"
    cat >"$1/sandbox.yml"
    [ -z "${2:-}" ] || printf '%b' "$2" >"$1/Dockerfile"
    [ "$HUTCH_TEST_AS" = root ] || chown -R "$TEST_UID:$TEST_UID" "$1"
}

# shellcheck disable=SC2153
built() { grep -q '^STEP' "$WORK/said"; }
not_built() { if built; then return 1; fi; }
image_names() { (cd "$HUTCH_HOME/lib/images/refs" && find . -type f | sort); }

# --- finding ----------------------------------------------------------------------------------------------------------------

@test "a sandbox is found in each place of the search path, and the first place wins" {
    local place
    cd "$WORK"
    for place in flag second variable other configs/sandboxes; do
        printf 'env:\n  PLACE: %s\n' $place | named "$place/box"
    done
    export HUTCH_SANDBOXES=$WORK/variable::$WORK/other
    where() { # EXPECTED FLAG...
        plain "${@:2}" --sandbox box -- sh -c 'echo $PLACE'
        same "the place" "$1" "$(cat "$WORK/out" "$WORK/said")"
    }
    where flag --sandbox-dir flag --sandbox-dir second
    where second --sandbox-dir nowhere --sandbox-dir "$WORK/second" --sandbox-dir flag
    where variable
    rm -r variable
    where other
    unset HUTCH_SANDBOXES
    where configs/sandboxes
    hutch sandboxes >"$WORK/out"
    grep -qE "^box +sandbox.yml +$WORK/configs/sandboxes/box$" "$WORK/out"
    grep -qE "^python +Dockerfile, sandbox.yml +$TOP/sandboxes/python$" "$WORK/out"
    hutch sandboxes --json --sandbox-dir flag >"$WORK/json"
    same "its path" "$WORK/flag/box" "$(field '.sandboxes[] | select(.name == "box").path')"
    same "those that come with hutch" "dev node python shell" "$(field '[.sandboxes[].name] - ["box"] | join(" ")')"
}

@test "what is no name, and a name that is nowhere, are told" {
    cd "$WORK"
    mkdir -p configs/sandboxes/empty
    local name
    for name in ../x a/b .. . '' /etc A 'a b' -x; do
        plain "--sandbox=$name" -- true
        refused 125 "is no name of a sandbox"
    done
    plain --sandbox nowhere -- true
    refused 125 "there is no sandbox 'nowhere'.*configs/sandboxes"
    plain --sandbox empty -- true
    refused 125 "there is no sandbox 'empty'"
    plain --sandbox-dir x -- true
    refused 125 "'--sandbox-dir' needs '--sandbox NAME'"
    plain --build-arg X=1 -- true
    refused 125 "'--build-arg' needs '--sandbox NAME'"
    named configs/sandboxes/box <<<'env: {A: b}'
    plain --sandbox box --image x -- true
    refused 125 "'--sandbox' and '--image'"
    plain --sandbox box --rootfs / -- true
    refused 125 "'--sandbox' and '--rootfs'"
    plain --sandbox box --build-arg A=1 -- true
    refused 125 "no Dockerfile that would take build arguments"
}

# --- sandbox.yml ------------------------------------------------------------------------------------------------------------

@test "every field of sandbox.yml counts, and flags win over it" {
    cd "$WORK"
    named configs/sandboxes/box <<'END'
command: [sh, -c, 'echo $MODE $EXTRA; hostname; id -u; ulimit -n; pwd; df -k /scratch | tail -n 1 | tr -s " " | cut -d " " -f 2']
hostname: from-yml
user: "4321"
workdir: /scratch
env:
  MODE: yml
  EXTRA: kept
tmpfs:
  - target: /scratch
    size: 2m
limits:
  open_files: 77
  timeout: 9s
END
    plain --sandbox box
    same "what it says" "yml kept from-yml 4321 77 /scratch 2048" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    plain --sandbox box --hostname from-flag -e MODE=flag --user 1234 --open-files 88
    same "what it says" "flag kept from-flag 1234 88 /scratch 2048" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    plain --sandbox box -- echo another command
    same "what it says" "another command" "$(cat "$WORK/out")"
    echo '{"hostname": "from-spec"}' >spec.json
    chmod 644 spec.json
    plain --spec spec.json --sandbox box -- hostname
    same "what it says" "from-spec" "$(cat "$WORK/out")"
    plain --sandbox box --dry-run
    same "the timeout" 9000 "$(jq .limits.timeout "$WORK/out" | sed 's/"//g; s/^9s$/9000/; s/^9$/9000/')"
}

@test "a mistake in sandbox.yml is told with its file, its line and its field" {
    cd "$WORK"
    local text expected wrong=0 file=$WORK/configs/sandboxes/box/sandbox.yml
    while IFS='|' read -r text expected; do
        printf '%b' "$text" | named configs/sandboxes/box
        plain --sandbox box -- true
        { [ "$status" = 125 ] && [ "$(grep -c '' "$WORK/said")" = 1 ] && grep -qF "hutch: $file:$expected" "$WORK/said"; } ||
            { printf '«%s»: %s «%s»\n' "$text" "$status" "$(cat "$WORK/said")" >&2 && wrong=1; }
    done <<'END'
limits:\n  memory: 1g\n  memroy: 1g\n|3: unknown field 'limits.memroy'
# first\n\nlimits:\n  memory: [1]\n|4: limits.memory: a list stands where
env:\n  A: b\n  C: {d: e}\n|3: env: 'C': an object stands where
mounts:\n  - source: /tmp\n    target: /a\n  - source: /tmp\n    traget: /b\n|5: mounts
hostname: a\nhostname: b\n|2: duplicate key 'hostname'
limits: 5\n|1: limits: a number stands where
command: ls\nnothing: 1\n|1: command: a string stands where
command:\n  - sh\n  - - x\n|3: command
hostname: "a\n|2: found unexpected end of stream
user: &x 5\n|1: anchors
- a\n|
END
    [ "$wrong" = 0 ]
}

# --- building ---------------------------------------------------------------------------------------------------------------

@test "it is built when it is missing or a file has changed, and not otherwise" {
    needs_root
    hub_start
    cd "$WORK"
    local box=configs/sandboxes/box first
    named $box 'FROM busybox\nCOPY data /data\nUSER user\n' <<<'env: {A: b}'
    mkdir $box/data
    echo one >$box/data/file
    plain --sandbox box -- sh -c 'cat /data/file; id -u; echo $A'
    built
    same "what it says" "one 1234 b" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    first=$(image_names)
    plain --sandbox box -- cat /data/file
    not_built
    same "what hutch says" "" "$(cat "$WORK/said")"
    touch -d @0 $box/data/file # a time is nothing
    plain --sandbox box -- cat /data/file
    not_built
    echo two >$box/data/file
    touch -d @0 $box/data/file
    plain --sandbox box -- cat /data/file
    built
    same "what it says" two "$(cat "$WORK/out")"
    # the name of what it was before is gone
    same "names of images" 1 "$(image_names | wc -l)"
    [ "$first" != "$(image_names)" ]
    chmod 600 $box/data/file
    plain --sandbox box -- cat /data/file
    built
    mv $box/data/file $box/data/renamed
    plain --sandbox box -- cat /data/renamed
    built
    # somewhere else it is another sandbox
    cp -a $box "$WORK/box"
    plain --sandbox box --sandbox-dir "$WORK" -- cat /data/renamed
    built
    plain --sandbox box -- true
    not_built
    same "names of images" 2 "$(image_names | wc -l)"
    plain --sandbox box --dry-run --build-arg X=1 -- true
    not_built
    same "the image" "hutch.local/sandbox/box" "$(jq -r .image "$WORK/out" | cut -d : -f 1)"
}

@test "a policy that does not allow its image keeps it from being built, and one that does allows its bases" {
    needs_root
    hub_start
    cd "$WORK"
    local images
    export HUTCH_POLICY=$WORK/policy.yml
    named configs/sandboxes/box 'FROM busybox\nRUN echo done >/ran\n' <<<'env: {A: b}'
    # by no name; by its base's alone; by a digest, which it may or may not come to have
    for images in '[]' '[busybox]' "['sha256:$(printf %064d 0)']"; do
        echo "images: $images" >"$HUTCH_POLICY"
        chmod 644 "$HUTCH_POLICY"
        plain --sandbox box -- true
        refused 125 "image 'hutch.local/sandbox/box:.*' is not among the allowed ones; rule 'images' of $HUTCH_POLICY:1"
        plain --dry-run --sandbox box -- true
        refused 125 "rule 'images' of $HUTCH_POLICY:1"
    done
    # that is where bases would be
    [ ! -e "$HUTCH_HOME/lib/images/build" ]
    grep -h '"kind":"policy"' "$HUTCH_HOME"/lib/audit/segment-* | grep -q '"what":"build"'
    echo 'images: ["hutch.local/sandbox/box:*"]' >"$HUTCH_POLICY"
    plain --sandbox box -- cat /ran
    built
    same "what it says" "done" "$(cat "$WORK/out")"
}

@test "what wants the same sandbox at the same time builds it once" {
    needs_root
    hub_start
    cd "$WORK"
    named configs/sandboxes/box 'FROM busybox\nRUN echo made >/made\n' <<<'env: {A: b}'
    local i pids=()
    for i in 1 2 3; do
        "$HUTCH" run --sandbox box -- cat /made >"$WORK/$i.out" 2>"$WORK/$i.said" 3>&- &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i"; done
    same "what they say" "made made made" "$(cat "$WORK"/[123].out | tr '\n' ' ' | sed 's/ $//')"
    same "how often it was built" 1 "$(cat "$WORK"/[123].said | grep -c '^STEP 2/2')"
}

@test "a sandbox that cannot be built is told with its line, and nothing has its name" {
    needs_root
    hub_start
    cd "$WORK"
    named configs/sandboxes/box 'FROM busybox\nRUN false\n' <<<'env: {A: b}'
    plain --sandbox box -- true
    same "exit status" 125 "$status"
    same "the last line" "hutch: $WORK/configs/sandboxes/box/Dockerfile:2: 'RUN false': exit status 1" "$(tail -n 1 "$WORK/said")"
    same "names of images" "" "$(image_names 2>/dev/null || true)"
    named configs/sandboxes/box 'FROM busybox\n' <<<'rootfs: /'
    plain --sandbox box -- true
    refused 125 "the Dockerfile makes the sandbox's root, and so would 'rootfs'"
}

@test "a sandbox that stays is made from a named one" {
    needs_root
    hub_start
    cd "$WORK"
    named configs/sandboxes/box 'FROM busybox\nUSER user\n' <<<'labels: {kind: named}'
    hutch create --name stays --disk 16m --sandbox box >/dev/null 2>"$WORK/said"
    same "who it is" 1234 "$(hutch exec stays -- id -u)"
    same "its label" named "$(hutch inspect stays | jq -r '.spec.labels.kind // .labels.kind')"
    hutch rm -f stays
}

# --- those that come with hutch ---------------------------------------------------------------------------------------------

shipped() { # NAME FLAG...; its bases are what Docker Hub would have
    plain --sandbox "$@"
    [ "$status" = 0 ] || { tail -n 30 "$WORK/said" >&2 && return 1; }
}

@test "python runs pytest on a file of the workspace, as an ordinary user" {
    needs_root
    hub_start
    registry_fill "$(debian_base)" library/python:3.11-slim
    local args=(--build-arg INSTALLER=apt) work
    work=$(user_dir work)
    cat >"$work/test_it.py" <<'END'
def double(x):
    return 2 * x

def test_double(mocker):
    mocker.patch("os.getpid", return_value=7)
    import os
    assert double(os.getpid()) == 14
END
    shipped python "${args[@]}" --workspace "$work:rw" -- pytest -q --cov=. -p no:cacheprovider
    grep -q '^1 passed' "$WORK/out"
    grep -qE '^TOTAL +[0-9]+ +0 +100%' "$WORK/out"
    shipped python "${args[@]}" -- sh -c 'id -un; pwd; python -c "import sys; print(sys.version_info[:2])"; touch here && echo writable'
    not_built
    same "what it is" "sandbox /workspace (3, 11) writable" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    result --sandbox python "${args[@]}" --timeout 1s -- sleep 30
    same "the flag's timeout" timeout "$(field .reason)"
}

@test "dev has its tools, as an ordinary user" {
    needs_root
    hub_start
    registry_fill "$(debian_base)" library/ubuntu:22.04
    registry_fill "$(node_base)" library/node:20-bullseye-slim
    # the compiler and vim take longer than all other tests together
    shipped dev --build-arg TOOLS='git nano htop jq make' -- bash -ec 'for tool in git nano htop jq make python3 node npm npx; do
        $tool --version >/dev/null || exit 1; done; id -un; pwd; node -p 6*7; python3 -m venv --help >/dev/null; echo >here'
    same "what it is" "dev /workspace 42" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    for tool in build-essential git vim nano htop jq; do grep -q "^ARG TOOLS=.*\<$tool\>" "$TOP/sandboxes/dev/Dockerfile"; done
}

@test "node and shell are what they say, as an ordinary user" {
    needs_root
    hub_start
    registry_fill "$(node_base)" library/node:20-slim
    registry_fill "$(debian_base)" library/debian:bookworm-slim
    shipped node -- sh -c 'node -p "process.version.split(\".\")[0]"; id -u; pwd; touch here; npm --version >/dev/null'
    same "what it is" "v$(node -p 'process.version.split(".")[0].slice(1)') 1000 /workspace" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
    shipped shell -- bash -c 'echo "{\"a\": 1}" | jq .a; id -un; pwd; touch here'
    same "what it is" "1 sandbox /workspace" "$(tr '\n' ' ' <"$WORK/out" | sed 's/ $//')"
}
