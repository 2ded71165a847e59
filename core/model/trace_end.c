#include "core/model/load.h"
#include "core/model/verdicts.h"

static int write_verdicts(struct mt_trace_writer *w, const struct mt_verdicts *v,
	struct mt_err *err)
{
	struct mt_buffer payload = {0};

	mt_verdicts_encode(v, &payload);
	int error = mt_trace_writer_block(w, MT_BLOCK_VERDICTS, payload.data, payload.len, err);

	mt_buffer_free(&payload);
	return error;
}

int mt_trace_write_end(struct mt_trace_writer *w, struct mt_profile *p,
	const struct mt_buffer *symbols, struct mt_err *err)
{
	int error = symbols
		? mt_trace_writer_block(w, MT_BLOCK_SYMBOLS, symbols->data, symbols->len, err)
		: 0;

	if (!error && p->verdicts)
		error = write_verdicts(w, p->verdicts, err);
	p->info.file_bytes = mt_trace_writer_bytes(w);
	if (!error)
		error = mt_info_write(w, p, err);
	if (!error)
		error = mt_totals_write(w, p, err);
	return error ? error : mt_trace_writer_finish(w, err);
}
