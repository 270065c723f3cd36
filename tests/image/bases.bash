# SPDX-License-Identifier: Apache-2.0
# Bases to build on, for tests without the public registries: a Debian from the machine's own archive, and the host's Node.js on top.
# Loaded after ../lib.bash, ../integration/words.bash and registry.bash.
#
#     hub_start                a registry on loopback that stands in for Docker Hub
#     debian_base, node_base   print the path of an OCI layout, made once and kept in build/test-bases
#
# Everything a build may leave is checked at the end of each test, and then the store is removed.
#
# shellcheck shell=bash

BASES=$TOP/build/test-bases

setup() {
    setup_world
    setup_registries
}

teardown() {
    local status=0
    registry_stop
    nothing_half_made || status=1
    rm -rf "$HUTCH_HOME/lib/images"
    teardown_world || status=1
    return $status
}

# What belongs to a build that goes on is not there any more, and neither is work under way in the store.
nothing_half_made() {
    local images=$HUTCH_HOME/lib/images left
    [ -d "$images" ] || return 0
    left=$(cd "$images" && find build/run build/tmp build/out build/unclean tmp/* partial/* -maxdepth 0 2>/dev/null)
    [ -z "$left" ] && return 0
    printf 'half made: %s\n' "$left" >&2
    return 1
}

# Made under a lock and renamed, for suites may run at the same time.
kept_base() { # NAME COMMAND...: the command gets the path to make as its last word
    local name=$1
    shift
    mkdir -p "$BASES"
    (
        flock 9
        [ -d "$BASES/$name" ] || { rm -rf "$BASES/.new"* && "$@" "$BASES/.new" && mv "$BASES/.new" "$BASES/$name"; }
    ) 9>"$BASES/.lock" >&2 3>&- || return 1
    echo "$BASES/$name"
}

base_layout() { # OUT LAYER...
    local out=$1 layer layers=()
    shift
    for layer; do layers+=(--layer "$layer"); done
    "$IMAGE_PYTHON" "$IMAGE_TESTS/make_image.py" "$out" "${layers[@]}" --compress none --config '{"Env":
        ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], "Cmd": ["bash"]}'
}

# What the shipped sandboxes install is there already: their builds ask the archive for every one of these names, and unpack none.
BASE_PACKAGES=ca-certificates,curl,file,git,htop,jq,less,make,nano,procps,python-is-python3,python3-minimal,python3-pip,python3-pytest
BASE_PACKAGES+=,python3-pytest-cov,python3-pytest-mock,python3-venv

# A file that all bases share as their lowest layer.
make_debian_tar() { # OUT
    # what builds on it install takes half the time without waiting for the disk
    mkdir "$1" && "$IMAGE_TESTS/bootstrap" "$1/tar" --include="$BASE_PACKAGES" --dpkgopt=force-unsafe-io \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*'
}

debian_tar() { echo "$(kept_base debian-tar make_debian_tar)/tar"; }

make_debian() { base_layout "$2" "$1"; } # TAR OUT
debian_base() { kept_base debian make_debian "$(debian_tar)"; }

# The host's program where the public image has its own.
make_node() { # TAR OUT
    local tree=$2.tree npm status=0
    npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
    mkdir -p "$tree/usr/local/bin" "$tree/usr/local/lib/node_modules"
    cp "$(readlink -f "$(command -v node)")" "$tree/usr/local/bin/node"
    cp -r "$npm" "$tree/usr/local/lib/node_modules/npm"
    ln -s ../lib/node_modules/npm/bin/npm-cli.js "$tree/usr/local/bin/npm"
    ln -s ../lib/node_modules/npm/bin/npx-cli.js "$tree/usr/local/bin/npx"
    base_layout "$2" "$1" "$tree" || status=1
    rm -rf "$tree"
    return $status
}

node_base() { kept_base node make_node "$(debian_tar)"; }

# In the place of Docker Hub, and also by its own name.
hub_start() {
    registry_start hub
    export HUTCH_REGISTRIES=$WORK/registries.yml
    printf 'docker.io:\n  mirrors: [http://%s]\n%s:\n  insecure: true\n' "$REGISTRY" "$REGISTRY" >"$HUTCH_REGISTRIES"
    registry_fill "$(busybox_image)" library/busybox:latest
}
