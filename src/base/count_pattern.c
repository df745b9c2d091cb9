/*
 * count_pattern.c - translate a pattern for regcomp(), and search with it; see count_pattern.h.
 */
#include "base/count_pattern.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define MAX_GROUPS  16 /* within one another */
#define MAX_MATCHES (HES_COUNT_PATTERN_MAX / 2)
#define MAX_DIGITS  18
#define ESCAPE      '\x1b'
#define MAX_SIZE    10000 /* of what regcomp() makes, which copies what is repeated */
#define EXAMPLE     "; such as 'step (\\d+)' or '(\\d+)/\\d+'"

struct translation {
	const char *what, *text; /* @text is whole, for messages */
	size_t at;               /* of text */
	char out[8 * HES_COUNT_PATTERN_MAX];
	size_t n;
	unsigned groups, group;      /* so far; the one that is the count, 0: none yet */
	size_t count_from, count_to; /* what is in it, within out */
	size_t count_depth;          /* n_open within it */
	size_t count_at;             /* where it begins in text */
	size_t open[MAX_GROUPS];     /* where the groups begin that are not closed */
	size_t n_open;
	size_t size[MAX_GROUPS + 1]; /* so far, of the open groups and of all, with copies */
	size_t last;                 /* size of what a repeat would repeat */
	size_t counted;              /* bytes of text that are in the sizes */
};

static int pattern_fail(const struct translation *t, size_t at, const char *why,
			struct hes_err *err)
{
	return hes_fail(err, -EINVAL, "%s: \"%s\": byte %zu: %s" EXAMPLE, t->what, t->text, at + 1,
			why);
}

static void translation_put(struct translation *t, const char *text)
{
	const size_t n = strlen(text);

	memcpy(t->out + t->n, text, n + 1);
	t->n += n;
}

/* Put @n bytes of the text. */
static void translation_copy(struct translation *t, size_t n)
{
	memcpy(t->out + t->n, t->text + t->at, n);
	t->at += n;
	t->n += n;
	t->out[t->n] = '\0';
}

/* What a letter behind a backslash stands for within brackets, without them. */
static const char *class_of(char letter)
{
	return letter == 'd'   ? "0-9"
	       : letter == 'w' ? "[:alnum:]_"
	       : letter == 's' ? "[:space:]"
	       : letter == 't' ? "\t"
			       : NULL;
}

static int translate_escape(struct translation *t, struct hes_err *err)
{
	const char letter = t->text[t->at + 1];
	const char *class = strchr("DWS", letter) ? class_of((char)tolower((unsigned char)letter))
						  : class_of(letter);

	if (!letter)
		return pattern_fail(t, t->at, "a backslash with nothing behind it", err);
	if (isdigit((unsigned char)letter))
		return pattern_fail(t, t->at, "references to groups are not supported", err);
	if (!class && isalpha((unsigned char)letter) && !strchr("bB", letter))
		return pattern_fail(t, t->at, "no such escape; there are \\d \\w \\s \\t \\b", err);
	if (!class) {
		translation_copy(t, 2);
		return 0;
	}
	translation_put(t, isupper((unsigned char)letter) ? "[^" : "[");
	translation_put(t, class);
	translation_put(t, "]");
	t->at += 2;
	return 0;
}

/* [...] as it is, with \d and the like in it. */
static int translate_bracket(struct translation *t, struct hes_err *err)
{
	const char *text = t->text, *class;
	const size_t from = t->at, first = from + 1 + (text[from + 1] == '^');

	translation_copy(t, first - from);
	while (text[t->at] && (text[t->at] != ']' || t->at == first)) {
		const char letter = text[t->at] == '\\' ? text[t->at + 1] : '\0';
		const char *end = text[t->at] == '[' && text[t->at + 1] == ':'
					  ? strstr(text + t->at, ":]")
					  : NULL;

		class = class_of(letter);
		if (!letter) {
			translation_copy(t, end ? (size_t)(end + 2 - text) - t->at : 1);
			continue;
		}
		if (!class && isalnum((unsigned char)letter))
			return pattern_fail(t, t->at, "no such class within brackets", err);
		translation_put(t, class ? class : (const char[]){ '[', '.', letter, '.', ']', 0 });
		t->at += 2;
	}
	if (!text[t->at])
		return pattern_fail(t, from, "\"[\" is never closed", err);
	translation_copy(t, 1);
	return 0;
}

