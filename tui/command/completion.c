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

static void print_values(FILE *out, const struct mt_option *option)
{
	char name[64];

	mt_option_name(name, sizeof name, option);
	if (option->place == MT_OPTION_AT(theme)) { /* those that are there when somebody asks */
		fprintf(out, "\t--%s) values=$(\"${COMP_WORDS[0]}\" help themes 2>/dev/null) ;;\n",
			name);
		return;
	}
	fprintf(out, "\t--%s) values='", name);
	if (option->kind == MT_OPTION_SORT) {
		for (int i = 0; i < MT_METRIC_COUNT; i++)
			fprintf(out, "%s%s", i ? " " : "", mt_metric_info((enum mt_metric)i)->name);
	} else {
		for (const char *c = option->choices; *c; c++)
			putc(*c == '|' ? ' ' : *c, out);
	}
	fputs("' ;;\n", out);
}

/* Options with a closed list of values mean the same in every command; the first that has one
 * speaks for all. */
static void print_all_values(FILE *out)
{
	const char *seen[32];
	size_t count = 0;

	for (int i = 0; mt_command_at(i); i++) {
		for (const struct mt_option *option = mt_command_at(i)->options; option->name;
			option++) {
			bool known = false;

			if (!option->choices && option->kind != MT_OPTION_SORT
				&& option->place != MT_OPTION_AT(theme))
				continue;
			for (size_t j = 0; j < count; j++)
				known = known || !strcmp(seen[j], option->name);
			if (known || count == sizeof seen / sizeof *seen)
				continue;
			seen[count++] = option->name;
			print_values(out, option);
		}
	}
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
	for (int i = 0; mt_command_at(i); i++)
		fprintf(out, " %s", mt_command_at(i)->name);
	fputs("' -- \"$current\"))\n\t\treturn\n\tfi\n\tcase $previous in\n", out);
	print_all_values(out);
	fputs("\thelp | --man) values='memtui", out);
	for (int i = 0; mt_command_at(i); i++)
		fprintf(out, " %s", mt_command_at(i)->name);
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
