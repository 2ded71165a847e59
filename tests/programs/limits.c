/* limits WHAT: sets a limit for itself and works on under it, printing what it sees, which must be
 * what it sees untraced: as (RLIMIT_AS 512 MB, uses 400), fsize (RLIMIT_FSIZE 1 MB, writes beyond
 * it), mlockall, closeall. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static void churn(void)
{
	for (int i = 0; i < 200000; i++) {
		void *p = malloc(32 + (size_t)(i % 500));

		__asm__ volatile("" : : "r"(p) : "memory");
		free(p);
	}
}

static void address_space(void)
{
	printf("setrlimit %d\n", setrlimit(RLIMIT_AS, &(struct rlimit){512u << 20, 512u << 20}));
	for (int i = 0; i < 40; i++) {
		char *p = malloc(10 << 20);

		printf("%d %s\n", i, p ? "ok" : strerror(errno));
		if (p)
			p[0] = 1, p[(10 << 20) - 1] = 1;
	}
	churn();
}

static void file_size(void)
{
	static char block[65536];
	FILE *f = tmpfile();

	signal(SIGXFSZ, SIG_IGN);
	printf("setrlimit %d\n", setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, 1 << 20}));
	churn();
	for (int i = 0; i < 20; i++) {
		errno = 0;
		printf("%zd %d\n", write(fileno(f), block, sizeof block), errno);
	}
	churn();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "as"))
		address_space();
	else if (!strcmp(what, "fsize"))
		file_size();
	else if (!strcmp(what, "mlockall")) {
		printf("mlockall %d %s\n", mlockall(MCL_CURRENT | MCL_FUTURE), strerror(errno));
		churn();
	} else if (!strcmp(what, "closeall")) {
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		churn();
	} else if (!strcmp(what, "core")) {
		churn();
		abort();
	}
	printf("done\n");
	return 0;
}
