# SPDX-License-Identifier: Apache-2.0
# Real registries for the tests: Debian's docker-registry on a free port of loopback, filled by skopeo. Loaded after ../lib.bash.
#
#     registry_start NAME [plain|basic|token|tls]    REGISTRY is 127.0.0.1:PORT; everything below $WORK/registry-NAME
#     busybox_image                                  prints the path of an OCI layout with busybox, made once a run of the tests
#     registry_fill LAYOUT REPOSITORY[:TAG]          puts it into the registry started last
#     hostile_start LAYOUT                           HOSTILE and ELSEWHERE are 127.0.0.1:PORT; see hostile_registry.py
#     hostile_heard ELSEWHERE|HOSTILE                what it was asked, a JSON object a line
#
# All that was started ends with the test. USER_NAME and USER_PASSWORD open whatever asks for a login.
#
# shellcheck shell=bash
# shellcheck disable=SC2034  # the tests read them

IMAGE_TESTS=$TOP/tests/image
IMAGE_PYTHON=/usr/bin/python3
USER_NAME=somebody
USER_PASSWORD='s3cret & wörd:/?'
REGISTRY_PIDS=()
SKOPEO_TO=()

setup() {
    setup_world
    setup_registries
}

teardown() {
    registry_stop
    teardown_world
}

# Nothing of the machine's own configuration counts in a test.
setup_registries() {
    DOCKER_CONFIG=$(user_dir docker)
    XDG_CONFIG_HOME=$(user_dir config)
    export DOCKER_CONFIG XDG_CONFIG_HOME
    unset HUTCH_REGISTRIES http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
}

registry_stop() {
    local pid
    for pid in "${REGISTRY_PIDS[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${REGISTRY_PIDS[@]}"; do wait "$pid" 2>/dev/null || true; done
    REGISTRY_PIDS=()
}

