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

/* The same for variables. */
struct mt_elf_variable {
	const char *name; /* until the call returns */
	uint64_t value,
		size; /* value: an address, or one in the thread-local storage of the file */
	bool is_thread_local;
};
typedef void mt_elf_each_variable(void *context, const struct mt_elf_variable *);
bool mt_elf_variables(int fd, mt_elf_each_variable *, void *context);

/* By how much the file was moved if what it has at the offset is at an address. flags: PF_W or
 * PF_X, which its segment has, since two can have one page. False: there is none. */
bool mt_elf_bias(int fd, uint64_t offset, uint64_t address, unsigned flags, uint64_t *bias);
/* Words of its data that the dynamic linker fills in for thread-local storage. */
enum mt_elf_local { MT_ELF_LOCAL_MODULE, MT_ELF_LOCAL_OFFSET };
struct mt_elf_local_word {
	enum mt_elf_local kind; /* the file's number; what to add to the thread pointer */
	uint64_t at;            /* in the terms of the file */
	uint64_t value;         /* OFFSET: of which address in the storage it is */
};
typedef void mt_elf_each_local(void *context, const struct mt_elf_local_word *);
bool mt_elf_local_words(int fd, mt_elf_each_local *, void *context);

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
