/* The watcher's side of a snapshot. */
#include "core/session/snapshot_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 64

struct mt_snapshot_view {
	const uint8_t *base;
	const struct mt_snapshot_header *header;
	struct mt_snapshot_layout layout;
	uint64_t sequence, image;
	uint64_t *versions; /* of the chunks copied */
};

static int map(struct mt_snapshot_view *v, int fd, struct mt_err *err)
{
	int wanted = F_SEAL_SHRINK | F_SEAL_GROW, seals = fcntl(fd, F_GET_SEALS);
	struct mt_snapshot_header first;
	struct stat status;

	if (seals < 0 || (seals & wanted) != wanted || fstat(fd, &status) < 0
		|| pread(fd, &first, sizeof first, 0) != sizeof first)
		return mt_fail(err, -EPROTO,
			"the recorder sent no snapshot; it may be another version of memtui");
	if (first.magic != MT_SNAPSHOT_MAGIC || first.header_size != sizeof first || !first.share
		|| first.share > MT_SNAPSHOT_SHARE_MAX)
		return mt_fail(err, -EPROTO,
			"the recorder's snapshot was made by another version of memtui");
	mt_snapshot_lay_out(&v->layout, first.share);
	if ((uint64_t)status.st_size != v->layout.size)
		return mt_fail(err, -EPROTO, "the recorder's snapshot has a wrong size");
	v->base = mmap(NULL, v->layout.size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (v->base == MAP_FAILED) {
		v->base = NULL;
		return mt_fail(err, -errno, "cannot map the recorder's snapshot: %s",
			strerror(errno));
	}
	v->header = (const struct mt_snapshot_header *)v->base;
	v->versions =
		mt_alloc((v->layout.group_count_max / MT_SNAPSHOT_CHUNK + 1) * sizeof *v->versions);
	return 0;
}

struct mt_snapshot_view *mt_snapshot_view_new(int fd, struct mt_err *err)
{
	struct mt_snapshot_view *v = mt_alloc(sizeof *v);

	if (map(v, fd, err) == 0)
		return v;
	mt_snapshot_view_free(v);
	return NULL;
}

void mt_snapshot_view_free(struct mt_snapshot_view *v)
{
	if (!v)
		return;
	if (v->base)
		munmap((void *)v->base, v->layout.size);
	free(v->versions);
	free(v);
}

static bool counts_fit(const struct mt_snapshot_view *v, const struct mt_snapshot_counts *c,
	const struct mt_profile *p)
{
#define X(array, count, capacity, least) \
	if (c->count > v->layout.count##_max) \
		return false;
	MT_SNAPSHOT_ARRAYS(X)
#undef X
	return c->string_count <= MT_SNAPSHOT_STRINGS && c->text_len <= MT_SNAPSHOT_TEXT
		&& c->node_count >= p->node_count && c->pc_count >= p->pc_count
		&& c->group_count >= p->group_count && c->module_count >= p->module_count
		&& c->domain_count >= p->domain_count && c->function_count >= p->function_count
		&& c->log_count >= p->log_count && c->string_count >= p->strings.count;
}

/* One copy of a shared array's tail into a growing one of the profile. */
static void *copy_tail(const struct mt_snapshot_view *v, void *items, uint32_t *have,
	uint32_t *capacity, uint32_t count, size_t entry, size_t place)
{
	if (count > *capacity) {
		*capacity = count + count / 2 + 16;
		items = mt_resize(items, *capacity * entry);
	}
	if (count > *have)
		memcpy((uint8_t *)items + *have * entry, v->base + place + *have * entry,
			(count - *have) * entry);
	*have = count;
	return items;
}

static bool copy_strings(const struct mt_snapshot_view *v, struct mt_strings *strings,
	const struct mt_snapshot_counts *c)
{
	const uint32_t *offsets = (const uint32_t *)(const void *)(v->base + v->layout.offsets);
	const char *text = (const char *)v->base + v->layout.text;

	for (uint32_t id = strings->count; id < c->string_count; id++) {
		uint32_t from = __atomic_load_n(&offsets[id], __ATOMIC_RELAXED);
		const char *end;

		if (from >= c->text_len || !(end = memchr(text + from, '\0', c->text_len - from)))
			return false;
		if (mt_strings_add_len(strings, text + from, (size_t)(end - text) - from) != id)
			return false;
	}
	return true;
}

static bool copy_groups(struct mt_snapshot_view *v, struct mt_profile *p, uint32_t count)
{
	const uint64_t *versions = (const uint64_t *)(const void *)(v->base + v->layout.versions);
	const struct mt_group *from =
		(const struct mt_group *)(const void *)(v->base + v->layout.groups);

	if (count > p->group_capacity) {
		p->group_capacity = count + count / 2 + 16;
		p->groups = mt_resize(p->groups, p->group_capacity * sizeof *p->groups);
	}
	for (uint32_t at = 0; at < count; at += MT_SNAPSHOT_CHUNK) {
		uint32_t end = count - at < MT_SNAPSHOT_CHUNK ? count : at + MT_SNAPSHOT_CHUNK;
		uint64_t version =
			__atomic_load_n(&versions[at / MT_SNAPSHOT_CHUNK], __ATOMIC_RELAXED);

		if (version == v->versions[at / MT_SNAPSHOT_CHUNK] && end <= p->group_count)
			continue;
		memcpy(&p->groups[at], &from[at], (end - at) * sizeof *from);
		for (uint32_t i = at; i < end; i++)
			if (p->groups[i].node >= p->node_count)
				return false;
		v->versions[at / MT_SNAPSHOT_CHUNK] = version;
	}
	p->group_count = count;
	return true;
}

/* Ids in what is new name only what exists. */
static bool names_exist(const struct mt_profile *p, uint32_t old_nodes, uint32_t old_pcs,
	uint32_t old_modules)
{
	for (uint32_t i = old_nodes ? old_nodes : 1; i < p->node_count; i++)
		if (p->nodes[i].parent >= i || p->nodes[i].pc >= p->pc_count)
			return false;
	for (uint32_t i = MT_DOMAIN_FIRST; i < p->domain_count; i++)
		if (!mt_profile_is_name(p, p->domains[i].name))
			return false;
	for (uint32_t i = MT_FUNCTION_FIRST; i < p->function_count; i++)
		if (!mt_profile_is_name(p, p->functions[i].name)
			|| !mt_profile_has_domain(p, p->functions[i].domain))
			return false;
	for (uint32_t i = old_pcs; i < p->pc_count; i++)
		if (p->pcs[i].flags & MT_PC_FLAG_FUNCTION && i >= MT_PC_FIRST
			&& !mt_profile_has_function(p, &p->pcs[i]))
			return false;
	for (uint32_t i = old_pcs; i < p->pc_count; i++)
		if (p->pcs[i].module != MT_NO_MODULE && p->pcs[i].module >= p->module_count
			&& i >= MT_PC_FIRST)
			return false;
	for (uint32_t i = old_modules; i < p->module_count; i++)
		if (p->modules[i].build_id_len > MT_BUILD_ID_MAX)
			return false;
	return true;
}

static bool is_call(const struct mt_profile *p, uint32_t node)
{
	return node < p->node_count && mt_profile_is_marker(p, p->nodes[node].pc);
}

static bool log_exists(const struct mt_profile *p, uint32_t old_log)
{
	for (uint32_t i = old_log; i < p->log_count; i++)
		if (p->log[i].type >= MT_LOG_TYPES || !is_call(p, p->log[i].node)
			|| (p->log[i].thread >= p->thread_count
				&& p->log[i].thread != MT_NO_THREAD))
			return false;
	for (uint32_t i = 0; i < p->free_site_count; i++)
		if (p->free_sites[i].group >= p->group_count || !is_call(p, p->free_sites[i].node))
			return false;
	return true;
}

/* The snapshot may have had no room for the path. */
static void keep_known_paths(struct mt_profile *p)
{
	for (uint32_t i = 0; i < p->blind_count; i++)
		if (p->blind[i].path >= p->strings.count || p->blind[i].detail >= p->strings.count)
			p->blind[i].path = p->blind[i].detail = 0;
}

static bool copy_all(struct mt_snapshot_view *v, struct mt_profile *p,
	const struct mt_snapshot_counts *c)
{
	uint32_t nodes = p->node_count, pcs = p->pc_count, modules = p->module_count;
	uint32_t log = p->log_count;

	/* these change in place */
	p->thread_count = p->sample_count = p->free_site_count = p->blind_count = 0;
	p->estimate_count = 0;
	if (!copy_strings(v, &p->strings, c))
		return false;
#define COPY(array, count, capacity) \
	p->array = copy_tail(v, p->array, &p->count, &p->capacity, c->count, sizeof *p->array, \
		v->layout.array)
	COPY(arguments, argument_count, argument_capacity);
	COPY(modules, module_count, module_capacity);
	COPY(threads, thread_count, thread_capacity);
	COPY(domains, domain_count, domain_capacity);
	COPY(functions, function_count, function_capacity);
	COPY(pcs, pc_count, pc_capacity);
	COPY(nodes, node_count, node_capacity);
	COPY(samples, sample_count, sample_capacity);
	COPY(log, log_count, log_capacity);
	COPY(free_sites, free_site_count, free_site_capacity);
	COPY(blind, blind_count, blind_capacity);
	COPY(estimates, estimate_count, estimate_capacity);
#undef COPY
	keep_known_paths(p);
	return names_exist(p, nodes, pcs, modules) && copy_groups(v, p, c->group_count)
		&& log_exists(p, log);
}

static void restart(struct mt_snapshot_view *v, struct mt_profile *p, uint64_t image)
{
	mt_profile_free(p);
	mt_profile_init(p);
	memset(v->versions, 0,
		(v->layout.group_count_max / MT_SNAPSHOT_CHUNK + 1) * sizeof *v->versions);
	v->image = image;
}

int mt_snapshot_view_update(struct mt_snapshot_view *v, struct mt_profile *p, struct mt_err *err)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t sequence = __atomic_load_n(&v->header->sequence, __ATOMIC_ACQUIRE), image;
		struct mt_snapshot_counts counts;
		bool sane;

		if (sequence == v->sequence)
			return 0;
		if (sequence & 1) {
			sched_yield();
			continue;
		}
		image = __atomic_load_n(&v->header->image, __ATOMIC_RELAXED);
		counts = v->header->counts;
		if (image != v->image)
			restart(v, p, image);
		sane = counts_fit(v, &counts, p) && copy_all(v, p, &counts);
		p->info = v->header->info;
		p->step_ns = v->header->step_ns;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&v->header->sequence, __ATOMIC_RELAXED) == sequence && sane) {
			v->sequence = sequence;
			return 1;
		}
		restart(v, p, image); /* torn, or damaged: all over again */
	}
	/* What is there may be half: the recorder was killed while it wrote, or writes without
	 * end. */
	return mt_fail(err, -EAGAIN,
		"the recorder's snapshot changes too fast to be read; open its trace file");
}

