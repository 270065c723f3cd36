#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Images that podman's service builds, by Docker's API.

load ../lib
load ../integration/words
load engines
load build

setup_file() {
    engines_setup
    podman_start
    engine_images
}
teardown_file() { engines_stop; }

setup() {
    setup_world
    use_podman
}
teardown() { engine_teardown; }

@test "podman builds an image without buildah, and a run finds it" { an_image_is_built_and_found; }
@test "the directory of podman's build can come as an archive" { a_directory_comes_as_an_archive; }
@test "an ignore file leaves out for podman what it does for buildah" { what_is_ignored_is_the_same_as_with_buildah; }
@test "a build that fails in podman is told with its line, after its log" { failures_are_told; }
@test "the log of podman's build comes line by line" { the_log_comes_line_by_line; }
@test "podman's build that is killed leaves nothing once its step has ended" { killed_it_leaves_nothing 6; }
@test "arguments of podman's build are on no command line and in no log" { arguments_are_nobodys_to_read; }
@test "a base that only hutch's store has is given to podman" { a_base_of_the_store_is_given; }
@test "named sandboxes are built by podman, when something has changed" { named_sandboxes_are_built_by_the_engine; }
