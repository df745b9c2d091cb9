/*
 * test_cuda_in_lab.c - the lab's libcuda as programs meet it: by dlsym and by cuGetProcAddress,
 * devices, memory, launches, events. Run inside the lab (tests/meson.build).
 */
#include <dlfcn.h>
#include <math.h>
#include <sys/wait.h>

#include "heshare/model.h"
#include "unit_test.h"

#define CUDA_12 12000

static void *lib;

/* A function by its exported name. */
static void *symbol(const char *name)
{
	void *f = dlsym(lib, name);

	if (!f)
		fail_msg("libcuda has no %s", name);
	return f;
}

/* Calls through dlsym: the type of the function is that of the call. */
#define CALL(name, types, args) \
	(((union {              \
		 void *p;       \
		 int(*f) types; \
	 }){ symbol(name) })    \
		 .f args)

static int init(void **state)
{
	(void)state;
	lib = dlopen("libcuda.so.1", RTLD_NOW);
	return !lib || CALL("cuInit", (unsigned), (0));
}

static int done(void **state)
{
	(void)state;
	return dlclose(lib);
}

static int open_context(void **state)
{
	return CALL("cuCtxCreate_v2", (void **, unsigned, int), (state, 0, 6));
}

static int close_context(void **state)
{
	return CALL("cuCtxDestroy_v2", (void *), (*state));
}

TEST(names_lead_to_the_exported_functions)
{
	void *f = NULL;
	int status = -1;

	assert_int_equal(CALL("cuGetProcAddress_v2", (const char *, void **, int, uint64_t, int *),
			      ("cuMemAlloc", &f, CUDA_12, 0, &status)),
			 0);
	assert_ptr_equal(f, symbol("cuMemAlloc_v2"));
	assert_int_equal(status, 0);
	assert_int_equal(CALL("cuGetProcAddress", (const char *, void **, int, uint64_t),
			      ("cuLaunchKernel", &f, 11030, 0)),
			 0);
	assert_ptr_equal(f, symbol("cuLaunchKernel"));
	assert_int_equal(CALL("cuGetProcAddress", (const char *, void **, int, uint64_t),
			      ("cuGetProcAddress", &f, CUDA_12, 0)),
			 0);
	assert_ptr_equal(f, symbol("cuGetProcAddress_v2"));
}

TEST(unknown_names_and_old_versions_are_null)
{
	void *f = lib;
	int status = -1;

	assert_int_equal(CALL("cuGetProcAddress_v2", (const char *, void **, int, uint64_t, int *),
			      ("cuNothing", &f, CUDA_12, 0, &status)),
			 0);
	assert_null(f);
	assert_int_equal(status, 1);
	f = lib;
	assert_int_equal(CALL("cuGetProcAddress_v2", (const char *, void **, int, uint64_t, int *),
			      ("cuLaunchKernelEx", &f, 11000, 0, &status)),
			 0);
	assert_null(f);
	assert_int_equal(status, 2);
	f = lib;
	assert_int_equal(CALL("cuGetProcAddress", (const char *, void **, int, uint64_t),
			      ("cuNothing", &f, 11030, 0)),
			 500);
	assert_null(f);
	assert_int_equal(CALL("cuGetProcAddress", (const char *, void **, int, uint64_t),
			      ("cuInit", &f, 99000, 0)),
			 1);
	assert_int_equal(CALL("cuGetProcAddress_v2", (const char *, void **, int, uint64_t, int *),
			      ("cuInit", NULL, CUDA_12, 0, NULL)),
			 1);
}

TEST(devices_are_the_gpus_of_the_lab)
{
	int n = 0, sms = 0, l2 = 0;
	char name[64];
	size_t bytes = 0;

	assert_int_equal(CALL("cuDeviceGetCount", (int *), (&n)), 0);
	assert_int_equal(n, 8);
	assert_int_equal(CALL("cuDeviceGetName", (char *, int, int), (name, sizeof(name), 4)), 0);
	assert_string_equal(name, "Tesla V100-PCIE-32GB");
	assert_int_equal(CALL("cuDeviceGetAttribute", (int *, int, int), (&sms, 16, 6)), 0);
	assert_int_equal(CALL("cuDeviceGetAttribute", (int *, int, int), (&l2, 38, 6)), 0);
	assert_int_equal(sms, 108);
	assert_int_equal(l2, 40 << 20);
	assert_int_equal(CALL("cuDeviceTotalMem_v2", (size_t *, int), (&bytes, 0)), 0);
	assert_int_equal(bytes >> 20, 15360);
	assert_int_equal(CALL("cuDeviceGet", (int *, int), (&n, 8)), 101);
}

TEST_WITH(memory_keeps_copied_bytes_and_is_bounded, open_context, close_context)
{
	const char text[] = "through the GPU and back";
	char back[sizeof(text)] = "";
	uintptr_t a = 0, b = 0;
	size_t before = 0, left = 0, total = 0;

	assert_int_equal(CALL("cuMemGetInfo_v2", (size_t *, size_t *), (&before, &total)), 0);
	assert_int_equal(CALL("cuMemAlloc_v2", (uintptr_t *, size_t), (&a, 1 << 20)), 0);
	assert_int_equal(CALL("cuMemAlloc_v2", (uintptr_t *, size_t), (&b, total)), 2);
	assert_int_equal(CALL("cuMemAlloc_v2", (uintptr_t *, size_t), (&b, before - (1 << 20))), 0);
	assert_int_equal(CALL("cuMemGetInfo_v2", (size_t *, size_t *), (&left, &total)), 0);
	assert_int_equal(left, 0);
	assert_int_equal(
		CALL("cuMemcpyHtoD_v2", (uintptr_t, const void *, size_t), (a, text, sizeof(text))),
		0);
	assert_int_equal(
		CALL("cuMemcpyDtoD_v2", (uintptr_t, uintptr_t, size_t), (b, a, sizeof(text))), 0);
	assert_int_equal(
		CALL("cuMemcpyDtoH_v2", (void *, uintptr_t, size_t), (back, b, sizeof(text))), 0);
	assert_string_equal(back, text);
	assert_int_equal(CALL("cuMemFree_v2", (uintptr_t), (a)), 0);
	assert_int_equal(CALL("cuMemFree_v2", (uintptr_t), (a)), 1);
	assert_int_equal(CALL("cuMemFree_v2", (uintptr_t), (b)), 0);
	assert_int_equal(CALL("cuMemGetInfo_v2", (size_t *, size_t *), (&left, &total)), 0);
	assert_int_equal(left, before);
}

