/* An input as a file without a name, for readers that want a descriptor or a path. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* -1: there is none to be had. */
static inline int fuzz_file(const void *bytes, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, bytes, size) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}

#endif
