/* The functions that execute a program. A program's own pointers are handed on unless something is
 * to be changed. What these functions do themselves needs system calls alone. */
#include "preload/process/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <unistd.h>

#include "preload/base/environment.h"
#include "preload/base/installed.h"
#include "preload/base/libc.h"
#include "preload/base/sys.h"
#include "preload/symbols/find.h"

extern char **environ;

static struct {
	int (*execve)(const char *, char *const *, char *const *);
	int (*execv)(const char *, char *const *);
	int (*execvp)(const char *, char *const *);
	int (*execvpe)(const char *, char *const *, char *const *);
	int (*fexecve)(int, char *const *, char *const *);
	int (*execveat)(int, const char *, char *const *, char *const *, int);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		const posix_spawnattr_t *, char *const *, char *const *);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		const posix_spawnattr_t *, char *const *, char *const *);
} real;

/* ---- what is known from the start ------------------------------------------------------------ */

#define FOUND(name) (mt_likely(real.name != NULL) || mt_find_once(#name, (void *)&real.name))

/* A path that the dynamic linker was given relative to the directory is only good as long as the
 * process stays there. */
static const char *absolute(const char *path)
{
	static char whole[PATH_MAX];
	long len;

	if (*path == '/' || strlen(path) + 2 > sizeof whole)
		return path;
	len = mt_sys2(SYS_getcwd, whole, sizeof whole - strlen(path) - 2);
	if (len <= 0 || *whole != '/')
		return path;
	whole[len - 1] = '/';
	memcpy(whole + len, path, strlen(path) + 1);
	return whole;
}

static const char *file_of(const void *address, struct stat *status)
{
	struct dl_find_object object;
	const char *path =
		mt_object_of(address, &object) == 0 ? object.dlfo_link_map->l_name : NULL;

	if (!path || !*path || mt_sys4(SYS_newfstatat, AT_FDCWD, path, status, 0) < 0)
		status->st_ino = 0;
	return path && *path ? path : NULL;
}

extern void *__libc_stack_end __attribute__((weak));

/* Before the program can execute anything, change its root or its rights. */
__attribute__((constructor)) static void begin(void)
{
	const char *path = file_of(&mt_tracer, &mt_exec_files.library);

	mt_exec_files.path = path ? absolute(path) : NULL;
	if (&__libc_stack_end)
		file_of(&__libc_stack_end, &mt_exec_files.loader);
#define FIND(name) (void)FOUND(name)
	FIND(execve);
	FIND(execv);
	FIND(execvp);
	FIND(execvpe);
	FIND(fexecve);
	FIND(execveat);
	FIND(posix_spawn);
	FIND(posix_spawnp);
#undef FIND
}

/* ---- exec ------------------------------------------------------------------------------------ */

static int absent(void)
{
	errno = ENOSYS;
	return -1;
}

/* An exec that returns has failed. */
#define EXECUTE(call) \
	({ \
		int result_; \
		mt_exec_note(&e, 0); \
		result_ = (call); \
		mt_exec_failed(&e); \
		mt_exec_end(&e); \
		result_; \
	})

static int execute(const char *path, char *const *arguments, char *const *environment)
{
	struct mt_exec e;

	if (!FOUND(execve))
		return absent();
	environment = mt_exec_begin(&e, AT_FDCWD, path, 0, environment);
	return EXECUTE(real.execve(path, arguments, environment));
}

/* With the program's own environment, by the function that the program has called. */
static int execute_own(const char *path, char *const *arguments)
{
	char *const *own = environ, *const * environment;
	struct mt_exec e;

	if (!FOUND(execv) || !FOUND(execve))
		return absent();
	environment = mt_exec_begin(&e, AT_FDCWD, path, 0, own);
	return EXECUTE(environment == own ? real.execv(path, arguments)
					  : real.execve(path, arguments, environment));
}

/* The search is for the look at the file alone: the real function makes its own. */
static int execute_found(const char *file, char *const *arguments, char *const *given, bool own)
{
	char *room = __builtin_alloca(mt_exec_search_room(file));
	char *const *environment;
	struct mt_exec e;

	if (!FOUND(execvp) || !FOUND(execvpe))
		return absent();
	environment = mt_exec_begin(&e, AT_FDCWD, mt_exec_search(room, file), 0, given);
	return EXECUTE(own && environment == given ? real.execvp(file, arguments)
						   : real.execvpe(file, arguments, environment));
}

MT_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
	return execute(path, arguments, environment);
}

MT_EXPORT int execv(const char *path, char *const arguments[])
{
	return execute_own(path, arguments);
}

MT_EXPORT int execvp(const char *file, char *const arguments[])
{
	return execute_found(file, arguments, environ, true);
}

MT_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	return execute_found(file, arguments, environment, false);
}

