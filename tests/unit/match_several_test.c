/* Several filters in the same passes against each by itself, on random recordings through real
 * files. */
#include "tests/unit/trace_files.h"

#include "core/query/scan.h"

#include <errno.h>

struct opened {
	struct mt_profile profile;
	struct mt_symbols symbols;
	struct mt_trace_reader *reader;
	struct mt_source source;
	uint64_t told; /* blocks that passes went over */
};

static int tell(void *context, double fraction)
{
	struct opened *o = context;

	o->told += fraction < 1;
	return 0;
}

static void open_trace(struct opened *o, const char *name)
{
	struct mt_err err = {0};

	memset(o, 0, sizeof *o);
	o->reader = mt_trace_reader_open(path_of(name), &err);
	if (!o->reader || mt_profile_load(&o->profile, o->reader, NULL, NULL, &err))
		fail_msg("%s", err.text);
	mt_symbols_init(&o->symbols);
	o->source = (struct mt_source){
		.profile = &o->profile,
		.symbols = &o->symbols,
		.reader = o->reader,
		.workers = 1,
		.progress = tell,
		.context = o,
	};
}

static void close_trace(struct opened *o)
{
	mt_trace_reader_free(o->reader);
	mt_profile_free(&o->profile);
	mt_symbols_free(&o->symbols);
}

static const char *const texts[] = {"", "size>=24", "from:20%", "to:60%", "from:30% to:70%",
	"lifetime:only_leaked", "lifetime:only_short_lived", "thread:100", "lifetime_min:3ms",
	"chain_length_min:2", "alive_at:20%", "alive_at:50%", "alive_at:80%", "alive_at:peak",
	"alive_at:30% alive_at_2:60%", "to:5% size>=1G", "from:60%", "group_allocations_min:3",
	"last_size_min:100"};
#define TEXTS (sizeof texts / sizeof *texts)

static struct mt_filter *filter_of(const char *text)
{
	struct mt_filter *filter = mt_filter_new();
	struct mt_err err = {0};

	if (mt_filter_parse(filter, text, &err))
		fail_msg("%s: %s", text, err.text);
	return filter;
}

static void assert_same(const struct mt_matched *a, const struct mt_matched *b, const char *words)
{
	const struct mt_profile *p = &a->profile, *q = &b->profile;

	assert_int_equal(a->own, b->own);
	assert_int_equal(a->history, b->history);
	assert_true(a->from_ns == b->from_ns && a->to_ns == b->to_ns
		&& a->unanswered_ns == b->unanswered_ns);
	if (a->heap_peak_bytes != b->heap_peak_bytes || a->heap_peak_ns != b->heap_peak_ns)
		fail_msg("%s: the heap's peak differs", words);
	assert_int_equal(p->group_count, q->group_count);
	/* but for what the model notes there for itself */
	for (uint32_t i = 0; i < p->group_count; i++)
		for (enum mt_metric metric = 0; metric < MT_METRIC_COUNT; metric++)
			if (mt_metric_value(p, &p->groups[i], metric)
				!= mt_metric_value(q, &q->groups[i], metric))
				fail_msg("%s: %s of group %u differs", words,
					mt_metric_info(NULL, metric)->name, i);
	if (memcmp(&p->info, &q->info, sizeof p->info))
		fail_msg("%s: info differs", words);
	if (p->sample_count != q->sample_count
		|| memcmp(p->samples, q->samples, p->sample_count * sizeof *p->samples))
		fail_msg("%s: the timeline differs", words);
}

static void compare(struct opened *o, const char *const *words, unsigned wants)
{
	struct mt_filter *filters[2] = {filter_of(words[0]), filter_of(words[1])};
	struct mt_matched alone[2] = {{.own = false}}, both[2] = {{.own = false}};
	struct mt_matched *outs[2] = {&both[0], &both[1]};
	struct mt_err err = {0};
	uint64_t told[2], together;
	char text[200];

	for (int i = 0; i < 2; i++) {
		o->told = 0;
		assert_int_equal(0, mt_match(&alone[i], &o->source, filters[i], wants, &err));
		told[i] = o->told;
	}
	o->told = 0;
	assert_int_equal(0, mt_match_several(outs, &o->source, filters, 2, wants, &err));
	together = o->told;
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof text, "'%s' with '%s'", words[i], words[!i]);
		assert_same(&alone[i], &both[i], text);
	}
	if (!strncmp(words[0], "alive_at:", 9) && !strncmp(words[1], "alive_at:", 9)
		&& !strstr(words[0], "peak") && !strstr(words[1], "peak"))
		/* no more passes than by one */
		assert_int_equal(told[0] > told[1] ? told[0] : told[1], together);
	for (int i = 0; i < 2; i++) {
		mt_matched_free(&alone[i]);
		mt_matched_free(&both[i]);
		mt_filter_free(filters[i]);
	}
}

static void test_pairs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		static struct simulation s;
		struct opened o;

		record(&s, "t.dat", seed, 3000, 200, seed & 1);
		open_trace(&o, "t.dat");
		for (size_t i = 0; i < TEXTS; i++)
			for (size_t k = 0; k < TEXTS; k++)
				compare(&o, (const char *const[]){texts[i], texts[k]},
					(i + k) & 1 ? MT_MATCH_HISTORY : 0);
		close_trace(&o);
		simulation_free(&s);
	}
}

/* What one of them does not understand leaves nothing behind. */
static void test_error(void **state)
{
	static struct simulation s;
	struct mt_matched a = {.own = false}, b = {.own = false}, *outs[] = {&a, &b};
	struct mt_filter *filters[] = {filter_of("alive_at:50%"), filter_of("marker:nowhere")};
	struct mt_err err = {0};
	struct opened o;

	(void)state;
	record(&s, "t.dat", 9, 1000, 200, true);
	open_trace(&o, "t.dat");
	assert_int_equal(-EINVAL, mt_match_several(outs, &o.source, filters, 2, 0, &err));
	assert_non_null(strstr(err.text, "nowhere"));
	assert_true(!a.own && !a.profile.groups && !b.own && !b.profile.groups);
	close_trace(&o);
	simulation_free(&s);
	mt_filter_free(filters[0]);
	mt_filter_free(filters[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_error),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
