/* The trace of an image: written while it runs, kept below its limit, completed with symbols. */
#include "core/session/image_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOKS_AGAIN 10 /* 100 ms apart */
#define LIVE_AT_ONCE 65536u
/* Live blocks of ended images whose lists are still to be written. Beyond, there is no list. */
#define LIVE_KEPT (64u << 20)

void mt_image_add_arguments(struct mt_image *i)
{
	const struct mt_buffer *text = &i->offer->arguments;
	const char *at = (const char *)text->data, *end = at + text->len;
	struct mt_profile *p = &i->profile;

	for (; at < end; at += strlen(at) + 1) {
		MT_GROW(p->arguments, p->argument_count, p->argument_capacity);
		p->arguments[p->argument_count++] = mt_strings_add(&p->strings, at);
	}
}

/* ---- while it runs --------------------------------------------------------------------------- */

static uint64_t losses(const struct mt_info *info)
{
	return info->lost_events + info->implied_frees + info->unknown_frees + info->cut_stacks
		+ info->ambiguous + info->invalid_records + info->forked_children
		+ info->unrecorded_frees + info->maps + info->unmaps + info->lossy_ns + info->arenas
		+ info->freed_before_attach;
}

void mt_image_write_out(struct mt_image *i)
{
	const struct mt_info *info = &i->profile.info;
	uint64_t lost = losses(info), before;
	uint32_t events = i->merge.unflushed;
	int error;

	i->merge.unflushed = 0;
	if (i->failure.code || !i->writer)
		return;
	mt_merge_machine(&i->merge);
	error = mt_definitions_write(&i->definitions, i->writer, &i->profile, &i->failure);
	before = mt_trace_writer_bytes(i->writer);
	if (!error)
		error = mt_events_write(i->writer, &i->model, &i->failure);
	mt_flight_has_flushed(&i->flight, events, mt_trace_writer_bytes(i->writer) - before);
	if (!error && lost != i->info_losses)
		error = mt_info_write(i->writer, &i->profile, &i->failure);
	i->info_losses = lost;
	i->profile.info.file_bytes = mt_trace_writer_bytes(i->writer);
	if (error)
		i->failure.code = error;
	i->merge.between_due |= !error && mt_flight_is_due(&i->flight);
}

static void flush(void *image)
{
	mt_image_write_out(image);
}

void mt_image_take_turn(void *image)
{
	struct mt_image *i = image;
	int result = 0;

	if (!mt_flight_is_making(&i->flight))
		mt_image_write_out(i);
	if (!i->failure.code && (mt_flight_is_making(&i->flight) || mt_flight_is_due(&i->flight)))
		result = mt_flight_turn(&i->flight, &i->failure);
	i->merge.between_due = false;
	if (result < 0)
		i->failure.code = result;
	if (result <= 0)
		return;
	i->full = true;
	mt_merge_halt(&i->merge);
}

/* With a limit to the trace's size. */
static void begin_flight(struct mt_image *i)
{
	const struct mt_session_options *o = i->recorder->options;

	i->flight = (struct mt_flight){
		.profile = &i->profile,
		.model = &i->model,
		.merge = &i->merge,
		.definitions = &i->definitions,
	};
	if (o->max_bytes)
		mt_flight_init(&i->flight, o->max_bytes, o->stop_over_size);
}

void mt_image_use_trace(struct mt_image *i)
{
	i->merge.flush = flush;
	i->merge.between = mt_image_take_turn;
	i->merge.context = i;
	begin_flight(i);
}

void mt_image_give_away(const struct mt_image *i, int fd)
{
	const struct mt_session_options *o = i->recorder->options;
	struct stat st;
	struct mt_err err;

	if (!o->chown || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)
		|| fchown(fd, o->owner, o->group) == 0)
		return;
	mt_fail(&err, -errno, "--chown: the trace of process %d keeps its owner: %s",
		(int)i->process->pid, strerror(errno));
	mt_recorder_trouble_of(i->recorder, i->process, &err);
}

