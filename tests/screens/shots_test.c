/* The pictures of doc/shots and the screens in the README are what the program draws: of the made trace, so that they
 * are the same everywhere. GENERATE=1 (make shots) draws them anew.
 * shots_test MEMTUI THEMES TRACE GOLDEN_DIR SOURCE_DIR SCRATCH */
#include "screens.h"
#include "svg.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct golden shots[] = {
	GOLDEN("main", 100, 30, ""),
	GOLDEN("groups", 100, 30, "2jj"),
	GOLDEN("tree", 100, 30, "3jj"),
	GOLDEN("icicle", 100, 30, "4jjj"),
	GOLDEN("triage", 100, 30, "7"),
	GOLDEN("blocks", 100, 30, "8jj"),
	GOLDEN("timeline", 100, 30, "5llllllllllllllllllllvlllllllllllllll"),
	GOLDEN("overview", 100, 30, "V"),
	GOLDEN("detail", 100, 30, "2\r"),
	GOLDEN("help", 100, 30, "3?"),
	{.name = "theme-light", .columns = 80, .rows = 24, .keys = "3jj", .theme = "light"},
	{.name = "theme-solarized", .columns = 80, .rows = 24, .keys = "3jj", .theme = "solarized"},
	{.name = "theme-gruvbox", .columns = 80, .rows = 24, .keys = "3jj", .theme = "gruvbox"},
	{.name = "theme-nord", .columns = 80, .rows = 24, .keys = "3jj", .theme = "nord"},
	{.name = "theme-high-contrast", .columns = 80, .rows = 24, .keys = "3jj", .theme = "high-contrast"},
	{.name = "theme-colour-blind", .columns = 80, .rows = 24, .keys = "3jj", .theme = "colour-blind"},
};
#define SHOTS (sizeof shots / sizeof *shots)

/* Text of each screen, for the README. */
static char *texts[SHOTS];

static void take(struct tests *t, size_t i)
{
	const struct golden *g = &shots[i];
	bool light = g->theme && !strcmp(g->theme, "light");
	struct terminal terminal;
	char path[1024], *svg;

	open_trace(t, &terminal, g->rows, g->columns, g);
	bool answered = terminal_settle(&terminal);

	terminal_type(&terminal, g->keys);
	answered = terminal_settle(&terminal) && answered;
	svg = terminal_svg(&terminal, light ? 0x303030 : 0xd0d0d0, light ? 0xfafafa : 0x16161a);
	texts[i] = terminal_text(&terminal);
	snprintf(path, sizeof path, "%s/../../../doc/shots/%s.svg", t->golden, g->name);
	tell(t, answered, "the screen of doc/shots/%s.svg is drawn", g->name);
	check_file(t, path, "doc/shots", g->name, svg);
	free(svg);
	terminal_close(&terminal);
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
		size_t len = strcspn(entry->d_name, "."), i = 0;

		while (i < SHOTS && (strlen(shots[i].name) != len || strncmp(shots[i].name, entry->d_name, len)))
			i++;
		if (len && i == SHOTS) {
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
		fprintf(out, "%s%.*s\n", *line == '\n' ? "" : "    ", (int)strcspn(line, "\n"), line);
}

/* The README with the screens between "<!-- screen NAME -->" and "<!-- end of screen -->" as they are drawn now. */
static char *redraw(struct tests *t, const char *readme, int *count)
{
	static const char mark[] = "<!-- screen ";
	const char *at = readme, *next;
	char *text, name[64];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	while ((next = strstr(at, mark)) && sscanf(next + sizeof mark - 1, "%63[a-z0-9-] -->", name) == 1) {
		const char *body = next + strcspn(next, "\n") + 1, *end = strstr(body, "<!-- end of screen -->");
		size_t i = 0;

		while (i < SHOTS && strcmp(shots[i].name, name))
			i++;
		if (!end || i == SHOTS) {
			tell(t, false, "the README's screen '%s' is one of tests/screens/shots_test.c", name);
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

static void check_readme(struct tests *t)
{
	char path[1024], *readme, *seen;
	int count = 0;

	snprintf(path, sizeof path, "%s/../../../README.md", t->golden);
	readme = read_text(path);
	seen = redraw(t, readme, &count);
	check_file(t, path, "screens of", "README.md", seen);
	tell(t, count > 0 && strstr(readme, "doc/shots/"), "the README shows %d screens as text, and pictures", count);
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
	check_directory(&t);
	check_readme(&t);
	for (size_t i = 0; i < SHOTS; i++)
		free(texts[i]);
	return t.failed != 0;
}
