/* The reports of 'memtui leaks', on a trace and on what a running recorder has told. */
#include "tui/command/memleak.h"

#include "core/query/filter_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TOP_DEFAULT 10

int mt_memleak_written(struct mt_err *err)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return mt_fail(err, errno ? -errno : -EIO, "cannot write the report to standard output: %s",
		strerror(errno ? errno : EIO));
}

static int cannot_ask(const struct mt_generation *now, struct mt_err *err)
{
	if (now->reader)
		return 0;
	return mt_fail(err, -ENOTSUP,
		"this recording has only totals; --combined-only shows what lives in all");
}

/* The totals know what lives in all, however old. */
static void get_totals(struct mt_outstanding *out, const struct mt_profile *p, uint32_t top)
{
	struct mt_selection selection = {0};
	struct mt_err ignored;

	mt_outstanding_free(out);
	mt_select(&selection, p, NULL, NULL, MT_METRIC_LEAKED_SIZE, false, &ignored);
	out->groups = mt_alloc((selection.count + 1ull) * sizeof *out->groups);
	while (out->count < selection.count && out->count < top) {
		uint32_t group = selection.groups[out->count];

		if (!p->groups[group].live_count)
			break;
		out->groups[out->count++] = (struct mt_outstanding_group){
			.group = group,
			.count = p->groups[group].live_count,
			.bytes = p->groups[group].live_bytes,
		};
	}
	for (uint32_t i = 0; i < out->count / 2; i++) {
		struct mt_outstanding_group first = out->groups[i];

		out->groups[i] = out->groups[out->count - 1 - i];
		out->groups[out->count - 1 - i] = first;
	}
	mt_selection_free(&selection);
}

int mt_memleak_report(struct mt_memleak *c, const struct mt_generation *now, uint64_t at_ns,
	uint64_t end_ns, struct mt_err *err)
{
	const struct mt_arguments *a = c->arguments;
	struct mt_source source = {.profile = now->profile,
		.symbols = now->symbols,
		.reader = now->reader};
	struct mt_outstanding_wants wants = {
		.at_ns = at_ns,
		.end_ns = end_ns,
		.older_ns = a->combined ? 0 : a->older_ms * 1000000u,
		.top = (uint32_t)(a->top ? a->top : TOP_DEFAULT),
		.blocks = a->show_blocks,
	};
	struct mt_report report = {.out = stdout,
		.profile = now->profile,
		.symbols = now->symbols,
		.top = wants.top};
	bool totals = a->combined && at_ns == MT_OUTSTANDING_NOW && !mt_filter_active(c->filter);
	int status = 0;

	if (totals) {
		get_totals(&c->found, now->profile, wants.top);
	} else {
		status = cannot_ask(now, err);
		if (!status)
			status = mt_outstanding_get(&c->found, &source, c->filter, &wants, err);
	}
	if (status < 0)
		return status;
	c->printed++;
	mt_report_outstanding(&report, &c->found,
		now->profile->info.start_unix_ns + (at_ns == MT_OUTSTANDING_NOW ? end_ns : at_ns));
	return mt_memleak_written(err);
}

int mt_memleak_report_nothing(struct mt_memleak *c, struct mt_err *err)
{
	static const struct mt_profile nothing;
	struct mt_report report = {.out = stdout,
		.profile = &nothing,
		.top = (uint32_t)(c->arguments->top ? c->arguments->top : TOP_DEFAULT)};

	mt_outstanding_free(&c->found);
	c->printed++;
	mt_report_outstanding(&report, &c->found, (uint64_t)time(NULL) * 1000000000u);
	return mt_memleak_written(err);
}

/* ---- a trace --------------------------------------------------------------------------------- */

static int report_intervals(struct mt_memleak *c, const struct mt_generation *now,
	struct mt_err *err)
{
	uint64_t end_ns = now->profile->info.wall_ns, at_ns = c->interval_ns;
	int status = 0;

	for (; c->interval_given && at_ns < end_ns && !status; at_ns += c->interval_ns) {
		if (c->most && c->printed >= c->most)
			return 0;
		status = mt_memleak_report(c, now, at_ns, end_ns, err);
	}
	if (status || (c->most && c->printed >= c->most))
		return status;
	return mt_memleak_report(c, now, MT_OUTSTANDING_NOW, end_ns, err);
}

int mt_memleak_of_trace(struct mt_memleak *c, const char *path, struct mt_err *err)
{
	struct mt_open_options options = {
		.memory_max = c->arguments->max_memory,
		.events = true,
		.progress = mt_command_tell,
	};
	struct mt_recording *r = mt_command_open_recording(path, &options, true, err);

	if (!r)
		return err->code;
	int status = mt_memleak_calls(c, &r->now, err);

	if (!status)
		status = report_intervals(c, &r->now, err);
	mt_recording_free(r);
	return status;
}

void mt_memleak_free(struct mt_memleak *c)
{
	mt_outstanding_free(&c->found);
	mt_memleak_forget_calls(c);
	mt_filter_free(c->filter);
	free(c->functions);
}
