/*
 * call_faults.c - let the n-th allocation or the n-th access to a file fail; see call_faults.h.
 *
 * SQLite gets its memory and its files through the tables that it has for that purpose. Syncing
 * does nothing but fail: no test here stops the machine.
 */
#include "call_faults.h"

#include <errno.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

static struct {
	enum fault_kind kind;
	uint32_t n;    /* 0: none is to fail */
	uint32_t seen; /* calls of the kind since it was armed */
	bool lasting;
	bool failed;
	bool jansson;
	uint32_t tried;
} fault;

void faults_arm(enum fault_kind kind, uint32_t n, bool lasting)
{
	fault.kind = kind;
	fault.n = n;
	fault.seen = 0;
	fault.lasting = lasting;
	fault.failed = false;
}

bool faults_disarm(void)
{
	fault.n = 0;
	fault.tried += fault.failed;
	return fault.failed;
}

uint32_t faults_tried(void)
{
	return fault.tried;
}

/* @return whether this call is to fail */
static bool fault_here(enum fault_kind kind)
{
	if (!fault.n || kind != fault.kind)
		return false;
	fault.seen++;
	if (fault.seen != fault.n && !(fault.lasting && fault.seen > fault.n))
		return false;
	fault.failed = true;
	errno = kind == FAULT_MEMORY ? ENOMEM : EIO;
	return true;
}

/* --- the C library's memory --- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
char *__real_realpath(const char *path, char *out);
FILE *__real_fmemopen(void *buf, size_t size, const char *mode);
FILE *__real_fdopen(int fd, const char *mode);
void *__real_cyaml_mem(void *ctx, void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);
int __wrap_asprintf(char **out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *__wrap_realpath(const char *path, char *out);
FILE *__wrap_fmemopen(void *buf, size_t size, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode);
void *__wrap_cyaml_mem(void *ctx, void *p, size_t size);

void *__wrap_malloc(size_t size)
{
	return fault_here(FAULT_MEMORY) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fault_here(FAULT_MEMORY) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fault_here(FAULT_MEMORY) ? NULL : __real_realloc(p, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fault_here(FAULT_MEMORY) ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *text)
{
	return fault_here(FAULT_MEMORY) ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
	return fault_here(FAULT_MEMORY) ? NULL : __real_strndup(text, n);
}

int __wrap_asprintf(char **out, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (fault_here(FAULT_MEMORY))
		return -1;
	va_start(ap, fmt);
	n = vasprintf(out, fmt, ap);
	va_end(ap);
	return n;
}

char *__wrap_realpath(const char *path, char *out)
{
	return fault_here(FAULT_MEMORY) ? NULL : __real_realpath(path, out);
}

FILE *__wrap_fmemopen(void *buf, size_t size, const char *mode)
{
	return fault_here(FAULT_MEMORY) ? NULL : __real_fmemopen(buf, size, mode);
}

FILE *__wrap_fdopen(int fd, const char *mode)
{
	return fault_here(FAULT_MEMORY) ? NULL : __real_fdopen(fd, mode);
}

/* Of size 0 it frees. */
void *__wrap_cyaml_mem(void *ctx, void *p, size_t size)
{
	return size && fault_here(FAULT_MEMORY) ? NULL : __real_cyaml_mem(ctx, p, size);
}

void faults_in_jansson(bool on)
{
	fault.jansson = on;
}

static void *jansson_malloc(size_t size)
{
	return fault.jansson && fault_here(FAULT_MEMORY) ? NULL : __real_malloc(size);
}

/* --- files that heshare reads itself --- */

gzFile __real_gzopen64(const char *path, const char *mode);
int __real_gzread(gzFile gz, void *buf, unsigned len);
int __real_stat64(const char *path, struct stat *out);
const char *__real_gzerror(gzFile gz, int *code);
gzFile __wrap_gzopen64(const char *path, const char *mode);
int __wrap_gzread(gzFile gz, void *buf, unsigned len);
int __wrap_stat64(const char *path, struct stat *out);
const char *__wrap_gzerror(gzFile gz, int *code);

gzFile __wrap_gzopen64(const char *path, const char *mode)
{
	return fault_here(FAULT_IO) ? NULL : __real_gzopen64(path, mode);
}

int __wrap_gzread(gzFile gz, void *buf, unsigned len)
{
	return fault_here(FAULT_IO) ? -1 : __real_gzread(gz, buf, len);
}

const char *__wrap_gzerror(gzFile gz, int *code)
{
	if (!fault.n || !fault.failed)
		return __real_gzerror(gz, code);
	*code = Z_ERRNO;
	errno = EIO;
	return "";
}

int __wrap_stat64(const char *path, struct stat *out)
{
	return fault_here(FAULT_IO) ? -1 : __real_stat64(path, out);
}

/* --- SQLite's memory --- */

static sqlite3_mem_methods real_memory;

static void *sqlite_malloc(int size)
{
	return fault_here(FAULT_MEMORY) ? NULL : real_memory.xMalloc(size);
}

static void *sqlite_realloc(void *p, int size)
{
	return fault_here(FAULT_MEMORY) ? NULL : real_memory.xRealloc(p, size);
}

/* --- SQLite's files: a file of ours, and behind it SQLite's own --- */

static sqlite3_vfs *real_vfs;

struct file {
	sqlite3_file base;
	sqlite3_file *real;
};

