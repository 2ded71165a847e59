/* Suppressions made from groups. */
#include "core/base/text.h"
#include "core/query/frame.h"
#include "core/query/suppress_rules.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 24 /* what valgrind reads of a rule */

/* ---- valgrind ---- */

static void put_frame(struct mt_buffer *out, const struct mt_backtrace_frame *frame, bool named)
{
	const char *function =
		frame->raw_function + (strncmp(frame->raw_function, "__GI_", 5) ? 0 : 5);

	if (!named && !*frame->module) {
		mt_buffer_printf(out, "   obj:\\?\\?\\?\n");
		return;
	}
	const char *text = named ? function : frame->module;
	size_t at = named && *text == '@'; /* a version begins behind a name */
	size_t len = named ? at + strcspn(text + at, "@") : strlen(text);
	char *shown = mt_text_wildcards(text, '?');

	if (at)
		*shown = '?';
	mt_buffer_printf(out, named ? "   fun:" : "   obj:");
	for (size_t i = 0; i < len; i++) {
		if (strchr("*?\\", text[i]))
			mt_buffer_add(out, "\\", 1);
		mt_buffer_add(out, shown + i, 1);
	}
	mt_buffer_add(out, "\n", 1);
	free(shown);
}

static bool is_named(const struct mt_backtrace_frame *frame)
{
	const char *plus = strrchr(frame->function, '+');

	return frame->pc >= MT_PC_FIRST && *frame->function && strncmp(frame->function, "0x", 2)
		&& (!plus || strncmp(plus, "+0x", 3));
}

/* Up to main: valgrind shows nothing behind it. */
static uint32_t frames_to_main(const struct mt_backtrace *stack)
{
	for (uint32_t i = 0; i < stack->count; i++)
		if (is_named(&stack->frames[i]) && !strcmp(stack->frames[i].raw_function, "main"))
			return i + 1;
	return stack->count;
}

static void write_valgrind(struct mt_buffer *out, const struct mt_profile *p,
	const struct mt_backtrace *stack, uint32_t group)
{
	const struct mt_backtrace_frame *own = mt_backtrace_own(stack);
	uint32_t function = mt_profile_group_function(p, group);
	bool known = mt_profile_function(p, function)->role != MT_CALL_UNKNOWN;
	uint32_t frames = frames_to_main(stack), half = FRAMES_MAX / 2;
	char *name = mt_text_wildcards(own && is_named(own) ? own->raw_function : "", '?');

	mt_buffer_printf(out,
		"{\n   %s%s%s\n   Memcheck:Leak\n   match-leak-kinds: all\n   fun:%s\n",
		mt_profile_function_name(p, mt_profile_group_function(p, group)),
		*name ? " in " : "", name, known ? mt_suppress_allocator(p, function, 0) : "*");
	free(name);
	for (uint32_t i = 0; i < frames; i++) {
		bool below = is_named(&stack->frames[i])
			&& mt_suppress_below_main(stack->frames[i].raw_function);

		if (frames > FRAMES_MAX - 1 && i == half) {
			mt_buffer_printf(out, "   ...\n");
			i = frames - (half - 2);
		}
		if (stack->frames[i].pc == MT_PC_CUT)
			break;
		if (below)
			mt_buffer_printf(out, "   fun:(below main)\n");
		else
			put_frame(out, &stack->frames[i], is_named(&stack->frames[i]));
		if (below)
			break;
	}
	mt_buffer_printf(out, "}\n");
}

/* Each rule once: groups that differ by lines alone have the same. */
static void write_all_valgrind(struct mt_buffer *out, const struct mt_profile *p,
	const struct mt_symbols *symbols, const uint32_t *groups, uint32_t count)
{
	struct mt_backtrace stack = {0};
	struct mt_strings said;

	mt_strings_init(&said);
	for (uint32_t i = 0; i < count; i++) {
		size_t begin = out->len;
		uint32_t before = said.count;

		mt_backtrace_get(&stack, p, symbols, groups[i]);
		if (!stack.count || stack.frames[0].pc == MT_PC_CUT) {
			mt_buffer_printf(out,
				"# group %u: it has no backtrace, so no rule can match it\n",
				groups[i]);
			continue;
		}
		write_valgrind(out, p, &stack, groups[i]);
		mt_buffer_add(out, "", 1);
		mt_strings_add(&said, (const char *)out->data + begin);
		out->len = said.count > before ? out->len - 1 : begin;
	}
	mt_backtrace_free(&stack);
	mt_strings_free(&said);
}

