/* SPDX-License-Identifier: Apache-2.0 */
/* What a single text must look like. Each check fails with a sentence that shows the text and a
 * right one; the checks of paths inside the sandbox also shorten the text to its normal form. */
#ifndef HUTCH_CORE_CHECK_H
#define HUTCH_CORE_CHECK_H

#include <stdbool.h>

#include "util/error.h"
#include "util/strlist.h"

typedef int (*hutch_text_check_fn)(char *text, struct hutch_error *err);

int hutch_check_anything(char *text, struct hutch_error *err);
int hutch_check_name(char *text, struct hutch_error *err);
int hutch_check_hostname(char *text, struct hutch_error *err);
int hutch_check_user(char *text, struct hutch_error *err);
int hutch_check_workdir(char *text, struct hutch_error *err);
/* A path on the host: not empty, short enough for the kernel. */
int hutch_check_host_path(char *text, struct hutch_error *err);
/* Not the grammar of names of images, which is image/reference.h's, but what no name can have. */
int hutch_check_image(char *text, struct hutch_error *err);
/* 64 hexadecimal digits. */
int hutch_check_digest(char *text, struct hutch_error *err);
int hutch_check_pull(char *text, struct hutch_error *err);
int hutch_check_isolation(char *text, struct hutch_error *err);
/* The name of a variable or a label: not empty, without '='. */
int hutch_check_key(char *text, struct hutch_error *err);
/* A label's key or value, which is shown in tables and compared: UTF-8 without control characters.
 */
int hutch_check_label(const char *text, struct hutch_error *err);
int hutch_check_label_key(char *text, struct hutch_error *err);
int hutch_check_promise(char *text, struct hutch_error *err);
/* secret_spec.c: the name of one */
int hutch_check_secret(char *text, struct hutch_error *err);
/* check_egress.c */
int hutch_check_egress(char *text, struct hutch_error *err);
/* What all rules together allow of one name has a limit, for each port of it is two sockets. */
int hutch_check_egress_rules(const struct hutch_strlist *rules, struct hutch_error *err);
int hutch_check_range(char *text, struct hutch_error *err);
int hutch_check_proxy(char *text, struct hutch_error *err);

/* Removes slashes from the end, but not the first. */
void hutch_path_trim(char *path);
/* Absolute, and without ".", ".." and empty components. */
bool hutch_path_is_normal(const char *path);
/* path is directory or lies below it; both are normal. */
bool hutch_path_is_within(const char *path, const char *directory);

#endif
