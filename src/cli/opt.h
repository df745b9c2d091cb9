/*
 * opt.h - the options of a command, as a table.
 *
 * A row describes an option. The table parses and checks options, suggests a name after a typo, and
 * makes --help, shell completion and man pages. Values are stored in a struct of the command, at
 * the offset of the row.
 */
#ifndef HES_CLI_OPT_H
#define HES_CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "heshare/err.h"

enum opt_kind {
	OPT_FLAG,   /* bool */
	OPT_TEXT,   /* const char *, points into argv */
	OPT_FILE,   /* the same; completes file names */
	OPT_U64,    /* uint64_t within min..max */
	OPT_DOUBLE, /* double within min..max */
	OPT_CHOICE, /* const char *, one of choices or of the words offered */
};

typedef void opt_say_fn(const char *word, void *ctx);
/** Say each word that a value may be, from the program's own tables. */
typedef void opt_offer_fn(opt_say_fn *say, void *ctx);

struct opt {
	const char *name; /* "seed": --seed */
	char letter;      /* 'o': -o; 0 for none */
	enum opt_kind kind;
	size_t offset; /* of the value in the command's struct */
	size_t given;  /* offset of a const char * to what was given, "" of a flag, NULL by default;
			  0: not needed */
	const char *arg;            /* "FILE", "W": shown in help */
	const char *def;            /* default as text; NULL: none (NULL, 0, false) */
	double min, max;            /* of OPT_U64 and OPT_DOUBLE */
	const char *const *choices; /* of OPT_CHOICE, NULL-terminated */
	opt_offer_fn
		*offer;   /* in place of choices; of OPT_TEXT what completion knows of its values */
	const char *with; /* names of options, with commas: without one of them this one would have
			     no effect, and is refused */
	const char *without; /* the same: next to one of them this one is refused */
	bool written;        /* of OPT_FILE: the command writes it */
	bool many;           /* a value is words with commas between them */
	bool alone;          /* next to an operand it is refused */
	const char *heading; /* of the group that begins with this row in help and man page; NULL:
				the group of the row before */
	bool hidden;         /* for heshare's own use: not in help, man page and completion */
	const char *help;    /* one sentence, with the unit */
};

#define OPT_USAGE 2 /* exit status after wrong usage */

/** What was typed behind the name of a command. */
struct call {
	void *opts;  /* parsed */
	int n;       /* operands */
	char **args; /* they, then NULL */
};

struct command {
	const char *name;
	const char *args; /* operands as shown: "JOBS"; "" for none */
	int min_args, max_args;
	int max_before; /* most operands before "--"; 0: no limit */
	size_t before;  /* offset of an int: how many there are, -1 without "--"; 0: not needed */
	const struct command *const *subs; /* commands behind it, NULL-terminated, such as "fair
					      run"; it has no options and no run then. NULL: none */
	opt_offer_fn *offer;    /* words that operands may be, besides files; may be NULL */
	bool takes_run;         /* the first operand is the number of a run */
	const char *summary;    /* one line */
	const char *text;       /* paragraphs of the man page and of --help */
	const char *example;    /* lines of commands; may be NULL */
	const struct opt *opts; /* ends with a row whose name is NULL */
	size_t opts_size;       /* of the struct the values land in */
	/** @return exit status; OPT_USAGE or a negative errno with the sentence, which the program
	 * prints */
	int (*run)(const struct call *call, struct hes_err *err);
};

/**
 * Parse argv[1..] (argv[0] is the command's name) into a struct the caller
 * zeroed. Operands are moved to the front of argv[1..], in order, with NULL behind them.
 * @return the number of operands; -EINVAL with the reason
 */
int opt_parse(const struct command *c, int argc, char **argv, void *values, struct hes_err *err);

/** Whether the files that the command writes can be written, before it begins to work. */
int opt_check_written(const struct command *c, const void *values, struct hes_err *err);

/** @return OPT_USAGE, with the sentence */
int opt_usage(struct hes_err *err, const char *sentence);

/** The option that a word names: "--seed", "--seed=3", "-s", "-s3". @param value  what the word has
 * of its value; NULL: nothing. @return NULL: there is none */
const struct opt *opt_find(const struct command *c, const char *arg, const char **value);

/** Choices of an option, or what it offers; nothing where its values are not known beforehand. */
void opt_words(const struct opt *o, opt_say_fn *say, void *ctx);

/** @return the row at @o or the next one that users see; NULL at the end of the table, which may be
 * NULL itself */
const struct opt *opt_shown(const struct opt *o);

/** Print ": " and the words of opt_words() for a description; nothing where they are too many to be
 * read. */
void opt_tell_words(const struct opt *o, FILE *f);

/** Text of `heshare COMMAND --help`. */
void opt_help(const struct command *c, FILE *f);

#endif
