/* The event loop: keys at once, new data in the rhythm of frames, and nothing sent while nothing
 * changes. */
#include "tui/app.h"
#include "tui/data/difference.h"
#include "tui/data/ended.h"
#include "tui/data/job.h"
#include "tui/data/switch.h"
#include "tui/user/restore.h"
#include "tui/user/theme_menu.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define ESCAPE_MS 50  /* a lone Esc is a key after so long */
#define NAMES_MS 100  /* between looks at what was resolved */
#define TYPING_MS 20  /* between looks at the program's terminal while it has the keyboard */
#define OUTPUT_MS 100 /* while it is only seen */
#define FILTER_MS 500 /* until the progress of a filter is shown */
#define FIRST_MS 250  /* that the first screen waits for its filter */
#define HEAVY_MS 20   /* news that takes longer to be shown waits while keys come, */
#define KEYS_MS 300   /* for so long behind a key, */
#define STALE_MS 1000 /* and never for longer than that */
#define FOLLOW_MS 250 /* that the cursor rests before its line's particulars are drawn */
/* of new data, in the time between two frames: 4 KB a second at the rate without settings, 1 KB
 * over SSH */
#define FRAME_BYTES 1024
#define FOREVER UINT64_MAX

struct loop {
	struct mt_app *app;
	int signals;
	uint8_t pending[256]; /* bytes of a key that is not complete */
	size_t pending_len;
	uint64_t pending_since, next_frame, next_names, next_output, next_import;
	uint64_t next_processes, next_difference; /* FOREVER: nothing to do */
	/* 0: none are asked for; FOREVER: a test holds the list, and that was seen */
	uint64_t next_blocks;
	uint64_t next_filter, asked; /* the same of a filter; which one is being answered */
	/* when the last key and the last news of the program came; what it took */
	uint64_t key_ms, news_ms, took_ms;
	uint64_t consumed, frame;
	bool test, frames; /* write idle tokens; after every frame */
	uint64_t token_consumed, token_frame;
	bool token_sent, token_busy;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Until when news of a large program waits, so that whoever types is answered out of what is there;
 * 0: it does not. */
static uint64_t news_wait_until(const struct loop *loop, uint64_t now)
{
	uint64_t until = loop->key_ms + KEYS_MS < loop->news_ms + STALE_MS
		? loop->key_ms + KEYS_MS
		: loop->news_ms + STALE_MS;

	return loop->took_ms > HEAVY_MS && now < until ? until : 0;
}

/* Takes news over; published: of the program, else names alone. */
static void take_news(struct loop *loop, bool published)
{
	uint64_t before = now_ms();

	if (!mt_data_update(&loop->app->data, published))
		return;
	loop->app->data_dirty = true;
	loop->news_ms = now_ms();
	loop->took_ms = loop->news_ms - before;
}

/* Stops and comes back. job: stops the whole process group, as the terminal does for a ^Z that it
 * reads itself: a make or a script that waits for memtui has to stop, too, or the shell gets no
 * prompt. */
static void suspend(struct loop *loop, bool job)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	mt_screen_suspend(loop->app->screen);
	signal(SIGTSTP, SIG_DFL);
	kill(job ? 0 : getpid(), SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	mt_screen_resume(loop->app->screen);
	mt_program_resize(loop->app);
	loop->app->dirty = true;
}

/* Why a trace is not whole, and that a program is not recorded any more, once. */
static void tell_of_recording(struct mt_app *app)
{
	const char *trouble = mt_session_trouble(app->session);

	if (trouble && !app->trouble_said) {
		app->trouble_said = app->stop_said = app->dirty = true;
		mt_app_say(app, "%s", trouble);
	} else if (!app->stop_said && mt_app_stopped(app)) {
		app->stop_said = app->dirty = true;
		mt_app_say(app, "recording ended; the program keeps running");
	}
}

/* How the program ended, and, at once, why its recording is not whole: a message of its own would
 * take the place of this one. */
static void tell_end(struct mt_app *app)
{
	const char *trouble = mt_session_trouble(app->session);
	int status = app->wait_status;
	char end[64], key[16];

	if (status & 0x7f)
		snprintf(end, sizeof end, "program killed by signal %d", status & 0x7f);
	else
		snprintf(end, sizeof end, "program exited (%d)", status >> 8 & 0xff);
	if (trouble)
		mt_app_say(app, "%s; %s", end, trouble);
	else
		mt_app_say(app, "%s; data stays until you quit (%s)", end,
			mt_action_key(MT_ACTION_QUIT, key));
	app->trouble_said = app->trouble_said || trouble;
	app->dirty = true;
}

static void reap(struct mt_app *app)
{
	if (!app->session || app->program_ended)
		return;
	if (mt_session_poll(app->session, &app->wait_status) != 1) {
		tell_of_recording(app);
		return;
	}
	app->program_ended = true;
	if (!mt_app_home(app)->frozen)
		mt_data_update(mt_app_home(app), true);
	mt_app_home(app)->live = false;
	tell_end(app);
}

static void take_signal(struct loop *loop)
{
	struct signalfd_siginfo info;
	struct mt_app *app = loop->app;

	while (read(loop->signals, &info, sizeof info) == (ssize_t)sizeof info)
		switch (info.ssi_signo) {
		case SIGWINCH:
			if (mt_screen_resize(app->screen)) {
				mt_program_resize(app);
				app->dirty = true;
			}
			break;
		case SIGTSTP: suspend(loop, false); break;
		case SIGCONT:
			mt_screen_continue(app->screen);
			app->dirty = true;
			break;
		case SIGCHLD: reap(app); break;
		default: app->signal = (int)info.ssi_signo; app->outcome = MT_OUTCOME_LEAVE;
		}
}

static void decode(struct loop *loop, bool final)
{
	size_t used = 0, n;
	struct mt_input input;

	while (loop->app->outcome == MT_OUTCOME_NONE
		&& (n = mt_keys_decode(loop->pending + used, loop->pending_len - used, final,
			    &input))
			> 0) {
		used += n;
		if (input.code != MT_KEY_UNKNOWN)
			mt_app_input(loop->app, &input);
		if (loop->app->signal == SIGTSTP) {
			loop->app->signal = 0;
			suspend(loop, true);
		}
	}
	loop->consumed += used;
	memmove(loop->pending, loop->pending + used, loop->pending_len - used);
	loop->pending_len -= used;
	if (loop->pending_len == sizeof loop->pending) { /* no key is that long */
		loop->consumed += loop->pending_len;
		loop->pending_len = 0;
	}
}

static void take_keys(struct loop *loop)
{
	ssize_t n = read(mt_screen_fd(loop->app->screen), loop->pending + loop->pending_len,
		sizeof loop->pending - loop->pending_len);

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) { /* the terminal is gone */
		loop->app->outcome = MT_OUTCOME_LEAVE;
		return;
	}
	if (n < 0)
		return;
	loop->pending_len += (size_t)n;
	loop->pending_since = loop->key_ms = now_ms();
	decode(loop, false);
}

