/* The calls that 'memtui leaks --trace' prints, one line each, in their order. */
#include "tui/command/memleak.h"

#include "core/base/text.h"
#include "core/model/checkpoint.h"
#include "core/query/filter_match.h"

#include <errno.h>

struct caller {
	struct mt_memleak *command;
	const struct mt_generation *now;
	struct mt_filter_range size;
};

static void begin_line(const struct caller *c, const struct mt_event *e)
{
	const struct mt_profile *p = c->now->profile;
	const struct mt_thread *t = e->thread < p->thread_count ? &p->threads[e->thread] : NULL;

	mt_text_put(stdout, MT_TEXT_LINE, t ? mt_strings_get(&p->strings, t->name) : "?");
	printf("-%u %llu.%06llu: ", t ? t->tid : 0, (unsigned long long)(e->time_ns / 1000000000u),
		(unsigned long long)(e->time_ns / 1000 % 1000000));
}

static bool is_wanted(const struct caller *c, uint64_t size)
{
	return size >= c->size.min && size <= c->size.max;
}

static void put_begin(const struct caller *c, const struct mt_event *e, uint64_t size,
	uint64_t address)
{
	if (!is_wanted(c, size))
		return;
	begin_line(c, e);
	printf("alloc exited, size = %llu, result = %llx\n", (unsigned long long)size,
		(unsigned long long)address);
}

static void put_end(const struct caller *c, const struct mt_event *e, uint64_t size,
	uint64_t address)
{
	if (!is_wanted(c, size))
		return;
	begin_line(c, e);
	printf("free entered, address = %llx, size = %llu\n", (unsigned long long)address,
		(unsigned long long)size);
}

static void on_allocation(struct caller *c, const struct mt_event *e)
{
	const struct mt_profile *p = c->now->profile;
	struct mt_live *l = &c->command->calls.live;
	struct mt_live_cell *cell,
		*before = e->type == MT_EVENT_REALLOCATE ? mt_live_find(l, e->previous) : NULL;

	if (before) /* its end was told when it was released */
		mt_live_remove(l, before);
	if (e->group >= p->group_count || mt_live_find(l, e->number))
		return; /* of a damaged trace */
	cell = mt_live_insert(l, e->number);
	cell->size = e->size;
	cell->address =
		mt_domain_address(&p->domains[mt_profile_group_domain(p, e->group)], e->address);
	put_begin(c, e, cell->size, cell->address);
}

static void on_event(struct caller *c, const struct mt_event *e)
{
	struct mt_live *l = &c->command->calls.live;
	struct mt_live_cell *cell;

	switch (e->type) {
	case MT_EVENT_ALLOCATE:
	case MT_EVENT_REALLOCATE: on_allocation(c, e); break;
	case MT_EVENT_FREE:
	case MT_EVENT_IMPLIED_FREE:
	case MT_EVENT_RELEASE:
		if (!(cell = mt_live_find(l, e->number)))
			break;
		put_end(c, e, cell->size, cell->address);
		if (e->type != MT_EVENT_RELEASE)
			mt_live_remove(l, cell);
		break;
	case MT_EVENT_RESTORE:
		if ((cell = mt_live_find(l, e->number)))
			put_begin(c, e, cell->size, cell->address);
		break;
	case MT_EVENT_UNKNOWN_FREE:
		begin_line(c, e);
		printf("free entered, address = %llx, size unknown\n",
			(unsigned long long)e->address);
		break;
	}
}

static bool skips(void *context, uint32_t index)
{
	const struct caller *c = context;

	return index < c->command->calls.next_block;
}

static int on_events(void *context, uint32_t index, const struct mt_event *events, uint32_t count)
{
	struct caller *c = context;

	(void)index;
	for (uint32_t i = 0; i < count; i++)
		on_event(c, &events[i]);
	return ferror(stdout) ? 1 : 0;
}

int mt_memleak_calls(struct mt_memleak *command, const struct mt_generation *now,
	struct mt_err *err)
{
	struct caller c = {.command = command, .now = now};
	struct mt_filter_bounds bounds = {0};
	struct mt_trace_scan scan = {
		.wants = MT_TRACE_ADDRESSES,
		.skip = skips,
		.events = on_events,
		.context = &c,
	};

	if (!command->arguments->show_calls)
		return 0;
	if (!now->reader)
		return mt_fail(err, -ENOTSUP, "--trace: this recording has only totals");
	if (mt_checkpoint_of_start(now->reader) != MT_NO_CHECKPOINT)
		return mt_fail(err, -ENOTSUP,
			"--trace: the recording has a limit to its size (--max-size), and has "
			"dropped its first calls");
	int status = mt_filter_compile(&bounds, command->filter, now->profile, err);

	c.size = bounds.size;
	mt_filter_bounds_free(&bounds);
	if (status < 0)
		return status;
	if (!command->calls.begun)
		mt_live_init(&command->calls.live);
	command->calls.begun = true;
	scan.end = mt_trace_reader_count(now->reader);
	status = mt_trace_reader_scan(now->reader, &scan, err);
	/* what stands before the damage is all that there is of such a trace */
	if (status == -EBADMSG && now->profile->info.recorder_lost)
		status = 0;
	command->calls.next_block = scan.end;
	return status < 0 ? status : mt_memleak_written(err);
}

void mt_memleak_forget_calls(struct mt_memleak *c)
{
	if (c->calls.begun)
		mt_live_free(&c->calls.live);
	c->calls.begun = false;
	c->calls.next_block = 0;
}
