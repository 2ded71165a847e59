/* What the files of the call frame reader share. */
#ifndef MT_CFI_PARTS_H
#define MT_CFI_PARTS_H

#include "preload/unwind/cfi.h"

/* Pointer encodings (DW_EH_PE_*). */
enum {
	MT_ENC_OMIT = 0xff,
	MT_ENC_INDIRECT = 0x80,
	MT_ENC_FORM = 0x0f,
	MT_ENC_BASE = 0x70,
	MT_ENC_PCREL = 0x10,
	MT_ENC_DATAREL = 0x30,
	MT_ENC_TABLE = 0x3b, /* datarel, sdata4: the only search table that linkers write */
};

/* Of what a pointer may be relative to. */
struct mt_cfi_bases {
	const struct mt_mapped *image;
	uint64_t data;
};

/* Reads a pointer; fails the cursor when it has an encoding that is not known, or is found in a
 * place that cannot be read. */
uint64_t mt_cfi_pointer(struct mt_bytes *, uint8_t encoding, const struct mt_cfi_bases *);

/* Of the next entry of .eh_frame: where it is, and where the code of an FDE begins. */
struct mt_cfi_entry {
	uint64_t at, start;
	bool is_fde;
};
/* False: there is none. */
bool mt_cfi_next_entry(const struct mt_mapped *, struct mt_bytes *frames, struct mt_cfi_entry *);

struct mt_cfi_cie {
	struct mt_bytes instructions;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	uint8_t data_size; /* of what an FDE's augmentation holds */
	bool augmented, signal_frame, harmless;
};

/* Fills row with what the instructions of a CIE and of an FDE that begins at start say of pc.
 * False: they are not understood. */
bool mt_cfi_run(const struct mt_mapped *, const struct mt_cfi_cie *, struct mt_bytes instructions,
	uint64_t start, uint64_t pc, struct mt_cfi_row *row);

#endif
