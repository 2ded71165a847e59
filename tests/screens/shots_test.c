/* The pictures of doc/shots and the screens in the README are what the program draws: of the made
 * trace, so that they are the same everywhere. GENERATE=1 (make shots) draws them anew.
 * shots_test MEMTUI THEMES TRACE GOLDEN_DIR SOURCE_DIR SCRATCH */
#include "screens.h"
#include "svg.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct shot {
	struct golden golden;
	const char *trace, *second; /* kinds of make_trace; NULL: the usual one, none */
} shots[] = {
	{GOLDEN("main", 100, 30, ""), NULL, NULL},
	{GOLDEN("tree", 100, 30, "3jj"), NULL, NULL},
	{GOLDEN("icicle", 100, 30, "4jjj"), NULL, NULL},
	{GOLDEN("triage", 100, 30, "7"), NULL, NULL},
	{GOLDEN("blocks", 100, 30, "8jj"), NULL, NULL},
	{GOLDEN("diff", 100, 30, "jj"), NULL, "later"},
	{GOLDEN("processes", 100, 30, "9j"), "family", NULL},
	{GOLDEN("log", 100, 30, "0jjj"), "log", NULL},
	{GOLDEN("timeline", 100, 30, "5llllllllllllllllllllvlllllllllllllll"), NULL, NULL},
	{GOLDEN("overview", 100, 30, "V"), NULL, NULL},
	{GOLDEN("detail", 100, 30, "2\r"), NULL, NULL},
	{GOLDEN("help", 100, 30, "3?"), NULL, NULL},
	{{.name = "theme-light", .columns = 80, .rows = 24, .keys = "3jj", .theme = "light"}, NULL,
		NULL},
	{{
		 .name = "theme-solarized",
		 .columns = 80,
		 .rows = 24,
		 .keys = "3jj",
		 .theme = "solarized",
	 },
		NULL, NULL},
	{{.name = "theme-gruvbox", .columns = 80, .rows = 24, .keys = "3jj", .theme = "gruvbox"},
		NULL, NULL},
	{{.name = "theme-nord", .columns = 80, .rows = 24, .keys = "3jj", .theme = "nord"}, NULL,
		NULL},
	{{
		 .name = "theme-high-contrast",
		 .columns = 80,
		 .rows = 24,
		 .keys = "3jj",
		 .theme = "high-contrast",
	 },
		NULL, NULL},
	{{
		 .name = "theme-colour-blind",
		 .columns = 80,
		 .rows = 24,
		 .keys = "3jj",
		 .theme = "colour-blind",
	 },
		NULL, NULL},
};
#define SHOTS (sizeof shots / sizeof *shots)

/* Text of each screen, for the README. */
static char *texts[SHOTS];

static void take(struct tests *t, size_t i)
{
	const struct golden *g = &shots[i].golden;
	bool light = g->theme && !strcmp(g->theme, "light");
	struct tests of = *t;
	struct terminal terminal;
	char path[1024], trace[1024], second[1024], *svg;

	snprintf(trace, sizeof trace, "%s/%s.dat", t->scratch, shots[i].trace);
	snprintf(second, sizeof second, "%s/%s.dat", t->scratch, shots[i].second);
	of.trace = shots[i].trace ? trace : t->trace;
	of.second = shots[i].second ? second : NULL;
	open_trace(&of, &terminal, g->rows, g->columns, g);
	bool answered = terminal_settle(&terminal);

	/* One by one: a list may come only when its view was there. */
	for (const char *key = g->keys; *key; key++) {
		terminal_type(&terminal, (char[]){*key, '\0'});
		answered = terminal_settle(&terminal) && answered;
	}
	svg = terminal_svg(&terminal, light ? 0x303030 : 0xd0d0d0, light ? 0xfafafa : 0x16161a);
	texts[i] = terminal_text(&terminal);
	snprintf(path, sizeof path, "%s/../../../doc/shots/%s.svg", t->golden, g->name);
	tell(t, answered, "the screen of doc/shots/%s.svg is drawn", g->name);
	check_file(t, path, "doc/shots", g->name, svg);
	free(svg);
	terminal_close(&terminal);
}

/* doc/shots/demo.svg: from the first screen of the bundled program to the line that leaks. Keys are
 * pressed before the screen is shown; words are on it. */
static const struct scene {
	const char *keys, *key, *caption, *words;
	unsigned seconds;
} scenes[] = {
	{"", "memtui run -- build/demo", "a server leaks: the line at the top names a suspect",
		"session_new", 5},
	{"L", "L", "sorts the groups of allocations by how much they look like a leak", "SUSPECT▼",
		4},
	{"\r", "Enter", "opens the group: its history, its backtrace and the source of each frame",
		"►   42          s->scratch = malloc(s->", 5},
	{"j", "Down", "goes to the caller: the error path returns, and the session is never ended",
		"►   81          struct session *s", 6},
	{"q5", "5", "shows the heap over time: it only ever grows", "[5 Time]", 4},
};
#define SCENES (sizeof scenes / sizeof *scenes)
#define FILM_MAX 200000

