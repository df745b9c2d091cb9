/*
 * virtual_gpu.c - advance virtual GPUs in time; see virtual_gpu.h.
 *
 * src/model/physics.c computes rates and power; nvml_*.c and cuda_*.c read and change GPUs.
 * Invariant: unless stale, power_w and every client's rate follow from the physics and the first
 * launch of each client.
 */
#include "virtual_gpu.h"

#include <math.h>
#include <string.h>

#include "gpu/nvml_abi.h"

#define WARM_C_PER_W_OF_LIMIT 45.0 /* above the idle temperature, at the power limit */
#define WARM_UP_S             20.0 /* time constant */
#define DONE_ITERATIONS       1e-9
#define RESERVED_MIB          256 /* memory that the driver keeps */
#define SPIN_BATCH            16  /* of the workload whose power a spin has */

static const struct vgpu_launch *first_launch(const struct vgpu_client *c)
{
	return &c->queue[c->head];
}

static bool is_busy(const struct vgpu_client *c)
{
	return c->pid && !c->error && c->launched > c->completed;
}

bool lab_gpu_has_fault(const struct lab_gpu *b, enum vgpu_fault f)
{
	return b->now_s < b->fault_until_s[f];
}

/* Contexts that run together: one context, or all busy clients of an MPS server. */
struct group {
	struct vgpu_client *c[HES_MODEL_MAX_JOBS];
	struct hes_model_job r[HES_MODEL_MAX_JOBS];
	size_t n;
};

static bool is_spin(const struct vgpu_client *c)
{
	return first_launch(c)->workload == VGPU_SPIN;
}

static struct hes_model_job model_job_of(struct vgpu_lab *lab, const struct vgpu_client *c)
{
	const struct vgpu_launch *l = first_launch(c);

	return (struct hes_model_job){
		.workload = &lab->workloads[is_spin(c) ? lab->spin_workload : l->workload],
		.batch = is_spin(c) ? SPIN_BATCH : l->batch,
		.sm_pct = c->server ? c->sm_pct : 100
	};
}

static bool group_has(const struct group *g, const struct vgpu_client *c)
{
	return g->n && c->server && g->c[0]->server == c->server;
}

/* Sort busy contexts into groups. Clients above the limit of the physics wait. */
static size_t form_groups(struct vgpu_lab *lab, struct lab_gpu *b, struct group *groups)
{
	size_t n = 0;

	for (size_t i = 0; i < b->slots; i++) {
		struct vgpu_client *c = &b->clients[i];
		size_t g = 0;

		if (!c->pid)
			continue;
		c->rate = c->sm_util = c->dram_util = c->part = 0;
		if (!is_busy(c))
			continue;
		while (g < n && !group_has(&groups[g], c))
			g++;
		if (g == n)
			groups[n++].n = 0;
		if (groups[g].n == HES_MODEL_MAX_JOBS)
			continue;
		groups[g].c[groups[g].n] = c;
		groups[g].r[groups[g].n++] = model_job_of(lab, c);
	}
	return n;
}

static uint32_t target_mhz(const struct lab_gpu *b)
{
	uint32_t clock = b->type.clock_default_mhz;

	if (!b->lock_max_mhz || lab_gpu_has_fault(b, VGPU_FAULT_LOCK_IGNORED))
		return clock;
	clock = clock > b->lock_max_mhz ? b->lock_max_mhz : clock;
	return clock < b->lock_min_mhz ? b->lock_min_mhz : clock;
}

/* An idle GPU: at its lowest clock, unless a lock or an open context raises it. */
static void set_idle(struct lab_gpu *b, const struct hes_model *m)
{
	bool open = false;

	for (size_t i = 0; i < b->slots; i++)
		open |= b->clients[i].pid != 0;
	b->clock_mhz = open ? target_mhz(b) : b->type.clock_min_mhz;
	b->clock_mhz = fmax(b->clock_mhz, b->lock_min_mhz);
	b->power_w = b->type.idle_power_mw * 1e-3;
	if (open)
		b->power_w += hes_model_context_w(m, b->type.name);
	b->throttled = false;
}

