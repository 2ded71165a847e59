/* What the environment says of a stand-alone recording, and its file: made by a name that nobody
 * has, opened again by that. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/rendezvous.h"
#include "preload/base/installed.h"
#include "preload/base/sys.h"
#include "preload/base/text.h"
#include "preload/segment/file_parts.h"

#define DEPTH_DEFAULT 4096
#define DEPTH_LEAST 4
#define DEPTH_MOST 65536
#define NAMES_MAX 10000 /* that are tried where a name is taken */
/* of these before the process id is put to it: each process tries anew */
#define NAMES_PLAIN 10
#define NAMES_NUMBERED 1000 /* the same where a number is asked for */
#define HELD_FIRST 1000     /* beyond what programs count or choose, if they may have that many */
#define HELD_SECOND 200

/* ---- what the environment says ---- */

static bool is_set(const char *name)
{
	const char *value = mt_setting(name);

	return value && *value && strcmp(value, "0") != 0;
}

/* What MEMTUI_DEPTH asks for, or the nearest that can be; nothing is printed here: the file says
 * that it was something else. */
static uint64_t read_depth(void)
{
	const char *at = mt_setting("MEMTUI_DEPTH");
	uint64_t value = 0;

	if (!at || !*at)
		return DEPTH_DEFAULT;
	for (; *at >= '0' && *at <= '9'; at++)
		if (value <= DEPTH_MOST)
			value = value * 10 + (uint64_t)(*at - '0');
	mt_file.bad_depth = *at || value < DEPTH_LEAST || value > DEPTH_MOST;
	return *at                    ? DEPTH_DEFAULT
		: value < DEPTH_LEAST ? DEPTH_LEAST
		: value > DEPTH_MOST  ? DEPTH_MOST
				      : value;
}

/* Once: a forked child goes by what its parent was told. False: no recording is asked for. */
bool mt_file_read_environment(void)
{
	const char *pattern = mt_setting("MEMTUI_OUTPUT");

	if (mt_file.known)
		return mt_file.pattern[0];
	mt_file.known = true;
	/* a session that does not answer is no reason to write here */
	if (!pattern || !*pattern || strlen(pattern) >= sizeof mt_file.pattern
		|| getauxval(AT_SECURE) || mt_setting(MT_WIRE_ENVIRONMENT))
		return false;
	if (*pattern != '/') {
		long len = mt_sys2(SYS_getcwd, mt_file.directory, sizeof mt_file.directory);

		if (len <= 0 || mt_file.directory[0] != '/')
			return false;
	}
	mt_file.flags = MT_SEGMENT_STANDALONE
		| (is_set("MEMTUI_FREE_STACKS") ? MT_SEGMENT_FREE_STACKS : 0)
		| (is_set("MEMTUI_CHECK") ? MT_SEGMENT_CHECK : 0)
		| (is_set("MEMTUI_SLACK") ? MT_SEGMENT_SLACK : 0)
		| (is_set("MEMTUI_NO_FOLLOW") ? MT_SEGMENT_NO_FOLLOW : 0);
	mt_file.toggle = mt_signal_number(mt_setting("MEMTUI_SIGNAL_TOGGLE"));
	mt_file.depth = read_depth();
	if (is_set("MEMTUI_DISABLED"))
		mt_store(&mt_tracer.said, MT_BEGIN_PAUSED);
	memcpy(mt_file.pattern, pattern, strlen(pattern) + 1);
	return true;
}

const char *mt_file_pattern(void)
{
	return mt_file.pattern;
}

char *mt_file_write_options(char *to, char **entries, size_t *count)
{
	static const struct {
		uint32_t flag;
		const char *entry;
	} options[] = {{MT_SEGMENT_FREE_STACKS, "MEMTUI_FREE_STACKS=1"},
		{MT_SEGMENT_CHECK, "MEMTUI_CHECK=1"}, {MT_SEGMENT_SLACK, "MEMTUI_SLACK=1"}};

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (mt_file.flags & options[i].flag) {
			entries[(*count)++] = to;
			to = mt_text_add(to, options[i].entry) + 1;
		}
	entries[(*count)++] = to;
	return mt_text_add_number(mt_text_add(to, "MEMTUI_DEPTH="), (uint32_t)mt_file.depth) + 1;
}

/* ---- the name ---- */

struct name {
	size_t len;
	bool has_pid, has_number, too_long;
};

static void put(struct name *n, const char *text, size_t len)
{
	if (n->len + len >= sizeof mt_file.path) {
		n->too_long = true;
		return;
	}
	memcpy(mt_file.path + n->len, text, len);
	n->len += len;
	mt_file.path[n->len] = '\0';
}

static void put_text(struct name *n, const char *text)
{
	put(n, text, strlen(text));
}

static void put_number(struct name *n, uint64_t value)
{
	char digits[24], *at = digits + sizeof digits;

	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	put(n, at, (size_t)(digits + sizeof digits - at));
}

static void put_host(struct name *n)
{
	static struct utsname host; /* one thread makes a name */

	if (mt_sys1(SYS_uname, &host) == 0)
		put_text(n, host.nodename);
}

static const char *program_name(void)
{
	const char *path = (const char *)getauxval(AT_EXECFN);
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path && *path ? path : "program";
}

