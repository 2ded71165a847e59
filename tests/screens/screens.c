/* What the tests of screens share: their arguments, their lines, goldens. */
#include "screens.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void need_program(const char *path)
{
	if (access(path, X_OK) == 0)
		return;
	printf("not ok screens: there is no program %s; 'make all programs' builds it\n", path);
	exit(1);
}

struct tests tests_begin(int argc, char **argv)
{
	if (argc < 8) {
		fprintf(stderr, "%s MEMTUI THEMES TRACE GOLDEN_DIR SOURCE_DIR SCRATCH DEMO\n",
			argv[0]);
		exit(2);
	}
	need_program(argv[1]);
	need_program(argv[7]);
	return (struct tests){argv[1], argv[2], argv[3], argv[4], argv[5], argv[6], argv[7],
		getenv("GENERATE") != NULL, 0, NULL, false};
}

bool wanted(const char *name)
{
	const char *only = getenv("ONLY");
	size_t len = strlen(name);

	for (const char *at = only; at && (at = strstr(at, name)); at += len)
		if ((at == only || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return !only;
}

void tell(struct tests *t, bool ok, const char *format, ...)
{
	va_list args;

	printf(ok ? "ok " : "not ok ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	t->failed += !ok;
}

void open_trace(struct tests *t, struct terminal *terminal, int rows, int columns,
	const struct golden *g)
{
	struct settings s = {.term = g && g->term ? g->term : "xterm-256color",
		g && g->locale ? g->locale : "C.UTF-8",
		t->source,
		g && g->no_color,
		NULL,
		g ? g->filtering : NULL,
		.frames = t->frames};
	char theme[1024], totals[1024];
	char *argv[] = {t->memtui, "open", "--theme", theme, g && g->totals ? totals : t->trace,
		t->second, NULL};

	snprintf(totals, sizeof totals, "%s/totals.dat", t->scratch);
	snprintf(theme, sizeof theme, "%s/%s.theme", t->themes, g && g->theme ? g->theme : "dark");
	terminal_start(terminal, rows, columns, &s, argv);
}

char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 18);

	if (file) {
		if (fread(text, 1, (1 << 18) - 1, file) == 0)
			text[0] = '\0';
		fclose(file);
	}
	return text;
}

void check_file(struct tests *t, const char *path, const char *kind, const char *name,
	const char *seen)
{
	char *golden;

	if (t->generate) {
		FILE *file = fopen(path, "w");

		if (file) {
			fputs(seen, file);
			fclose(file);
		}
	}
	golden = read_text(path);
	tell(t, !strcmp(seen, golden), "%s %s", kind, name);
	if (strcmp(seen, golden))
		printf("==== wanted\n%s==== seen\n%s", golden, seen);
	free(golden);
}

void check_text(struct tests *t, const char *name, const char *seen)
{
	char path[1024];

	snprintf(path, sizeof path, "%s/%s.txt", t->golden, name);
	check_file(t, path, "golden", name, seen);
}

void check_golden(struct tests *t, const struct golden *g)
{
	if (!wanted("golden") && !wanted(g->name))
		return;
	struct terminal terminal;

	open_trace(t, &terminal, g->rows, g->columns, g);
	if (!terminal_settle(&terminal)
		|| (terminal_type(&terminal, g->keys), !terminal_settle(&terminal))) {
		char *screen = terminal_text(&terminal);

		tell(t, false, "golden %s: memtui did not answer\n%s", g->name, screen);
		free(screen);
		terminal_close(&terminal);
		return;
	}
	if (g->then) {
		terminal_type(&terminal, g->then);
		terminal_settle(&terminal);
	}
	char *seen = terminal_dump(&terminal);

	check_text(t, g->name, seen);
	free(seen);
	terminal_close(&terminal);
}

bool walk_sizes(struct terminal *terminal)
{
	static const int walk[][2] = {
		{24, 80},
		{10, 40},
		{6, 20},
		{1, 1},
		{50, 160},
		{12, 45},
		{30, 100},
	};
	bool answered = true;

	for (size_t i = 0; i < sizeof walk / sizeof *walk; i++) {
		terminal_resize(terminal, walk[i][0], walk[i][1]);
		answered = terminal_settle(terminal) && answered;
	}
	return answered;
}

static void check_walk(struct tests *t, const char *where, const char *keys)
{
	struct terminal walked, fresh;
	bool answered;
	char *a, *b;

	open_trace(t, &walked, 30, 100, NULL);
	open_trace(t, &fresh, 30, 100, NULL);
	terminal_settle(&walked);
	terminal_settle(&fresh);
	terminal_type(&walked, keys);
	terminal_type(&fresh, keys);
	terminal_settle(&walked);
	answered = terminal_settle(&fresh);
	answered = walk_sizes(&walked) && answered;
	a = terminal_dump(&walked);
	b = terminal_dump(&fresh);
	tell(t, answered && !strcmp(a, b), "a resize walk%s ends as a fresh start, keys '%s'",
		where, *keys ? keys : "none");
	if (strcmp(a, b))
		printf("==== walked\n%s==== fresh\n%s", a, b);
	free(a);
	free(b);
	terminal_close(&walked);
	terminal_close(&fresh);
}

void check_walks(struct tests *t, const char *where, const char *const *keys, size_t count)
{
	for (size_t i = 0; wanted("resize") && i < count; i++)
		check_walk(t, where, keys[i]);
}

void check_steps(struct tests *t, const char *where, const struct golden *g,
	const struct step *steps, size_t count)
{
	struct terminal terminal;

	if (!wanted("steps"))
		return;
	open_trace(t, &terminal, g && g->rows ? g->rows : 30, g && g->rows ? g->columns : 100, g);
	terminal_settle(&terminal);
	for (size_t i = 0; i < count; i++) {
		terminal_type(&terminal, steps[i].keys);
		bool good = terminal_settle(&terminal);
		char *screen = terminal_text(&terminal);

		good = good && strstr(screen, steps[i].there)
			&& !(steps[i].gone && strstr(screen, steps[i].gone));
		tell(t, good, "%s: %s", where, steps[i].name);
		if (!good)
			printf("%s\n", screen);
		free(screen);
	}
	terminal_close(&terminal);
}

void check_answer(struct tests *t, struct terminal *terminal, const char *keys, const char *words,
	const char *name)
{
	terminal_type(terminal, keys);
	bool ok = terminal_wait_text(terminal, words);

	tell(t, ok, "%s", name);
	if (!ok) {
		char *screen = terminal_text(terminal);

		printf("%s\n", screen);
		free(screen);
	}
}
