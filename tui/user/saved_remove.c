/* Removing sessions of the cache that nobody uses. */
#include "tui/user/saved_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BEGINNING_S 60 /* memtui run makes the directory a moment before the first file */

/* ---- whether somebody uses it ---- */

static int check_file(const struct mt_saved_list *list, const struct mt_saved *s,
	const struct mt_saved_file *f, struct mt_err *err)
{
	if (f->state == MT_SAVED_WRITTEN)
		return mt_fail(err, -EBUSY,
			"%s/%s: another program writes it, such as a recorder in a container",
			s->directory, f->name);
	if (f->is_open)
		return mt_fail(err, -EBUSY,
			"%s/%s: another program has it open, such as a memtui that shows it; quit "
			"that first",
			s->directory, f->name);
	for (int i = 0; f->is_unsure && i < list->running_count; i++)
		if (!list->running[i].program)
			return mt_fail(err, -EBUSY,
				"%s: recorder %d may write it, but does not answer; kill -CONT %d "
				"continues it",
				s->directory, (int)list->running[i].recorder,
				(int)list->running[i].recorder);
	return 0;
}

int mt_saved_check_unused(const struct mt_saved_list *list, const struct mt_saved *s,
	struct mt_err *err)
{
	int64_t age = (int64_t)time(NULL) - s->changed_ns / 1000000000;

	if (s->error)
		return mt_fail(err, -EACCES, "%s", s->error);
	if (s->running)
		return mt_fail(err, -EBUSY,
			"process %d is being recorded into %s; 'memtui ctl %d stop' ends the "
			"recording",
			(int)s->running->program, s->directory, (int)s->running->program);
	if (!s->count && !s->strange_count && age < BEGINNING_S)
		return mt_fail(err, -EBUSY,
			"%s: is new and empty, so a recording may be about to begin; try again in "
			"a minute",
			s->directory);
	for (uint32_t i = 0; i < s->count; i++)
		if (check_file(list, s, &s->files[i], err) < 0)
			return err->code;
	return 0;
}

/* ---- removing ---- */

/* Once more, as a while has passed since the list: it is ours, and nobody has it open. */
static int check_again(int directory, const struct mt_saved *s, const char *name, uint64_t *bytes,
	struct mt_err *err)
{
	bool unsure = false;
	struct stat is;
	int fd = mt_saved_open(directory, name, &is);

	if (fd == -ENOENT || fd == -EACCES) /* what cannot be read can be removed */
		return 0;
	if (fd < 0)
		return mt_fail(err, fd, "%s/%s: was replaced meanwhile; nothing is removed",
			s->directory, name);
	bool used = mt_saved_is_leased(fd, F_WRLCK, &unsure);

	close(fd);
	if (used)
		return mt_fail(err, -EBUSY, "%s/%s: another program has just opened it",
			s->directory, name);
	*bytes += (uint64_t)is.st_size;
	return 0;
}

static int remove_files(int directory, const struct mt_saved *s, uint64_t *bytes,
	struct mt_err *err)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->count; i++)
		if (check_again(directory, s, s->files[i].name, &sum, err) < 0)
			return err->code;
	for (uint32_t i = 0; i < s->count; i++)
		if (unlinkat(directory, s->files[i].name, 0) < 0 && errno != ENOENT)
			return mt_fail(err, -errno, "cannot remove %s/%s: %s", s->directory,
				s->files[i].name, strerror(errno));
	*bytes += sum;
	return 0;
}

int mt_saved_remove(const struct mt_saved *s, uint64_t *bytes, struct mt_err *err)
{
	int directory = mt_saved_open_directory(AT_FDCWD, s->directory), result;

	if (directory < 0)
		return mt_fail(err, directory, "cannot remove %s: %s", s->directory,
			strerror(-directory));
	result = remove_files(directory, s, bytes, err);
	close(directory);
	if (result || rmdir(s->directory) == 0)
		return result;
	mt_fail(err, -errno,
		"the directory %s stays: %s; it contains something that memtui has not written",
		s->directory, strerror(errno));
	return 1;
}
