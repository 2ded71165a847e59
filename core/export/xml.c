#include "core/export/xml.h"

#include "core/export/json.h"

#include <string.h>

/* One character; returns its bytes. */
static unsigned put_character(FILE *out, const char *text)
{
	unsigned char c = (unsigned char)*text;
	unsigned len = mt_utf8_len(text);

	if (c == '&')
		fputs("&amp;", out);
	else if (c == '<')
		fputs("&lt;", out);
	else if (c == '>')
		fputs("&gt;", out);
	else if (c == '"')
		fputs("&quot;", out);
	else if (c == '\'')
		fputs("&apos;", out);
	else if (c < 0x20 || c == 0x7f || (c == 0xc2 && len == 2 && (unsigned char)text[1] < 0xa0))
		putc('?', out);
	else if (!len
		|| (len == 3
			&& (!memcmp(text, "\xef\xbf\xbe", 3) || !memcmp(text, "\xef\xbf\xbf", 3))))
		fputs("\xef\xbf\xbd", out);
	else
		fwrite(text, 1, len, out);
	return len ? len : 1;
}

void mt_xml_text(FILE *out, const char *text)
{
	while (*text)
		text += put_character(out, text);
}
