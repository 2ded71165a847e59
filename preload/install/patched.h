#ifndef MT_PATCHED_H
#define MT_PATCHED_H

/* For a new image, while its first event waits for the segment: if the recorder has seen such an
 * allocator, maps the stubs where it wants them, and asks for the patches. Whatever fails, the
 * program's functions stay as they were. */
void mt_patched_ask(void);

#endif
