/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_HUTCH_H
#define HUTCH_HUTCH_H

#include "hutch/egress.h"
#include "hutch/error.h"
#include "hutch/files.h"
#include "hutch/host.h"
#include "hutch/policy.h"
#include "hutch/result.h"
#include "hutch/run.h"
#include "hutch/sandbox.h"
#include "hutch/secret.h"
#include "hutch/spec.h"

#endif
