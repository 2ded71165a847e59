#include "core/capture/grid.h"
#include "core/base/buffer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BITS 6
#define CHUNK (1u << 20) /* bytes */
#define LINE 64u
/* So many pages at any rate, and one more for every so many blocks, whose rows take 64 bytes each
 * then: where fewer share a page, and be it that a damaged recording says so, the pool takes
 * less. */
#define PAGES_LEAST 64u
#define BLOCKS_EACH 256u
#define REFUSALS_EACH 64u     /* for each page, to look for empty ones */
#define USED_LEAST (1u << 20) /* bytes, to look for what is not needed */
#define SLOTS_AT_ONCE 4u      /* to look at for that */

struct mt_grid_row mt_grid_nothing;

void mt_grid_init(struct mt_grid *g)
{
	*g = (struct mt_grid){.bits = FIRST_BITS, .due = USED_LEAST};
	g->slots = mt_alloc(sizeof *g->slots << FIRST_BITS);
}

void mt_grid_free(struct mt_grid *g)
{
	for (uint32_t i = 0; i < g->chunk_count; i++)
		munmap(g->chunks[i], CHUNK);
	free(g->chunks);
	free(g->slots);
	*g = (struct mt_grid){0};
}

/* ---- memory: what is taken is zeroed, or was left ---- */

static void *pop(void **stack)
{
	void *top = *stack;

	if (top)
		memcpy(stack, top, sizeof top);
	return top;
}

static void push(void **stack, void *item)
{
	memcpy(item, stack, sizeof item);
	*stack = item;
}

/* size: a power of two. Lines and pages of memory are not shared without need. */
static void *take(struct mt_grid *g, size_t size)
{
	size_t align = size < LINE ? size : size < sizeof(struct mt_grid_page) ? LINE : 4096;
	size_t gap = -(uintptr_t)g->room % align;
	char *at;

	if ((size_t)(g->room_end - g->room) < gap + size) {
		g->room = mt_alloc_pages(CHUNK);
		g->room_end = g->room + CHUNK;
		gap = 0;
		MT_GROW(g->chunks, g->chunk_count, g->chunk_capacity);
		g->chunks[g->chunk_count++] = g->room;
	}
	at = g->room + gap;
	g->room = at + size;
	return at;
}

static size_t cells_size(uint32_t shift)
{
	return sizeof(struct mt_grid_cell) * (MT_GRID_WORDS >> shift);
}

/* Rather those that are left, be it the first of many. */
static struct mt_grid_cell *take_cells(struct mt_grid *g, uint32_t shift)
{
	struct mt_grid_cell *cells;
	uint32_t from = shift;

	while (from && !g->spare_cells[from])
		from--;
	cells = pop(&g->spare_cells[from]);
	for (; cells && from < shift; from++)
		push(&g->spare_cells[from + 1], cells + (MT_GRID_WORDS >> (from + 1)));
	g->used += cells_size(shift);
	return cells ? cells : take(g, cells_size(shift));
}

static void leave_cells(struct mt_grid *g, const struct mt_grid_row *row)
{
	if (!row->cells)
		return;
	g->used -= cells_size(row->shift);
	push(&g->spare_cells[row->shift], mt_grid_cell(row, 0));
}

/* Its rows are zeroes. */
static struct mt_grid_page *take_page(struct mt_grid *g)
{
	struct mt_grid_page *page = pop(&g->spare_pages);

	g->used += sizeof *page;
	if (!page)
		return take(g, sizeof *page);
	page->rows[0] = mt_grid_nothing; /* where it led to the next */
	return page;
}

static void leave_page(struct mt_grid *g, struct mt_grid_page *page)
{
	g->used -= sizeof *page;
	push(&g->spare_pages, page);
}

/* ---- cells ---- */

/* The largest shift with which no two of these words share a cell. */
static uint32_t shift_for(uint64_t begins)
{
	/* the first word of every two, four, ... */
	static const uint64_t firsts[MT_GRID_SHIFTS - 1] = {0x5555555555555555, 0x1111111111111111,
		0x0101010101010101, 0x0001000100010001, 0x0000000100000001, 1};
	uint32_t shift = 0;

	/* begins: that of a cell's first word says whether a block is in the cell */
	for (; shift < MT_GRID_SHIFTS - 1; shift++) {
		uint64_t second = begins >> (1u << shift);

		if (begins & second & firsts[shift])
			break;
		begins |= second;
	}
	return shift;
}

