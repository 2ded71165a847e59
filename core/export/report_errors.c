/* Calls that end what is not theirs to end, each with the stacks of all calls that have to do with
 * it. */
#include "core/export/report_parts.h"
#include "core/export/table.h"
#include "core/query/errors.h"

#include <errno.h>
#include <stdlib.h>

struct part {
	const struct mt_report *report;
	const struct mt_profile *whole;
	struct mt_backtrace backtrace;
};

static uint32_t thread_id(const struct part *part, uint32_t thread)
{
	return thread < part->whole->thread_count ? part->whole->threads[thread].tid : 0;
}

static const char *thread_name(const struct part *part, uint32_t thread)
{
	const struct mt_profile *p = part->whole;

	return thread < p->thread_count ? mt_strings_get(&p->strings, p->threads[thread].name) : "";
}

static const char *group_kind(const struct part *part, const struct mt_error *e)
{
	return mt_profile_function_name(part->whole,
		mt_profile_group_function(part->whole, e->group));
}

/* The stack of a call; of the allocation, its group's node. */
static void take_stack(struct part *part, uint32_t node)
{
	part->backtrace.count = 0;
	if (node)
		mt_backtrace_of(&part->backtrace, part->whole, part->report->symbols, node);
}

/* ---- text ---- */

static void put_call(struct part *part, const char *verb, uint32_t function,
	const struct mt_error_call *call)
{
	FILE *out = part->report->out;
	char when[MT_NUMBER_EXACT_LEN];

	mt_report_number(when, part->report, MT_UNIT_TIME, call->time_ns);
	fprintf(out, "   %s by %s at %s, thread %u ", verb,
		mt_profile_function_name(part->whole, function), when,
		thread_id(part, call->thread));
	mt_text_put(out, MT_TEXT_LINE, thread_name(part, call->thread));
	putc('\n', out);
	take_stack(part, call->node);
	for (uint32_t i = 0; i < part->backtrace.count; i++) {
		const struct mt_backtrace_frame *frame = &part->backtrace.frames[i];
		char *name = mt_report_short_frame_name(part->report, frame);
		char *place = mt_report_frame_place(frame);

		fputs("       ", out);
		mt_text_put(out, MT_TEXT_LINE, name);
		fputs(*place ? "  " : "", out);
		mt_text_put(out, MT_TEXT_LINE, place);
		fputs(frame->inlined                      ? "  (inlined)\n"
				: frame->by_frame_pointer ? "  (no call frame information)\n"
							  : "\n",
			out);
		free(name);
		free(place);
	}
	if (!part->backtrace.count)
		fputs("       [its backtrace was not recorded]\n", out);
}

static bool reallocates(const struct part *part, uint32_t function)
{
	return mt_profile_function(part->whole, function)->role == MT_CALL_REALLOCATE;
}

static void put_domains(const struct part *part, const struct mt_error *e, const char *times)
{
	const struct mt_profile *p = part->whole;

	fprintf(part->report->out,
		"allocated by %s in the domain %s, %s by %s in the domain %s, which ended no "
		"block: %s %s",
		group_kind(part, e),
		mt_profile_domain_name(p, mt_profile_group_domain(p, e->group)),
		reallocates(part, e->call.function) ? "resized" : "freed",
		mt_profile_function_name(p, e->call.function),
		mt_profile_domain_name(p, mt_profile_function(p, e->call.function)->domain), times,
		MT_PLURAL(times, "time"));
}

