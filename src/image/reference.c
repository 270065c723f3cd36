/* SPDX-License-Identifier: Apache-2.0 */
#include "image/reference.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_REGISTRY "docker.io"
#define DEFAULT_FOLDER "library/"
#define DEFAULT_TAG "latest"
/* What clients and registries agree on for registry and repository together. */
#define NAME_MAX_BYTES 255
#define TAG_MAX_BYTES 128
#define LARGEST_PORT 65535

static bool is_lower_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_word(char c)
{
    return is_lower_alphanumeric(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The bytes of one separator inside a component: one of ".", "_", "__", or any number of "-". */
static size_t separator_length(const char *text)
{
    if (*text == '.')
        return 1;
    if (*text == '_')
        return text[1] == '_' ? 2 : 1;
    return strspn(text, "-");
}

/* The bytes of one component of a repository, 0 when it is none: letters and digits with single
 * separators between them. */
static size_t component_length(const char *text)
{
    size_t length = 0;
    for (;;) {
        size_t start = length;
        while (is_lower_alphanumeric(text[length]))
            length++;
        if (length == start)
            return 0;
        size_t separator = separator_length(text + length);
        if (!separator)
            return length;
        length += separator;
    }
}

static const char *repository_problem(const char *repository)
{
    for (const char *at = repository;;) {
        size_t length = component_length(at);
        if (!length || (at[length] && at[length] != '/'))
            return "a repository has parts of a-z 0-9 with single '.', '_', '__' or '-' inside";
        if (!at[length])
            return NULL;
        at += length + 1;
    }
}

static bool is_port(const char *text)
{
    size_t length = strspn(text, "0123456789");
    if (!length || length > 5 || text[length])
        return false;
    long port = strtol(text, NULL, 10);
    return port > 0 && port <= LARGEST_PORT;
}

/* The bytes of a name of labels with "." between them, 0 when it is none. An address of IPv4 looks
 * the same. */
static size_t host_length(const char *text)
{
    size_t length = 0;
    for (;;) {
        size_t start = length;
        while (is_lower_alphanumeric(text[length]) || text[length] == '-')
            length++;
        if (length == start || text[start] == '-' || text[length - 1] == '-')
            return 0;
        if (text[length] != '.')
            return length;
        length++;
    }
}

/* The bytes of "[::1]", 0 when it is no such address. */
static size_t bracketed_length(const char *text)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr parsed;
    size_t length = strspn(text + 1, "0123456789abcdef:.");
    if (text[length + 1] != ']' || length >= sizeof(address))
        return 0;
    memcpy(address, text + 1, length);
    address[length] = '\0';
    return inet_pton(AF_INET6, address, &parsed) == 1 ? length + 2 : 0;
}

static const char *registry_problem(const char *registry)
{
    size_t length = registry[0] == '[' ? bracketed_length(registry) : host_length(registry);
    if (length && !registry[length])
        return NULL;
    if (length && registry[length] == ':' && is_port(registry + length + 1))
        return NULL;
    return "a registry is a host in lower case with or without a port";
}

static const char *tag_problem(const char *tag)
{
    size_t length = 0;
    while (is_word(tag[length]) || (length && (tag[length] == '.' || tag[length] == '-')))
        length++;
    if (!length || tag[length] || length > TAG_MAX_BYTES)
        return "a tag has 1 to 128 of a-z A-Z 0-9 _ . - and begins with none of the last two";
    return NULL;
}

static bool names_registry(const char *part)
{
    return strpbrk(part, ".:") || !strcmp(part, "localhost");
}

/* A bare digest without its "sha256:" is an id elsewhere, and would be a repository here. */
static bool is_bare_hex(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

/* Takes the registry off the front of the name, or puts in the one that is meant. */
static const char *split_registry(char *name, struct image_reference *reference)
{
    char *slash = strchr(name, '/');
    const char *registry = DEFAULT_REGISTRY, *repository = name;
    if (slash) {
        *slash = '\0';
        if (names_registry(name)) {
            registry = name;
            repository = slash + 1;
        } else {
            *slash = '/';
        }
    }
    if (!strcmp(registry, "index.docker.io"))
        registry = DEFAULT_REGISTRY;
    bool is_official = !strcmp(registry, DEFAULT_REGISTRY) && !strchr(repository, '/');
    const char *folder = is_official ? DEFAULT_FOLDER : "";
    if (strlen(registry) + 1 + strlen(folder) + strlen(repository) > NAME_MAX_BYTES)
        return "registry and repository have at most 255 bytes together";
    (void)snprintf(reference->registry, sizeof(reference->registry), "%s", registry);
    (void)snprintf(reference->repository, sizeof(reference->repository), "%s%s", folder,
                   repository);
    const char *problem = registry_problem(registry);
    return problem ? problem : repository_problem(reference->repository);
}

/* Takes digest and tag off the end. */
static const char *split(char *text, struct image_reference *reference)
{
    char *at = strchr(text, '@');
    if (at) {
        *at = '\0';
        if (!image_digest_is_valid(at + 1))
            return "a digest is 'sha256:' and 64 of 0-9 a-f";
        memcpy(reference->digest, at + 1, IMAGE_DIGEST_BYTES);
    }
    char *slash = strrchr(text, '/');
    char *colon = strchr(slash ? slash : text, ':');
    const char *tag = at ? "" : DEFAULT_TAG;
    if (colon) {
        *colon = '\0';
        tag = colon + 1;
        const char *problem = tag_problem(tag);
        if (problem)
            return problem;
    } else if (is_bare_hex(text)) {
        return "64 hexadecimal digits alone are an id, not a name";
    }
    (void)snprintf(reference->tag, sizeof(reference->tag), "%s", tag);
    return split_registry(text, reference);
}

int image_reference_parse(const char *text, struct image_reference *ret_reference,
                          struct hutch_error *err)
{
    struct image_reference reference = {0};
    char copy[IMAGE_REFERENCE_BYTES];
    const char *problem = "it is too long";
    if (image_digest_is_valid(text)) {
        /* as a repository with a tag it would be a name that every command takes for the digest */
        problem = "a digest alone is none";
    } else if (strlen(text) < sizeof(copy)) {
        memcpy(copy, text, strlen(text) + 1);
        problem = *text ? split(copy, &reference) : "it is empty";
    }
    if (problem)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.80s' is not the name of an image, %s; write it like "
                          "'python:3.11-slim' or 'ghcr.io/user/tool:1.0'",
                          text, problem);
    *ret_reference = reference;
    return 0;
}

void image_reference_format(const struct image_reference *reference,
                            char ret_text[IMAGE_REFERENCE_BYTES])
{
    bool by_digest = reference->digest[0] != '\0';
    (void)snprintf(ret_text, IMAGE_REFERENCE_BYTES, "%s/%s%c%s", reference->registry,
                   reference->repository, by_digest ? '@' : ':',
                   by_digest ? reference->digest : reference->tag);
}

/* What may be left out of the front without meaning something else. */
static const char *short_repository(const struct image_reference *reference)
{
    static const size_t folder_length = sizeof(DEFAULT_FOLDER) - 1;
    const char *repository = reference->repository;
    char first[sizeof(reference->repository)];
    if (strcmp(reference->registry, DEFAULT_REGISTRY) != 0)
        return NULL;
    if (!strncmp(repository, DEFAULT_FOLDER, folder_length) &&
        !strchr(repository + folder_length, '/'))
        return repository + folder_length;
    size_t length = strcspn(repository, "/");
    memcpy(first, repository, length);
    first[length] = '\0';
    return names_registry(first) ? NULL : repository;
}

void image_reference_format_short(const struct image_reference *reference,
                                  char ret_text[IMAGE_REFERENCE_BYTES])
{
    const char *without_registry = short_repository(reference);
    (void)snprintf(ret_text, IMAGE_REFERENCE_BYTES, "%s%s%s%s%s%s%s",
                   without_registry ? "" : reference->registry, without_registry ? "" : "/",
                   without_registry ? without_registry : reference->repository,
                   reference->tag[0] ? ":" : "", reference->tag, reference->digest[0] ? "@" : "",
                   reference->digest);
}
