# SPDX-License-Identifier: Apache-2.0
# What the tests of pulls say often. Loaded after registry.bash and ../integration/words.bash.
#
# shellcheck shell=bash
# shellcheck disable=SC2034  # the tests read them

# As the test's user; $status, $WORK/out, $WORK/said.
pull() { # FLAG... REFERENCE
    status=0
    hutch image pull "$@" >"$WORK/out" 2>"$WORK/said" || status=$?
}

works() {
    same "exit status" 0 "$status"
}

# The store goes at the end of a test: it is what pulls are for, not what they leave behind.
forget_images() {
    [ -z "${HUTCH_HOME:-}" ] || rm -rf "$HUTCH_HOME/lib/images"
}

tree() { # NAME: a directory with a file that no other tree has
    mkdir -p "$WORK/$1/$1"
    echo "$1" >"$WORK/$1/$1/name"
}

make_image() { # NAME FLAG...: $WORK/NAME is its layout
    local name=$1
    shift
    "$IMAGE_PYTHON" "$IMAGE_TESTS/make_image.py" "$WORK/$name" "$@"
}

# The same image with another configuration, and a manifest that names it.
skew_image() { # NAME JQ-FILTER NEW
    local blobs=$WORK/$3/blobs/sha256 manifest config new
    cp -r "$WORK/$1" "$WORK/$3"
    manifest=$(manifest_digest_of "$WORK/$1") && manifest=${manifest#sha256:}
    config=$(jq -r .config.digest "$blobs/$manifest")
    jq -c "$2" "$blobs/${config#sha256:}" >"$WORK/config.new"
    new=$(sha256sum <"$WORK/config.new" | cut -d' ' -f1)
    mv "$WORK/config.new" "$blobs/$new"
    jq -c ".config.digest = \"sha256:$new\" | .config.size = $(stat -c %s "$blobs/$new")" "$blobs/$manifest" >"$WORK/manifest.new"
    new=$(sha256sum <"$WORK/manifest.new" | cut -d' ' -f1)
    mv "$WORK/manifest.new" "$blobs/$new"
    jq -c ".manifests[0].digest = \"sha256:$new\" | .manifests[0].size = $(stat -c %s "$blobs/$new")" "$WORK/$1/index.json" >"$WORK/$3/index.json"
}

# An index over images that are in the repository already.
put_index() { # REPOSITORY TAG LAYOUT...
    local repository=$1 tag=$2 layout entries=() config
    shift 2
    for layout in "$@"; do
        config=$(jq -r .config.digest "$layout/blobs/sha256/$(manifest_digest_of "$layout" | cut -d: -f2)")
        entries+=("$(jq -c --slurpfile config "$layout/blobs/sha256/${config#sha256:}" \
            '.manifests[0] + {platform: ($config[0] | {os, architecture} + (if .variant then {variant} else {} end))}' "$layout/index.json")")
    done
    printf '%s\n' "${entries[@]}" |
        jq -cs '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: .}' >"$WORK/index.new"
    curl -fsS -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary "@$WORK/index.new" \
        "http://$REGISTRY/v2/$repository/manifests/$tag"
}

# --- looking ----------------------------------------------------------------------------------------------------------------

# How many blobs the registry started last has sent.
blobs_fetched() { grep -cE '"GET /v2/[^ ]*/blobs/sha256:[0-9a-f]+ HTTP/1.1" 20[06]' "$REGISTRY_DIR/log"; }

record_of() { # REFERENCE
    local digest
    digest=$(hutch image inspect "$1" | jq -r .digest)
    cat "$HUTCH_HOME/lib/images/images/${digest#sha256:}"
}

# The directory of an unpacked layer; 0 is the topmost.
layer_of() { # REFERENCE INDEX
    echo "$HUTCH_HOME/lib/images/layers/$(record_of "$1" | jq -r ".layers[$2]")"
}

# Nothing is half-made in the store.
nothing_under_way() {
    local left
    left=$(find "$HUTCH_HOME/lib/images/tmp" "$HUTCH_HOME/lib/images/partial" -mindepth 1)
    [ -z "$left" ] && return 0
    printf 'under way:\n%s\n' "$left" >&2
    return 1
}

# Every blob is what its name says.
blobs_are_whole() {
    local damaged
    damaged=$(cd "$HUTCH_HOME/lib/images/blobs" && find . -type f -exec sha256sum {} + | awk '$2 != "./" $1')
    [ -z "$damaged" ] && return 0
    printf 'damaged:\n%s\n' "$damaged" >&2
    return 1
}

has_partial() { # BYTES: is one at least that long?
    [ -n "$(find "$HUTCH_HOME/lib/images/partial" -type f -size +"$1"c 2>/dev/null)" ]
}
