/*
 * opt.c - parse options and print help from the table of a command; see opt.h.
 */
#include "cli/opt.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "base/texts.h"
#include "cli/terminal.h"

#define HELP_WIDTH  100
#define HELP_INDENT 30
#define MOST_LISTED 12 /* words of an option that its description lists */

static const struct opt *find_long(const struct command *c, const char *name, size_t len)
{
	for (const struct opt *o = c->opts; o && o->name; o++)
		if (strlen(o->name) == len && strncmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

const struct opt *opt_find(const struct command *c, const char *arg, const char **value)
{
	const char *eq = strchr(arg, '=');

	*value = NULL;
	if (arg[0] != '-' || !arg[1])
		return NULL;
	if (arg[1] == '-') {
		*value = eq ? eq + 1 : NULL;
		return find_long(c, arg + 2, eq ? (size_t)(eq - arg - 2) : strlen(arg + 2));
	}
	*value = arg[2] ? arg + 2 : NULL;
	for (const struct opt *o = c->opts; o && o->name; o++)
		if (o->letter == arg[1])
			return o;
	return NULL;
}

const struct opt *opt_shown(const struct opt *o)
{
	while (o && o->name && o->hidden)
		o++;
	return o && o->name ? o : NULL;
}

static int unknown(const struct command *c, const char *arg, struct hes_err *err)
{
	const char *names[64], *near;
	size_t n = 0;

	for (const struct opt *o = opt_shown(c->opts); o && n < 64; o = opt_shown(o + 1))
		names[n++] = o->name;
	near = strncmp(arg, "--", 2) == 0 ? hes_text_nearest(arg + 2, names, n) : NULL;
	return hes_fail(err, -EINVAL, "no option %.64s%s%s%s; see heshare %s --help", arg,
			near ? " (did you mean --" : "", near ? near : "", near ? "?)" : "",
			c->name);
}

void opt_words(const struct opt *o, opt_say_fn *say, void *ctx)
{
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		say(o->choices[i], ctx);
	if (o->offer)
		o->offer(say, ctx);
}

struct telling {
	FILE *f; /* NULL: count alone */
	const char *help;
	size_t n, n_explained; /* words, and those that the help has as "(WORD)" */
};

static void tell(const char *word, void *ctx)
{
	struct telling *t = ctx;
	char explained[96];

	if (t->f)
		fprintf(t->f, "%s%s", t->n ? ", " : ": ", word);
	snprintf(explained, sizeof(explained), "(%s)", word);
	t->n++;
	t->n_explained += strstr(t->help, explained) != NULL;
}

void opt_tell_words(const struct opt *o, FILE *f)
{
	struct telling t = { .help = o->help };

	opt_words(o, tell, &t);
	if (t.n == t.n_explained || t.n > MOST_LISTED)
		return;
	t = (struct telling){ .f = f, .help = o->help };
	opt_words(o, tell, &t);
}

struct choosing {
	const char *text;
	bool found;
	char all[256]; /* with commas */
};

static void compare(const char *word, void *ctx)
{
	struct choosing *c = ctx;

	c->found |= strcmp(word, c->text) == 0;
	hes_text_add(c->all, sizeof(c->all), ", ", "%s", word);
}

static int set_choice(const struct opt *o, const char *what, const char *text, void *slot,
		      struct hes_err *err)
{
	struct choosing c = { .text = text };

	opt_words(o, compare, &c);
	if (!c.found)
		return hes_fail(err, -EINVAL, "%s: \"%.64s\" is not one of %s", what, text, c.all);
	*(const char **)slot = text;
	return 0;
}

static int set_value(const struct opt *o, const char *text, void *values, struct hes_err *err)
{
	char what[64];
	void *slot = (char *)values + o->offset;

	snprintf(what, sizeof(what), "--%s", o->name);
	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)slot = true;
		return 0;
	case OPT_TEXT:
	case OPT_FILE:
		*(const char **)slot = text;
		return 0;
	case OPT_U64:
		return hes_parse_u64(what, text, (uint64_t)o->min,
				     o->max >= 0x1p64 ? UINT64_MAX : (uint64_t)o->max, slot, err);
	case OPT_DOUBLE:
		return hes_parse_double(what, text, o->min, o->max, slot, err);
	case OPT_CHOICE:
		return set_choice(o, what, text, slot, err);
	}
	return -EINVAL;
}

