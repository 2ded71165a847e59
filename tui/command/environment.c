#include "tui/command/environment.h"

#include "core/base/buffer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct mt_variable variables[] = {
	{"MEMTUI_OUTPUT", "FILE", "output",
		"the file to write; %e: program, %t: Unix time, %p: process, %h: host, %n: unique "
		"number, %%: percent sign; relative to the program's working directory at "
		"its start. If the name exists, memtui appends .1, .2 and so on up to .10, "
		"then the process number; a forked child does the same if the name has no "
		"%p. When a process executes another program, its file becomes FILE.exec0, "
		"FILE.exec1 and so on. A symbolic link counts as a name that exists. Nothing "
		"is recorded if the name is a device, a FIFO or a socket"},
	{"MEMTUI_DEPTH", "N", "depth",
		"record only the innermost N frames of a stack, from 4 to 65536 (default: "
		"4096); deeper stacks lose main"},
	{"MEMTUI_FREE_STACKS", "1", "free_stacks", "also record the backtraces of frees"},
	{"MEMTUI_SLACK", "1", "slack",
		"ask allocators other than glibc's for the usable size of each block"},
	{"MEMTUI_CHECK", "1", "check_stacks",
		"check every stack with a full unwind, and many with libgcc's (slow)"},
	{"MEMTUI_NO_FOLLOW", "1", "no_follow",
		"do not put LD_PRELOAD and MEMTUI_OUTPUT back where a program removes them"},
	{"MEMTUI_DISABLED", "1", "disabled",
		"start paused, until the program calls memtui_resume (memtui.h)"},
	{"MEMTUI_SIGNAL_TOGGLE", "SIGNAL", "signal_toggle",
		"USR1, USR2, HUP or WINCH: this signal pauses the recording, or resumes it, unless "
		"the program handles it itself"},
	{"MEMTUI_CACHE", "DIR", NULL,
		"directory in which memtui keeps the function names of large files for the "
		"next recording, and what 'memtui open' read of many traces (default: "
		"$XDG_CACHE_HOME/memtui, else ~/.cache/memtui); "
		"empty: keep none, like --no-cache. Only memtui reads it, not the library"},
	{"MEMTUI_TRIAGE", "FILE", NULL,
		"file for judgements and notes about leaks, like --triage (default: "
		"$XDG_STATE_HOME/memtui/triage/PROGRAM, else "
		"~/.local/state/memtui/triage/PROGRAM); empty: keep none. Only memtui reads "
		"it, not the library"},
};

const char mt_environment_about[] =
	"LD_PRELOAD=libmemtui.so MEMTUI_OUTPUT=FILE PROG records a program without a "
	"recorder: the program writes the file itself, 16 bytes per event and the "
	"tables of its backtraces. However the program ends, the events that it "
	"recorded are in the file. 'memtui open FILE' and 'memtui attach PID' show "
	"the file while it grows; info, groups, tree, timeline and report read it "
	"like a trace; 'memtui pack FILE' makes a compressed trace of it. Give "
	"LD_PRELOAD the full path of libmemtui.so.\n\nIf the file cannot grow, the "
	"recording ends and the program goes on: on a full disk, at the file size "
	"limit (ulimit -f), or if the program can no longer open the file by its "
	"name. A program that runs as root keeps the file open, so the recording "
	"continues if a server changes its user or its root directory, unless it "
	"closes descriptors that it did not open; processes that it starts "
	"afterwards must be able to create their own files at FILE. 'memtui info' "
	"says why a recording has ended. If a limit (ulimit -f, ulimit -v) prevents "
	"the recording, the file contains only that reason; below 8 KiB there is no "
	"file. If somebody truncates the file while the program runs, the program "
	"ends, as with any mapped file.\n\nUnder memtui run and record the variables "
	"are the defaults of the options with the same meaning.";

const struct mt_variable *mt_environment_at(int i)
{
	return i < (int)(sizeof variables / sizeof *variables) ? &variables[i] : NULL;
}

char *mt_environment_cache(void)
{
	const char *own = getenv("MEMTUI_CACHE"), *caches = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (own && *own && *own != '/') {
		char *here = getcwd(NULL, 0), *path = here ? mt_format("%s/%s", here, own) : NULL;

		free(here);
		return path;
	}
	if (own)
		return *own ? mt_strdup(own) : NULL;
	/* a relative one is to be ignored: XDG Base Directory Specification */
	if (caches && *caches == '/')
		return mt_format("%s/memtui", caches);
	return home && *home == '/' ? mt_format("%s/.cache/memtui", home) : NULL;
}

int mt_environment_apply(struct mt_arguments *arguments, const struct mt_command *command,
	struct mt_err *err)
{
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *value = variables[i].option ? getenv(variables[i].name) : NULL;
		const struct mt_option *option = command->options;

		if (!value || !*value)
			continue;
		while (option->name && strcmp(option->name, variables[i].option))
			option++;
		if (!option->name || (option->kind == MT_OPTION_FLAG && !strcmp(value, "0")))
			continue;
		int error = mt_options_set(arguments, option, value, variables[i].name, err);

		if (error)
			return error;
	}
	return 0;
}
