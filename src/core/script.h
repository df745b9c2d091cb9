/*
 * script.h - which script or program a command for the shell runs: commands of one script with
 * other arguments behave alike.
 */
#ifndef HES_CORE_SCRIPT_H
#define HES_CORE_SCRIPT_H

/**
 * The first script, program or Python module that @command runs, as the command names it, without
 * "./". Left out are: what only prepares (cd, export, source), assignments, what starts others
 * (env, nice, timeout, srun, torchrun, conda run), and interpreters with their options.
 * @return to be freed; NULL: none is found (python3 -c CODE), or out of memory
 */
char *hes_script_of(const char *command);

#endif
