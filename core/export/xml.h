/* Text inside XML 1.0. */
#ifndef MT_EXPORT_XML_H
#define MT_EXPORT_XML_H

#include <stdio.h>

/* Names are what a program chose: markup is escaped, control characters become '?', what is no
 * UTF-8 or no character of XML U+FFFD. Right in elements and in attributes. */
void mt_xml_text(FILE *out, const char *text);

#endif
