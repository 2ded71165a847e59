#include "core/query/callers.h"

#include "core/query/fold.h"
#include "core/query/frame.h"
#include "core/query/pattern.h"
#include "core/query/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One stack, flat: a pc and the index of its frame, innermost first. */
struct stack {
	struct place {
		uint32_t pc, frame;
	} * places;
	uint32_t count, capacity;
};

/* What a walk over the stacks carries along. */
struct walk {
	const struct mt_profile *profile;
	const struct mt_symbols *symbols;
	uint8_t *verdicts; /* by frame: whether it is the function */
	struct stack stack;
	uint32_t *seen; /* relations that this stack counted in already */
	uint32_t seen_count, seen_capacity;
};

static void add_place(struct stack *stack, uint32_t pc, uint32_t frame)
{
	MT_GROW(stack->places, stack->count, stack->capacity);
	stack->places[stack->count++] = (struct place){pc, frame};
}

static void read_stack(struct walk *walk, uint32_t group)
{
	const struct mt_profile *p = walk->profile;

	walk->stack.count = 0;
	for (uint32_t node = p->nodes[p->groups[group].node].parent; node != MT_NODE_ROOT;
		node = p->nodes[node].parent) {
		uint32_t pc = p->nodes[node].pc, first;
		uint32_t count = mt_pc_frames(walk->symbols, pc, &first);

		if (!count)
			add_place(&walk->stack, pc, MT_NO_FRAME);
		for (uint32_t i = 0; i < count; i++)
			add_place(&walk->stack, pc, first + i);
	}
}

/* ---- which frames are meant ---- */

/* Whether name is text, or text with its arguments behind it: ns::f for ns::f(int). */
static bool is_called(const char *name, const char *text)
{
	size_t len = strlen(text);

	return !strncmp(name, text, len) && (!name[len] || name[len] == '(');
}

static uint32_t find_by_name(struct walk *walk, const char *text)
{
	const struct mt_symbols *s = walk->symbols;
	uint32_t found = 0;

	for (uint32_t i = 0; i < s->frame_count; i++) {
		walk->verdicts[i] =
			is_called(mt_strings_get(&s->strings, s->frames[i].function), text)
			|| !strcmp(mt_strings_get(&s->strings, s->frames[i].raw_function), text);
		found += walk->verdicts[i];
	}
	return found;
}

static int find_by_pattern(struct walk *walk, const char *text, struct mt_err *err)
{
	const struct mt_symbols *s = walk->symbols;
	struct mt_pattern *pattern = mt_pattern_new(text, "the function", err);
	/* 0: not asked yet; else verdict + 1 */
	uint8_t *by_string = mt_alloc(s->strings.count + 1);
	int status = pattern ? 0 : -EINVAL;

	if (pattern)
		mt_pattern_begin(pattern);
	for (uint32_t i = 0; i < s->frame_count && status >= 0; i++) {
		uint32_t string =
			s->frames[i].function < s->strings.count ? s->frames[i].function : 0;

		if (!by_string[string]) {
			status =
				mt_pattern_match(pattern, mt_strings_get(&s->strings, string), err);
			by_string[string] = (uint8_t)(status > 0) + 1;
		}
		walk->verdicts[i] = by_string[string] == 2;
	}
	free(by_string);
	if (pattern)
		mt_pattern_free(pattern);
	return status < 0 ? status : 0;
}

/* ---- counting ---- */

static bool is_function(const struct walk *walk, uint32_t at)
{
	uint32_t frame = walk->stack.places[at].frame;

	return frame != MT_NO_FRAME && walk->verdicts[frame];
}

/* The relation for a place of the stack (at == count: nothing beyond the stack's end), made when it
 * is new. */
static uint32_t relation_at(struct mt_callers *out, struct mt_relations *relations,
	const struct walk *walk, uint32_t at, const char *none)
{
	struct mt_backtrace_frame frame = {.function = none, .module = ""};
	struct place place = {MT_NO_NODE, MT_NO_NODE};

	if (at < walk->stack.count) {
		place = walk->stack.places[at];
		mt_frame_describe(&frame, walk->profile, walk->symbols, place.pc, place.frame);
	}
	char *name = *frame.function
		? mt_strdup(frame.function)
		: mt_format("%s+0x%llx", *frame.module ? frame.module : "?",
			(unsigned long long)frame.offset);
	char *text = mt_format("%s\t%s", name, frame.module);
	uint32_t key = mt_strings_add(&relations->keys, text);

	if (key > relations->count) {
		MT_GROW(relations->items, relations->count, relations->capacity);
		relations->items[relations->count++] = (struct mt_relation){
			.name = mt_strings_add(&out->names, name),
			.pc = place.pc,
			.frame = place.frame,
		};
	}
	free(text);
	free(name);
	return key - 1;
}

