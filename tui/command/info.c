#include "tui/command/commands.h"

#include "core/base/wrap.h"
#include "core/export/number.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const struct mt_option options[] = {
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_SUPPRESS,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static bool is_first;
/* Of all traces of a list: one sentence says what would otherwise be said after each line. */
static uint64_t suppressed_bytes, suppressed_blocks, suppressed_traces;

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

static int line_next(const struct mt_report *report, struct mt_err *err)
{
	if (report->suppressed && report->suppressed->all_blocks) {
		suppressed_bytes += report->suppressed->all_bytes;
		suppressed_blocks += report->suppressed->all_blocks;
		suppressed_traces++;
	}
	return mt_report_info_line(report, err);
}

static void say_suppressed(void)
{
	char bytes[MT_NUMBER_EXACT_LEN], blocks[MT_NUMBER_EXACT_LEN], traces[MT_NUMBER_OF_LEN];

	if (!suppressed_traces)
		return;
	mt_number_exact(bytes, suppressed_bytes);
	mt_number_exact(blocks, suppressed_blocks);
	mt_command_say("suppressed: %s %s in %s %s of %s; these leaks are hidden "
		       "(--no-builtin-suppressions shows all)",
		bytes, MT_PLURAL(bytes, "byte"), blocks, MT_PLURAL(blocks, "block"),
		mt_number_of(traces, suppressed_traces, "trace"));
}

/* Of several traces: JSON, an array of what each alone gives; else a line each. A trace that cannot
 * be read is said, and left out. */
static int list(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments one = *arguments;
	bool json = arguments->format == MT_FORMAT_JSON;
	int status = 0;

	one.operand_count = 1;
	one.unverified = !json;
	is_first = true;
	if (json)
		putchar('[');
	else
		mt_report_info_heading(mt_command_out(arguments), arguments->format,
			mt_wrap_columns(STDOUT_FILENO));
	for (int i = 0; i < arguments->operand_count; i++) {
		one.operands = arguments->operands + i;
		int seen = mt_command_view(&one, json ? report_next : line_next, false, err);

		if (seen < 0)
			mt_command_say("%s", err->text);
		status = seen < 0 ? -EINVAL : status ? status : seen;
	}
	if (json)
		puts("]");
	else
		say_suppressed();
	return status < 0 ? mt_fail(err, status, "some of the traces could not be read") : status;
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = *arguments;

	own.history = true;
	own.names_suppressed = true;
	if (arguments->operand_count == 1)
		return mt_command_view(&own, mt_report_info, false, err);
	return list(&own, err);
}

const struct mt_command mt_command_info = {
	.name = "info",
	.operands = "TRACE|PID...",
	.words = "print the totals and losses of a trace",
	.description =
		"Prints the command line, the totals and the losses of a recording, and its "
		"process: its parent, whether it was forked or executed, and the root of its "
		"session. For several traces, such as those of a session, it prints one line "
		"each; filters apply to all.\n\n'allocations' counts successful calls of "
		"malloc, calloc, memalign, new and realloc(NULL, n). A realloc of a live "
		"block is a reallocation: it ends one block and begins another. So 'blocks "
		"allocated' is allocations plus reallocations, and 'blocks freed' is frees "
		"plus reallocations. Groups, call trees, the timeline and the screen count "
		"blocks. With a filter, the totals and the peak are those of the selected "
		"blocks: the most bytes that they used at once. If a filter selects only one "
		"of the two blocks of a realloc, it counts as an allocation or a "
		"free.\n\nLeaks do not include suppressed leaks (--suppressions, the "
		"program's own and the built-in suppressions); these have a line to "
		"themselves.",
	.examples = "memtui info memtui.dat\tprint totals and losses\nmemtui info "
		    "build.dat*\tlist all processes of a session\nmemtui info --format json "
		    "memtui.dat\tprint them for a script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
