# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2016,SC2034,SC2154
# A server just booted: overlayfs is a module that nobody has asked for yet, and hutch has never run. This case comes first.

# Directories of hutch's own may stay after a first run. They are shown, and there from then on.
want_only_files() {
    world_is_as_before
    sed -n 's/^+file/# hutch keeps/p' /case/.lib/changes
    want_not grep -qv '^+file' /case/.lib/changes
    baseline
}

test_that "doctor knows this host and does not take a module that is not loaded yet for missing"
want_not grep -q overlay /proc/filesystems
hutch_command doctor
want_status 0
want_that grep -qi 'cgroup.*v2' /case/out
want_not grep -qi 'overlay.*fail' /case/out

test_that "doctor --json is one JSON document"
hutch_command doctor --json
want_status 0
want_that guest json /case/out ""

test_that "the first run leaves no process, mount, cgroup or loop device"
run -- true
want_status 0
remove_units
want_only_files

test_that "the second run finds everything as the first left it"
run -- true
want_status 0

as_user alice scope
test_that "the first run of an ordinary user leaves no process, mount, cgroup or loop device"
run -- true
want_status 0
remove_units
want_only_files
