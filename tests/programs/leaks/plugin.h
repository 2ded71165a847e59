/* A library that is built without debug information and stripped. */
#ifndef LEAKS_PLUGIN_H
#define LEAKS_PLUGIN_H

#include <stddef.h>

char *plugin_decode(const char *text, size_t len);              /* the caller frees */
void plugin_totals(unsigned long *count, unsigned long *bytes); /* that it has lost */

#endif
