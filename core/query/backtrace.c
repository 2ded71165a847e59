#include "core/query/frame.h"

#include <stdlib.h>
#include <string.h>

static const char *marker_words(uint32_t pc)
{
	if (pc == MT_PC_CUT)
		return "[stack cut here]";
	if (pc == MT_PC_TABLE_FULL)
		return "[call tree full]";
	return mt_kind_name(pc);
}

bool mt_frame_is_place(const char *function)
{
	const char *sign = strrchr(function, '+');

	return !*function || !strncmp(sign ? sign + 1 : function, "0x", 2);
}

void mt_frame_describe(struct mt_backtrace_frame *out, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint32_t pc, uint32_t frame)
{
	*out = (struct mt_backtrace_frame){
		.pc = pc, .function = "", .raw_function = "", .source = "", .module = ""};
	if (pc < MT_PC_FIRST) {
		out->function = out->raw_function = marker_words(pc);
		return;
	}
	if (pc < profile->pc_count) {
		const struct mt_pc *entry = &profile->pcs[pc];

		out->offset = entry->address;
		out->by_frame_pointer = entry->flags & MT_PC_FLAG_NO_CFI;
		if (entry->module < profile->module_count) {
			const struct mt_module *module = &profile->modules[entry->module];

			out->offset -= module->bias;
			out->module = mt_strings_get(&profile->strings, module->path);
		}
	}
	if (frame < symbols->frame_count) {
		const struct mt_frame *names = &symbols->frames[frame];

		out->function = mt_strings_get(&symbols->strings, names->function);
		out->raw_function = mt_strings_get(&symbols->strings, names->raw_function);
		out->source = mt_strings_get(&symbols->strings, names->source);
		out->line = names->line;
		out->inlined = names->inlined != 0;
	}
}

static void add_frame(struct mt_backtrace *backtrace, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint32_t pc, uint32_t frame)
{
	MT_GROW(backtrace->frames, backtrace->count, backtrace->capacity);
	mt_frame_describe(&backtrace->frames[backtrace->count++], profile, symbols, pc, frame);
}

void mt_backtrace_get(struct mt_backtrace *backtrace, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint32_t group)
{
	backtrace->count = 0;
	if (group < profile->group_count)
		mt_backtrace_of(backtrace, profile, symbols, profile->groups[group].node);
}

void mt_backtrace_of(struct mt_backtrace *backtrace, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint32_t node)
{
	backtrace->count = 0;
	for (node = profile->nodes[node].parent; node != MT_NODE_ROOT; node = profile->nodes[node].parent) {
		uint32_t pc = profile->nodes[node].pc, first;
		uint32_t count = mt_pc_frames(symbols, pc, &first);

		if (!count)
			add_frame(backtrace, profile, symbols, pc, MT_NO_FRAME);
		for (uint32_t i = 0; i < count; i++)
			add_frame(backtrace, profile, symbols, pc, first + i);
	}
}

/* Wrappers that a program calls instead of malloc: their callers are what one looks for. */
static bool is_wrapper(const char *function)
{
	static const char *const names[] = {"xmalloc", "xcalloc", "xrealloc", "xstrdup", "xstrndup", "xmemdup", "g_malloc",
		"g_malloc0", "g_calloc", "g_realloc", "g_strdup"};
	size_t len = strcspn(function, "(");

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == len && !strncmp(function, names[i], len))
			return true;
	return false;
}

static bool of_a_library(const struct mt_backtrace_frame *frame)
{
	static const char *const modules[] = {"libc.so", "libc-", "libstdc++.so", "libc++", "ld-linux", "ld-musl", "libgcc_s.so"};
	const char *name = strrchr(frame->module, '/') ? strrchr(frame->module, '/') + 1 : frame->module;

	if (!strncmp(frame->source, "/usr/include/", 13) || is_wrapper(frame->function))
		return true;
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
		if (!strncmp(name, modules[i], strlen(modules[i])))
			return true;
	return false;
}

const struct mt_backtrace_frame *mt_backtrace_own(const struct mt_backtrace *backtrace)
{
	uint32_t at = 0;

	while (at < backtrace->count && (backtrace->frames[at].pc == MT_PC_CUT || of_a_library(&backtrace->frames[at])))
		at++;
	return at < backtrace->count ? &backtrace->frames[at] : backtrace->count ? &backtrace->frames[0] : NULL;
}

void mt_backtrace_free(struct mt_backtrace *backtrace)
{
	free(backtrace->frames);
	*backtrace = (struct mt_backtrace){0};
}
