/*
 * pool.c - the processes of a GPU: those that are measured, those that are stopped until their
 * turn, and those that start ahead; see session.h.
 *
 * Starts are what a profile of short points waits for. So the processes of the next sequences
 * start together, and a process that a later sequence needs is stopped instead of ended. All are
 * clients of one MPS daemon: before that ends, all end.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "launch/cgroup.h"
#include "profile/session.h"

#define USABLE     0.97 /* of a GPU's memory: the driver needs the rest */
#define HOST_PART  0.25 /* of the host's memory stays available for what is measured */
#define MISSING    (2 * HES_MAX_SHARING) /* a start costs more than any number of waits */
#define CONTEXTS_S 0.1

static struct job_facts facts_of(const struct session *s, size_t job)
{
	struct job_facts f;

	pthread_mutex_lock(&s->all->lock);
	f = s->all->facts[job];
	pthread_mutex_unlock(&s->all->lock);
	return f;
}

static size_t job_of(const struct session *s, const struct lane *l)
{
	return (size_t)(l->job - s->all->p->jobs);
}

static bool lane_is(const struct session *s, const struct lane *l,
		    const struct hes_sequence_job *member)
{
	return job_of(s, l) == member->job && l->sm_pct == member->sm_pct;
}

static bool is_waiting(const struct lane *l)
{
	return l->state == LANE_AHEAD || l->state == LANE_STOPPED;
}

/* A process for @member that waits and is not in @taken. @return NULL: none */
static struct lane *find_waiting(struct session *s, const struct hes_sequence_job *member,
				 const bool *taken)
{
	for (size_t k = 0; k < SESSION_POOL; k++)
		if (is_waiting(&s->pool[k]) && lane_is(s, &s->pool[k], member) &&
		    !(taken && taken[k]))
			return &s->pool[k];
	return NULL;
}

/* Mark the waiting processes that @t uses. @return what @t costs until it can be measured */
static unsigned mark_used(struct session *s, const struct hes_sequence *t, bool *taken)
{
	unsigned cost = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		struct lane *l = find_waiting(s, &t->jobs[i], taken);

		if (l)
			taken[l - s->pool] = true;
		cost += !l ? MISSING : l->state == LANE_AHEAD;
	}
	return cost;
}

unsigned pool_cost(struct session *s, const struct hes_sequence *t)
{
	bool taken[SESSION_POOL] = { false };

	return mark_used(s, t, taken);
}

size_t pool_starting(const struct session *s)
{
	size_t n = 0;

	for (size_t k = 0; k < SESSION_POOL; k++)
		n += s->pool[k].state == LANE_AHEAD && !s->pool[k].failed;
	return n;
}

size_t pool_waiting(const struct session *s)
{
	size_t n = 0;

	for (size_t k = 0; k < SESSION_POOL; k++)
		n += is_waiting(&s->pool[k]);
	return n;
}

/* Whether one more process of a job fits the GPU's memory; false: it does not, or a job's memory
 * is unknown. */
static bool fits_gpu(const struct session *s, size_t job)
{
	double mib = facts_of(s, job).memory_mib + (double)(s->idle_bytes >> 20);

	if (!facts_of(s, job).memory_mib)
		return false;
	for (size_t k = 0; k < SESSION_POOL; k++) {
		const struct lane *l = &s->pool[k];
		const uint32_t of =
			l->state != LANE_NONE ? facts_of(s, job_of(s, l)).memory_mib : 0;

		if (l->state != LANE_NONE && !of)
			return false;
		mib += of;
	}
	return mib <= USABLE * s->type->memory_mib;
}

/* A container or a batch job has a limit of its own. */
static bool fits_host(void)
{
	char cgroup[HES_CGROUP_MAX];
	double all = 0, available = 0, value;
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "MemTotal: %lf", &value) == 1)
			all = value;
		if (sscanf(line, "MemAvailable: %lf", &value) == 1)
			available = value;
	}
	if (f)
		fclose(f);
	hes_cgroup_own(cgroup);
	return available >= HOST_PART * all && hes_cgroup_has_memory(cgroup, HOST_PART);
}

/* End a waiting process that is not in @spare; NULL: any. @return 1; 0 there is none; -EBUSY */
static int evict(struct session *s, const bool *spare, struct hes_err *err)
{
	for (size_t k = 0; k < SESSION_POOL; k++) {
		struct lane *l = &s->pool[k];

		if (is_waiting(l) && !(spare && spare[k]))
			return lanes_end(&l, 1, err) ? -EBUSY : 1;
	}
	return 0;
}

/* @return a free slot; NULL: none */
static struct lane *free_slot(struct session *s)
{
	for (size_t k = 0; k < SESSION_POOL; k++)
		if (s->pool[k].state == LANE_NONE)
			return &s->pool[k];
	return NULL;
}

