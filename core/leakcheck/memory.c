#include "core/leakcheck/memory.h"
#include "core/base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096ull
#define PAGES_AT_ONCE 4096u
/* /proc/PID/pagemap, an entry a page: proc_pid_pagemap(5) */
#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)
#define FILE_OR_SHARED (1ull << 61)

static int open_of(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int mt_still_memory_open(struct mt_still_memory *m, pid_t pid, struct mt_err *err)
{
	*m = (struct mt_still_memory){pid, open_of(pid, "mem"), -1};
	if (m->mem < 0)
		return mt_fail(err, -errno, "cannot read the memory of process %d: %s", (int)pid,
			strerror(errno));
	m->pagemap = open_of(pid, "pagemap");
	return 0;
}

void mt_still_memory_close(struct mt_still_memory *m)
{
	if (m->mem >= 0)
		close(m->mem);
	if (m->pagemap >= 0)
		close(m->pagemap);
	*m = (struct mt_still_memory){0, -1, -1};
}

/* By /proc/PID/mem, which also reads what the process itself may not. */
static void read_one(const struct mt_still_memory *m, const struct mt_span *span, uint8_t *to)
{
	size_t done = 0;

	while (done < span->len) {
		ssize_t n =
			pread(m->mem, to + done, span->len - done, (off_t)(span->address + done));

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		/* this page is not there; the next one may be */
		size_t rest = PAGE - (span->address + done) % PAGE;

		if (rest > span->len - done)
			rest = span->len - done;
		memset(to + done, 0, rest);
		done += rest;
	}
}

void mt_still_memory_read(const struct mt_still_memory *m, const struct mt_span *spans,
	uint32_t count, void *to)
{
	struct iovec remote[IOV_MAX];
	uint8_t *at = to;

	for (uint32_t begin = 0; begin < count;) {
		uint32_t n = count - begin < IOV_MAX ? count - begin : IOV_MAX;
		struct iovec local = {at, 0};

		for (uint32_t i = 0; i < n; i++) {
			remote[i] = (struct iovec){(void *)(uintptr_t)spans[begin + i].address,
				spans[begin + i].len};
			local.iov_len += remote[i].iov_len;
		}
		ssize_t got = process_vm_readv(m->pid, &local, 1, remote, n, 0);
		size_t left = got > 0 ? (size_t)got : 0;
		uint32_t i;

		for (i = 0; i < n && spans[begin + i].len <= left; i++) {
			left -= spans[begin + i].len;
			at += spans[begin + i].len;
		}
		begin += i;
		if (i == n)
			continue;
		read_one(m, &spans[begin], at);
		at += spans[begin++].len;
	}
}

static bool is_wanted(uint64_t page, bool private_only)
{
	return page & (PRESENT | SWAPPED) && !(private_only && page & FILE_OR_SHARED);
}

bool mt_still_memory_present(const struct mt_still_memory *m, uint64_t low, uint64_t high,
	bool private_only, struct mt_span *found)
{
	uint64_t pages[PAGES_AT_ONCE], begin = high;

	for (uint64_t at = low; at < high;) {
		uint64_t first = at / PAGE, count = (high + PAGE - 1) / PAGE - first;
		size_t bytes = (count < PAGES_AT_ONCE ? count : PAGES_AT_ONCE) * sizeof *pages;
		ssize_t n = pread(m->pagemap, pages, bytes, (off_t)(first * sizeof *pages));

		if (n < (ssize_t)sizeof *pages) {
			/* the kernel does not tell */
			begin = begin < high ? begin : at;
			break;
		}
		for (uint64_t i = 0; i < (uint64_t)n / sizeof *pages && at < high; i++) {
			if (is_wanted(pages[i], private_only)) {
				begin = begin < high ? begin : at;
			} else if (begin < high) {
				*found = (struct mt_span){begin, at - begin};
				return true;
			}
			at = (first + i + 1) * PAGE;
		}
	}
	if (begin >= high)
		return false;
	*found = (struct mt_span){begin, high - begin};
	return true;
}

/* ---- single pages ---------------------------------------------------------------------------- */

#define RUN 512u /* pages: 2 MiB */

struct mt_page_run {
	uint64_t number; /* counted from 1; 0: free */
	uint64_t there[RUN / 64];
};

static void read_run(const struct mt_still_memory *m, struct mt_page_run *run)
{
	uint64_t pages[RUN], first = (run->number - 1) * RUN;
	ssize_t n = pread(m->pagemap, pages, sizeof pages, (off_t)(first * sizeof *pages));

	for (uint32_t i = 0; i < RUN; i++)
		/* where the kernel does not tell, all are */
		if (n < (ssize_t)sizeof *pages
			|| ((uint64_t)n > i * sizeof *pages && is_wanted(pages[i], false)))
			run->there[i / 64] |= 1ull << i % 64;
}

/* The run with the number, or the free place where it belongs. */
static struct mt_page_run *place_of(const struct mt_page_presence *p, uint64_t number)
{
	uint32_t mask = (1u << p->bits) - 1;
	uint32_t at = (uint32_t)((number * 0x9e3779b97f4a7c15u) >> (64 - p->bits));

	while (p->runs[at].number && p->runs[at].number != number)
		at = (at + 1) & mask;
	return &p->runs[at];
}

static void grow(struct mt_page_presence *p)
{
	struct mt_page_presence old = *p;

	p->bits = p->runs ? p->bits + 1 : 8;
	p->runs = mt_alloc(sizeof *p->runs << p->bits);
	for (uint32_t i = 0; old.runs && i < 1u << old.bits; i++)
		if (old.runs[i].number)
			*place_of(p, old.runs[i].number) = old.runs[i];
	free(old.runs);
}

static struct mt_page_run *run_of(const struct mt_still_memory *m, struct mt_page_presence *p,
	uint64_t page)
{
	uint64_t number = page / RUN + 1;

	if (!p->runs || 2 * p->count >= 1u << p->bits)
		grow(p);
	struct mt_page_run *run = place_of(p, number);

	if (!run->number) {
		run->number = number;
		p->count++;
		read_run(m, run);
	}
	return run;
}

bool mt_still_memory_has(const struct mt_still_memory *m, struct mt_page_presence *p, uint64_t low,
	uint64_t high)
{
	for (uint64_t page = low / PAGE; page * PAGE < high; page++) {
		const struct mt_page_run *run = run_of(m, p, page);

		if (!(run->there[page % RUN / 64] >> page % 64 & 1))
			return false;
	}
	return true;
}

void mt_page_presence_free(struct mt_page_presence *p)
{
	free(p->runs);
	*p = (struct mt_page_presence){0};
}
