/* The program's terminal in its pane: what it prints, keys and mouse that it gets, what is kept of
 * it; and real programs. */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TYPE "\r" /* in the pane: gives the program the keyboard */
#define TAKE "\035"

static void start(struct tests *t, struct terminal *terminal, const char *term,
	char *const *program)
{
	struct settings s = {
		.term = term ? term : "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.cache = t->scratch,
	};
	char *argv[16] = {t->memtui, "run", "--", NULL};

	for (int i = 0; program[i]; i++)
		argv[3 + i] = program[i];
	terminal_start(terminal, 24, 80, &s, argv);
	terminal_wait_text(terminal, "memtui");
	terminal_type(terminal, "O");
	terminal_wait_text(terminal, "[O Out");
}

static void start_script(struct tests *t, struct terminal *terminal, const char *term, char *script)
{
	char *program[] = {"/bin/sh", "-c", script, NULL};

	start(t, terminal, term, program);
}

/* Ends memtui, and the program where it runs. */
static void stop(struct terminal *terminal)
{
	terminal_type(terminal, TAKE "\033");
	terminal_settle(terminal);
	terminal_type(terminal, "Q");
	if (terminal_wait_text(terminal, "memtui"))
		terminal_settle(terminal);
	char *screen = terminal_text(terminal);

	terminal_type(terminal, "d");
	free(screen);
	terminal_wait_end(terminal);
	terminal_close(terminal);
}

static bool sees(struct tests *t, struct terminal *terminal, const char *text, const char *name)
{
	bool found = terminal_wait_text(terminal, text);

	tell(t, found, "%s", name);
	if (!found) {
		char *screen = terminal_text(terminal);

		printf("wanted: %s\n%s", text, screen);
		free(screen);
	}
	return found;
}

static bool lacks(struct terminal *terminal, const char *text)
{
	char *screen = terminal_text(terminal);
	bool there = strstr(screen, text) != NULL;

	free(screen);
	return !there;
}

/* The cell where a text of ASCII begins. */
static bool cell_of(struct terminal *terminal, const char *text, VTermScreenCell *cell)
{
	for (int row = 2; row < terminal->rows; row++) /* the title has the command line */
		for (int column = 0; column + (int)strlen(text) <= terminal->columns; column++) {
			size_t i = 0;

			for (; text[i]; i++) {
				VTermScreenCell at;

				vterm_screen_get_cell(vterm_obtain_screen(terminal->vterm),
					(VTermPos){row, column + (int)i}, &at);
				if (at.chars[0] != (uint8_t)text[i])
					break;
			}
			if (!text[i])
				return vterm_screen_get_cell(vterm_obtain_screen(terminal->vterm),
					(VTermPos){row, column}, cell);
		}
	return false;
}

/* ---- what it is ---- */

/* As that of a saved trace says it. */
static void check_title(struct tests *t)
{
	static char script[] = "read x\n\techo $x\033";
	struct terminal terminal;

	start_script(t, &terminal, NULL, script);
	sees(t, &terminal, "-c read x\\n\\techo $x\\x1b  pid",
		"the title shows line breaks, tabs and controls of the command as in a string");
	stop(&terminal);
}

/* ---- what it prints ---- */

/* REP that ends a column before the edge, and none. */
static void check_repeats(struct tests *t)
{
	static char script[] = "printf 'a\\033[75bXYZ__'; printf 'b\\033[77bVW\\n'; printf "
			       "'c\\033[b\\033[31md\\033[3b\\033[0m-'; printf "
			       "'\\346\\227\\245\\033[2b|\\033[5mk\\033[4bm\\033[25m'; read x";
	struct terminal terminal;

	start_script(t, &terminal, NULL, script);
	sees(t, &terminal, "aXYZ_\n_b", "a repeated character leaves the columns behind it");
	sees(t, &terminal, "bV\nW\nccdddd-日日日|kkkkkm", "up to the edge, and in any style");
	stop(&terminal);
}

