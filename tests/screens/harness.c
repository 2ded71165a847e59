#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

#define PATIENCE_MS 60000
#define LOOK_MS 100
#define TOKEN "\033]7770;"

struct report {
	pid_t pid;
	int status;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Of PATIENCE_MS between two looks no more than one look counts: a machine that stood still for
 * longer, or a test that was kept from running, gave nobody the time to answer. */
struct patience {
	uint64_t looked_ms, spent_ms;
};

static bool waits(struct patience *p)
{
	uint64_t now = now_ms(), passed = p->looked_ms ? now - p->looked_ms : 0;

	p->looked_ms = now;
	p->spent_ms += passed < LOOK_MS ? passed : LOOK_MS;
	return p->spent_ms < PATIENCE_MS;
}

/* Says that the first screen of the first run was seen. */
static void note_welcome(const char *config)
{
	char path[1200];
	FILE *file;

	snprintf(path, sizeof path, "%s/memtui", config);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/memtui/welcomed", config);
	file = fopen(path, "w");
	if (file)
		fclose(file);
}

static void set_environment(const struct settings *s)
{
	static const char *const kept[] = {"PATH", "TERMINFO", "MEMTUI_TRIAGE", "ASAN_OPTIONS",
		"UBSAN_OPTIONS", "TSAN_OPTIONS"};
	char *values[sizeof kept / sizeof *kept];

	setenv("PATH", "/usr/bin:/bin", 0);
	setenv("MEMTUI_TRIAGE", "", 0); /* nowhere, but where a test says so */
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		values[i] = getenv(kept[i]) ? strdup(getenv(kept[i])) : NULL;
	clearenv();
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		if (values[i])
			setenv(kept[i], values[i], 1);
	setenv("HOME", "/nonexistent", 1);
	setenv("XDG_CONFIG_HOME", s->config ? s->config : "/dev/null", 1);
	setenv("XDG_STATE_HOME", s->config ? s->config : "/dev/null", 1);
	if (s->config && !s->welcome)
		note_welcome(s->config);
	if (s->tmux)
		setenv("TMUX", s->tmux, 1);
	setenv("EDITOR", s->editor ? s->editor : "true", 1);
	setenv("TERM", s->term, 1);
	setenv("LC_ALL", s->locale, 1);
	setenv("MEMTUI_TEST_IDLE", s->frames ? "frames" : "1", 1);
	if (s->no_color)
		setenv("NO_COLOR", "1", 1);
	if (s->remote)
		setenv("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22", 1);
	if (s->filtering)
		setenv("MEMTUI_TEST_FILTERING", s->filtering, 1);
	if (s->cache)
		setenv("XDG_CACHE_HOME", s->cache, 1);
	if (s->preload) {
		setenv("LD_PRELOAD", s->preload, 1);
		setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0", 1);
	}
}

/* As a shell with job control: memtui has a process group of its own, and its stops are seen. */
static void lead(int reports, const struct settings *s, char *const *argv)
{
	/* a job without a terminal may ignore them, and under nohup the last */
	static const int unheard[] = {SIGTSTP, SIGINT, SIGQUIT, SIGHUP};
	struct report report;

	signal(SIGTTOU, SIG_IGN);
	report.pid = fork();
	if (report.pid == 0) {
		setpgid(0, 0);
		tcsetpgrp(0, getpid());
		signal(SIGTTOU, SIG_DFL);
		for (size_t i = 0; i < sizeof unheard / sizeof *unheard; i++)
			signal(unheard[i], SIG_DFL);
		set_environment(s);
		if (s->directory && chdir(s->directory) < 0)
			_exit(126);
		execv(argv[0], argv);
		_exit(127);
	}
	setpgid(report.pid, report.pid);
	report.status = -1;
	if (write(reports, &report, sizeof report) < 0)
		_exit(1);
	while (waitpid(report.pid, &report.status, WUNTRACED) == report.pid) {
		if (write(reports, &report, sizeof report) < 0 || !WIFSTOPPED(report.status))
			break;
	}
	for (;;)
		pause(); /* the terminal stays until the test has looked at it */
}

static int on_property(VTermProp property, VTermValue *value, void *context)
{
	if (property == VTERM_PROP_CURSORVISIBLE)
		((struct terminal *)context)->cursor_shown = value->boolean;
	if (property == VTERM_PROP_MOUSE)
		((struct terminal *)context)->mouse = value->number;
	if (property == VTERM_PROP_CURSORSHAPE)
		((struct terminal *)context)->cursor_shape = value->number;
	return 1;
}

static const VTermScreenCallbacks callbacks = {.settermprop = on_property};

void terminal_start(struct terminal *t, int rows, int columns, const struct settings *s,
	char *const *argv)
{
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
	struct report report;
	int slave, pipes[2];

	*t = (struct terminal){.rows = rows, .columns = columns, .cursor_shown = true};
	if (openpty(&t->master, &slave, NULL, NULL, &size) < 0 || pipe(pipes) < 0) {
		perror("openpty");
		exit(1);
	}
	fcntl(t->master, F_SETFD, FD_CLOEXEC);
	fcntl(pipes[1], F_SETFD, FD_CLOEXEC);
	tcgetattr(slave, &t->before);
	t->leader = fork();
	if (t->leader == 0) {
		login_tty(slave);
		lead(pipes[1], s, argv);
	}
	close(slave);
	close(pipes[1]);
	t->reports = pipes[0];
	if (read(t->reports, &report, sizeof report) != sizeof report)
		exit(1);
	t->pid = report.pid;
	t->vterm = vterm_new(rows, columns);
	vterm_set_utf8(t->vterm, strstr(s->locale, "UTF-8") != NULL);
	vterm_screen_set_callbacks(vterm_obtain_screen(t->vterm), &callbacks, t);
	vterm_screen_enable_altscreen(vterm_obtain_screen(t->vterm), 1);
	vterm_screen_reset(vterm_obtain_screen(t->vterm), 1);
}

void terminal_send(struct terminal *t, const void *bytes, size_t len)
{
	if (write(t->master, bytes, len) == (ssize_t)len)
		t->sent += len;
}

void terminal_type(struct terminal *t, const char *text)
{
	terminal_send(t, text, strlen(text));
}

void terminal_resize(struct terminal *t, int rows, int columns)
{
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};

