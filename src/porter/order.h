/* SPDX-License-Identifier: Apache-2.0 */
/* What a keeper and its porter say to each other.
 *
 * A porter is a process that makes one container in an engine (Docker, an OCI runtime), lives as
 * long as it and takes it away. It is a hutch program under the name PORTER_NAME: the complete one
 * where an engine is spoken to over a network library, which neither the library nor the small
 * program loads, and the small one otherwise. To its keeper it looks like PID 1: the keeper's
 * messages go in at PORTER_SOCKET_FD, PID 1's reports come out there. When the keeper dies the
 * porter reads end-of-file and ends the container; when the porter dies, PID 1 reads end-of-file
 * and ends itself, and what the engine keeps is found by its labels.
 *
 * Both are built together: structs travel as they are. */
#ifndef HUTCH_PORTER_ORDER_H
#define HUTCH_PORTER_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/promise.h"
#include "core/spec.h"
#include "hutch/result.h"
#include "init/protocol.h"
#include "util/error.h"

#define PORTER_NAME "hutch-porter"
#define PORTER_SOCKET_FD 3  /* SOCK_SEQPACKET: init/protocol.h and the reports below */
#define PORTER_CONTROL_FD 4 /* SOCK_SEQPACKET: questions, each with its answer */

/* Started as "hutch-porter VERB BACKEND [WORD]". Verbs other than keep and build exit with 0, or
 * write one sentence to standard error and exit with hutch_code_exit_status(). */
#define PORTER_VERB_KEEP "keep"   /* a container for a keeper, see below */
#define PORTER_VERB_YAML "yaml"   /* YAML on standard input, JSON on standard output; no BACKEND */
#define PORTER_VERB_BUILD "build" /* an image, see backend/container/build.h */
#define PORTER_VERB_PROBE "probe" /* writes a struct porter_probe to standard output */
#define PORTER_VERB_REMOVE                                                 \
    "remove" /* ID: the container of a sandbox that is to be gone; none is \
                fine */
#define PORTER_VERB_SWEEP                                                   \
    "sweep" /* [dry]: containers whose owner is gone; a line for each: kind \
               TAB what */
#define PORTER_VERB_DOCTOR                                                 \
    "doctor" /* a line for each check: name TAB status TAB text TAB remedy \
              */

/* Reports beside those of init/protocol.h, from the porter itself. The descriptor that comes along
 * is a memory file that holds the struct. */
enum porter_report {
    PORTER_READY = 100, /* struct porter_ready; instead of INIT_READY. Then what is written into
                           memory, where that is to be kept. */
    PORTER_FAILED,      /* struct hutch_error: why there is no container, or none any more */
    PORTER_ENDED,       /* struct porter_end; then an open directory when artifacts were asked for.
                           The last report. */
    PORTER_BUSY,        /* nothing: what is copied out at its end takes its time */
};
/* From the keeper: end it, at once, whatever runs; value PORTER_END_KEEPS: what it has written is
 * kept for a later start. Without this message (the keeper has died, or PID 1 has) a sandbox that
 * stays is kept, a run is not. The porter ends when the container has, with the status 0 when
 * nothing is left that was not to be kept. */
#define PORTER_END 110
#define PORTER_END_KEEPS 1

/* The first message on the socket, see backend/container/order.h. */
struct porter_order {
    char backend[16];
    char runtime[32]; /* of backend oci: "runc", "crun", "runsc"; empty: the usual one */
    char id[33];      /* of the sandbox: the container is "hutch-ID" */
    char name[72];    /* empty: a run */
    bool one_shot;    /* nothing is kept of it */
    bool is_there;    /* start the container that was stopped */
    bool has_ids;     /* the keeper knows who its processes are; else hutch-init tells (frame.h) */
    uint32_t uid;
    uint32_t gid;
    uint32_t first_host_id; /* of backend oci: STATE_IDS_PER_SLOT ids of the host that nobody else
                               has begin here; 0: there are none */
    hutch_promise_set missing; /* not sent: the porter begins with container_ops.probe() and fills
                                  this in by hutch_promises_settle(), which refuses */
    struct hutch_spec *spec;   /* without its command and variables: those go to PID 1 alone. Paths
                                  are absolute, and the image of backend oci is named by its digest
                                */
    char layer[512];  /* host directory for what is written, of backend oci; empty: in memory */
    bool has_egress;  /* the container's network is one in which sockets are planted */
    int plant;        /* then: PID 1's end of the way to the gateway (init/plant.h); else negative.
                         Whoever receives it owns it. */
    char *authority;  /* certificate that is to be trusted inside; NULL: none */
    int memory_layer; /* there: what it had written when it was stopped, as container_ops told it;
                         negative: nothing. Whoever receives it owns it. */
};

/* Who its processes are, and what its image says: nobody but the engine knows. */
struct porter_ready {
    uint32_t uid; /* never 0 where the engine maps no ids: then there is no container */
    uint32_t gid;
    char home[256];
    hutch_promise_set missing; /* limits that nothing enforces, each allowed by the order */
    uint32_t
        config_length; /* of the image's configuration, an OCI document, which follows; 0: none */
};

#define PORTER_PLACE_BYTES 512

/* How a container ended, from the engine's own counters. */
struct porter_end {
    struct hutch_usage usage;
    uint64_t oom_kills;
    uint64_t pids_refused;
    bool disk_full;
    bool has_cpu;
    struct hutch_error error;       /* why not everything came out of it; code 0: it did */
    char place[PORTER_PLACE_BYTES]; /* where the directory of artifacts is, to be removed by the
                                       keeper; empty: nowhere */
};

struct porter_probe {
    struct hutch_error error; /* code 0: the engine is there */
    hutch_promise_set enforces;
    char why[256];
    char version[64]; /* of the engine */
};

enum porter_question_kind { PORTER_PAUSE = 1, PORTER_RESUME, PORTER_UPDATE, PORTER_STATS };

struct porter_question {
    uint32_t kind;
    struct hutch_limits limits; /* PORTER_UPDATE */
};

struct porter_answer {
    struct hutch_error error; /* code 0: done */
    struct hutch_usage usage; /* PORTER_STATS */
    uint64_t oom_kills;
    uint64_t pids_refused;
    uint64_t memory_bytes; /* UINT64_MAX: not known; so the next two */
    uint64_t pids;
    uint64_t disk_bytes;
};

#endif