/* Gives the row other cells. */
static void spread(struct mt_grid *g, struct mt_grid_row *row, uint32_t shift)
{
	struct mt_grid_row old = *row;

	row->shift = shift & 0xff;
	row->cells = (uintptr_t)take_cells(g, shift) & 0xffffffffffff;
	for (uint64_t left = old.begins; left; left &= left - 1) {
		uint32_t each = (uint32_t)__builtin_ctzll(left);

		*mt_grid_cell(row, each) = *mt_grid_cell(&old, each);
	}
	leave_cells(g, &old);
}

/* Leaves the cells that are more than the page's blocks need: all, and its rows are zeroes, where
 * there are none. */
static void tighten(struct mt_grid *g, struct mt_grid_page *page)
{
	for (uint32_t i = 0; i < MT_GRID_ROWS; i++) {
		struct mt_grid_row *row = &page->rows[i];

		if (!row->cells)
			continue;
		if (!row->begins) {
			leave_cells(g, row);
			*row = mt_grid_nothing;
		} else if (shift_for(row->begins) > row->shift) {
			spread(g, row, shift_for(row->begins));
		}
	}
}

static bool is_empty(const struct mt_grid_page *page)
{
	for (uint32_t i = 0; i < MT_GRID_ROWS; i++)
		if (page->rows[i].begins)
			return false;
	return true;
}

/* ---- pages ---- */

static struct mt_grid_slot *empty_slot(const struct mt_grid *g, uint64_t key)
{
	uint32_t at = mt_grid_home(g, key), mask = (1u << g->bits) - 1;

	while (g->slots[at].page)
		at = (at + 1) & mask;
	return &g->slots[at];
}

/* No two blocks of the row share a cell. */
static bool row_is_sound(const struct mt_grid_row *row)
{
	return !row->begins || (row->cells && shift_for(row->begins) >= row->shift);
}

/* Every page lies where a look-up finds it, every block is counted and has a cell of its own. */
static bool is_sound(const struct mt_grid *g)
{
	uint64_t blocks = 0;
	uint32_t pages = 0;

	for (uint32_t i = 0; i < 1u << g->bits; i++) {
		const struct mt_grid_slot *slot = &g->slots[i];

		if (!slot->page)
			continue;
		pages++;
		if (mt_grid_row(g, slot->key) != &slot->page->rows[0])
			return false;
		for (uint32_t row = 0; row < MT_GRID_ROWS; row++) {
			if (!row_is_sound(&slot->page->rows[row]))
				return false;
			blocks += (uint32_t)__builtin_popcountll(slot->page->rows[row].begins);
		}
	}
	return pages == g->pages && blocks == g->blocks && !mt_grid_nothing.begins
		&& !mt_grid_nothing.cells;
}

/* Leaves empty pages, and makes room for as many as there are. */
static void look_through(struct mt_grid *g)
{
	struct mt_grid_slot *old = g->slots;
	uint32_t size = 1u << g->bits;

	mt_assert_expensive(is_sound(g));

	g->pages = 0;
	for (uint32_t i = 0; i < size; i++) {
		if (old[i].page && is_empty(old[i].page)) {
			tighten(g, old[i].page);
			leave_page(g, old[i].page);
			old[i].page = NULL;
		}
		g->pages += old[i].page != NULL;
	}
	for (g->bits = FIRST_BITS; g->pages * 4 > 1u << g->bits;)
		g->bits++;
	g->slots = mt_alloc(sizeof *g->slots << g->bits);
	for (uint32_t i = 0; i < size; i++)
		if (old[i].page)
			*empty_slot(g, old[i].key) = old[i];
	free(old);
	g->refused = 0;
	g->tightened = 0;
}

/* A few pages at a time, where more is in use than is likely to be needed: nobody waits for all.
 * Begins anew when the slots have changed. */
static void tighten_some(struct mt_grid *g)
{
	for (uint32_t i = 0; i < SLOTS_AT_ONCE && g->tightened < 1u << g->bits; i++) {
		struct mt_grid_page *page = g->slots[g->tightened++].page;

		if (page)
			tighten(g, page);
	}
	if (g->tightened < 1u << g->bits)
		return;
	g->tightened = 0;
	g->due = 2 * g->used + USED_LEAST;
}

