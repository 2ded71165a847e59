/* Completion for bash from the commands' lists. */
#include "tui/command/commands.h"

#include <string.h>

static void print_options(FILE *out, const struct mt_command *command)
{
	fprintf(out, "\t%s) options='", command->name);
	for (const struct mt_option *option = command->options; option->name; option++) {
		char name[64];

		mt_option_name(name, sizeof name, option);
		fprintf(out, "%s--%s%s", option == command->options ? "" : " ", name,
			option->argument && *option->argument != '[' ? "=" : "");
	}
	fputs("' ;;\n", out);
}

/* A closed list of them: not a number's bounds. */
static bool has_values(const struct mt_option *option)
{
	return option->kind == MT_OPTION_SORT || option->place == MT_OPTION_AT(theme)
		|| (option->choices && option->kind != MT_OPTION_NUMBER);
}

static bool same_values(const struct mt_option *a, const struct mt_option *b)
{
	if (a->kind == MT_OPTION_SORT || b->kind == MT_OPTION_SORT)
		return a->kind == b->kind;
	if (!a->choices || !b->choices)
		return a->choices == b->choices;
	return !strcmp(a->choices, b->choices);
}

static void print_values(FILE *out, const char *command, const struct mt_option *option)
{
	char name[64];

	mt_option_name(name, sizeof name, option);
	fprintf(out, "\t%s:--%s) values=", command, name);
	if (option->place == MT_OPTION_AT(theme)) { /* those that are there when somebody asks */
		fputs("$(\"${COMP_WORDS[0]}\" help themes 2>/dev/null) ;;\n", out);
		return;
	}
	putc('\'', out);
	if (option->kind == MT_OPTION_SORT) {
		for (int i = 0; i < MT_METRIC_COUNT; i++)
			fprintf(out, "%s%s", i ? " " : "", mt_metric_info((enum mt_metric)i)->name);
	} else {
		for (const char *c = option->choices; *c; c++)
			putc(*c == '|' ? ' ' : *c, out);
	}
	fputs("' ;;\n", out);
}

/* The first command's option of this name that has values. */
static const struct mt_option *first_of(const char *name)
{
	for (int i = 0; mt_command_at(i); i++)
		for (const struct mt_option *option = mt_command_at(i)->options; option->name;
			option++)
			if (has_values(option) && !strcmp(option->name, name))
				return option;
	return NULL;
}

static bool is_listed(const struct mt_option *option, int command)
{
	for (int i = 0; i < command; i++)
		for (const struct mt_option *o = mt_command_at(i)->options; o->name; o++)
			if (has_values(o) && !strcmp(o->name, option->name))
				return true;
	return false;
}

/* Most options have the same values in every command, those of the first that takes them; what
 * differs stands before, by the command. */
static void print_all_values(FILE *out)
{
	for (int i = 0; mt_command_at(i); i++)
		for (const struct mt_option *o = mt_command_at(i)->options; o->name; o++)
			if (has_values(o) && !same_values(o, first_of(o->name)))
				print_values(out, mt_command_at(i)->name, o);
	for (int i = 0; mt_command_at(i); i++)
		for (const struct mt_option *o = mt_command_at(i)->options; o->name; o++)
			if (has_values(o) && !is_listed(o, i))
				print_values(out, "*", o);
}

static void print_commands(FILE *out)
{
	for (int i = 0; mt_command_at(i); i++)
		fprintf(out, " %s", mt_command_at(i)->name);
}

void mt_completion_print(FILE *out)
{
	fputs("_memtui()\n{\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]} "
	      "previous=${COMP_WORDS[COMP_CWORD - 1]} options='' values=''\n"
	      "\t[ \"$current\" = = ] && current=\n"
	      "\t[ \"$previous\" = = ] && previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '--help --version",
		out);
	print_commands(out);
	fputs("' -- \"$current\"))\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]}:$previous in\n", out);
	print_all_values(out);
	fputs("\thelp:--man) values='memtui config keys", out);
	print_commands(out);
	fputs("' ;;\n\thelp:help) values='memtui config environment keys themes", out);
	print_commands(out);
	fputs("' ;;\n\tesac\n\tcase ${COMP_WORDS[1]} in\n", out);
	for (int i = 0; mt_command_at(i); i++)
		print_options(out, mt_command_at(i));
	fputs("\tesac\n"
	      "\tif [ -n \"$values\" ]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$values\" -- \"$current\"))\n"
	      "\telif [[ $current == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
	      "\t\t[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
	      "\tfi\n}\n"
	      "complete -o default -F _memtui memtui\n",
		out);
}
