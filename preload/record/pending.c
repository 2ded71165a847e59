/* Whether a call of malloc or free belongs to a call that is under way. */
#include "preload/record/pending.h"

#include "preload/unwind/step.h"

#define SIZE_SLACK_MAX 4096      /* rounding to alignments, and at least 1 byte */
#define OPERATOR_FRAMES_MAX 4096 /* the real operator and what it calls take less stack than this */
#define OWN_MAX 4096             /* bytes of an operator of the program, at most */

struct mt_pending_code mt_pending_code;

bool mt_pending_is_of_own(uint64_t pc)
{
	for (uint32_t i = 0; i < mt_pending_code.own_count; i++)
		if (pc - mt_pending_code.own[i] < OWN_MAX)
			return true;
	return false;
}

/* Such a stack may be gone, but for the page that is in use. Behind a filter nobody can tell: most
 * calls are not left. */
static bool is_left(const struct mt_entry *call, const struct mt_entry *entry)
{
	uint64_t at = call->sp + MT_RETURN_ADDRESS_AT_CFA, pc;

	if ((at ^ (entry->sp - 1)) < MT_WIRE_PAGE)
		return *(const uint64_t *)at != call->pc;
	if (mt_load(&mt_tracer.sealed))
		return false;
	return !mt_step_read_unknown(at, &pc) || pc != call->pc;
}

bool mt_call_holds(const struct mt_thread_state *t, const struct mt_entry *call,
	const struct mt_entry *entry, uint64_t limit, uint64_t start, uint64_t end, bool *gone)
{
	*gone = false;
	if (mt_step_is_own(t, call->sp) && mt_step_is_own(t, entry->sp)) {
		*gone = entry->sp >= call->sp
			|| *(const uint64_t *)(call->sp + MT_RETURN_ADDRESS_AT_CFA) != call->pc;
		return !*gone && call->sp - entry->sp < limit;
	}
	if (call->sp - entry->sp >= limit
		|| (end && entry->pc - start >= end - start && !mt_is_own(entry->pc)))
		return false;
	*gone = is_left(call, entry);
	return !*gone;
}

bool mt_freeing_holds(struct mt_thread_state *t, const struct mt_entry *entry)
{
	bool gone;

	/* however deep: who frees the same block further on is part of it */
	if (mt_call_holds(t, &t->freeing.entry, entry, INT64_MAX, 0, 0, &gone))
		return true;
	t->freeing.p = NULL;
	return false;
}

bool mt_pending_belongs(struct mt_thread_state *t, const struct mt_entry *entry)
{
	bool gone;
	bool holds = mt_call_holds(t, &t->pending, entry, OPERATOR_FRAMES_MAX, 0, 0, &gone);

	if (gone)
		t->pending_function = 0;
	return holds
		&& (entry->pc - t->pending_start < t->pending_end - t->pending_start
			|| mt_is_own(entry->pc) || mt_pending_is_of_own(entry->pc));
}

bool mt_pending_take(struct mt_thread_state *t, const struct mt_entry *entry, size_t size)
{
	return mt_pending_belongs(t, entry) && size >= t->pending_size
		&& size - t->pending_size < SIZE_SLACK_MAX
		&& entry->pc - mt_pending_code.throwing_start
		>= mt_pending_code.throwing_end - mt_pending_code.throwing_start;
}

void mt_pending_begin(struct mt_thread_state *t, struct mt_pending *before,
	const struct mt_entry *entry, uint32_t function, uint64_t size, uint64_t start,
	uint64_t end)
{
	*before = (struct mt_pending){t->pending, t->pending_size, t->pending_start, t->pending_end,
		t->pending_function};
	t->pending_function = 0;
	mt_signal_fence();
	t->pending = *entry;
	t->pending_size = size;
	t->pending_start = start;
	t->pending_end = end;
	mt_signal_fence();
	t->pending_function = function;
}

bool mt_pending_end(struct mt_thread_state *t, const struct mt_pending *before)
{
	bool taken = !t->pending_function;

	t->pending_function = 0;
	mt_signal_fence();
	t->pending = before->entry;
	t->pending_size = before->size;
	t->pending_start = before->start;
	t->pending_end = before->end;
	mt_signal_fence();
	t->pending_function = before->function;
	return taken;
}
