/* How the entry of a function in another process is made to lead to a hook: which bytes are
 * written, and which code they lead to. Nothing here reads or writes a process; the caller brings
 * bytes and writes bytes. doc/entry-patches.md has the picture and the order of the writes. */
#ifndef MT_PATCH_PATCH_H
#define MT_PATCH_PATCH_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_PATCH_STUB 64u  /* bytes of a stub at most; a stub's address is a multiple of it */
#define MT_PATCH_ENTRY 16u /* bytes of an entry that change, at most */

/* Why a function cannot be patched: what a program branches on and counts; err has the sentence.
 * New reasons go to the end. */
#define MT_PATCH_REFUSALS(X) \
	X(MACHINE, "no code for this processor") \
	X(SHORT, "function too short") \
	X(CALL, "indirect call among the first bytes") \
	X(NARROW, "loop, jrcxz, xbegin or unusual prefix among the first bytes") \
	X(TRAP, "system call or trap among the first bytes") \
	X(UNDECODED, "bytes that are no known instruction") \
	X(BRANCH, "branch into the first bytes") \
	X(PAGE, "first bytes cross a page") \
	X(REACH, "target out of reach") \
	X(BREAKPOINT, "breakpoint in the first bytes") \
	X(DIFFERS, "memory differs from the file") \
	X(LEAVES, "jump out of the module")
enum mt_patch_refusal {
	MT_PATCH_REFUSED_NOT,
#define MT_PATCH_REFUSED_MEMBER(name, words) MT_PATCH_REFUSED_##name,
	MT_PATCH_REFUSALS(MT_PATCH_REFUSED_MEMBER)
#undef MT_PATCH_REFUSED_MEMBER
		MT_PATCH_REFUSED_ALL
};
const char *mt_patch_refusal_words(enum mt_patch_refusal); /* for people and counts; static */

/* What the caller knows of a function. All addresses are those of the process. */
struct mt_patch_function {
	const char *name; /* for sentences */
	uint64_t address;
	/* Bytes of the function: its symbol's size, and the padding up to the next function
	 * (mt_patch_padding). */
	size_t len;
	const uint8_t *memory; /* len bytes as they are in the process */
	const uint8_t *file;   /* the same as they are in the module's file; NULL: not known */
	/* The module's mappings from the first to the last, the end exclusive. */
	uint64_t module_low, module_high;
	bool stays; /* patch the function itself, even if it is only a jump to another */
};

/* How one entry leads to a hook. */
struct mt_patch {
	const char *name; /* the function's; borrowed */
	uint64_t entry;   /* where `after` is written */
	uint32_t size;    /* bytes that change there; they lie in one page */
	uint32_t moved;   /* bytes from the entry on whose instructions the stub repeats */
	uint8_t before[MT_PATCH_ENTRY]; /* of the process's memory */
	uint8_t after[MT_PATCH_ENTRY];
	uint64_t stub_address;
	uint64_t original; /* within the stub: what the hook calls in place of the function */
	uint32_t stub_size;
	uint8_t stub[MT_PATCH_STUB]; /* written before the entry is */

	enum mt_patch_refusal refusal;
	uint64_t next; /* after -EAGAIN: the function that is meant */
};

/* Computes the patch of one function. stub_address: MT_PATCH_STUB free bytes, which will be
 * executable (mt_patch_place finds some); hook: anywhere. The hook gets all registers and flags as
 * the caller of the function has set them, and `original` hands them on.
 *  0        the patch is complete
 *  -EAGAIN  the function is only a jump to patch->next, in the same module: ask for that one
 *           (some times at most, jumps may lead in a circle). If no function is known there, such
 *           as at an entry of the PLT, ask for this one again, which then `stays`
 *  -EBUSY   somebody else has changed the entry: a breakpoint, a uprobe, another hook
 *  -ENOTSUP the entry cannot be moved
 *  -ERANGE  the stub is too far away
 *  -EINVAL  the arguments contradict each other
 * Except for 0 and -EAGAIN, patch->refusal and err say why, and nothing else of the patch may be
 * used. Direct branches into the bytes that change are seen if they stand in the function. */
int mt_patch_make(struct mt_patch *, const struct mt_patch_function *, uint64_t stub_address,
	uint64_t hook, struct mt_err *);
/* Looks for branches into the first bytes in all code of the module, one executable section or
 * mapping at a time: hand-written functions jump into each other, and compilers move parts of
 * functions away. Refuses the patches that are found, and returns how many; err is about the last.
 * Bytes that are no instruction are skipped. */
unsigned mt_patch_check(struct mt_patch *patches, size_t count,
	const struct mt_patch_function *code, struct mt_err *);
/* How many of the bytes are nop of any length or int3, which stand between functions. */
size_t mt_patch_padding(const uint8_t *code, size_t len);

/* Addresses that are taken: mappings, and what they may still grow into ([heap] up to its limit,
 * [stack] down to its limit). */
struct mt_patch_range {
	uint64_t low, high; /* exclusive */
};
/* A free range of so many bytes, whole pages, from which and to which every byte of the module
 * can be reached: the nearest below the module, else the nearest above. `taken` is sorted by
 * address. 0, or -ENOMEM with the sentence. */
int mt_patch_place(uint64_t *address, const struct mt_patch_range *taken, size_t count,
	uint64_t module_low, uint64_t module_high, uint64_t size, struct mt_err *);

#endif
