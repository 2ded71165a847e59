/* The question at the end is the same everywhere: its letters, what they do to the program and its
 * recording, and that nothing is left in the cache that nobody knows of.
 * Arguments as screens_test. */
#include "comfort.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

/* Names below a directory of the test that begin so; with the paths of the last one. */
static int count_files(const char *directory, const char *prefix, char *last)
{
	DIR *files = opendir(directory);
	struct dirent *file;
	int count = 0;

	while (files && (file = readdir(files)))
		if (!strncmp(file->d_name, prefix, strlen(prefix)) && file->d_name[0] != '.') {
			if (last)
				snprintf(last, 1024, "%.700s/%.300s", directory, file->d_name);
			count++;
		}
	if (files)
		closedir(files);
	return count;
}

static void make_directory(char out[1024], struct tests *t, const char *name)
{
	char command[2048];

	snprintf(out, 1024, "%s/%s", t->scratch, name);
	snprintf(command, sizeof command, "rm -rf '%s' && mkdir -p '%s'", out, out);
	if (system(command) != 0)
		tell(t, false, "%s can be made", out);
}

/* A session in directories of its own. */
struct place {
	char work[1024], cache[1024], kept[1024];
	struct terminal terminal;
};

static void begin(struct tests *t, struct place *p, char *const *argv, bool anew)
{
	struct settings s = {.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = p->work,
		.cache = p->cache};

	if (anew) {
		make_directory(p->work, t, "quit-work");
		make_directory(p->cache, t, "quit-cache");
		snprintf(p->kept, sizeof p->kept, "%.900s/memtui", p->cache);
	}
	terminal_start(&p->terminal, 24, 80, &s, argv);
}

static int pid_shown(struct terminal *terminal)
{
	char *screen = terminal_text(terminal), *at = strstr(screen, "pid ");
	int pid = at ? atoi(at + 4) : 0;

	free(screen);
	return pid;
}

/* It has ended; whether its new parent has noticed is another matter. */
static bool gone(int pid)
{
	char path[64], *status;
	bool ended;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	status = read_file(path);
	ended = !*status || strstr(status, ") Z ");
	free(status);
	return pid > 1 && ended;
}

/* Types the answer, and waits for the end. saved: how many recordings are then in the working
 * directory; nothing is in the cache unless the program runs on. */
static void check_answer_of(struct tests *t, const char *asked, const char *keys, int saved,
	bool runs_on)
{
	static char script[] = "echo up; read x";
	char *argv[] = {t->memtui, "run", "--", "/bin/sh", "-c", script, NULL};
	struct place p;

	begin(t, &p, argv, true);
	bool ok = terminal_wait_text(&p.terminal, "LIVE");
	int pid = pid_shown(&p.terminal);

	terminal_type(&p.terminal, "O");
	ok = terminal_wait_text(&p.terminal, "\nup") && ok; /* by then it is recorded */
	terminal_type(&p.terminal, "Q");
	ok = terminal_wait_text(&p.terminal, asked) && ok;
	terminal_type(&p.terminal, keys);
	ok = terminal_wait_end(&p.terminal) && ok;
	char *screen = terminal_text(&p.terminal);
	int there = count_files(p.work, "memtui_sh_", NULL);
	int left = count_files(p.kept, "unsaved_", NULL);
	bool good = ok && gone(pid) == !runs_on && there == saved && left == runs_on;

	tell(t, good, "run, then %s: %d saved, the program %s", *keys == '\r' ? "Enter" : keys,
		saved, runs_on ? "runs on" : "has ended");
	if (!good)
		printf("%d saved, %d in the cache, the program %s\n%s", there, left,
			gone(pid) ? "has ended" : "runs on", screen);
	free(screen);
	terminal_close(&p.terminal);
	if (runs_on && pid > 1)
		kill(pid, SIGKILL);
}

