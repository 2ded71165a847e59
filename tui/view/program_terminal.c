/* The program's terminal: what it prints goes through libvterm, and so do the keys that it gets, in
 * the way its terminal's modes ask for. ^] takes the keyboard back. */
#include "tui/data/switch.h"
#include "tui/view/program.h"

#ifdef HAVE_LIBVTERM
#include "core/base/buffer.h"

#include <stdlib.h>
#include <string.h>

#define READ_MOST (256u << 10) /* at once: keys come in between */

static void on_output(const char *bytes, size_t len, void *context)
{
	struct mt_program_state *p = context;

	if (!p->replay)
		mt_client_input(p->client, bytes, len);
}

static void take_title(struct mt_program_state *p, const VTermValue *value)
{
#if VTERM_VERSION_MAJOR > 0 || VTERM_VERSION_MINOR >= 2
	size_t at = value->string.initial ? 0 : strlen(p->title), len = value->string.len;

	if (len > sizeof p->title - 1 - at)
		len = sizeof p->title - 1 - at;
	memcpy(p->title + at, value->string.str, len);
	p->title[at + len] = '\0';
#else
	size_t len = strnlen(value->string, sizeof p->title - 1);

	memcpy(p->title, value->string, len);
	p->title[len] = '\0';
#endif
}

static int on_property(VTermProp property, VTermValue *value, void *context)
{
	struct mt_program_state *p = context;

	switch (property) {
	case VTERM_PROP_CURSORVISIBLE: p->cursor_hidden = !value->boolean; break;
	case VTERM_PROP_CURSORBLINK: p->cursor_blinks = value->boolean; break;
	case VTERM_PROP_CURSORSHAPE: p->cursor_shape = value->number; break;
	case VTERM_PROP_ALTSCREEN: p->alternate = value->boolean; break;
	case VTERM_PROP_MOUSE: p->mouse = value->number; break;
	case VTERM_PROP_TITLE: take_title(p, value); break;
	default: break;
	}
	return 1;
}

static int on_cursor(VTermPos position, VTermPos old, int visible, void *context)
{
	struct mt_program_state *p = context;

	(void)old;
	(void)visible;
	p->cursor_row = position.row;
	p->cursor_column = position.col;
	return 1;
}

static int on_push(int columns, const VTermScreenCell *cells, void *context)
{
	mt_program_push(context, columns, cells);
	return 1;
}

static int on_pop(int columns, VTermScreenCell *cells, void *context)
{
	return mt_program_pop(context, columns, cells);
}

static const VTermScreenCallbacks callbacks = {
	.settermprop = on_property,
	.movecursor = on_cursor,
	.sb_pushline = on_push,
	.sb_popline = on_pop,
};

void mt_program_fit(struct mt_app *app, int rows, int columns)
{
	struct mt_program_state *p = app->program;

	if (rows < 1 || columns < 1 || (rows == p->rows && columns == p->columns))
		return;
	p->rows = rows;
	p->columns = columns;
	vterm_set_size(p->terminal, rows, columns);
	if (p->client && !mt_app_home(app)->recorder_gone)
		mt_client_resize(p->client, (unsigned short)rows, (unsigned short)columns);
}

void mt_program_open(struct mt_app *app)
{
	struct mt_program_state *p;

	if (!app->data.client || !mt_client_has_terminal(app->data.client))
		return;
	p = app->program = mt_alloc(sizeof *p);
	p->client = app->data.client;
	p->cursor_shape = VTERM_PROP_CURSORSHAPE_BLOCK;
	p->terminal = vterm_new(24, 80);
	p->screen = vterm_obtain_screen(p->terminal);
	vterm_set_utf8(p->terminal, 1);
	vterm_output_set_callback(p->terminal, on_output, p);
	vterm_screen_set_callbacks(p->screen, &callbacks, p);
	vterm_screen_enable_altscreen(p->screen, 1);
	vterm_screen_reset(p->screen, 1);
	mt_program_resize(app);
	p->replay = true;
	mt_program_read(app);
	p->replay = false;
}

void mt_program_resize(struct mt_app *app)
{
	if (app->program)
		mt_program_fit(app, mt_screen_rows(app->screen) - 4,
			mt_screen_columns(app->screen));
}

void mt_program_read(struct mt_app *app)
{
	struct mt_program_state *p = app->program;
	char bytes[16384];
	size_t n, all = 0;

	if (!p)
		return;
	if (mt_app_home(app)->recorder_gone)
		mt_client_drain(p->client);
	for (uint64_t before = p->at; all < READ_MOST; before = p->at, all += n) {
		n = mt_client_terminal(p->client, &p->at, bytes, sizeof bytes);
		p->lost += p->at - before - n;
		if (!n)
			break;
		mt_repeats_write(&p->repeats, p->terminal, bytes, n);
	}
	if (!all || app->view != MT_VIEW_OUTPUT)
		return;
	if (mt_program_typing(app))
		app->dirty = true;
	else if (!app->data.frozen)
		app->data_dirty = true;
}

/* ---- the keyboard ---- */

bool mt_program_typing(const struct mt_app *app)
{
	return app->program && app->program->typing && app->view == MT_VIEW_OUTPUT
		&& mt_app_runs(app);
}

