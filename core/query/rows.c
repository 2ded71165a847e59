#include "core/query/rows.h"

#include "core/query/fold.h"
#include "core/query/frame.h"
#include "core/query/sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *mt_rows_by_name(enum mt_rows_by by)
{
	static const char *const names[] = {
#define X(id, name, words) name,
		MT_ROWS_BY(X)
#undef X
	};
	return by < MT_ROWS_BY_COUNT ? names[by] : "?";
}

int mt_rows_by_find(const char *name)
{
	for (int by = 0; by < MT_ROWS_BY_COUNT; by++)
		if (!strcmp(mt_rows_by_name((enum mt_rows_by)by), name))
			return by;
	return -1;
}

/* Names get their ids in order of first sight, and each row has a name of its own: row = id of the
 * name - 1. */
struct mt_row *mt_rows_at(struct mt_rows *rows, const char *name)
{
	if (!rows->names.count)
		mt_strings_init(&rows->names);
	uint32_t id = mt_strings_add(&rows->names, *name ? name : "?");

	if (id > rows->count) {
		MT_GROW(rows->rows, rows->count, rows->capacity);
		rows->rows[rows->count++] = (struct mt_row){.name = id};
	}
	return &rows->rows[id - 1];
}

/* The innermost frame of a group's stack; false: it has none. */
static bool innermost(struct mt_backtrace_frame *frame, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint32_t group)
{
	uint32_t node = profile->nodes[profile->groups[group].node].parent;
	uint32_t pc = profile->nodes[node].pc, first;

	if (node == MT_NODE_ROOT)
		return false;
	mt_frame_describe(frame, profile, symbols, pc,
		mt_pc_frames(symbols, pc, &first) ? first : MT_NO_FRAME);
	return true;
}

static void name_function(struct mt_buffer *out, const struct mt_backtrace_frame *frame)
{
	if (*frame->function)
		mt_buffer_printf(out, "%s", frame->function);
	else
		mt_buffer_printf(out, "%s+0x%llx", *frame->module ? frame->module : "?",
			(unsigned long long)frame->offset);
}

void mt_rows_name(struct mt_buffer *out, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint32_t group, enum mt_rows_by by)
{
	struct mt_backtrace_frame frame;

	out->len = 0;
	if (by == MT_ROWS_BY_KIND)
		mt_buffer_printf(out, "%s",
			mt_profile_function_name(profile,
				mt_profile_group_function(profile, group)));
	else if (!innermost(&frame, profile, symbols, group))
		mt_buffer_printf(out, "[no stack]");
	else if (by == MT_ROWS_BY_FUNCTION || by == MT_ROWS_BY_PROCESS
		|| (by == MT_ROWS_BY_LINE && !*frame.source))
		name_function(out, &frame);
	else if (by == MT_ROWS_BY_LINE)
		mt_buffer_printf(out, "%s:%u", frame.source, frame.line);
	else if (by == MT_ROWS_BY_SOURCE)
		mt_buffer_printf(out, "%s", *frame.source ? frame.source : "[source not known]");
	else
		mt_buffer_printf(out, "%s", *frame.module ? frame.module : "[module not known]");
}

void mt_rows_sort(struct mt_rows *rows, const struct mt_profile *profile, enum mt_metric metric,
	bool ascending)
{
	struct mt_sort_entry *order = mt_resize(NULL, (rows->count + 1) * sizeof *order);
	struct mt_row *sorted = mt_resize(NULL, (rows->count + 1) * sizeof *sorted);

	for (uint32_t i = 0; i < rows->count; i++) {
		uint64_t value = mt_metric_value(profile, &rows->rows[i].sum, metric);

		order[i] = (struct mt_sort_entry){ascending ? value : ~value, i};
	}
	mt_sort(order, rows->count);
	for (uint32_t i = 0; i < rows->count; i++)
		sorted[i] = rows->rows[order[i].id];
	free(order);
	free(rows->rows);
	rows->rows = sorted;
	rows->capacity = rows->count + 1;
}

void mt_rows_get(struct mt_rows *rows, const struct mt_profile *matched,
	const struct mt_profile *whole, const struct mt_symbols *symbols,
	const struct mt_selection *selection, enum mt_rows_by by, enum mt_metric sort,
	bool ascending)
{
	struct mt_buffer name = {0};

	rows->folds.suspects = sort == MT_METRIC_SUSPECT;
	for (uint32_t i = 0; i < selection->count; i++) {
		uint32_t group = selection->groups[i];

		mt_rows_name(&name, matched, symbols, group, by);
		struct mt_row *row = mt_rows_at(rows, (const char *)name.data);

		row->group_count++;
		mt_fold(&rows->folds, &row->sum, matched, &matched->groups[group]);
		mt_fold(&rows->folds, &row->all, whole, &whole->groups[group]);
	}
	mt_buffer_free(&name);
	mt_rows_sort(rows, matched, sort, ascending);
}

void mt_rows_free(struct mt_rows *rows)
{
	mt_strings_free(&rows->names);
	mt_folds_free(&rows->folds);
	free(rows->rows);
	*rows = (struct mt_rows){0};
}
