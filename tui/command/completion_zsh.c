/* Completion for zsh: one _arguments call per command. */
#include "tui/command/completion.h"

#include <stdlib.h>
#include <string.h>

static const char start[] =
	"#compdef memtui\n"
	"# zsh completion for memtui, written by 'memtui help --completion zsh'\n\n"
	"# Offers lines \"value:words\"; a value that ends with ':' is to be continued.\n"
	"_memtui_offer()\n{\n"
	"\tlocal -a ended=(\"${(@)argv:#*\\\\::*}\") open=(\"${(@M)argv:#*\\\\::*}\")\n"
	"\t_describe -t values value ended -- open -S ''\n"
	"}\n\n"
	"_memtui_themes()\n{\n"
	"\tlocal -a names=(${(f)\"$($program help themes 2>/dev/null)\"})\n"
	"\t_describe -t themes theme names\n"
	"}\n\n";

static const char end[] =
	"_memtui()\n{\n"
	"\tlocal curcontext=$curcontext program=${(Q)~words[1]}\n"
	"\tif ((CURRENT == 2)); then\n"
	"\t\t_memtui_commands\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tshift words\n"
	"\t((CURRENT--))\n"
	"\tcurcontext=${curcontext%:*:*}:memtui-$words[1]:\n"
	"\t_memtui_options\n"
	"}\n\n"
	"if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
	"\t_memtui \"$@\"\n"
	"else\n"
	"\tcompdef _memtui memtui\n"
	"fi\n";

static void put(FILE *out, const char *text, const char *special)
{
	mt_put_escaped(out, text, special, "'\\''");
}

static void print_commands(FILE *out)
{
	fputs("_memtui_commands()\n{\n\tlocal -a commands=(\n", out);
	for (int i = 0; mt_command_at(i); i++) {
		fprintf(out, "\t\t'%s:", mt_command_at(i)->name);
		put(out, mt_command_at(i)->words, "\\");
		fputs("'\n", out);
	}
	fputs("\t) options=(\n"
	      "\t\t'--help:show the list of all commands'\n"
	      "\t\t'--version:print the version'\n\t)\n"
	      "\t_describe -t commands 'memtui command' commands\n"
	      "\t_describe -o options options\n}\n\n",
		out);
}

/* Values with words have a function of their own, the others are a list in the specification. */
static bool have_words(const struct mt_values *values)
{
	for (int i = 0; i < values->count; i++)
		if (*values->items[i].words)
			return true;
	return false;
}

/* The place of the first command whose option of this name has the same values. */
static int owner(const struct mt_option *option)
{
	for (int i = 0;; i++) {
		const struct mt_option *other = mt_command_option(mt_command_at(i), option->name);

		if (other && mt_option_same_values(option, other))
			return i;
	}
}

static void print_function(FILE *out, const char *command, const char *name,
	const struct mt_values *values)
{
	fprintf(out, "_memtui_%s_%s()\n{\n\t_memtui_offer \\\n", command, name);
	for (int i = 0; i < values->count; i++) {
		fputs("\t\t'", out);
		put(out, values->items[i].name, "\\:");
		putc(':', out);
		put(out, values->items[i].words, "\\");
		fputs(i + 1 < values->count ? "' \\\n" : "'\n", out);
	}
	fputs("}\n\n", out);
}

/* Of a command, one operand at most has a list of values. */
static void print_operand_function(FILE *out, const struct mt_command *command)
{
	bool any, found = false;
	int count = mt_operands_shown(command, &any);

	for (int index = 0; index < count && !found; index++) {
		struct mt_values values = {0};

		found = mt_operand_completes(command, index, &values) == MT_COMPLETES_VALUES;
		if (found)
			print_function(out, command->name, "operand", &values);
		mt_values_free(&values);
	}
}

static void print_functions(FILE *out)
{
	for (int i = 0; mt_command_at(i); i++) {
		const struct mt_command *command = mt_command_at(i);
		struct mt_values values = {0};

		for (const struct mt_option *option = command->options; option->name; option++) {
			mt_option_completes(option, &values);
			if (have_words(&values) && owner(option) == i)
				print_function(out, command->name, option->name, &values);
			mt_values_free(&values);
		}
		print_operand_function(out, command);
	}
}

