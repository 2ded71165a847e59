/* What a part defines, as the set defines it. */
#include "core/set/parts.h"

#include "core/symbol/internal.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNED 0x10000u
#define FIRST_ADDRESS 0x400000u

/* ---- modules ---- */

/* Path and build-id: what makes two modules the same one. */
static uint32_t module_key(struct mt_strings *keys, const struct mt_profile *p,
	const struct mt_module *module)
{
	const char *path = mt_strings_get(&p->strings, module->path);
	struct mt_buffer key = {0};

	for (uint32_t i = 0; i < module->build_id_len; i++)
		mt_buffer_printf(&key, "%02x", module->build_id[i]);
	mt_buffer_printf(&key, ":%s", path);
	uint32_t id = mt_strings_add(keys, (const char *)key.data);

	mt_buffer_free(&key);
	return id;
}

/* Addresses of its own, on the side of the address space where it was. */
static struct mt_module place(struct mt_set *s, const struct mt_profile *p,
	const struct mt_module *module)
{
	bool library = module->start >= mt_info_libraries_begin(&p->info);
	uint64_t *end = library ? &s->library_end : &s->program_end;
	uint64_t size = module->end > module->start ? module->end - module->start : 0;
	struct mt_module to = *module;

	if (size > UINT64_MAX / 4 || *end > UINT64_MAX / 2) /* the sizes are not true */
		size = 0;
	to.start = *end;
	to.end = *end + size;
	to.bias = to.start - (module->start - module->bias);
	to.path = mt_strings_add(&s->whole.strings, mt_strings_get(&p->strings, module->path));
	to.epoch = 0;
	*end = (to.end + ALIGNED) / ALIGNED * ALIGNED;
	return to;
}

static void define_modules(struct mt_set *s, const struct mt_profile *p, uint32_t *ids)
{
	if (!s->modules.count) {
		mt_strings_init(&s->modules);
		s->program_end = FIRST_ADDRESS;
		s->library_end = mt_info_libraries_begin(&p->info);
	}
	for (uint32_t i = 0; i < p->module_count; i++) {
		uint32_t id = module_key(&s->modules, p, &p->modules[i]) - 1;

		if (id == s->whole.module_count) {
			struct mt_module to = place(s, p, &p->modules[i]);

			mt_profile_add_module(&s->whole, &to);
		}
		ids[i] = id;
	}
}

/* ---- functions and domains ---- */

static uint32_t find_domain(struct mt_profile *s, const struct mt_profile *p, uint32_t domain)
{
	const char *name = mt_profile_domain_name(p, domain);
	uint32_t id = MT_DOMAIN_FIRST;

	if (domain < MT_DOMAIN_FIRST)
		return domain;
	while (id < s->domain_count && strcmp(mt_profile_domain_name(s, id), name) != 0)
		id++;
	if (id < s->domain_count || id == MT_DOMAINS_MAX)
		return id < s->domain_count ? id : s->functions[MT_FUNCTION_NONE].domain;
	struct mt_domain to = p->domains[domain];

	to.name = mt_strings_add(&s->strings, name);
	return mt_profile_add_domain(s, &to);
}

static uint32_t find_function(struct mt_profile *s, const struct mt_profile *p, uint32_t function)
{
	struct mt_allocator_function to = p->functions[function];
	const char *name = mt_profile_function_name(p, function);
	uint32_t id = MT_FUNCTION_FIRST;

	if (function < MT_FUNCTION_FIRST)
		return function;
	to.domain = (uint16_t)find_domain(s, p, to.domain);
	to.name = mt_strings_add(&s->strings, name);
	while (id < s->function_count
		&& (s->functions[id].name != to.name || s->functions[id].domain != to.domain
			|| s->functions[id].role != to.role))
		id++;
	if (id < s->function_count)
		return id;
	return id < MT_FUNCTIONS_MAX ? mt_profile_add_function(s, &to) : MT_FUNCTION_NONE;
}

/* ---- pcs ---- */

/* Code without a module is the same only within one process. */
static struct mt_pc as_in_set(const struct mt_set *s, const struct mt_set_part *part,
	const struct mt_pc *pc, const uint32_t *modules)
{
	const struct mt_profile *p = part->whole;
	struct mt_pc to = *pc;

	if (pc->module < p->module_count) {
		to.module = modules[pc->module];
		to.address = pc->address - p->modules[pc->module].bias
			+ s->whole.modules[to.module].bias;
	}
	return to;
}