static void check_looks(struct tests *t)
{
	static char script[] =
		"printf '\\033[31mAred\\033[0m \\033[38;5;208mBorange\\033[0m "
		"\\033[38;2;0;135;255mCblue\\033[0m \\033[44mDback\\033[0m \\033[1mEbold\\033[0m "
		"\\033[4mFline\\033[0m \\033[7mGback\\033[0m \\033[3mHital\\033[0m\\n'; printf "
		"'\\033]2;a title of its own\\007wide "
		"\\346\\227\\245\\346\\234\\254 end\\n'; read x";
	VTermScreenCell a, b, c, d, e, f, g, h;
	struct terminal terminal;

	start_script(t, &terminal, NULL, script);
	sees(t, &terminal, "wide 日本 end", "wide characters take two columns");
	sees(t, &terminal, "a title of its own", "the program's title is shown");
	bool found = cell_of(&terminal, "Ared", &a) && cell_of(&terminal, "Borange", &b)
		&& cell_of(&terminal, "Cblue", &c) && cell_of(&terminal, "Dback", &d)
		&& cell_of(&terminal, "Ebold", &e) && cell_of(&terminal, "Fline", &f)
		&& cell_of(&terminal, "Gback", &g) && cell_of(&terminal, "Hital", &h);

	tell(t, found && VTERM_COLOR_IS_INDEXED(&a.fg) && a.fg.indexed.idx == 1,
		"one of 16 colours is the terminal's own");
	tell(t, found && VTERM_COLOR_IS_INDEXED(&b.fg) && b.fg.indexed.idx == 208,
		"one of 256 colours stays it");
	tell(t, found && VTERM_COLOR_IS_INDEXED(&c.fg) && c.fg.indexed.idx == 33,
		"any other colour is the nearest of 256");
	tell(t, found && VTERM_COLOR_IS_INDEXED(&d.bg) && d.bg.indexed.idx == 4,
		"so is the background");
	tell(t,
		found && e.attrs.bold && f.attrs.underline && g.attrs.reverse && h.attrs.italic
			&& !a.attrs.bold && !h.attrs.underline,
		"bold, underline, reverse, italic");
	stop(&terminal);

	start_script(t, &terminal, "vt220", script);
	found = sees(t, &terminal, "Ebold", "a terminal without colours shows the same text")
		&& cell_of(&terminal, "Ared", &a) && cell_of(&terminal, "Ebold", &e);
	tell(t, found && VTERM_COLOR_IS_DEFAULT_FG(&a.fg) && e.attrs.bold,
		"in no colour, but bold");
	stop(&terminal);
}

static void check_scrollback(struct tests *t)
{
	static char script[] = "seq 1 12000; printf '\\033[31mlast\\033[0m\\n'; read x; exit 3";
	struct terminal terminal;
	uint64_t before;
	VTermScreenCell cell;

	start_script(t, &terminal, NULL, script);
	sees(t, &terminal, "12000\nlast", "the end of long output is shown"); /* not in the title */
	terminal_type(&terminal, "\033[5~");
	sees(t, &terminal, "\n11970\n", "PgUp goes back");
	terminal_type(&terminal, "g");
	sees(t, &terminal, "line 1 of 100", "g goes to the oldest line that is kept");
	tell(t, lacks(&terminal, " 1982\n") && !lacks(&terminal, "1983"),
		"10,000 lines are kept beyond the screen");
	terminal_type(&terminal, "/^77.7$\r");
	sees(t, &terminal, "10 lines match", "/ counts the lines that match");
	sees(t, &terminal, "\n7707\n", "and goes to the first");
	tell(t, cell_of(&terminal, "7707", &cell) && cell.attrs.reverse, "which is marked");
	terminal_type(&terminal, "n");
	terminal_settle(&terminal);
	tell(t,
		cell_of(&terminal, "7717", &cell) && cell.attrs.reverse
			&& cell_of(&terminal, "7707", &cell) && !cell.attrs.reverse,
		"n goes to the next");
	terminal_type(&terminal, "NN");
	sees(t, &terminal, "\n7797\n", "N goes back, and around");
	terminal_type(&terminal, "\033[<65;20;9M\033[<65;20;9M");
	terminal_settle(&terminal);
	tell(t, cell_of(&terminal, "7797", &cell) && !cell.attrs.reverse, "the wheel scrolls");
	terminal_type(&terminal, "p");
	sees(t, &terminal, " FROZEN", "p freezes it");
	terminal_settle(&terminal);
	before = terminal.received;
	terminal_read_for(&terminal, 600);
	tell(t, terminal.received == before, "and then nothing is sent");
	terminal_type(&terminal, "p");
	terminal_type(&terminal, "G");
	sees(t, &terminal, "last", "G goes back to the end");
	terminal_type(&terminal, TYPE "\r");
	sees(t, &terminal, "[program exited (3)]", "the last line says how the program ended");
	terminal_type(&terminal, "/^2500$\r");
	sees(t, &terminal, "\n2500\n", "what it printed is kept after its end");
	stop(&terminal);
}

/* What it wrote on the screen that it came from is there again, and what scrolled on the other one
 * is not kept. */
