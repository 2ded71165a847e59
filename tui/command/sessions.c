/* memtui sessions: recordings that run, and those in the cache that nobody has named.
 * doc/sessions.md. */
#include "tui/command/commands.h"

#include "core/base/wrap.h"
#include "core/export/number.h"
#include "tui/command/sessions_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct mt_option options[] = {
	{0, "format", "FORMAT", MT_OPTION_FORMAT, MT_OPTION_AT(format),
		"with list: text (the default) or json", "text|json"},
	MT_OPTIONS_EXACT,
	{'f', "force", NULL, MT_OPTION_FLAG, MT_OPTION_AT(force),
		"with keep: replace existing files", NULL},
	{0, "all", NULL, MT_OPTION_FLAG, MT_OPTION_AT(all),
		"with remove: all sessions that nobody uses", NULL},
	{0, "older_than", "TIME", MT_OPTION_TIME, MT_OPTION_AT(older_than_ns),
		"with remove: sessions last written longer ago than this (12h, 7d)", NULL},
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
	X(list, NULL, "list what is being recorded, and what is in the cache (the default)") \
	X(path, "SESSION", "print the name of the first program's trace, for other commands") \
	X(keep, "SESSION [FILE|DIR]", \
		"move a session with all its files to this directory, to DIR, or to FILE, " \
		"FILE.PID and so on") \
	X(remove, "SESSION...", "remove sessions from the cache, and say how much room that gave")

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

/* ---- path ---- */

static int check_path(const struct mt_arguments *arguments, struct mt_err *err)
{
	if (arguments->operand_count < 2)
		return mt_fail(err, -EINVAL,
			"missing SESSION; usage: memtui sessions path SESSION");
	if (arguments->operand_count > 2)
		return mt_fail(err, -EINVAL,
			"extra argument '%.100s'; usage: memtui sessions path SESSION",
			arguments->operands[2]);
	return 0;
}

static int verb_path(struct work *w, struct mt_err *err)
{
	const struct mt_saved *s = mt_saved_find(&w->list, w->words[0], err);

	if (!s)
		return err->code;
	if (!s->first)
		return mt_fail(err, -ENOENT, "%s: contains no trace that can be read",
			s->directory);
	printf("%s/%s\n", s->directory, s->first->name);
	return mt_command_finish(w->arguments, err);
}

/* ---- keep ---- */

#define USAGE_KEEP "usage: memtui sessions keep SESSION [FILE|DIR]"

static int check_keep(const struct mt_arguments *arguments, struct mt_err *err)
{
	if (arguments->operand_count < 2)
		return mt_fail(err, -EINVAL, "missing SESSION; " USAGE_KEEP);
	if (arguments->operand_count > 3)
		return mt_fail(err, -EINVAL, "extra argument '%.100s'; " USAGE_KEEP,
			arguments->operands[3]);
	if (arguments->operand_count == 3 && !*arguments->operands[2])
		return mt_fail(err, -EINVAL, "missing FILE or DIR; " USAGE_KEEP);
	return 0;
}

static void say_kept(const struct mt_saved *s, const char *path)
{
	const char *name = strncmp(path, "./", 2) ? path : path + 2;
	char bytes[MT_NUMBER_LEN], others[MT_NUMBER_OF_LEN];

	mt_number_size(bytes, s->bytes);
	if (s->count > 1)
		mt_command_say("kept %s and %s beside it, %s", name,
			mt_number_of(others, s->count - 1, "other file"), bytes);
	else
		mt_command_say("kept %s, %s", name, bytes);
	mt_command_say("'memtui open %s' shows it", name);
}

static int verb_keep(struct work *w, struct mt_err *err)
{
	const struct mt_saved *s = mt_saved_find(&w->list, w->words[0], err);
	char *kept = NULL;
	int status = s ? mt_saved_check_unused(&w->list, s, err) : err->code;

	if (status >= 0)
		status = mt_saved_keep(s, w->count > 1 ? w->words[1] : ".", w->arguments->force,
			&kept, err);
	if (kept)
		say_kept(s, kept);
	free(kept);
	if (status > 0)
		mt_command_say("%s", err->text);
	return status;
}

/* ---- remove ---- */

#define USAGE_REMOVE "usage: memtui sessions remove SESSION...|--all|--older-than=TIME"

static int check_remove(const struct mt_arguments *arguments, struct mt_err *err)
{
	bool chosen = arguments->all || arguments->older_than_ns;

	if (arguments->all && arguments->older_than_ns)
		return mt_fail(err, -EINVAL, "--all and --older-than exclude each other");
	if (chosen && arguments->operand_count > 1)
		return mt_fail(err, -EINVAL, "extra argument '%.100s'; " USAGE_REMOVE,
			arguments->operands[1]);
	if (!chosen && arguments->operand_count < 2)
		return mt_fail(err, -EINVAL, "missing SESSION; " USAGE_REMOVE);
	return 0;
}

struct removed {
	uint32_t sessions;
	uint64_t bytes;
	int status; /* 1: something stays that was to go */
};

static int remove_one(struct removed *r, const struct mt_saved *s, struct mt_err *err)
{
	int status = mt_saved_remove(s, &r->bytes, err);

	r->sessions += status == 0;
	if (status > 0)
		mt_command_say("%s", err->text);
	r->status |= status != 0;
	return status < 0 ? status : 0;
}