/* ---- LeakSanitizer ---- */

/* How many leaking groups have a function in their stack, by its string id. Those that are asked
 * for too count: a rule that many of them share would silence what leaks there tomorrow. */
struct users {
	const struct mt_profile *profile;
	const struct mt_symbols *symbols;
	uint8_t *named;                       /* by id: 0 not known yet, 1 no, 2 yes */
	uint32_t *last;                       /* by id: the last group that was counted, + 1 */
	uint32_t *all;                        /* by id */
	uint32_t *functions, count, capacity; /* of one stack */
};

/* What matches the name and as little else as can be: a name may hold what is special in a
 * pattern. */
static char *pattern_of(const char *name)
{
	char *line = mt_text_wildcards(name, '*'), *whole = mt_format("^%s$", line);
	char *open = mt_format("^%s", line);
	char *cut = mt_format("^%.*s", (int)strcspn(line, "*$"), line);
	const char *best = mt_suppress_match_lsan(whole, name) ? whole
		: mt_suppress_match_lsan(open, name)
		? open
		: cut;
	char *pattern = mt_strdup(best);

	free(whole);
	free(open);
	free(cut);
	free(line);
	return pattern;
}

static bool is_name(struct users *users, uint32_t function)
{
	const struct mt_backtrace_frame frame = {.pc = MT_PC_FIRST,
		.function = mt_strings_get(&users->symbols->strings, function)};

	if (!users->named[function])
		users->named[function] = is_named(&frame) ? 2 : 1;
	return users->named[function] == 2;
}

/* The functions of a group's stack, a frame each, as mt_backtrace_get gives them; 0: one without a
 * name. */
static void read_functions(struct users *users, uint32_t group)
{
	const struct mt_node *nodes = users->profile->nodes;

	users->count = 0;
	for (uint32_t node = nodes[users->profile->groups[group].node].parent; node != MT_NODE_ROOT;
		node = nodes[node].parent) {
		uint32_t first = 0, frames = mt_pc_frames(users->symbols, nodes[node].pc, &first);

		for (uint32_t i = 0; i < (frames ? frames : 1); i++) {
			uint32_t function = frames ? users->symbols->frames[first + i].function : 0;

			MT_GROW(users->functions, users->count, users->capacity);
			users->functions[users->count++] =
				function && is_name(users, function) ? function : 0;
		}
	}
}

static void count_users(struct users *users, uint32_t group)
{
	read_functions(users, group);
	for (uint32_t i = 0; i < users->count; i++) {
		uint32_t id = users->functions[i];

		if (!id || users->last[id] == group + 1)
			continue;
		users->last[id] = group + 1;
		users->all[id]++;
	}
}

/* The frame that the fewest others share: the program's own before others, inner before outer. */
static const struct mt_backtrace_frame *best_frame(struct users *users,
	const struct mt_backtrace *stack, uint32_t group)
{
	const struct mt_backtrace_frame *own = mt_backtrace_own(stack), *best = NULL;
	uint32_t least = 0;

	read_functions(users, group);
	for (uint32_t i = 0; i <= stack->count; i++) {
		const struct mt_backtrace_frame *frame = i ? &stack->frames[i - 1] : own;
		uint32_t id = frame ? users->functions[frame - stack->frames] : 0;

		if (id && (!best || users->all[id] < least)) {
			best = frame;
			least = users->all[id];
		}
	}
	return best;
}

static void put_lsan(struct mt_buffer *out, struct mt_strings *said,
	const struct mt_backtrace_frame *frame)
{
	char *pattern = pattern_of(is_named(frame) ? frame->function : frame->module);
	uint32_t before = said->count;
	char *function = mt_text_wildcards(frame->function, '?');
	bool wide =
		!strcmp(frame->raw_function, "main") || mt_suppress_below_main(frame->raw_function);

	if (mt_strings_add(said, pattern) == before && wide)
		mt_buffer_printf(out,
			"# broad: suppresses every leak below %s; --as valgrind names "
			"this backtrace only\nleak:%s\n",
			function, pattern);
	else if (said->count > before)
		mt_buffer_printf(out, "leak:%s\n", pattern);
	free(function);
	free(pattern);
}

