#include "core/capture/blind.h"

#include <string.h>

#define PROCESSES_MOST (1u << 22) /* Linux has no more process numbers */

/* Copied once: the program may write to the segment while it is read. */
static bool read_note(struct mt_wire_blind *note, const struct mt_segment *s, int place)
{
	const struct mt_wire_blind *from =
		(const struct mt_wire_blind *)(s->base + MT_WIRE_BLIND_OFFSET) + place;

	if (__atomic_load_n(&from->state, __ATOMIC_ACQUIRE) != MT_WIRE_BLIND_SET)
		return false;
	memcpy(note, from, sizeof *note);
	return true;
}

static bool is_sound(const struct mt_wire_blind *note)
{
	return note->reason > MT_BLIND_NONE && note->reason < MT_BLIND_COUNT
		&& note->count <= PROCESSES_MOST
		&& memchr(note->path, '\0', sizeof note->path) != NULL;
}

uint32_t mt_blind_notes_take(struct mt_blind_notes *n, const struct mt_segment *s,
	struct mt_profile *p)
{
	struct mt_wire_blind note;
	uint32_t senseless = 0;

	for (int i = 0; i < MT_WIRE_BLIND_PLACES; i++) {
		if (!read_note(&note, s, i))
			continue;
		if (!is_sound(&note)) {
			senseless++;
			continue;
		}
		if (note.count == n->counts[i])
			continue;
		if (!n->entries[i])
			n->entries[i] = mt_blind_add(p, note.reason, note.pid, note.path, 0, 0) + 1;
		/* the entry may count processes that were found otherwise, too */
		struct mt_blind *entry = &p->blind[n->entries[i] - 1];

		mt_blind_set(p, n->entries[i] - 1, entry->count - n->counts[i] + note.count,
			entry->bytes);
		n->counts[i] = note.count;
	}
	return senseless;
}
