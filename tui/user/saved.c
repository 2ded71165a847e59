/* The sessions in the cache: their directories, and what is in these. */
#include "tui/user/saved.h"
#include "tui/user/saved_parts.h"
#include "tui/user/unsaved.h"
#include "tui/user/user_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_LEN 6 /* of what mkdtemp puts in */
#define PLACES 2
#define READABLE (16u << 20) /* bytes of traces: one or two seconds */

const char *mt_saved_state_name(enum mt_saved_state state)
{
	static const char *const names[] = {"complete", "damaged", "incomplete", "being written",
		"unreadable", "empty"};

	return names[state];
}

/* ---- one session ---- */

int mt_saved_open_directory(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat is;

	if (fd < 0 || fstat(fd, &is) < 0)
		return -errno;
	if (is.st_uid == geteuid())
		return fd;
	close(fd);
	return -EPERM;
}

int mt_saved_open(int directory, const char *name, struct stat *is)
{
	struct stat before;
	int fd;

	/* looked at before it is opened: to open a device may do something */
	if (fstatat(directory, name, &before, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!mt_saved_is_own(&before))
		return -EPERM;
	fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, is) == 0 && mt_saved_is_own(is))
		return fd;
	close(fd);
	return -EPERM;
}

static void add_strange(struct mt_saved *s, const char *name)
{
	MT_GROW(s->strange, s->strange_count, s->strange_capacity);
	s->strange[s->strange_count++] = mt_strdup(name);
}

static void add_file(struct mt_saved *s, int directory, const char *name, uint64_t *readable)
{
	struct mt_saved_file file = {.state = MT_SAVED_UNREADABLE};
	struct stat is;
	int fd = mt_saved_is_name(name, &file.whole) ? mt_saved_open(directory, name, &is) : -EPERM;

	if (fd == -EPERM)
		add_strange(s, name);
	if (fd == -EPERM || fd == -ENOENT)
		return;
	file.name = mt_strdup(name);
	if (fd < 0) {
		file.error = mt_format("%s cannot be read: %s", name, strerror(-fd));
	} else {
		int64_t changed = (int64_t)is.st_mtim.tv_sec * 1000000000 + is.st_mtim.tv_nsec;

		file.bytes = (uint64_t)is.st_size;
		s->changed_ns = changed > s->changed_ns ? changed : s->changed_ns;
		mt_saved_look(&file, fd, readable);
	}
	s->bytes += file.bytes;
	MT_GROW(s->files, s->count, s->capacity);
	s->files[s->count++] = file;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint32_t count_processes(const struct mt_saved *s)
{
	uint32_t *pids = mt_alloc(((size_t)s->count + 1) * sizeof *pids), count = 0, different = 0;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->files[i].whole && s->files[i].pid)
			pids[count++] = s->files[i].pid;
	qsort(pids, count, sizeof *pids, by_number);
	for (uint32_t i = 0; i < count; i++)
		different += !i || pids[i] != pids[i - 1];
	free(pids);
	return different;
}

static bool is_root(const struct mt_saved_file *f)
{
	return f->pid && f->pid == f->root;
}

/* Returns true if a speaks for the session rather than b: the first program, by what it ran last.
 * If it has no trace, because it allocated nothing, the process that began first. */
static bool comes_before(const struct mt_saved_file *a, const struct mt_saved_file *b)
{
	if (!a->whole || !a->pid || !b || !b->pid)
		return a->whole && (!b || (a->pid && !b->pid));
	if (is_root(a) != is_root(b))
		return is_root(a);
	if (is_root(a) && a->images_before != b->images_before)
		return a->images_before > b->images_before;
	if (!is_root(a) && a->start_unix_ns != b->start_unix_ns)
		return a->start_unix_ns < b->start_unix_ns;
	return strcmp(a->name, b->name) < 0; /* copies of one trace */
}

static void sum_up(struct mt_saved *s)
{
	bool readable = false;

	for (uint32_t i = 0; i < s->count; i++) {
		if (comes_before(&s->files[i], s->first))
			s->first = &s->files[i];
		readable |= s->files[i].state != MT_SAVED_UNREADABLE;
	}
	s->processes = count_processes(s);
	s->state = s->error ? MT_SAVED_UNREADABLE
		: !s->count ? MT_SAVED_EMPTY
		: s->first  ? s->first->state
			    : MT_SAVED_INCOMPLETE;
	if (!s->error && s->count && !readable)
		s->state = MT_SAVED_UNREADABLE;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->files[i].state == MT_SAVED_WRITTEN)
			s->state = MT_SAVED_WRITTEN;
}

