/* Recordings in progress: which one a process is in. */
#include "tui/command/commands.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

/* As another than the root. */
static bool has_other(const struct mt_session_entry *entry, pid_t pid)
{
	struct mt_session_process *processes = NULL;
	struct mt_err ignored;
	int n = entry->program ? mt_session_processes(entry->name, &processes, &ignored) : 0;
	bool found = false;

	for (int i = 0; i < n && !found; i++)
		found = processes[i].pid == pid && processes[i].alive;
	free(processes);
	return found;
}

const struct mt_session_entry *mt_command_recording_of(const struct mt_session_entry *entries,
	int count, pid_t pid, pid_t *process)
{
	*process = 0;
	for (int i = 0; i < count; i++)
		if (entries[i].program == pid || entries[i].recorder == pid
			|| mt_session_front(&entries[i]) == pid)
			return &entries[i];
	*process = pid;
	for (int i = 0; i < count; i++)
		if (has_other(&entries[i], pid))
			return &entries[i];
	return NULL;
}

int mt_command_check_others(const struct mt_session_entry *entries, int count, pid_t pid,
	struct mt_err *err)
{
	uid_t user;
	const struct passwd *who;

	for (int i = 0; i < count; i++)
		if (!entries[i].program)
			return mt_fail(err, -ESRCH,
				"process %d: not found in any recording that answers; recorder "
				"%d does not answer and may be stopped: kill -CONT %d "
				"continues it",
				(int)pid, (int)entries[i].recorder, (int)entries[i].recorder);
	if (!mt_session_is_of_other(pid, &user))
		return 0;
	who = getpwuid(user);
	return mt_fail(err, -EPERM,
		"process %d is being recorded by %s (user %u); only that user "
		"can watch or control it",
		(int)pid, who ? who->pw_name : "another user", (unsigned)user);
}

bool mt_command_is_process(const char *word, pid_t *pid)
{
	struct stat file;
	char *end;
	long number = strtol(word, &end, 10);

	*pid = (pid_t)number;
	return *word >= '0' && *word <= '9' && !*end && number > 0 && number <= INT_MAX
		&& stat(word, &file) < 0;
}

/* Why there is none. */
static int missing(const struct mt_session_entry *entries, int count, pid_t pid, struct mt_err *err)
{
	if (mt_command_check_others(entries, count, pid, err) < 0)
		return err->code;
	return mt_fail(err, -ESRCH,
		kill(pid, 0) < 0 && errno == ESRCH
			? "process %d does not exist; 'memtui attach' lists the recordings"
			: "process %d is not being recorded; 'memtui attach' lists the recordings",
		(int)pid);
}

int mt_command_find_recording(struct mt_session_entry *entry, pid_t pid, pid_t *process,
	struct mt_err *err)
{
	struct mt_session_entry *entries = NULL;
	int count = mt_session_list(&entries, err), status = count < 0 ? count : 0;
	const struct mt_session_entry *found =
		count < 0 ? NULL : mt_command_recording_of(entries, count, pid, process);

	if (found && !found->program)
		status = mt_fail(err, -EAGAIN,
			"recorder %d does not answer and may be stopped: kill -CONT %d continues "
			"it",
			(int)found->recorder, (int)found->recorder);
	else if (found)
		*entry = *found;
	else if (!status)
		status = missing(entries, count, pid, err);
	free(entries);
	return status;
}

int mt_command_check_unrecorded(pid_t pid, struct mt_err *err)
{
	struct mt_session_entry *entries = NULL;
	pid_t process;
	int count = mt_session_list(&entries, err), status = 0;
	const struct mt_session_entry *entry =
		count < 0 ? NULL : mt_command_recording_of(entries, count, pid, &process);

	if (count < 0)
		status = count;
	else if (entry && entry->program != pid && !process)
		status = mt_fail(err, -EINVAL, "process %d is memtui, which records process %d",
			(int)pid, (int)entry->program);
	else if (entry)
		status = mt_fail(err, -EBUSY,
			"process %d is being recorded already; 'memtui attach %d' shows it",
			(int)pid, (int)pid);
	free(entries);
	return status;
}

const char *mt_command_recording_option(const struct mt_arguments *a)
{
	const struct {
		const char *name;
		bool given;
	} options[] = {
		{"output", a->output},
		{"force", a->force},
		{"depth", a->depth},
		{"free-stacks", a->free_stacks},
		{"slack", a->slack},
		{"check-stacks", a->check_stacks},
		{"on-full", a->on_full},
		{"no-cache", a->no_cache},
		{"sample", a->sample_given},
		{"every", a->every},
		{"record-min", a->record_min.given},
		{"record-max", a->record_max.given},
		{"duration", a->duration_ns},
		{"max-size", a->max_size_given},
		{"over-size", a->over_size},
		{"snapshot-when", a->snapshot_when.count},
		{"chown", a->owner},
		{"flame-graph", a->flame_graph},
		{"report", a->report},
	};

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (options[i].given)
			return options[i].name;
	return NULL;
}
