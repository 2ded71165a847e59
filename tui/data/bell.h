/* What a thread tells the loop by: a descriptor that can be read from until it was answered. */
#ifndef MT_TUI_BELL_H
#define MT_TUI_BELL_H

int mt_bell_new(void); /* a descriptor, which the caller closes; negative: there are none left */
void mt_bell_ring(int fd);
void mt_bell_answer(int fd);

#endif
