/* From pc to unwind rule: computed once from the call frame information, then one probe of a hash.
 * Lock-free and forgiving: a race or an interrupted writer at worst computes a rule twice, which
 * gives a second pc id to the same address; a growing table may lose entries that others add
 * meanwhile. */
#include "preload/unwind/rules.h"

#include "preload/base/grow.h"
#include "preload/base/sys.h"
#include "preload/unwind/cfi.h"
#include "preload/unwind/check.h"
#include "preload/unwind/modules.h"

#define FIRST_BITS 13
_Static_assert((sizeof(struct mt_rule_slot) << FIRST_BITS) / MT_WIRE_PAGE < 64,
	"the first table has a bit for each page");
#define MAX_PROBES 64

static struct mt_rules *new_table(unsigned bits)
{
	struct mt_rules *rules = mt_sys_map(sizeof *rules + (sizeof(struct mt_rule_slot) << bits));

	if (rules) {
		if (bits > FIRST_BITS)
			mt_count_private(sizeof(struct mt_rule_slot) << bits);
		rules->shift = 64 - bits;
		rules->mask = (1u << bits) - 1;
	}
	return rules;
}

void mt_rules_free(void)
{
	struct mt_rules *rules = mt_tracer.rules;

	mt_store_release(&mt_tracer.rules, NULL); /* first: another thread may fork meanwhile */
	if (rules)
		mt_sys_unmap(rules,
			sizeof *rules + ((uint64_t)rules->mask + 1) * sizeof *rules->slots);
}

bool mt_rules_init(void)
{
	mt_tracer.rules = new_table(FIRST_BITS);
	return mt_tracer.rules != NULL;
}

static bool fits(int64_t offset, unsigned bits)
{
	int64_t limit = 1ll << (bits - 1);

	return offset % 8 == 0 && offset / 8 >= -limit && offset / 8 < limit;
}

static uint64_t pack(enum mt_rule_kind kind, enum mt_fp_mode mode, int64_t cfa, int64_t fp)
{
	return kind | mode << 3 | ((uint64_t)(cfa / 8) & 0x1ffff) << 31 | (uint64_t)(fp / 8) << 48;
}

static uint64_t compact(const struct mt_cfi_row *row)
{
	enum mt_fp_mode mode = MT_FP_SAME;
	enum mt_rule_kind kind = MT_RULE_SLOW;
	int64_t cfa = row->cfa_offset, fp = 0;

	if (row->signal_frame)
		return pack(MT_RULE_SIGNAL, 0, 0, 0);
	if (row->return_address.how == MT_CFI_UNDEFINED)
		return pack(MT_RULE_END, 0, 0, 0);
	if (row->return_address.how != MT_CFI_AT_OFFSET
		|| row->return_address.offset != MT_RETURN_ADDRESS_AT_CFA)
		return pack(MT_RULE_SLOW, 0, 0, 0);
	if (row->cfa_register == MT_DWARF_SP)
		kind = MT_RULE_SP;
	else if (row->cfa_register == MT_DWARF_FP)
		kind = MT_RULE_FP;
	else if (row->cfa_register == MT_CFI_NO_REGISTER
		&& mt_cfi_is_simple(mt_cfi_cfa_expression(row), MT_DWARF_FP, true, &cfa))
		kind = MT_RULE_DEREF;
	if (row->fp.how == MT_CFI_AT_OFFSET && MT_MUTATION != 4) {
		mode = MT_FP_AT_CFA;
		fp = row->fp.offset;
	} else if (row->fp.how == MT_CFI_AT_EXPRESSION
		&& mt_cfi_is_simple(mt_cfi_expression(&row->fp), MT_DWARF_FP, false, &fp)) {
		mode = MT_FP_AT_FP;
	} else if (row->fp.how != MT_CFI_SAME && row->fp.how != MT_CFI_UNDEFINED
		&& MT_MUTATION != 4) {
		kind = MT_RULE_SLOW;
	}
	/* in an epilogue: the slot is popped already, though compilers do not say so; fp holds its
	 * value */
	if (kind == MT_RULE_SP && mode == MT_FP_AT_CFA && cfa + fp < 0) {
		mode = MT_FP_SAME;
		fp = 0;
	}
	if (kind == MT_RULE_SLOW || !fits(cfa, 17) || !fits(fp, 16))
		return pack(MT_RULE_SLOW, 0, 0, 0);
	return pack(kind, mode, cfa, fp);
}

