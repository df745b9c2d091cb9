/* test_file.c - output that is whole or not there; input in one piece, bounded. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

#include "base/file.h"
#include "unit_test.h"

static char dir[] = "/tmp/hes-file-XXXXXX";
static char path[64];

static int make_dir(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/out", mkdtemp(dir));
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir); /* fails when something was left behind */
}

static void put(const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void assert_holds(const char *text)
{
	char *got;
	size_t len;

	assert_int_equal(hes_file_slurp(path, 1 << 20, &got, &len, NULL), 0);
	assert_string_equal(got, text);
	assert_int_equal(len, strlen(text));
	free(got);
}

TEST(the_old_file_stays_until_the_new_one_is_whole)
{
	struct hes_file out;
	struct stat st;
	mode_t mask = umask(027);

	put("old");
	assert_int_equal(hes_file_create(&out, path, NULL), 0);
	fputs("new", out.f);
	fflush(out.f);
	assert_holds("old");
	assert_int_equal(hes_file_commit(&out, NULL), 0);
	assert_holds("new");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	umask(mask);
}

TEST(an_abandoned_file_leaves_no_trace)
{
	struct hes_file out;

	put("old");
	assert_int_equal(hes_file_create(&out, path, NULL), 0);
	fputs("half", out.f);
	hes_file_abort(&out);
	hes_file_abort(&out);
	assert_holds("old");
}

static size_t files_in(const char *folder)
{
	DIR *d = opendir(folder);
	size_t n = 0;

	if (!d)
		return SIZE_MAX;
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2; /* . and .. */
}

/* A killed writer once left a file next to the old one. */
TEST(a_killed_writer_leaves_nothing_but_the_old_file)
{
	int probe = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), status;
	pid_t child;

	if (probe < 0)
		skip(); /* this file system has no files without a name */
	close(probe);
	put("old");
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct hes_file out;

		if (!hes_file_create(&out, path, NULL)) {
			fputs("half", out.f);
			fflush(out.f);
		}
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(files_in(dir), 1);
	assert_holds("old");
}

TEST(the_longest_name_is_written_and_a_longer_one_refused)
{
	char name[300], longest[NAME_MAX + 2];
	struct hes_file out;

	memset(longest, 'x', NAME_MAX);
	longest[NAME_MAX] = '\0';
	snprintf(name, sizeof(name), "%s/%s", dir, longest);
	assert_int_equal(hes_file_create(&out, name, NULL), 0);
	fputs("new", out.f);
	assert_int_equal(hes_file_commit(&out, NULL), 0);
	assert_int_equal(unlink(name), 0);
	strcat(longest, "x");
	snprintf(name, sizeof(name), "%s/%s", dir, longest);
	assert_int_equal(hes_file_create(&out, name, NULL), -ENAMETOOLONG);
}

/* The child of the test below runs this in a root of its own. @return its exit status */
static int write_next_to(void)
{
	struct hes_file out, other;
	char content[8] = "";
	struct stat st;
	FILE *f;

	if (chroot(dir) || chdir("/"))
		return 2;
	umask(027);
	if (hes_file_create(&out, "/fresh", NULL) || hes_file_create(&other, "/fresh", NULL) ||
	    files_in("/") != 2)
		return 3;
	fputs("new", out.f);
	hes_file_abort(&other);
	if (hes_file_commit(&out, NULL) || files_in("/") != 1)
		return 4;
	f = fopen("/fresh", "re");
	return f && fgets(content, sizeof(content), f) && strcmp(content, "new") == 0 &&
			       !fstat(fileno(f), &st) && (st.st_mode & 0777) == 0640
		       ? 0
		       : 5;
}

