/* A process to attach to. It reads letters from its standard input, and says after each what it has
 * done. So nothing happens between two letters, unless it is told to be busy:
 *   w: 1,000 blocks, of which 600 are freed; 20 reallocs of those that live; 10 frees of old blocks
 *   t: four threads do 20,000 mallocs and frees each
 *   b: two threads allocate and free until the end
 *   q: exits with status 5
 * target filter NUMBER: the same, behind a filter that kills the process for that system call
 * target zombie, target traced: prints the number of a child that is one. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void *first[1000], *kept[1000];
static int first_freed;
static _Atomic int stop;

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(1);
}

static void work(void)
{
	for (int i = 0; i < 1000; i++)
		kept[i] = malloc(64);
	for (int i = 0; i < 600; i++)
		free(kept[i]);
	for (int i = 600; i < 620; i++)
		kept[i] = realloc(kept[i], 200);
	for (int i = 0; i < 10; i++)
		free(first[first_freed++]);
}

static void *pairs(void *unused)
{
	for (int i = 0; i < 20000; i++)
		free(malloc(16 + (size_t)i % 100));
	return unused;
}

static void *busy(void *unused)
{
	unsigned char *blocks[64] = {0};

	for (unsigned i = 0; !stop; i++) {
		unsigned at = i * 7 % 64;

		if (blocks[at] && *blocks[at] != at) {
			say("damaged\n");
			_exit(9);
		}
		free(blocks[at]);
		blocks[at] = malloc(1 + i % 3000);
		*blocks[at] = (unsigned char)at;
	}
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
	return unused;
}

static int show_child(int traced)
{
	pid_t child = fork();
	char number[16];
	siginfo_t info;

	if (!child) {
		if (traced)
			pause();
		_exit(0);
	}
	if (traced ? ptrace(PTRACE_SEIZE, child, NULL, NULL) < 0
		   : waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0)
		return 1;
	snprintf(number, sizeof number, "%d\n", (int)child);
	say(number);
	if (read(0, number, 1) < 0)
		return 1;
	kill(child, 9);
	return 0;
}

static void install_filter(unsigned killed)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, killed, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
		|| prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(1);
}

int main(int argc, char **argv)
{
	pthread_t threads[4], two[2];
	int is_busy = 0;
	char letter;

	if (argc == 3)
		install_filter((unsigned)atoi(argv[2]));
	else if (argc > 1)
		return show_child(!strcmp(argv[1], "traced"));
	for (int i = 0; i < 1000; i++)
		first[i] = malloc(500);
	say("ready\n");
	while (read(0, &letter, 1) == 1 && letter != 'q') {
		if (letter == 'w')
			work();
		for (int i = 0; letter == 't' && i < 4; i++)
			pthread_create(&threads[i], NULL, pairs, NULL);
		for (int i = 0; letter == 't' && i < 4; i++)
			pthread_join(threads[i], NULL);
		for (int i = 0; letter == 'b' && i < 2; i++, is_busy = 1)
			pthread_create(&two[i], NULL, busy, NULL);
		say(letter == 'w'               ? "worked\n"
				: letter == 't' ? "threads\n"
				: letter == 'b' ? "busy\n"
						: "?\n");
	}
	stop = 1;
	for (int i = 0; is_busy && i < 2; i++)
		pthread_join(two[i], NULL);
	say("end\n");
	return 5;
}
