/* SPDX-License-Identifier: Apache-2.0 */
/* What hutch-copy says about single files, through the pipe of the data: records, each followed by
 * a name and a link's target, and of a file that is read its bytes. What it hears of a file that is
 * written: pieces, each after its length, and a length of 0 when that was all. A stream that ends
 * without one was cut, and there will be no file. */
#ifndef HUTCH_COPY_ENTRY_H
#define HUTCH_COPY_ENTRY_H

#include <stdint.h>

#define COPY_NAME_BYTES 4096u /* the most of a name or a target */
#define COPY_PIECE_BYTES (UINT32_C(256) << 10)
#define COPY_NOWHERE UINT64_MAX /* start of a range that the file does not have */

struct copy_entry {
    uint32_t mode;
    uint32_t uid;
    uint32_t gid;
    uint32_t name_length;
    uint32_t target_length;
    uint32_t unused;
    uint64_t size;
    int64_t mtime_ns;
    uint64_t start; /* of a file that is read: which of its bytes follow */
    uint64_t length;
};

#endif
