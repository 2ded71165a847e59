#include "tui/user/user_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX 65536

static char *below(const char *variable, const char *fallback, const char *name)
{
	const char *base = getenv(variable), *home = getenv("HOME");

	if (base && *base == '/')
		return mt_format("%s/memtui/%s", base, name);
	return home && *home == '/' ? mt_format("%s/%s/memtui/%s", home, fallback, name) : NULL;
}

char *mt_user_config(const char *name)
{
	return below("XDG_CONFIG_HOME", ".config", name);
}

char *mt_user_state(const char *name)
{
	return below("XDG_STATE_HOME", ".local/state", name);
}

int mt_user_read(const char *path, char **text, struct mt_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code = fd < 0 ? -errno : 0;
	struct stat status;
	size_t len = 0;
	ssize_t n = 1;

	*text = NULL;
	if (code)
		return code == -ENOTDIR
			? mt_fail(err, -ENOENT, "%s does not exist", path)
			: mt_fail(err, code, "%s cannot be read: %s", path, strerror(-code));
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > BYTES_MAX) {
		close(fd);
		return mt_fail(err, -EINVAL,
			"%s cannot be read: expected a text file of at most 64 KiB", path);
	}
	*text = mt_alloc(BYTES_MAX + 1);
	while (len < BYTES_MAX && (n = read(fd, *text + len, BYTES_MAX - len)) > 0)
		len += (size_t)n;
	code = n < 0 ? -errno : memchr(*text, 0, len) ? -EINVAL : 0;
	close(fd);
	if (!code)
		return 0;
	free(*text);
	*text = NULL;
	return mt_fail(err, code, "%s cannot be read: %s", path,
		code == -EINVAL ? "it is not text" : strerror(-code));
}

static void make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

int mt_user_write(const char *path, const char *text, struct mt_err *err)
{
	char *real = realpath(path, NULL); /* a link stays one */
	char *aside = mt_format("%s.%d.new", real ? real : path, (int)getpid());

	make_directories(aside);
	unlink(aside); /* of an earlier process of this number */
	int fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int code = fd < 0 ? -errno : 0;

	if (!code)
		code = mt_write_all(fd, text, strlen(text));
	if (fd >= 0 && close(fd) < 0 && !code)
		code = -errno;
	if (!code && rename(aside, real ? real : path) < 0)
		code = -errno;
	if (code && fd >= 0)
		unlink(aside);
	free(aside);
	free(real);
	return code ? mt_fail(err, code, "%s cannot be written: %s", path, strerror(-code)) : 0;
}

/* Makes the directory if it is missing. Returns 0 if nobody but its owner can exchange what is in
 * it, and that is the user, or root as of /tmp; own: the user alone, and nobody else may look
 * in. */
static int private_directory(const char *path, bool own, struct mt_err *err)
{
	static const char hint[] = "-o FILE says where the trace goes";
	struct stat is;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return mt_fail(err, -errno, "the directory %s cannot be made: %s; %s", path,
			strerror(errno), hint);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (own ? O_NOFOLLOW : 0));
	int code = fd < 0 || fstat(fd, &is) < 0 ? -errno : 0;
	bool others = !code && is.st_mode & S_IWOTH && !(is.st_mode & S_ISVTX);

	if (code)
		mt_fail(err, code, "%s is not your directory: %s; %s", path, strerror(-code), hint);
	else if (is.st_uid != geteuid() && (own || is.st_uid))
		code = mt_fail(err, -EPERM, "%s is not your directory; %s", path, hint);
	else if (others && !own)
		code = mt_fail(err, -EPERM, "others can write to the directory %s; %s", path, hint);
	else if (own && is.st_mode & 077 && fchmod(fd, 0700) < 0)
		code = mt_fail(err, -errno, "%s cannot be made private: %s; %s", path,
			strerror(errno), hint);
	if (fd >= 0)
		close(fd);
	return code;
}

static char *private_below(const char *parent, const char *name, struct mt_err *err)
{
	char *directory = mt_format("%s/%s", parent, name);

	if (!private_directory(parent, false, err) && !private_directory(directory, true, err))
		return directory;
	free(directory);
	return NULL;
}

/* The directory in which that of memtui lies. */
static char *traces_parent(int place)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (place)
		return place == 1 ? mt_strdup("/tmp") : NULL;
	return cache && *cache == '/'  ? mt_strdup(cache)
		: home && *home == '/' ? mt_format("%s/.cache", home)
				       : NULL;
}

static char *traces_name(int place)
{
	return place ? mt_format("memtui-%u", (unsigned)geteuid()) : mt_strdup("memtui");
}

char *mt_user_traces_at(int place)
{
	char *parent = traces_parent(place), *name = traces_name(place);
	char *path = parent ? mt_format("%s/%s", parent, name) : NULL;

	free(name);
	free(parent);
	return path;
}

char *mt_user_traces(struct mt_err *err)
{
	char *path = NULL;

	for (int place = 0; !path && place < 2; place++) {
		char *parent = traces_parent(place), *name = traces_name(place);

		path = parent ? private_below(parent, name, err) : NULL;
		free(name);
		free(parent);
	}
	return path;
}

void mt_faults_add(struct mt_faults *f, const char *file, uint32_t line, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	mt_buffer_printf(&f->text, "%s:%u: %s\n", file, line, text);
	f->count++;
}

void mt_faults_first(const struct mt_faults *f, char *out, size_t len)
{
	const char *text = f->count ? (const char *)f->text.data : "";

	/* The name without its directory: there is one line for it. */
	for (const char *c = text; *c && *c != ':'; c++)
		text = *c == '/' ? c + 1 : text;

	int first = (int)strcspn(text, "\n");

	if (f->count > 1)
		snprintf(out, len, "%.*s (and %u more)", first, text, f->count - 1);
	else
		snprintf(out, len, "%.*s", first, text);
}

void mt_faults_free(struct mt_faults *f)
{
	mt_buffer_free(&f->text);
	*f = (struct mt_faults){0};
}
