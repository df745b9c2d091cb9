/*
 * hooks_launch.c - launches, copies and sets of memory wait at the gate; launches are counted.
 */
#include "launches.h"
#include "places.h"
#include "symbols.h"

/* Names of types cannot be in parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
#define CALL_GATED(symbol, params, args, on_stream, counted)  \
	int symbol params                                     \
	{                                                     \
		int(*real) params = call_real(CALL_##symbol); \
		struct pass pass;                             \
		int rc;                                       \
                                                              \
		if (!real)                                    \
			return CALL_NOT_FOUND;                \
		pass = pass_begin(on_stream);                 \
		rc = real args;                               \
		if ((counted) && pass.works && !rc)           \
			launches_add();                       \
		pass_end(&pass);                              \
		return rc;                                    \
	}
#define CALL_LAUNCH(symbol, base, since, per_thread, params, args, on_stream) \
	CALL_GATED(symbol, params, args, on_stream, true)
#define CALL_COPY(symbol, base, since, per_thread, params, args, on_stream) \
	CALL_GATED(symbol, params, args, on_stream, false)
LAUNCH_CALLS(CALL_LAUNCH)
COPY_CALLS(CALL_COPY)
/* NOLINTEND(bugprone-macro-parentheses) */
