/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/recruit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/furnish.h"
#include "backend/native/wire.h"
#include "hutch/sandbox.h"
#include "util/own.h"
#include "util/program.h"

#define KEEPER_SOCKET 3

static int spawn_program(int socket, pid_t *ret_pid, struct hutch_error *err)
{
    static char name[] = HUTCH_KEEPER_NAME;
    char *argv[] = {name, NULL};
    char *environment[HUTCH_PROGRAM_VARIABLES];
    posix_spawn_file_actions_t actions;
    char buffer[PATH_MAX];
    const char *program = hutch_program_path(buffer);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return hutch_fail_nomem(err);
    (void)posix_spawn_file_actions_adddup2(&actions, socket, KEEPER_SOCKET);
    int failed = hutch_program_spawn(program, &actions, argv,
                                     hutch_program_environment(environment), ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return hutch_fail_errno(err, failed,
                                "start a keeper with '%s' (HUTCH_PROGRAM names another)", program);
    return 0;
}

int recruit_start(struct recruit *recruit, struct hutch_error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return hutch_fail_errno(err, errno, "make a socket pair");
    recruit->socket = ends[0];
    hutch_autofd int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, KEEPER_SOCKET + 1);
    (void)close(ends[1]);
    if (theirs < 0)
        return hutch_fail_errno(err, errno, "duplicate a descriptor");
    return spawn_program(theirs, &recruit->starter, err);
}

void recruit_dismiss(struct recruit *recruit)
{
    int status;
    hutch_fd_close(&recruit->socket);
    while (recruit->starter > 0 && waitpid(recruit->starter, &status, 0) < 0 && errno == EINTR)
        ;
    recruit->starter = 0;
}

static int give_order(const struct recruit *recruit, const struct home *home,
                      const struct home_record *record, bool is_new, bool can_bring,
                      struct hutch_error *err)
{
    struct wire_message order = WIRE_MESSAGE_INIT;
    wire_begin(&order, "keep");
    wire_add(&order, "name", home->name);
    wire_add(&order, "id", record->id);
    wire_add_number(&order, "created_us", record->created_us);
    wire_add_number(&order, "on_disk", record->on_disk);
    wire_add_number(&order, "has_layer", record->on_disk && record->has_layer);
    wire_add_number(&order, "missing", record->missing);
    wire_add_number(&order, "can_bring_layer", can_bring);
    wire_add_number(&order, "new", is_new);
    wire_add_fd(&order, home->dir);
    wire_add_fd(&order, home->lock);
    int status = wire_send(recruit->socket, &order, err);
    hutch_buf_done(&order.text);
    return status;
}

/* While the keeper makes all that does not need it. Why there is none, the keeper tells better: it
 * tries by itself. One that has failed meanwhile has its say in the answer. */
static void bring_layer(struct recruit *recruit, const struct hutch_spec *spec, const char *id)
{
    struct wire_message word = WIRE_MESSAGE_INIT;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    recruit->has_layer = furnish_layer(spec, id, &ignored) == 0;
    wire_begin(&word, "layer");
    wire_add_number(&word, "is_made", recruit->has_layer);
    (void)!wire_send(recruit->socket, &word, &ignored);
    hutch_buf_done(&word.text);
}

int recruit_employ(struct recruit *recruit, const struct home *home,
                   const struct home_record *record, const struct hutch_spec *spec,
                   struct hutch_error *err)
{
    struct wire_message answer;
    bool can_bring = spec && furnish_is_wanted(spec, record);
    int status = give_order(recruit, home, record, spec != NULL, can_bring, err);
    if (status == 0)
        status = wire_receive(recruit->socket, &answer, err);
    if (status == 0 && !strcmp(wire_verb(&answer), HUTCH_KEEPER_WANTS_LAYER)) {
        wire_done(&answer);
        bring_layer(recruit, spec, record->id);
        status = wire_receive(recruit->socket, &answer, err);
    }
    recruit_dismiss(recruit);
    if (status < 0)
        return status;
    status = wire_check(&answer, err);
    wire_done(&answer);
    return status;
}
