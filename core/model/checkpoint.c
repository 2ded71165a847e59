/* Checkpoints as blocks of a trace. A checkpoint has several parts, one block each, which follow
 * each other: its head, the totals, the live blocks. */
#include "core/model/checkpoint.h"
#include "core/model/payload.h"
#include "core/trace/varint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCKS_MAX (1u << 18) /* live blocks of one part */
#define PARTS_MAX (1u << 20)
#define FORM 1u              /* says how many event blocks before it are later */
#define BLOCKS_OF_PART 8192u /* live blocks and groups of one part that is made: 1 ms */
#define GROUPS_OF_PART 16384u
#define TIME_MAX (1ull << 62)

/* X(column): one after another, so that neighbours are alike */
#define COLUMNS(X) \
	X(number) \
	X(flags) \
	X(size) \
	X(address) \
	X(group) \
	X(thread) \
	X(time) \
	X(sequence) \
	X(rest)

#define FLAG_RELEASED 1u
#define FLAG_TEMPORARY 2u
#define FLAG_USABLE 4u /* a noted usable size is in the rest */
#define FLAG_CHAIN 8u  /* not the first of its chain: what that is stands in the rest */
#define FLAGS 15u

/* What both sides know before each block. */
struct predictor {
	uint64_t number, address, time_us;
	uint32_t thread;
	struct mt_checkpoint_thread *threads; /* the last block of each: its sequence and number */
};

static void begin_predictor(struct predictor *p, uint32_t thread_count)
{
	*p = (struct predictor){
		.threads = mt_alloc(((size_t)thread_count + 1) * sizeof *p->threads)};
}

/* Multiples of 16, which addresses are, become small. */
static uint64_t turn_right(uint64_t code)
{
	return code >> 5 | code << 59;
}

static uint64_t turn_left(uint64_t code)
{
	return code << 5 | code >> 59;
}

/* Of one thread alone, sequence and number rise together. */
static uint64_t sequence_surplus(const struct predictor *p, uint64_t number, uint32_t thread)
{
	const struct mt_checkpoint_thread *last = &p->threads[thread];

	return last->allocations + (number - last->last_number);
}

static void learn(struct predictor *p, const struct mt_checkpoint_block *b)
{
	p->number = b->number;
	p->address = b->address;
	p->time_us = b->time_ns / 1000;
	p->thread = b->thread;
	p->threads[b->thread] = (struct mt_checkpoint_thread){b->sequence, b->number};
}

/* ---- writing --------------------------------------------------------------------------------- */

struct columns {
#define X(name) struct mt_buffer name;
	COLUMNS(X)
#undef X
};

/* There is room. */
static inline void put(struct mt_buffer *column, uint64_t value)
{
	column->len = (size_t)(mt_varint_put(column->data + column->len, value) - column->data);
}

static void add_block(struct columns *c, struct predictor *p, const struct mt_checkpoint_block *b)
{
	bool chained = b->position > 1;
	unsigned flags = (b->released ? FLAG_RELEASED : 0) | (b->temporary ? FLAG_TEMPORARY : 0)
		| (b->usable ? FLAG_USABLE : 0) | (chained ? FLAG_CHAIN : 0);

	put(&c->number, b->number - p->number);
	put(&c->flags, flags);
	put(&c->size, b->size);
	put(&c->address, turn_right(mt_zigzag(b->address - p->address)));
	put(&c->group, b->group);
	put(&c->thread, mt_zigzag((uint64_t)b->thread - p->thread));
	put(&c->time, mt_zigzag(b->time_ns / 1000 - p->time_us));
	put(&c->sequence, mt_zigzag(b->sequence - sequence_surplus(p, b->number, b->thread)));
	if (b->usable)
		mt_varint_add(&c->rest, b->usable);
	if (chained) {
		mt_varint_add(&c->rest, b->number - b->chain);
		mt_varint_add(&c->rest, b->position);
		mt_varint_add(&c->rest, b->first_size);
		mt_varint_add(&c->rest, mt_zigzag(b->time_ns / 1000 - b->chain_start_ns / 1000));
	}
	learn(p, b);
}

