/* Mappings: what the program and its libraries map for themselves. libc's own calls do not come
 * here, and those of another library that provides malloc are left out: that memory is seen as
 * heap. */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/base/installed.h"
#include "preload/base/sys.h"
#include "preload/process/allocator.h"
#include "preload/record/event.h"

#define HUGE_PAGE_SHIFT 21 /* where the flags leave it to the system */

static struct mt_thread_state *thread_of(const struct mt_entry *entry)
{
	return mt_allocator_has(entry->pc) ? NULL : mt_thread_self();
}

/* 0 where it overflows: the kernel takes no such length. */
static uint64_t round_to(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) & ~(unit - 1);
}

static uint64_t pages(uint64_t n)
{
	return round_to(n, MT_WIRE_PAGE);
}

static uint64_t mapped_length(uint64_t len, int flags)
{
	unsigned shift = (unsigned)flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;

	if (!(flags & MAP_HUGETLB) || !(flags & MAP_ANONYMOUS))
		return pages(len);
	return round_to(len, 1ull << (shift ? shift : HUGE_PAGE_SHIFT));
}

static void *result_pointer(long value)
{
	if (value >= 0 || value < -4095)
		return (void *)value;
	errno = (int)-value;
	return MAP_FAILED;
}

static void mapped(const struct mt_entry *entry, enum mt_function_id function, void *at,
	uint64_t len, int protection, int flags, uint64_t offset)
{
	uint64_t values[] = {(uint64_t)at, len,
		(uint32_t)protection | (uint64_t)(uint32_t)flags << 32, offset};
	struct mt_thread_state *t = thread_of(entry);

	if (t)
		mt_event_mark(t, entry, function, MT_MARK_MAP, values, 4);
}

/* Before the call. True: recorded, so that a failure must be too. */
static bool unmapping(const struct mt_entry *entry, enum mt_function_id function, const void *at,
	uint64_t len)
{
	uint64_t values[] = {(uint64_t)at, len};
	struct mt_thread_state *t;

	if (!len || (uint64_t)at % MT_WIRE_PAGE) /* sure to fail, or nothing */
		return false;
	t = thread_of(entry);
	return t && mt_event_mark(t, entry, function, MT_MARK_UNMAP, values, 2);
}

static void unmap_failed(const struct mt_entry *entry, enum mt_function_id function, const void *at,
	uint64_t len)
{
	uint64_t values[] = {(uint64_t)at, len};
	struct mt_thread_state *t = thread_of(entry);

	if (t)
		mt_event_mark(t, entry, function, MT_MARK_UNMAP_FAILED, values, 2);
}

typedef void *mmap_function(void *, size_t, int, int, int, off_t);

static inline void *map(mmap_function *const *real, const struct mt_entry *entry, void *at,
	size_t len, int protection, int flags, int fd, off_t offset)
{
	void *p;

	if (mt_unlikely(!*real) && (!mt_real_ready() || !*real))
		return result_pointer(mt_sys6(SYS_mmap, at, len, protection, flags, fd, offset));
	p = (*real)(at, len, protection, flags, fd, offset);
	if (p != MAP_FAILED)
		mapped(entry, MT_FUNCTION_MMAP, p, mapped_length(len, flags), protection, flags,
			(uint64_t)offset);
	return p;
}

MT_EXPORT void *mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
	struct mt_entry entry = MT_ENTRY();

	return map(&mt_tracer.real.mmap, &entry, at, len, protection, flags, fd, offset);
}

MT_EXPORT void *mmap64(void *at, size_t len, int protection, int flags, int fd, off64_t offset)
{
	struct mt_entry entry = MT_ENTRY();

	return map(&mt_tracer.real.mmap64, &entry, at, len, protection, flags, fd, offset);
}

MT_EXPORT int munmap(void *at, size_t len)
{
	struct mt_entry entry = MT_ENTRY();
	bool recorded;
	int result;

	if (mt_unlikely(!mt_tracer.real.munmap) && (!mt_real_ready() || !mt_tracer.real.munmap))
		return result_pointer(mt_sys2(SYS_munmap, at, len)) == MAP_FAILED ? -1 : 0;
	recorded = unmapping(&entry, MT_FUNCTION_MUNMAP, at, pages(len));
	result = mt_tracer.real.munmap(at, len);
	if (result < 0 && recorded)
		unmap_failed(&entry, MT_FUNCTION_MUNMAP, at, pages(len));
	return result;
}