/* Adds the group to the neighbours on one side of every place where the function stands; to each of
 * them once. */
static void relate(struct mt_callers *out, struct mt_relations *relations, struct walk *walk,
	uint32_t group, bool outwards)
{
	walk->seen_count = 0;
	for (uint32_t at = 0; at < walk->stack.count; at++) {
		if (!is_function(walk, at))
			continue;
		uint32_t beyond = outwards ? at + 1 : at ? at - 1 : walk->stack.count, i = 0;
		uint32_t relation = relation_at(out, relations, walk, beyond,
			outwards ? "[nobody]" : "[allocated here]");

		while (i < walk->seen_count && walk->seen[i] != relation)
			i++;
		if (i < walk->seen_count)
			continue;
		MT_GROW(walk->seen, walk->seen_count, walk->seen_capacity);
		walk->seen[walk->seen_count++] = relation;
		mt_fold(&out->folds, &relations->items[relation].sum, walk->profile,
			&walk->profile->groups[group]);
	}
}

static void add_group(struct mt_callers *out, struct walk *walk, uint32_t group)
{
	const struct mt_group *totals = &walk->profile->groups[group];
	bool through = false;

	read_stack(walk, group);
	for (uint32_t at = 0; at < walk->stack.count; at++)
		if (is_function(walk, at)) {
			uint32_t name =
				walk->symbols->frames[walk->stack.places[at].frame].function;

			through = true;
			mt_strings_add(&out->functions,
				mt_strings_get(&walk->symbols->strings, name));
		}
	if (!through)
		return;
	out->group_count++;
	mt_fold(&out->folds, &out->total, walk->profile, totals);
	if (is_function(walk, 0))
		mt_fold(&out->folds, &out->self, walk->profile, totals);
	relate(out, &out->callers, walk, group, true);
	relate(out, &out->callees, walk, group, false);
}

static void sort_relations(struct mt_relations *relations, const struct mt_profile *profile,
	enum mt_metric metric)
{
	struct mt_sort_entry *order = mt_resize(NULL, (relations->count + 1) * sizeof *order);
	struct mt_relation *sorted = mt_resize(NULL, (relations->count + 1) * sizeof *sorted);

	for (uint32_t i = 0; i < relations->count; i++)
		order[i] = (struct mt_sort_entry){~mt_metric_value(profile,
							  &relations->items[i].sum, metric),
			i};
	mt_sort(order, relations->count);
	for (uint32_t i = 0; i < relations->count; i++)
		sorted[i] = relations->items[order[i].id];
	free(order);
	free(relations->items);
	relations->items = sorted;
}

int mt_callers_get(struct mt_callers *out, const struct mt_profile *profile,
	const struct mt_symbols *symbols, const struct mt_selection *selection, const char *text,
	enum mt_metric sort, struct mt_err *err)
{
	struct walk walk = {
		.profile = profile,
		.symbols = symbols,
		.verdicts = mt_alloc(symbols->frame_count + 1),
	};
	int status = 0;

	out->folds.suspects = sort == MT_METRIC_SUSPECT;
	mt_strings_init(&out->names);
	mt_strings_init(&out->functions);
	mt_strings_init(&out->callers.keys);
	mt_strings_init(&out->callees.keys);
	if (!find_by_name(&walk, text))
		status = find_by_pattern(&walk, text, err);
	for (uint32_t i = 0; i < selection->count && status >= 0; i++)
		add_group(out, &walk, selection->groups[i]);
	if (status >= 0 && !out->group_count)
		status = mt_fail(err, -ENOENT,
			"no backtrace has a function that is called '%.80s' or matches it; 'memtui "
			"tree' shows the functions",
			text);
	sort_relations(&out->callers, profile, sort);
	sort_relations(&out->callees, profile, sort);
	free(walk.stack.places);
	free(walk.seen);
	free(walk.verdicts);
	return status;
}

void mt_callers_free(struct mt_callers *callers)
{
	mt_strings_free(&callers->names);
	mt_strings_free(&callers->callers.keys);
	mt_strings_free(&callers->callees.keys);
	mt_strings_free(&callers->functions);
	mt_folds_free(&callers->folds);
	free(callers->callers.items);
	free(callers->callees.items);
	*callers = (struct mt_callers){0};
}
