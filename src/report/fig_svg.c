/*
 * fig_svg.c - make an SVG figure from the drawing of gnuplot: insert texts, unify colours, make ids
 * unique, remove what depends on the version of gnuplot.
 */
#include "report/fig.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/gnuplot.h"
#include "report/text.h"

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* "@17@" at @s: write the text. @return bytes consumed, 0 if it is no token */
static size_t put_token(const struct fig *f, const char *s, FILE *out)
{
	char *end;
	unsigned long token;

	if (s[0] != '@' || !isdigit((unsigned char)s[1]))
		return 0;
	token = strtoul(s + 1, &end, 10);
	if (*end != '@' || token >= f->n_texts)
		return 0;
	text_xml(out, f->texts[token]);
	return (size_t)(end + 1 - s);
}

/* "'rgb( 91, 155, 216)'" and the like as "#5b9bd8" in double quotes, the style sheet's spelling. */
static size_t put_color(const char *s, FILE *out)
{
	int r, g, b, used = 0;

	if (!starts(s, "rgb(") || sscanf(s, "rgb(%d ,%d ,%d )%n", &r, &g, &b, &used) != 3 || !used)
		return 0;
	fprintf(out, "#%02x%02x%02x", (unsigned)r & 255, (unsigned)g & 255, (unsigned)b & 255);
	return (size_t)used;
}

static size_t put_special(const struct fig *f, const char *s, const char *id, FILE *out)
{
	size_t n = 0;

	switch (*s) {
	case '@':
		n = put_token(f, s, out);
		break;
	case 'r':
		n = put_color(s, out);
		break;
	case 'g':
		if (starts(s, "gpPt") || starts(s, "gpDot")) {
			fprintf(out, "%s-p", id);
			n = s[2] == 'P' ? 4 : 2;
		}
		break;
	case '\'':
		fputc('"', out);
		n = 1;
		break;
	}
	return n;
}

static void put_line(const struct fig *f, const char *line, const char *id, FILE *out)
{
	while (*line == '\t')
		line++;
	while (*line) {
		size_t n = put_special(f, line, id, out);

		if (!n)
			fputc(*line, out);
		line += n ? n : 1;
	}
}

/* "<g id="gp_plot_3" ><title>...</title>": our own tooltip, or none, for gnuplot's. */
static bool put_element(const struct fig *f, const char *line, FILE *out)
{
	const char *prefix = "\t<g id=\"gp_plot_";
	unsigned long i;

	if (!starts(line, prefix))
		return false;
	i = strtoul(line + strlen(prefix), NULL, 10) - 1;
	fputs("<g>", out);
	if (i < f->n_elements && f->tips[i] != NO_TEXT) {
		fputs("<title>", out);
		text_xml(out, f->texts[f->tips[i]]);
		fputs("</title>", out);
	}
	fputc('\n', out);
	return true;
}

/* Between the definition of markers and the end of the drawing; empty groups are left out. */
static void put_drawing(const struct fig *f, FILE *in, const char *id, FILE *out)
{
	char *line = NULL, *held = NULL;
	size_t size = 0;
	bool started = false, filter = false;

	while (getline(&line, &size, in) >= 0 && !starts(line, "</svg>")) {
		bool opens = starts(line, "<g fill=\"none\"");

		started = started || starts(line, "<g id=\"gnuplot_canvas\"");
		filter = filter || strstr(line, "<filter");
		if (!started || filter || starts(line, "<g id=\"gnuplot_canvas\"") ||
		    starts(line, "<rect") || line[0] == '\n') {
			filter = filter && !strstr(line, "</filter");
			continue;
		}
		if (held && starts(line, "</g>")) {
			free(held);
			held = NULL;
			continue;
		}
		if (held)
			put_line(f, held, id, out);
		free(held);
		held = opens ? strdup(line) : NULL;
		if (!held && !put_element(f, line, out))
			put_line(f, line, id, out);
	}
	free(held);
	free(line);
}

static void put_head(const struct fig *f, const char *label, bool standalone, FILE *out)
{
	if (standalone)
		fputs("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n", out);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" "
		"xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
		"width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
		"aria-label=\"",
		f->at.width, f->at.height, f->at.width, f->at.height);
	text_xml(out, label);
	fputs("\">\n", out);
	if (!standalone) {
		fputs("<g>\n", out);
		return;
	}
	fputs("<style>svg text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,"
	      "\"Helvetica Neue\",Arial,sans-serif;white-space:pre}\n",
	      out);
	theme_svg_css(out);
	fprintf(out, "</style>\n<g>\n<rect width=\"%.0f\" height=\"%.0f\" fill=\"%s\"/>\n",
		f->at.width, f->at.height, theme_hex(ROLE_SURFACE));
}

int fig_render(struct fig *f, const char *id, const char *label, bool standalone, FILE *out,
	       struct hes_err *err)
{
	FILE *drawing = gnuplot_scratch("gnuplot-drawing");
	int rc = 0;

	if (f->failed || !drawing || fflush(f->plot))
		rc = hes_fail(err, -ENOMEM, "not enough memory for the figure \"%s\"", id);
	if (!rc) {
		fprintf(f->script, "%s\n", f->plot_text);
		rc = gnuplot_run(f->script, drawing, err);
	}
	if (!rc) {
		put_head(f, label, standalone, out);
		put_drawing(f, drawing, id, out);
		fputs("</svg>\n", out);
	}
	if (drawing)
		fclose(drawing);
	return rc;
}

int fig_save(struct fig *f, const char *path, const char *id, const char *label,
	     struct hes_err *err)
{
	struct hes_file out;
	int rc = hes_file_create(&out, path, err);

	if (!rc) {
		rc = fig_render(f, id, label, true, out.f, err);
		if (rc)
			hes_file_abort(&out);
		else
			rc = hes_file_commit(&out, err);
	}
	fig_end(f);
	return rc;
}
