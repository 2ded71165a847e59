/* The menu of metrics to sort by. */
#include "core/base/buffer.h"
#include "tui/app.h"

static struct mt_list *list(struct mt_app *app)
{
	return app->overlay_state;
}

static void sort_by(struct mt_app *app, uint32_t metric, bool ascending)
{
	mt_overlay_close(app);
	mt_data_sort(&app->data, (enum mt_metric)metric, ascending);
}

static void draw_line(struct mt_app *app, struct mt_rect r, uint32_t index, enum mt_role role)
{
	const struct mt_group_column *info =
		mt_metric_info(&app->data.profile, (enum mt_metric)index);

	if (index == app->data.sort)
		mt_draw(app->screen, r.row, r.column + 1, 1, role,
			mt_glyph(mt_screen_utf8(app->screen),
				app->data.ascending ? MT_GLYPH_ASCENDING : MT_GLYPH_DESCENDING));
	mt_draw(app->screen, r.row, r.column + 3, 10, role, info->heading);
	mt_draw(app->screen, r.row, r.column + 14, r.columns - 15, role, info->words);
}

static void draw(struct mt_app *app)
{
	struct mt_rect r = mt_box_middle(app, (int)list(app)->count, 68);

	mt_box_draw(app, r, "Sort by",
		r.columns >= 40 ? "Enter sorts   r reverses   Esc" : "Enter   Esc");
	mt_box_list(app, r, 0, list(app), draw_line, NULL);
}

static void key(struct mt_app *app, const struct mt_input *input)
{
	bool ascending = app->data.ascending;

	if (input->code == MT_KEY_ENTER || input->code == 'r')
		sort_by(app, list(app)->selected, input->code == 'r' ? !ascending : ascending);
	else if (mt_overlay_closes(input) || input->code == 'q')
		mt_overlay_close(app);
	else
		mt_list_move(list(app), mt_keys_action(input->code, 1u << MT_SCOPE_MOVE));
}

static void click(struct mt_app *app, uint32_t metric)
{
	sort_by(app, metric, metric == app->data.sort ? !app->data.ascending : app->data.ascending);
}

const struct mt_overlay mt_overlay_sort = {.draw = draw, .key = key, .list = list, .click = click};

void mt_sort_open(struct mt_app *app)
{
	struct mt_list *l = mt_alloc(sizeof *l);

	l->count = mt_metric_count(&app->data.profile);
	l->selected = app->data.sort;
	mt_overlay_open(app, &mt_overlay_sort, l);
}
