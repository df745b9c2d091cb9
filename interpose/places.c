/*
 * places.c - contexts, GPUs and the links of them; see places.h.
 */
#include "places.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "launches.h"
#include "link.h"
#include "symbols.h"
#include "stderr_line.h"

#define PLACES_MAX  256
#define DEVICES_MAX 64

struct place *_Atomic place_only;
struct fair_driver places_driver;

static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* guards what follows; places are read without it */
static struct place places[PLACES_MAX];
static _Atomic size_t n_places;
static struct link links[DEVICES_MAX];
static bool linked[DEVICES_MAX];
static void *primaries[DEVICES_MAX];
static void *known[PLACES_MAX]; /* contexts, whether or not they have launched */
static size_t n_known;
static bool unknown; /* there was no room for one: there is never an only place again */
static struct settings settings;
static const char *settings_wrong;
static bool loaded, registered;
static _Atomic bool off; /* for good */

/* Names in the order of preference; those that may be missing come without a fault. */
static const struct {
	const char *names[2];
	size_t slot;
	bool needed;
} driver_symbols[] = {
	{ { "cuCtxGetCurrent" }, offsetof(struct fair_driver, context_current), true },
	{ { "cuCtxGetDevice" }, offsetof(struct fair_driver, context_device), true },
	{ { "cuCtxPushCurrent_v2" }, offsetof(struct fair_driver, context_push), true },
	{ { "cuCtxPopCurrent_v2" }, offsetof(struct fair_driver, context_pop), true },
	{ { "cuCtxSynchronize" }, offsetof(struct fair_driver, context_synchronize), true },
	{ { "cuStreamGetCtx" }, offsetof(struct fair_driver, stream_context), false },
	{ { "cuStreamIsCapturing" }, offsetof(struct fair_driver, stream_is_capturing), false },
	{ { "cuThreadExchangeStreamCaptureMode" },
	  offsetof(struct fair_driver, capture_mode),
	  false },
	{ { "cuEventCreate" }, offsetof(struct fair_driver, event_create), true },
	{ { "cuEventRecord" }, offsetof(struct fair_driver, event_record), true },
	{ { "cuEventQuery" }, offsetof(struct fair_driver, event_query), true },
	{ { "cuEventSynchronize" }, offsetof(struct fair_driver, event_synchronize), true },
	{ { "cuEventElapsedTime_v2", "cuEventElapsedTime" },
	  offsetof(struct fair_driver, event_elapsed),
	  true },
	{ { "cuDeviceGetUuid", "cuDeviceGetUuid_v2" },
	  offsetof(struct fair_driver, device_uuid),
	  true },
};

/* @return whether the driver has all that is needed; the lock is held */
static bool places_load(void)
{
	for (size_t i = 0; !loaded && i < sizeof(driver_symbols) / sizeof(driver_symbols[0]); i++) {
		void *f = driver_symbol(driver_symbols[i].names[0]);

		if (!f && driver_symbols[i].names[1])
			f = driver_symbol(driver_symbols[i].names[1]);
		if (!f && driver_symbols[i].needed) {
			tell("the CUDA driver has no %s: running unscheduled",
			     driver_symbols[i].names[0]);
			atomic_store(&off, true);
			return false;
		}
		memcpy((char *)&places_driver + driver_symbols[i].slot, &f, sizeof(f));
	}
	loaded = true;
	return true;
}

static bool places_capture(void *self)
{
	(void)self;
	return captures_any();
}

/* Before the driver's own end: its contexts go then, with the events. */
static void places_end(void)
{
	for (int i = 0; i < DEVICES_MAX; i++)
		if (linked[i])
			atomic_store(&links[i].stop, true);
	for (int i = 0; i < DEVICES_MAX; i++)
		if (linked[i])
			link_stop(&links[i]);
}

/* Make the events of a gate in another context, because the first was destroyed. Captures of the
 * calling thread go on. */
static void places_adopt(struct gate *g, void *context)
{
	int mode = DRIVER_CAPTURE_RELAXED;

	if (places_driver.capture_mode)
		places_driver.capture_mode(&mode);
	gate_adopt(g, context);
	if (places_driver.capture_mode)
		places_driver.capture_mode(&mode);
}

/* The gate of a device, started if it is the first call to it. @context is current. The lock is
 * held. */
static struct gate *places_gate(int device, void *context)
{
	struct link *l;
	int rc;

	if (device < 0 || device >= DEVICES_MAX)
		return NULL;
	l = &links[device];
	if (linked[device]) {
		places_adopt(&l->gate, context);
		return &l->gate;
	}
	if (settings_wrong)
		tell("%s", settings_wrong);
	settings_wrong = NULL;
	link_init(l, &places_driver, &settings, places_capture, NULL);
	if (places_driver.device_uuid(l->uuid, device)) {
		tell("the driver does not tell which GPU device %d is: running unscheduled",
		     device);
		return NULL;
	}
	if (!registered)
		registered = !atexit(places_end);
	rc = link_start(l, context);
	if (rc)
		tell("cannot start a thread (%s): running unscheduled", strerror(-rc));
	linked[device] = true;
	return &l->gate;
}

