/* The choice of columns in the list of groups: which metrics, in which order. A change holds at
 * once. */
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "tui/app.h"
#include "tui/user/config.h"

#include <stdio.h>
#include <string.h>

#define SHOWN 6 /* of the list, where nobody has chosen */

struct chooser {
	struct mt_list list; /* chosen metrics in their order, then the others */
	uint8_t metric[MT_METRICS_MAX];
	uint32_t chosen;
};

void mt_chosen_columns_parse(struct mt_app *app, const char *text)
{
	struct mt_chosen_columns *columns = &app->columns;
	char copy[256], *next = copy, *name;

	columns->count = 0;
	snprintf(copy, sizeof copy, "%s", text);
	while ((name = strsep(&next, " \t,"))) {
		int metric = *name ? mt_metric_find(&app->data.profile, name) : -1;
		bool known = false;

		for (uint32_t i = 0; i < columns->count; i++)
			known = known || columns->metric[i] == metric;
		if (metric >= 0 && !known)
			columns->metric[columns->count++] = (uint8_t)metric;
	}
}

void mt_chosen_columns_text(const struct mt_chosen_columns *columns, const struct mt_profile *p,
	char out[256])
{
	size_t len = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < columns->count; i++) {
		const char *name = mt_metric_info(p, (enum mt_metric)columns->metric[i])->name;

		if (columns->metric[i] < mt_metric_count(p) && len + strlen(name) + 2 < 256)
			len += (size_t)snprintf(out + len, 256 - len, "%s%s", len ? " " : "", name);
	}
}

static void use(struct mt_app *app)
{
	struct chooser *c = app->overlay_state;

	memcpy(app->columns.metric, c->metric, c->chosen);
	app->columns.count = c->chosen;
	mt_chosen_columns_text(&app->columns, NULL, app->config->value[MT_SETTING_COLUMNS]);
	app->config->given[MT_SETTING_COLUMNS] = true;
}

/* Moves the metric at from to the place to, others close up. */
static void move(struct chooser *c, uint32_t from, uint32_t to)
{
	uint8_t metric = c->metric[from];

	if (from < to)
		memmove(c->metric + from, c->metric + from + 1, to - from);
	else
		memmove(c->metric + to + 1, c->metric + to, from - to);
	c->metric[to] = metric;
}

static void toggle(struct mt_app *app, uint32_t at)
{
	struct chooser *c = app->overlay_state;

	if (at < c->chosen)
		move(c, at, --c->chosen);
	else
		move(c, at, c->chosen++);
	use(app);
}

static void shift(struct mt_app *app, int by)
{
	struct chooser *c = app->overlay_state;
	uint32_t at = c->list.selected, to = at + (uint32_t)by;

	if (at >= c->chosen || to >= c->chosen) {
		mt_app_say(app,
			at >= c->chosen ? "not shown: Space shows it, then < and > move it"
					: "it is already at the end");
		return;
	}
	move(c, at, to);
	mt_list_select(&c->list, to);
	use(app);
}

static void close_it(struct mt_app *app)
{
	mt_overlay_close(app);
	char count[MT_NUMBER_OF_LEN];

	if (app->columns.count)
		mt_app_say(app, "%s chosen; those that fit are shown; {setup} w saves them",
			mt_number_of(count, app->columns.count, "column"));
	else
		mt_app_say(app, "the first columns that fit are shown");
}

static void fill(struct mt_app *app)
{
	struct chooser *c = app->overlay_state;

	c->list.count = mt_metric_count(&app->data.profile);
	c->chosen = app->columns.count ? app->columns.count : SHOWN;
	for (uint32_t i = 0; i < c->chosen; i++)
		c->metric[i] = app->columns.count ? app->columns.metric[i] : (uint8_t)i;
	for (uint32_t metric = 0, at = c->chosen; metric < c->list.count; metric++)
		if (!memchr(c->metric, (int)metric, c->chosen))
			c->metric[at++] = (uint8_t)metric;
}

static void key(struct mt_app *app, const struct mt_input *input)
{
	struct chooser *c = app->overlay_state;

	switch (input->code) {
	case MT_KEY_ENTER:
	case ' ': toggle(app, c->list.selected); break;
	case '<':
	case MT_KEY_LEFT: shift(app, -1); break;
	case '>':
	case MT_KEY_RIGHT: shift(app, 1); break;
	case 'r':
		app->columns.count = 0;
		app->config->value[MT_SETTING_COLUMNS][0] = '\0';
		app->config->given[MT_SETTING_COLUMNS] = true;
		fill(app);
		break;
	case 'c':
	case 'q':
	case MT_KEY_ESCAPE:
	case 'C' & 0x1f: close_it(app); break;
	default: mt_list_move(&c->list, mt_keys_action(input->code, 1u << MT_SCOPE_MOVE));
	}
}

static void draw_line(struct mt_app *app, struct mt_rect r, uint32_t index, enum mt_role role)
{
	const struct chooser *c = app->overlay_state;
	const struct mt_group_column *info =
		mt_metric_info(&app->data.profile, (enum mt_metric)c->metric[index]);

	if (index < c->chosen)
		mt_drawf(app->screen, r.row, r.column + 2, 4, role, "[%u]", index + 1);
	else
		mt_draw(app->screen, r.row, r.column + 2, 4, role, "[ ]");
	mt_draw(app->screen, r.row, r.column + 7, 10, role, info->heading);
	mt_draw(app->screen, r.row, r.column + 18, r.columns - 19, role, info->words);
}

static void draw(struct mt_app *app)
{
	struct chooser *c = app->overlay_state;
	struct mt_rect r = mt_box_middle(app, (int)c->list.count, 70);

	mt_box_draw(app, r, "Columns of the groups",
		r.columns < 50 ? "Space  < >  r  Esc"
			       : "Space shows or hides   < > move   r resets   Esc");
	mt_box_list(app, r, 0, &c->list, draw_line, NULL);
}

static struct mt_list *list(struct mt_app *app)
{
	return &((struct chooser *)app->overlay_state)->list;
}

static void click(struct mt_app *app, uint32_t value)
{
	mt_list_select(list(app), value);
	toggle(app, value);
}

const struct mt_overlay mt_overlay_columns = {
	.draw = draw,
	.key = key,
	.list = list,
	.click = click,
};

void mt_columns_open(struct mt_app *app)
{
	mt_overlay_open(app, &mt_overlay_columns, mt_alloc(sizeof(struct chooser)));
	fill(app);
}
