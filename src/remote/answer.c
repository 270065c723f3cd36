/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer says, member by member: what is missing or of another type is as if it were not
 * there, and nothing that comes from the daemon is taken for more than it is. */
#include <string.h>

#include "hutch/host.h"
#include "remote/client.h"

const char *remote_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

uint64_t remote_number(const json_t *object, const char *key, uint64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return otherwise;
    return (uint64_t)json_integer_value(value);
}

bool remote_flag(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

const json_t *remote_list(const json_t *object, const char *key, struct hutch_error *err)
{
    const json_t *list = json_object_get(object, key);
    if (json_is_array(list))
        return list;
    (void)remote_fail_strange(err, key);
    return NULL;
}

int remote_fail_strange(struct hutch_error *err, const char *what)
{
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "the daemon's answer is not what hutch %s understands (%.100s); it may be of "
                      "another version, or no hutch daemon",
                      hutch_version(), what);
}

bool remote_is_id(const char *text)
{
    return text && *text && strlen(text) <= 32 && strspn(text, "0123456789abcdef") == strlen(text);
}
