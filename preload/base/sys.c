/* How a system call is made so that nobody is in one, or about to make one, when a filter is
 * installed. Who calls says so first and then looks whether the program is sealed; who seals it
 * does that first and then looks who calls: one of the two sees the other.
 *
 * All threads say it in one word: many calls are made where a thread has no state, before its first
 * event or after its last, and whoever enters the kernel finds lines there that all share, too. It
 * lies in the page that is wiped on fork, since none of these threads is in the child. Before there
 * is such a page, no event has been, and no second thread. */
#include "preload/base/sys.h"

#include <signal.h>

#define CALLING 32 /* words into the page: apart from what every event reads */

static uint32_t *calling(void)
{
	uint32_t *page = (uint32_t *)mt_load_acquire(&mt_tracer.running);

	return page ? page + CALLING : NULL;
}

/* While it seals, a thread makes calls as long as it is alone at that: no filter holds yet. */
static bool is_open(void)
{
	return __atomic_load_n(&mt_tracer.sealed, __ATOMIC_SEQ_CST) == mt_tls.sealing;
}

bool mt_sys_begin(void)
{
	uint32_t *word;

	if (mt_unlikely(!is_open()))
		return false;
	word = calling();
	if (mt_likely(word != NULL)) {
		/* A handler may leave this by longjmp: a call too many is waited for in vain, one
		 * too few is not waited for. */
		mt_swap_add(word, 1);
		mt_signal_fence();
		mt_tls.calls++;
	}
	if (mt_likely(is_open()))
		return true;
	mt_sys_end();
	return false;
}

static void take_back(uint32_t n)
{
	mt_tls.calls -= n;
	mt_signal_fence();
	if (n)
		__atomic_fetch_sub(calling(), n, __ATOMIC_RELEASE);
}

/* None: it began when there was no page, or has been forgotten meanwhile. */
void mt_sys_end(void)
{
	take_back(mt_tls.calls > 0);
}

void mt_sys_forget(void)
{
	take_back(mt_tls.calls);
}

void mt_sys_in_child(void)
{
	uint32_t *word = calling();

	if (word)
		mt_store(word, mt_tls.calls);
}

/* Fewer than none: of a fork within a call that nobody has told of. */
bool mt_sys_others_call(void)
{
	const uint32_t *word = calling();

	return word && (int32_t)(__atomic_load_n(word, __ATOMIC_SEQ_CST) - mt_tls.calls) > 0;
}

long mt_sys_call(long nr, long a, long b, long c, long d, long e, long f)
{
	long result;

	if (mt_unlikely(!mt_sys_begin()))
		return -EPERM;
	result = mt_arch_call(nr, a, b, c, d, e, f);
	mt_sys_end();
	return result;
}

bool mt_signals_block(uint64_t *old)
{
	uint64_t all = ~0ull;

	if (!mt_sys_begin())
		return false;
	if (mt_arch_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)old, sizeof all, 0, 0)
		== 0)
		return true;
	mt_sys_end();
	return false;
}

void mt_signals_unblock(const uint64_t *old)
{
	mt_arch_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)old, 0, sizeof *old, 0, 0);
	mt_sys_end();
}
