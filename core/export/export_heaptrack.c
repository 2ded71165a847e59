/* heaptrack's interpreted data, file format 3, as heaptrack_print and heaptrack_gui 1.4 read it:
 * lines of a letter and hexadecimal numbers, in which an allocation is a stack and a size. Their
 * tools call a block temporary when the very next event frees it, which they tell by stack and
 * size; ours is when it is freed before its thread's next allocation. To agree where one thread
 * allocates, the free of the last allocated block comes first among those before the next
 * allocation; a pass over the events tells which blocks these are. And where another block of the
 * same stack and size is freed then, it is named by a twin. The same pass finds the reallocs that
 * fail, which are left out. */
#include "core/export/export_parts.h"
#include "core/export/packed.h"
#include "core/model/live.h"
#include "core/query/bits.h"
#include "core/query/frame.h"
#include "core/query/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
#define NS_PER_MS 1000000u

struct info {
	uint64_t size;
	uint32_t group;
	uint32_t twin; /* index, or 0 */
};

/* Half of a realloc. */
struct half {
	uint64_t number, ordinal;
};

/* What the first pass tells the second. */
struct foresight {
	struct mt_bits early;  /* by number: the block's free is to come first */
	uint64_t last;         /* number of the last allocation */
	bool any, other, over; /* there is one; another was freed since; it was freed */
	uint64_t ordinal;      /* of the event */
	struct half *open;
	uint32_t open_count, open_capacity;
	uint64_t *failed; /* ordinals of releases that are undone */
	uint32_t failed_count, failed_capacity;
};

struct heaptrack {
	const struct mt_report *report;
	struct mt_packed_out to;
	struct mt_strings strings;     /* ids are heaptrack's: both count from 1 */
	uint32_t *ips, ip_count;       /* by pc, 0: not written */
	uint32_t *traces, trace_count; /* by node */
	uint32_t *path, path_capacity;
	/* in the order of the file; the first is never named by an event: heaptrack_print would
	 * take its free behind another for temporary */
	struct info *infos;
	uint32_t info_count, info_capacity;
	uint32_t *slots, slot_mask;
	struct mt_live live; /* blocks that were told of; group: their info */
	struct foresight foresight;
	uint64_t ordinal; /* of the event, and what of foresight.failed is past */
	uint32_t failed;
	bool early; /* the free of the last allocation comes first */
	uint64_t last_number, ms, pages;
	uint32_t last_info; /* of the last allocation; 0: there was none */
	uint32_t sample;
};

/* ---- definitions ---- */

static void put(struct heaptrack *h, const char *letter, uint64_t number)
{
	char text[20];
	int at = sizeof text;

	do
		text[--at] = "0123456789abcdef"[number & 15];
	while (number >>= 4);
	mt_buffer_add(&h->to.text, letter, strlen(letter));
	mt_buffer_add(&h->to.text, text + at, sizeof text - (size_t)at);
}

static void end_line(struct heaptrack *h)
{
	mt_buffer_add(&h->to.text, "\n", 1);
	mt_packed_step(&h->to);
}

static uint32_t string(struct heaptrack *h, const char *text)
{
	char *line = mt_text_line(text);
	uint32_t known = h->strings.count, id = mt_strings_add(&h->strings, line);

	if (id == known) {
		put(h, "s ", strlen(line));
		mt_buffer_printf(&h->to.text, " %s", line);
		end_line(h);
	}
	free(line);
	return id;
}

/* A name that is the address is none. */
static uint32_t function(struct heaptrack *h, const struct mt_backtrace_frame *frame)
{
	bool none = !*frame->function || (frame->function[0] == '0' && frame->function[1] == 'x');

	return none ? 0 : string(h, frame->function);
}