static int translate_group(struct translation *t, struct hes_err *err)
{
	const size_t from = t->at;
	const bool extended = t->text[from + 1] == '?', counts = !extended;

	if (extended && t->text[from + 2] != ':')
		return pattern_fail(t, from, "\"(?\" is supported as (?:...) only", err);
	if (t->n_open == MAX_GROUPS)
		return pattern_fail(t, from, "too many groups within one another", err);
	if (counts && t->group)
		return pattern_fail(t, from,
				    "a second group; one group is the count, write others as "
				    "(?:...)",
				    err);
	t->open[t->n_open++] = from;
	t->groups++;
	if (counts)
		t->group = t->groups;
	translation_copy(t, 1);
	t->at += extended ? 2 : 0;
	if (counts) {
		t->count_depth = t->n_open;
		t->count_from = t->n;
		t->count_at = from;
	}
	return 0;
}

static int translate_close(struct translation *t, struct hes_err *err)
{
	if (!t->n_open)
		return pattern_fail(t, t->at, "\")\" closes nothing", err);
	if (t->group && t->n_open == t->count_depth && !t->count_to)
		t->count_to = t->n;
	t->n_open--;
	translation_copy(t, 1);
	return 0;
}

/* @return how often regcomp() copies what the repeat at @text repeats; 0: it is no repeat */
static size_t copies_of(const char *text)
{
	unsigned least = 0, most = 0;
	const int n = sscanf(text, "{%u,%u", &least, &most);

	if (strchr("*+?", *text))
		return *text == '+' ? 2 : 1;
	if (n < 1)
		return sscanf(text, "{,%u", &most) == 1 ? most : 0;
	return n == 2 ? most : (size_t)least + 1;
}

/* Count the size of what comes next: a repeat, the end of a group, or one more piece. */
static int count_size(struct translation *t, struct hes_err *err)
{
	const char *text = t->text + t->at;
	size_t *size = &t->size[t->n_open];
	const size_t copies = copies_of(text);

	if (t->at < t->counted)
		return 0;
	if (*text == '{' && copies)
		t->counted = t->at + strcspn(text, "}") + 1;
	if (*text == ')' && t->n_open) {
		t->last = *size--;
	} else if (*text == '(' && t->n_open < MAX_GROUPS) {
		size[1] = t->last = 0;
	} else if (copies) {
		*size -= t->last;
		t->last *= copies;
	} else {
		t->last = 1;
	}
	*size += t->last;
	return *size <= MAX_SIZE
		       ? 0
		       : pattern_fail(t, t->at, "repeats of repeats come to more than 10000 pieces",
				      err);
}

static int translate_one(struct translation *t, struct hes_err *err)
{
	const char c = t->text[t->at], next = t->text[t->at + 1];

	if (count_size(t, err))
		return -EINVAL;
	switch (c) {
	case '\\':
		return translate_escape(t, err);
	case '[':
		return translate_bracket(t, err);
	case '(':
		return translate_group(t, err);
	case ')':
		return translate_close(t, err);
	default:
		if (strchr("*+?}", c) && next && strchr("+?", next))
			return pattern_fail(t, t->at,
					    "repeats such as *? are not supported; say what may "
					    "be repeated, such as [^/]*",
					    err);
		translation_copy(t, 1);
		return 0;
	}
}

static int translate(struct translation *t, struct hes_err *err)
{
	const size_t n = strlen(t->text);
	int rc = n ? hes_check_name(t->what, t->text, HES_COUNT_PATTERN_MAX, err)
		   : pattern_fail(t, 0, "it is empty", err);

	while (!rc && t->at < n)
		rc = translate_one(t, err);
	if (!rc && t->n_open)
		rc = pattern_fail(t, t->open[t->n_open - 1], "\"(\" is never closed", err);
	if (!rc && !t->group)
		rc = pattern_fail(t, 0, "it has no group; the digits of the count need one", err);
	return rc;
}

/* The end of the bracket expression at @at. */
static const char *bracket_end(const char *at)
{
	at += at[1] == '^' ? 2 : 1;
	for (at += *at == ']'; *at && *at != ']'; at++) {
		const char close[] = { at[1], ']', '\0' };
		const char *end = *at == '[' && strchr(":.=", at[1]) ? strstr(at + 2, close) : NULL;

		at = end ? end + 1 : at;
	}
	return at + (*at == ']');
}

static bool matches(const char *regex_text, const char *text)
{
	regex_t regex;
	bool found;

	if (regcomp(&regex, regex_text, REG_EXTENDED | REG_NOSUB))
		return false;
	found = regexec(&regex, text, 0, NULL, 0) == 0;
	regfree(&regex);
	return found;
}

