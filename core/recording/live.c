/* What a session that runs has recorded up to a moment. */
#include "core/recording/parts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOKS 100
#define LOOK_MS 100
#define TRIES 50
#define INTERVAL_MS 10 /* at the totals of a stream */
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

/* Of a stream there are no events to be had. */
static int take_totals(struct mt_recording *r)
{
	struct mt_err ignored;

	mt_client_interval(r->client, INTERVAL_MS);
	int status = catch_up(r, 1, &ignored);

	snprintf(r->note, sizeof r->note,
		"the recording of process %d is a stream, so only its totals are known",
		(int)mt_client_entry(r->client)->program);
	return status;
}

/* Totals and events of one moment: while others watch it, the recorder may have published once
 * more. */
static int take_moment(struct mt_recording *r, struct mt_err *err)
{
	uint64_t moment_ns = 0;

	mt_client_interval(r->client, 0); /* it publishes when it is asked */
	for (unsigned tries = 0; tries < TRIES; tries++) {
		int status = mt_recording_take_live(r, &moment_ns, NULL, err);

		if (status == -ENOTSUP)
			return take_totals(r);
		if (status < 0)
			return status;
		if (r->now.profile->info.wall_ns == moment_ns)
			return 0;
	}
	return mt_fail(err, -EAGAIN,
		"the recorder of process %d publishes its totals faster than they can be read; "
		"wait until fewer programs watch it",
		(int)mt_client_entry(r->client)->program);
}

struct mt_recording *mt_recording_open_live(const char *session, pid_t process, bool names,
	struct mt_err *err)
{
	struct mt_recording *r = mt_recording_attach(session, process, err);

	if (!r)
		return NULL;
	r->nameless = !names;
	if (take_moment(r, err) < 0) {
		mt_recording_free(r);
		return NULL;
	}
	if (names)
		mt_recording_await_names(r);
	return r;
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
