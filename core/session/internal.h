/* What the parts of a session share: messages between its processes, and the recorder's state. */
#ifndef MT_SESSION_INTERNAL_H
#define MT_SESSION_INTERNAL_H

#include "core/base/buffer.h"
#include "core/base/proc.h"
#include "core/capture/clock.h"
#include "core/capture/segment.h"
#include "core/rendezvous.h"
#include "core/session/memory.h"
#include "core/session/named.h"
#include "core/session/session.h"
#include "core/session/snapshot.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

/* ---- recorder -> front process, on a SOCK_SEQPACKET pair ---- */
enum mt_notice_type {
	MT_NOTICE_STARTED,
	MT_NOTICE_REFUSED,
	MT_NOTICE_EXITED, /* the root */
	MT_NOTICE_TROUBLE,
	MT_NOTICE_PROCESS,  /* an image is complete, or a process went untraced */
	MT_NOTICE_GOES_ON,  /* root ended and complete; others live */
	MT_NOTICE_ENDING,   /* watch is at its end, and waits for MT_MESSAGE_JUDGED */
	MT_NOTICE_SNAPSHOT, /* err: a sentence, of one that the recorder has taken by itself */
	MT_NOTICE_DETACHED, /* the process runs on as before; err: what of the tracer stays in it */
	MT_NOTICE_FINISHED,
};
struct mt_notice {
	enum mt_notice_type type;
	pid_t program;
	int wait_status;
	uint32_t count;    /* GOES_ON: processes */
	uint64_t still_ns; /* STARTED, after an attach: see mt_session */
	pid_t watch;       /* GOES_ON: one of them; TROUBLE: whose it is, 0 the session's */
	/* GOES_ON, FINISHED: processes, as far as the recorder has counted them */
	uint32_t untraced;
	char name[108];
	char trace_path[1024];
	struct mt_err err;
	struct mt_session_process process;
};

/* ---- client <-> recorder, on the session's socket ---- */
#define MT_MESSAGE_MAGIC 0x3167736d746d656dull
enum mt_message_type {
	/* a: process, 0 the root -> mt_welcome with descriptors: snapshot, then the root's
	 * terminal */
	MT_MESSAGE_HELLO,
	MT_MESSAGE_LIST,     /* -> mt_welcome without */
	MT_MESSAGE_INTERVAL, /* a: milliseconds */
	MT_MESSAGE_INPUT,    /* bytes */
	MT_MESSAGE_RESIZE,   /* a: rows, b: columns */
	MT_MESSAGE_SIGNAL,   /* a */
	MT_MESSAGE_PAUSE,    /* a: 1 paused -> mt_answer, once all programs know it */
	/* a: 1 those that have ended, too -> mt_session_process each, then an empty mt_welcome */
	MT_MESSAGE_PROCESSES,
	/* ends a recording that was attached -> mt_answer once the process is as before */
	MT_MESSAGE_DETACH,
	/* a: process, 0 the root -> mt_welcome with descriptors: its trace with all that was
	 * recorded so far, and a list of what lives, where one was made */
	MT_MESSAGE_LIVE,
	MT_MESSAGE_JUDGED, /* a: process: it may end */
	MT_MESSAGE_MARKER, /* bytes: its text -> mt_answer */
	/* a: process, 0 the root; bytes: the file's absolute name, which may have % fields, or
	 * nothing -> mt_answer with the name once the file is complete */
	MT_MESSAGE_SNAPSHOT,
	/* a: process, 0 the root; bytes: the next part of what a leak check has found there
	 * (core/model/verdicts.h); b: 1 the last part -> mt_answer: its trace will have it */
	MT_MESSAGE_VERDICTS,
	/* ends the recording; the programs go on -> mt_answer once all traces are complete */
	MT_MESSAGE_STOP,
};
#define MT_MESSAGE_BYTES 4096
#define MT_ANSWER_TEXT_LEN 1024
struct mt_message {
	uint64_t magic;
	uint32_t type, a, b, len;
	char bytes[MT_MESSAGE_BYTES];
};
struct mt_welcome {
	uint64_t magic;
	int32_t status;
	uint32_t has_terminal;
	/* LIVE: the end of what is in the trace; in bytes. entry.trace_path is the process's */
	uint64_t moment_ns, trace_bytes;
	struct mt_session_entry entry;
};