/* The old range is given up before the call, unless it is to stay: with that flag, or when its size
 * is 0, which maps the same pages a second time. */
MT_EXPORT void *mremap(void *old, size_t old_len, size_t new_len, int flags, ...)
{
	struct mt_entry entry = MT_ENTRY();
	uint64_t stays = flags & MREMAP_DONTUNMAP ? pages(old_len) : 0;
	uint64_t given_up = pages(old_len) - stays;
	struct mt_thread_state *t;
	bool recorded;
	void *wanted, *p;
	va_list rest;

	va_start(rest, flags);
	wanted = va_arg(rest, void *); /* whatever the register holds when there is none */
	va_end(rest);
	if (mt_unlikely(!mt_tracer.real.mremap) && (!mt_real_ready() || !mt_tracer.real.mremap))
		return result_pointer(mt_sys6(SYS_mremap, old, old_len, new_len, flags, wanted, 0));
	recorded = unmapping(&entry, MT_FUNCTION_MREMAP, old, given_up);
	p = mt_tracer.real.mremap(old, old_len, new_len, flags, wanted);
	if (p != MAP_FAILED) {
		uint64_t values[] = {(uint64_t)p, pages(new_len), (uint64_t)old, given_up, stays};

		t = thread_of(&entry);
		if (t)
			mt_event_mark(t, &entry, MT_FUNCTION_MREMAP, MT_MARK_MAP, values, 5);
	} else if (recorded) {
		unmap_failed(&entry, MT_FUNCTION_MREMAP, old, given_up);
	}
	return p;
}

/* ---- the break: whole pages between where it was and where it is ----------------------------- */

static bool break_falls(const struct mt_entry *entry, uint64_t from, uint64_t to)
{
	return to < from
		&& unmapping(entry, MT_FUNCTION_BRK, (void *)pages(to), pages(from) - pages(to));
}

static void break_moved(const struct mt_entry *entry, uint64_t from, uint64_t to, bool failed,
	bool recorded)
{
	if (failed && recorded)
		unmap_failed(entry, MT_FUNCTION_BRK, (void *)pages(to), pages(from) - pages(to));
	if (!failed && pages(to) > pages(from))
		mapped(entry, MT_FUNCTION_BRK, (void *)pages(from), pages(to) - pages(from),
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0);
}

static bool can_break(void)
{
	if (mt_likely(mt_tracer.real.brk && mt_tracer.real.sbrk))
		return true;
	if (mt_real_ready() && mt_tracer.real.brk && mt_tracer.real.sbrk)
		return true;
	errno = ENOMEM; /* within dlsym: only libc knows where its break is */
	return false;
}

MT_EXPORT int brk(void *at)
{
	struct mt_entry entry = MT_ENTRY();
	uint64_t from, to = (uint64_t)at;
	bool recorded;
	int result;

	if (!can_break())
		return -1;
	from = (uint64_t)mt_tracer.real.sbrk(0);
	recorded = break_falls(&entry, from, to);
	result = mt_tracer.real.brk(at);
	break_moved(&entry, from, to, result < 0, recorded);
	return result;
}

MT_EXPORT void *sbrk(intptr_t change)
{
	struct mt_entry entry = MT_ENTRY();
	uint64_t from, to;
	bool recorded;
	void *p;

	if (!can_break())
		return (void *)-1;
	if (change == 0)
		return mt_tracer.real.sbrk(0);
	from = (uint64_t)mt_tracer.real.sbrk(0);
	to = from + (uint64_t)change;
	recorded = change < 0 && break_falls(&entry, from, to);
	p = mt_tracer.real.sbrk(change);
	if (p != (void *)-1 && change > 0) { /* libc's own malloc may have moved it in between */
		from = (uint64_t)p;
		to = from + (uint64_t)change;
	}
	break_moved(&entry, from, to, p == (void *)-1, recorded);
	return p;
}
