/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a Docker engine, or to one that speaks as it does (Podman), and its answers.
 *
 * All of them go over one connection that stays open. The first one has no version in its path:
 * every answer says which versions the engine speaks, so that finding it out costs nothing. */
#ifndef HUTCH_DOCKER_ENGINE_H
#define HUTCH_DOCKER_ENGINE_H

#include <curl/curl.h>
#include <sys/types.h>
#include <time.h>

#include "backend/docker/endpoint.h"
#include "backend/docker/version.h"
#include "core/value.h"
#include "util/buf.h"

struct docker_engine {
    struct docker_endpoint endpoint;
    struct docker_version version; /* known after the first answer */
    CURL *easy;
    int keeper_fd; /* nobody waits for an answer any more when its other end is closed; < 0: none */
    int busy_fd; /* somebody there is told every now and then that it still goes on; < 0: nobody */
    time_t busy_s; /* when that was last */
    char problem[CURL_ERROR_SIZE];
};

/* The engine that has this sandbox; NULL: the one that is to be used. */
int docker_engine_open(struct docker_engine **ret_engine, const char *id,
                       struct hutch_error *err) HUTCH_MUST_CHECK;
void docker_engine_free(struct docker_engine *engine);
void docker_engine_freep(struct docker_engine **engine);

/* The next bytes of what is sent: their number, 0 at the end, -1: it failed. */
typedef ssize_t docker_source(void *context, void *buffer, size_t size);
/* Takes all bytes of what comes with a status of 2xx: 0, or -1 to end it. */
typedef int docker_sink(void *context, const void *data, size_t length);

struct docker_request {
    const char *method;
    const char *path;   /* "/containers/json?all=1" */
    const char *json;   /* its body; NULL: none, or the source's */
    const char *login;  /* for a registry, in the engine's form; NULL: none */
    const char *logins; /* for several of them */
    docker_source *source;
    docker_sink *sink; /* NULL: it is kept in the answer */
    void *context;     /* for both */
    long patience_s;   /* for the whole of it, or with source or sink without a byte; 0: a minute;
                          negative: for ever */
};

struct docker_answer {
    long status;
    struct hutch_buf text;
    struct hutch_value json; /* null when it is none */
};

#define DOCKER_ANSWER_INIT      \
    {                           \
        0, HUTCH_BUF(4u << 20), \
        {                       \
            0                   \
        }                       \
    }

/* Fails when there is no answer, or none of an engine that hutch can use. */
int docker_ask(struct docker_engine *engine, const struct docker_request *request,
               struct docker_answer *ret_answer, struct hutch_error *err) HUTCH_MUST_CHECK;
void docker_answer_done(struct docker_answer *answer);
/* A status of 400 and more becomes an error, with what the engine says about it. */
int docker_check(const struct docker_answer *answer, struct hutch_error *err) HUTCH_MUST_CHECK;
/* Both, for what needs no answer but that it is done. */
int docker_do(struct docker_engine *engine, const char *method, const char *path, const char *json,
              struct hutch_error *err) HUTCH_MUST_CHECK;
/* Both, for an answer that has to be JSON. */
int docker_get(struct docker_engine *engine, const char *path, struct docker_answer *ret_answer,
               struct hutch_error *err) HUTCH_MUST_CHECK;

/* Appends a value of a query, with what has a meaning there written as %XX. */
void docker_add_escaped(struct hutch_buf *path, const char *text);

/* Does it run where its socket is, so that it may see the files of this host? */
bool docker_is_near(const struct docker_engine *engine);

/* ---- between the files of this part ---- */

/* Sets what every connection to the engine needs. */
void docker_set_connection(const struct docker_engine *engine, CURL *easy, char *problem);
/* trouble.c: why there is no answer, and what helps. */
int docker_fail_transport(const struct docker_engine *engine, CURL *easy, CURLcode code,
                          const char *problem, struct hutch_error *err);
/* trouble.c: what an engine means with an answer that is no success. */
int docker_fail_answer(long status, const struct hutch_value *json, const char *text,
                       struct hutch_error *err);

#endif
