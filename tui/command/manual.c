/* Manual pages from the commands' lists, in the man macros. */
#include "tui/actions.h"
#include "tui/command/commands.h"
#include "tui/command/environment.h"
#include "tui/user/config.h"

#include <stdlib.h>
#include <string.h>

#ifndef MT_VERSION
#define MT_VERSION "unknown"
#endif

/* Text in which roff sees nothing to obey: no escapes, and no dot that begins a line. */
static void put(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool starts = !i || text[i - 1] == '\n';

		if (text[i] == '\\')
			fputs("\\e", out);
		else if (text[i] == '-')
			fputs("\\-", out);
		else if (text[i] == '\'')
			fputs("\\(aq", out);
		else if (text[i] == '"')
			fputs("\\(dq", out);
		else if (text[i] == '^')
			fputs("\\(ha", out);
		else if (text[i] == '~')
			fputs("\\(ti", out);
		else if (text[i] == '.' && starts)
			fputs("\\&.", out);
		else
			putc(text[i], out);
	}
}

static void put_text(FILE *out, const char *text)
{
	put(out, text, strlen(text));
}

static void put_paragraphs(FILE *out, const char *text)
{
	const char *end;

	while ((end = strstr(text, "\n\n"))) {
		put(out, text, (size_t)(end - text));
		fputs("\n.PP\n", out);
		text = end + 2;
	}
	put_text(out, text);
	putc('\n', out);
}

static void heading(FILE *out, const char *name, int section, const char *words)
{
	fputs(".TH \"MEMTUI", out);
	if (*name)
		fputs("\\-", out);
	for (const char *c = name; *c; c++)
		putc(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c, out);
	fprintf(out,
		"\" %d \"\" \"memtui " MT_VERSION "\" \"memtui manual\"\n.SH NAME\nmemtui%s%s \\- ",
		section, *name ? "\\-" : "", name);
	put_text(out, words);
	putc('\n', out);
}

static void entry(FILE *out, const char *name, const char *words)
{
	fputs(".TP\n\\fB", out);
	put_text(out, name);
	fputs("\\fR\n", out);
	put_text(out, words);
	fputs(".\n", out);
}

static void put_variable(FILE *out, const struct mt_variable *v)
{
	char option[64] = "";

	if (v->option)
		mt_option_name(option, sizeof option, &(struct mt_option){.name = v->option});
	fprintf(out, ".TP\n\\fB%s\\fR=\\fI%s\\fR\n", v->name, v->argument);
	put_text(out, v->words);
	if (v->option) {
		fputs("; \\fB\\-\\-", out);
		put_text(out, option);
		fputs("\\fR of run and record", out);
	}
	fputs(".\n", out);
}

static void print_options(FILE *out, const struct mt_option *list, bool filters)
{
	fputs(".SH OPTIONS\n", out);
	for (const struct mt_option *option = list; option->name; option++) {
		char name[64];

		if (!filters && mt_option_is_filter(option))
			continue;
		mt_option_name(name, sizeof name, option);
		fputs(".TP\n", out);
		if (option->letter)
			fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
		fputs("\\fB\\-\\-", out);
		put_text(out, name);
		fputs("\\fR", out);
		if (option->argument)
			fprintf(out, "%s\\fI%s\\fR", *option->argument == '[' ? "[=" : "=",
				option->argument + (*option->argument == '['));
		putc('\n', out);
		char *words = mt_option_words(option);

		put_text(out, words);
		free(words);
		fputs(".\n", out);
	}
}

static void print_examples(FILE *out, const char *examples)
{
	fputs(".SH EXAMPLES\n", out);
	while (*examples) {
		const char *tab = strchr(examples, '\t'), *end = strchr(examples, '\n');

		fputs(".TP\n\\fB", out);
		put(out, examples, (size_t)(tab - examples));
		fputs("\\fR\n", out);
		put(out, tab + 1, (size_t)(end - tab - 1));
		putc('\n', out);
		examples = end + 1;
	}
}

/* Whether it shows the terminal interface. */
static bool shows(const struct mt_command *command)
{
	for (const struct mt_option *option = command->options; option->name; option++)
		if (!strcmp(option->name, "theme"))
			return true;
	return false;
}