/* To those that ask for something to be done. */
struct mt_answer {
	uint64_t magic;
	int32_t status;                /* 0, or a negative errno; DETACH: -EINVAL: nobody has
	                               * attached it */
	uint64_t moment_ns, bytes;     /* SNAPSHOT: what it is of; its size */
	char text[MT_ANSWER_TEXT_LEN]; /* a sentence with an errno; SNAPSHOT: the file's name */
};

/* ---- starting (launch.c, output.c) ---- */
struct mt_launch {
	char *path;    /* what is executed, or what the process executes that runs; absolute */
	char *library; /* libmemtui.so, absolute */
	char *attached_library; /* libmemtui-attached.so beside it, which may be missing */
	struct rlimit address_space, data, stack, file_size,
		files; /* as the program shall have them */
};
/* Finds the program, or the process that runs, and the library, and says why they cannot be
 * recorded. */
int mt_launch_prepare(struct mt_launch *, const struct mt_session_options *, struct mt_err *err);
void mt_launch_free(struct mt_launch *);
/* The environment of the program: LD_PRELOAD and MEMTUI_SESSION set, the rest as is; pty: but for
 * what names the terminal. */
char **mt_launch_environment(const struct mt_launch *, const char *session, bool pty);
/* In the child: executes, or returns the errno. */
int mt_launch_execute(const struct mt_launch *, char *const *argv, char **environment);

/* The output path with its % fields filled in, absolute. "-" stays. */
char *mt_output_path(const char *pattern, const char *program, pid_t pid);
/* Opens it for writing; >= 0, or a negative errno. */
int mt_output_open(const char *path, struct mt_err *err);
/* The name of another process's trace, after the root's pattern. Opens it; where it exists, the
 * next that is free. */
int mt_output_other(char **path, const char *pattern, const char *program, pid_t pid,
	const char *root_path, struct mt_err *err);
/* Opens path, or where it exists the next of path.1, path.2 and so on that is free. Replaces
 * *path. */
int mt_output_beside(char **path, struct mt_err *err);
/* Tells whether the name leads to the file that is open. */
bool mt_output_is_at(const char *path, int fd);
/* Puts the file that the user's own links lead to in place of *path. */
int mt_output_resolve(char **path, struct mt_err *err);
/* Renames a trace that another of its process follows: path.execN, N from *number on, which is
 * moved. */
int mt_output_set_aside(char **aside, const char *path, uint32_t *number, struct mt_err *err);
/* Removes a file without a byte: the disk was full. */
void mt_output_remove_empty(const char *path);
/* Whether it takes the trace of the root alone: a stream whose name tells no processes apart. */
bool mt_output_is_single(const char *pattern, const char *root_path);
/* Whether a trace can be renamed and removed: a regular file. */
bool mt_output_is_regular(const char *path);

/* ---- an earlier recording of the same name (earlier.c) ---- */
struct mt_earlier {
	char **paths;
	uint32_t count, capacity;
};
/* Of the recording whose root's trace is path: the complete traces beside it of its other images
 * and processes that have the names that the recorder gives. */
void mt_earlier_list(struct mt_earlier *, const char *path);
void mt_earlier_remove(const struct mt_earlier *);
void mt_earlier_free(struct mt_earlier *);

/* ---- processes (process.c) ---- */
struct mt_image; /* one recorded image of a process: image*.c */

/* What the draining thread answers when somebody asks for what lives. */
struct mt_live_answer {
	uint32_t number; /* as the requests are counted */
	int32_t status;  /* 0, or a negative errno */
	uint64_t moment_ns, trace_bytes;
	int trace_fd, list_fd; /* -1: none */
	char trace_path[512];
};
void mt_live_answer_free(struct mt_live_answer *); /* closes the descriptors; may be NULL */

