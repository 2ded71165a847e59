/* What is outstanding, in the form of bcc's memleak: scripts read that. */
#include "core/export/report_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_frame(const struct mt_report *report, const struct mt_backtrace_frame *frame)
{
	char *name = mt_report_short_frame_name(report, frame);

	fputs("\t\t", report->out);
	mt_text_put(report->out, MT_TEXT_LINE, name);
	/* of the address to which the call returns, as a debugger and memleak show it; ours lies
	 * within the call */
	if (frame->into)
		fprintf(report->out, "+0x%x", frame->into);
	if (*frame->module) {
		fputs(" [", report->out);
		mt_text_put(report->out, MT_TEXT_LINE, base_name(frame->module));
		fputc(']', report->out);
	}
	if (*frame->source) {
		fputc(' ', report->out);
		mt_text_put(report->out, MT_TEXT_LINE, frame->source);
		if (frame->line)
			fprintf(report->out, ":%u", frame->line);
	}
	fputs(frame->inlined ? " (inlined)\n" : "\n", report->out);
	free(name);
}

/* With all its digits, and the error that a variance gives. */
static void put_digits(char out[MT_METRIC_LEN], uint64_t value, bool estimated, uint64_t samples,
	double variance)
{
	out[0] = '~';
	snprintf(out + estimated, MT_METRIC_LEN - 1, "%llu", (unsigned long long)value);
	mt_report_error(out + strlen(out), value, samples, sqrt(variance));
}

static void put_group(const struct mt_report *report, const struct mt_outstanding *o,
	const struct mt_outstanding_group *g, struct mt_backtrace *backtrace)
{
	const struct mt_profile *p = report->profile;
	bool estimated = mt_profile_is_estimated(p, &p->groups[g->group]) || g->error.bytes > 0;
	char bytes[MT_METRIC_LEN], blocks[MT_METRIC_LEN];

	for (uint64_t i = 0; o->blocks && i < g->recorded; i++)
		fprintf(report->out, "\taddr = %llx size = %llu\n",
			(unsigned long long)o->blocks[g->first_block + i].address,
			(unsigned long long)o->blocks[g->first_block + i].size);
	put_digits(bytes, g->bytes, estimated, g->error.samples, g->error.bytes);
	put_digits(blocks, g->count, estimated, g->error.samples, g->error.blocks);
	fprintf(report->out, "\t%s bytes in %s allocations from stack\n", bytes, blocks);
	mt_backtrace_get(backtrace, p, report->symbols, g->group);
	for (uint32_t i = 0; i < backtrace->count; i++)
		put_frame(report, &backtrace->frames[i]);
	fputc('\n', report->out);
}

void mt_report_outstanding(const struct mt_report *report, const struct mt_outstanding *o,
	uint64_t unix_ns)
{
	struct mt_backtrace backtrace = {0};
	time_t seconds = (time_t)(unix_ns / 1000000000u);
	struct tm parts = {0};

	localtime_r(&seconds, &parts);
	fprintf(report->out, "[%02d:%02d:%02d] Top %u stacks with outstanding allocations:\n",
		parts.tm_hour, parts.tm_min, parts.tm_sec, report->top);
	for (uint32_t i = 0; i < o->count; i++)
		put_group(report, o, &o->groups[i], &backtrace);
	mt_backtrace_free(&backtrace);
}
