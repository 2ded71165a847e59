/* Threads: their states, rings and stack bounds. */
#include "preload/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "preload/branch.h"
#include "preload/file.h"
#include "preload/ring.h"
#include "preload/seal.h"
#include "preload/segment.h"
#include "preload/sys.h"

#define WORDS_PER_FRAME 4
#define LOOK_EVERY 16 /* rings: for threads that are gone without a word */
/* that a thread's state touches while its stacks are not very deep, beside its branches */
#define STATE_PAGES 6
#define MAIN_STACK_IF_UNLIMITED (64ull << 20)

__thread struct mt_tls mt_tls __attribute__((tls_model("initial-exec")));

/* ---- signals ---- */

/* Blocks all of this thread; false, and nothing to be undone, when that cannot be. */
static bool block_signals(uint64_t *old)
{
	uint64_t all = ~0ull;

	return mt_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, old, sizeof all) == 0;
}

static void unblock_signals(const uint64_t *old)
{
	mt_sys4(SYS_rt_sigprocmask, SIG_SETMASK, old, NULL, sizeof *old);
}

/* ---- stack bounds ---------------------------------------------------------------------------- */

static bool parse_hex(const char **at, uint64_t *value)
{
	const char *start = *at;

	for (*value = 0;; (*at)++) {
		char c = **at;

		if (c >= '0' && c <= '9')
			*value = *value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*value = *value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return *at != start;
	}
}

/* Where the program's first stack begins. */
extern void *__libc_stack_end __attribute__((weak));

static bool is_main_stack(uint64_t start, uint64_t end, uint64_t sp)
{
	uint64_t first = &__libc_stack_end ? (uint64_t)__libc_stack_end : 0;

	return sp >= start && sp < end && first >= start && first < end;
}

/* Reads lines of /proc/self/maps until one holds sp and the main stack; only the start of each line
 * is kept. */
static uint64_t main_stack_end(int fd, uint64_t sp)
{
	char buf[512], line[48];
	unsigned len = 0;
	bool done = false;
	long n;

	while ((n = mt_sys3(SYS_read, fd, buf, sizeof buf)) > 0) {
		for (long i = 0; i < n; i++) {
			const char *at = line;
			uint64_t start, end;

			if (buf[i] == '\n') {
				len = 0;
				done = false;
				continue;
			}
			if (done || len == sizeof line - 1)
				continue;
			line[len++] = buf[i];
			if (buf[i] != ' ')
				continue;
			line[len] = '\0';
			done = true;
			if (parse_hex(&at, &start) && *at++ == '-' && parse_hex(&at, &end)
				&& is_main_stack(start, end, sp))
				return end;
		}
	}
	return 0;
}

static uint64_t stack_limit(void)
{
	uint64_t limit[2] = {0, 0};

	if (mt_sys4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, limit) < 0 || limit[0] == RLIM_INFINITY)
		return MAIN_STACK_IF_UNLIMITED;
	return limit[0];
}

/* The stack that the kernel gave the process, if sp is on it: in a child that a thread has forked,
 * it is not. A later stack limit, or a mapping in the gap, only makes the lower bound too low,
 * which costs nothing: no word below sp is ever read. */
static void find_main_stack(struct mt_thread *t, uint64_t sp)
{
	int fd = (int)mt_sys4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return;
	t->stack_hi = main_stack_end(fd, sp);
	mt_sys1(SYS_close, fd);
	if (t->stack_hi)
		t->stack_lo = t->stack_hi - stack_limit();
}

/* ---- states ---------------------------------------------------------------------------------- */

static struct mt_thread *new_state(void)
{
	size_t depth = mt_tracer.depth_limit, words = depth * WORDS_PER_FRAME + 2 * MT_FRAME_WORDS;
	size_t head = (sizeof(struct mt_thread) + 63) / 64 * 64;
	size_t len = head
		+ depth
			* (sizeof(struct mt_memo) + sizeof(struct mt_frame)
				+ MT_NESTED_LEVELS * sizeof(uint32_t))
		+ words * 2 * sizeof(uint64_t) + MT_BRANCH_SETS * sizeof(struct mt_branch_set);
	uint8_t *at = mt_sys_map(len);
	struct mt_thread *t = (struct mt_thread *)at;

