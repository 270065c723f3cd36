/* SPDX-License-Identifier: Apache-2.0 */
/* A container made by the smallest engine there is (unshare_engine.c), a real porter in a process
 * of its own, and this test as its keeper. */
#ifndef HUTCH_TESTS_PORTER_BOX_H
#define HUTCH_TESTS_PORTER_BOX_H

#include "../unit/unit.h"

#include <sys/types.h>

#include "porter/order.h"

#define BOX_PATIENCE_MS 20000

struct box {
    int socket; /* where the porter is PID 1 */
    int control;
    pid_t porter;
    uint32_t last_session;
    struct porter_ready ready;
};

void box_start(struct box *box, bool one_shot);
/* PORTER_END; its exit status. */
int box_end(struct box *box);
/* Waits for the porter's end; its exit status. */
int box_wait(struct box *box);

struct command {
    const char *const *argv;
    const char *const *env; /* NULL: just PATH */
    int fds[3];             /* they stay the caller's; negative: /dev/null */
    int program;            /* 0: none */
    bool terminal;
    bool one_shot;
    uint16_t rows;
    uint16_t columns;
};

/* Its number. */
uint32_t box_spawn(struct box *box, const struct command *command);
void box_send(struct box *box, uint32_t type, uint32_t session, int value);
/* The next report, whatever it is; its descriptor or -1. */
struct init_message box_hear(struct box *box, int *ret_fd);
/* The next report, which has this type and is about this command. */
struct init_message box_expect(struct box *box, uint32_t type, uint32_t session, int *ret_fd);
/* Runs a shell script with its output in a pipe and reads all of it; the wait status. */
int box_run(struct box *box, const char *script, char *output, size_t size);

/* Reads until the end of the file, or as much as there is room for. */
size_t read_all(int fd, char *data, size_t size);
/* A pipe whose ends are not inherited. */
void make_pipe(int ends[2]);
double now_seconds(void);

#endif