static void put_heading(struct part *part, uint64_t rank, const struct mt_error *e)
{
	FILE *out = part->report->out;
	char n[2][MT_NUMBER_EXACT_LEN];

	mt_report_number(n[0], part->report, MT_UNIT_COUNT, e->count);
	mt_report_number(n[1], part->report, MT_UNIT_BYTES, e->bytes);
	fprintf(out, "\n%llu. ", (unsigned long long)rank);
	if (e->elsewhere)
		put_domains(part, e, n[0]);
	else if (e->type == MT_ERROR_MISMATCH)
		fprintf(out, "allocated by %s, %s by %s: %s %s of %s in all", group_kind(part, e),
			reallocates(part, e->call.function) ? "resized" : "freed",
			mt_profile_function_name(part->whole, e->call.function), n[0],
			MT_PLURAL(n[0], "block"), n[1]);
	else
		fprintf(out, "%s: %s %s", mt_error_type_words(e->type), n[0],
			MT_PLURAL(n[0], "time"));
	if (e->type != MT_ERROR_MISMATCH || e->elsewhere)
		fprintf(out, ", %saddress %#llx", e->count == 1 ? "" : "first ",
			(unsigned long long)e->address);
	if (e->type == MT_ERROR_DOUBLE_FREE) {
		mt_report_number(n[1], part->report, MT_UNIT_BYTES, e->size);
		fprintf(out, ", a block of %s", n[1]);
	}
	if (e->offset) {
		mt_report_number(n[0], part->report, MT_UNIT_BYTES, e->offset);
		mt_report_number(n[1], part->report, MT_UNIT_BYTES, e->size);
		fprintf(out, ", %s behind the beginning of a live block of %s", n[0], n[1]);
	}
	if (e->count > 1) {
		mt_report_number(n[0], part->report, MT_UNIT_TIME, e->call.time_ns);
		mt_report_number(n[1], part->report, MT_UNIT_TIME, e->last_ns);
		fprintf(out, ", from %s to %s; the first:", n[0], n[1]);
	}
	putc('\n', out);
	if (e->doubt)
		fprintf(out, "   not sure: %s\n", mt_error_doubt_words(e->doubt));
}

static void put_error(struct part *part, uint64_t rank, const struct mt_error *e)
{
	const char *verb = reallocates(part, e->call.function) ? "resized" : "freed";

	put_heading(part, rank, e);
	if (e->group != MT_NO_GROUP) {
		struct mt_error_call allocation = {
			.time_ns = e->allocated_ns,
			.thread = e->allocated_thread,
			.node = part->whole->groups[e->group].node,
		};

		put_call(part, "allocated", mt_profile_group_function(part->whole, e->group),
			&allocation);
	}
	if (e->type == MT_ERROR_DOUBLE_FREE) {
		if (e->before.time_ns != MT_LIVE)
			put_call(part, reallocates(part, e->before.function) ? "resized" : "freed",
				e->before.function, &e->before);
		verb = reallocates(part, e->call.function) ? "resized again" : "freed again";
	}
	put_call(part, verb, e->call.function, &e->call);
}

static const char *const sums[MT_ERROR_TYPE_COUNT][2] = {
	/* of one, of more */
	[MT_ERROR_DOUBLE_FREE] = {"double free", "double frees"},
	[MT_ERROR_MISMATCH] = {"mismatched call: the block was allocated by a call of another kind",
		"mismatched calls: the blocks were allocated by calls of another kind"},
	[MT_ERROR_UNKNOWN_FREE] = {"free of an address that was never allocated",
		"frees of addresses that were never allocated"},
};

static void put_note(const struct part *part, uint64_t count, const char *one, const char *words)
{
	char n[MT_NUMBER_EXACT_LEN];

	if (!count)
		return;
	mt_report_number(n, part->report, MT_UNIT_COUNT, count);
	fprintf(part->report->out, "%s %s %s\n", n, MT_PLURAL(n, one), words);
}

static void put_sums(const struct part *part, const struct mt_errors *errors)
{
	FILE *out = part->report->out;
	char n[2][MT_NUMBER_EXACT_LEN];

	for (int i = 0; i < MT_ERROR_TYPE_COUNT; i++) {
		mt_report_number(n[0], part->report, MT_UNIT_COUNT, errors->sum[i]);
		mt_report_number(n[1], part->report, MT_UNIT_COUNT, errors->unsure[i]);
		fprintf(out, "%s %s", n[0], sums[i][errors->sum[i] != 1]);
		if (errors->unsure[i])
			fprintf(out, ", %s of them not sure", n[1]);
		putc('\n', out);
	}
	put_note(part, errors->inherited, "free",
		part->whole->info.origin == MT_ORIGIN_FORKED
			? "of blocks from before the fork: no errors"
			: part->whole->info.origin == MT_ORIGIN_ATTACHED
			? "of blocks from before memtui was attached: no errors"
			: "of blocks from before the recording began: no errors");
	put_note(part, errors->left_out, "free",
		"of addresses that were never allocated: not shown, because filters select "
		"blocks");
	put_note(part, errors->untold, "further free", "of unknown addresses: not examined");
	if (!part->whole->info.history_from_ns)
		return;
	mt_report_number(n[0], part->report, MT_UNIT_TIME, part->whole->info.history_from_ns);
	fprintf(out,
		"errors in the first %s are not known: their events were dropped "
		"(--max-size)\n",
		n[0]);
}

