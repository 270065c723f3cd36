/* SPDX-License-Identifier: Apache-2.0 */
/* Why a request failed, as RFC 9457 has it. */
#ifndef HUTCH_SERVER_PROBLEM_H
#define HUTCH_SERVER_PROBLEM_H

#define PROBLEM_TYPE "application/problem+json"

/* Free it with free(); NULL when there is no memory. Bytes of the detail that are not UTF-8 are
 * replaced. */
char *problem_text(int status, const char *code, const char *detail, const char *request_id);

#endif
