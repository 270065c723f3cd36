/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "init/init.h"
#include "init/sys.h"

/* With everything that is missing on the way, symlinks of the image followed inside it. What is in
 * the way stays there: whoever enters the directory hears of it. */
int directory_make_inside(const struct sandbox *box, const struct init_step *step, const char *name)
{
    char path[4096];
    size_t length = strlen(name);
    if (length >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int parent = dup(box->root);
    for (size_t end = 0; parent >= 0 && end < length; end++) {
        size_t start = end;
        end += strcspn(name + end, "/");
        memcpy(path, name, end);
        path[end] = '\0';
        if (mkdirat(parent, path + start, step->mode) == 0 &&
            fchownat(parent, path + start, step->uid, step->gid, AT_SYMLINK_NOFOLLOW) < 0)
            break;
        close(parent);
        parent = target_open(box, path, O_PATH | O_DIRECTORY, false);
    }
    return parent < 0 ? -1 : close(parent);
}
