#include "core/account/smaps.h"
#include "core/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT_ONCE (256u << 10)
#define KERNEL_THREAD 0x200000u /* PF_KTHREAD */

/* ---- text ------------------------------------------------------------------------------------ */

/* The rest of a line. */
struct rest {
	const char *at, *end;
};

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* false: there is no digit, or the number is too large. */
static bool take_number(struct rest *r, unsigned base, uint64_t *number)
{
	const char *begin = r->at;

	for (*number = 0; r->at < r->end && digit_of(*r->at) < (int)base; r->at++)
		if (__builtin_mul_overflow(*number, base, number)
			|| __builtin_add_overflow(*number, digit_of(*r->at), number))
			return false;
	return r->at > begin;
}

static bool take(struct rest *r, char c)
{
	bool is_there = r->at < r->end && *r->at == c;

	r->at += is_there;
	return is_there;
}

static void pass_blanks(struct rest *r)
{
	while (take(r, ' ') || take(r, '\t'))
		;
}

static bool take_rights(struct rest *r, struct mt_smap *m)
{
	static const char wanted[4][3] = {"r-", "w-", "x-", "sp"};

	if (r->end - r->at < 4)
		return false;
	for (int i = 0; i < 4; i++)
		if (r->at[i] != wanted[i][0] && r->at[i] != wanted[i][1])
			return false;
	m->is_readable = r->at[0] == 'r';
	m->is_writable = r->at[1] == 'w';
	m->is_code = r->at[2] == 'x';
	m->is_shared = r->at[3] == 's';
	r->at += 4;
	return true;
}

/* low-high rights offset major:minor inode path */
static bool take_mapping(struct mt_smaps *s, struct rest r, struct mt_smap *m)
{
	uint64_t major, minor;

	*m = (struct mt_smap){0};
	if (!take_number(&r, 16, &m->low) || !take(&r, '-') || !take_number(&r, 16, &m->high)
		|| !take(&r, ' ') || !take_rights(&r, m) || !take(&r, ' ')
		|| !take_number(&r, 16, &m->offset) || !take(&r, ' ')
		|| !take_number(&r, 16, &major) || !take(&r, ':') || !take_number(&r, 16, &minor)
		|| !take(&r, ' ') || !take_number(&r, 10, &m->inode) || m->low >= m->high)
		return false;
	if (s->count && s->items[s->count - 1].high > m->low)
		return false;
	pass_blanks(&r);
	m->path = mt_strings_add_len(&s->paths, r.at, (size_t)(r.end - r.at));
	return true;
}

static const struct field {
	const char *name;
	size_t place;
} fields[] = {
	{"Rss", offsetof(struct mt_smap, rss)},
	{"Private_Clean", offsetof(struct mt_smap, private_clean)},
	{"Private_Dirty", offsetof(struct mt_smap, private_dirty)},
	{"Shared_Clean", offsetof(struct mt_smap, shared_clean)},
	{"Shared_Dirty", offsetof(struct mt_smap, shared_dirty)},
	{"Swap", offsetof(struct mt_smap, swap)},
	{"AnonHugePages", offsetof(struct mt_smap, huge)},
	{"ShmemPmdMapped", offsetof(struct mt_smap, huge)},
	{"FilePmdMapped", offsetof(struct mt_smap, huge)},
	{"Private_Hugetlb", offsetof(struct mt_smap, hugetlb)},
	{"Shared_Hugetlb", offsetof(struct mt_smap, hugetlb)},
};

/* "Name:   12 kB", where a name that nobody needs is none of ours. */
static bool take_field(struct mt_smap *m, struct rest r)
{
	const char *colon = memchr(r.at, ':', (size_t)(r.end - r.at));
	size_t len = colon ? (size_t)(colon - r.at) : 0;
	uint64_t number, room = m->high - m->low;

	if (!colon)
		return false;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		uint64_t *value = (uint64_t *)(void *)((char *)m + fields[i].place);

		if (strlen(fields[i].name) != len || memcmp(fields[i].name, r.at, len) != 0)
			continue;
		r.at = colon + 1;
		pass_blanks(&r);
		if (!take_number(&r, 10, &number) || number > room / 1024 || *value > room)
			return false;
		*value += number * 1024;
		if (*value > room)
			*value = room;
		return true;
	}
	return true;
}

static bool is_mapping(struct rest r)
{
	uint64_t number;

	return take_number(&r, 16, &number) && take(&r, '-');
}

void mt_smaps_parse(struct mt_smaps *s, const char *text, size_t len)
{
	struct mt_smap next;
	bool within = false;

	mt_strings_init(&s->paths);
	for (const char *at = text, *stop = text + len; at < stop;) {
		const char *newline = memchr(at, '\n', (size_t)(stop - at));
		struct rest line = {at, newline ? newline : stop};
		bool begins = is_mapping(line), good;

		if (begins) {
			within = good = take_mapping(s, line, &next);
			if (good) {
				MT_GROW(s->items, s->count, s->capacity);
				s->items[s->count++] = next;
			}
		} else {
			good = within && take_field(&s->items[s->count - 1], line);
		}
		s->passed_over += !good;
		at = line.end + 1;
	}
}

/* ---- a process ------------------------------------------------------------------------------- */

static int refuse(pid_t pid, int error, struct mt_err *err)
{
	struct mt_proc_stat stat;

	if (!mt_proc_stat(pid, &stat))
		return mt_fail(err, -ESRCH, "process %d does not exist", (int)pid);
	if (mt_proc_has_ended(&stat))
		return mt_fail(err, -ESRCH,
			"process %d has ended and has no memory any more; it waits for its parent, "
			"process %d",
			(int)pid, (int)stat.parent);
	if (stat.flags & KERNEL_THREAD)
		return mt_fail(err, -ESRCH,
			"process %d is a thread of the kernel, which has no mappings", (int)pid);
	if (error == EACCES || error == EPERM)
		return mt_fail(err, -EACCES,
			"process %d: you may not read its memory map; run memtui as its user or as "
			"root",
			(int)pid);
	if (error)
		return mt_fail(err, -error, "/proc/%d/smaps cannot be read: %s", (int)pid,
			strerror(error));
	return mt_fail(err, -ESRCH, "process %d ended while its memory was read", (int)pid);
}

/* All of a file of /proc, or a negative errno. */
static int read_all(pid_t pid, struct mt_buffer *text)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/smaps", (int)mt_proc_thread(pid));
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	do {
		mt_buffer_reserve(text, AT_ONCE);
		n = read(fd, text->data + text->len, AT_ONCE);
		text->len += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	int error = n < 0 ? -errno : 0;

	close(fd);
	return error;
}

int mt_smaps_read(struct mt_smaps *s, pid_t pid, struct mt_err *err)
{
	struct mt_buffer text = {0};
	int error = read_all(pid, &text);

	if (!error)
		mt_smaps_parse(s, (const char *)text.data, text.len);
	mt_buffer_free(&text);
	return error || !s->count ? refuse(pid, -error, err) : 0;
}

void mt_smaps_free(struct mt_smaps *s)
{
	free(s->items);
	if (s->paths.count)
		mt_strings_free(&s->paths);
	*s = (struct mt_smaps){0};
}
