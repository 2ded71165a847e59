#include "tui/data/suspect.h"

#define LOOKS_LIKE_A_LEAK 60 /* points of a hundred */
#define NO_LONGER 40
/* before one is named: caches that fill up in the program's warm-up look the same for a while */
#define WATCHED_NS 20000000000u
#define RECORDED_NS 5000000000u /* of a program that has ended */
#define LATELY_NS 60000000000u

/* From 1; 0: none looks like a leak. */
static uint32_t find(const struct mt_ranking *r, bool live)
{
	uint32_t best = 0;

	if (!r->scores || !r->count
		|| r->time_ns[r->count - 1] - r->time_ns[0] < (live ? WATCHED_NS : RECORDED_NS))
		return 0;
	for (uint32_t i = 0; i < r->score_count; i++)
		if (r->scores[i] >= LOOKS_LIKE_A_LEAK
			&& (!best || r->scores[i] > r->scores[best - 1]))
			best = i + 1;
	return best;
}

static bool is_held(const struct mt_suspect *s, const struct mt_profile *p)
{
	uint64_t bytes = s->group ? p->groups[s->group - 1].live_bytes : 0;

	return bytes && bytes >= s->most_bytes / 2;
}

void mt_suspect_update(struct mt_suspect *s, const struct mt_ranking *r, const struct mt_profile *p,
	bool live)
{
	uint32_t found;

	if (s->group > p->group_count || s->grew_ns > p->info.wall_ns)
		*s = (struct mt_suspect){0}; /* another recording */
	if (s->group && p->groups[s->group - 1].live_bytes > s->most_bytes) {
		s->most_bytes = p->groups[s->group - 1].live_bytes;
		s->grew_ns = p->info.wall_ns;
	}
	bool likely = s->group && r->scores && s->group <= r->score_count
		&& r->scores[s->group - 1] >= NO_LONGER;

	s->grows = likely && (!live || p->info.wall_ns - s->grew_ns < LATELY_NS);
	if (likely)
		return;
	found = find(r, live);
	if (found)
		*s = (struct mt_suspect){found, true, p->groups[found - 1].live_bytes,
			p->info.wall_ns};
	else if (!is_held(s, p))
		*s = (struct mt_suspect){0};
}
