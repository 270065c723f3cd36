#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Podman's service, which speaks Docker's language.

load ../lib
load ../integration/words
load engines

setup_file() {
    engines_setup
    podman_start
    engine_images
    podman_words
    export ENGINE_LIST="${PODMAN[*]} ps --all --format '{{.Names}} {{.Status}}'"
}
teardown_file() { engines_stop; }

setup() {
    setup_world
    use_podman
}
teardown() { engine_teardown; }

@test "the contract holds on podman" {
    contract_holds docker "image=$IMAGE"
}
