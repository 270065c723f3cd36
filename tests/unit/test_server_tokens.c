/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens at rest. */
#include "server/tokens.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "util/remove_tree.h"

static char home[64];

static int begin(void **state)
{
    (void)state;
    (void)snprintf(home, sizeof(home), "/tmp/hutch-tokens.XXXXXX");
    return mkdtemp(home) && setenv("HUTCH_HOME", home, 1) == 0 ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return remove_tree(AT_FDCWD, home);
}

struct loaded {
    int directory;
    struct token *tokens;
    size_t count;
};

static struct loaded load(void)
{
    struct hutch_error err;
    struct loaded loaded = {-1, NULL, 0};
    assert_fine(token_directory(&loaded.directory, &err), &err);
    assert_fine(token_load(loaded.directory, &loaded.tokens, &loaded.count, &err), &err);
    return loaded;
}

static void unload(struct loaded *loaded)
{
    free(loaded->tokens);
    (void)close(loaded->directory);
}

static const struct token *find(const struct loaded *loaded, const char *text)
{
    return token_find(loaded->tokens, loaded->count, text);
}

static void test_only_the_whole_token_is_one(void **state)
{
    const struct token_request request = {.tenant = "a", .scope = "read", .name = "robot"};
    char text[TOKEN_BYTES], other[TOKEN_BYTES + 8];
    struct hutch_error err;
    struct token token;
    (void)state;
    assert_fine(token_create(&request, text, &token, &err), &err);
    struct loaded loaded = load();
    const struct token *found = find(&loaded, text);
    assert_non_null(found);
    assert_string_equal(found->tenant, "a");
    assert_string_equal(found->scope, "read");
    for (size_t i = 0; i < strlen(text); i++) { /* one letter is another */
        (void)snprintf(other, sizeof(other), "%s", text);
        other[i] = (char)(other[i] ^ 1);
        assert_null(find(&loaded, other));
        other[i] = '\0'; /* or it is cut there */
        assert_null(find(&loaded, other));
    }
    (void)snprintf(other, sizeof(other), "%s0", text);
    assert_null(find(&loaded, other));
    unload(&loaded);
}

static void test_the_secret_is_nowhere(void **state)
{
    const struct token_request request = {.scope = "write"};
    char text[TOKEN_BYTES], path[256], kept[1024] = "";
    struct hutch_error err;
    struct token token;
    struct stat info;
    (void)state;
    assert_fine(token_create(&request, text, &token, &err), &err);
    (void)snprintf(path, sizeof(path), "%s/lib/tokens/%s.json", home, token.id);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(kept, 1, sizeof(kept) - 1, file) > 0);
    (void)fclose(file);
    assert_null(strstr(kept, strchr(text, '.') + 1));
}

static void test_time_and_name(void **state)
{
    const struct token_request request = {.scope = "read", .expires = "2s", .name = "short"};
    char text[TOKEN_BYTES];
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct token token;
    (void)state;
    assert_fine(token_create(&request, text, &token, &err), &err);
    assert_false(token_is_expired(&token, token.created_s + 1));
    assert_true(token_is_expired(&token, token.created_s + 2));
    assert_int_equal(token_create(&request, text, &token, &err), -HUTCH_E_CONFLICT);
    assert_fine(token_remove("short", &err), &err);
    assert_int_equal(token_remove("short", &err), -HUTCH_E_NOT_FOUND);
    struct loaded loaded = load();
    assert_int_equal(loaded.count, 0);
    unload(&loaded);
}

static void test_a_directory_of_others_is_refused(void **state)
{
    char path[256];
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct loaded loaded = load();
    (void)state;
    unload(&loaded);
    (void)snprintf(path, sizeof(path), "%s/lib/tokens", home);
    assert_int_equal(chmod(path, 0777), 0);
    int directory = -1;
    assert_int_equal(token_directory(&directory, &err), -HUTCH_E_PERMISSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_only_the_whole_token_is_one, begin, end),
        cmocka_unit_test_setup_teardown(test_the_secret_is_nowhere, begin, end),
        cmocka_unit_test_setup_teardown(test_time_and_name, begin, end),
        cmocka_unit_test_setup_teardown(test_a_directory_of_others_is_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
