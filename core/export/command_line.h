/* A command line for people: one that is too long is cut in the middle. */
#ifndef MT_EXPORT_COMMAND_LINE_H
#define MT_EXPORT_COMMAND_LINE_H

#include "core/model/profile.h"

#define MT_COMMAND_LINE_ROOM 240 /* in a report */
#define MT_COMMAND_LINE_CELL 100 /* in a table */

/* The arguments in about `room` bytes: the first and the last ones, and how many are left out
 * between them ("cc -c ... (143 more arguments) ... -o a.o"). A single long argument is cut in the
 * same way. Caller frees. */
char *mt_command_line(const struct mt_profile *, size_t room);

#endif
