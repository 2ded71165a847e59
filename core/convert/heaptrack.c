/* heaptrack's interpreted data, file format 1 to 3 (heaptrack 1.0 to 1.5): lines of a letter and
 * hexadecimal numbers. */
#include "core/convert/lines.h"
#include "core/convert/text_source.h"

#include "core/symbol/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_MAX 3u
#define SIZE_MAX_BYTES (1ull << 47) /* what an address space holds */
#define MS_MAX (1ull << 40)
#define FRAMES_MAX 4096u /* of one address */
#define COUNT_MAX (1u << 31)
#define SUPPRESSIONS_MAX (64u << 20) /* bytes */

struct cursor {
	const char *at, *end;
};

struct heaptrack {
	struct mt_build *build; /* borrowed */
	uint64_t version;       /* of heaptrack, 0x10400: 1.4.0 */
	uint64_t format;
	uint64_t page_bytes;
	bool has_end; /* the interpreter's last words */
	bool raw;     /* not interpreted: addresses without names */
	bool has_command;
	uint32_t *strings; /* heaptrack's ids, from 1 -> ids in the symbols' strings */
	uint32_t string_count, string_capacity;
	uint32_t *modules;  /* by heaptrack's string id -> module + 1 */
	uint32_t ip_count;  /* heaptrack's ips, from 1, are the pcs from MT_PC_FIRST on */
	uint8_t *operators; /* by ip: the kind that the name of its function says, or 0 */
	uint32_t operator_capacity;
	uint32_t *traces; /* heaptrack's ids, from 1 -> nodes */
	uint32_t trace_count, trace_capacity;
	struct heaptrack_info {
		uint64_t size;
		uint32_t group;
		uint32_t first; /* index of the first of this group and size */
		uint32_t live;  /* there: its blocks, see mt_build_allocate */
	} * infos;              /* from 0 */
	uint32_t info_count, info_capacity;
	struct mt_buffer suppressions; /* of the program: a line each */
	uint32_t *slots, slot_mask;    /* (group, size) -> index of the first + 1 */
};

/* The next number, and the blank behind it. False where there is none, or none that fits. */
static bool number(struct cursor *c, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;
	const char *from = c->at;

	for (; c->at < c->end && *c->at != ' '; c->at++) {
		unsigned digit = *c->at >= '0' && *c->at <= '9' ? (unsigned)(*c->at - '0')
			: *c->at >= 'a' && *c->at <= 'f'
			? (unsigned)(*c->at - 'a') + 10
			: 16;

		if (digit > 15 || value > UINT64_MAX >> 4)
			return false;
		value = value << 4 | digit;
	}
	if (c->at == from || value > max)
		return false;
	c->at += c->at < c->end;
	*out = value;
	return true;
}

static bool index_of(struct cursor *c, uint32_t max, uint32_t *out)
{
	uint64_t value;

	if (!number(c, max, &value))
		return false;
	*out = (uint32_t)value;
	return true;
}

/* ---- what the file is ---- */

static const char *read_version(struct heaptrack *h, struct cursor *c)
{
	if (!number(c, UINT32_MAX, &h->version))
		return "it has no version";
	if (!number(c, UINT32_MAX, &h->format))
		h->format = h->version == 0x10200 ? 1 : 0; /* as heaptrack itself takes it */
	if (h->format < 1)
		return "it was written by a heaptrack before 1.0, which is not supported: open and "
		       "save it with a later heaptrack";
	if (h->format > FORMAT_MAX)
		return "it was written by a newer heaptrack than this memtui supports (file "
		       "formats "
		       "1 to 3)";
	return NULL;
}

static const char *read_command(struct heaptrack *h, struct cursor *c)
{
	struct mt_profile *p = &h->build->profile;

	if (h->has_command)
		return "it names a second program";
	h->has_command = true;
	while (c->at < c->end) {
		const char *blank = memchr(c->at, ' ', (size_t)(c->end - c->at));
		const char *to = blank ? blank : c->end;

		if (to > c->at) {
			uint32_t id = mt_strings_add_len(&p->strings, c->at, (size_t)(to - c->at));

			MT_GROW(p->arguments, p->argument_count, p->argument_capacity);
			p->arguments[p->argument_count++] = id;
		}
		c->at = to + (to < c->end);
	}
	return NULL;
}

/* ---- names ---- */

