/* The look at a file before it is executed: will its dynamic linker load the tracer, load it
 * silently, or complain? */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "preload/base/environment.h"
#include "preload/base/libc.h"
#include "preload/base/sys.h"
#include "preload/base/text.h"
#include "preload/process/exec.h"

#define SCRIPTS_MAX 4      /* an interpreter may be a script itself */
#define NAME_ROOM 256      /* for the name of an interpreter */
#define SEGMENTS_MAX 64    /* program headers that are looked at */
#define LOADER_BYTES 16384 /* of a dynamic linker, in which its versions stand */
/* The newest version of glibc that the library asks for. Older ones end the program that is to load
 * it. tests/follow compares it with the library. */
#define LIBC_NEEDED "GLIBC_2.35"

/* A file that is open, and its beginning. */
struct look {
	struct stat status;
	int fd;
	bool borrowed; /* the descriptor is the program's */
	long len;      /* of start */
	union {
		char line[256]; /* what the kernel looks at */
		Elf64_Ehdr elf;
		Elf32_Ehdr elf32;
		uint8_t bytes[832]; /* program headers and the linker's name, as they mostly lie */
	} start;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino && a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A device or a FIFO is not opened, since that could mean something to others. */
static bool is_file(int directory, const char *path, int flags, struct stat *status)
{
	return mt_sys4(SYS_newfstatat, directory, path, status, flags) == 0
		&& S_ISREG(status->st_mode);
}

static int open_file(int directory, const char *path)
{
	return (int)mt_sys4(SYS_openat, directory, path,
		O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
}

static void close_look(struct look *l)
{
	if (l->fd >= 0 && !l->borrowed)
		mt_sys1(SYS_close, l->fd);
}

/* False: there is no such file. One that may be executed need not be readable: fd is negative
 * then. */
static bool open_look(struct look *l, int directory, const char *path, int flags)
{
	l->len = 0;
	l->borrowed = false;
	if (!is_file(directory, path, flags, &l->status))
		return false;
	if (*path) {
		l->fd = open_file(directory, path);
	} else { /* fexecve: the descriptor may be for its path alone */
		l->fd = directory;
		l->borrowed = true;
	}
	if (l->fd >= 0)
		l->len = mt_sys4(SYS_pread64, l->fd, &l->start, sizeof l->start, 0);
	if (l->borrowed && l->len == -EBADF) {
		char name[32];

		mt_text_add_number(mt_text_add(name, "/proc/self/fd/"), (uint32_t)directory);
		l->borrowed = false;
		l->fd = open_file(AT_FDCWD, name);
		l->len = mt_sys4(SYS_pread64, l->fd, &l->start, sizeof l->start, 0);
	}
	return true;
}

static bool read_at(const struct look *l, uint64_t offset, void *to, size_t len)
{
	if (offset + len <= (uint64_t)l->len && offset <= (uint64_t)l->len) {
		memcpy(to, l->start.bytes + offset, len);
		return true;
	}
	return offset < INT64_MAX && mt_sys4(SYS_pread64, l->fd, to, len, offset) == (long)len;
}

/* ---- rights ---------------------------------------------------------------------------------- */

/* A file system, or the process itself, may forbid that a program gets other rights. */
static bool ignores_bits(const struct look *l)
{
	struct statfs system;

	return mt_sys6(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1
		|| (l->fd >= 0 && mt_sys2(SYS_fstatfs, l->fd, &system) == 0
			&& system.f_flags & ST_NOSUID);
}

/* As the kernel has it (security/commoncap.c): the program would run with other ids than the
 * process has as its real ones, or gain capabilities. The dynamic linker then loads nothing from
 * outside, and says nothing. */
static bool changes_rights(const struct look *l)
{
	const mode_t group = S_ISGID | S_IXGRP;
	uid_t uid[3] = {0}, gid[3] = {0}; /* real, effective, saved */
	bool setuid, setgid, capable;

	mt_sys3(SYS_getresuid, &uid[0], &uid[1], &uid[2]);
	mt_sys3(SYS_getresgid, &gid[0], &gid[1], &gid[2]);
	setuid = l->status.st_mode & S_ISUID;
	setgid = (l->status.st_mode & group) == group;
	capable = uid[0] != 0 && l->fd >= 0
		&& mt_sys4(SYS_fgetxattr, l->fd, "security.capability", NULL, 0) > 0;
	if ((setuid || setgid || capable) && ignores_bits(l))
		setuid = setgid = capable = false;
	return capable || uid[0] != (setuid ? l->status.st_uid : uid[1])
		|| gid[0] != (setgid ? l->status.st_gid : gid[1]);
}

/* ---- the dynamic linker ---------------------------------------------------------------------- */

/* A version's name stands in the file if the linker itself has functions of it. */
static bool is_new_glibc(int fd)
{
	static const char needed[] = "\0" LIBC_NEEDED;
	char text[512 + sizeof needed];
	uint64_t offset = 0;
	long n;

	while (offset < LOADER_BYTES
		&& (n = mt_sys4(SYS_pread64, fd, text, sizeof text, offset))
			>= (long)sizeof needed) {
		for (long i = 0; i + (long)sizeof needed <= n; i++)
			if (!text[i] && memcmp(text + i, needed, sizeof needed) == 0)
				return true;
		offset += 512;
	}
	return false;
}

/* musl's loads the library, which finds that it is not for this libc and passes everything on: so
 * the environment reaches what such a program starts. */
static void judge_loader(struct mt_exec_target *t, const char *path, const struct stat *status,
	int fd)
{
	bool opened = fd < 0;

	if (is_same(status, &mt_exec_files.loader))
		return;
	if (begins(base_name(path), "ld-musl-")) {
		t->reason = MT_BLIND_OTHER_LIBC;
		return;
	}
	if (opened)
		fd = open_file(AT_FDCWD, path);
	if (fd < 0)
		return;
	if (!is_new_glibc(fd)) {
		t->reason = MT_BLIND_OTHER_LIBC;
		t->refuses = true;
	}
	if (opened)
		mt_sys1(SYS_close, fd);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Finds the name of the dynamic linker. False: none is named, or what is there makes no sense. */
static bool find_interpreter(const struct look *l, char name[NAME_ROOM], bool *damaged)
{
	bool wide = l->start.elf.e_ident[EI_CLASS] == ELFCLASS64;
	unsigned count = wide ? l->start.elf.e_phnum : l->start.elf32.e_phnum;
	uint64_t at = wide ? l->start.elf.e_phoff : l->start.elf32.e_phoff;

	*damaged = false;
	for (unsigned i = 0; i < count && i < SEGMENTS_MAX; i++) {
		Elf64_Phdr segment;
		Elf32_Phdr narrow;
		size_t len = wide ? sizeof segment : sizeof narrow;

		*damaged = !read_at(l, at + i * len, wide ? (void *)&segment : &narrow, len);
		if (*damaged)
			return false;
		if ((wide ? segment.p_type : narrow.p_type) != PT_INTERP)
			continue;
		len = wide ? segment.p_filesz : narrow.p_filesz;
		*damaged = len < 2 || len > NAME_ROOM
			|| !read_at(l, wide ? segment.p_offset : narrow.p_offset, name, len)
			|| name[len - 1];
		return !*damaged;
	}
	return false;
}

static void judge_program(struct mt_exec_target *t, const struct look *l, const char *path)
{
	char name[NAME_ROOM];
	struct stat status;
	bool damaged, dynamic = find_interpreter(l, name, &damaged);

	if (damaged)
		return;
	if (l->start.elf.e_ident[EI_CLASS] != ELFCLASS64
		|| l->start.elf.e_machine != MT_ELF_MACHINE) {
		t->reason = MT_BLIND_WORD_SIZE;
		t->refuses = dynamic;
	} else if (dynamic) {
		if (is_file(AT_FDCWD, name, 0, &status))
			judge_loader(t, name, &status, -1);
	} else if (is_same(&l->status, &mt_exec_files.loader) || begins(base_name(path), "ld-")) {
		judge_loader(t, path, &l->status, l->fd); /* it is given the program's name */
	} else {
		t->reason = MT_BLIND_STATIC;
	}
}

/* As the kernel knows the file, which is what /proc/PID/exe will say. */
static void keep_path(struct mt_exec_target *t, const struct look *l, const char *path)
{
	char name[32];
	long n = -1;

	if (l->fd >= 0) {
		mt_text_add_number(mt_text_add(name, "/proc/self/fd/"), (uint32_t)l->fd);
		n = mt_sys3(SYS_readlink, name, t->path, sizeof t->path);
	}
	if (n > 0 && n < (long)sizeof t->path)
		t->path[n] = '\0';
	else
		mt_blind_copy_path(t->path, path);
}

/* The interpreter's name out of "#!  name argument". False: it has none. */
static bool find_script(const struct look *l, char name[NAME_ROOM])
{
	long at = 2, len = 0,
	     end = l->len < (long)sizeof l->start.line ? l->len : (long)sizeof l->start.line;
	const char *line = l->start.line;

	if (end < 3 || line[0] != '#' || line[1] != '!')
		return false;
	while (at < end && (line[at] == ' ' || line[at] == '\t'))
		at++;
	for (; at < end && (uint8_t)line[at] > ' '; at++)
		name[len++] = line[at];
	name[len] = '\0';
	return len > 0;
}

void mt_exec_look(struct mt_exec_target *t, int directory, const char *path, int flags)
{
	char name[NAME_ROOM];
	struct look l;

	t->reason = MT_BLIND_NONE;
	t->refuses = false;
	t->path[0] = '\0';
	for (int scripts = 0; path && scripts <= SCRIPTS_MAX; scripts++) {
		if (!open_look(&l, directory, path, flags & AT_EMPTY_PATH))
			return;
		if (find_script(&l, name)) {
			close_look(&l);
			directory = AT_FDCWD;
			path = name;
			flags = 0;
			continue;
		}
		if (changes_rights(&l))
			t->reason = MT_BLIND_PRIVILEGED;
		else if (l.len >= (long)sizeof(Elf64_Ehdr)
			&& memcmp(l.start.elf.e_ident, ELFMAG, SELFMAG) == 0)
			judge_program(t, &l, path);
		if (t->keeps_path || t->reason)
			keep_path(t, &l, path);
		close_look(&l);
		return;
	}
}

/* ---- the library ----------------------------------------------------------------------------- */

struct mt_exec_files mt_exec_files;

/* Another file than this process has loaded: a copy in another root, a newer one. */
static bool is_loadable(int fd)
{
	struct statfs system;
	Elf64_Ehdr elf;

	return mt_sys4(SYS_pread64, fd, &elf, sizeof elf, 0) == (long)sizeof elf
		&& memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 && elf.e_ident[EI_CLASS] == ELFCLASS64
		&& elf.e_machine == MT_ELF_MACHINE && elf.e_type == ET_DYN
		&& mt_sys2(SYS_fstatfs, fd, &system) == 0 && !(system.f_flags & ST_NOEXEC);
}

bool mt_exec_can_load(const char *path, bool same)
{
	struct stat status;
	bool can;
	int fd;

	if (!is_file(AT_FDCWD, path, 0, &status))
		return false;
	if (is_same(&status, &mt_exec_files.library))
		return mt_sys3(SYS_faccessat, AT_FDCWD, path, R_OK) == 0;
	if (same && mt_exec_files.library.st_ino)
		return false;
	fd = open_file(AT_FDCWD, path);
	can = fd >= 0 && is_loadable(fd);
	if (fd >= 0)
		mt_sys1(SYS_close, fd);
	return can;
}

/* ---- PATH ------------------------------------------------------------------------------------ */

#define DEFAULT_PATH "/bin:/usr/bin" /* as glibc's */

static const char *search_path(void)
{
	const char *path = mt_environment_get("PATH");

	return path ? path : DEFAULT_PATH;
}

size_t mt_exec_search_room(const char *file)
{
	size_t path = strlen(search_path()), len = strlen(file);

	return (path > PATH_MAX ? PATH_MAX : path) + (len > NAME_MAX ? NAME_MAX : len) + 2;
}

/* The first that may be executed, as far as that is known before the attempt. */
const char *mt_exec_search(char *to, const char *file)
{
	struct stat status;
	const char *at, *end;

	if (strrchr(file, '/'))
		return file;
	if (!*file || strlen(file) > NAME_MAX)
		return NULL;
	for (at = search_path();; at = end + 1) {
		size_t len;

		for (end = at; *end && *end != ':'; end++)
			;
		len = (size_t)(end - at);
		if (len > PATH_MAX)
			return NULL;
		memcpy(to, at, len);
		mt_text_add(mt_text_add(to + len, len ? "/" : ""), file);
		if (is_file(AT_FDCWD, to, 0, &status)
			&& mt_sys3(SYS_faccessat, AT_FDCWD, to, X_OK) == 0)
			return to;
		if (!*end)
			return NULL;
	}
}
