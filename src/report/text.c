/*
 * text.c - escape, measure and format text; see text.h.
 */
#include "report/text.h"

#include <math.h>
#include <string.h>

#include "base/quantity.h"
#include "base/utf8.h"

#define REPLACEMENT "\xEF\xBF\xBD"
#define THIN_SPACE  "\xE2\x80\xAF" /* narrow, no break */
#define MINUS       "\xE2\x88\x92"
#define ELLIPSIS    "\xE2\x80\xA6"

#define BAD_CODE 0xFFFFFFFFu

/* One code point of @s into @code, BAD_CODE where it is not UTF-8. @return its length in bytes */
static size_t decode(const char *s, uint32_t *code)
{
	const size_t n = hes_utf8_character(s, strnlen(s, 4));

	*code = n ? hes_utf8_code(s, n) : BAD_CODE;
	return n ? n : 1;
}

static bool is_disturbing(uint32_t c)
{
	return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || c == 0x200E ||
	       c == 0x200F || c == 0x061C || (c >= 0x202A && c <= 0x202E) ||
	       (c >= 0x2066 && c <= 0x2069) || (c & 0xFFFE) == 0xFFFE || c == BAD_CODE;
}

void text_xml(FILE *f, const char *s)
{
	while (*s) {
		uint32_t c;
		size_t n = decode(s, &c);

		switch (c) {
		case '&':
			fputs("&amp;", f);
			break;
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		case '\'':
			fputs("&#39;", f);
			break;
		default:
			if (is_disturbing(c))
				fputs(REPLACEMENT, f);
			else
				fwrite(s, 1, n, f);
		}
		s += n;
	}
}

/* In em; between Arial and DejaVu Sans, since the reader's font is not known. */
static double char_em(uint32_t c)
{
	if (c == 0x202F)
		return 0.25;
	if (c == 0x2026 || c == 0xFFFD || is_disturbing(c) ||
	    (c >= 0x1100 && (c < 0x2000 || c > 0x2BFF)))
		return 1.05;
	if (c >= 0x80)
		return 0.68;
	if (strchr("iljI.,:;'|!", (int)c))
		return 0.34;
	if (strchr("frt()[]- /\\\"`", (int)c))
		return 0.42;
	if (strchr("mwMW@%<>=+~^#&", (int)c))
		return 0.92;
	return c >= 'A' && c <= 'Z' ? 0.70 : 0.60;
}

double text_width(const char *s, double size)
{
	double em = 0;

	while (*s) {
		uint32_t c;

		s += decode(s, &c);
		em += char_em(c);
	}
	return em * size;
}

bool text_fit(char *out, size_t out_size, const char *s, double size, double max_px)
{
	double room = max_px / size - char_em(0x2026), em = 0;
	size_t n = 0, chars = 0;

	out[0] = '\0';
	if (text_width(s, size) <= max_px && strlen(s) < out_size) {
		memcpy(out, s, strlen(s) + 1);
		return true;
	}
	while (s[n]) {
		uint32_t c;
		size_t len = decode(s + n, &c);

		if (em + char_em(c) > room || n + len + sizeof(ELLIPSIS) > out_size)
			break;
		em += char_em(c);
		n += len;
		chars++;
	}
	if (chars < 3)
		return false;
	memcpy(out, s, n);
	memcpy(out + n, ELLIPSIS, sizeof(ELLIPSIS));
	return true;
}

bool text_fit_tail(char *out, size_t out_size, const char *s, double size, double max_px)
{
	double room = max_px - char_em(0x2026) * size;
	size_t chars = 0;

	out[0] = '\0';
	if (text_width(s, size) <= max_px && strlen(s) < out_size) {
		memcpy(out, s, strlen(s) + 1);
		return true;
	}
	while (*s && (text_width(s, size) > room || strlen(s) + sizeof(ELLIPSIS) > out_size)) {
		uint32_t c;

		s += decode(s, &c);
	}
	for (const char *t = s; *t; chars++) {
		uint32_t c;

		t += decode(t, &c);
	}
	if (chars < 3)
		return false;
	memcpy(out, ELLIPSIS, sizeof(ELLIPSIS) - 1);
	memcpy(out + sizeof(ELLIPSIS) - 1, s, strlen(s) + 1);
	return true;
}

