/* What the icicle says about its cells in words. */
#include "tui/view/icicle_words.h"
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "tui/terminal/fit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The function, or where it would stand in its module. A name of C++ or Rust is folded to so many
 * columns. */
void mt_icicle_name(struct mt_app *app, uint32_t node, int columns, char *out, size_t len)
{
	struct mt_backtrace_frame frame;
	char of[512], *fitting;
	const char *inlined;

	mt_tree_label(app->data.tree, node, &frame);
	inlined = *frame.function && frame.inlined ? MT_FRAME_INLINED : "";
	const char *name = mt_frame_function(of, sizeof of, &frame);

	if (strpbrk(name, ":<("))
		fitting = mt_fit_name(name, columns - mt_text_width(inlined),
			mt_screen_utf8(app->screen), app->whole_names);
	else
		fitting = mt_strdup(name);
	snprintf(out, len, "%s%s", fitting, inlined);
	free(fitting);
}

void mt_icicle_value(struct mt_app *app, const struct mt_icicle_cell *cell, char out[17])
{
	enum mt_metric metric = app->icicle->layout.metric;

	if (cell->merged || mt_icicle_is_rest(app->icicle, cell))
		mt_data_format(out, cell->value, mt_metric_info(&app->data.profile, metric)->unit);
	else
		mt_data_metric(out, &app->data, &mt_tree_get(app->data.tree, cell->node)->total,
			metric);
}

/* "22.0M leaked": the heading of a column, as it is said; "live" as long as that is not known. */
static void say_value(const struct mt_app *app, char *out, size_t len, const char *value,
	enum mt_metric metric)
{
	size_t at = (size_t)snprintf(out, len, "%s %s", value,
		mt_metric_heading(&app->data.profile, metric,
			mt_info_knows_leaks(&app->data.whole->info)));

	for (size_t i = strlen(value); i < at && i + 1 < len; i++)
		out[i] = (char)tolower((unsigned char)out[i]);
}

/* The selected cell: what does not fit is left out from the right. */
void mt_icicle_draw_selected(struct mt_app *app, int row, int columns)
{
	struct mt_icicle_state *t = app->icicle;
	const struct mt_icicle_cell *cell = mt_icicle_cell_at(t, t->list.selected);
	enum mt_metric metric = t->layout.metric, beside = mt_tree_companion(metric);
	char name[512], value[17], source[300] = "", parts[4][320], text[48];
	struct mt_backtrace_frame frame;
	int used, count = 0;

	mt_icicle_name(app, cell->node, columns / 2, name, sizeof name);
	mt_icicle_value(app, cell, value);
	say_value(app, parts[count++], sizeof *parts, value, metric);
	snprintf(parts[count++], sizeof *parts, "%.1f %%",
		mt_data_percent(&app->data, cell->value, metric));
	if (!cell->merged && !mt_icicle_is_rest(t, cell)) {
		mt_data_metric(text, &app->data, &mt_tree_get(app->data.tree, cell->node)->total,
			beside);
		say_value(app, parts[count++], sizeof *parts, text, beside);
		mt_tree_label(app->data.tree, cell->node, &frame);
		mt_frame_source(source, sizeof source, &frame, false);
		if (*source)
			snprintf(parts[count++], sizeof *parts, "%s", source);
	} else if (cell->merged) {
		char of[560];

		snprintf(of, sizeof of, "%u narrow bars below %s", cell->merged, name);
		snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, of);
	}
	int width = mt_text_width(name), most = columns - 1 - mt_text_width(parts[0]) - 3;

	used = 1
		+ mt_draw(app->screen, row, 1, width > most ? most : width, MT_ROLE_FUNCTION, name);
	for (int i = 0; i < count && used + 3 + mt_text_width(parts[i]) <= columns; i++)
		used += 3
			+ mt_draw(app->screen, row, used + 3, columns,
				i == 3 ? MT_ROLE_SOURCE : MT_ROLE_NUMBER, parts[i]);
}

void mt_icicle_count_matches(struct mt_app *app)
{
	struct mt_icicle_state *t = app->icicle;
	const char *text =
		app->prompt.kind == MT_PROMPT_SEARCH ? app->prompt.text : app->prompt.search;

	if (t->searched && !strcmp(t->searched, text)
		&& t->searched_generation == app->data.generation && t->searched_root == t->root
		&& t->searched_skip == t->skip)
		return;
	free(t->searched);
	t->searched = mt_strdup(text);
	t->searched_generation = app->data.generation;
	t->searched_root = t->root;
	t->searched_skip = t->skip;
	mt_icicle_match(&t->matches, &app->data.profile, app->data.symbols, app->data.tree, t->root,
		t->layout.skip, app->prompt.pattern);
}

static void match_text(struct mt_app *app, char *out, size_t len)
{
	struct mt_icicle_state *t = app->icicle;
	const struct mt_icicle_matches *m = &t->matches;
	char value[16], groups[MT_NUMBER_OF_LEN];

	*out = '\0';
	if (!app->prompt.pattern)
		return;
	mt_icicle_count_matches(app);
	mt_data_format(value, m->value, mt_metric_info(&app->data.profile, t->layout.metric)->unit);
	snprintf(out, len, "match /%.60s: %s, %s (%.1f %% of view)", t->searched,
		mt_number_of(groups, m->groups, "group"), value,
		100.0 * (double)m->value / (double)t->layout.total);
}

/* What is not the usual: matches, a metric that makes no bars, zoom and rows out of sight. */
void mt_icicle_draw_words(struct mt_app *app, int row, int columns)
{
	struct mt_icicle_state *t = app->icicle;
	char left[192], right[640] = "", name[512];
	int used = 1;

	match_text(app, left, sizeof left);
	if (!*left && t->layout.metric != app->data.sort)
		snprintf(left, sizeof left, "%s cannot be summed: bars show bytes allocated",
			app->data.sort == MT_METRIC_SUSPECT
				? "leak scores"
				: mt_metric_info(&app->data.profile, app->data.sort)->name);
	used += mt_draw(app->screen, row, 1, columns - 1, MT_ROLE_PROMPT, left);
	if (app->data.inverted)
		snprintf(right, sizeof right, "inverted");
	if (t->path_count || t->skip) {
		mt_icicle_name(app, t->root, columns / 2, name, sizeof name);
		snprintf(right + strlen(right), sizeof right - strlen(right), "%szoom: %s",
			*right ? "   " : "", name);
	}
	if (t->layout.skip)
		snprintf(right + strlen(right), sizeof right - strlen(right),
			" without its largest %u", t->layout.skip);
	if (t->top)
		snprintf(right + strlen(right), sizeof right - strlen(right), "%sfrom row %u",
			*right ? "   " : "", t->top + 1);
	if (columns - used - 3 >= mt_text_width(right))
		mt_draw_right(app->screen, row, used + 3, columns - used - 3, MT_ROLE_DIM, right);
}
