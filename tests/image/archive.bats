#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hutch image import, export, save and load: what others write is read, and others read what is written.

load ../lib
load ../integration/words
load ../sandbox/words
load archive_words

made() { # NAME...: images from one small root
    local name
    [ -d "$WORK/root" ] || make_root "$WORK/root"
    for name; do
        call image import -q "$WORK/root" "$name"
        same "exit status of import" 0 "$status"
    done
}

digest_of() { hutch image inspect "$1" | jq -r '.digest // .Digest'; }

# --- root filesystems -----------------------------------------------------------------------------------------------------------

@test "a directory comes back from import and export as it was" {
    made round:1
    mkdir "$WORK/back"
    hutch image export round:1 | tar -C "$WORK/back" --xattrs --xattrs-include='*' -xpf -
    if [ "$HUTCH_TEST_AS" = root ]; then
        diff <(tree_state "$WORK/root") <(tree_state "$WORK/back")
    else
        diff <(tree_state_of_user "$WORK/root") <(tree_state_of_user "$WORK/back")
        same "owners in the archive" "0/0" "$(hutch image export round:1 | tar --numeric-owner -tvf - | awk '{print $2}' | sort -u)"
    fi
}

@test "the same directory in every compression, from a file and from a pipe, is one layer" {
    local how
    make_root "$WORK/root"
    tar -C "$WORK/root" -cf "$WORK/root.tar" .
    gzip -k "$WORK/root.tar"
    zstd -q "$WORK/root.tar"
    xz -k "$WORK/root.tar"
    bzip2 -k "$WORK/root.tar"
    chmod a+r "$WORK"/root.tar*
    for how in tar tar.gz tar.zst tar.xz tar.bz2; do
        call image import -q "$WORK/root.$how" "file-$how:1"
        same "$how from a file" 0 "$status"
        status=0
        hutch image import -q - "pipe-$how:1" <"$WORK/root.$how" || status=$?
        same "$how from standard input" 0 "$status"
        status=0
        # shellcheck disable=SC2002  # a pipe is what it is about
        cat "$WORK/root.$how" | hutch image import -q - "pipe-$how:1" || status=$?
        same "$how from a pipe" 0 "$status"
    done
    same "layers" 1 "$(find "$HUTCH_HOME/lib/images/layers" -mindepth 1 -maxdepth 1 | wc -l)"
}

@test "an imported image runs" {
    made plain:1
    plain --image plain:1 -- /bin/cat /etc/passwd
    same "exit status" 0 "$status"
    grep -q '^bob:' "$WORK/out"
}

@test "what is no archive, no file, no name is refused with a sentence" {
    echo "not an archive" >"$WORK/text"
    chmod a+r "$WORK/text"
    call image import -q "$WORK/text" x:1
    refused "a text" 'import .*text'
    call image import -q "$WORK/nothing" x:1
    refused "a missing file" "No such file"
    make_root "$WORK/root"
    call image import -q "$WORK/root" 'Not/A Name'
    refused "a bad name" 'Not/A Name'
    xz -c "$WORK/text" | head -c 40 >"$WORK/cut.xz"
    chmod a+r "$WORK/cut.xz"
    call image import -q "$WORK/cut.xz" x:1
    same "a cut xz" 125 "$status"
    call image export nothing:1
    refused "export of nothing" "nothing:1"
    call image save nothing:1
    refused "save of nothing" "nothing:1"
    same "names" "" "$(refs)"
}

# --- archives -------------------------------------------------------------------------------------------------------------------

@test "saved and loaded again it is the same image, in both formats and from everywhere" {
    local format before
    made a/one:1 b/two:2
    before=$(digest_of a/one:1)
    for format in oci docker; do
        hutch image save --format "$format" a/one:1 b/two:2 >"$WORK/$format.tar"
        hutch image save --format "$format" a/one:1 b/two:2 | cmp - "$WORK/$format.tar"
        chmod a+r "$WORK/$format.tar"
        rm -rf "$HUTCH_HOME/lib/images"
        call image load -q "$WORK/$format.tar"
        same "exit status of load" 0 "$status"
        same "names" "a/one:1 b/two:2" "$(sort "$WORK/out" | xargs)"
        [ "$format" = docker ] || same "digest" "$before" "$(digest_of a/one:1)"
        rm -rf "$HUTCH_HOME/lib/images"
        gzip -c "$WORK/$format.tar" | hutch image load -q - >"$WORK/out"
        same "names through a pipe" "a/one:1 b/two:2" "$(sort "$WORK/out" | xargs)"
        rm -rf "$HUTCH_HOME/lib/images"
        zstd -q -f "$WORK/$format.tar" -o "$WORK/$format.zst"
        chmod a+r "$WORK/$format.zst"
        call image load -q "$WORK/$format.zst"
        same "names of the compressed one" "a/one:1 b/two:2" "$(sort "$WORK/out" | xargs)"
        rm -rf "$HUTCH_HOME/lib/images"
        made a/one:1 b/two:2
        before=$(digest_of a/one:1)
    done
}

