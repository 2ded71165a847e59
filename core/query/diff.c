#include "core/query/diff.h"

#include "core/query/diff_places.h"
#include "core/query/fold.h"
#include "core/query/frame.h"
#include "core/query/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Backtraces of both sides as paths of one tree: a node is its parent and a frame's key. */
struct paths {
	struct mt_strings keys; /* of frames */
	struct path {
		uint32_t parent, key;
		bool doubtful;
	} * items; /* 0: the root */
	uint32_t count, capacity;
	uint32_t *slots; /* open addressing: index + 1 */
	uint32_t slot_count;
	bool any_kind;            /* a side does not know its kinds of call: they are all one */
	struct mt_strings builds; /* of modules with a build-id: names and ids of both sides */
	uint8_t *sides;           /* by build: bits of the sides that have it */
	int (*progress)(void *context, double fraction);
	void *context;
	uint64_t done, all; /* nodes */
};

#define STRIDE 65536u /* nodes between two looks at whether anybody still wants it */

const char *mt_diff_state_name(enum mt_diff_state state)
{
	static const char *const names[] = {"new", "grew", "shrank", "gone", "same"};

	return state < MT_DIFF_STATES ? names[state] : "?";
}

/* ---- paths ---- */

static uint32_t *slot_of(struct paths *paths, uint32_t parent, uint32_t key)
{
	uint64_t hash = ((uint64_t)parent << 32 | key) * 0x9e3779b97f4a7c15ull;
	uint32_t slot = (uint32_t)(hash >> 32) & (paths->slot_count - 1);

	while (paths->slots[slot]) {
		const struct path *at = &paths->items[paths->slots[slot] - 1];

		if (at->parent == parent && at->key == key)
			break;
		slot = (slot + 1) & (paths->slot_count - 1);
	}
	return &paths->slots[slot];
}

static void grow_slots(struct paths *paths)
{
	free(paths->slots);
	paths->slot_count = paths->slot_count ? paths->slot_count * 2 : 1024;
	paths->slots = mt_alloc((size_t)paths->slot_count * sizeof *paths->slots);
	for (uint32_t i = 1; i < paths->count; i++)
		*slot_of(paths, paths->items[i].parent, paths->items[i].key) = i + 1;
}

static uint32_t step(struct paths *paths, uint32_t parent, uint32_t key, bool doubtful)
{
	if ((paths->count + 1) * 2 > paths->slot_count)
		grow_slots(paths);
	uint32_t *slot = slot_of(paths, parent, key);

	if (!*slot) {
		MT_GROW(paths->items, paths->count, paths->capacity);
		paths->items[paths->count++] =
			(struct path){parent, key, doubtful || paths->items[parent].doubtful};
		*slot = paths->count;
	}
	return *slot - 1;
}

static void build_text(struct mt_buffer *text, const struct mt_profile *profile,
	const struct mt_module *module)
{
	mt_buffer_printf(text, "?%s",
		mt_base_name(mt_strings_get(&profile->strings, module->path)));
	for (uint32_t i = 0; i < module->build_id_len; i++)
		mt_buffer_printf(text, "%02x", module->build_id[i]);
}

/* Which modules are the same build on both sides. */
static void find_builds(struct paths *paths, const struct mt_profile *profile, uint8_t side)
{
	struct mt_buffer text = {0};

	for (uint32_t i = 0; i < profile->module_count; i++) {
		if (!profile->modules[i].build_id_len)
			continue;
		text.len = 0;
		build_text(&text, profile, &profile->modules[i]);
		uint32_t count = paths->builds.count;
		uint32_t build = mt_strings_add(&paths->builds, (const char *)text.data);

		if (build >= count) {
			paths->sides = mt_resize(paths->sides, build + 1);
			paths->sides[build] = 0;
		}
		paths->sides[build] |= side;
	}
	mt_buffer_free(&text);
}

/* A frame without a name: by its place, where both sides have this build of the module; else by the
 * module alone. */
