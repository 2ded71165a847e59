#include "core/account/process.h"
#include "core/base/proc.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define RECORD_WITHIN (16u << 10) /* bytes from the top of a stack */

static bool read_memory(pid_t pid, uint64_t address, void *to, size_t len)
{
	struct iovec here = {to, len}, there = {(void *)(uintptr_t)address, len};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

/* ---- the tracer ------------------------------------------------------------------------------ */

/* It is a segment in memory, or the file of a program that records itself. */
static bool find_header(struct mt_account_own *own, pid_t pid, const struct mt_smaps *s,
	struct mt_wire_header *h)
{
	for (uint32_t i = 0; i < s->count && !own->segment; i++) {
		const struct mt_smap *m = &s->items[i];

		if (!m->offset && m->is_shared && m->is_readable && m->high - m->low >= sizeof *h
			&& read_memory(pid, m->low, h, sizeof *h) && h->magic == MT_WIRE_MAGIC)
			own->segment = m->path;
	}
	return own->segment && h->version == MT_WIRE_VERSION && h->own;
}

void mt_account_own_read(struct mt_account_own *own, pid_t pid, const struct mt_smaps *s)
{
	struct mt_wire_header h;

	if (!find_header(own, pid, s, &h))
		return;
	own->code = h.copy;
	own->items = mt_alloc(MT_WIRE_OWN_MOST * sizeof *own->items);
	if (!read_memory(pid, h.own, own->items, MT_WIRE_OWN_MOST * sizeof *own->items))
		return;
	for (uint32_t i = 0; i < MT_WIRE_OWN_MOST; i++)
		if (own->items[i].len && own->items[i].len <= UINT64_MAX - own->items[i].address)
			own->items[own->count++] = own->items[i];
}

void mt_account_own_free(struct mt_account_own *own)
{
	free(own->items);
	*own = (struct mt_account_own){0};
}

/* ---- threads --------------------------------------------------------------------------------- */

/* "number six arguments sp pc", "-1 sp pc" or "running": 0 where it is not told. */
static uint64_t pointer_of(const char *text)
{
	const char *last = strrchr(text, ' ');

	while (last > text && last[-1] != ' ')
		last--;
	return last && last > text ? strtoull(last, NULL, 16) : 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t *mt_account_stack_pointers(pid_t pid, uint32_t *count)
{
	uint64_t *pointers = NULL;
	uint32_t capacity = 0;
	struct dirent *entry;
	char path[64], text[256];

	*count = 0;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *threads = opendir(path);

	while (threads && (entry = readdir(threads))) {
		pid_t thread = (pid_t)atoi(entry->d_name);
		uint64_t sp = 0;

		if (thread > 0 && mt_proc_read(thread, "syscall", text, sizeof text))
			sp = pointer_of(text);
		if (!sp)
			continue;
		MT_GROW(pointers, *count, capacity);
		pointers[(*count)++] = sp;
	}
	if (threads)
		closedir(threads);
	if (*count)
		qsort(pointers, *count, sizeof *pointers, by_value);
	return pointers;
}

bool mt_account_has_pointer(const uint64_t *pointers, uint32_t count, uint64_t low, uint64_t high)
{
	uint32_t from = 0, to = count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (pointers[middle] < low)
			from = middle + 1;
		else
			to = middle;
	}
	return from < count && pointers[from] < high;
}

/* Source: glibc, sysdeps/x86_64/nptl/tls.h, tcbhead_t: the first and the third word are the
 * record's own address. */
bool mt_account_has_thread_record(pid_t pid, uint64_t low, uint64_t high)
{
	uint64_t words[RECORD_WITHIN / 8];
	size_t len = high - low < sizeof words ? (size_t)(high - low) : sizeof words;
	uint64_t begin = high - len;

	if (!read_memory(pid, begin, words, len))
		return true;
	for (size_t i = 0; i + 2 < len / 8; i += 2)
		if (words[i] == begin + i * 8 && words[i + 2] == words[i])
			return true;
	return false;
}
