#include "core/session/snapshot_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct mt_snapshot {
	int fd;
	uint8_t *base;
	struct mt_snapshot_header *header;
	struct mt_snapshot_layout layout;
	struct mt_snapshot_counts published;
	uint64_t version;
};

static uint64_t size_limit(void)
{
	struct rlimit space, file;

	getrlimit(RLIMIT_AS, &space);
	getrlimit(RLIMIT_FSIZE, &file);
	uint64_t limit = space.rlim_cur == RLIM_INFINITY ? UINT64_MAX : space.rlim_cur / 4;

	return file.rlim_cur < limit ? file.rlim_cur : limit;
}

static int create(struct mt_snapshot *s, struct mt_err *err)
{
	uint32_t share = 1;

	for (; share <= MT_SNAPSHOT_SHARE_MAX; share *= 2) {
		mt_snapshot_lay_out(&s->layout, share);
		if (s->layout.size <= size_limit())
			break;
	}
	if (share > MT_SNAPSHOT_SHARE_MAX)
		return mt_fail(err, -ENOMEM,
			"the limits of address space or file size (ulimit -v, -f) are too low "
			"for a "
			"snapshot of %zu KiB; raise them",
			s->layout.size >> 10);
	s->fd = memfd_create("memtui-snapshot", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->fd < 0 || ftruncate(s->fd, (off_t)s->layout.size) < 0)
		return mt_fail(err, -errno, "cannot create shared memory: %s", strerror(errno));
	s->base = mmap(NULL, s->layout.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		s->fd, 0);
	if (s->base == MAP_FAILED) {
		s->base = NULL;
		return mt_fail(err, -errno, "cannot map shared memory: %s", strerror(errno));
	}
	if (fcntl(s->fd, F_ADD_SEALS,
		    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)
		< 0)
		return mt_fail(err, -errno, "cannot seal shared memory: %s", strerror(errno));
	madvise(s->base, s->layout.size, MADV_DONTDUMP);
	s->header = (struct mt_snapshot_header *)s->base;
	s->header->share = share;
	s->header->header_size = sizeof *s->header;
	__atomic_store_n(&s->header->magic, MT_SNAPSHOT_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

struct mt_snapshot *mt_snapshot_new(struct mt_err *err)
{
	struct mt_snapshot *s = mt_alloc(sizeof *s);

	s->fd = -1;
	if (create(s, err) == 0)
		return s;
	mt_snapshot_free(s);
	return NULL;
}

void mt_snapshot_free(struct mt_snapshot *s)
{
	if (!s)
		return;
	if (s->base)
		munmap(s->base, s->layout.size);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

int mt_snapshot_fd(const struct mt_snapshot *s)
{
	return s->fd;
}

static void begin(struct mt_snapshot *s)
{
	__atomic_store_n(&s->header->sequence, s->header->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void end(struct mt_snapshot *s)
{
	__atomic_store_n(&s->header->sequence, s->header->sequence + 1, __ATOMIC_RELEASE);
}

void mt_snapshot_restart(struct mt_snapshot *s)
{
	begin(s);
	s->header->image++;
	s->published = s->header->counts = (struct mt_snapshot_counts){0};
	end(s);
}

static void publish_strings(struct mt_snapshot *s, const struct mt_strings *strings)
{
	uint32_t share = s->header->share, *offsets = (uint32_t *)(s->base + s->layout.offsets);
	struct mt_snapshot_counts *c = &s->published;

	for (; c->string_count < strings->count; c->string_count++) {
		uint32_t next = c->string_count + 1 < strings->count
			? strings->offset[c->string_count + 1]
			: (uint32_t)strings->text.len;

		if (c->string_count >= MT_SNAPSHOT_STRINGS / share
			|| next > MT_SNAPSHOT_TEXT / share)
			return;
		memcpy(s->base + s->layout.text + c->text_len, strings->text.data + c->text_len,
			next - c->text_len);
		offsets[c->string_count] = c->text_len;
		c->text_len = next;
	}
}

/* Only chunks that differ are copied, and get a new version. */
static void publish_groups(struct mt_snapshot *s, const struct mt_profile *p, uint32_t count)
{
	struct mt_group *to = (struct mt_group *)(void *)(s->base + s->layout.groups);
	uint64_t *versions = (uint64_t *)(void *)(s->base + s->layout.versions);

	s->version++;
	for (uint32_t at = 0; at < count; at += MT_SNAPSHOT_CHUNK) {
		size_t bytes = (count - at < MT_SNAPSHOT_CHUNK ? count - at : MT_SNAPSHOT_CHUNK)
			* sizeof *to;

		if (at + MT_SNAPSHOT_CHUNK <= s->published.group_count
			&& !memcmp(&to[at], &p->groups[at], bytes))
			continue;
		memcpy(&to[at], &p->groups[at], bytes);
		versions[at / MT_SNAPSHOT_CHUNK] = s->version;
	}
	s->published.group_count = count;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void append(struct mt_snapshot *s, size_t place, const void *from, size_t entry,
	uint32_t *done, uint32_t count)
{
	if (count > *done)
		memcpy(s->base + place + *done * entry, (const uint8_t *)from + *done * entry,
			(count - *done) * entry);
	*done = count;
}

void mt_snapshot_publish(struct mt_snapshot *s, const struct mt_profile *p)
{
	struct mt_snapshot_counts *c = &s->published;
	const struct mt_snapshot_layout *l = &s->layout;

	begin(s);
	/* these change in place */
	c->thread_count = c->sample_count = c->free_site_count = c->blind_count =
		c->estimate_count = 0;
	publish_strings(s, &p->strings);
#define APPEND(array, count) \
	append(s, l->array, p->array, sizeof *p->array, &c->count, least(p->count, l->count##_max))
	APPEND(arguments, argument_count);
	APPEND(modules, module_count);
	APPEND(threads, thread_count);
	APPEND(domains, domain_count);
	APPEND(functions, function_count);
	APPEND(pcs, pc_count);
	APPEND(nodes, node_count);
	APPEND(samples, sample_count);
	APPEND(log, log_count);
	APPEND(free_sites, free_site_count);
	APPEND(blind, blind_count);
	APPEND(estimates, estimate_count);
#undef APPEND
	publish_groups(s, p, least(p->group_count, l->group_count_max));
	s->header->counts = *c;
	s->header->step_ns = p->step_ns;
	s->header->info = p->info;
	end(s);
}

void mt_snapshot_others(struct mt_snapshot *s, uint32_t count)
{
	__atomic_store_n(&s->header->others, count, __ATOMIC_RELAXED);
}

void mt_snapshot_terminal(struct mt_snapshot *s, const void *bytes, size_t len)
{
	uint8_t *ring = s->base + s->layout.terminal;
	uint64_t at = s->header->terminal_end;

	__atomic_store_n(&s->header->terminal_begun, at + len, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (size_t done = 0; done < len;) {
		size_t place = (at + done) % MT_TERMINAL_BYTES, n = MT_TERMINAL_BYTES - place;

		if (n > len - done)
			n = len - done;
		memcpy(ring + place, (const uint8_t *)bytes + done, n);
		done += n;
	}
	__atomic_store_n(&s->header->terminal_end, at + len, __ATOMIC_RELEASE);
}