	if (!t)
		return NULL;
	at += head;
	t->memo = (struct mt_memo *)at;
	at += depth * sizeof(struct mt_memo);
	t->word_at = (const uint64_t **)at;
	at += words * sizeof(uint64_t);
	t->word_value = (uint64_t *)at;
	at += words * sizeof(uint64_t);
	t->frames = (struct mt_frame *)at;
	at += depth * sizeof(struct mt_frame);
	t->branches = (struct mt_branch_set *)at;
	at += MT_BRANCH_SETS * sizeof(struct mt_branch_set);
	for (int i = 0; i < MT_NESTED_LEVELS; i++, at += depth * sizeof(uint32_t))
		t->pcs[i] = (uint32_t *)at;
	t->word_capacity = words;
	t->map_len = len;
	mt_count_private(
		MT_BRANCH_SETS * sizeof(struct mt_branch_set) + STATE_PAGES * MT_WIRE_PAGE);
	return t;
}

static bool claim_ring(struct mt_thread *t)
{
	uint64_t bytes = (uint64_t)mt_tracer.ring_records * sizeof(struct mt_wire_record);
	uint32_t id;

	if (mt_load(&mt_tracer.next_ring) >= mt_tracer.rings.capacity)
		return false;
	id = mt_add(&mt_tracer.next_ring, 1);
	if (id >= mt_tracer.rings.capacity || !mt_range_need(&mt_tracer.rings, id + 1))
		return false;
	if (mt_tracer.standalone)
		t->data = mt_file_first_chunk(id);
	else if (mt_range_open_piece(&mt_tracer.ring_data, id * bytes, bytes))
		t->data = (struct mt_wire_record *)(mt_tracer.ring_data.base + id * bytes);
	if (!t->data)
		return false;
	t->ring = (struct mt_wire_ring *)mt_tracer.rings.base + id;
	t->mask = mt_tracer.ring_records - 1;
	mt_publish_count(&mt_tracer.header->ring_count, id + 1);
	return true;
}

/* A child of vfork uses its parent's memory, but knows nothing of its threads. */
static bool is_own_process(void)
{
	return mt_load(&mt_tracer.header->pid) == (uint32_t)mt_sys0(SYS_getpid);
}

/* Takes over the state of a thread that is gone: whoever sets its tid to 0. Threads that did not
 * come through us do not say that they leave. */
static struct mt_thread *recycle(int32_t tid, bool silent)
{
	long pid = mt_load(&mt_tracer.header->pid);

	if (!is_own_process())
		return NULL;
	for (struct mt_thread *t = mt_load_acquire(&mt_tracer.all_threads); t; t = t->next) {
		int32_t old = mt_load_acquire(&t->tid);
		uint32_t leaving = mt_load_acquire(&t->leaving);

		if (old == 0 || (!silent && !leaving))
			continue;
		if (old != tid && mt_sys3(SYS_tgkill, pid, old, 0) != -ESRCH)
			continue;
		if (!mt_swap_if(&t->tid, &old, 0))
			continue;
		mt_store(&t->leaving, 0);
		if (t->busy)
			mt_thread_recover(t);
		mt_branch_forget_memo(t);
		mt_branch_forget(t);
		t->pending_kind = 0;
		t->recorded_free = NULL;
		t->outer.sp = 0;
		return t;
	}
	return NULL;
}

/* The last entry of the table stands for all threads that come when the others are taken. */
static uint32_t take_thread_entry(void)
{
	uint32_t last = mt_tracer.threads.capacity - 1, id = last;

	if (mt_load(&mt_tracer.next_thread) < last)
		id = mt_add(&mt_tracer.next_thread, 1);
	return id < last ? id : last;
}

/* Enters the thread in the segment's table and its name in the ring's next record. */
static bool register_thread(struct mt_thread *t, int32_t tid)
{
	static const char later[] = "later threads";
	uint32_t id = take_thread_entry();
	bool own = id < mt_tracer.threads.capacity - 1;
	struct mt_wire_thread *entry;

	if (!mt_range_need(&mt_tracer.threads, id + 1))
		return false;
	entry = (struct mt_wire_thread *)mt_tracer.threads.base + id;
	if (own) {
		entry->ring = t->ring - (struct mt_wire_ring *)mt_tracer.rings.base;
		mt_sys2(SYS_prctl, PR_GET_NAME, entry->name);
		mt_store_release(&entry->tid, (uint32_t)tid);
	} else {
		memcpy(entry->name, later, sizeof later);
	}
	mt_publish_count(&mt_tracer.header->thread_count, id + 1);
	t->index = id;
	t->newborn = 1;
	t->limit = 0;
	t->stack_lo = mt_tls.stack_lo;
	t->stack_hi = mt_tls.stack_hi;
	mt_store_release(&t->tid, is_own_process() ? tid : 0);
	return true;
}

