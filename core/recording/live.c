/* What a session that runs has recorded up to a moment. */
#include "core/recording/parts.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define LOOKS 100
#define LOOK_MS 100
/* at names, whose files may lie where nobody answers: then there are none */
#define NAMES_LOOKS 2000
#define NAMES_LOOK_MS 5

/* The part of its trace up to the moment, with the list beside it. Takes the descriptors. */
static struct mt_trace_reader *open_live(const struct mt_session_live *live, struct mt_err *err)
{
	struct mt_trace_reader *list = NULL,
			       *reader = mt_trace_reader_open_part(live->trace_fd, live->trace_path,
				       live->trace_bytes, err);

	if (live->list_fd >= 0)
		list = mt_trace_reader_open_fd(live->list_fd, "the list of live blocks", NULL);
	if (reader && list)
		mt_trace_reader_set_list(reader, list);
	else
		mt_trace_reader_free(list);
	return reader;
}

/* The recorder has published all that the trace refers to; it may publish once more at the
 * moment. */
static int catch_up(struct mt_recording *r, uint64_t moment_ns, struct mt_err *err)
{
	const struct mt_info *info;
	unsigned news, looks = 0;

	do {
		struct pollfd ready = {mt_client_fd(r->client), POLLIN, 0};

		if (looks)
			poll(&ready, 1, LOOK_MS);
		news = mt_recording_update(r, true);
		info = &r->now.profile->info;
	} while (!(news & MT_NEWS_END) && info->wall_ns < moment_ns && ++looks < LOOKS);
	if (info->wall_ns >= moment_ns)
		return 0;
	return mt_fail(err, -EAGAIN, "the recorder does not publish what it knows");
}

int mt_recording_take_live(struct mt_recording *r, uint64_t *moment_ns, char path[512],
	struct mt_err *err)
{
	struct mt_session_live live;
	pid_t process = mt_client_entry(r->client)->program;
	int status = mt_session_live(mt_client_entry(r->client)->name, process, &live, err);

	if (status < 0)
		return status;
	struct mt_trace_reader *reader = open_live(&live, err);

	if (!reader)
		return err->code < 0 ? err->code : -EIO;
	status = catch_up(r, live.moment_ns, err);
	if (status < 0) {
		mt_trace_reader_free(reader);
		return status;
	}
	mt_trace_reader_free(r->now.reader);
	r->now.reader = reader;
	*moment_ns = live.moment_ns;
	if (path)
		memcpy(path, live.trace_path, sizeof live.trace_path);
	return 0;
}

void mt_recording_await_names(struct mt_recording *r)
{
	for (unsigned looks = 0; looks < NAMES_LOOKS && mt_recording_names_busy(r); looks++) {
		mt_recording_update(r, false);
		if (mt_recording_names_busy(r))
			poll(NULL, 0, NAMES_LOOK_MS);
	}
	mt_recording_update(r, false); /* what was found last */
}
