#include "core/session/snapshot_file.h"

#include "core/base/rename.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONGEST_S 600 /* that a child may take; names may lie where nobody answers */
#define NUMBERS_MAX 1000

/* A child and the recorder share its result. */
struct file {
	struct file *next;
	struct mt_process *process;
	char *pattern;    /* NULL: beside the trace */
	const char *sort; /* metric of a report that is to be made of it; NULL: none */
	pid_t child;      /* 0: none has begun, or it has ended */
	bool begun, done;
	struct mt_snapshot_result *result; /* shared memory */
};

struct mt_snapshot_files {
	struct file *first; /* lock, as all in it */
	_Atomic uint32_t waiting, done;
};

struct mt_snapshot_files *mt_snapshot_files_new(void)
{
	return mt_alloc(sizeof(struct mt_snapshot_files));
}

static struct file *new_file(struct mt_process *process, uint64_t peer)
{
	struct file *f = mt_alloc(sizeof *f);
	void *shared = mmap(NULL, sizeof *f->result, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED) { /* it then says so itself */
		f->result = mt_alloc_pages(sizeof *f->result);
		mt_fail(&f->result->err, -ENOMEM, "cannot take a snapshot: out of memory");
	} else {
		f->result = shared;
	}
	f->process = process;
	f->result->peer = peer;
	return f;
}

static void add(struct mt_recorder *r, struct file *f)
{
	struct file **end = &r->snapshot_files->first;

	pthread_mutex_lock(&r->lock);
	while (*end)
		end = &(*end)->next;
	*end = f;
	pthread_mutex_unlock(&r->lock);
}

void mt_snapshot_file_ask(struct mt_recorder *r, struct mt_process *process, uint64_t peer,
	const char *pattern, size_t len)
{
	struct file *f = new_file(process, peer);

	f->pattern = len ? mt_format("%.*s", (int)len, pattern) : NULL;
	atomic_fetch_add(&r->snapshot_files->waiting, 1);
	add(r, f);
	if (atomic_load(&process->done)) /* only just */
		mt_snapshot_files_drop(r, process);
	mt_recorder_wake(r);
}

static void finish(struct mt_recorder *r, struct file *f)
{
	pthread_mutex_lock(&r->lock);
	f->child = 0;
	f->done = true;
	pthread_mutex_unlock(&r->lock);
	atomic_fetch_add(&r->snapshot_files->done, 1);
	mt_recorder_notify(r);
}

/* ---- the child ------------------------------------------------------------------------------- */

/* Whoever talks to the recorder would take us for it, and a terminal would not hang up. */
static void close_others(const struct mt_recorder *r)
{
	DIR *list = opendir("/proc/self/fd");
	struct dirent *entry;
	struct stat st;

	while (list && (entry = readdir(list))) {
		int fd = atoi(entry->d_name);

		if (fd > 2 && fd != dirfd(list) && fstat(fd, &st) == 0
			&& (S_ISSOCK(st.st_mode) || fd == r->master_fd))
			close(fd);
	}
	if (list)
		closedir(list);
}

/* Its name is free, or becomes PATH.1, PATH.2 ... where it was the recorder that chose it. */
static int give_name(char path[1024], const char *aside, bool chosen, struct mt_err *err)
{
	char *name = mt_strdup(path);
	int error = mt_rename_new(aside, path);

	for (unsigned n = 1; error == -EEXIST && !chosen && n < NUMBERS_MAX; n++) {
		snprintf(path, 1024, "%.1000s.%u", name, n);
		error = mt_rename_new(aside, path);
	}
	free(name);
	return error
		? mt_fail(err, error, "cannot name the snapshot %s: %s", path, strerror(-error))
		: 0;
}

/* Puts a report on the trace in its place, as 'memtui report' prints it: names and words are not
 * the recorder's business. */
static int make_report(const struct file *f, const char *trace, struct mt_err *err)
{
	char *text = mt_format("%s.txt", trace), *sort = (char *)f->sort;
	char *arguments[] = {"memtui", "report", "--sort", sort, (char *)trace, NULL};
	posix_spawn_file_actions_t actions;
	pid_t child;
	int status = -1, error;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, text, O_WRONLY | O_CREAT | O_EXCL, 0600);
	error = posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ);
	if (!error && waitpid(child, &status, 0) == child && status == 0)
		error = rename(text, trace) < 0 ? errno : 0;
	else if (!error)
		error = EIO;
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		unlink(text);
	free(text);
	return error ? mt_fail(err, -error, "cannot write the report %s: %s", f->result->path,
		       strerror(error))
		     : 0;
}

static _Noreturn void write_file(struct mt_recorder *r, struct mt_image *image, struct file *f,
	int fd, const char *aside)
{
	struct mt_snapshot_result *result = f->result;
	struct stat st = {0};

	prctl(PR_SET_NAME, "snapshot");
	signal(SIGALRM, SIG_DFL);
	alarm(LONGEST_S);
	close_others(r);
	pthread_mutex_init(&r->lock, NULL); /* another thread may have held it */
	if (mt_image_write_snapshot(image, fd, aside, &result->err) == 0
		&& (!f->sort || make_report(f, aside, &result->err) == 0) && stat(aside, &st) == 0)
		give_name(result->path, aside, f->pattern, &result->err);
	result->bytes = (uint64_t)st.st_size;
	if (result->err.code)
		unlink(aside);
	_exit(0);
}

/* ---- the draining thread --------------------------------------------------------------------- */

