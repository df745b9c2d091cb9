/*
 * test_app_in_lab.c - plan, run and add jobs by src/app alone, as a service would. Run inside the
 * lab (tests/meson.build).
 */
#include <signal.h>

#include "app/catalogue.h"
#include "app/gpus_visible.h"
#include "app/jobs_add.h"
#include "app/jobs_load.h"
#include "app/run_begin.h"
#include "base/signals.h"
#include "guarded.h"
#include "unit_test.h"
#include "launch/wrap.h"

#define SAID_MAX 4096

/* A program without a terminal: its variables, and the sentences for a person. */
struct program {
	struct app app;
	char home[128], store[128];
	const char *visible; /* CUDA_VISIBLE_DEVICES; NULL: not set */
	char set[256];       /* for what starts from here */
	char said[SAID_MAX];
};

static const char *program_variable(void *ctx, const char *name)
{
	const struct program *p = ctx;

	return strcmp(name, "HOME") == 0                   ? p->home
	       : strcmp(name, "HESHARE_STORE") == 0        ? p->store
	       : strcmp(name, "CUDA_DEVICE_ORDER") == 0    ? "PCI_BUS_ID"
	       : strcmp(name, "CUDA_VISIBLE_DEVICES") == 0 ? p->visible
	       : strcmp(name, "PATH") == 0                 ? getenv("PATH")
							   : NULL;
}

static int program_set(void *ctx, const char *name, const char *value)
{
	struct program *p = ctx;

	snprintf(p->set, sizeof(p->set), "%s=%s", name, value);
	return 0;
}

static void program_say(void *ctx, const char *sentence)
{
	struct program *p = ctx;
	const size_t n = strlen(p->said);

	snprintf(p->said + n, SAID_MAX - n, "%s\n", sentence);
}

static void program_make(struct program *p, const char *folder)
{
	*p = (struct program){ .app = { program_variable, program_set, program_say, p } };
	snprintf(p->home, sizeof(p->home), "%s", folder);
	snprintf(p->store, sizeof(p->store), "%s/store.db", folder);
}

