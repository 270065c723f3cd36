/* SPDX-License-Identifier: Apache-2.0 */
/* What requests may not exceed. A policy is one file or two: the host's own, which nobody gets
 * around, and the caller's, which can only narrow it. Each has rules for everybody and rules for
 * tenants; what a tenant's section says takes the place of what is said for everybody, rule by
 * rule. A request is held against the first file and then against the second: what comes out is
 * allowed by both.
 *
 * Nothing here looks at the host: files are found and read in src/libhutch. */
#ifndef HUTCH_CORE_POLICY_H
#define HUTCH_CORE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/spec_over.h"
#include "util/strlist.h"

#define POLICY_FIELDS 64 /* as many as set_fields has bits */
#define POLICY_FILES 2
#define POLICY_HASH_BYTES 65 /* SHA-256 in hexadecimal digits */

/* A quantity that was given. */
struct policy_limit {
    uint64_t value;
    unsigned line; /* 0: not given */
    bool is_none;  /* given as "none": there is no such limit */
};

/* Everything that can be listed. A list that was given and is empty allows nothing; one that was
 * not given says nothing. */
#define POLICY_LISTS(X)                                                                        \
    X(IMAGES, "images",                                                                        \
      "images that may be used: names, in which * stands for anything in "                     \
      "one part and ** for any parts, and digests")                                            \
    X(BACKENDS, "backends", "backends that may be used; the first where none is asked for")    \
    X(ISOLATION, "isolation", "levels of isolation that may be used")                          \
    X(READ, "mounts.read", "directories below which the host's files may be seen")             \
    X(WRITE, "mounts.write", "directories below which the host's files may be written")        \
    X(HOSTS, "egress.hosts", "hosts that may be reached, as rules of egress")                  \
    X(RANGES, "egress.ranges", "networks that are opened though they are private")             \
    X(SECRETS, "secrets", "secrets that may be used, by name, in which * stands for anything") \
    X(LABELS, "required_labels", "labels that a sandbox must have: KEY or KEY=VALUE")          \
    X(MISSING, "allow_missing", "limits that may be missing though they have a ceiling")

enum policy_list_kind {
#define X(id, name, doc) POLICY_##id,
    POLICY_LISTS(X)
#undef X
        POLICY_LIST_KINDS,
};

struct policy_entry {
    char *text;
    unsigned line;
    unsigned deliveries; /* of a secret: bits of enum policy_delivery, 0: any */
};

/* The ways in which a secret gets to where it is needed. */
enum policy_delivery { POLICY_ENV = 1, POLICY_FILE = 2, POLICY_EDGE = 4 };

struct policy_list {
    unsigned line; /* 0: not given */
    struct policy_entry *items;
    size_t count;
};

/* What is added up over the living sandboxes of a tenant. */
#define POLICY_TOTALS(X)             \
    X(SANDBOXES, "sandboxes", COUNT) \
    X(MEMORY, "memory", SIZE)        \
    X(CPUS, "cpus", CPUS)            \
    X(PIDS, "pids", COUNT)           \
    X(DISK, "disk", SIZE)

enum policy_total {
#define X(id, name, quantity) POLICY_TOTAL_##id,
    POLICY_TOTALS(X)
#undef X
        POLICY_TOTAL_COUNT,
};

/* A text that was given. */
struct policy_text {
    char *text;
    unsigned line; /* 0: not given */
};

struct policy_rules {
    struct policy_limit defaults[POLICY_FIELDS]; /* by the fields' numbers */
    struct policy_limit ceilings[POLICY_FIELDS];
    struct policy_limit totals[POLICY_TOTAL_COUNT];
    struct policy_list lists[POLICY_LIST_KINDS];
    struct policy_text on_exceed;    /* "refuse" or "clamp" */
    struct policy_text read_only;    /* "required" or "optional" */
    struct policy_text proxy;        /* "socks5://host:port" or "http://host:port" */
    struct policy_text proxy_secret; /* whose value is "user:password" */
    struct policy_text audit;        /* "on" or "off" */
    struct policy_text audit_argv;   /* "full" or "digest" */
    struct policy_limit audit_retention;
};

struct policy_tenant {
    char *name;
    unsigned line;
    uint32_t *uids;
    size_t uid_count;
    struct policy_rules rules;
};

struct policy_file {
    char *path;
    char hash[POLICY_HASH_BYTES];
    struct policy_rules everybody;
    struct policy_tenant *tenants;
    size_t tenant_count;
};

/* The document's text; path is for messages. Unknown keys, duplicate ones and everything that has
 * no meaning are errors that name the line. */
HUTCH_MUST_CHECK int policy_file_parse(const char *path, const char *text, size_t length,
                                       enum hutch_format format, struct policy_file **ret_file,
                                       struct hutch_error *err);
void policy_file_free(struct policy_file *file);

/* ---- whose rules ---- */

/* Who asks: by the name of a tenant, or where that is NULL by uid. */
struct policy_subject {
    const char *tenant;
    uint32_t uid;
};

struct policy_layer {
    const struct policy_file *file;
    const struct policy_tenant *tenant; /* NULL: the rules for everybody alone */
};

/* What holds for one subject. Borrows from the files. */
struct policy_view {
    struct policy_layer layers[POLICY_FILES];
    size_t count;
    const char *tenant; /* NULL: none */
};

/* Fails for a tenant by name that no file knows. */
HUTCH_MUST_CHECK int policy_view_init(struct policy_view *view,
                                      struct policy_file *const files[POLICY_FILES],
                                      const struct policy_subject *subject,
                                      struct hutch_error *err);

