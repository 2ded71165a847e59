#include "core/recording/parts.h"

#include "core/base/buffer.h"
#include "core/base/temporary.h"
#include "core/convert/convert.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int mt_opening_tell(void *context, double fraction)
{
	const struct mt_opening *o = context;
	const struct mt_open_options *options = o->options;

	return options->progress ? options->progress(options->context, o->what, fraction) : 0;
}

static int failed(const struct mt_opening *o)
{
	return o->err->code < 0 ? o->err->code : -EIO;
}

/* ---- stand-alone recordings ---- */

static int import(struct mt_opening *o)
{
	struct mt_recording *r = o->recording;

	o->what = "reading";
	return mt_import_update(r->import, mt_opening_tell, o, o->err);
}

/* Its events become a trace while it is imported. */
static int import_events(struct mt_opening *o)
{
	struct mt_recording *r = o->recording;
	struct mt_packing packing;
	int writing, fd = mt_temporary_file(&writing, o->err);

	if (fd < 0)
		return fd;
	o->what = "packing";
	int status = mt_packing_begin(&packing, r->import, r->now.profile, writing, o->err);

	if (!status)
		status = mt_packing_update(&packing, mt_opening_tell, o, o->err);
	if (status >= 0)
		status = mt_packing_finish(&packing, NULL, o->err);
	mt_packing_free(&packing);
	if (status < 0)
		close(fd);
	else
		r->now.reader = mt_trace_reader_open_fd(fd, o->path, o->err);
	return status < 0 ? status : r->now.reader ? 0 : failed(o);
}

void mt_recording_end_import(struct mt_recording *r)
{
	mt_recording_facts(r); /* of which the import knows a part */
	mt_import_free(r->import);
	r->import = NULL;
}

int mt_recording_begin_import(struct mt_opening *o)
{
	struct mt_recording *r = o->recording;

	r->source = &mt_segment_facts;
	r->import = mt_import_open(o->path, mt_generation_change_profile(&r->now), o->err);
	return r->import ? 0 : failed(o);
}

static int open_stand_alone(struct mt_opening *o)
{
	struct mt_recording *r = o->recording;
	int status = mt_recording_begin_import(o);

	if (!status)
		status = o->options->events && r->source->late_ns ? import_events(o) : import(o);
	if (status < 0)
		return status;
	r->live = mt_import_lives(r->import);
	if (!r->live || r->now.reader)
		mt_recording_end_import(r);
	return 0;
}

/* ---- traces ---- */

/* What another profiler has recorded becomes a trace first. */
static int open_trace(struct mt_opening *o)
{
	struct mt_recording *r = o->recording;
	struct mt_converted converted;
	struct mt_profile profile;

	o->what = "reading";
	struct mt_trace_reader *reader = mt_convert_open(o->path, o->options->memory_max,
		mt_opening_tell, o, &converted, o->err);

	if (!reader)
		return failed(o);
	if (converted.source)
		r->source = converted.source;
	memcpy(r->fault, converted.fault, sizeof converted.fault);
	memcpy(r->note, converted.note, sizeof converted.note);
	mt_profile_init(&profile);
	int status = mt_profile_load(&profile, reader, mt_opening_tell, o, o->err);

	if (status >= 0)
		status = mt_profile_check_readable(&profile, reader, o->err);
	r->damaged = *converted.fault || mt_trace_reader_damage(reader, NULL);
	mt_generation_put(&r->now, &profile, reader);
	return status;
}

/* ---- names ---- */

bool mt_recording_read_names(struct mt_recording *r, struct mt_err *err)
{
	struct mt_symbols *symbols = mt_generation_change_symbols(&r->now);
	struct mt_trace_reader *reader = r->now.reader;
	struct mt_buffer payload = {0};

	for (uint32_t i = reader ? mt_trace_reader_count(reader) : 0; i-- > 0;) {
		if (mt_trace_reader_block(reader, i)->type != MT_BLOCK_SYMBOLS)
			continue;
		if (mt_trace_reader_payload(reader, i, &payload, err) >= 0)
			mt_symbols_decode(symbols, payload.data, payload.len, err);
		break;
	}
	mt_buffer_free(&payload);
	return symbols->frame_count > 0;
}

