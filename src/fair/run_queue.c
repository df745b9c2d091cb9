/*
 * run_queue.c - who runs next on a GPU that tenants share by turns; see heshare/fair_queue.h.
 *
 * A GPU has some hundreds of tenants at most, so a pick looks at all of them.
 *
 * Invariant: no user with work is below the minimum, which never falls. So a user that gets work
 * cannot have saved up turns. The minimum is the least vruntime of the users with work, and of the
 * last user that had work while there is none. The same holds for the tenants of each user. Slices
 * are those of the tenants with work, unless the queue is stale.
 *
 * A user without tenants and without a debt is as a new one, so that another takes its place.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fair/slices.h"
#include "heshare/fair_queue.h"

#define NO_SLOT      UINT32_MAX
#define LEAST_SLOTS  16
#define REBASE_AFTER 0x1p20 /* slices; keeps vruntimes exact to 2^-32 of a slice */

struct slot {
	double vruntime;
	double slice_ns;
	uint64_t slice;   /* quanta; 0: never had one */
	uint64_t time_ns; /* sums of charges */
	double energy_j;
	uint64_t items; /* not done */
	bool used;
	struct hes_fair_tenant tenant;
};

struct user {
	uint32_t id;
	double weight, vruntime;
	double slice_ns;
	uint32_t n, n_busy; /* tenants, and those with work */
	double floor;       /* the minimum of its tenants while none has work */
	uint32_t at;        /* scratch: the place of its next tenant in busy */
};

struct hes_fair_queue {
	struct hes_fair_queue_config c;
	uint32_t n_busy;    /* users with work */
	double floor;       /* the minimum of users while there are none */
	bool stale;         /* slices must be computed before the next pick */
	struct slot *slots; /* [room], the first n_slots were used */
	double *turns;      /* [room]: vruntime of a tenant with work; INFINITY: it has none */
	uint32_t *owners;   /* [room]: its user */
	struct user *users; /* [room] */
	uint32_t n_slots, n_users, room;

	/* Scratch: tenants with work, user by user. */
	struct hes_fair_tenant *busy;     /* [room] */
	uint32_t *busy_slots;             /* [room] */
	uint64_t *slices;                 /* [room] */
	struct hes_fair_user *busy_users; /* [room] */
	uint64_t *user_slices;            /* [room] */
	void *slices_room;                /* of fair_users_fill() */
};

static struct slot *slot_find(const struct hes_fair_queue *q, uint32_t tenant, struct hes_err *err)
{
	if (tenant < q->n_slots && q->slots[tenant].used)
		return &q->slots[tenant];
	hes_fail(err, -ENOENT, "there is no tenant %" PRIu32, tenant);
	return NULL;
}

static int config_check(const struct hes_fair_queue_config *c, struct hes_err *err)
{
	const struct hes_fair_tenant any = { 1, 1, HES_FAIR_BACKLOGGED };
	const struct hes_fair_request r = { c->policy, c->interval, c->phi, &any, 1 };
	int rc = fair_request_check(&r, err);

	if (rc)
		return rc;
	if (c->quantum_ns < 1 || c->quantum_ns > HES_FAIR_MAX_NS / c->interval)
		return hes_fail(err, -EINVAL,
				"a quantum of %" PRIu64 " ns is outside 1 to %" PRIu64
				" ns for %" PRIu64 " quanta",
				c->quantum_ns, HES_FAIR_MAX_NS / c->interval, c->interval);
	return 0;
}

static int spec_check(uint32_t tenant, const struct hes_fair_tenant *t, struct hes_err *err)
{
	if (t->demand < 1)
		return hes_fail(err, -EINVAL,
				"tenant %" PRIu32 ": the demand is 0 quanta; it must be at least 1",
				tenant);
	return fair_tenant_check(tenant, t, err);
}

int hes_fair_queue_create(const struct hes_fair_queue_config *c, struct hes_fair_queue **out,
			  struct hes_err *err)
{
	int rc = config_check(c, err);
	struct hes_fair_queue *q = rc ? NULL : calloc(1, sizeof(*q));

	if (rc)
		return rc;
	if (!q)
		return hes_fail(err, -ENOMEM, "out of memory for a run queue");
	q->c = *c;
	*out = q;
	return 0;
}

void hes_fair_queue_destroy(struct hes_fair_queue *q)
{
	if (!q)
		return;
	free(q->slots);
	free(q->turns);
	free(q->owners);
	free(q->users);
	free(q->busy);
	free(q->busy_slots);
	free(q->slices);
	free(q->busy_users);
	free(q->user_slices);
	free(q->slices_room);
	free(q);
}

/* @array is the address of a pointer, of any type. */
static bool array_grow(void *array, size_t size)
{
	void *old, *grown;

	memcpy(&old, array, sizeof(old));
	grown = realloc(old, size);
	if (grown)
		memcpy(array, &grown, sizeof(grown));
	return grown;
}

