#include "core/convert/convert.h"
#include "core/base/foreign.h"
#include "core/base/temporary.h"

#include "core/convert/lines.h"
#include "core/convert/text_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_EVERY 65536u  /* lines */
#define ASK_EVERY (256u << 10) /* bytes */

struct conversion {
	const char *path; /* or what it is called */
	bool piped;
	int (*progress)(void *context, double fraction);
	void *context;
	struct mt_lines *lines;
	const struct mt_text_source *source;
	void *state; /* of the source */
	struct mt_build build;
	uint64_t line_count, memory_max;
	uint64_t unasked; /* bytes of text since it was last asked what all takes */
	struct mt_converted *out;
};

static const struct mt_text_source *const sources[] = {
#define X(name) &mt_##name##_source,
	MT_TEXT_SOURCES(X)
#undef X
};

/* Of the lines the first; the others are not read. */
enum first { FIRST_OTHER, FIRST_TEXT, FIRST_PACKED };

static enum first look(struct mt_lines *lines, const struct mt_text_source **source)
{
	char *line;
	size_t len;

	if (!lines)
		return FIRST_OTHER;
	bool has_line = mt_lines_next(lines, &line, &len) == 1;

	for (size_t i = 0; has_line && i < sizeof sources / sizeof *sources; i++)
		if (sources[i]->recognises(line, len)) {
			*source = sources[i];
			return FIRST_TEXT;
		}
	return mt_lines_packing(lines) ? FIRST_PACKED : FIRST_OTHER;
}

bool mt_convert_recognises(const char *path)
{
	struct mt_lines *lines = mt_lines_open(path, NULL);
	const struct mt_text_source *source;
	bool is = look(lines, &source) != FIRST_OTHER;

	mt_lines_free(lines);
	return is;
}

/* Why a compressed file is none that is read. */
static int refuse(const struct mt_lines *lines, const char *path, bool piped, struct mt_err *err)
{
	static const char again[] = "it was not written or copied completely; copy it again";
	const char *packing = mt_lines_packing(lines), *program = mt_lines_program(lines);
	unsigned long long bytes = mt_lines_read(lines);

	if (mt_lines_cut(lines))
		return mt_fail(err, -EBADMSG,
			"%s: ends at byte %llu, before any of its %s data can be decompressed: %s",
			path, bytes, packing, again);
	if (mt_lines_broken(lines))
		return mt_fail(err, -EBADMSG,
			"%s: damaged within its first %llu bytes (%s), so none of its %s data "
			"can be "
			"decompressed; copy it again",
			path, bytes, mt_lines_fault(lines), packing);
	return mt_fail(err, -EINVAL,
		"%s: compressed with %s, and not a recording of heaptrack; decompress a "
		"trace of memtui first: '%s%s%s | memtui open -'",
		path, packing, program, piped ? "" : " ", piped ? "" : path);
}

/* ---- reading ---- */

static void name_fault(struct conversion *c, const char *fault)
{
	snprintf(c->out->fault, sizeof c->out->fault,
		"%s: damaged from line %llu on (%s); memtui read the part before it", c->path,
		(unsigned long long)c->line_count, fault);
}

/* What a line makes is at most some forty times as large as the line. */
static int check_memory(struct conversion *c, size_t len, struct mt_err *err)
{
	uint64_t most = mt_foreign_memory(mt_lines_file_bytes(c->lines), c->memory_max);

	c->unasked += len + 1;
	if (c->unasked < ASK_EVERY
		|| mt_build_memory(&c->build) + c->source->memory(c->state) <= most)
		return 0;
	return mt_fail(err, -EFBIG,
		"%s: needs more than %llu MiB of memory, though it has only %llu bytes; if "
		"you trust it, raise --max-memory=SIZE",
		c->path, (unsigned long long)(most >> 20),
		(unsigned long long)mt_lines_file_bytes(c->lines));
}

static int read_lines(struct conversion *c, struct mt_text_end *end, struct mt_err *err)
{
	const char *fault = NULL;
	char *line;
	size_t len;

	while (!fault && mt_lines_next(c->lines, &line, &len) == 1) {
		fault = c->source->line(c->state, line, len);
		int error = check_memory(c, len, err);

		if (error)
			return error;
		if (c->unasked >= ASK_EVERY)
			c->unasked = 0;
		if (c->build.failure.code) {
			*err = c->build.failure;
			return err->code;
		}
		if (++c->line_count % PROGRESS_EVERY == 0 && c->progress
			&& c->progress(c->context, mt_lines_fraction(c->lines)))
			return mt_fail(err, -ECANCELED, "reading %s was cancelled", c->path);
	}
	c->source->end(c->state, end);
	if (end->refused)
		return mt_fail(err, -ENOTSUP, "%s: %s; run '%s%s%s | %s >OUT' and open OUT",
			c->path, end->refused, mt_lines_program(c->lines), c->piped ? "" : " <",
			c->piped ? "" : c->path, end->filter);
	if (c->line_count == 1 && fault)
		return mt_fail(err, -EINVAL, "%s cannot be read: %s", c->path, fault);
	if (fault)
		name_fault(c, fault);
	else if (mt_lines_fault(c->lines))
		snprintf(c->out->fault, sizeof c->out->fault,
			"%s: damaged after line %llu (%s); memtui read the part before it", c->path,
			(unsigned long long)c->line_count, mt_lines_fault(c->lines));
	return 0;
}

