/* The two syntaxes of suppression files. What is no rule is noted and skipped. */
#include "core/query/suppress_rules.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX (64u << 20)
#define SHOWN 60 /* characters of a line in an error */

struct parser {
	struct mt_suppressions *rules;
	const char *source;
	const char *at, *end;        /* what is left */
	const char *line, *line_end; /* the present line, without blanks around it */
	const char *begin;           /* of the present line, with them */
	uint32_t number;             /* of the present line, from 1 */
	struct mt_err *err;
};

static int bad(const struct parser *p, const char *at, const char *expected)
{
	size_t len = (size_t)(p->line_end - p->line);
	char text[SHOWN + 1];

	snprintf(text, sizeof text, "%.*s", (int)(len < SHOWN ? len : SHOWN), p->line);
	return mt_fail(p->err, -EINVAL, "%.200s:%u:%u: invalid rule '%s'; expected %s", p->source,
		p->number, (unsigned)(at - p->begin) + 1, text, expected);
}

static int bad_end(const struct parser *p, const char *expected)
{
	return mt_fail(p->err, -EINVAL, "%.200s:%u:1: the file ends within a rule; expected %s",
		p->source, p->number + 1, expected);
}

/* The next line that is neither empty nor a comment. 1: there is one, 0: the end, negative: an
 * error. */
static int next_line(struct parser *p)
{
	while (p->at < p->end) {
		const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));

		p->begin = p->line = p->at;
		p->line_end = newline ? newline : p->end;
		p->at = newline ? newline + 1 : p->end;
		p->number++;
		while (p->line < p->line_end && isspace((unsigned char)*p->line))
			p->line++;
		while (p->line_end > p->line && isspace((unsigned char)p->line_end[-1]))
			p->line_end--;
		if (p->line == p->line_end || *p->line == '#')
			continue;
		const char *nul = memchr(p->line, 0, (size_t)(p->line_end - p->line));

		return nul ? bad(p, nul, "text without zero bytes") : 1;
	}
	return 0;
}

static bool line_is(const struct parser *p, const char *text)
{
	return (size_t)(p->line_end - p->line) == strlen(text)
		&& !memcmp(p->line, text, strlen(text));
}

static bool line_begins(const struct parser *p, const char *text)
{
	return (size_t)(p->line_end - p->line) >= strlen(text)
		&& !memcmp(p->line, text, strlen(text));
}

static char *copy(const char *begin, const char *end)
{
	return mt_format("%.*s", (int)(end - begin), begin);
}

static struct mt_suppress_rule *add_rule(struct parser *p)
{
	struct mt_suppressions *s = p->rules;

	MT_GROW(s->rules, s->count, s->capacity);
	struct mt_suppress_rule *rule = &s->rules[s->count++];

	*rule = (struct mt_suppress_rule){
		.shown = {
			.text = copy(p->line, p->line_end),
			.source = mt_strdup(p->source),
			.line = p->number,
		}};
	return rule;
}

/* ---- LeakSanitizer ---- */

static int parse_lsan(struct parser *p)
{
	const char *pattern = p->line + strlen("leak:");

	if (!line_begins(p, "leak:"))
		return bad(p, p->line,
			"'leak:' and a pattern, '{' and a rule of valgrind's, or '#' and a "
			"comment");
	if (pattern == p->line_end)
		return bad(p, pattern,
			"a pattern after 'leak:'; an empty one would match everything");
	add_rule(p)->pattern = copy(pattern, p->line_end);
	return 1;
}

/* ---- valgrind ---- */

/* Whether a list such as "Memcheck,Addrcheck" names the tool. */
static bool names_tool(const char *list, const char *end, const char *tool)
{
	size_t len = strlen(tool);

	while (list < end) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		const char *next = comma ? comma : end;

		if ((size_t)(next - list) == len && !memcmp(list, tool, len))
			return true;
		list = next + (comma != NULL);
	}
	return false;
}

/* What is left of a block of another tool or another kind. */
static int skip_block(struct parser *p)
{
	int status;

	while ((status = next_line(p)) > 0)
		if (line_is(p, "}"))
			return 1;
	return status ? status : bad_end(p, "'}'");
}

