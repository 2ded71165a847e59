/* Does what it reads, one letter at a time, and says so in a word:
 *   a  100 blocks of 1000 bytes stay      m  a block of 64 MiB, touched, stays until f
 *   o  1 MiB after the other until the kernel ends it      k  SIGKILL to itself
 *   h  a handler of its own for SIGUSR1, which says so
 *   g  a thread allocates 1 MiB each 20 ms until x
 *   c  a forked child does a, says its number, and waits for x
 *   s  two threads allocate and free until x
 *   q  the end, with status 5 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_bool over;
static pid_t child;
static pthread_t threads[2];
static int thread_count;
static int child_pipe[2];
static char *large;

__attribute__((noinline)) static void *grow(size_t size)
{
	return malloc(size);
}

static void grow_100(void)
{
	for (int i = 0; i < 100; i++)
		memset(grow(1000), 1, 1000);
}

static void *churn(void *unused)
{
	void *kept[64] = {0};

	for (unsigned n = 0; !over; n++) {
		free(kept[n % 64]);
		kept[n % 64] = grow(16 + n % 500);
	}
	return unused;
}

static void *leak(void *unused)
{
	for (; !over; usleep(20000))
		grow(1 << 20);
	return unused;
}

static void say(const char *word)
{
	char line[64];
	int len = snprintf(line, sizeof line, "%s\n", word);

	if (write(1, line, (size_t)len) < 0)
		_exit(9);
}

static void handle(int number)
{
	(void)number;
	say("mine");
}

static void fork_child(void)
{
	char byte, number[32];

	if (pipe(child_pipe) < 0)
		_exit(9);
	child = fork();
	if (child == 0) {
		close(child_pipe[1]);
		grow_100();
		snprintf(number, sizeof number, "child %d", (int)getpid());
		say(number);
		if (read(child_pipe[0], &byte, 1) < 0)
			_exit(9);
		_exit(0);
	}
	close(child_pipe[0]);
}

int main(void)
{
	char letter;

	say("ready");
	while (read(0, &letter, 1) == 1) {
		switch (letter) {
		case 'a': grow_100(); break;
		case 'm': large = memset(grow(64 << 20), 1, 64 << 20); break;
		case 'f': free(large); break;
		case 'o':
			for (;;)
				memset(grow(1 << 20), 1, 1 << 20);
		case 'h': signal(SIGUSR1, handle); break;
		case 'k': raise(SIGKILL); break;
		case 'g': pthread_create(&threads[thread_count++], NULL, leak, NULL); break;
		case 'c': fork_child(); continue;
		case 's':
			for (; thread_count < 2; thread_count++)
				pthread_create(&threads[thread_count], NULL, churn, NULL);
			break;
		case 'x':
			over = true;
			while (thread_count)
				pthread_join(threads[--thread_count], NULL);
			if (child) {
				close(child_pipe[1]);
				waitpid(child, NULL, 0);
			}
			break;
		case 'q': say("end"); return 5;
		}
		say("done");
	}
	return 6;
}
