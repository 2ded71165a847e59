#include "core/query/errors.h"

#include "core/query/invalid_frees.h"

#include <stdlib.h>
#include <string.h>

#define X(id, name, words) {name, words},
static const struct {
	const char *name, *words;
} types[] = {MT_ERROR_TYPES(X)}, doubts[] = {MT_ERROR_DOUBTS(X)};
#undef X

const char *mt_error_type_name(enum mt_error_type type)
{
	return types[type].name;
}
const char *mt_error_type_words(enum mt_error_type type)
{
	return types[type].words;
}
const char *mt_error_doubt_name(enum mt_error_doubt doubt)
{
	return doubts[doubt].name;
}
const char *mt_error_doubt_words(enum mt_error_doubt doubt)
{
	return doubts[doubt].words;
}

/* ---- putting together ---- */

struct hunt {
	struct mt_errors *errors;
	const struct mt_source *source;
	struct mt_invalid_frees invalid;
	bool has_invalid_frees, settled, filtered;
	uint32_t *slots; /* of the items: index + 1, by what they agree in */
	uint32_t mask;
	uint16_t *functions; /* by group; ids are below MT_FUNCTIONS_MAX */
};

static uint64_t hash_of(const struct mt_error *e)
{
	uint64_t h = (uint64_t)e->type << 8 | (uint64_t)e->elsewhere << 7 | e->doubt;

	h = (h ^ e->group) * 0x9e3779b97f4a7c15ull;
	h = (h ^ h >> 29 ^ (uint64_t)e->before.node << 8 ^ e->before.function)
		* 0x9e3779b97f4a7c15ull;
	h = (h ^ h >> 29 ^ (uint64_t)e->call.node << 8 ^ e->call.function) * 0x9e3779b97f4a7c15ull;
	return h >> 32;
}

static bool agree(const struct mt_error *a, const struct mt_error *b)
{
	return a->type == b->type && a->elsewhere == b->elsewhere && a->doubt == b->doubt
		&& a->group == b->group && a->before.node == b->before.node
		&& a->before.function == b->before.function && a->call.node == b->call.node
		&& a->call.function == b->call.function;
}

static void put_slot(struct hunt *h, uint32_t index)
{
	uint64_t at = hash_of(&h->errors->items[index]) & h->mask;

	while (h->slots[at])
		at = (at + 1) & h->mask;
	h->slots[at] = index + 1;
}

static void make_slots(struct hunt *h)
{
	free(h->slots);
	for (h->mask = 15; h->errors->count > h->mask / 4;)
		h->mask = h->mask * 2 + 1;
	h->slots = mt_alloc(((size_t)h->mask + 1) * sizeof *h->slots);
	for (uint32_t i = 0; i < h->errors->count; i++)
		put_slot(h, i);
}

/* Where both are of one kind, the earlier call stands for all. */
static void merge(struct mt_error *into, const struct mt_error *e)
{
	uint64_t count = into->count + e->count, bytes = into->bytes + e->bytes;
	uint64_t last = into->last_ns > e->last_ns ? into->last_ns : e->last_ns;

	if (e->call.time_ns < into->call.time_ns)
		*into = *e;
	into->count = count;
	into->bytes = bytes;
	into->last_ns = last;
}

static void add(struct hunt *h, const struct mt_error *e)
{
	struct mt_errors *errors = h->errors;

	for (uint64_t at = hash_of(e) & h->mask; h->slots[at]; at = (at + 1) & h->mask)
		if (agree(&errors->items[h->slots[at] - 1], e)) {
			merge(&errors->items[h->slots[at] - 1], e);
			return;
		}
	MT_GROW(errors->items, errors->count, errors->capacity);
	errors->items[errors->count++] = *e;
	if (errors->count > h->mask / 2)
		make_slots(h);
	else
		put_slot(h, errors->count - 1);
}

/* ---- mismatches ---- */

static int visit(void *context, const struct mt_allocation *a)
{
	struct hunt *h = context;

	if (h->has_invalid_frees && !h->settled)
		mt_invalid_frees_visit(&h->invalid, a);
	if (h->filtered && h->has_invalid_frees) {
		if (!h->settled)
			return 0;
		mt_invalid_frees_match(&h->invalid, a);
	}
	const struct mt_profile *p = h->source->profile;

	if (a->end_ns == MT_LIVE
		|| mt_functions_agree(mt_profile_function(p, h->functions[a->group]),
			mt_profile_function(p, a->end_function)))
		return 0;
	struct mt_error e = {
		.type = MT_ERROR_MISMATCH,
		.group = a->group,
		.count = 1,
		.bytes = a->size,
		.last_ns = a->end_ns,
		.number = a->number,
		.size = a->size,
		.allocated_ns = a->time_ns,
		.allocated_thread = a->thread,
		.call =
			{
				.time_ns = a->end_ns,
				.thread = a->end_thread,
				.function = a->end_function,
				.node = a->end_node,
			},
	};

	uint64_t lossy_ns = p->info.lossy_ns;

	/* of its own free, and of another block in its place */
	if (lossy_ns && a->time_ns <= lossy_ns)
		e.doubt = MT_ERROR_DOUBT_UNRECORDED;
	add(h, &e);
	return 0;
}