static void fill_in(struct name *n, unsigned count, bool with_pid)
{
	*n = (struct name){.len = 0};
	if (mt_file.pattern[0] != '/') {
		put_text(n, mt_file.directory);
		put_text(n, "/");
	}
	for (const char *at = mt_file.pattern; *at; at++) {
		if (*at != '%' || !at[1]) {
			put(n, at, 1);
			continue;
		}
		switch (*++at) {
		case 'p':
			put_number(n, (uint64_t)mt_sys0(SYS_getpid));
			n->has_pid = true;
			break;
		case 't': put_number(n, mt_sys_clock(CLOCK_REALTIME) / 1000000000); break;
		case 'e': put_text(n, program_name()); break;
		case 'h': put_host(n); break;
		case 'n':
			put_number(n, count);
			n->has_number = true;
			break;
		case '%': put_text(n, "%"); break;
		default: put(n, at - 1, 2);
		}
	}
	if (with_pid && !n->has_pid) {
		put_text(n, ".");
		put_number(n, (uint64_t)mt_sys0(SYS_getpid));
	}
	if (!n->has_number && count > 1) {
		put_text(n, ".");
		put_number(n, count - 1);
	}
}

/* btrfs writes elsewhere what is written again, and the room that it gave is not for that: on a
 * full disk a store to the mapping would be SIGBUS. An empty file can be told to be rewritten in
 * place. */
static void keep_in_place(int fd)
{
	struct statfs system;
	int flags = 0;

	if (mt_sys2(SYS_fstatfs, fd, &system) < 0 || system.f_type != BTRFS_SUPER_MAGIC
		|| mt_sys3(SYS_ioctl, fd, FS_IOC_GETFLAGS, &flags) < 0)
		return;
	flags |= FS_NOCOW_FL;
	mt_sys3(SYS_ioctl, fd, FS_IOC_SETFLAGS, &flags);
}

/* A device, a FIFO or a socket stands there, perhaps behind a symbolic link: no file is wanted, and
 * least of all another one beside it. */
static bool is_no_place_for_files(void)
{
	struct stat status;

	return mt_sys4(SYS_newfstatat, AT_FDCWD, mt_file.path, &status, 0) == 0
		&& !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static bool is_ours(int fd)
{
	struct stat status;

	return mt_sys2(SYS_fstat, fd, &status) == 0 && status.st_dev == mt_file.device
		&& status.st_ino == mt_file.inode;
}

/* A server of root's may become another user, or change its root: what it is to reach then must be
 * open before. */
void mt_file_hold(int fd)
{
	long held;

	if (mt_sys0(SYS_geteuid) != 0)
		return;
	held = mt_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HELD_FIRST);
	if (held < 0)
		held = mt_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HELD_SECOND);
	mt_file.held = held > 0 ? (int)held : 0;
}

/* A forked child's is its parent's. */
static void let_go(void)
{
	if (mt_file.held && is_ours(mt_file.held))
		mt_sys1(SYS_close, mt_file.held);
	mt_file.held = 0;
}

/* The process was forked, and recorded under its own number before it executed this program. */
static bool was_forked(struct name *name)
{
	if (name->has_pid)
		return false;
	fill_in(name, 1, true);
	return !name->too_long && mt_file_is_of_image();
}

/* A file that nobody had before, for its owner alone. */
int mt_file_create(void)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
	bool with_pid = mt_file.child;
	struct stat status;
	struct name name;

	let_go();
	mt_file.images_before = 0;
	for (unsigned count = 1; count < NAMES_MAX; count++) {
		int fd;

		fill_in(&name, count, with_pid);
		if (name.too_long)
			return -ENAMETOOLONG;
		fd = (int)mt_sys4(SYS_openat, AT_FDCWD, mt_file.path, flags, 0600);
		if (fd == -EEXIST && count == 1 && is_no_place_for_files())
			return -ENXIO;
		if (fd == -EEXIST && !mt_file.child) {
			if (mt_file_is_of_image() && mt_file_set_aside()) {
				count--;
				continue;
			}
			if (count == 1 && was_forked(&name)) {
				with_pid = true;
				count = 0;
				continue;
			}
		}
		if (fd == -EEXIST && !with_pid && !name.has_pid
			&& count == (name.has_number ? NAMES_NUMBERED : NAMES_PLAIN)) {
			with_pid = true;
			count = 0;
		}
		if (fd == -EEXIST)
			continue;
		if (fd < 0)
			return fd;
		mt_sys2(SYS_fchmod, fd, 0600); /* whatever the umask */
		if (mt_sys2(SYS_fstat, fd, &status) < 0) {
			mt_sys1(SYS_close, fd);
			return -EIO;
		}
		keep_in_place(fd);
		mt_file.device = status.st_dev;
		mt_file.inode = status.st_ino;
		return fd;
	}
	return -EEXIST;
}

/* Another file, of this name after a chroot or a rename, or of the descriptor's number, is none of
 * ours. The program's own is not even closed by another number: its locks would go. */
int mt_file_reopen(void)
{
	int fd = (int)mt_sys4(SYS_openat, AT_FDCWD, mt_file.path,
		O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);

	if (fd >= 0 && is_ours(fd))
		return fd;
	if (fd >= 0) {
		mt_sys1(SYS_close, fd);
		fd = -ESTALE;
	}
	if (!mt_file.held || mt_file_passes(fd) || !is_ours(mt_file.held))
		return fd;
	return (int)mt_sys3(SYS_fcntl, mt_file.held, F_DUPFD_CLOEXEC, 0);
}