/* memtui gives no verdict on whether a block can be reached still: any kind but none will do. */
static int parse_kinds(struct parser *p, struct mt_suppress_rule *rule)
{
	static const char *const names[] = {"reachable", "possible", "indirect", "definite", "all",
		"none"};
	const size_t NAMES = sizeof names / sizeof *names;
	const char *at = p->line + strlen("match-leak-kinds:");
	uint32_t kinds = 0;

	while (at < p->line_end) {
		while (at < p->line_end && (isspace((unsigned char)*at) || *at == ','))
			at++;
		const char *end = at;
		size_t i = 0;

		while (end < p->line_end && *end != ',' && !isspace((unsigned char)*end))
			end++;
		while (i < NAMES
			&& (strlen(names[i]) != (size_t)(end - at)
				|| memcmp(names[i], at, strlen(names[i]))))
			i++;
		if (i == NAMES)
			break;
		kinds |= 1u << i;
		at = end;
	}
	if (at < p->line_end || !kinds)
		return bad(p, at,
			"some of definite, possible, indirect, reachable, or all, or none");
	rule->never = kinds == 1u << 5;
	return 1;
}

/* "src:a.c:12": the line is matched too. */
static void split_source(struct mt_suppress_frame *frame)
{
	char *colon = strrchr(frame->pattern, ':');

	if (!colon || !isdigit((unsigned char)colon[1])
		|| colon[1 + strspn(colon + 1, "0123456789")])
		return;
	frame->line = strtoull(colon + 1, NULL, 10);
	*colon = 0;
}

static int parse_frame(struct parser *p, struct mt_suppress_rule *rule)
{
	static const struct {
		const char *prefix;
		enum mt_suppress_what what;
	} kinds[] = {
		{"fun:", MT_SUPPRESS_FUNCTION},
		{"obj:", MT_SUPPRESS_OBJECT},
		{"src:", MT_SUPPRESS_SOURCE},
	};
	struct mt_suppress_frame frame = {.what = MT_SUPPRESS_ANY_FRAMES};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (line_begins(p, kinds[i].prefix)) {
			frame.what = kinds[i].what;
			frame.pattern = copy(p->line + strlen(kinds[i].prefix), p->line_end);
		}
	if (!frame.pattern && !line_is(p, "..."))
		return bad(p, p->line,
			"a frame: 'fun:', 'obj:' or 'src:' with a pattern, '...', or '}'");
	if (frame.what == MT_SUPPRESS_FUNCTION) /* versions of symbols do not matter */
		frame.pattern[strcspn(frame.pattern, "@")] = 0;
	if (frame.what == MT_SUPPRESS_SOURCE)
		split_source(&frame);
	MT_GROW(rule->frames, rule->frame_count, rule->frame_capacity);
	rule->frames[rule->frame_count++] = frame;
	return 1;
}

static int parse_frames(struct parser *p, struct mt_suppress_rule *rule)
{
	int status, some = 0;

	while ((status = next_line(p)) > 0) {
		if (line_is(p, "}"))
			return some ? 1
				    : bad(p, p->line,
					    "a line with 'fun:', 'obj:' or 'src:' before it, since "
					    "'...' alone matches everything");
		bool kinds = !rule->frame_count && line_begins(p, "match-leak-kinds:");

		status = kinds ? parse_kinds(p, rule) : parse_frame(p, rule);
		if (status < 0)
			return status;
		some += rule->frame_count && rule->frames[rule->frame_count - 1].pattern;
	}
	return status ? status : bad_end(p, "a frame or '}'");
}

static int parse_block(struct parser *p)
{
	const char *colon;
	int status;

	status = next_line(p);
	if (status > 0 && line_is(p, "}"))
		return bad(p, p->line, "a name for the rule");
	if (status <= 0)
		return status ? status : bad_end(p, "a name for the rule");
	struct mt_suppress_rule *rule = add_rule(p);

	status = next_line(p);
	if (status <= 0)
		return status ? status
			      : bad_end(p, "'Memcheck:Leak', or another tool's 'TOOL:KIND'");
	colon = memchr(p->line, ':', (size_t)(p->line_end - p->line));
	if (!colon)
		return bad(p, p->line, "'Memcheck:Leak', or another tool's 'TOOL:KIND'");
	if (names_tool(p->line, colon, "Memcheck") && p->line_end - colon == strlen(":Leak")
		&& !memcmp(colon, ":Leak", 5))
		return parse_frames(p, rule);
	mt_suppress_rule_free(rule);
	p->rules->count--;
	return skip_block(p);
}