/* The operator that the innermost function of a stack is: a program's own, of which the tracer sees
 * what it calls. */
static uint32_t operator_of(const struct mt_source *source, uint32_t node,
	struct mt_backtrace *backtrace)
{
	mt_backtrace_of(backtrace, source->profile, source->symbols, node);
	const char *name = backtrace->count ? backtrace->frames[0].raw_function : "";

	if (!strncmp(name, "_Znw", 4) || !strncmp(name, "_Zdl", 4))
		return MT_FUNCTION_NEW;
	return !strncmp(name, "_Zna", 4) || !strncmp(name, "_Zda", 4)
		? MT_FUNCTION_NEW_ARRAY
		: MT_FUNCTION_NONE;
}

/* Whether any block was allocated by an operator new of the program's own. */
static bool has_own_operators(const struct mt_source *source, struct mt_backtrace *backtrace)
{
	const struct mt_profile *p = source->profile;
	uint8_t *seen = mt_alloc((size_t)p->pc_count + 1);
	bool found = false;

	for (uint32_t i = 0; i < p->group_count && !found; i++) {
		uint32_t pc = p->nodes[p->nodes[p->groups[i].node].parent].pc;

		if (pc < p->pc_count && !seen[pc]++)
			found = operator_of(source, p->groups[i].node, backtrace)
				!= MT_FUNCTION_NONE;
	}
	free(seen);
	return found;
}

/* Whether the call may have been made by an operator delete that nobody saw. */
static bool may_be_operator(const struct mt_error *e)
{
	return !e->call.node && e->call.function == MT_FUNCTION_FREE;
}

/* Takes back what only looks wrong since the program has operators of its own: false. */
static bool holds(const struct hunt *h, struct mt_error *e, bool own_operators,
	struct mt_backtrace *backtrace)
{
	const struct mt_profile *p = h->source->profile;
	uint32_t function = operator_of(h->source, p->groups[e->group].node, backtrace);
	uint32_t end =
		e->call.node ? operator_of(h->source, e->call.node, backtrace) : MT_FUNCTION_NONE;

	if (function == MT_FUNCTION_NONE)
		function = h->functions[e->group];
	if (end == MT_FUNCTION_NONE)
		end = e->call.function;
	if (own_operators && may_be_operator(e))
		e->doubt = MT_ERROR_DOUBT_OPERATORS;
	return !mt_functions_agree(mt_profile_function(p, function), mt_profile_function(p, end));
}

static void judge_mismatches(struct hunt *h)
{
	struct mt_errors *errors = h->errors;
	struct mt_backtrace backtrace = {0};
	bool asked = false, own = false;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < errors->count; i++)
		asked |= may_be_operator(&errors->items[i]);
	if (asked)
		own = has_own_operators(h->source, &backtrace);
	for (uint32_t i = 0; i < errors->count; i++)
		if (holds(h, &errors->items[i], own, &backtrace))
			errors->items[kept++] = errors->items[i];
	errors->count = kept;
	mt_backtrace_free(&backtrace);
	make_slots(h);
}

/* ---- frees of what was not there ---- */

static enum mt_error_doubt doubt_of(const struct hunt *h, const struct mt_invalid_free *s)
{
	const struct mt_info *info = &h->source->profile->info;
	uint64_t from = h->invalid.seen > info->unrecorded_frees
		? h->invalid.seen - info->unrecorded_frees
		: 0;

	if (s->order >= from) /* once blocks may be missing, it is so ever after */
		return MT_ERROR_DOUBT_UNRECORDED;
	if (s->swapped)
		return MT_ERROR_DOUBT_ORDER;
	if (s->elsewhere)
		return MT_ERROR_DOUBT_NONE;
	if (s->has_block && s->block.end_ns > s->call.time_ns) /* or lives */
		return MT_ERROR_DOUBT_REALLOC;
	return !s->has_block && h->invalid.resumed ? MT_ERROR_DOUBT_HISTORY : MT_ERROR_DOUBT_NONE;
}

