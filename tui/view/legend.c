#include "tui/view/legend.h"

#include "core/export/report_parts.h"
#include "tui/terminal/fit.h"
#include "tui/terminal/glyphs.h"
#include "tui/terminal/width.h"

#include <stdio.h>
#include <stdlib.h>

char *mt_legend_text(const struct mt_backtrace_frame *frame, int room, bool utf8)
{
	char *function = frame ? mt_report_frame_name(frame) : mt_strdup("(no stack)");
	char line[16] = "", *whole, *folded, *fitting;

	if (frame && frame->line)
		snprintf(line, sizeof line, ":%u", frame->line);
	whole = mt_format("%.280s%s", function, line);
	if (mt_text_width(whole) > room) {
		folded = mt_name_fold(function, mt_glyph(utf8, MT_GLYPH_ELLIPSIS), true);
		free(whole);
		whole = mt_format("%.280s%s", folded, line);
		if (mt_text_width(whole) > room) {
			free(whole);
			whole = mt_format("%.*s%s", (int)mt_name_base_len(folded),
				mt_name_base(folded), line);
		}
		free(folded);
	}
	fitting = mt_fit_source(whole, room, utf8);
	free(whole);
	free(function);
	return fitting;
}
