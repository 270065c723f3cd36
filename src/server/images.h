/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about images share. */
#ifndef HUTCH_SERVER_IMAGES_H
#define HUTCH_SERVER_IMAGES_H

#include "server/api.h"

/* May the caller use it? digest: NULL where it is not known. Fails the call itself. */
bool images_may_use(struct api_call *call, const char *reference, const char *digest);
/* Names are everybody's: who could give one to something else would choose what others run. So a
 * tenant cannot. Fails the call itself. */
bool images_may_change(struct api_call *call);
/* The image as `hutch_image_inspect()` tells it, when the caller may use it. Fails the call itself.
 * NULL: it did. */
json_t *images_inspect(struct api_call *call, const char *reference);
/* ImageDone. status: "pulled", ...; log: taken, or NULL for an empty one. */
json_t *images_done(const char *reference, const char *status, json_t *log);

/* images_work.c: what the hutch program does. */
void images_pull(struct api_call *call);
void images_push(struct api_call *call);
void images_build(struct api_call *call);
void images_import(struct api_call *call);
void images_load(struct api_call *call);
void images_save(struct api_call *call);
void images_export(struct api_call *call);

#endif
