/* SPDX-License-Identifier: Apache-2.0 */
/* One event as a line: {"seq":N,"time":"...",BODY,"hash":"..."}. The hash is that of the hash
 * before, followed by everything up to its own comma. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/audit_files.h"
#include "util/own.h"

#define HASH_KEY ",\"hash\":\""
#define SEQ_KEY "{\"seq\":"
/* And the quote and brace at the end. */
#define BEHIND_LENGTH (sizeof(HASH_KEY) - 1 + SHA256_HEX_BYTES - 1 + 2)

static void put_who(struct hutch_json_out *out, const struct audit_who *who)
{
    hutch_json_open(out, "who", '{');
    hutch_json_uint(out, "uid", who->uid);
    if (who->login != AUDIT_NO_LOGIN)
        hutch_json_uint(out, "login", who->login);
    hutch_json_int(out, "pid", who->pid);
    hutch_json_string(out, "program", who->program);
    hutch_json_close(out, '}');
}

int audit_line_body(struct hutch_buf *body, const struct audit_event *event,
                    const struct audit_who *self, struct hutch_error *err)
{
    struct hutch_json_out out = {body, false};
    hutch_json_string(&out, "kind", event->kind);
    put_who(&out, event->who ? event->who : self);
    if (event->fields)
        event->fields(&out, event->userdata);
    if (!body->failed)
        return 0;
    return body->length + AUDIT_BEFORE_BYTES < body->ceiling / 2
               ? hutch_fail_nomem(err)
               : hutch_fail(err, HUTCH_E_INVALID, 0,
                            "what the audit has to note of this is longer than %u bytes; use fewer "
                            "or shorter labels",
                            AUDIT_LINE_MAX);
}

static void put_time(char *text, size_t size)
{
    struct timespec now;
    struct tm parts;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    (void)snprintf(text, size, "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ", parts.tm_year + 1900,
                   parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                   now.tv_nsec / 1000);
}

void audit_line_frame(const struct audit_chain *after, const struct hutch_buf *body,
                      struct audit_frame *ret_frame)
{
    char time[56];
    struct sha256 hash;
    struct audit_chain *chain = &ret_frame->chain;
    put_time(time, sizeof(time));
    chain->seq = after->seq + 1;
    (void)snprintf(ret_frame->before, sizeof(ret_frame->before),
                   SEQ_KEY "%" PRIu64 ",\"time\":\"%s\",", chain->seq, time);
    sha256_begin(&hash);
    sha256_add(&hash, after->hash, SHA256_HEX_BYTES - 1);
    sha256_add(&hash, ret_frame->before, strlen(ret_frame->before));
    sha256_add(&hash, body->data, body->length);
    sha256_end_hex(&hash, chain->hash);
    (void)snprintf(ret_frame->behind, sizeof(ret_frame->behind), HASH_KEY "%s\"}\n", chain->hash);
}

bool audit_line_read(const char *line, size_t length, struct audit_chain *ret_chain)
{
    const size_t key = sizeof(SEQ_KEY) - 1;
    char digits[24];
    if (length < key + BEHIND_LENGTH + 1 || memcmp(line, SEQ_KEY, key) != 0)
        return false;
    const char *behind = line + length - BEHIND_LENGTH;
    if (memcmp(behind, HASH_KEY, sizeof(HASH_KEY) - 1) != 0 ||
        memcmp(line + length - 2, "\"}", 2) != 0)
        return false;
    size_t count = 0;
    while (count < sizeof(digits) - 1 && line[key + count] >= '0' && line[key + count] <= '9')
        count++;
    memcpy(digits, line + key, count);
    digits[count] = '\0';
    if (!count || count > 19 || line[key + count] != ',' || (digits[0] == '0'))
        return false;
    const char *hash = behind + sizeof(HASH_KEY) - 1;
    for (size_t i = 0; i < SHA256_HEX_BYTES - 1; i++)
        if (!strchr("0123456789abcdef", hash[i]) || !hash[i])
            return false;
    ret_chain->seq = strtoull(digits, NULL, 10);
    memcpy(ret_chain->hash, hash, SHA256_HEX_BYTES - 1);
    ret_chain->hash[SHA256_HEX_BYTES - 1] = '\0';
    return true;
}

static bool hash_fits(const struct audit_chain *before, const struct audit_chain *says,
                      const char *line, size_t length)
{
    struct sha256 hash;
    char text[SHA256_HEX_BYTES];
    sha256_begin(&hash);
    sha256_add(&hash, before->hash, SHA256_HEX_BYTES - 1);
    sha256_add(&hash, line, length - BEHIND_LENGTH);
    sha256_end_hex(&hash, text);
    return !strcmp(text, says->hash);
}

bool audit_line_check(struct audit_chain *chain, const char *line, size_t length, char *why,
                      size_t size)
{
    struct audit_chain says;
    *why = '\0';
    if (!audit_line_read(line, length, &says)) {
        (void)snprintf(why, size, "it is no event: something was written over it");
        return false;
    }
    struct audit_chain before = *chain;
    *chain = says;
    if (says.seq > before.seq + 1)
        (void)snprintf(why, size, "%" PRIu64 " events before it are missing",
                       says.seq - before.seq - 1);
    else if (says.seq <= before.seq)
        (void)snprintf(why, size, "event %" PRIu64 " comes before it: it is out of order",
                       before.seq);
    else if (!hash_fits(&before, &says, line, length))
        (void)snprintf(why, size, "its hash does not fit: it was changed, or the one before it");
    return !*why;
}

void audit_put_life(struct hutch_json_out *out, uint64_t of)
{
    hutch_json_string(out, "life", of ? "ends" : "begins");
    if (of)
        hutch_json_uint(out, "of", of);
}

void audit_put_argv(struct hutch_json_out *out, char *const *words, size_t count, bool as_digest)
{
    struct sha256 hash;
    char text[SHA256_HEX_BYTES];
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(words[i]) + 1;
    bool is_cut = bytes > AUDIT_ARGV_BYTES;
    if (as_digest || is_cut) {
        sha256_begin(&hash);
        for (size_t i = 0; i < count; i++)
            sha256_add(&hash, words[i], strlen(words[i]) + 1);
        sha256_end_hex(&hash, text);
        hutch_json_string(out, "argv_sha256", text);
        hutch_json_uint(out, "argc", count);
    }
    if (as_digest)
        return;
    size_t room = AUDIT_ARGV_BYTES;
    hutch_json_open(out, "argv", '[');
    for (size_t i = 0; i < count && room; i++) {
        size_t length = strnlen(words[i], room);
        hutch_json_stringn(out, NULL, words[i], length);
        room -= length < room ? length + 1 : room;
    }
    hutch_json_close(out, ']');
}