static bool has_name(const struct mt_symbols *s, uint32_t pc)
{
	return pc < s->pc_count && s->pcs[pc].count;
}

static void define_pcs(struct mt_set *s, const struct mt_set_part *part, struct mt_set_ids *ids)
{
	const struct mt_profile *p = part->whole;

	for (uint32_t i = 0; i < p->pc_count; i++) {
		if (i < MT_PC_FIRST) {
			ids->pcs[i] = i;
			continue;
		}
		struct mt_pc pc = as_in_set(s, part, &p->pcs[i], ids->modules);
		uint32_t known = s->whole.pc_count, id;

		if (pc.flags & MT_PC_FLAG_FUNCTION) {
			uint32_t function = pc.address < p->function_count
				? ids->functions[pc.address]
				: MT_FUNCTION_NONE;

			pc.address = function;
			ids->pcs[i] = function < MT_FUNCTION_FIRST
				? function
				: mt_define_pc(&s->define, &s->whole, &pc);
			continue;
		}
		id = pc.module == MT_NO_MODULE ? mt_profile_add_pc(&s->whole, &pc)
					       : mt_define_pc(&s->define, &s->whole, &pc);
		ids->pcs[i] = id;
		if (part->symbols && has_name(part->symbols, i)
			&& (id >= known || !has_name(&s->symbols, id)))
			mt_symbols_copy_pc(&s->symbols, id, part->symbols, i);
	}
}

/* ---- all ---- */

static void define_stacks(struct mt_set *s, const struct mt_set_part *part, uint32_t root,
	struct mt_set_ids *ids)
{
	const struct mt_profile *p = part->whole;

	define_modules(s, p, ids->modules);
	for (uint32_t i = 0; i < p->function_count; i++)
		ids->functions[i] = find_function(&s->whole, p, i);
	define_pcs(s, part, ids);
	ids->nodes[MT_NODE_ROOT] = root;
	for (uint32_t i = 1; i < p->node_count; i++)
		ids->nodes[i] = mt_define_node(&s->define, &s->whole,
			ids->nodes[p->nodes[i].parent], ids->pcs[p->nodes[i].pc]);
	for (uint32_t i = 0; i < p->group_count; i++)
		ids->groups[i] = p->groups[i].allocated_count
			? mt_define_group(&s->define, &s->whole, ids->nodes[p->groups[i].node])
			: MT_NO_GROUP;
}

/* All of the process is one group. */
static void define_process(struct mt_set *s, const struct mt_profile *p, uint32_t node,
	struct mt_set_ids *ids)
{
	uint32_t leaf = mt_define_node(&s->define, &s->whole, node, MT_FUNCTION_NONE);
	uint32_t group = mt_define_group(&s->define, &s->whole, leaf);

	for (uint32_t i = 0; i < p->node_count; i++)
		ids->nodes[i] = node;
	for (uint32_t i = 0; i < p->group_count; i++)
		ids->groups[i] = p->groups[i].allocated_count ? group : MT_NO_GROUP;
}

void mt_set_define(struct mt_set *s, const struct mt_set_part *part, uint32_t process,
	struct mt_set_ids *ids)
{
	const struct mt_profile *p = part->whole;
	uint32_t root = process ? mt_define_node(&s->define, &s->whole, MT_NODE_ROOT, process)
				: MT_NODE_ROOT;

	ids->modules = mt_resize(NULL,
		((size_t)p->module_count + p->function_count + p->pc_count + p->node_count
			+ p->group_count + 1)
			* sizeof *ids->modules);
	ids->functions = ids->modules + p->module_count;
	ids->pcs = ids->functions + p->function_count;
	ids->nodes = ids->pcs + p->pc_count;
	ids->groups = ids->nodes + p->node_count;
	if (s->options.stacks == MT_SET_PROCESSES)
		define_process(s, p, root, ids);
	else
		define_stacks(s, part, root, ids);
}

void mt_set_ids_free(struct mt_set_ids *ids)
{
	free(ids->modules);
	*ids = (struct mt_set_ids){0};
}
