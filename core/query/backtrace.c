#include "core/query/frame.h"

#include <stdlib.h>

static const char *marker_words(uint32_t pc)
{
	if (pc == MT_PC_CUT)
		return "[stack cut here]";
	if (pc == MT_PC_TABLE_FULL)
		return "[call tree full]";
	return mt_kind_name(pc);
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
	if (group >= profile->group_count)
		return;
	uint32_t node = profile->nodes[profile->groups[group].node].parent;

	for (; node != MT_NODE_ROOT; node = profile->nodes[node].parent) {
		uint32_t pc = profile->nodes[node].pc, first;
		uint32_t count = mt_pc_frames(symbols, pc, &first);

		if (!count)
			add_frame(backtrace, profile, symbols, pc, MT_NO_FRAME);
		for (uint32_t i = 0; i < count; i++)
			add_frame(backtrace, profile, symbols, pc, first + i);
	}
}

void mt_backtrace_free(struct mt_backtrace *backtrace)
{
	free(backtrace->frames);
	*backtrace = (struct mt_backtrace){0};
}
