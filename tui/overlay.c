/* Boxes on top of the view: one is open at a time, and has the keys until it closes. */
#include "tui/app.h"

#include <stdlib.h>

void mt_overlay_open(struct mt_app *app, const struct mt_overlay *overlay, void *state)
{
	mt_overlay_close(app);
	app->overlay = overlay;
	app->overlay_state = state;
}

void mt_overlay_close(struct mt_app *app)
{
	free(app->overlay_state);
	app->overlay_state = NULL;
	app->overlay = NULL;
}

bool mt_overlay_closes(const struct mt_input *input)
{
	return input->code == MT_KEY_ESCAPE || input->code == ('C' & 0x1f);
}

/* Where there is no room for it beside the edges it takes all columns, without sides: then it
 * scrolls as whole lines of the terminal. */
struct mt_rect mt_box_middle(struct mt_app *app, int rows, int columns)
{
	int all_rows = mt_screen_rows(app->screen), all_columns = mt_screen_columns(app->screen);

	int most = all_rows - 3, row; /* title, status line and key bar stay */

	rows = rows + 2 < most ? rows + 2 : most;
	row = (all_rows - rows) / 2 < all_rows - 2 - rows
		? (all_rows - rows) / 2
		: all_rows - 2 - rows;
	columns = columns + 2 < all_columns - 2 ? columns + 2 : all_columns;
	return (struct mt_rect){row, (all_columns - columns) / 2, rows, columns};
}

static bool has_sides(const struct mt_app *app, struct mt_rect r)
{
	return r.columns < mt_screen_columns(app->screen);
}

int mt_box_width(const struct mt_app *app, struct mt_rect box)
{
	return box.columns - (has_sides(app, box) ? 2 : 0);
}

void mt_box_draw(struct mt_app *app, struct mt_rect r, const char *head, const char *foot)
{
	struct mt_screen *s = app->screen;
	bool utf8 = mt_screen_utf8(s);
	int last = r.row + r.rows - 1, right = r.column + r.columns - 1;

	app->hit_count = 0; /* what is behind takes no clicks */
	mt_draw_rule(s, r.row, r.column, r.columns, MT_ROLE_BOX, head);
	mt_draw_rule(s, last, r.column, r.columns, MT_ROLE_BOX, foot);
	for (int row = r.row + 1; row < last; row++)
		mt_draw_fill(s, row, r.column, r.columns, MT_ROLE_BOX);
	if (!has_sides(app, r))
		return;
	mt_draw(s, r.row, r.column, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_TOP_LEFT));
	mt_draw(s, r.row, right, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_TOP_RIGHT));
	mt_draw(s, last, r.column, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_BOTTOM_LEFT));
	mt_draw(s, last, right, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_BOTTOM_RIGHT));
	for (int row = r.row + 1; row < last; row++) {
		mt_draw(s, row, r.column, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_BAR));
		mt_draw(s, row, right, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_BAR));
	}
}

/* Scrolls so that the selected line is seen whole. */
static void fit(struct mt_app *app, struct mt_list *l, int rows, int columns,
	int (*height)(struct mt_app *, uint32_t index, int columns))
{
	uint32_t first = l->selected;

	if (!height || !l->count) {
		mt_list_fit(l, rows);
		return;
	}
	l->rows = rows;
	for (int used = height(app, first, columns); first > 0; first--) {
		used += height(app, first - 1, columns);
		if (used > rows)
			break;
	}
	if (l->top < first || l->top > l->selected)
		l->top = l->top > l->selected ? l->selected : first;
}

void mt_box_list(struct mt_app *app, struct mt_rect box, int first, struct mt_list *l,
	void (*line)(struct mt_app *, struct mt_rect, uint32_t index, enum mt_role),
	int (*height)(struct mt_app *, uint32_t index, int columns))
{
	struct mt_screen *s = app->screen;
	struct mt_rect r = {box.row + 1 + first, box.column + has_sides(app, box), 1,
		mt_box_width(app, box)};
	int end = box.row + box.rows - 1;

	fit(app, l, end - r.row, r.columns, height);
	for (uint32_t index = l->top; r.row < end && index < l->count; index++, r.row += r.rows) {
		enum mt_role role = index == l->selected ? MT_ROLE_SELECTED : MT_ROLE_BOX;

		r.rows = height ? height(app, index, r.columns) : 1;
		if (r.rows > end - r.row && index > l->top)
			break; /* it is read whole, or not at all */
		r.rows = r.rows < end - r.row ? r.rows : end - r.row;
		for (int row = 0; row < r.rows; row++)
			mt_draw_fill(s, r.row + row, r.column, r.columns, role);
		if (index == l->selected)
			mt_draw(s, r.row, r.column, 1, role,
				mt_glyph(mt_screen_utf8(s), MT_GLYPH_CURSOR));
		mt_frame_hit(app, r, MT_HIT_OVERLAY, MT_VIEW_MAIN, index);
		line(app, r, index, role);
	}
}