/* What an option's value is: ":message:action". */
static void print_action(FILE *out, const struct mt_option *option)
{
	struct mt_values values = {0};

	fprintf(out, "%s:value:", *option->argument == '[' ? ":" : "");
	switch (mt_option_completes(option, &values)) {
	case MT_COMPLETES_VALUES:
		if (have_words(&values)) {
			fprintf(out, "_memtui_%s_%s", mt_command_at(owner(option))->name,
				option->name);
			break;
		}
		for (int i = 0; i < values.count; i++)
			fprintf(out, "%s%s", i ? " " : "(", values.items[i].name);
		putc(')', out);
		break;
	case MT_COMPLETES_THEMES: fputs("_memtui_themes", out); break;
	case MT_COMPLETES_FILES: fputs("_files", out); break;
	case MT_COMPLETES_PROGRAM:
	case MT_COMPLETES_NOTHING: putc(' ', out); break;
	}
	mt_values_free(&values);
}

static void print_option(FILE *out, const struct mt_option *option)
{
	char name[64], *words = mt_option_words(option);
	const char *takes = !option->argument ? "" : mt_option_takes_word(option) ? "=" : "=-";

	mt_option_name(name, sizeof name, option);
	fputs("\t\t", out);
	if (mt_option_repeats(option))
		fputs("\\*", out);
	else if (option->letter)
		fprintf(out, "'(-%c --%s)'", option->letter, name);
	if (option->letter)
		fprintf(out, "{-%c%s,--%s%s}", option->letter, option->argument ? "+" : "", name,
			takes);
	else
		fprintf(out, "--%s%s", name, takes);
	fputs("'[", out);
	put(out, words, "\\]");
	putc(']', out);
	if (option->argument)
		print_action(out, option);
	fputs("'\n", out);
	free(words);
}

static void print_operands(FILE *out, const struct mt_command *command)
{
	bool any;
	int count = mt_operands_shown(command, &any);

	if (command->runs_program) {
		fputs("\t\t'(-)1:program:_command_names -e'\n\t\t'*::argument:_normal'\n", out);
		return;
	}
	for (int index = 0; index < count; index++) {
		struct mt_values values = {0};

		fputs(any && index + 1 == count ? "\t\t'*:operand:" : "\t\t':operand:", out);
		switch (mt_operand_completes(command, index, &values)) {
		case MT_COMPLETES_VALUES: fprintf(out, "_memtui_%s_operand", command->name); break;
		case MT_COMPLETES_FILES: fputs("_files", out); break;
		default: putc(' ', out); break;
		}
		fputs("'\n", out);
		mt_values_free(&values);
	}
	if (command->operands_max < 0 && !any)
		fputs("\t\t'*:operand: '\n", out);
}

static void print_options(FILE *out)
{
	const struct mt_option *option = mt_command_find("groups")->options;

	while (!mt_option_is_first_field(option))
		option++;
	fputs("_memtui_options()\n{\n\tlocal -a filters=(\n", out);
	do
		print_option(out, option);
	while (!mt_option_is_last_field(option++));
	fputs("\t) all=()\n\tcase $words[1] in\n", out);
	for (int i = 0; mt_command_at(i); i++) {
		fprintf(out, "\t(%s) all=(\n", mt_command_at(i)->name);
		for (option = mt_command_at(i)->options; option->name; option++) {
			if (!mt_option_is_first_field(option)) {
				print_option(out, option);
				continue;
			}
			fputs("\t\t\"${filters[@]}\"\n", out);
			while (!mt_option_is_last_field(option))
				option++;
		}
		print_operands(out, mt_command_at(i));
		fprintf(out, "\t\t)\n\t\t_arguments -s -S%s : $all ;;\n",
			mt_command_at(i)->runs_program ? " -A '-*'" : "");
	}
	fputs("\tesac\n}\n\n", out);
}

void mt_completion_zsh(FILE *out)
{
	fputs(start, out);
	print_commands(out);
	print_functions(out);
	print_options(out);
	fputs(end, out);
}
