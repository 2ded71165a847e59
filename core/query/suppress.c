/* Which leaks are suppressed, and the profile without them. */
#include "core/model/sampling.h"
#include "core/model/verdicts.h"
#include "core/query/frame.h"
#include "core/query/suppress_rules.h"

#include <stdlib.h>
#include <string.h>

struct mt_suppressions *mt_suppressions_new(void)
{
	return mt_alloc(sizeof(struct mt_suppressions));
}

void mt_suppress_rule_free(struct mt_suppress_rule *rule)
{
	for (uint32_t i = 0; i < rule->frame_count; i++) {
		free(rule->frames[i].pattern);
		free(rule->frames[i].known);
	}
	free(rule->frames);
	free(rule->pattern);
	free((char *)rule->shown.text);
	free((char *)rule->shown.source);
}

void mt_suppressions_free(struct mt_suppressions *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->count; i++)
		mt_suppress_rule_free(&s->rules[i]);
	for (uint32_t i = 0; i < s->fault_count && i < MT_SUPPRESS_FAULTS; i++)
		free(s->faults[i]);
	free(s->rules);
	free(s);
}

int mt_suppressions_add_own(struct mt_suppressions *s, const struct mt_symbols *symbols,
	struct mt_err *err)
{
	const char *text = mt_strings_get(&symbols->strings, symbols->suppressions);

	return symbols->embedded == MT_EMBEDDED_TEXT
		? mt_suppressions_parse(s, text, strlen(text), "__lsan_default_suppressions", err)
		: 0;
}

uint32_t mt_suppressions_count(const struct mt_suppressions *s)
{
	return s->count;
}

const struct mt_suppression *mt_suppressions_at(const struct mt_suppressions *s, uint32_t rule)
{
	return &s->rules[rule].shown;
}

/* ---- patterns ---- */

/* As LeakSanitizer does it: each piece between '*' at the first place where it is found, without a
 * second try. */
bool mt_suppress_match_lsan(const char *pattern, const char *text)
{
	bool at_start = *pattern == '^', after_star = false;

	if (!*text)
		return false;
	pattern += at_start;
	while (*pattern) {
		if (*pattern == '*') {
			pattern++;
			at_start = false;
			after_star = true;
			continue;
		}
		if (*pattern == '$')
			return !*text || after_star;
		if (!*text)
			return false;
		size_t len = strcspn(pattern, "*$");
		const char *found = memmem(text, strlen(text), pattern, len);

		if (!found || (at_start && found != text))
			return false;
		text = found + len;
		pattern += len;
		at_start = after_star = false;
	}
	return true;
}

/* Whether the pattern's first character, which is not '*', takes c; its length is returned in
 * *len. */
static bool takes(const char *pattern, char c, size_t *len)
{
	bool escaped = *pattern == '\\' && pattern[1];

	*len = 1u + escaped;
	return c && ((*pattern == '?' && !escaped) || pattern[escaped] == c);
}

bool mt_suppress_match_glob(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL; /* where to go on when it does not match */
	size_t len;

	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (!*pattern && !*text) {
			return true;
		} else if (*pattern && takes(pattern, *text, &len)) {
			pattern += len;
			text++;
		} else if (star && *from) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
}

/* ---- stacks ---- */

/* A frame by the ids of its strings. */
struct place {
	uint32_t raw, function, source; /* of the symbols */
	uint32_t line;
	uint32_t module; /* of the profile */
	bool unnamed;
};

struct matcher {
	struct mt_suppressions *rules;
	const struct mt_profile *profile;
	const struct mt_symbols *symbols;
	/* the first LeakSanitizer rule for a frame of the pc, + 1; 0: none; UNDECIDED: not asked */
	uint32_t *by_pc;
	uint32_t *by_name[2]; /* by string id of the symbols, of the profile: the same */
	uint32_t *by_kind;    /* by kind of call: the same */
	uint32_t *by_node;    /* the first for a frame from the root to the node */
	/* of the present stack, innermost first, as far as it was asked for */
	struct place *places;
	uint32_t next_node; /* what comes behind them */
	uint32_t count, capacity;
	bool unnamed;       /* one of the places has no name */
	bool open;          /* a valgrind rule of the user's asked for the name of such a place */
	bool of_user;       /* the valgrind rule in hand is not built-in */
	bool user_patterns; /* there are LeakSanitizer rules that are not built-in */
};

