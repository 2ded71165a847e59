#include "tui/view/tree_rows.h"
#include "core/base/buffer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct build {
	struct mt_app *app;
	struct mt_tree *tree;
	struct mt_tree_state *state;
	uint64_t least; /* children below it are summed */
	uint64_t force_identity;
	int force;
};

static uint64_t mix(uint64_t identity, const char *text)
{
	uint64_t h = identity ^ 1469598103934665603u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 1099511628211u;
	h ^= h >> 29;
	return h ? h : 1;
}

static uint32_t slot_of(const struct mt_tree_state *t, uint64_t identity)
{
	uint32_t at = (uint32_t)(identity * 0x9e3779b97f4a7c15u >> 32) & (t->toggled_slots - 1);

	while (t->toggled[at] && t->toggled[at] != identity)
		at = (at + 1) & (t->toggled_slots - 1);
	return at;
}

void mt_tree_rows_toggle(struct mt_tree_state *t, uint64_t identity, bool open)
{
	if ((t->toggled_count + 1) * 2 > t->toggled_slots) {
		uint64_t *old = t->toggled;
		uint8_t *old_opened = t->opened;
		uint32_t slots = t->toggled_slots;

		t->toggled_slots = slots ? slots * 2 : 64;
		t->toggled = mt_alloc(t->toggled_slots * sizeof *t->toggled);
		t->opened = mt_alloc(t->toggled_slots);
		for (uint32_t i = 0; i < slots; i++)
			if (old[i]) {
				uint32_t at = slot_of(t, old[i]);

				t->toggled[at] = old[i];
				t->opened[at] = old_opened[i];
			}
		free(old);
		free(old_opened);
	}
	uint32_t at = slot_of(t, identity);

	t->toggled_count += !t->toggled[at];
	t->toggled[at] = identity;
	t->opened[at] = open;
	t->generation = 0;
}

void mt_tree_rows_reset(struct mt_tree_state *t)
{
	free(t->toggled);
	free(t->opened);
	t->toggled = NULL;
	t->opened = NULL;
	t->toggled_slots = t->toggled_count = 0;
	t->generation = 0;
}

void mt_tree_rows_text(const struct mt_tree_state *t, char *out, size_t len)
{
	size_t used = 0;

	*out = '\0';
	for (uint32_t i = 0; i < t->toggled_slots && used + 20 < len; i++)
		if (t->toggled[i])
			used += (size_t)snprintf(out + used, len - used, "%s%c%" PRIx64,
				used ? " " : "", t->opened[i] ? '+' : '-', t->toggled[i]);
}

void mt_tree_rows_parse(struct mt_tree_state *t, const char *text)
{
	char *end;

	mt_tree_rows_reset(t);
	for (text += strspn(text, " "); *text == '+' || *text == '-';
		text = end + strspn(end, " ")) {
		uint64_t identity = strtoull(text + 1, &end, 16);

		if (end == text + 1 || !identity)
			return;
		mt_tree_rows_toggle(t, identity, *text == '+');
	}
}

static bool is_open(const struct mt_tree_state *t, uint64_t identity, bool otherwise)
{
	if (!t->toggled_slots)
		return otherwise;
	uint32_t at = slot_of(t, identity);

	return t->toggled[at] ? t->opened[at] : otherwise;
}

static uint64_t value_of(const struct build *b, const struct mt_tree_node *node)
{
	return mt_metric_value(&b->app->data.profile, &node->total, b->app->data.sort);
}

static struct mt_tree_row *new_row(struct mt_tree_state *t)
{
	MT_GROW(t->rows, t->row_count, t->row_capacity);
	t->rows[t->row_count] = (struct mt_tree_row){0};
	return &t->rows[t->row_count++];
}

/* The end of the chain without branches that begins at node: nothing is allocated on its way. What
 * leads from the program's own last frame to malloc is folded. Inverted, the allocating function
 * has a row of its own. Looking further expands nodes, which may move all of them. */
