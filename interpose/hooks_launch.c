/*
 * hooks_launch.c - launches, copies and sets of memory wait at the gate.
 */
#include "places.h"
#include "symbols.h"

/* Names of types cannot be in parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
#define CALL_GATED(symbol, base, since, per_thread, params, args, on_stream) \
	int symbol params                                                    \
	{                                                                    \
		int(*real) params = call_real(CALL_##symbol);                \
		struct pass pass;                                            \
		int rc;                                                      \
                                                                             \
		if (!real)                                                   \
			return CALL_NOT_FOUND;                               \
		pass = pass_begin(on_stream);                                \
		rc = real args;                                              \
		pass_end(&pass);                                             \
		return rc;                                                   \
	}
LAUNCH_CALLS(CALL_GATED)
COPY_CALLS(CALL_GATED)
/* NOLINTEND(bugprone-macro-parentheses) */
