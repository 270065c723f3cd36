# SPDX-License-Identifier: Apache-2.0
# Secrets of a test: their providers, and the sweep for a value. Loaded after words.bash.
#
# shellcheck shell=bash

# A value that nothing else has.
canary() { echo "canary-$BATS_TEST_NUMBER-$$-$RANDOM$RANDOM"; }

# The document of providers, which is the caller's and nobody else's.
providers() { # JSON
    VAULT=$(user_dir vault)
    chmod 700 "$VAULT"
    printf '%s' "$1" | sed "s|VAULT|$VAULT|g" >"$VAULT/secrets.json"
    own "$VAULT/secrets.json" 600
    export HUTCH_SECRETS=$VAULT/secrets.json
}

own() { # FILE MODE
    chmod "$2" "$1"
    [ "$HUTCH_TEST_AS" = root ] || chown -h "$TEST_UID:$TEST_UID" "$1"
}

plant() { # NAME VALUE [MODE]
    printf '%s' "$2" >"$VAULT/$1"
    own "$VAULT/$1" "${3:-600}"
}

# Where a value must not be: arguments and variables of every process, and all that hutch keeps; what is in the quota pool's file is
# looked at where that is mounted.
nowhere() { # VALUE
    # a pattern that is no argument and no variable of its own search
    local pattern=$WORK/pattern found
    printf '%s\n' "$1" >"$pattern"
    found=$(
        grep -lsaFf "$pattern" /proc/[0-9]*/cmdline
        grep -rlaFf "$pattern" --exclude='pool.*' "$HUTCH_HOME" 2>/dev/null
        for environ in /proc/[0-9]*/environ; do
            case $(tr '\0' ' ' 2>/dev/null <"${environ%environ}cmdline") in
            hutch* | */hutch*) grep -lsaFf "$pattern" "$environ" ;;
            esac
        done
        true
    )
    [ -z "$found" ] && return 0
    printf 'the value is in:\n%s\n' "$found" >&2
    return 1
}

lacks() { # VALUE FILE...
    local value=$1
    shift
    not grep -aqF -- "$value" "$@"
}