static bool is_named_so(const char *name)
{
	size_t len = strlen(MT_UNSAVED_PREFIX);

	if (strncmp(name, MT_UNSAVED_PREFIX, len) != 0 || strlen(name + len) != NAME_LEN)
		return false;
	for (name += len; *name; name++)
		if (!isalnum((unsigned char)*name))
			return false;
	return true;
}

/* cache: the directory's descriptor. False: there is no such session. */
static bool load(struct mt_saved *s, int cache, const char *place, const char *name,
	uint64_t *readable)
{
	int fd = mt_saved_open_directory(cache, name);
	struct dirent *entry;
	struct stat is;
	DIR *d;

	if (fd == -ENOENT)
		return false;
	s->directory = mt_format("%s/%s", place, name);
	s->name = s->directory + strlen(s->directory) - NAME_LEN;
	if (fd < 0) {
		s->error = mt_format("%s cannot be read: %s", s->directory,
			fd == -ENOTDIR || fd == -ELOOP ? "it is no directory of memtui's"
						       : strerror(-fd));
	} else if (!fstat(fd, &is)) {
		s->changed_ns = (int64_t)is.st_mtim.tv_sec * 1000000000 + is.st_mtim.tv_nsec;
	}
	d = fd < 0 ? NULL : fdopendir(fd);
	while (d && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			add_file(s, dirfd(d), entry->d_name, readable);
	if (d)
		closedir(d);
	sum_up(s);
	return true;
}

bool mt_saved_is_open(const char *directory)
{
	int fd = mt_saved_open_directory(AT_FDCWD, directory), file;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool is_open = false, unsure = false;
	struct dirent *entry;
	struct stat is;

	while (d && !is_open && (entry = readdir(d))) {
		file = mt_saved_open(dirfd(d), entry->d_name, &is);
		if (file < 0)
			continue;
		is_open = mt_saved_is_leased(file, F_WRLCK, &unsure);
		close(file);
	}
	if (d)
		closedir(d);
	return is_open;
}

/* ---- all of them ---- */

/* Returns true if the recorder writes into the directory. */
static bool writes_into(const struct mt_session_entry *entry, const char *directory)
{
	size_t len = strlen(directory);

	return entry->program && !strncmp(entry->trace_path, directory, len)
		&& entry->trace_path[len] == '/';
}

static int by_begin(const void *a, const void *b)
{
	const struct mt_saved *x = a, *y = b;
	int64_t begin_x = x->first && x->first->start_unix_ns
		? (int64_t)x->first->start_unix_ns
		: x->changed_ns;
	int64_t begin_y = y->first && y->first->start_unix_ns
		? (int64_t)y->first->start_unix_ns
		: y->changed_ns;

	return begin_x > begin_y ? -1 : begin_x < begin_y;
}

static int load_place(struct mt_saved_list *list, const char *place, struct mt_err *err)
{
	int fd = mt_saved_open_directory(AT_FDCWD, place);
	struct dirent *entry;
	DIR *d;

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -EPERM || fd == -ELOOP)
		return 0; /* memtui run makes it, or would not write there either */
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return mt_fail(err, fd < 0 ? fd : -errno, "%s cannot be read: %s", place,
			strerror(fd < 0 ? -fd : errno));
	while ((entry = readdir(d))) {
		struct mt_saved s = {.state = MT_SAVED_EMPTY};

		if (!is_named_so(entry->d_name)
			|| !load(&s, dirfd(d), place, entry->d_name, &list->readable))
			continue;
		MT_GROW(list->items, list->count, list->capacity);
		list->items[list->count++] = s;
	}
	closedir(d);
	return 0;
}

int mt_saved_load(struct mt_saved_list *list, bool sums, struct mt_err *err)
{
	int result = 0;

	*list = (struct mt_saved_list){.readable = sums ? READABLE : 0,
		.place = mt_user_traces_at(0)};
	list->running_count = mt_session_list(&list->running, err);
	if (list->running_count < 0)
		return list->running_count;
	for (int i = 0; i < PLACES && !result; i++) {
		char *place = mt_user_traces_at(i);

		result = place ? load_place(list, place, err) : 0;
		free(place);
	}
	if (list->count)
		qsort(list->items, list->count, sizeof *list->items, by_begin);
	for (uint32_t i = 0; i < list->count; i++)
		for (int j = 0; j < list->running_count; j++)
			if (writes_into(&list->running[j], list->items[i].directory))
				list->items[i].running = &list->running[j];
	return result;
}

