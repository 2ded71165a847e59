/* What the views show: a profile with names, filtered and sorted, from a trace or from a running
 * session. */
#ifndef MT_TUI_DATA_H
#define MT_TUI_DATA_H

#include "core/query/query.h"
#include "core/query/scan.h"
#include "core/recording/recording.h"
#include "core/set/open.h"
#include "tui/data/history_worker.h"
#include "tui/data/layers.h"
#include "tui/data/ranking.h"
#include "tui/data/suspect.h"
#include "tui/view/listing.h"

enum mt_trace_state { MT_TRACE_UNREAD, MT_TRACE_AWAITED, MT_TRACE_READ, MT_TRACE_FAILED };
struct mt_data {
	struct mt_recording *recording; /* NULL: nothing is open yet */
	/* of the recording, when it was last looked at: */
	const struct mt_profile *whole;
	const struct mt_symbols *symbols;
	struct mt_trace_reader *reader; /* its events; NULL: live, or a stand-alone recording */
	uint64_t image;                 /* of the program, as the recording has it */
	struct mt_client *client;       /* NULL: a file */
	/* what is shown: a flat copy of the whole, or of what matched of it */
	struct mt_profile profile;
	/* by fields that ask for single allocations; else empty */
	struct mt_matched matched;
	struct mt_wrappers *wrappers; /* borrowed; NULL: the usual ones */
	bool followed;                /* it was a file that grew when it was opened */
	struct mt_filter *filter;     /* what is shown matches it */
	struct mt_worker *listing;    /* lists single blocks; NULL: there are no events */
	/* goes over the events for the next one; NULL: there are none */
	struct mt_worker *matching;
	char *matching_text; /* what is asked, and not collected yet; NULL: nothing */
	/* for the timeline of a filter that groups alone answer */
	bool timeline_asked, timeline_runs;
	uint64_t asked;  /* grows with everything that it is asked */
	char *kept_text; /* a filter to come back to, or NULL */
	/* what it leaves of the recording, where another is in force */
	struct mt_matched kept;
	/* of a program that runs: what matched borrows from, all that was known at a moment */
	struct mt_recording *moment;
	bool renews;     /* what is asked is in force, and has not been seen for a while */
	uint64_t events; /* grows with every source of events: a trace, a program that runs */
	bool ranged;     /* the filter asks for a range of time: */
	uint64_t from_ns, to_ns;
	struct mt_selection selection;
	enum mt_metric sort;
	bool ascending;
	/* by whole groups, where single allocations are filtered */
	bool sort_all;
	struct mt_tree *tree;     /* NULL: to be made on demand */
	struct mt_tree *old_tree; /* whose memory the next one takes */
	bool inverted;
	bool live; /* the recording goes on */
	bool frozen, recorder_gone;
	enum mt_trace_state trace; /* of a session that has ended (ended.h) */
	/* After each selection, which it may make smaller; hidden: groups that it took out. */
	void (*on_selected)(void *context, struct mt_data *);
	void *on_selected_context;
	uint32_t hidden;
	uint64_t generation; /* grows with every change of selection, order or names */
	char *command;
	struct mt_ranking ranking;
	struct mt_layers layers;
	struct mt_suspect suspect;
	struct mt_family members;     /* of a set of recordings; empty: it is one */
	char *unread, *troubles;      /* as of mt_set_opened */
	struct mt_verdicts *verdicts; /* of a leak check on the screen (lost.h); NULL: none */
	struct mt_history_worker
		*history_worker; /* goes over the events for it; NULL: there are none */
};

void mt_data_init(struct mt_data *);
/* progress as in struct mt_open_options. */
int mt_data_open(struct mt_data *, const char *path,
	int (*progress)(void *context, const char *what, double fraction), void *context,
	struct mt_err *err);
/* Several recordings as one: totals and names. cache: as of mt_set_open. */
int mt_data_open_set(struct mt_data *, char *const *paths, uint32_t count, enum mt_set_stacks,
	const char *cache, int (*progress)(void *context, const char *what, double fraction),
	void *context, struct mt_err *err);
int mt_data_attach(struct mt_data *, const char *session_name, pid_t process, unsigned frame_ms,
	struct mt_err *err);
void mt_data_free(struct mt_data *);
/* To another place; from is as zeroed. */
void mt_data_move(struct mt_data *to, struct mt_data *from);

/* Takes over what the recorder published and what was resolved; true: something changed. */
bool mt_data_update(struct mt_data *, bool published);
bool mt_data_busy(struct mt_data *); /* names are still being looked up */
/* The session's socket told that the recorder has gone, while nothing is taken over. */
void mt_data_lose_recorder(struct mt_data *);
/* Its session has ended: the events of its trace, which was opened meanwhile. False: it is not its
 * trace. */
bool mt_data_take_trace(struct mt_data *, const struct mt_recording *trace);
void mt_data_freeze(struct mt_data *, bool frozen, unsigned frame_ms);
void mt_data_select(struct mt_data *); /* after a change of filter or order */
void mt_data_sort(struct mt_data *, enum mt_metric, bool ascending);
struct mt_tree *mt_data_tree(struct mt_data *);
void mt_data_invert(struct mt_data *);