static uint32_t nameless_key(struct paths *paths, const struct mt_profile *profile, uint32_t pc,
	bool *doubtful)
{
	const struct mt_pc *at = &profile->pcs[pc];
	struct mt_buffer text = {0};

	if (at->module < profile->module_count) {
		const struct mt_module *module = &profile->modules[at->module];
		uint32_t build = 0;

		build_text(&text, profile, module);
		if (module->build_id_len)
			build = mt_strings_add(&paths->builds, (const char *)text.data);
		if (build && paths->sides[build] == 3) {
			mt_buffer_printf(&text, "+%llx",
				(unsigned long long)(at->address - module->bias));
		} else {
			text.len = 0;
			mt_buffer_printf(&text, "?%s",
				mt_base_name(mt_strings_get(&profile->strings, module->path)));
			*doubtful = true;
		}
	} else {
		mt_buffer_printf(&text, "?");
		*doubtful = true;
	}
	uint32_t key = mt_strings_add(&paths->keys, (const char *)text.data);

	mt_buffer_free(&text);
	return key;
}

static uint32_t frame_key(struct paths *paths, const struct mt_diff_side *side, uint32_t pc,
	uint32_t frame, bool *doubtful)
{
	const struct mt_symbols *s = side->symbols;

	if (mt_profile_is_marker(side->profile, pc)) {
		bool kind = pc != MT_PC_CUT && pc != MT_PC_TABLE_FULL;
		char *text = kind && paths->any_kind
			? mt_format("#%u", MT_FUNCTION_NONE)
			: mt_format(pc < MT_PC_FIRST ? "#%u" : "#%u %s",
				pc < MT_PC_FIRST ? pc : MT_PC_FIRST,
				mt_profile_function_name(side->profile,
					mt_profile_marker_function(side->profile, pc)));
		uint32_t key = mt_strings_add(&paths->keys, text);

		free(text);
		return key;
	}
	const char *function =
		frame == MT_NO_FRAME ? "" : mt_strings_get(&s->strings, s->frames[frame].function);

	if (mt_frame_is_place(function))
		return nameless_key(paths, side->profile, pc, doubtful);
	/* Built elsewhere, the file lies in another directory. */
	char *text = mt_format("%s\t%s", function,
		mt_base_name(mt_strings_get(&s->strings, s->frames[frame].source)));
	uint32_t key = mt_strings_add(&paths->keys, text);

	free(text);
	return key;
}

static bool is_wanted(struct paths *paths)
{
	return !paths->progress
		|| !paths->progress(paths->context, (double)paths->done / (double)(paths->all + 1));
}

/* The frames of a side, with what is known of them already. */
struct frames {
	const struct mt_diff_side *side;
	uint32_t *keys; /* by frame, and behind these by pc without a frame */
	bool *doubts;   /* by pc */
};

static struct frames frames_of(const struct mt_diff_side *side)
{
	uint32_t pcs = side->profile->pc_count;

	return (struct frames){side,
		mt_alloc(((size_t)side->symbols->frame_count + pcs + 1) * sizeof(uint32_t)),
		mt_alloc(pcs + 1)};
}

static void frames_free(struct frames *f)
{
	free(f->keys);
	free(f->doubts);
}

static uint32_t step_pc(struct paths *paths, uint32_t path, struct frames *f, uint32_t pc)
{
	uint32_t first, count = mt_pc_frames(f->side->symbols, pc, &first);

	for (uint32_t left = count ? count : 1; left-- > 0;) { /* outermost first */
		uint32_t frame = count ? first + left : MT_NO_FRAME;
		uint32_t *key = &f->keys[count ? frame : f->side->symbols->frame_count + pc];

		if (!*key)
			*key = frame_key(paths, f->side, pc, frame, &f->doubts[pc]);
		path = step(paths, path, *key, f->doubts[pc]);
	}
	return path;
}

/* The path of every node of a side's profile: parents come before their children. NULL: cancelled.
 * What is the same place on both sides gets the names of the first side, or of the one that has
 * them. */
