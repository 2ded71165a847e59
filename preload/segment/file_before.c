/* What this process recorded before it executed this program: its file makes room for the new one,
 * so that the last program has the name that was asked for. That is done here, when the old program
 * is gone for certain. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "preload/base/sys.h"
#include "preload/base/text.h"
#include "preload/segment/file_parts.h"

#define NAMES_MAX 10000
#define TICK_NS 10000000ull /* of /proc: 100 a second wherever Linux runs */
#define NO_REPLACE 1        /* RENAME_NOREPLACE of linux/fs.h */

uint64_t mt_file_pid_space(void)
{
	struct stat status;

	return mt_sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &status, 0) == 0
		? status.st_ino
		: 0;
}

/* How long the process has lived, by its line in /proc; 0: not known. An exec does not change
 * that. */
static uint64_t age(void)
{
	char line[512];
	uint64_t started = 0, now = mt_sys_clock(CLOCK_BOOTTIME);
	int fd = (int)mt_sys4(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
	long len = fd < 0 ? 0 : mt_sys3(SYS_read, fd, line, sizeof line - 1);
	const char *at = line;

	if (fd >= 0)
		mt_sys1(SYS_close, fd);
	line[len > 0 ? len : 0] = '\0';
	at = strrchr(line, ')'); /* the name may hold anything */
	at = at ? at : "";
	for (int field = 2; *at && field < 22; at++)
		field += *at == ' ';
	for (; *at >= '0' && *at <= '9'; at++)
		started = started * 10 + (uint64_t)(*at - '0');
	return started && started * TICK_NS < now ? now - started * TICK_NS : 0;
}

/* By number, and begun while this process lived, by both clocks: the number may have been another
 * process's, also before the machine was started. */
static bool is_of_this_process(const struct mt_wire_header *h)
{
	/* before the age: a process that has to wait in between is older then, not too young */
	uint64_t monotonic = mt_sys_clock(CLOCK_MONOTONIC) - h->anchors[0].monotonic_ns;
	uint64_t real = mt_sys_clock(CLOCK_REALTIME) - h->start_unix_ns;
	uint64_t lived = age() + TICK_NS;

	return h->magic == MT_WIRE_MAGIC && h->version == MT_WIRE_VERSION
		&& h->header_size == sizeof *h && h->flags & MT_SEGMENT_STANDALONE
		&& h->pid == (uint32_t)mt_sys0(SYS_getpid) && lived > TICK_NS
		&& h->pid_space == mt_file_pid_space() && monotonic <= lived && real <= lived;
}

bool mt_file_is_of_image(void)
{
	struct mt_wire_header h = {0};
	struct stat status;
	bool is_ours;
	int fd = (int)mt_sys4(SYS_openat, AT_FDCWD, mt_file.path,
		O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);

	if (fd < 0)
		return false;
	is_ours = mt_sys2(SYS_fstat, fd, &status) == 0 && S_ISREG(status.st_mode)
		&& mt_sys4(SYS_pread64, fd, &h, sizeof h, 0) == (long)sizeof h
		&& is_of_this_process(&h);
	mt_sys1(SYS_close, fd);
	return is_ours;
}

bool mt_file_set_aside(void)
{
	for (uint32_t number = 0; number < NAMES_MAX; number++) {
		char *end = mt_text_add(mt_text_add(mt_file.aside, mt_file.path), ".exec");
		long error;

		mt_text_add_number(end, number);
		mt_file.images_before = number + 1; /* also where it keeps its name: it is one */
		error = mt_sys6(SYS_renameat2, AT_FDCWD, mt_file.path, AT_FDCWD, mt_file.aside,
			NO_REPLACE, 0);
		if (error != -EEXIST)
			return error == 0;
	}
	return false;
}