/* With the head. */
static uint64_t part_count(const struct mt_checkpoint *c)
{
	return 1 + c->totals_parts + (c->block_count + c->blocks_of_part - 1) / c->blocks_of_part;
}

void mt_checkpoint_make_head(struct mt_trace_writer *w, const struct mt_checkpoint *c,
	struct mt_buffer *made)
{
	struct mt_buffer payload = {0};

	mt_varint_add(&payload, 0);
	mt_varint_add(&payload, 0); /* in place of the number of parts: a form follows */
	mt_varint_add(&payload, FORM);
	mt_varint_add(&payload, c->events);
	mt_varint_add(&payload, c->totals_parts);
	mt_varint_add(&payload, c->blocks_of_part);
	mt_varint_add(&payload, part_count(c));
	mt_varint_add(&payload, c->time_ns);
	mt_varint_add(&payload, c->next_number);
	mt_varint_add(&payload, c->block_count);
	mt_varint_add(&payload, c->group_count);
	mt_varint_add(&payload, c->thread_count);
	for (uint32_t t = 0; t < c->thread_count; t++) {
		mt_varint_add(&payload, c->threads[t].allocations);
		mt_varint_add(&payload, c->threads[t].last_number);
	}
	mt_trace_writer_make(w, MT_BLOCK_CHECKPOINT, c->time_ns, payload.data, payload.len, made);
	mt_buffer_free(&payload);
}

/* Appends the next live blocks to the payload. False: there were none. */
static bool make_blocks(struct mt_checkpoint_maker *m, struct mt_buffer *payload)
{
	struct columns columns = {0};
	struct mt_checkpoint_block b;
	struct predictor predictor;
	uint32_t count = 0;

	begin_predictor(&predictor, m->head.thread_count);
#define X(name) mt_buffer_reserve(&columns.name, BLOCKS_OF_PART *MT_VARINT_MAX);
	COLUMNS(X)
#undef X
	for (; count < BLOCKS_OF_PART && m->next(m->context, &b); count++)
		add_block(&columns, &predictor, &b);
	mt_varint_add(payload, count);
#define X(name) \
	mt_buffer_add(payload, columns.name.data, columns.name.len); \
	mt_buffer_free(&columns.name);
	COLUMNS(X)
#undef X
	free(predictor.threads);
	m->head.block_count += count;
	return count > 0;
}

uint32_t mt_checkpoint_parts(const struct mt_checkpoint *c)
{
	return (uint32_t)part_count(c);
}

bool mt_checkpoint_make_part(struct mt_checkpoint_maker *m)
{
	struct mt_buffer payload = {0};
	bool some = true;

	m->head.blocks_of_part = BLOCKS_OF_PART;
	m->head.group_count = m->profile->group_count;
	mt_varint_add(&payload, m->parts + 1);
	if (!m->has_totals) {
		m->has_totals =
			!mt_totals_add_part(&payload, m->profile, &m->next_group, GROUPS_OF_PART);
		m->head.totals_parts++;
	} else {
		some = make_blocks(m, &payload);
	}
	if (some) {
		mt_trace_writer_make(m->writer, MT_BLOCK_CHECKPOINT, m->head.time_ns, payload.data,
			payload.len, &m->made);
		m->parts++;
	}
	mt_buffer_free(&payload);
	return some;
}

/* ---- finding --------------------------------------------------------------------------------- */

static bool is_checkpoint(const struct mt_trace_reader *r, uint32_t index)
{
	const struct mt_trace_block *block = mt_trace_reader_block(r, index);

	return block && block->type == MT_BLOCK_CHECKPOINT;
}

uint32_t mt_checkpoint_of_start(const struct mt_trace_reader *r)
{
	const struct mt_trace_block *block;

	for (uint32_t i = 0;
		(block = mt_trace_reader_block(r, i)) && block->type != MT_BLOCK_EVENTS; i++)
		if (block->type == MT_BLOCK_CHECKPOINT)
			return i;
	return MT_NO_CHECKPOINT;
}

/* A run of its blocks is one checkpoint, or several that follow each other: told apart by their
 * times, and by the head's number of parts when it is read. */