static void add_invalid_free(struct hunt *h, const struct mt_invalid_free *s)
{
	struct mt_error e = {
		.type = s->elsewhere   ? MT_ERROR_MISMATCH
			: s->has_block ? MT_ERROR_DOUBLE_FREE
				       : MT_ERROR_UNKNOWN_FREE,
		.elsewhere = s->elsewhere,
		.doubt = doubt_of(h, s),
		.group = MT_NO_GROUP,
		.count = 1,
		.address = s->address,
		.call = s->call,
		.last_ns = s->call.time_ns,
	};

	const struct mt_address_block *around =
		s->has_block || s->elsewhere ? NULL : mt_invalid_frees_around(&h->invalid, s);

	if (s->elsewhere && !s->has_block && mt_info_begins_within(&h->source->profile->info)) {
		h->errors->inherited++; /* the block of its domain may be from before */
		return;
	}
	if (around) {
		e.group = around->group;
		e.number = around->number;
		e.size = around->size;
		e.allocated_ns = around->time_ns;
		e.allocated_thread = around->thread;
		e.offset = s->key - around->address;
		e.doubt = e.doubt == MT_ERROR_DOUBT_HISTORY ? MT_ERROR_DOUBT_NONE : e.doubt;
	} else if (s->has_block || s->elsewhere) {
		const struct mt_allocation *b = &s->block;

		e.group = b->group;
		e.number = b->number;
		e.bytes = e.size = b->size;
		e.allocated_ns = b->time_ns;
		e.allocated_thread = b->thread;
		if (!s->elsewhere)
			e.before = (struct mt_error_call){b->end_ns, b->end_thread, b->end_function,
				b->end_node};
	} else if (mt_info_begins_within(&h->source->profile->info)) {
		h->errors->inherited++;
		return;
	}
	if (h->filtered && !s->matches)
		h->errors->left_out += !s->has_block && !s->elsewhere;
	else
		add(h, &e);
}

/* ---- all ---- */

static int compare(const void *a, const void *b)
{
	const struct mt_error *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (!x->doubt != !y->doubt)
		return x->doubt ? 1 : -1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->call.time_ns != y->call.time_ns)
		return x->call.time_ns < y->call.time_ns ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static void sum_up(struct mt_errors *errors)
{
	if (errors->count)
		qsort(errors->items, errors->count, sizeof *errors->items, compare);
	for (uint32_t i = 0; i < errors->count; i++) {
		const struct mt_error *e = &errors->items[i];

		errors->sum[e->type] += e->count;
		errors->unsure[e->type] += e->doubt ? e->count : 0;
		errors->lacks_stacks |= !e->call.node
			|| (e->before.function != MT_FUNCTION_NONE && !e->before.node);
	}
}

static int look_through(struct hunt *h, struct mt_filter *filter, struct mt_err *err)
{
	const struct mt_info *info = &h->source->profile->info;
	int status = 0;

	if (mt_info_unfound_frees(info))
		status = mt_invalid_frees_gather(&h->invalid, h->source, err);
	h->has_invalid_frees = h->invalid.count;
	unsigned wants = MT_SCAN_STACKS | (h->has_invalid_frees ? MT_SCAN_ADDRESSES : 0);

	if (!status)
		status = mt_scan_allocations(h->source, h->has_invalid_frees ? NULL : filter, wants,
			visit, h, err);
	if (!status && h->has_invalid_frees) {
		mt_invalid_frees_settle(&h->invalid);
		h->settled = true;
	}
	if (!status && h->has_invalid_frees && h->filtered)
		status = mt_scan_allocations(h->source, filter, MT_SCAN_STACKS, visit, h, err);
	return status;
}

int mt_errors_find(struct mt_errors *errors, const struct mt_source *source,
	struct mt_filter *filter, struct mt_err *err)
{
	const struct mt_profile *p = source->profile;
	struct hunt h = {
		.errors = errors,
		.source = source,
		.filtered = filter && mt_filter_active(filter),
	};

	h.functions = mt_alloc(((size_t)p->group_count + 1) * sizeof *h.functions);
	for (uint32_t i = 0; i < p->group_count; i++)
		h.functions[i] = (uint16_t)mt_profile_group_function(p, i);
	make_slots(&h);
	int status = look_through(&h, filter, err);

	if (!status) {
		judge_mismatches(&h);
		for (uint32_t i = 0; i < h.invalid.count; i++)
			add_invalid_free(&h, &h.invalid.items[i]);
		errors->untold = h.invalid.seen - h.invalid.count;
		sum_up(errors);
	}
	mt_invalid_frees_free(&h.invalid);
	free(h.slots);
	free(h.functions);
	return status;
}

void mt_errors_free(struct mt_errors *errors)
{
	free(errors->items);
	*errors = (struct mt_errors){0};
}
