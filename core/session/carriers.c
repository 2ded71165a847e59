/* Modules of recorded images that carry an allocator inside, noted for the session: of an image
 * that has ended somebody asks later. The recorder's lock is held in all of these. */
#include "core/session/internal.h"

#include <string.h>

static struct mt_carrier *find(struct mt_recorder *r, uint64_t segment, const char *path)
{
	for (uint32_t i = 0; i < r->carrier_count; i++)
		if (r->carriers[i].segment == segment && !strcmp(r->carriers[i].path, path))
			return &r->carriers[i];
	return NULL;
}

void mt_carriers_note(struct mt_recorder *r, uint64_t segment, const char *path,
	const char *allocator)
{
	struct mt_carrier *c = find(r, segment, path);

	if (!c) {
		MT_GROW(r->carriers, r->carrier_count, r->carrier_capacity);
		c = &r->carriers[r->carrier_count++];
		*c = (struct mt_carrier){.segment = segment, .path = mt_strdup(path)};
	}
	if (allocator)
		c->allocator = allocator;
	else
		c->patched = true;
}

void mt_carriers_refuse(struct mt_recorder *r, uint64_t segment, const char *path, const char *why)
{
	struct mt_carrier *c = find(r, segment, path);

	/* a process that cannot be opened: it is the first that is not patched */
	for (uint32_t i = 0; i < r->carrier_count && !c && !*path; i++)
		if (r->carriers[i].segment == segment && !r->carriers[i].patched)
			c = &r->carriers[i];
	if (c && !c->why)
		c->why = mt_strdup(why);
}

/* A forked child has them in its copy of the memory. */
void mt_carriers_inherit(struct mt_recorder *r, uint64_t from, uint64_t to)
{
	for (uint32_t i = 0, count = r->carrier_count; i < count; i++) {
		struct mt_carrier c = r->carriers[i];

		if (c.segment != from)
			continue;
		if (c.allocator)
			mt_carriers_note(r, to, c.path, c.allocator);
		if (c.patched)
			mt_carriers_note(r, to, c.path, NULL);
		if (c.why)
			mt_carriers_refuse(r, to, c.path, c.why);
	}
}

const struct mt_carrier *mt_carriers_find(struct mt_recorder *r, uint64_t segment, const char *path)
{
	return find(r, segment, path);
}

const struct mt_carrier *mt_carriers_next(struct mt_recorder *r, uint64_t segment, uint32_t *at)
{
	while (*at < r->carrier_count)
		if (r->carriers[(*at)++].segment == segment)
			return &r->carriers[*at - 1];
	return NULL;
}
