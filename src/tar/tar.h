/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of a copy between a sandbox and its host, with a tar stream in a pipe between
 * them.
 *
 * One half runs inside, as a child of hutch-init: in the sandbox's namespaces, with its user's
 * rights, behind its filter. The other runs on the host and believes nothing that comes from
 * inside. Which half packs and which unpacks depends on the direction; the code is the same.
 *
 * Neither half ever follows a symlink beneath the directory it was given: names are walked one
 * component at a time with O_NOFOLLOW (openat2 is not there behind the sandbox's filter), and what
 * was opened is judged by its descriptor. File content goes through memory instead of being
 * spliced: a pipe into a sandbox must not hold references to the host's page cache.
 *
 * The stream is POSIX pax, which GNU tar, bsdtar and Python read. The unpacker also reads v7,
 * ustar, GNU long names and every GNU sparse format.
 *
 * Memory is bounded by the ceilings, not by the size of what is copied. Who writes to a pipe whose
 * reader may go away has to ignore SIGPIPE. Nothing here is a global: threads may run halves side
 * by side. */
#ifndef HUTCH_TAR_TAR_H
#define HUTCH_TAR_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TAR_DEFAULT_DEPTH 4096u
#define TAR_DEFAULT_NAME_BYTES (1u << 20)

/* What went wrong, with the sentence's beginning; the path and strerror(os_errno) follow it. */
#define TAR_FAILURES(X)                                                    \
    X(FINE, "nothing went wrong")                                          \
    X(OPTIONS, "the options contradict each other")                        \
    X(MEMORY, "out of memory")                                             \
    X(SOURCE, "cannot read")                                               \
    X(KIND, "neither a file, a directory nor a symlink")                   \
    X(CHANGED, "a directory was moved while it was being copied")          \
    X(STREAM, "cannot pass the archive on")                                \
    X(TARGET, "cannot write")                                              \
    X(TRUNCATED, "the archive ends in the middle")                         \
    X(CHECKSUM, "the archive has a header with a wrong checksum")          \
    X(MALFORMED, "the archive has a header that makes no sense")           \
    X(NAME, "the archive has a name that leaves the target, or is empty")  \
    X(THROUGH_LINK, "the archive has a name that leads through a symlink") \
    X(OTHER_TREE, "the archive has an entry beside the one asked for")     \
    X(WHITEOUT, "the layer has a whiteout that hides nothing")             \
    X(DEVICE, "the layer has a device outside of /dev")                    \
    X(LINK_SOURCE, "the layer has a hard link to a file that it lacks")    \
    X(OWNER, "the archive has an owner who does not exist here")           \
    X(TOO_DEEP, "more directories inside each other than allowed")         \
    X(TOO_LONG, "a name longer than allowed")                              \
    X(TOO_MANY, "more entries than allowed")                               \
    X(TOO_BIG, "more bytes than allowed")                                  \
    X(SPECIAL, "cannot replace a device, FIFO or socket by a copy")        \
    X(NO_FILE, "cannot read what is not a regular file")

enum tar_what {
#define X(name, text) TAR_##name,
    TAR_FAILURES(X)
#undef X
};

/* A plain value, so that it passes through a pipe. */
struct tar_failure {
    enum tar_what what;
    int os_errno;   /* 0: the kernel has nothing to do with it */
    char path[512]; /* where, cut at its end; control characters are replaced by '?' */
};

const char *tar_failure_text(enum tar_what what);

/* Replaces the numbers of one side by those of the other. */
typedef void tar_map_owner(void *context, uid_t *uid, gid_t *gid);
/* What is made from here on belongs to this owner, if the kernel has a number for it there. Whether
 * it worked, the next attempt tells. */
typedef void tar_become(void *context, uid_t uid, gid_t gid);
/* An entry is left out: os_errno says why it cannot be read, 0 that there is no place for its kind
 * (type is S_IFSOCK, S_IFBLK, ...) or that it is another filesystem (S_IFDIR). The path is as
 * hostile as the tree it comes from: neither its bytes nor its length are anything to rely on. */
typedef void tar_skipped(void *context, const char *path, mode_t type, int os_errno);

/* Takes all of the archive's next bytes. Returns 0, or -1 with errno. */
typedef int tar_write(void *context, const void *data, size_t length);

struct tar_pack_rules; /* of archives that are to say more than the files do: tar/pack.h */

struct tar_pack_options {
    int dir;          /* AT_FDCWD or a descriptor */
    const char *path; /* beneath it; no component is followed when it is a symlink */
    const char *name; /* what the top entry is called in the archive; NULL: path's last component */
    bool one_filesystem;
    bool without_kernel;      /* leave out proc and sysfs, whose files have no length */
    bool drop_special;        /* setuid, setgid and sticky bits */
    bool share_modes;         /* what its owner may read or execute, everybody may */
    unsigned max_depth;       /* 0: TAR_DEFAULT_DEPTH */
    uint64_t whole_until;     /* files of at most this size are sent with their holes as zeros */
    tar_map_owner *map_owner; /* NULL: as they are */
    tar_skipped *skipped;     /* NULL: what cannot be read is a failure */
    void *context;
    tar_write *write;                   /* NULL: to out_fd */
    const struct tar_pack_rules *rules; /* NULL: the files are all there is */
};

/* Writes the archive of one path to out_fd. A tree that changes meanwhile gives a valid archive: a
 * file that shrinks is filled up with zeros, one that grows is cut, what is gone is left out.
 * Returns 0, or -1 with *failure. */
int tar_pack(const struct tar_pack_options *options, int out_fd, struct tar_failure *failure);

enum tar_names {
    TAR_NAMES_REFUSE,   /* absolute names and ".." are a failure */
    TAR_NAMES_RELATIVE, /* "/" at the front, and everything up to the last "..", is dropped */
};

/* The archive's next bytes: their number, 0 at the end, -1 with errno. They are valid until the
 * next call. All but the last are whole blocks of 512 bytes. */
typedef ssize_t tar_lend(void *context, const char **ret_data);

struct tar_rules; /* of archives that mean more than their files say: tar/unpack.h */

struct tar_unpack_options {
    int dir; /* everything happens beneath it; its own mode, owner and times stay as they are */
    enum tar_names names;
    /* At most one of both. The archive must hold one tree then: a stream from inside cannot add a
     * second file beside the one that was asked for. With rename_first, no name but this one is
     * touched in the target directory, whatever the stream says, and a file that has it already
     * does not make way for a directory. */
    bool strip_first;         /* the top directory's content goes straight into dir */
    const char *rename_first; /* the top entry gets this name, one component */
    bool keep_special;        /* setuid, setgid and sticky bits */
    bool make_fifos;          /* else they are skipped */
    tar_map_owner *map_owner; /* NULL: what is made belongs to who makes it */
    tar_become *become;       /* NULL: nobody else */
    tar_skipped *skipped;     /* may be NULL */
    void *context;
    uint64_t direct_from; /* files of at least this size pass by the page cache; 0: none does */
    tar_lend *lend;       /* NULL: from in_fd */
    const struct tar_rules *rules; /* NULL: the files are all there is */
    uint64_t max_bytes;            /* of all files' lengths, holes included; 0: no ceiling */
    uint64_t max_entries;          /* 0: no ceiling */
    size_t max_name_bytes;         /* 0: TAR_DEFAULT_NAME_BYTES */
    unsigned max_depth;            /* 0: TAR_DEFAULT_DEPTH */
};

/* Unpacks the archive from in_fd and reads to its end. Existing files are replaced, never written
 * to, and that at the moment when the new one is whole; existing directories are filled. A
 * directory gets its mode and times when the stream leaves it. Returns 0, or -1 with *failure; what
 * was unpacked until then stays. */
int tar_unpack(const struct tar_unpack_options *options, int in_fd, struct tar_failure *failure);

/* Writes the content of the archive's one regular file to out_fd, which may be a pipe; anything
 * else in the archive is a failure. Of the options only the ceilings count. */
int tar_unpack_content(const struct tar_unpack_options *options, int in_fd, int out_fd,
                       struct tar_failure *failure);

/* Where "cp SRC PATH" puts SRC. */
struct tar_destination {
    int fd;         /* the caller closes it */
    char name[256]; /* for rename_first; source_name when PATH is a directory */
};

/* PATH is the caller's own word: its symlinks are followed. A PATH that ends in "/" has to be a
 * directory. Returns 0, or -1 with *failure and nothing to close. */
int tar_destination_open(int dir, const char *path, const char *source_name,
                         struct tar_destination *ret_destination, struct tar_failure *failure);

#endif
