/* Every view in every theme, and on every kind of terminal: all of MT_TABS, so that new views come in by themselves.
 * themes_test MEMTUI THEMES TRACE GOLDEN_DIR SOURCE_DIR SCRATCH */
#include "screens.h"
#include "tui/app.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char *const action_keys[] = {
#define X(id, scope, keys, bar, name, words) keys,
	MT_ACTIONS(X)
#undef X
};

struct place { const char *name; char keys[32]; const char *back; };

/* Views by the key of their tab, and what is not a tab. */
static size_t places(struct place out[MT_VIEW_COUNT + 8])
{
	static const struct { const char *name; enum mt_action action; } tabs[] = {
#define X(id, name) {#name, MT_ACTION_##id},
		MT_TABS(X)
#undef X
	};
	static const struct place others[] = {{"detail", "2\r", "q"}, {"help", "1?", "\033"}, {"sort", "2s", "\033"},
		{"filter", "2\\size>=1k lifetime:o", "\033"}, {"search", "2/_new", "\033"}};
	size_t count = 0;

	for (size_t i = 0; i < sizeof tabs / sizeof *tabs; i++)
		if (tabs[i].action != MT_ACTION_OUTPUT) /* no program runs here */
			out[count++] = (struct place){tabs[i].name, {action_keys[tabs[i].action][0]}, ""};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		out[count++] = others[i];
	return count;
}

static bool go(struct terminal *terminal, const struct place *place)
{
	terminal_type(terminal, place->keys);
	return terminal_settle(terminal);
}

/* ---- planes ---- */

static void put_run(FILE *out, const char *row, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		for (n = 1; i + n < len && row[i + n] == row[i]; n++)
			;
		fprintf(out, "%zu%c", n, row[i]);
	}
}

/* The style part of a dump, in runs: "3* 80a" are three rows of 80 cells of style a. */
static char *style_plane(const char *dump)
{
	const char *row = strstr(dump, "---- style\n") + 11, *end = strstr(dump, "---- styles\n");
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	while (row < end) {
		size_t len = strcspn(row, "\n"), again = 1;

		while (row + (len + 1) * again < end && !strncmp(row, row + (len + 1) * again, len + 1))
			again++;
		if (again > 1)
			fprintf(out, "%zu* ", again);
		put_run(out, row, len);
		fputc('\n', out);
		row += (len + 1) * again;
	}
	for (row = end + 12; strncmp(row, "---- ", 5); row += strcspn(row, "\n") + 1)
		fprintf(out, "%.*s\n", (int)strcspn(row, "\n"), row);
	fclose(out);
	return text;
}

static char *text_plane(const char *dump)
{
	return strndup(dump, (size_t)(strstr(dump, "---- style\n") - dump));
}

/* Planes that several terminals show are kept once. */
struct planes {
	struct { char *text; char names[512]; } plane[160];
	size_t count;
};

/* Takes text over. */
static void add_plane(struct planes *p, char *text, const char *name)
{
	size_t i = 0;

	while (i < p->count && strcmp(p->plane[i].text, text))
		i++;
	if (i == p->count) {
		p->plane[p->count].text = text;
		p->plane[p->count++].names[0] = '\0';
	} else {
		free(text);
	}
	size_t len = strlen(p->plane[i].names);

	snprintf(p->plane[i].names + len, sizeof p->plane[i].names - len, "%s%s", len ? ", " : "", name);
}

static void print_planes(FILE *out, struct planes *p)
{
	for (size_t i = 0; i < p->count; i++) {
		fprintf(out, "==== %s\n%s", p->plane[i].names, p->plane[i].text);
		free(p->plane[i].text);
	}
	p->count = 0;
}

/* ---- themes ---- */

static void check_theme(struct tests *t, const char *theme)
{
	struct place place[MT_VIEW_COUNT + 8];
	size_t count = places(place), size;
	struct golden g = {.theme = theme};
	struct terminal terminal;
	char name[128], *seen;
	FILE *out = open_memstream(&seen, &size);
	bool answered = true;

	open_trace(t, &terminal, 24, 80, &g);
	answered = terminal_settle(&terminal);
	for (size_t i = 0; i < count && answered; i++) {
		answered = go(&terminal, &place[i]);
		char *dump = terminal_dump(&terminal), *plane = style_plane(dump);

		fprintf(out, "==== %s\n%s", place[i].name, plane);
		free(plane);
		free(dump);
		terminal_type(&terminal, place[i].back);
		answered = answered && terminal_settle(&terminal);
	}
	terminal_close(&terminal);
	fclose(out);
	snprintf(name, sizeof name, "theme-%s", theme);
	if (answered)
		check_text(t, name, seen);
	else
		tell(t, false, "golden %s: memtui did not answer", name);
	free(seen);
}

