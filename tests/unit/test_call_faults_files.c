/*
 * test_call_faults_files.c - plans, jobs and fleets as files, and the assignment of jobs to GPUs,
 * when any one allocation or access to a file fails, and when all fail from there on.
 *
 * Each call is made with its first allocation failing, its second, and so on until none is left;
 * then the same with accesses. An error has its sentence and leaves nothing behind; what succeeds
 * all the same gives what it gives without faults.
 */
#include "plan/assign/lap.h"
#include "call_faults.h"
#include "heshare/plan.h"
#include "unit_test.h"

static char folder[] = "/tmp/hes-faults-XXXXXX";
static char plan_path[64], saved_path[64], csv_path[64], yaml_path[64], fleet_path[64];

static const char fleet_text[] =
	"name: test\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 2 } ]\n"
	"  - name: b\n    gpus: [ { type: V100-SXM2-32, count: 1 } ]\n";
static const char csv_text[] =
	"id,arrival_s,workload,batch_size,iterations,memory_mib,deadline_s,weight,user,command\n"
	"a,0,resnet50,32,100,4000,3600,5,me,\"train --x \"\"y\"\"\"\nb,0.5,bert,8,10,9000,,,,\n";
static const char yaml_text[] =
	"jobs:\n  - { id: a, arrival_s: 0, workload: net, batch_size: 32, iterations: 100, "
	"memory_mib: 4, deadline_s: 10, user: me, command: x }\n"
	"  - { id: b, arrival_s: 1.5, workload: bert, batch_size: 8, iterations: 10, memory_mib: "
	"900 }\n";

static struct hes_catalogue catalogue;
static struct hes_fleet fleet;
static struct hes_plan plan;
static struct hes_job job[40];
static const struct hes_jobs jobs = { .v = job, .n = N(job) };
static char command[] = "train --for-a-while";

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
	return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	return mix(hash, text ? text : "", text ? strlen(text) + 1 : 0);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void make_plan(void)
{
	assert_int_equal(hes_plan_init(&plan, fleet.n), 0);
	strcpy(plan.policy, "x");
	for (uint32_t i = 0; i < N(job); i++) {
		const struct hes_batch b = { .clock_mhz = 1590,
					     .n = 1,
					     .jobs = { { i, 40, i * 10, i * 10 + 10,
							 HES_OUTSIDE_CLOCK, 0, 0, 0, 0, 0 } },
					     .start_us = i * 10,
					     .end_us = i * 10 + 10,
					     .energy_mj = 1234567 + i };

		job[i] = (struct hes_job){ .workload = "net",
					   .batch_size = 8,
					   .iterations = 10,
					   .memory_mib = 900,
					   .weight = 1,
					   .command = command };
		snprintf(job[i].id, sizeof(job[i].id), "a-job-with-a-longer-name-%u", i);
		assert_int_equal(hes_plan_append(&plan, i % fleet.n, &b), 0);
	}
}

static int set_up(void **state)
{
	const struct {
		char *path;
		const char *name, *text;
	} files[] = {
		{ csv_path, "jobs.csv", csv_text },       { yaml_path, "jobs.yaml", yaml_text },
		{ fleet_path, "fleet.yaml", fleet_text }, { plan_path, "plan.json", "" },
		{ saved_path, "saved.json", "" },
	};

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	for (size_t i = 0; i < N(files); i++) {
		snprintf(files[i].path, 64, "%s/%s", folder, files[i].name);
		write_file(files[i].path, files[i].text);
	}
	assert_int_equal(hes_catalogue_load(NULL, &catalogue, NULL), 0);
	assert_int_equal(hes_fleet_load(fleet_path, &catalogue, &fleet, NULL), 0);
	make_plan();
	assert_int_equal(hes_plan_save(plan_path, &plan, &fleet, &jobs, NULL), 0);
	return 0;
}

static int tear_down(void **state)
{
	const char *const files[] = { plan_path, saved_path, csv_path, yaml_path, fleet_path };

	(void)state;
	for (size_t i = 0; i < N(files); i++)
		unlink(files[i]);
	hes_plan_finish(&plan);
	hes_fleet_free(&fleet);
	hes_catalogue_free(&catalogue);
	return rmdir(folder);
}

