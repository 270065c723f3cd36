#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run --image: what of the image's configuration counts and how, and what of it does not.

# shellcheck disable=SC2016,SC2034  # much is expanded inside; the rows of a table are read by their names

load ../lib
load ../integration/words
load ../sandbox/words
load images

setup() { setup_world; }
teardown() { teardown_world; }

out() { tr '\n' ' ' <"$WORK/out" | sed 's/ $//'; }

# --- command ------------------------------------------------------------------------------------------------------------------

@test "entrypoint and command are put together as Docker does" {
    local none='[]' entry='["echo", "E"]' cmd='["echo", "C"]' wrong=0 row
    local ENTRY CMD FLAGS EXPECTED
    # entrypoint | cmd | flags and command | what is said, or ! for an error
    while IFS='|' read -r ENTRY CMD FLAGS EXPECTED; do
        base_image table "config(entrypoint=${!ENTRY}, cmd=${!CMD})" >/dev/null
        eval "plain --image table $FLAGS"
        row="$ENTRY|$CMD|$FLAGS"
        if [ "$EXPECTED" = '!' ]; then
            [ "$status" = 125 ] && grep -q "names no command" "$WORK/said" || { echo "$row: $status $(cat "$WORK/said")" >&2 && wrong=1; }
        else
            [ "$status" = 0 ] && [ "$(out)" = "$EXPECTED" ] || { echo "$row: $status «$(out)» $(cat "$WORK/said")" >&2 && wrong=1; }
        fi
    done <<'EOF'
none|none||!
none|cmd||C
none|none|-- echo x|x
none|cmd|-- echo x|x
entry|none||E
entry|cmd||E echo C
entry|none|-- x|E x
entry|cmd|-- x y|E x y
entry|cmd|--entrypoint /bin/echo|
entry|cmd|--entrypoint /bin/echo -- x|x
none|cmd|--entrypoint echo -- a b|a b
entry|cmd|--entrypoint ''|!
entry|cmd|--entrypoint '' -- echo x|x
none|cmd|--entrypoint ''|!
EOF
    [ "$wrong" = 0 ]
}

@test "an entrypoint of a document is a list; without an image it is an error, and so is pull" {
    base_image >/dev/null
    printf '{"image": "base", "entrypoint": ["echo", "a"], "command": ["b"]}' >"$WORK/spec.json"
    chmod 644 "$WORK/spec.json"
    plain --spec "$WORK/spec.json"
    same "what it says" "a b" "$(out)"
    plain --entrypoint echo -- a
    same "exit status" 125 "$status"
    says "about entrypoint" "entrypoint is about an image"
    plain --pull always -- true
    says "about pull" "pull is about an image"
    plain --pull sometimes --image base
    says "about a wrong pull" "'sometimes' is not when to pull"
    plain --image base --rootfs / -- true
    same "exit status" 125 "$status"
    says "about both" "exclude each other"
}

@test "a command that the image does not have is 127, one that is not executable 126" {
    base_image >/dev/null
    plain --image base -- nothing-like-it
    same "exit status" 127 "$status"
    says "where it was looked for" "not in the image's PATH"
    plain --image base -- /etc/motd
    same "exit status" 126 "$status"
}

# --- configuration ------------------------------------------------------------------------------------------------------------

@test "variables: the image's over hutch's, the spec's over the image's" {
    base_image vars 'config(env=["PATH=/opt/none:/bin", "A=image", "B=image", "EMPTY=", "EQ=a=b"])' >/dev/null
    B=caller plain --image vars -e A=spec --pass-env B -- sh -c 'echo "$PATH|$A|$B|$EMPTY|$EQ|$HOME|$LANG"'
    same "variables" "/opt/none:/bin|spec|caller||a=b|/home/old|C.UTF-8" "$(out)"
    plain --image vars -- env
    grep -qx 'EMPTY=' "$WORK/out"
}

