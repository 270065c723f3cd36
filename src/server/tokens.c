/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tokens.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "hutch/host.h"
#include "hutch/spec.h"
#include "server/util.h"

#define PREFIX "hutch_"
#define SECRET_BYTES 32 /* random ones, twice as many digits */
#define FILE_BYTES 4096
#define SUFFIX ".json"

static const char *const scopes[] = {"read", "write", "admin"};

bool token_is_expired(const struct token *token, uint64_t now_s)
{
    return token->expires_s && now_s >= token->expires_s;
}

int token_directory(int *ret_directory, struct hutch_error *err)
{
    char lib[PATH_MAX - 16], path[PATH_MAX];
    struct stat info;
    int status = hutch_state_directory("lib", lib, sizeof(lib), err);
    if (status < 0)
        return status;
    (void)snprintf(path, sizeof(path), "%s/tokens", lib);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return server_fail_errno(err, "make '%.200s'", path);
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return server_fail_errno(err, "open '%.200s'", path);
    if (fstat(directory, &info) < 0 || info.st_uid != geteuid() || (info.st_mode & 022)) {
        (void)close(directory);
        return server_fail(err, HUTCH_E_PERMISSION,
                           "'%.200s' belongs to somebody else or others can write to it; "
                           "chown and chmod 700 it",
                           path);
    }
    *ret_directory = directory;
    return 0;
}

/* ---- digits ---------------------------------------------------------------------------------- */

static void to_hex(const unsigned char *bytes, size_t length, char *text)
{
    for (size_t i = 0; i < length; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static bool from_hex(const char *text, unsigned char *bytes, size_t length)
{
    if (strlen(text) != 2 * length)
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned value = 0;
        if (!isxdigit((unsigned char)text[2 * i]) || !isxdigit((unsigned char)text[2 * i + 1]) ||
            sscanf(text + 2 * i, "%2x", &value) != 1)
            return false;
        bytes[i] = (unsigned char)value;
    }
    return true;
}

/* ---- one file -------------------------------------------------------------------------------- */

static char *to_json(const struct token *token)
{
    char hash[2 * TOKEN_HASH_BYTES + 1];
    to_hex(token->hash, TOKEN_HASH_BYTES, hash);
    json_t *json =
        json_pack("{s:s,s:s,s:s,s:s,s:I,s:I,s:s}", "id", token->id, "name", token->name, "tenant",
                  token->tenant, "scope", token->scope, "created", (json_int_t)token->created_s,
                  "expires", (json_int_t)token->expires_s, "sha256", hash);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return text;
}

static bool copy_text(const json_t *json, const char *key, char *place, size_t size)
{
    const char *text = json_string_value(json_object_get(json, key));
    int length = text ? snprintf(place, size, "%s", text) : -1;
    return length >= 0 && (size_t)length < size;
}

static bool from_json(const json_t *json, struct token *token)
{
    char hash[2 * TOKEN_HASH_BYTES + 1];
    json_int_t created = json_integer_value(json_object_get(json, "created"));
    const json_t *expires = json_object_get(json, "expires");
    if (!copy_text(json, "id", token->id, sizeof(token->id)) ||
        !copy_text(json, "name", token->name, sizeof(token->name)) ||
        !copy_text(json, "tenant", token->tenant, sizeof(token->tenant)) ||
        !copy_text(json, "scope", token->scope, sizeof(token->scope)) ||
        !copy_text(json, "sha256", hash, sizeof(hash)) || created < 0 ||
        !json_is_integer(expires) || json_integer_value(expires) < 0)
        return false;
    token->created_s = (uint64_t)created;
    token->expires_s = (uint64_t)json_integer_value(expires);
    return from_hex(hash, token->hash, TOKEN_HASH_BYTES);
}

/* A file that others can change proves nothing. */
static bool read_token(int directory, const char *name, struct token *token)
{
    struct stat info;
    size_t length = 0;
    if (fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) < 0 || info.st_uid != geteuid() ||
        (info.st_mode & 022))
        return false;
    server_autofree char *text = server_read_file(directory, name, FILE_BYTES, &length);
    json_t *json = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
    bool is_read = json && from_json(json, token) && strlen(name) > strlen(SUFFIX) &&
                   !strncmp(name, token->id, strlen(name) - strlen(SUFFIX));
    json_decref(json);
    return is_read;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct token *)a)->id, ((const struct token *)b)->id);
}