/* Co-runners slow jobs down by another factor than the model says: by the fault. */
static void interfere(const struct lab_gpu *b, const struct hes_model *m, const struct group *g,
		      struct hes_rate *rates)
{
	for (size_t i = 0; i < g->n && g->n > 1 && b->now_s < b->interference_until_s; i++) {
		struct hes_rate alone;
		struct hes_steady s;
		double slower, part;

		if (hes_model_steady(m, &b->type, target_mhz(b), b->power_limit_mw, &g->r[i], 1,
				     &alone, &s, NULL))
			continue;
		slower = fmax(alone.iterations_per_s / rates[i].iterations_per_s - 1, 0);
		part = (1 + slower) / (1 + b->interference * slower);
		rates[i].iterations_per_s *= part;
		rates[i].sm_util *= fmin(part, 1);
		rates[i].dram_util *= fmin(part, 1);
	}
}

static void run_group(struct lab_gpu *b, const struct hes_model *m, struct group *g, double turn)
{
	struct hes_rate rates[HES_MODEL_MAX_JOBS];
	struct hes_model_activity use;
	struct hes_steady s;

	if (hes_model_steady(m, &b->type, target_mhz(b), b->power_limit_mw, g->r, g->n, rates, &s,
			     NULL))
		return;
	interfere(b, m, g, rates);
	b->power_w += s.power_w * turn;
	b->clock_mhz += s.clock_ghz * 1e3 * turn;
	b->throttled |= s.clock_ghz * 1e3 < target_mhz(b) - 0.5;
	for (size_t i = 0; i < g->n; i++) {
		if (is_spin(g->c[i]))
			rates[i].iterations_per_s = 1e6;
		if (lab_gpu_has_fault(b, VGPU_FAULT_HANG))
			rates[i].iterations_per_s = 0;
		g->c[i]->part = turn / (double)g->n;
		g->c[i]->rate = rates[i].iterations_per_s * turn;
		g->c[i]->sm_util = rates[i].sm_util * turn;
		g->c[i]->dram_util = rates[i].dram_util * turn;
	}
	hes_model_activity(m, &b->type, s.clock_ghz, g->r, rates, g->n, &use);
	b->busy += use.busy * turn;
	b->memory += use.memory_busy * turn;
	b->sm += use.sm * turn;
	b->occupancy += use.occupancy * turn;
	b->dram += use.dram * turn;
	b->tensor += use.tensor * turn;
	b->fp32 += use.fp32 * turn;
	b->pcie_in_mib_s += use.pcie_in_mib_s * turn;
	b->pcie_out_mib_s += use.pcie_out_mib_s * turn;
}

/* Leave the groups that a client holds up: they do nothing. @return how many are left */
static size_t leave_stalled(struct group *groups, size_t n)
{
	size_t left = 0;

	for (size_t g = 0; g < n; g++) {
		bool still = false;

		for (size_t i = 0; groups[g].n > 1 && i < groups[g].n; i++)
			still |= vgpu_process_stands_still(groups[g].c[i]->pid);
		if (!still)
			groups[left++] = groups[g];
	}
	return left;
}

static void gpu_refresh(struct vgpu_lab *lab, struct lab_gpu *b)
{
	const struct hes_model m = { .nature = lab->nature,
				     .gpus = lab->types,
				     .n_gpus = lab->n_types,
				     .workloads = lab->workloads,
				     .n_workloads = lab->n_workloads };
	struct group groups[VGPU_MAX_CLIENTS];
	const size_t all = form_groups(lab, b, groups);
	size_t n = all;

	if (lab_gpu_has_fault(b, VGPU_FAULT_STALL))
		n = leave_stalled(groups, n);
	/* They wait for the end of launches that had none. */
	if (b->held_up && n == all)
		vgpu_wake(b);
	b->held_up = n < all;
	b->stale = false;
	b->power_w = b->clock_mhz = b->busy = b->memory = 0;
	b->sm = b->occupancy = b->dram = b->tensor = b->fp32 = 0;
	b->pcie_in_mib_s = b->pcie_out_mib_s = 0;
	b->throttled = false;
	if (!n)
		set_idle(b, &m);
	for (size_t g = 0; g < n; g++)
		run_group(b, &m, &groups[g], 1.0 / (double)n);
}

