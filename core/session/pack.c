#include "core/session/pack.h"

#include "core/capture/import.h"
#include "core/model/load.h"
#include "core/session/internal.h"
#include "core/symbol/symbol.h"

#include <unistd.h>

#define PROGRESS_EVERY 64u /* pcs */

struct pack {
	const char *path;
	struct mt_err *nameless;
	struct mt_import *import;
	struct mt_merge *merge;
	struct mt_profile profile;
	struct mt_definitions definitions;
	struct mt_trace_writer *writer;
	void (*progress)(const char *, double);
	struct mt_err failure;
};

/* Called by the merge whenever its open block is full. */
static void flush(void *context)
{
	struct pack *p = context;
	const struct mt_info *info = &p->profile.info;
	struct mt_trace_running running = {p->merge->model->live_bytes, p->merge->model->live_count,
		info->allocations, info->frees, info->peak_bytes};
	int error;

	p->merge->unflushed = 0;
	if (p->failure.code)
		return;
	error = mt_definitions_write(&p->definitions, p->writer, &p->profile, &p->failure);
	if (!error)
		error = mt_trace_writer_flush(p->writer, &running, &p->failure);
	p->failure.code = error;
}

static int tell(void *context, double fraction)
{
	struct pack *p = context;

	if (p->progress)
		p->progress("packing", fraction);
	return p->failure.code != 0;
}

static void tell_names(void *context, double fraction)
{
	struct pack *p = context;

	if (p->progress)
		p->progress("looking up names", fraction);
}

static int write_symbols(struct pack *p, struct mt_err *err)
{
	struct mt_resolver_options options = {
		.root_pid = mt_import_lives(p->import) ? p->profile.info.pid : 0,
		.trace = p->path,
	};
	struct mt_lookup lookup = {
		.resolver = mt_resolver_new(&options),
		.looks = MT_LOOKUP_LOOKS,
		.progress = tell_names,
		.context = p,
	};
	struct mt_buffer payload = {0};
	struct mt_symbols symbols;
	int error;

	mt_symbols_init(&symbols);
	mt_lookup(&lookup, &p->profile, &symbols, p->nameless);
	mt_symbols_encode(&symbols, &payload);
	error = mt_trace_writer_block(p->writer, MT_BLOCK_SYMBOLS, payload.data, payload.len, err);
	mt_buffer_free(&payload);
	mt_symbols_free(&symbols);
	return error;
}

static int complete(struct pack *p, struct mt_err *err)
{
	int error = write_symbols(p, err);

	p->profile.info.file_bytes = mt_trace_writer_bytes(p->writer);
	if (!error)
		error = mt_info_write(p->writer, &p->profile, err);
	if (!error)
		error = mt_totals_write(p->writer, &p->profile, err);
	return error ? error : mt_trace_writer_finish(p->writer, err);
}

static int write_trace(struct pack *p, struct mt_err *err)
{
	int error;

	p->merge = mt_import_merge(p->import);
	p->merge->writer = p->writer;
	p->merge->flush = flush;
	p->merge->context = p;
	error = mt_import_update(p->import, tell, p, err);
	if (error >= 0 && !p->failure.code)
		flush(p);
	if (p->failure.code) {
		*err = p->failure;
		return p->failure.code;
	}
	return error < 0 ? error : complete(p, err);
}

int mt_pack_output(const char *path, struct mt_err *err)
{
	return mt_output_open(path, err);
}

int mt_pack(const char *path, int fd, void (*progress)(const char *, double),
	struct mt_packed *packed, struct mt_err *err)
{
	struct pack p = {.path = path, .nameless = &packed->nameless, .progress = progress};
	struct mt_err unused;
	bool damaged;
	int error = -1;

	*packed = (struct mt_packed){0};
	mt_profile_init(&p.profile);
	p.import = mt_import_open(path, &p.profile, err ? err : &unused);
	p.writer = p.import ? mt_trace_writer_new(fd, err) : NULL;
	if (!p.import)
		close(fd);
	if (p.writer)
		error = write_trace(&p, err ? err : &unused);
	else if (err && err->code < 0)
		error = err->code;
	if (p.import) {
		packed->fault = mt_import_fault(p.import, &damaged);
		packed->lives = mt_import_lives(p.import);
		packed->info = p.profile.info;
	}
	if (p.writer) {
		packed->bytes = mt_trace_writer_bytes(p.writer);
		mt_trace_writer_free(p.writer);
	}
	mt_import_free(p.import);
	mt_profile_free(&p.profile);
	return error;
}
