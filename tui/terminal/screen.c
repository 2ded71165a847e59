#include "core/base/buffer.h"
#include "tui/terminal/crash.h"
#include "tui/terminal/screen_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>
#include <wchar.h>
#undef columns /* names that term.h takes */
#undef lines

static void apply_theme(struct mt_screen *s)
{
	if (!s->colour)
		mt_theme_mono(&s->theme);
	for (int i = 0; i < MT_ROLE_ALL; i++) {
		s->attributes[i] =
			i < MT_ROLE_COUNT ? mt_screen_attributes(s->theme.style[i].attributes) : 0;
		s->ink[i] = s->ground[i] = MT_COLOUR_DEFAULT;
		if (!s->colour)
			continue;
		mt_theme_pair(&s->theme, (enum mt_role)i, COLORS, &s->ink[i], &s->ground[i]);
		init_extended_pair(i + 1, s->ink[i], s->ground[i]);
	}
	/* Where nothing is drawn, too, the screen has the theme's background. */
	cchar_t blank;

	setcchar(&blank, L" ", 0,
		s->colour && s->theme.style[MT_ROLE_TEXT].background >= 0 ? MT_ROLE_TEXT + 1 : 0,
		NULL);
	bkgrndset(&blank);
}

int mt_screen_theme(struct mt_screen *s, const char *name, struct mt_err *err)
{
	int result = mt_theme_load(&s->theme, name, err);

	if (!result) {
		apply_theme(s);
		clearok(curscr, TRUE);
	}
	return result;
}

static int check_terminal(int *fd, bool *own, struct mt_err *err)
{
	const char *name = getenv("TERM");
	int status;

	if (!isatty(STDOUT_FILENO))
		return mt_fail(err, -ENOTTY,
			"standard output is not a terminal; "
			"use 'memtui report' or 'memtui record' there");
	if (!name || !*name)
		return mt_fail(err, -EINVAL, "TERM is not set; try TERM=xterm-256color");
	if (setupterm(name, STDOUT_FILENO, &status) != OK)
		return mt_fail(err, -EINVAL,
			"the terminal '%.40s' is not in the terminfo database; "
			"try TERM=xterm-256color",
			name);
	bool able = cursor_address && clear_screen;

	del_curterm(cur_term); /* newterm reads its own */
	if (!able)
		return mt_fail(err, -EINVAL,
			"the terminal '%.40s' cannot move its cursor; try TERM=xterm-256color",
			name);
	*fd = STDIN_FILENO;
	*own = !isatty(STDIN_FILENO);
	if (*own)
		*fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (*fd < 0)
		return mt_fail(err, -errno, "cannot open the terminal to read keys: %s",
			strerror(errno));
	return 0;
}

int mt_screen_check(struct mt_err *err)
{
	bool own;
	int fd, result = check_terminal(&fd, &own, err);

	if (!result && own)
		close(fd);
	return result;
}

void mt_screen_size(unsigned short *rows, unsigned short *width)
{
	struct winsize size = {0};

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*rows = size.ws_row ? size.ws_row : 24;
	*width = size.ws_col ? size.ws_col : 80;
}

static void set_mouse(struct mt_screen *s, bool on)
{
	static const char start[] = "\033[?1002h\033[?1006h", stop[] = "\033[?1006l\033[?1002l";

	if (s->mouse)
		mt_screen_send(s, on ? start : stop, sizeof stop - 1);
}

void mt_screen_mouse(struct mt_screen *s, bool on)
{
	if (s->mouse == (on && s->can_mouse))
		return;
	set_mouse(s, false);
	s->mouse = on && s->can_mouse;
	set_mouse(s, true);
}

/* Who reports the mouse is an xterm of some kind; others might print what they do not know. */
bool mt_screen_has_clipboard(const struct mt_screen *s)
{
	return s->can_mouse;
}

void mt_screen_ascii(struct mt_screen *s, const char *when)
{
	s->utf8 = s->can_utf8 && !(when && !strcmp(when, "always"));
}

