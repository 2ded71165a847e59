#include "tui/data/layers.h"

#include <string.h>

#define CHANGE_NS 1000000000u /* between two changes of colour */
#define STEP_NS 1000000000u   /* between two points, at first */
#define LEAST_PART 100        /* a group that is a smaller part of the heap would not be seen */

/* What ranks a group: what it holds now, or, of a finished recording, what it held when the heap
 * was largest, if that was more. */
static uint64_t weight(const struct mt_profile *p, uint32_t group, bool live)
{
	uint64_t now = p->groups[group].live_bytes;
	uint64_t then = live ? 0 : mt_metric_value(p, &p->groups[group], MT_METRIC_AT_PEAK_SIZE);

	return now > then ? now : then;
}

/* The largest groups, largest first; returns how many. */
static uint32_t find_largest(const struct mt_profile *p, bool live, uint32_t out[MT_LAYER_KEPT])
{
	uint64_t weights[MT_LAYER_KEPT], least = (live ? p->info.leaked_bytes : p->info.peak_bytes);
	uint32_t count = 0;

	least = least / LEAST_PART + 1;
	for (uint32_t g = 0; g < p->group_count; g++) {
		uint64_t here = weight(p, g, live);
		uint32_t at;

		if (here < least || (count == MT_LAYER_KEPT && here <= weights[count - 1]))
			continue;
		at = count < MT_LAYER_KEPT ? count++ : count - 1;
		for (; at > 0 && weights[at - 1] < here; at--) {
			weights[at] = weights[at - 1];
			out[at] = out[at - 1];
		}
		weights[at] = here;
		out[at] = g;
	}
	return count;
}

/* ---- how large each was ---- */

static void add_point(struct mt_layer *l, uint64_t ns, uint64_t bytes)
{
	uint32_t at;

	if (l->count == MT_LAYER_POINTS) {
		l->count /= 2;
		for (uint32_t i = 0; i < l->count; i++)
			l->points[i] = l->points[2 * i + 1];
	}
	for (at = l->count; at > 0 && l->points[at - 1].ns > ns; at--)
		l->points[at] = l->points[at - 1];
	l->points[at] = (struct mt_layer_point){ns, bytes};
	l->count++;
}

static void begin(struct mt_layer *l, const struct mt_profile *p, const struct mt_ranking *r,
	uint32_t group, bool live)
{
	uint64_t bytes[MT_RANK_POINTS];
	uint32_t count = mt_ranking_history(r, group, bytes, MT_RANK_POINTS);

	l->group = group;
	l->count = 0;
	for (uint32_t i = 0; i < count; i++)
		add_point(l, r->time_ns[i], bytes[i]);
	if (!live) /* that is known exactly */
		add_point(l, p->info.peak_ns,
			mt_metric_value(p, &p->groups[group], MT_METRIC_AT_PEAK_SIZE));
}

static void go_on(struct mt_layers *layers, const struct mt_profile *p, bool live)
{
	uint64_t now = p->info.wall_ns;

	for (int i = 0; i < MT_LAYERS; i++) {
		struct mt_layer *l = &layers->layer[i];

		if (l->group == MT_NO_GROUP)
			continue;
		l->now = (struct mt_layer_point){now, p->groups[l->group].live_bytes};
		if (!live || (l->count && now < l->points[l->count - 1].ns + layers->step_ns))
			continue;
		add_point(l, now, l->now.bytes);
		if (l->count == MT_LAYER_POINTS)
			layers->step_ns *= 2;
	}
}

/* ---- who has a colour ---- */

int mt_layers_of(const struct mt_layers *layers, uint32_t group)
{
	for (int i = 0; layers->begun && group != MT_NO_GROUP && i < MT_LAYERS; i++)
		if (layers->layer[i].group == group)
			return i;
	return -1;
}

static bool is_among(const uint32_t *groups, uint32_t count, uint32_t group)
{
	for (uint32_t i = 0; i < count; i++)
		if (groups[i] == group)
			return true;
	return false;
}

/* Takes colours from who is not among the largest, and gives them to the largest without one; at
 * most `changes` of them. */
static void give(struct mt_layers *layers, const struct mt_profile *p, const struct mt_ranking *r,
	bool live, int changes)
{
	uint32_t largest[MT_LAYER_KEPT], count = find_largest(p, live, largest), next = 0;

	for (int i = 0; i < MT_LAYERS && changes > 0; i++) {
		struct mt_layer *l = &layers->layer[i];

		if (l->group != MT_NO_GROUP && is_among(largest, count, l->group))
			continue;
		while (next < count && mt_layers_of(layers, largest[next]) >= 0)
			next++;
		if (next == count && l->group == MT_NO_GROUP)
			continue;
		l->group = MT_NO_GROUP;
		if (next < count)
			begin(l, p, r, largest[next], live);
		layers->changed_ns = p->info.wall_ns;
		changes--;
	}
}

void mt_layers_update(struct mt_layers *layers, const struct mt_profile *p,
	const struct mt_ranking *r, bool live)
{
	bool first = !layers->begun;

	if (!r->count || !p->group_count || r->groups < p->group_count) {
		layers->begun = false;
		return;
	}
	if (first) {
		*layers = (struct mt_layers){.begun = true, .step_ns = STEP_NS};
		for (int i = 0; i < MT_LAYERS; i++)
			layers->layer[i].group = MT_NO_GROUP;
	}
	if (first)
		give(layers, p, r, live, MT_LAYERS);
	else if (live && p->info.wall_ns - layers->changed_ns >= CHANGE_NS)
		give(layers, p, r, live, 1);
	go_on(layers, p, live);
}

uint64_t mt_layers_at(const struct mt_layers *layers, int layer, uint64_t ns)
{
	const struct mt_layer *l = &layers->layer[layer];
	struct mt_layer_point before = {0, 0}, after = l->now;

	for (uint32_t i = 0; i < l->count; i++) {
		if (l->points[i].ns > ns) {
			after = l->points[i];
			break;
		}
		before = l->points[i];
	}
	if (after.ns <= before.ns || ns >= after.ns)
		return after.ns >= before.ns ? after.bytes : before.bytes;
	return (uint64_t)((double)before.bytes
		+ ((double)after.bytes - (double)before.bytes) * (double)(ns - before.ns)
			/ (double)(after.ns - before.ns));
}
