#include "tui/commands.h"

#include "core/export/number.h"

#include <errno.h>
#include <stdlib.h>

static const struct mt_option options[] = {
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_SUPPRESS,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static void put_csv(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	putchar('"');
}

static void put_text(const char *text)
{
	for (; *text; text++)
		putchar((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
}

/* One trace of several: a line. */
static void put_line(const struct mt_arguments *arguments, const char *path, const struct mt_profile *profile)
{
	const struct mt_info *info = &profile->info;
	char allocations[MT_NUMBER_EXACT_LEN], peak[MT_NUMBER_EXACT_LEN], leaked[MT_NUMBER_EXACT_LEN];

	if (arguments->format == MT_FORMAT_CSV) {
		printf("%u,%u,%u,%s,%llu,%llu,%llu,", info->pid, info->parent, info->root, mt_origin_name(info->origin),
			(unsigned long long)info->allocations, (unsigned long long)info->peak_bytes,
			(unsigned long long)info->leaked_bytes);
		put_csv(path);
		putchar('\n');
		return;
	}
	(arguments->exact ? mt_number_exact : mt_number_count)(allocations, info->allocations);
	(arguments->exact ? mt_number_exact : mt_number_size)(peak, info->peak_bytes);
	(arguments->exact ? mt_number_exact : mt_number_size)(leaked, info->leaked_bytes);
	printf("%8u %8u  %-7s %15s %12s %12s  ", info->pid, info->parent, mt_origin_name(info->origin), allocations, peak,
		leaked);
	char *command = mt_profile_command(profile);

	put_text(path);
	fputs("  ", stdout);
	put_text(command);
	putchar('\n');
	free(command);
}

/* A trace that cannot be read is said, and left out. */
static int list(const struct mt_arguments *arguments, struct mt_err *err)
{
	int status = 0;

	if (arguments->format == MT_FORMAT_CSV)
		puts("pid,parent_pid,root_pid,origin,allocations,peak_bytes,leaked_bytes,file");
	else
		printf("%8s %8s  %-7s %15s %12s %12s  %s\n", "process", "parent", "by", "allocations", "peak", "leaked",
			"file and command");
	for (int i = 0; i < arguments->operand_count; i++) {
		struct mt_loaded loaded;

		if (mt_command_load(&loaded, arguments->operands[i], false, err) < 0) {
			mt_command_say("%s", err->text);
			status = -EINVAL;
		} else {
			put_line(arguments, arguments->operands[i], &loaded.profile);
		}
		mt_loaded_free(&loaded);
	}
	return status < 0 ? mt_fail(err, status, "not all of the traces could be read") : 0;
}

static bool is_first;

/* One of an array: what goes before it is known once it can be had. */
static int report_next(const struct mt_report *report, struct mt_err *err)
{
	struct mt_report apart = *report;
	char *text = NULL;
	size_t len = 0;
	int status = -ENOMEM;

	apart.out = open_memstream(&text, &len);
	if (apart.out) {
		status = mt_report_info(&apart, err);
		fclose(apart.out);
	}
	if (status >= 0) {
		if (!is_first)
			putchar(',');
		is_first = false;
		fwrite(text, 1, len, stdout);
	}
	free(text);
	return status;
}

/* JSON: an array of what each alone gives. */
static int list_json(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments one = *arguments;
	int status = 0;

	one.operand_count = 1;
	is_first = true;
	putchar('[');
	for (int i = 0; i < arguments->operand_count; i++) {
		one.operands = arguments->operands + i;
		if (mt_command_view(&one, report_next, false, err) < 0) {
			mt_command_say("%s", err->text);
			status = -EINVAL;
		}
	}
	puts("]");
	return status < 0 ? mt_fail(err, status, "not all of the traces could be read") : 0;
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = *arguments;

	own.history = true;
	if (arguments->operand_count == 1)
		return mt_command_view(&own, mt_report_info, false, err);
	return arguments->format == MT_FORMAT_JSON ? list_json(&own, err) : list(arguments, err);
}

const struct mt_command mt_command_info = {
	.name = "info",
	.operands = "TRACE...",
	.words = "show what a trace holds and what was lost",
	.description = "Prints the command line, the totals and the losses of a recording, and whose it is: the process, its "
		"parent, whether it was forked or executed, and the root of its session. Of several traces, as a session with "
		"more than one process leaves them, it prints a line each.\n\n"
		"allocations counts every successful malloc, calloc, memalign, new and realloc(NULL, n); a "
		"realloc of a live block counts as a reallocation. With a filter the totals are those of the "
		"matching blocks, and the peak is theirs: the most that they held at once, whenever that was. Where only "
		"one of the two blocks of a realloc matches, it counts as an allocation or a free.",
	.examples = "memtui info memtui.dat\ttotals and losses\n"
		"memtui info build.dat*\tevery process of a session\n"
		"memtui info --format json memtui.dat\tthe same for a script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