/* Work goes on that will be drawn; what a test holds is over once it was seen where. */
static bool works(struct loop *loop)
{
	struct mt_app *app = loop->app;

	return (mt_data_pending(&app->data) && loop->next_filter != FOREVER)
		|| mt_data_timeline_runs(&app->data)
		|| (mt_blocks_asked(app) && loop->next_blocks != FOREVER) || app->data_dirty
		|| app->follows || loop->next_names || mt_jobs_shown(app) || mt_difference_busy(app)
		|| app->data.trace == MT_TRACE_AWAITED
		|| (app->data.history_worker && mt_history_worker_busy(app->data.history_worker));
}

/* For tests: tells in band that all input was answered and nothing is left to draw, or with 1 at
 * its end that more will be. */
static void tell_idle(struct loop *loop)
{
	struct mt_app *app = loop->app;
	char token[96];

	if (!loop->test || app->dirty || loop->pending_len)
		return;
	bool busy = works(loop);

	if (busy && !loop->frames)
		return;
	if (loop->token_sent && loop->token_consumed == loop->consumed
		&& loop->token_frame == loop->frame && loop->token_busy == busy)
		return;
	loop->token_sent = true;
	loop->token_consumed = loop->consumed;
	loop->token_frame = loop->frame;
	loop->token_busy = busy;
	int len = snprintf(token, sizeof token, "\033]7770;%llu;%llu;%dx%d;%d\a",
		(unsigned long long)loop->consumed, (unsigned long long)loop->frame,
		mt_screen_rows(app->screen), mt_screen_columns(app->screen), busy);

	mt_screen_send(app->screen, token, (size_t)len);
}

