/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_DOCTOR_H
#define HUTCH_NATIVE_DOCTOR_H

#include "hutch/host.h"

/* Examines the machine by trying things, not by reading version numbers. Whatever a trial makes is
 * gone when it returns. A check fails when a plain 'hutch run' would not work because of it. */
int hutch_native_doctor(hutch_check_fn on_check, void *userdata, struct hutch_error *err);

#endif
