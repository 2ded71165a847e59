/* What a first run says where there is nothing to see, or less than there could be. guidance_test
 * as screens_test. */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct scene {
	const char *trace; /* kind of make_trace */
	struct golden golden;
	const char *words; /* that must be there */
};

static const struct scene scenes[] = {
	{"freed", {.name = "guidance-freed-100x30", .columns = 100, .rows = 30, .keys = "2"},
		"nothing leaked: every block was freed"},
	{"freed", {.name = "guidance-freed-80x24", .columns = 80, .rows = 24, .keys = "V"},
		"no leak is suspected"},
	{"halted", {.name = "guidance-stopped-100x30", .columns = 100, .rows = 30, .keys = "2"},
		"the recording was stopped at"},
	{"halted", {.name = "guidance-stopped-80x24", .columns = 80, .rows = 24, .keys = "7"},
		"nothing was live when the recording ended"},
	{"bare", {.name = "guidance-bare-100x30", .columns = 100, .rows = 30, .keys = "2"},
		"build the program with -g"},
	{"bare", {.name = "guidance-bare-80x24", .columns = 80, .rows = 24, .keys = "2\r"},
		"build it with -g, and without -s or strip"},
	{"bare", {.name = "guidance-bare-40x10", .columns = 40, .rows = 10, .keys = "2\r"},
		"leak score"},
	{"broken", {.name = "guidance-broken-100x30", .columns = 100, .rows = 30, .keys = "2"},
		"recorder was killed at"},
	{"broken", {.name = "guidance-broken-80x24", .columns = 80, .rows = 24, .keys = "4"},
		"M live   100.0 %"},
	{"begun", {.name = "guidance-begun-80x24", .columns = 80, .rows = 24, .keys = ""},
		"the program allocated nothing"},
	{"begun", {.name = "guidance-begun-40x10", .columns = 40, .rows = 10, .keys = "2"},
		"the program allocated nothing"},
	{"golden",
		{.name = "guidance-hidden-80x24", .columns = 80, .rows = 24, .keys = "2\\zzzz\r"},
		"F4 ^U Enter clears it"},
	{"golden",
		{
			.name = "guidance-hidden-tree-80x24",
			.columns = 80,
			.rows = 24,
			.keys = "3\\zzzz\r",
		},
		"no group matches the filter"},
	{"golden",
		{.name = "guidance-hidden-40x10", .columns = 40, .rows = 10, .keys = "V\\zzzz\r"},
		"no group matches the filter"},
	{"golden",
		{
			.name = "guidance-unleaked-80x24",
			.columns = 80,
			.rows = 24,
			.keys = "7\\lifetime:only_temporary\r",
		},
		"no leak matches the filter: F4 changes it"},
	{"golden",
		{
			.name = "guidance-shown-80x24",
			.columns = 80,
			.rows = 24,
			.keys = "2\\zzzz\r",
			.then = "\\\025\r",
		},
		"session_new"},
	{"golden",
		{
			.name = "guidance-hidden-ascii-80x24",
			.columns = 80,
			.rows = 24,
			.keys = "2\\zzzz\r",
			.locale = "C",
		},
		"no group matches the filter"},
};

static void check_words(struct tests *t, const struct scene *scene)
{
	struct terminal terminal;

	open_trace(t, &terminal, scene->golden.rows, scene->golden.columns, &scene->golden);
	terminal_settle(&terminal);
	terminal_type(&terminal, scene->golden.keys);
	terminal_settle(&terminal);
	if (scene->golden.then) {
		terminal_type(&terminal, scene->golden.then);
		terminal_settle(&terminal);
	}
	char *screen = terminal_text(&terminal);

	tell(t, strstr(screen, scene->words) != NULL, "%s says '%s'", scene->golden.name,
		scene->words);
	free(screen);
	terminal_close(&terminal);
}

/* A program that allocates nothing, while it runs. */
static void check_begun(struct tests *t)
{
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.cache = t->scratch,
	};
	char source[1024], program[1024], command[4096];
	char *argv[] = {t->memtui, "run", "--", program, NULL};
	struct terminal terminal;

	snprintf(source, sizeof source, "%s/quiet.c", t->scratch);
	snprintf(program, sizeof program, "%s/quiet", t->scratch);
	FILE *file = fopen(source, "w");

	if (file) {
		fputs("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n", file);
		fclose(file);
	}
	snprintf(command, sizeof command, "cc -o '%s' '%s'", program, source);
	if (!file || system(command) != 0) {
		tell(t, false, "a program that allocates nothing");
		return;
	}
	terminal_start(&terminal, 24, 80, &s, argv);
	bool ok = terminal_wait_text(&terminal, "the recording has just started");

	terminal_type(&terminal, "V");
	ok = ok && terminal_wait_text(&terminal, "nothing grows steadily")
		&& terminal_wait_text(&terminal, "the recording has just started");
	tell(t, ok, "a recording that has just begun says so");
	terminal_type(&terminal, "Q");
	if (terminal_wait_text(&terminal, "still runs"))
		terminal_type(&terminal, "d");
	terminal_wait_end(&terminal);
	terminal_close(&terminal);
}