# Waits until a command succeeds.
registry_await() { # WHAT COMMAND...
    local what=$1 try
    shift
    for ((try = 0; try < 200; try++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.05
    done
    echo "waited in vain for $what" >&2
    return 1
}

# A key and a certificate for it: a CA's own, or one for 127.0.0.1 and localhost that the CA has signed.
make_ca() { # DIRECTORY
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=hutch-tests-ca -keyout "$1/ca.key" -out "$1/ca.pem" 2>/dev/null
}

make_certificate() { # DIRECTORY
    openssl req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout "$1/server.key" -out "$1/server.csr" 2>/dev/null
    printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\n' >"$1/server.ext"
    openssl x509 -req -days 2 -in "$1/server.csr" -CA "$1/ca.pem" -CAkey "$1/ca.key" -CAcreateserial -extfile "$1/server.ext" \
        -out "$1/server.pem" 2>/dev/null
}

registry_auth_plain() { :; }

registry_auth_tls() { # DIRECTORY
    make_ca "$1"
    make_certificate "$1"
    printf '  tls:\n    certificate: %s\n    key: %s\n' "$1/server.pem" "$1/server.key"
}

registry_auth_basic() { # DIRECTORY
    htpasswd -Bbn -C 4 "$USER_NAME" "$USER_PASSWORD" >"$1/htpasswd"
    printf 'auth:\n  htpasswd:\n    realm: hutch-tests\n    path: %s\n' "$1/htpasswd"
}

registry_auth_token() { # DIRECTORY
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=hutch-tests-token -keyout "$1/key.pem" -out "$1/certificate.pem" 2>/dev/null
    printf '%s:%s\n' "$USER_NAME" "$USER_PASSWORD" >"$1/users"
    "$IMAGE_PYTHON" "$IMAGE_TESTS/token_service.py" "$1" >"$1/token.out" 2>&1 3>&- &
    echo $! >"$1/token.pid"
    registry_await "the token service" test -s "$1/port" >&2 || return 1
    printf 'auth:\n  token:\n    realm: http://127.0.0.1:%s/token\n    service: hutch-tests\n    issuer: hutch-tests\n    rootcertbundle: %s\n' \
        "$(cat "$1/port")" "$1/certificate.pem"
}

registry_start() { # NAME [plain|basic|token|tls]
    local dir=$WORK/registry-$1 kind=${2:-plain} tail
    mkdir -p "$dir/storage"
    tail=$(registry_auth_"$kind" "$dir") || return 1
    [ ! -f "$dir/token.pid" ] || REGISTRY_PIDS+=("$(cat "$dir/token.pid")")
    cat >"$dir/config.yml" <<END
version: 0.1
log:
  level: info
storage:
  filesystem:
    rootdirectory: $dir/storage
  delete:
    enabled: true
http:
  addr: 127.0.0.1:0
$tail
END
    docker-registry serve "$dir/config.yml" >"$dir/log" 2>&1 3>&- &
    REGISTRY_PIDS+=($!)
    registry_await "docker-registry" grep -q 'listening on' "$dir/log" || { cat "$dir/log" >&2 && return 1; }
    REGISTRY=127.0.0.1:$(sed -n 's/.*listening on [^"]*:\([0-9]*\).*/\1/p' "$dir/log" | head -n 1)
    REGISTRY_DIR=$dir
    SKOPEO_TO=(--dest-tls-verify=false)
    case $kind in basic | token) SKOPEO_TO+=(--dest-creds "$USER_NAME:$USER_PASSWORD") ;; esac
}

registry_fill() { # LAYOUT REPOSITORY[:TAG]
    skopeo --insecure-policy copy -q --preserve-digests "${SKOPEO_TO[@]}" "oci:$1" "docker://$REGISTRY/$2"
}

# A layout is made once a run of the tests; the name says which.
cached_image() { # NAME COMMAND...: the command gets the path to make as its last word
    local dir=$BATS_RUN_TMPDIR/images name=$1
    shift
    mkdir -p "$dir"
    (
        flock 9
        [ -d "$dir/$name" ] || { rm -rf "$dir/.new" && "$@" "$dir/.new" && mv "$dir/.new" "$dir/$name"; }
    ) 9>"$dir/.lock" >&2 || return 1
    echo "$dir/$name"
}

make_busybox() { # OUT
    local tree=$1.tree name
    mkdir -p "$tree"/{bin,etc,tmp,home/user}
    cp /bin/busybox "$tree/bin/busybox"
    for name in sh cat ls id env pwd true false echo stat sleep; do ln -s busybox "$tree/bin/$name"; done
    printf 'root:x:0:0:root:/root:/bin/sh\nuser:x:1234:1234::/home/user:/bin/sh\n' >"$tree/etc/passwd"
    printf 'root:x:0:\nuser:x:1234:\n' >"$tree/etc/group"
    chmod 1777 "$tree/tmp"
    "$IMAGE_PYTHON" "$IMAGE_TESTS/make_image.py" "$1" --layer "$tree" --config '{"Env": ["PATH=/bin", "FROM_IMAGE=yes"], "Cmd": ["sh"]}'
    rm -rf "$tree"
}

busybox_image() { cached_image busybox make_busybox; }

# Two layers of bytes that do not compress, 3 and 1 MiB: enough to be cut in the middle.
make_noise() { # OUT
    local tree=$1.tree
    mkdir -p "$tree/1" "$tree/2"
    openssl enc -aes-128-ctr -K 00 -iv 00 -in /dev/zero 2>/dev/null | head -c 3145728 >"$tree/1/three" || true
    openssl enc -aes-128-ctr -K 01 -iv 00 -in /dev/zero 2>/dev/null | head -c 1048576 >"$tree/2/one" || true
    touch -d @0 "$tree"/*/*
    "$IMAGE_PYTHON" "$IMAGE_TESTS/make_image.py" "$1" --layer "$tree/1" --layer "$tree/2" --config '{"Cmd": ["/bin/true"]}'
    rm -rf "$tree"
}

noise_image() { cached_image noise make_noise; }

manifest_digest_of() { jq -r '.manifests[0].digest' "$1/index.json"; } # LAYOUT

hostile_start() { # LAYOUT [--tls]
    local dir=$WORK/hostile
    mkdir -p "$dir"
    HOSTILE_DIR=$dir
    [ "${2:-}" != --tls ] || { make_ca "$dir" && make_certificate "$dir"; }
    "$IMAGE_PYTHON" "$IMAGE_TESTS/hostile_registry.py" "$1" "$dir" "${@:2}" >"$dir/out" 2>&1 3>&- &
    REGISTRY_PIDS+=($!)
    registry_await "the hostile registry" test -s "$dir/ports" || { cat "$dir/out" >&2 && return 1; }
    read -r HOSTILE ELSEWHERE <"$dir/ports"
}

hostile_heard() { cat "$HOSTILE_DIR/$1.log" 2>/dev/null || true; } # HOSTILE|ELSEWHERE
