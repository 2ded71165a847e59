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

struct mt_rect mt_box_middle(struct mt_app *app, int rows, int columns)
{
	int all_rows = mt_screen_rows(app->screen), all_columns = mt_screen_columns(app->screen);

	rows = rows + 2 < all_rows - 2 ? rows + 2 : all_rows - 2;
	columns = columns + 2 < all_columns - 2 ? columns + 2 : all_columns - 2;
	return (struct mt_rect){(all_rows - rows) / 2, (all_columns - columns) / 2, rows, columns};
}

void mt_box_draw(struct mt_app *app, struct mt_rect r, const char *head, const char *foot)
{
	struct mt_screen *s = app->screen;
	bool utf8 = mt_screen_utf8(s);

	mt_draw_rule(s, r.row, r.column, r.columns, MT_ROLE_BOX, head);
	mt_draw_rule(s, r.row + r.rows - 1, r.column, r.columns, MT_ROLE_BOX, foot);
	mt_draw(s, r.row, r.column, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_TOP_LEFT));
	mt_draw(s, r.row, r.column + r.columns - 1, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_TOP_RIGHT));
	mt_draw(s, r.row + r.rows - 1, r.column, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_BOTTOM_LEFT));
	mt_draw(s, r.row + r.rows - 1, r.column + r.columns - 1, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_BOTTOM_RIGHT));
	for (int row = r.row + 1; row < r.row + r.rows - 1; row++) {
		mt_draw_fill(s, row, r.column, r.columns, MT_ROLE_BOX);
		mt_draw(s, row, r.column, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_BAR));
		mt_draw(s, row, r.column + r.columns - 1, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_BAR));
	}
	app->hit_count = 0; /* what is behind takes no clicks */
}

void mt_box_list(struct mt_app *app, struct mt_rect box, int first, struct mt_list *l,
	void (*line)(struct mt_app *, struct mt_rect, uint32_t index, enum mt_role))
{
	struct mt_screen *s = app->screen;
	int rows = box.rows - 2 - first;

	mt_list_fit(l, rows);
	for (int i = 0; i < rows && l->top + (uint32_t)i < l->count; i++) {
		struct mt_rect r = {box.row + 1 + first + i, box.column + 1, 1, box.columns - 2};
		uint32_t index = l->top + (uint32_t)i;
		enum mt_role role = index == l->selected ? MT_ROLE_SELECTED : MT_ROLE_BOX;

		mt_draw_fill(s, r.row, r.column, r.columns, role);
		if (index == l->selected)
			mt_draw(s, r.row, r.column, 1, role, mt_glyph(mt_screen_utf8(s), MT_GLYPH_CURSOR));
		mt_frame_hit(app, r, MT_HIT_OVERLAY, MT_VIEW_MAIN, index);
		line(app, r, index, role);
	}
}
