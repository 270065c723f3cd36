/* SPDX-License-Identifier: Apache-2.0 */
/* Tells systemd, where that is who started us, as sd_notify(3) says. */
#ifndef HUTCH_SERVER_NOTIFY_H
#define HUTCH_SERVER_NOTIFY_H

void notify_ready(void);
void notify_stopping(void);

#endif
