/* A tracee: opened, read and written, and let go. */
#include "core/inject/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NICE_FIRST (-20)

uint64_t mt_inject_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Most stops take some microseconds: the first looks follow each other. Whoever sleeps is woken
 * late on a processor that has other work. */
void mt_inject_pause(unsigned *looks)
{
	struct timespec time = {0, *looks < 400 ? 5000 : 200000};

	if ((*looks)++ >= 300)
		nanosleep(&time, NULL);
}

struct mt_tracee *mt_tracee_open(pid_t pid, unsigned flags, struct mt_err *err)
{
	struct mt_inject_facts facts;
	struct mt_proc_stat s;
	struct mt_tracee *t;
	char path[64];

	mt_inject_gather(pid, &facts);
	if (mt_inject_judge(&facts, flags, err))
		return NULL;
	t = mt_alloc(sizeof *t);
	t->pid = pid;
	t->flags = flags;
	t->patience_ns = MT_INJECT_STOP_NS;
	t->timer_slack = prctl(PR_GET_TIMERSLACK);
	prctl(PR_SET_TIMERSLACK, 1); /* so that short pauses are short */
	/* a thread stands still while we wait for a processor; only root may be preferred */
	t->nice = getpriority(PRIO_PROCESS, 0);
	setpriority(PRIO_PROCESS, 0, NICE_FIRST);
	mt_proc_stat(pid, &s);
	t->start_time = s.start_time;
	t->stack_start = s.stack_start;
	snprintf(path, sizeof path, "/proc/%d/mem", (int)mt_proc_thread(pid));
	t->memory = open(path, O_RDWR | O_CLOEXEC);
	if (t->memory < 0) {
		mt_fail_open(err, path);
		mt_tracee_close(t);
		return NULL;
	}
	if (mt_tracee_refresh(t, err)) {
		mt_tracee_close(t);
		return NULL;
	}
	return t;
}

/* exec keeps the number and the start of a process, but its stack begins elsewhere. */
int mt_inject_check_alive(const struct mt_tracee *t, struct mt_err *err)
{
	struct mt_proc_stat s;

	if (!mt_proc_stat(t->pid, &s) || s.start_time != t->start_time || mt_proc_has_ended(&s))
		return mt_fail(err, -ESRCH, "process %d has ended", (int)t->pid);
	if (s.stack_start != t->stack_start)
		return mt_fail(err, -ESTALE, "process %d has executed another program",
			(int)t->pid);
	return 0;
}

int mt_tracee_read(const struct mt_tracee *t, uint64_t address, void *to, size_t size)
{
	ssize_t n = pread(t->memory, to, size, (off_t)address);

	return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EFAULT;
}

int mt_tracee_write(const struct mt_tracee *t, uint64_t address, const void *from, size_t size)
{
	ssize_t n = pwrite(t->memory, from, size, (off_t)address);

	return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EFAULT;
}

void mt_tracee_avoid(struct mt_tracee *t, uint64_t low, uint64_t high, const char *name)
{
	MT_GROW(t->ranges, t->range_count, t->range_capacity);
	t->ranges[t->range_count++] = (struct mt_inject_range){low, high, mt_strdup(name)};
}

void mt_tracee_allow(struct mt_tracee *t, uint64_t low, uint64_t high)
{
	t->allowed_low = low;
	t->allowed_high = high;
}

const struct mt_inject_range *mt_inject_range(const struct mt_tracee *t, uint64_t address)
{
	if (address >= t->allowed_low && address < t->allowed_high)
		return NULL;
	for (uint32_t i = 0; i < t->range_count; i++)
		if (address >= t->ranges[i].low && address < t->ranges[i].high)
			return &t->ranges[i];
	return NULL;
}

const struct mt_tracee_stop *mt_tracee_stops(const struct mt_tracee *t, uint32_t *count)
{
	*count = t->stop_count;
	return t->stops;
}

void mt_tracee_forget_stops(struct mt_tracee *t)
{
	t->stop_count = 0;
}

unsigned mt_tracee_close(struct mt_tracee *t)
{
	uint64_t end = mt_inject_now() + 1000000000u;
	unsigned left, looks = 0;

	while ((left = mt_tracee_resume(t)) && mt_inject_now() < end)
		mt_inject_pause(&looks);
	for (uint32_t i = 0; i < t->range_count; i++)
		free(t->ranges[i].name);
	for (uint32_t i = 0; i < t->module_count; i++)
		free(t->modules[i].known);
	mt_inject_free_walker(t);
	mt_inject_free_maps(&t->maps);
	free(t->ranges);
	free(t->modules);
	for (uint32_t i = 0; i < t->thread_count; i++)
		free(t->threads[i]);
	free(t->threads);
	free(t->stops);
	if (t->memory >= 0)
		close(t->memory);
	prctl(PR_SET_TIMERSLACK, t->timer_slack);
	setpriority(PRIO_PROCESS, 0, t->nice);
	free(t);
	return left;
}
