#include "core/model/profile.h"
#include "core/model/verdicts.h"

#include "core/base/assert.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_STEP_NS 1000000u

const char *mt_origin_name(unsigned origin)
{
	return origin == MT_ORIGIN_EXECUTED    ? "exec"
		: origin == MT_ORIGIN_FORKED   ? "fork"
		: origin == MT_ORIGIN_ATTACHED ? "attach"
					       : "unknown";
}

void mt_profile_init(struct mt_profile *p)
{
	*p = (struct mt_profile){.step_ns = FIRST_STEP_NS, .lineage = mt_unique()};
	mt_strings_init(&p->strings);
	mt_profile_predefine(p);
	for (unsigned i = 0; i < MT_PC_FIRST; i++)
		mt_profile_add_pc(p, &(struct mt_pc){0});
	mt_profile_add_node(p, 0, 0);
}

void mt_group_column_free(struct mt_group_column *c)
{
	free((char *)c->name);
	free((char *)c->heading);
	free((char *)c->words);
	free(c->values);
	free(c->variances);
}

void mt_profile_free(struct mt_profile *p)
{
	mt_strings_free(&p->strings);
	free(p->arguments);
	free(p->modules);
	free(p->threads);
	free(p->domains);
	free(p->functions);
	free(p->pcs);
	free(p->nodes);
	free(p->groups);
	free(p->samples);
	free(p->log);
	free(p->free_sites);
	free(p->blind);
	free(p->late);
	free(p->estimates);
	for (uint32_t i = 0; i < p->column_count; i++)
		mt_group_column_free(&p->columns[i]);
	free(p->columns);
	if (p->verdicts)
		mt_verdicts_free(p->verdicts);
	free(p->verdicts);
	*p = (struct mt_profile){0};
}

void mt_profile_add_free_site(struct mt_profile *p, const struct mt_free_site *site)
{
	MT_GROW(p->free_sites, p->free_site_count, p->free_site_capacity);
	p->free_sites[p->free_site_count++] = *site;
}

static bool is_name(const char *text)
{
	return *text >= 'a' && *text <= 'z'
		&& !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")];
}

const char *mt_profile_add_column(struct mt_profile *p, const struct mt_group_column *column)
{
	bool histogram = column->fold == MT_FOLD_HISTOGRAM;

	if (p->column_count == MT_COLUMNS_MAX)
		return "there are too many columns";
	if (!is_name(column->name) || strlen(column->name) > 40)
		return "its name is not made of small letters, digits and '_'";
	for (uint32_t i = 0; i < p->column_count; i++)
		if (!strcmp(p->columns[i].name, column->name))
			return "there is a column of this name";
	if (column->fold > MT_FOLD_NONE || column->unit > MT_UNIT_TIME || !column->values
		|| !column->width || column->width > (histogram ? MT_COLUMN_BUCKETS_MAX : 1)
		|| (histogram && column->variances))
		return "its rule, unit or values are not valid";
	MT_GROW(p->columns, p->column_count, p->column_capacity);
	struct mt_group_column *to = &p->columns[p->column_count++];

	*to = *column;
	to->name = mt_strdup(column->name);
	to->heading = mt_format("%.8s", column->heading);
	to->words = mt_strdup(column->words);
	return NULL;
}

void mt_profile_add_log(struct mt_profile *p, const struct mt_log_entry *entry)
{
	uint32_t most = p->log_most && entry->type != MT_LOG_LIMIT ? p->log_most : MT_LOG_MAX;

	if (p->log_count >= most) {
		p->info.log_dropped++;
		return;
	}
	MT_GROW(p->log, p->log_count, p->log_capacity);
	p->log[p->log_count++] = *entry;
}

uint32_t mt_profile_add_module(struct mt_profile *p, const struct mt_module *module)
{
	MT_GROW(p->modules, p->module_count, p->module_capacity);
	p->modules[p->module_count] = *module;
	return p->module_count++;
}

uint32_t mt_profile_add_thread(struct mt_profile *p, const struct mt_thread *thread)
{
	MT_GROW(p->threads, p->thread_count, p->thread_capacity);
	p->threads[p->thread_count] = *thread;
	return p->thread_count++;
}

uint32_t mt_profile_add_pc(struct mt_profile *p, const struct mt_pc *pc)
{
	mt_assert(p->pc_count < MT_PC_FIRST || pc->module < p->module_count
		|| pc->module == MT_NO_MODULE);
	MT_GROW(p->pcs, p->pc_count, p->pc_capacity);
	p->pcs[p->pc_count] = *pc;
	return p->pc_count++;
}

uint32_t mt_profile_add_node(struct mt_profile *p, uint32_t parent, uint32_t pc)
{
	mt_assert(pc < p->pc_count && (parent < p->node_count || !p->node_count));
	MT_GROW(p->nodes, p->node_count, p->node_capacity);
	p->nodes[p->node_count] = (struct mt_node){parent, pc};
	return p->node_count++;
}

uint32_t mt_profile_add_group(struct mt_profile *p, uint32_t node)
{
	mt_assert(node < p->node_count);
	MT_GROW(p->groups, p->group_count, p->group_capacity);
	p->groups[p->group_count] = (struct mt_group){.node = node};
	return p->group_count++;
}

struct mt_estimates *mt_profile_estimates(struct mt_profile *p, uint32_t group)
{
	while (p->estimate_count <= group) {
		MT_GROW(p->estimates, p->estimate_count, p->estimate_capacity);
		p->estimates[p->estimate_count++] = (struct mt_estimates){0};
	}
	return &p->estimates[group];
}

char *mt_profile_command(const struct mt_profile *p)
{
	struct mt_buffer text = {0};

	for (uint32_t i = 0; i < p->argument_count; i++) {
		mt_buffer_add(&text, " ", i != 0);
		mt_text_add(&text, MT_TEXT_LINE, mt_strings_get(&p->strings, p->arguments[i]));
	}
	mt_buffer_add(&text, "", 1);
	return (char *)text.data;
}
