/* A block of so and so many bytes that stays, until the library's destructor frees what was given
 * to it. */
#ifndef MT_TESTS_DEATH_H
#define MT_TESTS_DEATH_H

void give_to_library(void *block);

#endif