@test "nothing in an archive tells when and by whom it was written" {
    made a/one:1
    hutch image save --format oci a/one:1 | tar --numeric-owner --full-time -tvf - | awk '{print $2, $4, $5}' | sort -u >"$WORK/said"
    same "owners and times" "0/0 1970-01-01 00:00:00" "$(TZ=UTC cat "$WORK/said")"
}

@test "skopeo reads what is saved, and its copies are loaded" {
    local name=docker.io/a/one:1 before
    made a/one:1 b/two:2
    before=$(digest_of a/one:1)
    hutch image save --format oci a/one:1 b/two:2 >"$WORK/oci.tar"
    hutch image save --format docker a/one:1 b/two:2 >"$WORK/docker.tar"
    same "digest" "$before" "$(skopeo inspect "oci-archive:$WORK/oci.tar:$name" | jq -r .Digest)"
    skopeo inspect "docker-archive:$WORK/oci.tar:$name" >/dev/null
    skopeo inspect "docker-archive:$WORK/docker.tar:$name" >/dev/null
    skopeo copy -q "oci-archive:$WORK/oci.tar:$name" "docker-archive:$WORK/copy.tar:copied:1"
    skopeo copy -q "docker-archive:$WORK/docker.tar:$name" "oci:$WORK/copy:copied:2"
    skopeo copy -q "oci-archive:$WORK/oci.tar:$name" "oci-archive:$WORK/copy-oci.tar:copied:3"
    chmod -R a+rX "$WORK"/copy*
    call image load -q "$WORK/copy.tar"
    same "docker archive" copied:1 "$(cat "$WORK/out")"
    call image load -q "$WORK/copy"
    same "layout" copied:2 "$(cat "$WORK/out")"
    call image load -q "$WORK/copy-oci.tar"
    same "OCI archive" copied:3 "$(cat "$WORK/out")"
    same "digest of the copy" "$before" "$(digest_of copied:3)"
    diff <(hutch image export copied:1 | sha256sum) <(hutch image export a/one:1 | sha256sum)
}

@test "podman runs what is saved, and what it saves is loaded" {
    needs_root
    local format
    made a/one:1
    for format in oci docker; do
        hutch image save --format "$format" a/one:1 >"$WORK/$format.tar"
        podman_here load -q -i "$WORK/$format.tar"
        same "$format in podman" "root:x:0:0::/:/bin/sh" "$(podman_run docker.io/a/one:1 /bin/cat /etc/passwd | head -n 1)"
        podman_here save -q --format "$format-archive" -o "$WORK/podman-$format.tar" docker.io/a/one:1
        podman_here rmi -f docker.io/a/one:1
        rm -rf "$HUTCH_HOME/lib/images"
        call image load -q "$WORK/podman-$format.tar"
        same "$format from podman" a/one:1 "$(cat "$WORK/out")"
        diff <(hutch image export a/one:1 | tar -tvf -) <(cd "$WORK/root" && hutch image import -q . b:1 && hutch image export b:1 | tar -tvf -)
    done
}

@test "the right platform is taken out of an index, and another by --platform" {
    local arch
    make_root "$WORK/root"
    for arch in amd64 arm64; do
        echo "$arch" >"$WORK/root/etc/arch"
        call image import -q --platform "linux/$arch" "$WORK/root" "only-$arch:1"
        same "import for $arch" 0 "$status"
        hutch image save --format oci "only-$arch:1" >"$WORK/$arch.tar"
    done
    mkdir "$WORK/both"
    tar -C "$WORK/both" -xf "$WORK/amd64.tar"
    jq -c '.manifests[0]' "$WORK/both/index.json" >"$WORK/amd64.json"
    tar -C "$WORK/both" -xf "$WORK/arm64.tar"
    jq -c '.manifests[0]' "$WORK/both/index.json" >"$WORK/arm64.json"
    jq -sc '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [.[] | del(.annotations)]}' \
        "$WORK/amd64.json" "$WORK/arm64.json" | tr -d '\n' >"$WORK/inner"
    digest=$(sha256sum "$WORK/inner" | cut -d' ' -f1)
    cp "$WORK/inner" "$WORK/both/blobs/sha256/$digest"
    rm "$WORK/both/manifest.json"
    jq -nc --arg digest "sha256:$digest" --argjson size "$(stat -c %s "$WORK/inner")" '{schemaVersion: 2, manifests: [{
        mediaType: "application/vnd.oci.image.index.v1+json", digest: $digest, size: $size,
        annotations: {"org.opencontainers.image.ref.name": "both:1"}}]}' >"$WORK/both/index.json"
    chmod -R a+rX "$WORK/both"
    call image load -q "$WORK/both"
    same "exit status" 0 "$status"
    same "this machine's" amd64 "$(hutch image export both:1 | tar -xOf - ./etc/arch)"
    call image load -q --platform linux/arm64 "$WORK/both"
    same "exit status with --platform" 0 "$status"
    same "the other" arm64 "$(hutch image export both:1 | tar -xOf - ./etc/arch)"
    call image load -q --platform linux/s390x "$WORK/both"
    refused "a platform that is not there" s390x
}

