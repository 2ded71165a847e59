#include "core/export/journal.h"

#include "core/base/text.h"
#include "core/export/blind.h"
#include "core/export/losses.h"
#include "core/export/number.h"
#include "core/export/oom.h"
#include "core/query/frame.h"

#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

const char *mt_journal_tag(enum mt_journal_kind kind)
{
	static const char *const tags[] = {
#define X(id, tag) tag,
		MT_JOURNAL_KINDS(X)
#undef X
	};

	return kind < MT_JOURNAL_KIND_COUNT ? tags[kind] : "?";
}

/* ---- lines ---- */

static void add(struct mt_journal *j, enum mt_journal_kind kind, enum mt_journal_time time,
	uint64_t time_ns, uint32_t index)
{
	MT_GROW(j->lines, j->count, j->capacity);
	j->lines[j->count++] =
		(struct mt_journal_line){time_ns, index, (uint8_t)kind, (uint8_t)time};
}

/* When each module was first seen in the stack of an allocation; UINT64_MAX: never. */
static uint64_t *first_seen(const struct mt_profile *p)
{
	uint64_t *nodes = mt_resize(NULL, ((size_t)p->node_count + 1) * sizeof *nodes);
	uint64_t *modules = mt_resize(NULL, ((size_t)p->module_count + 1) * sizeof *modules);

	memset(nodes, 0xff, ((size_t)p->node_count + 1) * sizeof *nodes);
	memset(modules, 0xff, ((size_t)p->module_count + 1) * sizeof *modules);
	for (uint32_t i = 0; i < p->group_count; i++)
		if (p->groups[i].first_ns < nodes[p->groups[i].node])
			nodes[p->groups[i].node] = p->groups[i].first_ns;
	for (uint32_t i = p->node_count; i-- > 1;) {
		const struct mt_node *n = &p->nodes[i];
		uint32_t module = n->pc < p->pc_count ? p->pcs[n->pc].module : MT_NO_MODULE;

		if (nodes[i] < nodes[n->parent])
			nodes[n->parent] = nodes[i];
		if (n->pc >= MT_PC_FIRST && module < p->module_count && nodes[i] < modules[module])
			modules[module] = nodes[i];
	}
	free(nodes);
	return modules;
}