static uint32_t write_ip(struct heaptrack *h, uint32_t pc)
{
	const struct mt_profile *p = h->report->profile;
	uint32_t first = 0, count = mt_pc_frames(h->report->symbols, pc, &first);
	uint32_t names = count ? count : 1;
	uint32_t *ids = mt_alloc(3 * (size_t)names * sizeof *ids);
	struct mt_backtrace_frame frame;

	for (uint32_t i = 0; i < names; i++) {
		mt_frame_describe(&frame, p, h->report->symbols, pc,
			count ? first + i : MT_NO_FRAME);
		ids[3 * i] = function(h, &frame);
		ids[3 * i + 1] = string(h, frame.source);
		ids[3 * i + 2] = frame.line;
	}
	uint32_t module = string(h, frame.module);

	put(h, "i ", pc < MT_PC_FIRST ? pc : p->pcs[pc].address);
	put(h, " ", module);
	for (uint32_t i = 0; i < 3 * names && (names > 1 || ids[0] || ids[1]); i++)
		put(h, " ", ids[i]);
	end_line(h);
	free(ids);
	return ++h->ip_count;
}

/* What heaptrack calls the allocating function, where the kind of call is known: it sees the malloc
 * within. */
static const char *operator_name(unsigned kind)
{
	return kind == MT_FUNCTION_NEW ? "operator new(unsigned long)"
		: kind == MT_FUNCTION_NEW_ARRAY
		? "operator new[](unsigned long)"
		: NULL;
}

static uint32_t ip_of(struct heaptrack *h, uint32_t pc)
{
	const char *called = operator_name(pc);

	if (!h->ips[pc] && called) {
		uint32_t name = string(h, called);

		put(h, "i 0 0 ", name);
		end_line(h);
		h->ips[pc] = ++h->ip_count;
	} else if (!h->ips[pc]) {
		h->ips[pc] = write_ip(h, pc);
	}
	return h->ips[pc];
}

/* Of a group's leaf: its kind is no frame, but for operator new. */
static uint32_t trace_of(struct heaptrack *h, uint32_t leaf)
{
	const struct mt_profile *p = h->report->profile;
	uint32_t node = operator_name(p->nodes[leaf].pc) ? leaf : p->nodes[leaf].parent, depth = 0;

	for (; node != MT_NODE_ROOT && !h->traces[node]; node = p->nodes[node].parent) {
		MT_GROW(h->path, depth, h->path_capacity);
		h->path[depth++] = node;
	}
	uint32_t trace = h->traces[node];

	while (depth) {
		node = h->path[--depth];
		uint32_t ip = ip_of(h, p->nodes[node].pc);

		put(h, "t ", ip);
		put(h, " ", trace);
		end_line(h);
		trace = h->traces[node] = ++h->trace_count;
	}
	return trace;
}

static uint32_t write_info(struct heaptrack *h, uint64_t size, uint32_t group)
{
	uint32_t trace = trace_of(h, h->report->profile->groups[group].node);

	put(h, "a ", size);
	put(h, " ", trace);
	end_line(h);
	MT_GROW(h->infos, h->info_count, h->info_capacity);
	h->infos[h->info_count] = (struct info){.size = size, .group = group};
	return h->info_count++;
}

static uint32_t *info_slot(struct heaptrack *h, uint64_t size, uint32_t group)
{
	uint32_t at =
		(uint32_t)((size * 0xd6e8feb86659fd93ull + group) * 0x9e3779b97f4a7c15ull >> 32)
		& h->slot_mask;

	while (h->slots[at]
		&& (h->infos[h->slots[at]].size != size || h->infos[h->slots[at]].group != group))
		at = (at + 1) & h->slot_mask;
	return &h->slots[at];
}

static void grow_slots(struct heaptrack *h)
{
	uint32_t *old = h->slots, old_mask = h->slot_mask;

	h->slot_mask = old ? old_mask * 2 + 1 : 1023;
	h->slots = mt_alloc(((size_t)h->slot_mask + 1) * sizeof *h->slots);
	for (uint32_t i = 0; old && i <= old_mask; i++)
		if (old[i])
			*info_slot(h, h->infos[old[i]].size, h->infos[old[i]].group) = old[i];
	free(old);
}

