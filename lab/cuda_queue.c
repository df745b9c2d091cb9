/*
 * cuda_queue.c - the operations of a context in order; see cuda_queue.h.
 *
 * cuda_streams.c finds the stream, cuda_capture.c records operations instead, cuda_kernels.c
 * computes. Lock order: submit, then a GPU's lock or the queue's lock, never both.
 */
#include "cuda_queue.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_kernels.h"
#include "cuda_stand_in.h"
#include "cuda_streams.h"

#define LET_WAIT 256 /* operations that may wait before a submitting thread executes some */

struct cuda_pending {
	struct cuda_pending *next;
	struct cuda_op op;
	struct cuda_position at; /* the launches before it; its own number */
};

static struct cuda_position later(struct cuda_position a, struct cuda_position b)
{
	return (struct cuda_position){ a.launch > b.launch ? a.launch : b.launch,
				       a.op > b.op ? a.op : b.op };
}

/* memmove, because a wrong program may copy between overlapping ranges. */
static void op_execute(struct cuda_context *c, const struct cuda_op *op)
{
	switch (op->effect) {
	case CUDA_NO_EFFECT:
		break;
	case CUDA_COPY:
		memmove((void *)op->to, op->staged ? op->staged : (const void *)op->from,
			op->bytes);
		break;
	case CUDA_SET:
		if (op->width == 1)
			memset((void *)op->to, (int)op->value, op->bytes);
		else
			for (size_t i = 0; i < op->bytes; i += op->width)
				memcpy((char *)op->to + i, &op->value, op->width);
		break;
	case CUDA_HOST:
		op->function(op->data);
		break;
	case CUDA_COMPUTE:
		if (cuda_kernel_run(op->kernel, op->args)) {
			vgpu_lock(vgpu_here(), c->gpu);
			lab_gpu_fail(c->gpu, c->client->server, c->client->pid,
				     CUDA_ILLEGAL_ADDRESS);
			vgpu_unlock(c->gpu);
		}
		break;
	}
}

/* The queue is locked. */
static void queue_pop(struct cuda_queue *q)
{
	struct cuda_pending *p = q->first;

	q->first = p->next;
	if (!q->first)
		q->last = &q->first;
	q->waiting--;
	q->hosts -= p->op.effect == CUDA_HOST;
	q->executed = p->at.op;
	free(p->op.staged);
	free(p);
}

/* Drop the operations of a failed context; the queue is locked. */
static void queue_drop(struct cuda_queue *q)
{
	while (q->running)
		pthread_cond_wait(&q->changed, &q->lock);
	while (q->first)
		queue_pop(q);
	pthread_cond_broadcast(&q->changed);
}

static void queue_execute_first(struct cuda_context *c, struct cuda_queue *q)
{
	struct cuda_pending *p = q->first;

	q->running = true;
	pthread_mutex_unlock(&q->lock);
	op_execute(c, &p->op);
	pthread_mutex_lock(&q->lock);
	q->running = false;
	queue_pop(q);
	pthread_cond_broadcast(&q->changed);
}

/* Execute operations up to @upto whose launches have ended. @return whether all were executed; the
 * queue is locked */
static bool queue_catch_up(struct cuda_context *c, uint64_t upto, bool host)
{
	struct cuda_queue *q = c->queue;
	uint64_t ended = __atomic_load_n(&c->client->completed, __ATOMIC_ACQUIRE);

	while (q->executed < upto && q->first && !q->running && q->first->at.launch <= ended &&
	       (host || q->first->op.effect != CUDA_HOST))
		queue_execute_first(c, q);
	return q->executed >= upto;
}

int cuda_reached(struct cuda_context *c, struct cuda_position at)
{
	int error;
	bool done;

	vgpu_lock(vgpu_here(), c->gpu);
	error = c->client->error;
	done = c->client->completed >= at.launch;
	vgpu_unlock(c->gpu);
	if (error)
		return error;
	pthread_mutex_lock(&c->queue->lock);
	done &= queue_catch_up(c, at.op, false);
	pthread_mutex_unlock(&c->queue->lock);
	return done ? 0 : CUDA_NOT_READY;
}

static int queue_await(struct cuda_context *c, struct cuda_position at, bool host)
{
	struct cuda_queue *q = c->queue;
	int rc = cuda_wait(c, at.launch);

	pthread_mutex_lock(&q->lock);
	while (!rc && !queue_catch_up(c, at.op, host)) {
		uint64_t launch = q->running || !q->first ? 0 : q->first->at.launch;

		if (launch <= __atomic_load_n(&c->client->completed, __ATOMIC_ACQUIRE)) {
			if (q->running || (q->first && !host && q->first->op.effect == CUDA_HOST))
				pthread_cond_wait(&q->changed, &q->lock);
			if (q->closed)
				rc = CUDA_INVALID_CONTEXT;
			continue;
		}
		pthread_mutex_unlock(&q->lock);
		rc = cuda_wait(c, launch);
		pthread_mutex_lock(&q->lock);
	}
	if (rc)
		queue_drop(q);
	pthread_mutex_unlock(&q->lock);
	return rc ? rc : __atomic_load_n(&c->client->error, __ATOMIC_RELAXED);
}

int cuda_await(struct cuda_context *c, struct cuda_position at)
{
	return queue_await(c, at, false);
}