static void describe(struct conversion *c, const struct mt_text_end *end)
{
	struct mt_info *info = &c->build.profile.info;
	struct mt_buffer note = {0};

	info->ended = end->whole && !*c->out->fault;
	info->recorder_lost = !info->ended;
	mt_buffer_printf(&note, "%s was recorded %s: ", c->path, end->made);
	mt_source_lacks_text(&note, &c->source->facts);
	mt_buffer_printf(&note, " are unknown%s%s%s%s", end->assumed ? ", and " : "",
		end->assumed ? end->assumed : "", end->beyond ? "; " : "",
		end->beyond ? end->beyond : "");
	snprintf(c->out->note, sizeof c->out->note, "%.*s", (int)note.len, (char *)note.data);
	mt_buffer_free(&note);
}

static int convert(struct conversion *c, struct mt_trace_writer *writer, struct mt_err *err)
{
	struct mt_text_end end = {0};

	c->state = mt_alloc(c->source->state_size);
	mt_build_init(&c->build, &c->source->facts, writer);
	c->source->begin(c->state, &c->build);
	int error = read_lines(c, &end, err);

	if (!error) {
		describe(c, &end);
		error = mt_build_finish(&c->build, err);
	}
	c->out->source = &c->source->facts;
	c->out->info = c->build.profile.info;
	c->out->bytes = mt_trace_writer_bytes(writer);
	c->source->free(c->state);
	free(c->state);
	mt_build_free(&c->build);
	return error;
}

/* lines: taken, from their beginning on; may be NULL, with err set. fd: taken. */
static int convert_lines(struct conversion *c, int fd, struct mt_err *err)
{
	struct mt_trace_writer *writer = c->lines ? mt_trace_writer_new(fd, err) : NULL;
	int error = writer ? convert(c, writer, err) : err->code;

	if (!c->lines)
		close(fd);
	if (writer)
		mt_trace_writer_free(writer);
	mt_lines_free(c->lines);
	return error;
}

int mt_convert(const char *path, int fd, uint64_t memory_max, int (*progress)(void *, double),
	void *context, struct mt_converted *out, struct mt_err *err)
{
	struct conversion c = {.path = path,
		.memory_max = memory_max,
		.progress = progress,
		.context = context,
		.out = out};
	struct mt_lines *first = mt_lines_open(path, err);
	struct mt_err unused;
	int error = 0;

	*out = (struct mt_converted){0};
	err = err ? err : &unused;
	c.source = sources[0]; /* whose sentence says why it is not read */
	if (look(first, &c.source) == FIRST_PACKED)
		error = refuse(first, path, false, err);
	mt_lines_free(first);
	if (error) {
		close(fd);
		return error;
	}
	c.lines = mt_lines_open(path, err);
	return convert_lines(&c, fd, err);
}

/* ---- opening ---- */

static struct mt_trace_reader *open_converted(struct conversion *c, struct mt_err *err)
{
	int writing, fd = mt_temporary_file(&writing, err);

	if (fd < 0)
		mt_lines_free(c->lines);
	if (fd < 0 || convert_lines(c, writing, err)) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	return mt_trace_reader_open_fd(fd, c->path, err);
}

/* spooled: standard input, or -1. */
static struct mt_lines *lines_of(const char *path, int spooled, struct mt_err *err)
{
	int fd;

	if (spooled < 0)
		return mt_lines_open(path, err);
	fd = lseek(spooled, 0, SEEK_SET) < 0 ? -1 : fcntl(spooled, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		mt_fail(err, -errno, "cannot read %s: %s", path, strerror(errno));
	return fd < 0 ? NULL : mt_lines_open_fd(fd, path, err);
}

struct mt_trace_reader *mt_convert_open(const char *path, uint64_t memory_max,
	int (*progress)(void *, double), void *context, struct mt_converted *out,
	struct mt_err *err)
{
	bool piped = !strcmp(path, "-");
	struct conversion c = {
		.path = piped ? "standard input" : path,
		.piped = piped,
		.memory_max = memory_max,
		.progress = progress,
		.context = context,
		.out = out,
	};
	int spooled = piped ? mt_trace_spool(err) : -1;
	struct mt_trace_reader *reader = NULL;
	struct mt_err unused;

	*out = (struct mt_converted){0};
	err = err ? err : &unused;
	if (piped && spooled < 0)
		return NULL;
	struct mt_lines *first = lines_of(c.path, spooled, NULL);
	enum first what = look(first, &c.source);

	if (what == FIRST_PACKED)
		refuse(first, c.path, piped, err);
	mt_lines_free(first);
	if (what == FIRST_OTHER)
		return piped ? mt_trace_reader_open_spooled(spooled, err)
			     : mt_trace_reader_open(path, err);
	if (what == FIRST_TEXT) {
		c.lines = lines_of(c.path, spooled, err);
		reader = open_converted(&c, err);
	}
	if (piped)
		close(spooled);
	return reader;
}