/* Arrays that have grown stay so when a later one cannot: only the room counts. */
static bool queue_grow(struct hes_fair_queue *q)
{
	uint32_t room = q->room ? 2 * q->room : LEAST_SLOTS;

	if (!array_grow(&q->slots, room * sizeof(*q->slots)) ||
	    !array_grow(&q->turns, room * sizeof(*q->turns)) ||
	    !array_grow(&q->owners, room * sizeof(*q->owners)) ||
	    !array_grow(&q->busy, room * sizeof(*q->busy)) ||
	    !array_grow(&q->busy_slots, room * sizeof(*q->busy_slots)) ||
	    !array_grow(&q->slices, room * sizeof(*q->slices)) ||
	    !array_grow(&q->users, room * sizeof(*q->users)) ||
	    !array_grow(&q->busy_users, room * sizeof(*q->busy_users)) ||
	    !array_grow(&q->user_slices, room * sizeof(*q->user_slices)) ||
	    !array_grow(&q->slices_room, fair_users_room(room, room)))
		return false;
	q->room = room;
	return true;
}

/* The user with work that has the least vruntime, and of these the first; NO_SLOT: there is none.
 */
static uint32_t user_first(const struct hes_fair_queue *q)
{
	uint32_t first = NO_SLOT;

	for (uint32_t u = 0; u < q->n_users; u++)
		if (q->users[u].n_busy &&
		    (first == NO_SLOT || q->users[u].vruntime < q->users[first].vruntime))
			first = u;
	return first;
}

static double queue_minimum(const struct hes_fair_queue *q)
{
	return q->n_busy ? q->users[user_first(q)].vruntime : q->floor;
}

/* Its user, or a place for it. @return 0; -ENOMEM; -ENOSPC */
static int user_place(struct hes_fair_queue *q, uint32_t id, uint32_t *user, struct hes_err *err)
{
	const double minimum = queue_minimum(q);
	uint32_t place = q->n_users;

	for (*user = 0; *user < q->n_users; ++*user) {
		const struct user *u = &q->users[*user];

		if (u->id == id)
			return 0;
		if (!u->n && u->vruntime <= minimum)
			place = *user;
	}
	if (place == HES_FAIR_MAX_TENANTS)
		return hes_fail(err, -ENOSPC, "there are %d users already", HES_FAIR_MAX_TENANTS);
	if (place == q->room && !queue_grow(q))
		return hes_fail(err, -ENOMEM, "out of memory for user %" PRIu32, id);
	q->n_users += place == q->n_users;
	q->users[place] = (struct user){ .id = id, .weight = 1 };
	*user = place;
	return 0;
}

int hes_fair_queue_set_user(struct hes_fair_queue *q, uint32_t user, double weight,
			    struct hes_err *err)
{
	uint32_t u;
	int rc = fair_weight_check("user", user, weight, err);

	if (!rc)
		rc = user_place(q, user, &u, err);
	if (rc)
		return rc;
	q->users[u].weight = weight;
	q->stale = true;
	return 0;
}

int hes_fair_queue_add(struct hes_fair_queue *q, uint32_t user, const struct hes_fair_tenant *t,
		       uint32_t *tenant, struct hes_err *err)
{
	uint32_t slot = 0, u;
	int rc;

	while (slot < q->n_slots && q->slots[slot].used)
		slot++;
	rc = spec_check(slot, t, err);
	if (rc)
		return rc;
	if (slot == HES_FAIR_MAX_TENANTS)
		return hes_fail(err, -ENOSPC, "there are %d tenants already", HES_FAIR_MAX_TENANTS);
	if (slot == q->room && !queue_grow(q))
		return hes_fail(err, -ENOMEM, "out of memory for tenant %" PRIu32, slot);
	rc = user_place(q, user, &u, err);
	if (rc)
		return rc;
	q->n_slots += slot == q->n_slots;
	q->turns[slot] = INFINITY;
	q->owners[slot] = u;
	q->users[u].n++;
	q->slots[slot] = (struct slot){ .used = true, .tenant = *t };
	*tenant = slot;
	return 0;
}

/* The tenant with work of a user that has the least vruntime, and of these the lowest index;
 * NO_SLOT: there is none. */
static uint32_t tenant_first(const struct hes_fair_queue *q, uint32_t user)
{
	uint32_t first = NO_SLOT;
	double least = INFINITY;

	for (uint32_t i = 0; i < q->n_slots; i++)
		if (q->turns[i] < least && q->owners[i] == user) {
			least = q->turns[i];
			first = i;
		}
	return first;
}

static double user_minimum(const struct hes_fair_queue *q, uint32_t user)
{
	const struct user *u = &q->users[user];

	return u->n_busy ? q->turns[tenant_first(q, user)] : u->floor;
}

