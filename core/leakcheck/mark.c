#include "core/leakcheck/mark.h"
#include "core/base/buffer.h"

#include <stdlib.h>
#include <string.h>

#define PIECE (1u << 20)  /* bytes that are read at once */
#define BATCH 256u        /* blocks that are read at once */
#define SMALL (64u << 10) /* larger blocks are read by themselves */

enum pass {
	PASS_REACHABLE, /* from roots, by pointers to beginnings */
	PASS_POSSIBLE,  /* from what only pointers into the middle reach, by any pointer */
	PASS_LOST,      /* from a lost block, by any pointer */
};

/* Who holds a word: a root or block, and which of its words it is. */
struct place {
	uint32_t holder, word;
};

/* A pointer into the middle of a block. */
struct inner {
	uint32_t block;
	struct place at;
	uint64_t word;
};

struct marking {
	struct mt_held_blocks *blocks;
	const struct mt_roots *roots;
	const struct mt_still *still;
	enum pass pass;
	bool in_libc;    /* words of the C library's data are read */
	uint32_t leader; /* PASS_LOST: the block that is definitely lost */
	/* Blocks that are reached, first come, first read: so a way to a block is among the
	 * shortest. Those before the next one are read. */
	uint32_t *todo;
	uint32_t todo_next, todo_count, todo_capacity;
	struct inner *inner;
	uint32_t inner_count, inner_capacity;
	uint64_t *buffer;
	struct mt_page_presence presence;
};

/* ---- words ----------------------------------------------------------------------------------- */

static void note(struct marking *m, uint32_t block, enum mt_verdict verdict, struct place at)
{
	m->blocks->items[block].verdict = verdict;
	m->blocks->items[block].holder = at.holder;
	m->blocks->words[block] = at.word;
}

static void reach(struct marking *m, uint32_t block, enum mt_verdict verdict, struct place at)
{
	note(m, block, verdict, at);
	MT_GROW(m->todo, m->todo_count, m->todo_capacity);
	m->todo[m->todo_count++] = block;
}

/* The distances from the beginning at which the heuristics may find something again after the first
 * pointer: behind one word, behind three, and base classes near the beginning. */
#define INNER_AGAIN 64u

static void see_inner(struct marking *m, uint32_t block, uint64_t word, struct place at)
{
	struct mt_held_block *b = &m->blocks->items[block];

	if (b->verdict == MT_VERDICT_NONE)
		note(m, block, MT_VERDICT_POSSIBLE, at);
	else if (word - b->address > INNER_AGAIN)
		return;
	MT_GROW(m->inner, m->inner_count, m->inner_capacity);
	m->inner[m->inner_count++] = (struct inner){block, at, word};
}

/* glibc's malloc keeps the addresses of free chunks, and of the rest of the heap, in its data. A
 * chunk begins with 16 bytes of which the first 8 are the last ones of the block before it. No
 * other word of the C library's data points there. */
static bool is_next_chunk(const struct mt_held_block *b, uint64_t word)
{
	uint64_t chunk = (b->size + 8 + 15) & ~15ull;

	return word == b->address - 16 + (chunk < 32 ? 32 : chunk);
}

/* Of the C library: writable, and of the file. */
static bool is_libc(const struct marking *m, const struct mt_root *r)
{
	const char *path = r->kind == MT_ROOT_DATA ? m->still->maps[r->map].path : NULL;
	const char *name = path ? strrchr(path, '/') : NULL;

	return name && (!strncmp(name, "/libc.so", 8) || !strncmp(name, "/libc-2", 7));
}

static void see_word(struct marking *m, uint64_t word, struct place at)
{
	uint32_t block = mt_held_blocks_find(m->blocks, word);

	if (block == MT_BLOCK_NONE)
		return;
	struct mt_held_block *b = &m->blocks->items[block];

	if (m->in_libc && is_next_chunk(b, word))
		return;
	switch (m->pass) {
	case PASS_REACHABLE:
		if (b->verdict == MT_VERDICT_REACHABLE)
			return;
		if (word == b->address)
			reach(m, block, MT_VERDICT_REACHABLE, at);
		else
			see_inner(m, block, word, at);
		return;
	case PASS_POSSIBLE:
		if (b->verdict == MT_VERDICT_NONE)
			reach(m, block, MT_VERDICT_POSSIBLE, at);
		return;
	case PASS_LOST:
		if (b->verdict == MT_VERDICT_NONE)
			reach(m, block, MT_VERDICT_INDIRECT, at);
		else if (b->verdict == MT_VERDICT_LOST && block != m->leader)
			note(m, block, MT_VERDICT_INDIRECT, at);
		return;
	}
}