static const char *read_string(struct heaptrack *h, struct cursor *c)
{
	uint64_t len = (uint64_t)(c->end - c->at);

	if (h->format >= 3 && (!number(c, MT_LINE_MAX, &len) || len > (uint64_t)(c->end - c->at)))
		return "a name exceeds its line";
	if (memchr(c->at, 0, len))
		return "a name holds a zero byte";
	if (h->string_count >= COUNT_MAX)
		return "it has too many names";
	if (h->string_count == h->string_capacity) {
		uint32_t more = h->string_capacity ? h->string_capacity * 2 : 1024;

		h->strings = mt_resize(h->strings, (size_t)more * sizeof *h->strings);
		h->modules = mt_resize(h->modules, (size_t)more * sizeof *h->modules);
		memset(h->modules + h->string_capacity, 0,
			(size_t)(more - h->string_capacity) * sizeof *h->modules);
		h->string_capacity = more;
	}
	h->strings[h->string_count++] = mt_strings_add_len(&h->build->symbols.strings, c->at, len);
	return NULL;
}

static uint32_t string_at(const struct heaptrack *h, uint32_t id)
{
	return id ? h->strings[id - 1] : 0;
}

static uint32_t module_at(struct heaptrack *h, uint32_t id)
{
	struct mt_profile *p = &h->build->profile;

	if (!id)
		return MT_NO_MODULE;
	if (!h->modules[id - 1]) {
		const char *path = mt_strings_get(&h->build->symbols.strings, h->strings[id - 1]);
		struct mt_module module = {.path = mt_strings_add(&p->strings, path)};

		h->modules[id - 1] = mt_profile_add_module(p, &module) + 1;
	}
	return h->modules[id - 1] - 1;
}

/* The kind of call that the allocating function's name says: heaptrack sees the malloc within
 * operator new. */
static uint8_t kind_of_operator(const char *function)
{
	if (!strncmp(function, "operator new[](", 15))
		return MT_FUNCTION_NEW_ARRAY;
	return !strncmp(function, "operator new(", 13) ? MT_FUNCTION_NEW : MT_FUNCTION_NONE;
}

/* The frames of an address, innermost first; where there is no name, the address is it. */
static const char *read_frames(struct heaptrack *h, struct cursor *c, uint64_t address,
	uint32_t *count)
{
	struct mt_symbols *s = &h->build->symbols;
	uint64_t line;

	*count = 0;
	do {
		uint32_t function = 0, source = 0;

		line = 0;
		if (c->at < c->end && !index_of(c, h->string_count, &function))
			return "an address refers to an undefined name";
		if (c->at < c->end
			&& (!index_of(c, h->string_count, &source)
				|| !number(c, UINT32_MAX, &line)))
			return "an address refers to an undefined source file, or has no line";
		struct mt_frame frame = {
			.function = string_at(h, function),
			.source = string_at(h, source),
			.line = (uint32_t)line,
		};

		if (!frame.function) {
			char *text = mt_format("0x%llx", (unsigned long long)address);

			frame.function = mt_strings_add(&s->strings, text);
			free(text);
		}
		frame.raw_function = frame.function;
		mt_symbols_add_frame(s, &frame);
	} while (++*count < FRAMES_MAX && c->at < c->end);
	return c->at < c->end ? "an address has too many frames" : NULL;
}

static const char *read_ip(struct heaptrack *h, struct cursor *c)
{
	struct mt_symbols *s = &h->build->symbols;
	uint32_t module, count, first = s->frame_count;
	uint64_t address;

	if (!number(c, UINT64_MAX, &address) || !index_of(c, h->string_count, &module))
		return "an address refers to an undefined module";
	const char *fault = read_frames(h, c, address, &count);

	if (fault)
		return fault;
	uint32_t pc = mt_profile_add_pc(&h->build->profile,
		&(struct mt_pc){.address = address, .module = module_at(h, module)});

	mt_symbols_set(s, pc, first);
	MT_GROW(h->operators, h->ip_count, h->operator_capacity);
	h->operators[h->ip_count++] = count > 1
		? MT_FUNCTION_NONE
		: kind_of_operator(mt_strings_get(&s->strings, s->frames[first].function));
	return NULL;
}

/* ---- stacks ---- */