static int add(struct token **tokens, size_t *count, const struct token *token)
{
    struct token *more = reallocarray(*tokens, *count + 1, sizeof(**tokens));
    if (!more)
        return -1;
    more[(*count)++] = *token;
    *tokens = more;
    return 0;
}

static bool is_token_file(const char *name)
{
    size_t length = strlen(name);
    return *name != '.' && length > strlen(SUFFIX) &&
           !strcmp(name + length - strlen(SUFFIX), SUFFIX);
}

int token_load(int directory, struct token **ret_tokens, size_t *ret_count, struct hutch_error *err)
{
    struct token *tokens = NULL, token;
    size_t count = 0;
    int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = again < 0 ? NULL : fdopendir(again);
    if (!stream) {
        server_closep(&again);
        return server_fail_errno(err, "read the directory of the tokens");
    }
    int failed = 0;
    for (struct dirent *entry = readdir(stream); entry && !failed; entry = readdir(stream))
        if (is_token_file(entry->d_name) && read_token(directory, entry->d_name, &token))
            failed = add(&tokens, &count, &token);
    (void)closedir(stream);
    if (failed) {
        free(tokens);
        return server_fail_nomem(err);
    }
    if (count)
        qsort(tokens, count, sizeof(*tokens), compare);
    *ret_tokens = tokens;
    *ret_count = count;
    return 0;
}

const struct token *token_find(const struct token *tokens, size_t count, const char *text)
{
    static const struct token nobody;
    unsigned char hash[TOKEN_HASH_BYTES];
    struct token wanted = {0};
    const char *secret = strchr(text, '.');
    size_t prefix = strlen(PREFIX);
    if (strncmp(text, PREFIX, prefix) != 0 || strlen(text) >= TOKEN_BYTES || !secret ||
        secret != text + prefix + TOKEN_ID_BYTES - 1)
        return NULL;
    (void)snprintf(wanted.id, sizeof(wanted.id), "%s", text + prefix);
    const struct token *found =
        count ? bsearch(&wanted, tokens, count, sizeof(*tokens), compare) : NULL;
    (void)SHA256((const unsigned char *)secret + 1, strlen(secret + 1), hash);
    bool is_right = CRYPTO_memcmp(hash, (found ? found : &nobody)->hash, sizeof(hash)) == 0;
    return found && is_right ? found : NULL;
}

/* ---- what people do with them ---------------------------------------------------------------- */

static bool is_name(const char *text)
{
    size_t length = strlen(text);
    if (!length || length > 64 || !isalnum((unsigned char)*text))
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("._-", *text))
            return false;
    return true;
}

static int check_request(const struct token_request *request, uint64_t *ret_ms,
                         struct hutch_error *err)
{
    bool is_scope = false;
    for (size_t i = 0; i < SERVER_COUNT(scopes); i++)
        is_scope = is_scope || !strcmp(scopes[i], request->scope);
    if (!is_scope)
        return server_fail(err, HUTCH_E_INVALID, "a scope is read, write or admin, not '%.40s'",
                           request->scope);
    if (request->tenant && !is_name(request->tenant))
        return server_fail(err, HUTCH_E_INVALID,
                           "a tenant's name has up to 64 letters, digits, dots, dashes and "
                           "underscores, not '%.80s'",
                           request->tenant);
    if (request->name && !is_name(request->name))
        return server_fail(err, HUTCH_E_INVALID,
                           "a token's name has up to 64 letters, digits, dots, dashes and "
                           "underscores, not '%.80s'",
                           request->name);
    if (!request->expires)
        return 0;
    int status = hutch_duration_parse(request->expires, ret_ms, err);
    if (!status && *ret_ms < 1000)
        status = server_fail(err, HUTCH_E_INVALID, "a token must be good for a second at least");
    return status;
}

