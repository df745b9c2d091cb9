/*
 * calibrate_write.c - write physics parameters as YAML; see calibrate_write.h.
 */
#include "calibrate_write.h"

#include "model/params.h"

static void print_params(FILE *f, void *object, const struct hes_param *table, size_t n,
			 const char *indent, bool zeros)
{
	for (size_t i = 0; i < n; i++) {
		double v = *hes_param_in(&table[i], object);

		if (v != 0 || zeros)
			fprintf(f, "%s%s: %.10g\n", indent, table[i].name, v);
	}
}

void calibrate_write(const struct hes_model *m, FILE *f)
{
	static const char *const math_names[] = {
		[HES_MATH_FP32] = "fp32", [HES_MATH_TF32] = "tf32", [HES_MATH_FP16] = "fp16"
	};

	struct hes_nature nature = m->nature;
	struct hes_eager eager = m->eager;

	fputs("# Physics parameters of workloads and GPU types; docs/gpu-model.md says what each "
	      "means.\n"
	      "# Written by heshare-calibrate. \"origin\" names the data set that an entry was "
	      "fitted on;\n"
	      "# \"derived\" ones were scaled from a sibling by published figures.\n"
	      "nature:\n",
	      f);
	print_params(f, &nature, hes_nature_params, hes_nature_param_count, "  ", true);
	if (m->eager.host_us > 0) {
		fprintf(f, "eager:\n  origin: %s\n", m->eager.origin);
		print_params(f, &eager, hes_eager_params, hes_eager_param_count, "  ", true);
	}
	fputs("gpus:\n", f);
	for (size_t i = 0; i < m->n_gpus; i++) {
		fprintf(f, "  - type: %s\n    origin: %s\n", m->gpus[i].type, m->gpus[i].origin);
		print_params(f, &m->gpus[i], hes_gpu_params, hes_gpu_param_count, "    ", true);
	}
	fputs("workloads:\n", f);
	for (size_t i = 0; i < m->n_workloads; i++) {
		struct hes_workload *w = &m->workloads[i];

		fprintf(f, "  - name: %s\n    framework: \"%s\"\n    origin: %s\n", w->name,
			w->framework, w->origin);
		if (w->testbed)
			fprintf(f, "    testbed: true\n    load: %s\n",
				hes_load_class_name(w->load));
		fprintf(f, "    math: %s\n", math_names[w->math]);
		if (w->style)
			fprintf(f, "    style: %s\n", hes_style_name(w->style));
		print_params(f, w, hes_workload_params, hes_workload_param_count, "    ", false);
	}
	if (m->n_held_out)
		fputs("held_out:\n", f);
	for (size_t i = 0; i < m->n_held_out; i++) {
		fprintf(f, "  - workload: %s\n    nature:\n", m->held_out[i].workload);
		print_params(f, &m->held_out[i].nature, hes_nature_params, hes_nature_param_count,
			     "      ", true);
	}
}