static sqlite3_file *behind(sqlite3_file *f)
{
	return ((struct file *)f)->real;
}

static int file_close(sqlite3_file *f)
{
	return behind(f)->pMethods->xClose(behind(f));
}

static int file_read(sqlite3_file *f, void *buf, int n, sqlite3_int64 at)
{
	return fault_here(FAULT_IO) ? SQLITE_IOERR_READ
				    : behind(f)->pMethods->xRead(behind(f), buf, n, at);
}

/* Every other one for want of room. */
static int file_write(sqlite3_file *f, const void *buf, int n, sqlite3_int64 at)
{
	if (fault_here(FAULT_IO))
		return fault.n % 2 ? SQLITE_IOERR_WRITE : SQLITE_FULL;
	return behind(f)->pMethods->xWrite(behind(f), buf, n, at);
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return fault_here(FAULT_IO) ? SQLITE_IOERR_TRUNCATE
				    : behind(f)->pMethods->xTruncate(behind(f), size);
}

static int file_sync(sqlite3_file *f, int flags)
{
	(void)f;
	(void)flags;
	return fault_here(FAULT_IO) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *out)
{
	return fault_here(FAULT_IO) ? SQLITE_IOERR_FSTAT
				    : behind(f)->pMethods->xFileSize(behind(f), out);
}

static int file_lock(sqlite3_file *f, int level)
{
	return fault_here(FAULT_IO) ? SQLITE_IOERR_LOCK
				    : behind(f)->pMethods->xLock(behind(f), level);
}

/* Releasing a lock cannot fail: it needs no disk. */
static int file_unlock(sqlite3_file *f, int level)
{
	return behind(f)->pMethods->xUnlock(behind(f), level);
}

static int file_check_lock(sqlite3_file *f, int *out)
{
	return fault_here(FAULT_IO) ? SQLITE_IOERR_CHECKRESERVEDLOCK
				    : behind(f)->pMethods->xCheckReservedLock(behind(f), out);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
	return behind(f)->pMethods->xFileControl(behind(f), op, arg);
}

static int file_sector(sqlite3_file *f)
{
	return behind(f)->pMethods->xSectorSize(behind(f));
}

static int file_kind(sqlite3_file *f)
{
	return behind(f)->pMethods->xDeviceCharacteristics(behind(f));
}

static int shared_map(sqlite3_file *f, int region, int size, int extend, void volatile **out)
{
	return fault_here(FAULT_IO)
		       ? SQLITE_IOERR_SHMMAP
		       : behind(f)->pMethods->xShmMap(behind(f), region, size, extend, out);
}

static int shared_lock(sqlite3_file *f, int offset, int n, int flags)
{
	if ((flags & SQLITE_SHM_LOCK) && fault_here(FAULT_IO))
		return SQLITE_IOERR_SHMLOCK;
	return behind(f)->pMethods->xShmLock(behind(f), offset, n, flags);
}

static void shared_barrier(sqlite3_file *f)
{
	behind(f)->pMethods->xShmBarrier(behind(f));
}

static int shared_unmap(sqlite3_file *f, int delete)
{
	return behind(f)->pMethods->xShmUnmap(behind(f), delete);
}

static const sqlite3_io_methods file_methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_check_lock,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_kind,
	.xShmMap = shared_map,
	.xShmLock = shared_lock,
	.xShmBarrier = shared_barrier,
	.xShmUnmap = shared_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *out, int flags,
		    int *out_flags)
{
	struct file *f = (struct file *)out;
	int rc;

	(void)vfs;
	*f = (struct file){ .real = (sqlite3_file *)(f + 1) };
	if (fault_here(FAULT_IO))
		return SQLITE_CANTOPEN;
	rc = real_vfs->xOpen(real_vfs, name, f->real, flags, out_flags);
	f->base.pMethods = rc ? NULL : &file_methods;
	return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)sync;
	return fault_here(FAULT_IO) ? SQLITE_IOERR_DELETE : real_vfs->xDelete(real_vfs, name, 0);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
	(void)vfs;
	return fault_here(FAULT_IO) ? SQLITE_IOERR_ACCESS
				    : real_vfs->xAccess(real_vfs, name, flags, out);
}

static int vfs_error(sqlite3_vfs *vfs, int size, char *out)
{
	(void)vfs;
	return fault.n && fault.failed ? EIO : real_vfs->xGetLastError(real_vfs, size, out);
}

void faults_install(void)
{
	static sqlite3_mem_methods memory;
	static sqlite3_vfs vfs;

	/* SQLite's small pieces would come from a block of its own. */
	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory) ||
	    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0))
		abort();
	memory = real_memory;
	memory.xMalloc = sqlite_malloc;
	memory.xRealloc = sqlite_realloc;
	if (sqlite3_config(SQLITE_CONFIG_MALLOC, &memory) || sqlite3_initialize())
		abort();
	real_vfs = sqlite3_vfs_find(NULL);
	vfs = *real_vfs;
	vfs.zName = "faults";
	vfs.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
	vfs.xOpen = vfs_open;
	vfs.xDelete = vfs_delete;
	vfs.xAccess = vfs_access;
	vfs.xGetLastError = vfs_error;
	if (sqlite3_vfs_register(&vfs, 1))
		abort();
	json_set_alloc_funcs(jansson_malloc, free);
}
