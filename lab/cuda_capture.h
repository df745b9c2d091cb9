/*
 * cuda_capture.h - stream capture and graphs: operations that are recorded and run later.
 */
#ifndef VGPU_CUDA_CAPTURE_H
#define VGPU_CUDA_CAPTURE_H

#include "cuda_streams.h"

/** Submit operations to a stream; a capturing stream records them. @return CUresult */
int cuda_enqueue(struct cuda_stream *s, const struct cuda_op *ops, size_t n);

/** Before a call that waits for a stream or queries it. @return 0; CUresult, and the capture is
 * invalid */
int cuda_capture_allows_wait(struct cuda_stream *s);
/** Before a call that waits for a whole context. @return the same */
int cuda_capture_allows_context_wait(struct cuda_context *c);
/** Before a call that is unsafe while another thread captures. @return the same */
int cuda_capture_allows_unsafe(void);
/** Before a call that queries an event. @return the same */
int cuda_capture_allows_event(const struct cuda_event *e);

/** Record an event in a capturing stream. @return whether the stream captures; *@rc the CUresult
 * then */
bool cuda_capture_record(struct cuda_stream *s, struct cuda_event *e, int *rc);
/**
 * Let a stream wait for an event if one of them belongs to a capture.
 * @return whether one does; *@rc the CUresult then
 */
bool cuda_capture_wait(struct cuda_stream *s, const struct cuda_event *e, int *rc);
/** A stream is about to be destroyed. */
void cuda_capture_forget(struct cuda_stream *s);

#endif
