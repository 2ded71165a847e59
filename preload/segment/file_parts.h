/* What the parts of the stand-alone recording share: file_name.c, file_before.c, file_room.c,
 * file_chunk.c and file.c. */
#ifndef MT_FILE_PARTS_H
#define MT_FILE_PARTS_H

#include <limits.h>

#include "preload/segment/file.h"

#define CHUNK_RECORDS 8192u
#define CHUNK_BYTES (CHUNK_RECORDS * sizeof(struct mt_wire_record))

struct mt_file {
	char pattern[PATH_MAX], directory[PATH_MAX]; /* as they were at the start */
	char path[2 * PATH_MAX + 64];
	uint64_t device, inode;
	uint32_t images_before; /* whose files were renamed for this one */
	char aside[2 * PATH_MAX + 80];
	int held; /* a descriptor of the file, which the program may have closed; 0: none */
	uint64_t data_place;   /* of the first chunk, in the file */
	uint64_t anchor_ticks; /* of the last anchor */
	uint64_t anchor_step;  /* ticks from it to the next one */
	uint64_t tried;        /* when a thread in a gap last asked for a chunk */
	uint64_t flags, depth;
	bool bad_depth;  /* MEMTUI_DEPTH is no number in the range */
	uint32_t toggle; /* the signal that pauses and resumes; 0: none */
	bool known;      /* what the environment says was read */
	bool child;
	bool zeroes; /* the file system knows no fallocate: room is made by writing */
	uint32_t zeroing, anchoring, next_chunk;
};
extern struct mt_file mt_file;

/* file_name.c */
/* Once: a forked child goes by what its parent was told. False: no recording is asked for. */
bool mt_file_read_environment(void);
/* A new file of the name that is asked for, and the same again, to be closed: descriptors, or
 * negative errnos. */
int mt_file_create(void);
int mt_file_reopen(void);
/* Keeps a descriptor of it where the name may not do later. */
void mt_file_hold(int fd);

/* file_before.c */
/* Inode of the name space in which the process has its number; 0: not known. */
uint64_t mt_file_pid_space(void);
/* Tells whether the file at mt_file.path is what this process recorded before it executed this
 * program. */
bool mt_file_is_of_image(void);
/* Renames it to FILE.execN, as the recorder does. False: it has its name still. */
bool mt_file_set_aside(void);

/* file_room.c */
/* All signals are blocked while the file grows and while a chunk is changed: no handler sees the
 * ring in between, and SIGXFSZ can be taken back. */
struct mt_file_blocked {
	uint64_t old, pending;
	bool blocked;
};
void mt_file_block(struct mt_file_blocked *);
void mt_file_unblock(const struct mt_file_blocked *);
/* Gives the range's bytes below `to`, which lie at place in the file, room there. Signals are
 * blocked. */
long mt_file_make_present(int fd, struct mt_segment_array *, uint64_t place, uint64_t to,
	const struct mt_file_blocked *);
/* Writes the header, and why there is nothing else. Signals are blocked. */
bool mt_file_write_reason(int fd, const struct mt_wire_header *, long error,
	const struct mt_file_blocked *);
/* What may go by: descriptors and address space are the program's to give back. */
bool mt_file_passes(long error);

/* file_chunk.c */
/* Into the header of a new file. */
void mt_file_first_anchor(struct mt_wire_header *);

#endif
