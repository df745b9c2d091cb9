/* test_job.c - jobs files: what is written is read again, what is wrong is named. */
#include <zlib.h>

#include "base/rng.h"
#include "base/utf8.h"
#include "heshare/job.h"
#include "unit_test.h"

#define HEADER "id,arrival_s,workload,batch_size,iterations,memory_mib"
#define ROW    "a,0,resnet50,8,100,1500\n"

static char dir[] = "/tmp/hes-job-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static const char *write_bytes(const char *name, const void *bytes, size_t n)
{
	const char *path = path_of(name);
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
	return path;
}

static const char *write_text(const char *name, const char *text)
{
	return write_bytes(name, text, strlen(text));
}

static void assert_same_job(const struct hes_job *a, const struct hes_job *b)
{
	assert_string_equal(a->id, b->id);
	assert_int_equal(a->arrival_us, b->arrival_us);
	assert_string_equal(a->workload, b->workload);
	assert_int_equal(a->batch_size, b->batch_size);
	assert_int_equal(a->iterations, b->iterations);
	assert_int_equal(a->whole_run, b->whole_run);
	assert_int_equal(a->memory_mib, b->memory_mib);
	assert_int_equal(a->has_deadline, b->has_deadline);
	assert_int_equal(a->has_deadline ? a->deadline_us : 0,
			 b->has_deadline ? b->deadline_us : 0);
	assert_int_equal(a->weight, b->weight);
	assert_true(a->keep == b->keep);
	assert_string_equal(a->user, b->user);
	assert_int_equal(a->command == NULL, b->command == NULL);
	if (a->command)
		assert_string_equal(a->command, b->command);
	assert_int_equal(a->progress == NULL, b->progress == NULL);
	if (a->progress)
		assert_string_equal(a->progress, b->progress);
}

static struct hes_job some_jobs[] = {
	{ .id = "one",
	  .arrival_us = 1,
	  .workload = "resnet50",
	  .batch_size = 65536,
	  .iterations = 1000000000000,
	  .memory_mib = 16777216,
	  .has_deadline = true,
	  .deadline_us = 999999999999999,
	  .weight = 1000,
	  .keep = 0.9,
	  .user = "ada",
	  .command = (char[]){ "echo \"a, b\"\nexit 3" } },
	{ .id = "two, too",
	  .arrival_us = 1234567890,
	  .workload = "gpt2",
	  .batch_size = 1,
	  .iterations = 1,
	  .memory_mib = 0,
	  .weight = 1 },
	{ .id = "3",
	  .workload = "python3 a.py: whole run",
	  .batch_size = 1,
	  .iterations = 1,
	  .whole_run = true,
	  .weight = 1,
	  .command = (char[]){ "python3 a.py" },
	  .progress = (char[]){ "(\\d+)/\\d+, " } },
};

TEST(every_field_survives_saving_and_loading)
{
	const struct hes_jobs jobs = { .v = some_jobs, .n = N(some_jobs) };
	struct hes_jobs back;
	struct hes_err err;

	assert_int_equal(hes_jobs_save(path_of("all.csv"), &jobs, &err), 0);
	assert_int_equal(hes_jobs_load(path_of("all.csv"), &back, &err), 0);
	assert_int_equal(back.n, N(some_jobs));
	for (size_t i = 0; i < back.n; i++)
		assert_same_job(&back.v[i], &some_jobs[i]);
	hes_jobs_free(&back);
}