/* The resolver's name for what has none. */
static bool is_unnamed(const char *function)
{
	const char *plus = strrchr(function, '+');

	return !*function || !strncmp(function, "0x", 2) || (plus && !strncmp(plus, "+0x", 3));
}

static uint32_t module_path(const struct mt_profile *p, uint32_t pc)
{
	uint32_t module = pc >= MT_PC_FIRST && pc < p->pc_count ? p->pcs[pc].module : MT_NO_MODULE;

	return module < p->module_count ? p->modules[module].path : 0;
}

static void add_places(struct matcher *m, uint32_t pc)
{
	const struct mt_symbols *s = m->symbols;
	uint32_t first = 0, frames = mt_pc_frames(s, pc, &first), i = 0;

	do {
		struct place place = {.module = module_path(m->profile, pc)};

		if (i < frames) {
			const struct mt_frame *frame = &s->frames[first + i];

			place.raw = frame->raw_function;
			place.function = frame->function;
			place.source = frame->source;
			place.line = frame->line;
		}
		place.unnamed = is_unnamed(mt_strings_get(&s->strings, place.function));
		if (place.unnamed)
			place.raw = place.function = 0;
		m->unnamed |= place.unnamed;
		MT_GROW(m->places, m->count, m->capacity);
		m->places[m->count++] = place;
	} while (++i < frames);
}

static void set_stack(struct matcher *m, uint32_t leaf)
{
	m->count = 0;
	m->unnamed = m->open = false;
	m->next_node = m->profile->nodes[leaf].parent;
}

/* Rules mostly fail at the first frames: the others are not looked at before they are asked for. */
static bool has_place(struct matcher *m, uint32_t place)
{
	while (place >= m->count && m->next_node != MT_NODE_ROOT) {
		const struct mt_node *node = &m->profile->nodes[m->next_node];

		add_places(m, node->pc);
		m->next_node = node->parent;
	}
	return place < m->count;
}

/* ---- LeakSanitizer's rules ---- */

static uint32_t lsan_text(const struct matcher *m, const char *text)
{
	/* glibc's alias for its own use: others see the plain name. */
	const char *plain = strncmp(text, "__GI_", 5) ? NULL : text + 5;

	for (uint32_t i = 0; i < m->rules->count; i++) {
		const char *pattern = m->rules->rules[i].pattern;

		if (pattern
			&& (mt_suppress_match_lsan(pattern, text)
				|| (plain && mt_suppress_match_lsan(pattern, plain))))
			return i + 1;
	}
	return 0;
}

static uint32_t lsan_name(struct matcher *m, bool of_profile, uint32_t id)
{
	const struct mt_strings *strings = of_profile ? &m->profile->strings : &m->symbols->strings;
	uint32_t *known = &m->by_name[of_profile][id];

	if (id >= strings->count)
		return 0;
	if (*known == MT_SUPPRESS_UNDECIDED)
		*known = lsan_text(m, mt_strings_get(strings, id));
	return *known;
}

/* The first of two; 0: none. */
static uint32_t first_of(uint32_t a, uint32_t b)
{
	return a && (!b || a < b) ? a : b;
}

static uint32_t lsan_pc(struct matcher *m, uint32_t pc)
{
	uint32_t first = 0, frames = mt_pc_frames(m->symbols, pc, &first);
	uint32_t rule = lsan_name(m, true, module_path(m->profile, pc));

	for (uint32_t i = 0; i < frames; i++) {
		const struct mt_frame *frame = &m->symbols->frames[first + i];

		if (!is_unnamed(mt_strings_get(&m->symbols->strings, frame->function)))
			rule = first_of(rule, lsan_name(m, false, frame->function));
		rule = first_of(rule, lsan_name(m, false, frame->source));
	}
	return rule;
}