/* With a name: e and Enter end the program, attach's Enter leaves it running. */
static void check_named(struct tests *t)
{
	char pid_text[16];
	char *run[] = {t->memtui, "run", "-o", "named.dat", "--", "/bin/sh", "-c", "read x", NULL};
	char *attach[] = {t->memtui, "attach", pid_text, NULL};
	struct place p, q;

	begin(t, &p, run, true);
	bool ok = terminal_wait_text(&p.terminal, "LIVE");
	int pid = pid_shown(&p.terminal);

	snprintf(pid_text, sizeof pid_text, "%d", pid);
	memcpy(&q, &p, sizeof q);
	begin(t, &q, attach, false);
	ok = terminal_wait_text(&q.terminal, "LIVE") && ok;
	terminal_type(&q.terminal, "Q");
	ok = terminal_wait_text(&q.terminal, "Enter: k") && ok;
	terminal_type(&q.terminal, "d"); /* a name that somebody gave is not for memtui to remove */
	terminal_type(&q.terminal, "q");
	ok = terminal_wait_end(&q.terminal) && ok;
	tell(t, ok && !gone(pid), "attach, then q twice: the program runs on");
	terminal_close(&q.terminal);
	terminal_type(&p.terminal, "Q");
	ok = terminal_wait_text(&p.terminal, "Enter: e") && ok;
	terminal_type(&p.terminal, "\003");
	ok = terminal_wait_end(&p.terminal) && ok;
	tell(t, ok && gone(pid) && count_files(p.work, "named.dat", NULL) == 1,
		"run -o, then ^C twice: the program has ended, the recording has its name");
	terminal_close(&p.terminal);
}

/* Many processes: all of them, that which is shown alone, or none. */
static void check_many(struct tests *t, const char *asked, const char *keys, int files,
	int directories)
{
	static char script[] = "for i in 1 2 3; do ls / >/dev/null; done; echo over; read x";
	char *argv[] = {t->memtui, "run", "--", "/bin/sh", "-c", script, NULL}, last[1024] = "";
	struct place p;

	begin(t, &p, argv, true);
	bool ok = terminal_wait_text(&p.terminal, "LIVE");

	terminal_type(&p.terminal, "O");
	ok = terminal_wait_text(&p.terminal, "\nover") && ok;
	terminal_type(&p.terminal, "Q");
	ok = terminal_wait_text(&p.terminal, asked) && ok;
	terminal_type(&p.terminal, keys);
	ok = terminal_wait_end(&p.terminal) && ok;
	char *screen = terminal_text(&p.terminal);
	int there = count_files(p.work, "memtui_", last);
	int inside = directories ? count_files(last, "memtui_", NULL) : 0;
	bool good = ok && there == (directories ? directories : files)
		&& (!directories || inside == files) && !count_files(p.kept, "unsaved_", NULL);

	tell(t, good, "four processes, then %s: %d recordings in %d directories", keys, files,
		directories);
	if (!good)
		printf("%d here, %d in %s\n%s", there, inside, last, screen);
	free(screen);
	terminal_close(&p.terminal);
}

/* The program has ended, a worker of it has not: that is said, and the worker is ended, too. */
static void check_worker(struct tests *t)
{
	static char script[] = "setsid sh -c 'echo worker $$; exec sleep 1000' & read x";
	char *argv[] = {t->memtui, "run", "--", "/bin/sh", "-c", script, NULL};
	struct place p;

	begin(t, &p, argv, true);
	bool ok = terminal_wait_text(&p.terminal, "LIVE");

	terminal_type(&p.terminal, "9");
	ok = terminal_wait_text(&p.terminal, "  sleep 1000") && ok;
	terminal_type(&p.terminal, "O\r\r\035");
	ok = terminal_wait_text(&p.terminal, "program exited (0)") && ok;
	ok = terminal_wait_text(&p.terminal, "1 process still runs: press 9") && ok;
	ok = terminal_wait_text(&p.terminal, "\nworker ") && ok;
	char *screen = terminal_text(&p.terminal), *at = strstr(screen, "\nworker ");
	int worker = at ? atoi(at + 8) : 0;

	terminal_type(&p.terminal, "Q");
	ok = terminal_wait_text(&p.terminal, "of the program still run") && ok;
	terminal_type(&p.terminal, "d");
	ok = terminal_wait_end(&p.terminal) && ok;
	bool good = ok && gone(worker) && !count_files(p.kept, "unsaved_", NULL);

	tell(t, good, "what a program leaves running is said and ended with it");
	if (!good)
		printf("worker %d\n%s\n%s", worker, screen, terminal_text(&p.terminal));
	free(screen);
	terminal_close(&p.terminal);
}

/* A process of a session without a name, watched alone: its recording is saved, and the session
 * goes on. keys: of its question. */