static void put_text(struct part *part, const struct mt_errors *errors, uint64_t end)
{
	FILE *out = part->report->out;

	put_sums(part, errors);
	for (uint64_t i = part->report->skip; i < end; i++)
		put_error(part, i + 1, &errors->items[i]);
	if (end < errors->count)
		fprintf(out, "\n%llu more; see them with --count and --skip\n",
			(unsigned long long)(errors->count - end));
	if (errors->lacks_stacks && part->report->skip < end)
		fputs("\nTo see where blocks are freed, record with --free-stacks.\n", out);
}

/* ---- JSON ---- */

static void put_json_call(struct mt_json *json, struct part *part, uint32_t function,
	const struct mt_error_call *call)
{
	mt_json_put_string(json, "kind", mt_profile_function_name(part->whole, function));
	mt_json_key(json, "timestamp");
	if (call->time_ns == MT_LIVE)
		mt_json_null(json);
	else
		mt_json_seconds(json, call->time_ns);
	mt_json_put_number(json, "thread", thread_id(part, call->thread));
	mt_json_put_string(json, "thread_name", thread_name(part, call->thread));
	take_stack(part, call->node);
	if (call->node) {
		mt_report_json_backtrace(json, &part->backtrace);
	} else {
		mt_json_key(json, "backtrace");
		mt_json_null(json);
	}
}

static void put_json_block(struct mt_json *json, struct part *part, const struct mt_error *e)
{
	struct mt_error_call allocation = {.time_ns = e->allocated_ns,
		.thread = e->allocated_thread};

	mt_json_key(json, "allocation");
	if (e->group == MT_NO_GROUP) {
		mt_json_null(json);
		return;
	}
	allocation.node = part->whole->groups[e->group].node;
	mt_json_open(json, '{');
	mt_json_put_number(json, "group", e->group);
	mt_json_put_number(json, "number", e->number);
	mt_json_put_number(json, "size", e->size);
	put_json_call(json, part, mt_profile_group_function(part->whole, e->group), &allocation);
	mt_json_close(json, '}');
}

static void put_json_error(struct mt_json *json, struct part *part, const struct mt_error *e)
{
	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_put_string(json, "type", mt_error_type_name(e->type));
	mt_json_key(json, "doubt");
	if (e->doubt)
		mt_json_string(json, mt_error_doubt_name(e->doubt));
	else
		mt_json_null(json);
	mt_json_put_number(json, "count", e->count);
	mt_json_put_number(json, "size", e->bytes);
	mt_json_put_seconds(json, "last_timestamp", e->last_ns);
	mt_json_key(json, "address");
	if (e->type == MT_ERROR_MISMATCH && !e->elsewhere)
		mt_json_null(json);
	else
		mt_json_number(json, e->address);
	if (e->offset)
		mt_json_put_number(json, "offset_in_block", e->offset);
	put_json_block(json, part, e);
	mt_json_key(json, "free_before");
	if (e->before.function == MT_FUNCTION_NONE && e->before.time_ns == 0) {
		mt_json_null(json);
	} else {
		mt_json_open(json, '{');
		put_json_call(json, part, e->before.function, &e->before);
		mt_json_close(json, '}');
	}
	mt_json_key(json, "free");
	mt_json_open(json, '{');
	put_json_call(json, part, e->call.function, &e->call);
	mt_json_close(json, '}');
	mt_json_close(json, '}');
}

static void put_json(struct part *part, const struct mt_errors *errors, uint64_t end)
{
	struct mt_json json = {.out = part->report->out};
	bool attached = part->whole->info.origin == MT_ORIGIN_ATTACHED;

	mt_json_open(&json, '{');
	for (int i = 0; i < MT_ERROR_TYPE_COUNT; i++) {
		mt_json_key(&json, mt_error_type_name((enum mt_error_type)i));
		mt_json_open(&json, '{');
		mt_json_put_number(&json, "count", errors->sum[i]);
		mt_json_put_number(&json, "not_sure", errors->unsure[i]);
		mt_json_close(&json, '}');
	}
	mt_json_put_number(&json, "inherited_frees", attached ? 0 : errors->inherited);
	mt_json_put_number(&json, "freed_before_attach", attached ? errors->inherited : 0);
	mt_json_put_number(&json, "left_out_by_filter", errors->left_out);
	mt_json_put_number(&json, "not_looked_into", errors->untold);
	mt_json_put_seconds(&json, "history_from_seconds", part->whole->info.history_from_ns);
	mt_json_key(&json, "errors");
	mt_json_open(&json, '[');
	for (uint64_t i = part->report->skip; i < end; i++)
		put_json_error(&json, part, &errors->items[i]);
	json.comma = false;
	mt_json_line(&json);
	mt_json_close(&json, ']');
	mt_json_close(&json, '}');
	putc('\n', part->report->out);
}

