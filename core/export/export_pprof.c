/* pprof's profile.proto (github.com/google/pprof/blob/main/proto/profile.proto), compressed with
 * gzip. */
#include "core/export/export_parts.h"
#include "core/export/protobuf.h"
#include "core/query/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME = 9,
	PROFILE_DURATION,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE
};
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILES,
	MAPPING_HAS_LINES,
	MAPPING_HAS_INLINE
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

/* As in Go's heap profiles; the default is Go's too. */
#define SAMPLE_TYPES(X) \
	X("alloc_objects", "count", MT_METRIC_ALLOCATED_COUNT) \
	X("alloc_space", "bytes", MT_METRIC_SIZE) \
	X("inuse_objects", "count", MT_METRIC_LEAKED_COUNT) \
	X("inuse_space", "bytes", MT_METRIC_LEAKED_SIZE)
#define DEFAULT_TYPE "inuse_space"

struct function {
	uint32_t name, system_name, file; /* string ids */
};

struct pprof {
	const struct mt_report *report;
	struct mt_buffer out;
	struct mt_buffer part, inner, packed, text; /* of a message that is being written */
	struct mt_strings strings;
	/* a function's id is the id of its three strings' numbers */
	struct mt_strings function_keys;
	uint8_t *has_location; /* by pc; a location's id is its pc's, plus one */
};

static uint32_t string(struct pprof *p, const char *text)
{
	p->text.len = 0;
	mt_text_add(&p->text, MT_TEXT_LINE, text);
	return mt_strings_add_len(&p->strings, (const char *)p->text.data, p->text.len);
}

/* Its id; a function that is new is written. */
static uint32_t function(struct pprof *p, const struct mt_backtrace_frame *frame)
{
	char *name = mt_report_frame_name(frame), key[64];
	struct function f = {string(p, name),
		string(p, *frame->raw_function ? frame->raw_function : name),
		string(p, frame->source)};
	uint32_t before = p->function_keys.count;
	struct mt_buffer message = {0};

	snprintf(key, sizeof key, "%u %u %u", f.name, f.system_name, f.file);
	uint32_t id = mt_strings_add(&p->function_keys, key);

	free(name);
	if (p->function_keys.count == before)
		return id;
	mt_proto_number(&message, FUNCTION_ID, id);
	mt_proto_number(&message, FUNCTION_NAME, f.name);
	mt_proto_number(&message, FUNCTION_SYSTEM_NAME, f.system_name);
	mt_proto_number(&message, FUNCTION_FILE, f.file);
	mt_proto_message(&p->out, PROFILE_FUNCTION, &message);
	mt_buffer_free(&message);
	return id;
}

static void add_line(struct pprof *p, struct mt_buffer *location,
	const struct mt_backtrace_frame *frame)
{
	mt_proto_number(&p->inner, LINE_FUNCTION, function(p, frame));
	mt_proto_number(&p->inner, LINE_NUMBER, frame->line);
	mt_proto_message(location, LOCATION_LINE, &p->inner);
}

/* The location of a pc, of which an inlined function stands before the one that it is inlined
 * into. */
static uint32_t location(struct pprof *p, uint32_t pc)
{
	const struct mt_profile *profile = p->report->profile;
	struct mt_backtrace_frame frame;
	struct mt_buffer message = {0};
	uint32_t first = 0, count = mt_pc_frames(p->report->symbols, pc, &first);
	uint32_t module = MT_NO_MODULE;

	if (p->has_location[pc])
		return pc + 1;
	p->has_location[pc] = 1;
	if (pc >= MT_PC_FIRST)
		module = profile->pcs[pc].module;
	mt_proto_number(&message, LOCATION_ID, pc + 1);
	mt_proto_number(&message, LOCATION_MAPPING,
		module < profile->module_count ? module + 1 : 0);
	mt_proto_number(&message, LOCATION_ADDRESS, profile->pcs[pc].address);
	if (pc == MT_FUNCTION_NONE) {
		frame = (struct mt_backtrace_frame){
			.function = MT_EXPORT_NO_STACK,
			.raw_function = "",
			.source = "",
			.module = "",
		};
		add_line(p, &message, &frame);
	} else if (!count) {
		mt_frame_describe(&frame, profile, p->report->symbols, pc, MT_NO_FRAME);
		add_line(p, &message, &frame);
	}
	for (uint32_t i = 0; i < count; i++) {
		mt_frame_describe(&frame, profile, p->report->symbols, pc, first + i);
		add_line(p, &message, &frame);
	}
	mt_proto_message(&p->out, PROFILE_LOCATION, &message);
	mt_buffer_free(&message);
	return pc + 1;
}

static void put_sample(struct pprof *p, uint32_t id)
{
	const struct mt_profile *profile = p->report->profile;
	const struct mt_group *group = &profile->groups[id];
	uint32_t node = profile->nodes[group->node].parent;

	if (node == MT_NODE_ROOT)
		mt_proto_varint(&p->packed, location(p, MT_FUNCTION_NONE));
	for (; node != MT_NODE_ROOT; node = profile->nodes[node].parent)
		mt_proto_varint(&p->packed, location(p, profile->nodes[node].pc));
	mt_proto_message(&p->part, SAMPLE_LOCATION, &p->packed);
#define X(name, unit, metric) mt_proto_varint(&p->packed, mt_metric_value(profile, group, metric));
	SAMPLE_TYPES(X)
#undef X
	mt_proto_message(&p->part, SAMPLE_VALUE, &p->packed);
	mt_proto_number(&p->inner, LABEL_KEY, string(p, "kind"));
	mt_proto_number(&p->inner, LABEL_TEXT,
		string(p,
			mt_profile_function_name(profile, mt_profile_group_function(profile, id))));
	mt_proto_message(&p->part, SAMPLE_LABEL, &p->inner);
	mt_proto_message(&p->out, PROFILE_SAMPLE, &p->part);
}

