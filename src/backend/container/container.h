/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CONTAINER_CONTAINER_H
#define HUTCH_CONTAINER_CONTAINER_H

#include "backend/backend.h"

extern const struct hutch_backend_ops hutch_docker_backend;
extern const struct hutch_backend_ops hutch_oci_backend;

#endif