/* A thread that calls host functions in their turn. */
static void *queue_serve(void *data)
{
	struct cuda_context *c = data;
	struct cuda_queue *q = c->queue;

	pthread_mutex_lock(&q->lock);
	while (!q->closed) {
		const struct cuda_pending *p = q->first;
		struct cuda_position at;

		while (p && p->op.effect != CUDA_HOST)
			p = p->next;
		if (!p) {
			pthread_cond_wait(&q->changed, &q->lock);
			continue;
		}
		at = p->at;
		pthread_mutex_unlock(&q->lock);
		queue_await(c, at, true);
		pthread_mutex_lock(&q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* The worker takes no signals of the program. @return 0; CUresult; the queue is locked */
static int queue_start_worker(struct cuda_context *c)
{
	struct cuda_queue *q = c->queue;
	sigset_t all, before;

	if (q->has_worker)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	q->has_worker = !pthread_create(&q->worker, NULL, queue_serve, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return q->has_worker ? 0 : VGPU_CUDA_OUT_OF_MEMORY;
}

/* Launch on the GPU; wait if its queue is full, as a driver does. @return CUresult; *@number of the
 * launch */
static int queue_launch(struct cuda_context *c, const struct vgpu_launch *l, uint64_t *number)
{
	for (;;) {
		uint64_t first;
		bool done;
		int rc;

		vgpu_lock(vgpu_here(), c->gpu);
		rc = c->client->error;
		done = !rc && lab_gpu_launch(c->gpu, c->client, l);
		*number = c->client->launched;
		first = c->client->completed + 1;
		vgpu_unlock(c->gpu);
		if (rc || done)
			return rc;
		rc = cuda_wait(c, first);
		if (rc)
			return rc;
	}
}

static int queue_append(struct cuda_context *c, const struct cuda_op *op, struct cuda_position *at)
{
	struct cuda_pending *p = malloc(sizeof(*p));
	struct cuda_queue *q = c->queue;
	int rc = 0;

	if (!p)
		return VGPU_CUDA_OUT_OF_MEMORY;
	*p = (struct cuda_pending){ .op = *op, .at.launch = at->launch };
	pthread_mutex_lock(&q->lock);
	if (op->effect == CUDA_HOST)
		rc = queue_start_worker(c);
	if (rc) {
		pthread_mutex_unlock(&q->lock);
		free(p);
		return rc;
	}
	p->at.op = at->op = ++q->submitted;
	*q->last = p;
	q->last = &p->next;
	q->waiting++;
	q->hosts += op->effect == CUDA_HOST;
	if (op->effect == CUDA_HOST)
		pthread_cond_broadcast(&q->changed);
	if (q->waiting > LET_WAIT)
		queue_catch_up(c, q->submitted, false);
	pthread_mutex_unlock(&q->lock);
	return 0;
}

/* The position that a stream's next operation must wait for; the queue is locked. */
static struct cuda_position stream_end(const struct cuda_stream *s)
{
	const struct cuda_queue *q = s->context->queue;

	if (s->legacy)
		return later(s->end, later(q->blocking, q->legacy));
	return s->blocking ? later(s->end, q->legacy) : s->end;
}

static void stream_set_end(struct cuda_stream *s, struct cuda_position at)
{
	struct cuda_queue *q = s->context->queue;

	s->end = later(s->end, at);
	if (s->legacy)
		q->legacy = later(q->legacy, at);
	else if (s->blocking)
		q->blocking = later(q->blocking, at);
}

struct cuda_position cuda_stream_end(struct cuda_stream *s)
{
	struct cuda_position at;

	pthread_mutex_lock(&s->context->queue->lock);
	at = stream_end(s);
	pthread_mutex_unlock(&s->context->queue->lock);
	return at;
}

void cuda_stream_after(struct cuda_stream *s, struct cuda_position at)
{
	pthread_mutex_lock(&s->context->queue->lock);
	stream_set_end(s, at);
	pthread_mutex_unlock(&s->context->queue->lock);
}

static int queue_submit(struct cuda_stream *s, const struct cuda_op *op)
{
	struct cuda_position at = cuda_stream_end(s);
	int rc = 0;

	if (op->launch.left > 0)
		rc = queue_launch(s->context, &op->launch, &at.launch);
	if (!rc && op->effect)
		rc = queue_append(s->context, op, &at);
	if (!rc)
		cuda_stream_after(s, at);
	return rc;
}

int cuda_submit(struct cuda_stream *s, const struct cuda_op *ops, size_t n)
{
	int rc = __atomic_load_n(&s->context->client->error, __ATOMIC_RELAXED);

	if (rc)
		return rc;
	pthread_mutex_lock(&s->context->queue->submit);
	for (size_t i = 0; !rc && i < n; i++)
		if (ops[i].launch.left > 0 || ops[i].effect)
			rc = queue_submit(s, &ops[i]);
	pthread_mutex_unlock(&s->context->queue->submit);
	return rc;
}

struct cuda_position cuda_context_end(struct cuda_context *c)
{
	struct cuda_position at;

	vgpu_lock(vgpu_here(), c->gpu);
	at.launch = c->client->launched;
	vgpu_unlock(c->gpu);
	pthread_mutex_lock(&c->queue->lock);
	at.op = c->queue->submitted;
	pthread_mutex_unlock(&c->queue->lock);
	return at;
}

void cuda_queue_open(struct cuda_context *c)
{
	struct cuda_queue *q = c->queue;

	pthread_mutex_init(&q->submit, NULL);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->changed, NULL);
	q->last = &q->first;
}

void cuda_queue_close(struct cuda_context *c, bool at_exit)
{
	struct cuda_queue *q = c->queue;
	bool join;

	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_broadcast(&q->changed);
	join = q->has_worker && !at_exit;
	pthread_mutex_unlock(&q->lock);
	if (join && !pthread_equal(q->worker, pthread_self()))
		pthread_join(q->worker, NULL);
	if (at_exit)
		return;
	pthread_mutex_lock(&q->lock);
	queue_drop(q);
	pthread_mutex_unlock(&q->lock);
}
