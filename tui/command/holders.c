/* What holds a block of a process that is being recorded, or held it at the end. */
#include "core/base/wrap.h"
#include "core/export/report_holders.h"
#include "core/leakcheck/process.h"
#include "tui/command/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct mt_option options[] = {
	{'n', "count", "N", MT_OPTION_NUMBER, MT_OPTION_AT(count),
		"of a group: show what holds N of its blocks, the largest ones (default: 1)", NULL},
	MT_OPTION_NO_COPY,
	{0, "format", "FORMAT", MT_OPTION_FORMAT, MT_OPTION_AT(format),
		"text (the default) or json", "text|json"},
	MT_OPTIONS_EXACT,
	MT_OPTIONS_NAMES,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* ---- the command line ------------------------------------------------------------------------ */

struct asked {
	bool is_address;
	uint64_t number; /* of a group, or an address */
};

static int take_asked(struct asked *asked, const char *text, struct mt_err *err)
{
	char *end;

	asked->is_address = !strncmp(text, "0x", 2) || !strncmp(text, "0X", 2);
	errno = 0;
	asked->number = strtoull(text, &end, asked->is_address ? 16 : 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno
		&& (asked->is_address || asked->number < MT_NO_GROUP))
		return 0;
	return mt_fail(err, -EINVAL,
		"invalid address or group '%.60s'; expected an address such as 0x55d0c0de, or the "
		"number of a group, which 'groups --format json' and the screen show",
		text);
}

static int check(const struct mt_arguments *a, struct mt_err *err)
{
	struct asked asked;
	pid_t pid;

	if (a->no_copy && !mt_command_is_process(a->operands[0], &pid))
		return mt_fail(err, -EINVAL, "--no-copy: only with a process; omit it");
	return take_asked(&asked, a->operands[1], err);
}

/* ---- the question ---------------------------------------------------------------------------- */

static int find_block(struct mt_holders_question *q, const struct mt_leakcheck *c, uint64_t address,
	struct mt_err *err)
{
	q->block = mt_held_blocks_find(&c->blocks, address);
	if (q->block == MT_BLOCK_NONE)
		return mt_fail(err, -ENOENT,
			"no block that lives has the address %#llx: it was freed, or made before "
			"the recording began",
			(unsigned long long)address);
	q->group = c->blocks.items[q->block].group;
	q->address = address;
	return 0;
}

static int find_group(struct mt_holders_question *q, const struct mt_leakcheck *c,
	const struct mt_profile *p, uint64_t group, struct mt_err *err)
{
	if (group >= p->group_count)
		return mt_fail(err, -ENOENT,
			"there is no group %llu: the recording has %u, and the first one is 0",
			(unsigned long long)group, p->group_count);
	q->group = (uint32_t)group;
	q->block = MT_BLOCK_NONE;
	for (uint32_t i = 0; i < c->blocks.count; i++)
		if (c->blocks.items[i].group == group)
			return 0;
	return mt_fail(err, -ENOENT, "no block of group %llu lives: all of them were freed",
		(unsigned long long)group);
}

static int answer(const struct mt_arguments *a, const struct mt_leakcheck *c,
	struct mt_recording *r, struct mt_err *err)
{
	struct mt_holders_question q = {0};
	struct asked asked;
	int status = take_asked(&asked, a->operands[1], err);

	if (status >= 0)
		status = asked.is_address ? find_block(&q, c, asked.number, err)
					  : find_group(&q, c, r->now.profile, asked.number, err);
	if (status < 0)
		return status;
	struct mt_report report = {
		.out = stdout,
		.format = a->format,
		.exact = a->exact,
		.profile = r->now.profile,
		.symbols = r->now.symbols,
		.count = a->count,
		.short_names = a->short_names || isatty(STDOUT_FILENO),
		.width = mt_wrap_columns(STDOUT_FILENO),
	};

	mt_report_holders(&report, c, &q);
	return mt_command_finish(a, err);
}

/* ---- a process that runs --------------------------------------------------------------------- */

