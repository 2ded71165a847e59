/* Private to core/query: what a filter holds. */
#ifndef MT_QUERY_FILTER_INTERNAL_H
#define MT_QUERY_FILTER_INTERNAL_H

#include "core/query/filter_match.h"
#include "core/query/pattern.h"

/* A value that is no regex. Behind '>' or '<' it is itself excluded. */
struct mt_filter_value {
	uint64_t number;  /* bytes, ns, count, address; of a CHOICE its place in the list */
	uint64_t percent; /* in billionths of one */
	bool is_percent, strict;
	bool is_peak; /* of a moment: when the heap was largest */
};
#define MT_FILTER_WHOLE 100000000000u /* a hundred percent */
/* So much of a whole, rounded down. */
static inline uint64_t mt_filter_share(const struct mt_filter_value *value, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)whole * value->percent / MT_FILTER_WHOLE);
}

struct mt_filter_entry {
	char *text;                 /* NULL: off */
	const char *called;         /* in errors: by its option, or as in the prompt. static */
	struct mt_pattern *pattern; /* of a regex */
	struct mt_filter_value value;
	uint64_t *known, *matching; /* of a regex: bitsets by string id */
	uint32_t words;             /* of each bitset */
	struct mt_err failure;      /* the pattern gave up; it is not tried again */
	/* of a regex: another one that must hold too, or NULL */
	struct mt_filter_entry *also;
};

struct mt_filter {
	struct mt_filter_entry fields[MT_FILTER_COUNT];
	struct mt_filter_term *terms;        /* columns of groups (filter_columns.c) */
	const struct mt_profile *columns_of; /* while text is read: whose columns it may name */
	bool columns_later, passed_over;     /* see mt_filter_pass_over */
	bool allows_absent, leaves_totals;
	uint64_t profile_lineage, symbols_lineage; /* whose ids the bitsets are of */
};

/* Numbers in MT_FILTER_LIFETIMES. */
enum mt_lifetime {
	MT_LIFETIME_ALL,
	MT_LIFETIME_LEAKED,
	MT_LIFETIME_NOT_FREED_IN_RANGE,
	MT_LIFETIME_FREED_IN_RANGE,
	MT_LIFETIME_FREED,
	MT_LIFETIME_SHORT_LIVED,
	MT_LIFETIME_GROUP_LEAKED,
	MT_LIFETIME_CHAIN_LEAKED,
};

/* What a value of this field looks like: "a size such as 4096, 64k or 1.5M". */
/* The text as the field's kind has it; called, and the character at which it stands (0: alone): in
 * errors. */
int mt_filter_value_parse(struct mt_filter_value *, enum mt_filter_field, const char *called,
	size_t at, const char *text, struct mt_err *err);
/* mt_filter_set of a text that stands at a character of a longer one. */
int mt_filter_set_at(struct mt_filter *, enum mt_filter_field, const char *called, size_t at,
	const char *text, struct mt_err *err);
/* The same for a field that may have a value already: then both must hold. Of two ends of a range
 * the narrower one stays; -EINVAL where two values leave nothing, or cannot be compared. */
int mt_filter_add_at(struct mt_filter *, enum mt_filter_field, const char *called, size_t at,
	const char *text, struct mt_err *err);
bool mt_filter_is_range(enum mt_filter_field); /* whether it is an end of one */
/* Of a field that is an end of a range: 1 where b is narrower, 0 where it is not; -EINVAL: one of
 * the two is a percentage. */
int mt_filter_is_narrower(enum mt_filter_field, const struct mt_filter_value *a,
	const struct mt_filter_value *b);
/* The other end of the range that the field is the lower end of; itself where it is none. */
enum mt_filter_field mt_filter_upper(enum mt_filter_field);
/* The range that one of two fields, or both, ask for, in the numbers of their kind; a percentage is
 * one of whole. -EINVAL: nothing lies in it. */
int mt_filter_range(struct mt_filter_range *, const struct mt_filter *, enum mt_filter_field lower,
	uint64_t whole, struct mt_err *err);
/* A word that compares a column: 1; 0: it is none; at: its character, for errors. */
int mt_filter_add_column(struct mt_filter *, const char *word, size_t len, size_t at,
	struct mt_err *err);
void mt_filter_free_columns(struct mt_filter *);
void mt_filter_add_columns_text(struct mt_buffer *, const struct mt_filter *);
int mt_filter_match_columns(const struct mt_filter *, const struct mt_profile *, uint8_t *matches,
	struct mt_err *err);
/* The recording has nothing by this name of the field's value: 0 if that is allowed, else -EINVAL.
 * next: those that it has. */
int mt_filter_fail_absent(struct mt_err *err, const struct mt_filter *, enum mt_filter_field,
	const char *name, const char *what, const char *(*next)(const void *, int),
	const struct mt_profile *);
/* By what the program called (filter_calls.c). */
int mt_filter_match_calls(const struct mt_filter *, const struct mt_profile *, uint8_t *matches,
	struct mt_err *err);
void mt_filter_add_calls(struct mt_filter_candidates *, enum mt_filter_field, const char *typed,
	const struct mt_profile *,
	void (*add)(struct mt_filter_candidates *, const char *typed, const char *value,
		const char *words));
/* The i-th of "a|b|c", as a copy in out; NULL after the last. */
const char *mt_filter_choice(char out[64], const char *choices, int i);

#endif
