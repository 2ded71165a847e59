#include "tui/terminal/clipboard.h"
#include "core/base/text.h"
#include "core/export/number.h"
#include "tui/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCREEN_PIECE 512 /* GNU screen passes on strings of at most 768 bytes */

static void add_base64(struct mt_buffer *out, const uint8_t *in, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		uint32_t three = (uint32_t)in[i] << 16
			| (i + 1 < len ? (uint32_t)in[i + 1] << 8 : 0)
			| (i + 2 < len ? in[i + 2] : 0);
		char four[4] = {digits[three >> 18], digits[three >> 12 & 63],
			i + 1 < len ? digits[three >> 6 & 63] : '=',
			i + 2 < len ? digits[three & 63] : '='};

		mt_buffer_add(out, four, 4);
	}
}

/* tmux takes the sequence itself (set-clipboard on), or hands it on in an envelope
 * (allow-passthrough on); nobody knows which is set, and twice the same does no harm. screen hands
 * on short pieces. */
static void wrap(struct mt_buffer *out, const char *sequence, size_t len)
{
	const char *term = getenv("TERM");

	if (getenv("TMUX")) {
		mt_buffer_add(out, sequence, len);
		mt_buffer_printf(out, "\033Ptmux;\033");
		mt_buffer_add(out, sequence, len);
		mt_buffer_printf(out, "\033\\");
	} else if (getenv("STY") || (term && !strncmp(term, "screen", 6))) {
		for (size_t at = 0; at < len; at += SCREEN_PIECE) {
			mt_buffer_printf(out, "\033P");
			mt_buffer_add(out, sequence + at,
				len - at < SCREEN_PIECE ? len - at : SCREEN_PIECE);
			mt_buffer_printf(out, "\033\\");
		}
	} else {
		mt_buffer_add(out, sequence, len);
	}
}

void mt_clipboard_copy(struct mt_app *app, const char *text, size_t len, const char *what)
{
	struct mt_buffer sequence = {0}, out = {0};
	size_t all = len;
	char number[16];

	if (!mt_screen_has_clipboard(app->screen)) {
		mt_app_say(app, "this terminal has no clipboard that memtui can set");
		return;
	}
	if (len > MT_CLIPBOARD_TEXT)
		for (len = MT_CLIPBOARD_TEXT; len > 1 && text[len - 1] != '\n';)
			len--;
	mt_buffer_printf(&sequence, "\033]52;c;");
	add_base64(&sequence, (const uint8_t *)text, len);
	mt_buffer_printf(&sequence, "\a");
	wrap(&out, (const char *)sequence.data, sequence.len);
	mt_screen_send(app->screen, (const char *)out.data, out.len);
	mt_number_size(number, len);
	mt_app_say(app,
		len < all ? "copied the first %2$s of %1$s: the terminal accepts no more"
			  : "copied %s, %s, to the clipboard",
		what, number);
	mt_buffer_free(&sequence);
	mt_buffer_free(&out);
}

/* ---- stacks ---- */

/* Where it is pasted, nothing of a name may end the line, or what is pasted. */
static void add_frame(struct mt_buffer *out, uint32_t number,
	const struct mt_backtrace_frame *frame)
{
	char source[512];

	if (frame->pc == MT_PC_CUT) {
		mt_buffer_printf(out, "#%-2u (the stack is cut here)\n", number);
		return;
	}
	mt_frame_source(source, sizeof source, frame, true);
	mt_buffer_printf(out, "#%-2u ", number);
	mt_text_add(out, MT_TEXT_LINE, frame->function);
	mt_buffer_printf(out, "%s at ", frame->inlined ? " (inlined)" : "");
	mt_text_add(out, MT_TEXT_LINE, source);
	if (*frame->source && *frame->module) {
		mt_buffer_printf(out, " (");
		mt_text_add(out, MT_TEXT_LINE, frame->module);
		mt_buffer_printf(out, "+0x%llx)", (unsigned long long)frame->offset);
	}
	mt_buffer_printf(out, "\n");
}

static void add_group(struct mt_app *app, struct mt_buffer *out, uint32_t group,
	const struct mt_backtrace *backtrace)
{
	const struct mt_data *d = &app->data;
	const struct mt_group *g = &d->profile.groups[group];
	char live[17], blocks[17], bytes[17], calls[17];

	mt_text_add(out, MT_TEXT_LINE, d->command ? d->command : "memtui");
	mt_data_metric(blocks, d, g, MT_METRIC_LEAKED_COUNT);
	mt_data_metric(calls, d, g, MT_METRIC_ALLOCATED_COUNT);
	mt_buffer_printf(out, ": %s %s in %s %s, allocated %s in %s %s of %s\n",
		d->live ? "live" : "leaked", mt_data_metric(live, d, g, MT_METRIC_LEAKED_SIZE),
		blocks, MT_PLURAL(blocks, "block"), mt_data_metric(bytes, d, g, MT_METRIC_SIZE),
		calls, MT_PLURAL(calls, "call"),
		mt_profile_function_name(&d->profile,
			mt_profile_group_function(&d->profile, group)));
	for (uint32_t i = 0; i < backtrace->count; i++)
		add_frame(out, i, &backtrace->frames[i]);
}

void mt_clipboard_stack(struct mt_app *app)
{
	const struct mt_backtrace_frame *own;
	struct mt_backtrace backtrace = {0};
	struct mt_buffer text = {0};
	struct mt_pick pick;
	char what[160];

	if (!mt_app_pick(app, &pick))
		return;
	if (pick.group == MT_NO_GROUP) {
		add_frame(&text, 0, &pick.branch);
		snprintf(what, sizeof what, "the place of %.100s", pick.branch.function);
	} else {
		mt_backtrace_get(&backtrace, &app->data.profile, app->data.symbols, pick.group);
		own = mt_backtrace_own(&backtrace);
		add_group(app, &text, pick.group, &backtrace);
		snprintf(what, sizeof what, "the stack of %.100s",
			own ? own->function : "the group");
		mt_backtrace_free(&backtrace);
	}
	mt_clipboard_copy(app, (const char *)text.data, text.len, what);
	mt_buffer_free(&text);
}
