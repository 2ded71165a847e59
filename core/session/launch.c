/* Can this program be recorded, and how is it started? */
#include "core/inject/inject.h"
#include "core/session/internal.h"
#include "core/session/target.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef MT_PREFIX
#define MT_PREFIX "/usr/local"
#endif
#define LEAST_FILES 16
#define LEAST_FILE_SIZE (16u << 20)
#define LEAST_ADDRESS_SPACE (64u << 20) /* and memory that is written to */
#define SCRIPTS_MAX 4                   /* an interpreter may be a script itself */

extern char **environ;

/* ---- finding --------------------------------------------------------------------------------- */

static char *search_path(const char *program)
{
	const char *path = getenv("PATH"), *at, *end;
	struct stat status;

	for (at = path ? path : "/usr/local/bin:/usr/bin:/bin"; at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, ':');
		char *candidate = end == at ? mt_strdup(program)
					    : mt_format("%.*s/%s", (int)(end - at), at, program);

		if (access(candidate, X_OK) == 0 && stat(candidate, &status) == 0
			&& S_ISREG(status.st_mode))
			return candidate;
		free(candidate);
	}
	return NULL;
}

static char *absolute(char *path)
{
	char *directory, *full;

	if (*path == '/' || !(directory = getcwd(NULL, 0)))
		return path;
	full = mt_format("%s/%s", directory, path);
	free(directory);
	free(path);
	return full;
}

static int find_program(char **found, const char *program, struct mt_err *err)
{
	struct stat status;

	if (!*program)
		return mt_fail(err, -ENOENT, "the name of the program is empty");
	*found = strchr(program, '/') ? mt_strdup(program) : search_path(program);
	if (!*found)
		return mt_fail(err, -ENOENT, "%s: not found in PATH", program);
	*found = absolute(*found);
	if (stat(*found, &status) < 0)
		return mt_fail(err, -errno, "%s: %s", program, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return mt_fail(err, -EISDIR, "%s: is a directory, not a program", program);
	if (!S_ISREG(status.st_mode) || access(*found, X_OK) < 0)
		return mt_fail(err, -EACCES, "%s: is not executable", program);
	return 0;
}

/* Names and memory of what is recorded are asked of /proc, by numbers that must mean the same. */
static int check_proc(struct mt_err *err)
{
	char self[32] = "";

	if (readlink("/proc/self", self, sizeof self - 1) < 0)
		return mt_fail(err, -errno, "/proc is not mounted; recording needs it");
	if (atoi(self) == (int)getpid())
		return 0;
	return mt_fail(err, -EINVAL,
		"/proc belongs to another PID namespace; mount the right one, "
		"for example with unshare --mount-proc");
}

static char *beside_executable(const char *tail)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	if (n <= 0)
		return NULL;
	self[n] = '\0';
	slash = strrchr(self, '/');
	return mt_format("%.*s/%s", (int)(slash - self), self, tail);
}

static int find_library(struct mt_launch *l, const struct mt_session_options *o, struct mt_err *err)
{
	const char *given = o->library;
	char *candidates[] = {given ? mt_strdup(given) : beside_executable("libmemtui.so"),
		given ? NULL : beside_executable("../lib/memtui/libmemtui.so"),
		given ? NULL : mt_strdup(MT_PREFIX "/lib/memtui/libmemtui.so")};

	for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
		if (!l->library && candidates[i] && access(candidates[i], R_OK) == 0)
			l->library = realpath(candidates[i], NULL);
		free(candidates[i]);
	}
	if (!l->library)
		return mt_fail(err, -ENOENT,
			"%s: the tracer's library was not found; build or install "
			"memtui completely",
			given ? given : "libmemtui.so");
	l->attached_library = mt_format("%.*s/libmemtui-attached.so",
		(int)(strrchr(l->library, '/') - l->library), l->library);
	if (!o->attach && strpbrk(l->library, ": "))
		return mt_fail(err, -EINVAL,
			"%s: the dynamic linker cannot preload a library whose path "
			"has a colon or a space; install memtui elsewhere",
			l->library);
	return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int check_rights(const char *path, const struct stat *status, struct mt_err *err)
{
	if ((status->st_mode & S_ISUID && status->st_uid != geteuid())
		|| ((status->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP)
			&& status->st_gid != getegid()))
		return mt_fail(err, -EPERM,
			"%s: runs with another user's or group's rights (setuid, "
			"setgid), so the dynamic linker preloads no library; record it "
			"as that user, or record a copy without the bit",
			path);
	if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return mt_fail(err, -EPERM,
			"%s: has file capabilities, so the dynamic linker preloads no "
			"library; record a copy without them",
			path);
	return 0;
}

