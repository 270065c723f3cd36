/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CORE_SPEC_H
#define HUTCH_CORE_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "hutch/spec.h"
#include "util/strlist.h"

/* How the workspace enters: ro and rw are the directory itself, overlay and copy never touch it. */
enum hutch_workspace_mode {
    HUTCH_WORKSPACE_RW,
    HUTCH_WORKSPACE_RO,
    HUTCH_WORKSPACE_OVERLAY,
    HUTCH_WORKSPACE_COPY,
};

struct hutch_workspace {
    char *path; /* NULL: a private empty directory */
    enum hutch_workspace_mode mode;
};

struct hutch_mount {
    char *source;
    char *target;
    bool read_only;
};

struct hutch_tmpfs {
    char *target;
    uint64_t size_bytes;
};

struct hutch_mounts {
    struct hutch_mount *items;
    size_t count;
};

struct hutch_tmpfs_list {
    struct hutch_tmpfs *items;
    size_t count;
};

/* Sorted by key; a key appears once. */
struct hutch_map {
    struct hutch_map_entry {
        char *key;
        char *value;
    } * items;
    size_t count;
    size_t capacity;
};

/* A secret by its name, and where it goes: into exactly one of env, file and hosts. */
struct hutch_secret {
    char *name;
    char *env;                  /* variable that has the value */
    char *file;                 /* path inside of a file that has it */
    struct hutch_strlist hosts; /* "HOST[:PORT]": the value stays outside, in requests to these */
    char *header;               /* there: "Name: template", in which {} is the value */
    bool intercepts_tls;        /* there: inside TLS, which is intercepted; else in plain HTTP */
};

struct hutch_secrets {
    struct hutch_secret *items;
    size_t count;
};

/* Zero means "no limit" only where the field's table row allows it. */
struct hutch_limits {
    uint64_t memory_bytes;
    uint64_t cpus_milli;
    uint64_t pids;
    uint64_t disk_bytes;
    uint64_t inodes;
    uint64_t timeout_ms;
    uint64_t idle_timeout_ms;  /* 0: none */
    uint64_t output_bytes;     /* kept per stream */
    uint64_t output_max_bytes; /* 0: none; more than this on one stream ends the command */
    uint64_t open_files;
    uint64_t log_bytes;
};

/* Zero: none. */
struct hutch_egress_limits {
    uint64_t connections; /* at one time */
    uint64_t bytes;       /* in all, both ways */
    uint64_t rate_bytes;  /* per second, both ways together */
};

/* What only the operator gives, in the policy: no request may have it. */
struct hutch_egress_policy {
    struct hutch_strlist opened; /* ranges of addresses that are refused otherwise */
    char *proxy;                 /* "socks5://host:port" or "http://host:port" */
    char *login;                 /* name of the secret that has "user:password" for it */
};

struct hutch_policy;

/* For whom a request is decided. Borrowed; not part of what is written down. */
struct hutch_asker {
    struct hutch_policy *policy; /* NULL: the one that is found on the host */
    const char *tenant;          /* NULL: by the caller's uid */
};

/* Under which policy it was allowed. Where there is a digest, its paths on the host are resolved
 * and checked: from then on no link may stand on the way to one of them. */
struct hutch_decided {
    char *tenant; /* NULL: none */
    char *hash;   /* NULL: there is no policy */
    char *audit;  /* NULL: everything is recorded; "digest": of command lines the sum; "off" */
};

struct hutch_spec {
    struct hutch_strlist command;
    char *name;
    char *backend;   /* see core/isolation.h */
    char *runtime;   /* of backend oci; NULL: not given */
    char *isolation; /* "namespaces", "container", "gvisor"; NULL: not given */
    char *rootfs;
    char *image;
    char *pull; /* "always", "missing", "never" */
    struct hutch_strlist entrypoint;
    char *hostname;
    char *user;
    char *workdir;
    char *artifacts;
    struct hutch_workspace workspace;
    struct hutch_mounts mounts;
    struct hutch_tmpfs_list tmpfs;
    bool read_only; /* the root; not the directories that are the command's own */
    struct hutch_map env;
    struct hutch_strlist pass_env;
    struct hutch_strlist env_files;
    struct hutch_secrets secrets;
    bool redact; /* values of secrets are not passed on in output */
    struct hutch_map labels;
    struct hutch_strlist allow_missing;
    struct hutch_limits limits;
    struct hutch_strlist egress; /* rules as core/egress.h reads them */
    struct hutch_egress_limits egress_limits;
    struct hutch_egress_policy egress_policy;
    struct hutch_decided policy;
    struct hutch_asker asker;
    uint64_t ttl_ms;          /* 0: none */
    uint64_t max_lifetime_ms; /* 0: none */
    uint64_t set_fields; /* bit i: row i of hutch_fields() was given explicitly, not left at its
                            default */
};

/* hutch_spec_validate(), for what may do without a command too. */
/* Refuses a field that was given and would be ignored there. */
HUTCH_MUST_CHECK int hutch_spec_check_use(const struct hutch_spec *spec, enum hutch_use use,
                                          struct hutch_error *err);
HUTCH_MUST_CHECK int hutch_spec_check(const struct hutch_spec *spec, bool needs_command,
                                      struct hutch_error *err);

bool hutch_spec_audit_is(const struct hutch_spec *spec, const char *how);

/* Was this field asked for, rather than left at its default? */
bool hutch_spec_is_set(const struct hutch_spec *spec, const char *field);

/* Has it a network that a gateway serves? Also with an empty list that was asked for: names may be
 * added while it lives. */
bool hutch_spec_has_egress(const struct hutch_spec *spec);

/* Another name, or with NULL none. */
HUTCH_MUST_CHECK int hutch_spec_rename(struct hutch_spec *spec, const char *name,
                                       struct hutch_error *err);

/* For whoever fills a field in by other means than hutch_spec_set(). */
void hutch_spec_mark(struct hutch_spec *spec, const char *field, bool is_set);

/* Only what was given, as one JSON document of a size that can be read: parsed into a new spec, it
 * gives an equal one in which the same fields are set. Free it with free(). */
HUTCH_MUST_CHECK int hutch_spec_to_json_set(const struct hutch_spec *spec, char **ret_json,
                                            struct hutch_error *err);

/* The size of the writable layer: as asked for; by default it is never larger than the memory that
 * may hold it. */
uint64_t hutch_spec_disk_bytes(const struct hutch_spec *spec);

#endif
