/* SPDX-License-Identifier: Apache-2.0 */
/* One request, held against the policy. Every entry point that makes something of a spec begins
 * with one, and keeps it until what it made is over. Where there is no policy, the spec stays what
 * it is and nothing else happens. */
#ifndef HUTCH_LIBHUTCH_DECISION_H
#define HUTCH_LIBHUTCH_DECISION_H

#include "backend/native/sandbox.h"
#include "image/use.h"
#include "libhutch/policy_set.h"
#include "util/own.h"

struct decision {
    const char *verb;       /* what was asked for: "run", "create", ... */
    struct policy_set *set; /* NULL: there is no policy */
    struct policy_view view;
    bool by_uid;
    bool is_noted;               /* what was made smaller is on record */
    struct hutch_spec_over over; /* of a decided spec */
    struct hutch_strlist told;   /* what was made smaller */
    int ledger;                  /* locked: nobody else of ours is being counted */
    int claims;                  /* the directory with the claims of runs */
    int claim;                   /* locked as long as the run lives */
    char claim_name[40];
};

#define DECISION_INIT                                                      \
    {                                                                      \
        .ledger = HUTCH_NO_FD, .claims = HUTCH_NO_FD, .claim = HUTCH_NO_FD \
    }

/* Takes the policy that holds for the asker. */
HUTCH_MUST_CHECK int decision_begin(struct decision *decision, const char *verb,
                                    const struct hutch_asker *asker, struct hutch_error *err);
void decision_done(struct decision *decision);

/* What is to be made of the spec; the spec itself where there is no policy. asked: as in
 * struct policy_request. */
HUTCH_MUST_CHECK int decision_make(struct decision *decision, const struct hutch_spec *spec,
                                   uint64_t asked, enum hutch_use use,
                                   const struct hutch_spec **ret_spec, struct hutch_error *err);
/* Makes that the spec. */
void decision_commit(struct decision *decision, struct hutch_spec *spec);
/* Notes under which policy it was allowed. */
HUTCH_MUST_CHECK int decision_sign(struct decision *decision, struct hutch_error *err);

/* Records a refusal, and what was made smaller. Returns the status, or a failure to record. */
HUTCH_MUST_CHECK int decision_note(struct decision *decision, int status, struct hutch_error *err);

/* decision_image.c: by its name, before anything is fetched. is_pinned: hutch itself has put the
 * digest behind the name, so the tag still tells what was asked for. */
HUTCH_MUST_CHECK int decision_image(const struct decision *decision, const struct hutch_spec *spec,
                                    bool is_pinned, struct hutch_error *err);
/* The same where nothing will be opened: what only a digest allows has to be in the store. */
HUTCH_MUST_CHECK int decision_unopened_image(const struct decision *decision,
                                             const struct hutch_spec *spec,
                                             struct hutch_error *err);
/* And by its digest, once that is known. */
HUTCH_MUST_CHECK int decision_opened_image(const struct decision *decision,
                                           const struct hutch_spec *spec,
                                           const struct image_use *image, struct hutch_error *err);

/* An image that is to be fetched: by its name, or by a digest that it is asked for with. */
HUTCH_MUST_CHECK int decision_pull(const struct decision *decision, const char *reference,
                                   struct hutch_error *err);

/* The image of a named sandbox, before anything is built for it. Its digest comes of the build, so
 * that only its name can allow it. A refusal is recorded. */
HUTCH_MUST_CHECK int decision_build(const struct hutch_spec *spec, const char *reference,
                                    struct hutch_error *err);

/* One that is known by its name and by what that leads to. digest: NULL where that is not known. */
HUTCH_MUST_CHECK int decision_known_image(const struct decision *decision, const char *reference,
                                          const char *digest, struct hutch_error *err);

/* decision_backend.c: the one that a sandbox of this spec will have, which a policy may choose, for
 * what has to be there before. HUTCH_E_PERMISSION: the policy allows none that was asked for. */
HUTCH_MUST_CHECK int decision_backend(const struct hutch_spec *spec, const char **ret_backend,
                                      struct hutch_error *err);

/* decision_paths.c: the paths on the host, resolved. */
HUTCH_MUST_CHECK int decision_paths(struct hutch_spec_over *over, struct hutch_error *err);

/* decision_totals.c: holds the ledger until the decision is done, and refuses what would be too
 * much together with the others. except: the id of a sandbox that is not counted, NULL for none. */
HUTCH_MUST_CHECK int decision_count(struct decision *decision, const struct hutch_spec *spec,
                                    const char *except, struct hutch_error *err);
/* The same for a run, which leaves a claim for the time it lives instead. */
HUTCH_MUST_CHECK int decision_claim(struct decision *decision, const struct hutch_spec *spec,
                                    struct hutch_error *err);
void decision_unclaim(struct decision *decision);

/* decision_of.c: what each kind of request takes. The spec of a sandbox that is to be made is
 * completed on the way. */
HUTCH_MUST_CHECK int decision_of_new(struct decision *decision, struct hutch_spec *spec,
                                     struct hutch_error *err);
/* Writes into the spec under which policy it was allowed. */
HUTCH_MUST_CHECK int decision_signed(struct decision *decision, struct hutch_spec *spec,
                                     struct hutch_error *err);
/* The spec of a sandbox that is there, to live again or a second time, and counted: except is the
 * id of one that is not. */
HUTCH_MUST_CHECK int decision_of_old(struct decision *decision, struct hutch_spec *spec,
                                     const char *except, struct hutch_error *err);
HUTCH_MUST_CHECK int decision_of_start(struct decision *decision, struct hutch_sandbox *sandbox,
                                       struct hutch_error *err);
/* Options become own, which has what they have, where the policy changes them. */
HUTCH_MUST_CHECK int decision_of_command(const struct hutch_sandbox *sandbox,
                                         const struct hutch_exec_options **options,
                                         struct hutch_exec_options *own, struct hutch_error *err);
/* Changes that a sandbox has made to its copy of the workspace get into the workspace itself. */
HUTCH_MUST_CHECK int decision_of_apply(struct hutch_sandbox *sandbox, struct hutch_error *err);
/* Adds to the message for the keeper what is left of the changes. */
HUTCH_MUST_CHECK int decision_of_update(struct decision *decision, struct hutch_sandbox *sandbox,
                                        size_t count, const char *const *fields,
                                        const char *const *texts, struct wire_message *request,
                                        struct hutch_error *err);

#endif