/* The kernel would say of a missing one that the program itself is not there. */
static int check_interpreter(const char *path, const struct mt_target *t, struct mt_err *err)
{
	if (access(t->interpreter, X_OK) < 0)
		return mt_fail(err, -errno,
			"%s: its dynamic linker %s: %s; the program is for "
			"another system, or a package is missing",
			path, t->interpreter, strerror(errno));
	if (mt_target_is_musl(t))
		return mt_fail(err, -ENOEXEC,
			"%s: is built for musl; memtui records programs for glibc "
			"only, so build it for glibc",
			path);
	return 0;
}

/* NULL: there is none of the type. */
static Elf_Data *section_of(Elf *elf, uint32_t type, GElf_Shdr *header)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return elf_getdata(section, NULL);
	return NULL;
}

/* Whether the program has a dynamic entry of this kind that begins so; DT_NEEDED: a library. */
static bool names_library(Elf *elf, GElf_Sxword tag, const char *name)
{
	GElf_Shdr header;
	GElf_Dyn entry;
	Elf_Data *data = section_of(elf, SHT_DYNAMIC, &header);
	bool found = false;

	for (int i = 0; data && gelf_getdyn(data, i, &entry); i++) {
		const char *named = entry.d_tag == tag
			? elf_strptr(elf, header.sh_link, entry.d_un.d_val)
			: NULL;

		found |= named && strncmp(named, name, strlen(name)) == 0;
	}
	return found;
}

/* It loads what LD_PRELOAD says before the program that it is given. */
static bool is_dynamic_linker(int fd)
{
	bool is;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	is = elf && names_library(elf, DT_SONAME, "ld-linux-");
	elf_end(elf);
	return is;
}

/* Whether the program defines a function that libraries call by its name. */
static bool defines(Elf *elf, const char *name)
{
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Data *data = section_of(elf, SHT_DYNSYM, &header);
	bool found = false;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *defined = symbol.st_shndx != SHN_UNDEF
			? elf_strptr(elf, header.sh_link, symbol.st_name)
			: NULL;

		found |= defined && strcmp(defined, name) == 0;
	}
	return found;
}

/* gcc's AddressSanitizer ends a program before whose libraries another is loaded, unless told
 * otherwise: by its defaults, which are the tracer's where the program has none of its own. */
static int check_sanitizer(const char *path, int fd, struct mt_err *err)
{
	const char *options = getenv("ASAN_OPTIONS");
	bool refuses;
	Elf *elf;

	if (options && strstr(options, "verify_asan_link_order=0"))
		return 0;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	refuses = elf && names_library(elf, DT_NEEDED, "libasan.so")
		&& defines(elf, "__asan_default_options");
	elf_end(elf);
	if (!refuses)
		return 0;
	return mt_fail(err, -ENOEXEC,
		"%s: is built with AddressSanitizer, which refuses preloaded "
		"libraries, and defines __asan_default_options itself; set "
		"ASAN_OPTIONS=verify_asan_link_order=0, or record a build "
		"without it",
		path);
}