/* The place of the only context that is known. The lock is held. */
static void places_count(void)
{
	struct place *only = NULL;

	for (size_t i = 0; n_known == 1 && !unknown && i < atomic_load(&n_places); i++)
		if (atomic_load(&places[i].context) == known[0])
			only = &places[i];
	atomic_store_explicit(&place_only, only, memory_order_release);
}

/* The lock is held. */
static void context_know(void *context)
{
	size_t i = 0;

	while (i < n_known && known[i] != context)
		i++;
	if (i == PLACES_MAX)
		unknown = true;
	else if (i == n_known)
		known[n_known++] = context;
	places_count();
}

/* The lock is held. */
static void context_forget(const void *context)
{
	for (size_t i = 0; i < n_known; i++)
		if (known[i] == context)
			known[i] = known[--n_known];
	places_count();
}

/* @context is current. The lock is held. */
static struct place *place_add(void *context)
{
	size_t i = 0, n = atomic_load(&n_places);
	struct gate *g;
	int device;

	while (i < n && atomic_load(&places[i].context))
		i++;
	if (i == PLACES_MAX || !places_load() || places_driver.context_device(&device))
		return NULL;
	g = places_gate(device, context);
	if (!g) {
		atomic_store(&off, true);
		return NULL;
	}
	places[i].gate = g;
	places[i].device = device;
	atomic_store(&places[i].context, context);
	if (i == n)
		atomic_store(&n_places, n + 1);
	context_know(context);
	return &places[i];
}

static struct place *place_of(const void *context)
{
	size_t n = atomic_load_explicit(&n_places, memory_order_acquire);

	for (size_t i = 0; i < n; i++)
		if (atomic_load_explicit(&places[i].context, memory_order_acquire) == context)
			return &places[i];
	return NULL;
}

/* A context that is in no list yet, such as the first one. */
static struct place *place_start(void *context)
{
	struct place *p = NULL;
	void *current, *old;

	pthread_mutex_lock(&lock);
	p = place_of(context);
	if (!p && places_load() && !places_driver.context_current(&current)) {
		bool other = current != context;

		if (!other || !places_driver.context_push(context)) {
			p = place_add(context);
			if (other)
				places_driver.context_pop(&old);
		}
	}
	pthread_mutex_unlock(&lock);
	return p;
}

struct place *place_find(void *stream)
{
	void *context = NULL;
	struct place *p;

	if (atomic_load_explicit(&off, memory_order_relaxed))
		return NULL;
	if (!atomic_load_explicit(&n_places, memory_order_acquire)) {
		pthread_mutex_lock(&lock);
		bool there = places_load();
		pthread_mutex_unlock(&lock);
		if (!there)
			return NULL;
	}
	if ((uintptr_t)stream > 2 && places_driver.stream_context)
		places_driver.stream_context(stream, &context);
	if (!context && (places_driver.context_current(&context) || !context))
		return NULL;
	p = place_of(context);
	return p ? p : place_start(context);
}

void place_check(const struct place *p)
{
	void *context = NULL;

	if (atomic_load(&place_only) == p && !places_driver.context_current(&context) && context &&
	    context != atomic_load(&p->context))
		places_note(context);
}

void places_note(void *context)
{
	if (!context)
		return;
	pthread_mutex_lock(&lock);
	context_know(context);
	pthread_mutex_unlock(&lock);
}

struct place *places_forget(void *context)
{
	struct place *p;

	pthread_mutex_lock(&lock);
	p = context ? place_of(context) : NULL;
	if (p)
		atomic_store(&p->context, NULL);
	if (context)
		context_forget(context);
	pthread_mutex_unlock(&lock);
	return p;
}

void *places_primary(int device)
{
	void *context = NULL;

	pthread_mutex_lock(&lock);
	if (device >= 0 && device < DEVICES_MAX)
		context = primaries[device];
	pthread_mutex_unlock(&lock);
	return context;
}

void places_note_primary(int device, void *context)
{
	pthread_mutex_lock(&lock);
	if (device >= 0 && device < DEVICES_MAX)
		primaries[device] = context;
	pthread_mutex_unlock(&lock);
}

void places_forget_stream(void *stream)
{
	for (int i = 0; i < DEVICES_MAX; i++)
		if (linked[i])
			gate_forget_stream(&links[i].gate, stream);
}

void places_capture_begins(void *stream)
{
	/* What is captured is no launch: the driver is queried for that. */
	if (launches_count) {
		pthread_mutex_lock(&lock);
		places_load();
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < DEVICES_MAX; i++)
		if (linked[i])
			gate_capture_begins(&links[i].gate, stream);
}

/* The driver works in no child of a fork; what the child does next starts from nothing. */
static void places_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	for (int i = 0; i < DEVICES_MAX; i++) {
		if (linked[i])
			link_after_fork(&links[i]);
		linked[i] = false;
		primaries[i] = NULL;
	}
	for (size_t i = 0; i < PLACES_MAX; i++)
		atomic_store(&places[i].context, NULL);
	atomic_store(&n_places, 0);
	atomic_store(&place_only, NULL);
	n_known = 0;
	unknown = false;
	captures_after_fork();
}

__attribute__((constructor)) static void places_begin(void)
{
	settings_wrong = settings_read(&settings);
	/* Who only counts launches is no tenant. */
	if (launches_open() && !settings.given)
		atomic_store(&off, true);
	pthread_atfork(NULL, NULL, places_after_fork);
}
