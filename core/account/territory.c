#include "core/account/territory.h"
#include "core/base/glibc_heap.h"
#include "core/base/proc.h"
#include "core/rendezvous.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY_NAME "/libmemtui.so"
#define CHUNK_HEADER 16u      /* bytes of a chunk of glibc's before its block */
#define HEAPS_MOST 4096u      /* places for headers that are looked at in a mapping */
#define GUARD_MOST (1u << 20) /* bytes of the pages below a stack */

/* ---- rows ------------------------------------------------------------------------------------ */

/* Takes the detail. */
static uint32_t row_of(struct mt_account *a, enum mt_account_kind kind, uint32_t node, char *detail)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->rows[i].kind == kind && a->rows[i].node == node
			&& !strcmp(a->rows[i].detail, detail)) {
			free(detail);
			return i;
		}
	MT_GROW(a->rows, a->count, a->capacity);
	a->rows[a->count] = (struct mt_account_row){.kind = kind, .node = node, .detail = detail};
	return a->count++;
}

static uint32_t counted_row(struct mt_account *a, enum mt_account_kind kind, uint32_t node)
{
	uint32_t row = row_of(a, kind, node, mt_strdup(""));

	a->rows[row].count++;
	return row;
}

static uint32_t simple_row(struct mt_account *a, enum mt_account_kind kind, const char *detail)
{
	return row_of(a, kind, 0, mt_strdup(detail));
}

static uint32_t file_row(struct mt_territory *t, const struct mt_smap *m)
{
	return row_of(t->account, MT_ACCOUNT_FILE, 0,
		mt_format("%c%c%c%c %s", m->is_readable ? 'r' : '-', m->is_writable ? 'w' : '-',
			m->is_code ? 'x' : '-', m->is_shared ? 's' : 'p',
			mt_smap_path(&t->smaps, m)));
}

/* ---- kinds of mappings ----------------------------------------------------------------------- */

static bool is_anonymous(const struct mt_smap *m)
{
	return !m->inode && !m->path;
}

/* Made by mmap with MAP_SHARED and MAP_ANONYMOUS: the kernel has a file for it. */
static bool is_shared_anonymous(const struct mt_territory *t, const struct mt_smap *m)
{
	return m->is_shared && !strcmp(mt_smap_path(&t->smaps, m), "/dev/zero (deleted)");
}

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool follows(const struct mt_territory *t, uint32_t index)
{
	return index && t->smaps.items[index - 1].high == t->smaps.items[index].low;
}

/* The part of a module's data that has zeroes in its file, or none: it follows the data. */
static bool is_zero_data(const struct mt_territory *t, uint32_t index)
{
	const struct mt_smap *m = &t->smaps.items[index], *before = m - 1;

	return is_anonymous(m) && m->is_writable && follows(t, index) && before->inode
		&& before->is_writable && !before->is_shared;
}

static bool has_guard(const struct mt_territory *t, uint32_t index)
{
	const struct mt_smap *m = &t->smaps.items[index], *before = m - 1;

	return follows(t, index) && is_anonymous(before) && !before->is_readable
		&& !before->is_writable && !before->is_code
		&& before->high - before->low <= GUARD_MOST;
}

static const struct mt_known_block *first_block(const struct mt_known *k, uint64_t low,
	uint64_t high)
{
	uint64_t from = 0, to = k ? k->count : 0;

	while (from < to) {
		uint64_t middle = from + (to - from) / 2;

		if (k->blocks[middle].address < low)
			from = middle + 1;
		else
			to = middle;
	}
	return k && from < k->count && k->blocks[from].address < high ? &k->blocks[from] : NULL;
}

static bool is_of_brk(const struct mt_territory *t, const struct mt_smap *m)
{
	return !strcmp(mt_smap_path(&t->smaps, m), "[heap]");
}

/* ---- layers ---------------------------------------------------------------------------------- */

