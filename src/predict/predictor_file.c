/*
 * predictor_file.c - predictors as files; see heshare/predict.h.
 *
 * "heshare predictor 8" and one body (model_io.h): provenance, the baseline's constants, the
 * weights of the trees, the training range, the intervals, the trees.
 */
#include <errno.h>
#include <stdlib.h>

#include "predict/predictor.h"

#define NOUN        "predictor"
#define VERSION     8 /* rises with any change of features[], too */
#define HUGE_NUMBER 1e100

static void names_io(struct model_io *io, char (**names)[HES_NAME_MAX], uint32_t *n)
{
	size_t many = *n;

	*names = model_io_array(io, *names, &many, sizeof(**names), 2);
	*n = (uint32_t)many;
	model_io_check(io, many > 0);
	for (size_t i = 0; i < many && !io->rc; i++) {
		model_io_text(io, (*names)[i], HES_NAME_MAX);
		model_io_check(io, (*names)[i][0]);
	}
}

static void errors_io(struct model_io *io, struct hes_accuracy *e)
{
	model_io_u64(io, &e->rows, 8);
	model_io_f64(io, &e->mae, 0, HUGE_NUMBER);
	model_io_f64(io, &e->r2, -HUGE_NUMBER, 1);
	model_io_f64(io, &e->abs_error_pct, -HUGE_NUMBER, HUGE_NUMBER);
	model_io_f64(io, &e->rel_error_pct, -HUGE_NUMBER, HUGE_NUMBER);
}

static void about_io(struct model_io *io, struct hes_predictor_info *a)
{
	model_io_part(io, "where it comes from");
	model_io_u64(io, &a->options.seed, 8);
	model_io_u32(io, &a->options.trees);
	model_io_u32(io, &a->rows);
	model_io_u32(io, &a->samples_crc);
	names_io(io, &a->types, &a->n_types);
	names_io(io, &a->workloads, &a->n_workloads);
	errors_io(io, &a->time);
	errors_io(io, &a->power);
}

static void predictor_io(struct model_io *io, struct hes_predictor *p)
{
	about_io(io, &p->about);
	constants_io(io, &p->constants);
	for (int o = 0; o < PREDICTOR_OUTPUTS; o++)
		model_io_f64(io, &p->weight[o], 0, 1);
	range_io(io, &p->range);
	interval_io(io, &p->interval);
	ensemble_io(io, &p->residual, PREDICTOR_OUTPUTS, FEATURE_COUNT);
}

/* The body of a file. @return free() its v */
static struct model_io predictor_body(const struct hes_predictor *p)
{
	struct hes_predictor own = *p;
	struct model_io io = { .path = "a predictor" };

	predictor_io(&io, &own);
	return io;
}

int hes_predictor_save(const char *path, const struct hes_predictor *p, struct hes_err *err)
{
	struct model_io io = predictor_body(p);
	int rc = model_save(path, NOUN, VERSION, &io, err);

	free(io.v);
	return rc;
}

int hes_predictor_pack(const struct hes_predictor *p, char **out, size_t *n, struct hes_err *err)
{
	struct model_io io = predictor_body(p);
	int rc = model_pack(NOUN, VERSION, &io, out, n, err);

	free(io.v);
	return rc;
}

int hes_predictor_checksum(const struct hes_predictor *p, uint32_t *out, struct hes_err *err)
{
	struct model_io io = predictor_body(p);
	int rc = io.rc ? model_io_fail(&io, err) : 0;

	if (!rc)
		*out = model_io_checksum(&io);
	free(io.v);
	return rc;
}

/* Takes io->v. */
static int read_predictor(struct model_io *io, struct hes_predictor **out, struct hes_err *err)
{
	struct hes_predictor *p = calloc(1, sizeof(*p));

	if (!p)
		io->rc = -ENOMEM;
	else
		predictor_io(io, p);
	model_io_check(io, io->at == io->n);
	free(io->v);
	if (io->rc) {
		hes_predictor_free(p);
		return model_io_fail(io, err);
	}
	p->about.options.coverage = p->interval.coverage;
	p->about.nodes = (uint32_t)p->residual.n_nodes;
	*out = p;
	return 0;
}

int hes_predictor_unpack(const char *name, const char *bytes, size_t n, struct hes_predictor **out,
			 struct hes_err *err)
{
	struct model_io io;
	int rc = model_unpack(name, bytes, n, NOUN, VERSION, &io, err);

	return rc ? rc : read_predictor(&io, out, err);
}

int hes_predictor_load(const char *path, struct hes_predictor **out, struct hes_err *err)
{
	struct model_io io;
	int rc = model_load(path, NOUN, VERSION, &io, err);

	return rc ? rc : read_predictor(&io, out, err);
}