static void slot_set_slice(const struct hes_fair_queue *q, struct slot *s, uint64_t slice)
{
	s->slice = slice ? slice : 1;
	s->slice_ns = (double)(s->slice * q->c.quantum_ns);
}

static void tenant_arrives(struct hes_fair_queue *q, uint32_t tenant)
{
	struct slot *s = &q->slots[tenant];
	struct user *u = &q->users[q->owners[tenant]];

	s->vruntime = greater(s->vruntime, user_minimum(q, q->owners[tenant]));
	q->turns[tenant] = s->vruntime;
	if (!u->n_busy) {
		u->vruntime = greater(u->vruntime, queue_minimum(q));
		q->n_busy++;
	}
	u->n_busy++;
	q->stale = true;
}

static void tenant_departs(struct hes_fair_queue *q, uint32_t tenant)
{
	struct user *u = &q->users[q->owners[tenant]];

	q->turns[tenant] = INFINITY;
	q->stale = true;
	if (--u->n_busy)
		return;
	u->floor = q->slots[tenant].vruntime;
	if (!--q->n_busy)
		q->floor = u->vruntime;
}

int hes_fair_queue_remove(struct hes_fair_queue *q, uint32_t tenant, struct hes_err *err)
{
	struct slot *s = slot_find(q, tenant, err);

	if (!s)
		return -ENOENT;
	if (s->items)
		tenant_departs(q, tenant);
	q->users[q->owners[tenant]].n--;
	*s = (struct slot){ .used = false };
	return 0;
}

int hes_fair_queue_change(struct hes_fair_queue *q, uint32_t tenant,
			  const struct hes_fair_tenant *t, struct hes_err *err)
{
	struct slot *s = slot_find(q, tenant, err);
	int rc = s ? spec_check(tenant, t, err) : -ENOENT;

	if (rc)
		return rc;
	s->tenant = *t;
	q->stale |= s->items > 0;
	return 0;
}

int hes_fair_queue_set_phi(struct hes_fair_queue *q, double phi, struct hes_err *err)
{
	if (!(phi >= 0 && phi <= 1))
		return hes_fail(err, -EINVAL, "phi %g is outside 0 to 1", phi);
	q->c.phi = phi;
	q->stale = true;
	return 0;
}

int hes_fair_queue_submit(struct hes_fair_queue *q, uint32_t tenant, uint64_t items,
			  struct hes_err *err)
{
	struct slot *s = slot_find(q, tenant, err);

	if (!s)
		return -ENOENT;
	if (items > HES_FAIR_MAX_ITEMS - s->items)
		return hes_fail(err, -EINVAL, "tenant %" PRIu32 ": more than %" PRIu64 " items",
				tenant, HES_FAIR_MAX_ITEMS);
	s->items += items;
	if (items && s->items == items)
		tenant_arrives(q, tenant);
	return 0;
}

int hes_fair_queue_done(struct hes_fair_queue *q, uint32_t tenant, uint64_t items,
			struct hes_err *err)
{
	struct slot *s = slot_find(q, tenant, err);

	if (!s)
		return -ENOENT;
	if (items > s->items)
		return hes_fail(err, -EINVAL,
				"tenant %" PRIu32 ": %" PRIu64 " items done of %" PRIu64, tenant,
				items, s->items);
	s->items -= items;
	if (items && !s->items)
		tenant_departs(q, tenant);
	return 0;
}

/* The tenants with work, user by user. @return their number; @n_users: with work */
static size_t queue_gather(struct hes_fair_queue *q, size_t *n_users)
{
	uint32_t n = 0;

	*n_users = 0;
	for (uint32_t u = 0; u < q->n_users; u++) {
		struct user *user = &q->users[u];

		user->at = n;
		n += user->n_busy;
		if (user->n_busy)
			q->busy_users[(*n_users)++] =
				(struct hes_fair_user){ user->weight, user->n_busy };
	}
	for (uint32_t i = 0; i < q->n_slots; i++)
		if (q->slots[i].items) {
			uint32_t at = q->users[q->owners[i]].at++;

			q->busy[at] = q->slots[i].tenant;
			q->busy_slots[at] = i;
		}
	return n;
}

/* In the order of users and tenants: ties of Algorithm 1 go to the lowest index. */
static void queue_slice(struct hes_fair_queue *q)
{
	struct hes_fair_request r = { q->c.policy, q->c.interval, q->c.phi, q->busy, 0 };
	size_t n_users, k = 0;

	r.n = queue_gather(q, &n_users);
	fair_users_fill(&r, q->busy_users, n_users, q->slices_room, q->user_slices, q->slices);
	for (size_t i = 0; i < r.n; i++)
		slot_set_slice(q, &q->slots[q->busy_slots[i]], q->slices[i]);
	for (uint32_t u = 0; u < q->n_users; u++)
		if (q->users[u].n_busy) {
			uint64_t slice = q->user_slices[k++];

			q->users[u].slice_ns = (double)((slice ? slice : 1) * q->c.quantum_ns);
		}
	q->stale = false;
}