static uint32_t *map_nodes(struct paths *paths, const struct mt_diff_side *side,
	const struct mt_diff_side *other, bool is_b)
{
	const struct mt_profile *p = side->profile;
	uint32_t *map = mt_resize(NULL, ((size_t)p->node_count + 1) * sizeof *map);
	uint32_t *places = side->symbols == other->symbols ? NULL : mt_diff_places(side, other);
	struct frames own = frames_of(side), others = frames_of(other);
	bool wanted = true;

	map[0] = 0;
	for (uint32_t i = 1;
		i < p->node_count && (paths->done++ % STRIDE || (wanted = is_wanted(paths))); i++) {
		uint32_t pc = p->nodes[i].pc, parent = map[p->nodes[i].parent];
		uint32_t theirs = places && pc < p->pc_count ? places[pc] : 0;

		map[i] = theirs && (is_b || !mt_diff_is_named(side->symbols, pc))
			? step_pc(paths, parent, &others, theirs)
			: step_pc(paths, parent, &own, pc);
	}
	frames_free(&others);
	frames_free(&own);
	free(places);
	if (wanted)
		return map;
	free(map);
	return NULL;
}

/* ---- pairs ---- */

/* As what other tools recorded. */
static bool has_unknown_kinds(const struct mt_profile *p)
{
	for (uint32_t i = 0; i < p->group_count; i++)
		if (mt_profile_group_function(p, i) == MT_FUNCTION_NONE)
			return true;
	return false;
}

static uint32_t *map_groups(struct paths *paths, const struct mt_diff_side *side,
	const struct mt_diff_side *other, bool is_b)
{
	uint32_t *nodes = map_nodes(paths, side, other, is_b), *groups;

	if (!nodes)
		return NULL;
	groups = mt_resize(NULL, ((size_t)side->profile->group_count + 1) * sizeof *groups);
	for (uint32_t i = 0; i < side->profile->group_count; i++)
		groups[i] = nodes[side->profile->groups[i].node];
	free(nodes);
	return groups;
}

int mt_diff_pair(struct mt_diff_pairs *pairs, const struct mt_diff_side *a,
	const struct mt_diff_side *b, int (*progress)(void *, double), void *context)
{
	struct paths paths = {
		.progress = progress,
		.context = context,
		.all = (uint64_t)a->profile->node_count + b->profile->node_count,
	};
	int result = 0;

	mt_strings_init(&paths.keys);
	mt_strings_init(&paths.builds);
	paths.sides = mt_alloc(1);
	find_builds(&paths, a->profile, 1);
	find_builds(&paths, b->profile, 2);
	MT_GROW(paths.items, paths.count, paths.capacity);
	paths.items[paths.count++] = (struct path){0};
	paths.any_kind = has_unknown_kinds(a->profile) || has_unknown_kinds(b->profile);
	*pairs = (struct mt_diff_pairs){.a = map_groups(&paths, a, b, false)};
	if (pairs->a)
		pairs->b = map_groups(&paths, b, a, true);
	pairs->a_count = a->profile->group_count;
	pairs->b_count = b->profile->group_count;
	pairs->count = paths.count;
	pairs->doubtful = mt_alloc(paths.count);
	for (uint32_t i = 0; i < paths.count; i++)
		pairs->doubtful[i] = paths.items[i].doubtful;
	free(paths.slots);
	free(paths.items);
	free(paths.sides);
	mt_strings_free(&paths.builds);
	mt_strings_free(&paths.keys);
	if (!pairs->b) {
		mt_diff_pairs_free(pairs);
		result = -ECANCELED;
	}
	return result;
}

void mt_diff_pairs_swap(struct mt_diff_pairs *p)
{
	*p = (struct mt_diff_pairs){p->b, p->a, p->b_count, p->a_count, p->count, p->doubtful};
}

void mt_diff_pairs_free(struct mt_diff_pairs *p)
{
	free(p->a);
	free(p->b);
	free(p->doubtful);
	*p = (struct mt_diff_pairs){0};
}

/* ---- entries ---- */

