#include "core/leakcheck/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
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
