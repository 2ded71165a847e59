/* Completion for fish: a 'complete' per option, for all commands that have the same one. */
#include "tui/command/completion.h"

#include <stdlib.h>
#include <string.h>

static const char start[] =
	"# fish completion for memtui, written by 'memtui help --completion fish'\n\n"
	"# Prints the command and its operands: the words before the cursor that are neither\n"
	"# options nor their values. After -- and after a program that is run, every word is an\n"
	"# operand; the first line is the index of the first such word, or 0.\n"
	"function __fish_memtui_read\n"
	"    set -l words (commandline -opc)\n"
	"    set -l rest\n"
	"    set -l begin 0\n"
	"    set -l i 2\n"
	"    while test $i -le (count $words)\n"
	"        set -l word $words[$i]\n"
	"        if test $begin -ne 0; or not string match -q -- '-?*' $word\n"
	"            set -a rest $word\n"
	"            if test $begin -eq 0; and test (count $rest) -eq 2; "
	"and contains -- $rest[1] $__fish_memtui_runs\n"
	"                set begin $i\n"
	"            end\n"
	"        else if test $word = --\n"
	"            set begin (math $i + 1)\n"
	"        else if contains -- $word $__fish_memtui_taking\n"
	"            set i (math $i + 1)\n"
	"        end\n"
	"        set i (math $i + 1)\n"
	"    end\n"
	"    echo $begin\n"
	"    string join \\n -- $rest\n"
	"end\n\n"
	"# Succeeds where an option of one of these commands can stand.\n"
	"function __fish_memtui_in\n"
	"    set -l read (__fish_memtui_read)\n"
	"    test (count $read) -ge 2; and test $read[1] -eq 0; and contains -- $read[2] $argv\n"
	"end\n\n"
	"# Succeeds where this operand of one of these commands can stand: 2, the second; +2, the\n"
	"# second or later.\n"
	"function __fish_memtui_operand\n"
	"    set -l read (__fish_memtui_read)\n"
	"    test (count $read) -ge 2; or return 1\n"
	"    contains -- $read[2] $argv[2..]; or return 1\n"
	"    set -l at (math (count $read) - 1)\n"
	"    test $at = $argv[1]; and return\n"
	"    string match -q -- '+*' $argv[1]; and test $at -ge (string sub -s 2 -- $argv[1])\n"
	"end\n\n"
	"function __fish_memtui_first\n"
	"    test (count (commandline -opc)) -eq 1\n"
	"end\n\n"
	"function __fish_memtui_themes\n"
	"    set -l words (commandline -opc)\n"
	"    set -l memtui (string replace -r '^~/' $HOME/ -- $words[1])\n"
	"    $memtui help themes 2>/dev/null\n"
	"end\n\n"
	"# The completions of the program that is run and of its arguments.\n"
	"function __fish_memtui_program\n"
	"    set -l words (commandline -opc)\n"
	"    set -l begin (__fish_memtui_read)[1]\n"
	"    set -l line\n"
	"    if test $begin -eq 0; and string match -q -- '-*' (commandline -ct)\n"
	"        return\n"
	"    end\n"
	"    if test $begin -ne 0; and test $begin -le (count $words)\n"
	"        set line (string escape -- $words[$begin..])\n"
	"    end\n"
	"    complete --do-complete=(string join ' ' -- $line (commandline -ct))\n"
	"end\n\n"
	"complete -c memtui -f\n";

static void put(FILE *out, const char *text)
{
	putc('\'', out);
	mt_put_escaped(out, text, "\\", "\\'");
	putc('\'', out);
}

static void print_commands(FILE *out)
{
	fputs("set -g __fish_memtui_runs", out);
	for (int i = 0; mt_command_at(i); i++)
		if (mt_command_at(i)->runs_program)
			fprintf(out, " %s", mt_command_at(i)->name);
	fputs("\n\n", out);
	for (int i = 0; mt_command_at(i); i++) {
		fprintf(out, "complete -c memtui -n __fish_memtui_first -a %s -d ",
			mt_command_at(i)->name);
		put(out, mt_command_at(i)->words);
		putc('\n', out);
	}
	fputs("complete -c memtui -n __fish_memtui_first -s h -l help "
	      "-d 'show the list of all commands'\n"
	      "complete -c memtui -n __fish_memtui_first -s V -l version "
	      "-d 'print the version'\n\n",
		out);
}

