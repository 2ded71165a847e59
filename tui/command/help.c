#include "tui/command/commands.h"
#include "tui/command/environment.h"
#include "tui/terminal/theme.h"
#include "tui/user/config.h"
#include "tui/user/keymap.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 80
#define COLUMN 24

static const struct mt_option options[] = {
	{0, "man", "COMMAND", MT_OPTION_TEXT, MT_OPTION_AT(man),
		"print the manual page of a command, or of memtui itself, in roff", NULL},
	{0, "completion", "SHELL", MT_OPTION_CHOICE, MT_OPTION_AT(complete),
		"print the completion for a shell: bash, zsh or fish", "bash|zsh|fish"},
	MT_OPTIONS_KEYMAP,
	{0, "format", "FORMAT", MT_OPTION_FORMAT, MT_OPTION_AT(format),
		"for keys: text (the default) or json", "text|json"},
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

const char mt_help_about[] =
	"memtui records every allocation of a Linux program, with its backtrace, and shows where "
	"memory is leaked, held at the peak, or churned: "
	"live in the terminal, or as text, JSON and CSV.";
const char mt_help_exit[] =
	"0 on success, 1 on failure, 2 if the command line is wrong. run and record "
	"pass on the program's status, or 128 + N if signal N ended it.\n\nIf "
	"nothing in a trace can be read, the status is 1. A trace that is damaged or "
	"incomplete is read as far as possible: a message on standard error says so, "
	"and the status is 0, or 1 with --strict. In the JSON of info and check, "
	"damaged_at is the offset of the damage, or null if the trace is whole or "
	"merely incomplete.";

bool mt_command_takes(const struct mt_command *command, enum mt_option_kind kind)
{
	for (const struct mt_option *option = command->options; option->name; option++)
		if (option->kind == kind)
			return true;
	return false;
}

/* Fills lines up to WIDTH, the first of which begins at column `at`, all others at `indent`. */
static void wrap(FILE *out, const char *text, int at, int indent)
{
	while (*text) {
		int len = (int)strcspn(text, " \n");

		if (at > indent && at + 1 + len > WIDTH) {
			fprintf(out, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			putc(' ', out);
			at++;
		}
		fwrite(text, 1, (size_t)len, out);
		at += len;
		text += len;
		if (!strncmp(text, "\n\n", 2)) {
			fprintf(out, "\n\n%*s", indent, "");
			at = indent;
			text++;
		}
		text += *text != 0;
	}
	putc('\n', out);
}

static void entry(FILE *out, const char *left, const char *right)
{
	int len = fprintf(out, "  %s", left);

	if (len + 2 > COLUMN) {
		putc('\n', out);
		len = 0;
	}
	fprintf(out, "%*s", COLUMN - len, "");
	wrap(out, right, COLUMN, COLUMN);
}

static void print_options(FILE *out, const struct mt_option *list, bool filters)
{
	fputs("\nOptions:\n", out);
	for (const struct mt_option *option = list; option->name; option++) {
		char name[64], left[128];

		if (!filters && mt_option_is_filter(option))
			continue;
		mt_option_name(name, sizeof name, option);
		snprintf(left, sizeof left, "%c%c%s --%s%s%s", option->letter ? '-' : ' ',
			option->letter ? option->letter : ' ', option->letter ? "," : " ", name,
			option->argument ? *option->argument == '[' ? "[=" : "=" : "",
			option->argument ? option->argument + (*option->argument == '[') : "");
		char *words = mt_option_words(option);

		entry(out, left, words);
		free(words);
	}
}

static void print_examples(FILE *out, const char *examples)
{
	fputs("\nExamples:\n", out);
	while (*examples) {
		const char *tab = strchr(examples, '\t'), *end = strchr(examples, '\n');

		fprintf(out, "  %.*s\n      %.*s\n", (int)(tab - examples), examples,
			(int)(end - tab - 1), tab + 1);
		examples = end + 1;
	}
}

static void print_general(FILE *out)
{
	fputs("Usage: memtui COMMAND [OPTIONS] [OPERANDS]\n\n", out);
	wrap(out, mt_help_about, 0, 0);
	fputs("\nCommands:\n", out);
	for (int i = 0; mt_command_at(i); i++)
		entry(out, mt_command_at(i)->name, mt_command_at(i)->words);
	putc('\n', out);
	wrap(out,
		"'memtui help COMMAND' describes a command; 'memtui help filters' and "
		"'memtui help metrics' what they share; 'memtui help environment' recording "
		"without a recorder; 'memtui help keys' and 'memtui help config' keys and "
		"settings. 'memtui --version' prints the version.",
		0, 0);
}

const char *mt_command_operand_words(const struct mt_command *command)
{
	if (!strstr(command->operands, "TRACE|PID"))
		return NULL;
	return command->takes_set
		? "PID: a process that is being recorded, as of now. Several recordings add up."
		: "PID: a process that is being recorded, with all that is known of it now.";
}

void mt_help_print(FILE *out, const struct mt_command *command)
{
	if (!command) {
		print_general(out);
		return;
	}
	fprintf(out, "Usage: memtui %s [OPTIONS] %s%s\n\n", command->name,
		command->runs_program ? "[--] " : "", command->operands);
	wrap(out, command->description, 0, 0);
	if (mt_command_operand_words(command)) {
		putc('\n', out);
		wrap(out, mt_command_operand_words(command), 0, 0);
	}
	if (command->details)
		fprintf(out, "\nThe manual page says more: memtui help --man %s | man -l -\n",
			command->name);
	if (command->verbs)
		fputs("\nVerbs:\n", out);
	for (const struct mt_verb *verb = command->verbs; verb && verb->name; verb++) {
		char left[64];

		snprintf(left, sizeof left, "%s%s%s", verb->name, verb->argument ? " " : "",
			verb->argument ? verb->argument : "");
		entry(out, left, verb->words);
	}
	print_options(out, command->options, false);
	if (mt_command_takes(command, MT_OPTION_EXPORT)) {
		fputs("\nFormats:\n", out);
		for (int i = 0; mt_export_kind_at(i); i++)
			entry(out, mt_export_kind_at(i)->name, mt_export_kind_at(i)->words);
	}
	if (mt_command_filters(command))
		fputs("\nFilters (--function-regex, --size-min, --from, --group and more):\n"
		      "see 'memtui help filters'\n",
			out);
	if (mt_command_takes(command, MT_OPTION_SORT))
		fputs("\nMetrics (leaked_size, at_peak_size and more): see 'memtui help metrics'\n",
			out);
	print_examples(out, command->examples);
}

static void print_metrics(FILE *out)
{
	fputs("Usage: memtui COMMAND --sort=METRIC TRACE\n\n", out);
	wrap(out, mt_metrics_about, 0, 0);
	fputs("\nMetrics:\n", out);
	for (int i = 0; i < MT_METRIC_COUNT; i++)
		entry(out, mt_metric_info(NULL, (enum mt_metric)i)->name,
			mt_metric_info(NULL, (enum mt_metric)i)->words);
}

static void print_filters(FILE *out)
{
	fputs("Usage: memtui COMMAND [--FILTER=VALUE ...] TRACE\n\n", out);
	wrap(out, mt_filters_about, 0, 0);
	print_options(out, mt_filter_options, true);
	fputs("\nIn one text:\n", out);
	wrap(out, mt_filters_language, 0, 0);
}

static void print_environment(FILE *out)
{
	fputs("Usage: LD_PRELOAD=/path/of/libmemtui.so MEMTUI_OUTPUT=FILE PROG [ARGS]\n\n", out);
	wrap(out, mt_environment_about, 0, 0);
	fputs("\nVariables:\n", out);
	for (int i = 0; mt_environment_at(i); i++) {
		const struct mt_variable *v = mt_environment_at(i);
		char left[64], option[64] = "", *right;

		snprintf(left, sizeof left, "%s=%s", v->name, v->argument);
		if (v->option)
			mt_option_name(option, sizeof option,
				&(struct mt_option){.name = v->option});
		right = mt_format("%s%s%s", v->words, v->option ? "; --" : "", option);
		entry(out, left, right);
		free(right);
	}
	fputs("\nExamples:\n  LD_PRELOAD=$PWD/build/libmemtui.so MEMTUI_OUTPUT=%e.%p.mem "
	      "./prog\n      write prog.PID.mem\n  memtui open prog.4711.mem\n      show "
	      "it, live while the program runs\n",
		out);
}

static int tell_faults(struct mt_faults *faults)
{
	int status = faults->count ? EXIT_FAILURE : 0;

	fflush(stdout);
	if (faults->count)
		fputs((const char *)faults->text.data, stderr);
	mt_faults_free(faults);
	return status;
}

static int print_config(struct mt_err *err)
{
	struct mt_faults faults = {0};
	struct mt_config config;
	char *path = mt_user_config("config");

	mt_config_init(&config);

	int status = mt_config_load(&config, &faults, err);

	if (status >= 0) {
		printf("# %s\n",
			path ? path : "no settings file: HOME and XDG_CONFIG_HOME are not set");
		mt_config_print(stdout, &config);
		status = tell_faults(&faults);
	}
	free(path);
	return status;
}

/* Exit status 1: the file of the user has faults. */
static int print_keys(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_faults faults = {0};
	int status = mt_keymap_load(arguments->keymap, &faults, err);

	if (status < 0)
		return status;
	mt_keymap_print(stdout, arguments->format == MT_FORMAT_JSON);
	return tell_faults(&faults);
}

static const char *asked(const struct mt_arguments *arguments)
{
	return arguments->man              ? arguments->man
		: arguments->operand_count ? arguments->operands[0]
					   : "memtui";
}

const struct mt_topic *mt_help_topic_at(int i)
{
	static const struct mt_topic topics[] = {
		{"memtui", "the list of all commands", true},
		{"config", "the settings", true},
		{"environment", "the variables for recording without a recorder", false},
		{"filters", "the filters that select a part of a recording", true},
		{"keys", "what every key does, and how to change it", true},
		{"metrics", "the numbers by which groups are sorted", false},
		{"themes", "the names of the themes", false},
	};

	return i < (int)(sizeof topics / sizeof *topics) ? &topics[i] : NULL;
}

static bool is_topic(const char *name, bool man)
{
	const struct mt_topic *topic;

	for (int i = 0; (topic = mt_help_topic_at(i)); i++)
		if (!strcmp(name, topic->name))
			return topic->has_manual || !man;
	return false;
}

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	const char *name = asked(arguments);

	if (is_topic(name, arguments->man) || mt_command_find(name))
		return 0;
	return mt_command_unknown(name, err);
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	const struct mt_command *command; /* NULL: memtui itself */
	const char *name = asked(arguments);

	if (arguments->complete) {
		mt_completion_print(stdout, arguments->complete);
		return 0;
	}
	if (!arguments->man && !strcmp(name, "environment")) {
		print_environment(stdout);
		return 0;
	}
	if (!arguments->man && !strcmp(name, "themes")) {
		char *names = mt_theme_names("\n");

		puts(names);
		free(names);
		return 0;
	}
	if (!arguments->man && !strcmp(name, "metrics")) {
		print_metrics(stdout);
		return 0;
	}
	if (!strcmp(name, "filters"))
		return (arguments->man ? mt_manual_print_filters : print_filters)(stdout), 0;
	if (!strcmp(name, "config"))
		return arguments->man ? (mt_manual_print_config(stdout), 0) : print_config(err);
	if (!strcmp(name, "keys"))
		return arguments->man ? (mt_manual_print_keys(stdout), 0)
				      : print_keys(arguments, err);
	command = mt_command_find(name);
	if (arguments->man)
		mt_manual_print(stdout, command);
	else
		mt_help_print(stdout, command);
	return 0;
}

const struct mt_command mt_command_help = {
	.name = "help",
	.operands = "[COMMAND|config|environment|filters|keys|metrics|themes]",
	.words = "show the help of a command",
	.description = "Prints the help of a command, the filters, the metrics, the settings, the "
		       "environment variables or the keys, the names of the themes, or the list of "
		       "all commands.",
	.examples = "memtui help record\trecord a program\nmemtui help filters\tselect a part of "
		    "a recording\nmemtui help environment\trecord without memtui\nmemtui help "
		    "keys\tlist all keys, and how to change them\nmemtui help config\tlist the "
		    "settings\nmemtui help --man groups | man -l -\tread a manual page\nsource "
		    "<(memtui help --completion bash)\tcomplete commands in this shell\nmemtui "
		    "help --completion fish | source\tcomplete commands in fish\n",
	.options = options,
	.operands_max = 1,
	.check = check,
	.run = run,
};