static uint32_t chain_end(struct build *b, uint32_t node, uint32_t *frames, bool *folded)
{
	*folded = false;
	for (*frames = 0;; ++*frames) {
		mt_tree_expand(b->tree, node);
		if (mt_tree_get(b->tree, node)->first_child == MT_NO_NODE)
			return node;
		if (mt_tree_inverted(b->tree) && mt_tree_get(b->tree, node)->depth == 1)
			return node;
		*folded = mt_tree_ends_here(b->tree, node);
		if (*folded)
			return node;
		const struct mt_tree_node *here = mt_tree_get(b->tree, node);
		const struct mt_tree_node *next = mt_tree_get(b->tree, here->first_child);

		if (next->next_sibling != MT_NO_NODE
			|| next->total.allocated_count != here->total.allocated_count)
			return node;
		node = here->first_child;
	}
}

static void add_children(struct build *b, uint32_t parent, uint32_t depth, uint64_t identity,
	bool forced);

static void add_row(struct build *b, uint32_t node, uint32_t depth, uint64_t parent_identity,
	bool forced)
{
	struct mt_tree_state *t = b->state;
	struct mt_backtrace_frame label;
	uint32_t chain, last, at = t->row_count;
	uint64_t identity;
	bool open, branch, folded;

	mt_tree_label(b->tree, node, &label);
	identity = mix(parent_identity, label.function);
	last = chain_end(b, node, &chain, &folded);
	branch = mt_tree_get(b->tree, last)->first_child != MT_NO_NODE;
	forced = forced || (b->force && identity == b->force_identity);
	if (forced && branch && depth < 200 && t->row_count < 100000)
		mt_tree_rows_toggle(t, identity, b->force > 0);
	open = branch && is_open(t, identity, depth < t->level && !folded);
	*new_row(t) = (struct mt_tree_row){
		.node = node,
		.last = last,
		.chain = chain,
		.depth = depth,
		.identity = identity,
		.open = open,
		.branch = branch,
		.folded = folded,
	};
	if (open)
		add_children(b, last, depth + 1, t->rows[at].identity, forced);
}

static void add_children(struct build *b, uint32_t parent, uint32_t depth, uint64_t identity,
	bool forced)
{
	uint32_t child, small = 0, last_small = MT_NO_NODE;
	uint64_t small_value = 0;
	bool all = is_open(b->state, identity ^ MT_TREE_SMALL, false);

	mt_tree_expand(b->tree, parent);
	for (child = mt_tree_get(b->tree, parent)->first_child; child != MT_NO_NODE;
		child = mt_tree_get(b->tree, child)->next_sibling) {
		uint64_t value = value_of(b, mt_tree_get(b->tree, child));

		if (value < b->least && !all) {
			small++;
			small_value += value;
			last_small = child;
			continue;
		}
		add_row(b, child, depth, identity, forced);
	}
	if (small == 1)
		add_row(b, last_small, depth, identity, forced);
	else if (small)
		*new_row(b->state) = (struct mt_tree_row){
			.node = parent,
			.last = parent,
			.depth = depth,
			.more = small,
			.more_value = small_value,
			.identity = identity ^ MT_TREE_SMALL,
		};
}

void mt_tree_rows_make(struct mt_app *app, uint64_t force_identity, int force)
{
	struct mt_tree_state *t = &app->tree;
	struct build b = {app, mt_data_tree(&app->data), t, 0, force_identity, force};
	uint32_t root = mt_tree_root(b.tree), at = UINT32_MAX;

	if (mt_metric_sums(&app->data.profile, app->data.sort))
		b.least = value_of(&b, mt_tree_get(b.tree, root)) / 200;
	t->row_count = 0;
	add_children(&b, root, 0, 1, force && force_identity == 1);
	for (uint32_t i = 0; i < t->row_count && at == UINT32_MAX; i++)
		if (t->rows[i].identity == t->list.identity)
			at = i;
	mt_list_keep(&t->list, t->row_count, at);
	if (t->row_count)
		t->list.identity = t->rows[t->list.selected].identity;
	t->generation = app->data.generation;
}
