/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the public headers, done by a daemon: src/remote is to the command line what
 * src/libhutch is, and the program hutch-remote is linked with this one instead of that one. What
 * people see is the same because it is the same code that prints it.
 *
 * One request is one struct remote_call. It goes through one connection that is kept, for the
 * public functions have no place for it: remote_client() is the only state here. Memory is bounded
 * whatever the daemon says: an answer is read as JSON up to a ceiling, or handed on as it comes. */
#ifndef HUTCH_REMOTE_CLIENT_H
#define HUTCH_REMOTE_CLIENT_H

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "remote/host.h"
#include "util/buf.h"

struct remote_client {
    struct remote_host host;
    CURL *easy;
    CURLM *multi;
};

/* The process's own, made when it is first asked for. Borrowed. */
int remote_client(struct remote_client **ret_client, struct hutch_error *err);
/* In a child: the connection is the parent's, and nothing may be said through it, not even
 * farewell.
 */
void remote_client_forget(void);
/* A handle with everything set that says where and who: for whoever needs one of its own. */
CURL *remote_easy(const struct remote_client *client);

/* Gets the answer as it comes, when the daemon agrees. Anything but 0 ends the call with *err. */
typedef int (*remote_data_fn)(void *userdata, const char *data, size_t length,
                              struct hutch_error *err);

struct remote_call {
    const char *method; /* NULL: GET */
    char *path;         /* of remote_path(); freed with the call. NULL: there was no memory */
    json_t *body;       /* taken; NULL: none */
    bool uploads;       /* the body is read from upload_fd, to its end */
    int upload_fd;
    const char *content_type; /* of such a body */
    const char *accept;       /* NULL: JSON */
    remote_data_fn on_data;   /* NULL: the answer is JSON, for ret_answer */
    void *userdata;
    int cancel_fd; /* readable: the call is over; -1: none */
    bool was_cancelled;
    bool was_cut; /* after it had begun */
};
#define REMOTE_CALL(...)                     \
    {                                        \
        .cancel_fd = -1, .path = __VA_ARGS__ \
    }

/* Each "{}" of the pattern becomes the next text, percent-encoded. */
char *remote_path(const char *pattern, ...);
/* Adds "?key=value" or "&key=value"; value NULL: adds nothing. Takes the path and returns the
 * longer one. */
char *remote_path_add(char *path, const char *key, const char *value);
char *remote_path_add_number(char *path, const char *key, uint64_t value);

/* Does it, and frees what the call owns. ret_answer may be NULL; with 204 it becomes null. */
int remote_do(struct remote_call *call, json_t **ret_answer, struct hutch_error *err);

static inline void remote_json_done(json_t **json)
{
    json_decref(*json);
}
#define remote_autojson __attribute__((cleanup(remote_json_done)))

/* ---- what an answer says ---- */

/* A member of an object: NULL or `otherwise` where it is not there, null, or of another type. */
const char *remote_text(const json_t *object, const char *key);
uint64_t remote_number(const json_t *object, const char *key, uint64_t otherwise);
bool remote_flag(const json_t *object, const char *key);
/* A list's items; NULL when it is none, which fails with a sentence. */
const json_t *remote_list(const json_t *object, const char *key, struct hutch_error *err);
/* The daemon has answered with something that this program does not understand. */
int remote_fail_strange(struct hutch_error *err, const char *what);
/* An id: hexadecimal digits, which may be printed and put into a path. */
bool remote_is_id(const char *text);

/* ---- problem.c ---- */

/* What curl says, as a sentence with the remedy. */
int remote_fail_curl(const struct remote_client *client, CURLcode code, const char *detail,
                     struct hutch_error *err);
/* What the daemon says: a problem document, or what stands in its place. */
int remote_fail_status(const struct remote_client *client, long status, const char *text,
                       size_t length, struct hutch_error *err);
/* The error in a stream. */
int remote_fail_problem(const json_t *problem, struct hutch_error *err);
enum hutch_code remote_code(const char *name, long status);

#endif