uint32_t mt_checkpoint_before(const struct mt_trace_reader *r, uint32_t before)
{
	while (before > 0 && !is_checkpoint(r, before - 1))
		before--;
	if (!before)
		return MT_NO_CHECKPOINT;
	uint64_t time_ns = mt_trace_reader_block(r, before - 1)->first_ns;

	while (before > 0 && is_checkpoint(r, before - 1)
		&& mt_trace_reader_block(r, before - 1)->first_ns == time_ns)
		before--;
	return before;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
	struct mt_checkpoint *checkpoint;
	struct mt_trace_reader *reader;
	const struct mt_profile *definitions;
	int (*visit)(void *context, const struct mt_checkpoint_block *);
	void *context;
	struct mt_err *err;
	struct mt_buffer payload;
	struct mt_cursor in; /* behind the part's number */
	uint64_t visited, last_number;
};

static int reject(struct reading *r, uint32_t index, const char *what)
{
	const struct mt_trace_block *block = mt_trace_reader_block(r->reader, index);
	char text[160];

	snprintf(text, sizeof text, "the checkpoint there cannot be used: %s", what);
	mt_trace_reader_note_damage(r->reader, block->offset, text);
	return mt_fail(r->err, -EBADMSG, "the trace %s is damaged at offset %llu: %s",
		mt_trace_reader_path(r->reader), (unsigned long long)block->offset, text);
}

static int open_part(struct reading *r, uint32_t index, uint32_t part)
{
	if (!is_checkpoint(r->reader, index))
		return mt_fail(r->err, -ENODATA, "the trace %s ends within a checkpoint",
			mt_trace_reader_path(r->reader));
	int result = mt_trace_reader_payload(r->reader, index, &r->payload, r->err);

	if (result)
		return result;
	r->in = (struct mt_cursor){r->payload.data, r->payload.data + r->payload.len, false};
	if (mt_cursor_varint(&r->in) != part)
		return reject(r, index, "its parts are not in order");
	return 0;
}

static uint32_t old_totals_parts(uint32_t groups)
{
	return groups ? (groups - 1) / MT_TOTALS_GROUPS_MAX + 1 : 1;
}

/* The parts of checkpoints without a form followed from the numbers of groups and blocks. Returns
 * the number of parts. */
static uint64_t read_form(struct reading *r)
{
	struct mt_checkpoint *c = r->checkpoint;
	uint64_t parts = mt_cursor_bounded(&r->in, PARTS_MAX);

	c->blocks_of_part = BLOCKS_MAX;
	if (parts)
		return parts;
	if (mt_cursor_varint(&r->in) != FORM)
		mt_cursor_fail(&r->in);
	c->events = (uint32_t)mt_cursor_bounded(&r->in, UINT32_MAX);
	c->totals_parts = (uint32_t)mt_cursor_bounded(&r->in, PARTS_MAX);
	c->blocks_of_part = (uint32_t)mt_cursor_bounded(&r->in, BLOCKS_MAX);
	if (!c->totals_parts || !c->blocks_of_part) {
		mt_cursor_fail(&r->in);
		c->blocks_of_part = BLOCKS_MAX;
	}
	return mt_cursor_bounded(&r->in, PARTS_MAX);
}

/* The block from which on events come after the instant. */
static int find_resume(struct reading *r)
{
	struct mt_checkpoint *c = r->checkpoint;
	uint32_t left = c->events;

	c->resume = left ? c->first : c->end;
	while (left && c->resume > 0)
		left -= mt_trace_reader_block(r->reader, --c->resume)->type == MT_BLOCK_EVENTS;
	return left ? reject(r, c->first, "the events since its instant are not in front of it")
		    : 0;
}