static void users_begin(struct users *users, const struct mt_profile *p,
	const struct mt_symbols *symbols)
{
	size_t size = (size_t)symbols->strings.count + 1;

	*users = (struct users){
		.profile = p,
		.symbols = symbols,
		.named = mt_alloc(size),
		.last = mt_alloc(size * sizeof(uint32_t)),
		.all = mt_alloc(size * sizeof(uint32_t)),
	};
	for (uint32_t id = 0; id < p->group_count; id++)
		if (p->groups[id].live_count)
			count_users(users, id);
}

static void users_end(struct users *users)
{
	free(users->named);
	free(users->last);
	free(users->all);
	free(users->functions);
}

/* The frame that a rule for the group names; NULL: it has none with a name or a module. */
static const struct mt_backtrace_frame *named_frame(struct users *users,
	const struct mt_backtrace *stack, uint32_t group)
{
	const struct mt_backtrace_frame *frame = best_frame(users, stack, group);

	return frame || !stack->count || !*stack->frames[0].module ? frame : &stack->frames[0];
}

static void write_lsan(struct mt_buffer *out, const struct mt_profile *p,
	const struct mt_symbols *symbols, const uint32_t *groups, uint32_t count)
{
	struct mt_backtrace stack = {0};
	struct mt_strings said;
	struct users users;

	mt_strings_init(&said);
	users_begin(&users, p, symbols);
	for (uint32_t i = 0; i < count; i++) {
		mt_backtrace_get(&stack, p, symbols, groups[i]);
		const struct mt_backtrace_frame *frame = named_frame(&users, &stack, groups[i]);

		if (frame)
			put_lsan(out, &said, frame);
		else
			mt_buffer_printf(out,
				"# group %u: no frame has a name or a module, so no rule can "
				"match it\n",
				groups[i]);
	}
	mt_backtrace_free(&stack);
	mt_strings_free(&said);
	users_end(&users);
}

char **mt_suppress_lines(const struct mt_profile *p, const struct mt_symbols *symbols,
	const uint32_t *groups, uint32_t count)
{
	char **lines = mt_alloc(((size_t)count + 1) * sizeof *lines);
	struct mt_backtrace stack = {0};
	struct users users;

	users_begin(&users, p, symbols);
	for (uint32_t i = 0; i < count; i++) {
		mt_backtrace_get(&stack, p, symbols, groups[i]);
		const struct mt_backtrace_frame *frame = named_frame(&users, &stack, groups[i]);
		char *pattern = frame
			? pattern_of(is_named(frame) ? frame->function : frame->module)
			: NULL;

		lines[i] = pattern ? mt_format("leak:%s", pattern) : NULL;
		free(pattern);
	}
	mt_backtrace_free(&stack);
	users_end(&users);
	return lines;
}

/* ---- either ---- */

/* What the rules do is asked of the rules. */
static void say_others(struct mt_buffer *out, size_t begin, const struct mt_profile *p,
	const struct mt_symbols *symbols, const uint8_t *asked)
{
	struct mt_suppressions *rules = mt_suppressions_new();
	struct mt_suppressed done;
	uint32_t others = 0;

	mt_suppressions_parse(rules, (char *)out->data + begin, out->len - begin, "", NULL);
	mt_suppress(&done, rules, p, symbols);
	for (uint32_t id = 0; id < p->group_count; id++)
		others += done.blocks[id] && !asked[id];
	if (others)
		mt_buffer_printf(out, "# these rules also suppress %u other group%s that leak%s\n",
			others, others > 1 ? "s" : "", others > 1 ? "" : "s");
	mt_suppressed_free(&done);
	mt_suppressions_free(rules);
}

void mt_suppress_write(struct mt_buffer *out, enum mt_suppress_syntax syntax,
	const struct mt_profile *p, const struct mt_symbols *symbols, const uint32_t *groups,
	uint32_t count)
{
	uint8_t *asked = mt_alloc(p->group_count + 1u);
	size_t begin = out->len;

	for (uint32_t i = 0; i < count; i++)
		asked[groups[i]] = 1;
	if (syntax == MT_SUPPRESS_LSAN)
		write_lsan(out, p, symbols, groups, count);
	else
		write_all_valgrind(out, p, symbols, groups, count);
	say_others(out, begin, p, symbols, asked);
	free(asked);
}
