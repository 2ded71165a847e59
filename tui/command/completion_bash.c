/* Completion for bash. The script has the options of each command as lines
 * "--name=|letter|words", where '=' says that a value follows, and values as lines
 * "value|words". */
#include "tui/command/completion.h"

#include <stdlib.h>

static const char start[] =
	"# bash completion for memtui, written by 'memtui help --completion bash'\n\n"
	"# Sets words, the words up to the cursor, and indexes, the place of each in COMP_WORDS.\n"
	"# bash splits words at '=' and ':', so this function joins them again.\n"
	"_memtui_words()\n{\n"
	"\tlocal i word joins=\n"
	"\tfor ((i = 0; i <= COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif ((i > 1)) && [[ $word == [=:]* || $joins ]]; then\n"
	"\t\t\twords[${#words[@]} - 1]+=$word\n"
	"\t\telse\n"
	"\t\t\twords+=(\"$word\")\n"
	"\t\t\tindexes+=(\"$i\")\n"
	"\t\tfi\n"
	"\t\t[[ $word == *[=:] ]] && joins=1 || joins=\n"
	"\tdone\n}\n\n"
	"# Offers the values that begin like the current word, from lines \"value|words\", or\n"
	"# \"value|letter|words\" if $2 is letter. When bash only lists, the words are shown too.\n"
	"_memtui_offer()\n{\n"
	"\tlocal line cut=$prefix$current width=0 i\n"
	"\tlocal -a names=() texts=()\n"
	"\t# bash inserts behind the last '=' or ':'\n"
	"\t[[ ${COMP_WORDS[COMP_CWORD]} == [=:]* ]] || cut=${cut%\"${COMP_WORDS[COMP_CWORD]}\"}\n"
	"\twhile IFS= read -r line; do\n"
	"\t\t[[ $line && $line == \"$current\"* ]] || continue\n"
	"\t\tnames+=(\"${line%%|*}\")\n"
	"\t\tline=${line#*|}\n"
	"\t\t[ \"$2\" = letter ] && line=${line#*|}\n"
	"\t\ttexts+=(\"$line\")\n"
	"\t\t((${#names[-1]} > width)) && width=${#names[-1]}\n"
	"\tdone <<<\"$1\"\n"
	"\tfor i in \"${!names[@]}\"; do\n"
	"\t\tline=$prefix${names[i]}\n"
	"\t\tCOMPREPLY+=(\"${line#\"$cut\"}\")\n"
	"\tdone\n"
	"\tif [[ ${#names[@]} == 1 && ${names[0]} == *[=:] ]]; then\n"
	"\t\tcompopt -o nospace\n"
	"\tfi\n"
	"\tif ((${#names[@]} > 1)) && [[ ${COMP_TYPE-} == 63 ]]; then\n"
	"\t\tfor i in \"${!names[@]}\"; do\n"
	"\t\t\t[[ ${texts[i]} ]] || continue\n"
	"\t\t\tprintf -v line '%-*s  %s' \"$width\" \"${names[i]}\" \"${texts[i]}\"\n"
	"\t\t\tCOMPREPLY[i]=${line:0:${COLUMNS:-80}-1}\n"
	"\t\tdone\n"
	"\tfi\n}\n\n"
	"# Completes a program and its arguments, from the word at index $1 of COMP_WORDS.\n"
	"_memtui_program()\n{\n"
	"\tif declare -F _comp_command_offset >/dev/null; then\n"
	"\t\t_comp_command_offset \"$1\"\n"
	"\telif declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$1\"\n"
	"\telif [ \"$1\" = \"$COMP_CWORD\" ]; then\n"
	"\t\tcompopt -o filenames\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$current\")\n"
	"\telse\n"
	"\t\tcompopt -o default\n"
	"\tfi\n}\n\n";

