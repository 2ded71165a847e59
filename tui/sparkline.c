#include "tui/sparkline.h"
#include "core/export/number.h"

static uint64_t largest(const uint64_t *values, uint32_t count)
{
	uint64_t max = 0;

	for (uint32_t i = 0; i < count; i++)
		if (values[i] > max)
			max = values[i];
	return max;
}

/* value as steps of a scale, rounded; above 0 it is at least one step */
static int steps(uint64_t value, uint64_t max, int scale)
{
	int n = max ? (int)((double)value * scale / (double)max + 0.5) : 0;

	return n > scale ? scale : n == 0 && value ? 1 : n;
}

void mt_sparkline_draw(struct mt_screen *s, int row, int column, int width, enum mt_role role, const uint64_t *values,
	uint32_t count, uint64_t max)
{
	if (!max)
		max = largest(values, count);
	for (int i = 0; i < width && (uint32_t)i < count; i++)
		mt_draw(s, row, column + i, 1, role, mt_glyph_level(mt_screen_utf8(s), steps(values[i], max, 8)));
}

void mt_sparkline_area(struct mt_screen *s, struct mt_rect r, enum mt_role role, const uint64_t *values, uint32_t count,
	uint64_t max)
{
	if (!max)
		max = largest(values, count);
	for (int x = 0; x < r.columns && (uint32_t)x * 2 < count; x++) {
		int left = steps(values[2 * x], max, 4 * r.rows);
		int right = (uint32_t)x * 2 + 1 < count ? steps(values[2 * x + 1], max, 4 * r.rows) : 0;

		for (int y = 0; y < r.rows; y++) {
			int below = 4 * (r.rows - 1 - y);
			int l = left - below, h = right - below;
			char cell[4];

			mt_glyph_dots(mt_screen_utf8(s), l < 0 ? 0 : l > 4 ? 4 : l, h < 0 ? 0 : h > 4 ? 4 : h, cell);
			if (cell[0] != ' ')
				mt_draw(s, r.row + y, r.column + x, 1, role, cell);
		}
	}
}

struct mt_rect mt_sparkline_scale(struct mt_screen *s, struct mt_rect r, uint64_t max)
{
	char text[16];
	const char *bar = mt_glyph(mt_screen_utf8(s), MT_GLYPH_BAR);

	for (int y = 0; y < r.rows; y++) {
		if (y == 0)
			mt_number_size(text, max);
		else if (y == r.rows - 1)
			mt_number_size(text, 0);
		else if (r.rows >= 5 && y == r.rows / 2)
			mt_number_size(text, max / 2);
		else
			text[0] = '\0';
		mt_draw_right(s, r.row + y, r.column, 7, MT_ROLE_AXIS, text);
		mt_draw(s, r.row + y, r.column + 7, 1, MT_ROLE_AXIS, bar);
	}
	return (struct mt_rect){r.row, r.column + 8, r.rows, r.columns - 8};
}
