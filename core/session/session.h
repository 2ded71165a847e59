/* A recording session: the recorder process, what it publishes, and how clients reach it. */
#ifndef MT_SESSION_SESSION_H
#define MT_SESSION_SESSION_H

#include "core/base/err.h"
#include "core/model/profile.h"

#include <sys/types.h>

#define MT_SESSION_LEAST_SIZE (256u << 10) /* smaller traces leave no room for anything */

struct mt_session;
struct mt_session_options {
	char *const *argv;  /* program and arguments, NULL-terminated; NULL with attach */
	pid_t attach;       /* records this process, which runs already; 0: starts argv */
	const char *output; /* path with %e %t %p %h %n, or "-"; NULL: the default name */
	bool chown;         /* output files are given to this owner */
	uid_t owner;
	gid_t group;
	bool force; /* replace an existing output file */
	/* give the program a pseudo-terminal of its own, of this size */
	bool pty;
	unsigned short rows, columns;
	/* the caller will connect: the recorder does not end before, unless the caller says
	 * otherwise, ends itself, or takes 10 s */
	bool watched;
	/* give the program this terminal, of another window; without pty. NULL: ours */
	const char *terminal;
	uint32_t depth_limit; /* 0: 4096 */
	bool free_stacks, slack, check_stacks, disabled_at_start;
	bool no_patch; /* allocators inside programs stay as they are */
	/* Called by wait and poll for each process that is at its end, behind all destructors; it
	 * ends when this returns. NULL: none waits. */
	void (*at_end)(void *context, const struct mt_session *, pid_t);
	void *at_end_context;
	/* functions of another allocator (core/session/named.h); NULL: none are named */
	const char *allocator_functions;
	bool no_follow;      /* executed programs get the environment that they are given */
	bool drop_when_full; /* do not wait for the recorder */
	bool wait_when_full; /* also while it stands still; neither: for 0.2 s then */
	/* mean number of bytes between samples, or of allocations; 0: records each block */
	uint64_t sample_bytes, sample_every;
	/* only blocks of these sizes are recorded; 0: no bound */
	uint64_t record_min, record_max;
	uint64_t duration_ns; /* stop recording after it; 0: never */
	/* of each trace: the oldest events go, totals stay; 0: no limit. Files only */
	uint64_t max_bytes;
	/* stop where what must stay does not fit; else the limit is exceeded */
	bool stop_over_size;
	uint32_t signals[3]; /* by enum mt_signal_use: their numbers; 0: none */
	/* on which the recorder takes a snapshot by itself: see condition.h */
	const char *const *conditions;
	uint32_t condition_count;
	const char *cache; /* directory of names that were looked up before; NULL: none */
	/* path of libmemtui.so; NULL: beside the executable or in the install prefix */
	const char *library;
};

/* One recorded image of a process, for lists. */
struct mt_session_process {
	pid_t pid, parent;   /* parent 0: unknown */
	int32_t wait_status; /* as of waitpid; -1: unknown, or it runs on */
	uint32_t recorded;   /* 0: it went on untraced */
	uint32_t forked;     /* 1: the image began with a fork, 0: with exec */
	uint32_t alive;
	uint32_t failed;   /* 1: its trace could not be written, or not to its end */
	uint32_t untraced; /* processes that went on untraced, as its trace tells */
	uint32_t stopped;  /* 1: its recording ended before it did */
	uint32_t blind;    /* enum mt_blind_reason of its own allocations; 0: they were seen */
	/* 1: of a saved trace: the process went on with another image */
	uint32_t followed;
	/* 1: a forked child that has not allocated yet: it has no recording */
	uint32_t silent;
	uint32_t sampled; /* 1: the numbers of blocks and bytes are estimates */
	/* leaked: not freed; suppressions are not applied */
	uint64_t start_unix_ns, events, allocations, peak_bytes, leaked_bytes, leaked_count,
		lost_events;
	uint64_t peak_rss_bytes; /* 0: not known */
	char command[128];
	char trace_path[512];
};