static void check_alternate(struct tests *t)
{
	static char script[] =
		"echo be''fore; printf '\\033[?1049h\\033[H'; seq 1 100; read x; printf "
		"'\\033[?1049l'; echo af''ter; read x";
	struct terminal terminal;

	start_script(t, &terminal, NULL, script);
	sees(t, &terminal, "\n100\n", "the alternate screen is shown");
	terminal_type(&terminal, "g");
	terminal_settle(&terminal);
	tell(t, lacks(&terminal, "\nbefore") && !lacks(&terminal, "\n100\n"),
		"it has nothing to scroll back to");
	terminal_type(&terminal, TYPE "\r");
	sees(t, &terminal, "\nbefore\nafter\n\n\n", "it goes, and leaves what was there before");
	stop(&terminal);
}

static void check_size(struct tests *t)
{
	static char script[] =
		"trap 'stty size' WINCH; stty size; seq 1 30; while :; do read x; done";
	struct terminal terminal;

	start_script(t, &terminal, NULL, script);
	sees(t, &terminal, "\n30\n", "no output yet"); /* not in the title */
	terminal_resize(&terminal, 40, 110);
	sees(t, &terminal, "36 110", "a new size is passed on");
	sees(t, &terminal, "20 80", "and what had scrolled out comes back into a larger screen");
	terminal_resize(&terminal, 10, 40);
	sees(t, &terminal, "6 40", "a smaller one is passed on too");
	stop(&terminal);
}

/* ---- what it gets ---- */

static void check_keys(struct tests *t)
{
	static char script[] =
		"stty raw -echo; printf '\\033[?1h\\033[?2004h\\033[5 qready'; cat -v";
	struct terminal terminal;

	start_script(t, &terminal, NULL, script);
	sees(t, &terminal, "ready", "the program waits for keys");
	terminal_type(&terminal, TYPE);
	sees(t, &terminal, "take the keyboard back", "Enter sends keys to the program");
	tell(t, terminal.cursor_shown && terminal.cursor_shape == VTERM_PROP_CURSORSHAPE_BAR_LEFT,
		"the cursor has the shape that it asked for");
	terminal_type(&terminal, "\033[A");
	sees(t, &terminal, "ready^[OA", "cursor keys as its mode asks for");
	terminal_type(&terminal, "\033[1;5C\033[3;2~");
	sees(t, &terminal, "^[[1;5C^[[3;2~", "with control and shift");
	terminal_type(&terminal, "\n\b\177\032\003q");
	sees(t, &terminal, "^H^?^Z^Cq", "^J, ^H, ^Z, ^C and letters as they are typed");
	terminal_type(&terminal, "\033[200~pa\035ste\033[201~.");
	sees(t, &terminal, "^[[200~pa^]ste^[[201~.",
		"what is pasted is marked as that, whatever is in it");
	terminal_type(&terminal, "\xe6\x97\xa5");
	sees(t, &terminal, "M-fM-^WM-%", "characters of other alphabets");
	terminal_type(&terminal, TAKE);
	sees(t, &terminal, "F1Help", "^] takes the keyboard back");
	tell(t, !terminal.cursor_shown && terminal.cursor_shape == VTERM_PROP_CURSORSHAPE_BLOCK,
		"and the cursor is as before");
	terminal_type(&terminal, "2");
	sees(t, &terminal, "[2Group]", "keys are memtui's again");
	stop(&terminal);
}

static void check_mouse(struct tests *t)
{
	static char script[] = "stty raw -echo; printf '\\033[?1002h\\033[?1006hready'; cat -v";
	static char quiet[] = "seq 1 200; cat";
	struct terminal terminal;

	start_script(t, &terminal, NULL, script);
	sees(t, &terminal, "ready", "the program asks for the mouse");
	terminal_type(&terminal, "\033[<0;5;6M\033[<0;5;6m");
	sees(t, &terminal, "take the keyboard back", "a click gives it the keyboard");
	tell(t, lacks(&terminal, "^[[<"), "that click is not its own");
	terminal_type(&terminal, "\033[<0;5;6M\033[<32;7;6M\033[<0;7;6m\033[<65;5;6M");
	sees(t, &terminal, "^[[<0;5;4M^[[<32;7;4M^[[<0;7;4m^[[<65;5;4M",
		"clicks, moves and the wheel come from its place in the pane");
	terminal_type(&terminal, "\033[<0;6;2M\033[<0;6;2m");
	terminal_settle(&terminal);
	tell(t, lacks(&terminal, "[O Out]"), "a click outside the pane is memtui's");
	stop(&terminal);

	start_script(t, &terminal, NULL, quiet);
	sees(t, &terminal, "\n200", "another one does not ask for it");
	terminal_type(&terminal, TYPE "\033[<64;5;6M");
	sees(t, &terminal, "line 179 of 201", "then the wheel scrolls while it has the keyboard");
	terminal_type(&terminal, "x\r");
	terminal_wait_text(&terminal, "x");
	sees(t, &terminal, "\n200", "and typing goes back to the end");
	stop(&terminal);
}