static int start_in(struct session *s, struct lane *l, enum lane_state state,
		    const struct hes_sequence_job *member, struct hes_err *err)
{
	int rc;

	/* Contexts are looked up by slot. */
	hes_contexts_free(&s->contexts);
	*l = (struct lane){ .state = state,
			    .host = &s->host,
			    .job = &s->all->p->jobs[member->job],
			    .sm_pct = member->sm_pct };
	rc = lane_start(l, hes_monotonic_s(), err);
	pthread_mutex_lock(&s->all->lock);
	s->all->result.starts += !rc;
	s->all->result.ahead += !rc && state == LANE_AHEAD;
	pthread_mutex_unlock(&s->all->lock);
	return rc;
}

static bool may_wait(const struct session *s, size_t job)
{
	/* A job whose runs are counted shows no progress before the end of one. */
	return s->all->p->ahead && !s->alone && !s->all->p->jobs[job].iterations &&
	       facts_of(s, job).memory_mib && !facts_of(s, job).fails_ahead;
}

/* Start what @t lacks. @return 1: there is no room for more; 0; -EBUSY */
static int start_members(struct session *s, const struct hes_sequence *t, size_t most, bool *wanted,
			 struct hes_err *err)
{
	bool taken[SESSION_POOL] = { false };

	for (uint32_t i = 0; i < t->n; i++) {
		struct lane *l = find_waiting(s, &t->jobs[i], taken);
		struct hes_err why;
		int rc = 1;

		if (!l && !may_wait(s, t->jobs[i].job))
			return 0;
		while (!l && rc > 0 && (pool_waiting(s) >= most || !fits_gpu(s, t->jobs[i].job)))
			rc = evict(s, wanted, err);
		if (rc < 0)
			return rc;
		if (!l && (!rc || !fits_host() || !(l = free_slot(s)) ||
			   start_in(s, l, LANE_AHEAD, &t->jobs[i], &why)))
			return 1;
		wanted[l - s->pool] = taken[l - s->pool] = true;
	}
	return 0;
}

/* The sequence of the queue that lacks the fewest processes. @return NULL: none is left */
static const struct hes_sequence *cheapest(struct session *s, const bool *planned)
{
	const struct hes_sequence *best = NULL;
	unsigned least = 0;

	for (size_t i = 0; i < s->n_queue; i++) {
		const unsigned cost = pool_cost(s, s->queue[i]);

		if (!planned[i] && (!best || cost < least)) {
			best = s->queue[i];
			least = cost;
		}
	}
	return best;
}

int pool_prepare(struct session *s, const struct hes_sequence *t, struct hes_err *err)
{
	bool wanted[SESSION_POOL] = { false }, planned[SESSION_QUEUE] = { false };
	int rc = 0;

	/* Processes of a later sequence start only with those that this one waits for. */
	if (pool_cost(s, t) < MISSING)
		return 0;
	for (uint32_t i = 0; i < t->n; i++)
		if (!may_wait(s, t->jobs[i].job))
			return 0;
	while (t && !rc) {
		rc = start_members(s, t, s->all->p->ahead, wanted, err);
		for (size_t i = 0; i < s->n_queue; i++)
			planned[i] |= s->queue[i] == t;
		t = cheapest(s, planned);
	}
	return rc < 0 ? rc : 0;
}

/* For a process that must start; those that the sequence does not use end first. */
static int make_room(struct session *s, const struct hes_sequence *t, size_t job,
		     struct hes_err *err)
{
	bool spare[SESSION_POOL] = { false };