/* first: where the first of the words is. */
static void see_words(struct marking *m, const uint64_t *words, size_t count, struct place first)
{
	uint64_t low = m->blocks->low, size = m->blocks->high - low;

	for (size_t i = 0; i < count; i++)
		if (words[i] - low < size)
			see_word(m, words[i],
				(struct place){first.holder, first.word + (uint32_t)i});
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* What is there of a range, in pieces. */
static void see_range(struct marking *m, uint64_t low, uint64_t high, bool private_only,
	uint32_t holder)
{
	struct mt_span run = {low, high - low};

	for (uint64_t at = low; at < high; at = run.address + run.len) {
		if (!mt_still_memory_present(&m->still->memory, at, high, private_only, &run))
			return;
		for (uint64_t piece = run.address; piece < run.address + run.len; piece += PIECE) {
			uint64_t rest = run.address + run.len - piece;
			struct mt_span span = {piece, rest < PIECE ? rest : PIECE};

			mt_still_memory_read(&m->still->memory, &span, 1, m->buffer);
			see_words(m, m->buffer, span.len / sizeof *m->buffer,
				(struct place){holder, (uint32_t)((piece - low) / 8)});
		}
	}
}

/* The words of a block: those at multiples of eight bytes. */
static struct mt_span words_of(const struct mt_held_block *b)
{
	uint64_t low = (b->address + 7) & ~7ull, high = (b->address + b->size) & ~7ull;

	return (struct mt_span){low, high > low ? high - low : 0};
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool is_there(struct marking *m, const struct mt_span *words)
{
	return mt_still_memory_has(&m->still->memory, &m->presence, words->address,
		words->address + words->len);
}

/* Reads the next blocks of the list, as many as fit. */
static void read_batch(struct marking *m)
{
	struct mt_span spans[BATCH] = {{0}};
	uint32_t blocks[BATCH], count = 0;
	size_t bytes = 0;

	while (m->todo_next < m->todo_count && count < BATCH) {
		uint32_t block = m->todo[m->todo_next];
		struct mt_span words = words_of(&m->blocks->items[block]);

		if (words.len > SMALL || !is_there(m, &words)) {
			if (count)
				break; /* those before first: the buffer is one */
			m->todo_next++;
			see_range(m, words.address, words.address + words.len, false, block);
			return;
		}
		if (bytes + words.len > PIECE)
			break;
		m->todo_next++;
		bytes += words.len;
		spans[count] = words;
		blocks[count++] = block;
	}
	mt_still_memory_read(&m->still->memory, spans, count, m->buffer);
	const uint64_t *at = m->buffer;

	for (uint32_t i = 0; i < count; i++) {
		see_words(m, at, spans[i].len / sizeof *at, (struct place){blocks[i], 0});
		at += spans[i].len / sizeof *at;
	}
}

static void follow(struct marking *m)
{
	while (m->todo_next < m->todo_count)
		read_batch(m);
	m->todo_next = m->todo_count = 0;
}

/* ---- heuristics ------------------------------------------------------------------------------ */

static uint64_t word_at(struct marking *m, uint64_t address)
{
	struct mt_span span = {address, 8};
	uint64_t word;

	if (!is_there(m, &span))
		return 0;
	mt_still_memory_read(&m->still->memory, &span, 1, &word);
	return word;
}

/* Whether it could be the address of a table of virtual functions: those stand in a file's data
 * that nobody writes to. */
static bool is_table(const struct marking *m, uint64_t address)
{
	for (uint32_t i = 0; i < m->still->map_count; i++) {
		const struct mt_tracee_mapping *map = &m->still->maps[i];

		if (address >= map->low && address < map->high)
			return map->is_file && !map->is_writable && !(address & 7);
	}
	return false;
}

/* Valgrind's: does the pointer into the middle stand for one to the beginning? */
static bool stands_for_beginning(struct marking *m, const struct inner *inner)
{
	const struct mt_held_block *b = &m->blocks->items[inner->block];
	uint64_t offset = inner->word - b->address, first, second;

	if (b->size < 16 || offset & 7)
		return false;
	first = word_at(m, b->address);
	if (offset == 8 && first
		&& (first == b->size - 8 /* its length stands before it */
			|| (first < b->size && (b->size - 8) % first == 0 /* new[] */)))
		return true;
	if (offset == 24 && b->size >= 24) {
		second = word_at(m, b->address + 8);
		/* std::string: length, room, owners, characters, NUL */
		if (first <= second && second <= b->size && b->size - second >= 25)
			return true;
	}
	/* an object with several base classes */
	return first && is_table(m, first) && is_table(m, word_at(m, inner->word));
}

static void try_inner(struct marking *m)
{
	for (uint32_t i = 0, end; i < m->inner_count;) {
		for (end = m->inner_count; i < end; i++) {
			const struct inner *inner = &m->inner[i];

			if (m->blocks->items[inner->block].verdict != MT_VERDICT_REACHABLE
				&& stands_for_beginning(m, inner))
				reach(m, inner->block, MT_VERDICT_REACHABLE, inner->at);
		}
		follow(m); /* which may find more of them */
	}
}

/* ---- all ------------------------------------------------------------------------------------- */

static void mark_from_roots(struct marking *m)
{
	m->pass = PASS_REACHABLE;
	for (uint32_t i = 0; i < m->roots->count; i++) {
		const struct mt_root *r = &m->roots->items[i];
		const struct mt_tracee_registers *t =
			m->still->thread_count ? m->still->threads[r->thread] : NULL;

		m->in_libc = is_libc(m, r);
		if (r->kind == MT_ROOT_REGISTERS)
			see_words(m, t->words, t->count, (struct place){MT_HOLDER_ROOT | i, 0});
		else
			see_range(m, r->low, r->high, r->private_only, MT_HOLDER_ROOT | i);
	}
	m->in_libc = false;
	follow(m);
	try_inner(m);
}

static void mark_possible(struct marking *m)
{
	m->pass = PASS_POSSIBLE;
	for (uint32_t i = 0; i < m->inner_count; i++) {
		uint32_t block = m->inner[i].block;
		struct mt_held_block *b = &m->blocks->items[block];

		if (b->verdict != MT_VERDICT_POSSIBLE || b->is_listed)
			continue;
		b->is_listed = 1;
		reach(m, block, MT_VERDICT_POSSIBLE,
			(struct place){b->holder, m->blocks->words[block]});
	}
	follow(m);
}

static void mark_lost(struct marking *m)
{
	m->pass = PASS_LOST;
	for (uint32_t i = 0; i < m->blocks->count; i++) {
		if (m->blocks->items[i].verdict != MT_VERDICT_NONE)
			continue;
		m->leader = i;
		reach(m, i, MT_VERDICT_LOST, (struct place){MT_HOLDER_NONE, 0});
		follow(m);
	}
}

static void mark(struct mt_held_blocks *blocks, const struct mt_roots *roots,
	const struct mt_still *still, bool lost_too)
{
	struct marking m = {.blocks = blocks,
		.roots = roots,
		.still = still,
		.buffer = mt_alloc(PIECE)};

	mark_from_roots(&m);
	mark_possible(&m);
	if (lost_too)
		mark_lost(&m);
	mt_page_presence_free(&m.presence);
	free(m.buffer);
	free(m.todo);
	free(m.inner);
}

void mt_mark(struct mt_held_blocks *blocks, const struct mt_roots *roots,
	const struct mt_still *still)
{
	mark(blocks, roots, still, true);
}

void mt_mark_reached(struct mt_held_blocks *blocks, const struct mt_roots *roots,
	const struct mt_still *still)
{
	mark(blocks, roots, still, false);
}

uint64_t mt_mark_words_begin(const struct mt_held_blocks *blocks, const struct mt_roots *roots,
	uint32_t holder)
{
	return holder & MT_HOLDER_ROOT ? roots->items[holder & ~MT_HOLDER_ROOT].low
				       : words_of(&blocks->items[holder]).address;
}