/* The options behind which the next word is a value. */
static void print_taking(FILE *out)
{
	bool letters[128] = {false};
	char name[64];

	fputs("set -g __fish_memtui_taking", out);
	for (int i = 0; mt_command_at(i); i++)
		for (const struct mt_option *option = mt_command_at(i)->options; option->name;
			option++) {
			if (!mt_option_takes_word(option))
				continue;
			mt_option_name(name, sizeof name, option);
			if (mt_option_first(option->name) == i)
				fprintf(out, " --%s", name);
			if (option->letter && !letters[option->letter & 127])
				fprintf(out, " -%c", option->letter);
			letters[option->letter & 127] = true;
		}
	putc('\n', out);
}

/* "value<tab>words" for each, as one list in single quotes. */
static void print_values(FILE *out, const struct mt_values *values)
{
	fputs(" -a '", out);
	for (int i = 0; i < values->count; i++) {
		/* the list is read again as fish code, so that it is quoted twice */
		char *quoted = mt_format("%s%s%s", values->items[i].name,
			*values->items[i].words ? "\t" : "", values->items[i].words);

		fputs(i ? " \"" : "\"", out);
		for (const char *c = quoted; *c; c++) {
			if (strchr("\"$\\", *c))
				fputs("\\\\", out);
			if (strchr("\\'", *c))
				putc('\\', out);
			putc(*c, out);
		}
		putc('"', out);
		free(quoted);
	}
	putc('\'', out);
}

static void print_completes(FILE *out, enum mt_completes completes, const struct mt_values *values)
{
	switch (completes) {
	case MT_COMPLETES_VALUES: print_values(out, values); break;
	case MT_COMPLETES_THEMES: fputs(" -a '(__fish_memtui_themes)'", out); break;
	case MT_COMPLETES_FILES: fputs(" -F", out); break;
	case MT_COMPLETES_PROGRAM: fputs(" -a '(__fish_memtui_program)'", out); break;
	case MT_COMPLETES_NOTHING: break;
	}
}

/* The option of this command, for it and for all that have the same one. */
static void print_option(FILE *out, int command, const struct mt_option *option)
{
	struct mt_values values = {0};
	enum mt_completes completes = mt_option_completes(option, &values);
	char name[64], *words = mt_option_words(option);

	mt_option_name(name, sizeof name, option);
	fputs("complete -c memtui -n '__fish_memtui_in", out);
	for (int i = command; mt_command_at(i); i++) {
		const struct mt_option *other = mt_command_option(mt_command_at(i), option->name);

		if (other && mt_option_same(option, other))
			fprintf(out, " %s", mt_command_at(i)->name);
	}
	putc('\'', out);
	if (option->letter)
		fprintf(out, " -s %c", option->letter);
	fprintf(out, " -l %s%s -d ", name,
		mt_option_takes_word(option) ? completes == MT_COMPLETES_FILES ? " -r" : " -x"
					     : "");
	put(out, words);
	print_completes(out, completes, &values);
	putc('\n', out);
	free(words);
	mt_values_free(&values);
}

static bool is_printed(int command, const struct mt_option *option)
{
	for (int i = 0; i < command; i++) {
		const struct mt_option *other = mt_command_option(mt_command_at(i), option->name);

		if (other && mt_option_same(option, other))
			return true;
	}
	return false;
}

static void print_operands(FILE *out, const struct mt_command *command)
{
	bool any;
	int count = mt_operands_shown(command, &any);

	for (int index = 0; index < count; index++) {
		struct mt_values values = {0};
		enum mt_completes completes = mt_operand_completes(command, index, &values);

		if (completes != MT_COMPLETES_NOTHING) {
			fputs("complete -c memtui -n '__fish_memtui_operand ", out);
			if (any && index + 1 == count)
				fprintf(out, "+%d %s'", index + 1, command->name);
			else
				fprintf(out, "%d %s'", index + 1, command->name);
			print_completes(out, completes, &values);
			putc('\n', out);
		}
		mt_values_free(&values);
	}
}

void mt_completion_fish(FILE *out)
{
	fputs(start, out);
	print_taking(out);
	print_commands(out);
	for (int i = 0; mt_command_at(i); i++)
		for (const struct mt_option *option = mt_command_at(i)->options; option->name;
			option++)
			if (!is_printed(i, option))
				print_option(out, i, option);
	putc('\n', out);
	for (int i = 0; mt_command_at(i); i++)
		print_operands(out, mt_command_at(i));
}
