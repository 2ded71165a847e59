#include "tui/data/left_out.h"
#include "core/query/diff.h"
#include "core/query/fold.h"
#include "core/query/suppress.h"
#include "tui/data/triage.h"

#include <stdlib.h>

void mt_by_rule_update(struct mt_by_rule *r, const struct mt_data *d)
{
	const struct mt_profile *p = d->whole;
	struct mt_suppressions *rules;
	struct mt_suppressed suppressed = {0};
	struct mt_err ignored = {0};

	if (!mt_info_knows_leaks(&p->info)) {
		r->count = 0;
		return;
	}
	if (r->count == p->group_count && r->names == d->symbols->generation)
		return;
	rules = mt_suppressions_new();
	mt_suppressions_add_own(rules, d->symbols, &ignored);
	mt_suppressions_add_builtin(rules);
	mt_suppress(&suppressed, rules, p, d->symbols);
	r->groups = mt_resize(r->groups, (size_t)p->group_count + 1);
	for (uint32_t g = 0; g < p->group_count; g++)
		r->groups[g] =
			suppressed.verdicts[g] && suppressed.verdicts[g] != MT_SUPPRESS_UNDECIDED;
	r->count = p->group_count;
	r->names = d->symbols->generation;
	mt_suppressed_free(&suppressed);
	mt_suppressions_free(rules);
}

/* By backtrace of the pairs: the shown trace has it and hides it. */
static uint8_t *hidden_backtraces(const struct mt_triage_ui *t, const struct mt_diff_pairs *pairs)
{
	uint8_t *hidden = mt_alloc((size_t)pairs->count + 1);

	for (uint32_t i = 0; i < t->hidden_count; i++)
		if (t->hidden[i] < pairs->b_count)
			hidden[pairs->b[t->hidden[i]]] = 1;
	return hidden;
}

static bool is_judged_so(const struct mt_left_out *l, const struct mt_triage_ui *t,
	const struct mt_profile *p, uint32_t group)
{
	const struct mt_judgement *j = t->store && mt_triage_count(t->store)
		? mt_triage_find(t->store, mt_fingerprints_get(&l->prints, p, group))
		: NULL;

	return j ? j->state == MT_TRIAGE_SUPPRESSED : mt_by_rule_has(&l->by_rule, group);
}

const struct mt_selection *mt_left_out_of(struct mt_left_out *l, struct mt_app *app,
	const struct mt_data *other, const struct mt_diff_pairs *pairs)
{
	const struct mt_selection *all = &other->selection;
	const struct mt_triage_ui *t = app->triage;
	uint8_t *hidden;

	if (t->show_hidden)
		return all;
	mt_by_rule_update(&l->by_rule, other);
	mt_fingerprints_update(&l->prints, other->whole, other->symbols);
	hidden = hidden_backtraces(t, pairs);
	l->kept.count = 0;
	l->kept.sum = (struct mt_group){0};
	mt_folds_free(&l->kept.folds);
	for (uint32_t i = 0; i < all->count; i++) {
		uint32_t id = all->groups[i];

		if ((id < pairs->a_count && hidden[pairs->a[id]])
			|| is_judged_so(l, t, other->whole, id))
			continue;
		MT_GROW(l->kept.groups, l->kept.count, l->kept.capacity);
		l->kept.groups[l->kept.count++] = id;
		mt_fold(&l->kept.folds, &l->kept.sum, &other->profile, &other->profile.groups[id]);
	}
	free(hidden);
	return &l->kept;
}

void mt_left_out_free(struct mt_left_out *l)
{
	free(l->by_rule.groups);
	mt_fingerprints_free(&l->prints);
	mt_selection_free(&l->kept);
	*l = (struct mt_left_out){0};
}
