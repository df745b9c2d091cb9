/*
 * user_slices.c - slices of users and of their tenants: Algorithm 1 of slices.c, twice; see
 * hes_fair_slices_of_users().
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "fair/slices.h"

#define EXACT    1e-9 /* of a slice that is not rounded */
#define HALVINGS 64   /* of the doubles between two numbers: none is left */

struct owner {
	struct hes_fair_request r; /* of its tenants */
	double low, cap;           /* its guarantee of time; its demand, at most T */
	bool limited;              /* a demand of its tenants is below T */
};

/* Of a request of tenants, the request of their users. */
struct division {
	struct hes_fair_request r;     /* of the users */
	struct hes_fair_tenant *users; /* [r.n], which it has */
	struct owner *owners;          /* [r.n] */
	void *room;                    /* for Algorithm 1 */
};

static void owner_begin(struct division *d, size_t u, const struct hes_fair_request *r,
			const struct hes_fair_user *user, size_t first)
{
	struct owner *o = &d->owners[u];
	uint64_t demand = 0;

	*o = (struct owner){ .r = *r };
	o->r.tenants = &r->tenants[first];
	o->r.n = user->n;
	for (size_t i = 0; i < user->n; i++) {
		bool limits = o->r.tenants[i].demand < r->interval;

		demand += limits ? o->r.tenants[i].demand : r->interval;
		o->limited |= limits;
	}
	o->cap = (double)(demand < r->interval ? demand : r->interval);
	d->users[u] = (struct hes_fair_tenant){ fair_mean_power(&o->r, o->cap, d->room),
						user->weight, demand };
}

/* Quanta of a user whose energy, divided by its weight, is @level. */
static double owner_slice(const struct division *d, size_t u, double level)
{
	const struct owner *o = &d->owners[u];
	const double energy = level * d->users[u].weight;
	double low = o->low, high = o->cap, slice;

	if (!o->limited)
		return clamp(energy / d->users[u].power_w, low, high);
	for (int k = 0; k < HALVINGS && high - low > EXACT * high; k++) {
		slice = fair_middle(low, high);
		if (slice * fair_mean_power(&o->r, slice, d->room) < energy)
			low = slice;
		else
			high = slice;
	}
	return high;
}

/* What policy etf guarantees a user, in whole and parts of quanta. */
static double owner_guarantee(const struct division *d, size_t u, double weights)
{
	const double phi = d->r.policy->equal_time ? 0 : fair_phi(&d->r);

	return lesser(phi * (double)d->r.interval * d->users[u].weight / weights, d->owners[u].cap);
}

static double slices_sum(const struct division *d, double level)
{
	double sum = 0;

	for (size_t u = 0; u < d->r.n; u++)
		sum += owner_slice(d, u, level);
	return sum;
}

/* The powers of users at the level of energy where their slices fill the interval. */
static void powers_balance(struct division *d)
{
	double low = 0, high = 1e30, level, weights = 0;

	for (size_t u = 0; u < d->r.n; u++)
		weights += d->users[u].weight;
	for (size_t u = 0; u < d->r.n; u++)
		d->owners[u].low = owner_guarantee(d, u, weights);
	for (int k = 0; k < HALVINGS; k++) {
		level = fair_middle(low, high);
		if (slices_sum(d, level) < (double)d->r.interval)
			low = level;
		else
			high = level;
	}
	for (size_t u = 0; u < d->r.n; u++)
		if (d->owners[u].limited)
			d->users[u].power_w =
				fair_mean_power(&d->owners[u].r, owner_slice(d, u, low), d->room);
}

size_t fair_users_room(size_t n, size_t n_users)
{
	return fair_slices_room(n) +
	       n_users * (sizeof(struct owner) + sizeof(struct hes_fair_tenant));
}

void fair_users_fill(const struct hes_fair_request *r, const struct hes_fair_user *users,
		     size_t n_users, void *room, uint64_t *user_slices, uint64_t *slices)
{
	struct division d = { .r = *r, .owners = room };
	bool limited = false;
	size_t first = 0;

	d.users = (struct hes_fair_tenant *)(d.owners + n_users);
	d.room = d.users + n_users;
	d.r.tenants = d.users;
	d.r.n = n_users;
	for (size_t u = 0; u < n_users; first += users[u++].n) {
		owner_begin(&d, u, r, &users[u], first);
		limited |= d.owners[u].limited;
	}
	if (limited)
		powers_balance(&d);
	fair_slices_fill(&d.r, d.room, user_slices);
	for (size_t u = 0; u < n_users; u++) {
		struct hes_fair_request own = d.owners[u].r;

		own.interval = user_slices[u];
		fair_slices_fill(&own, d.room, &slices[own.tenants - r->tenants]);
	}
}

static int users_check(const struct hes_fair_request *r, const struct hes_fair_user *users,
		       size_t n_users, struct hes_err *err)
{
	size_t n = 0;

	for (size_t u = 0; u < n_users; u++) {
		if (fair_weight_check("user", u, users[u].weight, err))
			return -EINVAL;
		if (users[u].n < 1 || users[u].n > r->n - n)
			return hes_fail(err, -EINVAL,
					"user %zu: %zu tenants are outside 1 to %zu, those that "
					"are left",
					u, users[u].n, r->n - n);
		n += users[u].n;
	}
	return n == r->n ? 0
			 : hes_fail(err, -EINVAL, "%zu users have %zu of %zu tenants", n_users, n,
				    r->n);
}

int hes_fair_slices_of_users(const struct hes_fair_request *r, const struct hes_fair_user *users,
			     size_t n_users, uint64_t *slices, struct hes_err *err)
{
	int rc = fair_request_check(r, err);
	uint64_t *user_slices;
	void *room;

	if (!rc)
		rc = users_check(r, users, n_users, err);
	if (rc)
		return rc;
	user_slices = malloc(n_users * sizeof(*user_slices));
	room = malloc(fair_users_room(r->n, n_users));
	if (user_slices && room)
		fair_users_fill(r, users, n_users, room, user_slices, slices);
	else
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu tenants", r->n);
	free(user_slices);
	free(room);
	return rc;
}
