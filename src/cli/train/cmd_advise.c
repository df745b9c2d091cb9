/*
 * cmd_advise.c - `heshare advise`: the SM share and the clock that each workload of the store
 * needs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/advise.h"
#include "base/plural.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/inputs.h"

struct advise_opts {
	struct advise_request q;
	bool json;
};

#define AT(member) .offset = offsetof(struct advise_opts, member)

/* clang-format off */
static const struct opt advise_opts[] = {
	{ .name = "keep", .kind = OPT_DOUBLE, AT(q.keep), .arg = "PART", .def = "0.96", .min = 0.01,
	  .max = 1, .help = "part of its speed that a workload keeps" },
	{ .name = "gpu", .letter = 'g', .kind = OPT_TEXT, AT(q.gpu), .arg = "TYPE",
	  .offer = offer_gpu_types,
	  .help = "GPU type; without it, all types on which something was measured" },
	CLI_CATALOGUE_OPT(offsetof(struct advise_opts, q.catalogue)),
	{ .name = "store", .kind = OPT_FILE, AT(q.store), .arg = "FILE",
	  .help = CLI_KNOWN_STORE_HELP },
	CLI_PREDICTOR_OPT(offsetof(struct advise_opts, q.predictor)),
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "one JSON document on standard output" },
	{ 0 }
};
/* clang-format on */

/* @return "± 2.1", or "" for a value whose error is not known */
static const char *error_note(char out[16], const struct advice_value *v, int digits, double scale)
{
	*out = '\0';
	if (isfinite(v->low) && isfinite(v->high))
		snprintf(out, 16, "± %.*f", digits, (v->high - v->low) / 2 * scale);
	return out;
}

/* A whole run has no batch size. */
static void workload_shown(char out[2 * HES_NAME_MAX], const struct advice *v)
{
	struct hes_job j = { .whole_run = hes_workload_is_whole_run(v->workload) };

	snprintf(j.workload, sizeof(j.workload), "%s", v->workload);
	snprintf(out, 2 * HES_NAME_MAX, j.whole_run ? "%.*s" : "%.*s/%u",
		 hes_job_workload_given(&j), v->workload, v->batch_size);
}

static struct table advice_table(const struct advice_list *l)
{
	struct table t = { 0 };

	for (size_t i = 0; i < l->n; i++) {
		const struct advice *v = &l->v[i];
		char name[2 * HES_NAME_MAX], speed[16], energy[16], notes[2][16];

		workload_shown(name, v);
		snprintf(speed, sizeof(speed), "%.1f", v->speed.value * 100);
		snprintf(energy, sizeof(energy), "%+.0f", (v->energy - 1) * 100);
		const struct cell row[] = {
			cell_text(NULL, "workload", name),
			cell_text("workload", NULL, v->workload),
			cell_count("batch_size", NULL, v->batch_size),
			cell_key(cell_text("gpu_type", "GPU type", v->gpu_type)),
			cell_count("sm_pct", "SM %", v->setting.sm_pct),
			cell_count("clock_mhz", "MHz", v->setting.clock_mhz),
			cell_noted(
				cell_shown(cell_real("speed", "speed %", 0, v->speed.value), speed),
				error_note(notes[0], &v->speed, 1, 100)),
			cell_real("speed_low", NULL, 0, v->speed.low),
			cell_real("speed_high", NULL, 0, v->speed.high),
			cell_noted(cell_real("power_w", "W", 0, v->power_w.value),
				   error_note(notes[1], &v->power_w, 0, 1)),
			cell_real("power_low_w", NULL, 0, v->power_w.low),
			cell_real("power_high_w", NULL, 0, v->power_w.high),
			cell_shown(cell_real("energy_ratio", "energy %", 0, v->energy), energy),
			cell_text("source", "source", advice_sources[v->source]),
		};
		TABLE_ROW(&t, row);
	}
	return t;
}

static int print_advice(const struct advise_opts *o, const struct advice_list *l)
{
	struct table t = advice_table(l);

	if (o->json)
		return cli_print_json("heshare-advice", json_pack("{s:f, s:o}", "keep", o->q.keep,
								  "workloads", table_json(&t)));
	printf("What keeps %g %% of the speed alone, with the least SM share x joules:\n\n",
	       o->q.keep * 100);
	cli_print_table(&t, stdout, 0);
	puts("\nW is the power of the GPU; energy % compares the joules of an iteration with those "
	     "alone on\nthe whole GPU at its default clock.");
	if (l->no_gpu)
		printf("Left out: %zu workload%s that used no GPU.\n", l->no_gpu, hes_s(l->no_gpu));
	return 0;
}

static int run_advise(const struct call *call, struct hes_err *err)
{
	struct advise_opts *o = call->opts;
	struct advice_list list;
	int rc;

	o->q.app = cli_app();
	o->q.workload = call->args[0];
	rc = advise(&o->q, &list, err);
	if (rc)
		return rc;
	rc = print_advice(o, &list);
	free(list.v);
	return rc;
}

const struct command cmd_advise = {
	.name = "advise",
	.args = "[WORKLOAD]",
	.max_args = 1,
	.offer = offer_workloads,
	.summary = "say which SM share and clock each measured workload needs",
	.text = "For each workload of the store, on each GPU type: the SM share and the clock at "
		"which it keeps --keep of its speed alone. Of the settings that do, it is the one "
		"with the least product of SM share and joules of an iteration. Nine in ten "
		"measurements lie within ±.\n\n"
		"Changes nothing, and needs no GPU. source: measured at this setting, predicted "
		"from other settings, or derived from other GPU types or batch sizes.",
	.example = "  heshare advise\n  heshare advise resnet50 --keep .9 --gpu A100-SXM-80",
	.opts = advise_opts,
	.opts_size = sizeof(struct advise_opts),
	.run = run_advise,
};
