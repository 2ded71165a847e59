#include "tui/commands.h"

#include "core/symbol/symbol.h"

#include <stdlib.h>

#define PROGRESS_EVERY 64u /* pcs */

static int load_progress(void *context, double fraction)
{
	(void)context;
	mt_command_progress("reading", fraction);
	return 0;
}

/* The names that the trace itself holds: its last symbol block. A bad one is as good as none. */
static void read_symbols(struct mt_loaded *loaded)
{
	struct mt_buffer payload = {0};
	struct mt_err err = {0};

	for (uint32_t i = mt_trace_reader_count(loaded->reader); i-- > 0;) {
		if (mt_trace_reader_block(loaded->reader, i)->type != MT_BLOCK_SYMBOLS)
			continue;
		if (mt_trace_reader_payload(loaded->reader, i, &payload, &err) < 0 ||
			mt_symbols_decode(&loaded->symbols, payload.data, payload.len, &err) < 0)
			mt_command_say("%s; names are looked up anew", err.text);
		break;
	}
	mt_buffer_free(&payload);
}

static bool resolved(const struct mt_symbols *symbols, uint32_t pc)
{
	return pc < symbols->pc_count && symbols->pcs[pc].count;
}

static void resolve_rest(struct mt_loaded *loaded)
{
	const struct mt_profile *profile = &loaded->profile;
	struct mt_resolver_options options = {0};
	uint32_t pc = MT_PC_FIRST;

	while (pc < profile->pc_count && resolved(&loaded->symbols, pc))
		pc++;
	if (pc >= profile->pc_count)
		return;
	struct mt_resolver *resolver = mt_resolver_new(&options);

	for (; pc < profile->pc_count; pc++) {
		if (!resolved(&loaded->symbols, pc))
			mt_resolver_pc(resolver, profile, pc, &loaded->symbols);
		if (pc % PROGRESS_EVERY == 0)
			mt_command_progress("looking up names", (double)pc / profile->pc_count);
	}
	mt_command_progress(NULL, -1);
	if (mt_resolver_missing(resolver))
		mt_command_say("%s", mt_resolver_missing(resolver));
	mt_resolver_free(resolver);
}

static void say_losses(const struct mt_loaded *loaded, const char *path, uint64_t damage, const char *reason)
{
	const struct mt_info *info = &loaded->profile.info;

	if (damage)
		mt_command_say("%s makes no sense from byte %llu on (%s); what comes before was read", path,
			(unsigned long long)damage, reason ? reason : "damaged");
	else if (info->recorder_lost)
		mt_command_say("%s has no end, its recorder was killed; what it wrote until then was read",
			path);
	if (info->lost_events)
		mt_command_say("%llu events of %s were lost; its totals are too small",
			(unsigned long long)info->lost_events, path);
}

int mt_command_load(struct mt_loaded *loaded, const char *path, bool symbols, struct mt_err *err)
{
	*loaded = (struct mt_loaded){0};
	mt_profile_init(&loaded->profile);
	mt_symbols_init(&loaded->symbols);
	loaded->reader = mt_trace_reader_open(path, err);
	if (!loaded->reader)
		return err->code < 0 ? err->code : -1;
	int status = mt_profile_load(&loaded->profile, loaded->reader, load_progress, NULL, err);

	mt_command_progress(NULL, -1);
	if (status < 0)
		return status;
	const char *reason = NULL;
	uint64_t damage = mt_trace_reader_damage(loaded->reader, &reason);

	loaded->damaged = damage != 0;
	say_losses(loaded, path, damage, reason);
	if (symbols) {
		read_symbols(loaded);
		resolve_rest(loaded);
	}
	return 0;
}

void mt_loaded_verify(struct mt_loaded *loaded, const char *path)
{
	uint32_t count = mt_trace_reader_count(loaded->reader);
	struct mt_buffer payload = {0};
	struct mt_err err = {0};

	for (uint32_t i = 0; i < count && !loaded->damaged; i++) {
		mt_command_progress("verifying", (double)i / count);
		if (mt_trace_reader_payload(loaded->reader, i, &payload, &err) >= 0)
			continue;
		mt_command_progress(NULL, -1);
		mt_command_say("%s; the totals stand elsewhere in %s and are whole", err.text, path);
		loaded->damaged = true;
	}
	mt_command_progress(NULL, -1);
	mt_buffer_free(&payload);
}

void mt_loaded_free(struct mt_loaded *loaded)
{
	mt_symbols_free(&loaded->symbols);
	mt_profile_free(&loaded->profile);
	if (loaded->reader)
		mt_trace_reader_free(loaded->reader);
	*loaded = (struct mt_loaded){0};
}
