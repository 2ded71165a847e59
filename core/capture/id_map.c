#include "core/capture/id_map.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_SLACK 16 /* function, cut mark, and what a signal frame adds */

#define load(p) __atomic_load_n((p), __ATOMIC_RELAXED)

static void invalid(struct mt_id_map *t)
{
	t->profile->info.invalid_records++;
}

static uint32_t published(const uint32_t *count, const struct mt_wire_range *range)
{
	uint32_t n = __atomic_load_n(count, __ATOMIC_ACQUIRE);

	return n < range->capacity ? n : range->capacity;
}

static uint32_t hash(uint64_t a, uint64_t b)
{
	return (uint32_t)((a * 0x9e3779b97f4a7c15ull
				  ^ (b + 0x632be59bd9b4e019ull) * 0xd6e8feb86659fd93ull)
		>> 29);
}

static void add_info(struct mt_id_map *t, uint32_t depth)
{
	MT_GROW(t->info, t->info_count, t->info_capacity);
	t->info[t->info_count++] = (struct mt_id_map_node){.depth = depth};
}

void mt_id_map_init(struct mt_id_map *t, const struct mt_segment *s, struct mt_profile *p)
{
	*t = (struct mt_id_map){.segment = s, .profile = p, .node_mask = 1023, .pc_mask = 1023};
	t->groups = mt_alloc(s->nodes.capacity * sizeof *t->groups);
	t->nodes = mt_alloc(s->nodes.capacity * sizeof *t->nodes);
	t->pcs = mt_alloc(s->pcs.capacity * sizeof *t->pcs);
	t->modules = mt_alloc(s->modules.capacity * sizeof *t->modules);
	t->threads = mt_alloc(s->threads.capacity * sizeof *t->threads);
	t->node_slots = mt_alloc(1024 * sizeof *t->node_slots);
	t->pc_slots = mt_alloc(1024 * sizeof *t->pc_slots);
	t->chain = mt_alloc((s->depth_limit + DEPTH_SLACK) * sizeof *t->chain);
	add_info(t, 0);
}

void mt_id_map_free(struct mt_id_map *t)
{
	free(t->groups);
	free(t->nodes);
	free(t->pcs);
	free(t->modules);
	free(t->threads);
	free(t->info);
	free(t->node_slots);
	free(t->pc_slots);
	free(t->chain);
	*t = (struct mt_id_map){0};
}

/* ---- modules --------------------------------------------------------------------------------- */

static uint32_t module_path(struct mt_id_map *t, const char *path)
{
	struct mt_strings *strings = &t->profile->strings;
	uint32_t id;
	char *full;

	if (!*path)
		return mt_strings_add(strings, t->program_path ? t->program_path : "");
	if (*path == '/' || !strchr(path, '/') || !t->directory)
		return mt_strings_add(strings, path);
	full = mt_format("%s/%s", t->directory, path);
	id = mt_strings_add(strings, full);
	free(full);
	return id;
}

static bool same_module(const struct mt_module *a, const struct mt_module *b)
{
	return a->start == b->start && a->end == b->end && a->bias == b->bias && a->path == b->path
		&& a->epoch == b->epoch && a->build_id_len == b->build_id_len
		&& !memcmp(a->build_id, b->build_id, sizeof a->build_id);
}

static uint32_t read_module(struct mt_id_map *t, uint32_t id)
{
	struct mt_wire_module wire;
	struct mt_module module = {0};

	memcpy(&wire, mt_segment_entry(t->segment, modules, id), sizeof wire);
	wire.path[sizeof wire.path - 1] = '\0';
	if (wire.end <= wire.start || wire.build_id_len > MT_BUILD_ID_MAX) {
		invalid(t);
		return MT_NO_MODULE;
	}
	module.start = wire.start;
	module.end = wire.end;
	module.bias = wire.bias;
	module.epoch = wire.epoch;
	module.path = module_path(t, wire.path);
	module.build_id_len = wire.build_id_len;
	memcpy(module.build_id, wire.build_id, wire.build_id_len);
	for (uint32_t i = 0; i < t->profile->module_count; i++)
		if (same_module(&t->profile->modules[i], &module))
			return i;
	return mt_profile_add_module(t->profile, &module);
}

