/* The compact form of one row of call frame information, and the table from pc to rule.
 *
 * A key names the place of a frame: return address - 1, or, for a frame that a signal interrupted,
 * the exact pc with MT_KEY_EXACT set.
 *
 * A rule is 64 bits: kind 0-2, fp mode 3-4, pc id 5-30, CFA offset / 8 in 31-47, offset of the
 * saved fp / 8 in 48-63. Pc id 0: a frame of the tracer's own, which is not shown. */
#ifndef MT_RULES_H
#define MT_RULES_H

#include "preload/base/tracer.h"

#define MT_KEY_EXACT (1ull << 63)

enum mt_rule_kind {
	MT_RULE_NONE,
	MT_RULE_SP,     /* CFA = sp + offset */
	MT_RULE_FP,     /* CFA = fp + offset */
	MT_RULE_DEREF,  /* CFA = word at fp + offset */
	MT_RULE_SIGNAL, /* the kernel's signal frame */
	MT_RULE_END,    /* the outermost frame */
	MT_RULE_NO_CFI, /* by frame pointer; fp mode: see mt_rule_keeps_fp */
	MT_RULE_SLOW,   /* interpret the call frame information again */
};

enum mt_fp_mode {
	MT_FP_SAME,
	MT_FP_AT_CFA, /* saved at CFA + offset */
	MT_FP_AT_FP,  /* saved at fp + offset */
};

static inline unsigned mt_rule_kind(uint64_t rule)
{
	return rule & 7;
}
static inline unsigned mt_rule_fp_mode(uint64_t rule)
{
	return rule >> 3 & 3;
}
static inline uint32_t mt_rule_pc(uint64_t rule)
{
	return rule >> 5 & 0x3ffffff;
}
static inline int64_t mt_rule_cfa(uint64_t rule)
{
	return ((int64_t)(rule << 16) >> 47) * 8;
}
static inline int64_t mt_rule_fp(uint64_t rule)
{
	return ((int64_t)rule >> 48) * 8;
}
/* Of one without call frame information: all such code of its module keeps a frame pointer. */
static inline bool mt_rule_keeps_fp(uint64_t rule)
{
	return mt_rule_fp_mode(rule) == MT_FP_AT_FP;
}
#define MT_RULE_PC_MAX 0x3ffffffu

struct mt_rule_slot {
	uint64_t key;  /* 0: free; MT_RULE_DROPPED: its module is gone */
	uint64_t rule; /* 0: not written yet */
};
#define MT_RULE_DROPPED 1u

struct mt_rules {
	uint32_t shift, mask, used;
	uint64_t touched; /* a bit for each page of the first table that was written to */
	struct mt_rule_slot slots[];
};

bool mt_rules_init(void);
void mt_rules_free(void);
/* Makes the table large enough for so many more rules. */
void mt_rules_grow_ahead(uint32_t more);
uint64_t mt_rules_find(uint64_t key);
/* Drops what belongs to modules that are gone. */
void mt_rules_drop(void);

static inline uint32_t mt_rules_hash(uint64_t key, uint32_t shift)
{
	return (key * 0x9e3779b97f4a7c15ull) >> shift;
}

static inline uint64_t mt_rule(uint64_t key)
{
	const struct mt_rules *rules = mt_load_acquire(&mt_tracer.rules);
	const struct mt_rule_slot *slot = &rules->slots[mt_rules_hash(key, rules->shift)];
	uint64_t rule;

	if (mt_likely(mt_load(&slot->key) == key)
		&& mt_likely((rule = mt_load_acquire(&slot->rule)) != 0))
		return rule;
	return mt_rules_find(key);
}

#endif