/* As on a machine without /proc, which links files without a name. */
TEST(where_files_need_a_name_the_new_one_is_next_to_the_old_one)
{
	int status;
	pid_t child;

	if (geteuid() != 0)
		skip();
	unlink(path);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(write_next_to());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	snprintf(path, sizeof(path), "%s/fresh", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/out", dir);
}

TEST(a_full_disk_gives_an_error_and_keeps_the_old_file)
{
	struct hes_file out;
	struct hes_err err;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	if (full < 0)
		skip();
	put("old");
	assert_int_equal(hes_file_create(&out, path, NULL), 0);
	assert_true(dup2(full, fileno(out.f)) >= 0);
	fputs("new", out.f);
	assert_int_equal(hes_file_commit(&out, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "/out: cannot write: No space left"));
	close(full);
	assert_holds("old");
}

TEST(a_missing_folder_gives_an_error)
{
	struct hes_file out;
	struct hes_err err;

	assert_int_equal(hes_file_create(&out, "/nowhere/out", &err), -ENOENT);
	assert_string_equal(err.msg, "/nowhere/out: cannot create: No such file or directory");
	assert_null(out.f);
}

TEST(a_device_is_written_to_and_never_replaced)
{
	struct hes_file out;
	struct hes_err err;
	struct stat st;

	assert_int_equal(hes_file_create(&out, "/dev/null", NULL), 0);
	fputs("gone", out.f);
	assert_int_equal(hes_file_commit(&out, NULL), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	if (access("/dev/full", W_OK))
		return;
	assert_int_equal(hes_file_create(&out, "/dev/full", NULL), 0);
	fputs("too much", out.f);
	assert_int_equal(hes_file_commit(&out, &err), -ENOSPC);
	assert_string_equal(err.msg, "/dev/full: cannot write: No space left on device");
	assert_int_equal(stat("/dev/full", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

/* As a shell's > would. */
TEST(a_file_that_was_there_keeps_its_mode_and_owner)
{
	static const mode_t modes[] = { 0600, 0664, 0755, 0444 };
	struct hes_file out;
	struct stat st;

	put("old");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		if (!geteuid())
			assert_int_equal(chown(path, 1234, 4321), 0);
		assert_int_equal(hes_file_create(&out, path, NULL), 0);
		fputs("new", out.f);
		assert_int_equal(hes_file_commit(&out, NULL), 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, modes[i]);
		if (!geteuid())
			assert_true(st.st_uid == 1234 && st.st_gid == 4321);
	}
	assert_int_equal(chmod(path, 04755), 0);
	assert_int_equal(hes_file_create(&out, path, NULL), 0);
	assert_int_equal(hes_file_commit(&out, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	unlink(path);
}

TEST(a_link_stays_and_its_target_is_written)
{
	char link[80];
	struct hes_file out;
	struct stat st;

	put("old");
	snprintf(link, sizeof(link), "%s.link", path);
	assert_int_equal(symlink("out", link), 0);
	assert_int_equal(hes_file_create(&out, link, NULL), 0);
	fputs("new", out.f);
	assert_int_equal(hes_file_commit(&out, NULL), 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(unlink(link), 0);
	assert_holds("new");
}

TEST(a_folder_is_refused_before_anything_is_written)
{
	struct hes_file out;
	struct hes_err err;

	assert_int_equal(hes_file_create(&out, dir, &err), -EISDIR);
	assert_non_null(strstr(err.msg, ": cannot create: Is a directory"));
}

TEST(gzip_files_are_read_as_their_content)
{
	gzFile gz = gzopen(path, "w");

	gzputs(gz, "packed");
	gzclose(gz);
	assert_holds("packed");
}

TEST(a_truncated_gzip_file_is_refused)
{
	gzFile gz = gzopen(path, "w");
	struct hes_err err;
	struct stat st;
	char *got = NULL;
	size_t len = 99;

	for (int i = 0; i < 10000; i++)
		gzprintf(gz, "%d\n", i * i);
	gzclose(gz);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size / 2), 0);
	assert_int_equal(hes_file_slurp(path, 1 << 20, &got, &len, &err), -EIO);
	assert_non_null(strstr(err.msg, "truncated gzip file"));
	assert_null(got); /* once it was left pointing at freed text, which a caller freed again */
}

/* A few kilobytes of gzip can hold gigabytes. */
TEST(a_file_above_the_bound_is_refused)
{
	gzFile gz = gzopen(path, "w");
	struct hes_err err;
	char *got;
	size_t len;

	for (int i = 0; i < 3 << 10; i++)
		gzwrite(gz, (char[1024]){ 0 }, 1024);
	gzclose(gz);
	assert_int_equal(hes_file_slurp(path, 2 << 20, &got, &len, &err), -EFBIG);
	assert_non_null(strstr(err.msg, "larger than 2 MiB"));
}

TEST(a_folder_is_not_a_file)
{
	struct hes_err err;
	char *got;
	size_t len;

	assert_true(hes_file_slurp(dir, 1 << 20, &got, &len, &err) < 0);
	assert_non_null(strstr(err.msg, dir));
}

int main(void)
{
	return run_unit_tests(make_dir, remove_dir);
}
