#include "core/model/blind.h"

#include <string.h>

static const struct {
	const char *name;
} reasons[MT_BLIND_COUNT] = {
#define X(id, name, words) {name},
	MT_BLIND_REASONS(X)
#undef X
};
#define OTHERS "(other programs)" /* the path of an entry that others joined: the list was full */

const char *mt_blind_reason_name(unsigned reason)
{
	return reason < MT_BLIND_COUNT ? reasons[reason].name : "?";
}

static uint32_t find(const struct mt_profile *p, enum mt_blind_reason reason, const char *path)
{
	for (uint32_t i = 0; i < p->blind_count; i++)
		if (p->blind[i].reason == reason
			&& !strcmp(mt_strings_get(&p->strings, p->blind[i].path), path))
			return i;
	return p->blind_count;
}

uint32_t mt_blind_add(struct mt_profile *p, enum mt_blind_reason reason, uint32_t pid,
	const char *path, uint32_t count, uint64_t bytes)
{
	uint32_t at = find(p, reason, path);

	/* one such entry a reason, so the list is bounded */
	if (at == p->blind_count && p->blind_count >= MT_BLIND_MAX)
		at = find(p, reason, path = OTHERS);
	if (at == p->blind_count) {
		MT_GROW(p->blind, p->blind_count, p->blind_capacity);
		p->blind[p->blind_count++] = (struct mt_blind){.reason = reason,
			.pid = pid,
			.path = mt_strings_add(&p->strings, path)};
	}
	mt_blind_set(p, at, p->blind[at].count + count, p->blind[at].bytes + bytes);
	return at;
}

void mt_blind_set(struct mt_profile *p, uint32_t index, uint32_t count, uint64_t bytes)
{
	struct mt_blind *b = &p->blind[index];

	p->blind_changes += b->count != count || b->bytes != bytes;
	b->count = count;
	b->bytes = bytes;
}

bool mt_blind_is_own(const struct mt_blind *b)
{
	return b->reason == MT_BLIND_OWN_ALLOCATOR || b->reason == MT_BLIND_BUNDLED_ALLOCATOR
		|| b->reason == MT_BLIND_GROWTH || b->reason == MT_BLIND_LIBRARY
		|| b->reason == MT_BLIND_SIZES;
}

/* One without a path, whose count is known as a whole. */
static void set_unnamed(struct mt_profile *p, enum mt_blind_reason reason, uint64_t count)
{
	if (!count && find(p, reason, "") == p->blind_count)
		return;
	mt_blind_set(p, mt_blind_add(p, reason, 0, "", 0, 0),
		count < UINT32_MAX ? (uint32_t)count : UINT32_MAX, 0);
}

void mt_blind_derive(struct mt_profile *p)
{
	struct mt_info *info = &p->info;

	if (info->own_allocator)
		mt_blind_add(p, MT_BLIND_OWN_ALLOCATOR, info->pid,
			mt_strings_get(&p->strings, info->own_allocator), 0, 0);
	for (uint32_t i = 0; i < p->blind_count; i++)
		if (p->blind[i].reason == MT_BLIND_OWN_ALLOCATOR)
			mt_blind_set(p, i, p->blind[i].path == info->own_allocator, 0);
	set_unnamed(p, MT_BLIND_LIBRARY, info->counters[MT_COUNTER_UNSEEN_LIBRARIES]);
	set_unnamed(p, MT_BLIND_UNTRACED, info->counters[MT_COUNTER_FORKED_CHILDREN]);
	set_unnamed(p, MT_BLIND_SIZES, info->left_out);
	info->forked_children = mt_blind_processes(p);
}

void mt_blind_derive_old(struct mt_profile *p)
{
	uint64_t children = p->info.forked_children;

	if (p->blind_count)
		return;
	mt_blind_derive(p);
	set_unnamed(p, MT_BLIND_UNTRACED, children);
	p->info.forked_children = children;
}

const struct mt_blind *mt_blind_own(const struct mt_profile *p)
{
	for (uint32_t i = 0; i < p->blind_count; i++)
		if (p->blind[i].count && mt_blind_is_own(&p->blind[i]))
			return &p->blind[i];
	return NULL;
}

uint64_t mt_blind_processes(const struct mt_profile *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->blind_count; i++)
		sum += mt_blind_is_own(&p->blind[i]) ? 0 : p->blind[i].count;
	return sum;
}

bool mt_blind_any(const struct mt_profile *p)
{
	for (uint32_t i = 0; i < p->blind_count; i++)
		if (p->blind[i].count)
			return true;
	return false;
}