static uint64_t compute(uint64_t key)
{
	uint64_t pc = key & ~MT_KEY_EXACT, rule;
	struct mt_cfi_row row;
	uint32_t flags = key & MT_KEY_EXACT ? MT_PC_FLAG_EXACT : 0;
	int found = mt_modules_row(pc, &row);

	if (found == MT_CFI_FOUND)
		rule = compact(&row);
	else if (found == MT_CFI_NONE && !(key & MT_KEY_EXACT)
		&& mt_modules_row(pc + 1, &row) == MT_CFI_FOUND)
		/* no call can return to the start of a function: makecontext put it there, as the
		 * end */
		rule = pack(MT_RULE_END, 0, 0, 0);
	else if (found == MT_CFI_NONE)
		rule = pack(MT_RULE_NO_CFI, mt_modules_keeps_fp(pc) ? MT_FP_AT_FP : MT_FP_SAME, 0,
			0);
	else
		rule = pack(MT_RULE_SLOW, 0, 0, 0);
	if (mt_rule_kind(rule) == MT_RULE_NO_CFI)
		flags |= MT_PC_FLAG_NO_CFI;
	return rule | (uint64_t)mt_modules_pc(pc, flags) << 5;
}

/* Rules lie far apart, so few of them touch many pages. A larger table counts as a whole. */
static void count_touched(struct mt_rules *rules, const void *slot)
{
	uint64_t page = ((uint64_t)slot - (uint64_t)rules) / MT_WIRE_PAGE;
	uint64_t bit = 1ull << (page & 63);

	if (rules->mask + 1 == 1u << FIRST_BITS && !(mt_load(&rules->touched) & bit)
		&& !(mt_swap_or(&rules->touched, bit) & bit))
		mt_count_private(MT_WIRE_PAGE);
}

static bool insert(struct mt_rules *rules, uint64_t key, uint64_t rule)
{
	uint32_t at = mt_rules_hash(key, rules->shift);

	for (int i = 0; i < MAX_PROBES; i++, at = (at + 1) & rules->mask) {
		struct mt_rule_slot *slot = &rules->slots[at];
		uint64_t found = mt_load(&slot->key);

		if (found == 0 && mt_swap_if(&slot->key, &found, key)) {
			mt_store_release(&slot->rule, rule);
			mt_add(&rules->used, 1);
			count_touched(rules, slot);
			return true;
		}
		if (found == key)
			return true;
	}
	return false;
}

/* Copies the table into one with room; the old one stays readable and is never freed. */
static void grow(struct mt_rules *old, uint32_t more)
{
	struct mt_rules *rules;
	uint32_t live = 0;
	unsigned bits = 64 - old->shift;

	if (mt_load(&mt_tracer.sealed) || !mt_grow_begin(MT_GROWING_RULES))
		return;
	for (uint32_t i = 0; i <= old->mask; i++)
		live += mt_load(&old->slots[i].key) > MT_RULE_DROPPED;
	while (live + more > (1u << bits) / 4)
		bits++;
	rules = mt_load(&mt_tracer.rules) == old ? new_table(bits) : NULL;
	if (rules) {
		for (uint32_t i = 0; i <= old->mask; i++) {
			uint64_t key = mt_load(&old->slots[i].key);
			uint64_t rule = mt_load_acquire(&old->slots[i].rule);

			if (key > MT_RULE_DROPPED && rule)
				insert(rules, key, rule);
		}
		mt_store_release(&mt_tracer.rules, rules);
	}
	mt_grow_end(MT_GROWING_RULES);
}

MT_COLD void mt_rules_grow_ahead(uint32_t more)
{
	grow(mt_load_acquire(&mt_tracer.rules), more);
}

/* While a dlclose runs a rule counts only if the module under its pc is still the one it was made
 * for. */
static bool stale(uint64_t key, uint64_t rule)
{
	return mt_load(&mt_tracer.generation) >= MT_CLOSING
		&& !mt_modules_present(key & ~MT_KEY_EXACT, mt_rule_pc(rule));
}

MT_COLD uint64_t mt_rules_find(uint64_t key)
{
	struct mt_rules *rules = mt_load_acquire(&mt_tracer.rules);
	uint32_t at = mt_rules_hash(key, rules->shift);
	uint64_t rule;

	for (int i = 0; i < MAX_PROBES; i++, at = (at + 1) & rules->mask) {
		uint64_t found = mt_load(&rules->slots[at].key);

		if (found == 0)
			break;
		if (found == key && (rule = mt_load_acquire(&rules->slots[at].rule)) != 0
			&& !stale(key, rule))
			return rule;
	}
	rule = compute(key);
	if (mt_load(&rules->used) > rules->mask / 2) {
		grow(rules, 0);
		rules = mt_load_acquire(&mt_tracer.rules);
	}
	insert(rules, key, rule);
	return rule;
}

MT_COLD void mt_rules_drop(void)
{
	struct mt_rules *rules = mt_load_acquire(&mt_tracer.rules);

	for (uint32_t i = 0; i <= rules->mask && MT_MUTATION != 5; i++) {
		struct mt_rule_slot *slot = &rules->slots[i];
		uint64_t key = mt_load(&slot->key), rule = mt_load_acquire(&slot->rule);

		if (key > MT_RULE_DROPPED && rule
			&& !mt_modules_present(key & ~MT_KEY_EXACT, mt_rule_pc(rule))) {
			mt_store_release(&slot->rule, 0);
			mt_store_release(&slot->key, MT_RULE_DROPPED);
		}
	}
}