/* ---- real programs ---- */

/* Keys to type, and what is then on the screen. */
struct round {
	const char *keys, *text;
};

static void check_program(struct tests *t, const char *name, const char *path, char *const *program,
	const struct round *steps)
{
	struct terminal terminal;
	bool good = true;

	if (access(path, X_OK) < 0) {
		printf("ok program: %s # skipped: there is no %s\n", name, path);
		return;
	}
	start(t, &terminal, NULL, program);
	for (int i = 0; steps[i].text && good; i++) {
		terminal_type(&terminal, steps[i].keys);
		good = terminal_wait_text(&terminal, steps[i].text);
		if (!good) {
			char *screen = terminal_text(&terminal);

			printf("after step %d, wanted '%s':\n%s", i, steps[i].text, screen);
			free(screen);
		}
	}
	tell(t, good, "%s is usable in the pane", name);
	stop(&terminal);
}

static void check_programs(struct tests *t)
{
	static char *bash[] = {"/bin/bash", "--norc", "--noprofile", NULL};
	static const struct round bash_steps[] = {
		{"", "bash-"},
		{TYPE, "take the keyboard back"},
		{"echo $((6*7))\r", "\n42"},
		{"\033[A\033[1;5D8\r", "echo $((6*87))"},
		{"", "\n522"},
		{"stty size; echo $TERM\r", "20 80\nxterm-256color"},
		{"cat\r", "cat\n"},
		{"twice\r", "twice\ntwice"},
		{"\032", "Stopped"},
		{"exit\rexit 4\r", "exited (4)"},
		{0},
	};
	static char *python[] = {"/usr/bin/env", "python3", "-q", NULL};
	static const struct round python_steps[] = {
		{"", ">>>"},
		{TYPE, "take the keyboard back"},
		{"print(6*7, 'x'*3)\r", "\n42 xxx"},
		{"\003", "KeyboardInterrupt"},
		{"exit(3)\r", "exited (3)"},
		{0},
	};
	static char *top[] = {"/usr/bin/top", "-d", "1", NULL};
	static const struct round top_steps[] = {
		{"", "load average"},
		{TYPE, "take the keyboard back"},
		{"h", "Type 'q' or <Esc>"},
		{"\033", "load average"},
		{"q", "exited (0)"},
		{0},
	};
	static char *vim[] = {"/usr/bin/vim", "-u", "NONE", "-i", "NONE", "-n", "-N", "pane.txt",
		NULL};
	static const struct round vim_steps[] = {
		{"", "~\n~"},
		{TYPE, "take the keyboard back"},
		{"ihello", "hello"},
		{"\r\033[A\033[Hoh \033", "oh hello"},
		{":set number\r", "  1 oh hello"},
		{":s/hello/wörld/\r", "oh wörld"},
		{":wq\r", "exited (0)"},
		{0},
	};
	static char *nano[] = {"/usr/bin/nano", "-I", "pane2.txt", NULL};
	static const struct round nano_steps[] = {
		{"", "^X"},
		{TYPE, "take the keyboard back"},
		{"hello\r", "hello"},
		{"\017\r", "Wrote"},
		{"\030", "exited (0)"},
		{0},
	};
	static char *less[] = {"/usr/bin/less", "/etc/services", NULL};
	static const struct round less_steps[] = {
		{"", "services"},
		{TYPE, "take the keyboard back"},
		{"G", "END"},
		{"g/https\r", "https"},
		{"q", "exited (0)"},
		{0},
	};

	check_program(t, "bash", bash[0], bash, bash_steps);
	check_program(t, "python3", "/usr/bin/env", python, python_steps);
	check_program(t, "top", top[0], top, top_steps);
	check_program(t, "vim", vim[0], vim, vim_steps);
	check_program(t, "nano", nano[0], nano, nano_steps);
	check_program(t, "less", less[0], less, less_steps);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*check)(struct tests *);
	} checks[] = {
		{"program-title", check_title},
		{"program-looks", check_looks},
		{"program-repeats", check_repeats},
		{"program-scrollback", check_scrollback},
		{"program-alternate", check_alternate},
		{"program-size", check_size},
		{"program-keys", check_keys},
		{"program-mouse", check_mouse},
		{"program-real", check_programs},
	};
	struct tests t = tests_begin(argc, argv);

	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
		if (wanted(checks[i].name))
			checks[i].check(&t);
	return t.failed != 0;
}