/* The allocating function is LeakSanitizer's innermost frame. */
static uint32_t lsan_kind(struct matcher *m, unsigned kind)
{
	uint32_t rule = 0;

	const char *name;

	if (kind >= m->profile->function_count || m->by_kind[kind] != MT_SUPPRESS_UNDECIDED)
		return kind < m->profile->function_count ? m->by_kind[kind] : 0;
	for (unsigned i = 0; (name = mt_suppress_allocator(m->profile, kind, i)); i++) {
		char *shown = mt_demangle(name);

		rule = first_of(rule, lsan_text(m, shown));
		free(shown);
	}
	return m->by_kind[kind] = rule;
}

static uint32_t lsan_stack(struct matcher *m, uint32_t leaf)
{
	const struct mt_node *node = &m->profile->nodes[leaf];

	return first_of(lsan_kind(m, mt_profile_node_function(m->profile, leaf)),
		m->by_node[node->parent]);
}

/* Parents come before their children. */
static void lsan_nodes(struct matcher *m)
{
	const struct mt_profile *p = m->profile;

	for (uint32_t id = 1; id < p->node_count; id++) {
		uint32_t pc = p->nodes[id].pc;

		if (m->by_pc[pc] == MT_SUPPRESS_UNDECIDED)
			m->by_pc[pc] = lsan_pc(m, pc);
		m->by_node[id] = first_of(m->by_node[p->nodes[id].parent], m->by_pc[pc]);
	}
}

/* ---- valgrind's rules ---- */

static bool glob_name(const char *pattern, const char *name)
{
	const char *version = strchr(name, '@');

	if (!strncmp(name, "__GI_", 5) && glob_name(pattern, name + 5)) /* as for LeakSanitizer */
		return true;

	if (mt_suppress_below_main(name) && mt_suppress_match_glob(pattern, "(below main)"))
		return true;
	if (!version || version == name)
		return mt_suppress_match_glob(pattern, *name ? name : "???");
	char *plain = mt_format("%.*s", (int)(version - name), name);
	bool matches = mt_suppress_match_glob(pattern, plain);

	free(plain);
	return matches;
}

static bool glob_source(const char *pattern, const char *source)
{
	const char *slash = strrchr(source, '/');

	if (!*source)
		return false;
	return mt_suppress_match_glob(pattern, source)
		|| (slash && mt_suppress_match_glob(pattern, slash + 1));
}

static bool ask(const struct mt_suppress_frame *frame, const char *text)
{
	switch (frame->what) {
	case MT_SUPPRESS_FUNCTION: return glob_name(frame->pattern, text);
	case MT_SUPPRESS_OBJECT:
		return mt_suppress_match_glob(frame->pattern, *text ? text : "???");
	case MT_SUPPRESS_SOURCE: return glob_source(frame->pattern, text);
	case MT_SUPPRESS_ANY_FRAMES: break;
	}
	return true;
}

/* The place has a name that is not known, and may be several inlined frames: whatever the rule asks
 * of it and of its callers, the answer is open. Of the frames that were cut off the module is not
 * known either. */
static bool is_open(const struct mt_suppress_frame *frame, const struct place *place)
{
	return place->unnamed && (frame->what != MT_SUPPRESS_OBJECT || !place->module);
}

static bool place_matches(struct matcher *m, struct mt_suppress_frame *frame,
	const struct place *place)
{
	bool of_profile = frame->what == MT_SUPPRESS_OBJECT;
	const struct mt_strings *strings = of_profile ? &m->profile->strings : &m->symbols->strings;
	uint32_t id = of_profile ? place->module
		: frame->what == MT_SUPPRESS_SOURCE
		? place->source
		: place->raw;

	m->open |= m->of_user && is_open(frame, place);
	if (frame->line && frame->line != place->line)
		return false;
	if (id >= strings->count)
		return ask(frame, "");
	if (!frame->known) {
		frame->known = mt_alloc(strings->count);
		frame->known_count = strings->count;
	}
	if (id >= frame->known_count)
		return ask(frame, mt_strings_get(strings, id));
	if (!frame->known[id])
		frame->known[id] = ask(frame, mt_strings_get(strings, id)) ? 2 : 1;
	return frame->known[id] == 2;
}

