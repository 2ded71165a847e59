#include "tui/view/guidance.h"
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "core/export/oom.h"
#include "core/model/blind.h"
#include "core/query/frame.h"
#include "tui/terminal/fit.h"
#include "tui/user/config.h"
#include "tui/user/keymap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of dim text, wrapped between words. */
struct text {
	struct mt_app *app;
	struct mt_rect room;
	int row;
};

static void put(struct text *t, const char *words)
{
	int width = t->room.columns - 3;
	char part[512];

	while (*words && t->row < t->room.rows && width > 0) {
		size_t len = strlen(words);
		size_t most = (size_t)width < sizeof part ? (size_t)width : sizeof part - 1;

		if (len > most && t->row + 1 < t->room.rows) {
			for (len = most; len && words[len] != ' '; len--)
				;
			len = len ? len : most;
		}
		snprintf(part, sizeof part, "%.*s", (int)len, words);
		mt_draw(t->app->screen, t->room.row + t->row++, t->room.column + 2, width + 1,
			MT_ROLE_DIM, part);
		words += len;
		words += *words == ' ';
	}
}

/* The same of words with keys: {action}. */
static void say(struct text *t, const char *words)
{
	char text[256];

	put(t, mt_keymap_words(text, sizeof text, words));
}

static bool is_broken_off(const struct mt_data *d)
{
	return d->whole->info.recorder_lost && !d->live;
}

void mt_guidance_empty(struct mt_app *app, struct mt_rect r)
{
	const struct mt_data *d = &app->data;
	struct text t = {app, r, 0};
	char *filter = mt_filter_text(d->filter), line[600];
	bool any = mt_info_blocks_begun(&d->whole->info) > 0;

	if (any && *filter) {
		say(&t, "no group matches the filter:");
		snprintf(line, sizeof line, "  %s", filter);
		put(&t, line);
		say(&t, "{filter} ^U Enter clears it, {filter} changes it");
		if (d->ranged)
			say(&t, "{all-times} clears the time range");
	} else if (d->hidden) {
		say(&t, "all groups are suppressed and hidden; {show-hidden} shows them");
	} else if (any) {
		say(&t, "there is nothing to show");
	} else if (d->live) {
		say(&t, "the recording has just started: nothing was allocated yet");
		say(&t,
			app->program ? "groups appear with the first malloc; {output} shows the "
				       "program's terminal"
				     : "groups appear with the first malloc");
	} else if (is_broken_off(d)) {
		say(&t, "empty: the recording ended before its first event");
	} else if (d->whole->info.ended && d->whole->info.exit_status == -1) {
		say(&t, "the recording ended before its first event; {log} shows what happened");
	} else {
		say(&t,
			mt_blind_any(d->whole) ? "no allocation was seen: the line above says why"
					       : "the program allocated nothing: no malloc, "
						 "no new, or not through a shared libc");
		say(&t,
			"{log} shows what happened; "
			"'memtui help run' says what cannot be recorded");
	}
	free(filter);
}

void mt_guidance_below(struct mt_app *app, struct mt_rect room, uint32_t seen, uint32_t bare)
{
	const struct mt_data *d = &app->data;
	struct text t = {app, {room.row + 1, room.column, room.rows - 1, room.columns}, 0};
	char wall[MT_NUMBER_LEN], line[200], oom[MT_OOM_LEN];

	if (room.rows < 3 || !seen)
		return;
	if (is_broken_off(d)) {
		mt_number_time(wall, d->whole->info.wall_ns);
		snprintf(line, sizeof line,
			"this trace is incomplete: its recorder was killed at %s. The program "
			"may have freed live blocks after that.",
			wall);
		put(&t, line);
	} else if (d->whole->info.stopped) {
		mt_number_time(wall, d->whole->info.wall_ns);
		snprintf(line, sizeof line,
			"the recording was stopped at %s, but the program kept running%s.", wall,
			d->whole->info.leaked_count ? ": it may have freed live blocks after that"
						    : "");
		put(&t, line);
	} else if (mt_oom_sentence(oom, d->whole, d->symbols)) {
		put(&t, oom);
	}
	if (!d->whole->info.leaked_count && d->sort <= MT_METRIC_LEAKED_COUNT)
		say(&t,
			d->live ? "nothing is live now. {sort-right} sorts by total bytes "
				  "allocated; {suspects} shows leaks after a few seconds."
				: mt_info_knows_leaks(&d->whole->info)
				? mt_blind_any(d->whole)
					? "every recorded block was freed; the line at the top "
					  "says what was not recorded."
					: "nothing leaked: every block was freed. {sort-right} "
					  "sorts by total bytes allocated, {at-peak} shows the "
					  "heap at its peak."
				: "nothing was live when the recording ended. {sort-right} sorts "
				  "by total bytes allocated.");
	if (bare * 2 > seen && !mt_data_busy(&app->data))
		say(&t,
			"most lines have no source location: build the program with -g and do "
			"not strip it, or install debug symbols (-dbgsym packages). {open} says "
			"for "
			"which module.");
}

