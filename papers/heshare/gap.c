/*
 * gap.c - path relinking and local search between two adjacent assignments; see gap.h.
 */
#include "gap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCANS 32 /* comparisons of costs that take as long as judging a move */

struct search {
	struct hes_gap *gap;
	struct hes_gap_room *r;
	const struct hes_assign *a;
	struct hes_objectives corner; /* worst energy and completion time of the ends */
	double w_energy, w_jct;       /* the ends have equal cost */
	int rc;
};

int hes_gap_room_init(struct hes_gap_room *r, const struct hes_assign *a, size_t most_marginals)
{
	int rc = 0;

	*r = (struct hes_gap_room){
		.a = a, .wide = a->n * a->k > most_marginals || a->k * a->k > most_marginals
	};
	r->queues = aligned_alloc(64, hes_queues_size(a));
	r->gpu_of = calloc(a->n + 1, sizeof(*r->gpu_of));
	r->wanted = calloc(a->n + 1, sizeof(*r->wanted));
	r->cost = calloc(a->n + 1, sizeof(*r->cost));
	r->first = calloc(a->k + 2, sizeof(*r->first));
	r->jobs = calloc(a->n + 1, sizeof(*r->jobs));
	if (!r->queues || !r->gpu_of || !r->wanted || !r->cost || !r->first || !r->jobs)
		rc = -ENOMEM;
	if (!rc && !r->wide) {
		rc = hes_marginals_init(&r->marginals, a);
		r->swap_cost = calloc(a->n * a->k + 1, sizeof(*r->swap_cost));
		r->least_swap = calloc(a->k * a->k + 1, sizeof(*r->least_swap));
		if (!r->swap_cost || !r->least_swap)
			rc = -ENOMEM;
	}
	if (rc)
		hes_gap_room_finish(r);
	else
		memset(r->queues, 0, hes_queues_size(a));
	return rc;
}

void hes_gap_room_finish(struct hes_gap_room *r)
{
	free(r->queues);
	free(r->gpu_of);
	free(r->wanted);
	free(r->cost);
	free(r->first);
	free(r->jobs);
	free(r->swap_cost);
	free(r->least_swap);
	hes_marginals_finish(&r->marginals);
	*r = (struct hes_gap_room){ 0 };
}

void hes_gap_finish(struct hes_gap *g)
{
	free(g->nodes);
	hes_pareto_free(&g->front);
	g->nodes = NULL;
	g->n_nodes = g->room = 0;
}

void hes_gap_assignment(const struct hes_gap *g, const struct hes_assign *a, uint32_t node,
			uint32_t *gpu_of)
{
	uint32_t root = node;

	memset(gpu_of, 0xff, a->n * sizeof(*gpu_of));
	/* Backwards: a job's last move counts. */
	for (; g->nodes[root].parent != root; root = g->nodes[root].parent)
		for (uint32_t m = g->nodes[root].n_moves; m-- > 0;)
			if (gpu_of[g->nodes[root].moves[m].job] == UINT32_MAX)
				gpu_of[g->nodes[root].moves[m].job] = g->nodes[root].moves[m].gpu;
	for (size_t i = 0; i < a->n; i++)
		if (gpu_of[i] == UINT32_MAX)
			gpu_of[i] = g->ends[root][i];
}

static uint32_t add_node(struct search *s, const struct hes_gap_node *node)
{
	struct hes_gap *g = s->gap;

	if (g->n_nodes == g->room) {
		size_t room = g->room ? 2 * g->room : 64;
		struct hes_gap_node *v = reallocarray(g->nodes, room, sizeof(*v));

		if (!v || room > UINT32_MAX) {
			g->nodes = v ? v : g->nodes;
			s->rc = -ENOMEM;
			return 0;
		}
		g->nodes = v;
		g->room = room;
	}
	g->nodes[g->n_nodes] = *node;
	return (uint32_t)g->n_nodes++;
}

static bool between(const struct search *s, const struct hes_objectives *at)
{
	return at->energy_mj <= s->corner.energy_mj && at->jct_us <= s->corner.jct_us;
}

static void keep(struct search *s, const struct hes_objectives *at, uint32_t node)
{
	int rc = hes_pareto_insert(&s->gap->front, at, node);

	if (rc < 0)
		s->rc = rc;
}

static double priced(const struct search *s, const struct hes_objectives *at)
{
	return s->w_energy * at->energy_mj + s->w_jct * at->jct_us;
}

static struct hes_objectives change_of(const struct search *s, const struct hes_gap_move *m)
{
	const struct hes_assign *a = s->a;
	const struct hes_queues *x = s->r->queues;
	const uint32_t from = hes_queues_gpus(a, x)[m->job];

	return (struct hes_objectives){
		a->exact[a->gpus[m->gpu].type * a->n + m->job].energy_mj -
			a->exact[a->gpus[from].type * a->n + m->job].energy_mj,
		hes_queues_delay_us(a, x, m->job, m->gpu) - hes_queues_delay_us(a, x, m->job, from),
	};
}

