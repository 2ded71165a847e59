/* Private to core/convert: heaptrack's interpreted data, file format 1 to 3 (heaptrack 1.0 to 1.5):
 * lines of a letter and hexadecimal numbers. */
#ifndef MT_CONVERT_HEAPTRACK_H
#define MT_CONVERT_HEAPTRACK_H

#include "core/convert/build.h"
#include "core/convert/lines.h"

struct mt_heaptrack {
	struct mt_build *build; /* borrowed */
	uint64_t version;       /* of heaptrack, 0x10400: 1.4.0 */
	uint64_t format;
	uint64_t page_bytes;
	bool attached; /* heaptrack was attached to the program while it ran */
	bool has_end;  /* the interpreter's last words */
	bool raw;      /* not interpreted: addresses without names */
	bool has_command;
	uint32_t *strings; /* heaptrack's ids, from 1 -> ids in the symbols' strings */
	uint32_t string_count, string_capacity;
	uint32_t *modules;  /* by heaptrack's string id -> module + 1 */
	uint32_t ip_count;  /* heaptrack's ips, from 1, are the pcs from MT_PC_FIRST on */
	uint8_t *operators; /* by ip: the kind that the name of its function says, or 0 */
	uint32_t operator_capacity;
	uint32_t *traces; /* heaptrack's ids, from 1 -> nodes */
	uint32_t trace_count, trace_capacity;
	struct mt_heaptrack_info {
		uint64_t size;
		uint32_t group;
		uint32_t first; /* index of the first of this group and size */
		uint32_t live;  /* there: its blocks, see mt_build_allocate */
	} * infos;              /* from 0 */
	uint32_t info_count, info_capacity;
	struct mt_buffer suppressions; /* of the program: a line each */
	uint32_t *slots, slot_mask;    /* (group, size) -> index of the first + 1 */
};

void mt_heaptrack_init(struct mt_heaptrack *, struct mt_build *borrowed);
void mt_heaptrack_free(struct mt_heaptrack *);
/* Bytes of memory that it and what it builds take. */
uint64_t mt_heaptrack_memory(const struct mt_heaptrack *);
/* When all lines were read: what they said together. */
void mt_heaptrack_end(struct mt_heaptrack *);
/* NULL, or what is wrong with the line. The line is changed. */
const char *mt_heaptrack_line(struct mt_heaptrack *, char *line, size_t len);

#endif
