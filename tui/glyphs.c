#include "tui/glyphs.h"

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

const char *mt_glyph_dots(bool utf8, int left, int right, char out[4])
{
	static const unsigned char left_bits[] = {0, 0x40, 0x44, 0x46, 0x47}, right_bits[] = {0, 0x80, 0xa0, 0xb0, 0xb8};
	unsigned code = 0x2800u | left_bits[left] | right_bits[right];

	if (!utf8 || code == 0x2800) {
		int level = left + right;

		out[0] = level == 0 ? ' ' : level <= 2 ? '.' : level <= 5 ? ':' : '#';
		out[1] = '\0';
		return out;
	}
	out[0] = (char)(0xe0 | code >> 12);
	out[1] = (char)(0x80 | (code >> 6 & 0x3f));
	out[2] = (char)(0x80 | (code & 0x3f));
	out[3] = '\0';
	return out;
}
