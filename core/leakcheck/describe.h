/* What a root is, in the terms of the program: the function whose stack it is, the name of a
 * variable. doc/leak-check.md, "What holds a block". */
#ifndef MT_LEAKCHECK_DESCRIBE_H
#define MT_LEAKCHECK_DESCRIBE_H

#include "core/leakcheck/leakcheck.h"

struct mt_root_description {
	enum mt_root_kind kind;
	pid_t thread;         /* 0: none */
	char thread_name[64]; /* "": not known */
	char reg[16];         /* of registers: which */
	/* of stacks and registers: the function, if there is call frame information up to there; of
	 * what the program has mapped, the function that has */
	bool has_frame;
	char *function, *source; /* "": not known */
	uint32_t line;
	/* of data and thread-local storage; NULL: not known */
	char *variable;
	uint64_t variable_offset; /* of the word, from where the variable begins */
	char *module;             /* also of frames; NULL: none */
	uint64_t module_offset;   /* in the terms of the file */
	int key;                  /* of pthread_setspecific; -1: none */
	/* of what the program has mapped; no bytes: not known */
	uint64_t map_address, map_bytes;
	uint64_t address;  /* of the word; 0: in registers */
	uint32_t map_node; /* the stack of the call */
};

/* What was found out of files and stacks is kept for the next root. The process still stands still,
 * or there is a copy. All is borrowed. */
struct mt_describer;
struct mt_describer *mt_describer_new(const struct mt_leakcheck *, const struct mt_profile *,
	const struct mt_symbols *);
void mt_describer_free(struct mt_describer *);
/* Of the word with that index in a root. */
void mt_root_describe(struct mt_describer *, uint32_t root, uint32_t index,
	struct mt_root_description *);
void mt_root_description_free(struct mt_root_description *);
/* In words, such as "variable list, data of /usr/bin/x+0x81c0"; caller frees. */
char *mt_root_words(const struct mt_root_description *);

#endif
