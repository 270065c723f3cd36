/* SPDX-License-Identifier: Apache-2.0 */
#include "server/notify.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "server/util.h"

static void notify(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path ? strlen(path) : 0;
    if (!length || length >= sizeof(address.sun_path))
        return;
    memcpy(address.sun_path, path, length);
    if (*path == '@') /* a name that no directory has */
        address.sun_path[0] = '\0';
    server_autofd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}

void notify_ready(void)
{
    notify("READY=1");
}

void notify_stopping(void)
{
    notify("STOPPING=1");
}