@test "the user: not root unless somebody says so; names are the image's, never the host's" {
    base_image >/dev/null
    plain --image base -- sh -c 'id -u; id -g; echo $HOME $USER'
    same "nobody says" "1000 1001 /home/old old" "$(out)"
    plain --image base -u 0 -- sh -c 'id -u; id -g; echo $HOME'
    same "-u 0" "0 0 /root" "$(out)"
    plain --image base -u bob -- sh -c 'id -u; id -g; echo $HOME $USER'
    same "-u bob" "1234 1235 /home/bob bob" "$(out)"
    plain --image base -u bob:staff -- sh -c 'id -u; id -g'
    same "-u bob:staff" "1234 77" "$(out)"
    plain --image base -u 4321:99 -- sh -c 'id -u; id -g; echo $HOME'
    same "-u 4321:99" "4321 99 /" "$(out)"
    plain --image base -u nobody -- true # every host has one
    same "exit status" 125 "$status"
    says "about a name that it does not have" "user 'nobody' is not in the sandbox's /etc/passwd"
    local user
    for user in "bob|1234 1235" "bob:staff|1234 77" "1234|1234 1235" "4321|4321 4321" "0|0 0" "root|0 0" "root:77|0 77"; do
        base_image named "config(user='${user%|*}')" >/dev/null
        plain --image named -- sh -c 'id -u; id -g'
        same "image's user ${user%|*}" "${user#*|}" "$(out)"
    done
    plain --image named -u 5 -- sh -c 'id -u; id -g'
    same "the spec's over the image's" "5 5" "$(out)"
}

@test "the working directory: the spec's, the image's, which is made where it is missing, or /workspace" {
    base_image >/dev/null
    plain --image base -- pwd
    same "nobody says" /workspace "$(out)"
    base_image dir 'config(workdir="/opt/made/for/it/")' >/dev/null
    plain --image dir -- sh -c 'pwd; touch x && echo mine'
    same "the image's" "/opt/made/for/it mine" "$(out)"
    plain --image dir -w /etc -- pwd
    same "the spec's" /etc "$(out)"
    plain --image dir -w /nowhere -- pwd
    same "one of the spec's that is not there" 125 "$status"
    base_image dir 'layer({"real/": None, "way": Link("/real")}); config(workdir="/way/below")' >/dev/null
    plain --image dir -- pwd -P
    same "behind a link of the image" /real/below "$(out)"
    base_image dir 'layer({"out": Link("../../../..")}); config(workdir="/out/tmp")' >/dev/null
    plain --image dir -- pwd -P
    same "behind a link that would lead out" /tmp "$(out)"
    base_image dir 'config(workdir="/etc/motd")' >/dev/null
    plain --image dir -- pwd
    same "one that is a file" 125 "$status"
    says "which" "/etc/motd"
}

@test "a configuration that makes no sense is refused with a sentence" {
    local wrong=0 config words
    while IFS='|' read -r config words; do
        base_image bad "config($config)" >/dev/null
        plain --image bad -- true
        [ "$status" = 125 ] && grep -q "image 'bad': .*$words" "$WORK/said" || { echo "$config: $status $(cat "$WORK/said")" >&2 && wrong=1; }
        [ "$(wc -l <"$WORK/said")" = 1 ] || wrong=1
    done <<'EOF'
workdir="app"|working directory is unusable
workdir="/a/../../etc"|working directory is unusable
workdir="/proc/1/root"|working directory is unusable
workdir="/"+"x"*5000|working directory is unusable
user="bob\nroot"|user is unusable
user="-1"|user is unusable
user="70000"|id above 65535
user="$(id)"|user is unusable
user="../../etc"|user is unusable
env=["NOVALUE"]|'NOVALUE' is not of the form KEY=VALUE
env=["=x"]|is not of the form KEY=VALUE
env=["A="+"x"*200000]|variables are too large
env=["A%d="%i+"x"*1000 for i in range(2000)]|variables are too large
entrypoint=[""], cmd=["x"], stop_signal="SIGNOPE"|stop signal 'SIGNOPE'
entrypoint=["", "x"]|begins with an empty word
EOF
    [ "$wrong" = 0 ]
    # what the spec says itself is not asked of the image
    base_image bad 'config(user="bob\nroot", workdir="app")' >/dev/null
    plain --image bad -u 7 -w / -- sh -c 'id -u; pwd'
    same "with its own user and directory" "7 /" "$(out)"
}

# --- layers -------------------------------------------------------------------------------------------------------------------