/* Started session as its front process sees it. */
struct mt_session {
	pid_t recorder, program;
	char name[108];   /* abstract socket name, without the leading NUL */
	char *trace_path; /* resolved output path */
	/* complete so far, the root's images among them; in order of their ends */
	struct mt_session_process *processes;
	uint32_t process_count, process_capacity;
	uint32_t going_on;  /* processes that are recorded still, when wait has returned */
	pid_t going_on_pid; /* one of them */
	uint32_t untraced;  /* processes that went on untraced, as far as that was seen */
	/* sentences on snapshots that the recorder has taken by itself */
	char **snapshots;
	uint32_t snapshot_count, snapshot_capacity;
	uint64_t still_ns;      /* attached: the most that one of the threads stood still for it */
	bool failed;            /* the root's trace could not be written, or not to its end */
	bool attached;          /* the program was there before */
	bool detached;          /* it runs on, and is recorded no more */
	struct mt_front *front; /* private */
};

/* With options.attach, the program is a process that runs already: it is refused, and never
 * touched, if it cannot be recorded, and nothing ever ends it. Without watched, SIGINT and SIGTERM
 * then wait for mt_session_wait, where they detach; wait returns 0 for a recording in order.
 *
 * Else checks the program (exists, executable, not static, not setuid, right architecture, limits),
 * forks the recorder, which starts the program, and returns when the program was exec'ed or could
 * not be (err says why; nothing is left behind then). The caller becomes child subreaper and
 * ignores SIGINT and SIGQUIT until wait returns where the program keeps the terminal. The recorder
 * leaves the caller's session: it survives SIGHUP. */
int mt_session_start(struct mt_session *, const struct mt_session_options *, struct mt_err *err);
/* Whether the process could be attached, as far as that can be told without touching it. */
int mt_session_check_attach(pid_t, struct mt_err *err);
/* The caller will not connect after all: the recorder need not wait for it. */
void mt_session_unwatched(struct mt_session *);
/* Waits for the program and for the recorder to finish its trace; other processes may be recorded
 * on. Returns the exit status to pass on (128 + N for a signal) and sets *wait_status, as of
 * waitpid; err carries a sentence when the recorder failed or died. */
int mt_session_wait(struct mt_session *, int *wait_status, struct mt_err *err);
/* Reaps what has ended without blocking: 1 when the program has ended (*wait_status set), else
 * 0. */
int mt_session_poll(struct mt_session *, int *wait_status);
/* What went wrong with the program's own trace, as far as polls have read of it; NULL: nothing. */
const char *mt_session_trouble(const struct mt_session *);
int mt_session_fd(const struct mt_session *); /* readable: poll has something to read; or -1 */
void mt_session_free(struct mt_session *);

/* ---- clients ---- */
struct mt_session_entry {
	char name[108];
	pid_t recorder, program; /* program 0: the recorder does not answer; no more is known */
	uint32_t attached;       /* 1: the program was there before, and can be detached */
	char command[256];
	uint64_t start_unix_ns;
	char trace_path[512];
};
/* Running sessions of this user (caller frees the array); count or negative errno. */
int mt_session_list(struct mt_session_entry **entries, struct mt_err *err);
/* Whether another user's recorder started this process, or its parents; as far as names tell. */
bool mt_session_is_of_other(pid_t, uid_t *user);
/* The memtui that started the session, which ps shows beside its recorder; 0: it has gone. */
pid_t mt_session_front(const struct mt_session_entry *);
/* The processes of a running session, the root first (caller frees); count or negative errno. */
int mt_session_processes(const char *name, struct mt_session_process **processes,
	struct mt_err *err);
/* Those that have ended, too, each as its last image was, and forked children that have not
 * allocated yet. Totals are as of a moment ago. */
int mt_session_all_processes(const char *name, struct mt_session_process **processes,
	struct mt_err *err);

