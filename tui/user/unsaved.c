#include "tui/user/unsaved.h"
#include "core/base/buffer.h"
#include "core/session/session.h"
#include "tui/command/commands.h"
#include "tui/user/saved.h"
#include "tui/user/user_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- directories ---- */

char *mt_unsaved_directory(const char *trace_path)
{
	char *directory = mt_strdup(trace_path), *slash = strrchr(directory, '/');

	if (slash)
		*slash = '\0';
	if (slash && !strncmp(base_name(directory), MT_UNSAVED_PREFIX, strlen(MT_UNSAVED_PREFIX)))
		return directory;
	free(directory);
	return NULL;
}

void mt_unsaved_discard(const char *directory)
{
	DIR *files = opendir(directory);
	struct dirent *file;

	while (files && (file = readdir(files)))
		unlinkat(dirfd(files), file->d_name, 0);
	if (files)
		closedir(files);
	rmdir(directory);
}

static bool is_trace(const char *name)
{
	return *name != '.';
}

uint32_t mt_unsaved_count(const char *directory)
{
	DIR *files = opendir(directory);
	struct dirent *file;
	uint32_t count = 0;

	while (files && (file = readdir(files)))
		count += is_trace(file->d_name) && !strstr(file->d_name, ".exec");
	if (files)
		closedir(files);
	return count;
}

struct old {
	char *path;
	int64_t ns; /* when a file was made in it last */
};

static int by_age(const void *a, const void *b)
{
	const struct old *x = a, *y = b;

	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* The unsaved sessions below a directory, in order of age. */
static uint32_t find_old(const char *cache, struct old **old)
{
	DIR *files = opendir(cache);
	uint32_t count = 0, capacity = 0;
	struct dirent *file;
	struct stat is;

	*old = NULL;
	while (files && (file = readdir(files))) {
		if (strncmp(file->d_name, MT_UNSAVED_PREFIX, strlen(MT_UNSAVED_PREFIX)) != 0
			|| fstatat(dirfd(files), file->d_name, &is, AT_SYMLINK_NOFOLLOW) < 0
			|| !S_ISDIR(is.st_mode))
			continue;
		MT_GROW(*old, count, capacity);
		(*old)[count++] = (struct old){mt_format("%s/%s", cache, file->d_name),
			(int64_t)is.st_mtim.tv_sec * 1000000000 + is.st_mtim.tv_nsec};
	}
	if (files)
		closedir(files);
	if (count)
		qsort(*old, count, sizeof **old, by_age);
	return count;
}

/* A recorder still writes into the directory, or a screen shows what is in it. */
static bool in_use(const char *directory, const struct mt_session_entry *sessions, int count)
{
	size_t len = strlen(directory);

	for (int i = 0; i < count; i++)
		if (!sessions[i].program /* it does not answer: it may be any session */
			|| (!strncmp(sessions[i].trace_path, directory, len)
				&& sessions[i].trace_path[len] == '/'))
			return true;
	return mt_saved_is_open(directory);
}

static void remove_old(const char *cache)
{
	struct mt_session_entry *sessions = NULL;
	struct mt_err ignored = {0};
	struct old *old;
	uint32_t count = find_old(cache, &old);
	int running = count > MT_UNSAVED_KEPT ? mt_session_list(&sessions, &ignored) : 0;

	for (uint32_t i = 0; i < count; i++) {
		if (i + MT_UNSAVED_KEPT < count && running >= 0
			&& !in_use(old[i].path, sessions, running))
			mt_unsaved_discard(old[i].path);
		free(old[i].path);
	}
	free(old);
	free(sessions);
}

char *mt_unsaved_begin(struct mt_err *err)
{
	char *cache = mt_user_traces(err), *directory, *pattern = NULL;

	if (!cache)
		return NULL;
	directory = mt_format("%s/%sXXXXXX", cache, MT_UNSAVED_PREFIX);
	if (mkdtemp(directory)) {
		pattern = mt_format("%s/memtui_%%e_%%t_%%p.dat", directory);
		remove_old(cache);
	} else {
		mt_fail(err, -errno,
			"%s: cannot make a directory for the recording: %s; -o FILE writes it "
			"elsewhere",
			cache, strerror(errno));
	}
	free(directory);
	free(cache);
	return pattern;
}

/* ---- saving ---- */

/* Leaves nothing behind if it fails. */
static int copy_file(const char *from, const char *to)
{
	char bytes[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t n = out < 0 ? -1 : 0;
	int code = n < 0 ? -errno : 0;

	while (!code && (n = read(in, bytes, sizeof bytes)) > 0)
		code = mt_write_all(out, bytes, (size_t)n);
	if (!code && n < 0)
		code = -errno;
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) < 0 && !code)
		code = -errno;
	if (out >= 0 && code)
		unlink(to);
	return code;
}

