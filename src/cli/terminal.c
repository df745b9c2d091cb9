/*
 * terminal.c - the terminal behind the output; see terminal.h.
 */
#include "cli/terminal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MIN_WIDTH   40
#define USUAL_WIDTH 80
#define MAX_WIDTH   10000
#define ROW_INDENT  4

int terminal_width(void)
{
	struct winsize w;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_col)
		return INT_MAX;
	return w.ws_col < MIN_WIDTH ? MIN_WIDTH : w.ws_col;
}

int terminal_table_width(void)
{
	const int width = terminal_width();
	const char *columns = getenv("COLUMNS");
	const long wanted = columns ? strtol(columns, NULL, 10) : 0;

	if (width < INT_MAX)
		return width;
	return wanted < MIN_WIDTH || wanted > MAX_WIDTH ? USUAL_WIDTH : (int)wanted;
}

/* Columns of the first @n bytes: escape sequences and all bytes of a character but its first take
 * none. */
static int columns(const char *text, size_t n)
{
	bool escape = false;
	int sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\033')
			escape = true;
		else if (escape)
			escape = !strchr("mHJK", text[i]);
		else
			sum += ((unsigned char)text[i] & 0xC0) != 0x80;
	}
	return sum;
}

void terminal_wrap(FILE *f, const char *text, int at, int indent, int width)
{
	while (*text) {
		const int blanks = (int)strspn(text, " ");
		const size_t word = strcspn(text + blanks, " ");
		const int wide = columns(text + blanks, word);

		if (at > indent && wide > width - at - blanks) {
			fprintf(f, "\n%*s", indent, "");
			at = indent + wide;
		} else {
			fprintf(f, "%*s", blanks, "");
			at += blanks + wide;
		}
		fwrite(text + blanks, 1, word, f);
		text += blanks + (int)word;
	}
}

bool terminal_is_live(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

bool terminal_is_styled(int fd)
{
	const char *no = getenv("NO_COLOR");

	return terminal_is_live(fd) && !(no && *no);
}

/* The stream that takes the place of stdout hands whole lines on to it, wrapped. */
struct terminal_page {
	FILE *real;
	FILE *fitted;
	char *line;
	size_t n, room;
};

/* A row of a table has two blanks in a row behind its first word. */
static bool is_row(const char *line)
{
	return strstr(line + strspn(line, " "), "  ") != NULL;
}

static void print_line(struct terminal_page *p)
{
	const int width = terminal_width(),
		  blanks = (int)(strspn(p->line, " ") % (size_t)(width / 2));

	if (memchr(p->line, '\0', p->n) || columns(p->line, p->n) <= width)
		fwrite(p->line, 1, p->n, p->real);
	else
		terminal_wrap(p->real, p->line, 0, blanks + (is_row(p->line) ? ROW_INDENT : 0),
			      width);
	p->n = 0;
}

static bool add_byte(struct terminal_page *p, char c)
{
	if (p->n + 2 > p->room) {
		char *line = realloc(p->line, 2 * p->room + 256);

		if (!line)
			return false;
		p->line = line;
		p->room = 2 * p->room + 256;
	}
	p->line[p->n++] = c;
	p->line[p->n] = '\0';
	return true;
}

static ssize_t take(void *cookie, const char *text, size_t n)
{
	struct terminal_page *p = cookie;

	for (size_t i = 0; i < n; i++) {
		if (text[i] != '\n') {
			if (!add_byte(p, text[i]))
				return 0;
			continue;
		}
		if (p->n)
			print_line(p);
		fputc('\n', p->real);
	}
	return fflush(p->real) ? 0 : (ssize_t)n;
}

struct terminal_page *terminal_fit(void)
{
	struct terminal_page *p = terminal_width() < INT_MAX ? calloc(1, sizeof(*p)) : NULL;

	if (!p)
		return NULL;
	p->real = stdout;
	p->fitted = fopencookie(p, "w", (cookie_io_functions_t){ .write = take });
	if (!p->fitted) {
		free(p);
		return NULL;
	}
	setvbuf(p->fitted, NULL, _IOLBF, BUFSIZ);
	stdout = p->fitted;
	return p;
}

void terminal_finish(struct terminal_page *p)
{
	if (!p)
		return;
	fflush(stdout);
	if (p->n)
		print_line(p);
	stdout = p->real;
	fclose(p->fitted);
	free(p->line);
	free(p);
}