static void check_part(struct tests *t, const char *keys, bool saved, bool runs_on)
{
	static char script[] = "sh -c 'echo child $$; sleep 1000; :' & read x";
	char pid_text[16], name[64], last[1024] = "";
	char *run[] = {t->memtui, "run", "--", "/bin/sh", "-c", script, NULL};
	char *attach[] = {t->memtui, "attach", pid_text, NULL};
	struct place p, q;

	begin(t, &p, run, true);
	bool ok = terminal_wait_text(&p.terminal, "LIVE");

	terminal_type(&p.terminal, "O");
	ok = terminal_wait_text(&p.terminal, "\nchild ") && ok;
	char *screen = terminal_text(&p.terminal), *at = strstr(screen, "\nchild ");
	int child = at ? atoi(at + 7) : 0;

	free(screen);
	snprintf(pid_text, sizeof pid_text, "%d", child);
	snprintf(name, sizeof name, "_%d.dat", child);
	memcpy(&q, &p, sizeof q);
	begin(t, &q, attach, false);
	ok = terminal_wait_text(&q.terminal, "LIVE") && ok;
	terminal_type(&q.terminal, "Q");
	ok = terminal_wait_text(&q.terminal, "s  end it, save its recording in this directory")
		&& ok;
	terminal_type(&q.terminal, keys);
	ok = terminal_wait_end(&q.terminal) && ok;
	screen = terminal_text(&q.terminal);
	int there = count_files(q.work, "memtui_sh_", last);
	bool good = ok && !there == !saved && gone(child) == !runs_on && strstr(screen, name)
		&& (!saved || strstr(last, name));

	tell(t, good, "a process watched alone, then %s: its recording is %s, and named", keys,
		saved ? "saved" : "where it was");
	if (!good)
		printf("%d saved, child %d\n%s", there, child, screen);
	free(screen);
	terminal_close(&q.terminal);
	terminal_type(&p.terminal, "Q");
	ok = terminal_wait_text(&p.terminal, "The program still runs");
	terminal_type(&p.terminal, "d");
	tell(t, terminal_wait_end(&p.terminal) && ok, "its session goes on till it is ended");
	terminal_close(&p.terminal);
}

/* Sessions whose end nobody saw: the oldest go when another one begins. */
static void check_bound(struct tests *t)
{
	char *argv[] = {t->memtui, "run", "--", "/bin/true", NULL}, path[2048];
	struct place p;

	make_directory(p.work, t, "quit-work");
	make_directory(p.cache, t, "quit-cache");
	snprintf(p.kept, sizeof p.kept, "%.900s/memtui", p.cache);
	mkdir(p.kept, 0700);
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof path, "%s/unsaved_old%03d", p.kept, i);
		mkdir(path, 0700);
		snprintf(path, sizeof path, "%s/unsaved_old%03d/memtui_x.dat", p.kept, i);
		write_file(path, "x", 0600);
	}
	begin(t, &p, argv, false);
	bool ok = terminal_wait_text(&p.terminal, "program exited (0)");

	terminal_type(&p.terminal, "Qd");
	ok = terminal_wait_end(&p.terminal) && ok;
	int left = count_files(p.kept, "unsaved_", NULL);

	tell(t, ok && left == 7, "the cache holds eight unsaved sessions at most: %d and this one",
		left);
	terminal_close(&p.terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (!wanted("quit"))
		return 0;
	check_answer_of(&t, "Enter: s", "\r", 1, false);
	check_answer_of(&t, "Enter: s", "q", 1, false);
	check_answer_of(&t, "Enter: s", "\003", 1, false);
	check_answer_of(&t, "s  end it, save", "s", 1, false);
	check_answer_of(&t, "Enter: s", "e", 1, false);
	check_answer_of(&t, "d  end it, discard", "d", 0, false);
	check_answer_of(&t, "k  keep it running and recorded", "k", 0, true);
	check_named(&t);
	check_many(&t, "save the recordings of all 4 processes", "a", 4, 1);
	check_many(&t, "save only that of process", "s", 1, 0);
	check_many(&t, "discard all recordings", "d", 0, 0);
	check_worker(&t);
	check_part(&t, "s", true, false);
	check_part(&t, "k", false, true);
	check_bound(&t);
	return t.failed != 0;
}
