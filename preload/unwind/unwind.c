/* The verified memo. A thread remembers its last stack: per frame the state, and the words that
 * lead from it to the next. The next event walks the inner frames until it meets a remembered state
 * and then only compares the words of all outer frames: the same state and the same words give the
 * same callers, so the result is exactly that of a full walk. */
#include "preload/unwind/unwind.h"

#include "preload/segment/tree.h"
#include "preload/unwind/arrays.h"
#include "preload/unwind/branch.h"
#include "preload/unwind/check.h"
#include "preload/unwind/rules.h"
#include "preload/unwind/step.h"

/* Where the last frame of a stack lies is known, but not whether its caller's does: what it took
 * for that may have been another's page, and be gone. */
static bool may_be_gone(const struct mt_thread_state *t, uint64_t at)
{
	return (at ^ (t->memo->sp - 1)) >= MT_WIRE_PAGE && !mt_step_is_own(t, at + 8);
}

static bool last_holds(const struct mt_thread_state *t, uint32_t word)
{
	uint64_t at = (uint64_t)t->word_at[word], value;

	if (!may_be_gone(t, at))
		return *t->word_at[word] == t->word_value[word];
	return mt_step_read_unknown(at, &value) && value == t->word_value[word];
}

/* Compares words[0, end) from the innermost on: outer ones may be unmapped unless all inner ones
 * hold. Returns 0 when all do, else 1 + the index of the innermost that differs. */
static uint32_t verify_foreign(const struct mt_thread_state *t, uint32_t end)
{
	const uint64_t *const *at = t->word_at;
	const uint64_t *value = t->word_value;
	uint32_t last = t->memo->words_end; /* those of the last frame */

	while (end > last && *at[end - 1] == value[end - 1])
		end--;
	while (end && end <= last && last_holds(t, end - 1))
		end--;
	return end;
}

/* The same of words on the thread's own stack, which can all be read. */
static inline uint32_t verify_own(const struct mt_thread_state *t, uint32_t end, uint64_t caller)
{
	return mt_likely(!mt_branch_differs(t, end, caller)) ? 0 : verify_foreign(t, end);
}

/* Does the state depend on fp, given whether its caller's state does? */
static inline bool fp_matters(uint64_t rule, bool outer)
{
	switch (mt_rule_kind(rule)) {
	case MT_RULE_SP:
		return mt_rule_fp_mode(rule) == MT_FP_AT_FP
			|| (mt_rule_fp_mode(rule) == MT_FP_SAME && outer);
	case MT_RULE_SIGNAL:
	case MT_RULE_END: return false;
	}
	return true;
}

static MT_INLINE uint32_t note(struct mt_thread_state *t, uint32_t words, uint64_t at,
	uint64_t value)
{
	t->word_at[words] = (const uint64_t *)at;
	t->word_value[words] = value;
	return words + 1;
}

/* Notes the words that lead from a frame to its caller; that of the saved fp if the caller needs
 * it. */
static MT_INLINE uint32_t note_step(struct mt_thread_state *t, uint32_t words,
	const struct mt_unwind_frame *f, const struct mt_memo *outer, bool fp_live)
{
	const struct mt_word *read = t->frame_words[f - t->frames].at;

	if (mt_likely(f->word_count == MT_WORDS_IMPLIED)) {
		if (mt_unlikely(!outer)) /* no room for more: whatever the caller is */
			return words;
		words = note(t, words, outer->sp + MT_RETURN_ADDRESS_AT_CFA, outer->key + 1);
		if (MT_MUTATION != 3 && fp_live && mt_rule_fp_mode(f->rule) != MT_FP_SAME)
			words = note(t, words, mt_step_saved_fp(f->rule, outer->sp, f->fp),
				outer->fp);
		return words;
	}
	for (uint64_t i = 0; i < f->word_count; i++)
		words = note(t, words, (uint64_t)read[i].at, read[i].value);
	if (MT_MUTATION != 3 && f->saved_fp.at && fp_live)
		words = note(t, words, (uint64_t)f->saved_fp.at, f->saved_fp.value);
	return words;
}

