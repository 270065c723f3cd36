/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of images, templates, the audit and the daemon itself. */
#include "server/schemas.h"

static const struct schema_property problem[] = {
    {"type", "string", "about:blank.", false},
    {"title", "string", "The status in words.", false},
    {"status", "integer", "The status.", false},
    {"detail", "string", "One sentence: what went wrong, and the remedy where one is known.",
     false},
    {"code", "string", "A stable word such as not_found.", false},
    {"instance", "string", "The id of the request.", false},
    {0},
};

static const struct schema_property image[] = {
    {"reference", "string", "Its whole name.", false},
    {"name", "string", "Its name, as short as people write it.", false},
    {"digest", "string", "Of its manifest.", false},
    {"platform", "string", "Operating system and processor.", false},
    {"created", "string?", "When it was made.", false},
    {"layers", "integer", "How many it has.", false},
    {"bytes", "integer", "Of its layers, as they travel.", false},
    {"changed_us", "integer", "When the name was given to it: microseconds since 1970.", false},
    {0},
};

static const struct schema_property image_list[] = {
    {"images", "[Image]", "In the order of their names.", false},
    {0},
};

static const struct schema_property layer[] = {
    {"digest", "string", "As it travels.", false},
    {"diff_id", "string?", "Unpacked.", false},
    {"media_type", "string?", "How it is packed.", false},
    {"size", "integer", "Bytes, as it travels.", false},
    {0},
};

static const struct schema_property image_detail[] = {
    {"references", "[string]", "Its names.", false},
    {"digest", "string", "Of its manifest.", false},
    {"config_digest", "string", "Of its configuration.", false},
    {"os", "string?", "The operating system it is for.", false},
    {"architecture", "string?", "The processor it is for.", false},
    {"variant", "string?", "Of the processor.", false},
    {"created", "string?", "When it was made.", false},
    {"bytes", "integer", "Of its layers, as they travel.", false},
    {"layers", "[Layer]", "The lowest first.", false},
    {"config", "object", "Its configuration, as its maker wrote it.", false},
    {0},
};

static const struct schema_property image_done[] = {
    {"reference", "string", "The image.", false},
    {"digest", "string?", "Of its manifest, where it is known.", false},
    {"status", "string", "pulled, pushed, built, tagged, removed, imported or loaded.", false},
    {"log", "[string]", "What was said about it, a line each; empty at the end of a stream.",
     false},
    {"references", "[string]", "Of an archive: the names of everything that was in it.", true},
    {0},
};

static const struct schema_property pruned_item[] = {
    {"kind", "string", "What it was: a name, a layer, a blob, ...", false},
    {"name", "string", "Which.", false},
    {0},
};

static const struct schema_property images_pruned[] = {
    {"items", "[PrunedItem]", "What was removed.", false},
    {"bytes", "integer", "How much room that took.", false},
    {"dry_run", "boolean", "Nothing was removed: it only would have been.", false},
    {0},
};

static const struct schema_property health[] = {
    {"status", "string", "ok.", false},
    {0},
};

static const struct schema_property readiness[] = {
    {"ready", "boolean", "Sandboxes can be made here, now.", false},
    {"reasons", "[string]", "Why not: draining, or a check of 'hutch doctor' by its name.", false},
    {0},
};

static const struct schema_property template[] = {
    {"name", "string", "Its name.", false},
    {"dockerfile", "boolean", "An image is built of it when it is first used.", false},
    {"spec", "boolean", "It has fields of a spec.", false},
    {0},
};

static const struct schema_property template_list[] = {
    {"templates", "[Template]", "In the order of their names.", false},
    {0},
};

static const struct schema_property events[] = {
    {"events", "[object]", "As they were written, in the order in which they happened.", false},
    {"next", "integer?", "Where to go on with from=, when there are more.", false},
    {0},
};

static const struct schema_property fault[] = {
    {"seq", "integer", "Of the event, or of where it would be.", false},
    {"where", "string", "The file, and the line in it.", false},
    {"what", "string", "Half a sentence.", false},
    {0},
};

static const struct schema_property verified[] = {
    {"ok", "boolean", "Everything is as it was written.", false},
    {"events", "integer", "How many were looked at.", false},
    {"removed", "integer", "Events before them, whose time was over.", false},
    {"last_seq", "integer", "The last event.", false},
    {"last_hash", "string", "Its hash.", false},
    {"faults", "[AuditFault]", "What does not fit.", false},
    {0},
};

static const struct schema_property usage_sum[] = {
    {"group", "string", "The label's value, the user's number, ...; empty where there is none.",
     false},
    {"runs", "integer", "Runs, and lives of sandboxes.", false},
    {"cpu_seconds", "number", "Processor time.", false},
    {"memory_mib_seconds", "number", "The highest use of each, times how long it lived.", false},
    {"egress_bytes", "integer", "Both ways.", false},
    {0},
};

static const struct schema_property usage[] = {
    {"by", "string", "What it is added up by.", false},
    {"usage", "[UsageSum]", "In the order of the groups.", false},
    {0},
};

const struct schema schemas_of_host[] = {
    {"Problem", "Why a request failed (RFC 9457).", problem},
    {"Image", "An image that is here.", image},
    {"ImageList", "Images.", image_list},
    {"Layer", "A layer of an image.", layer},
    {"ImageDetail", "Everything about an image.", image_detail},
    {"ImageDone", "What was done with an image.", image_done},
    {"PrunedItem", "Something that no name led to.", pruned_item},
    {"ImagesPruned", "What a prune removed.", images_pruned},
    {"Health", "The daemon answers.", health},
    {"Readiness", "Whether it is worth asking for sandboxes.", readiness},
    {"Template", "A named sandbox.", template},
    {"TemplateList", "Templates.", template_list},
    {"Events", "Events of the audit.", events},
    {"AuditFault", "Something in the audit that does not fit.", fault},
    {"AuditVerified", "Whether the audit is as it was written.", verified},
    {"UsageSum", "What a group has used.", usage_sum},
    {"Usage", "What runs and sandboxes that have ended used.", usage},
    {0},
};