	t->rows = rows;
	t->columns = columns;
	vterm_set_size(t->vterm, rows, columns);
	ioctl(t->master, TIOCSWINSZ, &size);
}

/* Before what comes in the same breath. */
static void keep_answer(struct terminal *t)
{
	if (!t->keeps)
		return;
	free(t->answer);
	t->answer = terminal_text(t);
}

/* Takes tokens out of the stream; the rest goes to the terminal. */
static void feed(struct terminal *t, const char *bytes, size_t len)
{
	if (t->record)
		fwrite(bytes, 1, len, t->record);
	for (size_t i = 0; i < len; i++) {
		unsigned long long consumed, frame;

		t->token[t->token_len++] = bytes[i];
		t->token[t->token_len] = '\0';
		if (t->token_len <= strlen(TOKEN) ? !strncmp(t->token, TOKEN, t->token_len)
						  : bytes[i] != '\a') {
			if (t->token_len < sizeof t->token - 1)
				continue;
		} else if (t->token_len > strlen(TOKEN)
			&& sscanf(t->token + strlen(TOKEN), "%llu;%llu;%dx%d;%d", &consumed, &frame,
				   &t->token_rows, &t->token_columns, &t->busy)
				== 5) {
			if (!t->has_token || t->consumed != consumed) {
				t->answered_at = t->received;
				keep_answer(t);
			}
			t->frame_at = t->received;
			t->consumed = consumed;
			t->frame = frame;
			t->has_token = true;
			t->token_len = 0;
			continue;
		}
		/* It was none. An escape that broke it off may begin the next. */
		size_t keep = t->token_len > 1 && bytes[i] == '\033' ? 1 : 0;

		mt_repeats_write(&t->repeats, t->vterm, t->token, t->token_len - keep);
		t->received += t->token_len - keep;
		t->token[0] = '\033';
		t->token_len = keep;
	}
}

static void take_report(struct terminal *t)
{
	struct report report;

	if (read(t->reports, &report, sizeof report) != sizeof report)
		return;
	t->status = report.status;
	t->stopped = WIFSTOPPED(report.status);
	t->ended = !t->stopped;
}

