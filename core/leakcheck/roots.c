#include "core/leakcheck/roots.h"
#include "core/base/buffer.h"

#include <stdlib.h>
#include <string.h>

#define RED_ZONE 128u
#define ROOT_MOST (16ull << 30) /* words are numbered with 32 bits */
/* Around the thread pointer, where a mapping has other things, too: thread-local storage lies below
 * it, and the C library's record of the thread (2.3 KB in glibc) from it on. */
#define LOCAL_BELOW (64ull << 10)
#define LOCAL_ABOVE (4ull << 10)

struct finding {
	struct mt_roots *roots;
	const struct mt_still *still;
	const struct mt_held_blocks *blocks;
	bool begins_within;
};

/* ---- ranges ---------------------------------------------------------------------------------- */

static void add(struct finding *f, enum mt_root_kind kind, uint64_t low, uint64_t high,
	uint32_t thread, uint32_t map)
{
	struct mt_roots *r = f->roots;
	const struct mt_tracee_mapping *m = &f->still->maps[map];

	if (low >= high && kind != MT_ROOT_REGISTERS)
		return;
	for (; high - low > ROOT_MOST; low += ROOT_MOST)
		add(f, kind, low, low + ROOT_MOST, thread, map);
	MT_GROW(r->items, r->count, r->capacity);
	r->items[r->count++] = (struct mt_root){
		.low = low,
		.high = high,
		.kind = kind,
		.private_only = kind >= MT_ROOT_DATA && m->is_file && !m->is_shared,
		.thread = thread,
		.map = map,
	};
}

/* The part of low to high before the tracer's own memory; *next: where the search goes on. */
static uint64_t before_own(const struct mt_still *s, uint64_t low, uint64_t high, uint64_t *next)
{
	uint64_t end = high;

	*next = high;
	for (uint32_t i = 0; i < s->own_count; i++) {
		const struct mt_wire_own *own = &s->own[i];

		if (own->address < end && own->address + own->len > low) {
			end = own->address > low ? own->address : low;
			*next = own->address + own->len;
		}
	}
	return end;
}

static void add_without_own(struct finding *f, enum mt_root_kind kind, uint64_t low, uint64_t high,
	uint32_t map)
{
	while (low < high) {
		uint64_t next, end = before_own(f->still, low, high, &next);

		add(f, kind, low, end, 0, map);
		low = next;
	}
}

/* The gap between blocks that the address is in: to low and high, which are moved. */
static void narrow_to_gap(const struct mt_held_blocks *b, uint64_t address, uint64_t *low,
	uint64_t *high)
{
	uint32_t next = mt_held_blocks_from(b, address);

	if (next < b->count && b->items[next].address < *high && b->items[next].address > address)
		*high = b->items[next].address;
	if (next && b->items[next - 1].address + b->items[next - 1].size > *low)
		*low = b->items[next - 1].address + b->items[next - 1].size;
}

static bool has_block(const struct mt_held_blocks *b, uint64_t low, uint64_t high)
{
	uint32_t next = mt_held_blocks_from(b, low);

	return next < b->count && b->items[next].address < high;
}

/* ---- threads --------------------------------------------------------------------------------- */

static uint32_t map_of(const struct mt_still *s, uint64_t address)
{
	uint32_t low = 0, high = s->map_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->maps[middle].high <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->map_count && s->maps[low].low <= address ? low : UINT32_MAX;
}

static void add_stack(struct finding *f, uint32_t thread)
{
	uint64_t sp = f->still->threads[thread]->sp, low, high;
	uint32_t map = map_of(f->still, sp);

	if (map == UINT32_MAX)
		return;
	const struct mt_tracee_mapping *m = &f->still->maps[map];
	uint32_t block = mt_held_blocks_find(f->blocks, sp);

	low = sp - m->low < RED_ZONE ? m->low : sp - RED_ZONE;
	high = m->high;
	if (block != MT_BLOCK_NONE) {
		/* a stack that the program has allocated */
		const struct mt_held_block *b = &f->blocks->items[block];

		low = low < b->address ? b->address : low;
		high = b->address + b->size;
	} else {
		uint64_t none = low;

		narrow_to_gap(f->blocks, sp, &none, &high);
	}
	add(f, MT_ROOT_STACK, low & ~7ull, high, thread, map);
}

