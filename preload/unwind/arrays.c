/* The arrays of a thread, which grow with the depth of its stacks. */
#include "preload/unwind/arrays.h"

#include "preload/base/sys.h"
#include "preload/unwind/branch.h"

#define WORDS(frames) ((frames)*4 + 2 * MT_FRAME_WORDS)
#define DEEPEN 4 /* times as many frames, when a thread has met a deeper stack */

/* What a thread remembers of its last stack, and walks a new one with: so many frames. */
size_t mt_arrays_bytes(size_t frames)
{
	return frames
		* (sizeof(struct mt_memo) + sizeof(struct mt_unwind_frame)
			+ sizeof(struct mt_unwind_frame_words))
		+ WORDS(frames) * 2 * sizeof(uint64_t);
}

/* A handler may leave this by longjmp, or fork: the larger numbers come last. */
void mt_arrays_use(struct mt_thread_state *t, uint8_t *at, uint32_t frames)
{
	t->memo = mt_arrays_put(&at, frames, sizeof *t->memo);
	t->word_at = mt_arrays_put(&at, WORDS(frames), sizeof *t->word_at);
	t->word_value = mt_arrays_put(&at, WORDS(frames), sizeof *t->word_value);
	t->frames = mt_arrays_put(&at, frames, sizeof *t->frames);
	t->frame_words = mt_arrays_put(&at, frames, sizeof *t->frame_words);
	mt_signal_fence();
	t->word_capacity = WORDS(frames);
	t->capacity = frames;
	t->deepest = 0;
}

MT_COLD bool mt_arrays_deepen(struct mt_thread_state *t)
{
	uint32_t limit = mt_tracer.depth_limit, frames = t->capacity;
	uint64_t old_len = t->room_len;
	uint8_t *old = t->room, *room;

	if (frames >= limit)
		return false;
	if (frames < t->first_frames) { /* it is there, so this cannot fail */
		mt_branch_forget_memo(t);
		mt_signal_fence();
		mt_arrays_use(t, t->first_room, t->first_frames);
		return true;
	}
	frames = frames < limit / DEEPEN ? frames * DEEPEN : limit;
	room = mt_sys_map(mt_arrays_bytes(frames));
	if (!room)
		return false;
	mt_branch_forget_memo(t);
	mt_signal_fence();
	mt_arrays_use(t, room, frames);
	t->room = room;
	t->room_len = mt_arrays_bytes(frames);
	if (old)
		mt_sys_unmap(old, old_len);
	return true;
}
