/* A call: arguments into a slot, the commit, the result. */
#include "core/inject/internal.h"

#include <errno.h>
#include <string.h>

/* The next slot that is free, where no other slot's call is on the stack that all share. */
static int claim(struct mt_tracee *t, unsigned *slot, struct mt_err *err)
{
	uint64_t base = t->place.base, result;
	struct mt_arch_slot s;
	pid_t last;

	*slot = t->place.slot++ % MT_ARCH_SLOTS;
	for (unsigned i = 0; i < MT_ARCH_SLOTS; i++) {
		enum mt_arch_state state;

		if (mt_tracee_read(t, mt_arch_slot_address(base, i), &s, sizeof s))
			return mt_fail(err, -ESRCH, "process %d has ended", (int)t->pid);
		state = mt_arch_slot_read(&s, &last, &result);
		if (state == MT_ARCH_IDLE || (i != *slot && state >= MT_ARCH_RETURNED))
			continue;
		if (!mt_inject_is_outside(t, last, base, base + MT_ARCH_SIZE))
			return mt_fail(err, -EAGAIN, "thread %d has not finished an earlier call",
				(int)last);
		if (state < MT_ARCH_RETURNED) {
			/* a call that an injector has not come to commit, or that its thread's
			 * handler has jumped out of */
			static const struct mt_arch_slot idle;

			mt_tracee_write(t, mt_arch_slot_address(base, i), &idle, sizeof idle);
		}
	}
	return 0;
}

static int await(struct mt_tracee *t, pid_t thread, uint64_t at, uint64_t *result,
	struct mt_err *err)
{
	uint64_t end = mt_inject_now() + MT_INJECT_CALL_NS;
	struct mt_arch_slot s;
	unsigned looks = 0;
	pid_t last;

	for (;;) {
		int error;

		if (!mt_tracee_read(t, at, &s, sizeof s)
			&& mt_arch_slot_read(&s, &last, result) >= MT_ARCH_RETURNED)
			return 0;
		error = looks % 64 == 63 ? mt_inject_check_alive(t, err) : 0;
		if (error)
			return error;
		if (mt_inject_now() > end)
			return mt_fail(err, -ETIMEDOUT,
				"thread %d of process %d has not returned from a call of memtui",
				(int)thread, (int)t->pid);
		mt_inject_pause(&looks);
	}
}

static int call(struct mt_tracee *t, struct mt_inject_thread *thread, struct mt_arch_call *c,
	uint64_t *result, struct mt_err *err)
{
	struct mt_arch_slot s;
	pid_t id = thread->id;
	unsigned slot;
	uint64_t at;
	int error = mt_inject_prepare(t, thread, err);

	if (!error)
		error = claim(t, &slot, err);
	if (error)
		return error;
	at = mt_arch_slot_address(t->place.base, slot);
	if (!c->function)
		c->function = mt_arch_system_call_function(t->place.base);
	mt_arch_slot(&s, t->place.base, id, c, &thread->registers);
	error = mt_tracee_write(t, at, &s, sizeof s);
	if (!error)
		error = mt_arch_commit_gate(id, &thread->registers, t->place.base, slot);
	if (error)
		return mt_fail(err, error, "cannot change process %d: %s", (int)t->pid,
			strerror(-error));
	mt_inject_release(t, thread);
	return await(t, id, at, result, err);
}

static int call_stopped(struct mt_tracee *t, pid_t id, struct mt_arch_call *c, uint64_t *result,
	struct mt_err *err)
{
	struct mt_inject_thread *thread = mt_inject_thread(t, id);
	int error;

	if (!thread || thread->state != MT_INJECT_STOPPED)
		return mt_fail(err, -EINVAL, "thread %d was not borrowed", (int)id);
	error = call(t, thread, c, result, err);
	mt_inject_release(t, thread);
	return error;
}

int mt_tracee_call(struct mt_tracee *t, pid_t thread, uint64_t function,
	const uint64_t arguments[6], uint64_t *result, struct mt_err *err)
{
	struct mt_arch_call c = {.function = function};

	memcpy(c.arguments, arguments, sizeof c.arguments);
	return call_stopped(t, thread, &c, result, err);
}

int mt_tracee_system_call(struct mt_tracee *t, pid_t thread, long number,
	const uint64_t arguments[6], int64_t *result, struct mt_err *err)
{
	struct mt_arch_call c = {.number = (uint64_t)number};
	uint64_t got = 0;
	int error;

	memcpy(c.arguments, arguments, sizeof c.arguments);
	error = call_stopped(t, thread, &c, &got, err);
	*result = (int64_t)got;
	return error;
}
