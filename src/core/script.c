/*
 * script.c - find the script in a command; see script.h.
 *
 * The command is cut into words as a shell does, without expanding anything. Rows of a table say
 * how many words of a program come before the command or script that it runs.
 */
#include "core/script.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS     " \t\r"
#define SEPARATORS "\n;&|()"
#define ARROWS     "<>"
#define LETTERS    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define ELASTIC                                                                              \
	" --nproc_per_node --nproc-per-node --nnodes --node_rank --node-rank --master_addr " \
	"--master-addr --master_port --master-port --rdzv_backend --rdzv-backend "           \
	"--rdzv_endpoint --rdzv-endpoint --rdzv_id --rdzv-id --rdzv_conf --rdzv-conf "       \
	"--max_restarts --max-restarts --monitor_interval --start_method --role --log_dir "  \
	"--log-dir --redirects -r --tee -t --local_addr --local-addr "

/* A program that runs the command or script behind its own words. */
struct starter {
	const char *name;
	const char *valued; /* options that have their value in the next word */
	const char *sub;    /* first word behind the options; with another one it starts nothing */
	int skip;           /* words behind the options */
	const char *code;   /* option whose value is a program, of which no name is known */
	bool shell;         /* -c is followed by a command */
	bool modules;       /* -m is followed by the name of a Python module */
};

static const struct starter starters[] = {
	{ .name = "env", .valued = " -u --unset -C --chdir " },
	{ .name = "nice", .valued = " -n --adjustment " },
	{ .name = "ionice", .valued = " -c -n --class --classdata " },
	{ .name = "chrt", .skip = 1 },
	{ .name = "taskset", .skip = 1 },
	{ .name = "numactl", .valued = " -N -m -C -i -p " },
	{ .name = "timeout", .valued = " -k -s --kill-after --signal ", .skip = 1 },
	{ .name = "time", .valued = " -f -o " },
	{ .name = "flock", .valued = " -w -E ", .skip = 1 },
	{ .name = "stdbuf", .valued = " -i -o -e " },
	{ .name = "sudo", .valued = " -u -g -C -D " },
	{ .name = "exec", .valued = " -a " },
	{ .name = "nohup" },
	{ .name = "setsid" },
	{ .name = "command" },
	{ .name = "unbuffer" },
	{ .name = "xvfb-run", .valued = " -n -s -e -f " },
	{ .name = "srun",
	  .valued = " -n -N -c -p -t -J -G -A -w -x -o -e -i -D -q --ntasks --nodes --gres --gpus "
		    "--cpus-per-task --partition --time --mem --job-name --account --qos "
		    "--nodelist --output --error --ntasks-per-node --gpus-per-node "
		    "--gpus-per-task --mem-per-cpu --cpu-bind --gpu-bind --chdir --mpi " },
	{ .name = "mpirun",
	  .valued = " -n -np -c -H -x -f -machinefile -hostfile -host --host --hostfile "
		    "--bind-to --map-by -npernode --npernode " },
	{ .name = "mpiexec", .valued = " -n -np -c -H -x -f -host --host --hostfile " },
	{ .name = "horovodrun", .valued = " -np -H --num-proc --hosts -p " },
	{ .name = "torchrun", .valued = ELASTIC, .modules = true },
	{ .name = "torch.distributed.run", .valued = ELASTIC, .modules = true },
	{ .name = "torch.distributed.launch", .valued = ELASTIC, .modules = true },
	{ .name = "deepspeed",
	  .valued = " --num_gpus --num_nodes --include --exclude --hostfile -H -i -e "
		    "--master_port --master_addr --launcher " },
	{ .name = "accelerate",
	  .valued = " --config_file --num_processes --num_machines --mixed_precision "
		    "--main_process_port --main_process_ip --machine_rank --gpu_ids "
		    "--dynamo_backend ",
	  .sub = "launch",
	  .modules = true },
	{ .name = "conda", .valued = " -n -p --name --prefix --cwd ", .sub = "run" },
	{ .name = "mamba", .valued = " -n -p --name --prefix --cwd ", .sub = "run" },
	{ .name = "uv", .valued = " --with -p --python --extra --group --project ", .sub = "run" },
	{ .name = "poetry", .sub = "run" },
	{ .name = "pipenv", .sub = "run" },
	{ .name = "nsys", .valued = " -o -t -s -f ", .sub = "profile" },
	{ .name = "ncu", .valued = " -o -k -s -c --set --section " },
	{ .name = "python", .valued = " -W -X ", .code = " -c ", .modules = true },
	{ .name = "pypy", .valued = " -W -X ", .code = " -c ", .modules = true },
	{ .name = "sh", .valued = " -o ", .shell = true },
	{ .name = "dash", .valued = " -o ", .shell = true },
	{ .name = "bash", .valued = " -o -O --rcfile --init-file ", .shell = true },
	{ .name = "zsh", .valued = " -o ", .shell = true },
	{ .name = "ksh", .valued = " -o ", .shell = true },
	{ .name = "perl", .valued = " -I ", .code = " -e -E " },
	{ .name = "ruby", .valued = " -I -r ", .code = " -e " },
	{ .name = "node", .valued = " -r --require ", .code = " -e -p " },
	{ .name = "Rscript", .code = " -e " },
	{ .name = "julia", .valued = " -J -t -p -L ", .code = " -e -E " },
	{ .name = "java", .valued = " -cp -classpath --class-path " },
};

/* Commands that prepare the one that works, and words of the shell that no command follows. */
static const char prepares[] =
	" cd pushd popd . source export unset set shopt ulimit umask module alias trap wait sleep "
	"echo printf cat date hostname mkdir rm cp mv ln chmod touch test [ [[ true false : for "
	"case done fi esac } pip pip3 git nvidia-smi ";

