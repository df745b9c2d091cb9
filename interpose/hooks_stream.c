/*
 * hooks_stream.c - streams that end, and streams that capture.
 */
#include "captures.h"
#include "places.h"
#include "symbols.h"

static int stream_destroy(int (*real)(void *), void *stream)
{
	if (!real)
		return CALL_NOT_FOUND;
	places_forget_stream(stream);
	captures_end(stream);
	return real(stream);
}

int cuStreamDestroy(void *stream)
{
	return stream_destroy(call_real(CALL_cuStreamDestroy), stream);
}

int cuStreamDestroy_v2(void *stream)
{
	return stream_destroy(call_real(CALL_cuStreamDestroy_v2), stream);
}

/* NOLINTBEGIN(bugprone-macro-parentheses) */
/* A capture is counted before it begins: from its first moment on no call of the library's thread
 * may disturb it. */
#define CAPTURE_BEGINS(symbol, params, args, on_stream)           \
	int symbol params                                         \
	{                                                         \
		int(*real) params = call_real(CALL_##symbol), rc; \
                                                                  \
		if (!real)                                        \
			return CALL_NOT_FOUND;                    \
		captures_begin(on_stream);                        \
		places_capture_begins(on_stream);                 \
		rc = real args;                                   \
		if (rc)                                           \
			captures_end(on_stream);                  \
		return rc;                                        \
	}
CAPTURE_BEGINS(cuStreamBeginCapture, (void *stream), (stream), stream)
CAPTURE_BEGINS(cuStreamBeginCapture_ptsz, (void *stream), (stream), PER_THREAD(stream))
CAPTURE_BEGINS(cuStreamBeginCapture_v2, (void *stream, int mode), (stream, mode), stream)
CAPTURE_BEGINS(cuStreamBeginCapture_v2_ptsz, (void *stream, int mode), (stream, mode),
	       PER_THREAD(stream))
#define TO_GRAPH \
	(void *stream, void *graph, const void *nodes, const void *edges, size_t n, int mode)
CAPTURE_BEGINS(cuStreamBeginCaptureToGraph, TO_GRAPH, (stream, graph, nodes, edges, n, mode),
	       stream)
CAPTURE_BEGINS(cuStreamBeginCaptureToGraph_ptsz, TO_GRAPH, (stream, graph, nodes, edges, n, mode),
	       PER_THREAD(stream))

/* NOLINTEND(bugprone-macro-parentheses) */

/* Some errors end a capture and some do not: query the driver. */
static int capture_end(int (*real)(void *, void **), void *stream, void *key, void **graph)
{
	int rc, status = 0;
	int (*is_capturing)(void *, int *) =
		(int (*)(void *, int *))driver_symbol("cuStreamIsCapturing");

	if (!real)
		return CALL_NOT_FOUND;
	rc = real(stream, graph);
	if (!rc || !is_capturing || (!is_capturing(key, &status) && !status))
		captures_end(key);
	return rc;
}

int cuStreamEndCapture(void *stream, void **graph)
{
	return capture_end(call_real(CALL_cuStreamEndCapture), stream, stream, graph);
}

int cuStreamEndCapture_ptsz(void *stream, void **graph)
{
	return capture_end(call_real(CALL_cuStreamEndCapture_ptsz), stream, PER_THREAD(stream),
			   graph);
}
