/*
 * serve_models.c - serve three models in one process, fair in time and in energy.
 *
 *	serve_models [--policy NAME|all] [--phi X] [--seconds S] [--clients N] [--cuda]
 *
 * Each model is a tenant with a backlog: N clients, each of which sends its next request when the
 *last one has been answered. The program prints throughput, latency and shares of each model under
 *each policy, as figure 10 of the paper on Energy-Time Fairness does (Liang et al., SEC '23).
 *Models run in threads of the CPU, with --cuda on a GPU.
 *
 * Copy it: request_work() and request_done() are the parts that your server has already.
 */
#include "serve_models.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_CLIENTS 64
#define MAX_EDGE    128

static const struct model models[N_MODELS] = {
	{ "mobilenetv2", 1, 110, 24, 4, 64 },
	{ "resnet50", 1, 190, 48, 8, 256 },
	{ "bert-large", 1, 330, 96, 4, 1024 },
};

struct options {
	const char *policy;
	double phi, seconds;
	unsigned clients;
	bool cuda;
};

/* A client: one request at a time. */
struct client {
	const struct model *model;
	struct hes_fair_stream *stream;
	struct hes_fair_work work;
	atomic_bool *stop;
	float product; /* what the model answers on a CPU */
};

/* The model on a CPU: a product of two matrices. Each worker has its own. */
static int request_work(void *arg, void *stream)
{
	static _Thread_local float a[MAX_EDGE][MAX_EDGE], b[MAX_EDGE][MAX_EDGE];
	struct client *c = arg;
	unsigned n = c->model->size;
	float sum = 0;

	(void)stream; /* of a GPU */
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++)
			a[i][k] = b[k][i] = (float)(i + k) / (float)n;
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < n; j++)
			for (unsigned k = 0; k < n; k++)
				sum += a[i][k] * b[k][j];
	c->product = sum;
	return 0;
}

/* The answer is there: the client sends its next request. */
static void request_done(void *arg, int rc)
{
	struct client *c = arg;

	if (!rc && !atomic_load(c->stop))
		hes_fair_stream_submit(c->stream, &c->work, NULL);
}

static int client_start(struct client *c, struct hes_fair_scheduler *s, uint32_t tenant,
			struct hes_err *err)
{
	int rc = hes_fair_stream_create(s, tenant, &c->stream, err);

	return rc ? rc : hes_fair_stream_submit(c->stream, &c->work, err);
}

/* Every model is a tenant, every client a stream of it. */
static int tenants_start(struct hes_fair_scheduler *s, const struct options *o,
			 const struct serve_cuda *g, struct client *clients, atomic_bool *stop,
			 uint32_t *tenants, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < N_MODELS && !rc; i++) {
		const struct model *m = &models[i];
		const struct hes_fair_member member = { .name = m->name,
							.weight = m->weight,
							.power_w = m->power_w };

		rc = hes_fair_scheduler_add(s, &member, &tenants[i], err);
		for (unsigned k = 0; k < o->clients && !rc; k++) {
			struct client *c = &clients[i * MAX_CLIENTS + k];

			c->model = m;
			c->stop = stop;
			c->work = (struct hes_fair_work){ .done = request_done, .arg = c };
			if (g)
				c->work.kernel = serve_cuda_kernel(g, i);
			else
				c->work.run = request_work;
			rc = client_start(c, s, tenants[i], err);
		}
	}
	return rc;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void print_table(const struct hes_fair_policy *policy, double seconds,
			const struct hes_fair_statistics *u)
{
	struct hes_fair_tenant t[N_MODELS];
	uint64_t times[N_MODELS];
	double time_ns = 0, energy_j = 0;
	struct hes_fairness even;

	for (size_t i = 0; i < N_MODELS; i++) {
		time_ns += (double)u[i].time_ns;
		energy_j += u[i].energy_j;
		times[i] = u[i].time_ns;
		t[i] = (struct hes_fair_tenant){ u[i].power_w, u[i].weight, HES_FAIR_BACKLOGGED };
	}
	printf("\npolicy %s: %s\n\n", policy->name, policy->summary);
	printf("%-12s %8s %7s %9s %10s %8s %8s %8s %7s %9s\n", "tenant", "power W", "weight",
	       "slice ms", "requests/s", "mean ms", "p50 ms", "p99 ms", "time %", "energy %");
	for (size_t i = 0; i < N_MODELS; i++)
		printf("%-12s %8.0f %7g %9.1f %10.1f %8.3f %8.3f %8.3f %7.1f %9.1f\n", u[i].name,
		       u[i].power_w, u[i].weight, (double)u[i].slice_ns * 1e-6,
		       (double)u[i].items / seconds, u[i].latency_mean_ns * 1e-6,
		       u[i].latency_p50_ns * 1e-6, u[i].latency_p99_ns * 1e-6,
		       100 * (double)u[i].time_ns / time_ns, 100 * u[i].energy_j / energy_j);
	hes_fair_measure(t, N_MODELS, times, &even);
	printf("\nfairness: time F_T %.3f, energy F_E %.3f, system F_S %.3f (1 is even)\n",
	       even.time, even.energy, even.system);
}

