/*
 * joint_result.c - what a joint search found, as its callers see it; see joint_search.h.
 */
#include "plan/joint/joint_result.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void hes_joint_free(struct hes_joint *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->n_memos; i++)
		hes_rates_free(j->memos[i]);
	joint_archive_finish(&j->archive);
	free(j);
}

const struct hes_pareto *hes_joint_front(const struct hes_joint *j)
{
	return &j->archive.front;
}

struct hes_joint_solution hes_joint_member(const struct hes_joint *j, size_t member)
{
	const size_t slot = j->archive.front.v[member].tag;

	return (struct hes_joint_solution){ &j->archive.items[slot * j->archive.n],
					    &j->archive.first[slot * (j->archive.k + 1)] };
}

uint64_t hes_joint_evaluated(const struct hes_joint *j)
{
	return j->evaluations;
}

double joint_lesser_gain(const struct hes_objectives *at, const struct hes_objectives *from)
{
	return fmin(1 - at->energy_mj / from->energy_mj, 1 - at->jct_us / from->jct_us);
}

static size_t balanced(const struct hes_joint *j)
{
	const struct hes_pareto *f = &j->archive.front;
	size_t best = 0;

	for (size_t m = 1; m < f->n; m++)
		if (joint_lesser_gain(&f->v[m].at, &j->knee) > joint_lesser_gain(&f->v[best].at, &j->knee))
			best = m;
	return best;
}

size_t hes_joint_wanted(const struct hes_joint *j)
{
	switch (j->wanted) {
	case HES_JOINT_FRUGAL: return 0;
	case HES_JOINT_QUICK: return j->archive.front.n - 1;
	default: return balanced(j);
	}
}

double hes_joint_peak_mw(const struct hes_joint *j, size_t member)
{
	const struct hes_joint_solution s = hes_joint_member(j, member);
	double sum = 0;

	for (size_t g = 0; g < j->p->k; g++) {
		struct hes_timeline_cost c;

		hes_timeline_run(j->p, j->memos[0], g, &s.items[s.first[g]], s.first[g + 1] - s.first[g], &c, NULL);
		sum += fmax(c.peak_mw, j->p->types[j->p->gpus[g].type]->idle_power_mw);
	}
	return sum;
}

/* When each job of a member ends, and what it takes. */
static void find_times(const struct hes_joint *j, size_t member, struct hes_timeline_times *of_job,
		       struct hes_timeline_times *room)
{
	const struct hes_joint_solution s = hes_joint_member(j, member);

	for (size_t g = 0; g < j->p->k; g++) {
		const struct hes_timeline_item *items = &s.items[s.first[g]];
		const uint32_t n = s.first[g + 1] - s.first[g];
		struct hes_timeline_cost c;

		hes_timeline_run(j->p, j->memos[0], g, items, n, &c, room);
		for (uint32_t i = 0; i < n; i++)
			of_job[items[i].job] = room[i];
	}
}

int hes_joint_bounds(const struct hes_joint *j, size_t member, struct hes_bounds *out)
{
	struct hes_timeline_times *times = calloc(2 * (j->p->n + 1), sizeof(*times));
	struct hes_rates *memos[JOINT_MEMOS + 1];
	size_t n = j->n_memos;
	int rc;

	if (!times)
		return -ENOMEM;
	find_times(j, member, times, times + j->p->n + 1);
	memcpy(memos, j->memos, n * sizeof(*memos));
	memos[n++] = j->p->rates; /* Algorithm 1's sets, too */
	rc = hes_bound(j->p, memos, n, times, &j->archive.front.v[member].at, out);
	free(times);
	return rc;
}
