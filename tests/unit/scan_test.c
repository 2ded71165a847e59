/* Random recordings, random filters: what the engine answers must be what is worked out the plain
 * way (scan_truth.h). */
#include "tests/unit/scan_truth.h"

#include "core/model/checkpoint.h"
#include "core/model/live_list.h"

#include <sys/mman.h>

#define MS 1000000ull

struct opened {
	struct mt_profile profile;
	struct mt_symbols symbols;
	struct mt_trace_reader *reader;
	struct mt_source source;
	bool listed; /* with a list of what lives at the end */
};

struct opening {
	struct recording *recording;
	const struct mt_profile *before; /* of what a checkpoint stands for, or NULL */
	uint64_t from, to;               /* events */
	uint64_t *live;                  /* numbers, at the checkpoint */
	uint64_t live_count, told;
};

static bool checkpoint_block(void *context, struct mt_checkpoint_block *out)
{
	struct opening *o = context;

	if (o->told == o->live_count)
		return false;
	const struct truth_block *b = &o->recording->blocks[o->live[o->told++]];
	const struct mt_event *note = &o->recording->events[b->begin] + 1;

	*out = (struct mt_checkpoint_block){
		.number = b->a.number,
		.address = b->a.address,
		.size = b->a.size,
		.time_ns = b->a.time_ns,
		.usable = note->type == MT_EVENT_NOTE && note->function == MT_NOTE_USABLE
			? note->size
			: 0,
		.sequence = b->sequence,
		.group = b->a.group,
		.thread = b->a.thread,
		.position = b->a.position,
		.chain = b->a.chain,
		.first_size = b->a.first_size,
		.chain_start_ns = b->a.chain_start_ns,
	};
	return true;
}

static void write_checkpoint(struct mt_trace_writer *w, struct opening *o)
{
	struct recording *r = o->recording;
	struct mt_checkpoint_thread threads[3] = {{0, 0}};
	struct mt_checkpoint_maker maker = {
		.writer = w,
		.profile = o->before,
		.next = checkpoint_block,
		.context = o,
		.head = {.thread_count = 3, .threads = threads},
	};
	struct mt_buffer made = {0};
	struct mt_err err = {0};

	o->live = mt_alloc((r->block_count + 1) * sizeof *o->live);
	for (uint64_t n = 0; n < r->block_count && r->blocks[n].begin < o->from; n++) {
		maker.head.next_number = n + 1;
		threads[r->blocks[n].a.thread] =
			(struct mt_checkpoint_thread){r->blocks[n].sequence, n + 1};
		if (r->blocks[n].end == NONE || r->blocks[n].end >= o->from)
			o->live[o->live_count++] = n;
	}
	maker.head.time_ns = o->before->info.wall_ns;
	while (mt_checkpoint_make_part(&maker))
		;
	mt_checkpoint_make_head(w, &maker.head, &made);
	mt_buffer_add(&made, maker.made.data, maker.made.len);
	mt_buffer_free(&maker.made);
	assert_int_equal(mt_trace_writer_put(w, &made, &err), 0);
	mt_buffer_free(&made);
	free(o->live);
}

static void write_events(struct mt_trace_writer *w, struct recording *r, uint64_t from, uint64_t to)
{
	struct mt_trace_running running = {0};
	struct mt_err err = {0};

	for (uint64_t i = from; i < to; i++) {
		mt_trace_writer_event(w, &r->events[i]);
		if (!pick(r, (uint32_t)r->block_events))
			assert_int_equal(mt_trace_writer_flush(w, &running, &err), 0);
	}
	assert_int_equal(mt_trace_writer_flush(w, &running, &err), 0);
}

/* ---- with a list of what lives at the end ---- */

struct listing {
	struct recording *recording;
	struct mt_live_list_restore *open, *restores; /* open: by number of the block */
	uint32_t restore_count, capacity;
	uint64_t next_number, told;
	struct mt_trace_sums sums; /* so far */
};

