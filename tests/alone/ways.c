/* ways HOW [ARG]: what a program can do to a recording that has no recorder. Each prints what it
 * saw, which must not differ from a run without a tracer. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noclone))
#define MANY 200000 /* records of several chunks */

SITE void *keep(size_t size)
{
	void *p = malloc(size);
	__asm__ volatile("" ::"r"(p) : "memory");
	return p;
}
SITE void churn(int n)
{
	for (int i = 0; i < n; i++) {
		void *p = malloc(32 + i % 100);

		__asm__ volatile("" ::"r"(p) : "memory");
		free(p);
	}
}

static volatile int signals;
static void count(int number)
{
	(void)number;
	signals++;
}

static void phase(const char *name)
{
	char byte;

	printf("%s\n", name);
	fflush(stdout);
	if (read(0, &byte, 1) < 0)
		exit(2);
}

/* The program's own file meets the limit too, before and after the recording did. */
static int limited(int handled)
{
	static char zeroes[65536];
	int fd = open("/tmp", O_RDWR | O_TMPFILE, 0600);
	long total = 0, n;

	signal(SIGXFSZ, handled ? count : SIG_DFL);
	churn(3 * MANY);
	if (!handled) {
		printf("not killed\n");
		return 3;
	}
	printf("signals before: %d\n", signals);
	while ((n = write(fd, zeroes, sizeof zeroes)) > 0)
		total += n;
	printf("wrote %ld, errno %d, signals %d\n", total, n < 0 ? errno : 0, signals);
	churn(MANY);
	printf("signals after: %d\n", signals);
	return 0;
}

/* Blocks go round through mailboxes: nearly all are freed by another thread than allocated them,
 * often at once. */
static void *boxes[8];
static void *pass(void *seed)
{
	unsigned long at = (unsigned long)seed * 2654435761u + 1;

	for (int i = 0; i < MANY; i++) {
		at ^= at << 13, at ^= at >> 7, at ^= at << 17;
		free(__atomic_exchange_n(&boxes[at >> 9 & 7], malloc(16 + (at >> 20) % 3 * 16),
			__ATOMIC_ACQ_REL));
	}
	return NULL;
}

static int pass_round(void)
{
	pthread_t threads[4];

	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, pass, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int fork_child(void)
{
	void *inherited = keep(100);
	pid_t child;

	churn(1000);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 500; i++)
			keep(10);
		free(inherited);
		_exit(5);
	}
	int status;

	waitpid(child, &status, 0);
	for (int i = 0; i < 300; i++)
		keep(20);
	printf("child %d\n", WEXITSTATUS(status));
	return 0;
}

static int without_descriptors(void)
{
	for (int i = 0; i < 50; i++) {
		churn(MANY / 20);
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
	}
	int fd = open("/dev/null", O_RDONLY);

	printf("the next descriptor is %d\n", fd);
	return 0;
}

/* For a while there is no descriptor for anybody. */
static void exhaust(void)
{
	int first = open("/dev/null", O_RDONLY), last = first, fd;

	churn(1000);
	while ((fd = open("/dev/null", O_RDONLY)) >= 0)
		last = fd;
	churn(MANY);
	for (fd = first; fd <= last; fd++)
		close(fd);
}

static int exhausted(void)
{
	exhaust();
	churn(MANY);
	printf("the next descriptor is %d\n", open("/dev/null", O_RDONLY));
	return 0;
}

static long blocks_of(const char *path)
{
	struct stat status;

	return stat(path, &status) < 0 ? 0 : (long)status.st_blocks;
}

/* What it keeps comes when the recording goes on, as its file shows. */
static int exhausted_once(const char *file)
{
	int tries = 0;
	long blocks;

	exhaust();
	for (blocks = blocks_of(file); blocks_of(file) == blocks && tries < 20000; tries++)
		churn(1000);
	for (int i = 0; i < 100; i++)
		keep(10);
	return tries == 20000 ? 3 : 0;
}

static int changed_root(const char *root)
{
	churn(1000);
	if (chroot(root) < 0 || chdir("/") < 0)
		return 2;
	for (int i = 0; i < 100; i++)
		keep(10);
	churn(2 * MANY);
	printf("still here\n");
	return 0;
}

/* As a server does that root has started. */
static int changed_user(bool closes)
{
	churn(1000);
	for (int fd = 3; closes && fd < 2048; fd++)
		close(fd);
	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 2;
	churn(2 * MANY);
	printf("the next descriptor is %d\n", open("/dev/null", O_RDONLY));
	return 0;
}

static int phases(void)
{
	for (int i = 0; i < 1000; i++)
		keep(1000);
	phase("one");
	churn(2 * MANY);
	for (int i = 0; i < 500; i++)
		keep(1000);
	phase("two");
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "limited"))
		return limited(1);
	if (!strcmp(how, "pass"))
		return pass_round();
	if (!strcmp(how, "fork"))
		return fork_child();
	if (!strcmp(how, "descriptors"))
		return without_descriptors();
	if (!strcmp(how, "exhausted"))
		return exhausted();
	if (!strcmp(how, "exhausted_once"))
		return exhausted_once(argv[2]);
	if (!strcmp(how, "chroot"))
		return changed_root(argv[2]);
	if (!strcmp(how, "user") || !strcmp(how, "user_closed"))
		return changed_user(!strcmp(how, "user_closed"));
	if (!strcmp(how, "phases"))
		return phases();
	if (!strcmp(how, "churn")) {
		churn(argc > 2 ? atoi(argv[2]) : MANY);
		return 0;
	}
	if (!strcmp(how, "exec")) {
		for (int i = 0; i < 100; i++)
			keep(10);
		execl("/proc/self/exe", argv[0], "churn", "1000", NULL);
	}
	if (!strcmp(how, "directory")) {
		if (chdir("/") < 0)
			return 2;
		churn(2 * MANY);
		printf("moved\n");
		return 0;
	}
	return 2;
}
