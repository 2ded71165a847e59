/* Private to core/model: reading back what definitions.c and totals.c write. Each returns NULL, or
 * what is wrong with the payload; nothing in it is believed. version: of the file.
 * doc/trace-format.md describes the layouts. */
#ifndef MT_MODEL_PAYLOAD_H
#define MT_MODEL_PAYLOAD_H

#include "core/model/profile.h"
#include "core/trace/trace.h"
#include "core/trace/varint.h"

#define MT_TOTALS_GROUPS_MAX (1u << 18) /* of one part */

/* A block of a type from MT_BLOCK_START to MT_BLOCK_GROUPS, MT_BLOCK_LOG, MT_BLOCK_BLIND,
 * MT_BLOCK_DOMAINS or MT_BLOCK_FUNCTIONS. */
const char *mt_definitions_read(struct mt_profile *, unsigned version, enum mt_block_type,
	const struct mt_buffer *payload);
/* memory: of the last sample. */
const char *mt_info_read(struct mt_profile *, unsigned version, const struct mt_buffer *payload,
	struct mt_memory *memory);
/* Info as a part of another payload. */
void mt_info_add(struct mt_buffer *, const struct mt_profile *);
void mt_info_get(struct mt_cursor *, unsigned version, const struct mt_profile *strings,
	struct mt_info *, struct mt_memory *memory);
/* Adds the groups from *next on, which it moves, as a part of the totals: `most` of them at the
 * most. False: it was the last part. */
bool mt_totals_add_part(struct mt_buffer *, const struct mt_profile *, uint32_t *next,
	uint32_t most);
/* One part of the totals. *next: groups read so far, 0 at first; *complete: this was the last
 * part. */
const char *mt_totals_read(struct mt_profile *, unsigned version, const struct mt_buffer *payload,
	uint32_t *next, bool *complete);

#endif