/* Waits at most so long for something, and takes it. */
static void step(struct terminal *t, int milliseconds)
{
	struct pollfd fds[] = {
		{.fd = t->master, .events = POLLIN},
		{.fd = t->reports, .events = POLLIN},
	};
	char bytes[65536];

	if (poll(fds, 2, milliseconds) <= 0)
		return;
	if (fds[0].revents & POLLIN) {
		ssize_t n = read(t->master, bytes, sizeof bytes);

		if (n > 0)
			feed(t, bytes, (size_t)n);
		return; /* what memtui wrote comes before news of its end */
	}
	/* It may have come while they were looked at one after the other. */
	if (fds[1].revents & POLLIN && poll(fds, 1, 0) <= 0)
		take_report(t);
}

static bool wait_token(struct terminal *t, bool complete)
{
	struct patience patience = {0};

	while (waits(&patience) && !t->ended) {
		if (t->has_token && t->consumed == t->sent && t->token_rows == t->rows
			&& t->token_columns == t->columns && !(complete && t->busy))
			return true;
		step(t, LOOK_MS);
	}
	return false;
}

bool terminal_settle(struct terminal *t)
{
	return wait_token(t, true);
}

bool terminal_answered(struct terminal *t)
{
	return wait_token(t, false);
}

bool terminal_wait_text(struct terminal *t, const char *text)
{
	struct patience patience = {0};
	bool found = false;

	while (!found && waits(&patience) && !t->ended) {
		char *screen = terminal_text(t);

		found = strstr(screen, text) != NULL;
		free(screen);
		if (!found)
			step(t, LOOK_MS);
	}
	if (!found) {
		char *screen = terminal_text(t);

		printf("no '%s' came%s; the screen is\n%s\n", text,
			t->ended ? " before the end" : "", screen);
		free(screen);
	}
	return found;
}

bool terminal_wait_end(struct terminal *t)
{
	struct patience patience = {0};

	while (waits(&patience) && !t->ended)
		step(t, LOOK_MS);
	return t->ended;
}

bool terminal_wait_stop(struct terminal *t)
{
	struct patience patience = {0};

	while (waits(&patience) && !t->stopped && !t->ended)
		step(t, LOOK_MS);
	return t->stopped;
}

void terminal_read_for(struct terminal *t, int milliseconds)
{
	uint64_t until = now_ms() + (uint64_t)milliseconds, now;

	while ((now = now_ms()) < until)
		step(t, (int)(until - now));
}

bool terminal_restored(struct terminal *t)
{
	struct termios now;

	if (tcgetattr(t->master, &now) < 0)
		return false;
	return now.c_iflag == t->before.c_iflag && now.c_oflag == t->before.c_oflag
		&& now.c_lflag == t->before.c_lflag && now.c_cflag == t->before.c_cflag
		&& !memcmp(now.c_cc, t->before.c_cc, sizeof now.c_cc);
}

/* ---- what is on the screen ---- */

static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80)
		return out[0] = (char)c, 1;
	if (c < 0x800)
		return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
	if (c < 0x10000)
		return out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 63)),
		       out[2] = (char)(0x80 | (c & 63)), 3;
	return out[0] = (char)(0xf0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 63)),
	       out[2] = (char)(0x80 | (c >> 6 & 63)), out[3] = (char)(0x80 | (c & 63)), 4;
}

static size_t end_line(char *out, size_t at, size_t start, char blank)
{
	while (at > start && out[at - 1] == blank)
		at--;
	out[at++] = '\n';
	return at;
}

static bool left_out(const struct terminal *t, int row)
{
	return t->varying && (row == 0 || row == t->rows - 2);
}

/* The cell, and how many columns it takes. Where a narrow character has been written over the left
 * half of a wide one, libvterm keeps the width or the right half. */
static int cell_at(struct terminal *t, int row, int column, VTermScreenCell *cell)
{
	VTermScreen *screen = vterm_obtain_screen(t->vterm);
	VTermScreenCell next;

	vterm_screen_get_cell(screen, (VTermPos){row, column}, cell);
	if (cell->chars[0] == (uint32_t)-1)
		cell->chars[0] = 0;
	if (cell->width <= 1 || column + 1 >= t->columns)
		return 1;
	vterm_screen_get_cell(screen, (VTermPos){row, column + 1}, &next);
	return next.chars[0] == (uint32_t)-1 || !next.chars[0] ? cell->width : 1;
}

