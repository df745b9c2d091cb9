/*
 * file.h - write files completely or not at all; read whole files.
 *
 * A file is written without a name, or next to its final name where the file system has no nameless
 * files. It gets its name when it is complete. A failure leaves the old file as it was. Devices and
 * pipes, such as /dev/null, are written in place.
 */
#ifndef HES_BASE_FILE_H
#define HES_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "heshare/err.h"

struct hes_file {
	FILE *f;       /* write here; NULL when not open */
	char *path;    /* final name; NULL: standard output */
	char *tmp;     /* name until then; NULL: none */
	bool in_place; /* no plain file: neither replaced nor removed */
};

/** @path "-" means standard output. On failure @out is not open. */
int hes_file_create(struct hes_file *out, const char *path, struct hes_err *err);
/** The same for a name that heshare chose, not the user: a pipe, a device or a link that has the
 * name is replaced, not written to. */
int hes_file_create_own(struct hes_file *out, const char *path, struct hes_err *err);
/** Whether hes_file_create() can create @path now. Nothing is left there; pipes and devices are not
 * opened. */
int hes_file_check_output(const char *path, struct hes_err *err);
/** Flush, sync and rename. The file is closed afterwards, whatever the result. */
int hes_file_commit(struct hes_file *out, struct hes_err *err);
/** Drop what was written; harmless on a closed file. */
void hes_file_abort(struct hes_file *out);

/** Make a folder, unless it is there; its parent must be. */
int hes_folder_create(const char *path, struct hes_err *err);

/**
 * Where a user keeps heshare's file @name: below @xdg (XDG_DATA_HOME, XDG_CONFIG_HOME), or below
 * @home/@below where that is no absolute path. NULL stands for a variable that is not set. free()
 * @out.
 * @return 0; -ENOENT neither is an absolute path; -ENOMEM
 */
int hes_user_file(const char *xdg, const char *home, const char *below, const char *name,
		  char **out);

/**
 * Whether @path is a plain file, or a link to one. For files that heshare looks for by itself:
 * another user may have put a pipe there, which would never end. Users may name pipes.
 * @return 0; -ENOENT; -EINVAL something else is there; -errno
 */
int hes_file_check_plain(const char *path, struct hes_err *err);

/** A whole text file (.gz too) in memory, NUL-terminated; free() it. At most @max_bytes.
 *  @out is untouched on failure. */
int hes_file_slurp(const char *path, size_t max_bytes, char **out, size_t *out_len,
		   struct hes_err *err);

#endif
