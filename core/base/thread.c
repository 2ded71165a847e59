#include "core/base/thread.h"

#include "core/base/buffer.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

struct start {
	const char *name;
	void *(*run)(void *);
	void *argument;
};

static void *begin(void *at)
{
	struct start start = *(struct start *)at;

	free(at);
	prctl(PR_SET_NAME, start.name);
	return start.run(start.argument);
}

int mt_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument)
{
	struct start *start = mt_alloc(sizeof *start);
	sigset_t all, before;
	int error;

	*start = (struct start){name, run, argument};
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, begin, start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		free(start);
	return -error;
}
