/* Private to core/capture: what the parts of reading a stand-alone recording share. */
#ifndef MT_CAPTURE_IMPORT_PARTS_H
#define MT_CAPTURE_IMPORT_PARTS_H

#include "core/capture/import.h"
#include "core/capture/ring.h"

#include <sys/types.h>

#define PENDING_MAX 4096u /* chunks that were not yet entered */

/* A table: its place in the file, and how much of it lies complete in our memory. */
struct mt_import_table {
	uint64_t offset;
	uint32_t entry, capacity;
	uint32_t complete, seen;
	uint8_t *to;
	/* place in the entry of the 32 bits that are written last, and are not 0 then */
	uint32_t sign;
	uint32_t sign_len;
};

/* What is read of a ring. Positions as in wire.h. */
struct mt_import_feed {
	uint32_t first_chunk, last_chunk, chunks; /* list by id + 1 */
	uint32_t chunk;                           /* id + 1 of the one that holds position loaded */
	uint64_t first_head, second_head;
	uint64_t loaded;        /* all below was copied */
	uint64_t scanned, time; /* stamp of the last event below scanned */
};

struct mt_import {
	int fd;
	char *path;
	uint64_t size, disk;          /* bytes: the file's, and what they take */
	struct mt_wire_header header; /* as last read */
	struct mt_segment segment;    /* in our own memory */
	struct mt_timebase clock;
	struct mt_model model;
	struct mt_merge merge;
	struct mt_merge_bounds bounds;
	struct mt_import_table modules, threads, pcs, nodes;
	uint32_t chunk_records, chunks_seen;
	uint32_t *next_chunk; /* by id: the ring's next, id + 1 */
	uint32_t next_capacity;
	uint32_t pending[PENDING_MAX], pending_count;
	struct mt_import_feed *feeds;
	uint64_t *heads; /* bounds.heads */
	uint32_t feed_count;
	uint64_t own_scale;    /* of this machine's TSC; 0: not known */
	uint64_t unknown_rate; /* 1: events were read with own_scale */
	bool guesses_rate;     /* the clock's scale is own_scale now */
	char *text;
	uint32_t text_len;
	uint64_t events; /* at the last update */
	bool lives, stopped, cut_short;
	uint32_t reason;  /* the errno for which it stopped; 0: not known */
	bool left;        /* its process, which may live on, for another program */
	uint64_t maps_at; /* not to be looked for before */
	pid_t maker;      /* as of then, by our numbers; 0: nobody who lives */
};

/* ---- the file (import_file.c) ---- */
/* As many bytes as there are; negative: an error. */
ssize_t mt_import_read_at(int fd, void *to, size_t len, uint64_t offset);
/* Whether a process has the recording in its memory; true where that cannot be seen. */
bool mt_import_is_mapped(const struct mt_import *, pid_t);
/* By our number, who has that of the recording in its name space, below ours; 0: nobody. */
pid_t mt_import_maker_below(const struct mt_wire_header *);
/* Reads the header, and refuses one that makes no sense or is not that of the recording that was
 * opened. */
int mt_import_read_header(struct mt_import *, struct mt_err *err);
/* Entries of a range that lie within the file. */
uint32_t mt_import_in_file(const struct mt_import *, uint64_t offset, uint32_t entry,
	uint32_t count, uint32_t capacity);

/* ---- tables (import_tables.c) ---- */
/* Copies what is new. An entry that is not complete yet is read again next time. Returns how many
 * there are. */
uint32_t mt_import_read_table(struct mt_import *, struct mt_import_table *, uint32_t published);
/* Enters chunks that are new into the lists of their rings. */
void mt_import_read_chunks(struct mt_import *);

/* ---- rings (import_rings.c) ---- */
/* Heads as they are now; what goes back is damage. */
void mt_import_read_heads(struct mt_import *, bool second);
/* Feeds the merge what lies between what it had and the heads. Errors as of mt_import_update. */
int mt_import_consume(struct mt_import *, int (*progress)(void *, double), void *context,
	struct mt_err *err);

#endif
