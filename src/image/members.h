/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a JSON object that images are described with, each of the type it must have. A
 * member that is null counts as one that is not there. Failures name the member and its line. */
#ifndef HUTCH_IMAGE_MEMBERS_H
#define HUTCH_IMAGE_MEMBERS_H

#include "core/value.h"
#include "image/digest.h"
#include "util/strlist.h"

/* The member when it is there and of that type; NULL when it is not there. */
int member_of_type(const struct hutch_value *object, const char *key, enum hutch_value_type type,
                   const struct hutch_value **ret_member, struct hutch_error *err) HUTCH_MUST_CHECK;
/* Empty when it is not there. */
int member_text(const struct hutch_value *object, const char *key, char *ret_text, size_t size,
                struct hutch_error *err) HUTCH_MUST_CHECK;
/* The same, as long as it is. */
int member_new_text(const struct hutch_value *object, const char *key, char **ret_text,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
/* Adds the texts of a list. */
int member_texts(const struct hutch_value *object, const char *key, struct hutch_strlist *list,
                 struct hutch_error *err) HUTCH_MUST_CHECK;
/* These two have to be there. */
int member_digest(const struct hutch_value *object, const char *key,
                  char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err) HUTCH_MUST_CHECK;
int member_size(const struct hutch_value *object, const char *key, uint64_t *ret_size,
                struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
