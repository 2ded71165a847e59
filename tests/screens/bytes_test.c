/* What the screen costs at the terminal, in every view: a cursor move, nothing while nothing
 * changes, a running program. bytes_test MEMTUI THEMES TRACE GOLDEN_DIR SOURCE_DIR SCRATCH DEMO */
#include "screens.h"
#include "tui/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOVE_BYTES 400
#define SECOND_BYTES 4096 /* of new data; and over SSH: */
#define SSH_SECOND_BYTES 1024
/* what stands beside the list, once the cursor rests: a second's share over SSH */
#define FOLLOW_BYTES 1024
#define MOVES 30

static const char *const action_keys[] = {
#define X(id, scope, keys, bar, name, words) keys,
	MT_ACTIONS(X)
#undef X
};

static const struct {
	const char *name;
	enum mt_action action;
} tabs[] = {
#define X(id, name) {#name, MT_ACTION_##id},
	MT_TABS(X)
#undef X
};
#define TABS (sizeof tabs / sizeof *tabs)

/* What lies on top of a view, or is opened from it, and has a cursor. The themes have none here:
 * each is shown at once. */
static const struct {
	const char *name, *keys;
} others[] = {
	{"detail", "2\r"},
	{"help", "?"},
	{"sort", "s"},
	{"palette", ":"},
	{"setup", "\033OQ"},
	{"columns", "2c"},
};
#define OTHERS (sizeof others / sizeof *others)

/* Two thirds down, one up; to the side too, where that moves a cursor and does not fold. */
static const char *move(int i, bool aside)
{
	if (aside && i % 3)
		return i % 3 == 1 ? "\033[C" : i % 2 ? "\033[D" : "\033[C";
	return i < MOVES * 2 / 3 ? "\033[B" : "\033[A";
}

struct cost {
	uint64_t move, follow;
	bool answered;
};

/* The most that a move costs until the screen has answered, and what then follows it. */
static struct cost most(struct terminal *terminal, bool aside, int moves)
{
	struct cost worst = {0, 0, true};

	for (int i = 0; i < moves; i++) {
		uint64_t before = terminal->received;

		terminal_type(terminal, move(i * MOVES / moves, aside));
		worst.answered = terminal_settle(terminal) && worst.answered;
		uint64_t follow = terminal->received - terminal->answered_at;
		uint64_t cost = terminal->answered_at - before;

		worst.move = cost > worst.move ? cost : worst.move;
		worst.follow = follow > worst.follow ? follow : worst.follow;
	}
	return worst;
}

/* Of another trace, where the made one has too little to move in. */
static char *trace_of(struct tests *t, const char *view)
{
	static char family[1024], later[1024];

	snprintf(family, sizeof family, "%s/family.dat", t->scratch);
	snprintf(later, sizeof later, "%s/later.dat", t->scratch);
	t->second = strcmp(view, "diff") ? NULL : later;
	return strcmp(view, "processes") ? t->trace : family;
}

