/* A directory for the user's files, which goes when the process does. */
#ifndef FUZZ_HOME_H
#define FUZZ_HOME_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char fuzz_home[] = "/tmp/memtui-fuzz-XXXXXX";
static bool fuzz_home_made;

static inline void fuzz_home_remove(void)
{
	char command[80];

	snprintf(command, sizeof command, "rm -rf %s", fuzz_home);
	if (system(command))
		fprintf(stderr, "%s is left\n", fuzz_home);
}

static inline void fuzz_home_make(void)
{
	char directory[80];

	if (!mkdtemp(fuzz_home))
		abort();
	atexit(fuzz_home_remove);
	setenv("XDG_CONFIG_HOME", fuzz_home, 1);
	snprintf(directory, sizeof directory, "%s/memtui", fuzz_home);
	if (mkdir(directory, 0700))
		abort();
	fuzz_home_made = true;
}

/* Writes the file of that name that lies below XDG_CONFIG_HOME/memtui. */
static inline void fuzz_home_write(const char *name, const void *bytes, size_t size)
{
	char path[80];
	int fd;

	if (!fuzz_home_made)
		fuzz_home_make();
	snprintf(path, sizeof path, "%s/memtui/%s", fuzz_home, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

#endif
