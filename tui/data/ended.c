#include "tui/data/ended.h"
#include "core/base/buffer.h"
#include "tui/data/job.h"

#include <errno.h>
#include <stdlib.h>

struct ended {
	struct mt_recording *recording; /* whose trace it is, to be compared */
	char *path;
	struct mt_recording *trace;
};

static int read_trace(struct mt_job *job, void *context, struct mt_err *err)
{
	struct mt_open_options options = {.progress = mt_job_tell, .context = job};
	struct ended *e = context;

	e->trace = mt_recording_open(e->path, &options, err);
	return e->trace ? 0 : err->code;
}

static void take_trace(struct mt_app *app, void *context, int result, const struct mt_err *err)
{
	struct ended *e = context;
	struct mt_data *d = app ? &app->data : NULL;

	(void)err; /* what was seen live is whole: where something asks for more, it says so */
	if (d && d->recording == e->recording)
		d->trace = result >= 0 && mt_data_take_trace(d, e->trace)
			? MT_TRACE_READ
			: MT_TRACE_FAILED;
	mt_recording_free(e->trace);
	free(e->path);
	free(e);
}

void mt_ended_tend(struct mt_app *app)
{
	static const struct mt_work work = {read_trace, take_trace, NULL};
	struct mt_data *d = &app->data;
	struct ended *e;

	if (!d->client || !d->recorder_gone || !d->whole->info.ended || d->trace || d->frozen)
		return;
	/* another process's: the list of them opens it */
	if ((pid_t)d->whole->info.pid != mt_client_entry(d->client)->program)
		return;
	d->trace = MT_TRACE_AWAITED;
	e = mt_alloc(sizeof *e);
	e->recording = d->recording;
	e->path = mt_strdup(mt_client_entry(d->client)->trace_path);
	mt_job_start(app, &work, e);
}
