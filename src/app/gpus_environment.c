/*
 * gpus_environment.c - what jobs must not inherit, and what they do; see gpus_chosen.h.
 *
 * Variables that choose what heshare chooses do not reach the jobs. Those that say how a program
 * uses the GPU are the user's wish, for profiles and runs alike: they stay, and are reported.
 */
#include "app/gpus_chosen.h"

#include <string.h>

#include "base/texts.h"
#include "heshare/capabilities.h"

#define SENTENCE_MAX 1024

/* They change how fast a job is, or how much memory it takes. */
static const char *const wishes[] = {
	"CUDA_AUTO_BOOST",
	"CUDA_CACHE_DISABLE",
	"CUDA_DEVICE_MAX_CONNECTIONS",
	"CUDA_DISABLE_PERF_BOOST",
	"CUDA_DISABLE_PTX_JIT",
	"CUDA_FORCE_PTX_JIT",
	"CUDA_INJECTION32_PATH",
	"CUDA_INJECTION64_PATH",
	"CUDA_LAUNCH_BLOCKING",
	"CUDA_MANAGED_FORCE_DEVICE_ALLOC",
	"CUDA_MODULE_DATA_LOADING",
	"CUDA_MODULE_LOADING",
	"CUDA_SCALE_LAUNCH_QUEUES",
	"NVIDIA_TF32_OVERRIDE",
	"PYTORCH_ALLOC_CONF",
	"PYTORCH_CUDA_ALLOC_CONF",
	"PYTORCH_NO_CUDA_MEMORY_CACHING",
	"TF_FORCE_GPU_ALLOW_GROWTH",
	"TF_GPU_ALLOCATOR",
	"XLA_PYTHON_CLIENT_ALLOCATOR",
	"XLA_PYTHON_CLIENT_MEM_FRACTION",
	"XLA_PYTHON_CLIENT_PREALLOCATE",
};

#define FAIR_LIBRARY "libheshare-fair.so"

static void tell_preload(const struct app *app)
{
	const char *preload = app_variable(app, "LD_PRELOAD");

	if (preload && strstr(preload, FAIR_LIBRARY))
		app_say(app,
			"LD_PRELOAD has " FAIR_LIBRARY
			", as heshare fair run sets it: jobs that have the GPU alone by the plan "
			"still wait for their turns; start heshare run without heshare fair run");
}

static void tell_wishes(const struct app *app)
{
	char text[SENTENCE_MAX] = "";

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++)
		if (app_variable(app, wishes[i]))
			hes_text_add(text, sizeof(text), ", ", "%s=%.40s", wishes[i],
				     app_variable(app, wishes[i]));
	if (!*text)
		return;
	hes_text_add(text, sizeof(text), "",
		     ": set here, so the jobs get it; they run as planned only if they were "
		     "profiled with it");
	app_say(app, "%s", text);
}

/* The lab and some sites always name a pipe directory; what is there is reported, not the name. */
static void tell_removed(const struct app *app)
{
	static const char *const names[] = { "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
					     "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
					     "CUDA_MPS_CLIENT_PRIORITY" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!app_variable(app, names[i]))
			continue;
		app_say(app, "%s=%.80s: set here, and not passed on to jobs: the plan decides",
			names[i], app_variable(app, names[i]));
	}
}

/* Another MPS daemon is the same for all GPUs. */
static void tell_daemon(const struct app *app, const struct hes_devices *d, const long *gpus,
			size_t n)
{
	struct hes_missing_capability v[HES_CAPABILITIES];
	struct hes_mps_status mps;

	hes_mps_find(app_variable(app, "PATH"), app_variable(app, "CUDA_MPS_PIPE_DIRECTORY"), &mps);
	for (size_t i = 0; i < n; i++) {
		long lacks = gpus[i] < 0
				     ? 0
				     : hes_capabilities_missing(d, (size_t)gpus[i], &mps, v, NULL);

		for (long k = 0; k < lacks; k++) {
			if (v[k].capability != HES_CAPABILITY_CO_RUNNERS)
				continue;
			app_say(app, "%s; jobs do not use it; to do: %s", v[k].why,
				v[k].what_to_do);
			return;
		}
	}
}

void gpus_environment_tell(const struct app *app, const struct hes_devices *d, const long *gpus,
			   size_t n, bool inherit)
{
	tell_daemon(app, d, gpus, n);
	tell_removed(app);
	if (inherit) {
		tell_wishes(app);
		tell_preload(app);
	}
}
