/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_COPY_H
#define HUTCH_NATIVE_COPY_H

#include "hutch/sandbox.h"

/* Paths of the host are the caller's own words; paths inside are absolute, or relative to "/". */
int copy_in(struct hutch_sandbox *sandbox, const char *source, const char *target,
            hutch_skipped_fn on_skipped, void *userdata, struct hutch_error *err);
int copy_out(struct hutch_sandbox *sandbox, const char *source, const char *target,
             hutch_skipped_fn on_skipped, void *userdata, struct hutch_error *err);
int copy_archive_in(struct hutch_sandbox *sandbox, int archive, const char *target,
                    hutch_skipped_fn on_skipped, void *userdata, struct hutch_error *err);
int copy_archive_out(struct hutch_sandbox *sandbox, const char *source, int archive,
                     hutch_skipped_fn on_skipped, void *userdata, struct hutch_error *err);

#endif
