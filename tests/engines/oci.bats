#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# OCI runtimes: runc, gVisor's runsc, crun.

load ../lib
load ../integration/words
load engines

setup_file() { engines_setup; }
teardown_file() { engines_stop; }

@test "the contract holds on runc" {
    contract_holds oci runtime=runc
}

@test "the contract holds on runsc (gVisor)" {
    contract_holds oci runtime=runsc
}

# crun before 1.9 refuses hosts on which both kinds of cgroups have controllers: then its words reach the user.
@test "the contract holds on crun, or crun's refusal reaches the user" {
    result --backend oci --runtime crun -- true
    if [ "$status" -eq 0 ]; then
        contract_holds oci runtime=crun
    else
        fails_with crun cgroup
    fi
}

@test "an image of hutch's own store runs on every runtime" {
    local runtime
    hutch image import --quiet "$(busybox_tar)" hutch-test/busybox
    for runtime in runc runsc; do
        plain --backend oci --runtime $runtime --image hutch-test/busybox -- sh -c 'id -u; ls -d /bin/busybox; exit 3'
        same "exit status on $runtime" 3 "$status"
        same "output on $runtime" "1000 /bin/busybox" "$(xargs <"$WORK/out")"
    done
    rm -rf "$HUTCH_HOME/lib/images"
}

@test "--isolation gvisor is another kernel, and the result says so" {
    result --isolation gvisor -- dmesg
    result --isolation gvisor -- cat /proc/version
    same "exit status" 0 "$status"
    same level gvisor "$(field .isolation.level)"
    same backend oci "$(field .isolation.backend)"
    [ "$(field .stdout)" != "$(cat /proc/version)" ]
}

@test "a runtime that is not there, or that nobody knows" {
    status=0
    # shellcheck disable=SC2016 # for the inner shell
    unshare -m sh -c 'mount --bind /dev/null "$(command -v runsc)" && exec "$@"' - \
        "$HUTCH" run --backend oci --runtime runsc -- true >"$WORK/out" 2>"$WORK/said" || status=$?
    fails_with runsc "apt-get install runsc"
    plain --backend oci --runtime nonsense -- true
    fails_with nonsense
}