/* What a recorder is asked to do; doc/control.md says when it is done. */
enum mt_request {
	MT_REQUEST_PAUSE,
	MT_REQUEST_RESUME,
	MT_REQUEST_MARKER,   /* text: at most MT_MARKER_LEN bytes */
	MT_REQUEST_SNAPSHOT, /* text: an absolute name, or NULL; of the process */
	MT_REQUEST_STOP,     /* of a session that was attached: as DETACH */
	/* -EINVAL: nobody has attached it; any other errno: err says what stays in the program */
	MT_REQUEST_DETACH,
};
#define MT_MARKER_LEN 64 /* bytes, as for memtui_marker */
struct mt_done {
	uint64_t moment_ns, bytes; /* SNAPSHOT: the end of what is in the file; its size */
	char path[1024];           /* SNAPSHOT */
};
/* Returns when it is done, or a negative errno, after at most a minute. process: 0 the root. done
 * may be NULL. */
int mt_session_request(const char *name, enum mt_request, pid_t process, const char *text,
	struct mt_done *, struct mt_err *err);
int mt_session_detach(const char *name, struct mt_err *err);
/* What a leak check has found in a process goes into its trace; process: 0 the root; verdicts: as
 * mt_verdicts_encode made them. */
int mt_session_tell_verdicts(const char *name, pid_t process, const struct mt_buffer *verdicts,
	struct mt_err *err);

/* What lives in a process of a running session: its trace up to a moment, which is the end of the
 * first trace_bytes bytes, and a trace with nothing but the list of what lives then. */
struct mt_session_live {
	uint64_t moment_ns, trace_bytes;
	int trace_fd, list_fd; /* the caller closes them; list_fd -1: the events must tell */
	char trace_path[512];
};
/* process: 0 the root. Waits until the recorder has written out what it knows. */
int mt_session_live(const char *name, pid_t process, struct mt_session_live *, struct mt_err *err);

struct mt_client;
/* Connects to a session by its socket name; maps its snapshot read-only; the peer must have our uid
 * (or be root). */
struct mt_client *mt_client_connect(const char *name, struct mt_err *err);
/* The same, for another process of the session; 0: the root. Only the root's watchers see the
 * terminal. */
struct mt_client *mt_client_connect_process(const char *name, pid_t process, struct mt_err *err);
/* readable: something was published, or the recorder is gone */
int mt_client_fd(const struct mt_client *);
/* to poll for: when it is writable, mt_client_flush sends what waits */
short mt_client_events(const struct mt_client *);
void mt_client_flush(struct mt_client *);
/* Brings profile (initialised, used with this client only) up to date; 1 changed, 0 not, <0 the
 * recorder is gone. */
int mt_client_update(struct mt_client *, struct mt_profile *profile, struct mt_err *err);
/* how often to publish, default 250; 0 = stop */
void mt_client_interval(struct mt_client *, unsigned milliseconds);
/* Output of the program's terminal since position *at (which is moved; 0: all that is kept).
 * Returns bytes copied. */
size_t mt_client_terminal(struct mt_client *, uint64_t *at, void *buffer, size_t len);
bool mt_client_has_terminal(const struct mt_client *);
/* Changes when the program executes another one: then nothing that goes by ids of the profile
 * before holds. */
uint64_t mt_client_image(const struct mt_client *);
/* how many other processes are being recorded */
uint32_t mt_client_others(const struct mt_client *);
void mt_client_input(struct mt_client *, const void *bytes, size_t len); /* types into it */
void mt_client_resize(struct mt_client *, unsigned short rows, unsigned short columns);
void mt_client_signal(struct mt_client *, int signal); /* sends it to the program */
void mt_client_pause(struct mt_client *, bool paused);
/* Ends a session that was attached; the program runs on. */
void mt_client_detach(struct mt_client *);
/* While the recorder lives: trace path and so on. */
const struct mt_session_entry *mt_client_entry(const struct mt_client *);
/* The recorder is gone: goes on draining the program's terminal (keeps the last 1 MiB). Call when
 * mt_client_fd's peer ended. */
void mt_client_drain(struct mt_client *);
void mt_client_free(struct mt_client *);

#endif
