# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2016,SC2034,SC2154
# Writable layers on disk: this kernel has ext4 with project quotas, so the pool is that; the modules come on demand.
warm_up

test_that "a layer larger than the memory limit is on disk"
run --disk 96m --memory 32m -- payload write /tmp/file 80
want_status 0
want reason exited
want isolation.writable_layer disk
want_that grep -q ' /var/lib/hutch/pool ext4 .*prjquota' /proc/mounts
baseline # the pool stays mounted

test_that "it stops at its limit"
run --disk 96m --memory 32m -- payload write /tmp/file 120
want reason disk_limit
want exit_code 28

test_that "and at its number of files"
run --disk 96m --memory 32m --inodes 200 -- payload files /tmp 1000
want reason disk_limit
want exit_code 28

test_that "kill -9, then gc: the layer is gone from the pool"
run_in_background --disk 96m --memory 32m -- sh -c 'payload write /tmp/file 20; payload daemon 60000'
want_that within 100 pidof payload
sleep 1
kill -9 "$pid" 2>/dev/null
finish
want_that within 10 no_process payload
hutch_command gc
want_status 0
world_is_as_before
want_not grep '^+' /case/.lib/changes
baseline # gc takes down a pool that nobody uses

test_that "after gc the pool is made ready again"
run --disk 96m --memory 32m -- payload write /tmp/file 80
want_status 0
hutch_command gc
want_status 0

as_user alice scope
warm_up
test_that "an ordinary user has no pool: refused, with the reason"
run --disk 96m --memory 32m -- true
want_status 125
want_message disk
