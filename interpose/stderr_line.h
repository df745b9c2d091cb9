/*
 * stderr_line.h - lines on standard error. They are written whole, without allocation, and never
 * waited for: a line that standard error does not take at once is dropped. No signal comes of it.
 */
#ifndef HES_INTERPOSE_STDERR_LINE_H
#define HES_INTERPOSE_STDERR_LINE_H

/** "heshare-fair: " and a sentence. */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
