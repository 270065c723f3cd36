/* SPDX-License-Identifier: Apache-2.0 */
/* What the default root shows: files made up for the sandbox instead of the host's own. */
#ifndef HUTCH_NATIVE_HOST_ROOT_H
#define HUTCH_NATIVE_HOST_ROOT_H

#define HOST_ROOT_PASSWD                         \
    "root:x:0:0:root:/root:/bin/sh\n"            \
    "user:x:1000:1000:user:/home/user:/bin/sh\n" \
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
#define HOST_ROOT_GROUP \
    "root:x:0:\n"       \
    "tty:x:5:\n"        \
    "user:x:1000:\n"    \
    "nogroup:x:65534:\n"

#endif
