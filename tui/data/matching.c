#include "tui/data/matching.h"
#include "core/base/buffer.h"
#include "tui/data/worker.h"

#include <stdlib.h>

struct mt_matching {
	struct mt_worker *worker;
	char *asked;
};

static int match(const struct mt_source *source, const void *text, void *result, struct mt_err *err)
{
	struct mt_filter *filter = mt_filter_new();
	int status = mt_filter_parse(filter, text, err);

	if (!status)
		status = mt_match(result, source, filter, MT_MATCH_HISTORY, err);
	mt_filter_free(filter);
	return status;
}

static void free_matched(void *matched)
{
	mt_matched_free(matched);
}

struct mt_matching *mt_matching_new(void)
{
	static const struct mt_worker_kind work = {.words = "to filter in",
		.result_size = sizeof(struct mt_matched),
		.run = match,
		.free_request = free,
		.free_result = free_matched};
	struct mt_matching *m = mt_alloc(sizeof *m);

	m->worker = mt_worker_new(&work);
	return m;
}

void mt_matching_free(struct mt_matching *m)
{
	if (!m)
		return;
	mt_worker_free(m->worker);
	free(m->asked);
	free(m);
}

void mt_matching_start(struct mt_matching *m, const struct mt_generation *of, const char *text)
{
	char *asked = mt_strdup(text);

	mt_worker_start(m->worker, of, mt_strdup(text));
	free(m->asked);
	m->asked = asked;
}

void mt_matching_cancel(struct mt_matching *m)
{
	mt_worker_cancel(m->worker);
	free(m->asked);
	m->asked = NULL;
}

const char *mt_matching_text(const struct mt_matching *m)
{
	return m->asked;
}

double mt_matching_progress(struct mt_matching *m, bool *held)
{
	return mt_worker_progress(m->worker, held);
}

int mt_matching_fd(const struct mt_matching *m)
{
	return mt_worker_fd(m->worker);
}

int mt_matching_collect(struct mt_matching *m, struct mt_matched *out, struct mt_err *err)
{
	int result = mt_worker_collect(m->worker, out, err);

	if (result) {
		free(m->asked);
		m->asked = NULL;
	}
	return result;
}