/* Valgrind's own frame for the allocation. */
static bool allocator_matches(const struct matcher *m, const struct mt_suppress_frame *frame,
	unsigned kind)
{
	const char *name;

	if (frame->what == MT_SUPPRESS_OBJECT)
		return mt_suppress_match_glob(frame->pattern,
			"/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so");
	if (frame->what == MT_SUPPRESS_SOURCE)
		return !frame->line && glob_source(frame->pattern, "vg_replace_malloc.c");
	for (unsigned i = 0; (name = mt_suppress_allocator(m->profile, kind, i)); i++)
		if (mt_suppress_match_glob(frame->pattern, name))
			return true;
	return false;
}

/* The rule's frames match the innermost of the stack; the allocating function is frame 0, place i
 * is frame i + 1. */
static bool valgrind_matches(struct matcher *m, const struct mt_suppress_rule *rule, unsigned kind)
{
	uint32_t frame = 0, place = 0, star = UINT32_MAX, from = 0;

	while (frame < rule->frame_count) {
		struct mt_suppress_frame *at = &rule->frames[frame];

		if (at->what == MT_SUPPRESS_ANY_FRAMES) {
			star = ++frame;
			from = place;
		} else if (place ? has_place(m, place - 1)
					&& place_matches(m, at, &m->places[place - 1])
				 : allocator_matches(m, at, kind)) {
			frame++;
			place++;
		} else if (star != UINT32_MAX && has_place(m, from)) {
			frame = star;
			place = ++from;
		} else {
			return false;
		}
	}
	return true;
}

static uint32_t valgrind_stack(struct matcher *m, unsigned kind, uint32_t before)
{
	for (uint32_t i = 0; i < before; i++) {
		const struct mt_suppress_rule *rule = &m->rules->rules[i];

		m->of_user = !rule->shown.builtin;
		if (!rule->pattern && !rule->never && valgrind_matches(m, rule, kind))
			return i + 1;
	}
	return 0;
}

/* ---- verdicts ---- */

static uint32_t *unknown_names(uint32_t count)
{
	uint32_t *names = mt_alloc((count + 1) * sizeof *names);

	memset(names, 0xff, count * sizeof *names);
	return names;
}

static void matcher_init(struct matcher *m, struct mt_suppressions *rules,
	const struct mt_profile *p, const struct mt_symbols *symbols)
{
	*m = (struct matcher){
		.rules = rules,
		.profile = p,
		.symbols = symbols,
		.by_pc = unknown_names(p->pc_count),
		.by_kind = unknown_names(p->function_count),
		.by_node = mt_alloc((p->node_count + 1u) * sizeof(uint32_t)),
		.by_name = {unknown_names(symbols->strings.count), unknown_names(p->strings.count)},
	};
	for (uint32_t i = 0; i < rules->count; i++) {
		struct mt_suppress_rule *rule = &rules->rules[i];

		rule->shown.groups = rule->shown.blocks = rule->shown.bytes = 0;
		m->user_patterns |= rule->pattern && !rule->shown.builtin;
		/* ids are of another profile's strings */
		for (uint32_t k = 0; k < rule->frame_count; k++) {
			free(rule->frames[k].known);
			rule->frames[k].known = NULL;
		}
	}
}

static void matcher_free(struct matcher *m)
{
	free(m->by_pc);
	free(m->by_node);
	free(m->by_kind);
	free(m->by_name[0]);
	free(m->by_name[1]);
	free(m->places);
}

static uint32_t verdict(struct matcher *m, const struct mt_group *group)
{
	uint32_t rule = lsan_stack(m, group->node);

	set_stack(m, group->node);
	rule = first_of(valgrind_stack(m, mt_profile_node_function(m->profile, group->node),
				rule ? rule - 1 : m->rules->count),
		rule);
	if (rule)
		return rule;
	if (m->user_patterns) { /* they may match any frame */
		has_place(m, UINT32_MAX);
		m->open |= m->unnamed;
	}
	return m->open ? MT_SUPPRESS_UNDECIDED : 0;
}

