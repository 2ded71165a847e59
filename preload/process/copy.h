#ifndef MT_COPY_H
#define MT_COPY_H

/* Returns the number of the copy, as the process sees it, or a negative errno. */
long mt_copy(void);

#endif