struct matching {
    const char *word;
    struct token token;
    size_t count;
};

static int match(void *userdata, const struct token *token)
{
    struct matching *matching = userdata;
    if (strcmp(token->id, matching->word) != 0 && strcmp(token->name, matching->word) != 0)
        return 0;
    matching->token = *token;
    matching->count++;
    return 0;
}

static int fill(const struct token_request *request, uint64_t ms, struct token *token,
                char ret_text[TOKEN_BYTES], struct hutch_error *err)
{
    unsigned char random[SECRET_BYTES + (TOKEN_ID_BYTES - 1) / 2];
    char secret[2 * SECRET_BYTES + 1];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return server_fail_errno(err, "take random bytes");
    to_hex(random + SECRET_BYTES, (TOKEN_ID_BYTES - 1) / 2, token->id);
    to_hex(random, SECRET_BYTES, secret);
    (void)SHA256((const unsigned char *)secret, strlen(secret), token->hash);
    token->created_s = server_time_us() / 1000000;
    token->expires_s = ms ? token->created_s + (ms + 999) / 1000 : 0;
    (void)snprintf(token->name, sizeof(token->name), "%s", request->name ? request->name : "");
    (void)snprintf(token->tenant, sizeof(token->tenant), "%s",
                   request->tenant ? request->tenant : "");
    (void)snprintf(token->scope, sizeof(token->scope), "%s", request->scope);
    (void)snprintf(ret_text, TOKEN_BYTES, PREFIX "%s.%s", token->id, secret);
    return 0;
}

int token_create(const struct token_request *request, char ret_text[TOKEN_BYTES],
                 struct token *ret_token, struct hutch_error *err)
{
    struct matching same = {.word = request->name};
    struct token token = {0};
    server_autofd int directory = SERVER_NO_FD;
    char name[TOKEN_ID_BYTES + sizeof(SUFFIX)];
    uint64_t ms = 0;
    if (check_request(request, &ms, err) < 0 || token_directory(&directory, err) < 0 ||
        (request->name && token_list(match, &same, err) < 0))
        return -(int)err->code;
    if (same.count)
        return server_fail(err, HUTCH_E_CONFLICT,
                           "there is a token '%s' already; 'hutch token rm %s' takes it back",
                           request->name, request->name);
    if (fill(request, ms, &token, ret_text, err) < 0)
        return -(int)err->code;
    server_autofree char *text = to_json(&token);
    (void)snprintf(name, sizeof(name), "%s" SUFFIX, token.id);
    if (!text)
        return server_fail_nomem(err);
    if (server_write_file(directory, name, text, strlen(text)) < 0)
        return server_fail_errno(err, "write down the token");
    *ret_token = token;
    return 0;
}

int token_list(token_fn on_token, void *userdata, struct hutch_error *err)
{
    server_autofd int directory = SERVER_NO_FD;
    server_autofree struct token *tokens = NULL;
    size_t count = 0;
    int status = token_directory(&directory, err);
    if (!status)
        status = token_load(directory, &tokens, &count, err);
    for (size_t i = 0; !status && i < count; i++)
        status = on_token(userdata, &tokens[i]);
    return status;
}

int token_remove(const char *id, struct hutch_error *err)
{
    struct matching matching = {.word = id};
    server_autofd int directory = SERVER_NO_FD;
    char name[TOKEN_ID_BYTES + sizeof(SUFFIX)];
    if (token_directory(&directory, err) < 0 || token_list(match, &matching, err) < 0)
        return -(int)err->code;
    if (!matching.count || !*id)
        return server_fail(err, HUTCH_E_NOT_FOUND,
                           "there is no token '%.80s'; 'hutch token ls' lists those there are", id);
    if (matching.count > 1)
        return server_fail(err, HUTCH_E_CONFLICT, "more than one token is '%.80s'; say its id", id);
    (void)snprintf(name, sizeof(name), "%s" SUFFIX, matching.token.id);
    if (unlinkat(directory, name, 0) < 0)
        return server_fail_errno(err, "remove token '%.80s'", id);
    return 0;
}