TEST(yaml_and_csv_give_the_same_jobs)
{
	const struct hes_jobs jobs = { .v = some_jobs, .n = N(some_jobs) };
	struct hes_jobs back;
	struct hes_err err;

	write_text("jobs.yaml",
		   "jobs:\n"
		   "  - { id: one, arrival_s: 0.000001, workload: resnet50, batch_size: 65536,\n"
		   "      iterations: 1000000000000, memory_mib: 16777216, deadline_s: "
		   "999999999.999999,\n"
		   "      weight: 1000, keep: 0.9, user: ada, command: \"echo \\\"a, b\\\"\\nexit "
		   "3\" }\n"
		   "  - { id: \"two, too\", arrival_s: 1234.56789, workload: gpt2, batch_size: 1,\n"
		   "      iterations: 1, memory_mib: 0 }\n"
		   "  - progress: '(\\d+)/\\d+, '\n"
		   "    command: |\n"
		   "      python3 a.py\n");
	assert_int_equal(hes_jobs_load(path_of("jobs.yaml"), &back, &err), 0);
	assert_int_equal(back.n, jobs.n);
	for (size_t i = 0; i < back.n; i++)
		assert_same_job(&back.v[i], &some_jobs[i]);
	hes_jobs_free(&back);
}

/* A file and a piece of the sentence that refuses it. */
struct bad {
	const char *text, *says;
};

static void assert_refused(const char *name, const struct bad *bad)
{
	struct hes_jobs out = { .v = some_jobs, .n = N(some_jobs) };
	struct hes_err err = { 0 };
	int rc = hes_jobs_load(write_text(name, bad->text), &out, &err);

	if (rc >= 0 || !strstr(err.msg, bad->says))
		fail_msg("%s\ngave %d: %s\nnot: %s", bad->text, rc, err.msg, bad->says);
	assert_int_equal(err.code, rc);
	assert_ptr_equal(out.v, some_jobs); /* untouched */
}

TEST(jobs_without_arrivals_and_memory_wait_from_the_start_and_have_none)
{
	static const char *const texts[] = {
		"id,workload,batch_size,iterations\na,resnet50,8,10\n",
		"id,workload,batch_size,iterations,memory_mib\na,resnet50,8,10,\n",
		"jobs: [ { id: a, workload: resnet50, batch_size: 8, iterations: 10 } ]\n",
	};

	for (size_t i = 0; i < N(texts); i++) {
		struct hes_jobs jobs;

		assert_int_equal(
			hes_jobs_load(write_text(i > 1 ? "jobs.yaml" : "jobs.csv", texts[i]), &jobs,
				      NULL),
			0);
		assert_int_equal(jobs.n, 1);
		assert_int_equal(jobs.v[0].arrival_us, 0);
		assert_int_equal(jobs.v[0].memory_mib, 0);
		hes_jobs_free(&jobs);
	}
}

