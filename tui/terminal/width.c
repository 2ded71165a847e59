#include "tui/terminal/width.h"
#include "core/base/text.h"

wchar_t mt_text_cell(bool utf8, uint32_t code, int *width)
{
	if (!mt_text_is_safe(code) || code == 0xfffd || (!utf8 && code >= 0x80)) {
		*width = 1;
		return L'?';
	}
	*width = wcwidth((wchar_t)code);
	if (*width >= 0)
		return (wchar_t)code;
	*width = 1;
	return L'?';
}

int mt_text_step(const char **text)
{
	int width = 0;
	uint32_t code = mt_text_next(text);

	if (code)
		mt_text_cell(true, code, &width);
	return width;
}

int mt_text_width(const char *text)
{
	int total = 0;

	while (*text)
		total += mt_text_step(&text);
	return total;
}