static void add_thread_local(struct finding *f, uint32_t thread)
{
	uint64_t tp = f->still->threads[thread]->thread_pointer;
	uint32_t map = tp ? map_of(f->still, tp) : UINT32_MAX;

	if (map == UINT32_MAX)
		return;
	const struct mt_tracee_mapping *m = &f->still->maps[map];
	uint64_t low = tp - m->low < LOCAL_BELOW ? m->low : tp - LOCAL_BELOW;
	uint64_t high = m->high - tp < LOCAL_ABOVE ? m->high : tp + LOCAL_ABOVE;
	uint64_t sp = f->still->threads[thread]->sp;

	/* its own stack lies below, in the same mapping; what is below sp is no more */
	if (sp >= low && sp < tp)
		low = sp;
	narrow_to_gap(f->blocks, tp, &low, &high);
	add(f, MT_ROOT_THREAD_LOCAL, (low + 7) & ~7ull, high, thread, map);
}

static void add_threads(struct finding *f)
{
	for (uint32_t i = 0; i < f->still->thread_count; i++) {
		if (f->still->threads[i]->count)
			add(f, MT_ROOT_REGISTERS, 0, 0, i, 0);
		else
			f->roots->unknown_threads++;
	}
	for (uint32_t i = 0; i < f->still->thread_count; i++)
		add_stack(f, i);
	for (uint32_t i = 0; i < f->still->thread_count; i++)
		add_thread_local(f, i);
}

/* ---- mappings -------------------------------------------------------------------------------- */

/* Whether a thread has its stack pointer in there; then what is below it is no more. */
static bool is_stack(const struct mt_still *s, const struct mt_tracee_mapping *m)
{
	for (uint32_t i = 0; i < s->thread_count; i++)
		if (s->threads[i]->sp >= m->low && s->threads[i]->sp < m->high)
			return true;
	return false;
}

static bool has_thread_pointer(const struct mt_still *s, const struct mt_tracee_mapping *m)
{
	for (uint32_t i = 0; i < s->thread_count; i++)
		if (s->threads[i]->thread_pointer >= m->low
			&& s->threads[i]->thread_pointer < m->high)
			return true;
	return false;
}

/* The C library keeps stacks of threads that have ended for new ones: behind a page that nobody can
 * read, and no thread is there. */
static bool is_old_stack(const struct mt_still *s, uint32_t map)
{
	const struct mt_tracee_mapping *m = &s->maps[map], *before = m - 1;

	return map && before->high == m->low && !before->is_readable && !before->is_file
		&& !*before->path && !has_thread_pointer(s, m);
}

/* The part of a module's data that has zeroes in its file, or none: it follows the data. */
static bool is_zero_data(const struct mt_still *s, uint32_t map)
{
	const struct mt_tracee_mapping *m = &s->maps[map], *before = m - 1;

	return map && before->high == m->low && before->is_file && before->is_writable
		&& !before->is_shared;
}

static bool is_of_kernel(const struct mt_tracee_mapping *m)
{
	return !strncmp(m->path, "[v", 2); /* vdso, vvar, vsyscall */
}

static bool is_of_tracer(const struct mt_tracee_mapping *m)
{
	return !strncmp(m->path, MT_WIRE_SEGMENT_PATH, sizeof MT_WIRE_SEGMENT_PATH - 1);
}

/* What the program has mapped itself, but not for an allocator that memtui knows. */
static void add_mapped(struct finding *f, uint32_t map)
{
	const struct mt_tracee_mapping *m = &f->still->maps[map];
	struct mt_map_list parts = {0};

	if (!m->is_readable || (m->is_code && !m->is_writable))
		return;
	mt_maps_shares(&f->roots->mapped, m->low, m->high - m->low, &parts);
	for (uint32_t i = 0; i < parts.count; i++) {
		uint64_t low = parts.items[i].address, high = low + parts.items[i].length;

		if (!has_block(f->blocks, low, high))
			add_without_own(f, MT_ROOT_MAPPED, low, high, map);
	}
	free(parts.items);
}

