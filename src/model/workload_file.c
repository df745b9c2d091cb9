/*
 * workload_file.c - write workloads as YAML; see workload_file.h. params.c reads them.
 */
#include "model/workload_file.h"

#include "model/params.h"

static void write_factors(const char *name, const struct hes_factors *v, FILE *f)
{
	if (v->high > 0)
		fprintf(f, "    %s: { low: %.4g, high: %.4g }\n", name, v->low, v->high);
}

/* A text may hold anything but control characters. */
static void write_text(const char *field, const char *text, FILE *f)
{
	fprintf(f, "%s: '", field);
	for (; *text; text++)
		fputs(*text == '\'' ? "''" : (char[]){ *text, '\0' }, f);
	fputs("'\n", f);
}

void hes_workloads_write_head(FILE *f)
{
	fputs("# Workloads for the GPU model, added by heshare model --add-workload; "
	      "docs/formats/workloads.md says what each field is.\n"
	      "workloads:\n",
	      f);
}

void hes_workload_write(const struct hes_workload *own, FILE *f)
{
	static const char *const maths[HES_MATHS] = {
		[HES_MATH_FP32] = "fp32", [HES_MATH_TF32] = "tf32", [HES_MATH_FP16] = "fp16"
	};
	struct hes_workload w = *own;

	write_text("  - name", w.name, f);
	write_text("    framework", w.framework, f);
	write_text("    origin", w.origin, f);
	fprintf(f, "%s    load: %s\n    math: %s\n", w.testbed ? "    testbed: true\n" : "",
		hes_load_class_name(w.load), maths[w.math]);
	for (size_t i = 0; i < hes_workload_param_count; i++)
		fprintf(f, "    %s: %.5g\n", hes_workload_params[i].name,
			*hes_param_in(&hes_workload_params[i], &w));
	if (w.style)
		fprintf(f, "    style: %s\n", hes_style_name(w.style));
	if (w.start_s > 0)
		fprintf(f, "    start_s: %.5g\n", w.start_s);
	write_factors("time_factors", &w.time_factors, f);
	write_factors("power_factors", &w.power_factors, f);
}