static int read_head(struct reading *r, uint32_t index)
{
	struct mt_checkpoint *c = r->checkpoint;
	int result = open_part(r, index, 0);

	if (result)
		return result;
	uint64_t parts = read_form(r);

	c->first = index;
	c->end = index + (uint32_t)parts;
	c->time_ns = mt_cursor_bounded(&r->in, TIME_MAX);
	c->next_number = mt_cursor_varint(&r->in);
	c->block_count = mt_cursor_bounded(&r->in, c->next_number);
	c->group_count = (uint32_t)mt_cursor_bounded(&r->in, r->definitions->group_count);
	if (!c->totals_parts)
		c->totals_parts = old_totals_parts(c->group_count);
	c->thread_count = (uint32_t)mt_cursor_bounded(&r->in, r->definitions->thread_count);
	c->threads = mt_alloc(((size_t)c->thread_count + 1) * sizeof *c->threads);
	for (uint32_t t = 0; t < c->thread_count; t++) {
		c->threads[t].allocations = mt_cursor_varint(&r->in);
		c->threads[t].last_number = mt_cursor_bounded(&r->in, c->next_number);
	}
	if (r->in.bad || r->in.at != r->in.end || parts != part_count(c))
		return reject(r, index, "a number in its header is out of range");
	if (c->end > mt_trace_reader_count(r->reader))
		return mt_fail(r->err, -ENODATA, "the trace %s ends within a checkpoint",
			mt_trace_reader_path(r->reader));
	return find_resume(r);
}

/* Each column in turn. */
static void read_columns(struct reading *r, struct mt_checkpoint_block *blocks, uint8_t *flags,
	uint64_t count)
{
	const struct mt_checkpoint *c = r->checkpoint;
	struct mt_cursor *in = &r->in;
	struct predictor p;

	begin_predictor(&p, c->thread_count);
	for (uint64_t i = 0; i < count; i++)
		blocks[i].number = p.number += mt_cursor_varint(in);
	for (uint64_t i = 0; i < count; i++)
		flags[i] = (uint8_t)mt_cursor_bounded(in, FLAGS);
	for (uint64_t i = 0; i < count; i++)
		blocks[i].size = mt_cursor_varint(in);
	for (uint64_t i = 0; i < count; i++)
		blocks[i].address = p.address += mt_unzigzag(turn_left(mt_cursor_varint(in)));
	for (uint64_t i = 0; i < count; i++)
		blocks[i].group =
			(uint32_t)mt_cursor_bounded(in, c->group_count ? c->group_count - 1 : 0);
	for (uint64_t i = 0; i < count; i++) {
		p.thread += (uint32_t)mt_unzigzag(mt_cursor_varint(in));
		if (p.thread >= c->thread_count)
			p.thread = (uint32_t)mt_cursor_fail(in);
		blocks[i].thread = p.thread;
	}
	for (uint64_t i = 0; i < count; i++)
		blocks[i].time_ns = 1000 * (p.time_us += mt_unzigzag(mt_cursor_varint(in)));
	for (uint64_t i = 0; i < count; i++) {
		struct mt_checkpoint_thread *last = &p.threads[blocks[i].thread];

		blocks[i].sequence = sequence_surplus(&p, blocks[i].number, blocks[i].thread)
			+ mt_unzigzag(mt_cursor_varint(in));
		*last = (struct mt_checkpoint_thread){blocks[i].sequence, blocks[i].number};
	}
	free(p.threads);
}

/* The rest of what there is to know of a block. */
static void read_rest(struct mt_cursor *in, struct mt_checkpoint_block *b, unsigned flags)
{
	b->released = flags & FLAG_RELEASED;
	b->temporary = flags & FLAG_TEMPORARY;
	b->usable = flags & FLAG_USABLE ? mt_cursor_varint(in) : 0;
	b->position = 1;
	b->chain = b->number;
	b->first_size = b->size;
	b->chain_start_ns = b->time_ns;
	if (!(flags & FLAG_CHAIN))
		return;
	b->chain = b->number - mt_cursor_bounded(in, b->number);
	b->position = (uint32_t)mt_cursor_bounded(in, UINT32_MAX);
	b->first_size = mt_cursor_varint(in);
	b->chain_start_ns = b->time_ns - 1000 * mt_unzigzag(mt_cursor_varint(in));
}

static bool is_plausible(const struct reading *r, const struct mt_checkpoint_block *b)
{
	const struct mt_checkpoint *c = r->checkpoint;

	return b->number < c->next_number && (b->number > r->last_number || !r->visited)
		&& b->time_ns <= TIME_MAX && b->sequence
		&& b->sequence <= c->threads[b->thread].allocations
		&& b->number < c->threads[b->thread].last_number;
}