static void free_one(struct mt_saved *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		free(s->files[i].name);
		free(s->files[i].command);
		free(s->files[i].error);
	}
	for (uint32_t i = 0; i < s->strange_count; i++)
		free(s->strange[i]);
	free(s->files);
	free(s->strange);
	free(s->directory);
	free(s->error);
}

void mt_saved_free(struct mt_saved_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		free_one(&list->items[i]);
	free(list->items);
	if (list->running_count > 0)
		free(list->running);
	free(list->place);
	*list = (struct mt_saved_list){.count = 0};
}

/* ---- by name ---- */

/* How many sessions of the cache, and recordings, are of a process; *found: the last of these. */
static uint32_t find_pid(const struct mt_saved_list *list, uint32_t pid,
	const struct mt_saved **found)
{
	uint32_t count = 0;

	for (uint32_t i = 0; pid && i < list->count; i++)
		if (list->items[i].first && list->items[i].first->pid == pid) {
			*found = &list->items[i];
			count++;
		}
	return count;
}

const char *mt_saved_handle(const struct mt_saved_list *list, const struct mt_saved *s,
	char out[16])
{
	const struct mt_saved *found;
	uint32_t pid = s->first ? s->first->pid : 0;

	if (find_pid(list, pid, &found) != 1)
		return s->name;
	snprintf(out, 16, "%u", pid);
	return out;
}

static bool is_path_of(const char *word, const char *directory)
{
	char *path = strchr(word, '/') ? realpath(word, NULL) : NULL;
	char *real = path ? realpath(directory, NULL) : NULL;
	bool same = real && !strcmp(path, real);

	free(path);
	free(real);
	return same;
}

/* The names of those that a number means, for a sentence. */
static int ambiguous(const struct mt_saved_list *list, uint32_t pid, struct mt_err *err)
{
	struct mt_buffer names = {0};
	int result;

	for (uint32_t i = 0; i < list->count; i++)
		if (list->items[i].first && list->items[i].first->pid == pid)
			mt_buffer_printf(&names, "%s%s", names.len ? ", " : "",
				list->items[i].name);
	result = mt_fail(err, -EINVAL,
		"several sessions are of a process %u; give the name of one: %s", pid,
		(char *)names.data);
	mt_buffer_free(&names);
	return result;
}

/* A recording outside the cache has a name already. */
static bool runs_elsewhere(const struct mt_saved_list *list, uint32_t pid, struct mt_err *err)
{
	for (int i = 0; pid && i < list->running_count; i++)
		if ((uint32_t)list->running[i].program == pid) {
			mt_fail(err, -EBUSY,
				"process %u is being recorded into %s, which is not in the cache; "
				"'memtui ctl %u stop' ends the recording",
				pid, list->running[i].trace_path, pid);
			return true;
		}
	return false;
}

const struct mt_saved *mt_saved_find(const struct mt_saved_list *list, const char *word,
	struct mt_err *err)
{
	const struct mt_saved *found = NULL;
	char *end;
	unsigned long number = strtoul(word, &end, 10);
	uint32_t pid = isdigit((unsigned char)*word) && !*end && number <= INT32_MAX
		? (uint32_t)number
		: 0;
	uint32_t count = find_pid(list, pid, &found);
	size_t prefix = strncmp(word, MT_UNSAVED_PREFIX, strlen(MT_UNSAVED_PREFIX))
		? 0
		: strlen(MT_UNSAVED_PREFIX);

	for (uint32_t i = 0; i < list->count; i++)
		if (!strcmp(word + prefix, list->items[i].name)
			|| is_path_of(word, list->items[i].directory))
			return &list->items[i];
	if (count == 1)
		return found;
	if (count)
		ambiguous(list, pid, err);
	else if (!runs_elsewhere(list, pid, err))
		mt_fail(err, -ENOENT,
			"no session '%.60s' in %s; 'memtui sessions' lists those that are there",
			word, list->place ? list->place : "the cache");
	return NULL;
}
