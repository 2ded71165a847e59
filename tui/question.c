/* The question at the end: what becomes of a program that still runs, and of a recording that has
 * no name yet. One dialog asks it everywhere, with the same letters: s saves, d discards, k keeps
 * the program running, e ends it. Only d loses something. */
#include "core/export/number.h"
#include "tui/app.h"
#include "tui/data/switch.h"
#include "tui/user/unsaved.h"

#include <stdio.h>
#include <string.h>

#define LINES_MAX 6

struct choice {
	uint32_t key;
	enum mt_outcome outcome;
	enum mt_fate fate;
	char words[160];
};

struct question {
	char head[64], foot[64];
	struct choice choices[LINES_MAX];
	int count;
	uint32_t enter; /* the key that Enter stands for: nothing is lost by it */
};

static void offer(struct question *q, uint32_t key, enum mt_outcome outcome, enum mt_fate fate,
	const char *words)
{
	struct choice *c = &q->choices[q->count++];

	*c = (struct choice){key, outcome, fate, ""};
	snprintf(c->words, sizeof c->words, "%s", words);
}

static unsigned shown_process(const struct mt_app *app)
{
	const struct mt_data *d = &app->data;

	return d->whole->info.pid || !d->client
		? d->whole->info.pid
		: (unsigned)mt_client_entry(d->client)->program;
}

/* What can become of a recording without a name; end: "end it, " where something still runs. */
static void offer_fates(struct question *q, const struct mt_app *app, const char *end)
{
	enum mt_outcome outcome = *end ? MT_OUTCOME_END : MT_OUTCOME_QUIT;
	uint32_t count = mt_unsaved_count(app->unsaved);
	char words[160], processes[MT_NUMBER_OF_LEN];

	if (count > 1) {
		snprintf(words, sizeof words, "%ssave the recordings of all %s here", end,
			mt_number_of(processes, count, "process"));
		offer(q, 'a', outcome, MT_FATE_SAVE_ALL, words);
		snprintf(words, sizeof words, "%ssave only that of process %u", end,
			shown_process(app));
	} else {
		snprintf(words, sizeof words, "%ssave the recording in this directory", end);
	}
	offer(q, 's', outcome, MT_FATE_SAVE, words);
	snprintf(words, sizeof words, "%sdiscard %s", end,
		count > 1 ? "all recordings" : "the recording");
	offer(q, 'd', outcome, MT_FATE_DISCARD, words);
	q->enter = q->choices[0].key;
}

/* As things stand at the moment: the program may end while it is asked about. */
static struct question question_of(const struct mt_app *app)
{
	bool runs = mt_app_runs(app);
	/* a process that is watched alone is no reason to end the others */
	uint32_t others = app->part_of ? 0 : mt_app_lives_on(app);
	char processes[MT_NUMBER_OF_LEN];
	struct question q = {.enter = 'e'};

	if (runs)
		snprintf(q.head, sizeof q.head,
			app->part_of || mt_app_attached(app) ? "The process still runs"
							     : "The program still runs");
	else if (others)
		snprintf(q.head, sizeof q.head, "%s of the program still %s",
			mt_number_of(processes, others, "process"), others == 1 ? "runs" : "run");
	else
		snprintf(q.head, sizeof q.head,
			app->unsaved || app->part_of ? "Keep the recording?"
						     : "The program has ended");
	const char *them = runs || others == 1 ? "it" : "them";
	char end[32] = "", words[128];

	if ((runs || others) && mt_app_attached(app))
		snprintf(end, sizeof end, "detach, "); /* it was there before: nobody ends it */
	else if (runs || others)
		snprintf(end, sizeof end, "end %s, ", them);
	enum mt_outcome outcome = *end ? MT_OUTCOME_END : MT_OUTCOME_QUIT;

	if (app->unsaved) {
		offer_fates(&q, app, end);
	} else if (app->part_of) {
		snprintf(words, sizeof words, "%ssave its recording in this directory", end);
		offer(&q, 's', outcome, MT_FATE_SAVE, words);
		snprintf(words, sizeof words, "%sleave its recording with the others",
			*end ? end : "quit, ");
		offer(&q, 'e', outcome, MT_FATE_NONE, words);
		q.enter = 's';
	} else {
		snprintf(words, sizeof words, "%s%s", *end ? end : "quit",
			*end ? "keep the recording" : "");
		offer(&q, 'e', outcome, MT_FATE_NONE, words);
	}
	if (!*end)
		return q;
	snprintf(words, sizeof words,
		mt_app_stopped(app) ? "keep %s running (no longer recorded)"
			: mt_app_attached(app)
			? "keep recording %s ('memtui attach' returns)"
			: "keep %s running and recorded ('memtui attach' returns)",
		them);
	offer(&q, 'k', MT_OUTCOME_LEAVE, MT_FATE_NONE, words);
	if (!app->session) /* somebody else started it */
		q.enter = 'k';
	return q;
}

static const struct choice *choice_of(const struct question *q, uint32_t key)
{
	for (int i = 0; i < q->count; i++)
		if (q->choices[i].key == key)
			return &q->choices[i];
	return NULL;
}

static void draw(struct mt_app *app)
{
	struct question q = question_of(app);
	struct mt_rect r = mt_box_middle(app, q.count + 1, 66);
	int row = 0;

	snprintf(q.foot, sizeof q.foot, "Enter: %c", (char)q.enter);
	mt_box_draw(app, r, q.head, q.foot);
	for (; row < r.rows - 2 && row < q.count; row++)
		mt_drawf(app->screen, r.row + 1 + row, r.column + 2, r.columns - 4, MT_ROLE_BOX_KEY,
			"%c  %s", (char)q.choices[row].key, q.choices[row].words);
	if (row < r.rows - 2)
		mt_draw(app->screen, r.row + 1 + row, r.column + 2, r.columns - 4, MT_ROLE_BOX_KEY,
			"Esc  go back");
}

/* Who asks to quit once more means it: that is Enter. */
static bool insists(const struct mt_input *input)
{
	return input->code == MT_KEY_ENTER || input->code == 'q'
		|| mt_keys_action(input->code, 1u << MT_SCOPE_APP) == MT_ACTION_QUIT;
}

static void key(struct mt_app *app, const struct mt_input *input)
{
	struct question q = question_of(app);
	uint32_t code = insists(input) ? q.enter : input->code;
	const struct choice *c = choice_of(&q, code);

	if (input->code == MT_KEY_ESCAPE) {
		mt_overlay_close(app);
		return;
	}
	/* The first choice loses nothing. e and k mean it where the dialog does not list them: a
	 * recording without a name has to be saved, or the program has ended meanwhile. */
	if (!c && (code == 'e' || (code == 'k' && !choice_of(&q, 'k'))))
		c = &q.choices[0];
	if (!c)
		return;
	app->outcome = c->outcome;
	app->fate = c->fate;
	mt_overlay_close(app);
}

const struct mt_overlay mt_overlay_quit = {.draw = draw, .key = key};

void mt_quit(struct mt_app *app)
{
	if (mt_app_runs(app) || mt_app_lives_on(app) || app->unsaved || app->part_of)
		mt_overlay_open(app, &mt_overlay_quit, NULL);
	else
		app->outcome = MT_OUTCOME_QUIT;
}