double lab_gpu_next_s(const struct lab_gpu *b)
{
	double next = INFINITY;

	for (size_t i = 0; i < b->slots; i++) {
		const struct vgpu_client *c = &b->clients[i];

		if (is_busy(c) && c->rate > 0)
			next = fmin(next, b->now_s + first_launch(c)->left / c->rate);
	}
	return next;
}

/* When the next fault ends: that changes rates. */
static double fault_ends_s(const struct lab_gpu *b)
{
	double next = b->interference_until_s > b->now_s ? b->interference_until_s : INFINITY;

	for (size_t f = 0; f < VGPU_FAULT_COUNT; f++)
		if (b->fault_until_s[f] > b->now_s)
			next = fmin(next, b->fault_until_s[f]);
	return next;
}

static struct vgpu_sample sample_after(const struct lab_gpu *b, double s)
{
	const struct vgpu_sample *t = &b->total;

	return (struct vgpu_sample){
		.time_s = t->time_s + s,
		.energy_j = t->energy_j + b->power_w * s,
		.busy_s = t->busy_s + b->busy * s,
		.memory_s = t->memory_s + b->memory * s,
		.sm_s = t->sm_s + b->sm * s,
		.occupancy_s = t->occupancy_s + b->occupancy * s,
		.dram_s = t->dram_s + b->dram * s,
		.tensor_s = t->tensor_s + b->tensor * s,
		.fp32_s = t->fp32_s + b->fp32 * s,
		.pcie_in_mib = t->pcie_in_mib + b->pcie_in_mib_s * s,
		.pcie_out_mib = t->pcie_out_mib + b->pcie_out_mib_s * s,
	};
}

/* Take the samples of the grid in (now, until]; only the last ones are kept. */
static void take_samples(struct lab_gpu *b, double until_s)
{
	uint64_t first = (uint64_t)floor(b->now_s / VGPU_GRID_S) + 1,
		 last = (uint64_t)floor(until_s / VGPU_GRID_S);

	if (last - first + 1 > VGPU_SAMPLES && last >= VGPU_SAMPLES)
		first = last >= first ? last - VGPU_SAMPLES + 1 : first;
	for (uint64_t k = first; k <= last; k++)
		b->past[k % VGPU_SAMPLES] =
			sample_after(b, (double)k * VGPU_GRID_S - b->total.time_s);
}

/* @return whether rates change: other work follows, or none */
static bool finish_launch(struct vgpu_client *c, double at_s)
{
	const struct vgpu_launch *done = first_launch(c);

	c->ended_s[c->completed % VGPU_ENDS] = at_s;
	c->head = (c->head + 1) % VGPU_MAX_QUEUE;
	/* Processes also read it without the lock. */
	__atomic_store_n(&c->completed, c->completed + 1, __ATOMIC_RELEASE);
	return !is_busy(c) || first_launch(c)->workload != done->workload ||
	       first_launch(c)->batch != done->batch;
}

/* Advance to @until_s; rates and power are constant until then. */
static void gpu_pass(struct lab_gpu *b, double until_s)
{
	double s = until_s - b->now_s;
	double warm =
		VGPU_COOL_C + WARM_C_PER_W_OF_LIMIT * b->power_w / (b->type.power_limit_mw * 1e-3);
	struct vgpu_sample then = sample_after(b, s);

	take_samples(b, until_s);
	for (size_t i = 0; i < b->slots; i++) {
		struct vgpu_client *c = &b->clients[i];
		struct vgpu_launch *l = &c->queue[c->head];

		if (!is_busy(c))
			continue;
		c->gpu_s += c->part * s;
		b->held_s += c->part * s;
		l->left -= c->rate * s;
		if (c->rate > 0 && l->left <= DONE_ITERATIONS + c->rate * 1e-9)
			b->stale |= finish_launch(c, until_s);
	}
	b->temperature_c += (warm - b->temperature_c) * -expm1(-s / WARM_UP_S);
	then.time_s = until_s;
	b->total = then;
	b->now_s = until_s;
}