/* ---- CSV ---- */

static void put_csv_call(struct part *part, const char *kind, const struct mt_error_call *call)
{
	FILE *out = part->report->out;
	char when[MT_NUMBER_EXACT_LEN] = "";

	if (call->time_ns != MT_LIVE)
		mt_number_seconds(when, call->time_ns);
	take_stack(part, call->node);
	char *line = mt_report_one_line(part->report, &part->backtrace, ";", 0);

	mt_csv_field(out, false, kind);
	fprintf(out, ",%s,%u", when, thread_id(part, call->thread));
	mt_csv_field(out, false, line);
	free(line);
}

static void put_csv_error(struct part *part, const struct mt_error *e)
{
	FILE *out = part->report->out;

	fprintf(out, "%s,%s,%llu,%llu,", mt_error_type_name(e->type),
		e->doubt ? mt_error_doubt_name(e->doubt) : "", (unsigned long long)e->count,
		(unsigned long long)e->bytes);
	if (e->type != MT_ERROR_MISMATCH || e->elsewhere)
		fprintf(out, "%llu", (unsigned long long)e->address);
	if (e->group != MT_NO_GROUP) {
		struct mt_error_call allocation = {
			.time_ns = e->allocated_ns,
			.thread = e->allocated_thread,
			.node = part->whole->groups[e->group].node,
		};

		fprintf(out, ",%u,%llu", e->group, (unsigned long long)e->size);
		put_csv_call(part, group_kind(part, e), &allocation);
	} else {
		fputs(",,,,,,", out);
	}
	if (e->type == MT_ERROR_DOUBLE_FREE)
		put_csv_call(part, mt_profile_function_name(part->whole, e->before.function),
			&e->before);
	else
		fputs(",,,,", out);
	put_csv_call(part, mt_profile_function_name(part->whole, e->call.function), &e->call);
	putc('\n', out);
}

static void put_csv(struct part *part, const struct mt_errors *errors, uint64_t end)
{
	fputs("type,doubt,count,size,address,group,block_size,allocation_kind,allocation_timestamp,"
	      "allocation_thread,allocation_backtrace,free_before_kind,free_before_timestamp,"
	      "free_before_thread,free_before_backtrace,free_kind,"
	      "free_timestamp,free_thread,free_backtrace\n",
		part->report->out);
	for (uint64_t i = part->report->skip; i < end; i++)
		put_csv_error(part, &errors->items[i]);
}

/* ---- all ---- */

int mt_report_errors(const struct mt_report *report, struct mt_err *err)
{
	struct part part = {.report = report, .whole = mt_report_whole(report)};
	struct mt_errors errors = {0};

	if (!report->source || !report->source->reader)
		return mt_fail(err, -ENODATA,
			"the recording has only totals, no single allocations; use a trace with "
			"events");
	if (mt_info_is_sampled(&part.whole->info))
		return mt_fail(err, -ENOTSUP,
			"the recording is sampled: of most blocks it has no allocation and no "
			"free, so invalid frees are not known; record without --sample or --every");
	if (mt_info_is_gated(&part.whole->info))
		return mt_fail(err, -ENOTSUP,
			"blocks of some sizes were not recorded, so a free that finds no block may "
			"be right; record without --record-min and --record-max");
	int status = mt_errors_find(&errors, report->source, report->asked, err);
	uint64_t end = errors.count;

	if (report->count && report->skip < end && report->count < end - report->skip)
		end = report->skip + report->count;
	if (status >= 0 && report->format == MT_FORMAT_JSON)
		put_json(&part, &errors, end);
	else if (status >= 0 && report->format == MT_FORMAT_CSV)
		put_csv(&part, &errors, end);
	else if (status >= 0)
		put_text(&part, &errors, end);
	mt_backtrace_free(&part.backtrace);
	mt_errors_free(&errors);
	return status;
}
