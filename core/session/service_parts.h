/* Private to core/session: what the parts of the service thread share. */
#ifndef MT_SESSION_SERVICE_PARTS_H
#define MT_SESSION_SERVICE_PARTS_H

#include "core/session/internal.h"

#include <sys/socket.h>

#define PEERS_MAX 1024
#define INPUT_MAX 65536
#define FAILURES_MAX 50 /* PAUSE_MS apart, so half a second */
#define PAUSE_MS 10
#define UNREAPED_MAX 64 /* each has a trace that waits in memory */

/* Forked children without an event yet, for a list; sent: those that it has got. */
struct mt_silent {
	struct {
		pid_t pid, parent;
	} * items;
	uint32_t count, capacity, sent;
};

struct mt_peer {
	int fd;
	struct mt_process *watched; /* NULL: no watcher */
	uint32_t interval_ms;
	/* it has asked for the processes (those that have ended, too), and was sent those up to */
	bool listing, listing_all;
	uint64_t number;  /* never that of another peer; not 0 */
	bool awaits_stop; /* it is answered when all traces are complete */
	uint32_t listed;
	struct mt_silent silent;
	struct mt_buffer verdicts;    /* what has come of them so far */
	struct mt_process *asks_live; /* it waits for what lives there; NULL: it does not */
	uint32_t live_number;         /* of its request */
	struct ucred who;
};

/* Goes untraced, with whatever it forks. */
struct mt_stranger {
	pid_t pid;
	bool counted;
	uint64_t start_time;
};
struct mt_strangers {
	struct mt_stranger *list;
	uint32_t count, capacity;
};

struct mt_service {
	struct mt_recorder *recorder;
	struct mt_peer peers[PEERS_MAX];
	unsigned peer_count;
	/* looks in a row that have failed; the last reason. A kernel may be short of memory for a
	 * moment: only the last of FAILURES_MAX is the end of the service. */
	unsigned failures;
	struct mt_err failure;
	bool hung;    /* no process has the terminal open */
	bool unsent;  /* the front did not take all reports */
	bool told;    /* that the recording goes on */
	bool greeted; /* a watcher has come, or none will */
	uint64_t turned_at;
	uint64_t accept_at; /* not before: descriptors or memory ran out */
	/* while no known process lives: looks at others that do, and when the last was */
	unsigned alone_looks;
	uint64_t alone_at;
	struct mt_process **shown; /* with a snapshot, the root not among them */
	uint32_t shown_count, shown_capacity;
	uint32_t counted; /* changes of the live processes that watchers know of */
	/* ended, not reaped yet, of unknown status; in order of their ends */
	struct mt_process *unreaped[UNREAPED_MAX];
	unsigned unreaped_count;
	struct mt_strangers strangers; /* at the last look */
	char input[INPUT_MAX];
	size_t input_len;
};

/* ---- service_peers.c ---- */
/* Of processes that are gone, and that nobody watches any more. */
void mt_service_free_snapshots(struct mt_service *s);
/* As far as there is room: the rest when it has read. */
void mt_service_list_processes(struct mt_recorder *r, struct mt_peer *p);
void mt_service_drop(struct mt_service *s, unsigned index);
/* False when the peer is to be dropped. */
bool mt_service_on_peer(struct mt_service *s, struct mt_peer *p);
/* All that wait; a request that is there already is answered at once. */
void mt_service_on_connections(struct mt_service *s, int listen_fd);
void mt_service_tell_watchers(struct mt_service *s);
/* False when it has no room for it now. */
bool mt_service_send(int to, const void *bytes, size_t len, const int *fds, unsigned fd_count);
/* Fills in what the session is. */
void mt_service_fill_entry(struct mt_recorder *, struct mt_session_entry *);
/* Tells watchers how many processes are recorded, also when their own has ended. */
void mt_service_count_others(struct mt_service *s);

/* ---- service_live.c ---- */
/* A peer asks for what lives in a process. */
void mt_service_ask_live(struct mt_service *s, struct mt_peer *p, pid_t);
/* Sends the answers that are there by now. */
void mt_service_answer_live(struct mt_service *s);

/* ---- service_requests.c ---- */
/* True: it was a request, which is answered now or later. */
bool mt_service_on_request(struct mt_service *s, struct mt_peer *p, const struct mt_message *);
/* Answers those whose request is done by now. */
void mt_service_answer_requests(struct mt_service *s);

/* ---- service_ends.c ---- */
/* The status of the root goes to the front before it is reaped: nothing is lost if we are killed
 * between. */
void mt_service_on_end(struct mt_service *s, struct mt_process *p, int wait_status);
/* Our children: the root, and those who lost their parents. */
void mt_service_reap(struct mt_service *s);
/* Those whose status is told now that they were reaped. thoroughly: on old kernels, too. */
void mt_service_look_for_reaped(struct mt_service *s, bool thoroughly);
/* A process that executed what takes no tracer, or cleared the environment, is the same no more.
 * One without a pidfd is seen to have ended here. */
void mt_service_look_for_untraced(struct mt_service *s);
/* The session is over when nobody is left who is traced or may yet ask. Returns how long to wait
 * for the next look. */
int mt_service_look_for_end(struct mt_service *s);
/* Of an attached process whose time or room is over: it runs on without the tracer. */
void mt_service_look_for_detach(struct mt_recorder *r);
/* Once the root's trace is complete the front need not wait for the others. */
void mt_service_tell_front(struct mt_service *s);

/* ---- service_strangers.c ---- */
/* So it never asks. False where it cannot be read, too, as others' processes cannot. */
bool mt_service_names_no_session(pid_t pid);
/* One that is counted. */
void mt_service_add_stranger(struct mt_service *s, pid_t pid, uint64_t start_time);
/* Counts whoever was there at the last look already. */
void mt_service_look_for_strangers(struct mt_service *s);

/* ---- service_silent.c ---- */
/* Fills the list with the children of recorded processes that were forked and have no event yet. */
void mt_service_look_for_silent(struct mt_recorder *r, struct mt_silent *list);
/* False: it is one of them no more. */
bool mt_service_describe_silent(struct mt_recorder *r, const struct mt_silent *list, uint32_t index,
	struct mt_session_process *line);

/* ---- service.c ---- */
void mt_service_read_terminal(struct mt_service *s);

#endif
