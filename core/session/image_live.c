/* What lives in an image that runs, for somebody who asks: its trace up to now, and beside it a
 * list of the live blocks, so that nobody has to go over all events. doc/recorder.md, "What lives
 * now". */
#include "core/session/image_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The program waits where its rings are full meanwhile: a list takes some 100 ns a block. Beyond,
 * there is none, and the reader goes over the events. */
#define LISTED_MOST (1u << 20)

/* A descriptor, or -1: there is no list, and the events tell as much. */
static int list(struct mt_image *i)
{
	struct mt_live_keep keep;
	struct mt_err err = {0};
	int fd, result = -1;

	/* a recording with a limit to its size has few events */
	if (i->flight.cap || i->merge.many_restores || i->model.live_count > LISTED_MOST)
		return -1;
	fd = memfd_create("memtui-live", MFD_CLOEXEC);
	struct mt_trace_writer *writer =
		fd < 0 ? NULL : mt_trace_writer_new(fcntl(fd, F_DUPFD_CLOEXEC, 0), &err);

	if (writer) {
		mt_live_keep_borrow(&keep, &i->merge);
		result = mt_live_keep_write(&keep, writer, &err);
		mt_live_keep_free(&keep);
		mt_trace_writer_free(writer);
	}
	if (!result)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* To read from. It is a file with a name: that of a stream has nothing to read. */
static int open_trace(const struct mt_image *i)
{
	struct stat st;
	char link[32];

	if (fstat(mt_trace_writer_fd(i->writer), &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOTSUP;
	snprintf(link, sizeof link, "/proc/self/fd/%d", mt_trace_writer_fd(i->writer));
	int fd = open(link, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

struct mt_live_answer *mt_image_answer_live(struct mt_image *i)
{
	struct mt_live_answer *a = mt_alloc(sizeof *a);

	a->trace_fd = a->list_fd = -1;
	snprintf(a->trace_path, sizeof a->trace_path, "%s", i->trace_path ? i->trace_path : "");
	mt_image_write_out(i);
	/* tells what usable sizes follow from, too, which a young recording does not know yet */
	mt_merge_slack(&i->merge, true);
	mt_image_publish_last(i);
	a->moment_ns = i->profile.info.wall_ns;
	a->trace_bytes = mt_trace_writer_bytes(i->writer);
	a->trace_fd = i->failure.code ? i->failure.code : open_trace(i);
	a->status = a->trace_fd < 0 ? a->trace_fd : 0;
	if (!a->status)
		a->list_fd = list(i);
	return a;
}

void mt_live_answer_free(struct mt_live_answer *a)
{
	if (!a)
		return;
	if (a->trace_fd >= 0)
		close(a->trace_fd);
	if (a->list_fd >= 0)
		close(a->list_fd);
	free(a);
}