static uint32_t find_module(struct mt_id_map *t, uint32_t id)
{
	if (id == MT_NO_MODULE)
		return id;
	if (id >= published(&t->segment->header->module_count, &t->segment->modules)) {
		invalid(t);
		return MT_NO_MODULE;
	}
	if (!t->modules[id])
		t->modules[id] = read_module(t, id) + 1; /* MT_NO_MODULE becomes 0: read again */
	return t->modules[id] - 1;
}

uint32_t mt_id_map_module_path(struct mt_id_map *t, uint64_t address)
{
	uint32_t count = published(&t->segment->header->module_count, &t->segment->modules);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t id = find_module(t, i);
		const struct mt_module *m = id == MT_NO_MODULE ? NULL : &t->profile->modules[id];

		if (m && address >= m->start && address < m->end)
			return m->path;
	}
	return 0;
}

/* ---- pcs ------------------------------------------------------------------------------------- */

static uint32_t pc_hash(const struct mt_pc *pc)
{
	return hash(pc->address, (uint64_t)pc->module << 2 | pc->flags);
}

static void place(uint32_t *slots, uint32_t mask, uint32_t at, uint32_t id)
{
	while (slots[at &= mask])
		at++;
	slots[at] = id;
}

static uint32_t intern_pc(struct mt_id_map *t, const struct mt_pc *pc)
{
	struct mt_profile *p = t->profile;
	uint32_t at = pc_hash(pc), id;

	for (; (id = t->pc_slots[at & t->pc_mask]); at++)
		if (p->pcs[id].address == pc->address && p->pcs[id].module == pc->module
			&& p->pcs[id].flags == pc->flags)
			return id;
	id = mt_profile_add_pc(p, pc);
	if (p->pc_count < t->pc_mask / 2) {
		t->pc_slots[at & t->pc_mask] = id;
		return id;
	}
	free(t->pc_slots);
	t->pc_mask = t->pc_mask * 2 + 1;
	t->pc_slots = mt_alloc(((size_t)t->pc_mask + 1) * sizeof *t->pc_slots);
	for (uint32_t i = MT_PC_FIRST; i < p->pc_count; i++)
		place(t->pc_slots, t->pc_mask, pc_hash(&p->pcs[i]), i);
	return id;
}