/* Rows of a file with one column are not split. */
TEST(a_file_with_the_one_column_command_is_enough)
{
	static const char text[] = "command\r\n"
				   "python3 train.py --sizes 1,2 --name \"a b\"\r\n"
				   "\"echo \"\"x, y\"\"\"\n\n"
				   "\"/opt/my tools/run\" --x\n"
				   "  python3 a.py \n"
				   "python3 a.py\n";
	static const struct {
		const char *command, *workload;
	} expected[] = {
		{ "python3 train.py --sizes 1,2 --name \"a b\"",
		  "python3 train.py --siz #a14f3123d6c1: whole run" },
		{ "echo \"x, y\"", "echo \"x #35316ea27f3c: whole run" },
		{ "\"/opt/my tools/run\" --x", "\"/opt/my tools/run\" --x: whole run" },
		{ "python3 a.py", "python3 a.py: whole run" },
		{ "python3 a.py", "python3 a.py: whole run" },
	};
	char id[8];
	struct hes_jobs jobs;
	struct hes_err err;

	if (hes_jobs_load(write_text("jobs.csv", text), &jobs, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(jobs.n, N(expected));
	assert_true(jobs.made_ids);
	for (size_t i = 0; i < jobs.n; i++) {
		const struct hes_job *j = &jobs.v[i];

		snprintf(id, sizeof(id), "%zu", i + 1);
		assert_string_equal(j->id, id);
		assert_string_equal(j->command, expected[i].command);
		assert_string_equal(j->workload, expected[i].workload);
		assert_int_equal(j->batch_size, 1);
		assert_int_equal(j->iterations, 1);
		assert_true(j->whole_run);
	}
	hes_jobs_free(&jobs);
}

/* Commands come from a pattern. */
TEST(a_file_without_workload_and_command_has_the_pattern_as_its_workload)
{
	const char *path = write_text("jobs.csv", "batch_size,progress\n8,\n16,\n");
	struct hes_jobs jobs;
	struct hes_err err;

	if (hes_jobs_load_for("./train.sh {batch}", path, &jobs, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(jobs.n, 2);
	assert_string_equal(jobs.v[1].workload, "./train.sh {batch}: whole run");
	assert_int_equal(jobs.v[1].batch_size, 16);
	assert_null(jobs.v[1].command);
	assert_null(jobs.unread);
	hes_jobs_free(&jobs);
	assert_int_equal(hes_jobs_load_for("./train.sh {workload}", path, &jobs, &err), -ENOENT);
	assert_non_null(strstr(err.msg, ":1: no column \"workload\""));
	assert_non_null(strstr(err.msg, "; the command needs it: ./train.sh"));
}

TEST(a_command_that_is_no_name_gets_its_beginning_and_a_hash)
{
	static const char *const commands[] = {
		"123456789 123456789 123456789 123456789 1234567",
		"123456789 123456789 123456789 123456789 12345678",
		"123456789 123456789 123456789 123456789 12345679",
		"a\nb",
		"a\nc",
		"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
		"\xc3\xa9"
		"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
		"\xc3\xa9"
		"\xc3\xa9\xc3\xa9",
		"\xff",
		",",
	};
	char names[N(commands)][HES_NAME_MAX];

	for (size_t i = 0; i < N(commands); i++) {
		hes_job_workload_of(commands[i], names[i]);
		assert_int_equal(hes_check_name("name", names[i], HES_NAME_MAX - 1, NULL), 0);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(names[i], names[k]);
	}
	assert_string_equal(names[0], commands[0]);
	assert_int_equal(strncmp(names[1], "123456789 123456789 123456789 123 #", 35), 0);
	assert_int_equal(strncmp(names[3], "a #", 3), 0);
}

/* "profile" counts iterations, and a job without a number of them is its whole run. */
TEST(a_whole_run_is_another_workload_than_its_iterations)
{
	static const char text[] =
		"workload,iterations,command\n"
		",,./a.sh\n"
		",,python3 train.py --model resnet50 --epochs 3\n"
		",,python3 train.py --model resnet50 --epochs 4\n"
		",,python3 train.py --model resnet50 --epochs 5 --name first-trial\n"
		"net,,./a.sh\n"
		"net: whole run,,./a.sh\n";
	struct hes_jobs whole, counted;
	struct hes_job job;
	struct hes_err err;

	if (hes_jobs_load(write_text("jobs.csv", text), &whole, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(whole.v[0].workload, "./a.sh: whole run");
	assert_string_equal(whole.v[4].workload, "net: whole run");
	assert_string_equal(whole.v[5].workload, "net: whole run");
	assert_int_equal(hes_job_workload_given(&whole.v[4]), 3);
	for (size_t i = 0; i < 4; i++) {
		char own[HES_NAME_MAX];

		hes_job_workload_of(whole.v[i].command, own);
		assert_string_not_equal(own, whole.v[i].workload);
		assert_true(hes_workload_is_whole_run(whole.v[i].workload));
		assert_string_not_equal(whole.v[i].workload, whole.v[(i + 1) % 4].workload);
		job = whole.v[i];
		hes_job_name_iterations(&job, NULL);
		assert_string_equal(job.workload, own);
	}
	job = whole.v[4];
	hes_job_name_iterations(&job, NULL);
	assert_string_equal(job.workload, "net");
	hes_jobs_free(&whole);
	if (hes_jobs_load(write_text("jobs.csv", "iterations,command\n5,./a.sh\n"), &counted, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(counted.v[0].workload, "./a.sh");
	hes_jobs_free(&counted);
}

TEST(columns_that_are_no_field_are_noted)
{
	struct hes_jobs jobs;

	assert_int_equal(hes_jobs_load(write_text("jobs.csv", "deadline,id,workload,batch_size,"
							      "iterations,gpus,priority,gpu,\n"
							      "5,a,resnet50,8,10,1,7,A100,\n"),
				       &jobs, NULL),
			 0);
	assert_string_equal(jobs.unread, "deadline\npriority\ngpu\n");
	assert_string_equal(jobs.file, path_of("jobs.csv"));
	assert_false(jobs.v[0].has_deadline);
	hes_jobs_free(&jobs);
	assert_int_equal(hes_jobs_load(write_text("jobs.csv", HEADER "\n" ROW), &jobs, NULL), 0);
	assert_null(jobs.unread);
	hes_jobs_free(&jobs);
}

TEST(wrong_csv_is_refused_with_line_field_and_value)
{
	static const struct bad bad[] = {
		{ "", "empty file" },
		{ HEADER "\n", "no jobs" },
		{ HEADER "\n\n\n", "no jobs" },
		{ "command\n", "no jobs" },
		{ "id,arrival_s\na,1\n",
		  ":1: no column \"command\"; there are: id, arrival_s; the first line names the "
		  "columns, and jobs need the column command or workload" },
		{ "id;arrival_s\na;1\n", "no column \"command\"; there are: id;arrival_s; columns "
					 "are separated by commas" },
		{ "id, workload\na, b\n",
		  ":1: no column \"workload\" (\" workload\"?); there are: id" },
		{ "ID,Workload\na,b\n",
		  ":1: no column \"workload\" (\"Workload\"?); there are: ID" },
		{ "python3 a.py\npython3 b.py\n", "there are: python3 a.py; the first line" },
		{ "command\ntrue\n  \n",
		  ":3: command: empty; a job needs a command or a workload" },
		{ "id,command\na,\n", ":2: command: empty" },
		{ "workload,command\nx,\n,true\n,\n", ":4: command: empty" },
		{ "id,command\na,run --sizes 1,2\n",
		  ":2: 3 fields where the header has 2; put a field with a comma in it into "
		  "quotes" },
		{ "workload\n1234567890 1234567890 1234567890 1234\n",
		  ":2: workload: \"1234567890 1234567890 1234567890 1234\" has 37 bytes; a job "
		  "without "
		  "iterations may have 36" },
		{ "workload,iterations\nnet: whole run,5\n",
		  ":2: workload: \"net: whole run\" is a job without iterations; leave the" },
		{ "command,progress\ntrue,step \\d+\n",
		  ":2: progress: \"step \\d+\": byte 1: it has no group" },
		{ "id,command\n2,true\n,false\n", ":3: id: \"2\" is also job 1" },
		{ "id\tarrival_s\na\t1\n", "; columns are separated by commas" },
		{ HEADER "\n" ROW "b,-1,resnet50,8,100,1500\n",
		  ":3: arrival_s: -1 is outside 0 to 1e+09" },
		{ HEADER "\na,nan,resnet50,8,100,1500\n",
		  ":2: arrival_s: \"nan\" is not a finite number" },
		{ HEADER "\na,inf,resnet50,8,100,1500\n", "arrival_s: \"inf\"" },
		{ HEADER "\na,1e300,resnet50,8,100,1500\n", "arrival_s: 1e300 is outside" },
		{ HEADER "\na,0,resnet50,0,100,1500\n", "batch_size: 0 is outside 1 to 65536" },
		{ HEADER "\na,0,resnet50,-8,100,1500\n",
		  "batch_size: \"-8\" is not a whole number" },
		{ HEADER "\na,0,resnet50,8,0,1500\n", "iterations: 0 is outside" },
		{ HEADER "\na,0,resnet50,8,99999999999999999999999,1500\n",
		  "iterations: 99999999999999999999999" },
		{ HEADER "\na,0,resnet50,8,1.5,1500\n",
		  "iterations: \"1.5\" is not a whole number" },
		{ HEADER "\na,0,resnet50,8,100,99999999\n", "memory_mib: 99999999 is outside" },
		{ HEADER "\na,0,resnet50,8,100\n", ":2: 5 fields where the header has 6" },
		{ HEADER "\na,0,,8,100,1500\n",
		  ":2: command: empty; a job needs a command or a workload" },
		{ HEADER "\na\tb,0,resnet50,8,100,1500\n",
		  ":2: id: control character 0x09 in byte 2" },
		{ HEADER "\n" ROW ROW, ":3: id: \"a\" is also job 1" },
		{ HEADER "\n\"a,0,resnet50,8,100,1500\n", "never closed" },
		{ HEADER ",weight\na,0,resnet50,8,100,1500,0\n", "weight: 0 is outside 1 to 1000" },
		{ HEADER ",keep\na,0,resnet50,8,100,1500,90\n", "keep: 90 is outside 0.01 to 1" },
		{ HEADER ",gpus\n"
			 "a,0,resnet50,8,100,1500,1\n"
			 "b,0,resnet50,8,100,1500,2\n",
		  ":3: gpus: 2, but a job of heshare runs on one GPU or a part of it" },
		{ HEADER ",Num_GPUs\na,0,resnet50,8,100,1500,1.5\n",
		  ":2: Num_GPUs: 1.5, but a job" },
		{ HEADER ",GPUs per job \na,0,resnet50,8,100,1500,2\n", "GPUs per job" },
		{ HEADER ",gpu\na,0,resnet50,8,100,1500,2\n", ":2: gpu: 2, but a job" },
		{ HEADER ",gpu\na,0,resnet50,8,100,1500,a100:2\n",
		  ":2: gpu: \"a100:2\" is no number of GPUs" },
		{ HEADER ",gpus\na,0,resnet50,8,100,1500,2x\n",
		  ":2: gpus: \"2x\" is no number of GPUs; a job of heshare runs on one GPU or a "
		  "part of it: write 1, or leave it empty" },
		{ HEADER ",gpus\na,0,resnet50,8,100,1500,two\n", ":2: gpus: \"two\" is no" },
		{ HEADER ",deadline_s\na,5,resnet50,8,100,1500,4\n",
		  "deadline_s: 4 is before arrival_s 5" },
		{ HEADER
		  "\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,0,resnet50,8,100,1500\n",
		  "has more than 47 bytes" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused("bad.csv", &bad[i]);
}

#define Y(fields) \
	"jobs:\n  - { id: a, workload: resnet50, batch_size: 8, memory_mib: 1, " fields " }\n"

TEST(wrong_yaml_is_refused_with_entry_field_and_value)
{
	static const struct bad bad[] = {
		{ "", "empty file" },
		{ "jobs: []\n", "no jobs" },
		{ "jobs:\n  - { id: a }\n", "jobs[0]: command: empty" },
		{ Y("arrival_s: -1, iterations: 5"),
		  "jobs[0]: arrival_s: -1 is outside 0 to 1e+09" },
		{ Y("arrival_s: nan, iterations: 5"), "arrival_s" },
		{ Y("arrival_s: 0, iterations: 0"), "jobs[0]: iterations: 0 is outside" },
		{ Y("arrival_s: 0, iterations: -5"),
		  "jobs[0]: iterations: \"-5\" is not a whole number" },
		{ Y("arrival_s: 0, iterations: 5, weight: 2000"),
		  "jobs[0]: weight: 2000 is outside" },
		{ Y("arrival_s: 7, iterations: 5, deadline_s: 6"),
		  "deadline_s: 6 is before arrival_s 7" },
		{ Y("arrival_s: 0, iterations: 5, colour: red"), "colour" },
		{ Y("arrival_s: 0, iterations: 5") "  - { id: a, workload: b, batch_size: 8, "
						   "memory_mib: 1, "
						   "arrival_s: 0, iterations: 5 }\n",
		  "jobs[1]: id: \"a\" is also job 1" },
		{ "jobs: [", "bad.yaml:" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused("bad.yaml", &bad[i]);
}

TEST(a_truncated_gzip_file_is_refused_and_a_whole_one_read)
{
	char bytes[16384];
	struct hes_jobs jobs;
	struct hes_err err;
	size_t n;
	struct hes_rng rng;
	gzFile gz = gzopen(path_of("jobs.csv.gz"), "w");
	FILE *f;

	gzprintf(gz, "%s\n", HEADER);
	hes_rng_seed(&rng, 3);
	for (int i = 0; i < 500; i++)
		gzprintf(gz, "job%d,%d,resnet50,8,%d,1500\n", i, i,
			 (int)hes_rng_below(&rng, 1000000) + 1);
	assert_int_equal(gzclose(gz), Z_OK);
	assert_int_equal(hes_jobs_load(path_of("jobs.csv.gz"), &jobs, &err), 0);
	assert_int_equal(jobs.n, 500);
	hes_jobs_free(&jobs);
	f = fopen(path_of("jobs.csv.gz"), "re");
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	assert_true(n > 1000 && n < sizeof(bytes));
	for (size_t cut = 1; cut < n; cut += 97) {
		assert_true(hes_jobs_load(write_bytes("cut.csv.gz", bytes, n - cut), &jobs, &err) <
			    0);
		assert_non_null(strstr(err.msg, "cut.csv.gz"));
	}
}

TEST(a_directory_is_not_a_jobs_file)
{
	struct hes_jobs jobs;
	struct hes_err err;

	assert_true(hes_jobs_load(dir, &jobs, &err) < 0);
	assert_non_null(strstr(err.msg, "directory"));
	assert_true(hes_jobs_load(path_of("not-there.csv"), &jobs, &err) < 0);
	assert_non_null(strstr(err.msg, "No such file"));
}

TEST(a_repeated_id_is_found_however_far_apart)
{
	struct hes_jobs jobs;
	struct hes_err err;
	FILE *f = fopen(path_of("many.csv"), "we");

	fprintf(f, "%s\n", HEADER);
	for (int i = 0; i < 200000; i++)
		fprintf(f, "%d,0,resnet50,8,1,1\n", i * 3);
	fclose(f);
	assert_int_equal(hes_jobs_load(path_of("many.csv"), &jobs, &err), 0);
	assert_int_equal(jobs.n, 200000);
	hes_jobs_free(&jobs);
	f = fopen(path_of("many.csv"), "ae");
	fprintf(f, "12,0,resnet50,8,1,1\n");
	fclose(f);
	assert_int_equal(hes_jobs_load(path_of("many.csv"), &jobs, &err), -EEXIST);
	assert_non_null(strstr(err.msg, ":200002: id: \"12\" is also job 5"));
}

static void assert_valid(const struct hes_jobs *jobs)
{
	assert_true(jobs->n > 0);
	for (size_t i = 0; i < jobs->n; i++) {
		const struct hes_job *j = &jobs->v[i];

		assert_true(j->id[0] && j->workload[0]);
		assert_true(j->arrival_us >= 0 && j->batch_size >= 1 && j->iterations >= 1);
		assert_true(j->weight >= 1 &&
			    (!j->has_deadline || j->deadline_us >= j->arrival_us));
	}
}

/* A few bytes overwritten, doubled or cut out. */
static size_t mutate(struct hes_rng *rng, char *text, size_t n, size_t cap)
{
	static const char alphabet[] = "0123456789-+.,eEnaif\"'\n\r\t :{}[]#&*!\\\377\0";

	for (uint64_t k = hes_rng_below(rng, 4) + 1; k && n > 1; k--) {
		size_t at = (size_t)hes_rng_below(rng, n), len = (size_t)hes_rng_below(rng, 9);

		if (len > n - at)
			len = n - at;
		switch (hes_rng_below(rng, 3)) {
		case 0:
			text[at] = alphabet[hes_rng_below(rng, sizeof(alphabet) - 1)];
			break;
		case 1:
			memmove(text + at, text + at + len, n - at - len);
			n -= len;
			break;
		default:
			if (n + len > cap)
				break;
			memmove(text + at + len, text + at, n - at);
			n += len;
		}
	}
	return n;
}

static void fuzz(const char *name, const char *seed_text, uint64_t rounds)
{
	struct hes_rng rng;
	uint64_t good = 0, refused = 0;

	hes_rng_seed(&rng, 20260101);
	while (rounds--) {
		struct hes_jobs jobs;
		struct hes_err err = { 0 };
		char text[1024];
		size_t n = strlen(seed_text);

		memcpy(text, seed_text, n);
		n = mutate(&rng, text, n, sizeof(text));
		if (hes_jobs_load(write_bytes(name, text, n), &jobs, &err) == 0) {
			assert_valid(&jobs);
			hes_jobs_free(&jobs);
			good++;
		} else {
			if (err.code >= 0 || !strstr(err.msg, name) || strchr(err.msg, '\n'))
				fail_msg("not one sentence that names the file: %s", err.msg);
			refused++;
		}
	}
	assert_true(good > 20 && refused > 20);
}

TEST(mutated_files_are_read_or_refused_in_one_line)
{
	fuzz("fuzz.csv",
	     HEADER
	     ",deadline_s,weight,user,command\n"
	     "a,0,resnet50,8,100,1500,900,3,ada,\"echo \"\"x, y\"\"\"\nb,12.5,gpt2,1,1,0,,,,\n",
	     1500);
	fuzz("fuzz.yaml",
	     "jobs:\n  - id: a\n    arrival_s: 12.5\n    workload: resnet50\n    batch_size: 8\n"
	     "    iterations: 100\n    memory_mib: 1500\n    deadline_s: 900\n    user: ada\n"
	     "  - { id: b, arrival_s: 0, workload: gpt2, batch_size: 1, iterations: 1, memory_mib: "
	     "0 }\n",
	     800);
}

TEST(an_unwritable_file_leaves_nothing_behind)
{
	const struct hes_jobs jobs = { .v = some_jobs, .n = N(some_jobs) };
	struct hes_err err;

	assert_true(hes_jobs_save(path_of("no/such/dir.csv"), &jobs, &err) < 0);
	assert_non_null(strstr(err.msg, "dir.csv: cannot create"));
	assert_int_equal(access(path_of("no"), F_OK), -1);
}

static const char *source_file(const char *name)
{
	static char path[4096];
	const char *root = getenv("HES_SOURCE_ROOT");

	snprintf(path, sizeof(path), "%s/%s", root ? root : ".", name);
	return path;
}

/* The text between ```LANGUAGE and ``` of a document, as a file. */
static const char *example_of(const char *document, const char *fence, const char *name)
{
	FILE *f = fopen(source_file(document), "re"), *out = fopen(path_of(name), "we");
	char line[1024];
	bool inside = false;

	assert_non_null(f);
	assert_non_null(out);
	while (fgets(line, sizeof(line), f)) {
		if (inside && strncmp(line, "```", 3) != 0)
			fputs(line, out);
		inside = strncmp(line, "```", 3) == 0 ? strcmp(line, fence) == 0 : inside;
	}
	fclose(f);
	fclose(out);
	return path_of(name);
}

TEST(the_examples_of_the_documentation_can_be_read)
{
	struct hes_jobs jobs;
	struct hes_err err;

	if (hes_jobs_load(example_of("docs/formats/jobs.md", "```csv\n", "doc.csv"), &jobs, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(jobs.n, 2);
	hes_jobs_free(&jobs);
	if (hes_jobs_load(example_of("docs/formats/jobs.md", "```yaml\n", "doc.yaml"), &jobs, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(jobs.v[0].command, "./infer --model bert-large --batch 16");
	hes_jobs_free(&jobs);
}

TEST(the_shipped_example_has_sixty_jobs)
{
	struct hes_jobs jobs;
	struct hes_err err;

	if (hes_jobs_load(source_file("data/traces/demo.csv"), &jobs, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(jobs.n, 60);
	for (size_t i = 0; i < jobs.n; i++)
		assert_true(jobs.v[i].memory_mib <= 15360); /* a T4's */
	hes_jobs_free(&jobs);
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

int main(void)
{
	return run_unit_tests(make_dir, remove_dir);
}