/* Moves a recording, or keeps it in the cache as well; never over another file. */
static int move(const char *from, const char *to, bool keep, struct mt_err *err)
{
	int code = link(from, to) < 0 ? -errno : 0;

	if (code && code != -EEXIST)
		code = copy_file(from, to);
	if (code)
		return mt_fail(err, code, "%s: the recording cannot be saved: %s; it is %s%s", to,
			strerror(-code), access(from, F_OK) < 0 ? "no longer in " : "in ", from);
	if (!keep)
		unlink(from);
	return 0;
}

/* Moves the files whose names begin so. */
static int move_all(const char *directory, const char *prefix, const char *into, bool keep,
	struct mt_err *err)
{
	DIR *files = opendir(directory);
	struct dirent *file;
	int result = 0;

	while (files && !result && (file = readdir(files))) {
		if (!is_trace(file->d_name) || strncmp(file->d_name, prefix, strlen(prefix)) != 0)
			continue;
		char *from = mt_format("%s/%s", directory, file->d_name);
		char *to = mt_format("%s/%s", into, file->d_name);

		result = move(from, to, keep, err);
		free(from);
		free(to);
	}
	if (files)
		closedir(files);
	return result;
}

static int save(const char *directory, const char *trace_path, bool keep, struct mt_err *err)
{
	const char *name = base_name(trace_path);
	char *before = mt_format("%s.exec", name);
	int result = move(trace_path, name, keep, err);

	if (!result)
		result = move_all(directory, before, ".", keep, err);
	if (!result) { /* two lines, so that neither wraps in 80 columns */
		mt_command_say("saved %s", name);
		mt_command_say("'memtui open %s' shows it", name);
	}
	free(before);
	return result;
}

int mt_unsaved_save(const char *directory, const char *trace_path, struct mt_err *err)
{
	int result;

	if (!mt_unsaved_count(directory)) { /* the session's end has said why */
		mt_command_say("there is no recording to save");
		mt_unsaved_discard(directory);
		return 0;
	}
	if (access(trace_path, F_OK) < 0 && errno == ENOENT)
		return mt_fail(err, -ENOENT,
			"%s: there is nothing to save: this process allocated nothing; the "
			"recordings of the others are in %s",
			base_name(trace_path), directory);
	result = save(directory, trace_path, false, err);
	if (!result)
		mt_unsaved_discard(directory);
	return result;
}

int mt_unsaved_save_part(const char *directory, const char *trace_path, struct mt_err *err)
{
	return save(directory, trace_path, true, err);
}

int mt_unsaved_save_all(const char *directory, const char *trace_path, struct mt_err *err)
{
	char *into = mt_strdup(base_name(trace_path)), *end = strstr(into, ".dat");
	uint32_t count = mt_unsaved_count(directory);
	int result = 0;

	if (end)
		*end = '\0';
	if (mkdir(into, 0777) < 0)
		result = mt_fail(err, -errno,
			"%s: cannot make this directory: %s; the recordings are in %s", into,
			strerror(errno), directory);
	if (!result)
		result = move_all(directory, "", into, false, err);
	if (!result) {
		mt_command_say("saved the recordings of %u processes in %s; 'memtui open "
			       "%s/%s' shows them",
			count, into, into, base_name(trace_path));
		mt_unsaved_discard(directory);
	}
	free(into);
	return result;
}
