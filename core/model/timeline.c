#include "core/model/timeline.h"

void mt_timeline_store(struct mt_model *m)
{
	struct mt_profile *p = m->profile;

	p->samples[p->sample_count - 1] = (struct mt_sample){
		.live_bytes = m->live_bytes,
		.live_count = m->live_count,
		.max_bytes = m->step_max_bytes > m->step_before_bytes ? m->step_max_bytes
								      : m->step_before_bytes,
		.allocations = m->step_allocations,
		.frees = m->step_frees,
		.memory = m->memory,
	};
}

/* The maximum begins anew, for another step. */
static void leave_step(struct mt_model *m)
{
	if (m->step_max_bytes > m->block_before_bytes)
		m->block_before_bytes = m->step_max_bytes;
	m->step_before_bytes = 0;
	m->step_max_bytes = m->live_bytes;
}

/* Begins the step of the profile's last sample, which is new. */
static void open_last(struct mt_model *m)
{
	leave_step(m);
	m->step_allocations = m->step_frees = 0;
	m->step_end_ns = m->profile->sample_count * m->profile->step_ns;
}

static void append(struct mt_profile *p, struct mt_sample s)
{
	MT_GROW(p->samples, p->sample_count, p->sample_capacity);
	p->samples[p->sample_count++] = s;
}

static struct mt_sample merged(const struct mt_sample *a, const struct mt_sample *b)
{
	struct mt_sample s = *b;

	s.max_bytes = a->max_bytes > b->max_bytes ? a->max_bytes : b->max_bytes;
	s.allocations += a->allocations;
	s.frees += a->frees;
	return s;
}

static void double_step(struct mt_profile *p)
{
	uint32_t pairs = p->sample_count / 2;

	for (uint32_t i = 0; i < pairs; i++)
		p->samples[i] = merged(&p->samples[2 * i], &p->samples[2 * i + 1]);
	if (p->sample_count & 1)
		p->samples[pairs] = p->samples[p->sample_count - 1];
	p->sample_count -= pairs;
	p->step_ns *= 2;
}

void mt_timeline_start(struct mt_model *m)
{
	append(m->profile, (struct mt_sample){0});
	open_last(m);
}

/* Steps without an event, up to that of time_ns, but no more than end in all; those that were seen
 * before they were reopened with the memory that they had. */
static void pass_steps(struct mt_model *m, uint64_t time_ns, uint32_t end)
{
	struct mt_profile *p = m->profile;

	while (p->sample_count < end && p->sample_count <= time_ns / p->step_ns) {
		if (p->sample_count < m->seen_steps)
			m->memory = p->samples[p->sample_count].memory;
		append(p,
			(struct mt_sample){
				.live_bytes = m->live_bytes,
				.live_count = m->live_count,
				.max_bytes = m->live_bytes,
				.memory = m->memory,
			});
	}
	if (p->sample_count >= m->seen_steps)
		m->seen_steps = 0;
}

void mt_timeline_advance(struct mt_model *m, uint64_t time_ns)
{
	struct mt_profile *p = m->profile;

	mt_timeline_store(m);
	pass_steps(m, time_ns, m->seen_steps);
	while (time_ns / p->step_ns >= MT_SAMPLES_MAX) /* leaves all steps so far behind */
		double_step(p);
	pass_steps(m, time_ns, MT_SAMPLES_MAX);
	open_last(m);
}

void mt_timeline_reopen(struct mt_model *m, uint64_t time_ns)
{
	struct mt_profile *p = m->profile;
	uint32_t last = p->sample_count - 1;

	mt_timeline_store(m);
	while (last > time_ns / p->step_ns && !p->samples[last].allocations
		&& !p->samples[last].frees
		/* a realloc that fails counts as neither */
		&& p->samples[last].live_count == p->samples[last - 1].live_count)
		last--;
	if (last == p->sample_count - 1)
		return;
	if (!m->seen_steps)
		m->seen_steps = p->sample_count;
	p->sample_count = last + 1;
	m->memory = p->samples[last].memory;
	leave_step(m);
	m->step_before_bytes = p->samples[last].max_bytes;
	m->step_allocations = p->samples[last].allocations;
	m->step_frees = p->samples[last].frees;
	m->step_end_ns = p->sample_count * p->step_ns;
}

void mt_timeline_unfree(struct mt_model *m, uint64_t count)
{
	struct mt_profile *p = m->profile;

	if (m->step_frees >= count) {
		m->step_frees -= count;
		return;
	}
	for (uint32_t i = p->sample_count - 1; i-- > 0;)
		if (p->samples[i].frees >= count) {
			p->samples[i].frees -= count;
			return;
		}
}