/* All must be there and unused before the first one goes. */
static int remove_named(struct work *w, struct removed *r, struct mt_err *err)
{
	const struct mt_saved **chosen = mt_alloc((size_t)w->count * sizeof *chosen);
	int status = 0, count = 0;

	for (int i = 0; i < w->count && status >= 0; i++) {
		const struct mt_saved *s = mt_saved_find(&w->list, w->words[i], err);
		bool twice = false;

		for (int j = 0; j < count; j++)
			twice |= chosen[j] == s;
		status = s ? mt_saved_check_unused(&w->list, s, err) : err->code;
		if (!twice)
			chosen[count++] = s;
	}
	for (int i = 0; i < count && status >= 0; i++)
		status = remove_one(r, chosen[i], err);
	free(chosen);
	return status;
}

/* Passes over what somebody uses, and over what cannot be removed. */
static void remove_old(struct work *w, struct removed *r)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	for (uint32_t i = 0; i < w->list.count; i++) {
		const struct mt_saved *s = &w->list.items[i];
		int64_t age = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - s->changed_ns;
		struct mt_err why = {0};

		if (w->arguments->older_than_ns
			&& (age < 0 || (uint64_t)age <= w->arguments->older_than_ns))
			continue;
		if (mt_saved_check_unused(&w->list, s, &why) < 0 || remove_one(r, s, &why) < 0) {
			mt_command_say("%s", why.text);
			r->status |= why.code != -EBUSY;
		}
	}
}

static int verb_remove(struct work *w, struct mt_err *err)
{
	struct removed r = {.status = 0};
	char bytes[MT_NUMBER_LEN], sessions[MT_NUMBER_OF_LEN];
	int status = 0;

	if (w->count)
		status = remove_named(w, &r, err);
	else
		remove_old(w, &r);
	mt_number_size(bytes, r.bytes);
	if (r.sessions || r.bytes)
		mt_command_say("removed %s, %s", mt_number_of(sessions, r.sessions, "session"),
			bytes);
	else if (status >= 0 && !r.status)
		mt_command_say("there was nothing to remove");
	return status < 0 ? status : r.status;
}

/* ---------------------------------------------------------------------------------------------- */

static int find_verb(const struct mt_arguments *arguments, struct mt_err *err)
{
	return arguments->operand_count ? mt_verb_find(verbs, arguments->operands[0], err) : 0;
}

/* Options that belong to another verb. */
static int check_options(const struct mt_arguments *a, const char *verb, struct mt_err *err)
{
	const struct {
		const char *name, *verb;
		bool given;
	} given[] = {
		{"format", "list", a->format != MT_FORMAT_TEXT},
		{"exact", "list", a->exact},
		{"force", "keep", a->force},
		{"all", "remove", a->all},
		{"older-than", "remove", a->older_than_ns != 0},
	};

	for (size_t i = 0; i < sizeof given / sizeof *given; i++)
		if (given[i].given && strcmp(given[i].verb, verb))
			return mt_fail(err, -EINVAL, "--%s: only with %s", given[i].name,
				given[i].verb);
	return 0;
}

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	int verb = find_verb(arguments, err);

	if (verb < 0 || check_options(arguments, verbs[verb].name, err) < 0)
		return err->code;
	return calls[verb].check(arguments, err);
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct work work = {.arguments = arguments};
	int verb = find_verb(arguments, err), status;

	if (arguments->operand_count) {
		work.words = arguments->operands + 1;
		work.count = arguments->operand_count - 1;
	}
	status = mt_saved_load(&work.list, calls[verb].run == verb_list, err);
	if (status >= 0)
		status = calls[verb].run(&work, err);
	mt_saved_free(&work.list);
	return status;
}

const struct mt_command mt_command_sessions = {
	.name = "sessions",
	.operands = "[VERB [SESSION [FILE|DIR]]]",
	.words = "list, keep or remove recordings that nobody has named",
	.description =
		"'memtui run' without -o writes its recording to the user's cache, and asks at the "
		"end whether to save it. If the screen was closed otherwise, the recording stays "
		"there; memtui keeps the last eight. This command lists them, the newest first, "
		"after the recordings that run now.\n\n"
		"SESSION is the first column of the list: the first process of the recording. If "
		"several have the same number, it is the end of the directory's name.\n\n"
		"The numbers are those of the first program: what it leaked, or has live so far, "
		"without suppressions applied, and its peak. 'processes' counts those with a "
		"trace. The state is running, complete, incomplete (its recorder was killed; what "
		"was written can be read), damaged, being written, unreadable or empty.\n\n"
		"keep and remove never touch a session that is being recorded, nor one that a "
		"screen shows; --all and --older-than pass over those.",
	.details =
		"The directory is $XDG_CACHE_HOME/memtui, else ~/.cache/memtui, or "
		"/tmp/memtui-UID if there is no home or it is somebody else's. MEMTUI_CACHE has no "
		"effect on recordings. Only regular files of the user with names that memtui gives "
		"count; other entries are named and left alone, and no symbolic link is "
		"followed.\n\n"
		"keep first gives all files their new names, by hard links, or by copies on "
		"another file system, and then removes those in the cache. If anything fails, the "
		"session stays where it was.\n\n"
		"With --format=json the list is an object with directory and sessions. Each "
		"session has the columns of the text, its directory, and for each file its "
		"process, state, sums and the reason if it cannot be read.",
	.examples = "memtui sessions\tlist them\n"
		    "memtui sessions --format json\tlist them for a script\n"
		    "memtui open $(memtui sessions path 4711)\tbrowse one that stays there\n"
		    "memtui sessions keep 4711\tmove a recording to this directory\n"
		    "memtui sessions keep 4711 leak.dat\tgive it a name, too\n"
		    "memtui sessions remove 4711 4712\tremove two of them\n"
		    "memtui sessions remove --older-than 7d\tremove the old ones\n",
	.options = options,
	.verbs = verbs,
	.operands_max = -1,
	.check = check,
	.run = run,
};
