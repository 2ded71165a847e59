#include "tui/command/options.h"

#include "core/base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 64

static const char *option_name_at(const void *context, int i)
{
	return ((const struct mt_option *)context)[i].name;
}

/* ---- values ---- */

void mt_option_name(char *out, size_t size, const struct mt_option *option)
{
	snprintf(out, size, "%s", option->name);
	for (; *out; out++)
		if (*out == '_')
			*out = '-';
}

char *mt_option_words(const struct mt_option *option)
{
	const char *dots = option->kind == MT_OPTION_NUMBER && option->choices
		? strstr(option->choices, "..")
		: NULL;

	return dots ? mt_format("%s; from %.*s to %s", option->words, (int)(dots - option->choices),
		       option->choices, dots + 2)
		    : mt_strdup(option->words);
}

int mt_options_time(uint64_t *ns, const char *text)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"m", 60e9}, {"h", 3600e9},
		{"d", 86400e9}};
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	double value = strtod(text, &end);

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].name) && value * units[i].ns < 1e18) {
			*ns = (uint64_t)(value * units[i].ns);
			return 0;
		}
	return -EINVAL;
}

/* Bytes, with K, M, G or T for powers of 1024. */
static int parse_size(uint64_t *bytes, const char *text)
{
	static const char units[] = "kmgt";
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	double value = strtod(text, &end);
	const char *unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;

	if (unit) {
		value *= (double)(1ull << 10 * (unit - units + 1));
		end++;
	}
	if (*end || value > 1e18)
		return -EINVAL;
	*bytes = (uint64_t)value;
	return 0;
}

static int parse_number(uint64_t *number, const char *text)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno || *end ? -EINVAL : 0;
}

/* Whether a number lies in "least..most". */
static bool in_range(uint64_t number, const char *range)
{
	char *end;
	uint64_t least = strtoull(range, &end, 10);

	return number >= least && number <= strtoull(end + strlen(".."), NULL, 10);
}

int mt_options_metric(enum mt_metric *metric, const struct mt_profile *profile, const char *text,
	struct mt_err *err)
{
	const char *near[3] = {"", "", ""}, *nearest;
	char name[NAME_MAX_LEN];
	int found;

	snprintf(name, sizeof name, "%s", text);
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
	found = mt_metric_find(profile, name);
	if (found >= 0) {
		*metric = (enum mt_metric)found;
		return 0;
	}
	nearest = mt_nearest(name, mt_metric_name_at, profile);
	if (nearest)
		return mt_fail(err, -EBADRQC, "unknown metric '%.60s'; did you mean '%s'?", text,
			nearest);
	mt_nearest_names(name, mt_metric_name_at, profile, near, 3);
	return mt_fail(err, -EBADRQC,
		"unknown metric '%.60s'; nearest are '%s', '%s' and '%s' ('memtui help "
		"metrics' lists all)",
		text, near[0], near[1], near[2]);
}

static void parse_sort(struct mt_arguments *arguments, const char *text)
{
	bool matched = !strncmp(text, "only_matched.", 13) || !strncmp(text, "only-matched.", 13);
	const char *name = text + (matched ? 13 : strncmp(text, "all.", 4) ? 0 : 4);

	arguments->sort_name =
		mt_options_metric(&arguments->sort, NULL, name, NULL) < 0 ? name : NULL;
	arguments->sort_matched = matched;
}

static const char *kind_name_at(const void *context, int i)
{
	(void)context;
	return mt_export_kind_at(i) ? mt_export_kind_at(i)->name : NULL;
}

static int parse_kind(const struct mt_export_kind **kind, const char *text, struct mt_err *err)
{
	const char *nearest = mt_nearest(text, kind_name_at, NULL);

	*kind = mt_export_kind_find(text);
	if (*kind)
		return 0;
	return mt_fail(err, -EINVAL, "unknown export format '%.60s'; %s%s%s", text,
		nearest ? "did you mean '" : "expected one of ",
		nearest ? nearest : MT_EXPORT_CHOICES, nearest ? "'?" : "");
}

/* Whether text is one of "a|b|c"; returns its number or -1. */
static int find_choice(const char *choices, const char *text)
{
	size_t len = strlen(text);

	for (int i = 0; choices; i++) {
		const char *bar = strchr(choices, '|');
		size_t choice_len = bar ? (size_t)(bar - choices) : strlen(choices);

		if (choice_len == len && !strncmp(choices, text, len))
			return i;
		choices = bar ? bar + 1 : NULL;
	}
	return -1;
}

