#include "core/session/objects.h"

#include "core/symbol/bundled.h"
#include "core/symbol/debug_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MOST 65536u /* that are remembered */

struct file {
	dev_t device;
	ino_t inode;
	struct timespec changed;
	bool is_program;
	const char *allocator;
};

struct mt_objects_cache {
	const struct mt_named_functions *named;
	pthread_mutex_t lock;
	struct file *files;
	uint32_t count, capacity;
};

const char mt_objects_named[] = "the functions that --allocator-functions names";

struct mt_objects_cache *mt_objects_cache_new(const struct mt_named_functions *named)
{
	struct mt_objects_cache *c = mt_alloc(sizeof *c);

	c->named = named;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_same(const struct file *f, const struct stat *s, bool is_program)
{
	return f->inode == s->st_ino && f->device == s->st_dev && f->is_program == is_program
		&& f->changed.tv_sec == s->st_ctim.tv_sec
		&& f->changed.tv_nsec == s->st_ctim.tv_nsec;
}

/* A file by the name it is opened by, and as the process knows it. */
struct named {
	const char *opened, *path;
	pid_t pid; /* 0: it has ended */
	bool is_program;
};

static const char *read_one(const struct mt_objects_cache *c, const struct named *n, int fd)
{
	return c->named && mt_named_is_in(c->named, n->path) && mt_named_is_defined(c->named, fd)
		? mt_objects_named
		: mt_bundled_allocator(fd, n->is_program);
}

static const char *read_allocator(const struct mt_objects_cache *c, const struct named *n, int fd)
{
	const char *allocator = read_one(c, n, fd);
	int debug = allocator ? -1 : mt_debug_file_open(fd, n->opened, n->path, n->pid);

	if (debug >= 0) {
		allocator = read_one(c, n, debug);
		close(debug);
	}
	return allocator;
}

static bool remembered(struct mt_objects_cache *c, const struct named *n, const struct stat *s,
	const char **allocator)
{
	uint32_t i;

	pthread_mutex_lock(&c->lock);
	for (i = c->count; i > 0 && !is_same(&c->files[i - 1], s, n->is_program); i--)
		;
	if (i)
		*allocator = c->files[i - 1].allocator;
	pthread_mutex_unlock(&c->lock);
	return i != 0;
}

static void remember(struct mt_objects_cache *c, const struct named *n, const struct stat *s,
	const char *allocator)
{
	pthread_mutex_lock(&c->lock);
	if (c->count < FILES_MOST) {
		MT_GROW(c->files, c->count, c->capacity);
		c->files[c->count++] =
			(struct file){s->st_dev, s->st_ino, s->st_ctim, n->is_program, allocator};
	}
	pthread_mutex_unlock(&c->lock);
}

static void add(struct mt_objects *o, const char *path, const char *allocator)
{
	for (uint32_t i = 0; i < o->found_count; i++)
		if (!strcmp(o->found[i].path, path))
			return;
	MT_GROW(o->found, o->found_count, o->found_capacity);
	o->found[o->found_count++] = (struct mt_object_found){mt_strdup(path), allocator};
}

/* A device or a pipe is not read, and not waited for. Most files are known, and not even opened.
 * Two threads may read the same file once each: the answer is the same. */
static const char *allocator_in(struct mt_objects_cache *c, const struct named *n)
{
	const char *allocator = NULL;
	struct stat status;
	int fd;

	if (stat(n->opened, &status) < 0 || !S_ISREG(status.st_mode)
		|| remembered(c, n, &status, &allocator))
		return allocator;
	fd = open(n->opened, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
		allocator = read_allocator(c, n, fd);
		remember(c, n, &status, allocator);
	}
	close(fd);
	return allocator;
}

static void look_at_file(struct mt_objects *o, struct mt_objects_cache *c, const struct named *n)
{
	const char *allocator = allocator_in(c, n);

	if (allocator)
		add(o, n->path, allocator);
}

void mt_objects_look_at(struct mt_objects *o, struct mt_objects_cache *c, const char *path)
{
	if (*path)
		look_at_file(o, c, &(struct named){path, path, 0, true});
}

/* ---- a process ------------------------------------------------------------------------------- */

struct line {
	unsigned long long start, end, inode;
	char rights[8];
	char *path; /* "": anonymous */
};

static bool parse(char *text, struct line *l)
{
	int at = 0;

	*l = (struct line){0};
	if (sscanf(text, "%llx-%llx %7s %*x %*s %llu%n", &l->start, &l->end, l->rights, &l->inode,
		    &at)
		< 4)
		return false;
	l->path = text + at;
	l->path += strspn(l->path, " ");
	l->path[strcspn(l->path, "\n")] = '\0';
	return true;
}

/* Each file is opened once a process: looks come every second, and most files stay mapped. Of two
 * files that have the same number on two devices only the first is read, which is rare. */
static bool is_new(struct mt_objects *o, uint64_t inode)
{
	for (uint32_t i = 0; i < o->seen_count; i++)
		if (o->seen[i] == inode)
			return false;
	MT_GROW(o->seen, o->seen_count, o->seen_capacity);
	o->seen[o->seen_count++] = inode;
	return true;
}

bool mt_objects_look(struct mt_objects *o, struct mt_objects_cache *c, pid_t pid)
{
	char name[64], exe[4096], *text = NULL, *opened;
	uint64_t data = 0, data_end = 0;
	size_t size = 0;
	struct line l;
	ssize_t n;
	FILE *f;

	snprintf(name, sizeof name, "/proc/%d/exe", (int)pid);
	n = readlink(name, exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = '\0';
	if (*exe)
		look_at_file(o, c, &(struct named){name, exe, pid, true});
	snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
	f = fopen(name, "re");
	if (!f)
		return false;
	while (getline(&text, &size, f) > 0) {
		if (!parse(text, &l))
			continue;
		bool of_file = *l.path == '/' && l.inode;
		bool writable = l.rights[1] == 'w' && l.rights[3] == 'p';
		bool is_bss = !*l.path && l.start == data_end; /* right behind a module's data */

		if (writable && (of_file || is_bss || !strcmp(l.path, "[stack]")))
			data += l.end - l.start;
		data_end = writable && of_file ? l.end : 0;
		if (!of_file || l.rights[2] != 'x' || !strcmp(l.path, exe) || !is_new(o, l.inode))
			continue;
		/* by the root of the process, which may not be ours */
		opened = mt_format("/proc/%d/root%s", (int)pid, l.path);
		look_at_file(o, c, &(struct named){opened, l.path, pid, false});
		free(opened);
	}
	free(text);
	fclose(f);
	o->data_bytes = data > o->data_bytes ? data : o->data_bytes;
	return *exe != '\0';
}

void mt_objects_free(struct mt_objects *o)
{
	for (uint32_t i = 0; i < o->found_count; i++)
		free(o->found[i].path);
	free(o->found);
	free(o->seen);
	*o = (struct mt_objects){0};
}
