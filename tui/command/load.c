#include "tui/command/commands.h"

#include "core/base/temporary.h"
#include "core/capture/import.h"
#include "core/convert/convert.h"
#include "core/export/number.h"
#include "core/session/pack.h"
#include "core/symbol/symbol.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_EVERY 64u /* pcs */

static int load_progress(void *context, double fraction)
{
	(void)context;
	mt_command_progress("reading", fraction);
	return 0;
}

void mt_loaded_read_symbols(struct mt_loaded *loaded)
{
	struct mt_buffer payload = {0};
	struct mt_err err = {0};

	for (uint32_t i = mt_trace_reader_count(loaded->reader); i-- > 0;) {
		if (mt_trace_reader_block(loaded->reader, i)->type != MT_BLOCK_SYMBOLS)
			continue;
		if (mt_trace_reader_payload(loaded->reader, i, &payload, &err) < 0
			|| mt_symbols_decode(&loaded->symbols, payload.data, payload.len, &err) < 0)
			mt_command_say("%s; memtui looks up the names again", err.text);
		break;
	}
	mt_buffer_free(&payload);
}

void mt_loaded_say_unreadable(const struct mt_loaded *loaded)
{
	char *unreadable = mt_symbols_unreadable(&loaded->profile, &loaded->symbols);

	if (unreadable)
		mt_command_say("%s", unreadable);
	free(unreadable);
}

static bool resolved(const struct mt_symbols *symbols, uint32_t pc)
{
	return pc < symbols->pc_count && symbols->pcs[pc].count;
}

static void tell_names(void *context, double fraction)
{
	(void)context;
	mt_command_progress("looking up names", fraction);
}

static void resolve_rest(struct mt_loaded *loaded, const char *path)
{
	const struct mt_profile *profile = &loaded->profile;
	bool lives = loaded->import && mt_import_lives(loaded->import);
	struct mt_resolver_options options = {
		.root_pid = lives ? profile->info.pid : 0,
		.trace = path,
		.memory_max = loaded->memory_max,
	};
	uint32_t pc = MT_PC_FIRST;
	struct mt_err err;

	while (pc < profile->pc_count && resolved(&loaded->symbols, pc))
		pc++;
	if (pc >= profile->pc_count && loaded->symbols.pc_count)
		return;
	struct mt_lookup lookup = {
		.resolver = mt_resolver_new(&options),
		.looks = MT_LOOKUP_LOOKS,
		.progress = tell_names,
		.say = mt_command_say,
	};
	int error = mt_lookup(&lookup, profile, &loaded->symbols, &err);

	mt_command_progress(NULL, -1);
	if (error < 0)
		mt_command_say("%s", err.text);
}

