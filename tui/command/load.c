/* A recording for a command: opened, and what is wrong with it said. */
#include "tui/command/commands.h"

#include "core/capture/import.h"
#include "core/export/number.h"

#include <errno.h>
#include <stdlib.h>

void mt_command_say_unreadable(const struct mt_recording *recording)
{
	const struct mt_generation *now = &recording->now;
	char *unreadable = mt_symbols_unreadable(now->profile, now->symbols);

	if (unreadable)
		mt_command_say("%s", unreadable);
	free(unreadable);
}

static void say_losses(struct mt_recording *recording, const char *path)
{
	const struct mt_generation *now = &recording->now;
	const struct mt_info *info = &now->profile->info;
	struct mt_facts facts = mt_recording_facts(recording);
	const char *reason = NULL;
	uint64_t damage = now->reader ? mt_trace_reader_damage(now->reader, &reason) : 0;
	char lost[MT_NUMBER_EXACT_LEN];

	mt_number_exact(lost, info->lost_events);
	if (damage && mt_trace_reader_passed_over(now->reader))
		mt_command_say(
			"the checkpoint at byte %llu of %s is damaged (%s) and was skipped: the "
			"numbers come from an earlier checkpoint and the events after it",
			(unsigned long long)damage, path, reason ? reason : "");
	else if (damage && !mt_trace_reader_is_cut(now->reader))
		mt_command_say("%s: damaged from byte %llu on (%s); memtui read the part before it",
			path, (unsigned long long)damage, reason ? reason : "damaged");
	else if (damage || (info->recorder_lost && !facts.fault))
		mt_command_say(
			"%s: incomplete: it is still being recorded, or its recorder was killed; "
			"memtui read what was written so far",
			path);
	if (info->lost_events)
		mt_command_say("%s %s of %s %s lost; its totals are too small", lost,
			MT_PLURAL(lost, "event"), path, info->lost_events == 1 ? "was" : "were");
}

static void say_cut(const struct mt_profile *profile, const char *path)
{
	uint64_t count = profile->info.counters[MT_COUNTER_CUT_BY_DEPTH];
	char number[MT_NUMBER_EXACT_LEN];

	mt_number_exact(number, count);
	if (count)
		mt_command_say("%s %s of %s %s deeper than its --depth: the innermost frames are "
			       "kept, the outer ones are lost, so 'callers main' does not find "
			       "them, and stacks of different callers can be one group; record "
			       "again with a larger --depth",
			number, MT_PLURAL(number, "stack"), path, count == 1 ? "is" : "are");
}

static void open_names(struct mt_recording *recording, const struct mt_open_options *options,
	const char *path)
{
	struct mt_err err = {0};

	mt_recording_read_names(recording, &err);
	if (err.code)
		mt_command_say("%s; memtui looks up the names again", err.text);
	if (mt_recording_complete_names(recording, options, mt_command_say, &err) < 0)
		mt_command_say("%s", err.text);
	mt_command_say_unreadable(recording);
	say_cut(recording->now.profile, path);
}

/* As it is now. What a program writes by itself is read as a file that grows. */
static struct mt_recording *open_process(pid_t pid, const struct mt_open_options *wanted,
	bool names, struct mt_err *err)
{
	struct mt_session_entry entry;
	pid_t process;
	bool inherited;
	char *path = mt_import_of_process(pid, &inherited);
	struct mt_recording *recording = NULL;

	if (path)
		recording = mt_recording_open(path, wanted, err);
	else if (inherited)
		mt_fail(err, -ESRCH, MT_COMMAND_INHERITED, (int)pid);
	else if (mt_command_find_recording(&entry, pid, &process, err) >= 0)
		recording = mt_recording_open_live(entry.name, process, names, err);
	free(path);
	return recording;
}

struct mt_recording *mt_command_open_recording(const char *path,
	const struct mt_open_options *wanted, bool names, struct mt_err *err)
{
	pid_t pid;
	struct mt_recording *recording = mt_command_is_process(path, &pid)
		? open_process(pid, wanted, names, err)
		: mt_recording_open(path, wanted, err);

	if (!recording)
		return NULL;
	struct mt_facts facts = mt_recording_facts(recording);

	if (facts.fault || facts.note)
		mt_command_say("%s", facts.fault ? facts.fault : facts.note);
	say_losses(recording, path);
	if (names)
		open_names(recording, wanted, path);
	return recording;
}

/* Files up to this size are read in a quarter of a second. */
#define VERIFIED_BYTES (64u << 20)

void mt_command_verify(struct mt_recording *recording, const char *path, bool all)
{
	struct mt_trace_reader *reader = recording->now.reader;
	uint32_t count = reader ? mt_trace_reader_count(reader) : 0;
	struct mt_buffer payload = {0};
	struct mt_facts facts = mt_recording_facts(recording);
	struct mt_err err = {0};
	char size[MT_NUMBER_LEN];

	if (recording->client)
		return; /* it is written now */
	if (reader && !all && mt_trace_reader_file_bytes(reader) > VERIFIED_BYTES) {
		mt_number_size(size, mt_trace_reader_file_bytes(reader));
		mt_command_say("the events of %s were not checked for damage, because it has %s; "
			       "--strict checks all of it",
			path, size);
		return;
	}
	for (uint32_t i = 0; i < count && !facts.damaged && !facts.damaged_at; i++) {
		mt_command_progress("verifying", (double)i / count);
		if (mt_trace_reader_payload(reader, i, &payload, &err) >= 0)
			continue;
		mt_command_progress(NULL, -1);
		mt_command_say("%s; the totals of %s are not affected", err.text, path);
		facts = mt_recording_facts(recording);
	}
	mt_command_progress(NULL, -1);
	mt_buffer_free(&payload);
}
