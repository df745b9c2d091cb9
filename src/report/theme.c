/*
 * theme.c - the table of colours; see theme.h. Adjacent colours are distinct for readers with
 * impaired colour vision; ROLE_INK is legible on all of them.
 */
#include "report/theme.h"

static const struct {
	const char *name, *light, *dark;
} colors[ROLES] = {
	[ROLE_INK] = { "ink", "#1b2530", "#e9eef3" },
	[ROLE_MUTED] = { "muted", "#5a6673", "#9aa8b6" },
	[ROLE_GRID] = { "grid", "#e2e7ec", "#2b343e" },
	[ROLE_TRACK] = { "track", "#f1f4f7", "#1f262e" },
	[ROLE_SURFACE] = { "surface", "#ffffff", "#171c22" },
	[ROLE_PAGE] = { "page", "#f4f6f8", "#0e1216" },
	[ROLE_ACCENT] = { "accent", "#b3125f", "#f0609f" },
	[ROLE_ACCENT_SOFT] = { "accent-soft", "#f0b9d3", "#6b2548" },
	[ROLE_OTHER] = { "other", "#66727f", "#94a1ae" },
	[ROLE_OTHER_SOFT] = { "other-soft", "#d3dae1", "#3c4854" },
	[ROLE_FRONT] = { "front", "#8d99a6", "#6d7a87" },
	[ROLE_IDLE] = { "idle", "#c9d1d9", "#46525e" },
	[ROLE_GOOD] = { "good", "#0a7a4b", "#4ccb92" },
	[ROLE_BAD] = { "bad", "#a94a00", "#f0a35e" },
	[ROLE_TYPE_0] = { "type0", "#5b9bd8", "#3f7fc0" },
	[ROLE_TYPE_0 + 1] = { "type1", "#e8954a", "#b4661e" },
	[ROLE_TYPE_0 + 2] = { "type2", "#4fb38c", "#2b8461" },
	[ROLE_TYPE_0 + 3] = { "type3", "#a98fdb", "#7a5fb6" },
	[ROLE_TYPE_0 + 4] = { "type4", "#d6b53c", "#8f7516" },
	[ROLE_TYPE_0 + 5] = { "type5", "#e58699", "#b04f66" },
	[ROLE_TYPE_0 + 6] = { "type6", "#4db6c4", "#23808d" },
	[ROLE_TYPE_LAST] = { "type7", "#b0a391", "#786d5e" },
};

const char *theme_hex(enum role r)
{
	return colors[r].light;
}

void theme_svg_css(FILE *f)
{
	static const char *const properties[] = { "fill", "stroke", "color" };

	fputs("@media (prefers-color-scheme:dark){\n", f);
	for (size_t i = 0; i < ROLES; i++) {
		for (size_t p = 0; p < sizeof(properties) / sizeof(properties[0]); p++)
			fprintf(f, "svg [%s=\"%s\"]{%s:%s}", properties[p], colors[i].light,
				properties[p], colors[i].dark);
		fputc('\n', f);
	}
	fputs("}\n", f);
}

void theme_page_css(FILE *f)
{
	fputs(":root{color-scheme:light dark;", f);
	for (size_t i = 0; i < ROLES; i++)
		fprintf(f, "--%s:%s;", colors[i].name, colors[i].light);
	fputs("}\n@media (prefers-color-scheme:dark){:root{", f);
	for (size_t i = 0; i < ROLES; i++)
		fprintf(f, "--%s:%s;", colors[i].name, colors[i].dark);
	fputs("}}\n", f);
}