MT_EXPORT int execveat(int directory, const char *path, char *const arguments[],
	char *const environment[], int flags)
{
	struct mt_exec e;

	if (!FOUND(execveat))
		return absent();
	environment = mt_exec_begin(&e, directory, path, flags, environment);
	return EXECUTE(real.execveat(directory, path, arguments, environment, flags));
}

MT_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
	struct mt_exec e;

	if (!FOUND(fexecve))
		return absent();
	if (!environment) /* which glibc refuses */
		return real.fexecve(fd, arguments, environment);
	environment = mt_exec_begin(&e, fd, "", AT_EMPTY_PATH, environment);
	return EXECUTE(real.fexecve(fd, arguments, environment));
}

/* ---- exec with arguments one by one ---------------------------------------------------------- */

/* Their number with the closing NULL; 0: too many. */
static size_t count_arguments(const char *first, va_list at)
{
	size_t count = 1;

	for (const char *a = first; a; a = va_arg(at, const char *))
		if (count++ == INT_MAX)
			return 0;
	return count;
}

/* As in glibc they lie on the stack. `at` then stands behind them. */
#define COLLECT(arguments, first, at) \
	do { \
		va_list count_at_; \
		size_t count_; \
		va_copy(count_at_, at); \
		count_ = count_arguments(first, count_at_); \
		va_end(count_at_); \
		if (!count_) { \
			va_end(at); \
			errno = E2BIG; \
			return -1; \
		} \
		(arguments) = __builtin_alloca(count_ * sizeof(char *)); \
		(arguments)[0] = (char *)(first); \
		for (size_t i_ = 1; i_ < count_; i_++) \
			(arguments)[i_] = va_arg(at, char *); \
	} while (0)

MT_EXPORT int execl(const char *path, const char *first, ...)
{
	char **arguments;
	va_list at;

	va_start(at, first);
	COLLECT(arguments, first, at);
	va_end(at);
	return execute_own(path, arguments);
}

MT_EXPORT int execlp(const char *file, const char *first, ...)
{
	char **arguments;
	va_list at;

	va_start(at, first);
	COLLECT(arguments, first, at);
	va_end(at);
	return execute_found(file, arguments, environ, true);
}

MT_EXPORT int execle(const char *path, const char *first, ...)
{
	char **arguments;
	char *const *environment;
	va_list at;

	va_start(at, first);
	COLLECT(arguments, first, at);
	environment = va_arg(at, char *const *);
	va_end(at);
	return execute(path, arguments, environment);
}

/* ---- spawn ----------------------------------------------------------------------------------- */

/* Here the child is known, and whether it runs, so a note comes afterwards. */
static int spawned(struct mt_exec *e, int error, const pid_t *pid)
{
	mt_exec_end(e);
	if (error == 0)
		mt_exec_note(e, pid ? (uint32_t)*pid : 0);
	return error;
}

/* Actions may change the directory first. */
static const char *path_after(const char *path, const posix_spawn_file_actions_t *actions)
{
	return !actions || (path && *path == '/') ? path : NULL;
}

MT_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
	struct mt_exec e;
	pid_t child;

	if (!FOUND(posix_spawn))
		return ENOSYS;
	pid = pid ? pid : &child;
	environment = mt_exec_begin(&e, AT_FDCWD, path_after(path, actions), 0, environment);
	return spawned(&e, real.posix_spawn(pid, path, actions, attributes, arguments, environment),
		pid);
}

MT_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
	char *room = __builtin_alloca(mt_exec_search_room(file));
	struct mt_exec e;
	pid_t child;

	if (!FOUND(posix_spawnp))
		return ENOSYS;
	pid = pid ? pid : &child;
	environment = mt_exec_begin(&e, AT_FDCWD, path_after(mt_exec_search(room, file), actions),
		0, environment);
	return spawned(&e,
		real.posix_spawnp(pid, file, actions, attributes, arguments, environment), pid);
}

/* ---- syscall() ------------------------------------------------------------------------------- */

long mt_exec_syscall(long number, long a, long b, long c, long d, long at_flags, long f);
long mt_exec_syscall(long number, long a, long b, long c, long d, long at_flags, long f)
{
	bool at = number == SYS_execveat;
	char *const *environment = (char *const *)(at ? d : c);
	struct mt_exec e;
	long result;

	environment = mt_exec_begin(&e, at ? (int)a : AT_FDCWD, (const char *)(at ? b : a),
		at ? (int)at_flags : 0, environment);
	mt_exec_note(&e, 0);
	result = mt_real_syscall(number, a, b, at ? c : (long)environment,
		at ? (long)environment : d, at_flags, f);
	mt_exec_failed(&e);
	mt_exec_end(&e);
	return result;
}