static char *text_of(struct terminal *t, bool dump)
{
	char *out = malloc((size_t)t->rows * ((size_t)t->columns * 24 + 1) + 1);
	size_t at = 0, start;
	VTermScreenCell cell;

	for (int row = 0; row < t->rows; row++) {
		start = at;
		for (int column = dump && left_out(t, row) ? t->columns : 0, used;
			column < t->columns; column += used) {
			used = cell_at(t, row, column, &cell);
			if (!cell.chars[0])
				out[at++] = ' ';
			for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i]; i++)
				at += put_utf8(out + at, cell.chars[i]);
		}
		at = end_line(out, at, start, ' ');
	}
	out[at] = '\0';
	return out;
}

char *terminal_text(struct terminal *t)
{
	return text_of(t, false);
}

static void name_colour(char *out, VTermColor colour, bool background)
{
	if (background ? VTERM_COLOR_IS_DEFAULT_BG(&colour) : VTERM_COLOR_IS_DEFAULT_FG(&colour))
		strcpy(out, "default");
	else if (VTERM_COLOR_IS_INDEXED(&colour))
		sprintf(out, "%d", colour.indexed.idx);
	else
		sprintf(out, "#%02x%02x%02x", colour.rgb.red, colour.rgb.green, colour.rgb.blue);
}

static void name_style(char out[80], const VTermScreenCell *cell)
{
	char foreground[16], background[16];

	name_colour(foreground, cell->fg, false);
	name_colour(background, cell->bg, true);
	snprintf(out, 80, "%s %s%s%s%s%s", foreground, background, cell->attrs.bold ? " bold" : "",
		cell->attrs.underline ? " underline" : "", cell->attrs.reverse ? " reverse" : "",
		cell->attrs.italic ? " italic" : "");
}

/* A letter for each style in the order of first sight; a dot for the terminal's own. */
static size_t dump_styles(struct terminal *t, char *out)
{
	char styles[60][80], style[80];
	int count = 0, i;
	size_t at = 0, start;
	VTermScreenCell cell;

	for (int row = 0; row < t->rows; row++) {
		start = at;
		for (int column = left_out(t, row) ? t->columns : 0, used; column < t->columns;
			column += used) {
			used = cell_at(t, row, column, &cell);
			name_style(style, &cell);
			for (i = 0; i < count && strcmp(styles[i], style); i++)
				;
			bool own = !strcmp(style, "default default");

			if (i == count && count < 52 && !own)
				strcpy(styles[count++], style);
			/* The right half of a wide character keeps an old style in libvterm: the
			 * left one tells. */
			for (int half = 0; half < used; half++)
				out[at++] = own ? '.' : (char)(i < 26 ? 'a' + i : 'A' + i - 26);
		}
		at = end_line(out, at, start, '.');
	}
	at += (size_t)sprintf(out + at, "---- styles\n");
	for (i = 0; i < count; i++)
		at += (size_t)sprintf(out + at, "%c %s\n", i < 26 ? 'a' + i : 'A' + i - 26,
			styles[i]);
	return at;
}

char *terminal_dump(struct terminal *t)
{
	char *text = text_of(t, true);
	char *out = malloc(strlen(text) + (size_t)t->rows * (size_t)(t->columns + 2) + 8192);
	size_t at = (size_t)sprintf(out, "%s---- style\n", text);
	VTermPos cursor;

	at += dump_styles(t, out + at);
	vterm_state_get_cursorpos(vterm_obtain_state(t->vterm), &cursor);
	if (t->cursor_shown)
		sprintf(out + at, "---- cursor %d,%d\n", cursor.row, cursor.col);
	else
		sprintf(out + at, "---- cursor hidden\n");
	free(text);
	return out;
}

void terminal_close(struct terminal *t)
{
	free(t->answer);
	if (!t->ended)
		kill(t->pid, SIGKILL);
	kill(t->leader, SIGKILL);
	waitpid(t->leader, NULL, 0);
	close(t->master);
	close(t->reports);
	vterm_free(t->vterm);
}
