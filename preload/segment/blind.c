/* The places for notes in the second page of the segment. Children write here, too, before they
 * have a segment of their own: so nothing is stored but into a place that this thread has claimed,
 * and a count is only added to. */
#include "preload/segment/blind.h"

#include <string.h>

void mt_blind_copy_path(char to[sizeof((struct mt_wire_blind *)0)->path], const char *path)
{
	const size_t room = sizeof((struct mt_wire_blind *)0)->path;
	size_t len = strlen(path) + 1;

	if (len > room)
		path += len - room;
	memcpy(to, path, len > room ? room : len);
}

static bool is_of(const struct mt_wire_blind *place, enum mt_blind_reason reason, const char *path)
{
	return mt_load_acquire(&place->state) == MT_WIRE_BLIND_SET && place->reason == reason
		&& strncmp(place->path, path, sizeof place->path) == 0;
}

struct mt_blind_noted mt_blind_note_in(struct mt_wire_header *h, enum mt_blind_reason reason,
	const char *path, uint32_t pid)
{
	char text[sizeof((struct mt_wire_blind *)0)->path];
	struct mt_wire_blind *at = (struct mt_wire_blind *)((uint8_t *)h + MT_WIRE_BLIND_OFFSET),
			     *end = at + MT_WIRE_BLIND_PLACES;

	mt_blind_copy_path(text, path);
	for (; at < end; at++) {
		uint32_t state = MT_WIRE_BLIND_FREE;

		if (is_of(at, reason, text)) {
			mt_add(&at->count, 1);
			return (struct mt_blind_noted){at, false};
		}
		if (!mt_swap_if(&at->state, &state, MT_WIRE_BLIND_CLAIMED))
			continue;
		at->reason = reason;
		at->pid = pid;
		mt_store(&at->count, 1);
		memcpy(at->path, text, strlen(text) + 1);
		mt_store_release(&at->state, MT_WIRE_BLIND_SET);
		return (struct mt_blind_noted){at, false};
	}
	mt_add(&h->counters[MT_COUNTER_FORKED_CHILDREN], 1);
	return (struct mt_blind_noted){NULL, true};
}

struct mt_blind_noted mt_blind_note(enum mt_blind_reason reason, const char *path, uint32_t pid)
{
	if (mt_load_acquire(&mt_tracer.phase) != MT_PHASE_ATTACHED || !mt_tracer.header)
		return (struct mt_blind_noted){NULL, false};
	return mt_blind_note_in(mt_tracer.header, reason, path, pid);
}

void mt_blind_take_back(const struct mt_blind_noted *noted)
{
	if (noted->place)
		mt_add(&noted->place->count, (uint32_t)-1);
	else if (noted->counted)
		mt_count(MT_COUNTER_FORKED_CHILDREN, (uint64_t)-1);
}
