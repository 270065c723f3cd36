/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_UTIL_REMOVE_TREE_H
#define HUTCH_UTIL_REMOVE_TREE_H

/* rm -rf of a directory that nobody writes to any more, however deep whoever made it has nested it,
 * and also where its directories deny their owner. Follows no symbolic link. Returns 0, or -1 with
 * errno. */
int remove_tree(int parent, const char *name);

#endif