static bool has_short_arrays(const struct mt_thread_state *t)
{
	return t->capacity < t->first_frames;
}

static uint32_t pages_of(uint64_t bytes)
{
	return (uint32_t)((bytes + MT_WIRE_PAGE - 1) / MT_WIRE_PAGE);
}

/* Of the long arrays, when a stack is deeper than all before. */
static MT_COLD void count_pages(struct mt_thread_state *t)
{
	uint32_t depth = t->memo_count, words = t->memo[depth - 1].words_end, pages;

	t->deepest = depth;
	if (has_short_arrays(t))
		return;
	pages = pages_of(depth * sizeof *t->memo) + pages_of(depth * sizeof *t->frames)
		+ 2 * pages_of(words * sizeof *t->word_value);
	if (pages > t->pages)
		mt_count_private((uint64_t)(pages - t->pages) * MT_WIRE_PAGE);
	t->pages = pages > t->pages ? pages : t->pages;
}

/* The words that prove a frame stand behind those of the frames that called it. */
static inline bool memo_is_sound(const struct mt_thread_state *t, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (t->memo[i].words_end < t->memo[i - 1].words_end)
			return false;
	return true;
}

/* Remembers the walked frames, outermost first, on top of the first kept entries of the memo.
 * Returns the node of the innermost frame. When the words do not fit, the memo is left empty. */
static __attribute__((noinline)) uint32_t remember(struct mt_thread_state *t, uint32_t kept,
	uint32_t walked, uint32_t root)
{
	struct mt_memo *m = t->memo + kept, *outer = kept ? m - 1 : NULL;
	uint32_t words = outer ? outer->words_end : 0, node = outer ? outer->node : root;
	bool fp_live = outer ? outer->fp_live : false, own = outer ? outer->own : true, fits = true;

	mt_branch_forget_memo(t);
	mt_signal_fence();
	for (const struct mt_unwind_frame *f = t->frames + walked; f-- > t->frames; outer = m++) {
		if (mt_unlikely(words + MT_FRAME_WORDS + 1 > t->word_capacity)) {
			fits = false;
			words = 0;
		}
		words = note_step(t, words, f, outer, fp_live);
		fp_live = fp_matters(f->rule, fp_live);
		own = own && mt_step_is_own(t, f->sp);
		/* else the step led up the stack that sp lies on */
		if (mt_unlikely(f->word_count != MT_WORDS_IMPLIED)) {
			own = own && (!outer || f->sp < outer->sp);
			/* what a signal frame leads to elsewhere may be gone next time */
			fits = fits
				&& !(mt_rule_kind(f->rule) == MT_RULE_SIGNAL && outer
					&& !mt_step_is_own(t, outer->sp));
		}
		node = mt_tree_child(node, mt_rule_pc(f->rule));
		*m = (struct mt_memo){f->key, f->sp, f->fp, f->rule, node, words, fp_live, own};
	}
	mt_signal_fence();
	mt_assert(!fits || (kept + walked <= t->capacity && words <= t->word_capacity));
	mt_assert_expensive(!fits || memo_is_sound(t, kept + walked));
	t->memo_count = fits ? kept + walked : 0;
	if (mt_unlikely(!fits) && has_short_arrays(t))
		mt_arrays_deepen(t);
	else if (mt_unlikely(t->memo_count > t->deepest))
		count_pages(t);
	return node;
}

/* Where a walk stands: frames walked, the state to go on from, and candidates left in the memo.
 * Copied only on rare ways, as a whole: a word read right after its halves were written waits for
 * both to reach the cache. */
struct climb {
	struct mt_state state;
	uint32_t walked, left;
	enum mt_step last;
};

/* The memo's frame left - 1 has the state that the climb is at, but word bad differs: the frames up
 * to the one that owns the word are still right. Walks them again by the rules they have. */
