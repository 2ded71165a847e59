/* DHAT's data for its viewer, dh_view.html (valgrind, dhat/dh_main.c: dhatFileVersion 2). A group
 * is a program point; its frames begin with the allocation function. */
#include "core/export/export_parts.h"
#include "core/query/frame.h"
#include "core/query/scan.h"

#include <errno.h>
#include <stdlib.h>

#define NS_PER_UNIT 1000u /* the unit of time is the microsecond */
#define SHORT_LIVED 500   /* units: blocks that live less are short-lived to the viewer */

struct dhat {
	const struct mt_report *report;
	struct mt_json json;
	uint64_t *lifetimes;   /* by group: sum over its blocks, in units; NULL: not known */
	uint64_t visited;      /* blocks that are in them */
	uint32_t *first_frame; /* by pc: index of its first frame in the table; 0: not in it */
	uint32_t *pcs;         /* in the order of the table */
	uint32_t pc_count, pc_capacity;
	uint32_t frame_count;
};

static int add_lifetime(void *context, const struct mt_allocation *a)
{
	struct dhat *d = context;
	const struct mt_profile *whole = d->report->source->profile;
	uint64_t end = a->end_ns == MT_LIVE ? whole->info.wall_ns : a->end_ns;

	d->lifetimes[a->group] += end > a->time_ns ? (end - a->time_ns) / NS_PER_UNIT : 0;
	d->visited++;
	return 0;
}

/* Of blocks that live on, until the end of the recording. Where events are missing, nothing is
 * known. */
static int measure_lifetimes(struct dhat *d, uint64_t blocks, struct mt_err *err)
{
	const struct mt_report *r = d->report;

	if (!r->source || !r->source->reader)
		return 0;
	d->lifetimes = mt_alloc((r->profile->group_count + 1) * sizeof *d->lifetimes);
	int status = mt_scan_allocations(r->source, r->asked, 0, add_lifetime, d, err);

	if (status < 0 || d->visited != blocks) {
		free(d->lifetimes);
		d->lifetimes = NULL;
	}
	return status;
}

/* The indices of a pc's frames, innermost first. Frames of different pcs are different ones, even
 * where they read alike: the viewer refuses two program points with the same frames. */
static void put_indices(struct dhat *d, uint32_t pc)
{
	uint32_t first, count = mt_pc_frames(d->report->symbols, pc, &first);

	if (!count)
		count = 1;
	if (!d->first_frame[pc]) {
		d->first_frame[pc] = d->frame_count;
		d->frame_count += count;
		MT_GROW(d->pcs, d->pc_count, d->pc_capacity);
		d->pcs[d->pc_count++] = pc;
	}
	for (uint32_t i = 0; i < count; i++)
		mt_json_number(&d->json, d->first_frame[pc] + i);
}

static void put_point(struct dhat *d, uint32_t id)
{
	const struct mt_profile *p = d->report->profile;
	const struct mt_group *g = &p->groups[id];

	mt_json_line(&d->json);
	mt_json_open(&d->json, '{');
	mt_json_put_number(&d->json, "tb", g->allocated_bytes);
	mt_json_put_number(&d->json, "tbk", g->allocated_count);
	if (d->lifetimes)
		mt_json_put_number(&d->json, "tl", d->lifetimes[id]);
	mt_json_put_number(&d->json, "mb", g->own_peak_bytes);
	mt_json_put_number(&d->json, "mbk", g->own_peak_count);
	mt_json_put_number(&d->json, "gb", g->at_peak_bytes);
	mt_json_put_number(&d->json, "gbk", g->at_peak_count);
	mt_json_put_number(&d->json, "eb", g->live_bytes);
	mt_json_put_number(&d->json, "ebk", g->live_count);
	mt_json_key(&d->json, "fs");
	mt_json_open(&d->json, '[');
	for (uint32_t node = g->node; node != MT_NODE_ROOT; node = p->nodes[node].parent)
		put_indices(d, p->nodes[node].pc);
	mt_json_close(&d->json, ']');
	mt_json_close(&d->json, '}');
}

