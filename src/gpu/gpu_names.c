/*
 * gpu_names.c - find the GPU type of the catalogue by the driver's name of a GPU.
 *
 * Names differ between drivers ("Tesla T4", "NVIDIA T4"), so words are searched. Where one name stands for several types, the
 * memory decides.
 */
#include <string.h>

#include "heshare/device.h"

#define GIB (1024.0 * 1024 * 1024)
#define MAX_WORDS 3

static const struct {
	const char *words[MAX_WORDS];  /* all of them, as whole words */
	double      min_gib, max_gib;  /* 0: any */
	const char *type;
} names[] = {
	{ { "T4" }, 0, 0, "T4" },
	{ { "V100", "PCIE" }, 0, 20, "V100-PCIe" },
	{ { "V100", "SXM2" }, 20, 0, "V100-SXM2-32" },
	{ { "A100", "PCIE" }, 0, 48, "A100-PCIe-40" },
	{ { "A100", "SXM4" }, 48, 0, "A100-SXM-80" },
	{ { "A100", "SXM" }, 48, 0, "A100-SXM-80" },
	{ { "H100", "HBM3" }, 0, 0, "H100-SXM" },
	{ { "H200" }, 0, 0, "H200" },
	{ { "L4" }, 0, 0, "L4" },
	{ { "A10G" }, 0, 0, "A10G" },
};

static bool has_word(const char *name, const char *word)
{
	static const char between[] = " -_";
	size_t n = strlen(word);

	for (const char *at = strstr(name, word); at; at = strstr(at + 1, word))
		if ((at == name || strchr(between, at[-1])) && (!at[n] || strchr(between, at[n])))
			return true;
	return false;
}

const char *hes_device_type(const char *name, uint64_t memory_bytes)
{
	double gib = (double)memory_bytes / GIB;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bool all = gib >= names[i].min_gib && (names[i].max_gib == 0 || gib < names[i].max_gib);

		for (size_t k = 0; k < MAX_WORDS && names[i].words[k]; k++)
			all = all && has_word(name, names[i].words[k]);
		if (all)
			return names[i].type;
	}
	return "";
}
