/* The terminal interface: on a saved trace, on a running session, and with the program under test
 * in a pane. */
#ifndef MT_TUI_UI_H
#define MT_TUI_UI_H

#include "core/base/err.h"
#include "core/model/profile.h"
#include "core/session/session.h"

struct mt_ui_options {
	const char *theme;  /* name or path; NULL: dark */
	const char *keymap; /* a file; NULL: the user's own, if there is one */
	const char *ascii;  /* "auto" "always" "never"; NULL: auto */
	const char *sort;   /* a metric's name; NULL: leaked_size */
	/* In the prompt's language; it may name columns of the profile. NULL: there are only the
	 * built-in ones. Returns "" for none, NULL on error; the caller frees. */
	char *(*filter)(const void *filter_of, const struct mt_profile *, struct mt_err *);
	const void *filter_of;
	bool filtered;        /* one was given */
	bool fresh;           /* not as the last visit left it */
	const char *baseline; /* of open: a trace to compare with; NULL: none */
	/* of open: several recordings that are shown as one; 0: one is */
	char *const *set;
	uint32_t set_count;
	const char *cache; /* directory for what was read of a set; NULL: none */
	bool by_process;   /* of these: each is the outermost frame of its backtraces */
	bool sort_all;     /* by whole groups, whatever matches of them */
	/* file of what was said about groups; NULL: the program's own; "": nowhere */
	const char *triage;
	unsigned frame_ms; /* between frames of new data; 0: 250, or 1000 over SSH */
	/* of run: the terminal that the program gets; NULL: a pane of its own */
	const char *tty;
	const char *output; /* of run: where the trace was asked to go; NULL: asks at the end */
	/* of run with an output: says what was written, when the terminal is as before */
	int (*close)(struct mt_session *, const char *output, int wait_status, struct mt_err *err);
};

/* All return 0, or a negative errno with err; the terminal is as before. */
int mt_ui_open(const char *trace_path, const struct mt_ui_options *, struct mt_err *err);
int mt_ui_attach(const char *session_name, pid_t process, const struct mt_ui_options *,
	struct mt_err *err);
/* Lets the user choose one of the recordings that run, or one of the user's own processes, whose
 * resident memory and its growth are shown. chosen: 0 if it is left without. */
int mt_ui_pick_process(const struct mt_ui_options *, pid_t *chosen, struct mt_err *err);
/* Starts the program in a pseudo-terminal of its own. exit_status: what to pass on; 0 when it was
 * left running. */
int mt_ui_run(const struct mt_session_options *, const struct mt_ui_options *, int *exit_status,
	struct mt_err *err);

#endif
