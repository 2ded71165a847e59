#include "core/capture/live_list.h"
#include "core/capture/ring.h"

#include <stdlib.h>

#define SLICE 512u /* blocks of a table at once, on a stack that may be small */

/* ---- failed reallocs ------------------------------------------------------------------------- */

/* Few programs have any. */
void mt_merge_note_restore(struct mt_merge *m, const struct mt_release *r)
{
	if (m->restore_count == MT_LIVE_LIST_RESTORES) {
		m->many_restores = true;
		return;
	}
	MT_GROW(m->restores, m->restore_count, m->restore_capacity);
	m->restores[m->restore_count++] = (struct mt_merge_restore){
		.key = r->cell.address,
		.domain = r->domain,
		.of =
			{
				.number = r->cell.number,
				.released_at = r->next_number,
				.released_ns = r->time_ns,
				.restored_at = m->next_number,
				.restored_ns = m->now_ns,
			},
	};
}

/* Keeps those whose blocks still live. */
static void take_restores(struct mt_live_keep *k, const struct mt_merge *m)
{
	for (uint32_t i = 0; i < m->restore_count; i++) {
		const struct mt_merge_restore *r = &m->restores[i];

		if (!mt_live_table_is(k->tables[r->domain], r->key, r->of.number))
			continue;
		if (!k->restores)
			k->restores = mt_resize(NULL, m->restore_count * sizeof *k->restores);
		k->restores[k->restore_count++] = r->of;
	}
}

/* ---- taking ---------------------------------------------------------------------------------- */

static void take_table(struct mt_live_keep *k, struct mt_merge *m, unsigned domain)
{
	struct mt_live_table *of = mt_merge_blocks(m, domain);
	struct mt_live_table_walk walk = {0};

	if (!of)
		return;
	mt_live_table_slice(of, &walk, NULL, 0); /* deferred blocks enter the table */
	if (domain != MT_DOMAIN_HEAP) {
		k->tables[domain] = of;
		m->domains[domain] = NULL;
		return;
	}
	k->tables[domain] = mt_resize(NULL, sizeof *of);
	*k->tables[domain] = *of;
	*of = (struct mt_live_table){0};
}

void mt_live_keep_take(struct mt_live_keep *k, struct mt_merge *m)
{
	*k = (struct mt_live_keep){
		.next_number = m->next_number,
		.block_count = m->model->live_count,
		.known = !m->many_restores,
	};
	for (unsigned i = 0; i < MT_DOMAIN_COUNT; i++)
		take_table(k, m, i);
	take_restores(k, m);
	k->slack = m->slack;
	m->slack = (struct mt_slack){0};
}

void mt_live_keep_borrow(struct mt_live_keep *k, struct mt_merge *m)
{
	*k = (struct mt_live_keep){
		.next_number = m->next_number,
		.block_count = m->model->live_count,
		.known = !m->many_restores,
		.slack = m->slack,
		.of = m,
	};
	for (unsigned i = 0; i < MT_DOMAIN_COUNT; i++) {
		k->tables[i] = mt_merge_blocks(m, i);
		if (k->tables[i]) /* deferred blocks enter the table */
			mt_live_table_slice(k->tables[i], &(struct mt_live_table_walk){0}, NULL, 0);
	}
	take_restores(k, m);
}

void mt_live_keep_free(struct mt_live_keep *k)
{
	for (unsigned i = 0; i < MT_DOMAIN_COUNT && !k->of; i++) {
		if (k->tables[i])
			mt_live_table_free(k->tables[i]);
		free(k->tables[i]);
	}
	if (!k->of)
		mt_slack_free(&k->slack);
	free(k->restores);
	*k = (struct mt_live_keep){0};
}

/* ---- writing --------------------------------------------------------------------------------- */

struct walk {
	const struct mt_live_keep *keep;
	unsigned domain;
	struct mt_live_table_walk of;
};

static uint32_t slice(struct walk *w, struct mt_pool_cell *cells, uint32_t most)
{
	while (w->domain < MT_DOMAIN_COUNT) {
		struct mt_live_table *of = w->keep->tables[w->domain];
		uint32_t count = of ? mt_live_table_slice(of, &w->of, cells, most) : 0;

		if (count)
			return count;
		w->of = (struct mt_live_table_walk){0};
		w->domain++;
	}
	return 0;
}

static uint32_t next(void *context, struct mt_live_list_block *blocks, uint32_t most)
{
	struct walk *w = context;
	struct mt_pool_cell cells[SLICE];
	uint32_t count = slice(w, cells, most < SLICE ? most : SLICE);

	if (w->keep->of)
		mt_segment_tick(w->keep->of->segment);
	for (uint32_t i = 0; i < count; i++)
		blocks[i] = (struct mt_live_list_block){
			.number = cells[i].number,
			.key = cells[i].address,
			.size = cells[i].size,
			.usable = mt_slack_usable(&w->keep->slack, &cells[i]),
			.group = cells[i].group,
			.thread = cells[i].thread,
		};
	return count;
}

int mt_live_keep_write(struct mt_live_keep *k, struct mt_trace_writer *w, struct mt_err *err)
{
	struct walk walk = {.keep = k};

	if (!k->known)
		return 0;
	return mt_live_list_write(
		&(const struct mt_live_list_source){
			.next = next,
			.context = &walk,
			.next_number = k->next_number,
			.events = k->of ? k->of->writer : NULL,
			.restores = k->restores,
			.restore_count = k->restore_count,
		},
		w, err);
}
