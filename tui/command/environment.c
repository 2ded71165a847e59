#include "tui/command/environment.h"

#include "core/base/buffer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct mt_variable variables[] = {
	{"MEMTUI_OUTPUT", "FILE", "output",
		"the file to write; %e program, %t Unix time, %p process, %n a number that makes "
		"it unique, %% a percent sign; relative to the directory in which the program "
		"starts. A name that is taken gets .1, .2 and so on, after ten of them its process "
		"number; so does a forked child's, where there is no %p. When a process executes "
		"another program, its file so far becomes FILE.exec0, FILE.exec1 and so on. A "
		"symbolic link is a name that is taken. Where a device, a FIFO or a socket has the "
		"name nothing is recorded"},
	{"MEMTUI_DEPTH", "N", "depth",
		"record at most N frames of a stack, the innermost ones, 4 to 65536. Of deeper "
		"stacks the outer frames are lost, with main. 4096 by default"},
	{"MEMTUI_FREE_STACKS", "1", "free_stacks", "record the stacks of frees too"},
	{"MEMTUI_SLACK", "1", "slack",
		"ask allocators other than glibc's what they round each size up to"},
	{"MEMTUI_CHECK", "1", "check_stacks",
		"compare every stack with a full unwind, many with libgcc's too (slow)"},
	{"MEMTUI_NO_FOLLOW", "1", "no_follow",
		"give each executed program the environment that its parent gave it; otherwise "
		"LD_PRELOAD and MEMTUI_OUTPUT are put back where a program removes them"},
	{"MEMTUI_DISABLED", "1", "disabled",
		"start paused: nothing new is recorded until the program asks for it, by memtui.h"},
	{"MEMTUI_CACHE", "DIR", NULL,
		"where the recorder keeps the names that it has looked up in large files, for the "
		"next recording: $XDG_CACHE_HOME/memtui or ~/.cache/memtui by default; empty: "
		"nowhere, as with --no-cache. Read by "
		"memtui alone, not by the library"},
	{"MEMTUI_TRIAGE", "FILE", NULL,
		"where the screen keeps what is said about leaks, as with --triage: "
		"$XDG_STATE_HOME/memtui/triage/PROGRAM or ~/.local/state/memtui/triage/PROGRAM by "
		"default; empty: nowhere. Read by "
		"memtui alone, not by the library"},
};

const char mt_environment_about[] =
	"LD_PRELOAD=libmemtui.so MEMTUI_OUTPUT=FILE PROG records a program without any other "
	"process: the program writes the file itself, 16 bytes an event and the tables of its "
	"stacks, and whatever ends it, what was recorded is there. 'memtui open FILE' and 'memtui "
	"attach PID' show it while it grows; info, groups, tree, timeline and report read it as "
	"they read a trace; 'memtui pack FILE' makes a compressed trace of it. Give LD_PRELOAD the "
	"full path of libmemtui.so.\n\n"
	"The recording ends early, and the program goes on, where the file cannot grow: on a full "
	"disk, at the limit of a file's size (ulimit -f), or when the program can no longer reach "
	"the file by its name. A program of root's keeps the file open, so that a server is "
	"recorded on when it changes its user or its root directory, unless it closes "
	"descriptors that it did not open; what it forks or executes from then on must be able "
	"to make files of its own where FILE says. 'memtui info' tells why a recording has ended. "
	"If a limit (ulimit -f, ulimit -v) leaves no room to begin, the file holds that reason "
	"alone; below 8 KiB there is no file. "
	"A file that somebody else cuts short while the program runs ends "
	"the program, as any mapped file would.\n\n"
	"Under memtui run and record the variables are "
	"the defaults of the options of the same meaning.";

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
