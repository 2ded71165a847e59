/* memtui sessions: recordings that run, and those in the cache that nobody has named.
 * doc/sessions.md. */
#include "tui/command/commands.h"

#include "core/base/wrap.h"
#include "tui/command/sessions_list.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct mt_option options[] = {
	{0, "format", "FORMAT", MT_OPTION_FORMAT, MT_OPTION_AT(format),
		"with list: text (the default) or json", "text|json"},
	MT_OPTIONS_EXACT,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* What a verb works on. */
struct work {
	struct mt_saved_list list;
	const struct mt_arguments *arguments;
	char *const *words; /* the operands behind the verb; NULL-terminated */
	int count;          /* of these */
};

/* X(name, argument, words). One that can be left out is in brackets. */
#define VERBS(X) \
	X(list, NULL, "list what is being recorded, and what is in the cache (the default)")

#define X(name, argument, words) \
	static int check_##name(const struct mt_arguments *, struct mt_err *); \
	static int verb_##name(struct work *, struct mt_err *);
VERBS(X)
#undef X

static const struct mt_verb verbs[] = {
#define X(name, argument, words) {#name, argument, words},
	VERBS(X)
#undef X
		{NULL, NULL, NULL},
};
static const struct {
	int (*check)(const struct mt_arguments *, struct mt_err *);
	int (*run)(struct work *, struct mt_err *);
} calls[] = {
#define X(name, argument, words) {check_##name, verb_##name},
	VERBS(X)
#undef X
};

/* ---- list ---- */

static int check_list(const struct mt_arguments *arguments, struct mt_err *err)
{
	if (arguments->operand_count > 1)
		return mt_fail(err, -EINVAL, "extra argument '%.100s'; usage: memtui sessions list",
			arguments->operands[1]);
	return 0;
}

static int verb_list(struct work *w, struct mt_err *err)
{
	if (w->arguments->format == MT_FORMAT_JSON)
		mt_sessions_print_json(&w->list);
	else
		mt_sessions_print_text(&w->list, w->arguments->exact,
			mt_wrap_columns(STDOUT_FILENO));
	return mt_command_finish(w->arguments, err);
}

/* ---------------------------------------------------------------------------------------------- */

static int find_verb(const struct mt_arguments *arguments, struct mt_err *err)
{
	return arguments->operand_count ? mt_verb_find(verbs, arguments->operands[0], err) : 0;
}

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	int verb = find_verb(arguments, err);

	return verb < 0 ? verb : calls[verb].check(arguments, err);
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct work work = {.arguments = arguments};
	int verb = find_verb(arguments, err), status;

	if (arguments->operand_count) {
		work.words = arguments->operands + 1;
		work.count = arguments->operand_count - 1;
	}
	/* of leases: somebody who opens a file while we hold one must not end us */
	signal(SIGIO, SIG_IGN);
	status = mt_saved_load(&work.list, err);
	if (status >= 0)
		status = calls[verb].run(&work, err);
	mt_saved_free(&work.list);
	return status;
}

const struct mt_command mt_command_sessions = {
	.name = "sessions",
	.operands = "[VERB]",
	.words = "list recordings that run, and those that nobody has named",
	.description =
		"'memtui run' without -o writes its recording to the user's cache, and asks at the "
		"end whether to save it. If the screen was closed otherwise, the recording stays "
		"there; memtui keeps the last eight. This command lists them, the newest first, "
		"after the recordings that run now.\n\n"
		"SESSION is the first column of the list: the first process of the recording. If "
		"several have the same number, it is the name of the directory.\n\n"
		"The numbers are those of the first program: what it leaked, or has live so far, "
		"without suppressions applied, and its peak. 'processes' counts those with a "
		"trace. The state is running, complete, incomplete (its recorder was killed; what "
		"was written can be read), damaged, being written, unreadable or empty.",
	.details =
		"The directory is $XDG_CACHE_HOME/memtui, else ~/.cache/memtui, or "
		"/tmp/memtui-UID if there is no home or it is somebody else's. MEMTUI_CACHE has no "
		"effect on recordings. Only regular files of the user with names that memtui gives "
		"count; other entries are named and left alone, and no symbolic link is "
		"followed.\n\n"
		"With --format=json the list is an object with directory and sessions. Each "
		"session has the columns of the text, its directory, and for each file its "
		"process, state, sums and the reason if it cannot be read.",
	.examples = "memtui sessions\tlist them\n"
		    "memtui sessions --format json\tlist them for a script\n",
	.options = options,
	.verbs = verbs,
	.operands_max = -1,
	.check = check,
	.run = run,
};