/* A process of the session. Made by the service, never freed. What has no other mark is fixed when
 * others see it. */
struct mt_process {
	uint32_t number;      /* its index in the table; 0: the root */
	pid_t pid, parent;    /* parent 0: unknown */
	int pidfd;            /* service */
	bool forked;          /* it began as a forked child of a traced process */
	uint32_t segments;    /* service: given to it so far */
	uint64_t start_time;  /* of the process, in ticks since boot; 0: cannot be read */
	uint64_t stack_start; /* service: of its present image; 0: cannot be read */
	char command[256];    /* lock: of its present image */
	bool alive;           /* lock: traced, and not known to have ended */
	int wait_status;      /* lock: once it has ended */
	_Atomic bool awaited; /* its status may be known once it is reaped: its trace waits */
	/* lock: its last image, as of a moment ago; NULL: none yet */
	struct mt_session_process *shown;
	struct mt_wire_header *header; /* lock: of the image that is drained; NULL: none */
	/* lock: processes that go untraced, found by the service, of which its trace is yet to tell
	 * (untraced.c): its children, and itself after an exec. untold: how many */
	struct mt_untraced *found;
	/* lock: processes that were found and that a note of the image stands for */
	uint32_t noted[MT_WIRE_BLIND_PLACES];
	int32_t untold;
	struct mt_untraced *left_as; /* service: the root, while it seems to be untraced */
	_Atomic(struct mt_snapshot *) snapshot; /* made by the service when somebody watches */
	_Atomic uint32_t watchers, interval_ms;
	_Atomic bool fresh; /* a new watcher waits */
	/* how often somebody has asked for what lives; lock: the last answer, NULL: none waits */
	_Atomic uint32_t live_asked;
	struct mt_live_answer *live;
	struct mt_buffer verdicts; /* lock: of the last leak check */
	struct mt_oom *oom; /* service: of its control group, while it lives; NULL: nothing */
	/* enum mt_oom_kind, if it has ended by SIGKILL: set before the draining thread hears of
	 * its end, after the limit */
	_Atomic uint32_t oom_killed;
	uint64_t oom_limit_bytes;
	uint32_t starts;    /* service: looks that found it between its exec and its request */
	_Atomic bool left;  /* the root went on in an image that is not recorded */
	_Atomic bool begun; /* it has a trace */
	_Atomic bool done;  /* the draining thread is through with it */
	/* the draining thread's */
	struct mt_image *image; /* the present one */
	char *trace_path;
	uint32_t set_aside; /* number of the next .execN */
	/* Of requests for what lives: how many are answered, and how many were seen when. */
	uint32_t live_answered, live_seen;
	uint64_t live_seen_ns;
	bool ending_told;  /* its image is at its end, and somebody knows */
	bool path_taken;   /* its last image could not be set aside */
	uint64_t shown_ns; /* when it was described for lists */
};

/* What /proc/PID/stat says. */
/* The wait status of a process that has ended, or MT_STATUS_UNKNOWN. */
int mt_process_status(const struct mt_process *);
bool mt_process_has_ended(const struct mt_process *);
/* It is no zombie any more, as its pidfd says, where the kernel is new enough; or /proc. */
bool mt_process_was_reaped(const struct mt_process *);
bool mt_process_is_gone(const struct mt_process *);
/* Whether a tracer's segment is mapped there: it will ask sooner or later. */
bool mt_process_maps_segment(pid_t);
/* Whether a file of the tracer's name is mapped there: it may ask sooner or later. */
bool mt_process_maps_library(pid_t, const char *library);
/* The same, of a process whose mappings can be read. */
bool mt_process_lacks_library(pid_t, const char *library);
/* What /proc has of its command line, NUL-terminated, one after another. title: it may be one that
 * the process wrote over its arguments, padded with zeros, so that empty ones at the end are none.
 * Nothing once it has ended. */
