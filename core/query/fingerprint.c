#include "core/query/fingerprint.h"
#include "core/query/frame.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SEED 0xcbf29ce484222325ull /* FNV-1a */
#define PRIME 0x100000001b3ull

/* Flags of a node. OUTSIDE: no frame so far but the C library's, which starts programs and threads
 * and is not the program's; OPEN: a frame is not looked up yet. */
enum { OUTSIDE = 1, OPEN = 2 };

/* ---- names ---- */

/* The length without one suffix ".word[.number]" of a compiler's copy; len where there is none. */
static size_t without_suffix(const char *name, size_t len)
{
	static const char *const words[] = {"part", "constprop", "isra", "cold", "lto_priv", "llvm",
		"localalias", "clone"};
	size_t end = len;

	while (end > 0 && isdigit((uint8_t)name[end - 1]))
		end--;
	if (end < len && end > 0 && name[end - 1] == '.')
		end--;
	else
		end = len;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t size = strlen(words[i]);

		if (end > size + 1 && name[end - size - 1] == '.'
			&& !memcmp(name + end - size, words[i], size))
			return end - size - 1;
	}
	return len;
}

size_t mt_fingerprint_name(const char *function)
{
	const char *clone = strstr(function, " [clone ");
	size_t len = clone ? (size_t)(clone - function) : strlen(function), shorter;

	if (memchr(function + (len > 0), '@', len ? len - 1 : 0))
		len = (size_t)((const char *)memchr(function + 1, '@', len - 1) - function);
	while ((shorter = without_suffix(function, len)) < len)
		len = shorter;
	return len;
}

static bool of_c_library(const struct mt_backtrace_frame *frame)
{
	static const char *const modules[] = {"libc.so", "libc-", "libpthread", "ld-linux",
		"ld-musl"};
	const char *name = mt_base_name(frame->module);

	if (!strcmp(frame->raw_function, "_start"))
		return true;
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
		if (!strncmp(name, modules[i], strlen(modules[i])))
			return true;
	return !strncmp(frame->raw_function, "__libc_start_", 13);
}

/* ---- hashes ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
	for (const uint8_t *b = bytes, *end = b + len; b < end; b++)
		hash = (hash ^ *b) * PRIME;
	return hash;
}

static uint64_t combine(uint64_t hash, uint64_t with)
{
	hash = (hash ^ with) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static uint64_t hash_frame(const struct mt_backtrace_frame *frame)
{
	uint64_t hash;

	if (!mt_frame_is_place(frame->function)) {
		hash = hash_bytes(SEED, frame->function, mt_fingerprint_name(frame->function));
	} else {
		const char *module = mt_base_name(frame->module);
		/* code that was made at run time lies anywhere */
		uint64_t offset = *module ? frame->offset : 0;

		hash = hash_bytes(hash_bytes(SEED ^ 1, module, strlen(module)), &offset,
			sizeof offset);
	}
	return hash ? hash : 1;
}

static void add_frame(struct mt_fingerprints *f, uint32_t node, const struct mt_profile *p,
	const struct mt_symbols *s, uint32_t pc, uint32_t frame)
{
	uint64_t *known = frame < f->name_count ? &f->names[frame] : NULL;
	uint64_t hash = known ? *known : 0;

	if (!hash || f->flags[node] & OUTSIDE) {
		struct mt_backtrace_frame words;

		mt_frame_describe(&words, p, s, pc, frame);
		if (f->flags[node] & OUTSIDE && of_c_library(&words))
			return;
		hash = hash_frame(&words);
		/* pcs may share a frame, but not a place */
		if (known && !mt_frame_is_place(words.function))
			*known = hash;
	}
	/* where the program begins */
	if (f->flags[node] & OUTSIDE || hash == hash_bytes(SEED, "main", 4))
		f->nodes[node] = SEED;
	f->flags[node] &= (uint8_t)~OUTSIDE;
	f->nodes[node] = combine(f->nodes[node], hash);
}

static void add_node(struct mt_fingerprints *f, const struct mt_profile *p,
	const struct mt_symbols *s, uint32_t node)
{
	uint32_t parent = p->nodes[node].parent, pc = p->nodes[node].pc, first = 0;
	uint32_t count = mt_pc_frames(s, pc, &first);

	f->nodes[node] = f->nodes[parent];
	f->flags[node] = f->flags[parent];
	if (mt_profile_is_marker(p, pc)) {
		const char *name = mt_profile_function_name(p, mt_profile_marker_function(p, pc));

		f->nodes[node] = combine(f->nodes[node],
			pc < MT_PC_FIRST ? pc + 1 : hash_bytes(SEED, name, strlen(name)));
		return;
	}
	if (!count) {
		f->flags[node] |= OPEN;
		add_frame(f, node, p, s, pc, MT_NO_FRAME);
	}
	for (uint32_t left = count; left-- > 0;) /* outermost first */
		add_frame(f, node, p, s, pc, first + left);
}

void mt_fingerprints_update(struct mt_fingerprints *f, const struct mt_profile *p,
	const struct mt_symbols *s)
{
	bool names = f->generation != s->generation;

	if (f->node_count == p->node_count && !names)
		return;
	f->generation = s->generation;
	if (f->name_count < s->frame_count) {
		f->names = mt_resize(f->names, s->frame_count * sizeof *f->names);
		memset(f->names + f->name_count, 0,
			(s->frame_count - f->name_count) * sizeof *f->names);
		f->name_count = s->frame_count;
	}
	f->nodes = mt_resize(f->nodes, ((size_t)p->node_count + 1) * sizeof *f->nodes);
	f->flags = mt_resize(f->flags, (size_t)p->node_count + 1);
	f->nodes[0] = SEED;
	f->flags[0] = OUTSIDE;
	/* A name that is known stays: nodes without one, and what they call, are all that may
	 * change. */
	for (uint32_t node = names || !f->node_count ? 1 : f->node_count; node < p->node_count;
		node++)
		if (node >= f->node_count || f->flags[node] & OPEN)
			add_node(f, p, s, node);
	f->node_count = p->node_count;
}

uint64_t mt_fingerprints_get(const struct mt_fingerprints *f, const struct mt_profile *p,
	uint32_t group)
{
	uint32_t node = group < p->group_count ? p->groups[group].node : 0;

	return node < f->node_count ? f->nodes[node] : 0;
}

bool mt_fingerprints_open(const struct mt_fingerprints *f, const struct mt_profile *p,
	uint32_t group)
{
	uint32_t node = group < p->group_count ? p->groups[group].node : 0;

	return node < f->node_count && f->flags[node] & OPEN;
}

void mt_fingerprints_free(struct mt_fingerprints *f)
{
	free(f->names);
	free(f->nodes);
	free(f->flags);
	*f = (struct mt_fingerprints){0};
}
