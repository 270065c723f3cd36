/* SPDX-License-Identifier: Apache-2.0 */
/* A build by an engine. A porter does it, which loads the network's libraries; the request goes to
 * it as a message (native/wire.h), for arguments of a build are on nobody's command line, and what
 * comes back are the lines of its log and at last how it went. The porter ends, and with it the
 * build, when the other end of their socket is closed. */
#ifndef HUTCH_CONTAINER_BUILD_H
#define HUTCH_CONTAINER_BUILD_H

#include "image/build.h"

/* The caller's side, for hutch_backend_ops. */
int container_build(const char *backend, const struct build_request *request,
                    struct hutch_error *err) HUTCH_MUST_CHECK;

/* The porter's side: hears the request on the socket, does it, and tells there how it went. */
typedef int container_build_fn(const struct build_request *request, struct hutch_error *err);
int container_build_serve(int socket, container_build_fn *build,
                          struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
