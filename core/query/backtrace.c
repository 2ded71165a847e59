#include "core/query/frame.h"
#include "core/query/wrappers.h"

#include <stdlib.h>
#include <string.h>

static const char *marker_words(const struct mt_profile *p, uint32_t pc)
{
	if (pc == MT_PC_CUT)
		return "[stack cut here]";
	if (pc == MT_PC_TABLE_FULL)
		return "[call tree full]";
	return mt_profile_function_name(p, mt_profile_marker_function(p, pc));
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
		.pc = pc,
		.function = "",
		.raw_function = "",
		.source = "",
		.module = "",
	};
	if (mt_profile_is_marker(profile, pc)) {
		out->function = out->raw_function = marker_words(profile, pc);
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
		if (!out->inlined && pc < symbols->pc_count)
			out->into = symbols->pcs[pc].offset;
		out->judged = names->function < symbols->judged_strings
			? symbols->judged[names->function]
			: MT_JUDGED_NOT;
	}
}

static void add_frame(struct mt_backtrace *backtrace, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint32_t pc, uint32_t frame)
{
	MT_GROW(backtrace->frames, backtrace->count, backtrace->capacity);
	mt_frame_describe(&backtrace->frames[backtrace->count++], profile, symbols, pc, frame);
}

/* A module without debug information names what it exports: what that calls and has no name is a
 * static function of it. */
static void name_caller(struct mt_backtrace *b, uint32_t at)
{
	const struct mt_backtrace_frame *next = &b->frames[at + 1], *end = b->frames + b->count;

	while (next < end && next->judged == MT_JUDGED_PLACE
		&& !strcmp(next->module, b->frames[at].module))
		next++;
	if (next < end && next->pc >= MT_PC_FIRST && *next->function && !*next->source
		&& !strcmp(next->module, b->frames[at].module) && strcmp(next->function, "main"))
		b->frames[at].caller = next->function;
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
	for (node = profile->nodes[node].parent; node != MT_NODE_ROOT;
		node = profile->nodes[node].parent) {
		uint32_t pc = profile->nodes[node].pc, first;
		uint32_t count = mt_pc_frames(symbols, pc, &first);

		if (!count)
			add_frame(backtrace, profile, symbols, pc, MT_NO_FRAME);
		for (uint32_t i = 0; i < count; i++)
			add_frame(backtrace, profile, symbols, pc, first + i);
	}
	for (uint32_t i = 0; i + 1 < backtrace->count; i++)
		if (backtrace->frames[i].judged == MT_JUDGED_PLACE)
			name_caller(backtrace, i);
}

bool mt_frame_is_wrapper(const struct mt_backtrace_frame *frame)
{
	if (frame->judged == MT_JUDGED_NOT)
		return mt_is_usual_wrapper(frame->function, frame->raw_function);
	return frame->judged == MT_JUDGED_WRAPPER;
}

/* What starts the program is taken for the C library's. */
static bool of_a_library(const struct mt_backtrace_frame *frame)
{
	static const char *const modules[] = {"libc.so", "libc-", "libpthread", "libstdc++.so",
		"libc++", "ld-linux", "ld-musl", "libgcc_s.so", "libjemalloc", "libtcmalloc",
		"libmimalloc"};
	static const char *const sources[] = {"/usr/include/", "/rustc/", "/rust/deps/"};
	const char *name = mt_base_name(frame->module);

	if (!strcmp(frame->raw_function, "_start"))
		return true;
	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
		if (!strncmp(frame->source, sources[i], strlen(sources[i])))
			return true;
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
		if (!strncmp(name, modules[i], strlen(modules[i])))
			return true;
	return false;
}

bool mt_frame_is_of_library(const struct mt_backtrace_frame *frame)
{
	return frame->pc == MT_PC_CUT || of_a_library(frame) || mt_frame_is_wrapper(frame);
}

/* The next frame that has a name, if all up to it are of one module; else at itself. */
static uint32_t next_named(const struct mt_backtrace *b, uint32_t at)
{
	uint32_t next = at;

	while (next < b->count && mt_frame_is_place(b->frames[next].function)
		&& !strcmp(b->frames[next].module, b->frames[at].module))
		next++;
	return next < b->count && !strcmp(b->frames[next].module, b->frames[at].module) ? next : at;
}

const struct mt_backtrace_frame *mt_backtrace_own(const struct mt_backtrace *b)
{
	uint32_t at = 0, caller;

	for (;; at = caller) {
		while (at < b->count && mt_frame_is_of_library(&b->frames[at]))
			at++;
		if (at == b->count)
			break;
		caller = next_named(b, at);
		/* else they are parts of the allocator, whose names are stripped */
		if (caller == at || !mt_frame_is_wrapper(&b->frames[caller]))
			return &b->frames[at];
	}
	/* The libraries' alone: the innermost that is more than another word for malloc. */
	for (at = 0; at + 1 < b->count
		&& (b->frames[at].pc == MT_PC_CUT || mt_frame_is_wrapper(&b->frames[at]));)
		at++;
	return at < b->count ? &b->frames[at] : NULL;
}

void mt_backtrace_free(struct mt_backtrace *backtrace)
{
	free(backtrace->frames);
	*backtrace = (struct mt_backtrace){0};
}