static bool has_digit(const char *bracket)
{
	char digit[2] = "0";

	for (; *digit <= '9' && !matches(bracket, digit); ++*digit)
		;
	return *digit <= '9';
}

/*
 * Whether the count can be a number. Where each digit of its group, and each bracket with a digit
 * in it, stands for any digit, the group matches numbers of the same lengths as before: so zeros
 * tell.
 */
static bool count_can_be_number(const struct translation *t)
{
	char text[sizeof(t->out) + 8] = "^(", zeros[MAX_DIGITS + 1] = "", one[sizeof(t->out)];
	const char *at = t->out + t->count_from, *end = t->out + t->count_to;

	for (size_t n = strlen(text), len; at < end; at += len) {
		len = *at == '\\'  ? 2
		      : *at == '[' ? (size_t)(bracket_end(at) - at)
		      : *at == '{' ? strcspn(at, "}") + 1
				   : 1;
		snprintf(one, sizeof(one), "%.*s", (int)len, at);
		if (isdigit((unsigned char)*at) || (*at == '[' && has_digit(one)))
			strcpy(one, "[0-9]");
		strcpy(text + n, one);
		n += strlen(one);
	}
	strcat(text, ")$");
	for (size_t i = 0; i < MAX_DIGITS; i++) {
		zeros[i] = '0';
		if (matches(text, zeros))
			return true;
	}
	return false;
}

int hes_count_pattern_make(struct hes_count_pattern *out, const char *what, const char *text,
			   struct hes_err *err)
{
	struct translation t = { .what = what, .text = text };
	char why[128];
	regex_t regex;
	int rc = translate(&t, err), failed;

	if (rc)
		return rc;
	failed = regcomp(&regex, t.out, REG_EXTENDED);
	if (failed) {
		regerror(failed, &regex, why, sizeof(why));
		return hes_fail(err, -EINVAL, "%s: \"%s\": %s" EXAMPLE, what, text, why);
	}
	if (!count_can_be_number(&t)) {
		regfree(&regex);
		return pattern_fail(
			&t, t.count_at,
			"this group can match no whole number; put it around the digits "
			"of the count alone",
			err);
	}
	*out = (struct hes_count_pattern){ .made = true, .regex = regex, .group = t.group };
	return 0;
}

void hes_count_pattern_free(struct hes_count_pattern *p)
{
	if (p->made)
		regfree(&p->regex);
	p->made = false;
}

/* Bytes of the escape sequence at @at: ESC [ ... LETTER, ESC ] ... BELL, or ESC and one byte. */
static size_t escape_at(const char *at)
{
	static const char parameters[] = "0123456789:;<=>?!\"#$%&'()*+,-./ ";
	const bool title = at[1] == ']';
	size_t n;

	if (at[1] != '[' && !title)
		return 1 + (at[1] != '\0');
	n = 2 + (title ? strcspn(at + 2, "\a\x1b") : strspn(at + 2, parameters));
	return n + (at[n] && (!title || at[n] == '\a'));
}

/* What is searched of a line. A number of more digits than a count has one too many of them. */
static bool clean_line(const char *line, char out[HES_COUNT_LINE_MAX + 1])
{
	size_t n = 0, digits = 0;
	bool has_digit = false;

	while (*line && n < HES_COUNT_LINE_MAX) {
		if (*line == ESCAPE) {
			line += escape_at(line);
			continue;
		}
		digits = isdigit((unsigned char)*line) ? digits + 1 : 0;
		has_digit |= digits > 0;
		if (digits <= MAX_DIGITS + 1)
			out[n++] = *line;
		line++;
	}
	out[n] = '\0';
	return has_digit;
}

bool hes_count_pattern_find(const struct hes_count_pattern *p, const char *line, uint64_t *count)
{
	char text[HES_COUNT_LINE_MAX + 1];
	regmatch_t m[MAX_MATCHES];
	const regmatch_t *group = &m[p->group];
	size_t n;

	if (!clean_line(line, text) || regexec(&p->regex, text, p->group + 1, m, 0))
		return false;
	n = (size_t)(group->rm_eo - group->rm_so);
	if (group->rm_so < 0 || !n || n > MAX_DIGITS ||
	    strspn(text + group->rm_so, "0123456789") < n)
		return false;
	*count = strtoull(text + group->rm_so, NULL, 10);
	return true;
}