/* A larger unit from ten of it on, so that small values next to a large one keep their digits. */
static struct unit unit_of(const struct unit *units, size_t n, double max)
{
	size_t i = 0;

	while (i + 1 < n && max >= 10 * units[i + 1].of)
		i++;
	return units[i];
}

struct unit unit_time(double max_us)
{
	/* Minutes from two on, hours from ten on: a makespan of 90 min reads better than 1.5 h. */
	if (max_us < 120e6)
		return (struct unit){ "s", 1e6 };
	return max_us < 36000e6 ? (struct unit){ "min", 60e6 } : (struct unit){ "h", 3600e6 };
}

struct unit unit_energy(double max_mj)
{
	static const struct unit units[] = {
		{ "J", 1e3 }, { "kJ", 1e6 }, { "MJ", 1e9 }, { "GJ", 1e12 }
	};

	return unit_of(units, sizeof(units) / sizeof(units[0]), max_mj);
}

struct unit unit_power(double max_mw)
{
	static const struct unit units[] = { { "W", 1e3 }, { "kW", 1e6 }, { "MW", 1e9 } };

	return unit_of(units, sizeof(units) / sizeof(units[0]), max_mw);
}

const char *format_number(char out[QUANTITY_MAX], double v, int decimals)
{
	char plain[QUANTITY_MAX];
	size_t n = 0, whole;

	if (!isfinite(v) || fabs(v) > 1e15) {
		snprintf(out, QUANTITY_MAX, "%.3g", v);
		return out;
	}
	snprintf(plain, sizeof(plain), "%.*f", decimals, fabs(v));
	whole = strcspn(plain, ".");
	if (v < 0 && strspn(plain, "0.") != strlen(plain))
		n = (size_t)snprintf(out, QUANTITY_MAX, MINUS);
	for (size_t i = 0; plain[i] && n + 4 < QUANTITY_MAX; i++) {
		if (i > 0 && i < whole && (whole - i) % 3 == 0)
			n += (size_t)snprintf(out + n, QUANTITY_MAX - n, THIN_SPACE);
		out[n++] = plain[i];
	}
	out[n] = '\0';
	return out;
}

int format_decimals(double max)
{
	return max >= 1000 ? 0 : max >= 100 ? 1 : 2;
}

static const char *with_unit(char out[QUANTITY_MAX], double v, struct unit u)
{
	format_number(out, v / u.of, format_decimals(fabs(v / u.of)));
	strncat(out, THIN_SPACE, QUANTITY_MAX - strlen(out) - 1);
	strncat(out, u.name, QUANTITY_MAX - strlen(out) - 1);
	return out;
}

/* @plain with narrow blanks that do not break. */
static const char *with_thin_spaces(char out[QUANTITY_MAX], const char *plain)
{
	size_t n = 0;

	for (; *plain && n + sizeof(THIN_SPACE) < QUANTITY_MAX; plain++) {
		const char one[] = { *plain, '\0' };

		n += (size_t)snprintf(out + n, QUANTITY_MAX - n, "%s",
				      *plain == ' '   ? THIN_SPACE
				      : *plain == '-' ? MINUS
						      : one);
	}
	return out;
}

const char *format_time(char out[QUANTITY_MAX], double us)
{
	char plain[HES_QUANTITY_MAX];

	return with_thin_spaces(out, hes_time_text(plain, us));
}

const char *format_energy(char out[QUANTITY_MAX], double mj)
{
	char plain[HES_QUANTITY_MAX];

	return with_thin_spaces(out, hes_energy_text(plain, mj));
}

const char *format_power(char out[QUANTITY_MAX], double mw)
{
	return with_unit(out, mw, unit_power(fabs(mw)));
}

const char *format_change(char out[QUANTITY_MAX], double v, double base)
{
	double pct = base > 0 ? 100 * (v - base) / base : 0;

	if (!(base > 0)) {
		snprintf(out, QUANTITY_MAX, "\xE2\x80\x93");
		return out;
	}
	out[0] = '+';
	format_number(out + (pct >= 0.05), pct, 1);
	strncat(out, THIN_SPACE "%", QUANTITY_MAX - strlen(out) - 1);
	return out;
}