static bool begins(struct tests *t, int rows, int columns, const struct settings *s,
	const char *keys, const char *there, const char *gone)
{
	char *argv[] = {t->memtui, "open", t->trace, NULL};
	struct terminal terminal;

	terminal_start(&terminal, rows, columns, s, argv);
	bool ok = terminal_settle(&terminal);

	terminal_type(&terminal, keys);
	ok = terminal_settle(&terminal) && ok;
	char *screen = terminal_text(&terminal);

	ok = ok && strstr(screen, there) && !(gone && strstr(screen, gone));
	if (!ok)
		printf("%s\n", screen);
	free(screen);
	terminal_close(&terminal);
	return ok;
}

/* The first run of all says how to go on, once, and in nobody's way. */
static void check_welcome(struct tests *t)
{
	static const struct {
		int rows, columns;
		const char *keys, *there, *gone;
	} runs[] = {
		{24, 80, "", "open a group: backtrace, source", NULL},
		{10, 40, "", "all keys; all actions", NULL},
		{24, 80, "2j", "[2Group]", "open a group: backtrace, source"},
		{24, 80, "\033", "[1Main]", "open a group: backtrace, source"},
		{24, 80, "\033[<0;60;20M\033[<0;60;20m", "[1Main]",
			"open a group: backtrace, source"},
	};
	char directory[1024], marker[1200];
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.config = directory,
		.welcome = true,
	};

	snprintf(directory, sizeof directory, "%s/welcome", t->scratch);
	mkdir(directory, 0700);
	snprintf(marker, sizeof marker, "%s/memtui/welcomed", directory);
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		unlink(marker);
		tell(t,
			begins(t, runs[i].rows, runs[i].columns, &s, runs[i].keys, runs[i].there,
				runs[i].gone),
			"a first run, %dx%d, key %d", runs[i].columns, runs[i].rows, *runs[i].keys);
	}
	tell(t, begins(t, 24, 80, &s, "", "[1Main]", "open a group: backtrace, source"),
		"the next run does without");
}

/* Most lines name a function of a stripped program that passes on to malloc: what to do is said,
 * and does it. */
static void check_wrapper(struct tests *t)
{
	static const char program[] =
		"#include <stdlib.h>\nvoid *kept[9];\n"
		"__attribute__((noinline)) static void *get(int n)\n"
		"{ char *p = malloc(n); *p = 1; return p; }\n"
		"#define AT(n) __attribute__((noinline)) static void at##n(void)"
		"{ kept[n] = get(1000 + n); }\n"
		"AT(1) AT(2) AT(3) AT(4) AT(5) AT(6) AT(7) AT(8)\n"
		"int main(void)\n"
		"{ at1(); at2(); at3(); at4(); at5(); at6(); at7(); at8(); return !kept[1]; }\n";
	char source[1024], command[4096], trace[1024], setting[64] = "", name[64] = "+", keys[128];
	struct golden g = {0};
	struct terminal terminal;

	snprintf(source, sizeof source, "%s/wraps.c", t->scratch);
	snprintf(trace, sizeof trace, "%s/wraps.dat", t->scratch);
	FILE *file = fopen(source, "w");

	if (file) {
		fputs(program, file);
		fclose(file);
	}
	snprintf(command, sizeof command,
		"cd '%s' && cc -O0 -s -o wraps wraps.c && '%s' record -o wraps.dat ./wraps "
		">wraps.log 2>&1",
		t->scratch, t->memtui);
	if (!file || system(command) != 0) {
		tell(t, false, "a program with a wrapper of malloc");
		return;
	}
	t->trace = trace;
	open_trace(t, &terminal, 24, 100, &g);
	terminal_settle(&terminal);
	terminal_type(&terminal, "2");
	tell(t, terminal_wait_text(&terminal, "is it a wrapper of malloc? Enter tells more"),
		"a function that many lines name may be a wrapper");
	terminal_type(&terminal, "\r");
	bool ok = terminal_wait_text(&terminal, "list its callers: F2, wrapper = ^wraps\\+0x");
	char *screen = terminal_text(&terminal), *at = strstr(screen, "wrapper = ^");

	if (at && sscanf(at, "wrapper = %63s", setting) == 1 && strchr(setting, '+'))
		snprintf(name, sizeof name, "%.*s ", (int)strcspn(strchr(setting, '+'), "$"),
			strchr(setting, '+'));
	free(screen);
	tell(t, ok && *setting, "its detail has the setting that lists its callers");
	snprintf(keys, sizeof keys, "q\033OQjjjjjjjjjj\r%s\r", setting);
	terminal_type(&terminal, keys);
	terminal_type(&terminal, "q2");
	ok = terminal_settle(&terminal);
	screen = terminal_text(&terminal);
	ok = ok && !strstr(screen, "a wrapper") && !strstr(screen, name)
		&& strstr(screen, "wraps+0x");
	tell(t, ok, "and lists name them with it: %s", setting);
	if (!ok)
		printf("%s", screen);
	free(screen);
	terminal_close(&terminal);
}