/* --- the calls: each gives a hash of what it made, and drops that --- */

static int load_plan(uint64_t *out, struct hes_err *err)
{
	struct hes_plan p = { 0 };
	int rc = hes_plan_load(plan_path, &fleet, &jobs, &p, err);

	if (rc) {
		assert_null(p.queues);
		return rc;
	}
	*out = mix_text(mix(0, &p.predicted, sizeof(p.predicted)), p.policy);
	for (size_t g = 0; g < p.n_gpus; g++)
		*out = mix(*out, p.queues[g].batches, p.queues[g].n * sizeof(*p.queues[g].batches));
	hes_plan_finish(&p);
	return 0;
}

static uint64_t mix_jobs(const struct hes_jobs *j)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < j->n; i++) {
		const struct hes_job *v = &j->v[i];

		hash = mix_text(mix_text(mix_text(mix_text(hash, v->id), v->workload), v->user),
				v->command);
		hash = mix(mix(hash, &v->iterations, sizeof(v->iterations)), &v->memory_mib,
			   sizeof(v->memory_mib));
	}
	return hash;
}

static uint64_t mix_fleet(const struct hes_fleet *f)
{
	uint64_t hash = mix_text(0, f->name);

	for (size_t g = 0; g < f->n; g++)
		hash = mix_text(mix_text(mix_text(hash, f->gpus[g].name), f->gpus[g].node),
				f->gpus[g].type->name);
	return hash;
}

static int load_subjects(uint64_t *out, struct hes_err *err)
{
	struct hes_fleet f = { 0 };
	struct hes_jobs j = { 0 };
	int rc = hes_plan_subjects(plan_path, &catalogue, &f, &j, err);

	assert_true(!rc || (!f.gpus && !j.v));
	if (!rc)
		*out = mix_fleet(&f) ^ mix_jobs(&j);
	hes_fleet_free(&f);
	hes_jobs_free(&j);
	return rc;
}

static int load_jobs(const char *path, uint64_t *out, struct hes_err *err)
{
	struct hes_jobs j = { 0 };
	int rc = hes_jobs_load(path, &j, err);

	assert_true(!rc || !j.v);
	if (!rc)
		*out = mix_jobs(&j);
	hes_jobs_free(&j);
	return rc;
}

static int load_csv(uint64_t *out, struct hes_err *err)
{
	return load_jobs(csv_path, out, err);
}

static int load_yaml(uint64_t *out, struct hes_err *err)
{
	return load_jobs(yaml_path, out, err);
}

static int load_fleet(uint64_t *out, struct hes_err *err)
{
	struct hes_fleet f = { 0 };
	int rc = hes_fleet_load(fleet_path, &catalogue, &f, err);

	assert_true(!rc || !f.gpus);
	if (!rc)
		*out = mix_fleet(&f);
	hes_fleet_free(&f);
	return rc;
}

static int load_catalogue(uint64_t *out, struct hes_err *err)
{
	struct hes_catalogue c = { 0 };
	int rc = hes_catalogue_load(NULL, &c, err);

	assert_true(!rc || !c.types);
	if (!rc)
		*out = c.n;
	hes_catalogue_free(&c);
	return rc;
}

/* The bytes of a file, "" where there is none. */
static uint64_t mix_file(const char *path)
{
	FILE *f = fopen(path, "r");
	uint64_t hash = 0;
	int c;

	while (f && (c = fgetc(f)) != EOF)
		hash = mix(hash, &c, sizeof(c));
	if (f)
		fclose(f);
	return hash;
}

/* A plan that could not be saved leaves no file. */
static int save_plan(uint64_t *out, struct hes_err *err)
{
	int rc;

	unlink(saved_path);
	faults_in_jansson(true);
	rc = hes_plan_save(saved_path, &plan, &fleet, &jobs, err);
	faults_in_jansson(false);
	if (rc)
		assert_int_not_equal(access(saved_path, F_OK), 0);
	else
		*out = mix_file(saved_path);
	return rc;
}

