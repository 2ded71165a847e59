#include "tui/command/closing.h"

#include "core/export/number.h"
#include "core/recording/pack.h"
#include "tui/command/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct mt_option options[] = {
	{'o', "output", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(output),
		"trace to write (default: the recording's name with .dat); '-': standard "
		"output",
		NULL},
	{'f', "force", NULL, MT_OPTION_FLAG, MT_OPTION_AT(force), "replace an existing trace file",
		NULL},
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* The trace is read again where that is possible: what its suppressions name is no leak. */
static void say_packed(const char *from, const char *to, const struct mt_packed *packed)
{
	static const struct mt_arguments none;
	struct mt_closing closing = {0};
	char text[MT_CLOSING_LEN], bytes[MT_NUMBER_LEN];
	struct stat file;
	struct mt_err err = {0};
	bool whole = strcmp(to, "-") && stat(to, &file) == 0 && S_ISREG(file.st_mode);

	mt_number_size(bytes, packed->bytes);
	if (*packed->remark)
		mt_command_say("%s", packed->remark);
	if (packed->nameless.code)
		mt_command_say("%s: %s", from, packed->nameless.text);
	if (packed->lives)
		mt_command_say(
			"%s: process %u is still writing it; the trace contains what is there "
			"now",
			from, packed->info.pid);
	if (whole && mt_closing_load(&closing, to, &none, &err) >= 0)
		mt_closing_text(text, &closing);
	else
		mt_closing_calls(text, &packed->info);
	mt_command_say("wrote %s: %s, %s", to, bytes, text);
	mt_closing_free(&closing);
}

static int pack(const char *from, const char *to, const struct mt_arguments *arguments,
	struct mt_err *err)
{
	struct mt_open_options opening = {.memory_max = arguments->max_memory,
		.progress = mt_command_tell};
	struct mt_new_file file = {0};
	struct mt_packed packed;
	int fd = strcmp(to, "-") ? mt_new_file_open(&file, to, arguments->force, 0600, err)
				 : mt_pack_output(err);
	int error = fd < 0 ? fd : mt_pack(from, fd, &opening, &packed, err);

	mt_command_progress(NULL, -1);
	error = mt_new_file_close(&file, error, err);
	if (error)
		return error;
	say_packed(from, to, &packed);
	return arguments->strict && (!mt_info_is_whole(&packed.info));
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	const char *from = arguments->operands[0];
	char *to = arguments->output ? mt_strdup(arguments->output) : mt_format("%s.dat", from);
	pid_t pid;
	int error;

	if (mt_command_is_process(from, &pid))
		error = mt_fail(err, -EINVAL,
			"there is no file '%s'; 'memtui ctl %s snapshot FILE' writes a trace of "
			"process %s",
			from, from, from);
	else if (access(from, R_OK) < 0)
		error = mt_fail_open(err, from);
	else if (!mt_pack_recognises(from))
		error = mt_fail(err, -EINVAL,
			"%s: neither a recording that a program wrote by itself "
			"(MEMTUI_OUTPUT, see 'memtui help environment') nor one of heaptrack; a "
			"trace of 'memtui record' has its names, and opens elsewhere as it is",
			from);
	else if ((error = mt_new_file_check(from, to, err)) == 0)
		error = pack(from, to, arguments, err);
	free(to);
	return error;
}

const struct mt_command mt_command_pack = {
	.name = "pack",
	.operands = "FILE",
	.words = "compress a stand-alone recording",
	.description =
		"Makes a trace of a recording that a program wrote by itself "
		"(LD_PRELOAD=libmemtui.so MEMTUI_OUTPUT=FILE): compressed to a few bytes per "
		"event, and with the names of functions, so that it can be opened on another "
		"machine. The recording is not changed. If it is still growing, the trace "
		"contains what is there now.\n\nIt also makes a trace of a heaptrack file; "
		"memtui-open(1) says what such a file lacks.",
	.examples = "memtui pack prog.mem\twrite prog.mem.dat\nmemtui pack -o prog.dat "
		    "heaptrack.prog.4711.zst\tconvert a recording of heaptrack\nmemtui pack -o - "
		    "prog.mem | ssh host 'cat >prog.dat'\tsend the trace to another machine\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
