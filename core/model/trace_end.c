#include "core/model/load.h"

int mt_trace_write_end(struct mt_trace_writer *w, struct mt_profile *p,
	const struct mt_buffer *symbols, struct mt_err *err)
{
	int error = symbols
		? mt_trace_writer_block(w, MT_BLOCK_SYMBOLS, symbols->data, symbols->len, err)
		: 0;

	p->info.file_bytes = mt_trace_writer_bytes(w);
	if (!error)
		error = mt_info_write(w, p, err);
	if (!error)
		error = mt_totals_write(w, p, err);
	return error ? error : mt_trace_writer_finish(w, err);
}
