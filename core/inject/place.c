/* Code and memory inside the target: the foothold, the mapping, and the way back. */
#include "core/inject/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define BESIDE (1u << 20) /* bytes; what is ours is smaller */
#define USER_END (1ull << 47)

/* ---- is a thread inside? ---- */

static bool is_in(uint64_t address, uint64_t low, uint64_t high)
{
	return address >= low && address < high;
}

static bool stands_outside(struct mt_tracee *t, uint64_t pc, uint64_t sp, uint64_t low,
	uint64_t high)
{
	return !is_in(pc, low, high) && !mt_inject_signal_frame(t, sp, low, high);
}

bool mt_inject_is_outside(struct mt_tracee *t, pid_t last, uint64_t low, uint64_t high)
{
	struct mt_inject_thread *thread;
	struct mt_inject_wait w;
	bool was_stopped, outside;

	if (!t->all_stopped)
		mt_inject_list(t);
	thread = last > 0 ? mt_inject_thread(t, last) : NULL;
	if (!thread || thread->state == MT_INJECT_GONE)
		return true;
	was_stopped = thread->state == MT_INJECT_STOPPED;
	if (!was_stopped) {
		mt_inject_read_wait(t, last, &w);
		if (w.is_waiting && mt_arch_is_interrupted_by_stop(w.number))
			return stands_outside(t, w.pc, w.sp, low, high);
		if (thread->state == MT_INJECT_SEEN)
			mt_inject_ask(t, thread);
		if (!mt_inject_await(t, thread)) {
			mt_inject_read_wait(t, last, &w);
			return thread->state == MT_INJECT_GONE
				|| (w.is_waiting && stands_outside(t, w.pc, w.sp, low, high));
		}
	}
	outside = stands_outside(t, mt_arch_pc(&thread->registers), mt_arch_sp(&thread->registers),
		low, high);
	if (!was_stopped)
		mt_inject_release(t, thread);
	return outside;
}

/* ---- footholds ---- */

enum content { FOREIGN, FREE, OURS };

static enum content content(const struct mt_tracee *t, uint64_t at, struct mt_arch_foothold *f,
	pid_t *thread, uint64_t *base)
{
	static const struct mt_arch_foothold zeroes;

	if (mt_tracee_read(t, at, f, sizeof *f))
		return FOREIGN;
	if (mt_arch_foothold_read(f, thread, base))
		return OURS;
	return memcmp(f, &zeroes, sizeof zeroes) ? FOREIGN : FREE;
}

/* The last bytes of a module's last page of code, if they belong to nothing; 0: they do. */
static uint64_t candidate(struct mt_tracee *t, const struct mt_inject_map *map)
{
	uint64_t end = map->executable && !map->writable ? mt_inject_code_end(t, map) : 0;

	return end && map->high - end >= MT_ARCH_FOOTHOLD_SIZE
		? map->high - MT_ARCH_FOOTHOLD_SIZE
		: 0;
}

/* libc first: it is nobody's own, and there is one nearly always. */
static bool is_preferred(const struct mt_inject_map *map)
{
	return !strncmp(mt_base_name(map->path), "libc", 4);
}

static int find_foothold(struct mt_tracee *t, struct mt_err *err)
{
	struct mt_arch_foothold f;
	uint64_t base, unused = 0;
	pid_t thread;

	for (int others = 0; others < 2; others++)
		for (uint32_t i = 0; i < t->maps.count; i++) {
			const struct mt_inject_map *map = &t->maps.items[i];
			uint64_t at = is_preferred(map) == !others ? candidate(t, map) : 0;
			enum content c = at ? content(t, at, &f, &thread, &base) : FOREIGN;

			if (c == OURS) {
				t->place.foothold = at;
				t->place.base = base;
				return 0;
			}
			if (c == FREE && !unused)
				unused = at;
		}
	if (!unused)
		return mt_fail(err, -ENOSPC,
			"process %d has no unused bytes behind the code of any module",
			(int)t->pid);
	t->place.foothold = unused;
	return 0;
}

/* ---- the mapping ---- */

enum mapping { NOTHING, CODE, ALL, NOT_OURS };

static bool is_free(const struct mt_tracee *t, uint64_t low, uint64_t high)
{
	for (uint32_t i = 0; i < t->maps.count; i++)
		if (t->maps.items[i].low < high && t->maps.items[i].high > low)
			return false;
	return true;
}

/* Code as we write it, or a page of zeroes, which we have not come to write. */
static bool is_code(const struct mt_tracee *t, uint64_t base, bool *is_written)
{
	uint8_t have[MT_ARCH_CODE_SIZE], want[MT_ARCH_CODE_SIZE];

	if (mt_tracee_read(t, base, have, sizeof have))
		return false;
	mt_arch_code(want);
	*is_written = !memcmp(have, want, sizeof want);
	memset(want, 0, sizeof want);
	return *is_written || !memcmp(have, want, sizeof want);
}

