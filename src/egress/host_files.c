/* SPDX-License-Identifier: Apache-2.0 */
/* The host's /etc/hosts and /etc/resolv.conf, read anew each time: they are small and may change.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "egress/resolver.h"

#define FILE_BYTES 65536 /* what is beyond is not read */
#define BLANKS " \t\r"

/* The next word of a line, which ends where a comment begins. */
static char *next_word(char **line)
{
    char *word = *line + strspn(*line, BLANKS);
    if (!*word || *word == '#' || *word == ';')
        return NULL;
    size_t length = strcspn(word, BLANKS "#;");
    bool is_last = word[length] == '#' || word[length] == ';';
    *line = word + length + (word[length] && !is_last);
    word[length] = '\0';
    if (is_last)
        **line = '\0';
    return word;
}

typedef bool (*line_fn)(char *line, void *context);

/* Until on_line returns false. */
static void each_line(const char *path, line_fn on_line, void *context)
{
    char text[FILE_BYTES];
    hutch_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t got = 0;
    while (fd >= 0 && length < sizeof(text) - 1 &&
           (got = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n');
        if (!end && length == sizeof(text) - 1)
            return; /* cut off: who knows what it says */
        if (end)
            *end = '\0';
        if (!on_line(line, context))
            return;
        line = end ? end + 1 : line + strlen(line);
    }
}

struct hosts_search {
    const char *name;
    struct address *addresses;
    size_t max;
    size_t count;
};

static bool look_at_host(char *line, void *context)
{
    struct hosts_search *search = context;
    struct address address;
    char *word = next_word(&line);
    if (!word || !address_parse(word, &address))
        return true;
    while ((word = next_word(&line))) {
        char name[EGRESS_NAME_BYTES];
        if (egress_name(word, strlen(word), name) && !strcmp(name, search->name)) {
            search->addresses[search->count++] = address;
            break;
        }
    }
    return search->count < search->max;
}

size_t host_file_addresses(const char *name, struct address *ret_addresses, size_t max)
{
    struct hosts_search search = {name, ret_addresses, max, 0};
    each_line("/etc/hosts", look_at_host, &search);
    return search.count;
}

struct server_list {
    struct address *servers;
    size_t count;
};

static bool look_at_server(char *line, void *context)
{
    struct server_list *list = context;
    char *word = next_word(&line);
    if (word && !strcmp(word, "nameserver") && (word = next_word(&line)) &&
        address_parse(word, &list->servers[list->count]))
        list->count++;
    return list->count < RESOLVER_MAX_SERVERS;
}

/* As the C libraries have it: without one it is the host itself. */
size_t host_file_servers(struct address ret_servers[RESOLVER_MAX_SERVERS])
{
    struct server_list list = {ret_servers, 0};
    each_line("/etc/resolv.conf", look_at_server, &list);
    if (!list.count)
        list.count = address_parse("127.0.0.1", &ret_servers[0]);
    return list.count;
}