	mark_used(s, t, spare);
	while (pool_waiting(s) && (!free_slot(s) || !fits_gpu(s, job))) {
		int rc = evict(s, spare, err);

		if (!rc)
			rc = evict(s, NULL, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int pool_join(struct session *s, const struct hes_sequence *t, uint32_t at, struct hes_err *err)
{
	struct lane *l = find_waiting(s, &t->jobs[at], NULL);
	int rc = 0;

	if (l && l->failed) {
		*err = l->why;
		return l->failed;
	}
	if (!l) {
		rc = make_room(s, t, t->jobs[at].job, err);
		l = free_slot(s);
		rc = rc ? rc : start_in(s, l, LANE_ON, &t->jobs[at], err);
	} else if (l->state == LANE_STOPPED) {
		lane_continue(l, hes_monotonic_s());
	}
	if (rc)
		return rc;
	l->state = LANE_ON;
	s->lanes[s->n++] = l;
	return 0;
}

/* Whether a sequence that is still to run needs the process. */
static bool is_needed(struct session *s, const struct lane *l)
{
	const struct hes_sequences *all = s->work->sequences;
	bool needed = false;

	for (size_t i = 0; i < s->n_queue; i++)
		for (uint32_t k = 0; k < s->queue[i]->n; k++)
			needed |= lane_is(s, l, &s->queue[i]->jobs[k]);
	pthread_mutex_lock(&s->all->lock);
	for (size_t i = s->work->next; i < all->n && i < s->work->next + SESSION_AHEAD; i++)
		for (uint32_t k = 0; k < all->v[i].n; k++)
			needed |= lane_is(s, l, &all->v[i].jobs[k]);
	pthread_mutex_unlock(&s->all->lock);
	return needed;
}

/* The job starts only when it is its turn. */
static void not_ahead(struct session *s, const struct lane *l)
{
	pthread_mutex_lock(&s->all->lock);
	s->all->facts[job_of(s, l)].fails_ahead = true;
	pthread_mutex_unlock(&s->all->lock);
}

int pool_leave_first(struct session *s, struct hes_err *err)
{
	struct lane *l = s->lanes[0];
	bool waits =
		may_wait(s, job_of(s, l)) && pool_waiting(s) < s->all->p->ahead && is_needed(s, l);
	int rc = 0;

	if (waits && lane_stop(l, hes_monotonic_s())) {
		not_ahead(s, l);
		waits = false;
	}
	if (!waits)
		rc = lanes_end(&l, 1, err);
	if (rc)
		return rc;
	s->n--;
	memmove(s->lanes, s->lanes + 1, s->n * sizeof(s->lanes[0]));
	return 0;
}

int pool_end(struct session *s, struct hes_err *err)
{
	struct lane *l[SESSION_POOL];
	size_t n = 0;

	for (size_t k = 0; k < SESSION_POOL; k++)
		if (s->pool[k].state != LANE_NONE)
			l[n++] = &s->pool[k];
	s->n = 0;
	hes_contexts_free(&s->contexts);
	return lanes_end(l, n, err);
}

/* The contexts on the GPU; of: the slot. @return 0; -errno */
static int look_at_contexts(struct session *s)
{
	struct hes_member_rule rules[SESSION_POOL];

	for (size_t k = 0; k < SESSION_POOL; k++)
		rules[k] = s->pool[k].state != LANE_NONE
				   ? hes_child_rule(&s->pool[k].child)
				   : (struct hes_member_rule){ .mark = "",
							       .cgroup = "",
							       .mps_pipe = "" };
	return hes_contexts_look(s->all->p->devices, s->gpu, rules, SESSION_POOL, &s->contexts,
				 NULL);
}

bool pool_awaits_use(const struct session *s)
{
	for (size_t k = 0; k < SESSION_POOL; k++)
		if (s->pool[k].state != LANE_NONE && !s->pool[k].failed &&
		    isnan(s->pool[k].first_use_s) && !s->pool[k].sought)
			return true;
	return false;
}

static void note_first_use(struct session *s, double now_s)
{
	if (!pool_awaits_use(s) || now_s < s->contexts_s + CONTEXTS_S)
		return;
	s->contexts_s = now_s;
	if (look_at_contexts(s))
		return;
	for (size_t i = 0; i < s->contexts.n; i++) {
		struct lane *l =
			s->contexts.v[i].of < SESSION_POOL ? &s->pool[s->contexts.v[i].of] : NULL;

		if (l && isnan(l->first_use_s))
			l->first_use_s = now_s - l->begun_s;
	}
	for (size_t k = 0; k < SESSION_POOL; k++)
		s->pool[k].sought |= s->pool[k].lines || s->pool[k].marks;
}

/* A start ahead has failed: its own sequence reports it. */
static void note_failure(struct session *s, struct lane *l, int rc)
{
	lanes_end(&l, 1, NULL);
	l->state = LANE_AHEAD;
	l->failed = rc;
	not_ahead(s, l);
}

void pool_look(struct session *s)
{
	note_first_use(s, hes_monotonic_s());
	for (size_t k = 0; k < SESSION_POOL; k++) {
		const double now_s = hes_monotonic_s(); /* to stop one takes time */
		struct lane *l = &s->pool[k];
		int rc;

		if (l->state != LANE_AHEAD || l->failed)
			continue;
		rc = lane_look(l, now_s, &l->why);
		if (!rc && !l->marks && now_s - l->moved_s > s->all->p->timing.patience_s)
			rc = lane_no_progress(l, -ETIME, "has made no progress since its start",
					      &l->why);
		if (rc)
			note_failure(s, l, rc);
		else if (l->marks && lane_stop(l, now_s)) {
			not_ahead(s, l);
			lanes_end(&l, 1, NULL);
		}
	}
}

double pool_memory_mib(struct session *s, const struct lane *l)
{
	double bytes = 0;

	if (look_at_contexts(s))
		return NAN;
	for (size_t i = 0; i < s->contexts.n; i++) {
		const struct hes_context *c = &s->contexts.v[i];

		if (c->of == (size_t)(l - s->pool))
			bytes += c->has_memory ? (double)c->memory_bytes : NAN;
	}
	return bytes > 0 ? floor(bytes / (1 << 20)) : NAN;
}
