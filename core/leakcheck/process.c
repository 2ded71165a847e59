#include "core/leakcheck/process.h"

#include <errno.h>

struct moment {
	struct mt_recording *recording;
	uint64_t ns;
};

/* While the process stands still. */
static int take_moment(void *context, struct mt_err *err)
{
	struct moment *m = context;
	int status = mt_recording_take_live(m->recording, &m->ns, NULL, err);

	return status == -ENODATA
		? mt_fail(err, status, "the process has not allocated anything yet")
		: status;
}

static void tell(const struct mt_leakcheck *c, const struct mt_leakcheck_target *target,
	const struct mt_source *source, uint64_t moment_ns, struct mt_err *untold)
{
	struct mt_verdicts v = {.moment_ns = moment_ns,
		.at_end = target->at_end,
		.image = source->profile->info.images_before};
	struct mt_buffer payload = {0};
	int status = mt_leakcheck_verdicts(c, source, &v, untold);

	if (status >= 0 && target->at_end)
		status = mt_leakcheck_ways(c, source, &v, untold);
	if (status >= 0) {
		mt_verdicts_encode(&v, &payload);
		status = mt_session_tell_verdicts(target->session,
			target->is_root ? 0 : target->process, &payload, untold);
	}
	if (status >= 0)
		*untold = (struct mt_err){0};
	mt_buffer_free(&payload);
	mt_verdicts_free(&v);
}

static int judge(struct mt_leakcheck *c, const struct mt_recording *r,
	const struct mt_leakcheck_target *target, uint64_t moment_ns, struct mt_err *untold,
	struct mt_err *err)
{
	struct mt_source source = {.profile = r->now.profile,
		.symbols = r->now.symbols,
		.reader = r->now.reader};

	if (mt_info_is_sampled(&source.profile->info))
		return mt_fail(err, -ENOTSUP,
			"the recording is sampled: most blocks of the process are not known, so "
			"what they point to is not either; record without --sample or --every");
	if (mt_info_is_gated(&source.profile->info))
		return mt_fail(err, -ENOTSUP,
			"blocks of some sizes are not recorded, so what they point to is not "
			"known; record without --record-min and --record-max");
	int status = mt_leakcheck_add_live(c, &source, err);

	if (status < 0)
		return status;
	mt_leakcheck_run(c, mt_info_begins_within(&source.profile->info));
	/* at its end, the process waits in any case, and its roots are told with the verdicts */
	if (!target->is_asked && !target->at_end)
		mt_still_resume(&c->still);
	tell(c, target, &source, moment_ns, untold);
	return 0;
}

int mt_leakcheck_begin(struct mt_leakcheck *c, struct mt_recording **recording,
	const struct mt_leakcheck_target *target, struct mt_err *untold, struct mt_err *err)
{
	struct mt_recording *r =
		mt_recording_attach(target->session, target->is_root ? 0 : target->process, err);
	unsigned flags = target->mode;

	*recording = r;
	*untold = (struct mt_err){0};
	if (!r)
		return err->code;
	if (mt_client_entry(r->client)->attached)
		flags |= MT_STILL_ATTACHED;
	struct moment m = {.recording = r};
	int status = mt_still_take(&c->still, target->process, flags, take_moment, &m, err);

	c->taken = status >= 0;
	return status < 0 ? status : judge(c, r, target, m.ns, untold, err);
}

int mt_leakcheck_end(struct mt_leakcheck *c, struct mt_recording *r, struct mt_err *err)
{
	int status = c->taken ? mt_still_release(&c->still, err) : 0;

	mt_leakcheck_free(c);
	mt_recording_free(r);
	return status;
}

int mt_leakcheck_at_end(const struct mt_session *session, pid_t process, struct mt_err *err)
{
	struct mt_leakcheck_target target = {.session = session->name,
		.process = process,
		.is_root = process == session->program,
		.at_end = true,
		.mode = MT_STILL_NO_COPY};
	struct mt_leakcheck c = {0};
	struct mt_err trouble, untold;
	struct mt_recording *r;
	int status = mt_leakcheck_begin(&c, &r, &target, &untold, err);

	if (status >= 0 && untold.code) {
		*err = untold;
		status = untold.code;
	}
	int released = mt_leakcheck_end(&c, r, &trouble);

	if (status < 0 || released >= 0)
		return status;
	*err = trouble;
	return released;
}
