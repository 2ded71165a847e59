/* A terminal in a process: starts memtui in a pseudo-terminal, types, and reads what is on the
 * screen. Nothing here sleeps: memtui says in band when it has answered all input
 * (MEMTUI_TEST_IDLE). */
#ifndef MT_TESTS_SCREENS_HARNESS_H
#define MT_TESTS_SCREENS_HARNESS_H

#include "tui/view/program_repeats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <termios.h>
#include <vterm.h>

struct terminal {
	pid_t leader, pid;   /* of the session; of memtui */
	int master, reports; /* reports: the leader tells stops and the end of memtui */
	VTerm *vterm;
	int rows, columns;
	bool cursor_shown;
	int mouse;                /* VTERM_PROP_MOUSE_NONE: not asked for */
	int cursor_shape;         /* VTERM_PROP_CURSORSHAPE_* */
	struct termios before;    /* of the terminal before memtui came */
	uint64_t sent, received;  /* bytes; tokens are not counted */
	uint64_t consumed, frame; /* of the last token */
	/* bytes received by that token; by the first one that knew of all input */
	uint64_t frame_at, answered_at;
	int token_rows, token_columns;
	bool has_token;
	int busy; /* as it was told: work goes on that will be drawn */
	struct mt_repeats repeats;
	char token[96]; /* being read */
	size_t token_len;
	/* dumps leave out the title and the line of states: pid, time, counts */
	bool varying;
	FILE *record; /* gets every byte of memtui's; NULL: nothing does */
	/* text of the first picture that knew of all input; kept where keeps says so */
	bool keeps;
	char *answer;
	int status; /* as of waitpid, when ended */
	bool ended, stopped;
};

struct settings {
	const char *term, *locale, *directory; /* directory: to start in */
	bool no_color;
	const char *cache; /* XDG_CACHE_HOME */
	/* MEMTUI_TEST_FILTERING: where filters stop until they are cancelled */
	const char *filtering;
	const char *editor; /* EDITOR; NULL: one that does nothing */
	const char *tmux;   /* TMUX */
	/* XDG_CONFIG_HOME and XDG_STATE_HOME; NULL: nowhere */
	const char *config;
	bool welcome; /* as at the first run of all with this config */
	bool remote;  /* as over SSH */
	/* a token after every frame, for terminal_answered */
	bool frames;
	const char *preload; /* LD_PRELOAD */
};

void terminal_start(struct terminal *, int rows, int columns, const struct settings *,
	char *const *argv);
void terminal_send(struct terminal *, const void *bytes, size_t len);
void terminal_type(struct terminal *, const char *text);
void terminal_resize(struct terminal *, int rows, int columns);
/* Reads until memtui has answered all input at the present size; false after 20 s, or when it
 * ended. */
bool terminal_settle(struct terminal *);
/* Reads until there is a picture that knows of all input, whatever work goes on; settings:
 * frames. */
bool terminal_answered(struct terminal *);
bool terminal_wait_text(struct terminal *, const char *text); /* until it is on the screen */
bool terminal_wait_end(struct terminal *);
bool terminal_wait_stop(struct terminal *);
void terminal_read_for(struct terminal *, int milliseconds);
bool terminal_restored(struct terminal *); /* termios as before */
/* Text, styles and cursor as a golden file has them; caller frees. */
char *terminal_dump(struct terminal *);
char *terminal_text(struct terminal *);
void terminal_close(struct terminal *);

#endif
