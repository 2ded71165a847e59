/* follow MEMTUI LIBRARY WAYS: two terminals look at one recording that its program writes by
 * itself, by the file and by the process, while it grows and when the program has ended. */
#include "tests/screens/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed;
static void say(const char *name, bool ok, struct terminal *t)
{
	char *text = ok ? NULL : terminal_text(t);

	printf(ok ? "ok %s\n" : "not ok %s:\n%s\n", name, text);
	failed |= !ok;
	free(text);
}

static pid_t start(const char *library, char *ways, int *to, int *from)
{
	int in[2], out[2];
	pid_t pid;

	if (pipe(in) < 0 || pipe(out) < 0 || (pid = fork()) < 0)
		exit(2);
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		setenv("LD_PRELOAD", library, 1);
		setenv("MEMTUI_OUTPUT", "follow.mem", 1);
		execl(ways, ways, "phases", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	*to = in[1];
	*from = out[0];
	return pid;
}

static void next_phase(int to, int from)
{
	char line[16];

	if ((to >= 0 && write(to, "\n", 1) != 1)
		|| (from >= 0 && read(from, line, sizeof line) <= 0))
		exit(2);
}

/* Somebody cuts the file that the screen shows. The program, which waits, does not touch it. */
static void cut(char **argv)
{
	struct settings settings = {.term = "xterm-256color", .locale = "C.UTF-8"};
	char *by_file[] = {argv[1], "open", "follow.mem", NULL};
	struct terminal t;
	int to, from;

	unlink("follow.mem");
	pid_t pid = start(argv[2], argv[3], &to, &from);

	next_phase(-1, from);
	terminal_start(&t, 24, 100, &settings, by_file);
	say("open follows a recording that will be cut",
		terminal_wait_text(&t, "LIVE") && terminal_wait_text(&t, "977k"), &t);
	if (truncate("follow.mem", 100) < 0)
		exit(2);
	say("a recording that is cut is incomplete", terminal_wait_text(&t, "INCOMPLETE"), &t);
	terminal_type(&t, "0");
	say("the log says why", terminal_wait_text(&t, "was truncated or overwritten"), &t);
	terminal_type(&t, "1q");
	say("the screen of a cut recording leaves", terminal_wait_end(&t) && t.status == 0, &t);
	terminal_close(&t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(to);
	close(from);
}

int main(int argc, char **argv)
{
	struct settings settings = {.term = "xterm-256color", .locale = "C.UTF-8"};
	struct terminal one, two;
	char number[16];
	int to, from;

	if (argc < 4)
		return 2;
	pid_t pid = start(argv[2], argv[3], &to, &from);

	next_phase(-1, from);
	snprintf(number, sizeof number, "%d", (int)pid);
	char *by_file[] = {argv[1], "open", "follow.mem", NULL};
	char *by_process[] = {argv[1], "attach", number, NULL};

	terminal_start(&one, 24, 100, &settings, by_file);
	say("open follows a recording",
		terminal_wait_text(&one, "LIVE") && terminal_wait_text(&one, "977k"), &one);
	terminal_start(&two, 24, 100, &settings, by_process);
	say("attach finds it by the process",
		terminal_wait_text(&two, "LIVE") && terminal_wait_text(&two, "977k"), &two);
	terminal_type(&one, "9");
	say("what it starts is said to be elsewhere",
		terminal_wait_text(&one, "has its own recording"), &one);
	terminal_type(&one, "1");
	next_phase(to, from);
	say("both see it grow",
		terminal_wait_text(&one, "1.4M") && terminal_wait_text(&two, "1.4M"), &two);
	next_phase(to, -1);
	waitpid(pid, NULL, 0);
	say("both see the program end",
		terminal_wait_text(&one, "ENDED") && terminal_wait_text(&two, "ENDED"), &one);
	terminal_type(&two, "9");
	say("what it started is said to be elsewhere",
		terminal_wait_text(&two, "has its own recording"), &two);
	terminal_type(&one, "q");
	terminal_type(&two, "1q");
	say("both leave",
		terminal_wait_end(&one) && one.status == 0 && terminal_wait_end(&two)
			&& two.status == 0,
		&one);
	terminal_close(&one);
	terminal_close(&two);
	close(to);
	close(from);
	cut(argv);
	return failed;
}
