#include "tui/data/ended.h"
#include "core/base/buffer.h"
#include "core/model/load.h"
#include "tui/data/job.h"

#include <errno.h>
#include <stdlib.h>

struct ended {
	struct mt_client *client; /* whose recording it is, to be compared */
	char *path;
	struct mt_trace_reader *reader;
	struct mt_profile profile;
};

static int read_trace(struct mt_job *job, void *context, struct mt_err *err)
{
	struct ended *e = context;

	e->reader = mt_trace_reader_open(e->path, err);
	if (!e->reader)
		return err->code ? err->code : -EIO;
	return mt_profile_load(&e->profile, e->reader, mt_job_progress, job, err);
}

/* Whether numbers of groups, nodes and pcs are the same ones. */
static bool is_of(const struct mt_profile *seen, const struct mt_profile *read)
{
	const struct mt_info *a = &seen->info, *b = &read->info;

	return !b->recorder_lost && a->pid == b->pid && a->start_unix_ns == b->start_unix_ns
		&& seen->group_count == read->group_count && seen->node_count == read->node_count
		&& seen->pc_count == read->pc_count && a->allocations == b->allocations
		&& a->frees == b->frees;
}

static void take(struct mt_data *d, struct ended *e)
{
	struct mt_profile seen = d->whole;

	d->whole = e->profile;
	e->profile = seen;
	d->reader = e->reader;
	e->reader = NULL;
	d->trace = MT_TRACE_READ;
	mt_data_begin_filters(d);
	mt_data_survey(d, MT_NO_GROUP);
	mt_data_select(d);
}

static void take_trace(struct mt_app *app, void *context, int result, const struct mt_err *err)
{
	struct ended *e = context;
	struct mt_data *d = app ? &app->data : NULL;

	(void)err; /* what was seen live is whole: where something asks for more, it says so */
	if (d && d->client == e->client && d->held) {
		d->trace = MT_TRACE_UNREAD;
	} else if (d && d->client == e->client) {
		d->trace = MT_TRACE_FAILED;
		if (result >= 0 && is_of(&d->whole, &e->profile))
			take(d, e);
	}
	if (e->reader)
		mt_trace_reader_free(e->reader);
	mt_profile_free(&e->profile);
	free(e->path);
	free(e);
}

void mt_ended_tend(struct mt_app *app)
{
	static const struct mt_work work = {read_trace, take_trace, NULL};
	struct mt_data *d = &app->data;
	struct ended *e;

	if (!d->client || !d->recorder_gone || !d->whole.info.ended || d->trace || d->frozen
		|| d->held)
		return;
	/* another process's: the list of them opens it */
	if ((pid_t)d->whole.info.pid != mt_client_entry(d->client)->program)
		return;
	d->trace = MT_TRACE_AWAITED;
	e = mt_alloc(sizeof *e);
	e->client = d->client;
	e->path = mt_strdup(mt_client_entry(d->client)->trace_path);
	mt_profile_init(&e->profile);
	mt_job_start(app, &work, e);
}
