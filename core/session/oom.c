#include "core/session/oom.h"

#include "core/base/cgroup.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

/* From the kernel's count to the end of the process: it gives back its memory first. */
#define SOON_NS 10000000000ull

struct mt_oom {
	struct mt_cgroup group;
	bool by_group; /* else of the whole system */
	bool told;     /* the kernel says how many */
	uint64_t kills, risen_ns;
};

static bool count(const struct mt_oom *o, uint64_t *kills)
{
	return o->by_group ? mt_cgroup_oom_kills(&o->group, kills) : mt_system_oom_kills(kills);
}

void mt_oom_meet(struct mt_process *p)
{
	struct mt_oom *o = p->oom ? p->oom : (p->oom = mt_alloc(sizeof *o));

	*o = (struct mt_oom){0};
	mt_cgroup_of(&o->group, p->pid);
	o->by_group = mt_cgroup_oom_kills(&o->group, &o->kills);
	o->told = count(o, &o->kills);
}

void mt_oom_look(struct mt_process *p, uint64_t now)
{
	struct mt_oom *o = p->oom;
	uint64_t kills;

	if (!o || !o->told || !count(o, &kills) || kills == o->kills)
		return;
	o->kills = kills;
	o->risen_ns = now;
}

void mt_oom_judge(struct mt_process *p, uint64_t now)
{
	struct mt_oom *o = p->oom;

	if (!o)
		return;
	mt_oom_look(p, now);
	if (o->risen_ns && now - o->risen_ns < SOON_NS) {
		p->oom_limit_bytes = o->by_group ? mt_cgroup_limit(&o->group) : 0;
		atomic_store(&p->oom_killed, o->by_group ? MT_OOM_CERTAINLY : MT_OOM_PROBABLY);
	}
	free(o);
	p->oom = NULL;
}
