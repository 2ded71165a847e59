#include "tui/command/commands.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMPLETE_MS 60000 /* for the recorder to complete the trace */

static const struct mt_option options[] = {
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	const char *word = arguments->operands[0];
	char *end = NULL;

	if (strtol(word, &end, 10) > 0 && !*end)
		return 0;
	return mt_fail(err, -EINVAL,
		"invalid process '%.60s'; give the number of the process that is recorded", word);
}

/* The trace can be read once its recorder has ended. */
static bool await_recorder(int pidfd)
{
	struct pollfd fd = {pidfd, POLLIN, 0};

	return pidfd < 0 || poll(&fd, 1, COMPLETE_MS) > 0;
}

int mt_command_detach_session(const struct mt_session_entry *entry, bool *complete,
	struct mt_err *err)
{
	int pidfd = (int)syscall(SYS_pidfd_open, entry->recorder, 0);
	int status = mt_session_detach(entry->name, err);

	*complete = (status < 0 && status != -EBUSY) || await_recorder(pidfd);
	if (pidfd >= 0)
		close(pidfd);
	return status;
}

int mt_command_check_detach(const struct mt_session_entry *entry, pid_t pid, struct mt_err *err)
{
	if (entry->attached)
		return 0;
	return mt_fail(err, -EINVAL,
		"process %d was started by memtui, so its recording ends with it: 'kill "
		"%d' ends it, or q in 'memtui attach %d'; 'memtui ctl %d stop' ends the recording "
		"alone",
		(int)pid, (int)entry->program, (int)entry->program, (int)entry->program);
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	pid_t process, pid = (pid_t)strtol(arguments->operands[0], NULL, 10);
	struct mt_session_entry entry;
	bool complete;

	if (mt_command_find_recording(&entry, pid, &process, err) < 0
		|| mt_command_check_detach(&entry, pid, err) < 0
		|| mt_command_detach_session(&entry, &complete, err) < 0)
		return err->code;
	mt_command_say("process %d keeps running, no longer recorded; the recording is %s%s",
		(int)entry.program, entry.trace_path,
		complete ? "" : ", which is still being written");
	return 0;
}

const struct mt_command mt_command_detach = {
	.name = "detach",
	.operands = "PID",
	.words = "end the recording of a process that runs on",
	.description =
		"Ends a recording that 'memtui attach' or 'memtui record --pid' began in a process "
		"that ran already. The process runs on as it was before, and the trace is "
		"complete when the command returns. PID is the process, or its recorder.\n\n"
		"A program that memtui has started cannot be detached: its recording ends with it.",
	.examples = "memtui detach 4711\tend the recording of process 4711\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.check = check,
	.run = run,
};
