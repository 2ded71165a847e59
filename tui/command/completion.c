/* Which values complete an option or an operand, from the commands' lists. */
#include "tui/command/completion.h"

#include <stdlib.h>
#include <string.h>

/* Takes the name. */
static void add(struct mt_values *values, char *name, const char *words)
{
	MT_GROW(values->items, values->count, values->capacity);
	values->items[values->count++] = (struct mt_value){name, words};
}

void mt_values_free(struct mt_values *values)
{
	for (int i = 0; i < values->count; i++)
		free(values->items[i].name);
	free(values->items);
	*values = (struct mt_values){0};
}

static void add_metrics(struct mt_values *values)
{
	for (int i = 0; i < MT_METRIC_COUNT; i++) {
		const struct mt_group_column *info = mt_metric_info(NULL, (enum mt_metric)i);

		add(values, mt_strdup(info->name), info->words);
	}
}

static void add_kinds(struct mt_values *values)
{
	const struct mt_export_kind *kind;

	for (int i = 0; (kind = mt_export_kind_at(i)); i++)
		add(values, mt_strdup(kind->name), kind->words);
}

static void add_choices(struct mt_values *values, const char *before, const char *choices)
{
	for (const char *end; choices; choices = *end ? end + 1 : NULL) {
		end = strchrnul(choices, '|');
		add(values, mt_format("%s%.*s", before, (int)(end - choices), choices), "");
	}
}

/* The words of --filter: "field:", or "field:value" where the field has a list of values. */
static void add_fields(struct mt_values *values)
{
	for (int i = 0; i < MT_FILTER_COUNT; i++) {
		const struct mt_filter_info *info = mt_filter_info((enum mt_filter_field)i);
		char *field = mt_format("%s:", info->name);

		if (info->choices) {
			add_choices(values, field, info->choices);
			free(field);
		} else {
			add(values, field, info->words);
		}
	}
}

static void add_topics(struct mt_values *values, bool man)
{
	const struct mt_command *command;
	const struct mt_topic *topic;

	for (int i = 0; (command = mt_command_at(i)); i++)
		add(values, mt_strdup(command->name), command->words);
	for (int i = 0; (topic = mt_help_topic_at(i)); i++)
		if (topic->has_manual || !man)
			add(values, mt_strdup(topic->name), topic->words);
}

static bool is_file(const char *argument, size_t len)
{
	static const char *const names[] = {"FILE", "PATH", "TRACE", "TRACE_B"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == len && !strncmp(argument, names[i], len))
			return true;
	return false;
}

enum mt_completes mt_option_completes(const struct mt_option *option, struct mt_values *values)
{
	if (!option->argument || option->kind == MT_OPTION_NUMBER)
		return MT_COMPLETES_NOTHING;
	if (option->place == MT_OPTION_AT(theme))
		return MT_COMPLETES_THEMES;
	if (option->place == MT_OPTION_AT(man))
		add_topics(values, true);
	else if (option->place == MT_OPTION_AT(filter_texts))
		add_fields(values);
	else if (option->kind == MT_OPTION_SORT)
		add_metrics(values);
	else if (option->kind == MT_OPTION_EXPORT)
		add_kinds(values);
	else if (option->choices)
		add_choices(values, "", option->choices);
	else
		return is_file(option->argument, strlen(option->argument))
			? MT_COMPLETES_FILES
			: MT_COMPLETES_NOTHING;
	return MT_COMPLETES_VALUES;
}

enum mt_completes mt_operand_completes(const struct mt_command *command, int index,
	struct mt_values *values)
{
	const char *at = command->operands;

	if (command->runs_program)
		return MT_COMPLETES_PROGRAM;
	if (command->operands_max >= 0 && index >= command->operands_max)
		return MT_COMPLETES_NOTHING;
	for (const char *next; index > 0 && (next = strchr(at, ' ')); index--)
		at = next + 1;
	at += *at == '[';
	if (!strncmp(at, "COMMAND|", strlen("COMMAND|"))) {
		add_topics(values, false);
		return MT_COMPLETES_VALUES;
	}
	if (command->verbs && !strncmp(at, "VERB", strlen("VERB"))) {
		for (const struct mt_verb *verb = command->verbs; verb->name; verb++)
			add(values, mt_strdup(verb->name), verb->words);
		return MT_COMPLETES_VALUES;
	}
	return is_file(at, strcspn(at, " ].|")) ? MT_COMPLETES_FILES : MT_COMPLETES_NOTHING;
}

int mt_operands_shown(const struct mt_command *command, bool *any)
{
	int count = command->verbs || !command->operands_min ? 1 : command->operands_min;

	*any = command->operands_max < 0 && !command->verbs;
	if (command->operands_max >= 0)
		return command->operands_max;
	/* behind a verb, each word of the usage is an operand */
	for (const char *c = command->operands; command->verbs && *c; c++)
		count += *c == ' ';
	return count;
}

bool mt_option_takes_word(const struct mt_option *option)
{
	return option->argument && *option->argument != '[';
}

static bool is_field(const struct mt_option *option)
{
	return option->place >= MT_OPTION_AT(fields[0])
		&& option->place <= MT_OPTION_AT(fields[MT_FILTER_COUNT - 1]);
}

bool mt_option_repeats(const struct mt_option *option)
{
	return option->kind == MT_OPTION_TEXTS || is_field(option);
}

bool mt_option_is_first_field(const struct mt_option *option)
{
	return option->place == MT_OPTION_AT(fields[0]);
}

bool mt_option_is_last_field(const struct mt_option *option)
{
	return option->place == MT_OPTION_AT(fields[MT_FILTER_COUNT - 1]);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool mt_option_same_values(const struct mt_option *a, const struct mt_option *b)
{
	struct mt_values of_a = {0}, of_b = {0};
	bool same = mt_option_completes(a, &of_a) == mt_option_completes(b, &of_b)
		&& of_a.count == of_b.count;

	for (int i = 0; same && i < of_a.count; i++)
		same = !strcmp(of_a.items[i].name, of_b.items[i].name)
			&& !strcmp(of_a.items[i].words, of_b.items[i].words);
	mt_values_free(&of_a);
	mt_values_free(&of_b);
	return same;
}

bool mt_option_same(const struct mt_option *a, const struct mt_option *b)
{
	return a->letter == b->letter && !strcmp(a->name, b->name)
		&& same_text(a->argument, b->argument) && !strcmp(a->words, b->words)
		&& mt_option_same_values(a, b);
}

const struct mt_option *mt_command_option(const struct mt_command *command, const char *name)
{
	for (const struct mt_option *option = command->options; option->name; option++)
		if (!strcmp(option->name, name))
			return option;
	return NULL;
}

int mt_option_first(const char *name)
{
	int i = 0;

	while (!mt_command_option(mt_command_at(i), name))
		i++;
	return i;
}

void mt_put_escaped(FILE *out, const char *text, const char *special, const char *quote)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs(quote, out);
			continue;
		}
		if (strchr(special, *text))
			putc('\\', out);
		putc(*text, out);
	}
}

void mt_completion_print(FILE *out, const char *shell)
{
	if (!strcmp(shell, "zsh"))
		mt_completion_zsh(out);
	else if (!strcmp(shell, "fish"))
		mt_completion_fish(out);
	else
		mt_completion_bash(out);
}
