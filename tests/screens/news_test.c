/* A key and news of the program that come at once: the picture that answers the key comes first,
 * out of what is there. news_test as screens_test. */
#include "screens.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct settings settings(struct tests *t)
{
	return (struct settings){
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.cache = t->scratch,
		.frames = true,
	};
}

/* "1/1 group" of the status line; empty: it is not there. */
static void groups_of(const char *screen, char out[32])
{
	const char *end = screen ? strstr(screen, " group") : NULL;

	while (end && strstr(end + 1, " group"))
		end = strstr(end + 1, " group");
	const char *from = end;

	while (from && from > screen && !strchr(" \n", from[-1]))
		from--;
	snprintf(out, 32, "%.*s", end ? (int)(end - from) : 0, end ? from : "");
}

/* The recorder starts the program itself. */
static pid_t parent_of(pid_t pid)
{
	char path[64], line[256];
	pid_t parent = 0;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof line, file) && sscanf(line, "PPid: %d", &parent) != 1)
		;
	if (file)
		fclose(file);
	return parent;
}

#define ROUNDS 3 /* as many as told.c has late blocks */

/* memtui stands still while the program allocates; another screen of the same session tells that
 * the recorder has sent the news. Then both are there when it goes on. */
static bool one_round(struct terminal *ours, struct terminal *other, pid_t recorder, pid_t program,
	int round)
{
	char before[32], after[32], news[32], *screen;

	terminal_type(ours, "1");
	bool ok = terminal_settle(ours);

	/* Without a recorder until the time of the last picture and key is over: before, news would
	 * wait in any case. */
	kill(recorder, SIGSTOP);
	terminal_read_for(ours, 600);
	screen = terminal_text(ours);
	groups_of(screen, before);
	free(screen);
	kill(ours->pid, SIGSTOP);
	snprintf(news, sizeof news, "%d/%d group", round + 2, round + 2);
	ok = ok && *before && terminal_wait_stop(ours);
	kill(recorder, SIGCONT);
	ok = ok && kill(program, SIGUSR1) == 0 && terminal_wait_text(other, news);
	ours->keeps = true;
	terminal_type(ours, round % 2 ? "3" : "2");
	ours->stopped = false;
	kill(ours->pid, SIGCONT);
	ok = terminal_answered(ours) && ok;
	ours->keeps = false;
	groups_of(ours->answer, after);
	ok = ok && strstr(ours->answer, round % 2 ? "[3Tree]" : "[2Group]")
		&& !strcmp(before, after);
	if (!ok)
		printf("%s groups, then %s, and %s elsewhere\n%s", before, after, news,
			ours->answer ? ours->answer : "");
	return terminal_wait_text(ours, news) && ok;
}

static void check_news(struct tests *t)
{
	struct settings s = settings(t);
	char program[1024], pid[16] = "0", *screen, *at;
	char *run[] = {t->memtui, "run", "--", program, NULL};
	char *attach[] = {t->memtui, "attach", pid, NULL};
	struct terminal ours, other;

	snprintf(program, sizeof program, "%s/told", t->scratch);
	terminal_start(&ours, 24, 80, &s, run);
	bool ok = terminal_wait_text(&ours, "early_block") && terminal_settle(&ours);

	screen = terminal_text(&ours);
	if ((at = strstr(screen, "pid ")))
		sscanf(at + 4, "%15[0-9]", pid);
	free(screen);
	terminal_start(&other, 24, 80, &s, attach);
	ok = ok && atoi(pid) > 0 && terminal_wait_text(&other, "early_block");
	pid_t recorder = parent_of(atoi(pid));

	ok = ok && recorder > 1;
	for (int i = 0; i < ROUNDS && ok; i++) {
		ok = one_round(&ours, &other, recorder, atoi(pid), i);
		tell(t, ok, "the picture that answers a key comes before news, round %d", i + 1);
	}
	terminal_type(&ours, "Q");
	ok = terminal_wait_text(&ours, "still runs") && ok;
	terminal_type(&ours, "d");
	tell(t, terminal_wait_end(&ours) && ok, "and the session ends");
	terminal_type(&other, "Q");
	terminal_wait_end(&other);
	terminal_close(&other);
	terminal_close(&ours);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (wanted("news"))
		check_news(&t);
	return t.failed != 0;
}
