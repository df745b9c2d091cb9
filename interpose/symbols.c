/*
 * symbols.c - functions by name: the table of ours, and dlsym() and cuGetProcAddress() that hand
 * them out.
 *
 * A linked program finds our functions first because the library is preloaded. For all others the
 * real lookup comes first; only then a function of the table is put in place of its result. Names
 * outside of the table pass.
 */
#include "symbols.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* later versions of the driver's functions may have other parameters */
#define KNOWN_VERSION   13000
#define FLAG_PER_THREAD 2
#define DRIVER_FILE     "libcuda.so.1"

static const struct row {
	const char *symbol, *base;
	int since;
	bool per_thread;
	void *ours;
} rows[N_CALLS] = {
#define CALL_ROW(symbol, base, since, per_thread, params, args, stream) \
	{ #symbol, base, since, per_thread, (void *)(symbol) },
	ALL_CALLS(CALL_ROW)
#undef CALL_ROW
};

void *_Atomic call_reals[N_CALLS];

typedef void *dlsym_fn(void *handle, const char *name);

/* Read by the machine code below. */
__attribute__((visibility("hidden"))) dlsym_fn *fair_real_dlsym;

static void find_dlsym(void)
{
	static const char *const versions[] = { "GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.17" };

	for (size_t i = 0; !fair_real_dlsym && i < sizeof(versions) / sizeof(versions[0]); i++)
		fair_real_dlsym = (dlsym_fn *)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
}

static const struct row *row_by_symbol(const char *name)
{
	for (size_t i = 0; i < N_CALLS; i++)
		if (strcmp(rows[i].symbol, name) == 0)
			return &rows[i];
	return NULL;
}

static bool is_ours(const void *f)
{
	for (size_t i = 0; i < N_CALLS; i++)
		if (rows[i].ours == f)
			return true;
	return false;
}

/* Real functions are kept for good. So the driver stays loaded, also when the program closes it. */
static void hold_driver(const void *real)
{
	static _Atomic bool held;
	int flags = RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE;
	Dl_info info;

	if (atomic_load_explicit(&held, memory_order_relaxed))
		return;
	if (dlopen(DRIVER_FILE, flags))
		atomic_store(&held, true);
	else if (!dladdr(real, &info) || !info.dli_fname || !dlopen(info.dli_fname, flags))
		dlerror(); /* what failed here is not the program's */
}

/* The first one stays. */
static void keep_real(const struct row *r, void *real)
{
	void *none = NULL;

	hold_driver(real);
	atomic_compare_exchange_strong(&call_reals[r - rows], &none, real);
}

void *driver_symbol(const char *name)
{
	void *driver, *f = NULL;

	find_dlsym();
	if (!fair_real_dlsym)
		return NULL;
	driver = dlopen(DRIVER_FILE, RTLD_LAZY | RTLD_NOLOAD);
	if (driver) {
		f = fair_real_dlsym(driver, name);
		dlclose(driver);
	}
	if (!f)
		f = fair_real_dlsym(RTLD_NEXT, name);
	return f && !is_ours(f) ? f : NULL;
}

void *call_resolve(enum call c)
{
	void *f = driver_symbol(rows[c].symbol);

	if (f)
		keep_real(&rows[c], f);
	return atomic_load(&call_reals[c]);
}

/* --- dlsym --- */

struct answer {
	void *symbol;
	uintptr_t given; /* 0: the real dlsym() has to answer, called from where ours was called */
};

__attribute__((visibility("hidden"))) struct answer fair_dlsym_answer(void *handle,
								      const char *name);

struct answer fair_dlsym_answer(void *handle, const char *name)
{
	const struct row *r;
	void *real;

	find_dlsym();
	if (!fair_real_dlsym || !name || strncmp(name, "cu", 2) != 0 || handle == RTLD_NEXT)
		return (struct answer){ NULL, fair_real_dlsym == NULL };
	r = row_by_symbol(name);
	if (!r)
		return (struct answer){ NULL, 0 };
	real = fair_real_dlsym(handle, name);
	/* Seen from the whole program ours comes first, also where there is no driver. */
	if (is_ours(real) || (!real && handle == RTLD_DEFAULT))
		real = driver_symbol(name);
	if (!real)
		return (struct answer){ NULL, 1 };
	keep_real(r, real);
	return (struct answer){ r->ours, 1 };
}

/*
 * The real dlsym() looks at the address that it returns to: RTLD_NEXT starts at that library. So
 * ours must not call it but jump to it.
 */
#if defined(__x86_64__)
__asm__(".text\n.p2align 4\n.globl dlsym\n.type dlsym, @function\n"
	"dlsym:\n\t.cfi_startproc\n\tendbr64\n"
	"\tpush %rdi\n\t.cfi_adjust_cfa_offset 8\n\tpush %rsi\n\t.cfi_adjust_cfa_offset 8\n"
	"\tsub $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n"
	"\tcall fair_dlsym_answer\n"
	"\tadd $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n"
	"\tpop %rsi\n\t.cfi_adjust_cfa_offset -8\n\tpop %rdi\n\t.cfi_adjust_cfa_offset -8\n"
	"\ttest %rdx, %rdx\n\tjne 1f\n\tjmp *fair_real_dlsym(%rip)\n"
	"1:\tret\n\t.cfi_endproc\n.size dlsym, .-dlsym\n");
#elif defined(__aarch64__)
__asm__(".text\n.p2align 4\n.globl dlsym\n.type dlsym, %function\n"
	"dlsym:\n\t.cfi_startproc\n\thint #34\n"
	"\tstp x29, x30, [sp, #-32]!\n\t.cfi_adjust_cfa_offset 32\n\t.cfi_offset x29, "
	"-32\n\t.cfi_offset x30, -24\n"
	"\tmov x29, sp\n\tstp x0, x1, [sp, #16]\n"
	"\tbl fair_dlsym_answer\n"
	"\tmov x9, x0\n\tmov x10, x1\n"
	"\tldp x0, x1, [sp, #16]\n\tldp x29, x30, [sp], #32\n\t.cfi_restore x29\n\t.cfi_restore "
	"x30\n\t.cfi_adjust_cfa_offset -32\n"
	"\tcbz x10, 1f\n\tmov x0, x9\n\tret\n"
	"1:\tadrp x9, fair_real_dlsym\n\tldr x9, [x9, :lo12:fair_real_dlsym]\n\tbr x9\n"
	"\t.cfi_endproc\n.size dlsym, .-dlsym\n");
#else
/* A compiler that optimizes makes a jump of the last call, too. */
EXPORT void *dlsym(void *handle, const char *name)
{
	struct answer a = fair_dlsym_answer(handle, name);

	return a.given ? a.symbol : fair_real_dlsym(handle, name);
}
#endif

/* --- cuGetProcAddress --- */

/* The newest row that is not newer than @version. A function without a variant per thread has one
 * row for both. */
static const struct row *row_by_base(const char *base, int version, bool per_thread)
{
	const struct row *best = NULL;

	for (size_t i = 0; i < N_CALLS; i++) {
		const struct row *r = &rows[i];

		if (strcmp(r->base, base) != 0 || r->since > version ||
		    (r->per_thread && !per_thread))
			continue;
		if (!best || r->since > best->since || (r->since == best->since && r->per_thread))
			best = r;
	}
	return best;
}

/* Of the rows without a base, the one whose exported function is @real. */
static const struct row *row_by_address(const char *name, const void *real)
{
	for (size_t i = 0; i < N_CALLS; i++)
		if (!*rows[i].base && strncmp(rows[i].symbol, name, strlen(name)) == 0 &&
		    driver_symbol(rows[i].symbol) == real)
			return &rows[i];
	return NULL;
}

static void put_ours(const char *name, void **out, int version, uint64_t flags)
{
	const struct row *r;

	if (!name || !out || !*out || is_ours(*out))
		return;
	r = row_by_base(name, version, (flags & FLAG_PER_THREAD) != 0);
	if (!r)
		r = row_by_symbol(name);
	if (r && !*r->base)
		r = row_by_address(name, *out);
	if (!r || (version > KNOWN_VERSION && driver_symbol(r->symbol) != *out))
		return;
	keep_real(r, *out);
	*out = r->ours;
}

int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
	int (*real)(const char *, void **, int, uint64_t) = call_real(CALL_cuGetProcAddress);
	int rc = real ? real(name, out, version, flags) : CALL_NOT_FOUND;

	if (!rc)
		put_ours(name, out, version, flags);
	return rc;
}

int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status)
{
	int (*real)(const char *, void **, int, uint64_t, int *) =
		call_real(CALL_cuGetProcAddress_v2);
	int rc = real ? real(name, out, version, flags, status) : CALL_NOT_FOUND;

	if (!rc)
		put_ours(name, out, version, flags);
	return rc;
}