static const char body[] =
	"# Reads the words before the cursor as memtui does. Sets option: the option whose value\n"
	"# is at the cursor; operand: the number of operands; program: the index of the first\n"
	"# operand; ended: 1 after --.\n"
	"_memtui_read()\n{\n"
	"\tlocal i word\n"
	"\tfor ((i = 2; i < ${#words[@]} - 1; i++)); do\n"
	"\t\tword=${words[i]}\n"
	"\t\tif [[ $ended || $word != -?* ]]; then\n"
	"\t\t\t((operand++)) || program=${indexes[i]}\n"
	"\t\t\t[[ $runs ]] && ended=1\n"
	"\t\telif [ \"$word\" = -- ]; then\n"
	"\t\t\tended=1\n"
	"\t\telse\n"
	"\t\t\toption=$word\n"
	"\t\t\tif [[ $word == -? && $options == *\"=|${word#-}|\"* ]]; then\n"
	"\t\t\t\toption=${options%%\"=|${word#-}|\"*}\n"
	"\t\t\t\toption=${option##*$'\\n'}\n"
	"\t\t\telif [[ $options != *$'\\n'\"$word=|\"* ]]; then\n"
	"\t\t\t\toption=\n"
	"\t\t\tfi\n"
	"\t\t\t[[ ! $option ]] || ((++i == ${#words[@]} - 1)) || option=\n"
	"\t\tfi\n"
	"\tdone\n}\n\n"
	"_memtui()\n{\n"
	"\tlocal prefix= current= command= options= option= values= files= runs= ended= program=\n"
	"\tlocal operand=0\n"
	"\tlocal -a words=() indexes=()\n"
	"\tCOMPREPLY=()\n"
	"\t_memtui_words\n"
	"\tcurrent=${words[-1]}\n"
	"\tcommand=${words[1]}\n"
	"\tif [ ${#words[@]} = 2 ]; then\n"
	"\t\t_memtui_offer \"$_memtui_commands\" ''\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t_memtui_options\n"
	"\t_memtui_read\n"
	"\tif [[ ! $option && ! $ended && $current == --*=* ]]; then\n"
	"\t\toption=${current%%=*}\n"
	"\t\tprefix=$option=\n"
	"\t\tcurrent=${current#*=}\n"
	"\tfi\n"
	"\tif [[ $option ]]; then\n"
	"\t\t_memtui_values\n"
	"\telif [[ ! $ended && $current == -* ]]; then\n"
	"\t\t_memtui_offer \"$options\" letter\n"
	"\t\treturn\n"
	"\telif [[ $runs ]]; then\n"
	"\t\t_memtui_program \"${program:-${indexes[-1]}}\"\n"
	"\telse\n"
	"\t\t_memtui_operands\n"
	"\tfi\n"
	"\t[[ ! $files ]] || compopt -o default\n"
	"\t_memtui_offer \"$values\" ''\n"
	"}\n\n"
	"complete -F _memtui memtui\n";

static void put(FILE *out, const char *text)
{
	mt_put_escaped(out, text, "", "'\\''");
}

static void print_value(FILE *out, const char *name, const char *words)
{
	put(out, name);
	putc('|', out);
	put(out, words);
	putc('\n', out);
}

static void print_commands(FILE *out)
{
	fputs("_memtui_commands='\n", out);
	for (int i = 0; mt_command_at(i); i++)
		print_value(out, mt_command_at(i)->name, mt_command_at(i)->words);
	fputs("--help|show the list of all commands\n--version|print the version\n'\n\n", out);
}

static void print_option(FILE *out, const struct mt_option *option)
{
	char name[64], *words = mt_option_words(option);

	mt_option_name(name, sizeof name, option);
	fprintf(out, "--%s%s|", name, mt_option_takes_word(option) ? "=" : "");
	if (option->letter)
		putc(option->letter, out);
	putc('|', out);
	put(out, words);
	putc('\n', out);
	free(words);
}