static void say_losses(const struct mt_loaded *loaded, const char *path, uint64_t damage,
	const char *reason)
{
	const struct mt_info *info = &loaded->profile.info;
	char lost[MT_NUMBER_EXACT_LEN];

	mt_number_exact(lost, info->lost_events);
	if (damage && mt_trace_reader_passed_over(loaded->reader))
		mt_command_say(
			"the checkpoint at byte %llu of %s is damaged (%s) and was skipped: the "
			"numbers come from an earlier checkpoint and the events after it",
			(unsigned long long)damage, path, reason ? reason : "");
	else if (damage && !mt_trace_reader_is_cut(loaded->reader))
		mt_command_say("%s: damaged from byte %llu on (%s); memtui read the part before it",
			path, (unsigned long long)damage, reason ? reason : "damaged");
	else if (damage || (info->recorder_lost && !loaded->damaged))
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

/* What a tracer without a recorder has written. */
static int load_recording(struct mt_loaded *loaded, const char *path, struct mt_err *err)
{
	loaded->import = mt_import_open(path, &loaded->profile, err);
	if (!loaded->import)
		return err->code < 0 ? err->code : -1;
	int status = mt_import_update(loaded->import, load_progress, NULL, err);
	const char *fault = mt_import_fault(loaded->import, &loaded->damaged);

	mt_command_progress(NULL, -1);
	if (status < 0)
		return status;
	if (fault)
		mt_command_say("%s: %s", path, fault);
	return 0;
}

/* What another profiler has recorded becomes a trace first. */
static struct mt_trace_reader *open_trace(struct mt_loaded *loaded, const char *path,
	struct mt_err *err)
{
	struct mt_converted converted;

	struct mt_trace_reader *reader =
		mt_convert_open(path, loaded->memory_max, load_progress, NULL, &converted, err);

	mt_command_progress(NULL, -1);
	if (reader && (*converted.fault || *converted.note))
		mt_command_say("%s", *converted.fault ? converted.fault : converted.note);
	loaded->damaged = *converted.fault;
	return reader;
}

static void note_damage(struct mt_loaded *loaded)
{
	uint64_t damage = mt_trace_reader_damage(loaded->reader, NULL);

	loaded->damaged_at = mt_trace_reader_is_cut(loaded->reader) ? 0 : damage;
}

/* loaded->reader may be NULL, with err set. */
static int load_reader(struct mt_loaded *loaded, const char *path, struct mt_err *err)
{
	if (!loaded->reader)
		return err->code < 0 ? err->code : -1;
	int status = mt_profile_load(&loaded->profile, loaded->reader, load_progress, NULL, err);

	mt_command_progress(NULL, -1);
	if (status >= 0)
		status = mt_profile_check_readable(&loaded->profile, loaded->reader, err);
	if (status < 0)
		return status;
	const char *reason = NULL;
	uint64_t damage = mt_trace_reader_damage(loaded->reader, &reason);

	say_losses(loaded, path, damage, reason);
	loaded->damaged |= damage != 0;
	note_damage(loaded);
	return 0;
}

static void begin(struct mt_loaded *loaded)
{
	*loaded = (struct mt_loaded){.memory_max = loaded->memory_max};
	mt_profile_init(&loaded->profile);
	mt_symbols_init(&loaded->symbols);
}

static int finish(struct mt_loaded *loaded, const char *path, int status, bool symbols)
{
	if (status < 0 || !symbols)
		return status;
	if (loaded->reader) {
		mt_loaded_read_symbols(loaded);
		note_damage(loaded);
	}
	resolve_rest(loaded, path);
	mt_loaded_say_unreadable(loaded);
	say_cut(&loaded->profile, path);
	return 0;
}

int mt_command_load(struct mt_loaded *loaded, const char *path, bool symbols, struct mt_err *err)
{
	int status;

	begin(loaded);
	if (strcmp(path, "-") && mt_import_recognises(path)) {
		status = load_recording(loaded, path, err);
	} else {
		loaded->reader = open_trace(loaded, path, err);
		status = load_reader(loaded, path, err);
	}
	return finish(loaded, path, status, symbols);
}

int mt_loaded_need_events(struct mt_loaded *loaded, const char *path, bool symbols,
	struct mt_err *err)
{
	struct mt_packed packed;
	bool damaged = loaded->damaged;

	if (loaded->reader)
		return 0;
	int writing, fd = mt_temporary_file(&writing, err);

	if (fd < 0)
		return fd;
	int status = mt_pack(path, writing, mt_command_progress, &packed, err);

	mt_command_progress(NULL, -1);
	if (status < 0) {
		close(fd);
		return status;
	}
	mt_loaded_free(loaded);
	begin(loaded);
	loaded->reader = mt_trace_reader_open_fd(fd, path, err);
	status = finish(loaded, path, load_reader(loaded, path, err), symbols);
	loaded->damaged |= damaged;
	return status;
}

void mt_loaded_verify(struct mt_loaded *loaded, const char *path)
{
	uint32_t count = loaded->reader ? mt_trace_reader_count(loaded->reader) : 0;
	struct mt_buffer payload = {0};
	struct mt_err err = {0};

	for (uint32_t i = 0; i < count && !loaded->damaged && !loaded->damaged_at; i++) {
		mt_command_progress("verifying", (double)i / count);
		if (mt_trace_reader_payload(loaded->reader, i, &payload, &err) >= 0)
			continue;
		mt_command_progress(NULL, -1);
		mt_command_say("%s; the totals of %s are not affected", err.text, path);
		note_damage(loaded);
	}
	mt_command_progress(NULL, -1);
	mt_buffer_free(&payload);
}

void mt_loaded_free(struct mt_loaded *loaded)
{
	mt_symbols_free(&loaded->symbols);
	mt_import_free(loaded->import);
	mt_profile_free(&loaded->profile);
	if (loaded->reader)
		mt_trace_reader_free(loaded->reader);
	*loaded = (struct mt_loaded){.memory_max = loaded->memory_max};
}