static __attribute__((noinline)) void climb_to(struct mt_thread_state *t, struct climb *c,
	uint32_t bad)
{
	for (;;) {
		const struct mt_memo *m = &t->memo[--c->left];
		uint32_t outer_words = c->left ? m[-1].words_end : 0;

		c->last = mt_step(t, &c->state, m->rule, &t->frames[c->walked],
			&t->frame_words[c->walked]);
		c->walked++;
		if (c->last != MT_STEP_ON) {
			c->left = 0;
			return;
		}
		if (bad >= outer_words)
			return;
	}
}

/* Walks until the memo answers for the rest; left says how many of its frames do. */
static MT_INLINE void climb(struct mt_thread_state *t, struct climb *c, uint32_t limit,
	bool careful)
{
	const struct mt_memo *memo = t->memo, *m = memo + c->left;
	uint64_t caller = c->state.key;

	for (;;) {
		while (m > memo && m[-1].sp < c->state.sp)
			m--;
		if (m > memo && m[-1].sp == c->state.sp && m[-1].key == c->state.key
			&& (MT_MUTATION == 2 || !m[-1].fp_live || m[-1].fp == c->state.fp)) {
			uint32_t words = m[-1].words_end, bad;
			struct climb copy;

			bad = MT_MUTATION == 1         ? 0
				: mt_likely(m[-1].own) ? verify_own(t, words, caller)
						       : verify_foreign(t, words);
			c->left = m - memo;
			if (mt_likely(bad == 0))
				return;
			if (mt_unlikely(c->walked + c->left > limit)) {
				m = memo;
				continue;
			}
			copy = *c;
			climb_to(t, &copy, bad - 1);
			*c = copy;
			if (mt_unlikely(c->last != MT_STEP_ON))
				return;
			m = memo + c->left;
			continue;
		}
		if (mt_unlikely(c->walked == limit)) {
			c->left = 0;
			return;
		}
		c->last = mt_step(t, &c->state,
			careful ? mt_rules_find(c->state.key) : mt_rule(c->state.key),
			&t->frames[c->walked], &t->frame_words[c->walked]);
		c->walked++;
		if (mt_unlikely(c->last != MT_STEP_ON)) {
			c->left = 0;
			return;
		}
	}
}

/* From nothing. */
static MT_COLD void climb_alone(struct mt_thread_state *t, struct climb *c, uint32_t limit,
	bool careful)
{
	climb(t, c, limit, careful);
}

/* A stack for which there is no room keeps its innermost frames, so what is remembered of one is of
 * use only for a stack of the same depth. */
static inline bool depth_agrees(const struct mt_thread_state *t, uint32_t walked, uint32_t left,
	uint32_t limit)
{
	if (left == 0)
		return true;
	return t->memo_truncated ? walked + left == limit : walked + left <= limit;
}

/* last: what became of the last step, by rule, after so many frames. */
static enum mt_cut cut_of(enum mt_step last, uint64_t rule, uint32_t frames)
{
	if (last == MT_STEP_END)
		return MT_CUT_NOT;
	if (last == MT_STEP_ON && frames >= mt_tracer.depth_limit)
		return MT_CUT_BY_DEPTH;
	return last == MT_STEP_CUT && mt_rule_kind(rule) == MT_RULE_NO_CFI
		? MT_CUT_WITHOUT_CFI
		: MT_CUT;
}

MT_COLD void mt_unwind_count(enum mt_cut cut)
{
	mt_count(MT_COUNTER_CUT_STACKS, 1);
	if (cut == MT_CUT_WITHOUT_CFI)
		mt_count(MT_COUNTER_CUT_WITHOUT_CFI, 1);
	if (cut == MT_CUT_BY_DEPTH)
		mt_count(MT_COUNTER_CUT_BY_DEPTH, 1);
}