void mt_process_arguments(pid_t, bool title, struct mt_buffer *arguments);
/* Takes over the title of a forked child that has changed it and executed nothing. */
bool mt_process_retitled(const struct mt_process *, struct mt_buffer *arguments);
/* Arguments, or [name], as far as they fit. */
void mt_process_command(pid_t, const struct mt_buffer *arguments, char *to, size_t size);

/* ---- the recorder ---- */

/* A segment that was given to a new image of a process, and what is known of that image. */
struct mt_offer {
	uint64_t segment_id; /* mt_wire_header.id */
	struct mt_segment segment;
	struct mt_timebase clock;
	uint64_t start_unix_ns;
	bool forked, attached;
	bool paused;     /* when it was given */
	uint32_t pauses; /* of the recorder, before */
	char program_path[4096], directory[4096];
	/* the draining thread's, once it was taken: a title may take their place */
	char command[256];
	struct mt_buffer arguments; /* NUL-terminated, one after another */
	struct mt_memory_sampler sampler;
};

/* What the service tells the draining thread. */
struct mt_note {
	struct mt_note *next;
	struct mt_process *process;
	struct mt_offer *offer; /* NULL: the process has ended, or went on untraced */
};

struct mt_recorder {
	const struct mt_session_options *options;
	struct mt_named_functions *named; /* functions that the user names; NULL: none */
	_Atomic bool named_found;         /* a module has them */
	struct mt_carrier *carriers;      /* lock: carriers.c */
	uint32_t carrier_count, carrier_capacity;
	struct mt_launch launch;
	pid_t program;
	int report_fd, listen_fd, master_fd;
	/* the second socket, its file, and the tracer's library, open to the end; -1: none */
	int file_listen_fd, socket_fd, library_fd;
	char *socket_path; /* of that file, which the recorder removes at its end; NULL: none */
	int notify_fd;     /* eventfd: the service wakes its watchers, and reports */
	int child_fd;      /* signalfd for SIGCHLD */
	char name[108], token[MT_WIRE_TOKEN_LEN + 1];
	char *trace_path; /* of the root */
	bool single;      /* no other trace can be written */
	int output_fd;    /* the root's, opened, not yet given to an image */
	uint64_t start_unix_ns;
	struct mt_alive alive;
	struct mt_timebase clock;
	struct mt_onlooker *onlooker; /* the draining thread's */
	struct mt_objects_cache *objects;
	struct mt_attachment *attachment; /* service: to the root; NULL: it was started */
	uint64_t still_ns;                /* the most that one of its threads stood still */

	pthread_t service;
	pthread_mutex_t gate; /* the service waits here until the program runs */

	pthread_mutex_t lock;
	struct mt_process *root;
	struct mt_process **processes; /* the table: appended by the service */
	uint32_t process_count, process_capacity;
	struct mt_refused {
		pid_t pid;
		uint64_t start_time;
		/* by pid: processes that are counted as untraced; service */
	} * refused;
	struct mt_process **live; /* those that are alive */
	uint32_t live_count, live_capacity;
	uint32_t live_changes; /* service: how often one came or went */
	struct mt_note *notes, **notes_end;
	struct mt_unsent {
		struct mt_unsent *next;
		struct mt_session_process process;
	} * unsent, **unsent_end;     /* for the front */
	_Atomic uint32_t root_images; /* of the root that are not complete */
	_Atomic uint64_t live_kept;   /* blocks in tables that finishers are to list */
	_Atomic uint32_t image_count; /* that are drained */
	_Atomic uint32_t incomplete;  /* images whose traces are not complete */
	_Atomic bool root_ended, over, stopping, paused;
	_Atomic bool stop_due; /* somebody wants the recording to end now, as --duration does */
	/* what people have noted, in order: lock, but for the count. Images begin behind those
	 * that were there */
	struct mt_marker {
		char text[MT_MARKER_LEN + 1];
		uint64_t monotonic_ns;
	} * markers;
	_Atomic uint32_t marker_count;
	uint32_t marker_capacity;
	struct mt_snapshot_files *snapshot_files;
	struct mt_watch *watch;
	_Atomic bool names_given_up; /* a file system did not answer */
	/* the session ends before the program: a thread cannot go on, or it was detached */
	_Atomic bool gave_up;
	_Atomic bool detach_due; /* of an attached one: its time or its room is over */
	/* how often a person has paused it: counted before any image sees it */
	_Atomic uint32_t pauses;
	_Atomic uint32_t turns;
	_Atomic uint64_t turned_ns; /* monotonic: of the last pause or its end */
	_Atomic uint32_t bell;      /* futex: the draining thread's own doorbell */
};