/* "0x1149: main (prog.c:12)"; the allocation function has no address. */
static void put_frame(struct dhat *d, uint32_t pc, uint32_t index)
{
	const struct mt_profile *p = d->report->profile;
	struct mt_backtrace_frame frame;

	mt_frame_describe(&frame, p, d->report->symbols, pc, index);
	char *name = mt_report_frame_name(&frame), *place = mt_report_frame_place(&frame);
	char *text = mt_profile_is_marker(p, pc)
		? mt_strdup(name)
		: mt_format("0x%llX: %s (%s%s)", (unsigned long long)p->pcs[pc].address, name,
			*frame.source ? "" : "in ", *frame.source ? place : frame.module);

	mt_json_line(&d->json);
	mt_json_string(&d->json, text);
	free(text);
	free(place);
	free(name);
}

static void put_table(struct dhat *d)
{
	mt_json_key(&d->json, "ftbl");
	mt_json_open(&d->json, '[');
	mt_json_string(&d->json, "[root]");
	for (uint32_t i = 0; i < d->pc_count; i++) {
		uint32_t first = 0, count = mt_pc_frames(d->report->symbols, d->pcs[i], &first);

		if (!count)
			put_frame(d, d->pcs[i], MT_NO_FRAME);
		for (uint32_t j = 0; j < count; j++)
			put_frame(d, d->pcs[i], first + j);
	}
	mt_json_close(&d->json, ']');
}

/* Without lifetimes the viewer shows what was allocated alone; what stands beside it, at the peak
 * and at the end, is there for other readers. */
static void put_head(struct dhat *d)
{
	const struct mt_report *r = d->report;
	const struct mt_info *info = r->whole ? &r->whole->info : &r->profile->info;
	char *command = mt_report_command(r->profile);

	mt_json_put_number(&d->json, "dhatFileVersion", 2);
	mt_json_put_string(&d->json, "mode", "heap");
	mt_json_put_string(&d->json, "verb", "Allocated");
	mt_json_put_bool(&d->json, "bklt", d->lifetimes != NULL);
	mt_json_put_bool(&d->json, "bkacc", false);
	mt_json_put_string(&d->json, "tu", "us");
	mt_json_put_string(&d->json, "Mtu", "s");
	mt_json_put_number(&d->json, "tuth", SHORT_LIVED);
	mt_json_put_string(&d->json, "cmd", command);
	mt_json_put_number(&d->json, "pid", info->pid);
	mt_json_put_number(&d->json, "te", info->wall_ns / NS_PER_UNIT);
	mt_json_put_number(&d->json, "tg", mt_report_heap_peak_ns(r) / NS_PER_UNIT);
	free(command);
}

int mt_export_dhat(const struct mt_report *report, struct mt_err *err)
{
	struct dhat d = {.report = report, .json = {.out = report->out}, .frame_count = 1};
	struct mt_selection selection = {0};
	int status = mt_select(&selection, report->profile, report->symbols, report->filter,
		MT_METRIC_SIZE, false, err);

	if (status >= 0)
		status = measure_lifetimes(&d, selection.sum.allocated_count, err);
	if (status >= 0) {
		d.first_frame = mt_alloc(report->profile->pc_count * sizeof *d.first_frame);
		mt_json_open(&d.json, '{');
		put_head(&d);
		mt_json_key(&d.json, "pps");
		mt_json_open(&d.json, '[');
		for (uint32_t i = 0; i < selection.count; i++)
			put_point(&d, selection.groups[i]);
		mt_json_close(&d.json, ']');
		put_table(&d);
		mt_json_close(&d.json, '}');
		putc('\n', report->out);
		free(d.first_frame);
		free(d.pcs);
		free(d.lifetimes);
	}
	mt_selection_free(&selection);
	return status;
}