/* ---- a frame without a source ---- */

static bool is_of_the_system(const char *module)
{
	static const char *const places[] = {"/usr/lib/", "/lib/", "/usr/lib64/", "/lib64/",
		"/usr/bin/", "/bin/", "/usr/sbin/"};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (!strncmp(module, places[i], strlen(places[i])))
			return true;
	return false;
}

/* The nearest caller that e would open. */
static void say_caller(struct text *t, const struct mt_backtrace_frame *frame)
{
	const struct mt_backtrace *b = &t->app->detail.backtrace;
	char source[256], line[512];

	for (const struct mt_backtrace_frame *f = frame; f < b->frames + b->count; f++)
		if (*f->source && f->line) {
			mt_frame_source(source, sizeof source, f, false);
			snprintf(line, sizeof line,
				"e opens the nearest caller with a source line: #%u %s, %s",
				(unsigned)(f - b->frames), f->function, source);
			say(t, line);
			return;
		}
}

int mt_guidance_source(struct mt_app *app, struct mt_rect r, const struct mt_backtrace_frame *frame,
	bool here)
{
	struct text t = {app, {r.row, r.column - 1, r.rows, r.columns + 1}, 0};
	const char *name =
		strrchr(frame->module, '/') ? strrchr(frame->module, '/') + 1 : frame->module;
	char line[1200];

	if (frame->pc < MT_PC_FIRST) {
		say(&t,
			"the backtrace ends here: the unwinder failed, or the stack is deeper "
			"than --depth. Its outer frames, with main, are missing; the log counts "
			"such "
			"stacks");
		return t.row;
	}
	if (here) {
		say(&t, "the source file is shorter: it was changed after the program was built");
	} else if (*frame->source && frame->line) {
		say(&t,
			*frame->source == '/'
				? "source file not found: it is not at this place on this machine"
				: "source file not found: start memtui in the directory where the "
				  "program was built");
	} else if (!*frame->module) {
		say(&t,
			"no module at this address: generated code, or a library that was "
			"unloaded");
	} else {
		bool named = *frame->raw_function;

		snprintf(line, sizeof line, "%s %s: %s", name,
			named ? "has no debug information"
			      : "is stripped: it has no function names and no lines",
			is_of_the_system(frame->module)
				? "install its -dbgsym package"
				: "build it with -g, and without -s or strip");
		put(&t, line);
		if (is_of_the_system(frame->module)) {
			snprintf(line, sizeof line, "'dpkg -S %s' names the package",
				frame->module);
			put(&t, line);
		}
		say_caller(&t, frame);
	}
	snprintf(line, sizeof line, "%s +0x%lx", frame->module, (unsigned long)frame->offset);
	put(&t, line);
	return t.row;
}

/* What fits of it: the block count goes first, then the total, then since when. */
static void put_suspect(char *out, size_t len, int width, const char *head, const char *parts[4],
	const char *tail)
{
	for (int count = 4; count >= 0; count--) {
		size_t used = (size_t)snprintf(out, len, "%s", head);

		for (int i = 0; i < count && used < len; i++)
			used += (size_t)snprintf(out + used, len - used, "%s", parts[i]);
		if (used < len)
			snprintf(out + used, len - used, "   %s", tail);
		if (mt_text_width(out) <= width)
			return;
	}
}

/* How it grows, or until when it did: rounded, so that the line of an idle program seldom
 * changes. */
