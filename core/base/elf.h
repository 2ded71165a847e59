/* Symbol tables of ELF files of 64 bits, little-endian, whoever wrote them. Files are read and not
 * mapped, since somebody may cut them; no size in them is trusted. */
#ifndef MT_BASE_ELF_H
#define MT_BASE_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

struct mt_elf_function {
	const char *name; /* until the call returns */
	uint64_t value, size;
	bool is_indirect; /* the value is that of a resolver (STT_GNU_IFUNC) */
	bool is_local;    /* its binding */
	bool is_hidden;   /* no other module can call it by its name */
};
typedef void mt_elf_each(void *context, const struct mt_elf_function *);
/* Calls each for every function that a symbol table of the file defines; one that two tables name
 * comes twice. fd: borrowed. Returns false if there is no table, or one
 * that cannot be read. */
bool mt_elf_functions(int fd, mt_elf_each *, void *context);

/* What leads to a file with the symbols of one that was stripped. */
struct mt_elf_debug {
	uint8_t build_id[32];
	uint32_t build_id_len; /* 0: it has none, or a longer one */
	char link[256];        /* "": it has none */
	uint32_t crc;          /* of the linked file */
};
/* False if it has symbols of its own (a .symtab), or nothing leads to others. */
bool mt_elf_wants_debug(int fd, struct mt_elf_debug *);

#endif
