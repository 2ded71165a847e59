/* What depends on the processor: the instructions of an entry, and the code that replaces them.
 * x86_64/ has it; patch.c refuses on all others. */
#ifndef MT_PATCH_ARCH_H
#define MT_PATCH_ARCH_H

#include "core/patch/patch.h"

#define MT_PATCH_PAGE 4096u

/* As mt_patch_make, mt_patch_check and mt_patch_padding. The patch is empty but for its name and
 * stub_address, and the arguments have been checked. */
int mt_patch_arch_make(struct mt_patch *, const struct mt_patch_function *, uint64_t hook,
	struct mt_err *);
unsigned mt_patch_arch_check(struct mt_patch *, size_t count, const struct mt_patch_function *code,
	struct mt_err *);
size_t mt_patch_arch_padding(const uint8_t *code, size_t len);

/* Sets refusal and err, and returns the code that goes with the refusal. `why` goes on after
 * "NAME cannot be patched: ". */
int mt_patch_refuse(struct mt_patch *, struct mt_err *, enum mt_patch_refusal, const char *why, ...)
	__attribute__((format(printf, 4, 5)));

#endif