/* The process: runs until the last process has ended and its trace is complete. */
_Noreturn void mt_recorder_run(const struct mt_session_options *, struct mt_launch *,
	int report_fd);
void mt_recorder_wake(struct mt_recorder *); /* the draining thread out of its sleep */
/* In the memfd fd, which it takes, or, if that is -1, in a new one. */
int mt_recorder_new_segment(struct mt_recorder *, pid_t, int fd, struct mt_segment *,
	struct mt_err *err);
void mt_recorder_trouble(struct mt_recorder *, const struct mt_err *);
void mt_recorder_trouble_of(struct mt_recorder *, const struct mt_process *, const struct mt_err *);
/* A thread cannot go on. Ends the session in order: the traces are completed, the front is told
 * why, and the program runs on unrecorded. */
void mt_recorder_give_up(struct mt_recorder *, const struct mt_err *);
/* Takes the tracer out of the root, which runs on, and ends the session in order. The service. */
int mt_recorder_detach(struct mt_recorder *, struct mt_err *err);
/* Notes a moment in the traces of all processes. The service. */
void mt_recorder_mark(struct mt_recorder *, const char *text, size_t len);
/* Whether the root was there before us, so that it is no child of ours. */
static inline bool mt_recorder_is_attached(const struct mt_recorder *r)
{
	return r->options->attach != 0;
}
/* Of all processes, those of which no trace tells. */
uint32_t mt_recorder_untraced(struct mt_recorder *);
/* Negative: nobody hears it. */
int mt_recorder_send_notice(struct mt_recorder *, struct mt_notice *);
/* A program that waits at its end does not wait any longer. */
void mt_recorder_let_end(struct mt_wire_header *);
/* In the draining thread: the front hears of a program that waits at its end. */
void mt_recorder_see_ending(struct mt_recorder *, struct mt_process *);
/* The front is there, but the kernel has no room for a message at the moment. */
bool mt_notice_may_be_sent_later(int error);
/* Hands one process's line to the service, which sends it to the front. */
void mt_recorder_tell(struct mt_recorder *, const struct mt_session_process *);
/* Sends what there is; false when the front does not take it now. */
bool mt_recorder_send_unsent(struct mt_recorder *, bool wait);
void mt_recorder_notify(struct mt_recorder *); /* watchers, by way of the service */

/* The draining thread's loop, until the session is over and every trace complete. */
void mt_drain_run(struct mt_recorder *);

/* The second thread. */
int mt_service_listen(struct mt_recorder *, struct mt_err *err);
/* The same from other network namespaces, and the library from other roots, as far as they can be
 * had. */
void mt_service_listen_by_file(struct mt_recorder *);
/* The file of the second socket. */
void mt_service_remove_file(struct mt_recorder *);
/* The value of MEMTUI_SESSION; the caller frees it. */
char *mt_service_session(const struct mt_recorder *);
struct mt_service;
struct mt_service *mt_service_new(struct mt_recorder *);
void *mt_service_run(void *service); /* takes it */

/* ---- a process that runs already (attach.c; doc/attach.md) ---- */
/* Begins the recording in the process that already runs, r->root: all or nothing. err says in one
 * sentence why not. Called once, before anything is drained and before the service thread runs. */
