/* SPDX-License-Identifier: Apache-2.0 */
/* Images that are fetched, sent, built, and that come from archives and go into them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/http.h"
#include "server/events_out.h"
#include "server/images.h"
#include "server/program.h"
#include "server/text.h"
#include "server/util.h"

#define LOG_LINES_MAX 10000 /* of an answer that is no stream: what was said first goes */
#define WORDS_MAX 16

struct work {
    struct api_call *call;
    const char *reference; /* what the answer is about */
    const char *status;
    bool names_are_said; /* its lines are the names of images */
    const char *words[WORDS_MAX];
    size_t count;
    struct events_out out;
    json_t *log;
};

static void add_word(struct work *work, const char *word)
{
    if (work->count + 1 < WORDS_MAX)
        work->words[work->count++] = word;
}

/* A flag and its value, where there is one. */
static void add_flag(struct work *work, const char *flag, const char *value)
{
    if (!value)
        return;
    add_word(work, flag);
    add_word(work, value);
}

/* ---- what it says ---------------------------------------------------------------------------- */

static int tell_line(struct work *work, json_t *line)
{
    json_t *object = json_pack("{s:O}", "log", line);
    server_autofree char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return text ? events_object(&work->out, "log", NULL, text) : -1;
}

static int on_line(void *userdata, const char *text)
{
    struct work *work = userdata;
    server_autofree char *readable = text_readable(text, strlen(text));
    json_t *line = json_string(readable ? readable : "");
    int status = work->out.form == EVENTS_NONE ? 0 : tell_line(work, line);
    if (work->out.form == EVENTS_NONE || work->names_are_said) {
        if (json_array_size(work->log) >= LOG_LINES_MAX)
            (void)json_array_remove(work->log, 0);
        (void)json_array_append(work->log, line);
    }
    json_decref(line);
    return status;
}

static int on_quiet(void *userdata)
{
    struct work *work = userdata;
    return work->out.form == EVENTS_NONE ? 0 : events_quiet(&work->out);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static json_t *answer_of(struct work *work)
{
    json_t *log = work->log;
    const char *first = json_string_value(json_array_get(log, 0));
    work->log = NULL;
    if (!work->names_are_said)
        return images_done(work->reference, work->status, log);
    json_t *done = images_done(first ? first : "", work->status, NULL);
    (void)json_object_set_new(done, "references", log);
    return done;
}

static void finish(struct work *work, int status, const struct hutch_error *err)
{
    if (work->out.form == EVENTS_NONE && status < 0) {
        api_fail(work->call, err);
        return;
    }
    if (work->out.form == EVENTS_NONE) {
        api_reply(work->call, 200, answer_of(work));
        return;
    }
    if (status < 0) {
        (void)events_error(&work->out, err);
        return;
    }
    json_t *done = answer_of(work);
    json_t *last =
        work->out.form == EVENTS_SSE ? json_incref(done) : json_pack("{s:O}", "result", done);
    server_autofree char *text = last ? json_dumps(last, JSON_COMPACT) : NULL;
    if (text)
        (void)events_object(&work->out, "result", NULL, text);
    json_decref(last);
    json_decref(done);
}

static void do_work(struct work *work, int in_fd)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct program_run run = {.words = work->words,
                              .in_fd = in_fd,
                              .out_fd = SERVER_NO_FD,
                              .gone_fd = api_gone_fd(work->call),
                              .on_line = on_line,
                              .on_quiet = on_quiet,
                              .userdata = work};
    enum events_form form = events_form_of(work->call);
    if (form != EVENTS_NONE && events_begin(work->call, form, &work->out) < 0)
        return;
    work->log = json_array();
    int status = program_run(&run, &err);
    finish(work, status, &err);
    json_decref(work->log);
}

/* The same with the body on its standard input. */
static void do_work_on_body(struct work *work)
{
    int body = api_body_fd(work->call);
    if (body < 0)
        api_problem(work->call, 400, "invalid", "the body is the archive, and there is none");
    else
        do_work(work, body);
}

/* ---- by the network -------------------------------------------------------------------------- */