static int bad_value(struct mt_err *err, const struct mt_option *option, const char *value,
	const char *expected)
{
	char name[NAME_MAX_LEN];

	mt_option_name(name, sizeof name, option);
	return mt_fail(err, -EINVAL, "--%s: invalid value '%.80s'; expected %s", name, value,
		expected);
}

static int set_choice(void *place, const struct mt_option *option, const char *value,
	struct mt_err *err)
{
	int choice = find_choice(option->choices, value);

	if (choice < 0)
		return bad_value(err, option, value, option->choices);
	if (option->kind == MT_OPTION_ORDER)
		*(bool *)place = choice == 0;
	else if (option->kind == MT_OPTION_FORMAT)
		*(enum mt_format *)place = (enum mt_format)find_choice(MT_FORMATS, value);
	else
		*(const char **)place = value;
	return 0;
}

static int set_number(uint64_t *place, const struct mt_option *option, const char *value,
	struct mt_err *err)
{
	const char *dots = option->choices ? strstr(option->choices, "..") : NULL;
	char expected[80] = "a whole number";

	if (dots)
		snprintf(expected, sizeof expected, "a whole number from %.*s to %s",
			(int)(dots - option->choices), option->choices, dots + 2);
	if (parse_number(place, value) < 0 || (dots && !in_range(*place, option->choices)))
		return bad_value(err, option, value, expected);
	return 0;
}

/* The filter's field that an option of text sets; -1: none. */
static int field_of(const struct mt_option *option)
{
	size_t first = MT_OPTION_AT(fields), size = sizeof(const char *);

	return option->place >= first && option->place < first + MT_FILTER_COUNT * size
		? (int)((option->place - first) / size)
		: -1;
}

static int set_text(struct mt_arguments *arguments, const struct mt_option *option,
	const char *value, struct mt_err *err)
{
	const char **place = (const char **)((char *)arguments + option->place);
	int field = field_of(option);

	if (field < 0 || !*place) {
		*place = value;
		return 0;
	}
	if (arguments->again_count == MT_TEXTS_MAX)
		return bad_value(err, option, value, "at most 32 repeated filters");
	arguments->again[arguments->again_count++] =
		(struct mt_field_text){(enum mt_filter_field)field, value};
	return 0;
}

/* What is given where text is wanted, but none: a filter's field with an example. */
static int no_text(const struct mt_option *option, const char *value, struct mt_err *err)
{
	int field = field_of(option);

	return bad_value(err, option, value,
		option->choices     ? option->choices
			: field < 0 ? option->argument
				    : mt_filter_expected((enum mt_filter_field)field));
}

static int add_text(struct mt_texts *texts, const struct mt_option *option, const char *value,
	struct mt_err *err)
{
	if (!*value)
		return bad_value(err, option, value, option->argument);
	if (texts->count == MT_TEXTS_MAX)
		return bad_value(err, option, value, "at most 32 of them");
	texts->items[texts->count++] = value;
	return 0;
}

/* A number with k, M, G or T of the base; negative: it is none. */
static int parse_scaled(uint64_t *number, const char *text, unsigned base)
{
	static const char units[] = "kmgt";
	char *end;
	const char *unit;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	double value = strtod(text, &end);

	if (strspn(text, "0123456789") == (size_t)(end - text) && !*end)
		return parse_number(number, text);
	if (*end && (unit = strchr(units, *end | 0x20))) {
		for (; unit >= units; unit--)
			value *= base;
		end++;
	}
	if (*end || !(value < 1e19))
		return -EINVAL;
	*number = (uint64_t)value;
	return 0;
}

static int set_limit(struct mt_limit *limit, const struct mt_option *option, const char *value,
	struct mt_err *err)
{
	bool size = option->kind == MT_OPTION_LIMIT_SIZE;

	if (parse_scaled(&limit->value, value, size ? 1024 : 1000) < 0)
		return bad_value(err, option, value,
			size ? "a size such as 4096, 64k or 1.5M"
			     : "a number such as 0, 100 or 10k");
	limit->given = true;
	return 0;
}

