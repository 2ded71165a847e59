/* keys MEMTUI open TRACE, keys MEMTUI run ...: milliseconds from a key to the picture that answers
 * it, in every view and for what the views do, at 100x30. The terminal is a pseudo-terminal; memtui
 * says in band which keys a picture knows of, and whether more of it will come. A live program is
 * typed at for LIVE_S seconds from its start on, while its names are looked up. */
#include "tests/screens/harness.h"
#include "tui/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 24 /* a multiple of the length of each cycle of keys */
#define CYCLE 8
#define LIVE_S 15
#define LIMIT_MS 100

struct step {
	const char *name, *before; /* before: keys that bring there */
	const char *keys[CYCLE];   /* typed in turn */
	/* until the picture; used: of that, the processor by the screen's thread */
	double took[ROUNDS * 16], used[ROUNDS * 16];
	double complete; /* the longest until nothing was left to draw */
	unsigned count;
};

static struct step steps[] = {
	{"main", "1", {"\033[B", "\033[A", "\t", "\033[B"}},
	{"groups", "2", {"\033[B", "\033[B", "\033[B", "\033[A"}},
	{"tree", "3", {"\033[B", "\033[C", "\033[B", "\033[D"}},
	{"icicle", "4", {"\033[B", "\033[C", "\033[B", "\033[A"}},
	{"timeline", "5", {"\033[C", "\033[C", "\033[C", "\033[D"}},
	{"difference", "6", {"\033[B", "d", "\033[B", "d"}},
	{"triage", "7", {"\033[B", "\033[B", "\033[B", "\033[A"}},
	{"blocks", "8", {"\033[B", "\033[B", "\033[B", "\033[A"}},
	{"processes", "9", {"\033[B", "\033[A"}},
	{"log", "0", {"\033[B", "\033[B", "\033[B", "\033[A"}},
	{"overview", "V", {"\033[B", "\033[B", "\033[B", "\033[A"}},
	{"turn", "2", {"3", "4", "1", "5", "6", "7", "V", "2"}},
	{"invert", "3", {"i", "i"}},
	{"bars invert", "4", {"i", "i"}},
	{"expand", "3g", {"+", "+", "-", "-"}},
	{"bars search", "4", {"/", "a", "l", "\033\033"}},
	{"sort", "1", {">", "<"}},
	{"reverse", "2", {"r", "r"}},
	{"filter", "1", {"\\", "a", "l", "\r", "\\", "\025", "\r", "\033[B"}},
	{"detail", "2g", {"\r", "q"}},
	{"judge", "2g", {"t", "l", "t", "u"}},
	{"report", "2g ", {"Y", "\033[B"}},
	{"unmark", "2g", {"U", "\033[A"}},
};
#define STEPS (sizeof steps / sizeof *steps)

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Of memtui's first thread, which is the screen's. On a busy machine it says what a key costs all
 * the same. */
static double used_ms(const struct terminal *terminal)
{
	unsigned long long ns = 0;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)terminal->pid,
		(int)terminal->pid);
	FILE *file = fopen(path, "r");

	if (file && fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	if (file)
		fclose(file);
	return (double)ns / 1e6;
}

/* To the picture that knows of the keys; false: memtui is gone. */
static bool answer(struct terminal *terminal, const char *keys, double *took)
{
	double start = now_ms();

	terminal_type(terminal, keys);
	if (!terminal_answered(terminal)) {
		fprintf(stderr, "keys: no answer to '%s'%s\n", keys,
			terminal->ended ? ": memtui has ended" : "");
		return false;
	}
	*took = now_ms() - start;
	return true;
}

static bool round_of(struct terminal *terminal, struct step *step, bool live, unsigned rounds)
{
	double start, took, used;
	unsigned cycle = 0;

	while (cycle < CYCLE && step->keys[cycle])
		cycle++;
	for (unsigned i = 0; i <= rounds; i++) {
		if (live) /* what goes on has no rhythm with the keys */
			terminal_read_for(terminal, 5 + rand() % 60);
		start = now_ms();
		used = used_ms(terminal);
		if (!answer(terminal, i ? step->keys[(i - 1) % cycle] : step->before, &took))
			return false;
		if (step->count < sizeof step->took / sizeof *step->took) {
			step->used[step->count] = used_ms(terminal) - used;
			step->took[step->count++] = took;
		}
		if (live)
			continue;
		if (!terminal_settle(terminal))
			return false;
		if (now_ms() - start > step->complete)
			step->complete = now_ms() - start;
	}
	return true;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static bool report(struct step *step, bool live)
{
	if (!step->count)
		return true;
	qsort(step->took, step->count, sizeof *step->took, by_value);
	qsort(step->used, step->count, sizeof *step->used, by_value);
	double most = step->took[step->count - 1];

	printf("%-12s %6u %8.1f %8.1f %8.1f %8.1f", step->name, step->count,
		step->took[step->count / 2], most, step->used[step->count / 2],
		step->used[step->count - 1]);
	if (!live)
		printf(" %8.1f", step->complete);
	printf("%s\n", most > LIMIT_MS ? "   over the limit" : "");
	return most <= LIMIT_MS;
}

/* The program ends with the screen. */
static void leave(struct terminal *terminal)
{
	terminal_type(terminal, "\033");
	terminal_answered(terminal);
	terminal_type(terminal, "Q");
	terminal_answered(terminal);
	terminal_type(terminal, "d");
	terminal_wait_end(terminal);
}

int main(int argc, char **argv)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .frames = true};
	struct terminal terminal;
	double start = now_ms();
	bool live = argc > 2 && strcmp(argv[2], "open") != 0, goes_on = true, within = true;

	if (argc < 4) {
		fprintf(stderr, "keys MEMTUI open TRACE | keys MEMTUI run [OPTIONS] -- PROGRAM\n");
		return 2;
	}
	terminal_start(&terminal, 30, 100, &s, argv + 1);
	if (!terminal_wait_text(&terminal, "groups")
		|| !(live ? terminal_answered(&terminal) : terminal_settle(&terminal))) {
		fprintf(stderr, "keys: %s was not opened\n%s", argv[3], terminal_text(&terminal));
		terminal_close(&terminal);
		return 1;
	}
	printf("opened in %.0f ms\n%-12s %6s %8s %8s %8s %8s%s\n", now_ms() - start, "ms", "keys",
		"median", "most", "CPU", "most", live ? "" : " complete");
	for (start = now_ms(); goes_on;) {
		for (size_t i = 0; i < STEPS && goes_on; i++)
			goes_on = round_of(&terminal, &steps[i], live, live ? CYCLE : ROUNDS)
				&& (!live || now_ms() - start < LIVE_S * 1e3);
		if (!live)
			break;
	}
	for (size_t i = 0; i < STEPS; i++)
		within &= report(&steps[i], live);
	printf(within ? "every key was answered within %d ms\n"
		      : "not every key was answered within %d ms\n",
		LIMIT_MS);
	leave(&terminal);
	terminal_close(&terminal);
	return 0;
}