static void check_view(struct tests *t, const char *name, const char *keys, const char *theme,
	bool deeper)
{
	struct golden g = {.theme = theme};
	struct terminal terminal;
	bool aside = !strcmp(name, "icicle") || !strcmp(name, "timeline");
	char *made = t->trace;

	t->trace = trace_of(t, name);
	open_trace(t, &terminal, 30, 100, &g);
	t->trace = made;
	t->second = NULL;
	bool answered = terminal_settle(&terminal);

	terminal_type(&terminal, keys);
	answered = terminal_settle(&terminal) && answered;
	terminal_type(&terminal, deeper ? "\006" : "");
	answered = terminal_settle(&terminal) && answered;
	struct cost cost = most(&terminal, aside, MOVES);
	uint64_t before = terminal.received, frame = terminal.frame;

	tell(t, answered && cost.answered && cost.move <= MOVE_BYTES && cost.follow <= FOLLOW_BYTES,
		"a cursor move in %s, %s%s, costs %llu bytes of %d, and %llu when it rests", name,
		theme, deeper ? ", a page down" : "", (unsigned long long)cost.move, MOVE_BYTES,
		(unsigned long long)cost.follow);
	terminal_read_for(&terminal, 300);
	tell(t, terminal.received == before && terminal.frame == frame,
		"idle %s, %s, sends %llu bytes", name, theme,
		(unsigned long long)(terminal.received - before));
	terminal_close(&terminal);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool next_frame(struct terminal *terminal)
{
	uint64_t frame = terminal->frame;

	for (int looks = 0; looks < 12000 && !terminal->ended && terminal->frame == frame; looks++)
		terminal_read_for(terminal, 5);
	return terminal->frame != frame;
}

/* New data: a frame that costs much is paid for by the time until the next one, so what the frames
 * of a while took is known to be little only when another one has come. A slow machine draws
 * fewer. */
static void check_rate(struct tests *t, struct terminal *terminal, const char *name, bool remote)
{
	int frames = remote ? 4 : 8, budget = remote ? SSH_SECOND_BYTES : SECOND_BYTES;
	bool cheap = false, few = false;
	uint64_t before, bytes = 0;
	double taken = 1;

	/* A test that is kept from running finds several frames at once, as if they came so fast:
	 * then it counts again. */
	for (int tries = 0; tries < 5 && !(cheap && few); tries++) {
		bool ok = next_frame(terminal) && next_frame(terminal);
		double start = seconds();

		before = terminal->frame_at;
		for (int i = 0; i < frames && ok; i++) {
			bytes = terminal->received;
			ok = next_frame(terminal);
		}
		taken = seconds() - start;
		bytes -= before;
		cheap = ok && (double)bytes <= budget * (taken + 0.1);
		few = taken >= (frames - 1) * (remote ? 1 : 0.25) * 0.9;
	}
	tell(t, cheap, "live %s%s: %.0f bytes a second of %d", name, remote ? " over SSH" : "",
		(double)bytes / taken, budget);
	tell(t, few, "and not too many frames: %d in %.1f s", frames, taken);
}

static void check_frozen(struct tests *t, struct terminal *terminal, const char *name)
{
	terminal_type(terminal, "p");
	bool ok = terminal_wait_text(terminal, "FROZEN") && terminal_settle(terminal);
	uint64_t before = terminal->received;

	terminal_read_for(terminal, 1300);
	tell(t, ok && terminal->received == before, "frozen %s sends %llu bytes", name,
		(unsigned long long)(terminal->received - before));
	/* the first key takes away what was said about the freeze, too */
	terminal_type(terminal, "jk");
	ok = terminal_settle(terminal);

	struct cost cost = most(terminal, !strcmp(name, "icicle") || !strcmp(name, "timeline"), 6);

	tell(t, ok && cost.answered && cost.move <= MOVE_BYTES && cost.follow <= FOLLOW_BYTES,
		"a cursor move in %s of a running program costs "
		"%llu bytes of %d, and %llu when it rests",
		name, (unsigned long long)cost.move, MOVE_BYTES, (unsigned long long)cost.follow);
	terminal_type(terminal, "p");
}

static void check_live(struct tests *t, bool remote)
{
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.cache = t->scratch,
		.remote = remote,
		.frames = true,
	};
	char *argv[] = {t->memtui, "run", "--", t->demo, NULL};
	struct terminal terminal;

	terminal_start(&terminal, 30, 100, &s, argv);
	if (!terminal_wait_text(&terminal, "session_new"))
		tell(t, false, "a live session begins");
	for (size_t i = 0; i <= TABS; i++) {
		const char *name = i < TABS ? tabs[i].name : "detail";
		char keys[3] = {'2', '\r', '\0'};

		if (i < TABS) {
			keys[0] = action_keys[tabs[i].action][0];
			keys[1] = '\0';
		}
		terminal_type(&terminal, keys);
		check_rate(t, &terminal, name, remote);
		if (!remote)
			check_frozen(t, &terminal, name);
	}
	terminal_type(&terminal, "Q");
	bool ok = terminal_wait_text(&terminal, "still runs");

	terminal_type(&terminal, "d");
	if (!ok || !terminal_wait_end(&terminal))
		tell(t, false, "the live session ends when asked");
	terminal_close(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (!wanted("bytes"))
		return 0;
	t.frames = true;
	for (size_t i = 0; i < TABS + OTHERS; i++) {
		const char *name = i < TABS ? tabs[i].name : others[i - TABS].name;
		char key[2] = {i < TABS ? action_keys[tabs[i].action][0] : '\0', '\0'};
		const char *keys = i < TABS ? key : others[i - TABS].keys;

		if (i < TABS && tabs[i].action == MT_ACTION_OUTPUT)
			continue;
		check_view(&t, name, keys, "dark", false);
		check_view(&t, name, keys, "nord", true); /* where lists scroll */
	}
	check_live(&t, false);
	check_live(&t, true);
	return t.failed != 0;
}