static void print_keys(FILE *out)
{
	fputs(".SH KEYS\nThese are the default keys; \\fBmemtui\\-keys\\fR(5) says how to "
	      "change them.\n",
		out);
	for (int scope = 0; scope < MT_SCOPE_COUNT; scope++) {
		fputs(".SS ", out);
		put_text(out, mt_scope_words((enum mt_scope)scope));
		putc('\n', out);
		for (int i = 0; i < MT_ACTION_COUNT; i++)
			if ((int)mt_action_info((enum mt_action)i)->scope == scope)
				entry(out, mt_action_info((enum mt_action)i)->keys,
					mt_action_info((enum mt_action)i)->words);
	}
}

static void print_command(FILE *out, const struct mt_command *command)
{
	heading(out, command->name, 1, command->words);
	fprintf(out, ".SH SYNOPSIS\n\\fBmemtui %s\\fR [\\fIoptions\\fR] %s\\fI", command->name,
		command->runs_program ? "[\\-\\-] " : "");
	put_text(out, command->operands);
	fputs("\\fR\n.SH DESCRIPTION\n", out);
	put_paragraphs(out, command->description);
	if (mt_command_operand_words(command)) {
		fputs(".PP\n", out);
		put_paragraphs(out, mt_command_operand_words(command));
	}
	if (command->details) {
		fputs(".PP\n", out);
		put_paragraphs(out, command->details);
	}
	if (command->verbs)
		fputs(".SH VERBS\n", out);
	for (const struct mt_verb *verb = command->verbs; verb && verb->name; verb++) {
		char *name = mt_format("%s%s%s", verb->name, verb->argument ? " " : "",
			verb->argument ? verb->argument : "");

		entry(out, name, verb->words);
		free(name);
	}
	print_options(out, command->options, false);
	if (mt_command_takes(command, MT_OPTION_EXPORT)) {
		fputs(".SH FORMATS\n", out);
		for (int i = 0; mt_export_kind_at(i); i++)
			entry(out, mt_export_kind_at(i)->name, mt_export_kind_at(i)->words);
	}
	if (mt_command_takes(command, MT_OPTION_SORT))
		fputs(".SH METRICS\n\\fBmemtui\\fR(1) lists the metrics.\n", out);
	if (mt_command_filters(command)) {
		fputs(".SH FILTERS\nFilters select the allocations that the command shows: "
		      "\\fB\\-\\-function\\-regex\\fR, \\fB\\-\\-size\\-min\\fR, "
		      "\\fB\\-\\-from\\fR, \\fB\\-\\-group\\fR, \\fB\\-\\-filter\\fR and "
		      "more. \\fBmemtui\\-filters\\fR(7) lists them.\n",
			out);
	}
	if (shows(command))
		print_keys(out);
	fputs(".SH EXIT STATUS\n", out);
	put_paragraphs(out, mt_help_exit);
	print_examples(out, command->examples);
	fputs(".SH SEE ALSO\n\\fBmemtui\\fR(1)", out);
	if (mt_command_filters(command))
		fputs(", \\fBmemtui\\-filters\\fR(7)", out);
	fputs(shows(command) ? ", \\fBmemtui\\-keys\\fR(5), \\fBmemtui\\-config\\fR(5)\n" : "\n",
		out);
}

void mt_manual_print(FILE *out, const struct mt_command *command)
{
	if (command) {
		print_command(out, command);
		return;
	}
	heading(out, "", 1, "heap profiler in the terminal");
	fputs(".SH SYNOPSIS\n\\fBmemtui\\fR \\fIcommand\\fR [\\fIoptions\\fR] [\\fIoperands\\fR]\n"
	      ".SH DESCRIPTION\n",
		out);
	put_paragraphs(out, mt_help_about);
	fputs(".SH COMMANDS\n", out);
	for (int i = 0; mt_command_at(i); i++)
		entry(out, mt_command_at(i)->name, mt_command_at(i)->words);
	fputs(".SH METRICS\n", out);
	put_paragraphs(out, mt_metrics_about);
	for (int i = 0; i < MT_METRIC_COUNT; i++)
		entry(out, mt_metric_info(NULL, (enum mt_metric)i)->name,
			mt_metric_info(NULL, (enum mt_metric)i)->words);
	fputs(".SH ENVIRONMENT\n", out);
	put_paragraphs(out, mt_environment_about);
	for (int i = 0; mt_environment_at(i); i++)
		put_variable(out, mt_environment_at(i));
	fputs(".SH EXIT STATUS\n", out);
	put_paragraphs(out, mt_help_exit);
	fputs(".SH SEE ALSO\n", out);
	for (int i = 0; mt_command_at(i); i++)
		if (strcmp(mt_command_at(i)->name, "help"))
			fprintf(out, "%s\\fBmemtui\\-%s\\fR(1)", i ? ",\n" : "",
				mt_command_at(i)->name);
	fputs(",\n\\fBmemtui\\-filters\\fR(7),\n\\fBmemtui\\-keys\\fR(5),\n"
	      "\\fBmemtui\\-config\\fR(5)\n",
		out);
}