static int by_time(const void *a, const void *b)
{
	const struct mt_journal_line *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* In the order of when they were seen. */
static struct mt_journal_line *modules_of(const struct mt_profile *p)
{
	struct mt_journal_line *lines = mt_alloc(((size_t)p->module_count + 1) * sizeof *lines);
	uint64_t *seen = first_seen(p);

	for (uint32_t i = 0; i < p->module_count; i++)
		lines[i] = (struct mt_journal_line){seen[i] == UINT64_MAX ? 0 : seen[i], i,
			MT_JOURNAL_MODULE,
			seen[i] == UINT64_MAX ? MT_JOURNAL_UNSEEN : MT_JOURNAL_BY_THEN};
	qsort(lines, p->module_count, sizeof *lines, by_time);
	free(seen);
	return lines;
}

/* The log is in order by itself, and may be long. */
static void add_timed(struct mt_journal *j, const struct mt_profile *p)
{
	static const enum mt_journal_kind kinds[MT_LOG_TYPES] = {
		[MT_LOG_CALL] = MT_JOURNAL_CALL,
		[MT_LOG_MARKER] = MT_JOURNAL_MARKER,
		[MT_LOG_PAUSE] = MT_JOURNAL_PAUSE,
		[MT_LOG_RESUME] = MT_JOURNAL_RESUME,
		[MT_LOG_GAP] = MT_JOURNAL_GAP,
		[MT_LOG_LIMIT] = MT_JOURNAL_LIMIT,
	};
	struct mt_journal_line *modules = modules_of(p);
	uint32_t next = 0;

	for (uint32_t i = 0; i <= p->log_count; i++) {
		for (; next < p->module_count
			&& (i == p->log_count || modules[next].time_ns <= p->log[i].time_ns);
			next++)
			add(j, MT_JOURNAL_MODULE, modules[next].time, modules[next].time_ns,
				modules[next].index);
		if (i < p->log_count && p->log[i].type < MT_LOG_TYPES && kinds[p->log[i].type])
			add(j, kinds[p->log[i].type], MT_JOURNAL_EXACT, p->log[i].time_ns, i);
	}
	free(modules);
}

enum warning { WARNING_HISTORY, WARNING_NO_END, WARNING_DAMAGE };

void mt_journal_make(struct mt_journal *j, const struct mt_profile *p, const char *damage)
{
	const struct mt_info *info = &p->info;
	uint32_t lost = 0;

	j->count = 0;
	add(j, MT_JOURNAL_BEGIN, MT_JOURNAL_EXACT, 0, 0);
	add_timed(j, p);
	for (uint32_t i = 0; i < p->blind_count; i++)
		if (p->blind[i].count) {
			add(j, MT_JOURNAL_BLIND, MT_JOURNAL_SO_FAR, info->wall_ns, i);
			lost++;
		}
	for (uint32_t i = 0; i < mt_loss_count(); i++) {
		enum mt_loss_kind kind = mt_loss_kind(i);

		if (kind == MT_LOSS_NONE || !mt_loss_value(i, info))
			continue;
		add(j, kind == MT_LOSS_LOST ? MT_JOURNAL_LOSS : MT_JOURNAL_NOTE, MT_JOURNAL_SO_FAR,
			info->wall_ns, i);
		lost += kind == MT_LOSS_LOST;
	}
	if (!lost)
		add(j, MT_JOURNAL_LOSS, MT_JOURNAL_SO_FAR, info->wall_ns, MT_JOURNAL_NOTHING);
	if (info->history_from_ns)
		add(j, MT_JOURNAL_WARNING, MT_JOURNAL_SO_FAR, info->wall_ns, WARNING_HISTORY);
	if (damage)
		add(j, MT_JOURNAL_WARNING, MT_JOURNAL_SO_FAR, info->wall_ns, WARNING_DAMAGE);
	if (info->ended)
		add(j, MT_JOURNAL_END, MT_JOURNAL_EXACT, info->wall_ns, 0);
	else if (info->recorder_lost)
		add(j, MT_JOURNAL_WARNING, MT_JOURNAL_EXACT, info->wall_ns, WARNING_NO_END);
}

void mt_journal_free(struct mt_journal *j)
{
	free(j->lines);
	*j = (struct mt_journal){0};
}

/* ---- words ---- */

static void begin_text(char *out, size_t len, const struct mt_profile *p)
{
	const struct mt_info *info = &p->info;
	size_t used = info->pid ? (size_t)snprintf(out, len, "process %u", info->pid)
				: (size_t)snprintf(out, len, "the recording");

	if (used < len && info->origin == MT_ORIGIN_ATTACHED)
		used += (size_t)snprintf(out + used, len - used, " attached; " MT_BEFORE_ATTACH);
	else if (used < len && info->parent)
		used += (size_t)snprintf(out + used, len - used, " %s by %u",
			info->origin == MT_ORIGIN_FORKED ? "forked" : "started", info->parent);
	struct mt_buffer words = {0};

	for (uint32_t i = 0; i < p->argument_count; i++) {
		mt_buffer_add(&words, i ? " " : ": ", i ? 1 : 2);
		mt_text_add(&words, MT_TEXT_LINE, mt_strings_get(&p->strings, p->arguments[i]));
	}
	if (used < len)
		snprintf(out + used, len - used, "%.*s", (int)words.len,
			words.len ? (const char *)words.data : "");
	mt_buffer_free(&words);
}

enum known { KNOWN_NOT, KNOWN_PLACES, KNOWN_NAMES, KNOWN_LINES };

/* What is known of the module's frames: the most that one of them has. */
static enum known known_of(const struct mt_profile *p, const struct mt_symbols *symbols,
	uint32_t module)
{
	enum known best = KNOWN_NOT;

	for (uint32_t pc = MT_PC_FIRST; pc < p->pc_count && best < KNOWN_LINES; pc++) {
		uint32_t first;
		uint32_t count =
			p->pcs[pc].module == module ? mt_pc_frames(symbols, pc, &first) : 0;

		for (uint32_t i = 0; i < count; i++) {
			const struct mt_frame *f = &symbols->frames[first + i];
			const char *name = mt_strings_get(&symbols->strings, f->function);
			const char *plus = strrchr(name, '+');
			enum known here = f->line ? KNOWN_LINES
				: strncmp(plus ? plus + 1 : name, "0x", 2)
				? KNOWN_NAMES
				: KNOWN_PLACES;

			best = here > best ? here : best;
		}
	}
	return best;
}

/* What is known comes first, in a column of its own: paths are long. */
static void module_text(char *out, size_t len, const struct mt_profile *p,
	const struct mt_symbols *symbols, uint32_t index)
{
	static const char *const words[] = {
		[KNOWN_NOT] = "in no stack",
		[KNOWN_PLACES] = "no names",
		[KNOWN_NAMES] = "no lines",
		[KNOWN_LINES] = "with lines",
	};
	const struct mt_module *m = &p->modules[index];
	const char *path = mt_strings_get(&p->strings, m->path);
	size_t used = (size_t)snprintf(out, len, "%-11s %s", words[known_of(p, symbols, index)],
		*path ? path : "the program itself");

	if (m->epoch && used < len)
		snprintf(out + used, len - used, ", loaded after %u unload%s", m->epoch,
			m->epoch == 1 ? "" : "s");
}

const char *mt_journal_parameter(int id)
{
	static const struct {
		int id;
		const char *name;
	} names[] = {
		{M_MXFAST, "M_MXFAST"},
		{M_TRIM_THRESHOLD, "M_TRIM_THRESHOLD"},
		{M_TOP_PAD, "M_TOP_PAD"},
		{M_MMAP_THRESHOLD, "M_MMAP_THRESHOLD"},
		{M_MMAP_MAX, "M_MMAP_MAX"},
		{M_CHECK_ACTION, "M_CHECK_ACTION"},
		{M_PERTURB, "M_PERTURB"},
		{M_ARENA_TEST, "M_ARENA_TEST"},
		{M_ARENA_MAX, "M_ARENA_MAX"},
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].id == id)
			return names[i].name;
	return NULL;
}

