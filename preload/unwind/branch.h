/* The inner ends of stacks that a thread has seen lately. A branch remembers a call's state, the
 * words that lead from it to a frame of the memo, and the node that came of it. While the state,
 * those words, that frame and all words beyond it are the same, a full walk would give the same
 * node; nothing else has to be done, or changed. */
#ifndef MT_BRANCH_H
#define MT_BRANCH_H

#include "preload/base/tracer.h"
#include "preload/unwind/check.h"

#define MT_BRANCH_WAYS 4
#define MT_BRANCH_WORDS 8

struct mt_branch {
	uint64_t sp, fp, fp_mask; /* at the call; fp_mask is 0 where fp does not matter */
	/* under which the join was last seen to be the memo's frame join_index */
	uint64_t memo_version;
	uint32_t join_words; /* which then prove it with as many words */
	uint32_t count;      /* of words */
	uint32_t node, leaf;
	struct mt_word words[MT_BRANCH_WORDS]; /* filled up to four or eight by others that hold */
	/* the memo's frame where the branch ends */
	uint64_t join_key, join_sp, join_fp;
	uint32_t join_node, join_index;
	bool join_fp_live;
	bool answered; /* since it was kept */
};

struct mt_branch_set {
	uint64_t tags[MT_BRANCH_WAYS]; /* pc and function of the call; 0: free */
	uint32_t next;                 /* to be replaced */
	uint16_t waste;                /* grows by each that is replaced and has not answered */
	uint16_t skipped;
	struct mt_branch branches[MT_BRANCH_WAYS];
};
#define MT_BRANCH_SETS 64
#define MT_BRANCH_FACTOR 0x9e3779b97f4a7c15ull
/* Branches that never answer cost more than they give: each that is replaced adds one to its set's
 * waste, or takes ANSWER from it if it has answered. A set that has reached WASTE keeps one, and
 * another only once in TRY_EACH. */
#define MT_BRANCH_WASTE 32
#define MT_BRANCH_ANSWER 8
#define MT_BRANCH_TRY_EACH 16

static inline uint64_t mt_branch_tag(const struct mt_entry *entry, enum mt_function_id function)
{
	return entry->pc | (uint64_t)function << 48;
}

static inline struct mt_branch_set *mt_branch_set(const struct mt_thread_state *t,
	const struct mt_entry *entry)
{
	uint64_t hash = (entry->pc ^ entry->sp << 7) * t->branch_factor;

	return &t->branches[hash / (UINT64_MAX / MT_BRANCH_SETS + 1)];
}

/* Do any of the memo's first words differ? All of them can be read. caller: where the hook returns
 * to. */
static MT_INLINE bool mt_branch_differs(const struct mt_thread_state *t, size_t words,
	uint64_t caller)
{
	if (words >= MT_ARCH_DIFFER_MANY && mt_likely(!mt_is_loader(caller)))
		return mt_load(&mt_arch_differ_many)(t->word_at, t->word_value, words);
	return mt_arch_differ_few(t->word_at, t->word_value, words);
}

/* The memo has changed: is the join still one of its frames? */
static inline bool mt_branch_joins(const struct mt_thread_state *t, struct mt_branch *b)
{
	const struct mt_memo *m = &t->memo[b->join_index];

	mt_assert(b->count <= MT_BRANCH_WORDS);
	if (b->join_index >= t->memo_count || m->node != b->join_node || m->sp != b->join_sp
		|| m->key != b->join_key || m->fp_live != b->join_fp_live || !m->own
		|| (MT_MUTATION != 2 && m->fp_live && m->fp != b->join_fp))
		return false;
	b->join_words = m->words_end;
	mt_signal_fence();
	b->memo_version = t->memo_version;
	return true;
}

static MT_INLINE uint64_t mt_branch_four(const struct mt_word *w)
{
	return (*w[0].at ^ w[0].value) | (*w[1].at ^ w[1].value) | (*w[2].at ^ w[2].value)
		| (*w[3].at ^ w[3].value);
}

/* Does the branch answer for a call of this state? The stack is the thread's own, so all words from
 * sp on can be read, whatever they mean. */
static MT_INLINE bool mt_branch_holds(const struct mt_thread_state *t, struct mt_branch *b,
	const struct mt_entry *entry)
{
	uint64_t differ = (b->sp ^ entry->sp) | ((b->fp ^ entry->fp) & b->fp_mask);

	if (differ || (mt_unlikely(b->memo_version != t->memo_version) && !mt_branch_joins(t, b)))
		return false;
	if (mt_likely(b->count) && MT_MUTATION != 1) {
		differ = mt_branch_four(b->words);
		if (b->count > 4)
			differ |= mt_branch_four(b->words + 4);
	}
	return !differ && (MT_MUTATION == 1 || !mt_branch_differs(t, b->join_words, entry->pc));
}