/* ---- either ---- */

static void drop_rules(struct mt_suppressions *s, uint32_t count)
{
	while (s->count > count)
		mt_suppress_rule_free(&s->rules[--s->count]);
}

static void note_fault(struct mt_suppressions *s, const struct mt_err *fault)
{
	if (s->fault_count < MT_SUPPRESS_FAULTS)
		s->faults[s->fault_count] = mt_strdup(fault->text);
	s->fault_count++;
}

static void drop_faults(struct mt_suppressions *s, uint32_t count)
{
	for (; s->fault_count > count; s->fault_count--)
		if (s->fault_count <= MT_SUPPRESS_FAULTS)
			free(s->faults[s->fault_count - 1]);
}

/* What is left of a block with a fault in the present line. The next block is not part of it, also
 * if the present one has no end. */
static void skip_faulty_block(struct parser *p)
{
	while (p->at < p->end && !line_is(p, "}")) {
		if (line_is(p, "{")) {
			p->at = p->begin;
			p->number--;
			return;
		}
		next_line(p);
	}
}

int mt_suppressions_parse(struct mt_suppressions *s, const char *text, size_t len,
	const char *source, struct mt_err *err)
{
	struct mt_err fault = {0}, first = {0};
	struct parser p =
		{.rules = s, .source = source, .at = text, .end = text + len, .err = &fault};
	uint32_t before = s->count, faults_before = s->fault_count;
	int status;

	for (;;) {
		uint32_t rules = s->count;

		status = next_line(&p);
		bool block = status > 0 && line_is(&p, "{");

		if (status > 0)
			status = block ? parse_block(&p) : parse_lsan(&p);
		if (!status)
			break;
		if (status > 0)
			continue;
		drop_rules(s, rules);
		note_fault(s, &fault);
		if (!first.code)
			first = fault;
		if (block)
			skip_faulty_block(&p);
	}
	if (!first.code || s->count > before)
		return 0;
	drop_faults(s, faults_before);
	if (err)
		*err = first;
	return first.code;
}

uint32_t mt_suppressions_fault_count(const struct mt_suppressions *s)
{
	return s->fault_count;
}

const char *mt_suppressions_fault(const struct mt_suppressions *s, uint32_t i)
{
	return i < s->fault_count && i < MT_SUPPRESS_FAULTS ? s->faults[i] : NULL;
}

int mt_suppressions_read(struct mt_suppressions *s, const char *path, struct mt_err *err)
{
	FILE *in = fopen(path, "re");
	struct mt_buffer text = {0};
	struct stat is;
	int status = 0;

	if (!in)
		return mt_fail(err, -errno, "cannot open the suppressions %s: %s", path,
			strerror(errno));
	if (!fstat(fileno(in), &is) && S_ISDIR(is.st_mode))
		status = mt_fail(err, -EISDIR, "%s: is a directory; give a file with suppressions",
			path);
	while (status >= 0 && !feof(in) && !ferror(in) && text.len <= FILE_MAX) {
		mt_buffer_reserve(&text, 1u << 16);
		text.len += fread(text.data + text.len, 1, 1u << 16, in);
	}
	if (status >= 0 && ferror(in))
		status = mt_fail(err, -EIO, "cannot read the suppressions %s: %s", path,
			strerror(errno));
	else if (status >= 0 && text.len > FILE_MAX)
		status = mt_fail(err, -EFBIG,
			"%s: larger than 64 MiB; give a file with suppressions", path);
	fclose(in);
	if (status >= 0)
		status = mt_suppressions_parse(s, (const char *)text.data, text.len, path, err);
	mt_buffer_free(&text);
	return status;
}
