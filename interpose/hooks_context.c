/*
 * hooks_context.c - contexts that come and go.
 *
 * A context takes the events of its gate with it, so the gate forgets them before the driver
 * destroys it.
 */
#include "places.h"
#include "symbols.h"

static int context_created(int rc, void *const *out)
{
	if (!rc && out)
		places_note(*out);
	return rc;
}

int cuCtxCreate(void **out, unsigned flags, int device)
{
	int (*real)(void **, unsigned, int) = call_real(CALL_cuCtxCreate);

	return real ? context_created(real(out, flags, device), out) : CALL_NOT_FOUND;
}

int cuCtxCreate_v2(void **out, unsigned flags, int device)
{
	int (*real)(void **, unsigned, int) = call_real(CALL_cuCtxCreate_v2);

	return real ? context_created(real(out, flags, device), out) : CALL_NOT_FOUND;
}

int cuCtxCreate_v3(void **out, void *affinity, int n, unsigned flags, int device)
{
	int (*real)(void **, void *, int, unsigned, int) = call_real(CALL_cuCtxCreate_v3);

	return real ? context_created(real(out, affinity, n, flags, device), out) : CALL_NOT_FOUND;
}

int cuCtxCreate_v4(void **out, void *parameters, unsigned flags, int device)
{
	int (*real)(void **, void *, unsigned, int) = call_real(CALL_cuCtxCreate_v4);

	return real ? context_created(real(out, parameters, flags, device), out) : CALL_NOT_FOUND;
}

int cuDevicePrimaryCtxRetain(void **out, int device)
{
	int (*real)(void **, int) = call_real(CALL_cuDevicePrimaryCtxRetain);
	int rc = real ? context_created(real(out, device), out) : CALL_NOT_FOUND;

	if (!rc && out)
		places_note_primary(device, *out);
	return rc;
}

/*
 * All work of a context is done before its gate forgets it: nothing could follow that work any
 * more. The release of the lease waits for the call.
 * @return the gate, for context_gone(); NULL: nobody has launched in the context
 */
static struct gate *context_going(void *context)
{
	struct place *p = places_forget(context);
	void *old;

	if (!p)
		return NULL;
	gate_enter_freely(p->gate);
	gate_thread.inside++;
	if (!captures_any() && !places_driver.context_push(context)) {
		places_driver.context_synchronize();
		places_driver.context_pop(&old);
	}
	gate_forget_context(p->gate, context);
	return p->gate;
}

static int context_gone(struct gate *g, int rc)
{
	if (g) {
		gate_thread.inside--;
		gate_leave_freely(g);
	}
	return rc;
}

static int context_destroy(int (*real)(void *), void *context)
{
	struct gate *g = real ? context_going(context) : NULL;

	return real ? context_gone(g, real(context)) : CALL_NOT_FOUND;
}

int cuCtxDestroy(void *context)
{
	return context_destroy(call_real(CALL_cuCtxDestroy), context);
}

int cuCtxDestroy_v2(void *context)
{
	return context_destroy(call_real(CALL_cuCtxDestroy_v2), context);
}

/* Whether it is the last release is not known before; a context that stays is found again by its
 * next launch. */
static int primary_leave(int (*real)(int), int device)
{
	int (*state)(int, unsigned *, int *) =
		(int (*)(int, unsigned *, int *))driver_symbol("cuDevicePrimaryCtxGetState");
	void *context = places_primary(device);
	struct gate *g;
	unsigned flags;
	int rc, active = 0;

	if (!real)
		return CALL_NOT_FOUND;
	g = context_going(context);
	rc = real(device);
	if (!state || state(device, &flags, &active) || active)
		places_note(context);
	return context_gone(g, rc);
}

int cuDevicePrimaryCtxRelease(int device)
{
	return primary_leave(call_real(CALL_cuDevicePrimaryCtxRelease), device);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	return primary_leave(call_real(CALL_cuDevicePrimaryCtxRelease_v2), device);
}

int cuDevicePrimaryCtxReset(int device)
{
	return primary_leave(call_real(CALL_cuDevicePrimaryCtxReset), device);
}

int cuDevicePrimaryCtxReset_v2(int device)
{
	return primary_leave(call_real(CALL_cuDevicePrimaryCtxReset_v2), device);
}