static uint32_t find_pc(struct mt_id_map *t, uint32_t id)
{
	if (id < MT_PC_FIRST) {
		if ((id > MT_FUNCTION_NONE && id < MT_FUNCTION_COUNT) || id >= MT_PC_CUT)
			return id;
		invalid(t);
		return MT_PC_CUT;
	}
	if (id >= published(&t->segment->header->pc_count, &t->segment->pcs)) {
		invalid(t);
		return MT_PC_CUT;
	}
	if (!t->pcs[id]) {
		const struct mt_wire_pc *wire = (const void *)mt_segment_entry(t->segment, pcs, id);
		struct mt_pc pc = {load(&wire->address), load(&wire->module),
			load(&wire->flags) & (MT_PC_FLAG_EXACT | MT_PC_FLAG_NO_CFI)};

		pc.module = find_module(t, pc.module);
		t->pcs[id] = intern_pc(t, &pc) + 1;
	}
	return t->pcs[id] - 1;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void rehash_nodes(struct mt_id_map *t)
{
	struct mt_profile *p = t->profile;

	free(t->node_slots);
	t->node_mask = t->node_mask * 2 + 1;
	t->node_slots = mt_alloc(((size_t)t->node_mask + 1) * sizeof *t->node_slots);
	for (uint32_t i = 1; i < p->node_count; i++)
		place(t->node_slots, t->node_mask, hash(p->nodes[i].parent, p->nodes[i].pc), i);
}

/* The child of parent with this pc. */
static uint32_t intern_node(struct mt_id_map *t, uint32_t parent, uint32_t pc)
{
	struct mt_profile *p = t->profile;
	uint32_t at = hash(parent, pc), id;

	for (; (id = t->node_slots[at & t->node_mask]); at++)
		if (p->nodes[id].parent == parent && p->nodes[id].pc == pc)
			return id;
	if (t->info[parent].depth >= t->segment->depth_limit + DEPTH_SLACK) {
		invalid(t); /* a chain that grows on and on */
		return parent;
	}
	id = mt_profile_add_node(p, parent, pc);
	add_info(t, t->info[parent].depth + 1);
	if (p->node_count < t->node_mask / 2)
		t->node_slots[at & t->node_mask] = id;
	else
		rehash_nodes(t);
	return id;
}

/* Follows the parents up to one that is known, then adds them from there. */
static uint32_t find_node(struct mt_id_map *t, uint32_t id)
{
	uint32_t len = 0, at;
	uint32_t limit = published(&t->segment->header->node_count, &t->segment->nodes);

	while (id >= MT_NODE_FIRST && !(id < limit && t->nodes[id])) {
		const struct mt_wire_node *wire;
		uint32_t parent;

		if (id >= limit || len == t->segment->depth_limit + DEPTH_SLACK) {
			invalid(t);
			id = MT_PC_CUT;
			break;
		}
		wire = (const void *)mt_segment_entry(t->segment, nodes, id);
		parent = load(&wire->parent);
		t->chain[len++] = (struct mt_id_map_step){id, load(&wire->pc)};
		if (parent >= id) {
			invalid(t);
			parent = MT_PC_CUT;
		}
		id = parent;
	}
	if (id >= MT_NODE_FIRST)
		at = t->nodes[id] - 1;
	else
		at = id ? intern_node(t, 0, find_pc(t, id)) : 0;
	while (len-- > 0) {
		at = intern_node(t, at, find_pc(t, t->chain[len].pc));
		t->nodes[t->chain[len].id] = at + 1;
	}
	return at;
}

uint32_t mt_id_map_group_slow(struct mt_id_map *t, uint32_t node)
{
	uint32_t leaf = find_node(t, node), pc = t->profile->nodes[leaf].pc;

	if (leaf == 0 || (pc >= MT_FUNCTION_COUNT && pc != MT_PC_TABLE_FULL && pc != MT_PC_CUT)) {
		invalid(t); /* its leaf is not a function */
		leaf = intern_node(t, 0, MT_PC_CUT);
	}
	if (!t->info[leaf].group)
		t->info[leaf].group = mt_profile_add_group(t->profile, leaf) + 1;
	if (node < t->segment->nodes.capacity)
		t->groups[node] = t->info[leaf].group;
	return t->info[leaf].group - 1;
}

uint32_t mt_id_map_group_of(struct mt_id_map *t, uint32_t node, unsigned function)
{
	uint32_t group = mt_id_map_group(t, node), leaf = t->profile->groups[group].node;
	uint32_t pc = t->profile->nodes[leaf].pc;

	if (pc == function)
		return group;
	if (pc != MT_PC_TABLE_FULL && pc != MT_PC_CUT) {
		invalid(t); /* its leaf is another function */
		leaf = intern_node(t, 0, MT_PC_CUT);
	}
	leaf = intern_node(t, leaf, function);
	if (!t->info[leaf].group)
		t->info[leaf].group = mt_profile_add_group(t->profile, leaf) + 1;
	return t->info[leaf].group - 1;
}

uint32_t mt_id_map_node(struct mt_id_map *t, uint32_t node)
{
	uint32_t leaf = find_node(t, node);

	if (t->profile->nodes[leaf].pc < MT_PC_FIRST)
		return leaf;
	invalid(t);
	return 0;
}

uint16_t mt_id_map_kind_slow(const struct mt_id_map *t, uint32_t node)
{
	uint32_t pc = node;

	if (node >= MT_NODE_FIRST && node < t->segment->nodes.capacity)
		pc = load(&((const struct mt_wire_node *)(const void *)mt_segment_entry(t->segment,
				    nodes, node))
				   ->pc);
	return pc < MT_FUNCTION_COUNT ? (uint16_t)pc : MT_FUNCTION_FREE;
}

/* ---- threads --------------------------------------------------------------------------------- */

uint32_t mt_id_map_unknown_thread(struct mt_id_map *t)
{
	struct mt_thread thread = {0};

	if (!t->unknown_thread)
		t->unknown_thread = mt_profile_add_thread(t->profile, &thread) + 1;
	return t->unknown_thread - 1;
}

uint32_t mt_id_map_thread(struct mt_id_map *t, uint32_t id)
{
	struct mt_wire_thread wire;
	struct mt_thread thread;

	if (id >= published(&t->segment->header->thread_count, &t->segment->threads)) {
		invalid(t);
		return mt_id_map_unknown_thread(t);
	}
	if (!t->threads[id]) {
		memcpy(&wire, mt_segment_entry(t->segment, threads, id), sizeof wire);
		thread.tid = wire.tid;
		thread.name = mt_strings_add_len(&t->profile->strings, wire.name,
			strnlen(wire.name, sizeof wire.name));
		t->threads[id] = mt_profile_add_thread(t->profile, &thread) + 1;
	}
	return t->threads[id] - 1;
}