int mt_image_begin(struct mt_image *i, int fd, struct mt_err *err)
{
	i->writer = mt_trace_writer_new(fd, err);
	if (!i->writer) {
		i->failure = *err;
		return err->code;
	}
	mt_trace_writer_stays(i->writer);
	mt_image_give_away(i, fd);
	i->begun = true;
	i->merge.writer = i->flight.writer = i->writer;
	mt_image_write_out(i);
	return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* *library: is lost, and NULL then, where a file system does not answer. The names of later images
 * do not wait as long for it. */
static void find_symbols(struct mt_image *i, struct mt_resolver **library,
	struct mt_buffer *payload)
{
	struct mt_recorder *r = i->recorder;
	struct mt_lookup lookup = {
		.resolver = i->resolver,
		.library = *library,
		.looks = atomic_load(&r->names_given_up) ? LOOKS_AGAIN : MT_LOOKUP_LOOKS,
	};
	struct mt_symbols symbols;
	struct mt_err err;

	i->resolver = NULL;
	mt_symbols_init(&symbols);
	if (mt_lookup(&lookup, &i->profile, &symbols, &err) < 0) {
		*library = NULL;
		if (err.code == -ETIMEDOUT)
			atomic_store(&r->names_given_up, true);
		mt_recorder_trouble_of(r, i->process, &err);
	}
	mt_symbols_encode(&symbols, payload);
	mt_symbols_free(&symbols);
}

/* What lives at the end. The tables of small programs are written at once, so nothing of them waits
 * for names. Others wait for the finisher, since the other processes wait for this thread. A
 * recording with a limit to its size has few events: nobody needs the list. */
void mt_image_take_live(struct mt_image *i)
{
	struct mt_recorder *r = i->recorder;
	int error = 0;

	if (i->flight.cap)
		return;
	mt_live_keep_take(&i->live, &i->merge);
	if (i->live.block_count <= LIVE_AT_ONCE)
		error = mt_live_keep_write(&i->live, i->writer, &i->failure);
	else if (atomic_fetch_add(&r->live_kept, i->live.block_count) <= LIVE_KEPT)
		return;
	mt_image_drop_live(i);
	if (error)
		i->failure.code = error;
}

void mt_image_drop_live(struct mt_image *i)
{
	if (i->live.block_count > LIVE_AT_ONCE)
		atomic_fetch_sub(&i->recorder->live_kept, i->live.block_count);
	mt_live_keep_free(&i->live);
}

static int write_end(struct mt_image *i, const struct mt_buffer *symbols, struct mt_err *err)
{
	if (i->flight.cap)
		return mt_flight_complete(&i->flight, symbols, err);
	int error = mt_live_keep_write(&i->live, i->writer, err);

	mt_image_drop_live(i);
	return error ? error : mt_trace_write_end(i->writer, &i->profile, symbols, err);
}

/* The last title. Not before: what watchers see of the arguments does not change. */
static int write_title(struct mt_image *i, struct mt_err *err)
{
	if (!i->retitled)
		return 0;
	i->profile.argument_count = 0;
	mt_image_add_arguments(i);
	mt_definitions_restart(&i->definitions);
	return mt_definitions_write(&i->definitions, i->writer, &i->profile, err);
}

/* What stands at a name that is said must be what was written. */
static int see_name(const struct mt_image *i, struct mt_err *err)
{
	int fd = mt_trace_writer_fd(i->writer);
	struct stat file;

	if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) || mt_output_is_at(i->trace_path, fd))
		return 0;
	return mt_fail(err, -ESTALE,
		"%s: is gone: while it was written it was moved or removed, or another file took "
		"its name",
		i->trace_path);
}

int mt_image_complete(struct mt_image *i, struct mt_resolver **library, struct mt_err *err)
{
	struct mt_buffer symbols = {0};
	int error;

	if (!i->writer)
		return 0;
	if (i->failure.code) {
		if (err)
			*err = i->failure;
		return i->failure.code;
	}
	mt_image_give_away(i, mt_trace_writer_fd(i->writer)); /* --max-size makes new files */
	mt_image_look_at_program(i);
	find_symbols(i, library, &symbols);
	error = write_title(i, err);
	if (!error) /* what the end has shown: untraced processes, bundled allocators */
		error = mt_definitions_write(&i->definitions, i->writer, &i->profile, err);
	if (!error)
		error = write_end(i, &symbols, err);
	if (!error && i->trace_path && strcmp(i->trace_path, "-"))
		error = see_name(i, err);
	mt_buffer_free(&symbols);
	if (error)
		i->failure.code = error;
	return error;
}