static void find_own(struct mt_territory *t)
{
	uint32_t tables = 0;

	mt_account_own_read(&t->own, t->thread, &t->smaps);
	if (t->own.count)
		tables = simple_row(t->account, MT_ACCOUNT_OWN, "tables beside the rings");
	for (uint32_t i = 0; i < t->own.count; i++)
		mt_zones_add(&t->layers[MT_LAYER_OWN], t->own.items[i].address,
			t->own.items[i].address + t->own.items[i].len, tables);
	for (uint32_t i = 0; i < t->smaps.count; i++) {
		const struct mt_smap *m = &t->smaps.items[i];
		const char *path = mt_smap_path(&t->smaps, m), *end = strstr(path, LIBRARY_NAME);

		if (m->path
			&& (t->own.code - m->low < m->high - m->low
				|| (end && !end[sizeof LIBRARY_NAME - 1])))
			t->own_library = m->path;
	}
	mt_zones_arrange(&t->layers[MT_LAYER_OWN]);
}

static void find_arenas_in(struct mt_territory *t, const struct mt_smap *m)
{
	uint64_t align = MT_GLIBC_HEAP_ALIGN, at = (m->low + align - 1) & ~(align - 1);
	struct mt_glibc_heap heap;

	for (uint32_t looks = 0; at >= m->low && at < m->high && looks < HEAPS_MOST;
		at += align, looks++) {
		if (!mt_glibc_heap_read(t->thread, at, m->high, &heap))
			continue;
		mt_zones_add(&t->layers[MT_LAYER_MALLOC], at, at + heap.size, t->malloc);
		t->account->rows[t->malloc].count++;
	}
}

static void find_arenas(struct mt_territory *t)
{
	for (uint32_t i = 0; i < t->smaps.count; i++) {
		const struct mt_smap *m = &t->smaps.items[i];

		if (is_anonymous(m) && m->is_writable && !m->is_shared)
			find_arenas_in(t, m);
	}
	mt_zones_arrange(&t->layers[MT_LAYER_MALLOC]);
}

/* A chunk of glibc's that is mapped has all pages that it touches. */
static void find_mapped_chunks(struct mt_territory *t)
{
	const struct mt_known *k = t->known;
	struct mt_zones found = {0}, *l = &t->layers[MT_LAYER_MALLOC];
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = 0;
	uint32_t at = 0;

	for (uint64_t i = 0; k->is_glibc && i < k->count; i++) {
		const struct mt_known_block *b = &k->blocks[i];
		uint64_t low = (b->address - CHUNK_HEADER) & ~(page - 1);
		uint64_t high = b->address + b->size + b->slack;

		while (at < l->count && l->items[at].high <= b->address)
			at++;
		if (b->address < CHUNK_HEADER || high > UINT64_MAX - page
			|| (at < l->count && l->items[at].low <= b->address))
			continue;
		high = (high + page - 1) & ~(page - 1);
		if (low < end)
			low = end; /* neighbours of one page, somewhere else */
		mt_zones_add(&found, low, high, t->malloc);
		end = high > end ? high : end;
	}
	for (uint32_t i = 0; i < found.count; i++)
		mt_zones_add(l, found.items[i].low, found.items[i].high, t->malloc);
	mt_zones_free(&found);
	mt_zones_arrange(l);
}

/* Of a file, the file says more. */
static void add_mapped(struct mt_territory *t, const struct mt_map *p, const struct mt_smap *m)
{
	uint64_t low = m->low > p->address ? m->low : p->address;
	uint64_t end = p->address + p->length, high = m->high < end ? m->high : end;

	if (!is_anonymous(m) && !is_of_brk(t, m) && !is_shared_anonymous(t, m))
		return;
	mt_zones_add(&t->layers[MT_LAYER_MAPPED], low, high,
		counted_row(t->account, MT_ACCOUNT_MAPPED, p->node));
}

static void find_mapped(struct mt_territory *t)
{
	const struct mt_map_list *pieces = &t->known->maps.pieces;
	uint32_t first = 0;

	for (uint32_t i = 0; i < pieces->count; i++) {
		const struct mt_map *p = &pieces->items[i];

		while (first < t->smaps.count && t->smaps.items[first].high <= p->address)
			first++;
		for (uint32_t m = first;
			m < t->smaps.count && t->smaps.items[m].low < p->address + p->length; m++)
			add_mapped(t, p, &t->smaps.items[m]);
	}
	mt_zones_arrange(&t->layers[MT_LAYER_MAPPED]);
}

