# SPDX-License-Identifier: Apache-2.0
# Images for tests of running them, written straight into the store: see store_image.py. Loaded after ../lib.bash,
# ../integration/words.bash and ../sandbox/words.bash.
#
# shellcheck shell=bash

# What the image is stands on standard input. Its digest is printed.
image() { # REFERENCE
    local owner=()
    [ "$HUTCH_TEST_AS" = root ] || owner=("$TEST_UID")
    "$PYTHON" "$TOP/tests/image/store_image.py" "$HUTCH_HOME" "$1" "${owner[@]}"
    world_snapshot # it is there before hutch is
}

# Busybox, root, bob and the group staff; Cmd is sh -c 'echo default'.
base_image() { # [REFERENCE [CONFIG...]]
    image "${1:-base}" <<EOF
layer(busybox())
layer({"etc/passwd": "root:x:0:0::/root:/bin/sh\nbob:x:1234:1235::/home/bob:/bin/sh\nold:x:1000:1001::/home/old:/bin/sh\n",
       "etc/group": "root:x:0:\nstaff:x:77:\n", "etc/motd": "hello\n", "dir/a": "a", "dir/b": "b"})
config(cmd=["sh", "-c", "echo default"], env=["PATH=/bin", "MODE=image"])
${2:-}
EOF
}

# Everything in the layers, with what a run could change about it.
layers_state() { (cd "$HUTCH_HOME/lib/images/layers" && find . -printf '%p %y %m %U %G %s %T@ %l\n' | sort); }
