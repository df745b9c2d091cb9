/*
 * utf8.c - check UTF-8; see utf8.h.
 */
#include "base/utf8.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* Rows of table 3-7: lead bytes, the bounds of the second byte, and how many follow. */
static const struct {
	unsigned char lead_min, lead_max, second_min, second_max, n_follow;
} forms[] = {
	{ 0x01, 0x7f, 0x00, 0x00, 0 }, { 0xc2, 0xdf, 0x80, 0xbf, 1 }, { 0xe0, 0xe0, 0xa0, 0xbf, 2 },
	{ 0xe1, 0xec, 0x80, 0xbf, 2 }, { 0xed, 0xed, 0x80, 0x9f, 2 }, { 0xee, 0xef, 0x80, 0xbf, 2 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 3 }, { 0xf1, 0xf3, 0x80, 0xbf, 3 }, { 0xf4, 0xf4, 0x80, 0x8f, 3 },
};

size_t hes_utf8_character(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t f = 0, n_forms = sizeof(forms) / sizeof(forms[0]);

	if (!n)
		return 0;

	while (f < n_forms && !(s[0] >= forms[f].lead_min && s[0] <= forms[f].lead_max))
		f++;
	if (f == n_forms || n < 1u + forms[f].n_follow)
		return 0;
	for (size_t i = 1; i <= forms[f].n_follow; i++)
		if (s[i] < (i == 1 ? forms[f].second_min : 0x80) ||
		    s[i] > (i == 1 ? forms[f].second_max : 0xbf))
			return 0;
	return 1u + forms[f].n_follow;
}

/* Characters that take no column or two, as wcwidth() has them: marks, East Asian, emoji. */
static const struct {
	uint32_t first, last;
	int columns;
} widths[] = {
	{ 0x0300, 0x036f, 0 },   { 0x0591, 0x05bd, 0 },   { 0x064b, 0x065f, 0 },
	{ 0x0e34, 0x0e3a, 0 },   { 0x0e47, 0x0e4e, 0 },   { 0x1100, 0x115f, 2 },
	{ 0x1ab0, 0x1aff, 0 },   { 0x1dc0, 0x1dff, 0 },   { 0x200b, 0x200f, 0 },
	{ 0x2060, 0x2064, 0 },   { 0x20d0, 0x20f0, 0 },   { 0x231a, 0x231b, 2 },
	{ 0x26a1, 0x26a1, 2 },   { 0x2705, 0x2705, 2 },   { 0x2728, 0x2728, 2 },
	{ 0x274c, 0x274c, 2 },   { 0x2b50, 0x2b50, 2 },   { 0x2e80, 0x303e, 2 },
	{ 0x3041, 0x4dbf, 2 },   { 0x4e00, 0xa4cf, 2 },   { 0xa960, 0xa97c, 2 },
	{ 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },   { 0xfe00, 0xfe0f, 0 },
	{ 0xfe20, 0xfe2f, 0 },   { 0xfe30, 0xfe6f, 2 },   { 0xff01, 0xff60, 2 },
	{ 0xffe0, 0xffe6, 2 },   { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
	{ 0x1f900, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 }, { 0xe0100, 0xe01ef, 0 },
};

uint32_t hes_utf8_code(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3fu);
	return c;
}

int hes_utf8_width(const char *text, size_t n)
{
	int sum = 0;

	while (n) {
		const size_t bytes = hes_utf8_character(text, n);
		const uint32_t c = bytes ? hes_utf8_code(text, bytes) : 0;
		int columns = 1;

		for (size_t i = 0; c >= 0x300 && i < sizeof(widths) / sizeof(widths[0]); i++)
			if (c >= widths[i].first && c <= widths[i].last)
				columns = widths[i].columns;
		sum += columns;
		text += bytes ? bytes : 1;
		n -= bytes ? bytes : 1;
	}
	return sum;
}

bool hes_utf8_is_control(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	return (s[0] && (s[0] < 0x20 || s[0] == 0x7f)) ||
	       (s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f);
}

bool hes_is_utf8(const char *text)
{
	size_t left = strlen(text);

	while (left) {
		size_t n = hes_utf8_character(text, left);

		if (!n)
			return false;
		text += n;
		left -= n;
	}
	return true;
}

int hes_check_name(const char *what, const char *text, size_t max, struct hes_err *err)
{
	size_t n = strnlen(text, max + 1); /* it may be an array that no NUL ends */

	if (n == 0)
		return hes_fail(err, -EINVAL, "%s: empty; a name is needed", what);
	if (n > max)
		return hes_fail(err, -ERANGE, "%s: \"%.*s...\" has more than %zu bytes", what,
				(int)(n < 60 ? n : 60), text, max);
	for (size_t i = 0; i < n; i++)
		if (hes_utf8_is_control(text + i))
			return hes_fail(
				err, -EINVAL, "%s: control character 0x%02x in byte %zu", what,
				(unsigned char)(text[i] == '\xc2' ? text[i + 1] : text[i]), i + 1);
	if (!hes_is_utf8(text))
		return hes_fail(err, -EINVAL, "%s: \"%s\" is not UTF-8, which names must be", what,
				text);
	return 0;
}