/* Jobs of rising length on GPUs of two types. */
static int assign(size_t n, size_t k, uint64_t *out)
{
	static struct hes_cost cost[2 * 64];
	static struct hes_assign_gpu gpus[32];
	static uint32_t gpu_of[64];
	const struct hes_weights w = { 1, 0.5 };
	struct hes_lap *l = NULL;
	struct hes_assign a = { 0 };
	double bound;
	int rc;

	for (size_t i = 0; i < n; i++) {
		cost[i] = (struct hes_cost){ 1000.0 * (double)(i + 1), 70000.0 * (double)(i + 1) };
		cost[n + i] =
			(struct hes_cost){ 600.0 * (double)(i + 1), 90000.0 * (double)(i % 7 + 1) };
	}
	for (size_t g = 0; g < k; g++)
		gpus[g].type = g % 2;
	rc = hes_assign_init(&a, n, k, 2, cost, gpus);
	if (!rc && !(l = hes_lap_new(&a)))
		rc = -ENOMEM;
	if (!rc)
		rc = hes_lap_solve(l, &w, gpu_of, &bound);
	if (!rc)
		*out = mix(mix(0, gpu_of, n * sizeof(*gpu_of)), &bound, sizeof(bound));
	hes_lap_free(l);
	hes_assign_finish(&a);
	return rc;
}

/* Short queues and long ones. */
static int assign_to_many(uint64_t *out, struct hes_err *err)
{
	int rc = assign(64, 32, out);

	return rc ? hes_fail(err, rc, "out of memory") : 0;
}

static int assign_to_few(uint64_t *out, struct hes_err *err)
{
	int rc = assign(64, 4, out);

	return rc ? hes_fail(err, rc, "out of memory") : 0;
}

/* --- faults --- */

struct call {
	const char *name;
	int (*make)(uint64_t *out, struct hes_err *err);
};

static bool try_fault(const struct call *c, enum fault_kind kind, uint32_t n, bool lasting,
		      uint64_t wanted)
{
	struct hes_err err = { 0 };
	uint64_t given = 0;
	bool failed;
	int rc;

	faults_arm(kind, n, lasting);
	rc = c->make(&given, &err);
	failed = faults_disarm();
	if (rc ? rc != (kind == FAULT_MEMORY ? -ENOMEM : -EIO) || err.code != rc || !err.msg[0]
	       : given != wanted || err.msg[0])
		fail_msg("%s, %s %u%s: %d, %d, \"%s\"%s", c->name,
			 kind == FAULT_MEMORY ? "allocation" : "access", n,
			 lasting ? " and all after it" : "", rc, err.code, err.msg,
			 rc ? "" : ", it gave something else");
	return failed;
}

static void try_all(const struct call *calls, size_t n_calls)
{
	uint32_t before = faults_tried();

	for (size_t i = 0; i < n_calls; i++) {
		uint64_t wanted = 0;

		assert_int_equal(calls[i].make(&wanted, NULL), 0);
		for (int lasting = 0; lasting < 2; lasting++)
			for (int kind = FAULT_MEMORY; kind <= FAULT_IO; kind++)
				for (uint32_t n = 1; try_fault(&calls[i], (enum fault_kind)kind, n,
							       lasting, wanted);
				     n++)
					;
	}
	print_message("%u faults\n", faults_tried() - before);
}

TEST(a_plan_is_read_and_written_completely_or_not_at_all)
{
	static const struct call calls[] = {
		{ "load a plan", load_plan },
		{ "load a plan's jobs and GPUs", load_subjects },
		{ "save a plan", save_plan },
	};

	try_all(calls, N(calls));
}

TEST(jobs_and_fleets_are_read_completely_or_not_at_all)
{
	static const struct call calls[] = {
		{ "load jobs from CSV", load_csv },
		{ "load jobs from YAML", load_yaml },
		{ "load a fleet", load_fleet },
		{ "load the catalogue", load_catalogue },
	};

	try_all(calls, N(calls));
}

/* Once columns that could not be allocated were freed twice. */
TEST(jobs_are_assigned_or_memory_is_out)
{
	static const struct call calls[] = {
		{ "assign jobs to many GPUs", assign_to_many },
		{ "assign jobs to a few GPUs", assign_to_few },
	};

	try_all(calls, N(calls));
}

int main(void)
{
	faults_install();
	return run_unit_tests(set_up, tear_down);
}