/* The filters are those of many commands, so they stand once. */
static void print_options(FILE *out)
{
	const struct mt_option *option = mt_command_find("groups")->options;

	while (!mt_option_is_first_field(option))
		option++;
	fputs("_memtui_filters='", out);
	do
		print_option(out, option);
	while (!mt_option_is_last_field(option++));
	fputs("'\n\n_memtui_options()\n{\n\tcase $command in\n", out);
	for (int i = 0; mt_command_at(i); i++) {
		fprintf(out, "\t%s) %soptions='\n", mt_command_at(i)->name,
			mt_command_at(i)->runs_program ? "runs=1 " : "");
		for (option = mt_command_at(i)->options; option->name; option++) {
			if (!mt_option_is_first_field(option)) {
				print_option(out, option);
				continue;
			}
			fputs("'\"$_memtui_filters\"'", out);
			while (!mt_option_is_last_field(option))
				option++;
		}
		fputs("' ;;\n", out);
	}
	fputs("\tesac\n}\n\n", out);
}

static void print_completes(FILE *out, enum mt_completes completes, const struct mt_values *values)
{
	switch (completes) {
	case MT_COMPLETES_VALUES:
		fputs("values='\n", out);
		for (int i = 0; i < values->count; i++)
			print_value(out, values->items[i].name, values->items[i].words);
		putc('\'', out);
		break;
	case MT_COMPLETES_THEMES: /* those that are there when somebody asks */
		fputs("values=$(\"${COMP_WORDS[0]/#~\\//$HOME/}\" help themes 2>/dev/null)", out);
		break;
	case MT_COMPLETES_FILES: fputs("files=1", out); break;
	case MT_COMPLETES_PROGRAM:
	case MT_COMPLETES_NOTHING: break;
	}
	fputs(" ;;\n", out);
}

/* command NULL: every command that says nothing else of the option. */
static void print_values(FILE *out, const char *command, const struct mt_option *option)
{
	struct mt_values values = {0};
	enum mt_completes completes = mt_option_completes(option, &values);
	char name[64];

	mt_option_name(name, sizeof name, option);
	if (command || completes != MT_COMPLETES_NOTHING) {
		fprintf(out, "\t%s:--%s) ", command ? command : "*", name);
		print_completes(out, completes, &values);
	}
	mt_values_free(&values);
}

/* Most options have the same values in every command. An exception stands before them. */
static void print_all_values(FILE *out)
{
	const struct mt_option *option;

	fputs("_memtui_values()\n{\n\tcase $command:$option in\n", out);
	for (int i = 0; mt_command_at(i); i++)
		for (option = mt_command_at(i)->options; option->name; option++) {
			int first = mt_option_first(option->name);

			if (!mt_option_same_values(option,
				    mt_command_option(mt_command_at(first), option->name)))
				print_values(out, mt_command_at(i)->name, option);
		}
	for (int i = 0; mt_command_at(i); i++)
		for (option = mt_command_at(i)->options; option->name; option++)
			if (mt_option_first(option->name) == i)
				print_values(out, NULL, option);
	fputs("\tesac\n}\n\n", out);
}

static void print_operands(FILE *out)
{
	fputs("_memtui_operands()\n{\n\tcase $command:$operand in\n", out);
	for (int i = 0; mt_command_at(i); i++) {
		const struct mt_command *command = mt_command_at(i);
		bool any;
		int count = mt_operands_shown(command, &any);

		for (int index = 0; index < count; index++) {
			struct mt_values values = {0};
			enum mt_completes completes = mt_operand_completes(command, index, &values);

			bool first = any && index + 1 < count;

			if (completes == MT_COMPLETES_NOTHING && first)
				fprintf(out, "\t%s:%d) ;;\n", command->name, index);
			if (completes == MT_COMPLETES_VALUES || completes == MT_COMPLETES_FILES) {
				bool rest = any && index + 1 == count;

				fprintf(out, rest ? "\t%s:*) " : "\t%s:%d) ", command->name, index);
				print_completes(out, completes, &values);
			}
			mt_values_free(&values);
		}
	}
	fputs("\tesac\n}\n\n", out);
}

void mt_completion_bash(FILE *out)
{
	fputs(start, out);
	print_commands(out);
	print_options(out);
	print_all_values(out);
	print_operands(out);
	fputs(body, out);
}
