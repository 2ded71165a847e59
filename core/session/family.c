#include "core/session/family.h"

#include "core/model/blind.h"
#include "core/model/load.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 20000 /* that are looked at */

void mt_family_free(struct mt_family *f)
{
	free(f->items);
	free(f->depths);
	*f = (struct mt_family){0};
}

/* ---- the tree ---- */

static int by_start(const void *a, const void *b)
{
	const struct mt_session_process *x = a, *y = b;

	if (x->start_unix_ns != y->start_unix_ns)
		return x->start_unix_ns < y->start_unix_ns ? -1 : 1;
	return strcmp(x->trace_path, y->trace_path);
}

struct kin {
	pid_t parent;
	uint32_t index;
};

static int by_parent(const void *a, const void *b)
{
	const struct kin *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

struct walk {
	const struct mt_session_process *from;
	struct kin *kin;  /* by parent */
	struct kin *pids; /* by own pid: the same field */
	bool *taken;
	uint32_t count;
	struct mt_family *to;
};

static uint32_t first_of(const struct kin *kin, uint32_t count, pid_t pid)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (kin[middle].parent < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void take(struct walk *w, uint32_t index, uint32_t depth)
{
	w->taken[index] = true;
	w->to->depths[w->to->count] = depth;
	w->to->items[w->to->count++] = w->from[index];
}

/* A process with all its images, then its children. The depth is bounded, as what it comes from may
 * not be true. */
static void descend(struct walk *w, uint32_t index, uint32_t depth)
{
	pid_t pid = w->from[index].pid;

	for (uint32_t i = first_of(w->pids, w->count, pid);
		i < w->count && w->pids[i].parent == pid; i++)
		if (!w->taken[w->pids[i].index])
			take(w, w->pids[i].index, depth);
	for (uint32_t i = first_of(w->kin, w->count, pid);
		depth < 200 && i < w->count && w->kin[i].parent == pid; i++)
		if (!w->taken[w->kin[i].index])
			descend(w, w->kin[i].index, depth + 1);
}

static bool has_parent(const struct walk *w, uint32_t index)
{
	pid_t parent = w->from[index].parent;
	uint32_t at = first_of(w->pids, w->count, parent);

	return parent && parent != w->from[index].pid && at < w->count
		&& w->pids[at].parent == parent;
}

void mt_family_make(struct mt_family *f, struct mt_session_process *items, uint32_t count)
{
	struct walk w = {.from = items, .count = count, .to = f};

	mt_family_free(f);
	f->items = mt_resize(NULL, ((size_t)count + 1) * sizeof *f->items);
	f->depths = mt_resize(NULL, ((size_t)count + 1) * sizeof *f->depths);
	f->capacity = count + 1;
	w.kin = mt_resize(NULL, ((size_t)count + 1) * sizeof *w.kin);
	w.pids = mt_resize(NULL, ((size_t)count + 1) * sizeof *w.pids);
	w.taken = mt_alloc((size_t)count + 1);
	if (count)
		qsort(items, count, sizeof *items, by_start);
	for (uint32_t i = 0; i < count; i++) {
		w.kin[i] = (struct kin){items[i].parent, i};
		w.pids[i] = (struct kin){items[i].pid, i};
	}
	qsort(w.kin, count, sizeof *w.kin, by_parent);
	qsort(w.pids, count, sizeof *w.pids, by_parent);
	for (uint32_t i = 0; i < count; i++)
		if (!w.taken[i] && !has_parent(&w, i))
			descend(&w, i, 0);
	for (uint32_t i = 0; i < count; i++) /* parents of each other: numbers that came again */
		if (!w.taken[i])
			descend(&w, i, 0);
	free(w.kin);
	free(w.pids);
	free(w.taken);
	free(items);
}

/* ---- names ---- */

static size_t strip_number(const char *name, size_t len, const char *word)
{
	size_t at = len, head = strlen(word);

	while (at && isdigit((unsigned char)name[at - 1]))
		at--;
	return at < len && at > head && !strncmp(name + at - head, word, head) ? at - head : len;
}

/* Less what tells images apart. */
static size_t strip_image(const char *name)
{
	return strip_number(name, strlen(name), ".exec");
}

/* The length of a name up to a number in digits, from the end; 0: it is not there. */
static size_t before_pid(const char *name, size_t len, uint32_t pid)
{
	char digits[16];
	size_t width = (size_t)snprintf(digits, sizeof digits, "%u", pid);

	for (size_t at = len >= width ? len - width + 1 : 0; at-- > 0;)
		if (!strncmp(name + at, digits, width) && !isdigit((unsigned char)name[at + width])
			&& !(at && isdigit((unsigned char)name[at - 1])))
			return at;
	return 0;
}

/* The same name, with .PID, .PID.N or .N behind it. */
static bool goes_on(const char *name, size_t len, const char *root, size_t root_len)
{
	if (len < root_len || strncmp(name, root, root_len))
		return false;
	for (int numbers = 0; len > root_len && numbers < 2; numbers++)
		len = strip_number(name, len, ".");
	return len == root_len;
}

bool mt_family_is_named_so(const char *name, const char *of, uint32_t pid)
{
	size_t of_len = strip_image(of), len = strip_image(name), at, tail;

	if (goes_on(name, len, of, of_len))
		return true;
	/* ROOT.PID, which may have .N behind it */
	at = before_pid(of, of_len, pid);
	if (at > 1 && of[at - 1] == '.' && (strspn(of + at, "0123456789.") >= of_len - at)
		&& goes_on(name, len, of, at - 1))
		return true;
	if (!at)
		return false;
	/* a pattern with %p: what stands behind the number is the same */
	at += strspn(of + at, "0123456789");
	tail = of_len - at;
	return len > tail && !strncmp(name + len - tail, of + at, tail)
		&& isdigit((unsigned char)name[len - tail - 1]);
}

/* ---- traces ---- */

void mt_family_describe(struct mt_session_process *out, const struct mt_profile *p,
	const char *path)
{
	const struct mt_info *i = &p->info;
	const char *name = mt_base_name(path);
	const struct mt_blind *own = mt_blind_own(p);
	char *command = mt_profile_command(p);

	*out = (struct mt_session_process){
		.pid = (pid_t)i->pid,
		.parent = (pid_t)i->parent,
		.wait_status = i->ended ? i->exit_status : -1,
		.recorded = 1,
		.forked = i->origin == MT_ORIGIN_FORKED,
		.failed = !mt_info_is_whole(i),
		.stopped = i->stopped,
		.sampled = mt_info_is_sampled(i),
		.untraced = (uint32_t)i->forked_children,
		.blind = own ? own->reason : MT_BLIND_NONE,
		.start_unix_ns = i->start_unix_ns,
		.events = i->events,
		.allocations = i->allocations,
		.peak_bytes = i->peak_bytes,
		.leaked_bytes = i->leaked_bytes,
		.leaked_count = i->leaked_count,
		.lost_events = i->lost_events,
		.peak_rss_bytes = i->peak_rss_bytes,
	};
	out->followed = strip_image(name) < strlen(name);
	snprintf(out->command, sizeof out->command, "%s", command);
	free(command);
	snprintf(out->trace_path, sizeof out->trace_path, "%s", path);
}

/* 0: described. */
static int look(struct mt_session_process *out, const char *path, uint32_t *root,
	struct mt_err *err)
{
	struct mt_trace_reader *reader = mt_trace_reader_open(path, err);
	struct mt_profile p;
	int result;

	if (!reader)
		return err && err->code ? err->code : -EIO;
	mt_profile_init(&p);
	result = mt_profile_peek(&p, reader, err);
	if (!result)
		/* broken off: what was written tells */
		result = mt_profile_load(&p, reader, NULL, NULL, err);
	if (result >= 0) {
		mt_family_describe(out, &p, path);
		*root = p.info.root;
	}
	mt_profile_free(&p);
	mt_trace_reader_free(reader);
	return result < 0 ? result : 0;
}

struct names {
	char **items;
	uint32_t count, capacity;
};

/* Files of such names, less the trace itself. */
static bool list_names(struct names *names, const char *directory, const char *own, uint32_t pid)
{
	DIR *d = opendir(*directory ? directory : "/");
	struct dirent *entry;
	bool all = true;

	while (d && (entry = readdir(d))) {
		if (!strcmp(entry->d_name, own) || !mt_family_is_named_so(entry->d_name, own, pid))
			continue;
		all = names->count < FILES_MAX;
		if (!all)
			break;
		MT_GROW(names->items, names->count, names->capacity);
		names->items[names->count++] = mt_format("%s/%s", directory, entry->d_name);
	}
	if (d)
		closedir(d);
	return all;
}

int mt_family_of_trace(struct mt_family *f, const char *path, int (*progress)(void *, double),
	void *context, struct mt_err *err)
{
	const char *slash = strrchr(path, '/');
	struct mt_session_process *items = NULL, item;
	uint32_t count = 0, capacity = 0, root = 0, other;
	struct names names = {0};
	int result = look(&item, path, &root, err);

	if (result)
		return result;
	char *directory = slash ? mt_format("%.*s", (int)(slash - path), path) : mt_strdup(".");
	bool truncated = root
		&& !list_names(&names, directory, slash ? slash + 1 : path, (uint32_t)item.pid);

	MT_GROW(items, count, capacity);
	items[count++] = item;
	for (uint32_t i = 0; i < names.count; i++) {
		struct mt_err ignored = {0};

		if (!result && progress && progress(context, (double)i / names.count))
			result = -ECANCELED;
		if (!result && !look(&item, names.items[i], &other, &ignored) && other == root) {
			MT_GROW(items, count, capacity);
			items[count++] = item;
		}
		free(names.items[i]);
	}
	free(names.items);
	free(directory);
	if (result)
		free(items);
	else
		mt_family_make(f, items, count);
	f->truncated = !result && truncated;
	return result;
}
