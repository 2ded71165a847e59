/* Branches into the bytes of an entry that change. */
#ifndef MT_PATCH_X86_64_BRANCHES_H
#define MT_PATCH_X86_64_BRANCHES_H

#include "core/patch/patch.h"

/* Decodes all bytes of the patched function in a line, and refuses if an instruction leads into
 * what patch->entry and size name, or if there are other bytes than instructions. */
int mt_x86_branches(struct mt_patch *, const struct mt_patch_function *, struct mt_err *);

#endif