static void note_realloc(struct listing *l, const struct mt_event *e)
{
	struct mt_live_list_restore *of = &l->open[e->number];

	if (e->type == MT_EVENT_RELEASE) {
		*of = (struct mt_live_list_restore){
			.number = e->number,
			.released_at = l->next_number,
			.released_ns = e->time_ns,
		};
		return;
	}
	of->restored_at = l->next_number;
	of->restored_ns = e->time_ns;
	if (l->recording->blocks[e->number].end != NONE)
		return; /* it does not live at the end */
	MT_GROW(l->restores, l->restore_count, l->capacity);
	l->restores[l->restore_count++] = *of;
}

static void count_live(struct listing *l, const struct mt_event *e)
{
	struct mt_trace_running *now = &l->sums.running;
	bool begins = e->type <= MT_EVENT_REALLOCATE;

	if (begins)
		l->next_number = e->number + 1;
	if (e->type == MT_EVENT_RELEASE || e->type == MT_EVENT_RESTORE)
		note_realloc(l, e);
	if (e->type == MT_EVENT_NOTE || e->type == MT_EVENT_UNKNOWN_FREE)
		return;
	uint64_t size = l->recording->blocks[e->number].a.size;

	begins |= e->type == MT_EVENT_RESTORE;
	now->live_bytes += begins ? size : -size;
	now->live_count += begins ? 1 : -1ull;
	if (now->live_bytes > l->sums.high_bytes)
		l->sums.high_bytes = now->live_bytes;
}

/* Not by rising numbers: those of a table are not, either. */
static uint32_t next_live(void *context, struct mt_live_list_block *blocks, uint32_t most)
{
	struct listing *l = context;
	const struct recording *r = l->recording;
	uint32_t count = 0;

	for (; l->told < r->block_count && count < most; l->told++) {
		const struct truth_block *b = &r->blocks[r->block_count - 1 - l->told];
		const struct mt_event *note = &r->events[b->begin + 1];
		bool noted = b->begin + 1 < r->count && note->type == MT_EVENT_NOTE
			&& note->note == MT_NOTE_USABLE;

		if (b->end != NONE)
			continue;
		blocks[count++] = (struct mt_live_list_block){
			.number = b->a.number,
			.key = b->a.address,
			.size = b->a.size,
			.usable = noted ? note->size : 0,
			.group = b->a.group,
			.thread = b->a.thread,
		};
	}
	return count;
}

static void flush_exact(struct mt_trace_writer *w, struct listing *l)
{
	struct mt_err err = {0};

	l->sums.thread_count = MT_TRACE_THREADS + 1; /* they are not told */
	assert_int_equal(mt_trace_writer_flush_exact(w, &l->sums, &err), 0);
	l->sums.high_bytes = l->sums.running.live_bytes;
}

static void write_listed(struct mt_trace_writer *w, struct recording *r)
{
	struct listing l = {
		.recording = r,
		.open = mt_alloc((r->block_count + 1) * sizeof *l.open),
	};
	struct mt_err err = {0};

	for (uint64_t i = 0; i < r->count; i++) {
		mt_trace_writer_event(w, &r->events[i]);
		count_live(&l, &r->events[i]);
		if (!pick(r, (uint32_t)r->block_events))
			flush_exact(w, &l);
	}
	flush_exact(w, &l);
	assert_int_equal(mt_live_list_write(
				 &(const struct mt_live_list_source){
					 .next = next_live,
					 .context = &l,
					 .next_number = l.next_number,
					 .restores = l.restores,
					 .restore_count = l.restore_count,
				 },
				 w, &err),
		0);
	free(l.open);
	free(l.restores);
}

/* As the flight recorder does it: goes on in another file, which the checkpoint begins. */
static void leave_behind(struct mt_trace_writer *w, struct opening *part, int fd)
{
	struct mt_definitions definitions = {0};
	struct mt_err err = {0};

	write_events(w, part->recording, 0, part->from);
	uint32_t next = mt_trace_writer_count(w);

	write_checkpoint(w, part);
	uint32_t written = mt_trace_writer_count(w);

	assert_int_equal(mt_trace_writer_switch(w, fd, &err), 0);
	assert_int_equal(mt_definitions_write(&definitions, w, &part->recording->profile, &err), 0);
	while (mt_trace_writer_copy(w, &next, written, 1u << 20, &err) == 1)
		;
	mt_trace_writer_keep(w);
}