/* Words of the shell that a command follows. */
static const char keywords[] = " if then elif else while until do ! { ";

/* @param list  words between blanks, with one in front and one behind; NULL: none */
static bool list_has(const char *list, const char *word)
{
	const size_t n = strlen(word);

	if (!n || strchr(word, ' '))
		return false;
	for (const char *at = list; at && (at = strstr(at, word)); at += n)
		if (at[-1] == ' ' && at[n] == ' ')
			return true;
	return false;
}

/* By the name without folders and version: /usr/bin/python3.11 is python. */
static const struct starter *find_starter(const char *word)
{
	const char *name = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
	size_t n = strlen(name);

	while (n && (isdigit((unsigned char)name[n - 1]) || name[n - 1] == '.'))
		n--;
	for (size_t i = 0; i < sizeof(starters) / sizeof(starters[0]); i++)
		if (strlen(starters[i].name) == n && strncmp(starters[i].name, name, n) == 0)
			return &starters[i];
	return NULL;
}

/* --- words --- */

/* Copy what stands in quotes, or behind a backslash, at *@from. */
static void copy_quoted(const char **from, char **to)
{
	const char quote = *(*from)++;

	if (quote == '\\') {
		if (**from)
			*(*to)++ = *(*from)++;
		return;
	}
	while (**from && **from != quote) {
		if (quote == '"' && **from == '\\' && (*from)[1])
			(*from)++;
		*(*to)++ = *(*from)++;
	}
	*from += **from == quote;
}

/* Copy $(COMMAND) at *@from with the blanks in it. */
static void copy_substitution(const char **from, char **to)
{
	int depth = 0;

	do {
		depth += **from == '(';
		depth -= **from == ')';
		*(*to)++ = *(*from)++;
	} while (**from && depth);
}

static void copy_word(const char **from, char **to)
{
	while (**from && !strchr(BLANKS SEPARATORS ARROWS, **from)) {
		if (strchr("'\"\\", **from)) {
			copy_quoted(from, to);
		} else if ((*from)[0] == '$' && (*from)[1] == '(') {
			*(*to)++ = *(*from)++;
			copy_substitution(from, to);
		} else {
			*(*to)++ = *(*from)++;
		}
	}
	*(*to)++ = '\0';
}

/* Whether a redirection is at @at. @return its length, without its file */
static size_t redirection_at(const char *at)
{
	const size_t digits = strspn(at, "0123456789"), n = digits + (at[digits] == '&');
	const size_t arrows = strspn(at + n, ARROWS);

	return arrows ? n + arrows + strspn(at + n + arrows, "&|") : 0;
}

/* Cut @command into words. "" separates commands, and NULL ends all. @text and @out have places for
 * each byte of the command and two more. */
static void cut_words(const char *command, char *text, const char **out)
{
	size_t n = 0;

	while (*(command += strspn(command, BLANKS))) {
		const size_t redirection = redirection_at(command);
		const char *word = text;

		if (!redirection && strchr(SEPARATORS, *command)) {
			out[n++] = "";
			command += strspn(command, SEPARATORS);
			continue;
		}
		command += redirection;
		command += redirection ? strspn(command, BLANKS) : 0;
		copy_word(&command, &text);
		if (!redirection)
			out[n++] = word;
	}
	out[n] = NULL;
}

static bool is_word(const char *word)
{
	return word && *word;
}

static bool is_assignment(const char *word)
{
	const size_t n = strspn(word, LETTERS "0123456789");

	return n && word[n] == '=';
}

/* --- commands --- */

enum started { STARTS_NOTHING, STARTS_COMMAND, STARTS_SHELL };

/* Move *@at from the words of @s to what it starts: a command, or a line for a shell. */
static enum started skip_own_words(const struct starter *s, const char *const **at)
{
	const char *const *w = *at + 1;
	const char *sub = s->sub;
	int skip = s->skip;
	bool shell = false, module = false;

	for (; is_word(*w) && !shell && !module; w++) {
		shell = s->shell && **w == '-' && (*w)[1] != '-' && strchr(*w, 'c');
		module = s->modules && list_has(" -m --module ", *w);
		if (list_has(s->code, *w) || (sub && **w != '-' && strcmp(sub, *w) != 0))
			return STARTS_NOTHING;
		if (**w == '-')
			w += list_has(s->valued, *w) && is_word(w[1]);
		else if (sub)
			sub = NULL;
		else if (skip)
			skip--;
		else if (!is_assignment(*w))
			break;
	}
	*at = w;
	return !is_word(*w) ? STARTS_NOTHING : shell ? STARTS_SHELL : STARTS_COMMAND;
}

/* Of one command; @w begins with its first word. */
static char *find_script(const char *const *w)
{
	const struct starter *s;

	while (is_word(*w) && (is_assignment(*w) || list_has(keywords, *w)))
		w++;
	if (!is_word(*w) || list_has(prepares, *w))
		return NULL;
	while ((s = find_starter(*w))) {
		const enum started started = skip_own_words(s, &w);

		if (started != STARTS_COMMAND)
			return started == STARTS_SHELL ? hes_script_of(*w) : NULL;
	}
	return strdup(strncmp(*w, "./", 2) == 0 ? *w + 2 : *w);
}

char *hes_script_of(const char *command)
{
	const size_t size = strlen(command) + 2;
	const char **words = calloc(size, sizeof(*words)), *const *w = words;
	char *text = malloc(size), *script = NULL;

	if (words && text) {
		cut_words(command, text, words);
		while (*w && !(script = find_script(w))) {
			while (is_word(*w))
				w++;
			w += *w != NULL;
		}
	}
	free(words);
	free(text);
	return script;
}
