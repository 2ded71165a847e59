/* What the parts of a session share: messages between its processes, and the recorder's state. */
#ifndef MT_SESSION_INTERNAL_H
#define MT_SESSION_INTERNAL_H

#include "core/capture/clock.h"
#include "core/capture/segment.h"
#include "core/session/session.h"
#include "core/session/snapshot.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

/* ---- recorder -> front process, on a SOCK_SEQPACKET pair ---- */
enum mt_report_type { MT_REPORT_STARTED, MT_REPORT_REFUSED, MT_REPORT_EXITED, MT_REPORT_TROUBLE, MT_REPORT_FINISHED };
struct mt_report {
	enum mt_report_type type;
	pid_t program;
	int wait_status;
	char name[108];
	char trace_path[1024];
	struct mt_err err;
};

/* ---- client <-> recorder, on the session's socket ---- */
#define MT_MESSAGE_MAGIC 0x3167736d746d656dull
enum mt_message_type {
	MT_MESSAGE_HELLO,    /* -> mt_welcome with descriptors: snapshot, then the terminal's master if any */
	MT_MESSAGE_LIST,     /* -> mt_welcome without */
	MT_MESSAGE_INTERVAL, /* a: milliseconds */
	MT_MESSAGE_INPUT,    /* bytes */
	MT_MESSAGE_RESIZE,   /* a: rows, b: columns */
	MT_MESSAGE_SIGNAL,   /* a */
	MT_MESSAGE_PAUSE,    /* a: 1 paused */
};
#define MT_MESSAGE_BYTES 4096
struct mt_message {
	uint64_t magic;
	uint32_t type, a, b, len;
	char bytes[MT_MESSAGE_BYTES];
};
struct mt_welcome {
	uint64_t magic;
	int32_t status;
	uint32_t has_terminal;
	struct mt_session_entry entry;
};

/* ---- starting (launch.c, output.c) ---- */
struct mt_launch {
	char *path;      /* what is executed, absolute */
	char *library;   /* libmemtui.so, absolute */
	struct rlimit address_space, file_size, files; /* as the program shall have them */
};
/* Finds the program and the library, and says why they cannot be recorded. */
int mt_launch_prepare(struct mt_launch *, const struct mt_session_options *, struct mt_err *err);
void mt_launch_free(struct mt_launch *);
/* The environment of the program: LD_PRELOAD and MEMTUI_SESSION set, the rest as is. */
char **mt_launch_environment(const struct mt_launch *, const char *session);
/* In the child: executes, or returns the errno. */
int mt_launch_execute(const struct mt_launch *, char *const *argv, char **environment);

/* The output path with its % fields filled in, absolute. "-" stays. */
char *mt_output_path(const char *pattern, const char *program, pid_t pid);
/* Opens it for writing; >= 0, or a negative errno. */
int mt_output_open(const char *path, struct mt_err *err);

/* ---- the recorder ---- */
struct mt_image; /* one recorded image of the program: image.c */

/* A segment that was given to a new image of the program, and what is known of that image. */
struct mt_offer {
	struct mt_segment segment;
	char program_path[4096], directory[4096];
	struct mt_buffer arguments; /* NUL-terminated, one after another */
};

struct mt_recorder {
	const struct mt_session_options *options;
	struct mt_launch launch;
	pid_t program;
	int program_fd;    /* pidfd */
	int report_fd, listen_fd, master_fd;
	int notify_fd;     /* eventfd: the service wakes its watchers */
	int service_wake_fd;
	char name[108], token[MT_WIRE_TOKEN_LEN + 1];
	char *trace_path;
	int output_fd;     /* opened, not yet given to an image */
	uint64_t start_unix_ns;
	uint32_t images;
	struct mt_alive alive;
	struct mt_timebase clock;
	struct mt_snapshot *snapshot;

	/* between the draining thread and the service */
	_Atomic(struct mt_offer *) offered;
	pthread_mutex_t lock;      /* held while the service touches what active points to */
	struct mt_segment *active;
	_Atomic uint32_t watchers, new_watchers, interval_ms, refused;
	_Atomic bool ended, stopping, paused;
	_Atomic uint32_t bell; /* futex that the draining thread sleeps on while there is no segment */
};

/* The process: runs until the program has ended and its trace is complete. */
_Noreturn void mt_recorder_run(const struct mt_session_options *, struct mt_launch *, int report_fd);
void mt_recorder_wake(struct mt_recorder *); /* out of its sleep, from the service */
void mt_recorder_activate(struct mt_recorder *, struct mt_segment *active); /* or NULL, before it is freed */
int mt_recorder_new_segment(struct mt_recorder *, struct mt_segment *, struct mt_err *err);
void mt_recorder_trouble(struct mt_recorder *, const struct mt_err *);

/* The second thread. */
int mt_service_listen(struct mt_recorder *, struct mt_err *err);
void *mt_service_run(void *recorder);

/* ---- one image ---- */
/* Takes the offer and fd. */
struct mt_image *mt_image_new(struct mt_recorder *, struct mt_offer *, int fd, struct mt_err *err);
/* Drains; returns the number of records. */
uint64_t mt_image_poll(struct mt_image *);
bool mt_image_pending(const struct mt_image *);
/* What is done by the clock: samples, names, counters, flushes. */
void mt_image_tend(struct mt_image *, uint64_t monotonic_ns);
/* Sleeps until the doorbell rings or the time is over. */
void mt_image_sleep(struct mt_image *, unsigned milliseconds);
bool mt_image_failed(const struct mt_image *, struct mt_err *err);
void mt_image_publish(struct mt_image *, struct mt_snapshot *);
bool mt_image_changed(const struct mt_image *); /* since publish */
struct mt_segment *mt_image_segment(struct mt_image *);
/* Drains completely and completes the trace; wait_status: of the program. */
int mt_image_end(struct mt_image *, int wait_status, struct mt_err *err);
int mt_image_complete(struct mt_image *, struct mt_err *err);
void mt_image_free(struct mt_image *);

#endif