/* NULL when no branch answers. */
static MT_INLINE const struct mt_branch *mt_branch_find(const struct mt_thread_state *t,
	const struct mt_entry *entry, enum mt_function_id function)
{
	uint64_t tag = mt_branch_tag(entry, function);
	struct mt_branch_set *set = mt_branch_set(t, entry);
	struct mt_branch *b = set->branches;

	if (mt_unlikely(mt_load_acquire(&mt_tracer.generation) != t->generation)
		|| mt_unlikely(t->memo_cut))
		return NULL;
	for (int i = 0; i < MT_BRANCH_WAYS; i++, b++)
		if (mt_likely(set->tags[i] == tag) && mt_likely(mt_branch_holds(t, b, entry))) {
			b->answered = true;
			return b;
		}
	return NULL;
}

/* The way of the set for another branch, or MT_BRANCH_WAYS for none. */
static inline uint32_t mt_branch_way(struct mt_branch_set *set)
{
	uint32_t way = set->next % MT_BRANCH_WAYS;
	bool tries = set->waste == MT_BRANCH_WASTE;

	if (mt_unlikely(tries)) {
		if (++set->skipped % MT_BRANCH_TRY_EACH)
			return MT_BRANCH_WAYS;
		way = 0;
	} else {
		set->next++;
	}
	if (set->branches[way].answered)
		set->waste -= set->waste < MT_BRANCH_ANSWER ? set->waste : MT_BRANCH_ANSWER;
	else if (!tries && set->tags[way] && ++set->waste == MT_BRANCH_WASTE)
		for (int i = 0; i < MT_BRANCH_WAYS; i++)
			mt_store(&set->tags[i], 0);
	return way;
}

/* A thread that needs few branches touches one page for them: the others come into use when the
 * first set is full. What stays there of other sets is found no more, and replaced in time. */
static inline bool mt_branch_spreads(struct mt_thread_state *t, const struct mt_branch_set *set)
{
	if (mt_likely(t->branch_factor) || set->next < MT_BRANCH_WAYS)
		return false;
	t->branch_factor = MT_BRANCH_FACTOR;
	return true;
}

static inline void mt_branch_count_page(struct mt_thread_state *t, const void *at)
{
	uint64_t page = ((uint64_t)at - (uint64_t)t) / MT_WIRE_PAGE;

	if (mt_likely(t->branch_pages >> page & 1))
		return;
	t->branch_pages |= 1u << page;
	mt_count_private(MT_WIRE_PAGE);
}

/* Remembers that the memo's innermost frame was reached from its first kept ones. A signal handler
 * may leave this by longjmp at any place: what is not complete has no tag. */
static inline void mt_branch_keep(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, uint32_t kept, uint32_t leaf)
{
	struct mt_branch_set *set = mt_branch_set(t, entry);
	const struct mt_memo *join, *top;
	uint32_t first, count, way;
	struct mt_branch *b;

	if (kept == 0 || t->memo_count < kept || t->memo_cut)
		return;
	join = &t->memo[kept - 1];
	top = &t->memo[t->memo_count - 1];
	first = join->words_end;
	count = top->words_end - first;
	if (!top->own || count > MT_BRANCH_WORDS || leaf == MT_PC_TABLE_FULL)
		return;
	if (mt_unlikely(mt_branch_spreads(t, set)))
		set = mt_branch_set(t, entry);
	way = mt_branch_way(set);
	if (way == MT_BRANCH_WAYS)
		return;
	b = &set->branches[way];
	mt_branch_count_page(t, set);
	mt_branch_count_page(t, b);
	mt_branch_count_page(t, &b->answered);
	mt_store(&set->tags[way], 0);
	mt_signal_fence();
	b->sp = entry->sp;
	b->fp = entry->fp;
	b->fp_mask = top->fp_live && MT_MUTATION != 2 ? UINT64_MAX : 0;
	b->memo_version = t->memo_version;
	b->join_words = first;
	b->join_key = join->key;
	b->join_sp = join->sp;
	b->join_fp = join->fp;
	b->join_node = join->node;
	b->join_index = kept - 1;
	b->join_fp_live = join->fp_live;
	b->count = count;
	b->node = top->node;
	b->leaf = leaf;
	b->answered = false;
	for (uint32_t i = 0; i < (count + 3) / 4 * 4; i++) {
		uint32_t word = first + (i < count ? i : 0);

		b->words[i] = (struct mt_word){t->word_at[word], t->word_value[word]};
	}
	mt_signal_fence();
	mt_store(&set->tags[way], mt_branch_tag(entry, function));
}

/* Of the memo. */
static inline void mt_branch_forget_memo(struct mt_thread_state *t)
{
	t->memo_count = 0;
	t->memo_version++;
}

static inline void mt_branch_forget(struct mt_thread_state *t)
{
	int sets = t->branch_factor ? MT_BRANCH_SETS : 1;

	for (int i = 0; i < sets; i++)
		for (int way = 0; way < MT_BRANCH_WAYS; way++)
			mt_store(&t->branches[i].tags[way], 0);
}

#endif
