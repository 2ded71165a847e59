#include "core/recording/pack.h"

#include "core/convert/convert.h"
#include "core/recording/parts.h"
#include "core/session/internal.h"

#include <stdio.h>
#include <unistd.h>

static int pack(struct mt_opening *o, int fd, struct mt_packed *packed)
{
	struct mt_recording *r = o->recording;
	struct mt_packing packing;
	int error = mt_packing_begin(&packing, r->import, r->now.profile, fd, o->err);

	if (!error)
		error = mt_packing_update(&packing, mt_opening_tell, o, o->err);
	r->live = mt_import_lives(r->import);
	if (error >= 0) {
		mt_recording_complete_names(r, o->options, NULL, &packed->nameless);
		error = mt_packing_finish(&packing, r->now.symbols, o->err);
	}
	struct mt_facts facts = mt_recording_facts(r);

	snprintf(packed->remark, sizeof packed->remark, "%s", facts.fault ? facts.fault : "");
	packed->lives = r->live;
	packed->info = r->now.profile->info;
	packed->bytes = packing.writer ? mt_trace_writer_bytes(packing.writer) : 0;
	mt_packing_free(&packing);
	return error;
}

static int convert(struct mt_opening *o, int fd, struct mt_packed *packed)
{
	struct mt_converted converted;
	int error = mt_convert(o->path, fd, o->options->memory_max, mt_opening_tell, o, &converted,
		o->err);

	packed->info = converted.info;
	packed->bytes = converted.bytes;
	snprintf(packed->remark, sizeof packed->remark, "%s",
		*converted.fault ? converted.fault : converted.note);
	return error;
}

bool mt_pack_recognises(const char *path)
{
	return mt_import_recognises(path) || mt_convert_recognises(path);
}

int mt_pack_output(struct mt_err *err)
{
	return mt_output_open("-", err);
}

int mt_pack(const char *path, int fd, const struct mt_open_options *options,
	struct mt_packed *packed, struct mt_err *err)
{
	struct mt_opening o = {.options = options, .path = path, .what = "packing", .err = err};
	int error = 0;

	*packed = (struct mt_packed){0};
	if (!mt_import_recognises(path))
		return convert(&o, fd, packed);
	o.recording = mt_recording_new(path);
	error = mt_recording_begin_import(&o);
	if (error < 0)
		close(fd);
	else
		error = pack(&o, fd, packed);
	mt_recording_free(o.recording);
	return error;
}
