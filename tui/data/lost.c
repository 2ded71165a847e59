#include "tui/data/lost.h"
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "core/leakcheck/process.h"
#include "tui/app.h"
#include "tui/data/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
	char session[108];
	pid_t process;
	uint64_t image; /* of the program that was shown */
	struct mt_verdicts *found;
	struct mt_err trouble; /* what stays behind in the process; code 0: nothing */
	uint64_t still_ns;
};

static void free_verdicts(struct mt_verdicts *v)
{
	if (v)
		mt_verdicts_free(v);
	free(v);
}

/* In the thread. The recording gets them, too. */
static int run(struct mt_job *job, void *context, struct mt_err *err)
{
	struct check *c = context;
	struct mt_leakcheck_target target = {.session = c->session, .process = c->process};
	struct mt_leakcheck check = {0};
	struct mt_recording *r;
	struct mt_err untold;
	int status = mt_leakcheck_begin(&check, &r, &target, &untold, err);

	(void)job;
	if (status >= 0 && mt_client_image(r->client) != c->image)
		status = mt_fail(err, -ESTALE, "the program has just executed another one");
	if (status >= 0) {
		struct mt_source source = {
			.profile = r->now.profile,
			.symbols = r->now.symbols,
			.reader = r->now.reader,
		};

		c->found = mt_alloc(sizeof *c->found);
		*c->found = (struct mt_verdicts){.moment_ns = r->now.profile->info.wall_ns};
		c->still_ns = check.still.still_ns;
		status = mt_leakcheck_verdicts(&check, &source, c->found, err);
	}
	mt_leakcheck_end(&check, r, &c->trouble);
	return status;
}

static void say(struct mt_app *app, const struct check *c)
{
	const struct mt_verdict_sum *lost = &c->found->sums[MT_VERDICT_LOST],
				    *beside = &c->found->sums[MT_VERDICT_INDIRECT],
				    *possible = &c->found->sums[MT_VERDICT_POSSIBLE];
	char bytes[MT_NUMBER_LEN], blocks[MT_NUMBER_OF_LEN], maybe[MT_NUMBER_LEN],
		still[MT_NUMBER_LEN];

	mt_number_size(bytes, lost->bytes + beside->bytes);
	mt_number_of(blocks, lost->count + beside->count, "block");
	mt_number_size(maybe, possible->bytes);
	mt_number_time(still, c->still_ns);
	if (c->trouble.code)
		mt_app_say(app, "%s", c->trouble.text);
	else if (lost->count + beside->count)
		mt_app_say(app, "%s in %s lost, %s possibly lost; the program stood still for %s",
			bytes, blocks, maybe, still);
	else
		mt_app_say(app, "nothing lost, %s possibly lost; the program stood still for %s",
			maybe, still);
}

static void done(struct mt_app *app, void *context, int result, const struct mt_err *err)
{
	struct check *c = context;
	struct mt_data *d = app ? &app->data : NULL;

	if (!app || !d->client || d->image != c->image
		|| strcmp(mt_client_entry(d->client)->name, c->session) != 0
		|| mt_client_entry(d->client)->program != c->process) {
		free_verdicts(c->found); /* something else is shown now */
	} else if (result < 0) {
		mt_app_say(app, "%s", err->text);
		free_verdicts(c->found);
	} else {
		free_verdicts(d->verdicts);
		d->verdicts = c->found;
		say(app, c);
	}
	free(c);
}

void mt_lost_check(struct mt_app *app)
{
	static const struct mt_work work = {.run = run, .done = done, .words = "leak check"};
	const struct mt_data *d = &app->data;
	const struct mt_session_entry *entry = d->client ? mt_client_entry(d->client) : NULL;

	if (!d->live || !entry) {
		mt_app_say(app,
			mt_lost_verdicts(d)
				? "the recording has a leak check: {open} on a group says what it "
				  "found"
				: "only a program that is being recorded can be checked; 'memtui "
				  "record --leak-check' checks it at its end");
		return;
	}
	struct check *c = mt_alloc(sizeof *c);

	memcpy(c->session, entry->name, sizeof c->session);
	c->process = entry->program;
	c->image = d->image;
	mt_job_start(app, &work, c);
}

void mt_lost_forget(struct mt_data *d)
{
	free_verdicts(d->verdicts);
	d->verdicts = NULL;
}

const struct mt_verdicts *mt_lost_verdicts(const struct mt_data *d)
{
	return d->whole->verdicts ? d->whole->verdicts : d->verdicts;
}

bool mt_lost_words(char *out, size_t len, const struct mt_data *d, uint32_t group)
{
	const struct mt_verdicts *v = mt_lost_verdicts(d);
	struct mt_verdict_sum sums[MT_VERDICT_COUNT] = {0};
	char bytes[MT_NUMBER_LEN], blocks[MT_NUMBER_OF_LEN], when[MT_NUMBER_LEN];
	size_t at = 0;

	for (uint32_t i = 0; v && i < v->group_count; i++)
		if (v->groups[i].group == group) {
			sums[v->groups[i].verdict].count += v->groups[i].sum.count;
			sums[v->groups[i].verdict].bytes += v->groups[i].sum.bytes;
		}
	for (int i = 0; i < MT_VERDICT_COUNT; i++) {
		if (!sums[i].count)
			continue;
		mt_number_size(bytes, sums[i].bytes);
		mt_number_of(blocks, sums[i].count, "block");
		at += (size_t)snprintf(out + at, len - at, "%s%s %s in %s", at ? ", " : "",
			mt_verdict_words((enum mt_verdict)i), bytes, blocks);
		if (at >= len)
			return true;
	}
	if (!at)
		return false;
	mt_number_time(when, v->moment_ns);
	snprintf(out + at, len - at, v->at_end ? "; at the end" : "; at %s", when);
	return true;
}