static const char *write_file(const char *folder, const char *name, const char *text, char out[128])
{
	FILE *f;

	snprintf(out, 128, "%s/%s", folder, name);
	f = fopen(out, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	return out;
}

static const char known_jobs[] = "id,arrival_s,workload,batch_size,iterations\n"
				 "a,0,resnet50,16,900\nb,5,resnet18,8,700\nc,0,vgg16,8,500\n";

TEST_WITH(jobs_are_planned_for_the_gpus_that_a_variable_names, guarded_set_up, guarded_tear_down)
{
	struct program p;
	struct hes_catalogue c = { 0 };
	struct hes_jobs jobs = { 0 };
	struct hes_plan plan = { 0 };
	const struct app_planner_options o = {
		.app = &p.app, .gpus = "all", .policy = "heshare", .seed = 1
	};
	struct app_planner planner = { .o = &o, .catalogue = &c };
	char file[128];
	struct hes_err err;

	program_make(&p, *state);
	p.visible = "1,6";
	write_file(*state, "jobs.csv", known_jobs, file);
	assert_int_equal(app_planner_check(&planner, &err), 0);
	assert_int_equal(app_catalogue_load(&p.app, NULL, true, &c, &err), 0);
	assert_int_equal(app_planner_gpus(&planner, &err), 0);
	assert_int_equal(planner.fleet->n, 2);
	assert_string_equal(planner.fleet->gpus[0].type->name, "T4");
	assert_string_equal(planner.fleet->gpus[1].type->name, "A100-SXM-80");
	assert_int_equal(app_jobs_load(&p.app, NULL, file, false, &jobs, &err), 0);
	assert_true(app_jobs_arrive_at_once(&jobs));
	assert_int_equal(app_plan(&planner, &jobs, &plan, NULL, &err), 0);
	assert_int_equal(hes_plan_validate(&plan, planner.fleet, &jobs, 100, &err), 0);
	assert_int_equal(plan.known[HES_KNOWN_NETWORK], 3);
	assert_string_equal(plan.policy, "heshare");
	assert_string_equal(p.set, ""); /* indices of one order need no UUIDs */
	hes_plan_finish(&plan);
	hes_jobs_free(&jobs);
	app_planner_close(&planner);
	hes_catalogue_free(&c);
}

TEST_WITH(wrong_options_are_found_before_any_work, guarded_set_up, guarded_tear_down)
{
	struct program p;
	struct app_planner_options o = { .app = &p.app, .of_run = true, .policy = "nope" };
	struct app_planner planner = { .o = &o };
	struct hes_err err;

	program_make(&p, *state);
	assert_true(app_planner_check(&planner, &err) < 0);
	assert_non_null(strstr(err.msg, "--policy"));
	o.policy = "exec:./mine";
	assert_int_equal(app_planner_check(&planner, &err), -EINVAL);
	o.policy = "heshare";
	o.power_cap_w = 500;
	assert_int_equal(app_planner_check(&planner, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--power-cap"));
	assert_string_equal(p.said, "");
	app_planner_close(&planner);
}

static void run_jobs(struct app_run *r, struct hes_run_report *report)
{
	static const char *const wrap[] = { "/proc/self/exe", "--wrap", NULL };
	struct hes_run_request q = { .guard = guarded_argv, .wrap = wrap, .grace_us = 1000000 };
	struct hes_signals stops;
	struct hes_err err;

	hes_signals_take(&stops, hes_signals_stop);
	app_run_request(r, &q);
	assert_int_equal(hes_run_carry_out(&q, r->journal, &r->run, report, &err), 0);
}

TEST_WITH(a_jobs_file_is_run_once_and_found_again, guarded_set_up, guarded_tear_down)
{
	struct program p;
	char file[128], more[128];
	struct app_run_options o = { .plan = { .app = &p.app,
					       .gpus = "0,1",
					       .policy = "joint",
					       .of_run = true,
					       .seed = 1 },
				     .share_sum = 100 };
	struct app_run r;
	struct hes_run_report report = { 0 };
	struct app_add_options add = { .app = &p.app };
	struct app_add a = { 0 };
	struct hes_err err;

	program_make(&p, *state);
	o.file = write_file(*state, "jobs.csv", "command\ntrue\nsleep 1\n", file);
	assert_int_equal(app_run_check(&r, &o, &err), 0);
	assert_true(r.of_jobs);
	assert_int_equal(app_run_load(&r, &err), 0);
	assert_int_equal(r.plan.known[HES_KNOWN_UNKNOWN], 2);
	assert_int_equal(app_run_open(&r, &err), 0);
	run_jobs(&r, &report);
	assert_int_equal(report.done, 2);
	assert_string_equal(p.said, "");
	add.run = r.run.id;
	hes_run_report_free(&report);
	app_run_close(&r);
	/* A run that is over takes no jobs; the same file again is a new run, and that is said. */
	add.jobs = write_file(*state, "more.csv", "command\ntrue\n", more);
	assert_int_equal(app_jobs_add(&a, &add, &err), -ESHUTDOWN);
	app_add_close(&a);
	assert_int_equal(app_run_check(&r, &o, &err), 0);
	assert_int_equal(app_run_load(&r, &err), 0);
	assert_int_equal(app_run_open(&r, &err), 0);
	assert_int_equal(r.run.id, 0);
	assert_non_null(strstr(p.said, "is done; this is a new run"));
	app_run_close(&r);
	/* There is nothing to resume of a file that was never run. */
	o.file = more;
	o.resume = true;
	assert_int_equal(app_run_check(&r, &o, &err), 0);
	assert_int_equal(app_run_load(&r, &err), -ENOENT);
	app_run_close(&r);
}

int main(int argc, char **argv)
{
	int status;

	if (guarded_main(argc, argv, &status))
		return status;
	if (argc > 2 && strcmp(argv[1], "--wrap") == 0)
		return hes_launch_wrap(argv[2], argc > 3 ? argv[3] : NULL, 0);
	return run_unit_tests(NULL, NULL);
}
