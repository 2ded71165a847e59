/* What is inlined into one function: its DW_TAG_inlined_subroutine DIEs as a tree with address
 * ranges. */
#include "core/symbol/internal.h"

#include <dwarf.h>
#include <stdlib.h>

#define DEPTH_MAX 1000u     /* blocks within blocks; damaged files only */
#define RANGES_MAX 65536    /* of one DIE */
#define READ_MAX (1u << 24) /* of all: any number of DIEs can name one list */
#define NODES_MAX 1000000u

bool mt_die_next(Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) != 0 || dwarf_dieoffset(&next) <= before)
		return false;
	*die = next;
	return true;
}

bool mt_die_ranges(Dwarf_Die *die, struct mt_ranges *ranges, uint32_t index)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	bool any = false;

	if (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges))
		return false;
	/* Linkers set the addresses of discarded code to 0 or 1: no code lies there */
	for (int i = 0; i < RANGES_MAX && ranges->read < READ_MAX
		&& (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;
		i++) {
		ranges->read++;
		if (low > 1 && low < high) {
			mt_ranges_add(ranges, low, high, index);
			any = true;
		}
	}
	return any;
}

static uint32_t number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value)
		|| value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static uint32_t add_inlined(struct mt_function *f, Dwarf_Die *die, uint32_t parent,
	Dwarf_Files *files, size_t file_count)
{
	uint32_t file = number(die, DW_AT_call_file), node = f->node_count;

	if (!mt_die_ranges(die, &f->ranges, node))
		return parent;
	MT_GROW(f->nodes, f->node_count, f->node_capacity);
	f->nodes[f->node_count++] = (struct mt_inline){
		.die = *die,
		.parent = parent,
		.depth = f->nodes[parent].depth + 1,
		.call_line = number(die, DW_AT_call_line),
		.call_file = files && dwarf_hasattr(die, DW_AT_call_file) && file < file_count
			? dwarf_filesrc(files, file, NULL, NULL)
			: NULL,
	};
	return node;
}

static void walk(struct mt_function *f, Dwarf_Die *outer, uint32_t parent, unsigned depth,
	Dwarf_Files *files, size_t file_count)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(outer, &die) != 0)
		return;
	do {
		if (f->node_count >= NODES_MAX)
			return;
		switch (dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine: {
			uint32_t node = add_inlined(f, &die, parent, files, file_count);

			walk(f, &die, node, depth + 1, files, file_count);
			break;
		}
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block: walk(f, &die, parent, depth + 1, files, file_count); break;
		}
	} while (mt_die_next(&die));
}

void mt_function_expand(struct mt_function *f, Dwarf_Files *files, size_t file_count)
{
	MT_GROW(f->nodes, f->node_count, f->node_capacity);
	f->nodes[f->node_count++] = (struct mt_inline){.die = f->die};
	walk(f, &f->die, 0, 0, files, file_count);
	mt_ranges_sort(&f->ranges);
}

uint32_t mt_function_find(const struct mt_function *f, uint64_t address)
{
	uint32_t found = 0;

	for (ssize_t at = -1; (at = mt_ranges_find(&f->ranges, address, at)) >= 0;) {
		uint32_t node = f->ranges.items[at].index;

		if (f->nodes[node].depth > f->nodes[found].depth)
			found = node;
	}
	return found;
}

void mt_function_free(struct mt_function *f)
{
	free(f->nodes);
	mt_ranges_free(&f->ranges);
}
