/* One step of the unwinder: from the state of a frame to that of its caller. A step is a pure
 * function of the state, the rule and the words that it reads, which it notes down. */
#ifndef MT_STEP_H
#define MT_STEP_H

#include "preload/unwind/rules.h"

struct mt_state {
	uint64_t key, sp, fp;
};

enum mt_step {
	MT_STEP_ON,
	MT_STEP_END, /* the outermost frame */
	MT_STEP_CUT, /* it goes on, but not for us */
};

/* A frame of a foreign stack is taken to be no larger than this. */
#define MT_FOREIGN_FRAME_MAX (1u << 20)

enum mt_step mt_step_other(const struct mt_thread_state *, struct mt_state *, uint64_t rule,
	struct mt_unwind_frame *, struct mt_unwind_frame_words *);

/* A word of a stack, where nothing may be mapped: the kernel reads it. */
bool mt_step_read_unknown(uint64_t address, uint64_t *value);

/* Is it a stack pointer of the thread's own stack? One at its very end is, too: nothing lies beyond
 * that such a stack could go on with. */
static inline bool mt_step_is_own(const struct mt_thread_state *t, uint64_t sp)
{
	return sp - t->stack_lo <= t->stack_hi - t->stack_lo;
}

/* All words from sp up to this can be read. Of a foreign stack it is known of the page alone that
 * has the word below sp, which was read, or belongs to the frame that called us: the stack may end
 * there. */
static inline uint64_t mt_step_bound(const struct mt_thread_state *t, uint64_t sp)
{
	return mt_likely(mt_step_is_own(t, sp)) ? t->stack_hi : ((sp - 1) | (MT_WIRE_PAGE - 1)) + 1;
}

/* Where the rule says that fp is saved. */
static inline uint64_t mt_step_saved_fp(uint64_t rule, uint64_t cfa, uint64_t fp)
{
	return (mt_rule_fp_mode(rule) == MT_FP_AT_CFA ? cfa : fp) + mt_rule_fp(rule);
}

/* Fills f and its words, and moves s on to the caller. Here the common rules when all goes well,
 * the rest elsewhere. */
static MT_INLINE enum mt_step mt_step(const struct mt_thread_state *t, struct mt_state *s,
	uint64_t rule, struct mt_unwind_frame *f, struct mt_unwind_frame_words *words)
{
	unsigned kind = mt_rule_kind(rule);
	uint64_t bound = mt_step_bound(t, s->sp), cfa, return_address, saved;
	struct mt_state copy;
	enum mt_step result;

	f->key = s->key;
	f->sp = s->sp;
	f->fp = s->fp;
	f->rule = rule;
	if (mt_unlikely(kind > MT_RULE_FP))
		goto other;
	cfa = (kind == MT_RULE_SP ? s->sp : s->fp) + mt_rule_cfa(rule);
	/* sp and the bound are multiples of 8, and may be equal */
	if (mt_unlikely(cfa & 7) || mt_unlikely(cfa - s->sp - 1 >= bound - s->sp))
		goto other;
	return_address = *(const uint64_t *)(cfa + MT_RETURN_ADDRESS_AT_CFA);
	if (mt_unlikely(return_address - 1 >= (1ull << MT_ADDRESS_BITS) - 1))
		goto other;
	if (mt_rule_fp_mode(rule) != MT_FP_SAME) {
		saved = mt_step_saved_fp(rule, cfa, s->fp);
		if (mt_unlikely(saved & 7) || mt_unlikely(saved - s->sp > bound - 8 - s->sp))
			goto other;
		s->fp = *(const uint64_t *)saved;
	}
	s->sp = cfa;
	s->key = return_address - 1;
	f->word_count = MT_WORDS_IMPLIED;
	return MT_STEP_ON;
other:
	copy = *s; /* so that the state itself can stay in registers */
	result = mt_step_other(t, &copy, rule, f, words);
	*s = copy;
	return result;
}

#endif
