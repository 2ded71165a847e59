#include "tui/commands.h"

#include <errno.h>
#include <stdlib.h>

static const struct mt_option options[] = {
	MT_OPTIONS_UI,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int attach_to(const struct mt_session_entry *entry, const struct mt_arguments *arguments,
	struct mt_err *err)
{
	struct mt_ui_options ui;
	char *filter;
	int status = mt_command_ui_options(&ui, &filter, arguments, err);

	if (status >= 0)
		status = mt_ui_attach(entry->name, &ui, err);
	free(filter);
	return status;
}

static void list(const struct mt_session_entry *entries, int count)
{
	printf("%8s  %8s  %s\n", "PROGRAM", "RECORDER", "COMMAND");
	for (int i = 0; i < count; i++) {
		char command[sizeof entries[i].command];

		snprintf(command, sizeof command, "%.255s", entries[i].command);
		for (char *c = command; *c; c++)
			if ((unsigned char)*c < 0x20 || *c == 0x7f)
				*c = '?';
		printf("%8d  %8d  %s\n", (int)entries[i].program, (int)entries[i].recorder, command);
	}
	fflush(stdout);
}

static int choose(const struct mt_session_entry *entries, int count, const struct mt_arguments *arguments,
	struct mt_err *err)
{
	const char *word = arguments->operand_count ? arguments->operands[0] : NULL;
	char *end = NULL;
	long pid = word ? strtol(word, &end, 10) : 0;

	if (word && (*end || pid <= 0))
		return mt_fail(err, -EINVAL, "'%.60s' is no process; expected the number of a recorded program "
			"or of its recorder", word);
	for (int i = 0; word && i < count; i++)
		if (entries[i].program == pid || entries[i].recorder == pid)
			return attach_to(&entries[i], arguments, err);
	if (word)
		return mt_fail(err, -ESRCH, "process %ld is not being recorded; 'memtui attach' alone lists what is, "
			"and 'memtui run' or 'record' starts a recording", pid);
	if (!count)
		return mt_fail(err, -ESRCH, "nothing of yours is being recorded; start it with 'memtui run' or "
			"'memtui record'");
	if (count == 1)
		return attach_to(&entries[0], arguments, err);
	list(entries, count);
	return mt_fail(err, -EAGAIN, "%d programs are being recorded; name one by its process", count);
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_session_entry *entries = NULL;
	int count = mt_session_list(&entries, err);
	int status = count < 0 ? count : choose(entries, count, arguments, err);

	free(entries);
	return status;
}

const struct mt_command mt_command_attach = {
	.name = "attach",
	.operands = "[PID]",
	.words = "watch a recording that runs",
	.description = "Opens the terminal interface on a program that memtui record or run is recording, by the "
		"process of the program or of its recorder. Without one: the only recording, or a list of all.",
	.examples = "memtui attach\tthe only recording\n"
		"memtui attach 4711\tthe recording of process 4711\n",
	.options = options,
	.operands_max = 1,
	.run = run,
};
