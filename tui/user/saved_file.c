/* One file of a recording in the cache: whose it is, who has it open, and its sums. */
#include "core/export/command_line.h"
#include "core/model/load.h"
#include "tui/user/saved_parts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number that ends before `end`; NULL: there is none behind an underscore. */
static const char *before_number(const char *start, const char *end)
{
	const char *at = end;

	while (at > start && isdigit((unsigned char)at[-1]))
		at--;
	return at < end && at > start && at[-1] == '_' ? at - 1 : NULL;
}

/* memtui_PROGRAM_UNIXTIME_PID.dat, and what tells images, snapshots and unfinished files apart. The
 * program's name may be anything. */
bool mt_saved_is_name(const char *name, bool *whole)
{
	static const char tail[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789.-%_";
	const char *start = name + strlen("memtui_"), *end, *at, *next;

	if (strncmp(name, "memtui_", strlen("memtui_")) || !(at = strstr(start, ".dat")))
		return false;
	while ((next = strstr(at + 1, ".dat")))
		at = next;
	end = at + strlen(".dat");
	if (!(at = before_number(start, at)) || !(at = before_number(start, at)) || at == start)
		return false;
	*whole = !strstr(end, "-at-") && !strstr(end, ".new");
	return end[strspn(end, tail)] == '\0';
}

bool mt_saved_is_own(const struct stat *is)
{
	return S_ISREG(is->st_mode) && is->st_uid == geteuid();
}

bool mt_saved_is_leased(int fd, int kind, bool *unsure)
{
	/* instead of SIGIO, which would end us if somebody opened the file right now */
	fcntl(fd, F_SETSIG, SIGURG);
	if (fcntl(fd, F_SETLEASE, kind) < 0) {
		*unsure |= errno != EAGAIN;
		return errno == EAGAIN;
	}
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

static void take(struct mt_saved_file *f, const struct mt_profile *p)
{
	const struct mt_info *info = &p->info;

	f->pid = info->pid;
	f->root = info->root;
	f->images_before = info->images_before;
	f->start_unix_ns = info->start_unix_ns;
	f->command = mt_command_line(p, MT_COMMAND_LINE_ROOM);
	f->sampled = mt_info_is_sampled(info);
	if (!f->has_sums)
		return;
	f->duration_ns = info->wall_ns;
	f->leaked_bytes = info->leaked_bytes;
	f->peak_bytes = info->peak_bytes;
}

static enum mt_saved_state state_of(struct mt_trace_reader *reader, const struct mt_profile *p)
{
	const char *reason;

	if (mt_trace_reader_damage(reader, &reason) && !mt_trace_reader_is_cut(reader))
		return MT_SAVED_DAMAGED;
	return mt_info_is_whole(&p->info) ? MT_SAVED_COMPLETE : MT_SAVED_INCOMPLETE;
}

/* Its process, and its sums where these are known or soon found. */
static int read_sums(struct mt_saved_file *f, struct mt_trace_reader *reader, bool is_written,
	uint64_t *readable, struct mt_err *err)
{
	struct mt_profile p;
	int result;

	mt_profile_init(&p);
	result = mt_profile_peek(&p, reader, err);
	/* without its end, it has no sums, or those of an earlier moment */
	if (result >= 0 && !mt_trace_reader_complete(reader) && !is_written
		&& f->bytes <= *readable) {
		*readable -= f->bytes;
		result = mt_profile_load(&p, reader, NULL, NULL, err);
		result = result < 0 ? result : 1;
	}
	f->has_sums = result > 0;
	if (result >= 0) {
		take(f, &p);
		f->state = is_written ? MT_SAVED_WRITTEN : state_of(reader, &p);
	}
	mt_profile_free(&p);
	return result;
}

void mt_saved_look(struct mt_saved_file *f, int fd, uint64_t *readable)
{
	bool is_written = mt_saved_is_leased(fd, F_RDLCK, &f->is_unsure);
	struct mt_err err = {0};
	struct mt_trace_reader *reader;

	f->is_open = mt_saved_is_leased(fd, F_WRLCK, &f->is_unsure);
	reader = mt_trace_reader_open_fd(fd, f->name, &err);
	if (!reader || read_sums(f, reader, is_written, readable, &err) < 0) {
		f->state = is_written ? MT_SAVED_WRITTEN : MT_SAVED_UNREADABLE;
		f->error = is_written ? NULL : mt_strdup(err.text);
	}
	mt_trace_reader_free(reader);
}