static const char *read_trace(struct heaptrack *h, struct cursor *c)
{
	uint32_t ip, parent;

	if (!index_of(c, h->ip_count, &ip) || !index_of(c, h->trace_count, &parent))
		return "a stack refers to an undefined address or caller";
	if (h->build->profile.node_count >= COUNT_MAX)
		return "it has too many stacks";
	uint32_t node = parent ? h->traces[parent - 1] : 0;

	if (!ip) /* heaptrack ends a stack there */
		node = 0;
	else
		node = mt_build_node(h->build, node, MT_PC_FIRST + ip - 1);
	MT_GROW(h->traces, h->trace_count, h->trace_capacity);
	h->traces[h->trace_count++] = node;
	return NULL;
}

static uint32_t *info_slot(struct heaptrack *h, uint32_t group, uint64_t size)
{
	uint32_t at =
		(uint32_t)((size * 0xd6e8feb86659fd93ull + group) * 0x9e3779b97f4a7c15ull >> 32)
		& h->slot_mask;

	while (h->slots[at]
		&& (h->infos[h->slots[at] - 1].size != size
			|| h->infos[h->slots[at] - 1].group != group))
		at = (at + 1) & h->slot_mask;
	return &h->slots[at];
}

/* The first of the infos that are alike; heaptrack itself writes each once. */
static uint32_t first_like(struct heaptrack *h, uint32_t index)
{
	if (!h->slots || index >= h->slot_mask / 2) {
		free(h->slots);
		h->slot_mask = h->slots ? h->slot_mask * 2 + 1 : 1023;
		h->slots = mt_alloc(((size_t)h->slot_mask + 1) * sizeof *h->slots);
		for (uint32_t i = 0; i < index; i++)
			if (h->infos[i].first == i)
				*info_slot(h, h->infos[i].group, h->infos[i].size) = i + 1;
	}
	uint32_t *slot = info_slot(h, h->infos[index].group, h->infos[index].size);

	if (!*slot)
		*slot = index + 1;
	return *slot - 1;
}

static const char *read_info(struct heaptrack *h, struct cursor *c)
{
	struct heaptrack_info info = {0};
	const struct mt_profile *p = &h->build->profile;
	unsigned function = MT_FUNCTION_NONE;
	uint32_t trace;

	if (!number(c, SIZE_MAX_BYTES, &info.size) || !index_of(c, h->trace_count, &trace))
		return "an allocation has an invalid size or refers to an undefined stack";
	if (h->info_count >= COUNT_MAX)
		return "it has too many kinds of allocations";
	uint32_t node = trace ? h->traces[trace - 1] : 0;

	for (uint8_t next; node && (next = h->operators[p->nodes[node].pc - MT_PC_FIRST]);
		node = p->nodes[node].parent)
		function = next;
	info.group = mt_build_group(h->build, node, function);
	MT_GROW(h->infos, h->info_count, h->info_capacity);
	h->infos[h->info_count] = info;
	h->infos[h->info_count].first = first_like(h, h->info_count);
	h->info_count++;
	return NULL;
}

/* ---- events ---- */

static const char *read_event(struct heaptrack *h, struct cursor *c, bool allocates)
{
	uint32_t index;

	if (!h->info_count || !index_of(c, h->info_count - 1, &index))
		return "an event refers to an undefined allocation";
	struct heaptrack_info *info = &h->infos[h->infos[index].first];

	if (c->at < c->end) { /* size, stack, address */
		h->raw = true;
		return "it is heaptrack's raw data";
	}
	struct mt_build_call call = {.size = info->size, .group = info->group, .name = index};

	if (allocates)
		return mt_build_allocate(h->build, &call, &info->live);
	mt_build_release(h->build, &call, &info->live);
	return NULL;
}

static const char *read_time(struct heaptrack *h, struct cursor *c)
{
	uint64_t ms;

	if (!number(c, MS_MAX, &ms))
		return "a time is out of range";
	mt_build_time(h->build, ms * 1000000);
	return NULL;
}

static const char *read_rss(struct heaptrack *h, struct cursor *c)
{
	uint64_t pages;

	if (!number(c, SIZE_MAX_BYTES / h->page_bytes, &pages))
		return "a size of the process is out of range";
	mt_build_rss(h->build, pages * h->page_bytes);
	return NULL;
}

static const char *read_system(struct heaptrack *h, struct cursor *c)
{
	uint64_t bytes;

	if (!number(c, 1u << 30, &bytes) || !bytes)
		return "the size of a page is out of range";
	h->page_bytes = bytes;
	return NULL;
}

