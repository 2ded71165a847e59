/* The terminal given back by whatever ends the process: a signal, a crash, exit(). */
#ifndef MT_TUI_CRASH_H
#define MT_TUI_CRASH_H

#include <stdbool.h>
#include <termios.h>

/* Remembers how the terminal at fd was. capabilities: what is to be written to it, through out, in
 * this order, NULL at the end; NULL and -1 of terminfo are not. Armed from then on. */
void mt_crash_prepare(int fd, int out, const struct termios *saved, const char *const *capabilities,
	int count);
/* Not armed while the terminal is as it was. */
void mt_crash_arm(bool armed);

#endif
