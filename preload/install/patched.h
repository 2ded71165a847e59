#ifndef MT_PATCHED_H
#define MT_PATCHED_H

/* For a new image, while its first event waits for the segment: for each module in which the
 * recorder has seen such an allocator, maps the stubs where it wants them, and asks for the
 * patches. Whatever fails, the functions stay as they were. */
void mt_patched_ask(void);
/* Before a library is opened: from the first time on, libraries that are opened are asked about,
 * too. */
void mt_patched_watch(void);

#endif
