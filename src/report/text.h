/*
 * text.h - text of a report: escaped, measured, cut to a width; quantities with separators and
 * units.
 */
#ifndef HES_REPORT_TEXT_H
#define HES_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * Text from outside as the content of an XML element or attribute. What XML
 * cannot hold or what would disturb the line (control characters, broken
 * UTF-8, direction overrides) becomes U+FFFD.
 */
void text_xml(FILE *f, const char *s);

/** Approximate width of @s in a sans-serif font of @size px; errs on the wide side. */
double text_width(const char *s, double size);

/** Copy @s cut to @max_px with an ellipsis. @return false (and "") if not even three characters fit
 */
bool text_fit(char *out, size_t out_size, const char *s, double size, double max_px);
/** The same, but the end of @s is kept: "…0042". */
bool text_fit_tail(char *out, size_t out_size, const char *s, double size, double max_px);

/** A unit and how much of the base unit (us, mJ, mW) one of it is. */
struct unit {
	const char *name;
	double of;
};

/** The unit in which @max reads well. */
struct unit unit_time(double max_us);
struct unit unit_energy(double max_mj);
struct unit unit_power(double max_mw);

#define QUANTITY_MAX 48

/** "12 345.6": thin spaces between thousands, a real minus sign. @return @out */
const char *format_number(char out[QUANTITY_MAX], double v, int decimals);
/** Decimals that leave about four significant digits for values up to @max. */
int format_decimals(double max);
/** "3 h 52 min", "1.85 MJ", as in base/quantity.h. @return @out */
const char *format_time(char out[QUANTITY_MAX], double us);
const char *format_energy(char out[QUANTITY_MAX], double mj);
/** Number and unit, in a unit fit for the value: "1 200 W". @return @out */
const char *format_power(char out[QUANTITY_MAX], double mw);
/** "+3.1 %", "−26.0 %"; an en dash when @base is 0. @return @out */
const char *format_change(char out[QUANTITY_MAX], double v, double base);

#endif
