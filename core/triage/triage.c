#include "core/triage/internal.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	char letter;
} states[] = {
#define X(id, name, letter, words) {name, letter},
	MT_TRIAGE_STATES(X)
#undef X
};

const char *mt_triage_state_name(enum mt_triage_state state)
{
	return states[state].name;
}

char mt_triage_state_letter(enum mt_triage_state state)
{
	return states[state].letter;
}

/* ---- judgements ---- */

void mt_judgement_copy(struct mt_judgement *j, const struct mt_judgement *from)
{
	*j = *from;
	j->where = mt_strdup(from->where ? from->where : "");
	j->note = mt_strdup(from->note ? from->note : "");
}

void mt_judgement_free(struct mt_judgement *j)
{
	free((char *)j->where);
	free((char *)j->note);
	*j = (struct mt_judgement){0};
}

bool mt_judgement_is_nothing(const struct mt_judgement *j)
{
	return j->state == MT_TRIAGE_NEW && !*j->note;
}

bool mt_judgement_came_back(const struct mt_judgement *j, uint64_t start_ns, uint64_t leaked_bytes,
	bool live)
{
	if (j->state != MT_TRIAGE_FIXED || !leaked_bytes || start_ns / 1000000000 <= j->time)
		return false;
	return !live || leaked_bytes >= j->leaked_bytes;
}

/* ---- the store ---- */

struct mt_triage *mt_triage_new(const char *path, bool own)
{
	struct mt_triage *t = mt_alloc(sizeof *t);

	t->path = path ? mt_strdup(path) : NULL;
	t->own = own;
	return t;
}

static void free_step(struct mt_triage_step *step)
{
	for (uint32_t i = 0; i < step->count; i++)
		mt_judgement_free(&step->before[i]);
	free(step->before);
}

void mt_triage_free(struct mt_triage *t)
{
	if (!t)
		return;
	mt_triage_lines_free(&t->lines);
	for (uint32_t i = 0; i < t->pending_count; i++)
		mt_judgement_free(&t->pending[i]);
	for (uint32_t i = 0; i < t->step_count; i++)
		free_step(&t->steps[i]);
	free(t->pending);
	free(t->steps);
	free(t->all);
	free(t->path);
	free(t);
}

const char *mt_triage_file(const struct mt_triage *t)
{
	return t->path;
}

uint64_t mt_triage_generation(const struct mt_triage *t)
{
	return t->generation;
}

uint32_t mt_triage_unsaved(const struct mt_triage *t)
{
	return t->pending_count;
}

uint32_t mt_triage_damaged(const struct mt_triage *t, uint32_t *first)
{
	*first = t->lines.first_damaged;
	return t->lines.damaged;
}

uint32_t mt_triage_count(const struct mt_triage *t)
{
	return t->all_count;
}

const struct mt_judgement *mt_triage_at(const struct mt_triage *t, uint32_t i)
{
	return t->all[i];
}

static int by_fingerprint(const void *a, const void *b)
{
	uint64_t x = (*(struct mt_judgement *const *)a)->fingerprint;
	uint64_t y = (*(struct mt_judgement *const *)b)->fingerprint;

	return x < y ? -1 : x > y;
}

static struct mt_judgement **find(const struct mt_triage *t, uint64_t fingerprint)
{
	struct mt_judgement key = {.fingerprint = fingerprint}, *wanted = &key;

	return t->all_count ? bsearch(&wanted, t->all, t->all_count, sizeof *t->all, by_fingerprint)
			    : NULL;
}

const struct mt_judgement *mt_triage_find(const struct mt_triage *t, uint64_t fingerprint)
{
	struct mt_judgement **at = find(t, fingerprint);

	return at ? *at : NULL;
}

uint32_t mt_triage_place(const struct mt_triage *t, uint64_t fingerprint)
{
	struct mt_judgement **at = find(t, fingerprint);

	return at ? (uint32_t)(at - t->all) : UINT32_MAX;
}

static int order(const void *a, const void *b)
{
	uint64_t x = ((const struct mt_judgement *)a)->fingerprint;
	uint64_t y = ((const struct mt_judgement *)b)->fingerprint;

	return x < y ? -1 : x > y;
}

struct mt_judgement *mt_judgement_find(struct mt_judgement *items, uint32_t count,
	uint64_t fingerprint)
{
	struct mt_judgement key = {.fingerprint = fingerprint};

	return count ? bsearch(&key, items, count, sizeof *items, order) : NULL;
}

static void add_to_index(struct mt_triage *t, struct mt_judgement *j)
{
	MT_GROW(t->all, t->all_count, t->all_capacity);
	t->all[t->all_count++] = j;
}

/* Of two lines about one fingerprint the later holds. */
void mt_triage_index(struct mt_triage *t)
{
	uint32_t kept = 0;

	t->generation++;
	t->all_count = 0;
	for (uint32_t i = t->lines.count; i-- > 0;)
		if (!t->lines.items[i].text
			&& !mt_judgement_find(t->pending, t->pending_count,
				t->lines.items[i].judgement.fingerprint))
			add_to_index(t, &t->lines.items[i].judgement);
	for (uint32_t i = 0; i < t->pending_count; i++)
		if (!mt_judgement_is_nothing(&t->pending[i]))
			add_to_index(t, &t->pending[i]);
	/* stable: glibc's qsort merges, as long as there is memory; a tie here is a file edited by
	 * hand */
	if (t->all_count)
		qsort(t->all, t->all_count, sizeof *t->all, by_fingerprint);
	for (uint32_t i = 0; i < t->all_count; i++)
		if (!kept || t->all[kept - 1]->fingerprint != t->all[i]->fingerprint)
			t->all[kept++] = t->all[i];
	t->all_count = kept;
}

/* What is said now holds, whatever was pending of the same fingerprints. */
static void put_pending(struct mt_triage *t, const struct mt_judgement *items, uint32_t count)
{
	uint32_t before = t->pending_count;

	for (uint32_t i = 0; i < count; i++) {
		struct mt_judgement *at =
			mt_judgement_find(t->pending, before, items[i].fingerprint);
		struct mt_judgement old = {0};

		if (at) {
			old = *at;
		} else {
			MT_GROW(t->pending, t->pending_count, t->pending_capacity);
			at = &t->pending[t->pending_count++];
		}
		mt_judgement_copy(at, &items[i]);
		mt_judgement_free(&old);
	}
	if (t->pending_count)
		qsort(t->pending, t->pending_count, sizeof *t->pending, order);
}

int mt_triage_change(struct mt_triage *t, const struct mt_judgement *items, uint32_t count,
	struct mt_err *err)
{
	struct mt_triage_step step = {mt_alloc((count + 1) * sizeof *step.before), count};

	for (uint32_t i = 0; i < count; i++) {
		const struct mt_judgement *now = mt_triage_find(t, items[i].fingerprint);
		struct mt_judgement none = {
			.fingerprint = items[i].fingerprint,
			.where = "",
			.note = "",
		};

		mt_judgement_copy(&step.before[i], now ? now : &none);
	}
	put_pending(t, items, count);
	MT_GROW(t->steps, t->step_count, t->step_capacity);
	t->steps[t->step_count++] = step;
	mt_triage_index(t);
	return mt_triage_save(t, err);
}

int mt_triage_undo(struct mt_triage *t, uint32_t *groups, struct mt_err *err)
{
	*groups = 0;
	if (!t->step_count)
		return 0;
	struct mt_triage_step *step = &t->steps[--t->step_count];

	*groups = step->count;
	put_pending(t, step->before, step->count);
	free_step(step);
	mt_triage_index(t);
	return mt_triage_save(t, err);
}