static void call_text(char *out, size_t len, const struct mt_profile *p,
	const struct mt_log_entry *e)
{
	char number[24];
	const char *name = mt_journal_parameter((int)e->values[0]);

	if (mt_profile_log_function(p, e) == MT_FUNCTION_MALLOC_TRIM) {
		snprintf(out, len, "malloc_trim(%llu) returned %d",
			(unsigned long long)e->values[0], (int)e->values[2]);
		return;
	}
	snprintf(number, sizeof number, "%d", (int)e->values[0]);
	snprintf(out, len, "mallopt(%s, %d) returned %d", name ? name : number, (int)e->values[1],
		(int)e->values[2]);
}

static void pause_text(char *out, size_t len, const struct mt_profile *p,
	const struct mt_log_entry *e)
{
	const char *words = e->type == MT_LOG_PAUSE
		? "recording paused: new blocks are left out"
		: "recording resumed";
	const char *text = mt_strings_get(&p->strings, e->text);

	if (!e->node && !*text)
		snprintf(out, len, "%s", words);
	else
		snprintf(out, len, "%s, by the program%s%s", words, *text ? ": " : "", text);
}

static void log_text(char *out, size_t len, const struct mt_profile *p,
	const struct mt_log_entry *e)
{
	char allocations[MT_NUMBER_OF_LEN], frees[MT_NUMBER_OF_LEN], since[MT_NUMBER_LEN];

	switch (e->type) {
	case MT_LOG_CALL: call_text(out, len, p, e); break;
	case MT_LOG_PAUSE:
	case MT_LOG_RESUME: pause_text(out, len, p, e); break;
	case MT_LOG_GAP:
		mt_number_time(since, e->values[0]);
		snprintf(out, len, "%s and %s were lost since %s: the recorder could not keep up",
			mt_number_of(allocations, e->values[1], "allocation"),
			mt_number_of(frees, e->values[2], "free"), since);
		break;
	default: snprintf(out, len, "%s", mt_strings_get(&p->strings, e->text)); break;
	}
}