@test "128 layers, each with a file, some taking away what is below" {
    image many >/dev/null <<'EOF'
layer(busybox())
for i in range(1, 128):
    files = {f"f{i}": str(i), "top": str(i), f"dir/d{i}": str(i)}
    if i % 10 == 0:
        files[f"f{i - 5}"] = WHITEOUT
    if i == 100:
        files["dir/"] = OPAQUE
    layer(files)
config(cmd=["sh", "-c", "cat /top; echo; ls -d /f* | wc -l; ls /dir | wc -l; ls /f5 /f6 2>&1"], env=["PATH=/bin"])
EOF
    plain --image many
    same "what is seen" "127 115 28 ls: /f5: No such file or directory /f6" "$(out)"
}

@test "as many layers as overlayfs stacks" {
    image most >/dev/null <<'EOF'
layer(busybox())
for i in range(1, 500):
    layer({f"f{i}": str(i)})
config(cmd=["sh", "-c", "cat /f1 /f250 /f499"], env=["PATH=/bin"])
EOF
    plain --image most
    same "what is seen" 1250499 "$(out)"
}

@test "whiteouts, opaque directories and files over directories, as the topmost layer says" {
    image white >/dev/null <<'EOF'
layer(busybox())
layer({"gone": "x", "tree/a": "1", "tree/b/c": "2", "opaque/old": "1", "opaque/sub/old": "1", "kind/x": "1", "back": "1"})
layer({"gone": WHITEOUT, "tree": WHITEOUT, "opaque/": OPAQUE, "opaque/new": "2", "kind": "file", "back": WHITEOUT})
layer({"back": "again", "tree/new": "3"})
config(env=["PATH=/bin"])
EOF
    plain --image white -- sh -c 'cd / && find gone tree opaque kind back | sort; cat kind back'
    same "what is seen" "back kind opaque opaque/new tree tree/new fileagain" "$(grep -v 'No such' "$WORK/out" | tr '\n' ' ' | sed 's/ $//')"
}

@test "a layer that lies in an image twice" {
    image twice >/dev/null <<'EOF'
base = layer(busybox())
one = layer({"x": "one", "y": "one"})
layer({"x": "two", "z": "two"})
again(one)
again(base)
config(env=["PATH=/bin"])
EOF
    plain --image twice -- cat /x /y /z
    same "what is seen" oneonetwo "$(out)"
}

@test "an image without layers is an empty root" {
    image empty >/dev/null <<'EOF'
config(cmd=["/mnt/busybox", "ls", "/"])
EOF
    mkdir -p "$WORK/bin" && cp "$(command -v busybox)" "$WORK/bin/busybox" && chmod -R 755 "$WORK/bin"
    plain --image empty --mount "$WORK/bin:/mnt:ro"
    same "what is there" "dev etc home mnt proc root run sys tmp var workspace" "$(out)"
    plain --image empty -- /bin/sh
    same "exit status" 127 "$status"
}

@test "owners are the image's own as root; modes and set-user bits come along and mean nothing" {
    image owners >/dev/null <<'EOF'
layer(busybox())
layer({"bobs": Owned("x", 0o600, 1234, 1235), "suid": Owned("x", 0o4755), "bobsdir/": Owned(None, 0o700, 1234, 1235),
       "bobsdir/in": Owned("y", 0o600, 1234, 1235)})
config(env=["PATH=/bin"])
EOF
    plain --image owners -u 1234:1235 -- sh -c 'cat /bobs /bobsdir/in; stat -c "%a %u" /suid'
    if [ "$HUTCH_TEST_AS" = root ]; then
        same "bob's" "xy4755 0" "$(out)"
        plain --image owners -- cat /bobs
        same "exit status for another" 1 "$status"
    else
        same "an ordinary user's image is all the user's" "xy4755 1234" "$(out)"
    fi
}

@test "files of ids that no sandbox has are nobody's, and an /etc of such an id is left as it is" {
    needs_root
    image foreign >/dev/null <<'EOF'
layer(busybox())
layer({"etc/": Owned(None, 0o755, 100000, 70000), "file": Owned("x", 0o644, 4000000000, 70000)})
config(env=["PATH=/bin"])
EOF
    plain --image foreign -- sh -c 'stat -c %u /etc /file; cat /file; ls /etc'
    same "exit status" 0 "$status"
    same "what is seen" "65534 65534 x" "$(out | xargs)"
}

# --- the image stays what it is -------------------------------------------------------------------------------------------------