static void set_paste(struct mt_screen *s, bool on)
{
	if (s->can_mouse) /* who reports the mouse knows this, or ignores it */
		mt_screen_send(s, on ? "\033[?2004h" : "\033[?2004l", 8);
}

void mt_screen_paste(struct mt_screen *s, bool bracketed)
{
	if (s->paste != bracketed)
		set_paste(s, bracketed);
	s->paste = bracketed;
}

static void send_style(struct mt_screen *s, int style)
{
	const char *words = !s->set_style || style == s->style_sent ? NULL
		: style                                             ? tparm(s->set_style, style)
								    : s->reset_style;

	if (words)
		mt_screen_send(s, words, strlen(words));
	s->style_sent = style;
}

static const char *capability(const char *name)
{
	const char *value = tigetstr(name);

	return value == (char *)-1 ? NULL : value;
}

static void prepare_crash(struct mt_screen *s)
{
	const char *const back[] = {s->can_mouse ? "\033[?1006l\033[?1002l\033[?2004l" : NULL,
		s->set_style ? s->reset_style : NULL, exit_attribute_mode, cursor_normal,
		keypad_local, exit_ca_mode};

	mt_crash_prepare(s->fd, s->capture.out, &s->saved, back, sizeof back / sizeof *back);
}

static void close_files(struct mt_screen *s)
{
	mt_capture_close(&s->capture);
	if (s->own_fd)
		close(s->fd);
}

struct mt_screen *mt_screen_open(const struct mt_theme *theme, const char *ascii,
	struct mt_err *err)
{
	const char *no_colour = getenv("NO_COLOR");
	bool own;
	int fd;

	setlocale(LC_ALL, "");
	if (check_terminal(&fd, &own, err) < 0)
		return NULL;
	struct mt_screen *s = mt_alloc(sizeof *s);

	tcgetattr(fd, &s->saved);
	s->fd = fd;
	s->own_fd = own;
	mt_capture_open(&s->capture);
	s->theme = *theme;
	/* The terminal's text can only be UTF-8 where the locale is: ncurses writes through it. */
	s->can_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	mt_screen_ascii(s, ascii);
	set_escdelay(25);
	s->curses = newterm(NULL, stdout, stdin);
	if (!s->curses) {
		close_files(s);
		free(s);
		mt_fail(err, -EINVAL,
			"the terminal '%.40s' cannot be used; try TERM=xterm-256color",
			getenv("TERM"));
		return NULL;
	}
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	s->colour = has_colors() && tigetnum("colors") >= 8 && !(no_colour && *no_colour);
	if (s->colour) { /* COLORS is not set before */
		start_color();
		use_default_colors();
	}
	apply_theme(s);
	s->can_mouse = s->mouse = tigetstr("kmous") && tigetstr("kmous") != (char *)-1;
	s->set_style = capability("Ss");
	s->reset_style = capability("Se");
	if (!s->reset_style)
		s->set_style = NULL;
	prepare_crash(s);
	set_mouse(s, true);
	return s;
}

void mt_screen_suspend(struct mt_screen *s)
{
	if (s->suspended)
		return;
	s->suspended = true;
	set_mouse(s, false);
	if (s->paste)
		set_paste(s, false);
	send_style(s, 0);
	endwin();
	/* what was drawn stays: the shell's prompt comes into the last line */
	if (!exit_ca_mode && clr_eol) {
		putp(clr_eol);
		fflush(stdout);
	}
	tcsetattr(s->fd, TCSADRAIN, &s->saved);
	mt_crash_arm(false);
}

void mt_screen_resume(struct mt_screen *s)
{
	if (!s->suspended)
		return;
	s->suspended = false;
	mt_crash_arm(true);
	reset_prog_mode();
	mt_screen_resize(s);
	clearok(curscr, TRUE);
	refresh();
	curs_set(s->cursor_shown);
	set_mouse(s, true);
	if (s->paste)
		set_paste(s, true);
}

