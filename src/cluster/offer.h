/*
 * offer.h - which GPUs each node offers: every node is queried once, and prints a line of JSON for
 * each GPU.
 */
#ifndef HES_CLUSTER_OFFER_H
#define HES_CLUSTER_OFFER_H

#include "app/gpus_chosen.h"
#include "cluster/launcher.h"

struct offer_gpu {
	size_t index; /* on the node, of those that heshare may use there */
	char type[HES_NAME_MAX];
	char uuid[80];
	uint32_t limit_mw; /* its power limit; 0: unknown */
	bool clocks, mps;  /* whether clocks can be locked, and MPS started */
};

struct offer {
	char node[HES_NAME_MAX];
	bool good;             /* the node answered and has a GPU */
	bool busy;             /* an earlier run there does not end */
	char why[HES_ERR_MAX]; /* else: what it said */
	struct offer_gpu *gpus;
	size_t n;
};

/**
 * Write the offer of this machine.
 * @param folder  restore what a run left there before; "FOLDER/%": in FOLDER/NODE, by the name that
 * Slurm has for this node; may be NULL
 * @return 0; else there is no GPU to offer, and the offer says why
 */
int offer_put(const struct app *app, FILE *f, const struct hes_catalogue *c, const char *folder);

/** A query that is under way. */
struct offer_query {
	pid_t pid; /* 0: none */
	int out, errors;
	long node;      /* -1: all */
	double since_s; /* hes_monotonic_s() when it began */
};

/** Ask a node, or all by one srun (-1). @return 0; errors of launcher_start() */
int offer_start_query(const struct launcher *l, long node, const char *folder,
		      struct offer_query *q, struct hes_err *err);
/** End it if it takes too long: its process is killed. */
void offer_limit(const struct offer_query *q);
/** The query's process has ended with @status (waitpid): read what it printed, and close its files.
 * @param v  one a node of the launcher */
void offer_take(const struct launcher *l, struct offer_query *q, int status, struct offer *v);

/**
 * Ask all nodes and wait for their answers.
 * @param out  one a node; offers_free() it
 * A blocked SIGINT, SIGTERM or SIGHUP ends the waiting.
 * @return 0 also if nodes do not answer; -EINTR such a signal; -ENODEV none answers, and @err has
 * the reason of the first; errors of offer_start_query()
 */
int offers_load(const struct launcher *l, const char *folder, struct offer **out,
		struct hes_err *err);
void offers_free(struct offer *v, size_t n);

/** The GPUs of all good offers as a fleet. @param app  gets a sentence for each node that is left
 * out; may be NULL */
int offers_fleet(const struct app *app, const struct offer *v, size_t n,
		 const struct hes_catalogue *c, struct gpus_fleet *out, struct hes_err *err);

/** Whether --gpus names the GPUs of other nodes: "slurm", "ssh:FILE". */
bool offers_wanted(const char *gpus);
/** The fleet of all nodes of a launcher, by one query. @param rows  file of @c for the nodes; may
 * be NULL
 * @return errors of launcher_open(), offers_load(), offers_fleet() */
int offers_fleet_load(const struct app *app, const char *how, const char *program, const char *rows,
		      const struct hes_catalogue *c, struct gpus_fleet *out, struct hes_err *err);

#endif