/* How far a list of blocks is that takes its time. */
static void watch_blocks(struct loop *loop, uint64_t now)
{
	struct mt_app *app = loop->app;
	bool held;

	if (!mt_blocks_asked(app)) {
		loop->next_blocks = 0;
		return;
	}
	int percent = (int)(mt_worker_progress(app->data.listing, &held) * 100 + 0.5);

	/* also where another list is asked for */
	if (!loop->next_blocks || (loop->next_blocks == FOREVER && !held))
		loop->next_blocks = now + FILTER_MS;
	if (!held && now < loop->next_blocks)
		return;
	if (mt_blocks_progress(app, percent))
		app->dirty = true;
	loop->next_blocks = held ? FOREVER : now + app->frame_ms;
}

static int timeout(struct loop *loop)
{
	struct mt_app *app = loop->app;
	uint64_t now = now_ms(), at = FOREVER;

	if (loop->pending_len)
		at = loop->pending_since + ESCAPE_MS;
	if ((app->data_dirty || app->data.client) && loop->next_frame > now
		&& loop->next_frame < at)
		at = loop->next_frame;
	uint64_t news = news_wait_until(loop, now);
	uint64_t names = loop->next_names > news ? loop->next_names : news;

	if (news && news < at && app->data.client)
		at = news;
	if (loop->next_names && names < at)
		at = names;
	if (app->follows && loop->key_ms + FOLLOW_MS < at)
		at = loop->key_ms + FOLLOW_MS;
	if (loop->next_filter && loop->next_filter < at)
		at = loop->next_filter;
	if (loop->next_blocks && loop->next_blocks < at)
		at = loop->next_blocks;
	if (app->program && (app->view == MT_VIEW_OUTPUT || mt_app_home(app)->recorder_gone)
		&& !app->program_ended && loop->next_output < at)
		at = loop->next_output;
	uint64_t import = loop->next_import > news ? loop->next_import : news;

	if (app->data.recording->import && !app->data.frozen && import < at)
		at = import;
	if (loop->next_difference < at)
		at = loop->next_difference;
	if (loop->next_processes < at)
		at = loop->next_processes;
	if (at == FOREVER)
		return -1;
	return at <= now ? 0 : (int)(at - now);
}

/* How far a filter is that takes its time. */
static void watch_filter(struct loop *loop, uint64_t now)
{
	struct mt_app *app = loop->app;
	bool held;

	if (!mt_data_pending(&app->data)) {
		loop->next_filter = 0;
		app->filtering = false;
		return;
	}
	int percent = (int)(mt_worker_progress(app->data.matching, &held) * 100 + 0.5);

	if (!loop->next_filter || loop->asked != app->data.asked) {
		loop->asked = app->data.asked;
		loop->next_filter = now + FILTER_MS;
		app->filtering = false;
	}
	if (!held && now < loop->next_filter)
		return;
	if (!app->filtering || percent != app->percent)
		app->dirty = true;
	app->filtering = true;
	app->percent = percent;
	loop->next_filter = held ? FOREVER : now + app->frame_ms;
}

