# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2016,SC2034,SC2154
# An ordinary user in a login session: nothing is delegated there.
as_user alice session
warm_up --allow-missing all

test_that "refused: the message names the limit and the remedy"
run -- true
want_status 125
want_message memory
want_explained systemd-run

test_that "--allow-missing memory and cpus: it runs and the result says so"
run --allow-missing memory --allow-missing cpus -- id -u
want_status 0
want_has isolation.missing '"memory"'
want_has isolation.missing '"cpus"'

test_that "a limit that was asked for and not allowed to be missing is refused all the same"
run --allow-missing cpus --memory 64m -- true
want_status 125
want_message memory

test_that "what is not about cgroups holds: pids, disk, inodes, time"
run --allow-missing memory --allow-missing cpus --pids 16 -- payload fork 100
want exit_code 28
run --allow-missing memory --allow-missing cpus --disk 8m -- payload write /tmp/big 32
want reason disk_limit
run --allow-missing memory --allow-missing cpus --inodes 200 -- payload files /tmp 1000
want reason disk_limit
run --allow-missing memory --allow-missing cpus --timeout 1s -- payload daemon 60000
want reason timeout
want_status 124

test_that "the payload has no way to root or to the caller's other files"
run --allow-missing memory --allow-missing cpus -- sh -c 'cat /etc/shadow; ls -A /home/alice; cat /proc/self/uid_map'
want_has stdout "         1"
want_not grep -q 'root:\*' /case/out

test_that "no user namespaces for ordinary users: refused, and the message names the switch"
sysctl -q -w kernel.unprivileged_userns_clone=0
run --allow-missing all -- true
want_status 125
want_explained kernel.unprivileged_userns_clone
sysctl -q -w kernel.unprivileged_userns_clone=1

test_that "no user namespaces left: refused, and the message names the switch"
most=$(sysctl -n user.max_user_namespaces)
sysctl -q -w user.max_user_namespaces=0
run --allow-missing all -- true
want_status 125
want_explained user.max_user_namespaces
sysctl -q -w "user.max_user_namespaces=$most"

test_that "no XDG_RUNTIME_DIR"
user_env="${user_env% XDG_RUNTIME_DIR=*}"
run --allow-missing memory --allow-missing cpus -- true
want_status 0
want reason exited
