/*
 * store.c - open and close a store; see heshare/store.h.
 *
 * A file is checked first: a file that is not a store, or is damaged or newer, stays unchanged.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/file.h"
#include "store/db.h"
#include "store/schema.h"

const char *const hes_source_names[] = { "measured", "imported", "modelled", NULL };

/* SQLite would take some names for something else than a file. */
static char *plain_name(const char *path)
{
	char *name;

	return asprintf(&name, "%s%s", path[0] == '/' ? "" : "./", path) < 0 ? NULL : name;
}

/* SQLite would wait for a writer of a pipe that has the name of its journal. */
static int check_companions(const struct hes_store *s, struct hes_err *err)
{
	static const char *const suffixes[] = { "-journal", "-wal", "-shm" };
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		struct stat st;
		char *name;

		if (asprintf(&name, "%s%s", s->path, suffixes[i]) < 0)
			return hes_fail(err, -ENOMEM, "%s: out of memory", s->path);
		if (!lstat(name, &st))
			rc = hes_file_check_plain(name, err);
		free(name);
		/* Another program has just removed it. */
		rc = rc == -ENOENT ? 0 : rc;
	}
	return rc;
}

static int open_file(struct hes_store *s, enum hes_store_mode mode, struct hes_err *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
		    (mode == HES_STORE_WRITE ? SQLITE_OPEN_CREATE : 0);
	struct stat st;
	char *name;
	int rc;

	if (stat(s->path, &st)) {
		if (errno != ENOENT || mode == HES_STORE_READ)
			return hes_fail(err, -errno,
					errno == ENOENT ? "%s: no store there"
							: "%s: cannot open it: %s",
					s->path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		return hes_fail(err, -EINVAL, "%s: not a store: no plain file", s->path);
	}
	rc = check_companions(s, err);
	if (rc)
		return rc;
	name = plain_name(s->path);
	if (!name)
		return hes_fail(err, -ENOMEM, "%s: out of memory", s->path);
	rc = sqlite3_open_v2(name, &s->db, flags, NULL);
	free(name);
	if (!s->db)
		return hes_fail(err, -ENOMEM, "%s: out of memory", s->path);
	sqlite3_extended_result_codes(s->db, 1);
	return rc ? hes_db_fail(s, err) : 0;
}

bool hes_store_is_remote(uint32_t type)
{
	/* NFS, Lustre, GPFS, BeeGFS, CIFS, SMB 2, Ceph, AFS, PanFS, OrangeFS, FUSE (sshfs and
	 * others), 9p, GFS2, OCFS2, ACFS, StorNext, VxFS, Ibrix, kAFS, Coda, SMB 1, folders of
	 * VirtualBox, VMware and Parallels */
	static const uint32_t remote[] = { 0x6969,     0x0bd00bd0, 0x47504653, 0x19830326,
					   0xff534d42, 0xfe534d42, 0x00c36400, 0x5346414f,
					   0xaad7aaea, 0x20030528, 0x65735546, 0x01021997,
					   0x01161970, 0x7461636f, 0x61636673, 0xbeefdead,
					   0xa501fcf5, 0x013111a8, 0x6b414653, 0x73757245,
					   0x517b,     0x786f4256, 0xbacbacbc, 0x7c7c6673 };

	for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++)
		if (remote[i] == type)
			return true;
	return false;
}

/*
 * A write-ahead log needs memory that all processes share, so one machine. On file systems of
 * several machines the store has a rollback journal: readers and writers then wait for each other.
 * SQLite does not wait by itself when the mode is being changed.
 */
static int choose_journal(struct hes_store *s, struct hes_err *err)
{
	static const struct timespec nap = { 0, 10000000 };
	struct statfs fs;
	const bool remote = !statfs(s->path, &fs) && hes_store_is_remote((uint32_t)fs.f_type);
	int rc;

	for (int waited_ms = 0;; waited_ms += 10) {
		rc = hes_db_exec(
			s, remote ? "PRAGMA journal_mode = TRUNCATE" : "PRAGMA journal_mode = WAL",
			err);
		if (rc != -EBUSY || waited_ms >= s->wait_ms)
			return rc;
		nanosleep(&nap, NULL);
	}
}

/* A page that could not be read for want of memory, or at all, is damage to SQLite. @return 0: it
 * is damage */
static int why_unread(const char *text)
{
	const char *code = strstr(text, "error code=");
	int number = code ? atoi(code + strlen("error code=")) : 0;

	/* Of a page of the free list it does not say why. */
	if (strstr(text, "failed to get page"))
		return -EIO;
	return number == SQLITE_NOMEM || number == SQLITE_IOERR_NOMEM ? -ENOMEM
	       : (number & 0xff) == SQLITE_IOERR                      ? -EIO
								      : 0;
}

static int report_damage(const struct hes_store *s, const char *text, struct hes_err *err)
{
	int rc = why_unread(text);

	return rc ? hes_fail(err, rc, "%s: it could not be checked: %s", s->path, strerror(-rc))
		  : hes_fail(err, -EBADMSG, "%s: damaged (%s); put a copy in its place", s->path,
			     text);
}

static int check_for_damage(struct hes_store *s, struct hes_err *err)
{
	char text[HES_ERR_MAX / 2] = "no answer";
	int rc = hes_db_line(s, "PRAGMA quick_check(1)", text, sizeof(text), err);

	return rc < 0 ? rc : strcmp(text, "ok") == 0 ? 0 : report_damage(s, text, err);
}

static int set_up(struct hes_store *s, enum hes_store_mode mode, struct hes_err *err)
{
	size_t version = 0;
	int rc;

	sqlite3_busy_timeout(s->db, s->wait_ms);
	hes_db_limit(s);
	/* Another program may add some to a store that is open. */
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	rc = hes_db_exec(s,
			 "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA "
			 "cell_size_check = ON;"
			 "PRAGMA synchronous = FULL",
			 err);
	if (!rc)
		rc = hes_schema_version(s, hes_schema_steps, hes_schema_n_steps, &version, err);
	if (!rc)
		rc = hes_schema_check_kinds(s, err);
	if (!rc && mode == HES_STORE_READ && !version)
		rc = hes_fail(err, -EINVAL, "%s: not a store: an empty file", s->path);
	if (!rc && mode == HES_STORE_WRITE && sqlite3_db_readonly(s->db, "main"))
		rc = hes_fail(err, -EROFS, "%s: it may not be written to", s->path);
	if (!rc && mode == HES_STORE_WRITE && version)
		rc = check_for_damage(s, err);
	if (!rc && mode == HES_STORE_WRITE)
		rc = choose_journal(s, err);
	return rc ? rc : hes_schema_bring_up(s, hes_schema_steps, hes_schema_n_steps, err);
}

int hes_store_open(const char *path, enum hes_store_mode mode, int wait_ms, struct hes_store **out,
		   struct hes_err *err)
{
	struct hes_store *s = calloc(1, sizeof(*s));
	int rc = 0;

	if (s)
		*s = (struct hes_store){ .path = strdup(path), .wait_ms = wait_ms };
	if (!s || !s->path)
		rc = hes_fail(err, -ENOMEM, "%s: out of memory", path);
	if (!rc)
		rc = open_file(s, mode, err);
	if (!rc)
		rc = set_up(s, mode, err);
	if (rc) {
		hes_store_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void hes_store_close(struct hes_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < HES_DB_KEPT; i++)
		sqlite3_finalize(s->kept[i]);
	sqlite3_close_v2(s->db);
	free(s->path);
	free(s);
}

const char *hes_store_path(const struct hes_store *s)
{
	return s->path;
}