static int run_on_process(const struct mt_arguments *a, pid_t pid, struct mt_err *err)
{
	struct mt_leakcheck_target target = {.is_asked = true,
		.mode = a->no_copy ? MT_STILL_NO_COPY : 0};
	struct mt_session_entry entry;
	struct mt_leakcheck c = {0};
	struct mt_err untold, trouble = {0};
	struct mt_recording *r;
	pid_t process;
	int status = mt_command_find_recording(&entry, pid, &process, err);

	if (status < 0)
		return status;
	target.session = entry.name;
	target.process = process ? process : entry.program;
	target.is_root = !process;
	status = mt_leakcheck_begin(&c, &r, &target, &untold, err);
	if (status >= 0) {
		mt_recording_await_names(r);
		status = answer(a, &c, r, err);
	}
	if (mt_leakcheck_end(&c, r, &trouble) < 0)
		mt_command_say("%s", trouble.text);
	return status;
}

/* ---- a trace --------------------------------------------------------------------------------- */

static int check_trace(const struct mt_verdicts *v, const char *path, struct mt_err *err)
{
	if (!v)
		return mt_fail(err, -ENODATA,
			"%s: the recording has no leak check, so nobody knows what held its "
			"blocks; record the program with --leak-check, or give the number of a "
			"process that is being recorded",
			path);
	if (!v->at_end)
		return mt_fail(err, -ENODATA,
			"%s: its leak check was made while the program ran, and tells what is "
			"lost, but not what held the other blocks; record the program with "
			"--leak-check",
			path);
	return v->way_count
		? 0
		: mt_fail(err, -ENODATA,
			"%s: the leak check tells what is lost, but not what held the "
			"other blocks: there were none, or more than %u",
			path, MT_VERDICT_WAYS_MOST);
}

static int run_on_trace(const struct mt_arguments *a, struct mt_err *err)
{
	const char *path = a->operands[0];
	struct mt_open_options how = {0};
	struct mt_recording *r = mt_recording_open(path, &how, err);
	struct mt_leakcheck c = {0};
	int status = r ? check_trace(r->now.profile->verdicts, path, err) : err->code;

	if (status >= 0)
		mt_recording_complete_names(r, &how, NULL, err);
	if (status >= 0) {
		struct mt_source source = {.profile = r->now.profile,
			.symbols = r->now.symbols,
			.reader = r->now.reader};

		status = mt_leakcheck_of_ways(&c, &source, r->now.profile->verdicts, err);
	}
	if (status >= 0)
		status = answer(a, &c, r, err);
	mt_leakcheck_free(&c);
	mt_recording_free(r);
	return status;
}

static int run(const struct mt_arguments *a, struct mt_err *err)
{
	pid_t pid;

	return mt_command_is_process(a->operands[0], &pid)
		? run_on_process(a, pid, err)
		: run_on_trace(a, err);
}

const struct mt_command mt_command_holders = {
	.name = "holders",
	.operands = "PID|TRACE ADDRESS|GROUP",
	.words = "show what holds a block, and what it retains",
	.description =
		"Shows on which way the program reaches a block of the heap: the root, which is a "
		"variable, a thread's stack, register or thread-local storage, or memory that the "
		"program has mapped; and from there on the blocks, each by the code that has made "
		"it, its size, and the offset of the pointer in it that leads on. The way is among "
		"the shortest. Of a group, it is that of the largest block.\n\n"
		"Retained is what would be unreachable if the block, or all blocks of the group, "
		"were gone: these blocks, and all to which no other way leads.\n\n"
		"The process must be recorded. It is looked at as by leak-check, whose verdicts "
		"are then known of the recording as well.\n\n"
		"A trace tells what held the blocks at the end of the program if it was recorded "
		"with --leak-check, but not what they retained.",
	.examples = "memtui holders $(pidof server) 0x5581d1c0a2b0\tshow what holds this block\n"
		    "memtui holders --count 5 4711 17\tshow what holds five blocks of a group\n"
		    "memtui holders --format json 4711 17\tthe same of one block, for a script\n",
	.options = options,
	.operands_min = 2,
	.operands_max = 2,
	.check = check,
	.run = run,
};
