#include "tui/data/bell.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int mt_bell_new(void)
{
	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void mt_bell_ring(int fd)
{
	uint64_t one = 1;

	while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

void mt_bell_answer(int fd)
{
	uint64_t rung;

	while (read(fd, &rung, sizeof rung) < 0 && errno == EINTR)
		;
}