static int set_percent(struct mt_percent *percent, const struct mt_option *option,
	const char *value, struct mt_err *err)
{
	char *end;

	percent->value = strtod(value, &end);
	if (!isdigit((unsigned char)*value) || (*end && strcmp(end, "%"))
		|| !(percent->value <= 100))
		return bad_value(err, option, value, "a percentage from 0 to 100, such as 0.5");
	percent->given = true;
	return 0;
}

static int set_value(struct mt_arguments *arguments, const struct mt_option *option,
	const char *value, struct mt_err *err)
{
	void *place = (char *)arguments + option->place;

	switch (option->kind) {
	case MT_OPTION_FLAG: *(bool *)place = true; return 0;
	case MT_OPTION_TEXT:
		if (!*value)
			return no_text(option, value, err);
		return set_text(arguments, option, value, err);
	case MT_OPTION_ANY_TEXT: return set_text(arguments, option, value, err);
	case MT_OPTION_NUMBER: return set_number(place, option, value, err);
	case MT_OPTION_TIME:
		return mt_options_time(place, value)
			? bad_value(err, option, value, "a time such as 500ms, 10s, 2m, 1h or 7d")
			: 0;
	case MT_OPTION_SIZE:
		arguments->max_size_given |= option->place == MT_OPTION_AT(max_size);
		arguments->sample_given |= option->place == MT_OPTION_AT(sample);
		return parse_size(place, value)
			? bad_value(err, option, value, "a size such as 64M or 1G")
			: 0;
	case MT_OPTION_SORT:
		arguments->sort_given = true;
		parse_sort(arguments, value);
		return 0;
	case MT_OPTION_TEXTS: return add_text(place, option, value, err);
	case MT_OPTION_LIMIT_SIZE:
	case MT_OPTION_LIMIT_COUNT: return set_limit(place, option, value, err);
	case MT_OPTION_PERCENT: return set_percent(place, option, value, err);
	case MT_OPTION_EXPORT: return parse_kind(place, value, err);
	case MT_OPTION_CHOICE:
	case MT_OPTION_ORDER:
	case MT_OPTION_FORMAT: return set_choice(place, option, value, err);
	}
	return 0;
}

int mt_options_set(struct mt_arguments *arguments, const struct mt_option *option,
	const char *value, const char *source, struct mt_err *err)
{
	struct mt_err why = {0};
	int error = set_value(arguments, option, value, &why);

	return error ? mt_fail(err, error, "environment variable %s: %.400s", source, why.text) : 0;
}

/* ---- the command line ---- */

struct parser {
	struct mt_arguments *arguments;
	const struct mt_command *command;
	int argc, at;
	char *const *argv;
	struct mt_err *err;
};

/* 2: the same, 1: a prefix, 0: neither; '-' and '_' are one. */
static int compare_name(const char *name, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((name[i] == '_' ? '-' : name[i]) != (text[i] == '_' ? '-' : text[i]))
			return 0;
	return name[len] ? 1 : 2;
}

static int find_long(struct parser *parser, const char *text, size_t len,
	const struct mt_option **found)
{
	const struct mt_option *option = parser->command->options, *second = NULL;

	*found = NULL;
	for (; option->name; option++) {
		int match = len <= strlen(option->name) ? compare_name(option->name, text, len) : 0;

		if (match == 2) {
			*found = option;
			return 0;
		}
		if (match && len) {
			second = *found ? option : second;
			*found = *found ? *found : option;
		}
	}
	char first_name[NAME_MAX_LEN], second_name[NAME_MAX_LEN];

	if (*found && !second)
		return 0;
	if (second) {
		mt_option_name(first_name, sizeof first_name, *found);
		mt_option_name(second_name, sizeof second_name, second);
		return mt_fail(parser->err, -EINVAL, "--%.*s is ambiguous: --%s or --%s", (int)len,
			text, first_name, second_name);
	}
	char *word = mt_format("%.*s", (int)len, text);

	for (char *c = word; *c; c++)
		if (*c == '-')
			*c = '_';
	const char *nearest = mt_nearest(word, option_name_at, parser->command->options);

	snprintf(second_name, sizeof second_name, "%s", nearest ? nearest : "");
	for (char *c = second_name; *c; c++)
		if (*c == '_')
			*c = '-';
	free(word);
	if (nearest)
		return mt_fail(parser->err, -EINVAL,
			"'memtui %s' has no option --%.*s; did you mean --%s?",
			parser->command->name, (int)(len < 60 ? len : 60), text, second_name);
	return mt_fail(parser->err, -EINVAL,
		"'memtui %s' has no option --%.*s; 'memtui %s --help' lists them",
		parser->command->name, (int)(len < 60 ? len : 60), text, parser->command->name);
}

