/* The list from which a process is chosen to be watched: a screen before there is a session. */
#include "core/export/number.h"
#include "tui/app.h"
#include "tui/candidates.h"
#include "tui/terminal/theme.h"
#include "tui/ui.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LOOK_MS 1000
#define PID_WIDTH 8
#define RSS_WIDTH 9
#define STATE_WIDTH 10

struct picker {
	struct mt_screen *screen;
	struct mt_candidates found;
	struct mt_list list;
	uint8_t pending[64];
	size_t pending_len;
	bool over;
	pid_t chosen; /* 0: none */
};

static void look(struct picker *p)
{
	struct mt_candidates *c = &p->found;
	pid_t selected = p->list.selected < c->count ? c->items[p->list.selected].pid : 0;
	uint32_t at = 0;

	mt_candidates_look(c);
	while (at < c->count && c->items[at].pid != selected)
		at++;
	mt_list_keep(&p->list, c->count, at);
}

static void draw_line(struct picker *p, int row, const struct mt_candidate *c, bool selected)
{
	enum mt_role role = selected ? MT_ROLE_SELECTED : MT_ROLE_TEXT;
	char size[MT_NUMBER_LEN], grown[MT_NUMBER_LEN + 1] = "";
	int columns = mt_screen_columns(p->screen), at = 0;

	mt_number_size(size, c->rss_bytes);
	if (c->rss_bytes > c->first_bytes) {
		*grown = '+';
		mt_number_size(grown + 1, c->rss_bytes - c->first_bytes);
	} else if (c->rss_bytes < c->first_bytes) {
		*grown = '-';
		mt_number_size(grown + 1, c->first_bytes - c->rss_bytes);
	}
	mt_draw_fill(p->screen, row, 0, columns, role);
	mt_drawf(p->screen, row, at, PID_WIDTH, role, "%*d", PID_WIDTH, (int)c->pid);
	mt_draw_right(p->screen, row, at += PID_WIDTH, RSS_WIDTH, role, size);
	mt_draw_right(p->screen, row, at += RSS_WIDTH, RSS_WIDTH,
		!selected && *grown == '+' ? MT_ROLE_GROWING : role, grown);
	mt_draw(p->screen, row, at += RSS_WIDTH + 2, STATE_WIDTH, role,
		c->recorded ? "recorded" : "");
	at += STATE_WIDTH;
	mt_draw(p->screen, row, at, columns - at, role, c->command);
}

static void draw(struct picker *p)
{
	struct mt_screen *s = p->screen;
	int columns, rows;

	mt_screen_resize(s);
	mt_screen_begin(s);
	columns = mt_screen_columns(s);
	rows = mt_screen_rows(s) - 3;
	mt_draw_fill(s, 0, 0, columns, MT_ROLE_TITLE);
	mt_draw(s, 0, 0, columns, MT_ROLE_TITLE,
		"memtui  choose a recording or a process to watch");
	mt_draw_fill(s, 1, 0, columns, MT_ROLE_HEADING);
	mt_drawf(s, 1, 0, columns, MT_ROLE_HEADING, "%*s%*s%*s  %-*s%s", PID_WIDTH, "process",
		RSS_WIDTH, "resident", RSS_WIDTH, "growth", STATE_WIDTH, "", "command");
	mt_list_fit(&p->list, rows);
	for (int i = 0; i < rows && p->list.top + (uint32_t)i < p->list.count; i++) {
		uint32_t at = p->list.top + (uint32_t)i;

		draw_line(p, 2 + i, &p->found.items[at], at == p->list.selected);
	}
	if (!p->list.count)
		mt_draw(s, 3, 2, columns - 2, MT_ROLE_DIM,
			"No recording is in progress, and no other process of yours runs here.");
	mt_draw_fill(s, rows + 2, 0, columns, MT_ROLE_KEY_NAME);
	mt_draw(s, rows + 2, 0, columns, MT_ROLE_KEY_NAME,
		" Enter: watch it, and record it if nobody does yet   q: leave");
	mt_screen_end(s);
}

static void take_key(struct picker *p, const struct mt_input *input)
{
	if (input->code == 'q' || input->code == MT_KEY_ESCAPE || input->code == 3
		|| mt_keys_action(input->code, 1u << MT_SCOPE_APP) == MT_ACTION_QUIT) {
		p->over = true;
	} else if (input->code == MT_KEY_ENTER && p->list.selected < p->list.count) {
		p->chosen = p->found.items[p->list.selected].pid;
		p->over = true;
	} else {
		mt_list_move(&p->list, mt_keys_action(input->code, 1u << MT_SCOPE_MOVE));
	}
}

static void decode(struct picker *p, bool final)
{
	struct mt_input input;
	size_t used = 0, n;

	while (!p->over
		&& (n = mt_keys_decode(p->pending + used, p->pending_len - used, final, &input))) {
		used += n;
		take_key(p, &input);
	}
	p->pending_len -= used;
	memmove(p->pending, p->pending + used, p->pending_len);
	if (p->pending_len == sizeof p->pending) /* no key is that long */
		p->pending_len = 0;
}

static void take_keys(struct picker *p)
{
	ssize_t n = read(mt_screen_fd(p->screen), p->pending + p->pending_len,
		sizeof p->pending - p->pending_len);

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
		p->over = true; /* the terminal is gone */
		return;
	}
	p->pending_len += n > 0 ? (size_t)n : 0;
	decode(p, false);
}

/* Returns the signal that ended it, or 0. */
static int choose(struct picker *p, int signals)
{
	struct signalfd_siginfo info;
	int number = 0;

	while (!p->over) {
		struct pollfd fds[] = {{mt_screen_fd(p->screen), POLLIN, 0}, {signals, POLLIN, 0}};

		draw(p);
		/* a lone Esc is one if nothing comes behind it */
		if (poll(fds, 2, p->pending_len ? 50 : LOOK_MS) == 0) {
			if (p->pending_len)
				decode(p, true);
			else
				look(p);
		}
		if (fds[0].revents)
			take_keys(p);
		if (fds[1].revents && read(signals, &info, sizeof info) == sizeof info
			&& (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP
				|| info.ssi_signo == SIGINT)) {
			number = (int)info.ssi_signo;
			p->over = true;
		}
	}
	return number;
}

int mt_ui_pick_process(const struct mt_ui_options *options, pid_t *chosen, struct mt_err *err)
{
	struct picker p = {.over = false};
	struct mt_theme theme;
	sigset_t old, set;
	int signals, number = 0;

	*chosen = 0;
	if (mt_screen_check(err) < 0 || mt_theme_load(&theme, options->theme, err) < 0)
		return err->code;
	mt_loop_block(&old);
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	p.screen = mt_screen_open(&theme, options->ascii, err);
	if (p.screen) {
		look(&p);
		number = choose(&p, signals);
		mt_screen_close(p.screen);
	}
	if (signals >= 0)
		close(signals);
	*chosen = p.chosen;
	mt_candidates_free(&p.found);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (number) { /* it ends memtui as it would have */
		signal(number, SIG_DFL);
		raise(number);
	}
	return p.screen ? 0 : err->code ? err->code : -EIO;
}