static void check_themes(struct tests *t)
{
	DIR *dir = opendir(t->themes);
	struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir))) {
		char name[128];

		if (sscanf(entry->d_name, "%100[^.].theme", name) != 1)
			continue;
		check_theme(t, name);
		count++;
	}
	if (dir)
		closedir(dir);
	tell(t, count >= 8, "%d themes on every screen", count);
}

/* ---- terminals ---- */

static const struct kind {
	const char *name, *term, *locale;
	bool no_color;
	int colours;
} kinds[] = {
	{"UTF-8 256", "xterm-256color", "C.UTF-8", false, 256}, {"C 256", "xterm-256color", "C", false, 256},
	{"UTF-8 16", "xterm-16color", "C.UTF-8", false, 16}, {"C 16", "xterm-16color", "C", false, 16},
	{"UTF-8 8", "xterm", "C.UTF-8", false, 8}, {"C 8", "xterm", "C", false, 8},
	{"UTF-8 mono", "vt220", "C.UTF-8", false, 0}, {"C mono", "vt220", "C", false, 0},
	{"UTF-8 NO_COLOR", "xterm-256color", "C.UTF-8", true, 0}, {"C NO_COLOR", "xterm-256color", "C", true, 0},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* What holds on any screen: no colour that the terminal lacks, and nothing but ASCII without UTF-8. */
static bool fitting(const struct kind *kind, const char *dump)
{
	const char *styles = strstr(dump, "---- styles\n") + 12;
	int foreground, background;

	for (const char *at = dump; !strcmp(kind->locale, "C") && *at; at++)
		if (*at & 0x80)
			return false;
	for (; strncmp(styles, "---- ", 5); styles += strcspn(styles, "\n") + 1) {
		foreground = background = -1;
		if (sscanf(styles, "%*c %d %d", &foreground, &background) < 1)
			sscanf(styles, "%*c default %d", &background);
		if (foreground >= kind->colours || background >= kind->colours || strchr(styles, '#') == styles + 2)
			return false;
	}
	return true;
}

static void see(struct tests *t, struct planes *planes, const struct kind *kind, int rows, int columns)
{
	struct place place[MT_VIEW_COUNT + 8];
	size_t count = places(place);
	struct golden g = {.term = kind->term, .locale = kind->locale, .no_color = kind->no_color};
	struct terminal terminal;
	bool fits = true;
	char name[64];

	open_trace(t, &terminal, rows, columns, &g);
	bool answered = terminal_settle(&terminal);

	for (size_t i = 0; i < count && answered; i++) {
		answered = go(&terminal, &place[i]);
		char *dump = terminal_dump(&terminal);

		if (!fitting(kind, dump)) {
			printf("%s", dump);
			fits = false;
		}
		snprintf(name, sizeof name, "%dx%d %s", columns, rows, kind->name);
		add_plane(&planes[i * 2], text_plane(dump), name);
		add_plane(&planes[i * 2 + 1], style_plane(dump), name);
		free(dump);
		terminal_type(&terminal, place[i].back);
		answered = answered && terminal_settle(&terminal);
	}
	tell(t, answered && fits, "every view at %dx%d with %s shows what the terminal has", columns, rows, kind->name);
	terminal_close(&terminal);
}

static void check_terminals(struct tests *t)
{
	static const int sizes[][2] = {{30, 100}, {24, 80}, {10, 40}};
	struct place place[MT_VIEW_COUNT + 8];
	size_t count = places(place), size;
	struct planes *planes = calloc(count * 2, sizeof *planes);
	char name[64], *seen;

	for (size_t s = 0; s < 3; s++)
		for (size_t k = 0; k < KINDS; k++)
			see(t, planes, &kinds[k], sizes[s][0], sizes[s][1]);
	for (size_t i = 0; i < count; i++) {
		FILE *out = open_memstream(&seen, &size);

		print_planes(out, &planes[i * 2]);
		print_planes(out, &planes[i * 2 + 1]);
		fclose(out);
		snprintf(name, sizeof name, "terminals-%s", place[i].name);
		check_text(t, name, seen);
		free(seen);
	}
	free(planes);
}

/* ---- the menu, and a theme that is edited ---- */

static void write_theme(const char *path, const char *text, bool by_rename)
{
	char aside[1100];
	FILE *file;

	snprintf(aside, sizeof aside, "%s%s", path, by_rename ? ".new" : "");
	file = fopen(aside, "w");
	if (!file)
		return;
	fputs(text, file);
	fclose(file);
	if (by_rename)
		rename(aside, path);
}

static bool styled(struct terminal *terminal, const char *style)
{
	char *dump = terminal_dump(terminal);
	bool is = strstr(strstr(dump, "---- styles\n"), style) != NULL;

	free(dump);
	return is;
}

static void check_reload(struct tests *t)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .directory = t->source};
	char path[1024], *argv[] = {t->memtui, "open", "--theme", path, t->trace, NULL};
	struct terminal terminal;

	snprintf(path, sizeof path, "%s/edited.theme", t->scratch);
	write_theme(path, "text = #d0d0d0 #000087\n", false);
	terminal_start(&terminal, 24, 80, &s, argv);
	bool ok = terminal_settle(&terminal) && styled(&terminal, "252 18\n");

	tell(t, ok, "a theme from a file has its background everywhere");
	write_theme(path, "text = #d0d0d0 #005f00\n", false);
	ok = terminal_wait_text(&terminal, "read edited.theme again") && terminal_settle(&terminal) &&
		styled(&terminal, "252 22\n");
	tell(t, ok, "a theme that is saved is read again");
	write_theme(path, "text = #d0d0d0 #5f0000\n\ntitle = pink\n", true);
	ok = terminal_wait_text(&terminal, "edited.theme:3: 'pink' is neither") && terminal_settle(&terminal) &&
		styled(&terminal, "252 22\n");
	tell(t, ok, "a mistake in it is told with its line, and the looks stay");
	write_theme(path, "text = #d0d0d0 #5f0000\n", true);
	ok = terminal_wait_text(&terminal, "read edited.theme again") && terminal_settle(&terminal) &&
		styled(&terminal, "252 52\n");
	tell(t, ok, "one that an editor puts in its place is read too");
	terminal_close(&terminal);
}