const struct policy_limit *policy_default(const struct policy_layer *layer, size_t field);
const struct policy_limit *policy_ceiling(const struct policy_layer *layer, size_t field);
const struct policy_limit *policy_total(const struct policy_layer *layer, enum policy_total total);
/* NULL: not given. */
const struct policy_list *policy_list(const struct policy_layer *layer, enum policy_list_kind kind);
/* offset: of a struct policy_text in struct policy_rules. NULL: not given. */
const struct policy_text *policy_text(const struct policy_layer *layer, size_t offset);
#define POLICY_TEXT(layer, member) policy_text(layer, offsetof(struct policy_rules, member))
const struct policy_limit *policy_retention(const struct policy_layer *layer);
bool policy_clamps(const struct policy_layer *layer);

const char *policy_list_name(enum policy_list_kind kind);
const char *policy_total_name(enum policy_total total);

#define POLICY_DELIVERY_BYTES 32
void policy_delivery_names(unsigned bits, char text[POLICY_DELIVERY_BYTES]);

/* The network beyond a sandbox's egress rules: what the operator opened, and the way out. */
HUTCH_MUST_CHECK int policy_ranges(const struct policy_view *view, struct hutch_strlist *ranges,
                                   struct hutch_error *err);
const char *policy_proxy(const struct policy_view *view, const char **ret_secret);

/* What is to be recorded. A caller's own file can add to it, never take away. */
struct policy_audit {
    bool is_off;
    bool argv_is_digest;
    uint64_t retention_ms; /* 0: not given */
};
struct policy_audit policy_audit(const struct policy_view *view);

/* ---- decisions ---- */

/* A request: its spec becomes what is decided. The paths in it are resolved already. */
struct policy_request {
    struct hutch_spec_over *over;
    uint64_t asked;     /* bit i: field i was asked for, not left at its default */
    enum hutch_use use; /* of an update only what was asked for is held against the policy */
    struct hutch_strlist *told; /* gains a sentence for each value that was clamped */
};

HUTCH_MUST_CHECK int policy_decide(const struct policy_view *view,
                                   const struct policy_request *request, struct hutch_error *err);

/* The parts of it, each in a file of its own. */
HUTCH_MUST_CHECK int policy_decide_limits(const struct policy_view *view,
                                          const struct policy_request *request,
                                          struct hutch_error *err);
HUTCH_MUST_CHECK int policy_decide_backend(const struct policy_view *view,
                                           const struct policy_request *request,
                                           struct hutch_error *err);
HUTCH_MUST_CHECK int policy_decide_root(const struct policy_view *view,
                                        const struct policy_request *request,
                                        struct hutch_error *err);
HUTCH_MUST_CHECK int policy_decide_network(const struct policy_view *view,
                                           const struct policy_request *request,
                                           struct hutch_error *err);
HUTCH_MUST_CHECK int policy_check_places(const struct policy_view *view,
                                         const struct hutch_spec *spec, struct hutch_error *err);
/* A path of the host's that something is written to later than its sandbox was made. */
HUTCH_MUST_CHECK int policy_check_write(const struct policy_view *view, const char *what,
                                        const char *path, struct hutch_error *err);
HUTCH_MUST_CHECK int policy_check_labels(const struct policy_view *view,
                                         const struct hutch_spec *spec, struct hutch_error *err);
HUTCH_MUST_CHECK int policy_check_secrets(const struct policy_view *view,
                                          const struct hutch_spec *spec, struct hutch_error *err);
HUTCH_MUST_CHECK int policy_check_missing(const struct policy_view *view,
                                          const struct hutch_spec *spec, struct hutch_error *err);

/* A time that is no field of a spec, such as that of one command. 0 is none. */
HUTCH_MUST_CHECK int policy_decide_timeout(const struct policy_view *view, uint64_t *timeout_ms,
                                           struct hutch_error *err);

/* An image: "docker.io/library/python"; tag and digest may be NULL, but not both. A
 * tag that a caller wrote beside a digest means nothing and is NULL here. */
HUTCH_MUST_CHECK int policy_check_image(const struct policy_view *view, const char *name,
                                        const char *tag, const char *digest,
                                        struct hutch_error *err);
/* Might each layer allow it, by its name or with the right digest? Then the digest has to be known.
 */
bool policy_awaits_digest(const struct policy_view *view, const char *name, const char *tag);
bool policy_image_matches(const char *pattern, const char *name, const char *tag,
                          const char *digest);
/* Is it a pattern or a digest at all? */
int policy_check_image_pattern(char *text, struct hutch_error *err);

/* '*' stands for any characters but those of stops; "**" for any. */
bool policy_glob(const char *pattern, const char *text, const char *stops);

/* used: what the tenant's other living sandboxes have. */
bool policy_has_totals(const struct policy_view *view);
void policy_add_up(uint64_t used[POLICY_TOTAL_COUNT], const struct hutch_spec *spec);
HUTCH_MUST_CHECK int policy_check_totals(const struct policy_view *view,
                                         const uint64_t used[POLICY_TOTAL_COUNT],
                                         const struct hutch_spec *spec, struct hutch_error *err);

/* "rule 'images' (/etc/hutch/policy.yml:12)" is how every refusal ends. */
HUTCH_MUST_CHECK int policy_refuse(const struct policy_layer *layer, unsigned line,
                                   const char *rule, struct hutch_error *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#endif