TEST_WITH(code_of_other_architectures_is_refused, open_context, close_context)
{
	void *module = NULL, *f = NULL;

	assert_int_equal(CALL("cuModuleLoadData", (void **, const void *),
			      (&module, ".version 7.0\n.target sm_70\n")),
			 209);
	assert_int_equal(CALL("cuModuleLoadData", (void **, const void *),
			      (&module, "heshare-lab workloads 1\n")),
			 0);
	assert_int_equal(CALL("cuModuleGetFunction", (void **, void *, const char *),
			      (&f, module, "resnet51")),
			 500);
	assert_null(f);
	assert_int_equal(CALL("cuModuleUnload", (void *), (module)), 0);
}

/* Seconds that the physics gives an iteration alone on an A100. */
static double iteration_s(const char *workload, uint32_t batch)
{
	struct hes_catalogue c;
	struct hes_model *m;
	struct hes_rate rate;
	struct hes_instant at;
	struct hes_model_job r = { .batch = batch, .sm_pct = 100 };

	assert_int_equal(hes_catalogue_load(NULL, &c, NULL), 0);
	assert_int_equal(hes_model_load(NULL, &m, NULL), 0);
	r.workload = hes_model_workload(m, workload, NULL);
	assert_int_equal(hes_model_instant(m, hes_gpu_type_find(&c, "A100-SXM-80", NULL), 0, 0, &r,
					   1, &rate, &at, NULL),
			 0);
	hes_model_free(m);
	hes_catalogue_free(&c);
	return 1 / rate.iterations_per_s;
}

TEST_WITH(events_measure_the_time_of_the_gpu_model, open_context, close_context)
{
	uint32_t batch = 16, n = 3;
	void *module, *f, *stream, *from, *to, *params[] = { &batch, &n };
	float ms = 0;

	assert_int_equal(CALL("cuModuleLoadData", (void **, const void *),
			      (&module, "heshare-lab workloads 1\n")),
			 0);
	assert_int_equal(CALL("cuModuleGetFunction", (void **, void *, const char *),
			      (&f, module, "resnet50")),
			 0);
	assert_int_equal(CALL("cuStreamCreate", (void **, unsigned), (&stream, 0)), 0);
	assert_int_equal(CALL("cuEventCreate", (void **, unsigned), (&from, 0)), 0);
	assert_int_equal(CALL("cuEventCreate", (void **, unsigned), (&to, 0)), 0);
	/* More launches than the queue holds: asking for one more waits. */
	for (int i = 0; i < 400; i++) {
		if (i == 100)
			assert_int_equal(CALL("cuEventRecord", (void *, void *), (from, stream)),
					 0);
		assert_int_equal(CALL("cuLaunchKernel",
				      (void *, unsigned, unsigned, unsigned, unsigned, unsigned,
				       unsigned, unsigned, void *, void **, void **),
				      (f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL)),
				 0);
	}
	assert_int_equal(CALL("cuEventRecord", (void *, void *), (to, stream)), 0);
	assert_int_equal(CALL("cuEventQuery", (void *), (to)), 600);
	assert_int_equal(CALL("cuStreamQuery", (void *), (stream)), 600);
	assert_int_equal(CALL("cuEventSynchronize", (void *), (from)), 0);
	assert_int_equal(CALL("cuEventSynchronize", (void *), (to)), 0);
	assert_int_equal(CALL("cuStreamSynchronize", (void *), (stream)), 0);
	assert_int_equal(CALL("cuEventElapsedTime", (float *, void *, void *), (&ms, from, to)), 0);
	assert_true(fabs(ms * 1e-3 / (900 * iteration_s("resnet50", 16)) - 1) < 1e-4);
	batch = 0;
	assert_int_equal(CALL("cuLaunchKernel",
			      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			       unsigned, void *, void **, void **),
			      (f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL)),
			 1);
	assert_int_equal(CALL("cuEventDestroy_v2", (void *), (from)), 0);
	assert_int_equal(CALL("cuEventDestroy_v2", (void *), (to)), 0);
	assert_int_equal(CALL("cuStreamDestroy_v2", (void *), (stream)), 0);
	assert_int_equal(CALL("cuModuleUnload", (void *), (module)), 0);
}

TEST(without_a_context_nothing_is_launched)
{
	uintptr_t at = 0;

	assert_int_equal(CALL("cuMemAlloc_v2", (uintptr_t *, size_t), (&at, 16)), 201);
	assert_int_equal(CALL("cuCtxSynchronize", (void), ()), 201);
}

TEST(a_forked_child_must_call_cuinit_again)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		int n, rc = CALL("cuDeviceGetCount", (int *), (&n));

		_exit(rc == 3 && !CALL("cuInit", (unsigned), (0)) &&
				      !CALL("cuDeviceGetCount", (int *), (&n)) && n == 8
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	return run_unit_tests(init, done);
}