int mt_attach_begin(struct mt_recorder *, struct mt_err *err);
/* Takes the tracer out of the root again, as far as that is possible; err says what stays. The
 * process runs on. */
int mt_attach_end(struct mt_recorder *, struct mt_err *err);
/* In offer.c, called by mt_attach_begin: gives the root a segment in the memory of fd (a memfd that
 * the process has made), as mt_offer_answer does for one who asks. Takes fd. */
int mt_offer_attached(struct mt_recorder *, int fd, struct mt_err *err);

/* What a tracer's request comes to (offer.c). peer: whose socket it is. */
void mt_offer_answer(struct mt_recorder *, int fd, pid_t peer, const struct mt_wire_request *);

/* Answers an image that asks for patches. */
void mt_offer_patch(struct mt_recorder *, int fd, pid_t peer, const struct mt_wire_patches *);
/* carriers.c: modules of images that carry an allocator inside. segment: mt_wire_header.id of the
 * image. */
struct mt_carrier {
	uint64_t segment;
	char *path;
	const char *allocator; /* NULL: not known */
	bool patched;          /* its functions lead to hooks */
	char *why;             /* they do not; NULL: no reason */
};
/* allocator NULL: notes that its functions were patched. */
void mt_carriers_note(struct mt_recorder *, uint64_t segment, const char *path,
	const char *allocator);
/* Why they were not. */
void mt_carriers_refuse(struct mt_recorder *, uint64_t segment, const char *path, const char *why);
void mt_carriers_inherit(struct mt_recorder *, uint64_t from, uint64_t to);
/* NULL: there is none. What is returned holds while the lock is held. */
const struct mt_carrier *mt_carriers_find(struct mt_recorder *, uint64_t segment, const char *path);
/* The next of an image from *at on, which is 0 for the first. */
const struct mt_carrier *mt_carriers_next(struct mt_recorder *, uint64_t segment, uint32_t *at);

/* ---- entries.c ---- */
/* Whether the tracer knows the functions of an allocator (core/symbol/bundled.h). */
bool mt_entries_has_hooks(const char *allocator);
/* Into the answer: a module with such an allocator that was not tried, and where the tracer shall
 * map stubs for it. tried: MT_WIRE_TRIED_MAX beginnings of modules, 0 ends them; NULL: none. */
void mt_entries_offer(struct mt_recorder *, pid_t, const uint64_t *tried, struct mt_wire_reply *);
/* The same for the module at an address, whatever it is. */
void mt_entries_place(struct mt_recorder *, pid_t, uint64_t module, struct mt_wire_reply *);
/* Makes the entries of a module's functions lead to the hooks: all or none. fd: by which the
 * process waits; path: of the module, for which there is room of size bytes. err says in one
 * sentence why it was none. */
int mt_entries_patch(struct mt_recorder *, int fd, pid_t, const struct mt_wire_patches *,
	char *path, size_t size, struct mt_err *err);

/* The process has ended, or is traced no more. Its pidfd stays open while its status is awaited. */
void mt_offer_end(struct mt_recorder *, struct mt_process *, int wait_status);
void mt_offer_close_pidfd(struct mt_process *);
/* A process that is not recorded, once. */
void mt_offer_count_untraced(struct mt_recorder *, pid_t);
/* Whose trace tells that p went on untraced: its own, if that has begun, or that of the next of its
 * parents. */
struct mt_process *mt_offer_teller(struct mt_recorder *, struct mt_process *p);
/* The root executes what is not recorded; it is waited for. */
void mt_offer_root_left(struct mt_recorder *);
struct mt_process *mt_offer_add(struct mt_recorder *, pid_t, int pidfd);
struct mt_process *mt_offer_find(struct mt_recorder *, pid_t); /* alive; NULL: not in the table */

