/* Where things lie in a snapshot. Both sides compute it from one number. */
#ifndef MT_SESSION_SNAPSHOT_LAYOUT_H
#define MT_SESSION_SNAPSHOT_LAYOUT_H

#include "core/session/snapshot.h"

#define MT_SNAPSHOT_MAGIC 0x32676e7373746d6dull
#define MT_SNAPSHOT_CHUNK 256u /* groups that share a version */
#define MT_SNAPSHOT_SHARE_MAX 256u

/* X(array of the profile, its count, capacity at share 1, least capacity) */
#define MT_SNAPSHOT_ARRAYS(X) \
	X(nodes, node_count, (8u << 20) + 1024, 65536) \
	X(pcs, pc_count, (1u << 20) + 1024, 16384) \
	X(groups, group_count, (8u << 20) + 1024, 65536) \
	X(modules, module_count, 4096, 4096) \
	X(threads, thread_count, 65537, 65537) \
	X(domains, domain_count, MT_DOMAINS_MAX, MT_DOMAINS_MAX) \
	X(functions, function_count, MT_FUNCTIONS_MAX, MT_FUNCTIONS_MAX) \
	X(samples, sample_count, MT_SAMPLES_MAX, MT_SAMPLES_MAX) \
	X(arguments, argument_count, 1u << 18, 65536) \
	X(log, log_count, 65536, 4096) \
	X(free_sites, free_site_count, 65536, 4096) \
	X(blind, blind_count, 2048, 2048) \
	X(estimates, estimate_count, 1u << 20, 65536)

#define MT_SNAPSHOT_STRINGS (1u << 20)
#define MT_SNAPSHOT_TEXT (32u << 20)

struct mt_snapshot_counts {
#define X(array, count, capacity, least) uint32_t count;
	MT_SNAPSHOT_ARRAYS(X)
#undef X
	uint32_t string_count, text_len;
};

struct mt_snapshot_header {
	uint64_t magic;
	uint32_t share, header_size;
	uint64_t sequence; /* odd while the recorder writes */
	uint64_t image;    /* counts the process's images */
	uint64_t others;   /* other processes of the session that are recorded now */
	struct mt_snapshot_counts counts;
	uint64_t step_ns;
	struct mt_info info;
	uint64_t terminal_begun, terminal_end; /* positions: being written up to, complete up to */
};

struct mt_snapshot_layout {
	size_t size;
#define X(array, count, capacity, least) \
	size_t array; \
	uint32_t count##_max;
	MT_SNAPSHOT_ARRAYS(X)
#undef X
	size_t text, offsets, versions, terminal;
};

static inline size_t mt_snapshot_place(size_t *at, size_t bytes)
{
	size_t place = *at;

	*at += (bytes + 4095) / 4096 * 4096;
	return place;
}

static inline void mt_snapshot_lay_out(struct mt_snapshot_layout *l, uint32_t share)
{
	const struct mt_profile *p = NULL;
	size_t at = 0;

	mt_snapshot_place(&at, sizeof(struct mt_snapshot_header));
#define X(array, count, capacity, least) \
	l->count##_max = (capacity) / share > (least) ? (capacity) / share : (least); \
	l->array = mt_snapshot_place(&at, (size_t)l->count##_max * sizeof *p->array);
	MT_SNAPSHOT_ARRAYS(X)
#undef X
	l->text = mt_snapshot_place(&at, MT_SNAPSHOT_TEXT / share);
	l->offsets = mt_snapshot_place(&at, (size_t)MT_SNAPSHOT_STRINGS / share * sizeof(uint32_t));
	l->versions = mt_snapshot_place(&at,
		(l->group_count_max / MT_SNAPSHOT_CHUNK + 1) * sizeof(uint64_t));
	l->terminal = mt_snapshot_place(&at, MT_TERMINAL_BYTES);
	l->size = at;
}

#endif