/* A method of C++ that allocates at many places, and is called from many, is no wrapper; one that
 * passes a size on to operator new is. */
static void check_methods(struct tests *t, const char *flags, const char *mode)
{
	char command[4096], trace[1024];
	struct golden g = {0};
	struct terminal terminal;

	snprintf(trace, sizeof trace, "%s/methods.dat", t->scratch);
	snprintf(command, sizeof command,
		"cd '%s' && c++ %s -o methods '%s/../../programs/methods.cc' && '%s' record -f "
		"-o methods.dat ./methods %s >methods.log 2>&1",
		t->scratch, flags, t->source, t->memtui, mode);
	if (system(command) != 0) {
		tell(t, false, "a program with methods");
		return;
	}
	t->trace = trace;
	open_trace(t, &terminal, 40, 120, &g);
	terminal_settle(&terminal);
	terminal_type(&terminal, "2");
	terminal_settle(&terminal);
	char *screen = terminal_text(&terminal);
	bool asked = strstr(screen, "wrapper of malloc?") != NULL;

	tell(t, asked == (*mode != 0) && strstr(screen, *mode ? "pool::take(" : "registry::add("),
		"a method %s a wrapper (%s)", *mode ? "that passes a size on is" : "is not", flags);
	if (asked != (*mode != 0))
		printf("%s", screen);
	free(screen);
	terminal_close(&terminal);
}

/* A function of a template stands in the legend by its name, not by what it returns. */
static void check_legend(struct tests *t)
{
	char command[4096], trace[1024];
	struct golden g = {0};
	struct terminal terminal;

	snprintf(trace, sizeof trace, "%s/legend.dat", t->scratch);
	snprintf(command, sizeof command,
		"cd '%s' && printf '%%s\\n' '#include <string>' "
		"'template <typename T> std::basic_string<T> *make_text(int n) "
		"{ return new std::basic_string<T>(n, 120); }' "
		"'int main() { for (int i = 0; i < 50; i++) make_text<char>(9000); }' >legend.cc "
		"&& c++ -g -O0 -o legend legend.cc && '%s' record -f -o legend.dat ./legend "
		">legend.log 2>&1",
		t->scratch, t->memtui);
	if (system(command) != 0) {
		tell(t, false, "a program with a template");
		return;
	}
	t->trace = trace;
	open_trace(t, &terminal, 24, 80, &g);
	terminal_settle(&terminal);
	char *screen = terminal_text(&terminal);
	const char *name = strstr(screen, "\xe2\x96\x8c make_");
	const char *other = strstr(screen, "\xe2\x96\x8c other");

	/* the list, which is below, has the name as well */
	tell(t, name && other && name < other, "the legend names the function of a template");
	if (!name || !other || name > other)
		printf("%s", screen);
	free(screen);
	terminal_close(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);
	char trace[1024];

	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		snprintf(trace, sizeof trace, "%s/%s.dat", t.scratch, scenes[i].trace);
		t.trace = trace;
		check_golden(&t, &scenes[i].golden);
		if (wanted("golden"))
			check_words(&t, &scenes[i]);
	}
	if (wanted("welcome"))
		check_welcome(&t);
	if (wanted("begun"))
		check_begun(&t);
	if (wanted("wrapper")) {
		check_wrapper(&t);
		check_methods(&t, "-O0 -g", "");
		check_methods(&t, "-O2", "");
		check_methods(&t, "-O0 -g", "wrapper");
		check_methods(&t, "-O2", "wrapper");
		check_legend(&t);
	}
	return t.failed != 0;
}