static int check_elf(const char *path, int fd, const struct mt_target *t, struct mt_err *err)
{
	int error;

	if (!t->is_64_bit)
		return mt_fail(err, -ENOEXEC,
			"%s: is a 32-bit program; memtui records 64-bit programs", path);
	if (!t->is_of_machine)
		return mt_fail(err, -ENOEXEC, "%s: is a program for another kind of processor",
			path);
	if (t->is_cut)
		return mt_fail(err, -ENOEXEC, "%s: its program headers are incomplete or damaged",
			path);
	if (*t->interpreter)
		return (error = check_interpreter(path, t, err)) < 0
			? error
			: check_sanitizer(path, fd, err);
	if (is_dynamic_linker(fd))
		return 0;
	return mt_fail(err, -ENOEXEC,
		"%s: is statically linked and cannot be recorded; link it dynamically, or put env "
		"before it to record the programs that it starts: env %s",
		path, path);
}

/* The interpreter's name out of "#!  name argument". */
static char *interpreter(const char *line, size_t len)
{
	const char *at = line + 2, *end = line + len;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	const char *start = at;

	while (at<end && * at> ' ')
		at++;
	return mt_format("%.*s", (int)(at - start), start);
}

static int check_file(const char *path, int scripts, struct mt_err *err);

static int check_script(const char *path, const char *line, size_t len, int scripts,
	struct mt_err *err)
{
	char *name = interpreter(line, len);
	int error;

	if (!*name || scripts >= SCRIPTS_MAX)
		error = mt_fail(err, -ENOEXEC, "%s: its #! line has no program", path);
	else if (access(name, X_OK) < 0)
		error = mt_fail(err, -errno, "%s: its interpreter %s: %s", path, name,
			strerror(errno));
	else
		error = check_file(name, scripts + 1, err);
	free(name);
	return error;
}