static void say_growth(const struct mt_data *d, char *how, char *when, size_t len)
{
	const struct mt_suspect *s = &d->suspect;
	uint64_t minutes = (d->whole->info.wall_ns - s->grew_ns + 30000000000u) / 60000000000u;
	char number[MT_NUMBER_LEN];
	struct mt_rank rank;

	*when = '\0';
	if (!s->grows) {
		snprintf(how, len, minutes < 60 ? "  grew until %llum %s" : "  grew until %lluh %s",
			(unsigned long long)(minutes < 60 ? minutes + !minutes : minutes / 60),
			d->live ? "ago" : "before the end");
		return;
	}
	mt_data_rank(d, s->group - 1, &rank);
	mt_number_size(number, rank.slope > 0 ? (uint64_t)(rank.slope + 0.5) : 0);
	snprintf(how, len, "  grows %s/s", number);
	if (rank.span_ns >= 1000000000u && rank.span_ns < 60000000000u)
		snprintf(number, sizeof number, "%us", (unsigned)(rank.span_ns / 1000000000u));
	else
		mt_number_time(number, rank.span_ns);
	snprintf(when, len, d->live ? " for %s" : " over %s", number);
}

bool mt_guidance_suspect(struct mt_app *app, char *out, size_t len, int width)
{
	struct mt_data *d = &app->data;
	struct mt_backtrace backtrace = {0};
	const struct mt_backtrace_frame *frame;
	char key[16], live[17], blocks[17], head[600], parts[4][64], tail[40],
		source[300] = "", place[512];
	uint32_t id = d->suspect.group - 1;

	if (!d->suspect.group || id >= d->profile.group_count)
		return false;
	mt_backtrace_get(&backtrace, &d->profile, d->symbols, id);
	frame = mt_backtrace_own(&backtrace);
	if (frame)
		mt_frame_source(source, sizeof source, frame, false);
	char *name = mt_fit_name(frame ? mt_frame_function(place, sizeof place, frame) : "a group",
		width / 3, mt_screen_utf8(app->screen), false);

	snprintf(head, sizeof head, "%s %s  %s",
		mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_GROWING), name, source);
	free(name);
	mt_backtrace_free(&backtrace);
	say_growth(d, parts[0], parts[1], sizeof *parts);
	mt_data_metric(live, d, &d->profile.groups[id], MT_METRIC_LEAKED_SIZE);
	mt_data_metric(blocks, d, &d->profile.groups[id], MT_METRIC_LEAKED_COUNT);
	snprintf(parts[2], sizeof *parts, ", %s %s", live,
		mt_info_knows_leaks(&d->whole->info) ? "leaked" : "live");
	snprintf(parts[3], sizeof *parts, " in %s %s", blocks, MT_PLURAL(blocks, "block"));
	mt_action_key(d->sort == MT_METRIC_SUSPECT ? MT_ACTION_OPEN : MT_ACTION_SUSPECTS, key);
	snprintf(tail, sizeof tail, "%s shows why", key);
	put_suspect(out, len, width, head,
		(const char *[4]){parts[0], parts[1], parts[2], parts[3]}, tail);
	return true;
}

/* ---- a wrapper that nobody has told of ---- */

#define LINES_LEAST 6 /* fewer say nothing of a program */
#define PART_LEAST 3  /* a program has several: for malloc, calloc, realloc */
/* One that few call is a place like others; where names are stripped, a part of a wrapper may have
 * two callers. */
#define CALLERS_LEAST 3

/* A container allocates for the function that uses it, and a function of C++ that calls new may
 * have one inlined; but not where its callers give it a size. */
static bool passes_on(const struct mt_backtrace *b, const struct mt_backtrace_frame *own,
	unsigned family)
{
	const char *given = strchr(own->function, '(');

	for (const struct mt_backtrace_frame *f = b->frames; f < own; f++)
		if (f->judged != MT_JUDGED_WRAPPER && strstr(f->function, "::"))
			return false;
	return (family != MT_FAMILY_NEW && family != MT_FAMILY_NEW_ARRAY)
		|| (given && strstr(given, "unsigned "));
}

void mt_guidance_line(struct mt_guidance_lines *lines, const struct mt_profile *p, uint32_t group,
	const struct mt_backtrace *b, const struct mt_backtrace_frame *own)
{
	const struct mt_backtrace_frame *caller =
		own && own + 1 < b->frames + b->count ? own + 1 : NULL;

	/* what calls itself passes on to more than malloc */
	if (!own || own->judged == MT_JUDGED_WRAPPER || lines->count == MT_GUIDANCE_LINES
		|| (caller && !strcmp(caller->function, own->function)))
		return;
	uint32_t at = lines->count++;

	lines->line[at].function =
		passes_on(b, own,
			mt_profile_function(p, mt_profile_group_function(p, group))->family)
		? own->function
		: NULL;
	lines->line[at].site = *own->source && own->line ? own->line : own->pc;
	lines->line[at].caller = caller ? caller->pc : 0;
	lines->line[at].least = p->groups[group].min_size;
	lines->line[at].most = p->groups[group].max_size;
}