static void enlist(struct mt_thread *t)
{
	struct mt_thread *next = mt_load(&mt_tracer.all_threads);

	do {
		t->next = next;
	} while (!mt_swap_if(&mt_tracer.all_threads, &next, t));
}

/* With a ring that nobody had before. */
static struct mt_thread *add_state(void)
{
	struct mt_thread *t = new_state();

	if (!t) {
		mt_count(MT_COUNTER_MAP_FAILURES, 1);
		return NULL;
	}
	if (!claim_ring(t)) {
		mt_sys_unmap(t, t->map_len);
		return NULL;
	}
	enlist(t);
	return t;
}

static struct mt_thread *make_state(int32_t tid)
{
	uint32_t rings = mt_load(&mt_tracer.next_ring);
	bool looked = rings % LOOK_EVERY == 0 || rings >= mt_tracer.rings.capacity;
	struct mt_thread *t = recycle(tid, looked);

	if (!t && rings < mt_tracer.rings.capacity)
		t = add_state();
	if (!t && !looked)
		t = recycle(tid, true);
	if (!t)
		return NULL;
	if (register_thread(t, tid))
		return t;
	mt_store(&t->leaving, 1);
	mt_store_release(&t->tid, tid);
	return NULL;
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* An event that nobody records, as there is no segment yet. */
static void miss(void)
{
	__atomic_fetch_add(&mt_tracer.missed, 1, __ATOMIC_SEQ_CST);
	mt_segment_count_missed();
}

/* The states of the parent's threads. own: of the one thread that lives on, which is this one;
 * without it, that thread may come later, and must find its state out of use. */
static void drop_states(struct mt_thread *own)
{
	struct mt_thread *t = mt_tracer.all_threads, *next;

	if (own) { /* from here on the list leads nowhere: another thread may fork meanwhile */
		mt_store(&own->busy, MT_BUSY_STALE);
		mt_store_release(&mt_tracer.all_threads, NULL);
	}
	for (; t; t = next) {
		struct mt_wire_record *data = t->data;

		next = t->next;
		t->data = NULL;
		if (mt_tracer.standalone && data)
			mt_sys_unmap(data, mt_tracer.ring_records * sizeof(struct mt_wire_record));
		if (!own)
			mt_store(&t->busy, MT_BUSY_STALE);
		else if (t != own)
			mt_sys_unmap(t, t->map_len);
	}
}

/* Signals are blocked. The state counts as busy until all of it is new. */
static bool renew(struct mt_thread *t)
{
	if (t->busy < MT_BUSY_STALE)
		return true;
	t->reserve = t->limit = t->last = 0;
	t->data = NULL;
	t->memo_truncated = t->resync = t->growing = t->done_count = 0;
	t->generation = MT_NO_GENERATION;
	t->gap.active = 0;
	mt_branch_forget_memo(t);
	mt_branch_forget(t);
	mt_tls.stack_lo = t->stack_lo;
	mt_tls.stack_hi = t->stack_hi;
	if (!claim_ring(t) || !register_thread(t, (int32_t)mt_sys0(SYS_gettid))) {
		mt_tls.self = NULL;
		mt_tls.flags |= MT_TLS_UNTRACED;
		mt_count(MT_COUNTER_THREADS_FULL, 1);
		return false;
	}
	enlist(t);
	mt_signal_fence();
	mt_store(&t->busy, 0);
	return true;
}

bool mt_thread_renew(struct mt_thread *t)
{
	uint64_t signals;
	bool blocked = block_signals(&signals), done = renew(t);

	if (blocked)
		unblock_signals(&signals);
	return done;
}

/* One thread of the child finds its segment, with signals blocked. own: NULL when it has no state
 * yet. */
static bool find_own_segment(struct mt_thread *own)
{
	uint32_t attached = MT_PHASE_ATTACHED;
	bool done;

	if (mt_load(&mt_tracer.sealed)) { /* what the parent counts, this is added to */
		if (mt_swap_if(&mt_tracer.phase, &attached, MT_PHASE_OFF))
			mt_count(MT_COUNTER_FORKED_CHILDREN, 1);
		return false;
	}
	if (!mt_segment_adopt())
		return false;
	if (!mt_tracer.header) { /* forked while the first thread of all was asking */
		mt_store_release(&mt_tracer.phase, MT_PHASE_OFF);
		return false;
	}
	mt_tls.flags |= MT_TLS_ENTERING;
	mt_signal_fence();
	mt_tracer.scrapped = false;
	done = (drop_states(own), mt_segment_forked());
	mt_signal_fence();
	mt_tls.flags &= ~MT_TLS_ENTERING;
	return done;
}

/* Whether the event that a signal handler had interrupted when it forked has been left by
 * longjmp. */
static bool has_left(const struct mt_thread *t, const struct mt_entry *entry)
{
	return entry->sp > t->hook_sp && entry->sp - t->stack_lo < t->stack_hi - t->stack_lo
		&& t->hook_sp - t->stack_lo < t->stack_hi - t->stack_lo;
}

/* In the middle of an event, which a signal handler has interrupted. */
static bool is_within(const struct mt_thread *t)
{
	return t && t->busy && t->busy < MT_BUSY_STALE;
}

/* No handler sees the state between two segments, nor leaves it there by longjmp. */
static bool change_segment(struct mt_thread *t)
{
	uint64_t signals;
	bool blocked = block_signals(&signals), done = find_own_segment(t) && renew(t);

	if (blocked)
		unblock_signals(&signals);
	return done;
}

MT_COLD bool mt_thread_forked(struct mt_thread *t, const struct mt_entry *entry)
{
	bool forked = mt_segment_is_foreign();

	if (forked && is_within(t) && !has_left(t, entry)) {
		mt_segment_scrap(t);
		mt_add(&mt_tracer.missed, 1);
		return false;
	}
	if (forked && change_segment(t))
		return true;
	if (mt_load(&mt_tracer.phase) == MT_PHASE_OFF)
		mt_tls.self = NULL;
	else
		miss();
	return false;
}

void mt_thread_prepare(void)
{
	struct mt_thread *t = mt_tls.self;

	if (mt_likely(!mt_segment_is_foreign()) || is_within(t))
		return;
	if (!t)
		mt_thread_enter();
	else if (!change_segment(t) && mt_load(&mt_tracer.phase) == MT_PHASE_OFF)
		mt_tls.self = NULL;
}

/* ---- forks within an event: in a signal handler, which returns into the middle of it --------- */

static void in_child(void)
{
	if (is_within(mt_tls.self) && mt_segment_is_foreign())
		mt_segment_scrap(mt_tls.self);
}

MT_EXPORT pid_t _Fork(void)
{
	pid_t pid;

	if (mt_unlikely(!mt_tracer.real._Fork) && (!mt_real_ready() || !mt_tracer.real._Fork)) {
		errno = ENOSYS;
		return -1;
	}
	pid = mt_tracer.real._Fork();
	if (pid == 0)
		in_child();
	return pid;
}

/* From syscall(), whether the call is one that the next function must make: it returns twice, each
 * time on a copy of this stack. What clone3 is to do the kernel reads for us, since the address may
 * be wrong. */
int mt_thread_forks_within(long number, long a, long b);
int mt_thread_forks_within(long number, long a, long b)
{
	struct clone_args arguments = {.flags = CLONE_VM};
	struct iovec here = {&arguments, CLONE_ARGS_SIZE_VER0};
	struct iovec there = {(void *)a, CLONE_ARGS_SIZE_VER0};

	if (!is_within(mt_tls.self))
		return 0;
	if (number == SYS_clone)
		return !(a & CLONE_VM) && !b;
	if (number == SYS_clone3
		&& (b < CLONE_ARGS_SIZE_VER0
			|| mt_sys6(SYS_process_vm_readv, mt_sys0(SYS_getpid), &here, 1, &there, 1,
				   0)
				!= CLONE_ARGS_SIZE_VER0))
		return 0;
	return number == SYS_fork || (!(arguments.flags & CLONE_VM) && !arguments.stack);
}

long mt_thread_syscall_fork(long number, long a, long b, long c, long d, long e, long f);
long mt_thread_syscall_fork(long number, long a, long b, long c, long d, long e, long f)
{
	long result = mt_real_syscall(number, a, b, c, d, e, f);

	if (result == 0)
		in_child();
	return result;
}

/* ---- entering -------------------------------------------------------------------------------- */

static struct mt_thread *enter_once(void)
{
	uint32_t phase = mt_load_acquire(&mt_tracer.phase);
	struct mt_thread *t;
	int32_t tid;

