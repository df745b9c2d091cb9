/*
 * slots_state.h - inside of a solver of slots: its state, shared by slots.c
 * (problem and start), slots_path.c (augmenting paths) and slots_rows.c
 * (least steps out of columns with many jobs).
 *
 * A column is at group * room + position, where room is a power of two. Only the first open[group]
 * positions of a group exist; the last of them is empty and has no price.
 * Prices and distances lie in arrays of their own: the inner loop runs over them.
 */
#ifndef HES_ASSIGN_SLOTS_STATE_H
#define HES_ASSIGN_SLOTS_STATE_H

#include "plan/assign/slots.h"

#define SLOTS_NONE UINT32_MAX

/*
 * Loops over prices: clones for wider registers where the processor has them; additions, products and least values
 * are the same there. Clang does not take a least value for one that may be found in any order.
 */
#if defined(__clang__)
#define SLOTS_WIDE
#define SLOTS_LEAST
#else
#define SLOTS_LEAST _Pragma("omp simd reduction(min : least)")
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__)
#define SLOTS_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define SLOTS_WIDE
#endif
#endif

struct slot_group {
	uint32_t type;
	uint32_t m;         /* slots of each position; GPUs, or fewer while part of the jobs is solved */
	uint32_t n_gpus;
	uint32_t first_gpu; /* into gpus */
	double   wait_us;
};

/* A job on a group: energy INFINITY, no time where it cannot run. */
struct slot_cost {
	double energy_mj, time_us;
};

/* The same at the weights: base + slope * position, positions from 1. */
struct slot_line {
	double base, slope;
};

#define SLOTS_STEPS 8

/* A job that could go from its column to another, at an extra cost. */
struct slot_step {
	double   extra;
	uint32_t job;
};

/* The least steps from one column to another, least first; any other job there takes @limit at least. */
struct slot_steps {
	struct slot_step v[SLOTS_STEPS];
	double           limit;
	uint32_t         n;  /* 0: unknown */
};

struct slot_move {
	uint32_t job, column;
};

struct hes_slots {
	const struct hes_assign *a;
	struct slot_group *groups;
	size_t             n_groups;
	uint32_t          *gpus;        /* [k], group by group */
	size_t             room;        /* positions there is memory for, of each group */
	uint32_t           room_bits;   /* its logarithm */
	size_t            *open;        /* [n_groups] */
	/* The jobs that take part: all, or every so many. */
	uint32_t          *job;         /* [n]: index into the assignment's */
	size_t             n;
	size_t             step;        /* so many are one of them; 0: none yet */
	struct slot_cost  *cost;        /* [i * n_groups + group] */
	struct slot_cost   most;        /* of all jobs, waits counted as time */
	struct hes_weights w;
	double            *wait;        /* [n_groups]: what waiting costs */
	double             greatest;    /* no cost in the first position is above */
	uint32_t          *column_of;   /* [i] */
	uint32_t          *before, *behind; /* [i]: neighbours in the chain of a column's jobs */
	/* [columns] */
	double            *price;
	uint32_t          *count, *first;
	/* A search for a path. */
	double            *position;    /* [room]: 1, 2, ... */
	double            *open_price;  /* [columns]: price, INFINITY once scanned */
	double            *key;         /* [columns]: distance so far, INFINITY once scanned */
	double            *at;          /* [columns]: distance of those scanned */
	double            *least;       /* [n_groups]: least key */
	double            *start;       /* [i]: of a job's arcs, once its column is scanned */
	uint32_t          *scanned;     /* columns in order of distance; SLOTS_NONE: the sink */
	struct slot_move  *path;
	bool              *awaited;     /* [n_groups]: some column there could end the path */
	/*
	 * [i * n_groups + group]: a job paid no less there when the solve began. Prices have
	 * fallen by no more than @fallen since, so a group is passed over where that is beyond the path's end. NULL with rows.
	 */
	double            *low;
	double             fallen;
	double            *pays;        /* [i]: at least, anywhere, when the solve ended */
	/* Rows of steps; NULL where columns have few slots. */
	struct slot_steps *rows;        /* [column * columns + column] */
	bool              *row_known;   /* [columns] */
	uint32_t          *stale;       /* [columns]: scratch */
	uint32_t          *dealt;       /* [n_groups]: scratch */
};

static inline size_t slots_columns(const struct hes_slots *s)
{
	return s->n_groups * s->room;
}

static inline size_t slots_group(const struct hes_slots *s, size_t column)
{
	return column >> s->room_bits;
}

static inline size_t slots_position(const struct hes_slots *s, size_t column)
{
	return column & (s->room - 1);
}

static inline struct slot_line slots_line(const struct hes_slots *s, size_t job, size_t group)
{
	const struct slot_cost *c = &s->cost[job * s->n_groups + group];

	return (struct slot_line){ s->w.energy * c->energy_mj + s->wait[group], s->w.jct * c->time_us };
}

static inline double slots_cost_at(const struct hes_slots *s, uint32_t job, size_t column)
{
	const struct slot_line c = slots_line(s, job, slots_group(s, column));

	return c.base + c.slope * s->position[slots_position(s, column)];
}

/** Put a job into a column's chain, or take it out. */
void slots_enter(struct hes_slots *s, uint32_t job, size_t column);
void slots_leave(struct hes_slots *s, uint32_t job);
/** Open positions until the last of the group is empty and without a price. @return 0 or -ENOMEM */
int  slots_keep_open(struct hes_slots *s, size_t group);

/** Where a job starts: where both ends have it, where one has it if it pays no more there, or where it pays least. */
size_t slots_first_column(struct hes_slots *s, const struct hes_slots_start *start, uint32_t job);
/** The dual: what jobs pay at least, less what slots ask. */
double slots_bound(struct hes_slots *s);
/** What is known of the groups, for solves that start from here. @return 0 or -ENOMEM; @e's owner frees it */
int    slots_save_low(const struct hes_slots *s, struct hes_slots_end *e);

/** Paths from a column until it holds no more jobs than slots. @return 0 or -ENOMEM */
int  slots_shed(struct hes_slots *s, size_t column);
/** Paths until the assignment is optimal at the prices it ends with. @return 0 or -ENOMEM */
int  slots_settle(struct hes_slots *s);

/** Whether a column's steps are kept; if so, all of them, known. */
bool slots_row_kept(const struct hes_slots *s, size_t column);
const struct slot_steps *slots_row(struct hes_slots *s, size_t column);
void slots_row_enter(struct hes_slots *s, size_t column, uint32_t job);
void slots_row_leave(struct hes_slots *s, size_t column, uint32_t job);

#endif
