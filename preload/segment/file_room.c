/* Room in the file: nothing is touched before the file system has given it. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "preload/base/sys.h"
#include "preload/segment/file_parts.h"

#define LOOKS (MT_YIELDS + 60000) /* at a lock: who has it may be writing to a slow disk */

/* ---- signals ---- */

void mt_file_block(struct mt_file_blocked *b)
{
	b->blocked = mt_signals_block(&b->old);
	b->pending = 0;
	mt_sys2(SYS_rt_sigpending, &b->pending, sizeof b->pending);
}

void mt_file_unblock(const struct mt_file_blocked *b)
{
	if (b->blocked)
		mt_signals_unblock(&b->old);
}

/* Takes the signal that an extension beyond RLIMIT_FSIZE has sent, but not one that was the
 * program's. */
static void take_signal(const struct mt_file_blocked *b)
{
	const uint64_t bit = 1ull << (SIGXFSZ - 1);
	struct timespec at_once = {0, 0};

	if (b->blocked && !(b->pending & bit))
		mt_arch_call(SYS_rt_sigtimedwait, (long)&bit, 0, (long)&at_once, sizeof bit, 0, 0);
}

/* ---- room ---- */

static long write_zeroes(int fd, uint64_t from, uint64_t to)
{
	static const uint8_t zeroes[65536];

	while (from < to) {
		uint64_t len = to - from < sizeof zeroes ? to - from : sizeof zeroes;
		long n = mt_sys4(SYS_pwrite64, fd, zeroes, len, from);

		if (n <= 0 && n != -EINTR)
			return n < 0 ? n : -EIO;
		if (n > 0)
			from += (uint64_t)n;
	}
	return 0;
}

/* The range's bytes from what is present up to `to` lie at place + present in the file. Giving room
 * twice does no harm: threads may do so at once. Returns 0 or a negative errno; -EOPNOTSUPP: zeroes
 * are to be written instead. */
static long allocate(int fd, struct mt_segment_array *range, uint64_t place, uint64_t to)
{
	uint64_t present = mt_load_acquire(&range->present);

	while (!mt_file.zeroes && present < to) {
		long error = mt_sys4(SYS_fallocate, fd, 0, place + present, to - present);

		if (error == -EINTR)
			continue;
		if (error == -EOPNOTSUPP || error == -ENOSYS) {
			mt_file.zeroes = true;
			break;
		}
		if (error < 0)
			return error;
		if (mt_swap_if(&range->present, &present, to))
			return 0;
	}
	return present >= to ? 0 : -EOPNOTSUPP;
}

/* The same by writing, one thread at a time: what another has begun to use must not be written
 * over. */
static long allocate_zeroes(int fd, struct mt_segment_array *range, uint64_t place, uint64_t to)
{
	uint64_t present;
	long error;

	for (int i = 0; __atomic_exchange_n(&mt_file.zeroing, 1, __ATOMIC_ACQUIRE); i++) {
		if (i == LOOKS)
			return -ETIMEDOUT;
		mt_sys_rest(i);
	}
	present = mt_load(&range->present);
	error = present >= to ? 0 : write_zeroes(fd, place + present, place + to);
	if (!error && present < to)
		mt_store_release(&range->present, to);
	mt_store_release(&mt_file.zeroing, 0);
	return error;
}

/* Signals are blocked. */
long mt_file_make_present(int fd, struct mt_segment_array *range, uint64_t place, uint64_t to,
	const struct mt_file_blocked *b)
{
	long error = allocate(fd, range, place, to);

	if (error == -EOPNOTSUPP && mt_file.zeroes)
		error = allocate_zeroes(fd, range, place, to);
	if (error == -EFBIG)
		take_signal(b);
	return error;
}

bool mt_file_write_reason(int fd, const struct mt_wire_header *h, long error,
	const struct mt_file_blocked *b)
{
	const uint32_t words[2] = {0, (uint32_t)-error};

	if (mt_sys4(SYS_pwrite64, fd, h, sizeof *h, 0) == (long)sizeof *h
		&& mt_sys4(SYS_pwrite64, fd, words, sizeof words, MT_WIRE_ALIVE_OFFSET)
			== (long)sizeof words)
		return true;
	take_signal(b);
	return false;
}

bool mt_file_passes(long error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EAGAIN;
}

bool mt_file_extend(struct mt_segment_array *range, uint64_t to)
{
	struct mt_file_blocked b;
	long error;
	int fd;

	if (mt_load_acquire(&range->present) >= to)
		return true;
	mt_file_block(&b);
	error = fd = mt_file_reopen();
	if (fd >= 0) {
		error = mt_file_make_present(fd, range,
			(uint64_t)(range->base - (uint8_t *)mt_tracer.header), to, &b);
		mt_sys1(SYS_close, fd);
	}
	mt_file_unblock(&b);
	if (error < 0 && !(fd < 0 && mt_file_passes(error)))
		mt_file_stop(error);
	return error == 0;
}
