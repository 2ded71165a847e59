/* Every screen of places.h on every kind of terminal, at three sizes, and in every theme; and
 * through a walk of sizes. matrix_test MEMTUI THEMES TRACE GOLDEN_DIR SOURCE_DIR SCRATCH */
#include "places.h"
#include "screens.h"
#include "tui/app.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- worlds ---- */

static const struct kind {
	const char *name, *term, *locale;
	bool no_color;
	int colours;
} kinds[] = {
	{"UTF-8 256", "xterm-256color", "C.UTF-8", false, 256},
	{"C 256", "xterm-256color", "C", false, 256},
	{"UTF-8 16", "xterm-16color", "C.UTF-8", false, 16},
	{"C 16", "xterm-16color", "C", false, 16},
	{"UTF-8 8", "xterm", "C.UTF-8", false, 8},
	{"C 8", "xterm", "C", false, 8},
	{"UTF-8 mono", "vt220", "C.UTF-8", false, 0},
	{"C mono", "vt220", "C", false, 0},
	{"UTF-8 NO_COLOR", "xterm-256color", "C.UTF-8", true, 0},
	{"C NO_COLOR", "xterm-256color", "C", true, 0},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static bool type(struct terminal *terminal, const char *keys)
{
	terminal_type(terminal, keys);
	return terminal_settle(terminal);
}

static void start(struct tests *t, struct terminal *terminal, enum world world,
	const struct kind *kind, const char *theme)
{
	const struct world_info *w = &worlds[world];
	struct settings s = {
		.term = kind->term,
		.locale = kind->locale,
		.directory = w->script ? t->scratch : t->source,
		.no_color = kind->no_color,
		.cache = w->script ? t->scratch : NULL,
	};
	char path[1024], trace[1024], second[1024];
	char *saved[] = {t->memtui, "open", "--theme", path, trace, w->second ? second : NULL,
		NULL};
	char *runs[] = {t->memtui, "run", "--theme", path, "--", "/bin/sh", "-c", w->script, NULL};
	char *saves[] = {t->memtui, "run", "--theme", path, "-f", "-o", "matrix.dat", "--",
		"/bin/sh", "-c", w->script, NULL};

	snprintf(path, sizeof path, "%s/%s.theme", t->themes, theme);
	snprintf(trace, sizeof trace, "%s/%s.dat", t->scratch, w->trace);
	snprintf(second, sizeof second, "%s/%s.dat", t->scratch, w->second);
	terminal_start(terminal, 24, 80, &s, !w->script ? saved : w->output ? saves : runs);
	terminal->varying = w->script != NULL;
}

/* Into the world at 80x24; of worlds that go on in one terminal the first starts it. */
static bool enter(struct tests *t, struct terminal *terminal, enum world world,
	const struct kind *kind, const char *theme)
{
	const struct world_info *w = &worlds[world];
	bool ok = true;

	if (!w->goes_on)
		start(t, terminal, world, kind, theme);
	else
		terminal_resize(terminal, 24, 80);
	ok = terminal_settle(terminal);
	for (size_t i = 0; i < sizeof w->begin / sizeof *w->begin && w->begin[i]; i++)
		ok = type(terminal, w->begin[i]) && ok;
	return ok
		&& (!w->wait || (terminal_wait_text(terminal, w->wait) && type(terminal, "\033")));
}

/* A program that runs would run on. */
static void leave(struct terminal *terminal, enum world world)
{
	if (world + 1 < WORLDS && worlds[world + 1].goes_on)
		return;
	if (worlds[world].script) {
		terminal_type(terminal, world == SAVES ? "Qe" : "Qd");
		terminal_wait_end(terminal);
	}
	terminal_close(terminal);
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

		while (row + (len + 1) * again < end
			&& !strncmp(row, row + (len + 1) * again, len + 1))
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

/* The text, and where the cursor stands in it. */
static char *text_plane(const char *dump)
{
	const char *end = strstr(dump, "---- style\n"), *cursor = strstr(end, "---- cursor ");
	char *text;

	if (asprintf(&text, "%.*s%s", (int)(end - dump), dump,
		    strstr(cursor, "hidden") ? "" : cursor)
		< 0)
		abort();
	return text;
}

/* Planes that several terminals show are kept once. */
struct planes {
	struct {
		char *text;
		char names[512];
	} plane[160];
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

	snprintf(p->plane[i].names + len, sizeof p->plane[i].names - len, "%s%s", len ? ", " : "",
		name);
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

/* Of which style each cell is depends on the terminal's size, which colours a style has on the
 * theme alone: one size does. */
static void check_theme(struct tests *t, const char *theme)
{
	char name[160], *seen;
	size_t size;
	FILE *out = open_memstream(&seen, &size);
	struct terminal terminal;
	bool answered = true;

	for (int world = 0; world < WORLDS && answered; world++) {
		answered = enter(t, &terminal, world, &kinds[0], theme);
		for (size_t i = 0; i < PLACES && answered; i++) {
			if ((int)places[i].world != world)
				continue;
			answered = type(&terminal, places[i].keys);
			char *dump = terminal_dump(&terminal), *plane = style_plane(dump);

			fprintf(out, "==== %s\n%s", places[i].name, plane);
			free(plane);
			free(dump);
			answered = answered && type(&terminal, places[i].back);
		}
		leave(&terminal, (enum world)world);
	}
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

/* What holds on any screen: no colour that the terminal lacks, and nothing but ASCII without
 * UTF-8. */
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
		if (foreground >= kind->colours || background >= kind->colours
			|| strchr(styles, '#') == styles + 2)
			return false;
	}
	return true;
}

/* Whatever the sizes between were, the screen is the same as before at the same size. */
static bool stays(struct terminal *terminal, const struct place *place)
{
	char *before = terminal_dump(terminal);
	bool answered = walk_sizes(terminal);
	char *after = terminal_dump(terminal);
	bool same = answered && !strcmp(before, after);

	if (!same)
		printf("not ok a walk of sizes changes %s\n==== before\n%s==== after\n%s",
			place->name, before, after);
	free(before);
	free(after);
	return same;
}

/* One world on one kind of terminal, which changes its size. */
static bool see(struct tests *t, struct terminal *terminal, struct planes *planes, enum world world,
	const struct kind *kind)
{
	static const int sizes[][2] = {{30, 100}, {24, 80}, {10, 40}};
	bool good = enter(t, terminal, world, kind, "dark");
	char name[64];

	for (size_t s = 0; s < 3; s++) {
		terminal_resize(terminal, sizes[s][0], sizes[s][1]);
		for (size_t i = 0; i < PLACES && good; i++) {
			if (places[i].world != world)
				continue;
			good = type(terminal, places[i].keys);
			char *dump = terminal_dump(terminal);

			if (!fitting(kind, dump)) {
				printf("%s", dump);
				good = false;
			}
			snprintf(name, sizeof name, "%dx%d %s", sizes[s][1], sizes[s][0],
				kind->name);
			add_plane(&planes[i * 2], text_plane(dump), name);
			add_plane(&planes[i * 2 + 1], style_plane(dump), name);
			free(dump);
			if (s == 0 && kind == &kinds[0])
				good = stays(terminal, &places[i]) && good;
			good = type(terminal, places[i].back) && good;
		}
	}
	leave(terminal, world);
	return good;
}

static void check_terminals(struct tests *t)
{
	struct planes *planes = calloc(PLACES * 2, sizeof *planes);
	struct terminal terminal;
	char name[64], *seen;
	size_t size;

	for (size_t k = 0; k < KINDS; k++) {
		bool good = true;

		for (int world = 0; world < WORLDS; world++)
			good = see(t, &terminal, planes, (enum world)world, &kinds[k]) && good;
		tell(t, good, "every screen with %s shows what the terminal has", kinds[k].name);
	}
	for (size_t i = 0; i < PLACES; i++) {
		FILE *out = open_memstream(&seen, &size);

		/* groups are marked by colours, or by digits where there are none */
		tell(t, planes[i * 2].count <= 9,
			"the text of %s depends on size, locale and colours alone", places[i].name);
		print_planes(out, &planes[i * 2]);
		print_planes(out, &planes[i * 2 + 1]);
		fclose(out);
		snprintf(name, sizeof name, "screen-%s", places[i].name);
		check_text(t, name, seen);
		free(seen);
	}
	free(planes);
}

/* ---- nothing is left out ---- */

static void check_complete(struct tests *t)
{
	static const char *const names[] = {
#define X(id, name) #name,
		MT_TABS(X) MT_OVERLAYS(X) MT_PROMPTS(X)
#undef X
	};

	for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
		size_t i = 0;

		while (i < PLACES && strcmp(places[i].name, names[n]))
			i++;
		tell(t, i < PLACES, "places.h leads to '%s'", names[n]);
	}
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	setenv("MEMTUI_TRIAGE", "", 1);
	check_complete(&t);
	if (wanted("golden")) {
		check_themes(&t);
		check_terminals(&t);
	}
	return t.failed != 0;
}