/* The moves from the queues to another assignment. @return how many */
static size_t find_wanted(struct search *s, const uint32_t *to)
{
	const uint32_t *now = hes_queues_gpus(s->a, s->r->queues);
	size_t n = 0;

	for (uint32_t i = 0; i < s->a->n; i++)
		if (now[i] != to[i]) {
			const struct hes_gap_move m = { i, to[i] };
			const struct hes_objectives change = change_of(s, &m);

			s->r->wanted[n] = m;
			s->r->cost[n++] = priced(s, &change);
		}
	s->gap->evaluations += n;
	return n;
}

/* From one end to the other, each time by the move of least cost; then only moves on the two
 * changed queues are judged again. */
static void relink(struct search *s, uint32_t from)
{
	struct hes_gap_room *r = s->r;
	uint64_t scans = 0;
	uint32_t parent = from;
	size_t n;

	memcpy(hes_queues_gpu_of(s->a, r->queues), s->gap->ends[from], s->a->n * sizeof(uint32_t));
	hes_queues_build(s->a, r->queues);
	for (n = find_wanted(s, s->gap->ends[!from]);
	     n > 1 && !s->rc && scans / SCANS <= s->gap->limit; n--) {
		size_t best = 0;
		struct hes_gap_move m;
		uint32_t left;

		for (size_t i = 1; i < n; i++)
			if (r->cost[i] < r->cost[best])
				best = i;
		scans += n;
		m = r->wanted[best];
		r->wanted[best] = r->wanted[n - 1];
		r->cost[best] = r->cost[n - 1];
		left = hes_queues_gpus(s->a, r->queues)[m.job];
		hes_queues_move(s->a, r->queues, m.job, m.gpu);
		parent = add_node(s, &(struct hes_gap_node){ parent, 1, { m }, r->queues->at });
		if (!s->rc && between(s, &r->queues->at))
			keep(s, &r->queues->at, parent);
		for (size_t i = 0; i + 1 < n; i++) {
			const uint32_t source = hes_queues_gpus(s->a, r->queues)[r->wanted[i].job],
				       target = r->wanted[i].gpu;

			if (source == left || source == m.gpu || target == left ||
			    target == m.gpu) {
				const struct hes_objectives change = change_of(s, &r->wanted[i]);

				r->cost[i] = priced(s, &change);
				s->gap->evaluations++;
			}
		}
	}
}

/* Keep a changed solution if it is not dominated. */
static void offer(struct search *s, uint32_t parent, const struct hes_objectives *change,
		  struct hes_gap_move first, const struct hes_gap_move *second)
{
	const struct hes_objectives *from = &s->r->marginals.at;
	const struct hes_objectives at = { from->energy_mj + change->energy_mj,
					   from->jct_us + change->jct_us };
	struct hes_gap_node node = { parent, second ? 2 : 1, { first }, at };

	if (s->rc || !between(s, &at))
		return;
	if (second)
		node.moves[1] = *second;
	s->rc = hes_pareto_insert(&s->gap->front, &at, s->gap->n_nodes);
	if (s->rc > 0) {
		s->rc = 0;
		add_node(s, &node);
	}
}

/* A solution that costs more cannot join the front. */
static double most(const struct search *s)
{
	const struct hes_pareto *f = &s->gap->front;
	double cost =
		fmax(priced(s, &(struct hes_objectives){ f->v[0].at.energy_mj, s->corner.jct_us }),
		     priced(s, &(struct hes_objectives){ s->corner.energy_mj,
							 f->v[f->n - 1].at.jct_us }));

	for (size_t i = 0; i + 1 < f->n; i++)
		cost = fmax(cost, priced(s, &(struct hes_objectives){ f->v[i + 1].at.energy_mj,
								      f->v[i].at.jct_us }));
	return cost;
}

static void sort_by_gpu(struct hes_gap_room *r)
{
	const struct hes_assign *a = r->a;

	memset(r->first, 0, (a->k + 2) * sizeof(*r->first));
	for (size_t i = 0; i < a->n; i++)
		r->first[r->gpu_of[i] + 2]++;
	for (size_t g = 2; g < a->k + 2; g++)
		r->first[g] += r->first[g - 1];
	for (uint32_t i = 0; i < a->n; i++)
		r->jobs[r->first[r->gpu_of[i] + 1]++] = i;
}

/* All moves of one job; also each side's least cost of a swap. */
static void try_moves(struct search *s, uint32_t node, double slack)
{
	struct hes_gap_room *r = s->r;
	const struct hes_marginals *m = &r->marginals;
	const size_t n = s->a->n;

	for (uint32_t g = 0; g < s->a->k; g++) {
		const struct hes_cost *on_g = hes_marginals_costs(m, g);

		for (uint32_t i = 0; i < n; i++) {
			const struct hes_objectives change = hes_marginals_of_move(m, i, g);
			const double cost = priced(s, &change);

			r->swap_cost[g * n + i] = cost - s->w_jct * on_g[i].time_us;
			if (cost <= slack && r->gpu_of[i] != g)
				offer(s, node, &change, (struct hes_gap_move){ i, g }, NULL);
		}
	}
	s->gap->evaluations += n * s->a->k;
}

