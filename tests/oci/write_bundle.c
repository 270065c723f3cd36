/* SPDX-License-Identifier: Apache-2.0 */
/* write_bundle [kernel] [network] [unlimited] [closed]: config.json of a bundle as hutch writes it,
 * for check_bundle.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "backend/oci/bundle.h"
#include "core/spec.h"

static bool has_word(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], word))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    struct hutch_limits limits = {.memory_bytes = 512u << 20, .cpus_milli = 1500, .pids = 258};
    struct init_rlimit rlimits[INIT_RLIMITS];
    char *covered[] = {"/proc/keys", "/proc/acpi", NULL};
    struct hutch_strlist list = {covered, 2, 2};
    struct hutch_buf text = HUTCH_BUF(1u << 20);
    bool is_limited = !has_word(argc, argv, "unlimited");
    for (size_t i = 0; i < INIT_RLIMITS; i++)
        rlimits[i] = (struct init_rlimit){1000 + i, RLIM_INFINITY};
    const struct bundle bundle = {
        .id = "0123456789abcdef",
        .name = "a \"name\"",
        .hostname = "hutch",
        .home = "/home/user",
        .rootfs = "/mnt/rootfs",
        .cgroups_path = "hutch-0123456789abcdef",
        .network = has_word(argc, argv, "network") ? "/proc/4711/ns/net" : "",
        .uid = 1000,
        .gid = 1001,
        .first_host_uid = 0x70010000,
        .first_host_gid = 0x70010000,
        .limits = &limits,
        .enforced = is_limited ? HUTCH_PROMISE_BIT(MEMORY) | HUTCH_PROMISE_BIT(CPUS) |
                                     HUTCH_PROMISE_BIT(PIDS)
                               : 0,
        .rlimits = rlimits,
        .covered = &list,
        .is_kernel = has_word(argc, argv, "kernel"),
        .read_only = has_word(argc, argv, "closed"),
    };
    bundle_write(&text, &bundle);
    if (text.failed || fwrite(text.data, 1, text.length, stdout) != text.length)
        return 1;
    hutch_buf_done(&text);
    return fflush(stdout) == 0 ? 0 : 1;
}