@test "no run changes an image, and two at once do not see each other" {
    base_image >/dev/null
    layers_state >"$WORK/before"
    plain --image base -u 0 -- sh -c 'rm -r /dir /bin/ls; echo x >/etc/motd; chmod 777 /etc; chown 5 /etc/passwd; mkdir /bin/new; mv /etc/group /g; cat /etc/motd'
    same "its own view" x "$(out)"
    layers_state | diff "$WORK/before" - >&2
    hutch run --image base -u 0 -- sh -c 'echo one >/same; sleep 1; cat /same' >"$WORK/one" &
    hutch run --image base -u 0 -- sh -c 'sleep 0.3; echo two >/same; sleep 0.3; cat /same' >"$WORK/two"
    wait
    same "one" one "$(cat "$WORK/one")"
    same "two" two "$(cat "$WORK/two")"
    layers_state | diff "$WORK/before" - >&2
}

@test "--read-only: nothing of an image is changed in any layer, by its own root neither, and its directory is still made" {
    base_image closed 'config(workdir="/made/here")' >/dev/null
    for user in 1000 0; do
        plain --read-only --image closed -u "$user" -- sh -c 'pwd; rm -rf /dir /bin/ls; for d in / /etc /bin /made/here /run /dev /dev/pts; do (: >$d/x) 2>/dev/null && echo $d; done
            : >/tmp/x && : >/workspace/x && : >/dev/shm/x && echo x >/dev/null && echo fine; ls -d /bin/ls'
        same "as $user" "/made/here fine /bin/ls" "$(out)"
    done
}

@test "an image is locked as long as a run uses it" {
    local record
    record=$HUTCH_HOME/lib/images/images/$(base_image | cut -d: -f2)
    locked() { "$PYTHON" -c '
import fcntl, struct, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))
    except OSError:
        sys.exit(0)
sys.exit(1)' "$record"; }
    hutch run --image base -- sh -c 'echo up; sleep 2' >"$WORK/up" &
    until_true 5 grep -q up "$WORK/up"
    locked
    wait
    not locked
}

# --- not there ----------------------------------------------------------------------------------------------------------------

@test "an image that is not there: never fetches nothing and says what would" {
    plain --image nothing:1.0 --pull never -- true
    same "exit status" 125 "$status"
    says "what to do" "image 'nothing:1.0': there is no such image here.*hutch image pull nothing:1.0"
    plain --image "sha256:$(printf '%064d' 0)" -- true
    same "exit status" 125 "$status"
    says "that a digest is not enough" "a digest alone does not say where"
    plain --image 'UPPER//case' -- true
    same "exit status" 125 "$status"
    result --image nothing --pull never -- true
    same "the same as JSON" not_found "$(field .error.code)"
}

@test "by digest, with and without a name" {
    local digest
    digest=$(base_image)
    plain --image "$digest" -- echo bare
    same "by digest" bare "$(out)"
    plain --image "base@$digest" -- echo named
    same "by name and digest" named "$(out)"
    plain --image "base:latest@$digest" --pull never -- echo both
    same "with a tag" both "$(out)"
}

@test "a damaged store is a sentence, not a crash" {
    local digest
    digest=$(base_image | cut -d: -f2)
    mv "$HUTCH_HOME/lib/images/layers/1" "$HUTCH_HOME/lib/images/layers/9"
    plain --image base --pull never -- true
    same "exit status" 125 "$status"
    says "which layer" "layer 1 is not there"
    echo '{"broken"' >"$HUTCH_HOME/lib/images/images/$digest"
    plain --image base --pull never -- true
    same "exit status" 125 "$status"
    says "that it is damaged" "damaged"
    world_snapshot
}

@test "a dry run compares an image that is here with the digests of a policy, and fetches none" {
    local digest
    digest=$(base_image)
    base_image other 'layer({"etc/motd": "other\n"})' >/dev/null
    export HUTCH_POLICY=$WORK/policy.yml
    echo "images: ['$digest']" >"$HUTCH_POLICY"
    chmod 644 "$HUTCH_POLICY"
    plain --dry-run --image base -- true
    same "exit status of one that is allowed" 0 "$status"
    plain --dry-run --image other -- true
    refused 125 "image 'docker.io/library/other:latest@sha256:.*' is not among the allowed ones; rule 'images' of $HUTCH_POLICY:1"
    plain --dry-run --image nothere.test/a -- true
    refused 125 "'nothere.test/a:latest' is not among the allowed ones.*; only its digest could allow it, which is not known here"
    plain --dry-run --pull always --image base -- true
    refused 125 "only its digest could allow it"
}