static bool same_function(const struct mt_guidance_lines *lines, uint32_t a, uint32_t b)
{
	return lines->line[a].function && lines->line[b].function
		&& !strcmp(lines->line[a].function, lines->line[b].function);
}

/* How many lines name the function of this one. */
static uint32_t alike(const struct mt_guidance_lines *lines, uint32_t with)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < lines->count; i++)
		count += same_function(lines, i, with);
	return count;
}

/* How many different callers its place in the function has, as far as it matters; 0 where all get
 * the same size, as of a thing that the function makes. */
static uint32_t callers(const struct mt_guidance_lines *lines, uint32_t with)
{
	uint32_t count = 0, seen[CALLERS_LEAST];
	bool differ = false;

	for (uint32_t i = 0; i < lines->count; i++) {
		uint32_t known = 0;

		if (!same_function(lines, i, with) || lines->line[i].site != lines->line[with].site)
			continue;
		differ |= lines->line[i].least != lines->line[with].most
			|| lines->line[i].most != lines->line[with].least;
		while (known < count && seen[known] != lines->line[i].caller)
			known++;
		if (known == count && count < CALLERS_LEAST)
			seen[count++] = lines->line[i].caller;
	}
	return differ ? count : 0;
}

void mt_guidance_lines_seen(struct mt_app *app, const struct mt_guidance_lines *lines)
{
	uint32_t most = 0, at = 0;

	app->wrapper[0] = '\0';
	if (lines->count < LINES_LEAST || mt_data_busy(&app->data))
		return;
	for (uint32_t i = 0; i < lines->count; i++) {
		uint32_t count = alike(lines, i);

		if (count > most
			&& callers(lines, i) >= (mt_frame_is_place(lines->line[i].function)
					   ? CALLERS_LEAST - 1
					   : CALLERS_LEAST)) {
			most = count;
			at = i;
		}
	}
	if (most * PART_LEAST >= lines->count)
		snprintf(app->wrapper, sizeof app->wrapper, "%s", lines->line[at].function);
}

/* As a regular expression that matches it alone, beside those of the setting. */
static void wrapper_setting(const struct mt_app *app, struct mt_buffer *out)
{
	const char *old = app->config->value[MT_SETTING_WRAPPER];

	mt_buffer_printf(out, "%s%s^", old, *old ? "|" : "");
	for (const char *c = app->wrapper; *c; c++)
		mt_buffer_printf(out, strchr("\\^$.[]|()?*+{}", *c) ? "\\%c" : "%c", *c);
	mt_buffer_add(out, "$", sizeof "$");
}

/* Where many lines name it: which key tells more. */
static void ask_of_lines(const struct mt_app *app, char *out, size_t len, int width)
{
	char key[16];

	mt_action_key(MT_ACTION_OPEN, key);
	snprintf(out, len, "many lines name %s; is it a wrapper of malloc? %s tells more",
		app->wrapper, key);
	if (mt_text_width(out) > width)
		snprintf(out, len, "is %s a wrapper of malloc? %s tells more", app->wrapper, key);
}

/* Where one group is shown: what the setting would be. Nothing for a group of another function. */
static void ask_of_group(const struct mt_app *app, char *out, size_t len, int width)
{
	const struct mt_backtrace_frame *own = mt_backtrace_own(&app->detail.backtrace);
	struct mt_buffer setting = {0};
	char key[16];

	if (!own || strcmp(own->function, app->wrapper) != 0)
		return;
	mt_action_key(MT_ACTION_SETUP, key);
	wrapper_setting(app, &setting);
	snprintf(out, len, "if it only wraps malloc, list its callers: %s, wrapper = %s", key,
		(char *)setting.data);
	if (mt_text_width(out) > width)
		snprintf(out, len, "a wrapper? %s, wrapper = %s", key, (char *)setting.data);
	mt_buffer_free(&setting);
}

bool mt_guidance_wrapper(struct mt_app *app, char *out, size_t len, int width)
{
	*out = '\0';
	if (!*app->wrapper)
		return false;
	if (app->view == MT_VIEW_MAIN || app->view == MT_VIEW_GROUPS)
		ask_of_lines(app, out, len, width);
	else if (app->view == MT_VIEW_DETAIL)
		ask_of_group(app, out, len, width);
	return *out && mt_text_width(out) <= width;
}