static struct mt_resolver_options resolver_options(const struct mt_recording *r)
{
	return (struct mt_resolver_options){
		.root_pid = r->live ? r->now.profile->info.pid : 0,
		.trace = r->path,
	};
}

void mt_recording_begin_names(struct mt_recording *r)
{
	struct mt_resolver_options options = resolver_options(r);

	r->symbolizer = mt_symbolizer_new(&options);
	mt_symbolizer_feed(r->symbolizer, r->now.profile);
	r->names_wait = true;
}

bool mt_recording_lacks_names(const struct mt_recording *r)
{
	const struct mt_generation *g = &r->now;
	const struct mt_symbols *s = g->symbols;
	uint32_t pc = MT_PC_FIRST;

	while (pc < g->profile->pc_count && pc < s->pc_count && s->pcs[pc].count)
		pc++;
	return pc < g->profile->pc_count || !s->pc_count;
}

static void tell_names(void *context, double fraction)
{
	mt_opening_tell(context, fraction);
}

int mt_recording_complete_names(struct mt_recording *r, const struct mt_open_options *options,
	void (*say)(const char *format, ...), struct mt_err *err)
{
	struct mt_resolver_options of = resolver_options(r);
	struct mt_opening o = {.options = options, .what = "looking up names"};

	if (!mt_recording_lacks_names(r))
		return 0;
	of.memory_max = options->memory_max;
	struct mt_lookup lookup = {
		.resolver = mt_resolver_new(&of),
		.looks = MT_LOOKUP_LOOKS,
		.progress = tell_names,
		.context = &o,
		.say = say,
	};
	int error = mt_lookup(&lookup, r->now.profile, mt_generation_change_symbols(&r->now), err);

	mt_opening_tell(&o, -1);
	return error;
}

/* ---- from opening to freeing ---- */

struct mt_recording *mt_recording_new(const char *path)
{
	struct mt_recording *r = mt_alloc(sizeof *r);

	r->path = path ? mt_strdup(path) : NULL;
	r->source = &mt_trace_facts; /* until it turns out to be something else */
	mt_generation_init(&r->now);
	return r;
}

struct mt_recording *mt_recording_open(const char *path, const struct mt_open_options *options,
	struct mt_err *err)
{
	struct mt_recording *r = mt_recording_new(path);
	struct mt_opening o = {.recording = r, .options = options, .path = path, .err = err};
	int status = strcmp(path, "-") && mt_import_recognises(path)
		? open_stand_alone(&o)
		: open_trace(&o);

	mt_opening_tell(&o, -1);
	if (status >= 0)
		return r;
	if (!err->code)
		err->code = status;
	mt_recording_free(r);
	return NULL;
}

struct mt_recording *mt_recording_of(struct mt_profile *profile, struct mt_symbols *symbols)
{
	struct mt_recording *r = mt_recording_new(NULL);
	struct mt_symbols *names = mt_generation_change_symbols(&r->now);

	mt_generation_put(&r->now, profile, NULL);
	mt_symbols_free(names);
	*names = *symbols;
	*symbols = (struct mt_symbols){0};
	return r;
}

struct mt_recording *mt_recording_attach(const char *session, pid_t process, struct mt_err *err)
{
	struct mt_recording *r = mt_recording_new(NULL);

	r->client = mt_client_connect_process(session, process, err);
	r->live = true;
	if (r->client)
		return r;
	mt_recording_free(r);
	return NULL;
}

void mt_recording_free(struct mt_recording *r)
{
	if (!r)
		return;
	mt_symbolizer_free(r->symbolizer);
	mt_client_free(r->client);
	mt_import_free(r->import);
	mt_generation_release(&r->now);
	free(r->path);
	free(r);
}