static void find_least_swaps(struct hes_gap_room *r)
{
	const struct hes_assign *a = r->a;

	for (size_t g = 0; g < a->k; g++)
		for (size_t h = 0; h < a->k; h++) {
			double least = INFINITY;

			for (uint32_t i = r->first[g]; i < r->first[g + 1]; i++)
				least = fmin(least, r->swap_cost[h * a->n + r->jobs[i]]);
			r->least_swap[g * a->k + h] = least;
		}
}

static void try_swaps_of(struct search *s, uint32_t node, uint32_t i, uint32_t h, double slack)
{
	struct hes_gap_room *r = s->r;
	const uint32_t g = r->gpu_of[i];

	for (uint32_t at = r->first[h]; at < r->first[h + 1]; at++) {
		const uint32_t j = r->jobs[at];
		struct hes_objectives change;

		if (r->swap_cost[h * s->a->n + i] + r->swap_cost[g * s->a->n + j] > slack)
			continue;
		change = hes_marginals_of_swap(&r->marginals, i, j);
		s->gap->evaluations++;
		if (priced(s, &change) <= slack)
			offer(s, node, &change, (struct hes_gap_move){ i, h },
			      &(struct hes_gap_move){ j, g });
	}
}

/* All moves and swaps from one solution. */
static void explore(struct search *s, uint32_t node)
{
	struct hes_gap_room *r = s->r;
	const struct hes_assign *a = s->a;
	double slack;

	hes_gap_assignment(s->gap, a, node, r->gpu_of);
	hes_marginals_set(&r->marginals, r->gpu_of);
	slack = most(s) - priced(s, &r->marginals.at);
	sort_by_gpu(r);
	try_moves(s, node, slack);
	find_least_swaps(r);
	for (uint32_t i = 0; i < a->n && !s->rc; i++)
		for (uint32_t h = r->gpu_of[i] + 1; h < a->k; h++)
			if (r->swap_cost[h * a->n + i] + r->least_swap[h * a->k + r->gpu_of[i]] <=
			    slack)
				try_swaps_of(s, node, i, h, slack);
}

/* The oldest unexplored member, else the oldest unexplored node from *@behind on. @return n_nodes:
 * none */
static size_t next_member(const struct hes_gap *g, const bool *explored, size_t n_explored,
			  size_t *behind)
{
	size_t best = g->n_nodes;

	for (size_t i = 0; i < g->front.n; i++) {
		const size_t node = g->front.v[i].tag;

		if (node < best && (node >= n_explored || !explored[node]))
			best = node;
	}
	if (best < g->n_nodes)
		return best;
	while (*behind < n_explored && explored[*behind])
		(*behind)++;
	return *behind;
}

static void search_locally(struct search *s)
{
	struct hes_gap *g = s->gap;
	bool *explored = NULL;
	size_t n_explored = 0, behind = 0;

	while (!s->rc && g->evaluations + s->a->n * s->a->k <= g->limit) {
		size_t node = next_member(g, explored, n_explored, &behind);

		if (node == g->n_nodes)
			break;
		if (node >= n_explored) {
			bool *v = reallocarray(explored, g->n_nodes, sizeof(*v));

			if (!v) {
				s->rc = -ENOMEM;
				break;
			}
			memset(v + n_explored, 0, g->n_nodes - n_explored);
			explored = v;
			n_explored = g->n_nodes;
		}
		explored[node] = true;
		explore(s, (uint32_t)node);
	}
	free(explored);
}

static struct hes_objectives objectives_of(struct search *s, uint32_t end)
{
	memcpy(hes_queues_gpu_of(s->a, s->r->queues), s->gap->ends[end],
	       s->a->n * sizeof(uint32_t));
	hes_queues_build(s->a, s->r->queues);
	return s->r->queues->at;
}

int hes_gap_search(struct hes_gap *g, struct hes_gap_room *r)
{
	struct search s = { .gap = g, .r = r, .a = r->a };
	const struct hes_objectives p = objectives_of(&s, 0), q = objectives_of(&s, 1);
	const double energy = q.energy_mj - p.energy_mj, jct = p.jct_us - q.jct_us;

	s.corner = (struct hes_objectives){ q.energy_mj, p.jct_us };
	add_node(&s, &(struct hes_gap_node){ .parent = 0, .at = p });
	if (!s.rc)
		add_node(&s, &(struct hes_gap_node){ .parent = 1, .at = q });
	if (!s.rc)
		keep(&s, &p, 0);
	if (!s.rc)
		keep(&s, &q, 1);
	if (s.rc || energy <= 0 || jct <= 0)
		return s.rc;
	s.w_energy = 1 / energy;
	s.w_jct = 1 / jct;
	relink(&s, 0);
	relink(&s, 1);
	if (!r->wide)
		search_locally(&s);
	return s.rc;
}