static int check_file(const char *path, int scripts, struct mt_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;
	struct mt_target target;
	struct stat status;
	char line[256];
	ssize_t n;

	if (fd < 0) /* what may be executed need not be readable */
		return errno != EACCES ? mt_fail(err, -errno, "%s: %s", path, strerror(errno))
			: stat(path, &status) == 0 ? check_rights(path, &status, err)
						   : 0;
	n = pread(fd, line, sizeof line, 0);
	mt_target_read(&target, fd);
	if (n > 2 && line[0] == '#' && line[1] == '!')
		error = check_script(path, line, (size_t)n, scripts, err);
	else if (!target.is_elf)
		error = mt_fail(err, -ENOEXEC,
			"%s: is not a program (neither ELF nor a script with #!)", path);
	else if (fstat(fd, &status) == 0 && (error = check_rights(path, &status, err)) == 0)
		error = check_elf(path, fd, &target, err);
	close(fd);
	return error;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static int check_limits(struct mt_launch *l, struct mt_err *err)
{
	getrlimit(RLIMIT_AS, &l->address_space);
	getrlimit(RLIMIT_DATA, &l->data);
	getrlimit(RLIMIT_STACK, &l->stack);
	getrlimit(RLIMIT_FSIZE, &l->file_size);
	getrlimit(RLIMIT_NOFILE, &l->files);
	if (l->address_space.rlim_cur < LEAST_ADDRESS_SPACE)
		return mt_fail(err, -ENOMEM,
			"the address space limit of %llu KiB is too low for a recorded "
			"program; raise it (ulimit -v) to %u or more",
			(unsigned long long)l->address_space.rlim_cur >> 10,
			LEAST_ADDRESS_SPACE >> 10);
	if (l->data.rlim_max < LEAST_ADDRESS_SPACE)
		return mt_fail(err, -ENOMEM,
			"the data limit of %llu KiB is too low for the recorder; raise "
			"it (ulimit -d) to %u or more",
			(unsigned long long)l->data.rlim_max >> 10, LEAST_ADDRESS_SPACE >> 10);
	if (l->file_size.rlim_max < LEAST_FILE_SIZE)
		return mt_fail(err, -EFBIG,
			"the file size limit of %llu KiB is too low for a trace; raise "
			"it (ulimit -f)",
			(unsigned long long)l->file_size.rlim_max >> 10);
	if (l->files.rlim_cur < LEAST_FILES || l->files.rlim_max < 2 * LEAST_FILES)
		return mt_fail(err, -EMFILE,
			"the limit of %llu open files is too low for recording; raise "
			"it (ulimit -n) to %d or more",
			(unsigned long long)l->files.rlim_cur, 2 * LEAST_FILES);
	return 0;
}

/* ---- a process that runs ---- */

/* A system-call filter is judged by who makes calls in it. */
int mt_session_check_attach(pid_t pid, struct mt_err *err)
{
	struct mt_tracee *tracee = mt_tracee_open(pid, MT_TRACEE_SECCOMP, err);

	if (!tracee)
		return err->code;
	mt_tracee_close(tracee);
	if (mt_process_maps_library(pid, "/libmemtui.so"))
		return mt_fail(err, -EBUSY,
			"process %d has loaded memtui's tracer already: it was started by memtui, "
			"or records itself",
			(int)pid);
	return 0;
}

static int check_process(struct mt_launch *l, pid_t pid, struct mt_err *err)
{
	char path[PATH_MAX];
	int error = mt_session_check_attach(pid, err);

	if (error)
		return error;
	mt_proc_executed(pid, path, sizeof path);
	if (!*path && !mt_proc_link(pid, "exe", path, sizeof path))
		return mt_fail(err, -ENOENT, "process %d: its program is not known", (int)pid);
	l->path = mt_strdup(path);
	return 0;
}

int mt_launch_prepare(struct mt_launch *l, const struct mt_session_options *o, struct mt_err *err)
{
	int error;

	*l = (struct mt_launch){0};
	if ((error = check_proc(err)) == 0) {
		if (o->attach)
			error = check_process(l, o->attach, err);
		else if ((error = find_program(&l->path, o->argv[0], err)) == 0)
			error = check_file(l->path, 0, err);
	}
	if (!error && (error = check_limits(l, err)) == 0)
		error = find_library(l, o, err);
	if (error)
		mt_launch_free(l);
	return error;
}

void mt_launch_free(struct mt_launch *l)
{
	free(l->path);
	free(l->library);
	free(l->attached_library);
	*l = (struct mt_launch){0};
}

/* ---- executing ------------------------------------------------------------------------------- */

static const char *value_of(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(entry, name, len) && entry[len] == '=' ? entry + len + 1 : NULL;
}

/* Of the terminal that memtui draws on, not of one that the program gets. */
static bool is_of_terminal(const char *entry)
{
	return value_of(entry, "TERM") || value_of(entry, "LINES") || value_of(entry, "COLUMNS");
}

char **mt_launch_environment(const struct mt_launch *l, const char *session, bool pty)
{
	size_t count = 0, at = 0;
	const char *preloaded = "";

	while (environ && environ[count])
		count++;
	char **environment = mt_alloc((count + 4) * sizeof *environment);

	for (size_t i = 0; i < count; i++) {
		if (value_of(environ[i], "LD_PRELOAD"))
			preloaded = value_of(environ[i], "LD_PRELOAD");
		else if (!value_of(environ[i], MT_WIRE_ENVIRONMENT)
			&& !(pty && is_of_terminal(environ[i])))
			environment[at++] = environ[i];
	}
	environment[at++] =
		mt_format("LD_PRELOAD=%s%s%s", l->library, *preloaded ? ":" : "", preloaded);
	environment[at++] = mt_format("%s=%s", MT_WIRE_ENVIRONMENT, session);
	if (pty)
		/* which libvterm is, whatever it is drawn on */
		environment[at] = mt_strdup("TERM=xterm-256color");
	return environment;
}

int mt_launch_execute(const struct mt_launch *l, char *const *argv, char **environment)
{
	setrlimit(RLIMIT_AS, &l->address_space);
	setrlimit(RLIMIT_DATA, &l->data);
	setrlimit(RLIMIT_STACK, &l->stack);
	setrlimit(RLIMIT_FSIZE, &l->file_size);
	setrlimit(RLIMIT_NOFILE, &l->files);
	execve(l->path, argv, environment);
	return errno;
}
