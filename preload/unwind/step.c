/* The rarer steps: the last ones of a stack, realigned stacks, signal frames, code without call
 * frame information, and rows that the compact form cannot hold. */
#include "preload/unwind/step.h"

#include <sys/uio.h>

#include "preload/base/sys.h"
#include "preload/unwind/cfi.h"
#include "preload/unwind/modules.h"

struct reader {
	const struct mt_state *state;
	struct mt_unwind_frame *frame;
	struct mt_word *words; /* of the frame */
	uint64_t known;        /* up to here words can be read */
	uint64_t limit;        /* nothing beyond is looked at */
};

static bool read_unknown(uint64_t address, void *values, size_t size)
{
	struct iovec here = {values, size}, there = {(void *)address, size};

	/* by this thread's id: the first thread may have ended */
	return mt_sys6(SYS_process_vm_readv, mt_sys0(SYS_gettid), &here, 1, &there, 1, 0)
		== (long)size;
}

bool mt_step_read_unknown(uint64_t address, uint64_t *value)
{
	return read_unknown(address, value, sizeof *value);
}

/* A word of the stack at or above sp. */
static bool read_at(const struct reader *r, uint64_t address, uint64_t *value)
{
	uint64_t sp = r->state->sp;

	if (address & 7 || address < sp || address - sp >= r->limit - sp)
		return false;
	if (address >= r->known)
		return mt_step_read_unknown(address, value);
	*value = *(const uint64_t *)address;
	return true;
}

/* The last is compared first, and shows that the others are there. */
static void note(const struct reader *r, uint64_t at, uint64_t value)
{
	r->words[r->frame->word_count++] = (struct mt_word){(const uint64_t *)at, value};
}

/* The word that was noted last is the caller's fp, which need not count. */
static void note_is_fp(const struct reader *r)
{
	r->frame->saved_fp = r->words[--r->frame->word_count];
}

/* The caller's state, once the CFA is known: return address below it, fp where the rule says. */
static enum mt_step finish(struct mt_state *s, uint64_t rule, const struct reader *r, uint64_t cfa)
{
	uint64_t at = cfa + MT_RETURN_ADDRESS_AT_CFA, return_address, saved;
	struct mt_unwind_frame *f = r->frame;

	if (!read_at(r, at, &return_address))
		return MT_STEP_CUT;
	note(r, at, return_address);
	if (return_address == 0)
		return MT_STEP_END;
	if (return_address >> MT_ADDRESS_BITS)
		return MT_STEP_CUT;
	if (mt_rule_fp_mode(rule) != MT_FP_SAME) {
		saved = mt_step_saved_fp(rule, cfa, s->fp);
		if (!read_at(r, saved, &s->fp))
			return MT_STEP_CUT;
		f->saved_fp = (struct mt_word){(const uint64_t *)saved, s->fp};
	}
	s->sp = cfa;
	s->key = return_address - 1;
	return MT_STEP_ON;
}

/* Reads a word and notes it down. */
static bool read_word(void *context, uint64_t address, uint64_t *value)
{
	const struct reader *r = context;

	if (r->frame->word_count == MT_FRAME_WORDS - 1 || !read_at(r, address, value))
		return false;
	note(r, address, *value);
	return true;
}

/* Is there a stack above sp, to which a signal frame at from leads? It may be gone: that of a
 * coroutine's creator, who was interrupted to begin it. Of the thread's own the part above from is
 * known to be there. */
static bool leads_to_stack(const struct mt_thread_state *t, uint64_t from, uint64_t sp)
{
	uint64_t word;

	if (sp & 7)
		return false;
	if (mt_step_is_own(t, sp))
		return (mt_step_is_own(t, from) && sp >= from) || mt_step_read_unknown(sp, &word);
	return mt_step_read_unknown((sp - 1) & ~7ull, &word);
}

static enum mt_step step_signal(const struct mt_thread_state *t, struct mt_state *s,
	struct reader *r)
{
	uint64_t sp, fp, pc;

	if (!read_word(r, s->sp + MT_SIGNAL_SP, &sp) || !read_word(r, s->sp + MT_SIGNAL_PC, &pc)
		|| !read_word(r, s->sp + MT_SIGNAL_FP, &fp))
		return MT_STEP_CUT;
	/* fp goes last: whether it counts depends on the interrupted frame */
	note_is_fp(r);
	if (pc == 0)
		return MT_STEP_END;
	if (pc >> MT_ADDRESS_BITS || !leads_to_stack(t, s->sp, sp))
		return MT_STEP_CUT;
	*s = (struct mt_state){pc | MT_KEY_EXACT, sp, fp};
	return MT_STEP_ON;
}

/* Where the stack began when the program was entered. */
extern void *__libc_stack_end __attribute__((weak));

static bool is_entry(uint64_t sp)
{
	return &__libc_stack_end && sp >= ((uint64_t)__libc_stack_end & ~15ull);
}

/* Go calls C on the thread's stack. Its assembly leaves there which goroutine called, and how far
 * below the end of that one's stack the frame pointer lies that it has pushed; a goroutine begins
 * with the bounds of its stack. It may have moved since then, when C had called Go: then the frame
 * pointer that C has kept is of the past. (runtime.asmcgocall of Go 1.22 and later) */
static enum mt_step step_to_goroutine(struct mt_state *s, struct reader *r)
{
	uint64_t at = s->fp, depth, goroutine, bounds[2], frame[2];