void images_pull(struct api_call *call)
{
    struct work work = {.call = call, .words = {"image"}, .count = 1, .status = "pulled"};
    work.reference = api_body_text(call, "reference");
    if (!images_may_use(call, work.reference, NULL))
        return;
    add_word(&work, "pull");
    add_flag(&work, "--platform", api_body_text(call, "platform"));
    add_word(&work, "--");
    add_word(&work, work.reference);
    do_work(&work, SERVER_NO_FD);
}

void images_push(struct api_call *call)
{
    struct work work = {.call = call, .words = {"image"}, .count = 1, .status = "pushed"};
    work.reference = api_body_text(call, "reference");
    if (!images_may_change(call))
        return;
    add_word(&work, "push");
    add_word(&work, "--");
    add_word(&work, work.reference);
    if (api_body_text(call, "to"))
        add_word(&work, api_body_text(call, "to"));
    do_work(&work, SERVER_NO_FD);
}

/* ---- from archives --------------------------------------------------------------------------- */

void images_build(struct api_call *call)
{
    struct work work = {.call = call, .words = {"image"}, .count = 1, .status = "built"};
    work.reference = api_query(call, "reference");
    if (!images_may_change(call))
        return;
    add_word(&work, "build");
    add_flag(&work, "--tag", work.reference);
    add_flag(&work, "--file", api_query(call, "dockerfile"));
    add_flag(&work, "--platform", api_query(call, "platform"));
    add_flag(&work, "--backend", api_query(call, "backend"));
    if (api_query_flag(call, "no_cache"))
        add_word(&work, "--no-cache");
    add_word(&work, "--");
    add_word(&work, "-");
    do_work_on_body(&work);
}

void images_import(struct api_call *call)
{
    struct work work = {.call = call, .words = {"image"}, .count = 1, .status = "imported"};
    work.reference = api_query(call, "reference");
    if (!images_may_change(call))
        return;
    add_word(&work, "import");
    add_flag(&work, "--platform", api_query(call, "platform"));
    add_word(&work, "--");
    add_word(&work, "-");
    add_word(&work, work.reference);
    do_work_on_body(&work);
}

void images_load(struct api_call *call)
{
    struct work work = {
        .call = call, .words = {"image"}, .count = 1, .status = "loaded", .names_are_said = true};
    if (!images_may_change(call))
        return;
    add_word(&work, "load");
    add_word(&work, "--quiet");
    add_flag(&work, "--name", api_query(call, "name"));
    add_flag(&work, "--platform", api_query(call, "platform"));
    add_word(&work, "--");
    add_word(&work, "-");
    do_work_on_body(&work);
}

/* ---- into archives --------------------------------------------------------------------------- */

static int on_no_line(void *userdata, const char *line)
{
    (void)userdata, (void)line;
    return 0;
}

/* What can be told before the first byte is told before; after it, a cut answer tells. */
static void send_archive(struct work *work)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    int out = SERVER_NO_FD;
    json_t *image = images_inspect(work->call, work->reference);
    if (!image)
        return;
    json_decref(image);
    if (api_stream(work->call, 200, "application/x-tar", HTTP_LENGTH_UNKNOWN, &out) < 0)
        return;
    const struct program_run run = {.words = work->words,
                                    .in_fd = SERVER_NO_FD,
                                    .out_fd = out,
                                    .gone_fd = api_gone_fd(work->call),
                                    .on_line = on_no_line};
    if (program_run(&run, &err) < 0)
        api_cut(work->call);
}

void images_save(struct api_call *call)
{
    struct work work = {
        .call = call, .words = {"image"}, .count = 1, .reference = api_query(call, "reference")};
    const char *format = api_query(call, "format");
    if (format && strcmp(format, "oci") != 0 && strcmp(format, "docker") != 0) {
        api_problem(call, 400, "invalid", "format: '%.40s' is neither 'oci' nor 'docker'", format);
        return;
    }
    add_word(&work, "save");
    add_flag(&work, "--format", format);
    add_word(&work, "--");
    add_word(&work, work.reference);
    send_archive(&work);
}

void images_export(struct api_call *call)
{
    struct work work = {
        .call = call, .words = {"image"}, .count = 1, .reference = api_query(call, "reference")};
    add_word(&work, "export");
    add_word(&work, "--");
    add_word(&work, work.reference);
    send_archive(&work);
}
