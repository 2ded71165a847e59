#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/query/pattern.h"

#include "core/base/buffer.h"

#include <errno.h>
#include <pcre2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATTERN_MAX 4096    /* bytes */
#define MATCH_LIMIT 200000u /* steps in one string: about a millisecond */
#define HEAP_LIMIT 16384u   /* KiB */
#define JIT_STACK (512 * 1024)
#define PASS_NS 2000000000ull /* for all strings of one pass */
#define CLOCK_EVERY 64u       /* matches between two looks at the clock */
/* that one look counts at most: who matches may have stood still since the last */
#define LOOK_NS 100000000ull

struct mt_pattern {
	const char *name; /* borrowed, static */
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
	uint64_t looked_ns, spent_ns;
	unsigned matches;
};

/* The processor's time: what else runs on the machine makes no pattern more expensive. */
static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- errors in words ---- */

static const char *expected_words(int code)
{
	switch (code) {
	case PCRE2_ERROR_END_BACKSLASH:
		return "a character after the backslash ('\\\\' for a backslash itself)";
	case PCRE2_ERROR_QUANTIFIER_OUT_OF_ORDER: return "the smaller number first, as in {2,5}";
	case PCRE2_ERROR_MISSING_SQUARE_BRACKET: return "']' ('\\[' for a bracket itself)";
	case PCRE2_ERROR_CLASS_RANGE_ORDER: return "the smaller character first, as in [a-z]";
	case PCRE2_ERROR_QUANTIFIER_INVALID:
		return "something to repeat before it ('\\*', "
		       "'\\+', '\\?' for the character itself)";
	case PCRE2_ERROR_MISSING_CLOSING_PARENTHESIS: return "')' ('\\(' for a parenthesis itself)";
	case PCRE2_ERROR_UNMATCHED_CLOSING_PARENTHESIS:
		return "'(' before it ('\\)' for a parenthesis itself)";
	default: return "a PCRE2 regular expression";
	}
}

/* Characters, counted from 1, where PCRE2 counts bytes from 0. */
static size_t character_at(const char *text, size_t offset)
{
	size_t characters = 1;

	for (size_t i = 0; i < offset && text[i]; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			characters++;
	return characters;
}

static void fail_syntax(struct mt_err *err, const char *name, const char *text, int code,
	size_t offset)
{
	char reason[200] = "error";
	bool printable = true;

	pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
	for (const char *c = text; *c; c++)
		printable = printable && (unsigned char)*c >= 0x20
			&& (code > 0 || (unsigned char)*c < 0x7f);
	mt_fail(err, -EINVAL, "%s: %s at character %zu of '%.100s'; expected %s", name, reason,
		character_at(text, offset), printable ? text : "(unprintable)",
		expected_words(code));
}

/* ---- compiling ---- */

/* Smart case: no capital letter outside of escapes means that case does not matter. */
static bool has_capital(const char *text)
{
	static const char capitals[] =
		"(?:\\\\[pP]\\{[^}]*+\\}|\\\\[pP]?.|\\[:\\^?\\w++:\\]|\\(\\?P|\\A\\(\\*[^)]*+\\))"
		"(*SKIP)(*FAIL)|\\p{Lu}";
	size_t offset;
	int code;
	pcre2_code *search = pcre2_compile((PCRE2_SPTR)capitals, PCRE2_ZERO_TERMINATED,
		PCRE2_UTF | PCRE2_DOTALL, &code, &offset, NULL);

	if (!search)
		return true;
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	int matched =
		pcre2_match(search, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, 0, data, NULL);

	pcre2_match_data_free(data);
	pcre2_code_free(search);
	return matched >= 0;
}

struct mt_pattern *mt_pattern_new(const char *text, const char *name, struct mt_err *err)
{
	uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
	size_t offset = 0;
	int code = 0;

	if (strlen(text) > PATTERN_MAX) {
		mt_fail(err, -EINVAL, "%s: the pattern has %zu bytes; at most %d are allowed", name,
			strlen(text), PATTERN_MAX);
		return NULL;
	}
	if (!has_capital(text))
		options |= PCRE2_CASELESS;
	pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options,
		&code, &offset, NULL);

	if (!compiled) {
		fail_syntax(err, name, text, code, offset);
		return NULL;
	}
	struct mt_pattern *pattern = mt_alloc(sizeof *pattern);

	pattern->name = name;
	pattern->code = compiled;
	pattern->data = pcre2_match_data_create(1, NULL);
	pattern->context = pcre2_match_context_create(NULL);
	pcre2_set_match_limit(pattern->context, MATCH_LIMIT);
	pcre2_set_heap_limit(pattern->context, HEAP_LIMIT);
	/* Without JIT (not built in, or no executable memory) the interpreter matches the same,
	 * slower. */
	if (!pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE)) {
		pattern->stack = pcre2_jit_stack_create(32 * 1024, JIT_STACK, NULL);
		pcre2_jit_stack_assign(pattern->context, NULL, pattern->stack);
	}
	mt_pattern_begin(pattern);
	return pattern;
}

void mt_pattern_free(struct mt_pattern *pattern)
{
	if (!pattern)
		return;
	pcre2_jit_stack_free(pattern->stack);
	pcre2_match_context_free(pattern->context);
	pcre2_match_data_free(pattern->data);
	pcre2_code_free(pattern->code);
	free(pattern);
}

/* ---- matching ---- */

void mt_pattern_begin(struct mt_pattern *pattern)
{
	pattern->looked_ns = now_ns();
	pattern->spent_ns = 0;
	pattern->matches = 0;
}

/* Another thread than began may match, whose clock is another: that look counts like any. */
static bool takes_too_long(struct mt_pattern *pattern)
{
	uint64_t now = now_ns(), passed = now - pattern->looked_ns;

	pattern->looked_ns = now;
	pattern->spent_ns += passed < LOOK_NS ? passed : LOOK_NS;
	return pattern->spent_ns > PASS_NS;
}

int mt_pattern_match(struct mt_pattern *pattern, const char *text, struct mt_err *err)
{
	if (++pattern->matches % CLOCK_EVERY == 0 && takes_too_long(pattern))
		return mt_fail(err, -ETIME,
			"%s: matching all names takes more than %d seconds; use a simpler pattern",
			pattern->name, (int)(PASS_NS / 1000000000u));
	int status = pcre2_match(pattern->code, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, 0,
		pattern->data, pattern->context);

	if (status >= 0)
		return 1;
	if (status == PCRE2_ERROR_NOMATCH)
		return 0;
	return mt_fail(err, -ELOOP,
		"%s: the pattern backtracks too often in '%.60s'; avoid repetitions inside "
		"repetitions",
		pattern->name, text);
}
