#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A daemon that has worked for long is as it was at first.

load ../lib
load serve

# bats test_tags=memory
@test "create, exec and delete over and over: no failure, and memory, descriptors and threads stay what they were" {
    python3 "$TOP/tests/server/soak.py" cycles "$(long_or 200 20000)" >&2
}

# bats test_tags=memory
@test "files of any size go in and out, byte by byte the same, through 16 MiB at the most" {
    python3 "$TOP/tests/server/soak.py" files "$(long_or $((64 << 20)) $((4 << 30)))" >&2
}