static enum mapping look_at_mapping(const struct mt_tracee *t, bool *is_written)
{
	uint64_t base = t->place.base, data = base + MT_ARCH_CODE_SIZE;
	const struct mt_inject_map *map = mt_inject_map_at(&t->maps, base);

	*is_written = false;
	if (!map)
		return is_free(t, base, base + MT_ARCH_SIZE) ? NOTHING : NOT_OURS;
	if (map->low != base || map->high != data || !map->executable || map->inode
		|| !is_code(t, base, is_written))
		return NOT_OURS;
	map = mt_inject_map_at(&t->maps, data);
	if (!map)
		return is_free(t, data, base + MT_ARCH_SIZE) ? CODE : NOT_OURS;
	return map->low == data && map->high >= base + MT_ARCH_SIZE && map->writable && !map->inode
		? ALL
		: NOT_OURS;
}

/* The middle of the largest gap: far from where the program's next mappings come. */
static uint64_t choose_base(const struct mt_tracee *t)
{
	uint64_t end = 65536, largest = 0, base = 0;

	for (uint32_t i = 0; i <= t->maps.count; i++) {
		uint64_t next = i < t->maps.count ? t->maps.items[i].low : USER_END;

		if (next > USER_END)
			next = USER_END;
		if (next > end && next - end > largest) {
			largest = next - end;
			base = end + largest / 2;
		}
		if (i < t->maps.count && t->maps.items[i].high > end)
			end = t->maps.items[i].high;
	}
	return base & ~(uint64_t)(MT_INJECT_PAGE - 1);
}

/* ---- a system call by the foothold ---- */

/* The thread comes back stopped, behind the system call. */
static int settle(struct mt_tracee *t, struct mt_inject_thread *thread, struct mt_err *err)
{
	uint64_t low = t->place.foothold, end = mt_inject_now() + MT_INJECT_CALL_NS;

	for (;;) {
		mt_inject_release(t, thread);
		mt_inject_ask(t, thread);
		if (!mt_inject_await(t, thread))
			return mt_fail(err, -EAGAIN, "thread %d does not stop", (int)thread->id);
		if (stands_outside(t, mt_arch_pc(&thread->registers),
			    mt_arch_sp(&thread->registers), low, low + MT_ARCH_FOOTHOLD_SIZE))
			return mt_tracee_refresh(t, err);
		if (mt_inject_now() > end)
			return mt_fail(err, -ETIMEDOUT,
				"thread %d of process %d does not come back from a system call",
				(int)thread->id, (int)t->pid);
	}
}

/* Its result is seen from the mappings. */
static int make_call(struct mt_tracee *t, struct mt_inject_thread *thread, long number,
	const uint64_t arguments[6], struct mt_err *err)
{
	struct mt_arch_foothold f;
	uint64_t at = t->place.foothold, base;
	pid_t last;
	enum content c = content(t, at, &f, &last, &base);
	int error;

	if (c == FOREIGN)
		return mt_fail(err, -EBUSY, "process %d has changed the bytes behind its code",
			(int)t->pid);
	if (c == OURS && !mt_inject_is_outside(t, last, at, at + sizeof f))
		return mt_fail(err, -EAGAIN, "thread %d has not finished an earlier call",
			(int)last);
	mt_arch_foothold(&f, thread->id, t->place.base, &thread->registers);
	error = mt_tracee_write(t, at, &f, sizeof f);
	if (!error)
		error = mt_arch_commit_foothold(thread->id, &thread->registers, at, number,
			arguments);
	if (error)
		return mt_fail(err, error, "cannot change process %d: %s", (int)t->pid,
			strerror(-error));
	return settle(t, thread, err);
}

static int map(struct mt_tracee *t, struct mt_inject_thread *thread, uint64_t at, uint64_t size,
	int protection, struct mt_err *err)
{
	const uint64_t arguments[6] = {at, size, (uint64_t)protection,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0};
	int error = make_call(t, thread, SYS_mmap, arguments, err);

	if (error)
		return error;
	if (!mt_inject_map_at(&t->maps, at))
		return mt_fail(err, -ENOMEM, "process %d cannot map %u KiB for memtui%s",
			(int)t->pid, (unsigned)(size / 1024),
			protection & PROT_EXEC ? " to execute" : "");
	return 0;
}

static int write_code(struct mt_tracee *t, struct mt_err *err)
{
	uint8_t code[MT_ARCH_CODE_SIZE];
	int error;

	mt_arch_code(code);
	error = mt_tracee_write(t, t->place.base, code, sizeof code);
	return error ? mt_fail(err, error, "cannot write code into process %d: %s", (int)t->pid,
		       strerror(-error))
		     : 0;
}

/* What is missing next. The thread has run afterwards, if it made a system call. */
static int make_step(struct mt_tracee *t, struct mt_inject_thread *thread, enum mapping have,
	bool is_written, struct mt_err *err)
{
	uint64_t base = t->place.base;
	int error;

	if (have == CODE || have == ALL) {
		error = is_written ? 0 : write_code(t, err);
		if (error || have == ALL)
			return error;
		error = map(t, thread, base + MT_ARCH_CODE_SIZE, MT_ARCH_DATA_SIZE,
			PROT_READ | PROT_WRITE, err);
	} else {
		error = map(t, thread, base, MT_ARCH_CODE_SIZE, PROT_READ | PROT_EXEC, err);
	}
	return error;
}