static void find_stacks(struct mt_territory *t)
{
	uint32_t count, row;
	uint64_t *pointers = mt_account_stack_pointers(t->thread, &count);

	for (uint32_t i = 0; i < t->smaps.count; i++) {
		const struct mt_smap *m = &t->smaps.items[i];
		const struct mt_known_block *b = first_block(t->known, m->low, m->high);
		uint64_t high = b ? b->address : m->high;

		if (!is_anonymous(m) || !m->is_writable || m->is_shared
			|| mt_zones_at(&t->layers[MT_LAYER_MALLOC], m->low))
			continue;
		if (!mt_account_has_pointer(pointers, count, m->low, high)
			&& !(has_guard(t, i)
				&& mt_account_has_thread_record(t->thread, m->low, high)))
			continue;
		row = counted_row(t->account, MT_ACCOUNT_STACKS, 0);
		mt_zones_add(&t->layers[MT_LAYER_STACKS], m->low, high, row);
	}
	mt_zones_arrange(&t->layers[MT_LAYER_STACKS]);
	free(pointers);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* What malloc has and no block covers. */
static uint32_t malloc_row(struct mt_account *a)
{
	bool is_free = a->has_blocks && !a->begins_within && !a->is_gated;

	return simple_row(a, is_free ? MT_ACCOUNT_CHUNKS : MT_ACCOUNT_HEAP, "");
}

int mt_territory_survey(struct mt_territory *t, struct mt_account *a, const struct mt_known *known,
	struct mt_err *err)
{
	int status = mt_smaps_read(&t->smaps, a->pid, err);

	if (status < 0)
		return status;
	t->account = a;
	t->known = known;
	t->thread = mt_proc_thread(a->pid);
	t->malloc = malloc_row(a);
	t->blocks = a->has_blocks ? simple_row(a, MT_ACCOUNT_BLOCKS, "") : t->malloc;
	t->slack = a->has_blocks ? simple_row(a, MT_ACCOUNT_SLACK, "") : t->malloc;
	a->rows[t->blocks].count = a->has_blocks ? known->count : 0;
	find_own(t);
	find_arenas(t);
	if (known)
		find_mapped_chunks(t);
	if (known)
		find_mapped(t);
	find_stacks(t);
	return 0;
}

uint32_t mt_territory_row(struct mt_territory *t, uint32_t index)
{
	const struct mt_smap *m = &t->smaps.items[index];
	const char *path = mt_smap_path(&t->smaps, m);
	struct mt_account *a = t->account;
	uint32_t row;

	if (begins_with(path, MT_WIRE_SEGMENT_PATH) || (m->path && m->path == t->own.segment))
		row = simple_row(a, MT_ACCOUNT_OWN, "rings and tables");
	else if (m->path && m->path == t->own_library)
		row = simple_row(a, MT_ACCOUNT_OWN, "library");
	else if (is_of_brk(t, m))
		row = t->malloc;
	else if (!strcmp(path, "[stack]"))
		row = simple_row(a, MT_ACCOUNT_STACK, "");
	else if (begins_with(path, "[anon:") || begins_with(path, "[anon_shmem:"))
		row = simple_row(a, MT_ACCOUNT_NAMED, path);
	else if (*path == '[')
		row = simple_row(a, MT_ACCOUNT_KERNEL, "");
	else if (m->path || m->inode)
		row = file_row(t, m);
	else if (is_zero_data(t, index))
		row = t->row_before;
	else if (t->known && !t->known->is_glibc && first_block(t->known, m->low, m->high))
		row = t->malloc;
	else
		row = simple_row(a, MT_ACCOUNT_UNEXPLAINED, "");
	return t->row_before = row;
}

void mt_territory_free(struct mt_territory *t)
{
	mt_smaps_free(&t->smaps);
	mt_account_own_free(&t->own);
	for (unsigned i = 0; i < MT_LAYER_COUNT; i++)
		mt_zones_free(&t->layers[i]);
}