static void apply_crash_fault(struct lab_gpu *b)
{
	for (size_t i = 0; i < b->slots; i++) {
		struct vgpu_client *c = &b->clients[i];

		if (!is_busy(c) || !lab_gpu_has_fault(b, VGPU_FAULT_CRASH))
			continue;
		b->fault_until_s[VGPU_FAULT_CRASH] = 0;
		b->xid = 31; /* a page fault on the GPU */
		b->xid_count++;
		lab_gpu_fail(b, c->server, c->pid, VGPU_CUDA_LAUNCH_FAILED);
	}
}

void lab_gpu_advance(struct vgpu_lab *lab, struct lab_gpu *b, double now_s)
{
	apply_crash_fault(b);
	/* Nobody tells the GPU that a process was stopped. */
	b->stale |= lab_gpu_has_fault(b, VGPU_FAULT_STALL);
	if (b->stale)
		gpu_refresh(lab, b);
	while (b->now_s < now_s) {
		double fault = fault_ends_s(b), next = fmin(now_s, fmin(lab_gpu_next_s(b), fault));

		gpu_pass(b, fmax(next, b->now_s));
		b->stale |= next == fault;
		if (b->stale)
			gpu_refresh(lab, b);
	}
}

/* The state of the locked GPU has changed: compute rates again, and wake waiting processes. */
static void gpu_changed(struct lab_gpu *b)
{
	b->stale = true;
	vgpu_wake(b);
}

uint64_t lab_gpu_memory_total(const struct lab_gpu *b)
{
	return (uint64_t)b->type.memory_mib << 20;
}

uint64_t lab_gpu_memory_used(const struct lab_gpu *b)
{
	uint64_t used = (uint64_t)RESERVED_MIB << 20;

	for (size_t i = 0; i < b->slots; i++)
		used += b->clients[i].pid ? b->clients[i].memory : 0;
	return used;
}

/* Whether a process, or an MPS server, may use the GPU together with those that do. */
static bool compute_mode_allows(const struct lab_gpu *b, pid_t holder)
{
	for (size_t i = 0; b->compute_mode == NVML_COMPUTE_EXCLUSIVE && i < b->slots; i++) {
		const struct vgpu_client *c = &b->clients[i];

		if (c->pid && (c->server ? c->server : c->pid) != holder)
			return false;
	}
	return b->compute_mode != NVML_COMPUTE_PROHIBITED;
}

struct vgpu_client *lab_gpu_join(struct lab_gpu *b, pid_t pid, pid_t server, uint32_t sm_pct,
				 uint64_t memory_limit, uint64_t memory, int *error)
{
	struct vgpu_client *c = b->clients;

	*error = VGPU_CUDA_DEVICE_UNAVAILABLE;
	if (!compute_mode_allows(b, server ? server : pid))
		return NULL;
	while (c < b->clients + VGPU_MAX_CLIENTS && c->pid)
		c++;
	*error = VGPU_CUDA_MPS_MAX_CLIENTS;
	if (c == b->clients + VGPU_MAX_CLIENTS)
		return NULL;
	*error = VGPU_CUDA_OUT_OF_MEMORY;
	if (memory > lab_gpu_memory_total(b) - lab_gpu_memory_used(b))
		return NULL;
	/* The queue is the last member and needs no clearing. */
	memset(c, 0, offsetof(struct vgpu_client, queue));
	c->server = server;
	c->started = vgpu_process_started(pid);
	c->sm_pct = sm_pct;
	c->memory_limit = memory_limit;
	c->memory = memory;
	c->pid = pid;
	b->joins++;
	if (b->slots <= c - b->clients)
		b->slots = (uint32_t)(c - b->clients) + 1;
	gpu_changed(b);
	return c;
}

