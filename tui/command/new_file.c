#include "tui/command/new_file.h"

#include "core/base/buffer.h"
#include "core/base/links.h"
#include "core/base/rename.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Those by which somebody, or a limit, ends a command. */
static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU, SIGXFSZ};
#define ENDING (sizeof ending / sizeof *ending)

/* What is to be removed, or NULL; a handler can reach nothing but static storage. */
static struct {
	const char *volatile name;
} unfinished;

static void on_end(int number)
{
	const char *name = unfinished.name;

	if (name)
		unlink(name);
	raise(number); /* SA_RESETHAND: ends memtui now */
}

/* A signal that is ignored stays so: nohup asks for it. */
static void watch(void)
{
	struct sigaction action = {.sa_handler = on_end, .sa_flags = SA_RESETHAND | SA_NODEFER};
	struct sigaction present;

	for (size_t i = 0; i < ENDING; i++)
		if (sigaction(ending[i], NULL, &present) == 0 && present.sa_handler == SIG_DFL)
			sigaction(ending[i], &action, NULL);
}

/* While a name comes or goes: the handler would miss it, or take another file for it. */
static void hold(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ENDING; i++)
		sigaddset(&set, ending[i]);
	sigprocmask(SIG_BLOCK, &set, before);
}

int mt_new_file_check(const char *from, const char *to, struct mt_err *err)
{
	bool piped = !strcmp(to, "-");
	struct stat in, out;

	if ((strcmp(from, "-") ? stat(from, &in) : fstat(STDIN_FILENO, &in)) < 0
		|| (piped ? fstat(STDOUT_FILENO, &out) : stat(to, &out)) < 0 || !S_ISREG(in.st_mode)
		|| in.st_dev != out.st_dev || in.st_ino != out.st_ino)
		return 0;
	return mt_fail(err, -EINVAL, "%s: is the input file; choose another name",
		piped ? "standard output" : to);
}

static void forget(struct mt_new_file *file)
{
	free(file->path);
	free(file->aside);
	*file = (struct mt_new_file){0};
}

/* A FIFO, a device or a descriptor (/dev/stdout) is written as it is. -ENXIO: it is none of
 * these. */
static int open_special(const char *path, struct mt_err *err)
{
	struct stat is;
	int fd;

	if (stat(path, &is) < 0 || S_ISREG(is.st_mode) || S_ISDIR(is.st_mode))
		return -ENXIO;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return mt_fail(err, -errno, "cannot write %s: %s", path, strerror(errno));
	if (fstat(fd, &is) == 0 && !S_ISREG(is.st_mode))
		return fd;
	close(fd); /* exchanged for a file meanwhile */
	return mt_fail(err, -EEXIST, "%s: was replaced meanwhile; try again", path);
}

static int open_aside(struct mt_new_file *file, const char *path, mode_t mode, struct mt_err *err)
{
	sigset_t before;

	file->aside = mt_format("%s.%d.new", file->path, (int)getpid());
	watch();
	hold(&before);
	int fd = open(file->aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode), error = errno;

	if (fd >= 0)
		unfinished.name = file->aside;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (fd >= 0)
		return fd;
	mt_fail(err, -error, "cannot write %s: %s", error == EEXIST ? file->aside : path,
		strerror(error));
	forget(file);
	return -error;
}

int mt_new_file_open(struct mt_new_file *file, const char *path, bool force, mode_t mode,
	struct mt_err *err)
{
	struct stat is;

	*file = (struct mt_new_file){0};
	int fd = open_special(path, err);

	if (fd != -ENXIO)
		return fd;
	*file = (struct mt_new_file){.path = mt_links_resolve(path, err), .force = force};
	if (!file->path)
		return -ELOOP;
	bool exists = lstat(file->path, &is) == 0;

	if (exists && S_ISDIR(is.st_mode))
		fd = mt_fail(err, -EISDIR, "%s: is a directory; give the name of a file", path);
	else if (exists && !force)
		fd = mt_fail(err, -EEXIST, "%s: already exists; choose another name or use --force",
			path);
	if (fd != -ENXIO) {
		forget(file);
		return fd;
	}
	fd = open_aside(file, path, mode, err);
	if (fd >= 0 && exists)
		fchmod(fd, is.st_mode & 0777);
	return fd;
}

static int give_name(const struct mt_new_file *file, struct mt_err *err)
{
	int error = file->force ? rename(file->aside, file->path) < 0 ? -errno : 0
				: mt_rename_new(file->aside, file->path);

	if (error == -EEXIST)
		return mt_fail(err, error, "%s: already exists; choose another name or use --force",
			file->path);
	return error ? mt_fail(err, error, "cannot rename the new file to %s: %s", file->path,
		       strerror(-error))
		     : 0;
}

int mt_new_file_close(struct mt_new_file *file, int status, struct mt_err *err)
{
	sigset_t before;

	if (!file->aside)
		return status;
	hold(&before);
	int error = status < 0 ? status : give_name(file, err);

	if (error)
		unlink(file->aside);
	unfinished.name = NULL;
	sigprocmask(SIG_SETMASK, &before, NULL);
	forget(file);
	return error ? error : status;
}
