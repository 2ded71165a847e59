/* What the parts of one recorded image share: image.c, image_trace.c, image_seen.c. */
#ifndef MT_SESSION_IMAGE_PARTS_H
#define MT_SESSION_IMAGE_PARTS_H

#include "core/capture/live_list.h"
#include "core/model/load.h"
#include "core/session/condition.h"
#include "core/session/flight.h"
#include "core/session/internal.h"
#include "core/session/memory.h"
#include "core/session/onlooker.h"
#include "core/session/thread_names.h"
#include "core/symbol/symbol.h"

struct mt_image {
	struct mt_recorder *recorder;
	struct mt_process *process;
	struct mt_segment segment;
	struct mt_profile profile;
	struct mt_model model;
	struct mt_merge merge;
	struct mt_definitions definitions;
	struct mt_trace_writer *writer;
	struct mt_resolver *resolver;
	struct mt_timebase clock;
	struct mt_offer *offer;
	uint32_t modules_opened;
	struct mt_thread_names thread_names;
	struct mt_memory_sampler sampler;
	uint32_t unsure_samples; /* in a row */
	struct mt_look *look;    /* NULL: none was begun */
	uint32_t objects_told;   /* of the look's, those that are blind spots by now */
	uint32_t patched_told;   /* how many functions led to hooks then */
	uint64_t unseen_bytes;   /* the most that mt_image_weigh_growth has found */
	uint64_t second_at, refined_at;
	uint64_t title_at, title_every; /* when the process's title is to be looked at */
	bool retitled;
	uint64_t allocator, own_allocator; /* addresses whose modules are known */
	uint32_t allocator_looks;
	bool paused;
	uint64_t turned_ns; /* of the recorder, as last seen */
	bool turn_due;
	uint32_t pauses;
	struct mt_condition_state conditions;
	uint32_t reports[2]; /* that were asked for by signals, of the segment: as last seen */
	bool refusals_told;
	uint32_t markers;     /* of the recorder, that were taken or were there before */
	uint64_t info_losses; /* as last written */
	uint64_t published_events, published_at;
	bool begun, full;
	/* which of its blind spots another trace tells of, too */
	enum { PASSED_NONE, PASSED_SELF, PASSED_ALL } passed_on;
	char *trace_path;
	struct mt_flight flight;
	struct mt_live_keep live; /* from the end of its events on, until it is written */
	struct mt_err failure;
};

/* image.c */
/* All that was published with an earlier stamp was taken: what is published meanwhile belongs to
 * later steps of the timeline, or reopens its own. */
uint64_t mt_image_taken_up_to(const struct mt_image *);

/* image_trace.c */
/* What the merge is to call when events are to be written. */
void mt_image_use_trace(struct mt_image *);
/* Gives a file to the owner that was asked for, if one was. */
void mt_image_give_away(const struct mt_image *, int fd);
/* The list of what lives at the end: written now, or kept for mt_image_complete. */
void mt_image_take_live(struct mt_image *);
void mt_image_drop_live(struct mt_image *);
/* The process's, as its offer has them now. */
void mt_image_add_arguments(struct mt_image *);
void mt_image_write_out(struct mt_image *);
/* Between two events: nothing is half done. */
void mt_image_take_turn(void *image);

/* image_blind.c */
/* What was found in the files that the process has mapped becomes blind spots. */
void mt_image_add_bundled(struct mt_image *, const struct mt_objects *);
/* The same of the program's own file, once the process may be gone: in any thread. */
void mt_image_look_at_program(struct mt_image *);
/* Why functions of a module were not patched, once it is known. */
void mt_image_find_refusal(struct mt_image *);
/* After a look at the process's memory: has it grown while the hooks saw nothing? */
void mt_image_weigh_growth(struct mt_image *, const struct mt_objects *);

/* image_seen.c */
/* What the sampler has seen of the process. */
void mt_image_take_memory(struct mt_image *);
/* At the end: what is under way is taken if it comes at once. */
void mt_image_look_no_more(struct mt_image *);
/* What the tracer has counted and noted, and the processes that the service found without it. */
void mt_image_take_counters(struct mt_image *);
/* New modules and threads are looked at at once: both may be gone soon. */
void mt_image_meet_new(struct mt_image *);

#endif