void mt_program_give(struct mt_app *app, bool typing)
{
	struct mt_program_state *p = app->program;

	app->dirty = true;
	p->typing = typing;
	p->pasting = false;
	if (typing)
		p->list.held = p->found = false;
	mt_screen_paste(app->screen, typing);
}

static VTermKey special_key(uint32_t code)
{
	switch (code) {
	case MT_KEY_ENTER: return VTERM_KEY_ENTER;
	case MT_KEY_TAB:
	case MT_KEY_BACK_TAB: return VTERM_KEY_TAB;
	case MT_KEY_BACKSPACE: return VTERM_KEY_BACKSPACE;
	case MT_KEY_ESCAPE: return VTERM_KEY_ESCAPE;
	case MT_KEY_UP: return VTERM_KEY_UP;
	case MT_KEY_DOWN: return VTERM_KEY_DOWN;
	case MT_KEY_LEFT: return VTERM_KEY_LEFT;
	case MT_KEY_RIGHT: return VTERM_KEY_RIGHT;
	case MT_KEY_INSERT: return VTERM_KEY_INS;
	case MT_KEY_DELETE: return VTERM_KEY_DEL;
	case MT_KEY_HOME: return VTERM_KEY_HOME;
	case MT_KEY_END: return VTERM_KEY_END;
	case MT_KEY_PAGE_UP: return VTERM_KEY_PAGEUP;
	case MT_KEY_PAGE_DOWN: return VTERM_KEY_PAGEDOWN;
	default:
		return code >= MT_KEY_F1 && code <= MT_KEY_F12
			? (VTermKey)VTERM_KEY_FUNCTION(code - MT_KEY_F1 + 1)
			: VTERM_KEY_NONE;
	}
}

static void type_key(struct mt_program_state *p, const struct mt_input *input)
{
	VTermModifier modifiers = (VTermModifier)(input->modifiers & 7);
	VTermKey key = special_key(input->code);
	char byte = (char)(input->byte ? input->byte : input->code);

	if (input->code == MT_KEY_PASTE_BEGIN || input->code == MT_KEY_PASTE_END) {
		p->pasting = input->code == MT_KEY_PASTE_BEGIN;
		if (p->pasting)
			vterm_keyboard_start_paste(p->terminal);
		else
			vterm_keyboard_end_paste(p->terminal);
	} else if (input->byte) {
		mt_client_input(p->client, &byte, 1);
	} else if (key != VTERM_KEY_NONE) {
		vterm_keyboard_key(p->terminal, key,
			input->code == MT_KEY_BACK_TAB ? VTERM_MOD_SHIFT : modifiers);
	} else if (input->code < 32) {
		mt_client_input(p->client, &byte, 1);
	} else if (input->code < MT_KEY_SPECIAL) {
		vterm_keyboard_unichar(p->terminal, input->code, VTERM_MOD_NONE);
	}
}

/* false: it is not for the program. */
static bool type_mouse(struct mt_app *app, const struct mt_input *input)
{
	struct mt_program_state *p = app->program;
	int row = input->row - 2;

	if (row < 0 || row >= p->rows) {
		if (input->pressed)
			mt_program_give(app, false);
		return false;
	}
	if (input->button >= 64 && p->mouse == VTERM_PROP_MOUSE_NONE) {
		/* As other terminals: where nothing scrolls, the wheel is the arrow keys. */
		for (int i = 0; p->alternate && i < 3; i++)
			vterm_keyboard_key(p->terminal,
				input->button == 64 ? VTERM_KEY_UP : VTERM_KEY_DOWN,
				VTERM_MOD_NONE);
		return p->alternate;
	}
	vterm_mouse_move(p->terminal, row, input->column, VTERM_MOD_NONE);
	if (input->button >= 64)
		vterm_mouse_button(p->terminal, input->button - 60, true, VTERM_MOD_NONE);
	else if (!input->dragged)
		vterm_mouse_button(p->terminal, input->button + 1, input->pressed, VTERM_MOD_NONE);
	return true;
}

bool mt_program_type(struct mt_app *app, const struct mt_input *input)
{
	struct mt_program_state *p = app->program;

	if (input->code == MT_KEY_MOUSE)
		return type_mouse(app, input);
	if (input->code == 0x1d && !p->pasting) { /* ^] */
		mt_program_give(app, false);
		return true;
	}
	if (p->list.held) { /* who types wants to see it */
		p->list.held = p->found = false;
		app->dirty = true;
	}
	type_key(p, input);
	return true;
}

void mt_program_free(struct mt_program_state *p)
{
	if (!p)
		return;
	vterm_free(p->terminal);
	mt_program_clear(p);
	free(p->row);
	free(p);
}

#else /* without libvterm there is no such view */

void mt_program_open(struct mt_app *app)
{
	(void)app;
}
void mt_program_resize(struct mt_app *app)
{
	(void)app;
}
void mt_program_read(struct mt_app *app)
{
	(void)app;
}
bool mt_program_typing(const struct mt_app *app)
{
	(void)app;
	return false;
}
bool mt_program_type(struct mt_app *app, const struct mt_input *input)
{
	(void)app;
	(void)input;
	return false;
}
void mt_program_free(struct mt_program_state *p)
{
	(void)p;
}

#endif
