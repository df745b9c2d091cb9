/*
 * pilot_script.c - write the batch script of `heshare pilot`; see pilot_script.h.
 *
 * Slurm starts it again from its beginning after a requeue: what is there is not done again. A head
 * that was killed is followed by another one, which goes on.
 */
#include "cluster/pilot_script.h"

#include "app/jobs_load.h"

static void put_name(FILE *f, const char *variable, const char *value)
{
	fprintf(f, "%s=", variable);
	app_put_quoted(f, value);
	fputc('\n', f);
}

static void put_option(FILE *f, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(f, " %s ", name);
	app_put_quoted(f, value);
}

static void put_directives(FILE *f, const struct pilot_opts *o, const char *folder)
{
	fputs("#!/bin/bash\n#SBATCH --job-name=heshare\n", f);
	fprintf(f,
		"#SBATCH --nodes=%llu\n#SBATCH --ntasks-per-node=1\n#SBATCH "
		"--gpus-per-node=%s\n#SBATCH --time=%s\n",
		(unsigned long long)o->nodes, o->gpus, o->time);
	if (o->partition)
		fprintf(f, "#SBATCH --partition=%s\n", o->partition);
	/* The nodes that are left go on without one that fails. */
	fputs("#SBATCH --no-kill\n#SBATCH --requeue\n#SBATCH --open-mode=append\n", f);
	/* sbatch makes no folder: a script that is printed has its messages where it is submitted.
	 */
	fprintf(f, "#SBATCH --output=%s%spilot.%%j.log\n", o->print ? "" : folder,
		o->print ? "" : "/");
	if (o->sbatch)
		fprintf(f, "#SBATCH %s\n", o->sbatch);
}

static void put_plan(FILE *f, const struct pilot_opts *o, const char *jobs)
{
	fputs("[ -e \"$folder/plan.json\" ] || \"$heshare\" plan ", f);
	app_put_quoted(f, jobs);
	fputs(" --gpus slurm -o \"$folder/plan.json\"", f);
	put_option(f, "--policy", o->policy);
	put_option(f, "--prefer", o->prefer);
	put_option(f, "--budget", o->budget);
	put_option(f, "--predictor", o->predictor);
	put_option(f, "--profiles", o->profiles);
	put_option(f, "--catalogue", o->catalogue);
	fputs(" || exit\n", f);
}

void pilot_script(FILE *f, const struct pilot_opts *o, const char *program, const char *here,
		  const char *jobs, const char *folder, const char *command)
{
	put_directives(f, o, folder);
	fputs("\n# Made by heshare pilot. Slurm may start it several times: it goes on with what "
	      "is left.\n",
	      f);
	put_name(f, "heshare", program);
	put_name(f, "folder", folder);
	fputs("cd ", f);
	app_put_quoted(f, here);
	fputs(" || exit\nmkdir -p \"$folder\" || exit\n", f);
	put_plan(f, o, jobs);
	fputs("\nrun=\nstopped=\n"
	      "trap 'stopped=1; [ -z \"$run\" ] || kill -s TERM \"$run\"' TERM\n"
	      "for try in 1 2 3; do\n"
	      "\t\"$heshare\" run \"$folder/plan.json\" --resume-if-begun --launcher slurm --store "
	      "\"$folder/store.db\"",
	      f);
	fprintf(f, " --before-end %g", o->before_end_s);
	if (o->early_ok)
		fputs(" --early-ok", f);
	put_option(f, "--command", command);
	put_option(f, "--predictor", o->predictor);
	put_option(f, "--profiles", o->profiles);
	put_option(f, "--catalogue", o->catalogue);
	/* A signal that came before there was a head is passed on. */
	fputs(" &\n\trun=$!\n"
	      "\t[ -z \"$stopped\" ] || kill -s TERM \"$run\"\n"
	      "\twhile wait \"$run\"; status=$?; kill -s 0 \"$run\" 2>/dev/null; do :; done\n"
	      "\twait \"$run\"; status=$?\n"
	      "\t# Killed: another one goes on.\n"
	      "\t[ \"$status\" -gt 128 ] && [ -z \"$stopped\" ] || break\n"
	      "done\n"
	      "exit \"$status\"\n",
	      f);
}