static bool may_add(const struct mt_grid *g)
{
	return g->pages < PAGES_LEAST || g->blocks / BLOCKS_EACH > g->pages;
}

/* NULL: it is not worth it; or too many were made lately, for blocks that were gone soon. */
static struct mt_grid_row *add_page(struct mt_grid *g, uint64_t address, uint64_t number)
{
	struct mt_grid_slot *slot;

	if (!may_add(g) && ++g->refused > (uint64_t)g->pages * REFUSALS_EACH)
		look_through(g);
	if (!may_add(g) || g->paid > number + PAGES_LEAST * BLOCKS_EACH)
		return NULL;
	g->paid = (g->paid > number ? g->paid : number) + BLOCKS_EACH;
	if (g->pages >= 1u << g->bits >> 1)
		look_through(g);
	slot = empty_slot(g, mt_grid_key(address));
	*slot = (struct mt_grid_slot){mt_grid_key(address), take_page(g)};
	g->pages++;
	return mt_grid_row(g, address);
}

struct mt_grid_row *mt_grid_make_room(struct mt_grid *g, struct mt_grid_row *row, uint64_t address,
	uint64_t number)
{
	if (__builtin_expect(g->used > g->due || g->tightened, 0))
		tighten_some(g);
	if (row == &mt_grid_nothing)
		row = add_page(g, address, number);
	if (row)
		spread(g, row, shift_for(row->begins | 1ull << mt_grid_word(address)));
	return row;
}

/* ---- walk ---- */

/* The page with the lowest hash from `least` on. It lies in the slot of its hash or behind, with no
 * empty slot between; those that found no room before the last slot go on at the first. */
static const struct mt_grid_slot *lowest_page(const struct mt_grid *g, uint64_t least)
{
	uint32_t size = 1u << g->bits, at = (uint32_t)(least >> (64 - g->bits));
	const struct mt_grid_slot *found = NULL;

	for (uint32_t i = at; i < at + size; i++) {
		const struct mt_grid_slot *slot = &g->slots[i & (size - 1)];
		uint64_t hash = mt_grid_hash(slot->key);
		bool wrapped = mt_grid_home(g, slot->key) > (i & (size - 1));

		if (!slot->page && (found || i >= size))
			break;
		if (!slot->page || hash < least || wrapped != (i >= size))
			continue;
		if (!found || hash < mt_grid_hash(found->key))
			found = slot;
	}
	return found;
}

/* The walk's page: in the slot where it was, as a rule. */
static const struct mt_grid_slot *page_of(const struct mt_grid *g, const struct mt_grid_walk *w)
{
	const struct mt_grid_slot *slot = &g->slots[w->slot & ((1u << g->bits) - 1)];

	return slot->page && mt_grid_hash(slot->key) == w->page ? slot : lowest_page(g, w->page);
}

bool mt_grid_next(const struct mt_grid *g, struct mt_grid_walk *w, uint64_t *address,
	struct mt_grid_cell *cell)
{
	const struct mt_grid_slot *slot;

	mt_assert_expensive(w->page || w->passed || w->row || is_sound(g)); /* as a walk begins */
	while ((slot = page_of(g, w))) {
		if (mt_grid_hash(slot->key) != w->page)
			*w = (struct mt_grid_walk){.page = mt_grid_hash(slot->key)};
		w->slot = (uint32_t)(slot - g->slots);
		for (; w->row < MT_GRID_ROWS; w->row++, w->passed = 0) {
			const struct mt_grid_row *row = &slot->page->rows[w->row];
			uint64_t left = row->begins & ~w->passed;
			uint32_t word;

			if (!left)
				continue;
			word = (uint32_t)__builtin_ctzll(left);
			w->passed |= 1ull << word;
			*cell = *mt_grid_cell(row, word);
			*address = slot->key + (w->row * MT_GRID_WORDS + word) * MT_GRID_WORD;
			return true;
		}
		if (w->page == UINT64_MAX)
			break;
		*w = (struct mt_grid_walk){.page = w->page + 1};
	}
	return false;
}