uint64_t mt_snapshot_view_image(const struct mt_snapshot_view *v)
{
	return v->image;
}

uint32_t mt_snapshot_view_others(const struct mt_snapshot_view *v)
{
	return (uint32_t)__atomic_load_n(&v->header->others, __ATOMIC_RELAXED);
}

size_t mt_snapshot_view_terminal(const struct mt_snapshot_view *v, uint64_t *at, void *buffer,
	size_t len)
{
	const uint8_t *ring = v->base + v->layout.terminal;

	for (int i = 0; i < TRIES; i++) {
		uint64_t end = __atomic_load_n(&v->header->terminal_end, __ATOMIC_ACQUIRE);
		uint64_t from = *at;
		uint64_t begun = __atomic_load_n(&v->header->terminal_begun, __ATOMIC_RELAXED);
		size_t n;

		if (from > end || begun - from > MT_TERMINAL_BYTES)
			from = begun > MT_TERMINAL_BYTES ? begun - MT_TERMINAL_BYTES : 0;
		n = end > from ? (size_t)(end - from) : 0;
		if (n > len)
			n = len;
		if (n > MT_TERMINAL_BYTES)
			return 0;
		for (size_t done = 0; done < n;) {
			size_t place = (from + done) % MT_TERMINAL_BYTES;
			size_t part = MT_TERMINAL_BYTES - place;

			if (part > n - done)
				part = n - done;
			memcpy((uint8_t *)buffer + done, ring + place, part);
			done += part;
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		begun = __atomic_load_n(&v->header->terminal_begun, __ATOMIC_RELAXED);
		if (begun - from <= MT_TERMINAL_BYTES) {
			*at = from + n;
			return n;
		}
	}
	return 0;
}
