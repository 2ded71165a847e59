/* Random keys on a running program: MEMTUI_RANDOM_SECONDS of them, 5 by default; those of every
 * action there is, clicks and sizes. A session that they end is begun anew. Keys that send signals
 * or leave the program running are among them. */
#include "screens.h"
#include "tui/actions.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAULT 99 /* exit status of the sanitizers */
#define KEYS_MAX 400

static const char *const others[] = {"\r", "\r", "\033", "\033", "y", "d", "e", "s", "a", "(", "x1",
	"size>=1k", "thread:1", "\177", "\xc3\xa9", "\xff", "\xe6\x97\xa5",
	"\033[<0;50;6M\033[<0;50;6m", "\033[<0;50;6M\033[<32;60;6M\033[<0;60;6m", "\033[<0;5;6M",
	"\033[<0;40;12M", "\033[<0;3;2M", "\033[<0;30;2M", "\033[<0;20;3M", "\033[<65;20;9M",
	"\033[<64;20;9M", "\033[<2;20;9M", "\033[1;5C", "\033[200~paste\033[201~", "\035", "\035",
	"\033[A", "\033[B", "\033[Z"};
static const struct {
	const char *name, *bytes;
} names[] = {
	{"Up", "\033[A"},
	{"Down", "\033[B"},
	{"Left", "\033[D"},
	{"Right", "\033[C"},
	{"Home", "\033[H"},
	{"End", "\033[F"},
	{"PgUp", "\033[5~"},
	{"PgDn", "\033[6~"},
	{"Ins", "\033[2~"},
	{"Del", "\033[3~"},
	{"S-Tab", "\033[Z"},
	{"Tab", "\t"},
	{"Enter", "\r"},
	{"Esc", "\033"},
	{"Backspace", "\177"},
	{"Space", " "},
	{"F1", "\033OP"},
	{"F2", "\033OQ"},
	{"F3", "\033OR"},
	{"F4", "\033OS"},
	{"F5", "\033[15~"},
	{"F6", "\033[17~"},
	{"F7", "\033[18~"},
	{"F8", "\033[19~"},
	{"F9", "\033[20~"},
};

struct keys {
	char bytes[KEYS_MAX][12];
	unsigned count;
};

static void add_key(struct keys *k, const char *name, size_t len)
{
	char *out = k->bytes[k->count];

	if (k->count == KEYS_MAX || len >= sizeof k->bytes[0])
		return;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i].name) == len && !memcmp(names[i].name, name, len)) {
			strcpy(out, names[i].bytes);
			k->count++;
			return;
		}
	if (len == 2 && name[0] == '^')
		sprintf(out, "%c", name[1] & 0x1f);
	else if (len == 1)
		sprintf(out, "%c", name[0]);
	else
		/* F10: it leaves */
		return;
	/* ^Z stops memtui, which a test of its own covers; the others leave it. */
	k->count += !strchr("\032\003Q", out[0]);
}

static struct keys all_keys(void)
{
	static const char *const lists[] = {
#define X(id, scope, list, bar, name, words) list,
		MT_ACTIONS(X)
#undef X
	};
	struct keys k = {.count = 0};

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (const char *at = lists[i]; *at; at += strspn(at, " ")) {
			size_t len = strcspn(at, " ");

			add_key(&k, at, len);
			at += len;
		}
	return k;
}

/* false: the program does not run, or memtui does not show it. */
static bool start(struct tests *t, struct terminal *terminal)
{
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.cache = t->scratch,
		.config = t->scratch,
	};
	/* Keys may leave it running: it ends soon after the test, whose seconds it has to last. */
	static char seconds[] = "75";
	char *argv[] = {t->memtui, "run", "-f", "-o", "random.dat", "--", t->demo, seconds, NULL};

	terminal_start(terminal, 30, 100, &s, argv);
	return terminal_wait_text(terminal, "LIVE");
}

static void show(struct terminal *terminal, const char *typed)
{
	char *screen = terminal_text(terminal);

	printf("status %x, typed last: ", (unsigned)terminal->status);
	for (; *typed; typed++)
		printf(*typed < 32 || *typed == 127 ? "\\x%02x" : "%c", *typed);
	printf("\n%s\n", screen);
	free(screen);
}

/* Whether it ended of itself, in a way that keys may end it: not by a fault. */
static bool good_end(const struct terminal *terminal)
{
	return WIFEXITED(terminal->status) && WEXITSTATUS(terminal->status) != FAULT;
}

static void end(struct terminal *terminal)
{
	for (int i = 0; i < 5 && !terminal->ended; i++) {
		terminal_type(terminal, "\035\033");
		terminal_read_for(terminal, 100);
		terminal_type(terminal, "\033\003");
		terminal_read_for(terminal, 300);
		terminal_type(terminal, "e");
		terminal_read_for(terminal, 300);
	}
	if (!terminal->ended)
		terminal_wait_end(terminal);
}

static void check_random(struct tests *t, unsigned seconds)
{
	static const int sizes[][2] = {{30, 100}, {24, 80}, {10, 40}, {8, 30}, {50, 160}};
	struct keys keys = all_keys();
	unsigned seed =
		getenv("MEMTUI_RANDOM_SEED") ? (unsigned)atoi(getenv("MEMTUI_RANDOM_SEED")) : 1;
	unsigned sessions = 1;
	unsigned long typed = 0, other = sizeof others / sizeof *others;
	char last[1024] = "";
	struct terminal terminal;
	time_t until = time(NULL) + (time_t)seconds;
	bool good = start(t, &terminal);

	while (good && time(NULL) < until) {
		seed = seed * 1103515245 + 12345;
		unsigned at = (seed >> 16) % (keys.count + (unsigned)other);
		const char *bytes = at < keys.count ? keys.bytes[at] : others[at - keys.count];

		if (strlen(last) + strlen(bytes) > sizeof last / 2)
			memmove(last, last + sizeof last / 4, sizeof last - sizeof last / 4);
		strcat(last, bytes);
		terminal_type(&terminal, bytes);
		if (++typed % 100 == 0)
			terminal_resize(&terminal, sizes[seed >> 20 & 3][0],
				sizes[seed >> 20 & 3][1]);
		/* it may answer only the next time: a running program draws at all times */
		if (typed % 7 == 0)
			terminal_read_for(&terminal, 20);
		if (!terminal.ended)
			continue;
		good = good_end(&terminal);
		if (!good)
			break;
		terminal_close(&terminal);
		good = start(t, &terminal);
		sessions++;
	}
	if (good) {
		end(&terminal);
		good = terminal.ended && good_end(&terminal) && terminal_restored(&terminal);
	}
	tell(t, good, "%lu random keys of %u in %u s on a running program, %u sessions", typed,
		keys.count + (unsigned)other, seconds, sessions);
	if (!good)
		show(&terminal, last);
	terminal_close(&terminal);
}

/* Keys may have left a program running, and stopped: what has lost its parent is ours by now. */
static void end_left(void)
{
	char path[64];
	int pid;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	do {
		FILE *children = fopen(path, "re");

		if (!children || fscanf(children, "%d", &pid) != 1)
			pid = 0;
		if (children)
			fclose(children);
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
	} while (pid > 0);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);
	const char *seconds = getenv("MEMTUI_RANDOM_SECONDS");

	prctl(PR_SET_CHILD_SUBREAPER, 1);

	if (wanted("random-live"))
		check_random(&t, seconds ? (unsigned)atoi(seconds) : 5);
	end_left();
	return t.failed != 0;
}