uint32_t mt_unwind_anew(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function)
{
	uint64_t generation = mt_load_acquire(&mt_tracer.generation);
	uint32_t limit = t->capacity, node, leaf, root = MT_NODE_ROOT;
	struct climb c = {{entry->pc - 1, entry->sp, entry->fp}, 0, t->memo_count, MT_STEP_ON};
	bool careful = false, alone;

	if (mt_unlikely(generation != t->generation)) {
		careful = generation >= MT_CLOSING;
		/* else it was done, and none was kept since */
		if (t->generation != MT_NO_GENERATION)
			mt_branch_forget(t);
		mt_signal_fence();
		t->generation = careful ? MT_NO_GENERATION : generation;
		alone = true;
	} else {
		climb(t, &c, limit, false);
		/* the walk itself may have met a new module where another was */
		alone = !depth_agrees(t, c.walked, c.left, limit)
			|| mt_load(&mt_tracer.generation) != generation;
	}
	if (mt_unlikely(alone)) {
		struct climb copy = {{entry->pc - 1, entry->sp, entry->fp}, 0, 0, MT_STEP_ON};

		climb_alone(t, &copy, limit, careful);
		c = copy;
	}
	while (mt_unlikely(c.left == 0 && c.last == MT_STEP_ON) && mt_arrays_deepen(t)) {
		struct climb copy = {{entry->pc - 1, entry->sp, entry->fp}, 0, 0, MT_STEP_ON};

		climb_alone(t, &copy, t->capacity, careful);
		c = copy;
	}
	if (c.left == 0) {
		t->memo_truncated = c.last == MT_STEP_ON;
		t->memo_cut = cut_of(c.last, t->frames[c.walked - 1].rule, c.walked);
		if (mt_unlikely(t->memo_cut))
			root = MT_PC_CUT;
	}
	if (mt_unlikely(t->memo_cut))
		mt_unwind_count(t->memo_cut);
	node = remember(t, c.left, c.walked, root);
	if (mt_unlikely(careful))
		mt_branch_forget_memo(t);
	if (mt_unlikely(mt_tracer.check))
		mt_check(t, entry, node);
	leaf = mt_tree_child(node, function);
	mt_branch_keep(t, entry, function, c.left, leaf);
	return leaf;
}

uint32_t mt_unwind(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function)
{
	const struct mt_branch *branch = mt_branch_find(t, entry, function);

	if (mt_unlikely(!branch))
		return mt_unwind_anew(t, entry, function);
	if (mt_unlikely(mt_tracer.check))
		mt_check(t, entry, branch->node);
	return branch->leaf;
}

/* ---- without the memo ------------------------------------------------------------------------ */

void mt_walk(struct mt_thread_state *t, const struct mt_entry *entry, struct mt_walk *walk)
{
	struct mt_state state = {entry->pc - 1, entry->sp, entry->fp};
	uint32_t limit = mt_tracer.depth_limit, depth = 0;
	enum mt_step last = MT_STEP_ON;
	struct mt_unwind_frame_words words;
	struct mt_unwind_frame frame;
	uint64_t rule = 0;

	walk->count = 0;
	walk->saw_own = walk->foreign = false;
	for (; last == MT_STEP_ON && depth < limit; depth++) {
		rule = mt_rules_find(state.key);
		walk->foreign |= !mt_step_is_own(t, state.sp);
		if (!mt_rule_pc(rule))
			walk->saw_own = true;
		else if (walk->pcs)
			walk->pcs[walk->count++] = mt_rule_pc(rule);
		last = mt_step(t, &state, rule, &frame, &words);
	}
	walk->cut = cut_of(last, rule, depth);
}

uint32_t mt_walk_node(const struct mt_walk *walk, enum mt_function_id function)
{
	uint32_t node = walk->cut ? MT_PC_CUT : MT_NODE_ROOT;

	for (uint32_t i = walk->count; i-- > 0;)
		node = mt_tree_child(node, walk->pcs[i]);
	return mt_tree_child(node, function);
}