static void draw_when_due(struct loop *loop)
{
	struct mt_app *app = loop->app;
	uint64_t now = now_ms();

	watch_filter(loop, now); /* a key may have put one in force, or asked for one */
	if (!app->dirty && !(app->data_dirty && now >= loop->next_frame))
		return;
	bool news = app->data_dirty;

	app->dirty = app->data_dirty = false;
	app->rested = now >= loop->key_ms + FOLLOW_MS;
	size_t bytes = mt_frame_draw(app);

	if (news) { /* what costs more than its share takes the time of the frames behind it */
		loop->took_ms += now_ms() - now;
		loop->next_frame = now
			+ app->frame_ms * (bytes > FRAME_BYTES ? bytes : FRAME_BYTES) / FRAME_BYTES;
	}
	loop->frame++;
	watch_blocks(loop, now); /* drawing may have asked for them */
}

static void take_filter(struct mt_app *app)
{
	struct mt_err err = {0};
	int result = mt_data_collect(&app->data, &err);

	if (!result)
		return;
	app->dirty = true;
	if (result > 0)
		return;
	if (app->prompt.kind == MT_PROMPT_FILTER) {
		snprintf(app->prompt.error, sizeof app->prompt.error, "%s", err.text);
	} else {
		mt_data_back(&app->data);
		mt_app_say(app, "%s", err.text);
	}
}

/* Not while more of it is there to be read: so much time may have passed since the last look. */
static bool key_is_over(const struct loop *loop, uint64_t now)
{
	struct pollfd more = {.fd = mt_screen_fd(loop->app->screen), .events = POLLIN};

	return loop->pending_len && now >= loop->pending_since + ESCAPE_MS
		&& poll(&more, 1, 0) == 0;
}

static void run_timers(struct loop *loop)
{
	struct mt_app *app = loop->app;
	uint64_t now = now_ms();

	if (key_is_over(loop, now))
		decode(loop, true);
	if (app->follows && now >= loop->key_ms + FOLLOW_MS)
		app->dirty = true;
	watch_blocks(loop, now);
	/* Names of a program that runs come with its frames: to take them over costs as much as a
	 * frame. */
	uint64_t names_ms = app->data.live && app->frame_ms > NAMES_MS ? app->frame_ms : NAMES_MS;

	if (!loop->next_names && mt_data_busy(&app->data)) {
		loop->next_names = now + names_ms;
	} else if (loop->next_names && now >= loop->next_names && !news_wait_until(loop, now)) {
		/* before: one more look after the last name */
		bool busy = mt_data_busy(&app->data);

		take_news(loop, false);
		if (!busy && !app->data.frozen)
			app->data_dirty = true;
		loop->next_names = busy ? now + names_ms : 0;
	}
	if (app->data.recording->import && !app->data.frozen && now >= loop->next_import
		&& !news_wait_until(loop, now)) {
		loop->next_import = now + app->frame_ms;
		take_news(loop, true);
	}
	if (app->program && now >= loop->next_output) {
		mt_program_read(app);
		loop->next_output = now + (mt_program_typing(app) ? TYPING_MS : OUTPUT_MS);
	}
}

static void take_client(struct loop *loop, short events)
{
	struct mt_app *app = loop->app;

	mt_program_read(app);
	if (app->data.frozen && events & (POLLHUP | POLLERR)) {
		mt_data_lose_recorder(&app->data);
		app->data_dirty = true;
		return;
	}
	take_news(loop, true);
	if (mt_app_lives_on(app) != app->lives_on) {
		app->lives_on = mt_app_lives_on(app);
		app->dirty = true;
	}
	mt_restore_try(app);
	reap(app);
}

static short client_events(const struct loop *loop)
{
	const struct mt_data *d = &loop->app->data;
	short events = mt_client_events(d->client);
	uint64_t now = now_ms();

	return d->frozen || now < loop->next_frame || news_wait_until(loop, now)
		? (short)(events & ~POLLIN)
		: events;
}