static int visit_blocks(struct reading *r, uint32_t index, struct mt_checkpoint_block *blocks,
	const uint8_t *flags, uint64_t count)
{
	int result = 0;

	for (uint64_t i = 0; i < count; i++)
		read_rest(&r->in, &blocks[i], flags[i]);
	if (r->in.bad || r->in.at != r->in.end)
		return reject(r, index, "its live blocks are cut short");
	for (uint64_t i = 0; i < count && !result; i++) {
		if (!is_plausible(r, &blocks[i]))
			return reject(r, index, "its live blocks contradict its header");
		r->last_number = blocks[i].number;
		r->visited++;
		result = r->visit(r->context, &blocks[i]);
	}
	return result;
}

static int read_blocks(struct reading *r, uint32_t index, uint32_t part)
{
	struct mt_checkpoint_block *blocks;
	uint8_t *flags;
	int result = open_part(r, index, part);

	if (result)
		return result;
	uint64_t left = r->checkpoint->block_count - r->visited;
	uint64_t most = r->checkpoint->blocks_of_part;
	uint64_t count = mt_cursor_bounded(&r->in, mt_cursor_left(&r->in) / 8);

	if (r->in.bad || count != (left < most ? left : most) || !r->checkpoint->group_count
		|| !r->checkpoint->thread_count)
		return reject(r, index, "the number of its live blocks contradicts its header");
	blocks = mt_alloc(((size_t)count + 1) * sizeof *blocks);
	flags = mt_alloc((size_t)count + 1);
	read_columns(r, blocks, flags, count);
	result = visit_blocks(r, index, blocks, flags, count);
	free(blocks);
	free(flags);
	return result;
}

/* The totals know the groups, threads and sites that were there then, and no later ones. */
static int load_totals(struct reading *r, struct mt_profile *p)
{
	const struct mt_checkpoint *c = r->checkpoint;
	uint32_t groups = p->group_count, threads = p->thread_count, next = 0, part = 1;
	bool complete = false;
	int result = 0;

	p->group_count = c->group_count;
	p->thread_count = c->thread_count;
	for (; !complete && !result && part <= c->totals_parts; part++) {
		const char *fault;

		result = open_part(r, c->first + part, part);
		if (result)
			break;
		size_t skip = (size_t)(r->in.at - r->payload.data);
		struct mt_buffer rest = {r->payload.data + skip, r->payload.len - skip, 0};

		fault = mt_totals_read(p, mt_trace_reader_version(r->reader), &rest, &next,
			&complete);
		if (fault)
			result = reject(r, c->first + part, fault);
	}
	p->group_count = groups;
	p->thread_count = threads;
	if (!result && (!complete || part != c->totals_parts + 1))
		result = reject(r, c->first, "its totals have another number of parts");
	return result;
}

static int read_all(struct reading *r, uint32_t index, struct mt_profile *totals)
{
	int result = read_head(r, index);

	if (!result && totals)
		result = load_totals(r, totals);
	if (result || !r->visit)
		return result;
	uint32_t part = 1 + r->checkpoint->totals_parts;

	for (; index + part < r->checkpoint->end && !result; part++)
		result = read_blocks(r, index + part, part);
	return result;
}

int mt_checkpoint_read(struct mt_checkpoint *out, struct mt_trace_reader *reader, uint32_t index,
	const struct mt_profile *definitions,
	int (*visit)(void *context, const struct mt_checkpoint_block *), void *context,
	struct mt_err *err)
{
	struct reading r = {out, reader, definitions, visit, context, err, {0}, {0}, 0, 0};

	*out = (struct mt_checkpoint){0};
	int result = read_all(&r, index, NULL);

	mt_buffer_free(&r.payload);
	return result;
}

int mt_checkpoint_load(struct mt_checkpoint *out, struct mt_trace_reader *reader, uint32_t index,
	struct mt_profile *profile, int (*visit)(void *context, const struct mt_checkpoint_block *),
	void *context, struct mt_err *err)
{
	struct reading r = {out, reader, profile, visit, context, err, {0}, {0}, 0, 0};

	*out = (struct mt_checkpoint){0};
	int result = read_all(&r, index, profile);

	mt_buffer_free(&r.payload);
	return result;
}

void mt_checkpoint_free(struct mt_checkpoint *c)
{
	free(c->threads);
	*c = (struct mt_checkpoint){0};
}
