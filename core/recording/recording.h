/* Anything that memtui reads, opened in one way (doc/recording.md): a trace, another profiler's
 * file, a stand-alone recording, a session that runs. It yields generations: what is known at a
 * moment. */
#ifndef MT_RECORDING_RECORDING_H
#define MT_RECORDING_RECORDING_H

#include "core/model/source.h"
#include "core/recording/generation.h"
#include "core/session/session.h"

struct mt_open_options {
	/* bytes that another profiler's file may take while it is read; 0: mt_foreign_memory */
	uint64_t memory_max;
	/* Of a stand-alone recording, too, whose events have no order until they are merged: they
	 * become a temporary trace. One that grows is taken as it is now. */
	bool events;
	/* Is told what is done and how far (0..1; negative: it is over), and may return non-zero to
	 * cancel (-ECANCELED). NULL: nobody wants to know. */
	int (*progress)(void *context, const char *what, double fraction);
	void *context;
};

/* Others only read it. */
struct mt_recording {
	/* What is known: valid until the next update, in the thread that updates. Another thread
	 * holds it. */
	struct mt_generation now;
	bool live;                /* the recording goes on */
	bool lost_recorder;       /* the session's has gone */
	struct mt_client *client; /* a session, else NULL */
	uint64_t image;           /* as mt_client_image; 0: a file */
	struct mt_import *import; /* a stand-alone recording that grows, else NULL */
	/* private to core/recording; nameless: nobody wants names */
	char *path;                       /* NULL: a session */
	struct mt_symbolizer *symbolizer; /* NULL: no names come in the background */
	const struct mt_source_facts *source;
	bool names_wait, damaged, nameless;
	char fault[512], note[512]; /* "": none */
};
/* path: "-" is standard input. NULL on error. A file that can be read in part is opened, see
 * mt_recording_facts. */
struct mt_recording *mt_recording_open(const char *path, const struct mt_open_options *,
	struct mt_err *err);
/* A process of a running session; 0: its root. Its names come in the background. */
struct mt_recording *mt_recording_attach(const char *session, pid_t process, struct mt_err *err);
/* The same, for who asks once: totals, events and what lives, all of one moment, and with names
 * those that can be had. Of a stream only totals. */
struct mt_recording *mt_recording_open_live(const char *session, pid_t process, bool names,
	struct mt_err *err);
/* Of totals and names that were made from others; takes their contents. It has no events. */
struct mt_recording *mt_recording_of(struct mt_profile *, struct mt_symbols *);
void mt_recording_free(struct mt_recording *);

/* ---- names ---- */
/* The file's own; false: it has none. err: set where they are damaged, which is as having none. */
bool mt_recording_read_names(struct mt_recording *, struct mt_err *err);
bool mt_recording_lacks_names(const struct mt_recording *);
/* Those that are missing come with updates from now on. */
void mt_recording_begin_names(struct mt_recording *);
/* Those that are missing, at once; the progress of the options cannot cancel it. say (may be NULL)
 * gets a sentence on files that are missing. Negative: err says why not all could be looked up. */
int mt_recording_complete_names(struct mt_recording *, const struct mt_open_options *,
	void (*say)(const char *format, ...), struct mt_err *err);
bool mt_recording_names_busy(const struct mt_recording *); /* more will come */
/* To note something in them (core/query/wrappers.h); NULL: somebody else holds them. */
struct mt_symbols *mt_recording_change_symbols(struct mt_recording *);

/* ---- updates ---- */
enum mt_news {
	MT_NEWS_TOTALS = 1,
	MT_NEWS_NAMES = 2,
	MT_NEWS_ALL_NAMES = 4, /* these were the last ones for now */
	/* the process executed another program: all ids begin again */
	MT_NEWS_IMAGE = 8,
	/* what was known is not valid any more, and a later update brings it */
	MT_NEWS_VOID = 16,
	MT_NEWS_END = 32, /* nothing more will come */
};
/* Takes over what is new and not held by others; the rest waits for another update. published: the
 * recorder told that there is something, or it is time to look into a file that grows. Returns a
 * set of enum mt_news. */
unsigned mt_recording_update(struct mt_recording *, bool published);
/* Of a session that runs: what it has recorded up to now is what is known then, with events and a
 * list of what lives. moment_ns: the end of that. Waits for the recorder. path: of its trace; may
 * be NULL. */
int mt_recording_take_live(struct mt_recording *, uint64_t *moment_ns, char path[512],
	struct mt_err *err);
/* Waits, at most 10 s, until all names that are to come are there. */
void mt_recording_await_names(struct mt_recording *);
/* Of a session that has ended: the events of its trace, which was opened meanwhile. False: it is
 * not the trace of what is known. */
bool mt_recording_take_trace(struct mt_recording *, const struct mt_recording *trace);

/* ---- what it is ---- */
/* The socket told so, and no update did. */
void mt_recording_note_lost_recorder(struct mt_recording *);

/* What could not be read, or was assumed. */
struct mt_facts {
	const struct mt_source_facts *source; /* what it promised */
	/* On a file that is no trace, sentences that are valid until the next update, or NULL: what
	 * is wrong with it or ended it early; what was assumed. */
	const char *fault, *note;
	bool running;        /* it was asked while it went on: more will come */
	bool damaged;        /* it could not be read to its end */
	uint64_t damaged_at; /* byte from which a trace makes no sense; 0: it is not damaged */
};
struct mt_facts mt_recording_facts(struct mt_recording *);
/* Of its trace, beside which those of the other processes of its session lie. NULL: there is none
 * (yet), or it is of a pipe. */
const char *mt_recording_trace_path(const struct mt_recording *);

#endif