/* The value of an option that needs one: behind '=' or the letter, or the next word. */
static int take_value(struct parser *parser, const struct mt_option *option, const char *attached)
{
	char name[NAME_MAX_LEN];

	mt_option_name(name, sizeof name, option);
	if (!option->argument && attached)
		return mt_fail(parser->err, -EINVAL, "--%s takes no value", name);
	/* it can be left out: the first choice, or ten */
	if (option->argument && *option->argument == '[' && !attached) {
		return set_value(parser->arguments, option,
			option->kind == MT_OPTION_NUMBER ? "10" : "size", parser->err);
	} else if (option->argument && !attached) {
		if (parser->at >= parser->argc)
			return mt_fail(parser->err, -EINVAL, "--%s: missing value; write --%s=%s",
				name, name, option->argument);
		attached = parser->argv[parser->at++];
	}
	return set_value(parser->arguments, option, attached, parser->err);
}

static int parse_long(struct parser *parser, const char *text)
{
	const char *equals = strchr(text, '=');
	const struct mt_option *option;
	int status =
		find_long(parser, text, equals ? (size_t)(equals - text) : strlen(text), &option);

	return status < 0 ? status : take_value(parser, option, equals ? equals + 1 : NULL);
}

static int parse_letters(struct parser *parser, const char *text)
{
	for (; *text; text++) {
		const struct mt_option *option = parser->command->options;

		while (option->name && option->letter != *text)
			option++;
		if (!option->name)
			return mt_fail(parser->err, -EINVAL,
				"'memtui %s' has no option -%c; 'memtui %s --help' lists them",
				parser->command->name, isprint((unsigned char)*text) ? *text : '?',
				parser->command->name);
		bool takes = option->argument != NULL;
		int status = take_value(parser, option, takes && text[1] ? text + 1 : NULL);

		if (status < 0 || takes)
			return status;
	}
	return 0;
}

static int check_operands(const struct parser *parser)
{
	const struct mt_command *command = parser->command;
	int count = parser->arguments->operand_count;

	if (parser->arguments->help || parser->arguments->man || parser->arguments->complete)
		return 0;
	if (parser->arguments->pid && command->runs_program)
		return count ? mt_fail(parser->err, -EINVAL,
			       "extra argument '%.100s': with --pid no program is started",
			       parser->arguments->operands[0])
			     : 0;
	if (count < command->operands_min) {
		const char *missing = command->operands;

		for (int i = 0; i < count; i++)
			missing += strcspn(missing, " ") + 1;
		return mt_fail(parser->err, -EINVAL, "missing %.*s; usage: memtui %s %s%s%s",
			(int)strcspn(missing, " "), missing, command->name, command->operands,
			command->hint ? "; " : "", command->hint ? command->hint : "");
	}
	if (command->operands_max >= 0 && count > command->operands_max)
		return mt_fail(parser->err, -EINVAL,
			"extra argument '%.100s'; usage: memtui %s [options] %s",
			parser->arguments->operands[command->operands_max], command->name,
			command->operands);
	return 0;
}

int mt_options_parse(struct mt_arguments *arguments, const struct mt_command *command, int argc,
	char *const *argv, char **operands, struct mt_err *err)
{
	struct parser parser = {arguments, command, argc, 0, argv, err};
	bool only_operands = false;
	int status = 0;

	arguments->operands = operands;
	while (parser.at < argc && status >= 0) {
		const char *word = argv[parser.at++];

		if (only_operands || word[0] != '-' || !word[1]) {
			operands[arguments->operand_count++] = argv[parser.at - 1];
			only_operands = only_operands || command->runs_program;
		} else if (!strcmp(word, "--")) {
			only_operands = true;
			arguments->program_at = arguments->operand_count + 1;
		} else {
			status = word[1] == '-' ? parse_long(&parser, word + 2)
						: parse_letters(&parser, word + 1);
		}
	}
	operands[arguments->operand_count] = NULL;
	return status < 0 ? status : check_operands(&parser);
}