/* A line of what the program's __lsan_default_suppressions() gave. */
static const char *read_suppression(struct heaptrack *h, struct cursor *c)
{
	if (h->suppressions.len + MT_LINE_MAX > SUPPRESSIONS_MAX)
		return "it has too many suppressions";
	if (memchr(c->at, 0, (size_t)(c->end - c->at)))
		return "a suppression holds a zero byte";
	mt_buffer_add(&h->suppressions, c->at, (size_t)(c->end - c->at));
	mt_buffer_add(&h->suppressions, "\n", 1);
	return NULL;
}

static const char *other_line(struct heaptrack *h, const char *line, struct cursor *c)
{
	switch (*line) {
	case 0: return NULL;
	case '#': h->has_end |= !strncmp(line, "# ips:", 6); return NULL;
	case 'v': return h->format ? "it has two headers" : read_version(h, c);
	case 'X': return read_command(h, c);
	case 'A': h->build->begins_within = true; return NULL;
	case 'I': return read_system(h, c);
	case 'S': return read_suppression(h, c);
	case 'x':
	case 'm': h->raw = true; return "it is heaptrack's raw data";
	}
	return "it is not a line of heaptrack";
}

static const char *read_line(void *state, char *line, size_t len)
{
	struct heaptrack *h = state;
	struct cursor c = {line + (len < 2 ? len : 2), line + len};

	if (*line && *line != '#' && (len > 1 && line[1] != ' '))
		return "it is not a line of heaptrack";
	if (!h->format && *line != 'v')
		return "it does not begin like heaptrack's data";
	switch (*line) {
	case '+':
	case '-': return read_event(h, &c, *line == '+');
	case 'a': return read_info(h, &c);
	case 't': return read_trace(h, &c);
	case 'i': return read_ip(h, &c);
	case 's': return read_string(h, &c);
	case 'c': return read_time(h, &c);
	case 'R': return read_rss(h, &c);
	}
	return other_line(h, line, &c);
}

/* ---- as a source ---- */

static bool recognises(const char *first, size_t len)
{
	return len < 64 && !strncmp(first, "v ", 2)
		&& strspn(first + 2, "0123456789abcdef ") == len - 2;
}

static void begin(void *state, struct mt_build *build)
{
	*(struct heaptrack *)state = (struct heaptrack){.build = build, .page_bytes = 4096};
}

static void end(void *state, struct mt_text_end *out)
{
	struct heaptrack *h = state;
	struct mt_symbols *s = &h->build->symbols;

	*out = (struct mt_text_end){
		.assumed = "of equal blocks the last one counts as freed first",
		.beyond = h->build->begins_within
			? "heaptrack was attached to the running program, so earlier "
			  "blocks are missing"
			: NULL,
		.whole = h->has_end,
		.refused = h->raw ? "raw data of heaptrack, without names" : NULL,
		.filter = "/usr/lib/heaptrack/libexec/heaptrack_interpret",
	};
	snprintf(out->made, sizeof out->made, "by heaptrack %llx.%llx",
		(unsigned long long)h->version >> 16, (unsigned long long)h->version >> 8 & 255);
	if (!h->suppressions.len)
		return;
	s->suppressions =
		mt_strings_add_len(&s->strings, (char *)h->suppressions.data, h->suppressions.len);
	s->embedded = MT_EMBEDDED_TEXT;
}

static uint64_t memory(const void *state)
{
	const struct heaptrack *h = state;
	const size_t id = sizeof(uint32_t);

	return h->string_capacity * 2 * id + h->operator_capacity + h->trace_capacity * id
		+ h->info_capacity * sizeof *h->infos + (h->slots ? h->slot_mask + 1ull : 0) * id
		+ h->suppressions.capacity;
}

static void free_state(void *state)
{
	struct heaptrack *h = state;

	free(h->strings);
	free(h->modules);
	free(h->operators);
	free(h->traces);
	free(h->infos);
	free(h->slots);
	mt_buffer_free(&h->suppressions);
}

const struct mt_text_source mt_heaptrack_source = {
	/* It steps every 10 ms, and waits for a lock where it might lose an event. */
	.facts = {.loss = MT_SOURCE_LOSS_NONE,
		.lacks = MT_SOURCE_LACKS_THREADS | MT_SOURCE_LACKS_ADDRESSES
			| MT_SOURCE_LACKS_REALLOCS,
		.domains = MT_SOURCE_HEAP},
	.state_size = sizeof(struct heaptrack),
	.recognises = recognises,
	.begin = begin,
	.line = read_line,
	.end = end,
	.memory = memory,
	.free = free_state,
};
