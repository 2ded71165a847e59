#include "core/recording/packing.h"

#include "core/capture/live_list.h"

/* Called by the merge whenever its open block is full. */
static void flush(void *context)
{
	struct mt_packing *p = context;
	struct mt_merge *merge = mt_import_merge(p->import);
	int error;

	merge->unflushed = 0;
	if (p->failure.code)
		return;
	error = mt_definitions_write(&p->definitions, p->writer, p->profile, &p->failure);
	if (!error)
		error = mt_events_write(p->writer, merge->model, &p->failure);
	p->failure.code = error;
}

/* A trace that cannot be written ends the import. */
static int tell(void *context, double fraction)
{
	struct mt_packing *p = context;

	return p->failure.code || (p->progress && p->progress(p->context, fraction));
}

int mt_packing_begin(struct mt_packing *p, struct mt_import *import,
	const struct mt_profile *profile, int fd, struct mt_err *err)
{
	struct mt_merge *merge = mt_import_merge(import);

	*p = (struct mt_packing){.import = import, .profile = profile};
	p->writer = mt_trace_writer_new(fd, err);
	if (!p->writer) {
		p->failure = *err;
		return err->code;
	}
	merge->writer = p->writer;
	merge->flush = flush;
	merge->context = p;
	return 0;
}

int mt_packing_update(struct mt_packing *p, int (*progress)(void *, double), void *context,
	struct mt_err *err)
{
	p->progress = progress;
	p->context = context;
	int news = mt_import_update(p->import, tell, p, err);

	if (!p->failure.code)
		return news;
	*err = p->failure;
	return p->failure.code;
}

int mt_packing_finish(struct mt_packing *p, const struct mt_symbols *symbols, struct mt_err *err)
{
	struct mt_buffer payload = {0};
	struct mt_live_keep live;

	flush(p);
	if (p->failure.code) {
		*err = p->failure;
		return p->failure.code;
	}
	if (symbols)
		mt_symbols_encode(symbols, &payload);
	mt_live_keep_take(&live, mt_import_merge(p->import));
	struct mt_profile profile = *p->profile; /* what the trace says of its own size */
	int error = mt_live_keep_write(&live, p->writer, err);

	if (!error)
		error = mt_trace_write_end(p->writer, &profile, symbols ? &payload : NULL, err);
	mt_live_keep_free(&live);
	mt_buffer_free(&payload);
	return error;
}

void mt_packing_free(struct mt_packing *p)
{
	if (p->writer)
		mt_trace_writer_free(p->writer);
	*p = (struct mt_packing){0};
}
