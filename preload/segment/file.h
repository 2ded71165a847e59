/* Recording without a recorder, into a file of the tracer's own. */
#ifndef MT_FILE_H
#define MT_FILE_H

#include "preload/base/tracer.h"

/* What MEMTUI_OUTPUT asked for. */
const char *mt_file_pattern(void);
/* Puts the options of the recording into an environment: each text behind the one before, an entry
 * for each. Returns the end of the texts. */
char *mt_file_write_options(char *to, char **entries, size_t *count);
/* Makes the file that MEMTUI_OUTPUT asks for, maps it, and sets up the tracer's ranges; *copy is
 * what its header says. NULL: none is asked for, or it cannot be made. */
struct mt_wire_header *mt_file_start(struct mt_wire_header *copy, uint64_t forked_from);
/* In a forked child, whose file is to be its own. */
void mt_file_forked(void);
/* Gives the first bytes of a table room in the file; ends the recording where that will not do. */
bool mt_file_extend(struct mt_segment_array *, uint64_t to);
/* Ends the recording for a reason, a negative errno, and counts the failure. */
void mt_file_stop(long error);
/* The ring's first chunk; NULL: the recording has ended. */
struct mt_wire_record *mt_file_first_chunk(uint32_t ring);
/* Goes on in a new chunk; false: there is none, now or, when the recording has ended, at all. */
bool mt_file_next_chunk(struct mt_thread_state *);
/* The same for a thread that loses events since there was none. */
bool mt_file_retry(struct mt_thread_state *);
/* Notes both clocks, so that readers can tell the one by the other; tend does so now and then. */
void mt_file_anchor(void);
void mt_file_tend(uint64_t now);
/* The same for the rare work of events that write no time. */
void mt_file_tend_now(void);

#endif
