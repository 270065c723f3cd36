/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_NATIVE_H
#define HUTCH_NATIVE_NATIVE_H

#include "backend/backend.h"

extern const struct hutch_backend_ops hutch_native_backend;

#endif
