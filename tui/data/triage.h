/* Triage on the screen: what was said about each group, marks, the keys that say it. The store is
 * core/triage. */
#ifndef MT_TUI_TRIAGE_H
#define MT_TUI_TRIAGE_H

#include "core/query/fingerprint.h"
#include "core/triage/triage.h"
#include "tui/app.h"
#include "tui/data/left_out.h"

/* Beside the states: what was fixed and leaks again. */
#define MT_TRIAGE_CAME_BACK MT_TRIAGE_STATE_COUNT
#define MT_TRIAGE_SHOWN (MT_TRIAGE_STATE_COUNT + 1)

struct mt_triage_ui {
	char *file;              /* as asked for; NULL: by the program's name */
	struct mt_triage *store; /* NULL: the program's name is not known yet */
	struct mt_fingerprints prints;
	/* by group of the whole recording: a state, or MT_TRIAGE_CAME_BACK */
	uint8_t *shown;
	uint32_t shown_count;
	/* The rules of the program, and the built-in ones for what the C library and the dynamic
	 * linker keep to the end, hold on the screen as in every command. */
	struct mt_by_rule by_rule;
	uint8_t *marked; /* by group */
	uint32_t marked_capacity, marked_count;
	bool show_hidden;
	/* of the program, as mt_data.image: with another one groups are others */
	uint64_t image;
	/* judgements of recordings seen before that could not be saved */
	uint32_t lost;
	char told[256];   /* what was wrong with the file last */
	uint32_t *hidden; /* groups that were taken out of the selection */
	uint32_t hidden_count, hidden_capacity;
	bool queue_made; /* of the present selection: */
	/* Of the groups that leak and pass the filter, once mt_triage_queue was called: */
	uint32_t groups[MT_TRIAGE_SHOWN];
	uint64_t bytes[MT_TRIAGE_SHOWN];
	/* not judged or come back first, then the others; each by leaked bytes */
	uint32_t *leaks;
	uint32_t leak_count, leak_capacity;
	uint32_t elsewhere;    /* judgements of groups that this recording has not */
	struct mt_list list;   /* of view_triage.c */
	bool on_queue;         /* its selected line was in the queue */
	uint32_t *note_groups; /* whose note is being typed */
	uint32_t note_count;
};

/* ---- triage.c ---- */
/* path: --triage; NULL: what MEMTUI_TRIAGE says, or the program's name; "": nowhere. */
void mt_triage_begin(struct mt_app *, const char *path);
void mt_triage_queue(struct mt_app *); /* brings groups, bytes and leaks up to date */
void mt_triage_turn(struct mt_app *);  /* the screen shows another recording now */
void mt_triage_end(struct mt_app *);   /* says on stderr what could not be saved */
/* 'N' 'I' 'L' 'F' 'X', '!' for what came back; ' ' where nothing was said of any group, or the
 * group leaks nothing. */
char mt_triage_letter(struct mt_app *, uint32_t group);
/* Live bytes of the suppressed groups in a profile of the shown recording: as a whole, or what a
 * filter selects. */
uint64_t mt_triage_suppressed_bytes(const struct mt_app *, const struct mt_profile *);
/* "new", "leak", "fixed, came back" and so on */
const char *mt_triage_words(struct mt_app *, uint32_t group);
/* NULL: nothing was said */
const struct mt_judgement *mt_triage_of(struct mt_app *, uint32_t group);
/* Nobody has judged it; a rule suppresses it. */
bool mt_triage_is_by_rule(const struct mt_triage_ui *, uint32_t group);
bool mt_triage_is_marked(struct mt_app *, uint32_t group);
/* Mark and letter of a group into the three columns before a line's first number. */
void mt_triage_draw_mark(struct mt_app *, int row, int column, enum mt_role, uint32_t group);
/* One line on what was said of a group; rows used. */
int mt_triage_draw_words(struct mt_app *, struct mt_rect, uint32_t group);
bool mt_triage_queued(enum mt_triage_state shown); /* nobody has judged it, or it came back */

/* ---- triage_keys.c ---- */
bool mt_triage_action(struct mt_app *, enum mt_action); /* false: not of triage */
/* what it begins with */
void mt_triage_prompt(struct mt_app *, enum mt_prompt_kind, char *out, size_t len);
/* beside what is typed */
void mt_triage_prompt_words(struct mt_app *, enum mt_prompt_kind, char *out, size_t len);
/* Negative with err: it cannot be done, and the prompt stays open. */
int mt_triage_accept(struct mt_app *, enum mt_prompt_kind, const char *text, struct mt_err *err);

/* ---- triage_report.c ---- */
void mt_triage_copy(struct mt_app *);
void mt_triage_file_name(struct mt_app *, char *out, size_t len);
int mt_triage_write(struct mt_app *, const char *path, struct mt_err *err);

#endif