static void take_off(struct mt_suppressed *out, struct mt_suppression *rule, uint32_t id)
{
	struct mt_group *group = &out->profile.groups[id];
	struct mt_info *info = &out->profile.info;

	out->rules_used += !rule->groups++;
	rule->blocks += group->live_count;
	rule->bytes += group->live_bytes;
	out->blocks[id] = group->live_count;
	out->bytes[id] = group->live_bytes;
	out->all_blocks += group->live_count;
	out->all_bytes += group->live_bytes;
	info->leaked_count -=
		group->live_count < info->leaked_count ? group->live_count : info->leaked_count;
	info->leaked_bytes -=
		group->live_bytes < info->leaked_bytes ? group->live_bytes : info->leaked_bytes;
	/* it lived at the end of a time range all the same */
	out->profile.late[id].count += group->live_count;
	out->profile.late[id].bytes += group->live_bytes;
	group->live_count = group->live_bytes = 0;
	if (id < out->profile.estimate_count)
		out->profile.estimates[id].live = (struct mt_estimate){0};
}

/* Blocks that are indirectly lost with a block that a rule matches are known as well. */
static void take_off_led(struct mt_suppressed *out, struct mt_suppressions *rules)
{
	const struct mt_verdicts *v = out->profile.verdicts;

	for (uint32_t i = 0; i < v->group_count; i++) {
		const struct mt_verdict_group *g = &v->groups[i];
		struct mt_group *group = &out->profile.groups[g->group];
		uint32_t rule = out->verdicts[g->leader];

		if (g->verdict != MT_VERDICT_INDIRECT || !rule || rule == MT_SUPPRESS_UNDECIDED
			|| group->live_count < g->sum.count)
			continue;
		rules->rules[rule - 1].shown.blocks += g->sum.count;
		rules->rules[rule - 1].shown.bytes += g->sum.bytes;
		out->blocks[g->group] += g->sum.count;
		out->bytes[g->group] += g->sum.bytes;
		out->all_blocks += g->sum.count;
		out->all_bytes += g->sum.bytes;
		out->profile.info.leaked_count -= g->sum.count;
		out->profile.info.leaked_bytes -= g->sum.bytes;
		group->live_count -= g->sum.count;
		group->live_bytes -= g->sum.bytes;
	}
}

void mt_suppress(struct mt_suppressed *out, struct mt_suppressions *rules,
	const struct mt_profile *p, const struct mt_symbols *symbols)
{
	struct matcher m;

	*out = (struct mt_suppressed){.profile = *p};
	out->profile.groups = mt_alloc((p->group_count + 1) * sizeof *p->groups);
	out->profile.group_capacity = p->group_count + 1;
	if (p->group_count)
		memcpy(out->profile.groups, p->groups, p->group_count * sizeof *p->groups);
	out->profile.late = mt_alloc((p->group_count + 1) * sizeof *p->late);
	if (p->late)
		memcpy(out->profile.late, p->late, p->group_count * sizeof *p->late);
	out->profile.estimates = mt_estimates_copy(p);
	out->verdicts = mt_alloc((p->group_count + 1) * sizeof *out->verdicts);
	out->blocks = mt_alloc((p->group_count + 1) * sizeof *out->blocks);
	out->bytes = mt_alloc((p->group_count + 1) * sizeof *out->bytes);
	matcher_init(&m, rules, p, symbols);
	if (rules->count)
		lsan_nodes(&m);
	for (uint32_t id = 0; id < p->group_count && rules->count; id++) {
		if (!p->groups[id].live_count)
			continue;
		out->verdicts[id] = verdict(&m, &p->groups[id]);
		if (out->verdicts[id] == MT_SUPPRESS_UNDECIDED) {
			out->undecided_groups++;
			out->undecided_blocks += p->groups[id].live_count;
			out->undecided_bytes += p->groups[id].live_bytes;
		} else if (out->verdicts[id]) {
			take_off(out, &rules->rules[out->verdicts[id] - 1].shown, id);
		}
	}
	matcher_free(&m);
	if (p->lost_alone)
		take_off_led(out, rules);
}

void mt_suppressed_free(struct mt_suppressed *s)
{
	free(s->profile.groups);
	free(s->profile.late);
	free(s->profile.estimates);
	free(s->verdicts);
	free(s->blocks);
	free(s->bytes);
	*s = (struct mt_suppressed){0};
}
