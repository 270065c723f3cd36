/* SPDX-License-Identifier: Apache-2.0 */
#include "server/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "hutch/host.h"
#include "server/util.h"

#define MOST_BYTES (UINT64_C(256) << 20)
#define ANSWER_BYTES ((size_t)16 << 20)
#define GOOD_S (UINT64_C(24) * 3600)

struct entry {
    struct entry *next;
    char name[KEPT_NAME_BYTES];
    uint64_t bytes;
    uint64_t time_s;
};

struct kept {
    pthread_mutex_t lock; /* for the list: the oldest first */
    struct entry *first;
    struct entry **last;
    uint64_t count;
    uint64_t bytes;
    uint64_t most;
    int directory;
};

/* ---- the list -------------------------------------------------------------------------------- */

static void add(struct kept *kept, struct entry *entry)
{
    entry->next = NULL;
    *kept->last = entry;
    kept->last = &entry->next;
    kept->count++;
    kept->bytes += entry->bytes;
}

static void drop_first(struct kept *kept, bool is_removed)
{
    struct entry *entry = kept->first;
    kept->first = entry->next;
    if (!kept->first)
        kept->last = &kept->first;
    kept->count--;
    kept->bytes -= entry->bytes;
    if (is_removed)
        (void)unlinkat(kept->directory, entry->name, 0);
    free(entry);
}

static void trim(struct kept *kept, uint64_t now_s)
{
    while (kept->first && (kept->count > kept->most || kept->bytes > MOST_BYTES ||
                           kept->first->time_s + GOOD_S <= now_s))
        drop_first(kept, true);
}

/* ---- from before ----------------------------------------------------------------------------- */

