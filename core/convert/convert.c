#include "core/base/temporary.h"
#include "core/convert/convert.h"

#include "core/convert/heaptrack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_EVERY 65536u /* lines */

struct conversion {
	const char *path;
	int (*progress)(void *context, double fraction);
	void *context;
	struct mt_lines *lines;
	struct mt_build build;
	struct mt_heaptrack heaptrack;
	uint64_t line_count;
	struct mt_converted *out;
};

bool mt_convert_recognises(const char *path)
{
	struct mt_lines *lines = mt_lines_open(path, NULL);
	char *line;
	size_t len;
	bool is = lines && mt_lines_next(lines, &line, &len) == 1 && len < 64 && !strncmp(line, "v ", 2)
		&& strspn(line + 2, "0123456789abcdef ") == len - 2;

	mt_lines_free(lines);
	return is;
}

/* ---- reading ---- */

static void name_fault(struct conversion *c, const char *fault)
{
	snprintf(c->out->fault, sizeof c->out->fault, "%s makes no sense from line %llu on (%s); what comes before was read",
		c->path, (unsigned long long)c->line_count, fault);
}

static int read_lines(struct conversion *c, struct mt_err *err)
{
	const char *fault = NULL;
	char *line;
	size_t len;

	while (!fault && mt_lines_next(c->lines, &line, &len) == 1) {
		fault = mt_heaptrack_line(&c->heaptrack, line, len);
		if (c->build.failure.code) {
			*err = c->build.failure;
			return err->code;
		}
		if (++c->line_count % PROGRESS_EVERY == 0 && c->progress &&
				c->progress(c->context, mt_lines_fraction(c->lines)))
			return mt_fail(err, -ECANCELED, "reading %s was cancelled", c->path);
	}
	if (c->heaptrack.raw)
		return mt_fail(err, -ENOTSUP, "%s is heaptrack's raw data, which have no names yet: interpret them first, with "
			"'%s <%s | /usr/lib/heaptrack/libexec/heaptrack_interpret >OUT', and open OUT", c->path,
			mt_lines_program(c->lines), c->path);
	if (c->line_count == 1 && fault)
		return mt_fail(err, -EINVAL, "%s cannot be read: %s", c->path, fault);
	if (fault)
		name_fault(c, fault);
	else if (mt_lines_fault(c->lines))
		snprintf(c->out->fault, sizeof c->out->fault, "%s is damaged behind line %llu (%s); what comes before was read",
			c->path, (unsigned long long)c->line_count, mt_lines_fault(c->lines));
	return 0;
}

static void describe(struct conversion *c)
{
	const struct mt_heaptrack *h = &c->heaptrack;
	struct mt_info *info = &c->build.profile.info;
	bool whole = h->has_end && !*c->out->fault;

	info->ended = whole;
	info->recorder_lost = !whole;
	snprintf(c->out->note, sizeof c->out->note, "%s was recorded by heaptrack %llx.%llx: threads, addresses and reallocs "
		"are not known, and of equal blocks the last one is taken to be freed first%s", c->path,
		(unsigned long long)h->version >> 16, (unsigned long long)h->version >> 8 & 255,
		h->attached ? "; it was attached to the running program, whose blocks from before are not in it" : "");
}

static int convert(struct conversion *c, struct mt_trace_writer *writer, struct mt_err *err)
{
	mt_build_init(&c->build, writer);
	mt_heaptrack_init(&c->heaptrack, &c->build);
	int error = read_lines(c, err);

	if (!error) {
		describe(c);
		error = mt_build_finish(&c->build, err);
	}
	c->out->info = c->build.profile.info;
	c->out->bytes = mt_trace_writer_bytes(writer);
	mt_heaptrack_free(&c->heaptrack);
	mt_build_free(&c->build);
	return error;
}

int mt_convert(const char *path, int fd, int (*progress)(void *, double), void *context, struct mt_converted *out,
	struct mt_err *err)
{
	struct conversion c = {.path = path, .progress = progress, .context = context, .out = out};
	struct mt_err unused;
	int error;

	*out = (struct mt_converted){0};
	err = err ? err : &unused;
	c.lines = mt_lines_open(path, err);
	if (!c.lines) {
		close(fd);
		return err->code;
	}
	struct mt_trace_writer *writer = mt_trace_writer_new(fd, err);

	error = writer ? convert(&c, writer, err) : err->code;
	if (writer)
		mt_trace_writer_free(writer);
	mt_lines_free(c.lines);
	return error;
}

/* ---- opening ---- */

struct mt_trace_reader *mt_convert_open(const char *path, int (*progress)(void *, double), void *context,
	struct mt_converted *out, struct mt_err *err)
{
	int fd = mt_temporary_file(NULL, err), writing = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);

	*out = (struct mt_converted){0};
	if (fd >= 0 && writing < 0)
		mt_fail(err, -errno, "cannot write a temporary file: %s", strerror(errno));
	if (writing < 0 || mt_convert(path, writing, progress, context, out, err)) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	return mt_trace_reader_open_fd(fd, path, err);
}
