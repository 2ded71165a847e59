#include "core/export/report_triage.h"
#include "core/base/text.h"
#include "core/export/number.h"
#include "core/query/suppress.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void put_time(struct mt_buffer *out, uint64_t seconds)
{
	time_t when = (time_t)seconds;
	struct tm parts;
	char text[32];

	if (gmtime_r(&when, &parts) && strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts))
		mt_buffer_printf(out, "%s", text);
}

static void put_blocks(struct mt_buffer *out, const struct mt_profile *p, const struct mt_group *g)
{
	const char *about = mt_profile_is_estimated(p, g) ? "~" : "";
	char bytes[16], count[16];

	mt_number_size(bytes, g->live_bytes);
	mt_number_count(count, g->live_count);
	mt_buffer_printf(out, "%s%s in %s%s %s", about, bytes, about, count,
		MT_PLURAL(count, "block"));
}

static void put_head(struct mt_buffer *out, const struct mt_triage_report *r)
{
	const struct mt_info *info = &r->profile->info;
	char bytes[16], blocks[16], wall[16];

	mt_number_size(bytes, info->leaked_bytes);
	mt_number_count(blocks, info->leaked_count);
	mt_number_time(wall, info->wall_ns);
	mt_buffer_printf(out, "# Leaks of ");
	mt_text_add(out, MT_TEXT_MARKDOWN, r->command && *r->command ? r->command : "the program");
	mt_buffer_printf(out, "\n\n");
	if (info->start_unix_ns) {
		mt_buffer_printf(out, "Recorded with memtui, ");
		put_time(out, info->start_unix_ns / 1000000000);
		mt_buffer_printf(out, ", for %s. ", wall);
	}
	mt_buffer_printf(out, "%s %s in %s %s in all.\n\n",
		r->live                             ? "Live so far:"
			: mt_info_knows_leaks(info) ? "Not freed at the end:"
						    : "Live at the end of the recording:",
		bytes, blocks, MT_PLURAL(blocks, "block"));
}

/* Sums by state, a line each. */
static void put_states(struct mt_buffer *out, const struct mt_triage_report *r)
{
	uint32_t groups[MT_TRIAGE_STATE_COUNT] = {0}, back = 0;
	uint64_t bytes[MT_TRIAGE_STATE_COUNT] = {0}, back_bytes = 0;
	char text[16];

	for (uint32_t i = 0; i < r->count; i++) {
		const struct mt_triage_item *item = &r->items[i];
		uint64_t size = r->profile->groups[item->group].live_bytes;
		enum mt_triage_state state =
			item->judgement ? item->judgement->state : MT_TRIAGE_NEW;

		back += item->came_back;
		back_bytes += item->came_back ? size : 0;
		groups[state] += !item->came_back;
		bytes[state] += item->came_back ? 0 : size;
	}
	groups[MT_TRIAGE_NEW] = r->new_groups;
	bytes[MT_TRIAGE_NEW] = r->new_bytes;
	mt_buffer_printf(out, "| state | groups | bytes |\n| --- | ---: | ---: |\n");
	if (back) {
		mt_number_size(text, back_bytes);
		mt_buffer_printf(out, "| fixed, came back | %u | %s |\n", back, text);
	}
	for (int state = 0; state < MT_TRIAGE_STATE_COUNT; state++) {
		if (!groups[state])
			continue;
		mt_number_size(text, bytes[state]);
		mt_buffer_printf(out, "| %s | %u | %s |\n",
			state == MT_TRIAGE_NEW ? "not judged yet"
					       : mt_triage_state_name((enum mt_triage_state)state),
			groups[state], text);
	}
	mt_buffer_printf(out, "\n");
}

static void put_stack(struct mt_buffer *out, const struct mt_triage_report *r,
	const struct mt_backtrace *stack, uint32_t group)
{
	mt_buffer_printf(out, "    %s\n",
		mt_profile_function_name(r->profile, mt_profile_group_function(r->profile, group)));
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct mt_backtrace_frame *frame = &stack->frames[i];

		mt_buffer_printf(out, "    #%u ", i);
		mt_text_add(out, MT_TEXT_LINE, frame->function);
		if (frame->inlined)
			mt_buffer_printf(out, " (inlined)");
		if (*frame->source || *frame->module) {
			mt_buffer_printf(out, "  ");
			mt_text_add(out, MT_TEXT_LINE,
				*frame->source ? frame->source : frame->module);
		}
		if (*frame->source && frame->line)
			mt_buffer_printf(out, ":%u", frame->line);
		else if (!*frame->source && *frame->module)
			mt_buffer_printf(out, " +0x%llx", (unsigned long long)frame->offset);
		mt_buffer_printf(out, "\n");
	}
	if (!stack->count)
		mt_buffer_printf(out, "    no stack was recorded\n");
}

static void put_item(struct mt_buffer *out, const struct mt_triage_report *r, uint32_t index,
	const char *rule)
{
	const struct mt_triage_item *item = &r->items[index];
	const struct mt_judgement *j = item->judgement;
	const struct mt_group *g = &r->profile->groups[item->group];
	struct mt_backtrace stack = {0};
	const struct mt_backtrace_frame *own;
	char bytes[16];

	mt_backtrace_get(&stack, r->profile, r->symbols, item->group);
	own = mt_backtrace_own(&stack);
	mt_buffer_printf(out, "## %u. ", index + 1);
	mt_text_add(out, MT_TEXT_MARKDOWN, own ? own->function : "no stack");
	mt_buffer_printf(out, "\n\n**%s**: ",
		item->came_back                           ? "fixed, came back"
			: !j || j->state == MT_TRIAGE_NEW ? "not judged yet"
							  : mt_triage_state_name(j->state));
	put_blocks(out, r->profile, g);
	if (j && j->time) {
		mt_number_size(bytes, j->leaked_bytes);
		mt_buffer_printf(out, "; said ");
		put_time(out, j->time);
		if (j->leaked_bytes != g->live_bytes)
			mt_buffer_printf(out, ", when it was %s", bytes);
	}
	mt_buffer_printf(out, "\n\n");
	if (j && *j->note) {
		mt_buffer_printf(out, "> ");
		mt_text_add(out, MT_TEXT_MARKDOWN, j->note);
		mt_buffer_printf(out, "\n\n");
	}
	put_stack(out, r, &stack, item->group);
	if (rule) {
		mt_buffer_printf(out,
			"\nSuppression for LeakSanitizer and `memtui check --suppressions`:\n\n"
			"    ");
		mt_text_add(out, MT_TEXT_LINE, rule);
		mt_buffer_printf(out, "\n");
	}
	mt_buffer_printf(out, "\n");
	mt_backtrace_free(&stack);
}

void mt_report_triage(struct mt_buffer *out, const struct mt_triage_report *r)
{
	uint32_t *groups = mt_alloc(((size_t)r->count + 1) * sizeof *groups);
	char **rules;

	for (uint32_t i = 0; i < r->count; i++)
		groups[i] = r->items[i].group;
	rules = mt_suppress_lines(r->profile, r->symbols, groups, r->count);
	put_head(out, r);
	put_states(out, r);
	for (uint32_t i = 0; i < r->count; i++) {
		put_item(out, r, i, rules[i]);
		free(rules[i]);
	}
	free(rules);
	free(groups);
}