/* All names are here already: it says so, lest pprof look for files. */
static void put_mapping(struct pprof *p, uint32_t id)
{
	const struct mt_module *module = &p->report->profile->modules[id];
	char build_id[2 * MT_BUILD_ID_MAX + 1] = "";

	for (uint32_t i = 0; i < module->build_id_len && i < MT_BUILD_ID_MAX; i++)
		snprintf(build_id + 2 * i, 3, "%02x", module->build_id[i]);
	mt_proto_number(&p->part, MAPPING_ID, id + 1);
	mt_proto_number(&p->part, MAPPING_START, module->start);
	mt_proto_number(&p->part, MAPPING_LIMIT, module->end);
	mt_proto_number(&p->part, MAPPING_FILE,
		string(p, mt_strings_get(&p->report->profile->strings, module->path)));
	mt_proto_number(&p->part, MAPPING_BUILD_ID, string(p, build_id));
	for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINE; field++)
		mt_proto_number(&p->part, field, 1);
	mt_proto_message(&p->out, PROFILE_MAPPING, &p->part);
}

/* pprof takes the first mapping for the program's. */
static void put_mappings(struct pprof *p)
{
	const struct mt_profile *profile = p->report->profile;
	uint32_t main = 0;

	while (main < profile->module_count
		&& strcmp(mt_export_program(profile),
			mt_export_base_name(
				mt_strings_get(&profile->strings, profile->modules[main].path))))
		main++;
	if (main < profile->module_count)
		put_mapping(p, main);
	for (uint32_t i = 0; i < profile->module_count; i++)
		if (i != main)
			put_mapping(p, i);
}

static void put_head(struct pprof *p)
{
	char *command = mt_report_command(p->report->profile);

#define X(name, unit, metric) \
	mt_proto_number(&p->part, TYPE_NAME, string(p, name)); \
	mt_proto_number(&p->part, TYPE_UNIT, string(p, unit)); \
	mt_proto_message(&p->out, PROFILE_SAMPLE_TYPE, &p->part);
	SAMPLE_TYPES(X)
#undef X
	mt_proto_number(&p->out, PROFILE_DEFAULT_TYPE, string(p, DEFAULT_TYPE));
	mt_proto_number(&p->out, PROFILE_TIME, p->report->profile->info.start_unix_ns);
	mt_proto_number(&p->out, PROFILE_DURATION, p->report->profile->info.wall_ns);
	mt_proto_number(&p->out, PROFILE_COMMENT, string(p, command));
	free(command);
}

/* The table of strings is complete when all else is written. */
static void put_strings(struct pprof *p)
{
	for (uint32_t i = 0; i < p->strings.count; i++) {
		const char *text = mt_strings_get(&p->strings, i);

		mt_proto_bytes(&p->out, PROFILE_STRING, text, strlen(text));
	}
}

static int put_compressed(FILE *out, const struct mt_buffer *plain, struct mt_err *err)
{
	z_stream stream = {.next_in = plain->data};
	size_t left = plain->len;
	uint8_t chunk[65536];
	int status = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
		Z_DEFAULT_STRATEGY);

	if (status != Z_OK)
		return mt_fail(err, -ENOMEM, "cannot compress the profile: %s", strerror(ENOMEM));
	do {
		if (!stream.avail_in) {
			stream.avail_in = left > 1u << 30 ? 1u << 30 : (uInt)left;
			left -= stream.avail_in;
		}
		stream.next_out = chunk;
		stream.avail_out = sizeof chunk;
		status = deflate(&stream, left ? Z_NO_FLUSH : Z_FINISH);
		fwrite(chunk, 1, sizeof chunk - stream.avail_out, out);
	} while (status == Z_OK);
	deflateEnd(&stream);
	return status == Z_STREAM_END
		? 0
		: mt_fail(err, -EIO, "cannot compress the profile: zlib's error %d", status);
}

static void free_parts(struct pprof *p)
{
	mt_buffer_free(&p->out);
	mt_buffer_free(&p->part);
	mt_buffer_free(&p->inner);
	mt_buffer_free(&p->packed);
	mt_buffer_free(&p->text);
	mt_strings_free(&p->strings);
	mt_strings_free(&p->function_keys);
	free(p->has_location);
}

int mt_export_pprof(const struct mt_report *report, struct mt_err *err)
{
	struct pprof p = {.report = report};
	struct mt_selection selection = {0};
	int status = mt_select(&selection, report->profile, report->symbols, report->filter,
		MT_METRIC_LEAKED_SIZE, false, err);

	if (status >= 0) {
		mt_strings_init(&p.strings);
		mt_strings_init(&p.function_keys);
		p.has_location = mt_alloc(report->profile->pc_count);
		put_head(&p);
		put_mappings(&p);
		for (uint32_t i = 0; i < selection.count; i++)
			put_sample(&p, selection.groups[i]);
		put_strings(&p);
		status = put_compressed(report->out, &p.out, err);
		free_parts(&p);
	}
	mt_selection_free(&selection);
	return status;
}