static void choose_name(struct file *f, const struct mt_image *image, const char *label)
{
	struct mt_snapshot_result *result = f->result;
	char *name = f->pattern
		? mt_output_path(f->pattern, mt_image_path(image), f->process->pid)
		: mt_format("%s.%s-at-%.3fs", mt_image_trace_path(image), label,
			(double)result->moment_ns / 1e9);

	snprintf(result->path, sizeof result->path, "%s", name);
	free(name);
}

/* A negative errno, or the file under its name for the meantime. */
static int create(const struct file *f, const char *aside, struct mt_err *err)
{
	struct stat st;

	if (f->pattern && lstat(f->result->path, &st) == 0)
		return mt_fail(err, -EEXIST, "%s: already exists; choose another name",
			f->result->path);
	return mt_output_open(aside, err);
}

static void begin(struct mt_recorder *r, struct mt_image *image, struct file *f, const char *label)
{
	struct mt_snapshot_result *result = f->result;
	char *aside = NULL;
	int fd = -1;
	pid_t child = -1;

	if (!result->err.code
		&& mt_image_prepare_snapshot(image, &result->moment_ns, &result->err) == 0) {
		choose_name(f, image, label);
		aside = mt_format("%s.%d.new", result->path, (int)getpid());
		fd = create(f, aside, &result->err);
	}
	pthread_mutex_lock(&r->lock); /* nobody reaps it before its number is noted */
	if (fd >= 0)
		child = fork();
	if (child == 0)
		write_file(r, image, f, fd, aside);
	f->child = child > 0 ? child : 0;
	pthread_mutex_unlock(&r->lock);
	if (fd >= 0 && child < 0) {
		mt_fail(&result->err, -errno, "cannot take a snapshot: %s", strerror(errno));
		unlink(aside);
	}
	if (fd >= 0)
		close(fd);
	if (child < 0)
		finish(r, f);
	free(aside);
}

/* One that nobody has begun, and now is ours; NULL: there is none. */
static struct file *claim(struct mt_recorder *r, const struct mt_process *process)
{
	struct file *f;

	if (!atomic_load(&r->snapshot_files->waiting))
		return NULL;
	pthread_mutex_lock(&r->lock);
	f = r->snapshot_files->first;
	while (f && (f->begun || f->process != process))
		f = f->next;
	if (f) {
		f->begun = true;
		atomic_fetch_sub(&r->snapshot_files->waiting, 1);
	}
	pthread_mutex_unlock(&r->lock);
	return f;
}

void mt_snapshot_files_begin(struct mt_recorder *r, struct mt_image *image)
{
	struct file *f;

	while (mt_image_has_begun(image) && (f = claim(r, mt_image_process(image))))
		begin(r, image, f, "snapshot");
}

static void take(struct mt_recorder *r, struct mt_image *image, const char *condition,
	const char *label, const char *sort)
{
	struct file *f = new_file(mt_image_process(image), 0);

	snprintf(f->result->condition, sizeof f->result->condition, "%s", condition);
	f->sort = sort;
	f->begun = true;
	add(r, f);
	begin(r, image, f, label);
}

void mt_snapshot_file_take(struct mt_recorder *r, struct mt_image *image, const char *condition,
	const char *label)
{
	take(r, image, condition, label, NULL);
}

void mt_snapshot_file_report(struct mt_recorder *r, struct mt_image *image, const char *signal,
	const char *label, const char *sort)
{
	take(r, image, signal, label, sort);
}

void mt_snapshot_files_drop(struct mt_recorder *r, const struct mt_process *process)
{
	struct file *f;

	while ((f = claim(r, process))) {
		mt_fail(&f->result->err, -ESRCH, "process %d is no longer being recorded",
			(int)process->pid);
		finish(r, f);
	}
}

void mt_snapshot_files_await(struct mt_recorder *r)
{
	bool any = true;

	while (any && !atomic_load(&r->gave_up)) {
		pthread_mutex_lock(&r->lock);
		any = r->snapshot_files->first;
		pthread_mutex_unlock(&r->lock);
		if (any)
			nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
}

/* ---- the service ----------------------------------------------------------------------------- */

static struct file *of_child(struct mt_recorder *r, pid_t pid)
{
	struct file *f;

	pthread_mutex_lock(&r->lock);
	f = r->snapshot_files->first;
	while (f && f->child != pid)
		f = f->next;
	pthread_mutex_unlock(&r->lock);
	return f;
}

bool mt_snapshot_file_is_child(struct mt_recorder *r, pid_t pid)
{
	return of_child(r, pid);
}

bool mt_snapshot_file_ended(struct mt_recorder *r, pid_t pid, int wait_status)
{
	struct file *f = of_child(r, pid);

	if (!f)
		return false;
	if (!WIFEXITED(wait_status) && !f->result->err.code)
		mt_fail(&f->result->err, -EIO,
			"%s: the process that wrote the snapshot was ended by signal %d",
			f->result->path, WTERMSIG(wait_status));
	finish(r, f);
	return true;
}

bool mt_snapshot_file_next_done(struct mt_recorder *r, struct mt_snapshot_result *result)
{
	struct file **at, *f;

	if (!atomic_load(&r->snapshot_files->done))
		return false;
	pthread_mutex_lock(&r->lock);
	at = &r->snapshot_files->first;
	while (*at && !(*at)->done)
		at = &(*at)->next;
	f = *at;
	if (f) {
		*at = f->next;
		atomic_fetch_sub(&r->snapshot_files->done, 1);
	}
	pthread_mutex_unlock(&r->lock);
	if (!f)
		return false;
	*result = *f->result;
	munmap(f->result, sizeof *f->result);
	free(f->pattern);
	free(f);
	return true;
}