/* index: by backtrace, entry + 1. */
static struct mt_diff_entry *entry_of(struct mt_diff *diff, uint32_t *index, uint32_t at,
	bool doubtful)
{
	if (!index[at]) {
		MT_GROW(diff->entries, diff->count, diff->capacity);
		diff->entries[diff->count++] = (struct mt_diff_entry){
			.group_a = MT_NO_GROUP,
			.group_b = MT_NO_GROUP,
			.doubtful = doubtful,
		};
		index[at] = diff->count;
	}
	return &diff->entries[index[at] - 1];
}

/* keys: by group; NULL: its own number. */
static void add_side(struct mt_diff *diff, const struct mt_diff_pairs *pairs, uint32_t *index,
	const struct mt_diff_side *side, const uint32_t *keys, bool is_b)
{
	for (uint32_t i = 0; i < side->selection->count; i++) {
		uint32_t id = side->selection->groups[i], at = keys ? keys[id] : id;
		const struct mt_group *group = &side->profile->groups[id];
		struct mt_diff_entry *entry =
			entry_of(diff, index, at, keys && pairs->doubtful[at]);
		uint32_t *one = is_b ? &entry->group_b : &entry->group_a;

		if (*one == MT_NO_GROUP)
			*one = id;
		mt_fold(&diff->folds, is_b ? &entry->b : &entry->a, side->profile, group);
		mt_fold(&diff->folds, is_b ? &diff->b : &diff->a, side->profile, group);
	}
}