	if (!read_at(r, s->sp, &depth) || !read_at(r, s->sp + 8, &goroutine)
		|| !read_unknown(goroutine, bounds, sizeof bounds) || at & 7 || at < bounds[0]
		|| at != bounds[1] - depth || depth < sizeof frame
		|| !read_unknown(at, frame, sizeof frame) || frame[1] < MT_WIRE_PAGE
		|| frame[1] >> MT_ADDRESS_BITS)
		return MT_STEP_CUT;
	note(r, at + 8, frame[1]);
	note(r, at, frame[0]);
	note(r, goroutine + 8, bounds[1]);
	note(r, s->sp + 8, goroutine);
	note(r, s->sp, depth);
	*s = (struct mt_state){frame[1] - 1, at + 16, frame[0]};
	return MT_STEP_ON;
}

/* By frame pointer. On a stack of unknown bounds only within the page of sp, unless all code of the
 * module keeps one. A frame pointer of 0 is that of the outermost frame, or some register of code
 * that keeps none: then the stack counts as cut. */
static enum mt_step step_no_cfi(const struct mt_thread_state *t, struct mt_state *s,
	struct reader *r, bool kept)
{
	uint64_t at = s->fp, fp, pc;

	if (at == 0)
		return kept || (mt_step_is_own(t, s->sp) && is_entry(s->sp))
			? MT_STEP_END
			: MT_STEP_CUT;
	if (kept && at - s->sp >= r->limit - s->sp)
		return step_to_goroutine(s, r);
	if (!kept && !mt_step_is_own(t, s->sp))
		r->limit = (s->sp | (MT_WIRE_PAGE - 1)) + 1;
	if (!read_word(r, at + 8, &pc))
		return MT_STEP_CUT;
	if (pc < MT_WIRE_PAGE)
		return pc == 0 ? MT_STEP_END : MT_STEP_CUT;
	if (pc >> MT_ADDRESS_BITS || !read_word(r, at, &fp))
		return MT_STEP_CUT;
	note_is_fp(r);
	*s = (struct mt_state){pc - 1, at + 16, fp};
	return MT_STEP_ON;
}

static bool cfa_of(const struct mt_cfi_row *row, const struct mt_cfi_machine *m, uint64_t *cfa)
{
	if (row->cfa_register == MT_DWARF_SP)
		*cfa = m->sp + row->cfa_offset;
	else if (row->cfa_register == MT_DWARF_FP)
		*cfa = m->fp + row->cfa_offset;
	else if (row->cfa_register == MT_CFI_NO_REGISTER)
		return mt_cfi_evaluate(m, mt_cfi_cfa_expression(row), NULL, cfa);
	else
		return false;
	return true;
}

/* The value of a register in the caller; at says where a saved one lies, 0 when it is not in
 * memory. */
static bool value_of(const struct mt_cfi_register *r, const struct mt_cfi_machine *m, uint64_t cfa,
	uint64_t current, uint64_t *value)
{
	uint64_t at;

	switch (r->how) {
	case MT_CFI_SAME:
	case MT_CFI_UNDEFINED: *value = current; return true;
	case MT_CFI_AT_OFFSET: return m->read(m->context, cfa + r->offset, value);
	case MT_CFI_AT_EXPRESSION:
		return mt_cfi_evaluate(m, mt_cfi_expression(r), &cfa, &at)
			&& m->read(m->context, at, value);
	case MT_CFI_VALUE_OFFSET: *value = cfa + r->offset; return true;
	case MT_CFI_VALUE_EXPRESSION: return mt_cfi_evaluate(m, mt_cfi_expression(r), &cfa, value);
	}
	return false;
}

static enum mt_step step_slow(struct mt_state *s, struct reader *r)
{
	uint64_t pc = s->key & MT_KEY_EXACT ? s->key & ~MT_KEY_EXACT : s->key + 1;
	struct mt_cfi_machine machine = {pc, s->sp, s->fp, read_word, r};
	uint64_t cfa, return_address, fp;
	struct mt_cfi_row row;

	if (mt_modules_row(s->key & ~MT_KEY_EXACT, &row) != MT_CFI_FOUND
		|| !cfa_of(&row, &machine, &cfa) || cfa < s->sp + 8 || cfa > r->limit || cfa & 7
		|| row.return_address.how == MT_CFI_SAME
		|| !value_of(&row.return_address, &machine, cfa, 0, &return_address)
		|| !value_of(&row.fp, &machine, cfa, s->fp, &fp)
		|| return_address >> MT_ADDRESS_BITS)
		return MT_STEP_CUT;
	if (return_address == 0)
		return MT_STEP_END;
	*s = (struct mt_state){return_address - 1, cfa, fp};
	return MT_STEP_ON;
}

MT_COLD enum mt_step mt_step_other(const struct mt_thread_state *t, struct mt_state *s,
	uint64_t rule, struct mt_unwind_frame *f, struct mt_unwind_frame_words *words)
{
	struct mt_state before = *s;
	struct reader r = {&before, f, words->at, mt_step_bound(t, s->sp), 0};
	uint64_t cfa;

	r.limit = mt_step_is_own(t, s->sp) ? r.known : s->sp + MT_FOREIGN_FRAME_MAX;
	f->word_count = 0;
	f->saved_fp.at = NULL;
	switch (mt_rule_kind(rule)) {
	case MT_RULE_SP: return finish(s, rule, &r, s->sp + mt_rule_cfa(rule));
	case MT_RULE_FP: return finish(s, rule, &r, s->fp + mt_rule_cfa(rule));
	case MT_RULE_DEREF:
		if (!read_word(&r, s->fp + mt_rule_cfa(rule), &cfa))
			return MT_STEP_CUT;
		return finish(s, rule, &r, cfa);
	case MT_RULE_SIGNAL: return step_signal(t, s, &r);
	case MT_RULE_END: return MT_STEP_END;
	case MT_RULE_NO_CFI: return step_no_cfi(t, s, &r, mt_rule_keeps_fp(rule));
	default: return step_slow(s, &r);
	}
}
