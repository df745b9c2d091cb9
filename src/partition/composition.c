/*
 * composition.c - what jobs do together, from what each does alone at its share; see co_run.h.
 *
 * Throughput: what a job has alone with its share, less what co-runners take of memory bandwidth
 * and cache. Power: that of a GPU that holds jobs without work, and what each job's work adds to
 * it. Where that is more than the power limit, the GPU lowers its clock.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "partition/co_run.h"

#define BANDWIDTH 0.9 /* of the data sheet's that jobs can reach together */
/* slowdown by co-runners that use all of L2 and memory, the power limit aside */
#define WAIT       0.12
#define WAIT_COPY  5    /* times as much more for a job that copies all the time */
#define HOST       0.76 /* slowdown of host-bound time by a co-runner that copies all the time */
#define L2_PER_SM  0.40 /* L2 use of a GPU whose SMs all work */
#define PCIE_GBS   12   /* where the type's is unknown: 16 lanes of the third generation */
#define MIB_PER_GB 953.674
#define LIMIT_EXPONENT \
	3 /* dynamic power grows as clock x voltage^2, close to the cube of the clock */
#define CLOCK_PART    0.7 /* of a job's throughput that follows the clock under a power limit */
#define DEMAND_ROUNDS 40

static double known(double metric)
{
	return isnan(metric) ? 0 : metric;
}

/*
 * What co-runners of a job meet in L2 and memory. L2 use is L2_PER_SM x SM activity. Without an SM
 * counter, SM activity is estimated as share x (1 - fixed). Without a bandwidth counter, the time
 * with memory traffic stands for bandwidth.
 */
static double sms_of(const struct co_job *j)
{
	double sm = j->alone.metric[HES_METRIC_SM];

	return isnan(sm) ? j->alone.sm_pct / 100 * (1 - j->fixed) : sm;
}

static double traffic_of(const struct co_job *j)
{
	double dram = j->alone.metric[HES_METRIC_DRAM];

	return known(isnan(dram) ? j->alone.metric[HES_METRIC_MEMORY_BUSY] : dram);
}

static double pressure_of(const struct co_job *j)
{
	return (L2_PER_SM * sms_of(j) + traffic_of(j)) / 2;
}

/* How much of the time of its SMs a job waits for memory: its traffic over its SM activity. */
static double memory_part(const struct co_job *j)
{
	return fmin(traffic_of(j) / fmax(sms_of(j), 1e-3), 1);
}

double co_base_w(const struct hes_share_profiles *solo, const struct hes_gpu_type *g,
		 uint32_t clock_mhz)
{
	double idle = g->idle_power_mw * 1e-3, least = INFINITY, above = 0, below = 0;

	for (size_t i = 0; i < solo->n; i++) {
		const struct hes_share_profile *p = &solo->v[i];
		double r = 0, rr = 0, w = 0, wr = 0;

		if (p->clock_mhz != clock_mhz || strcmp(p->gpu_type, g->name))
			continue;
		for (size_t k = 0; k < p->n; k++) {
			double rate = p->at[k].rate / p->at[p->n - 1].rate;

			r += rate;
			rr += rate * rate;
			w += p->at[k].power_w;
			wr += p->at[k].power_w * rate;
			least = fmin(least, p->at[k].power_w);
		}
		above += w - wr * r / rr;
		below += (double)p->n - r * r / rr;
	}
	if (!(below > 0) || !(least < INFINITY))
		return idle;
	return fmax(fmin(above / below, least), fmin(idle, least));
}

/* What a job uses of the bandwidth that jobs can reach together, 0..1. */
static double demand_of(const struct co_job *j)
{
	return fmin(known(j->alone.metric[HES_METRIC_DRAM]) / BANDWIDTH, 1);
}

/*
 * Jobs share the bandwidth. Where their demands d sum to more than 1, each is slowed by 1 + d (z -
 * 1), so that a job which uses more memory is slowed more. Bisection finds the z at which the
 * demands that are left sum to 1.
 */
static double bandwidth_factor(const struct co_run *r)
{
	double low = 1, high = 2 * HES_PARTITION_MAX_JOBS, wanted = 0;

	for (size_t i = 0; i < r->n; i++)
		wanted += demand_of(&r->job[i]);
	for (int round = 0; wanted > 1 && round < DEMAND_ROUNDS; round++) {
		double z = (low + high) / 2, sum = 0;

		for (size_t i = 0; i < r->n; i++)
			sum += demand_of(&r->job[i]) / (1 + demand_of(&r->job[i]) * (z - 1));
		*(sum > 1 ? &low : &high) = z;
	}
	return low;
}

/*
 * Slowdown of each job, by a form that was fitted to 750 slowdowns of three networks in pairs on a
 * V100 (iGniter; a network that was in no pair of the fit is off by 2.0 % on average). The first
 * term is waiting for L2 and memory, longer for a job that copies, and on some types for one that
 * is bound to memory; the second is the part that is bound to the host waiting for co-runners that
 * copy.
 */
static void slow_down(struct co_run *r)
{
	double z = bandwidth_factor(r), pressure = 0, copying = 0;

	for (size_t i = 0; i < r->n; i++) {
		pressure += pressure_of(&r->job[i]);
		copying += r->job[i].copying;
	}
	for (size_t i = 0; i < r->n; i++) {
		const struct co_job *j = &r->job[i];
		double others = fmax(pressure - pressure_of(j), 0),
		       copies = fmin(fmax(copying - j->copying, 0), 1);
		double memory = WAIT * (1 + WAIT_COPY * j->copying) +
				r->constant[CO_MEMORY] * memory_part(j);
		double waits = 1 + memory * sqrt(others) + HOST * j->fixed * sqrt(copies);

		r->rate[i] = j->alone.rate / fmax(waits, 1 + demand_of(j) * (z - 1));
	}
}

static void limit_power(struct co_run *r)
{
	double limit = r->g->power_limit_mw * 1e-3, clock;

	r->wanted_w = r->base_w;
	for (size_t i = 0; i < r->n; i++)
		r->wanted_w +=
			(r->job[i].alone.power_w - r->base_w) * r->rate[i] / r->job[i].alone.rate;
	r->wanted_w *= exp(r->constant[CO_POWER_MORE]);
	r->power_w = fmin(r->wanted_w, limit);
	if (r->wanted_w <= limit || limit <= r->base_w)
		return;
	clock = pow((limit - r->base_w) / (r->wanted_w - r->base_w), 1.0 / LIMIT_EXPONENT);
	for (size_t i = 0; i < r->n; i++)
		r->rate[i] *= 1 + CLOCK_PART * (clock - 1);
}

void co_job_at(const struct hes_share_profile *p, const struct hes_gpu_type *g, double sm_pct,
	       struct co_job *out)
{
	double link = (g->pcie_gbs > 0 ? g->pcie_gbs : PCIE_GBS) * MIB_PER_GB;

	hes_share_profile_at(p, sm_pct, &out->alone);
	out->fixed = fmin(p->fixed_s * out->alone.rate, 1);
	out->copying = fmin((known(out->alone.metric[HES_METRIC_PCIE_TX]) +
			     known(out->alone.metric[HES_METRIC_PCIE_RX])) /
				    link,
			    1);
	out->who = hes_hash_text(HES_HASH_START, p->workload) * (2 * (uint64_t)p->batch_size + 1);
}

/* A sum: in any order. */
uint64_t co_run_who(const struct co_run *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->n; i++)
		sum += r->job[i].who;
	return sum;
}

void co_run_compose(struct co_run *r)
{
	slow_down(r);
	limit_power(r);
}
