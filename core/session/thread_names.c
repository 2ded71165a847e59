#include "core/session/thread_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* False: the thread has ended. */
static bool look(struct mt_profile *p, struct mt_thread *thread, pid_t pid)
{
	char path[64], name[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/task/%u/comm", (int)pid, thread->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT && errno != ESRCH;
	n = read(fd, name, sizeof name - 1);
	close(fd);
	if (n > 0 && name[n - 1] == '\n')
		n--;
	if (n > 0 && !memchr(name, '\0', (size_t)n))
		thread->name = mt_strings_add_len(&p->strings, name, (size_t)n);
	return true;
}

void mt_thread_names_meet(struct mt_thread_names *t, struct mt_profile *p, pid_t pid)
{
	for (; t->met < p->thread_count; t->met++) {
		if (!look(p, &p->threads[t->met], pid))
			continue;
		MT_GROW(t->living, t->living_count, t->living_capacity);
		t->living[t->living_count++] = t->met;
	}
}

void mt_thread_names_refresh(struct mt_thread_names *t, struct mt_profile *p, pid_t pid)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < t->living_count; i++)
		if (look(p, &p->threads[t->living[i]], pid))
			t->living[left++] = t->living[i];
	t->living_count = left;
}

void mt_thread_names_free(struct mt_thread_names *t)
{
	free(t->living);
}