@test "an image without a name is refused, or gets the one that is given" {
    "$PYTHON" "$TOP/tests/image/archive_hostile.py" "$WORK/nameless" docker-without-names
    chmod a+r "$WORK/nameless"
    call image load -q "$WORK/nameless"
    refused "no name" "without a name"
    call image load -q --name given/name:1 "$WORK/nameless"
    same "exit status" 0 "$status"
    same "name" given/name:1 "$(cat "$WORK/out")"
}

# --- no room, no time -----------------------------------------------------------------------------------------------------------

@test "without room on the disk nothing is half there" {
    needs_root
    mkdir -p "$WORK/small"
    make_root "$WORK/root"
    dd if=/dev/urandom of="$WORK/root/usr/big" bs=1M count=24 status=none
    tar -C "$WORK/root" -czf "$WORK/root.tar.gz" .
    call image import -q "$WORK/root.tar.gz" big:1
    hutch image save --format oci big:1 >"$WORK/big.tar"
    rm -rf "$HUTCH_HOME/lib/images"
    # shellcheck disable=SC2016  # for the inner shell
    (
        unshare -m --propagation private bash -c '
            mount -t tmpfs -o size=16m none "$1" && HUTCH_HOME=$1 "$2" image load -q "$3"; echo "$?" >"$4/load"
            HUTCH_HOME=$1 "$2" image load -q - <"$3"; echo "$?" >"$4/pipe"
            HUTCH_HOME=$1 "$2" image import -q "$5" x:1; echo "$?" >"$4/import"
            find "$1/lib/images/refs" "$1/lib/images/tmp" -mindepth 1 -type f >"$4/left"
            HUTCH_HOME=$1 "$2" image prune >/dev/null; echo "$?" >"$4/prune"
            find "$1/lib/images" -mindepth 2 -type f >>"$4/left"
        ' - "$WORK/small" "$HUTCH" "$WORK/big.tar" "$WORK" "$WORK/root.tar.gz" 2>"$WORK/said"
    )
    same "load" 125 "$(cat "$WORK/load")"
    same "load from standard input" 125 "$(cat "$WORK/pipe")"
    same "import" 125 "$(cat "$WORK/import")"
    same "prune" 0 "$(cat "$WORK/prune")"
    same "left" "" "$(cat "$WORK/left")"
    same "sentences" 3 "$(grep -c 'No space left' "$WORK/said")"
}

@test "killed at any moment it leaves no name, and a prune takes the rest" {
    after_kill9
    local try pid
    make_root "$WORK/root"
    dd if=/dev/urandom of="$WORK/root/usr/big" bs=1M count=30 status=none
    chmod -R a+rX "$WORK/root"
    tar -C "$WORK/root" -czf "$WORK/root.tar.gz" .
    call image import -q "$WORK/root.tar.gz" big:1
    hutch image save --format oci big:1 >"$WORK/big.tar"
    chmod a+r "$WORK"/*.tar*
    rm -rf "$HUTCH_HOME/lib/images"
    for try in $(seq 1 20); do
        (become "$HUTCH" image load -q "$WORK/big.tar" >/dev/null 2>&1) &
        pid=$!
        sleep "0.0$((RANDOM % 90 + 10))"
        kill -9 "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
        [ -z "$(refs)" ] || { hutch image export big:1 | tar -tf - >/dev/null && hutch image rm big:1 >/dev/null; }
        hutch image prune >/dev/null
        same "left after try $try" "" "$(cd "$HUTCH_HOME/lib/images" && find tmp partial blobs layers images -mindepth 1)"
    done
    call image load -q "$WORK/big.tar"
    same "the next one" 0 "$status"
}