static int64_t clamp(double value)
{
	return value >= 9e18     ? INT64_MAX
		: value <= -9e18 ? INT64_MIN
				 : (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

static int64_t change_of(const struct mt_diff *diff, uint64_t a, uint64_t b, bool is_time)
{
	if (diff->factor == 1 || is_time)
		return (int64_t)(b - a);
	return clamp((double)b * diff->factor - (double)a);
}

static void judge(struct mt_diff *diff, const struct mt_diff_side *a, const struct mt_diff_side *b,
	enum mt_metric metric)
{
	bool is_time = mt_metric_info(a->profile, metric)->unit == MT_UNIT_TIME;
	enum mt_metric of_b = mt_metric_in(b->profile, a->profile, metric);

	for (uint32_t i = 0; i < diff->count; i++) {
		struct mt_diff_entry *e = &diff->entries[i];

		e->change = change_of(diff, mt_metric_value(a->profile, &e->a, metric),
			mt_metric_value(b->profile, &e->b, of_b), is_time);
		e->state = e->group_a == MT_NO_GROUP ? MT_DIFF_NEW
			: e->group_b == MT_NO_GROUP  ? MT_DIFF_GONE
			: e->change > 0              ? MT_DIFF_GREW
			: e->change < 0              ? MT_DIFF_SHRANK
						     : MT_DIFF_SAME;
		diff->states[e->state]++;
	}
}

/* Smallest key first. Each direction has its largest change first, as that is what a person looks
 * for; groups without a change come last. */
static uint64_t key_of(int64_t change, bool shrinking_first)
{
	const uint64_t half = (uint64_t)INT64_MAX;

	if (!change)
		return UINT64_MAX;
	if (change > 0)
		return half - (uint64_t)change + (shrinking_first ? half + 1 : 0);
	return ((uint64_t)change ^ 1ull << 63) + (shrinking_first ? 0 : half);
}

/* In place: another array of that size would take longer to be had than to be filled. */
static void sort_entries(struct mt_diff *diff, bool ascending)
{
	struct mt_sort_entry *order = mt_resize(NULL, (diff->count + 1) * sizeof *order);

	for (uint32_t i = 0; i < diff->count; i++)
		order[i] = (struct mt_sort_entry){key_of(diff->entries[i].change, ascending), i};
	mt_sort(order, diff->count);
	for (uint32_t i = 0; i < diff->count; i++) {
		struct mt_diff_entry first = diff->entries[i];
		uint32_t at = i, from;

		/* round a cycle; what is in its place is one of its own */
		for (; (from = order[at].id) != i; at = from) {
			diff->entries[at] = diff->entries[from];
			order[at].id = at;
		}
		diff->entries[at] = first;
		order[at].id = at;
	}
	free(order);
}

/* Entries of an earlier call leave their memory. */
static void begin(struct mt_diff *diff, const struct mt_diff_side *a, const struct mt_diff_side *b,
	enum mt_metric metric)
{
	uint32_t most = a->selection->count > b->selection->count
		? a->selection->count
		: b->selection->count;
	struct mt_diff_entry *entries = diff->entries;
	uint32_t capacity = diff->capacity;

	mt_folds_free(&diff->folds);
	if (capacity < most) {
		free(entries);
		entries = mt_resize(NULL, (size_t)most * sizeof *entries);
		capacity = most;
	}
	*diff = (struct mt_diff){.entries = entries, .capacity = capacity, .factor = 1};
	diff->folds.suspects = metric == MT_METRIC_SUSPECT;
}

static double factor_of(const struct mt_diff_side *a, const struct mt_diff_side *b,
	enum mt_diff_normalise normalise)
{
	const struct mt_info *x = &a->profile->info, *y = &b->profile->info;
	uint64_t from = normalise == MT_DIFF_PER_TIME ? x->wall_ns : mt_info_blocks_begun(x);
	uint64_t to = normalise == MT_DIFF_PER_TIME ? y->wall_ns : mt_info_blocks_begun(y);

	return normalise == MT_DIFF_AS_RECORDED || !from || !to ? 1 : (double)from / (double)to;
}

void mt_diff_of_pairs(struct mt_diff *diff, const struct mt_diff_pairs *pairs,
	const struct mt_diff_side *a, const struct mt_diff_side *b, enum mt_metric metric,
	enum mt_diff_normalise normalise, bool ascending)
{
	uint32_t *index = mt_alloc((size_t)pairs->count * sizeof *index);

	begin(diff, a, b, metric);
	diff->factor = factor_of(a, b, normalise);
	add_side(diff, pairs, index, a, pairs->a, false);
	add_side(diff, pairs, index, b, pairs->b, true);
	judge(diff, a, b, metric);
	sort_entries(diff, ascending);
	free(index);
}

void mt_diff_get(struct mt_diff *diff, const struct mt_diff_side *a, const struct mt_diff_side *b,
	enum mt_metric metric, enum mt_diff_normalise normalise, bool ascending)
{
	struct mt_diff_pairs pairs = {0};

	mt_diff_pair(&pairs, a, b, NULL, NULL);
	mt_diff_of_pairs(diff, &pairs, a, b, metric, normalise, ascending);
	mt_diff_pairs_free(&pairs);
}

/* Groups only come: new and gone is what holds nothing at one of the instants. */
static void judge_since(struct mt_diff *diff, const struct mt_diff_side *a,
	const struct mt_diff_side *b, enum mt_metric metric)
{
	memset(diff->states, 0, sizeof diff->states);
	for (uint32_t i = 0; i < diff->count; i++) {
		struct mt_diff_entry *e = &diff->entries[i];
		bool before = mt_metric_value(a->profile, &e->a, metric) != 0;
		bool after = mt_metric_value(b->profile, &e->b, metric) != 0;

		e->state = !before && after ? MT_DIFF_NEW
			: before && !after  ? MT_DIFF_GONE
			: e->change > 0     ? MT_DIFF_GREW
			: e->change < 0     ? MT_DIFF_SHRANK
					    : MT_DIFF_SAME;
		diff->states[e->state]++;
	}
}

void mt_diff_since(struct mt_diff *diff, const struct mt_diff_side *a, const struct mt_diff_side *b,
	enum mt_metric metric, bool ascending)
{
	uint32_t groups = a->profile->group_count > b->profile->group_count
		? a->profile->group_count
		: b->profile->group_count;
	uint32_t *index = mt_alloc(((size_t)groups + 1) * sizeof *index);

	begin(diff, a, b, metric);
	add_side(diff, NULL, index, a, NULL, false);
	add_side(diff, NULL, index, b, NULL, true);
	judge(diff, a, b, metric);
	judge_since(diff, a, b, metric);
	sort_entries(diff, ascending);
	free(index);
}

void mt_diff_free(struct mt_diff *diff)
{
	free(diff->entries);
	mt_folds_free(&diff->folds);
	*diff = (struct mt_diff){0};
}