/* For some seconds under one policy. */
static int serve(const struct options *o, const struct hes_fair_policy *policy,
		 const struct serve_cuda *g, struct hes_err *err)
{
	static struct client clients[N_MODELS * MAX_CLIENTS];
	const struct hes_fair_cpu cpu = { .workers = 1 };
	const struct hes_fair_scheduler_config config = {
		.queue = { .policy = policy, .phi = o->phi, .interval = 60, .quantum_ns = 1000000 },
		.executor = g ? &hes_fair_cuda_executor : &hes_fair_cpu_executor,
		.executor_config = g ? NULL : &cpu, /* the first GPU, its primary context */
	};
	const struct timespec pause = { (time_t)o->seconds, (long)(fmod(o->seconds, 1) * 1e9) };
	struct hes_fair_statistics u[N_MODELS];
	struct hes_fair_scheduler *s;
	uint32_t tenants[N_MODELS];
	atomic_bool stop = false;
	double start;
	int rc = hes_fair_scheduler_create(&config, &s, err);

	if (rc)
		return rc;
	start = now_s();
	rc = tenants_start(s, o, g, clients, &stop, tenants, err);
	if (!rc)
		nanosleep(&pause, NULL);
	for (size_t i = 0; i < N_MODELS && !rc; i++) /* while all of them have work */
		rc = hes_fair_scheduler_statistics(s, tenants[i], &u[i], err);
	start = now_s() - start;
	atomic_store(&stop, true);
	if (!rc)
		rc = hes_fair_scheduler_sync(s, err);
	hes_fair_scheduler_destroy(s);
	if (!rc)
		print_table(policy, start, u);
	return rc;
}

static int number_read(const char *text, double low, double high, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return *end || end == text || !(*out >= low && *out <= high) ? -EINVAL : 0;
}

static int options_read(int argc, char **argv, struct options *o)
{
	static const struct option names[] = { { "policy", required_argument, NULL, 'p' },
					       { "phi", required_argument, NULL, 'f' },
					       { "seconds", required_argument, NULL, 's' },
					       { "clients", required_argument, NULL, 'n' },
					       { "cuda", no_argument, NULL, 'c' },
					       { 0 } };
	double clients = 4;
	int c, rc = 0;

	*o = (struct options){ .policy = "all", .phi = 0.7, .seconds = 3 };
	while (!rc && (c = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		if (c == 'p')
			o->policy = optarg;
		else if (c == 'f')
			rc = number_read(optarg, 0, 1, &o->phi);
		else if (c == 's')
			rc = number_read(optarg, 0.01, 1e6, &o->seconds);
		else if (c == 'n')
			rc = number_read(optarg, 1, MAX_CLIENTS, &clients);
		else if (c == 'c')
			o->cuda = true;
		else
			rc = -EINVAL;
	}
	o->clients = (unsigned)clients;
	return rc || optind < argc ? -EINVAL : 0;
}

static int serve_all(const struct options *o, const struct serve_cuda *g, struct hes_err *err)
{
	bool all = strcmp(o->policy, "all") == 0;
	int rc = all || hes_fair_policy_find(o->policy, err) ? 0 : -EINVAL;

	for (const struct hes_fair_policy *p = hes_fair_policies; p->name && !rc; p++)
		if (all || strcmp(o->policy, p->name) == 0)
			rc = serve(o, p, g, err);
	return rc;
}

int main(int argc, char **argv)
{
	struct serve_cuda *g = NULL;
	struct hes_err err = { 0 };
	struct options o;
	int rc;

	if (options_read(argc, argv, &o)) {
		fprintf(stderr,
			"usage: serve_models [--policy NAME|all] [--phi 0..1] [--seconds S] "
			"[--clients 1..%d] [--cuda]\n",
			MAX_CLIENTS);
		return 2;
	}
	rc = o.cuda ? serve_cuda_open(models, &g, &err) : 0;
	if (!rc) {
		printf("%d models, %u clients each, %g s, phi %g, on a %s; powers are assumed\n",
		       N_MODELS, o.clients, o.seconds, o.phi,
		       g ? serve_cuda_describe(g) : "thread of the CPU");
		rc = serve_all(&o, g, &err);
	}
	serve_cuda_close(g);
	if (rc)
		fprintf(stderr, "serve_models: %s\n", err.msg);
	return rc ? 1 : 0;
}