static void shoot(struct tests *t)
{
	struct film *film = film_new(0xd0d0d0, 0x16161a);
	struct tests of = *t;
	struct terminal terminal;
	char trace[1024], root[1024], path[1024], *svg;

	snprintf(trace, sizeof trace, "%s/demo.dat", t->scratch);
	snprintf(root, sizeof root, "%s/../../..", t->golden); /* where the source is found */
	snprintf(path, sizeof path, "%s/../../../doc/shots/demo.svg", t->golden);
	of.trace = trace;
	of.source = root;
	open_trace(&of, &terminal, 30, 100, NULL);
	bool answered = terminal_settle(&terminal);

	for (size_t i = 0; i < SCENES; i++) {
		for (const char *key = scenes[i].keys; *key; key++) {
			terminal_type(&terminal, (char[]){*key, '\0'});
			answered = terminal_settle(&terminal) && answered;
		}
		char *screen = terminal_text(&terminal);

		tell(t, answered && strstr(screen, scenes[i].words),
			"doc/shots/demo.svg: '%s' brings '%s'", scenes[i].key, scenes[i].words);
		free(screen);
		film_add(film, &terminal, scenes[i].seconds, scenes[i].key, scenes[i].caption);
	}
	svg = film_svg(film);
	tell(t, strlen(svg) < FILM_MAX && !strstr(svg, "<script"),
		"doc/shots/demo.svg has %zu bytes of less than %d, and no script", strlen(svg),
		FILM_MAX);
	check_file(t, path, "doc/shots", "demo", svg);
	free(svg);
	terminal_close(&terminal);
}

static bool drawn(const char *name, size_t len)
{
	static const char film[] = "demo";

	if (len == sizeof film - 1 && !strncmp(film, name, len))
		return true;
	for (size_t i = 0; i < SHOTS; i++)
		if (strlen(shots[i].golden.name) == len
			&& !strncmp(shots[i].golden.name, name, len))
			return true;
	return false;
}

/* Whether each picture there is one of these. */
static void check_directory(struct tests *t)
{
	char path[1024];
	struct dirent *entry;
	bool known = true;
	DIR *dir;

	snprintf(path, sizeof path, "%s/../../../doc/shots", t->golden);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		size_t len = strcspn(entry->d_name, ".");

		if (len && !drawn(entry->d_name, len)) {
			printf("doc/shots/%s is drawn by nobody\n", entry->d_name);
			known = false;
		}
	}
	if (dir)
		closedir(dir);
	tell(t, dir && known, "doc/shots holds what is drawn alone");
}

static void put_screen(FILE *out, const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		fprintf(out, "%s%.*s\n", *line == '\n' ? "" : "    ", (int)strcspn(line, "\n"),
			line);
}

/* The README with the screens between "<!-- screen NAME -->" and "<!-- end of screen -->" as they
 * are drawn now. */
static char *redraw(struct tests *t, const char *readme, int *count)
{
	static const char mark[] = "<!-- screen ";
	const char *at = readme, *next;
	char *text, name[64];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	while ((next = strstr(at, mark))
		&& sscanf(next + sizeof mark - 1, "%63[a-z0-9-] -->", name) == 1) {
		const char *body = next + strcspn(next, "\n") + 1;
		const char *end = strstr(body, "<!-- end of screen -->");
		size_t i = 0;

		while (i < SHOTS && strcmp(shots[i].golden.name, name))
			i++;
		if (!end || i == SHOTS) {
			tell(t, false,
				"the README's screen '%s' is one of tests/screens/shots_test.c",
				name);
			break;
		}
		fprintf(out, "%.*s\n", (int)(body - at), at);
		put_screen(out, texts[i]);
		fputc('\n', out);
		at = end;
		++*count;
	}
	fputs(at, out);
	fclose(out);
	return text;
}

/* Whether all pictures that the README shows are drawn, and all that are drawn of views are
 * shown. */
static bool pictured(const char *readme)
{
	static const char folder[] = "doc/shots/";
	bool all = true;

	for (const char *at = readme; (at = strstr(at, folder)); at++) {
		size_t len = strcspn(at + sizeof folder - 1, ".)\n`");

		if (len && !drawn(at + sizeof folder - 1, len)) {
			printf("the README shows doc/shots/%.*s.svg, which nobody draws\n",
				(int)len, at + sizeof folder - 1);
			all = false;
		}
	}
	for (size_t i = 0; i < SHOTS; i++) {
		char picture[128], screen[128];

		snprintf(picture, sizeof picture, "doc/shots/%s.svg", shots[i].golden.name);
		snprintf(screen, sizeof screen, "<!-- screen %s -->", shots[i].golden.name);
		if (!strstr(readme, picture) && !strstr(readme, screen)) {
			printf("%s is not in the README\n", picture);
			all = false;
		}
	}
	return all;
}

static void check_readme(struct tests *t)
{
	char path[1024], *readme, *seen;
	int count = 0;

	snprintf(path, sizeof path, "%s/../../../README.md", t->golden);
	readme = read_text(path);
	seen = redraw(t, readme, &count);
	check_file(t, path, "screens of", "README.md", seen);
	tell(t, count > 0, "the README shows %d screens as text", count);
	tell(t, pictured(readme), "and every picture of doc/shots, and no other");
	free(readme);
	free(seen);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (!wanted("golden") && !wanted("shots"))
		return 0;
	for (size_t i = 0; i < SHOTS; i++)
		take(&t, i);
	shoot(&t);
	check_directory(&t);
	check_readme(&t);
	for (size_t i = 0; i < SHOTS; i++)
		free(texts[i]);
	return t.failed != 0;
}