static void wait_once(struct loop *loop)
{
	struct mt_app *app = loop->app;
	bool client = app->data.client && !app->data.recorder_gone;
	bool home = app->home && app->home->client && !app->home->recorder_gone;
	struct pollfd fds[11] = {
		{.fd = mt_screen_fd(app->screen), .events = POLLIN},
		{.fd = loop->signals, .events = POLLIN},
		{.fd = client ? mt_client_fd(app->data.client) : -1,
			.events = client ? client_events(loop) : 0},
		{.fd = app->data.matching ? mt_worker_fd(app->data.matching) : -1,
			.events = POLLIN},
		{.fd = mt_themes_fd(app), .events = POLLIN},
		{.fd = app->data.history_worker ? mt_history_worker_fd(app->data.history_worker)
						: -1,
			.events = POLLIN},
		{.fd = mt_jobs_fd(app), .events = POLLIN},
		{.fd = home ? mt_client_fd(app->home->client) : -1,
			.events = home ? mt_client_events(app->home->client) : 0},
		{.fd = app->data.listing ? mt_worker_fd(app->data.listing) : -1, .events = POLLIN},
		{.fd = mt_difference_fd(app), .events = POLLIN},
		{.fd = app->session && !app->program_ended ? mt_session_fd(app->session) : -1,
			.events = POLLIN},
	};

	if (poll(fds, 11, timeout(loop)) < 0)
		return;
	if (fds[1].revents)
		take_signal(loop);
	if (fds[0].revents & POLLIN)
		take_keys(loop);
	else if (fds[0].revents)
		app->outcome = MT_OUTCOME_LEAVE;
	if (fds[2].revents & POLLOUT && app->data.client)
		mt_client_flush(app->data.client);
	/* The picture that answers a key comes before the program's news, which are there the next
	 * time, too. */
	if (fds[2].revents & ~POLLOUT && !(fds[0].revents && app->dirty))
		take_client(loop, fds[2].revents);
	if (fds[3].revents)
		take_filter(app);
	if (fds[5].revents && mt_data_site_history_collect(&app->data))
		app->dirty = true;
	if (fds[8].revents)
		mt_blocks_collect(app);
	if (fds[4].revents)
		mt_themes_changed(app);
	if (fds[7].revents & POLLOUT && app->home)
		mt_client_flush(app->home->client);
	if (fds[7].revents & ~POLLOUT && app->home) /* before jobs, which may bring it home */
		mt_data_update(app->home, true);
	if (fds[6].revents)
		mt_jobs_collect(app);
	if (fds[9].revents)
		mt_difference_collect(app);
	if (fds[10].revents)
		reap(app);
	run_timers(loop);
}

static sigset_t watched_signals(void)
{
	static const int watched[] = {SIGTERM, SIGHUP, SIGINT, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
		sigaddset(&set, watched[i]);
	return set;
}

void mt_loop_block(sigset_t *old)
{
	sigset_t set = watched_signals();

	pthread_sigmask(SIG_BLOCK, &set, old);
}

void mt_loop_unblock(void)
{
	sigset_t set = watched_signals();

	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int mt_loop_run(struct mt_app *app, struct mt_err *err)
{
	struct loop loop = {.app = app};
	const char *test = getenv("MEMTUI_TEST_IDLE");
	sigset_t set;

	mt_loop_block(NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	loop.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (loop.signals < 0)
		return mt_fail(err, -errno, "signals cannot be watched: %s", strerror(errno));
	loop.frames = test && !strcmp(test, "frames");
	loop.test = loop.frames || (test && !strcmp(test, "1"));
	loop.next_names = mt_data_busy(&app->data) ? 1 : 0;
	app->dirty = true;
	if (mt_data_pending(&app->data)) {
		struct pollfd fd = {.fd = mt_worker_fd(app->data.matching), .events = POLLIN};

		poll(&fd, 1, FIRST_MS);
		take_filter(app);
	}
	mt_screen_resize(app->screen); /* a change before signals were watched */
	reap(app);
	while (app->outcome == MT_OUTCOME_NONE) {
		loop.next_processes = mt_processes_tend(app, now_ms());
		loop.next_difference = mt_difference_tend(app, now_ms());
		mt_ended_tend(app);
		draw_when_due(&loop);
		tell_idle(&loop);
		wait_once(&loop);
	}
	close(loop.signals);
	return 0;
}
