#include "tui/terminal/glyphs.h"

static const char *const table[][2] = {
#define X(id, utf8, ascii) {ascii, utf8},
	MT_GLYPHS(X)
#undef X
};

const char *mt_glyph(bool utf8, enum mt_glyph glyph)
{
	return table[glyph][utf8];
}

const char *mt_glyph_level(bool utf8, int level)
{
	static const char *const levels[2][9] = {
		{" ", ".", ":", "-", "=", "+", "*", "%", "#"},
		{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	};

	return levels[utf8][level < 0 ? 0 : level > 8 ? 8 : level];
}

static const char *braille(unsigned code, char out[4])
{
	out[0] = (char)(0xe0 | code >> 12);
	out[1] = (char)(0x80 | (code >> 6 & 0x3f));
	out[2] = (char)(0x80 | (code & 0x3f));
	out[3] = '\0';
	return out;
}

const char *mt_glyph_dots(bool utf8, int left, int right, char out[4])
{
	static const int none[2];

	return mt_glyph_lined(utf8, (const int[2]){left, right}, none, none, out);
}

const char *mt_glyph_lined(bool utf8, const int fill[2], const int top[2], const int bottom[2],
	char out[4])
{
	static const unsigned char fills[2][5] = {
		{0, 0x40, 0x44, 0x46, 0x47},
		{0, 0x80, 0xa0, 0xb0, 0xb8},
	};
	unsigned code = 0x2800u;

	for (int i = 0; i < 2; i++)
		code |= fills[i][fill[i]]
			| (top[i] > bottom[i] ? fills[i][top[i]] & ~fills[i][bottom[i]] & 0xffu
					      : 0);

	if (!utf8 || code == 0x2800) {
		int level = fill[0] + fill[1];

		out[0] = level == 0  ? (top[0] > bottom[0] || top[1] > bottom[1] ? '-' : ' ')
			: level <= 2 ? '.'
			: level <= 5 ? ':'
				     : '#';
		out[1] = '\0';
		return out;
	}
	return braille(code, out);
}
