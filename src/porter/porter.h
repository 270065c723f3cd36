/* SPDX-License-Identifier: Apache-2.0 */
/* What the complete program is when it is started under another name. */
#ifndef HUTCH_PORTER_PORTER_H
#define HUTCH_PORTER_PORTER_H

#include <stdbool.h>

/* Has this program been started to be a porter (order.h)? */
bool porter_is_called(int argc, char *const *argv);
/* Then main() returns what this returns. */
int porter_main(int argc, char *const *argv);

#endif