static uint32_t info_of(struct heaptrack *h, uint64_t size, uint32_t group)
{
	if (h->info_count >= h->slot_mask / 2)
		grow_slots(h);
	if (!h->info_count)
		write_info(h, size, group);
	uint32_t *slot = info_slot(h, size, group);

	if (!*slot)
		*slot = write_info(h, size, group);
	return *slot;
}

/* ---- time ---- */

/* The size of the process in what is over by now. */
static void put_resident(struct heaptrack *h, uint64_t time_ns)
{
	const struct mt_profile *p = h->report->source->profile;

	for (; h->sample < p->sample_count && (h->sample + 1) * p->step_ns <= time_ns;
		h->sample++) {
		uint64_t pages = p->samples[h->sample].memory.rss_bytes / PAGE;

		if (pages && pages != h->pages) {
			put(h, "R ", pages);
			end_line(h);
			h->pages = pages;
		}
	}
}

static void put_time(struct heaptrack *h, uint64_t time_ns)
{
	if (time_ns / NS_PER_MS <= h->ms)
		return;
	h->ms = time_ns / NS_PER_MS;
	put(h, "c ", h->ms);
	end_line(h);
	put_resident(h, time_ns);
}

/* ---- events ---- */

static void put_free(struct heaptrack *h, uint64_t number, uint64_t time_ns, uint32_t info)
{
	put_time(h, time_ns);
	if (info == h->last_info && number != h->last_number) {
		if (!h->infos[info].twin) {
			uint32_t twin = write_info(h, h->infos[info].size, h->infos[info].group);

			h->infos[info].twin = twin;
		}
		info = h->infos[info].twin;
	}
	put(h, "- ", info);
	end_line(h);
}

static void put_allocation(struct heaptrack *h, uint64_t number, uint64_t time_ns, uint32_t info)
{
	put_time(h, time_ns);
	put(h, "+ ", info);
	end_line(h);
	h->last_info = info;
	h->last_number = number;
	h->early = mt_bits_get(&h->foresight.early, number);
}

static void set_live(struct heaptrack *h, uint64_t number, uint32_t info)
{
	struct mt_live_cell *block = mt_live_find(&h->live, number);

	if (!block) /* a trace may lie */
		block = mt_live_insert(&h->live, number);
	block->group = info;
}

static void end_block(struct heaptrack *h, uint64_t number, uint64_t time_ns)
{
	struct mt_live_cell *block = mt_live_find(&h->live, number);

	if (!block)
		return;
	put_free(h, number, time_ns, block->group);
	mt_live_remove(&h->live, block);
}

static void on_end(struct heaptrack *h, uint64_t number, uint64_t time_ns)
{
	if (h->early && number != h->last_number)
		end_block(h, h->last_number, time_ns);
	h->early = false;
	end_block(h, number, time_ns);
}

static int visit(void *context, const struct mt_event *e)
{
	struct heaptrack *h = context;
	const struct foresight *f = &h->foresight;
	uint32_t info;

	uint64_t ordinal = h->ordinal++;

	if (h->failed < f->failed_count && f->failed[h->failed] == ordinal) {
		h->failed++;
		return 0;
	}
	switch ((enum mt_event_type)e->type) {
	case MT_EVENT_REALLOCATE:
		if (e->previous != UINT64_MAX)
			/* where it was not released */
			end_block(h, e->previous, e->time_ns);
		/* fall through */
	case MT_EVENT_ALLOCATE:
		info = info_of(h, e->size, e->group);
		put_allocation(h, e->number, e->time_ns, info);
		set_live(h, e->number, info);
		break;
	case MT_EVENT_FREE:
	case MT_EVENT_IMPLIED_FREE:
	case MT_EVENT_RELEASE: on_end(h, e->number, e->time_ns); break;
	default: break;
	}
	return 0;
}

/* ---- the pass before ---- */

static void foresee_end(struct foresight *f, const struct mt_event *e)
{
	if (e->type == MT_EVENT_RELEASE) {
		MT_GROW(f->open, f->open_count, f->open_capacity);
		f->open[f->open_count++] = (struct half){e->number, f->ordinal};
	}
	if (!f->any || e->number != f->last || f->over) {
		f->other = true;
		return;
	}
	if (f->other)
		mt_bits_set(&f->early, f->last, true);
	f->over = true;
}