/* False: it is none of ours, such as what a killed daemon has not finished writing. */
static bool entry_of(int directory, const char *name, struct entry *entry)
{
    struct stat info;
    if (strlen(name) != KEPT_NAME_BYTES - 1 || *name == '.' ||
        fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    *entry =
        (struct entry){.bytes = (uint64_t)info.st_size, .time_s = (uint64_t)info.st_mtim.tv_sec};
    memcpy(entry->name, name, KEPT_NAME_BYTES);
    return true;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = ((const struct entry *)a)->time_s, right = ((const struct entry *)b)->time_s;
    return left < right ? -1 : left > right;
}

/* All there are, in no order; free it with free(). */
static struct entry *read_entries(const struct kept *kept, size_t *ret_count)
{
    struct entry *found = NULL, entry;
    int again = openat(kept->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = again < 0 ? NULL : fdopendir(again);
    for (struct dirent *at = stream ? readdir(stream) : NULL; at; at = readdir(stream)) {
        if (!strcmp(at->d_name, ".") || !strcmp(at->d_name, ".."))
            continue;
        struct entry *more = entry_of(kept->directory, at->d_name, &entry)
                                 ? reallocarray(found, *ret_count + 1, sizeof(*found))
                                 : NULL;
        if (!more) {
            (void)unlinkat(kept->directory, at->d_name, 0);
            continue;
        }
        found = more;
        found[(*ret_count)++] = entry;
    }
    if (stream)
        (void)closedir(stream);
    return found;
}

static void load(struct kept *kept)
{
    size_t count = 0;
    server_autofree struct entry *found = read_entries(kept, &count);
    if (count)
        qsort(found, count, sizeof(*found), compare);
    for (size_t i = 0; i < count; i++) {
        struct entry *own = malloc(sizeof(*own));
        if (!own)
            break;
        *own = found[i];
        add(kept, own);
    }
    trim(kept, server_time_us() / 1000000);
}

int kept_open(uint64_t most, struct kept **ret_kept, struct hutch_error *err)
{
    char lib[PATH_MAX - 16], path[PATH_MAX];
    int status = hutch_state_directory("lib", lib, sizeof(lib), err);
    if (status < 0)
        return status;
    (void)snprintf(path, sizeof(path), "%s/answers", lib);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return server_fail_errno(err, "make '%.200s'", path);
    struct kept *kept = calloc(1, sizeof(*kept));
    if (!kept)
        return server_fail_nomem(err);
    kept->directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (kept->directory < 0) {
        free(kept);
        return server_fail_errno(err, "open '%.200s'", path);
    }
    (void)pthread_mutex_init(&kept->lock, NULL);
    kept->last = &kept->first;
    kept->most = most;
    load(kept);
    *ret_kept = kept;
    return 0;
}

void kept_close(struct kept *kept)
{
    if (!kept)
        return;
    while (kept->first)
        drop_first(kept, false);
    server_closep(&kept->directory);
    (void)pthread_mutex_destroy(&kept->lock);
    free(kept);
}

/* ---- one answer ------------------------------------------------------------------------------ */

void kept_name(const char *const *texts, char ret_name[KEPT_NAME_BYTES])
{
    unsigned char hash[(KEPT_NAME_BYTES - 1) / 2] = {0};
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1) {
        for (; *texts; texts++)
            (void)EVP_DigestUpdate(context, *texts, strlen(*texts) + 1);
        (void)EVP_DigestFinal_ex(context, hash, NULL);
    }
    EVP_MD_CTX_free(context);
    for (size_t i = 0; i < sizeof(hash); i++)
        (void)snprintf(ret_name + 2 * i, 3, "%02x", hash[i]);
}

/* A line with the request's sum, the status, the location and the type; then the content. */
static bool parse(char *text, size_t length, struct kept_answer *answer)
{
    char *end = memchr(text, '\n', length);
    int used = 0;
    if (!end)
        return false;
    *end = '\0';
    if (sscanf(text, "%64s %d %255s %n", answer->request, &answer->status, answer->location,
               &used) != 3 ||
        !used)
        return false;
    if (!strcmp(answer->location, "-"))
        answer->location[0] = '\0';
    answer->type = strcmp(text + used, "-") != 0 ? text + used : NULL;
    answer->content = end + 1;
    answer->content_length = length - (size_t)(end + 1 - text);
    return true;
}

bool kept_read(struct kept *kept, const char *name, struct kept_answer *ret_answer)
{
    struct stat info;
    size_t length = 0;
    if (fstatat(kept->directory, name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
        (uint64_t)info.st_mtim.tv_sec + GOOD_S <= server_time_us() / 1000000)
        return false;
    char *text = server_read_file(kept->directory, name, ANSWER_BYTES, &length);
    if (text && parse(text, length, ret_answer)) {
        ret_answer->own = text;
        return true;
    }
    free(text);
    return false;
}

void kept_answer_done(struct kept_answer *answer)
{
    free(answer->own);
}

static char *text_of(const char *request, const struct kept_answer *answer, size_t *ret_length)
{
    const char *type = answer->type ? answer->type : "-";
    const char *location = *answer->location ? answer->location : "-";
    size_t most = KEPT_NAME_BYTES + strlen(type) + strlen(location) + 20;
    char *text = malloc(most + answer->content_length);
    if (!text)
        return NULL;
    int used = snprintf(text, most, "%s %d %s %s\n", request, answer->status, location, type);
    if (answer->content_length)
        memcpy(text + used, answer->content, answer->content_length);
    *ret_length = (size_t)used + answer->content_length;
    return text;
}

static void remember(struct kept *kept, const char *name, size_t length)
{
    struct entry *entry = calloc(1, sizeof(*entry));
    if (!entry) /* then it goes when the daemon starts again */
        return;
    memcpy(entry->name, name, KEPT_NAME_BYTES);
    entry->bytes = length;
    entry->time_s = server_time_us() / 1000000;
    (void)pthread_mutex_lock(&kept->lock);
    add(kept, entry);
    trim(kept, entry->time_s);
    (void)pthread_mutex_unlock(&kept->lock);
}

void kept_write(struct kept *kept, const char *name, const char *request,
                const struct kept_answer *answer)
{
    size_t length = 0;
    server_autofree char *text = text_of(request, answer, &length);
    if (!text || length > ANSWER_BYTES ||
        server_write_file(kept->directory, name, text, length) < 0) {
        server_say("an answer could not be kept for its Idempotency-Key: %s",
                   length > ANSWER_BYTES ? "it is too long" : strerror(errno));
        return;
    }
    remember(kept, name, length);
}