void mt_manual_print_filters(FILE *out)
{
	heading(out, "filters", 7, mt_filters_words);
	fputs(".SH SYNOPSIS\n\\fBmemtui\\fR \\fIcommand\\fR "
	      "[\\fB\\-\\-\\fIfilter\\fR=\\fIvalue\\fR ...] \\fITRACE\\fR\n.SH DESCRIPTION\n",
		out);
	put_paragraphs(out, mt_filters_about);
	print_options(out, mt_filter_options, true);
	fputs(".SH IN ONE TEXT\n", out);
	put_paragraphs(out, mt_filters_language);
	fputs(".SH SEE ALSO\n\\fBmemtui\\fR(1)\n", out);
}

void mt_manual_print_keys(FILE *out)
{
	char scope[32], id[32];

	heading(out, "keys", 5, "key bindings of the terminal interface");
	fputs(".SH SYNOPSIS\n\\fI$XDG_CONFIG_HOME/memtui/keys\\fR\n.br\n"
	      "\\fI~/.config/memtui/keys\\fR\n"
	      ".SH DESCRIPTION\n",
		out);
	put_paragraphs(out, mt_help_keys);
	fputs(".SH ACTIONS\n", out);
	for (int s = 0; s < MT_SCOPE_COUNT; s++) {
		fputs(".SS ", out);
		put_text(out, mt_scope_id((enum mt_scope)s, scope));
		fputs(" (", out);
		put_text(out, mt_scope_words((enum mt_scope)s));
		fputs(")\n", out);
		for (int i = 0; i < MT_ACTION_COUNT; i++) {
			const struct mt_action_info *info = mt_action_info((enum mt_action)i);

			if ((int)info->scope != s)
				continue;
			fputs(".TP\n\\fB", out);
			put_text(out, mt_action_id((enum mt_action)i, id));
			fputs("\\fR  ", out);
			put_text(out, info->keys);
			putc('\n', out);
			put_text(out, info->words);
			fputs(".\n", out);
		}
	}
	print_examples(out, mt_help_keys_examples);
	fputs(".SH SEE ALSO\n\\fBmemtui\\fR(1)\n", out);
}

void mt_manual_print_config(FILE *out)
{
	heading(out, "config", 5, "settings of the terminal interface");
	fputs(".SH SYNOPSIS\n\\fI$XDG_CONFIG_HOME/memtui/config\\fR\n.br\n"
	      "\\fI~/.config/memtui/config\\fR\n"
	      ".SH DESCRIPTION\n",
		out);
	put_paragraphs(out,
		"Each line of the file is NAME = VALUE; # begins a comment. Options of the "
		"command line take precedence. F2 in the terminal interface shows the "
		"settings and changes them at once; w writes the file and keeps comments and "
		"other lines. memtui reports wrong lines by file and number, and ignores "
		"them.");
	fputs(".SH SETTINGS\n", out);
	for (int i = 0; i < MT_SETTING_COUNT; i++) {
		const struct mt_setting_info *info = mt_setting_info((enum mt_setting)i);

		fputs(".TP\n\\fB", out);
		put_text(out, info->name);
		fputs("\\fR = ", out);
		put_text(out, *info->preset ? info->preset : "");
		putc('\n', out);
		put_text(out, info->words);
		if (info->choices) {
			fputs(": ", out);
			put_text(out, info->choices);
		}
		fputs(".\n", out);
	}
	fputs(".SH SEE ALSO\n\\fBmemtui\\fR(1), \\fBmemtui\\-keys\\fR(5)\n", out);
}
