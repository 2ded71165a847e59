#include "core/symbol/open.h"

#include "core/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- rights ---- */

static struct mt_rights rights_of(uid_t uid, gid_t gid)
{
	if (geteuid() != 0 || uid == 0)
		return (struct mt_rights){0};
	return (struct mt_rights){true, uid, gid};
}

struct mt_rights mt_rights_of(const struct stat *status)
{
	return rights_of(status->st_uid, status->st_gid);
}

struct mt_rights mt_rights_of_path(const char *path)
{
	struct stat status;

	return path && stat(path, &status) == 0 ? mt_rights_of(&status) : (struct mt_rights){0};
}

/* The directory's owner would be root for a process that has changed its user. */
struct mt_rights mt_rights_of_process(pid_t pid)
{
	unsigned uid = 0, gid = 0;
	char text[4096], *at;

	if (!pid || !mt_proc_read(pid, "status", text, sizeof text))
		return (struct mt_rights){0};
	if ((at = strstr(text, "\nUid:")))
		sscanf(at, "\nUid:%*u%*u%*u%u", &uid);
	if ((at = strstr(text, "\nGid:")))
		sscanf(at, "\nGid:%*u%*u%*u%u", &gid);
	return rights_of(uid, gid);
}

struct mt_rights mt_rights_least(struct mt_rights a, struct mt_rights b)
{
	return a.limited ? a : b;
}

/* By the system call, which changes this thread alone; libc's changes all. */
static void set_groups(int count, const gid_t *groups)
{
	syscall(SYS_setgroups, count, groups);
}

void mt_rights_take(const struct mt_rights *rights, struct mt_rights_before *before)
{
	before->taken = rights->limited;
	if (!rights->limited)
		return;
	before->group_count = getgroups(64, before->groups);
	set_groups(0, NULL);
	before->gid = (gid_t)setfsgid(rights->gid);
	setfsuid(rights->uid);
}

void mt_rights_give_back(const struct mt_rights_before *before)
{
	if (!before->taken)
		return;
	setfsuid(0);
	setfsgid(before->gid);
	if (before->group_count >= 0)
		set_groups(before->group_count, before->groups);
}

/* ---- files ---- */

static bool is_nothing(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ELOOP;
}

/* 0, or a negative errno. It is looked at first, since to open a device may do something to it. */
static int check(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return -errno;
	return S_ISREG(status.st_mode) ? 0 : -EINVAL;
}

static int open_regular(const char *path)
{
	struct stat status;
	int fd, error = check(path);

	if (error < 0)
		return error;
	/* what stands there by now must not keep us waiting either */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

int mt_symbol_open(const char *path, const struct mt_rights *rights, bool *refused)
{
	struct mt_rights_before before;
	int fd;

	mt_rights_take(rights, &before);
	fd = open_regular(path);
	mt_rights_give_back(&before);
	if (fd < 0 && !is_nothing(-fd))
		*refused = true;
	return fd < 0 ? -1 : fd;
}

bool mt_symbol_may_open(const char *path, const struct mt_rights *rights, bool *refused)
{
	bool not_now = false;
	int fd = mt_symbol_open(path, rights, &not_now);

	if (fd >= 0)
		close(fd);
	*refused |= not_now;
	return !not_now;
}