static void warning_text(char *out, size_t len, const struct mt_profile *p, uint32_t which,
	const char *damage)
{
	char when[MT_NUMBER_LEN];

	mt_number_time(when, p->info.history_from_ns);
	if (which == WARNING_HISTORY)
		snprintf(out, len,
			"events are available from %s on (--max-size dropped earlier ones); totals "
			"cover the whole run",
			when);
	else if (which == WARNING_DAMAGE)
		snprintf(out, len, "the trace is damaged: %s",
			damage ? damage : "it cannot be read to its end");
	else
		snprintf(out, len,
			"the trace is incomplete: it is still being recorded, or its recorder was "
			"killed");
}

static void end_text(char *out, size_t len, const struct mt_info *info)
{
	const char *name;
	char oom[MT_OOM_LEN];

	if (!info->pid) {
		snprintf(out, len, "the recording ended");
	} else if (info->stopped) {
		snprintf(out, len,
			"the recording of process %u was stopped before the program ended",
			info->pid);
	} else if (info->exit_status == -1) {
		snprintf(out, len, "the recording of process %u ended; the exit status is unknown",
			info->pid);
	} else if (WIFSIGNALED(info->exit_status)) {
		name = sigabbrev_np(WTERMSIG(info->exit_status));
		snprintf(out, len, "process %u was killed by signal %d%s%s%s%s", info->pid,
			WTERMSIG(info->exit_status), name ? ", SIG" : "", name ? name : "",
			mt_oom_words(oom, info) ? "; " : "", oom);
	} else {
		snprintf(out, len, "process %u exited with status %d", info->pid,
			WEXITSTATUS(info->exit_status));
	}
}

static void blind_text(char *out, size_t len, const struct mt_profile *p, uint32_t index)
{
	char *sentence = mt_blind_sentence(p, &p->blind[index], false);

	snprintf(out, len, "%s", sentence);
	free(sentence);
}

void mt_journal_text(char *out, size_t len, const struct mt_journal_line *line,
	const struct mt_profile *p, const struct mt_symbols *symbols, const char *damage)
{
	char loss[MT_LOSS_LEN];

	switch ((enum mt_journal_kind)line->kind) {
	case MT_JOURNAL_BEGIN: begin_text(out, len, p); break;
	case MT_JOURNAL_MODULE: module_text(out, len, p, symbols, line->index); break;
	case MT_JOURNAL_WARNING: warning_text(out, len, p, line->index, damage); break;
	case MT_JOURNAL_END: end_text(out, len, &p->info); break;
	case MT_JOURNAL_BLIND: blind_text(out, len, p, line->index); break;
	case MT_JOURNAL_NOTE:
	case MT_JOURNAL_LOSS:
		if (line->index >= mt_loss_count()) {
			snprintf(out, len, "nothing");
			break;
		}
		mt_loss_text(loss, line->index, &p->info);
		snprintf(out, len, "%s", loss);
		break;
	default: log_text(out, len, p, &p->log[line->index]); break;
	}
}

/* ---- JSON ---- */

void mt_journal_marker_json(struct mt_json *json, const struct mt_profile *p,
	const struct mt_log_entry *e)
{
	mt_json_open(json, '{');
	mt_json_put_seconds(json, "seconds", e->time_ns);
	mt_json_put_string(json, "text", mt_strings_get(&p->strings, e->text));
	mt_json_close(json, '}');
}

void mt_journal_gap_json(struct mt_json *json, const struct mt_log_entry *e)
{
	mt_json_open(json, '{');
	mt_json_put_seconds(json, "begin_seconds", e->values[0]);
	mt_json_put_seconds(json, "end_seconds", e->time_ns);
	mt_json_put_number(json, "lost_allocations", e->values[1]);
	mt_json_put_number(json, "lost_frees", e->values[2]);
	mt_json_close(json, '}');
}
