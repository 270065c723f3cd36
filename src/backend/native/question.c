/* SPDX-License-Identifier: Apache-2.0 */
/* A keeper that did not answer in time still owes its answer: the connection stays, and whoever
 * asks next first waits for what is owed. So looking at it again and again fills neither its
 * backlog nor its buffer, and costs little. */
#include "backend/native/question.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "backend/native/keeper.h"
#include "util/own.h"

#define OWED_TIMEOUT_MS UINT64_C(100) /* for one that was silent before */
#define RETRY_MS UINT64_C(20)         /* a keeper with too many callers lets the next one in soon */

static void settle(struct question *question, int status)
{
    question->status = status;
    question->is_settled = true;
}

/* Not sent where the keeper has no room for one more caller, or still owes an answer. */
static void send_question(struct question *question, const struct wire_message *request)
{
    struct hutch_sandbox *sandbox = question->sandbox;
    if (sandbox_owes(sandbox))
        return;
    int status = sandbox_connect(sandbox, false, &question->err);
    if (status < 0 && question->err.os_errno == EAGAIN)
        return;
    if (status == 0)
        status = wire_send(sandbox->socket, request, &question->err);
    if (status < 0) {
        hutch_fd_close(&sandbox->socket);
        settle(question, status);
        return;
    }
    question->is_sent = true;
}

static void hear_answer(struct question *question)
{
    struct hutch_sandbox *sandbox = question->sandbox;
    int status = wire_receive(sandbox->socket, &question->answer, &question->err);
    sandbox->is_silent = false;
    if (status < 0) {
        hutch_fd_close(&sandbox->socket);
        settle(question, sandbox_fail_gone(sandbox, &question->err));
    } else if (sandbox->owes_answer) {
        sandbox->owes_answer = false;
        wire_done(&question->answer);
    } else {
        status = wire_check(&question->answer, &question->err);
        if (status < 0)
            wire_done(&question->answer);
        settle(question, status);
    }
}

static void give_up(struct question *question, uint64_t timeout_ms)
{
    struct hutch_sandbox *sandbox = question->sandbox;
    sandbox->is_silent = true;
    sandbox->owes_answer |= question->is_sent;
    settle(question,
           hutch_fail(&question->err, HUTCH_E_UNAVAILABLE, ETIMEDOUT,
                      "the keeper of sandbox '%s' does not answer (waited %.1f s); it is stopped, "
                      "or the machine is overloaded",
                      sandbox->home.name, (double)timeout_ms / 1000));
}

/* When the next deadline is; NEVER when nothing is left to wait for. */
static uint64_t prepare(struct question *questions, size_t count, struct pollfd *fds,
                        const struct wire_message *request)
{
    uint64_t now = now_us(), next = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        struct question *question = &questions[i];
        if (!question->is_settled && !question->is_sent)
            send_question(question, request);
        fds[i] = (struct pollfd){question->is_settled ? -1 : question->sandbox->socket, POLLIN, 0};
        if (question->is_settled)
            continue;
        uint64_t wake = question->is_sent || sandbox_owes(question->sandbox)
                            ? question->deadline_us
                            : now + RETRY_MS * 1000;
        next = wake < next ? wake : next;
    }
    return next;
}

static void wait_for_answers(struct question *questions, size_t count, struct pollfd *fds,
                             const struct wire_message *request, uint64_t timeout_ms)
{
    uint64_t next;
    while ((next = prepare(questions, count, fds, request)) != UINT64_MAX) {
        uint64_t now = now_us();
        int pause_ms = next > now ? (int)((next - now) / 1000) + 1 : 0;
        int ready = poll(fds, count, pause_ms);
        now = now_us();
        for (size_t i = 0; i < count; i++) {
            if (questions[i].is_settled)
                continue;
            if (ready > 0 && fds[i].fd >= 0 && fds[i].revents)
                hear_answer(&questions[i]);
            else if (now >= questions[i].deadline_us)
                give_up(&questions[i], timeout_ms);
        }
    }
}

void questions_ask(struct question *questions, size_t count, const struct wire_message *request,
                   uint64_t timeout_ms)
{
    hutch_autofree struct pollfd *fds = calloc(count ? count : 1, sizeof(*fds));
    uint64_t now = now_us();
    for (size_t i = 0; i < count; i++) {
        struct question *question = &questions[i];
        bool was_silent = question->sandbox->is_silent && timeout_ms > OWED_TIMEOUT_MS;
        question->is_sent = question->is_settled = false;
        question->deadline_us = now + (was_silent ? OWED_TIMEOUT_MS : timeout_ms) * 1000;
        question->err = (struct hutch_error)HUTCH_ERROR_INIT;
        sandbox_forget_stale(question->sandbox);
        if (!fds)
            settle(question, hutch_fail_nomem(&question->err));
    }
    if (fds)
        wait_for_answers(questions, count, fds, request, timeout_ms);
}

int question_ask(struct hutch_sandbox *sandbox, const struct wire_message *request,
                 struct wire_message *ret_answer, struct hutch_error *err)
{
    struct question question = {.sandbox = sandbox};
    questions_ask(&question, 1, request, QUESTION_TIMEOUT_MS);
    if (question.status < 0)
        *err = question.err;
    else
        *ret_answer = question.answer;
    return question.status;
}
