# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2016,SC2034,SC2154
# Sandboxes that stay, where one v2 group holds the sandbox and one below it each command.

# One test from its making to its end: the world is compared at the end of each.
warm_up
hutch_command create --name first --disk 64m
hutch_command rm -f first
baseline # directories of hutch's own
test_that "create, exec, stop, start, timeout, pause, resume, update and rm"
hutch_command create --name box --disk 64m
want_status 0
hutch_command exec box -- sh -c 'echo kept >/tmp/file'
want_status 0
hutch_command stop box
want_status 0
hutch_command start box
want_status 0
hutch_command exec box -- cat /tmp/file
want_that grep -q kept /case/out

# a command that will not end is gone with its timeout, to the last process
hutch_command exec --timeout 1s box -- sh -c 'payload daemon 60000 & payload daemon 60000'
want_status 124
want_that within 10 no_process payload

hutch_command exec -d box -- sh -c 'while :; do echo x >>/tmp/ticks; sleep 0.1; done'
want_status 0
sleep 1
hutch_command pause box
want_status 0
hutch_command exec box -- true
want_status 125
want_message paused
hutch_command resume box
want_status 0
hutch_command exec box -- true
want_status 0

hutch_command update box --memory 64m
want_status 0
hutch_command exec --json box -- payload alloc 256
want reason oom

hutch_command rm -f box
want_status 0
hutch_command ls
want_not grep -q box /case/out