	if (phase == MT_PHASE_NEW)
		mt_segment_attach();
	else if (mt_segment_is_foreign())
		find_own_segment(NULL);
	phase = mt_load_acquire(&mt_tracer.phase);
	if (phase != MT_PHASE_ATTACHED || !mt_load(mt_tracer.running)) {
		if (phase != MT_PHASE_NEW && phase != MT_PHASE_OFF)
			miss();
		return NULL;
	}
	if (mt_load(&mt_tracer.sealed)) { /* a state needs memory, and the thread's id */
		mt_tls.flags |= MT_TLS_UNTRACED;
		mt_count(MT_COUNTER_THREADS_FULL, 1);
		mt_count(MT_COUNTER_UNTRACED_EVENTS, 1);
		return NULL;
	}
	tid = (int32_t)mt_sys0(SYS_gettid);
	t = make_state(tid);
	if (!t) {
		mt_tls.flags |= MT_TLS_UNTRACED;
		mt_count(MT_COUNTER_THREADS_FULL, 1);
		mt_count(MT_COUNTER_UNTRACED_EVENTS, 1);
		return NULL;
	}
	if (!t->stack_hi && tid == mt_sys0(SYS_getpid))
		find_main_stack(t, (uint64_t)__builtin_frame_address(0));
	if (mt_tls.flags & MT_TLS_LEAVING)
		mt_store_release(&t->leaving, 1);
	mt_signal_fence();
	mt_tls.self = t;
	return t;
}

MT_COLD struct mt_thread *mt_thread_enter(void)
{
	struct mt_thread *t;
	uint64_t signals;
	bool blocked;

	if (mt_likely(mt_load(&mt_tracer.phase) == MT_PHASE_OFF) || mt_tls.flags & MT_TLS_ENTERING)
		return NULL;
	if (mt_tls.flags & MT_TLS_UNTRACED && mt_segment_is_foreign())
		mt_tls.flags &= ~MT_TLS_UNTRACED; /* a new segment, new rings */
	if (mt_tls.flags & MT_TLS_UNTRACED) {
		mt_count(MT_COUNTER_UNTRACED_EVENTS, 1);
		return NULL;
	}
	mt_tls.flags |= MT_TLS_ENTERING;
	mt_signal_fence();
	blocked = block_signals(&signals); /* no handler leaves this by longjmp */
	t = enter_once();
	mt_signal_fence();
	mt_tls.flags &= ~MT_TLS_ENTERING;
	if (blocked)
		unblock_signals(&signals);
	return t;
}

__attribute__((constructor)) static void started(void)
{
	if (mt_thread_self())
		pthread_atfork(NULL, NULL, in_child);
}

MT_COLD void mt_thread_recover(struct mt_thread *t)
{
	mt_count(MT_COUNTER_ABANDONED, 1);
	mt_ring_abandon(t);
	if (t->growing)
		__atomic_fetch_and(&mt_tracer.growing, ~t->growing, __ATOMIC_RELEASE);
	t->growing = 0;
	mt_branch_forget_memo(t);
	mt_signal_fence();
	mt_store(&t->busy, 0);
}

bool mt_thread_may_grow(uint32_t table)
{
	struct mt_thread *t = mt_tls.self;

	if (__atomic_fetch_or(&mt_tracer.growing, table, __ATOMIC_ACQUIRE) & table)
		return false;
	if (t)
		t->growing |= table;
	return true;
}

void mt_thread_has_grown(uint32_t table)
{
	struct mt_thread *t = mt_tls.self;

	__atomic_fetch_and(&mt_tracer.growing, ~table, __ATOMIC_RELEASE);
	if (t)
		t->growing &= ~table;
}