static int set_defaults(const struct command *c, void *values, struct hes_err *err)
{
	for (const struct opt *o = c->opts; o && o->name; o++) {
		int rc = o->def ? set_value(o, o->def, values, err) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

/* @return the first option of a list of names that was given, or NULL */
static const struct opt *given_of(const struct command *c, uint64_t given, const char *names)
{
	for (const char *at = names; at && *at;
	     at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
		const struct opt *o = find_long(c, at, strcspn(at, ","));

		if (o && o - c->opts < 64 && given >> (o - c->opts) & 1)
			return o;
	}
	return NULL;
}

/* Refuse options that the others, or an operand, leave without an effect. */
static int check_effect(const struct command *c, uint64_t given, const char *operand,
			struct hes_err *err)
{
	for (size_t k = 0; c->opts && k < 64 && c->opts[k].name; k++) {
		const struct opt *o = &c->opts[k], *other = given_of(c, given, o->without);
		const char *comma = o->with ? strchr(o->with, ',') : NULL;

		if (!(given >> k & 1))
			continue;
		if (o->alone && operand)
			return hes_fail(err, -EINVAL,
					"--%s takes no operand, but \"%.64s\" was given", o->name,
					operand);
		if (other)
			return hes_fail(err, -EINVAL, "--%s has no effect with --%s", o->name,
					other->name);
		if (o->with && !given_of(c, given, o->with))
			return hes_fail(err, -EINVAL, "--%s goes with --%.*s%s%s", o->name,
					comma ? (int)(comma - o->with) : (int)strlen(o->with),
					o->with, comma ? " or --" : "", comma ? comma + 1 : "");
	}
	return 0;
}

/* One option at argv[*i]; *i moves over a separate value. */
static int parse_option(const struct command *c, int argc, char **argv, int *i, void *values,
			uint64_t *given, struct hes_err *err)
{
	const char *value;
	const struct opt *o = opt_find(c, argv[*i], &value);

	if (!o)
		return unknown(c, argv[*i], err);
	if (o->kind == OPT_FLAG && value)
		return hes_fail(err, -EINVAL, "--%s takes no value, but \"%.64s\" was given",
				o->name, value);
	if (o->kind != OPT_FLAG && !value) {
		if (*i + 1 >= argc || !strcmp(argv[*i + 1], "--"))
			return hes_fail(err, -EINVAL, "--%s needs a value%s%s", o->name,
					o->arg ? ": " : "", o->arg ? o->arg : "");
		value = argv[++*i];
	}
	if (o - c->opts < 64)
		*given |= UINT64_C(1) << (o - c->opts);
	if (o->given)
		*(const char **)((char *)values + o->given) = o->kind == OPT_FLAG ? "" : value;
	return set_value(o, value, values, err);
}

int opt_parse(const struct command *c, int argc, char **argv, void *values, struct hes_err *err)
{
	int n = 0, before = -1, rc = set_defaults(c, values, err);
	uint64_t given = 0;

	for (int i = 1; i < argc && !rc; i++) {
		if (before < 0 && strcmp(argv[i], "--") == 0)
			before = n;
		else if (before < 0 && argv[i][0] == '-' && argv[i][1])
			rc = parse_option(c, argc, argv, &i, values, &given, err);
		else
			argv[1 + n++] = argv[i];
	}
	if (rc)
		return rc;
	argv[1 + n] = NULL;
	if (n < c->min_args)
		return hes_fail(err, -EINVAL, "missing operand; usage: heshare %s %s", c->name,
				c->args);
	if (n > c->max_args)
		return hes_fail(err, -EINVAL, "unexpected \"%.64s\"; usage: heshare %s%s%s",
				argv[1 + c->max_args], c->name, *c->args ? " " : "", c->args);
	if (c->max_before && (before < 0 ? n : before) > c->max_before)
		return hes_fail(
			err, -EINVAL,
			"unexpected \"%.64s\"; a command comes after --; usage: heshare %s %s",
			argv[1 + c->max_before], c->name, c->args);
	if (c->before)
		*(int *)((char *)values + c->before) = before;
	rc = check_effect(c, given, n ? argv[1] : NULL, err);
	return rc ? rc : n;
}

int opt_check_written(const struct command *c, const void *values, struct hes_err *err)
{
	int rc = 0;

	for (const struct opt *o = c->opts; !rc && o && o->name; o++) {
		const char *path = NULL;

		if (o->written)
			path = *(const char *const *)((const char *)values + o->offset);
		rc = path ? hes_file_check_output(path, err) : 0;
	}
	return rc;
}

int opt_usage(struct hes_err *err, const char *sentence)
{
	hes_fail(err, -EINVAL, "%s", sentence);
	return OPT_USAGE;
}

static int help_width(void)
{
	const int width = terminal_table_width();

	return width < HELP_WIDTH ? width : HELP_WIDTH;
}

static void help_row(const struct opt *o, FILE *f)
{
	char left[64], letter[8] = "    ", *right = NULL;
	FILE *text = open_memstream(&right, &(size_t){ 0 });

	if (!text)
		return;
	fputs(o->help, text);
	opt_tell_words(o, text);
	if (o->def)
		fprintf(text, " [%s]", o->def);
	fclose(text);

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(left, sizeof(left), "  %s--%s%s%s", letter, o->name, o->arg ? " " : "",
		 o->arg ? o->arg : "");
	if (right)
		terminal_wrap(f, right, fprintf(f, "%-*s ", HELP_INDENT, left), HELP_INDENT + 1,
			      help_width());
	fputc('\n', f);
	free(right);
}

static void help_paragraph(const char *text, size_t n, FILE *f)
{
	char *copy = strndup(text, n);

	if (copy)
		terminal_wrap(f, copy, 0, 0, help_width());
	free(copy);
}

static void help_text(const char *text, FILE *f)
{
	for (const char *end; *text; text = end + strspn(end, "\n")) {
		end = strstr(text, "\n\n");
		end = end ? end : text + strlen(text);
		help_paragraph(text, (size_t)(end - text), f);
		fputs(*end ? "\n\n" : "\n", f);
	}
}

static void help_subs(const struct command *c, FILE *f)
{
	fputs("\nactions:\n", f);
	for (size_t i = 0; c->subs[i]; i++)
		fprintf(f, "  %-12s %s\n", c->subs[i]->name + strlen(c->name) + 1,
			c->subs[i]->summary);
	fprintf(f, "\nheshare %s ACTION --help explains one of them.\n", c->name);
}

void opt_help(const struct command *c, FILE *f)
{
	static const struct opt help = { .name = "help", .letter = 'h', .help = "print this help" };
	bool grouped = false;
	char usage[200];

	snprintf(usage, sizeof(usage), "usage: heshare %s%s%s%s", c->name,
		 opt_shown(c->opts) ? " [OPTION]..." : "", c->args[0] ? " " : "", c->args);
	terminal_wrap(f, usage, 0, 7, help_width());
	fputs("\n\n", f);
	if (c->example)
		fprintf(f, "example:\n%s\n\n", c->example);
	help_text(c->text, f);
	if (c->subs) {
		help_subs(c, f);
		return;
	}
	if (!c->opts || !c->opts->heading)
		fputs("\noptions:\n", f);
	for (const struct opt *o = opt_shown(c->opts); o; o = opt_shown(o + 1)) {
		if (o->heading)
			fprintf(f, "\n%s:\n", o->heading);
		grouped |= o->heading != NULL;
		help_row(o, f);
	}
	if (grouped)
		fputc('\n', f);
	help_row(&help, f);
}
