/*
 * utf8.c - check UTF-8; see utf8.h.
 */
#include "base/utf8.h"

#include <errno.h>
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