bool hes_fair_queue_pick(struct hes_fair_queue *q, struct hes_fair_turn *out)
{
	uint32_t user = user_first(q), tenant;

	if (user == NO_SLOT)
		return false;
	if (q->stale)
		queue_slice(q);
	tenant = tenant_first(q, user);
	*out = (struct hes_fair_turn){ tenant, q->slots[tenant].slice,
				       q->slots[tenant].slice * q->c.quantum_ns };
	return true;
}

double hes_fair_queue_phi_fair(struct hes_fair_queue *q)
{
	struct hes_fair_tenant *t = q->busy;
	size_t n_users;
	double phi = 1;

	queue_gather(q, &n_users);
	for (size_t k = 0; k < n_users; t += q->busy_users[k++].n) {
		double weights = 0, at_a_joule = 0;

		phi = lesser(phi, hes_fair_phi_fair(t, q->busy_users[k].n));
		for (size_t i = 0; i < q->busy_users[k].n; i++) {
			weights += t[i].weight;
			at_a_joule += t[i].weight / t[i].power_w;
		}
		/* As a tenant: its power where the energies of its tenants are equal. */
		q->busy[k] =
			(struct hes_fair_tenant){ weights / at_a_joule, q->busy_users[k].weight,
						  HES_FAIR_BACKLOGGED };
	}
	return n_users ? lesser(phi, hes_fair_phi_fair(q->busy, n_users)) : phi;
}

/* Large vruntimes would lose short turns. Those without work that are behind would start at the
 * minimum anyway. */
static void queue_rebase(struct hes_fair_queue *q)
{
	const double zero = queue_minimum(q);

	for (uint32_t u = 0; u < q->n_users; u++)
		q->users[u].vruntime = greater(q->users[u].vruntime - zero, 0);
	q->floor = 0;
}

static void user_rebase(struct hes_fair_queue *q, uint32_t user)
{
	const double zero = user_minimum(q, user);

	for (uint32_t i = 0; i < q->n_slots; i++) {
		if (q->owners[i] != user)
			continue;
		q->slots[i].vruntime = greater(q->slots[i].vruntime - zero, 0);
		if (q->slots[i].items)
			q->turns[i] = q->slots[i].vruntime;
	}
	q->users[user].floor = 0;
}

static void user_charge(struct hes_fair_queue *q, uint32_t user, uint64_t time_ns)
{
	struct user *u = &q->users[user];

	u->vruntime += (double)time_ns / u->slice_ns;
	if (!q->n_busy)
		q->floor = greater(q->floor, u->vruntime);
	if (queue_minimum(q) > REBASE_AFTER)
		queue_rebase(q);
}

int hes_fair_queue_charge(struct hes_fair_queue *q, uint32_t tenant, uint64_t time_ns,
			  double energy_j, struct hes_err *err)
{
	struct slot *s = slot_find(q, tenant, err);
	uint32_t user;

	if (!s)
		return -ENOENT;
	if (time_ns > HES_FAIR_MAX_NS || !(energy_j >= 0 && isfinite(energy_j)))
		return hes_fail(err, -EINVAL,
				"tenant %" PRIu32 ": a charge of %" PRIu64
				" ns, %g J is out of range",
				tenant, time_ns, energy_j);
	if (!s->slice)
		return hes_fail(err, -EINVAL,
				"tenant %" PRIu32 " never had a slice, so it cannot have run",
				tenant);
	user = q->owners[tenant];
	s->time_ns += time_ns;
	s->energy_j += energy_j;
	s->vruntime += (double)time_ns / s->slice_ns;
	if (s->items)
		q->turns[tenant] = s->vruntime;
	else if (!q->users[user].n_busy)
		q->users[user].floor = greater(q->users[user].floor, s->vruntime);
	if (user_minimum(q, user) > REBASE_AFTER)
		user_rebase(q, user);
	user_charge(q, user, time_ns);
	return 0;
}

int hes_fair_queue_usage(const struct hes_fair_queue *q, uint32_t tenant,
			 struct hes_fair_usage *out, struct hes_err *err)
{
	const struct slot *s = slot_find(q, tenant, err);

	if (!s)
		return -ENOENT;
	*out = (struct hes_fair_usage){
		.tenant = s->tenant,
		.time_ns = s->time_ns,
		.energy_j = s->energy_j,
		.items = s->items,
		.slice = s->slice,
		.vruntime = s->vruntime,
	};
	return 0;
}