static void check_menu(struct tests *t)
{
	static const struct { const char *keys, *words, *style; } steps[] = {
		{"T", "Theme", " default\n"}, /* dark: the terminal's own background */
		{"G", "solarized", NULL}, {"g", "colour-blind", " 233"}, {"\033", "Main", " default\n"},
		{"Tg\r", "theme: colour-blind", " 233"}, {"T", "Theme", NULL}, {"\033[<65;40;10M", "▶ high-contrast", NULL},
		{"\033[<0;40;10M\033[<0;40;10m", "theme: dark", " default\n"}, {"Tq", "Main", NULL},
	};
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .directory = t->source};
	char *argv[] = {t->memtui, "open", "--theme", "dark", t->trace, NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	terminal_settle(&terminal);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		terminal_type(&terminal, steps[i].keys);
		bool ok = terminal_settle(&terminal);
		char *screen = terminal_text(&terminal);

		ok = ok && strstr(screen, steps[i].words) && (!steps[i].style || styled(&terminal, steps[i].style));
		tell(t, ok, "the menu of themes: step %zu brings '%s'", i + 1, steps[i].words);
		if (!ok)
			printf("%s\n", screen);
		free(screen);
	}
	terminal_close(&terminal);
}

/* A terminal's name that nobody knows: the theme is answered for in words. */
static void check_unknown(struct tests *t)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .directory = t->source};
	char *argv[] = {t->memtui, "open", "--theme", "blue", t->trace, NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 160, &s, argv);
	terminal_wait_end(&terminal);
	terminal_read_for(&terminal, 50);
	char *screen = terminal_text(&terminal);

	tell(t, WIFEXITED(terminal.status) && WEXITSTATUS(terminal.status) == 1 && strstr(screen, "no theme called 'blue'") &&
		strstr(screen, "gruvbox, high-contrast"), "an unknown theme is answered with all names");
	free(screen);
	terminal_close(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (wanted("golden"))
		check_themes(&t);
	if (wanted("golden"))
		check_terminals(&t);
	if (wanted("themes")) {
		check_reload(&t);
		check_menu(&t);
		check_unknown(&t);
	}
	return t.failed != 0;
}