/* A mapping but what of it the program has mapped: the kernel makes one of neighbours. */
static void add_without_mapped(struct finding *f, enum mt_root_kind kind, uint32_t map)
{
	const struct mt_tracee_mapping *m = &f->still->maps[map];
	struct mt_map_list parts = {0};
	uint64_t low = m->low;

	mt_maps_shares(&f->roots->mapped, m->low, m->high - m->low, &parts);
	for (uint32_t i = 0; i < parts.count; i++) {
		add_without_own(f, kind, low, parts.items[i].address, map);
		low = parts.items[i].address + parts.items[i].length;
	}
	add_without_own(f, kind, low, m->high, map);
	free(parts.items);
}

/* What no block covers. */
static void add_gaps(struct finding *f, enum mt_root_kind kind, uint32_t map)
{
	const struct mt_tracee_mapping *m = &f->still->maps[map];
	uint64_t low = m->low;

	for (uint32_t i = mt_held_blocks_from(f->blocks, low); low < m->high; i++) {
		bool is_last = i >= f->blocks->count || f->blocks->items[i].address >= m->high;
		uint64_t end = is_last ? m->high : f->blocks->items[i].address;

		if (end > low)
			add_without_own(f, kind, (low + 7) & ~7ull, end, map);
		if (is_last)
			return;
		low = f->blocks->items[i].address + f->blocks->items[i].size;
	}
}

/* A mapping of the allocator's, which has other things beside its blocks where the kernel has put
 * several into one. */
static void add_allocators(struct finding *f, uint32_t map, bool sure)
{
	const struct mt_tracee_mapping *m = &f->still->maps[map];

	if (!sure && f->begins_within) {
		add_gaps(f, MT_ROOT_UNRECORDED, map);
	} else if (sure && is_zero_data(f->still, map)) {
		uint64_t low = m->low, high = m->high;

		narrow_to_gap(f->blocks, low, &low, &high);
		add_without_own(f, MT_ROOT_DATA, m->low, high, map);
	}
}

static void add_mapping(struct finding *f, uint32_t map, bool sure)
{
	const struct mt_still *s = f->still;
	const struct mt_tracee_mapping *m = &s->maps[map];
	bool is_data = (m->is_file && !m->is_shared) || is_zero_data(s, map);
	enum mt_root_kind kind = is_data ? MT_ROOT_DATA : MT_ROOT_UNRECORDED;

	if (!m->is_readable || is_of_kernel(m) || is_of_tracer(m)
		|| (m->is_code && !m->is_writable))
		return;
	if (has_block(f->blocks, m->low, m->high)) {
		add_allocators(f, map, sure);
		return;
	}
	if ((kind == MT_ROOT_DATA) != sure || (!is_data && !m->is_writable) || is_stack(s, m))
		return;
	if (!f->begins_within && !is_data && (is_old_stack(s, map) || !strcmp(m->path, "[heap]")))
		return;
	add_without_mapped(f, kind, map);
}

void mt_roots_find(struct mt_roots *r, const struct mt_still *s,
	const struct mt_held_blocks *blocks, bool begins_within)
{
	struct finding f = {r, s, blocks, begins_within};

	add_threads(&f);
	for (uint32_t i = 0; i < s->map_count; i++)
		add_mapping(&f, i, true);
	for (uint32_t i = 0; i < s->map_count; i++)
		add_mapped(&f, i);
	for (uint32_t i = 0; i < s->map_count; i++)
		add_mapping(&f, i, false);
}

void mt_roots_free(struct mt_roots *r)
{
	free(r->items);
	mt_maps_free(&r->mapped);
	*r = (struct mt_roots){0};
}
