/* The log of loaded modules and of program addresses. */
#ifndef MT_MODULES_H
#define MT_MODULES_H

#include "preload/base/tracer.h"
#include "preload/unwind/cfi.h"

/* What else the tracer knows of an entry of the module log. */
struct mt_loaded_module {
	const void *link_map, *eh_frame;
	uint64_t start, end;
	uint32_t gone, complete;
	struct mt_mapped image;
};

bool mt_modules_init(void);
void mt_modules_free(void);
/* A new pc id for an address; 0 when it is the tracer's own code. */
uint32_t mt_modules_pc(uint64_t pc, uint32_t flags);
/* Enters the module that an address lies in, before any stack has met it. */
void mt_modules_enter(uint64_t address);
/* What lies where in the module of the log that an address lies in; NULL: in none. */
struct mt_mapped *mt_modules_image(uint64_t address);
/* As mt_cfi_row, of the module that pc lies in. */
int mt_modules_row(uint64_t pc, struct mt_cfi_row *);
/* Does the code around it that has no call frame information keep a frame pointer throughout? Go's
 * does. */
bool mt_modules_keeps_fp(uint64_t pc);
/* Is the module under pc still the one that it was when the pc id was made? */
bool mt_modules_present(uint64_t pc, uint32_t pc_id);

/* Libraries whose allocator functions turned out to call malloc, by their start; 0: free. The hooks
 * enter them; all are forgotten when a module is gone, as another may come to lie there. */
#define MT_MODULES_WRAPPERS 64
extern uint64_t mt_modules_wrappers[MT_MODULES_WRAPPERS];

#endif