/* Add the GPU time of a closed context to its process's account. */
static void account_close(struct lab_gpu *b, const struct vgpu_client *c)
{
	struct vgpu_account *a = b->accounts;

	while (a < b->accounts + VGPU_ACCOUNTS && (a->pid != c->pid || a->started != c->started))
		a++;
	if (a == b->accounts + VGPU_ACCOUNTS) {
		a = &b->accounts[b->left++ % VGPU_ACCOUNTS];
		*a = (struct vgpu_account){ .pid = c->pid, .started = c->started };
	}
	a->gpu_s += c->gpu_s;
}

void lab_gpu_leave(struct lab_gpu *b, struct vgpu_client *c)
{
	account_close(b, c);
	c->pid = 0;
	while (b->slots && !b->clients[b->slots - 1].pid)
		b->slots--;
	gpu_changed(b);
}

int lab_gpu_allocate(struct lab_gpu *b, struct vgpu_client *c, uint64_t bytes)
{
	if (bytes > lab_gpu_memory_total(b) - lab_gpu_memory_used(b) ||
	    (c->memory_limit && c->memory + bytes > c->memory_limit))
		return VGPU_CUDA_OUT_OF_MEMORY;
	c->memory += bytes;
	return 0;
}

void lab_gpu_release(struct lab_gpu *b, struct vgpu_client *c, uint64_t bytes)
{
	(void)b;
	c->memory -= bytes < c->memory ? bytes : c->memory;
}

bool lab_gpu_launch(struct lab_gpu *b, struct vgpu_client *c, const struct vgpu_launch *l)
{
	bool first = c->launched == c->completed;

	if (c->launched - c->completed == VGPU_MAX_QUEUE)
		return false;
	c->queue[(c->head + (c->launched - c->completed)) % VGPU_MAX_QUEUE] = *l;
	c->launched++;
	if (first)
		gpu_changed(b);
	return true;
}

void lab_gpu_fail(struct lab_gpu *b, pid_t server, pid_t pid, int error)
{
	for (size_t i = 0; i < b->slots; i++) {
		struct vgpu_client *c = &b->clients[i];

		if (c->pid && !c->error && (server ? c->server == server : c->pid == pid))
			__atomic_store_n(&c->error, error, __ATOMIC_RELAXED);
	}
	gpu_changed(b);
}

/* A lost GPU comes back by a reset, which forgets its settings. */
static void gpu_reset(struct lab_gpu *b)
{
	b->lock_min_mhz = b->lock_max_mhz = 0;
	b->power_limit_mw = hes_gpu_type_default_limit_mw(&b->type);
	b->compute_mode = NVML_COMPUTE_DEFAULT;
	b->mig = b->mig_pending;
}

void lab_gpu_set_fault(struct lab_gpu *b, enum vgpu_fault f, double for_s)
{
	if (f == VGPU_FAULT_GPU_LOST && for_s <= 0 && lab_gpu_has_fault(b, f))
		gpu_reset(b);
	b->fault_until_s[f] = b->now_s + for_s;
	if (f == VGPU_FAULT_GPU_LOST && for_s > 0) {
		b->xid = 79; /* fallen off the bus */
		b->xid_count++;
		for (size_t i = 0; i < b->slots; i++)
			if (b->clients[i].pid)
				__atomic_store_n(&b->clients[i].error, VGPU_CUDA_UNKNOWN,
						 __ATOMIC_RELAXED);
	}
	gpu_changed(b);
}

bool lab_gpu_add_call_fault(struct lab_gpu *b, const struct vgpu_call_fault *f)
{
	if (b->n_call_faults == VGPU_CALL_FAULTS)
		return false;
	b->call_faults[b->n_call_faults] = *f;
	b->call_faults[b->n_call_faults].until_s += b->now_s;
	__atomic_store_n(&b->n_call_faults, b->n_call_faults + 1, __ATOMIC_RELEASE);
	return true;
}

