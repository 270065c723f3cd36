/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "image/manifest.h"
#include "util/own.h"

/* The kernel's names, other people's names, and the one that images use. */
static const struct {
    const char *other;
    const char *architecture;
    const char *variant;
} names[] = {
    {"x86_64", "amd64", ""},        {"x86-64", "amd64", ""}, {"aarch64", "arm64", ""},
    {"armv7l", "arm", "v7"},        {"armv6l", "arm", "v6"}, {"armhf", "arm", "v7"},
    {"armel", "arm", "v6"},         {"i386", "386", ""},     {"i686", "386", ""},
    {"ppc64le", "ppc64le", ""},     {"s390x", "s390x", ""},  {"riscv64", "riscv64", ""},
    {"loongarch64", "loong64", ""},
};

static void set(char field[32], const char *text)
{
    (void)snprintf(field, 32, "%s", text);
}

static void use_common_name(struct platform *platform)
{
    for (size_t i = 0; i < HUTCH_COUNT(names); i++) {
        if (strcmp(platform->architecture, names[i].other) != 0)
            continue;
        set(platform->architecture, names[i].architecture);
        if (!platform->variant[0])
            set(platform->variant, names[i].variant);
        return;
    }
}

void platform_here(struct platform *ret_platform)
{
    struct utsname name;
    *ret_platform = (struct platform){.os = "linux"};
    if (uname(&name) == 0)
        (void)snprintf(ret_platform->architecture, sizeof(ret_platform->architecture), "%.31s",
                       name.machine);
    use_common_name(ret_platform);
}

/* Copies one part up to a slash; returns what follows, NULL when the part is no word. */
static const char *take_part(const char *text, char field[32])
{
    size_t length =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    if (!length || length > 31 || (text[length] && text[length] != '/'))
        return NULL;
    memcpy(field, text, length);
    field[length] = '\0';
    return text + length;
}

int platform_parse(const char *text, struct platform *ret_platform, struct hutch_error *err)
{
    struct platform platform = {.os = "linux"};
    bool has_os = strchr(text, '/') != NULL;
    const char *at = has_os ? take_part(text, platform.os) : text;
    if (has_os && at)
        at++;
    if (at)
        at = take_part(at, platform.architecture);
    if (at && *at)
        at = take_part(at + 1, platform.variant);
    if (!at || *at)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.80s' is not a platform, write it like 'linux/amd64' or "
                          "'linux/arm64/v8'",
                          text);
    use_common_name(&platform);
    *ret_platform = platform;
    return 0;
}