/* ---- data_filter.c ---- */
/* Asks for a filter. 0: it is in force; 1: it goes over events, and mt_data_collect takes it over;
 * negative: refused. What was asked before and is not in force yet is forgotten, but where it is
 * refused. */
int mt_data_filter(struct mt_data *, const char *text, struct mt_err *err);
/* The filter with these fields instead of those that are about time: from, to, alive_at,
 * alive_at_2. NULL: off. */
int mt_data_filter_time(struct mt_data *, const char *from, const char *to, const char *alive_at,
	struct mt_err *err);
void mt_data_remember(struct mt_data *); /* the filter in force, for mt_data_back; at once then */
void mt_data_back(struct mt_data *);     /* forgets what was asked since */
/* Forgets what was asked and is not in force yet; false: there is none. */
bool mt_data_cancel(struct mt_data *);
/* what was asked and is not in force yet; or NULL */
const char *mt_data_pending(const struct mt_data *);
/* that, or what is in force; the caller frees */
char *mt_data_wanted(const struct mt_data *);
/* 0: nothing new; 1: another filter is in force; negative: it failed. */
int mt_data_collect(struct mt_data *, struct mt_err *err);
/* single allocations are filtered, totals are of what matched */
bool mt_data_is_matched(const struct mt_data *);
/* The profile whose steps the timeline shows: what the filter leaves, also of one that groups alone
 * answer. That takes a pass over the events, which the first call asks for. unfiltered: why the
 * steps are those of all groups; NULL: they are not. */
const struct mt_profile *mt_data_timeline(struct mt_data *, const char **unfiltered);
/* Whether that pass goes on; one that a test holds does not. */
bool mt_data_timeline_runs(const struct mt_data *);
/* Once a trace was opened, a program is watched, or has executed another one. */
void mt_data_begin_filters(struct mt_data *);
/* The events are others from now on: those of the trace of a program that has ended, or of another
 * program that it executed. A filter that goes by them is asked again. */
void mt_data_other_events(struct mt_data *);
/* Of a program that runs, after news: asks again for what is in force. */
void mt_data_renew(struct mt_data *);
/* Whether a pass over the events of a program that runs may be made again. */
bool mt_data_may_renew(const struct mt_data *, const struct mt_worker *);
/* "3.2s ago", or "" where that is hardly any time, or moment_ns is 0: what is shown of single
 * allocations is then known to the end. Returns out. */
const char *mt_data_age_words(char out[32], const struct mt_data *, uint64_t moment_ns);
/* of what is in force; 0: it is no moment's */
uint64_t mt_data_moment_ns(const struct mt_data *);
bool mt_data_asks_names(const struct mt_data *); /* the filter in force goes by names */
/* once all names are there: what matches by them is known now */
void mt_data_names_known(struct mt_data *);

/* How much a group looks like a leak: by what was seen of it, else by its totals. */
/* Why no samples are taken of groups: "too many groups to sample (over 100k)"; false: they are, or
 * there is nothing to take them of. */
/* Whether scores of suspicion are being computed: the events are gone over, or too few samples of a
 * running program are there. What totals would say until then may be far from it. Asks for them if
 * nobody has. */
bool mt_data_scores_wait(const struct mt_data *);
/* Whether the score says that a person should look at the group. */
bool mt_data_is_suspect(const struct mt_data *, const struct mt_group *of_profile);
bool mt_data_unsampled(const struct mt_data *, char *out, size_t len);
void mt_data_rank(const struct mt_data *, uint32_t group, struct mt_rank *);
/* Asks the events for it where there are any, and for what they tell of one group (MT_NO_GROUP: of
 * none); true from mt_data_site_history_collect: there is news. */
void mt_data_site_history(struct mt_data *, uint32_t group);
bool mt_data_site_history_collect(struct mt_data *);
/* The same for all groups, where the pass is short enough to be made without being asked for. */
void mt_data_site_history_soon(struct mt_data *);
/* A group's live bytes while it was watched, oldest first, at most so many points; returns how
 * many. Of a program that ran before it was watched: above the level that they begin at, or seven
 * eighths of the largest, so that growth is seen at once. */
uint32_t mt_data_history(const struct mt_data *, uint32_t group, uint64_t *out, uint32_t most);
uint64_t mt_data_lost(const struct mt_data *); /* everything that the recording is known to miss */
/* A thread by its name, with its id where others have the same name or it has none. Returns out. */
const char *mt_data_thread(char out[64], const struct mt_profile *, uint32_t thread);
/* A value for people, by the metric's unit. */
const char *mt_data_format(char out[16], uint64_t value, enum mt_unit unit);
/* A metric of a group or a sum, with '~' before an estimate. */
/* A sum over blocks: with a '~' if the recording is sampled. Returns out. */
const char *mt_data_sum(char out[17], const struct mt_profile *, uint64_t value, enum mt_unit unit);
const char *mt_data_metric(char out[17], const struct mt_data *, const struct mt_group *,
	enum mt_metric);
double mt_data_percent(const struct mt_data *, uint64_t value, enum mt_metric);

#endif
