/* What is compared: another trace with the one that is shown, or what was shown a while ago with
 * what is shown now. */
#ifndef MT_TUI_DIFFERENCE_H
#define MT_TUI_DIFFERENCE_H

#include "core/query/diff.h"
#include "tui/app.h"
#include "tui/data/left_out.h"

#include <string.h>

#define MT_SNAPSHOTS 16 /* that are kept */

/* The totals of every group at one instant of the visit. */
struct mt_totals_then {
	unsigned number;  /* S1, S2 and so on */
	uint64_t time_ns; /* of the recording */
	char *filter;     /* by single allocations, of which these totals are; "": none */
	struct mt_group *groups;
	struct mt_late *late; /* NULL: as in a profile */
	uint32_t group_count;
	struct mt_info info;
};

struct mt_difference {
	struct mt_list list;
	uint32_t *rows; /* entries that are shown */
	uint32_t row_count;
	struct mt_diff diff;
	bool made; /* of: */
	uint64_t generation, other_generation, changes;
	bool show_same, made_same;
	uint64_t change; /* grows with what is asked here */
	/* another trace: the side A, and what is shown is B */
	struct mt_data *other;       /* NULL: none, or it is being read */
	char *other_path, *own_path; /* as people gave them; NULL: no other was given */
	char error[512];             /* why there is nothing to compare with, or no filter of it */
	char *asked;                 /* the filter that it was asked last */
	struct mt_diff_pairs pairs;
	struct mt_left_out left_out; /* of A */
	bool paired, pairing, tried; /* tried: with these names, whatever came of it */
	uint64_t names_a, names_b;   /* generations that were paired */
	uint64_t next_ms;
	/* snapshots */
	struct mt_totals_then then[MT_SNAPSHOTS];
	uint32_t then_count;
	unsigned numbers;  /* given so far */
	uint32_t baseline; /* one of them; UINT32_MAX: none */
	bool swapped;
};

struct mt_difference *mt_difference_of(struct mt_app *);
/* Reads the trace to compare with, in a thread. */
void mt_difference_open(struct mt_app *, const char *path, const char *own_path);
/* Brings entries and rows up to date; false: there is nothing to compare, or not yet, and words say
 * so. */
bool mt_difference_make(struct mt_app *, const char **words);
enum mt_metric mt_difference_metric(const struct mt_app *);
const char *mt_difference_words(const struct mt_app *); /* of it */
void mt_difference_snapshot(struct mt_app *);
void mt_difference_baseline(struct mt_app *);
void mt_difference_swap(struct mt_app *);
/* What goes on beside the screen; when it wants to be asked next, or UINT64_MAX. */
uint64_t mt_difference_tend(struct mt_app *, uint64_t now_ms);
int mt_difference_fd(const struct mt_app *); /* poll for reading; or -1 */
void mt_difference_collect(struct mt_app *);
/* the two traces are not compared yet, and will be */
bool mt_difference_busy(const struct mt_app *);
uint32_t mt_difference_snapshots(const struct mt_app *); /* how many there are */
/* Another process will be shown: snapshots are none of its. */
void mt_difference_leave(struct mt_app *);
void mt_difference_free(struct mt_difference *);
/* Marks of snapshots below a graph of the columns from r.column on. */
void mt_difference_marks(struct mt_app *, struct mt_rect, uint64_t from_ns, uint64_t to_ns);

#endif
