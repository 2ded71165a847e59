/* The terminal of the program under test, drawn by libvterm. Enter gives it the keyboard, ^] takes it back. */
#include "tui/app.h"
#include "core/base/buffer.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBVTERM
#include <vterm.h>

struct mt_program_state {
	VTerm *terminal;
	VTermScreen *screen;
	struct mt_client *client; /* borrowed */
	uint64_t at;
	bool typing, replay;      /* replay: what was printed before we came; it must not be answered again */
	int rows, columns;        /* 0: not known before the first frame */
	int cursor_row, cursor_column;
	bool cursor_hidden;
};

static void on_output(const char *bytes, size_t len, void *context)
{
	struct mt_program_state *p = context;

	if (!p->replay)
		mt_client_input(p->client, bytes, len);
}

static int on_property(VTermProp property, VTermValue *value, void *context)
{
	struct mt_program_state *p = context;

	if (property == VTERM_PROP_CURSORVISIBLE)
		p->cursor_hidden = !value->boolean;
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

static const VTermScreenCallbacks callbacks = {.settermprop = on_property, .movecursor = on_cursor};

static void fit(struct mt_app *app, int rows, int columns)
{
	struct mt_program_state *p = app->program;

	if (rows < 1 || columns < 1 || (rows == p->rows && columns == p->columns))
		return;
	p->rows = rows;
	p->columns = columns;
	vterm_set_size(p->terminal, rows, columns);
	if (app->data.client && !app->data.recorder_gone)
		mt_client_resize(app->data.client, (unsigned short)rows, (unsigned short)columns);
}

void mt_program_open(struct mt_app *app)
{
	struct mt_program_state *p;

	if (!app->data.client || !mt_client_has_terminal(app->data.client))
		return;
	p = app->program = mt_alloc(sizeof *p);
	p->client = app->data.client;
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
		fit(app, mt_screen_rows(app->screen) - 4, mt_screen_columns(app->screen));
}

void mt_program_read(struct mt_app *app)
{
	char bytes[16384];
	size_t n, all = 0;

	if (!app->program)
		return;
	if (app->data.recorder_gone)
		mt_client_drain(app->data.client);
	while (all < 1u << 20 && (n = mt_client_terminal(app->data.client, &app->program->at, bytes, sizeof bytes)) > 0) {
		vterm_input_write(app->program->terminal, bytes, n);
		all += n;
	}
	if (all && app->view == MT_VIEW_OUTPUT)
		app->dirty = true;
}

bool mt_program_typing(const struct mt_app *app)
{
	return app->program && app->program->typing && app->view == MT_VIEW_OUTPUT && mt_app_live(app);
}

static VTermKey special_key(uint32_t code)
{
	switch (code) {
	case MT_KEY_ENTER: return VTERM_KEY_ENTER;
	case MT_KEY_TAB: return VTERM_KEY_TAB;
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
	default: return code >= MT_KEY_F1 && code <= MT_KEY_F12 ?
		(VTermKey)VTERM_KEY_FUNCTION(code - MT_KEY_F1 + 1) : VTERM_KEY_NONE;
	}
}

/* The keys go through libvterm, so that they come as the program's terminal modes ask for. */
void mt_program_type(struct mt_app *app, const struct mt_input *input)
{
	struct mt_program_state *p = app->program;
	VTermKey key = special_key(input->code);

	if (input->code == 0x1d) { /* ^] */
		p->typing = false;
		app->dirty = true;
	} else if (input->code == MT_KEY_MOUSE) {
		vterm_mouse_move(p->terminal, input->row - 2, input->column, VTERM_MOD_NONE);
		if (input->button < 64)
			vterm_mouse_button(p->terminal, input->button + 1, input->pressed, VTERM_MOD_NONE);
		else
			vterm_mouse_button(p->terminal, input->button - 60, true, VTERM_MOD_NONE);
	} else if (input->code == MT_KEY_BACK_TAB) {
		vterm_keyboard_key(p->terminal, VTERM_KEY_TAB, VTERM_MOD_SHIFT);
	} else if (key != VTERM_KEY_NONE) {
		vterm_keyboard_key(p->terminal, key, VTERM_MOD_NONE);
	} else if (input->code < 32) {
		char byte = (char)input->code;

		mt_client_input(p->client, &byte, 1);
	} else if (input->code < MT_KEY_SPECIAL) {
		vterm_keyboard_unichar(p->terminal, input->code, VTERM_MOD_NONE);
	}
}

static int colour_of(const VTermScreen *screen, VTermColor colour)
{
	if (VTERM_COLOR_IS_DEFAULT_FG(&colour) || VTERM_COLOR_IS_DEFAULT_BG(&colour))
		return MT_COLOUR_DEFAULT;
	vterm_screen_convert_color_to_rgb(screen, &colour);
	return colour.rgb.red << 16 | colour.rgb.green << 8 | colour.rgb.blue;
}

static void draw_cell(struct mt_app *app, struct mt_rect r, VTermPos at, const VTermScreenCell *cell)
{
	struct mt_style style = {colour_of(app->program->screen, cell->fg), colour_of(app->program->screen, cell->bg),
		(cell->attrs.bold ? MT_STYLE_BOLD : 0) | (cell->attrs.underline ? MT_STYLE_UNDERLINE : 0) |
		(cell->attrs.reverse ? MT_STYLE_REVERSE : 0) | (cell->attrs.italic ? MT_STYLE_ITALIC : 0)};
	uint32_t text[VTERM_MAX_CHARS_PER_CELL + 1] = {0};

	memcpy(text, cell->chars, sizeof cell->chars);
	mt_draw_cell(app->screen, r.row + at.row, r.column + at.col, text, &style);
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_program_state *p = app->program;
	VTermScreenCell cell;

	(void)focus;
	if (!p)
		return;
	fit(app, r.rows, r.columns);
	for (int row = 0; row < r.rows; row++)
		for (int column = 0; column < r.columns; column += cell.width > 1 ? cell.width : 1) {
			VTermPos at = {row, column};

			if (!vterm_screen_get_cell(p->screen, at, &cell))
				break;
			draw_cell(app, r, at, &cell);
		}
	if (p->typing && !p->cursor_hidden)
		mt_screen_cursor(app->screen, r.row + p->cursor_row, r.column + p->cursor_column);
}

static bool action(struct mt_app *app, enum mt_action what)
{
	if (what != MT_ACTION_KEYBOARD)
		return false;
	if (app->data.recorder_gone || app->program_ended)
		mt_app_say(app, "the program has ended");
	else
		app->program->typing = true;
	return true;
}

void mt_program_free(struct mt_program_state *p)
{
	if (!p)
		return;
	vterm_free(p->terminal);
	free(p);
}

#else /* without libvterm there is no such view */

void mt_program_open(struct mt_app *app) { (void)app; }
void mt_program_resize(struct mt_app *app) { (void)app; }
void mt_program_read(struct mt_app *app) { (void)app; }
bool mt_program_typing(const struct mt_app *app) { (void)app; return false; }
void mt_program_type(struct mt_app *app, const struct mt_input *input) { (void)app; (void)input; }
void mt_program_free(struct mt_program_state *p) { (void)p; }
static void draw(struct mt_app *app, struct mt_rect r, bool focus) { (void)app; (void)r; (void)focus; }
static bool action(struct mt_app *app, enum mt_action what) { (void)app; (void)what; return false; }

#endif

const struct mt_view mt_view_output = {
	.name = "Output",
	.scopes = 1u << MT_SCOPE_PROGRAM,
	.draw = draw,
	.action = action,
};
