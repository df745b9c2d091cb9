/*
 * theme.h - the colours of a report, light and dark.
 *
 * Figures use roles, drawn in light colours; a style sheet makes them dark if the reader's system
 * asks for it. A hue is a GPU type, the accent colour is the chosen plan.
 */
#ifndef HES_REPORT_THEME_H
#define HES_REPORT_THEME_H

#include <stddef.h>
#include <stdio.h>

enum role {
	ROLE_INK,   /* text and lines that matter */
	ROLE_MUTED, /* axis text, notes */
	ROLE_GRID,
	ROLE_TRACK,   /* the empty row of a GPU */
	ROLE_SURFACE, /* behind figures */
	ROLE_PAGE,    /* behind everything; pages only */
	ROLE_ACCENT,  /* the chosen plan */
	ROLE_ACCENT_SOFT,
	ROLE_OTHER, /* policies not chosen */
	ROLE_OTHER_SOFT,
	ROLE_FRONT,  /* the predicted front */
	ROLE_IDLE,   /* energy of idle GPUs */
	ROLE_GOOD,   /* best of a column; pages only */
	ROLE_BAD,    /* pages only */
	ROLE_TYPE_0, /* GPU types by first appearance in the fleet */
	ROLE_TYPE_LAST = ROLE_TYPE_0 + 7,
	ROLES
};

#define THEME_TYPES (ROLE_TYPE_LAST - ROLE_TYPE_0 + 1)

/** @return the light colour, "#rrggbb" in lower case; distinct for every role */
const char *theme_hex(enum role r);

/** Rules that turn the colours of inline figures dark. */
void theme_svg_css(FILE *f);
/** Custom properties --ink, --muted, ... for a page, both themes. */
void theme_page_css(FILE *f);

#endif