/* What releases a block is over: with a new block, by a free, or, when it failed, by going back. */
static void foresee_half(struct foresight *f, uint64_t number, bool failed)
{
	uint32_t i = f->open_count;

	while (i-- > 0 && f->open[i].number != number)
		;
	if (i == UINT32_MAX)
		return;
	if (failed) {
		MT_GROW(f->failed, f->failed_count, f->failed_capacity);
		f->failed[f->failed_count++] = f->open[i].ordinal;
		mt_bits_set(&f->early, number, false);
		f->over = f->over && number != f->last;
	}
	f->open[i] = f->open[--f->open_count];
}

static int foresee(void *context, const struct mt_event *e)
{
	struct foresight *f = context;

	if (e->type == MT_EVENT_RESTORE || e->type == MT_EVENT_FREE)
		foresee_half(f, e->number, e->type == MT_EVENT_RESTORE);
	else if (e->type == MT_EVENT_REALLOCATE)
		foresee_half(f, e->previous, false);
	if (e->type == MT_EVENT_ALLOCATE || e->type == MT_EVENT_REALLOCATE) {
		f->last = e->number;
		f->any = true;
		f->other = f->over = false;
	} else if (e->type != MT_EVENT_RESTORE) {
		foresee_end(f, e);
	}
	f->ordinal++;
	return 0;
}

static int by_ordinal(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* ---- the file ---- */

static void put_head(struct heaptrack *h)
{
	char *command = mt_report_command(h->report->profile);

	mt_buffer_printf(&h->to.text, "v 10400 3\nX ");
	mt_text_add(&h->to.text, MT_TEXT_LINE, command);
	mt_buffer_printf(&h->to.text, "\nI %x 0\n", PAGE);
	free(command);
}

static void put_end(struct heaptrack *h)
{
	const struct mt_info *info = &h->report->source->profile->info;

	put_time(h, info->wall_ns);
	put_resident(h, UINT64_MAX);
	if (mt_info_is_whole(info) && !h->report->facts.damaged)
		mt_buffer_printf(&h->to.text, "\n# strings: %u\n# ips: %u\n", h->strings.count - 1,
			h->ip_count);
}

static void free_all(struct heaptrack *h)
{
	mt_live_free(&h->live);
	mt_strings_free(&h->strings);
	free(h->ips);
	free(h->traces);
	free(h->path);
	free(h->infos);
	free(h->slots);
	mt_bits_free(&h->foresight.early);
	free(h->foresight.open);
	free(h->foresight.failed);
}

int mt_export_heaptrack(const struct mt_report *report, struct mt_err *err)
{
	struct heaptrack h = {.report = report};
	int error;

	if (!report->source || !report->source->reader)
		return mt_fail(err, -ENODATA,
			"the trace contains no events, which a heaptrack file consists of");
	if (mt_info_is_sampled(&mt_report_whole(report)->info))
		return mt_fail(err, -ENOTSUP,
			"the recording is sampled: a heaptrack file consists of all blocks; export "
			"to pprof or a flame graph, which hold totals");
	error = mt_packed_begin(&h.to, report->out, report->output, err);
	if (error)
		return error;
	mt_live_init(&h.live);
	mt_strings_init(&h.strings);
	h.ips = mt_alloc((size_t)report->profile->pc_count * sizeof *h.ips);
	h.traces = mt_alloc((size_t)report->profile->node_count * sizeof *h.traces);
	put_head(&h);
	error = mt_scan_events(report->source, report->asked, foresee, &h.foresight, err);
	if (h.foresight.failed_count)
		qsort(h.foresight.failed, h.foresight.failed_count, sizeof *h.foresight.failed,
			by_ordinal);
	if (!error)
		error = mt_scan_events(report->source, report->asked, visit, &h, err);
	if (!error)
		put_end(&h);
	mt_packed_end(&h.to);
	free_all(&h);
	return error;
}
