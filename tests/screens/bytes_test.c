/* What the screen costs at the terminal, in every view: a cursor move, nothing while nothing changes, a running program.
 * bytes_test MEMTUI THEMES TRACE GOLDEN_DIR SOURCE_DIR SCRATCH DEMO */
#include "screens.h"
#include "tui/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOVE_BYTES 400
#define FRAME_BYTES 1024 /* of new data: four frames a second, or one over SSH, make 4 and 1 KB/s */
/* A timeline of a few seconds is drawn anew with each step: more than four KB/s where steps come with every frame. */
#define TIMELINE_BYTES 1536
#define FRAMES 8

static const char *const action_keys[] = {
#define X(id, scope, keys, bar, name, words) keys,
	MT_ACTIONS(X)
#undef X
};

static const struct { const char *name; enum mt_action action; } tabs[] = {
#define X(id, name) {#name, MT_ACTION_##id},
	MT_TABS(X)
#undef X
};
#define TABS (sizeof tabs / sizeof *tabs)

static const char *const moves[] = {"\033[B", "\033[B", "\033[A", "\033[C", "\033[D"};
#define MOVES (sizeof moves / sizeof *moves)

/* The most that one of the moves costs. What is said of a key that means nothing in the view is wiped between them: that is
 * no part of the next move. */
static uint64_t most(struct terminal *terminal)
{
	uint64_t worst = 0;

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < MOVES; i++) {
			uint64_t before = terminal->received;

			terminal_type(terminal, moves[i]);
			terminal_settle(terminal);
			if (terminal->received - before > worst)
				worst = terminal->received - before;
			terminal_type(terminal, "\014");
			terminal_settle(terminal);
		}
	return worst;
}

static void check_view(struct tests *t, const char *name, const char *keys, const char *theme, uint64_t budget)
{
	struct golden g = {.theme = theme};
	struct terminal terminal;

	open_trace(t, &terminal, 30, 100, &g);
	bool answered = terminal_settle(&terminal);

	terminal_type(&terminal, keys);
	answered = terminal_settle(&terminal) && answered;
	uint64_t cost = most(&terminal), before = terminal.received, frame = terminal.frame;

	tell(t, answered && cost <= budget, "a cursor move in %s, %s, costs %llu bytes of %llu", name, theme,
		(unsigned long long)cost, (unsigned long long)budget);
	terminal_read_for(&terminal, 300);
	tell(t, terminal.received == before && terminal.frame == frame, "idle %s, %s, sends %llu bytes", name, theme,
		(unsigned long long)(terminal.received - before));
	terminal_close(&terminal);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A running program: bytes of each frame, and that frames keep to their rhythm; a slow machine draws fewer. */
static void check_live(struct tests *t, const char *name, const char *keys, bool remote, uint64_t budget)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .directory = t->scratch, .cache = t->scratch,
		.remote = remote};
	char *argv[] = {t->memtui, "run", "--", t->demo, NULL};
	struct terminal terminal;

	terminal_start(&terminal, 30, 100, &s, argv);
	bool ok = terminal_wait_text(&terminal, "session_new") && terminal_wait_text(&terminal, "LIVE 3s");

	terminal_type(&terminal, keys);
	terminal_read_for(&terminal, 700);
	uint64_t before = terminal.received, frame = terminal.frame;
	double start = seconds();

	while (!terminal.ended && terminal.frame < frame + FRAMES && seconds() < start + 30)
		terminal_read_for(&terminal, 50);
	uint64_t frames = terminal.frame - frame, bytes = terminal.received - before;
	double taken = seconds() - start;

	tell(t, ok && frames >= FRAMES && bytes <= frames * budget, "live %s%s: %llu bytes a frame of %d", name,
		remote ? " over SSH" : "", (unsigned long long)(frames ? bytes / frames : 0), (int)budget);
	tell(t, (double)frames <= taken * (remote ? 1 : 4) + 2, "and not too many frames: %llu in %.1f s",
		(unsigned long long)frames, taken);
	terminal_type(&terminal, "p");
	ok = terminal_wait_text(&terminal, "FROZEN") && terminal_settle(&terminal);
	before = terminal.received;
	terminal_read_for(&terminal, 600);
	tell(t, ok && terminal.received == before, "frozen it sends %llu bytes",
		(unsigned long long)(terminal.received - before));
	terminal_type(&terminal, "Q");
	ok = terminal_wait_text(&terminal, "still runs");
	terminal_type(&terminal, "e");
	if (!ok || !terminal_wait_end(&terminal))
		tell(t, false, "the live session ends when asked");
	terminal_close(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (!wanted("bytes"))
		return 0;
	for (size_t i = 0; i < TABS; i++) {
		char keys[2] = {action_keys[tabs[i].action][0], '\0'};

		if (tabs[i].action == MT_ACTION_OUTPUT)
			continue;
		check_view(&t, tabs[i].name, keys, "dark", MOVE_BYTES);
		check_view(&t, tabs[i].name, keys, "nord", MOVE_BYTES);
	}
	/* Another frame of a group brings other source lines, not only another cursor. */
	check_view(&t, "detail", "2\r", "dark", 2000);
	check_view(&t, "help", "?", "dark", MOVE_BYTES);
	check_view(&t, "sort", "s", "dark", MOVE_BYTES);
	check_live(&t, "main", "1", false, FRAME_BYTES);
	check_live(&t, "main", "1", true, FRAME_BYTES);
	check_live(&t, "groups", "2", false, FRAME_BYTES);
	check_live(&t, "timeline", "5", false, TIMELINE_BYTES);
	check_live(&t, "overview", "V", false, FRAME_BYTES);
	return t.failed != 0;
}