/* Through the real writer into memory, and loaded from there. */
static void open_part(struct opened *o, struct opening *part)
{
	struct recording *r = part->recording;
	struct mt_definitions definitions = {0};
	struct mt_err err = {0};
	char path[64];
	int fd = memfd_create("trace", MFD_CLOEXEC), copy = dup(fd);
	struct mt_trace_writer *w =
		mt_trace_writer_new(part->before ? memfd_create("before", MFD_CLOEXEC) : fd, &err);

	assert_non_null(w);
	memset(o, 0, sizeof *o);
	if (part->before)
		leave_behind(w, part, fd);
	else
		assert_int_equal(mt_definitions_write(&definitions, w, &r->profile, &err), 0);
	o->listed = !part->before && part->to == r->count && pick(r, 2);
	if (o->listed)
		write_listed(w, r);
	else
		write_events(w, r, part->from, part->to);
	assert_int_equal(mt_trace_writer_finish(w, &err), 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
	o->reader = mt_trace_reader_open(path, &err);
	if (!o->reader)
		fail_msg("%s", err.text);
	mt_trace_writer_free(w);
	close(copy);
	mt_profile_init(&o->profile);
	mt_symbols_init(&o->symbols);
	if (mt_profile_load(&o->profile, o->reader, NULL, NULL, &err))
		fail_msg("%s", err.text);
	/* The events do not tell by which rule sizes are rounded up; an INFO block would. */
	o->profile.info.usable_rule = r->profile.info.usable_rule;
	o->source = (struct mt_source){
		.profile = &o->profile,
		.symbols = &o->symbols,
		.reader = o->reader,
		.workers = 1 + pick(r, 3),
	};
}

static void open_recording(struct opened *o, struct recording *r)
{
	open_part(o, &(struct opening){.recording = r, .to = r->count});
}

static void close_recording(struct opened *o)
{
	mt_trace_reader_free(o->reader);
	mt_profile_free(&o->profile);
	mt_symbols_free(&o->symbols);
}

/* ---- random filters ---- */

struct asked {
	struct mt_filter *filter;
	bool on[MT_FILTER_COUNT];
	uint64_t number[MT_FILTER_COUNT];
	char words[600];
};

static void ask(struct asked *q, enum mt_filter_field field, uint64_t number, const char *text)
{
	struct mt_err err = {0};

	if (mt_filter_set(q->filter, field, text, &err))
		fail_msg("%s", err.text);
	q->on[field] = true;
	q->number[field] = number;
	size_t len = strlen(q->words);

	snprintf(q->words + len, sizeof q->words - len, " %s:%s", mt_filter_info(field)->name,
		text);
}

static void ask_number(struct asked *q, enum mt_filter_field field, uint64_t number,
	const char *unit)
{
	char text[32];

	snprintf(text, sizeof text, "%llu%s", (unsigned long long)number, unit);
	ask(q, field, !strcmp(unit, "us") ? number * 1000 : number, text);
}

/* One end of a range, or both in order. */
static void ask_range(struct asked *q, struct recording *r, enum mt_filter_field least,
	enum mt_filter_field most, uint64_t limit, const char *unit)
{
	uint64_t a = pick(r, (uint32_t)limit), b = pick(r, (uint32_t)limit);
	uint32_t which = pick(r, 3);

	if (which != 1)
		ask_number(q, least, a < b ? a : b, unit);
	if (which != 0)
		ask_number(q, most, a < b ? b : a, unit);
}

static void ask_lifetime(struct asked *q, struct recording *r)
{
	static const char *const names[] = {"all", "only_leaked",
		"only_not_deallocated_in_current_range", "only_deallocated_in_current_range",
		"only_temporary", "only_short_lived", "only_whole_group_leaked",
		"only_chain_leaked"};
	uint32_t which = pick(r, 8);

	ask(q, MT_FILTER_LIFETIME, which, names[which]);
}

static void ask_choice(struct asked *q, struct recording *r)
{
	uint32_t which = pick(r, 3);

	if (which == 0)
		ask(q, MT_FILTER_THREAD, pick(r, 1) + 1, "thread1");
	else if (which == 1 && r->profile.log_count)
		ask(q, MT_FILTER_MARKER, r->profile.log[0].text,
			mt_strings_get(&r->profile.strings, r->profile.log[0].text));
	else
		ask(q, MT_FILTER_MMAPPED, which == 2, which == 2 ? "no" : "yes");
}

static void ask_something(struct asked *q, struct recording *r)
{
	uint64_t run_us = r->now_ns / 1000 + 10;

	switch (pick(r, 15)) {
	case 0:
	case 1: ask_range(q, r, MT_FILTER_FROM, MT_FILTER_TO, run_us, "us"); break;
	case 2:
	case 3: ask_lifetime(q, r); break;
	case 4: ask_range(q, r, MT_FILTER_SIZE_MIN, MT_FILTER_SIZE_MAX, 1100, ""); break;
	case 5:
		ask_range(q, r, MT_FILTER_LIFETIME_MIN, MT_FILTER_LIFETIME_MAX, run_us / 2, "us");
		break;
	case 6: ask_choice(q, r); break;
	case 7:
		ask_number(q, MT_FILTER_ALIVE_AT, pick(r, (uint32_t)run_us), "us");
		if (pick(r, 2))
			ask_number(q, MT_FILTER_ALIVE_AT_2, pick(r, (uint32_t)run_us), "us");
		break;
	case 8: ask_range(q, r, MT_FILTER_ADDRESS_MIN, MT_FILTER_ADDRESS_MAX, 0x20000, ""); break;
	case 9:
		ask_range(q, r, MT_FILTER_FIRST_SIZE_MIN, MT_FILTER_FIRST_SIZE_MAX, 1100, "");
		break;
	case 10: ask_range(q, r, MT_FILTER_LAST_SIZE_MIN, MT_FILTER_LAST_SIZE_MAX, 1100, ""); break;
	case 11:
		ask_range(q, r, MT_FILTER_CHAIN_LIFETIME_MIN, MT_FILTER_CHAIN_LIFETIME_MAX,
			run_us / 2, "us");
		break;
	case 12:
		ask_range(q, r, MT_FILTER_CHAIN_LENGTH_MIN, MT_FILTER_CHAIN_LENGTH_MAX, 4, "");
		break;
	case 13:
		ask_range(q, r, MT_FILTER_POSITION_IN_CHAIN_MIN, MT_FILTER_POSITION_IN_CHAIN_MAX, 4,
			"");
		break;
	default:
		if (pick(r, 2))
			ask_range(q, r, MT_FILTER_GROUP_ALLOCATIONS_MIN,
				MT_FILTER_GROUP_ALLOCATIONS_MAX, r->block_count / 3 + 2, "");
		else
			ask_number(q, MT_FILTER_TEMPORARY_THRESHOLD, pick(r, 6), "");
	}
}

static void asked_begin(struct asked *q, struct recording *r)
{
	*q = (struct asked){.filter = mt_filter_new()};
	if (!pick(r, 8)) { /* what is outstanding */
		ask(q, MT_FILTER_LIFETIME, 1, "only_leaked");
		ask_range(q, r, MT_FILTER_FROM, MT_FILTER_TO,
			r->blocks[r->block_count - 1].a.time_ns / 1000 + 1, "us");
		return;
	}
	for (uint32_t i = 0, count = pick(r, 4); i < count; i++)
		ask_something(q, r);
}

/* ---- what a filter means ---- */

static bool within(const struct asked *q, enum mt_filter_field least, enum mt_filter_field most,
	uint64_t value)
{
	return (!q->on[least] || value >= q->number[least])
		&& (!q->on[most] || value <= q->number[most]);
}

static bool lives_at(const struct mt_allocation *a, uint64_t ns)
{
	return a->time_ns <= ns && (a->end_ns == MT_LIVE || a->end_ns > ns);
}

static bool right_lifetime(const struct asked *q, const struct recording *r,
	const struct mt_allocation *a)
{
	bool freed = a->end_ns != MT_LIVE;
	bool inside = freed && within(q, MT_FILTER_FROM, MT_FILTER_TO, a->end_ns);
	uint64_t threshold =
		q->on[MT_FILTER_TEMPORARY_THRESHOLD] ? q->number[MT_FILTER_TEMPORARY_THRESHOLD] : 0;

	switch (q->on[MT_FILTER_LIFETIME] ? q->number[MT_FILTER_LIFETIME] : 0) {
	case 1: return !freed;
	case 2: return !inside;
	case 3: return inside;
	case 4: return freed;
	case 5: return freed && a->between <= threshold;
	case 6: return !r->group_ended[a->group];
	case 7: return a->chain_end_ns == MT_LIVE;
	default: return true;
	}
}

static uint64_t span(uint64_t from, uint64_t to, uint64_t end)
{
	to = to == MT_LIVE ? end : to;
	return to > from ? to - from : 0;
}

static bool is_meant(const struct asked *q, const struct recording *r,
	const struct mt_allocation *a, uint64_t run_ns)
{
	bool pooled = mt_profile_group_domain(&r->profile, a->group) == MT_DOMAIN_POOL;
	bool mapped = !pooled && a->usable && a->usable % 16 == 0;

	return within(q, MT_FILTER_FROM, MT_FILTER_TO, a->time_ns) && right_lifetime(q, r, a)
		&& within(q, MT_FILTER_SIZE_MIN, MT_FILTER_SIZE_MAX, a->size)
		&& within(q, MT_FILTER_LIFETIME_MIN, MT_FILTER_LIFETIME_MAX,
			span(a->time_ns, a->end_ns, run_ns))
		&& (!q->on[MT_FILTER_THREAD] || a->thread == q->number[MT_FILTER_THREAD])
		&& (!q->on[MT_FILTER_MARKER] || a->marker == q->number[MT_FILTER_MARKER])
		&& (!q->on[MT_FILTER_MMAPPED] || mapped == !q->number[MT_FILTER_MMAPPED])
		&& (!q->on[MT_FILTER_ALIVE_AT] || lives_at(a, q->number[MT_FILTER_ALIVE_AT]))
		&& (!q->on[MT_FILTER_ALIVE_AT_2] || !lives_at(a, q->number[MT_FILTER_ALIVE_AT_2]))
		&& within(q, MT_FILTER_ADDRESS_MIN, MT_FILTER_ADDRESS_MAX, a->address)
		&& !(pooled && (q->on[MT_FILTER_ADDRESS_MIN] || q->on[MT_FILTER_ADDRESS_MAX]))
		&& within(q, MT_FILTER_FIRST_SIZE_MIN, MT_FILTER_FIRST_SIZE_MAX, a->first_size)
		&& within(q, MT_FILTER_LAST_SIZE_MIN, MT_FILTER_LAST_SIZE_MAX, a->last_size)
		&& within(q, MT_FILTER_CHAIN_LIFETIME_MIN, MT_FILTER_CHAIN_LIFETIME_MAX,
			span(a->chain_start_ns, a->chain_end_ns, run_ns))
		&& within(q, MT_FILTER_CHAIN_LENGTH_MIN, MT_FILTER_CHAIN_LENGTH_MAX,
			a->chain_length)
		&& within(q, MT_FILTER_POSITION_IN_CHAIN_MIN, MT_FILTER_POSITION_IN_CHAIN_MAX,
			a->position)
		&& within(q, MT_FILTER_GROUP_ALLOCATIONS_MIN, MT_FILTER_GROUP_ALLOCATIONS_MAX,
			r->group_count[a->group]);
}

/* ---- comparing ---- */

struct visits {
	const struct recording *recording;
	unsigned wants;
	bool *seen;
	uint64_t count, at; /* at: of the events told */
	char fault[200];
};

#define DIFFERS(v, what, number, x, y) \
	(snprintf((v)->fault, sizeof(v)->fault, "%s of %llu: %llu, expected %llu", what, \
		 (unsigned long long)(number), (unsigned long long)(x), (unsigned long long)(y)), \
		1)
#define SAME(field) \
	if (a->field != b->field) \
		return DIFFERS(v, #field, a->number, a->field, b->field);

static int compare_chain(struct visits *v, const struct mt_allocation *a,
	const struct mt_allocation *b)
{
	SAME(chain)
	SAME(position)
	SAME(chain_length)
	SAME(last_size)
	SAME(chain_end_ns)
	if (!(v->wants & MT_SCAN_FIRSTS))
		return 0;
	SAME(first_size)
	SAME(chain_start_ns)
	return 0;
}

static int on_allocation(void *context, const struct mt_allocation *a)
{
	struct visits *v = context;
	const struct mt_allocation *b =
		a->number < v->recording->block_count ? &v->recording->blocks[a->number].a : NULL;

	if (!b || !v->recording->blocks[a->number].matches || v->seen[a->number])
		return DIFFERS(v, "a visit", a->number, 1, 0);
	v->seen[a->number] = true;
	v->count++;
	SAME(size)
	SAME(usable)
	if (v->wants & MT_SCAN_TIMELESS) { /* what follows from times is not wanted */
		SAME(group)
		SAME(thread)
		SAME(end_ns)
		return 0;
	}
	SAME(time_ns)
	SAME(end_ns)
	SAME(group)
	SAME(thread)
	SAME(end_thread)
	SAME(end_function)
	SAME(marker)
	SAME(between)
	if (v->wants & MT_SCAN_ADDRESSES)
		SAME(address)
	if (v->wants & MT_SCAN_STACKS)
		SAME(end_node)
	return v->wants & MT_SCAN_CHAINS ? compare_chain(v, a, b) : 0;
}

struct kept {
	struct mt_allocation *items;
	uint64_t count, capacity;
};

static int keep(void *context, const struct mt_allocation *a)
{
	struct kept *k = context;

	MT_GROW(k->items, k->count, k->capacity);
	k->items[k->count++] = *a;
	return 0;
}

/* Times come after the choice, as lists have it. */
static int scan_late(struct opened *o, const struct asked *q, struct visits *v, struct mt_err *err)
{
	struct kept k = {0};
	int result = mt_scan_allocations(&o->source, q->filter, v->wants, keep, &k, err);

	if (!result)
		result = mt_scan_complete(&o->source, k.items, k.count, v->wants, err);
	for (uint64_t i = 0; i < k.count && !result; i++)
		result = on_allocation(v, &k.items[i]);
	free(k.items);
	return result;
}

static void compare_allocations(struct recording *r, struct opened *o, const struct asked *q,
	uint64_t expected)
{
	struct visits v = {
		.recording = r,
		.wants = pick(r, 32) | (pick(r, 3) ? 0 : MT_SCAN_TIMELESS),
		.seen = mt_alloc(r->block_count + 1),
	};
	struct mt_err err = {0};

	if (v.wants & MT_SCAN_LATE ? scan_late(o, q, &v, &err)
				   : mt_scan_allocations(&o->source, q->filter, v.wants,
					   on_allocation, &v, &err))
		fail_msg("%s: %s%s", q->words, v.fault, err.text);
	if (v.count != expected)
		fail_msg("%s: %llu allocations visited, expected %llu", q->words,
			(unsigned long long)v.count, (unsigned long long)expected);
	free(v.seen);
}

static bool matches(const struct recording *r, uint64_t number)
{
	return number != NONE && r->blocks[number].matches;
}

/* The next event that is to be told; NULL: none. half: made up. */
static const struct mt_event *next_told(struct visits *v, struct mt_event *half)
{
	const struct recording *r = v->recording;

	while (v->at < r->count) {
		const struct mt_event *e = &r->events[v->at++];
		bool again = e->type == MT_EVENT_REALLOCATE;

		if (e->type == MT_EVENT_NOTE || e->type == MT_EVENT_UNKNOWN_FREE)
			continue;
		*half = *e;
		if (again && !matches(r, e->number) && matches(r, e->previous)) {
			half->type = MT_EVENT_FREE;
			half->number = e->previous;
			return half;
		}
		if (again && e->previous != NONE && !matches(r, e->previous))
			half->type = MT_EVENT_ALLOCATE;
		if (matches(r, e->number))
			return half;
	}
	return NULL;
}

static int on_event(void *context, const struct mt_event *a)
{
	struct visits *v = context;
	struct mt_event half;
	const struct mt_event *b = next_told(v, &half);

	if (!b)
		return DIFFERS(v, "an event", a->number, 1, 0);
	SAME(type)
	SAME(number)
	SAME(time_ns)
	SAME(thread)
	if (a->type <= MT_EVENT_REALLOCATE) {
		SAME(size)
		SAME(address)
		SAME(group)
	}
	if (a->type == MT_EVENT_REALLOCATE)
		SAME(previous)
	return 0;
}

static void compare_events(const struct recording *r, struct opened *o, const struct asked *q)
{
	struct visits v = {.recording = r};
	struct mt_event half;
	struct mt_err err = {0};

	if (mt_scan_events(&o->source, q->filter, on_event, &v, &err))
		fail_msg("%s: %s%s", q->words, v.fault, err.text);
	if (next_told(&v, &half))
		fail_msg("%s: an event was not told", q->words);
}

static void compare_history(const struct mt_profile *p, const struct sums *s, const char *words)
{
	const struct mt_sample *last = &p->samples[p->sample_count - 1];
	uint64_t allocations = 0, frees = 0, most = 0;

	for (uint32_t i = 0; i < p->sample_count; i++) {
		allocations += p->samples[i].allocations;
		frees += p->samples[i].frees;
		most = p->samples[i].max_bytes > most ? p->samples[i].max_bytes : most;
	}
	if (allocations != s->info.allocations + s->info.reallocations || frees != s->frees
		|| most != s->info.peak_bytes || last->live_bytes != s->info.leaked_bytes
		|| last->live_count != s->info.leaked_count)
		fail_msg("%s: the timeline differs", words);
}

static void compare_profile(const struct mt_matched *m, const struct sums *s, const char *words)
{
	const struct mt_profile *p = &m->profile;

	for (uint32_t i = 0; i < p->group_count; i++) {
		struct mt_group a = p->groups[i], b = s->groups[i];
#define X(name) \
	if (a.name != b.name) \
		fail_msg("%s: " #name " of group %u: %llu, expected %llu", words, i, \
			(unsigned long long)a.name, (unsigned long long)b.name);
		X(allocated_count)
		X(allocated_bytes)
		X(live_count)
		X(live_bytes)
		X(temporary_count)
		X(own_peak_count)
		X(own_peak_bytes)
		X(at_peak_count)
		X(at_peak_bytes)
		X(first_ns)
		X(last_ns)
		X(min_size)
		X(max_size)
#undef X
		if (mt_profile_range_live_count(p, i) != b.live_count + s->late[i].count
			|| mt_profile_range_live_bytes(p, i) != b.live_bytes + s->late[i].bytes)
			fail_msg("%s: what lives at the end of the range, of group %u: %llu, "
				 "expected %llu",
				words, i, (unsigned long long)mt_profile_range_live_bytes(p, i),
				(unsigned long long)(b.live_bytes + s->late[i].bytes));
	}
	if (!m->history)
		return;
#define X(name) \
	if (p->info.name != s->info.name) \
		fail_msg("%s: " #name ": %llu, expected %llu", words, \
			(unsigned long long)p->info.name, (unsigned long long)s->info.name);
	X(allocations)
	X(frees)
	X(reallocations)
	X(allocated_bytes)
	X(leaked_count)
	X(leaked_bytes)
	X(peak_bytes)
	X(peak_ns)
	X(temporary_count)
	if (m->own)
		X(slack_bytes)
#undef X
	compare_history(p, s, words);
}

static void compare_match(struct recording *r, struct opened *o, const struct asked *q)
{
	uint64_t from = q->on[MT_FILTER_FROM] ? q->number[MT_FILTER_FROM] : 0;
	uint64_t to = q->on[MT_FILTER_TO] ? q->number[MT_FILTER_TO] : UINT64_MAX;
	uint64_t wall_ns = o->profile.info.wall_ns;
	struct mt_matched m = {0};
	struct mt_err err = {0};
	struct sums s;

	recording_sum(&s, r, from, to,
		q->on[MT_FILTER_TEMPORARY_THRESHOLD] ? q->number[MT_FILTER_TEMPORARY_THRESHOLD]
						     : 0);
	for (unsigned wants = 0; wants <= MT_MATCH_HISTORY; wants++) {
		if (mt_match(&m, &o->source, q->filter, wants, &err))
			fail_msg("%s: %s", q->words, err.text);
		assert_true(m.history || !wants);
		compare_profile(&m, &s, q->words);
		if (m.heap_peak_bytes != s.heap_peak
			|| m.heap_peak_ns != (s.heap_peak_ns < wall_ns ? s.heap_peak_ns : wall_ns))
			fail_msg("%s: the heap's peak in the range: "
				 "%llu at %llu, expected %llu at %llu",
				q->words, (unsigned long long)m.heap_peak_bytes,
				(unsigned long long)m.heap_peak_ns, (unsigned long long)s.heap_peak,
				(unsigned long long)s.heap_peak_ns);
	}
	mt_matched_free(&m);
}

static void compare_all(struct recording *r, struct opened *o)
{
	struct asked q;
	uint64_t expected = 0;

	asked_begin(&q, r);
	struct mt_err err = {0};

	if (mt_filter_check(q.filter, &err) == 0) {
		for (uint64_t n = 0; n < r->block_count; n++) {
			r->blocks[n].matches =
				is_meant(&q, r, &r->blocks[n].a, o->profile.info.wall_ns);
			expected += r->blocks[n].matches;
		}
		compare_allocations(r, o, &q, expected);
		compare_events(r, o, &q);
		compare_match(r, o, &q);
	}
	mt_filter_free(q.filter);
}

static void random_rounds(uint32_t recordings, uint32_t filters, uint32_t steps,
	uint64_t block_events, uint64_t seed)
{
	for (uint32_t i = 0; i < recordings; i++) {
		struct recording r;
		struct opened o;

		recording_begin(&r, seed + i, block_events);
		for (uint32_t k = 0; k < steps; k++)
			recording_step(&r);
		recording_follow(&r);
		open_recording(&o, &r);
		for (uint32_t k = 0; k < filters; k++)
			compare_all(&r, &o);
		close_recording(&o);
		recording_free(&r);
	}
}

static void test_small(void **state)
{
	(void)state;
	random_rounds(600, 8, 60, 40, 1);
}

static void test_many_blocks(void **state)
{
	(void)state;
	random_rounds(60, 6, 700, 25, 100000);
}

/* A place at which no realloc is under way; a note is not torn from its event. */
static uint64_t place_of_checkpoint(struct recording *r)
{
	uint64_t open = 0, place = 0, wanted = pick(r, (uint32_t)r->count);

	for (uint64_t i = 0; i < wanted; i++) {
		const struct mt_event *e = &r->events[i];

		open += e->type == MT_EVENT_RELEASE;
		open -= e->type == MT_EVENT_RESTORE
			|| (e->type == MT_EVENT_REALLOCATE && e->previous != NONE);
		if (!open && e[1].type != MT_EVENT_NOTE)
			place = i + 1;
	}
	return place;
}

/* What lives at a checkpoint or is allocated behind it is told as if the events before it were
 * there. */
static void compare_resumed(struct recording *r, uint64_t place)
{
	struct opened first, rest;
	struct asked q;
	uint64_t expected = 0;

	open_part(&first, &(struct opening){.recording = r, .to = place});
	open_part(&rest,
		&(struct opening){
			.recording = r,
			.before = &first.profile,
			.from = place,
			.to = r->count,
		});
	for (uint32_t k = 0; k < 4; k++, expected = 0) {
		asked_begin(&q, r);
		if (mt_filter_check(q.filter, NULL) == 0) {
			for (uint64_t n = 0; n < r->block_count; n++) {
				struct truth_block *b = &r->blocks[n];

				b->matches = (b->end == NONE || b->end >= place)
					&& is_meant(&q, r, &b->a, rest.profile.info.wall_ns);
				expected += b->matches;
			}
			compare_allocations(r, &rest, &q, expected);
		}
		mt_filter_free(q.filter);
	}
	close_recording(&first);
	close_recording(&rest);
}

static void test_checkpoints(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 150; i++) {
		struct recording r;

		recording_begin(&r, 300000 + i, 30);
		for (uint32_t k = 0; k < 300; k++)
			recording_step(&r);
		recording_follow(&r);
		compare_resumed(&r, place_of_checkpoint(&r));
		recording_free(&r);
	}
}

/* More than lie in the ring of young blocks. */
static void test_old_blocks(void **state)
{
	(void)state;
	random_rounds(2, 6, 200000, 20000, 200000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_many_blocks),
		cmocka_unit_test(test_checkpoints),
		cmocka_unit_test(test_old_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