void mt_screen_continue(struct mt_screen *s)
{
	s->suspended = true;
	mt_screen_resume(s);
}

void mt_screen_close(struct mt_screen *s)
{
	if (!s)
		return;
	mt_screen_suspend(s);
	delscreen(s->curses);
	mt_blanks_free(&s->blanks);
	close_files(s);
	free(s);
}

bool mt_screen_resize(struct mt_screen *s)
{
	struct winsize size;

	(void)s;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col
		|| (size.ws_row == LINES && size.ws_col == COLS))
		return false;
	resize_term(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
	return true;
}

int mt_screen_rows(const struct mt_screen *s)
{
	(void)s;
	return LINES;
}
int mt_screen_columns(const struct mt_screen *s)
{
	(void)s;
	return COLS;
}
int mt_screen_fd(const struct mt_screen *s)
{
	return s->fd;
}
bool mt_screen_utf8(const struct mt_screen *s)
{
	return s->utf8;
}
enum mt_graphs mt_screen_graphs(const struct mt_screen *s)
{
	return s->utf8 ? s->graphs : MT_GRAPHS_ASCII;
}
void mt_screen_set_graphs(struct mt_screen *s, enum mt_graphs graphs)
{
	s->graphs = graphs;
}

enum mt_graphs mt_graphs_find(const char *name)
{
	for (int i = 0; i < MT_GRAPHS_COUNT; i++)
		if (!strcmp(mt_graphs_name((enum mt_graphs)i), name))
			return (enum mt_graphs)i;
	return MT_GRAPHS_BRAILLE;
}

const char *mt_graphs_name(enum mt_graphs graphs)
{
	static const char *const names[] = {
#define X(id, name) name,
		MT_GRAPHS(X)
#undef X
	};

	return names[graphs];
}

void mt_screen_begin(struct mt_screen *s)
{
	erase();
	mt_blanks_begin(&s->blanks, LINES, COLS,
		s->colour && s->theme.style[MT_ROLE_TEXT].background >= 0 ? s->ground[MT_ROLE_TEXT]
									  : MT_COLOUR_DEFAULT);
	s->cursor_row = -1;
	s->cursor_style = 0;
	if (s->cell_pairs_full) {
		memset(s->cell_pair, 0, sizeof s->cell_pair);
		s->cell_pairs = 0;
		s->cell_pairs_full = false;
	}
}

void mt_screen_cursor(struct mt_screen *s, int row, int column)
{
	s->cursor_row = row;
	s->cursor_column = column;
}

void mt_screen_cursor_style(struct mt_screen *s, int style)
{
	s->cursor_style = style;
}

static void put_blank(int row, int column, attr_t attributes, int pair)
{
	mt_screen_put(row, column, attributes, pair, L" ");
}

size_t mt_screen_end(struct mt_screen *s)
{
	bool shown = s->cursor_row >= 0;

	mt_blanks_settle(&s->blanks, put_blank);

	/* A hidden cursor is left where the last change was: moving it would only cost bytes. */
	leaveok(stdscr, !shown);
	if (shown)
		move(s->cursor_row, s->cursor_column < COLS ? s->cursor_column : COLS - 1);
	if (shown != s->cursor_shown)
		curs_set(shown);
	s->cursor_shown = shown;
	send_style(s, s->cursor_style);
	mt_capture_begin(&s->capture);
	refresh();
	const struct mt_buffer *frame = mt_capture_end(&s->capture);

	mt_screen_send(s, (const char *)frame->data, frame->len);
	return frame->len;
}

void mt_screen_redraw(struct mt_screen *s)
{
	(void)s;
	clearok(curscr, TRUE);
}

void mt_screen_send(struct mt_screen *s, const char *bytes, size_t len)
{
	(void)s;
	fflush(stdout);
	while (len) {
		ssize_t n = write(STDOUT_FILENO, bytes, len);

		if (n < 0 && errno != EINTR)
			return;
		bytes += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
}
