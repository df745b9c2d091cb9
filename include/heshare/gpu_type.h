/*
 * gpu_type.h - GPU types with the values of their data sheets.
 *
 * A catalogue (docs/formats/gpu-types.md) is built in; rows of other files are added to it. How
 * fast jobs run on a type is not here: planners learn it from profiles; model.h computes it.
 */
#ifndef HESHARE_GPU_TYPE_H
#define HESHARE_GPU_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"

#define HES_UUID_MAX        80 /* "GPU-...", with its end */
#define HES_NAME_MAX        48 /* names of types, nodes, workloads, users; NUL included */
#define HES_MAX_CLOCKS      12 /* settings offered to a planner for one type */
#define HES_DRIVER_NAMES    4  /* names of one type */
#define HES_DRIVER_NAME_MAX 64 /* of a GPU, NUL included */

struct hes_gpu_type {
	char name[HES_NAME_MAX];                                  /* "A100-SXM-80" */
	char driver_names[HES_DRIVER_NAMES][HES_DRIVER_NAME_MAX]; /* "NVIDIA A100-SXM4-80GB"; ""
								     from the end of the list on */
	uint32_t compute; /* compute capability x 10: 80, 86; 0: unknown */
	uint32_t sm_count;
	uint32_t memory_mib;
	uint32_t memory_bandwidth_gbs; /* 10^9 bytes a second */
	uint32_t l2_kib;
	double pcie_gbs; /* 10^9 bytes a second that copies reach in one direction; 0: unknown */
	uint32_t power_limit_mw; /* that is set */
	uint32_t idle_power_mw;  /* no context, lowest state */
	uint32_t clock_min_mhz;  /* SM clock range that can be locked */
	uint32_t clock_max_mhz;
	double clock_step_mhz; /* 0: only clocks_mhz can be set; drivers name clocks rounded down */
	uint32_t clock_default_mhz; /* its clock when nothing is locked */
	uint32_t clock_static_mhz;  /* see hes_gpu_type_static_clock(); 0: not known */
	uint32_t limit_static_mw;   /* see hes_gpu_type_static_limit_mw(); 0: not known */
	uint32_t clock_row_mhz; /* the default of its row, where hes_profiles_hold() put the clock
				   that was held in its place; 0: the row's is the default */
	uint32_t clocks_mhz[HES_MAX_CLOCKS]; /* ascending; chosen from the range, default last */
	size_t n_clocks;
	uint32_t default_limit_mw; /* 0: power_limit_mw is the default */
	bool alone; /* jobs cannot share such a GPU: it has no MPS; false in a catalogue */
};

/** A catalogue: loaded by hes_catalogue_load(), owned by the caller. */
struct hes_catalogue {
	struct hes_gpu_type *types;
	size_t n;
	const char *own; /* file of a user that was added and may describe workloads, too; not
			    owned; NULL: none */
};

/**
 * Load a catalogue.
 * @param path  YAML file, or NULL for the built-in one
 * @return 0; -EINVAL with file, line, field and value; -ENOMEM
 */
int hes_catalogue_load(const char *path, struct hes_catalogue *out, struct hes_err *err);
/**
 * Add the rows of a file. A row replaces one of the same name. Pointers to types of @c become
 * invalid.
 * @return as hes_catalogue_load(); on failure @c is as it was
 */
int hes_catalogue_add(struct hes_catalogue *c, const char *path, struct hes_err *err);
/** The same of @n rows in memory. @return 0; -ENOMEM */
int hes_catalogue_put(struct hes_catalogue *c, const struct hes_gpu_type *types, size_t n,
		      struct hes_err *err);
void hes_catalogue_free(struct hes_catalogue *c);

/** @return the type, owned by @c; NULL with -ENOENT and names like it, or the known names, in @err
 */
const struct hes_gpu_type *hes_gpu_type_find(const struct hes_catalogue *c, const char *name,
					     struct hes_err *err);

/**
 * The type that a driver calls @driver_name. "NVIDIA" and "Tesla" before a name do not count. The
 * memory must agree within a tenth; of several types with the name, the one of the nearest memory
 * is taken, then the last.
 * @param memory_mib  0: unknown, the name decides
 * @return the type, owned by @c; NULL: no row has this name and memory
 */
const struct hes_gpu_type *hes_gpu_type_of_driver(const struct hes_catalogue *c,
						  const char *driver_name, uint32_t memory_mib);

/** The name of a type without a row, from the driver's: "NVIDIA GeForce RTX 3090" gives
 * GeForce-RTX-3090. */
void hes_gpu_type_name(const char *driver_name, char out[HES_NAME_MAX]);

/**
 * Choose the clocks of a planner from the stepped range of @g: at most HES_MAX_CLOCKS over its
 * upper three quarters, because far below no GPU does useful work per joule.
 */
void hes_gpu_type_choose_clocks(struct hes_gpu_type *g);

/** Set the power limit. 0, and one that is not above idle power, change nothing. */
void hes_gpu_type_limit(struct hes_gpu_type *g, uint32_t limit_mw);
/** The power limit without a setting, which describes the chip. */
static inline uint32_t hes_gpu_type_default_limit_mw(const struct hes_gpu_type *g)
{
	return g->default_limit_mw ? g->default_limit_mw : g->power_limit_mw;
}

/** @return whether a setting means that nothing is locked: 0, or the default clock */
bool hes_gpu_type_is_unlocked(const struct hes_gpu_type *g, uint32_t clock_mhz);
/** The clock to count with at a setting: of an unlocked one the default clock. */
uint32_t hes_gpu_type_clock(const struct hes_gpu_type *g, uint32_t clock_mhz);

/**
 * The one clock for all jobs on this type: what a sweep found for it (clocks.static of its row),
 * else the highest of clocks_mhz up to HES_STATIC_CLOCK_PART of the default. The default clock
 * where clocks cannot be locked.
 */
#define HES_STATIC_CLOCK_PART 0.75
uint32_t hes_gpu_type_static_clock(const struct hes_gpu_type *g);

/** The one power limit for all jobs on this type: what a sweep found for it (static_limit_w of its
 * row), else HES_STATIC_LIMIT_PART of the default; at most the one that is set. */
#define HES_STATIC_LIMIT_PART 0.75
uint32_t hes_gpu_type_static_limit_mw(const struct hes_gpu_type *g);

/** @return whether the clock can be locked on this type (a member of its stepped range) */
bool hes_gpu_type_has_clock(const struct hes_gpu_type *g, uint32_t clock_mhz);

#endif