/* ---- processes that are not recorded (untraced.c) ---- */
/* The service has found one: the teller's trace is to say so, unless the tracer's own note does. */
void mt_untraced_add(struct mt_recorder *, struct mt_process *teller, pid_t);
/* A process asks for a segment: a note that it would not, in the teller's segment, was wrong. */
void mt_untraced_recorded(struct mt_recorder *, struct mt_process *teller, pid_t);
/* The root has executed what does not ask; until it does ask after all. */
void mt_untraced_add_root(struct mt_recorder *);
void mt_untraced_take_back_root(struct mt_recorder *);
/* The draining thread: what an image's trace tells of other programs, its process's next image is
 * to tell as well; and what it tells of its own process, which has executed what is not recorded,
 * its parent's. Each process is counted once: the image remembers what it has passed on. */
void mt_untraced_pass_on(struct mt_recorder *, const struct mt_profile *, struct mt_process *from,
	bool followed);
/* The draining thread: what was found becomes entries of the profile. */
void mt_untraced_take(struct mt_recorder *, struct mt_process *teller, struct mt_profile *);

/* ---- one image ---- */
/* Takes the offer. */
struct mt_image *mt_image_new(struct mt_recorder *, struct mt_process *, struct mt_offer *);
/* Takes fd, and begins the trace. Nothing may have been polled. */
int mt_image_begin(struct mt_image *, int fd, struct mt_err *err);
bool mt_image_has_begun(const struct mt_image *);
struct mt_process *mt_image_process(const struct mt_image *);
const char *mt_image_path(const struct mt_image *); /* of its program */
void mt_image_set_path(struct mt_image *, const char *trace_path);
/* Drains; returns the number of records. */
uint64_t mt_image_poll(struct mt_image *);
bool mt_image_pending(const struct mt_image *);
/* What is done by the clock: samples, names, counters, flushes. */
void mt_image_tend(struct mt_image *, uint64_t monotonic_ns, bool idle);
bool mt_image_failed(const struct mt_image *, struct mt_err *err);
/* Its trace may not grow any more, by --over-size=stop. */
bool mt_image_is_full(const struct mt_image *);
void mt_image_fail(struct mt_image *, const struct mt_err *); /* it can have no trace */
/* Publishes when somebody watches and it is time; true: watchers are to be told. idle: nothing was
 * drained. */
bool mt_image_publish(struct mt_image *, uint64_t monotonic_ns, bool idle);
void mt_image_publish_last(struct mt_image *);
/* Writes out all that was taken so far, lists what lives (image_live.c), and publishes. */
struct mt_live_answer *mt_image_answer_live(struct mt_image *);
struct mt_segment *mt_image_segment(struct mt_image *);
/* How the name of a file about the image begins: its trace's name. NULL: it has no file. */
const char *mt_image_trace_path(const struct mt_image *);
/* Between two events: writes out all that was taken. Fails in words if its trace cannot be copied,
 * else moment_ns is the end of what is known. */
int mt_image_prepare_snapshot(struct mt_image *, uint64_t *moment_ns, struct mt_err *err);
/* In a forked child, which has nothing but this to do: makes a complete trace of the image in fd,
 * an empty file of that name, which it takes. Never touches the segment. */
int mt_image_write_snapshot(struct mt_image *, int fd, const char *path, struct mt_err *err);
/* Drains completely and lets go of the segment; wait_status: of the process. */
int mt_image_end(struct mt_image *, int wait_status, struct mt_err *err);
/* Another one tells of programs that were not recorded: see mt_untraced_pass_on. */
void mt_image_pass_on(struct mt_image *, bool followed);
/* Of one that ended before the status of its process was known. */
void mt_image_set_status(struct mt_image *, int wait_status);
/* Before its end: the process goes on, and is recorded no more. */
void mt_image_set_stopped(struct mt_image *);
/* In any thread, whose library of files with names it uses: names, totals. */
struct mt_resolver;
int mt_image_complete(struct mt_image *, struct mt_resolver **library, struct mt_err *err);
void mt_image_describe(const struct mt_image *, struct mt_session_process *);
void mt_image_free(struct mt_image *);

#endif
