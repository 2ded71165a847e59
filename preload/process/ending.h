#ifndef MT_ENDING_H
#define MT_ENDING_H

/* Before the program begins. */
void mt_ending_register(void);

#endif
