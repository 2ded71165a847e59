/* What the views show: a profile with names, filtered and sorted, from a trace or from a running session. */
#ifndef MT_TUI_DATA_H
#define MT_TUI_DATA_H

#include "core/query/query.h"
#include "core/query/scan.h"
#include "core/session/session.h"

#define MT_HISTORY 16 /* points kept of each group's live bytes */

struct mt_data {
	struct mt_profile whole;          /* the recording */
	struct mt_profile profile;        /* what is shown: a flat copy of the whole, or of what matched of it */
	struct mt_matched matched;        /* by fields that ask for single allocations; else empty */
	struct mt_trace_reader *reader;   /* its events; NULL: live, or a stand-alone recording */
	struct mt_symbols symbols;
	struct mt_symbolizer *symbolizer; /* NULL: the trace brought its names */
	struct mt_client *client;         /* NULL: a saved trace, or the recorder is gone */
	struct mt_import *import;         /* NULL: not a stand-alone recording that grows */
	bool followed;                    /* it was one when it was opened */
	struct mt_filter *filter;
	struct mt_selection selection;
	enum mt_metric sort;
	bool ascending;
	struct mt_tree *tree;             /* NULL: to be made on demand */
	bool inverted;
	bool live;                        /* the recording goes on */
	bool frozen, recorder_gone;
	uint64_t generation;              /* grows with every change of selection, order or names */
	char *command;
	/* live bytes of every group at the last MT_HISTORY seconds, oldest first, group after group */
	uint64_t *history;
	uint32_t history_groups, history_count;
	uint64_t history_ns;              /* time of the last point */
};

void mt_data_init(struct mt_data *);
/* progress as of mt_profile_load. */
int mt_data_open(struct mt_data *, const char *path, int (*progress)(void *, double), void *context,
	struct mt_err *err);
int mt_data_attach(struct mt_data *, const char *session_name, pid_t process, unsigned frame_ms, struct mt_err *err);
void mt_data_free(struct mt_data *);

/* Takes over what the recorder published and what was resolved; true: something changed. */
bool mt_data_update(struct mt_data *, bool published);
bool mt_data_busy(struct mt_data *); /* names are still being looked up */
void mt_data_freeze(struct mt_data *, bool frozen, unsigned frame_ms);
void mt_data_select(struct mt_data *); /* after a change of filter or order */
/* What to do with a filter that goes over the events of a long recording. */
enum mt_data_when { MT_DATA_TYPING /* refused: -EAGAIN */, MT_DATA_NOW };
int mt_data_filter(struct mt_data *, const char *text, enum mt_data_when, struct mt_err *err);
void mt_data_sort(struct mt_data *, enum mt_metric, bool ascending);
struct mt_tree *mt_data_tree(struct mt_data *);
void mt_data_invert(struct mt_data *);

/* Bytes a second: over the history of a running session; since its first allocation in a finished one. */
int64_t mt_data_growth(const struct mt_data *, uint32_t group);
/* Points of a group's live bytes, oldest first; returns how many. */
uint32_t mt_data_history(const struct mt_data *, uint32_t group, uint64_t out[MT_HISTORY]);
uint64_t mt_data_lost(const struct mt_data *); /* everything that the recording is known to miss */
/* A value for people, by the metric's unit. */
const char *mt_data_format(char out[16], uint64_t value, enum mt_unit unit);
/* A metric of a group or a sum, with '~' before an estimate. */
const char *mt_data_metric(char out[17], const struct mt_data *, const struct mt_group *, enum mt_metric);
double mt_data_percent(const struct mt_data *, uint64_t value, enum mt_metric);

#endif
