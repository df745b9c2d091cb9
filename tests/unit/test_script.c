/* test_script.c - which script a command runs. */
#include "core/script.h"
#include "unit_test.h"

TEST(the_script_of_a_command_is_found_behind_what_starts_it)
{
	static const struct {
		const char *command, *script;
	} cases[] = {
		{ "python3 train.py --lr 0.1", "train.py" },
		{ "./train.py", "train.py" },
		{ "/usr/bin/python3.11 -u -W ignore 'my train.py' -m x", "my train.py" },
		{ "python -m pkg.train --epochs 3", "pkg.train" },
		{ "python -Xdev -c 'print(1)' train.py", NULL },
		{ "python -c 'import a' && python b.py", "b.py" },
		{ "CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=\"4\" python train.py", "train.py" },
		{ "env -u A B=2 nice -n 10 nohup python train.py", "train.py" },
		{ "timeout -s KILL 2h stdbuf -oL ./a.out", "a.out" },
		{ "taskset -c 0-3 python a.py", "a.py" },
		{ "srun -n 1 --gres gpu:1 --mem=4G python a.py", "a.py" },
		{ "mpirun -np 2 -x PATH=/a ./net", "net" },
		{ "torchrun --nproc_per_node 2 --standalone train.py --x", "train.py" },
		{ "torchrun --nnodes=1 -m pkg.train", "pkg.train" },
		{ "python -m torch.distributed.run --nproc-per-node 2 train.py", "train.py" },
		{ "accelerate launch --num_processes 2 train.py", "train.py" },
		{ "conda run -n ml python a.py", "a.py" },
		{ "conda activate ml && python a.py", "a.py" },
		{ "uv run --with numpy train.py", "train.py" },
		{ "bash run.sh 1 2", "run.sh" },
		{ "bash -lc 'cd /x && exec python \"a b.py\" --y'", "a b.py" },
		{ "sh -c \"sh -c 'python c.py'\"", "c.py" },
		{ "cd /data; . venv/bin/activate; python3 a.py | tee log", "a.py" },
		{ "(cd x && python a.py)", "a.py" },
		{ "for i in 1 2; do python a.py $i; done", "a.py" },
		{ "if true; then python a.py; fi", "a.py" },
		{ "python a.py>log 2>&1", "a.py" },
		{ "2>err >out python a.py", "a.py" },
		{ "X=$(date +%s; id) python a.py", "a.py" },
		{ "echo hi\npython a.py", "a.py" },
		{ "java -cp a.jar -Xmx2g Main", "Main" },
		{ "perl -e 1", NULL },
		{ "python a\\ b.py", "a b.py" },
		{ "' if' x", " if" },
		{ "python3", NULL },
		{ "bash -c", NULL },
		{ "cd /x", NULL },
		{ "'unclosed", "unclosed" },
		{ "$(", "$(" },
		{ "\\", NULL },
		{ ">", NULL },
		{ "&;|()", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < N(cases); i++) {
		char *script = hes_script_of(cases[i].command);

		if ((script != NULL) != (cases[i].script != NULL) ||
		    (script && strcmp(script, cases[i].script) != 0))
			fail_msg("%s: %s, not %s", cases[i].command, script ? script : "none",
				 cases[i].script ? cases[i].script : "none");
		free(script);
	}
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