/* An injector may have been killed when it had sent a thread to unmap what is ours: what is mapped
 * now need not be there a moment later. */
static int see_last_call(struct mt_tracee *t, struct mt_err *err)
{
	uint64_t at = t->place.foothold, base;
	struct mt_arch_foothold f;
	pid_t last;

	if (t->place.is_settled)
		return 0;
	if (content(t, at, &f, &last, &base) == OURS
		&& !mt_inject_is_outside(t, last, at, at + sizeof f))
		return mt_fail(err, -EAGAIN, "thread %d has not finished an earlier call",
			(int)last);
	t->place.is_settled = true;
	return mt_tracee_refresh(t, err);
}

int mt_inject_prepare(struct mt_tracee *t, struct mt_inject_thread *thread, struct mt_err *err)
{
	int error = t->place.foothold ? 0 : find_foothold(t, err);

	if (!error)
		error = see_last_call(t, err);

	while (!error) {
		bool is_written;
		enum mapping have = t->place.base ? look_at_mapping(t, &is_written) : NOT_OURS;

		if (have == ALL && is_written)
			return 0;
		if (have == NOT_OURS) {
			t->place.base = choose_base(t);
			is_written = false;
		}
		error = make_step(t, thread, have, is_written, err);
		/* it is somewhere else than where it was judged */
		if (!error)
			error = mt_inject_usable(t, thread, err);
	}
	return error;
}

uint64_t mt_tracee_beside(const struct mt_tracee *t)
{
	return t->place.base ? t->place.base + BESIDE : 0;
}

/* ---- the way back ---- */

static int unmap(struct mt_tracee *t, struct mt_inject_thread *thread, struct mt_err *err)
{
	const uint64_t arguments[6] = {t->place.base, MT_ARCH_SIZE};
	struct mt_arch_slot slot;
	uint64_t result;
	pid_t last;
	int error;

	for (unsigned i = 0; i < MT_ARCH_SLOTS; i++) {
		uint64_t at = mt_arch_slot_address(t->place.base, i);

		if (mt_tracee_read(t, at, &slot, sizeof slot)
			|| mt_arch_slot_read(&slot, &last, &result) == MT_ARCH_IDLE)
			continue;
		if (!mt_inject_is_outside(t, last, t->place.base, t->place.base + MT_ARCH_SIZE))
			return mt_fail(err, -EAGAIN, "thread %d has not finished a call",
				(int)last);
	}
	error = make_call(t, thread, SYS_munmap, arguments, err);
	if (error)
		return error;
	return is_free(t, t->place.base, t->place.base + MT_ARCH_SIZE)
		? 0
		: mt_fail(err, -EBUSY, "process %d cannot unmap what memtui has mapped",
			(int)t->pid);
}

/* One attempt. -EAGAIN: a thread was in the way. */
static int leave_once(struct mt_tracee *t, struct mt_err *err)
{
	static const struct mt_arch_foothold zeroes;
	struct mt_arch_foothold f;
	bool is_written;
	uint64_t base;
	pid_t thread, last;
	int error = 0;

	if (content(t, t->place.foothold, &f, &last, &base) != OURS)
		return 0;
	t->place.base = base;
	if (base && look_at_mapping(t, &is_written) != NOTHING
		&& look_at_mapping(t, &is_written) != NOT_OURS) {
		thread = mt_tracee_borrow(t, 0, (unsigned)(MT_INJECT_CALL_NS / 1000000), err);
		if (thread < 0)
			return thread;
		error = unmap(t, mt_inject_thread(t, thread), err);
		if (!t->all_stopped)
			mt_inject_release(t, mt_inject_thread(t, thread));
		if (!error && content(t, t->place.foothold, &f, &last, &base) != OURS)
			return 0;
	}
	if (error)
		return error;
	if (!mt_inject_is_outside(t, last, t->place.foothold,
		    t->place.foothold + MT_ARCH_FOOTHOLD_SIZE))
		return mt_fail(err, -EAGAIN, "thread %d has not finished a call", (int)last);
	error = mt_tracee_write(t, t->place.foothold, &zeroes, sizeof zeroes);
	if (error)
		return mt_fail(err, error, "cannot change process %d: %s", (int)t->pid,
			strerror(-error));
	t->place = (struct mt_inject_place){0};
	return 0;
}

int mt_tracee_leave(struct mt_tracee *t, struct mt_err *err)
{
	uint64_t end = mt_inject_now() + MT_INJECT_CALL_NS;
	unsigned looks = 400;
	int error = mt_tracee_refresh(t, err);

	if (!error && !t->place.foothold)
		error = find_foothold(t, err);
	if (error)
		return error == -ENOSPC ? 0 : error;
	while ((error = leave_once(t, err)) == -EAGAIN && mt_inject_now() < end)
		mt_inject_pause(&looks);
	return error;
}
