/* meter REPORT TARGET COMMAND...: runs COMMAND and writes what the one process of it that executes
 * the file TARGET took, and what all processes took together, to REPORT.
 *
 * A tool starts the program in its own way, and its helpers may outlive it or be adopted. So the
 * meter traces every process from its start until the program is found: a tracer is told a
 * process's end and its usage without being its parent. Only process starts and ends stop for it;
 * nothing in between is slowed. What is orphaned it adopts, so that its own RUSAGE_CHILDREN is the
 * sum of all. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FOLLOW (PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)
#define WATCH (PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT)

static struct {
	const char *path;
	pid_t pid;
	double start, cpu_before; /* when it was executed; what its process had used by then */
	double wall, cpu;
	long rss_kib;
	int status;
} target;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_of(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec)
		+ (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

static double cpu_so_far(pid_t pid)
{
	struct timespec t = {0};
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) == 0)
		clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int executes_target(pid_t pid)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	n = readlink(link, path, sizeof path - 1);
	if (n < 0)
		return 0;
	path[n] = '\0';
	return strcmp(path, target.path) == 0;
}

/* Not ru_maxrss, which also knows the memory that the process had before it executed the
 * program. */
static long peak_rss_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static void on_stop(pid_t pid, int status)
{
	int event = status >> 16, signal = WSTOPSIG(status);

	if (event == PTRACE_EVENT_EXEC && !target.pid && executes_target(pid)) {
		target.pid = pid;
		ptrace(PTRACE_SETOPTIONS, pid, 0, WATCH);
		target.cpu_before = cpu_so_far(pid);
		target.start = now();
	} else if (event == PTRACE_EVENT_EXIT && pid == target.pid) {
		target.rss_kib = peak_rss_kib(pid);
	} else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
		ptrace(PTRACE_LISTEN, pid, 0, 0); /* stopped by job control */
		return;
	}
	ptrace(PTRACE_CONT, pid, 0, event ? 0 : signal);
}

static void on_end(pid_t pid, int status, const struct rusage *usage)
{
	if (pid != target.pid)
		return;
	target.wall = now() - target.start;
	target.cpu = cpu_of(usage) - target.cpu_before;
	target.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static pid_t start(char **command)
{
	int go[2];
	char byte;
	pid_t pid;

	if (pipe(go) < 0 || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		if (read(go[0], &byte, 1) == 1) {
			close(go[0]);
			close(go[1]);
			execvp(command[0], command);
			perror(command[0]);
		}
		_exit(127);
	}
	if (ptrace(PTRACE_SEIZE, pid, 0, FOLLOW) < 0 || write(go[1], "", 1) != 1)
		return -1;
	close(go[0]);
	close(go[1]);
	return pid;
}

int main(int argc, char **argv)
{
	struct rusage usage, all;
	int status;
	pid_t pid;
	FILE *report;

	if (argc < 4 || !(target.path = realpath(argv[2], NULL))) {
		fprintf(stderr, "meter REPORT TARGET COMMAND...: TARGET must be a file\n");
		return 2;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (start(argv + 3) < 0) {
		fprintf(stderr, "meter: cannot start and trace %s: %s\n", argv[3], strerror(errno));
		return 1;
	}
	while ((pid = wait4(-1, &status, __WALL, &usage)) > 0 || errno == EINTR) {
		if (pid > 0 && WIFSTOPPED(status))
			on_stop(pid, status);
		else if (pid > 0)
			on_end(pid, status, &usage);
	}
	if (!target.wall) {
		fprintf(stderr, "meter: %s was never executed\n", target.path);
		return 1;
	}
	getrusage(RUSAGE_CHILDREN, &all);
	report = fopen(argv[1], "w");
	if (!report) {
		perror(argv[1]);
		return 1;
	}
	fprintf(report,
		"{\"wall\": %.6f, \"cpu\": %.6f, \"total_cpu\": "
		"%.6f, \"rss_kib\": %ld, \"status\": %d}\n",
		target.wall, target.cpu, cpu_of(&all) - target.cpu_before, target.rss_kib,
		target.status);
	return fclose(report) == 0 ? 0 : 1;
}
