# SPDX-License-Identifier: Apache-2.0
# What the tests of registries say often. Loaded after registry.bash.
#
# shellcheck shell=bash
# shellcheck disable=SC2034

: "${REGISTRYTOOL:=$TOP/build/tests/image/registrytool}"

# As the test's user; $status, $WORK/out, $WORK/said.
tool() { # VERB WORD...
    status=0
    if [ "$HUTCH_TEST_AS" = root ]; then
        "$REGISTRYTOOL" "$@" >"$WORK/out" 2>"$WORK/said" 3>&- || status=$?
    else
        as_user "$REGISTRYTOOL" "$@" >"$WORK/out" 2>"$WORK/said" 3>&- || status=$?
    fi
}

works() { # VERB WORD...
    tool "$@"
    [ "$status" -eq 0 ] && return 0
    echo "failed: $*" >&2
    cat "$WORK/said" >&2
    return 1
}

fails() { # PATTERN VERB WORD...
    local pattern=$1
    shift
    tool "$@"
    if [ "$status" -ne 1 ] || ! grep -qE -- "$pattern" "$WORK/said" || [ "$(wc -l <"$WORK/said")" -ne 1 ]; then
        printf 'expected a failure like «%s» of: %s\nstatus %s\n' "$pattern" "$*" "$status" >&2
        cat "$WORK/out" "$WORK/said" >&2
        return 1
    fi
}

# All blobs of a layout, byte for byte.
has_fetched() { # LAYOUT DIRECTORY
    local digest
    for digest in $(jq -r '.config.digest, .layers[].digest' "$1/blobs/sha256/$(manifest_digest_of "$1" | cut -d: -f2)"); do
        cmp "$1/blobs/sha256/${digest#sha256:}" "$2/${digest#sha256:}"
    done
}

configure() { # YAML
    printf '%s\n' "$1" >"$(user_dir config/hutch)/registries.yml"
}

log_in() { # REGISTRY [USER PASSWORD]: straight into the file
    local auth
    auth=$(printf '%s:%s' "${2:-$USER_NAME}" "${3:-$USER_PASSWORD}" | base64 -w 0)
    printf '{"auths": {"%s": {"auth": "%s"}}}\n' "$1" "$auth" >"$DOCKER_CONFIG/config.json"
    chmod 644 "$DOCKER_CONFIG/config.json"
}

# Of a request's log: the names of all headers, and whether any line is like a pattern.
header_names() { jq -r '.headers | keys[] | ascii_downcase'; }
nothing_like() { # PATTERN < TEXT
    if grep -iE -- "$1" >&2; then return 1; fi
}