/* "nvmlInit" is nvmlInit and nvmlInit_v2, "nvmlInit_v2" itself alone. */
static bool names_function(const char *fault, const char *function)
{
	size_t n = strlen(fault);

	return strncmp(fault, function, n) == 0 &&
	       (!function[n] || strncmp(function + n, "_v", 2) == 0);
}

bool lab_gpu_call_fails(struct lab_gpu *b, const char *name, int *code)
{
	bool fails = false;

	for (size_t i = 0; i < b->n_call_faults; i++) {
		struct vgpu_call_fault *f = &b->call_faults[i];

		if (b->now_s >= f->until_s || !names_function(f->name, name))
			continue;
		f->calls++;
		if (f->calls < f->first || f->calls > f->last)
			continue;
		*code = f->code;
		fails = true;
	}
	return fails;
}

void lab_gpu_add_reading_fault(struct lab_gpu *b, enum vgpu_reading r,
			       const struct vgpu_reading_fault *f)
{
	b->reading_faults[r] = *f;
	b->reading_faults[r].until_s += b->now_s;
}

void lab_gpu_set_interference(struct lab_gpu *b, double times, double for_s)
{
	b->interference = times;
	b->interference_until_s = b->now_s + for_s;
	gpu_changed(b);
}

double lab_gpu_reading(struct lab_gpu *b, enum vgpu_reading r, double value)
{
	struct vgpu_reading_fault *f = &b->reading_faults[r];

	if (f->how == VGPU_READING_TRUE || b->now_s >= f->until_s)
		return value;
	if (!f->began)
		f->first = value;
	f->began = true;
	switch (f->how) {
	case VGPU_READING_SET:
		return f->value;
	case VGPU_READING_TIMES:
		return value * f->value;
	case VGPU_READING_PLUS:
		return value + f->value;
	case VGPU_READING_FROZEN:
		return f->first;
	default:
		return value - f->first;
	}
}

void lab_gpu_clear(struct lab_gpu *b)
{
	for (size_t i = 0; i < VGPU_FAULT_COUNT; i++)
		lab_gpu_set_fault(b, (enum vgpu_fault)i, 0);
	__atomic_store_n(&b->n_call_faults, 0, __ATOMIC_RELAXED);
	memset(b->reading_faults, 0, sizeof(b->reading_faults));
	lab_gpu_set_interference(b, 1, 0);
	b->cleared++;
}

void lab_gpu_reconfigure(struct lab_gpu *b)
{
	gpu_changed(b);
}

struct vgpu_sample lab_gpu_sample(const struct lab_gpu *b, double time_s)
{
	int64_t last = (int64_t)floor(b->now_s / VGPU_GRID_S),
		k = (int64_t)floor(time_s / VGPU_GRID_S + 1e-6);

	if (k > last)
		k = last;
	if (k < last - VGPU_SAMPLES + 1)
		k = last - VGPU_SAMPLES + 1;
	return k > 0 ? b->past[k % VGPU_SAMPLES] : (struct vgpu_sample){ 0 };
}

struct vgpu_means lab_gpu_counters(struct lab_gpu *b, const struct vgpu_sample *from,
				   const struct vgpu_sample *to)
{
	double s = to->time_s - from->time_s;

#define RATE(reading, member, unit) \
	(lab_gpu_reading(b, VGPU_READING_##reading, (unit) * (to->member - from->member) / s))
#define MEAN(reading, member) (RATE(reading, member, 100) / 100)
	return (struct vgpu_means){
		.graphics = MEAN(GRAPHICS, busy_s),
		.sm = MEAN(SM, sm_s),
		.occupancy = MEAN(OCCUPANCY, occupancy_s),
		.tensor = MEAN(TENSOR, tensor_s),
		.dram = MEAN(DRAM, dram_s),
		.fp32 = MEAN(FP32, fp32_s),
		.pcie_in_mib_s = RATE(PCIE_IN, pcie_in_mib, 1),
		.pcie_out_mib_s = RATE(PCIE_OUT, pcie_out_mib, 1),
	};
}
