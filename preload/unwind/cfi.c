/* The entries of .eh_frame: CIEs and FDEs (DWARF 5, section 6.4; .eh_frame: Linux Standard Base,
 * Core, chapter 10). */
#include "preload/unwind/cfi_parts.h"

uint64_t mt_cfi_pointer(struct mt_bytes *b, uint8_t encoding, const struct mt_cfi_bases *bases)
{
	uint64_t place = (uint64_t)b->at, value;
	struct mt_bytes there;

	if (encoding == MT_ENC_OMIT)
		return 0;
	switch (encoding & MT_ENC_FORM) {
	case 0x0:
	case 0x4:
	case 0xc: value = mt_bytes_number(b, 8); break;
	case 0x1: value = mt_bytes_uleb(b); break;
	case 0x2: value = mt_bytes_number(b, 2); break;
	case 0x3: value = mt_bytes_number(b, 4); break;
	case 0x9: value = (uint64_t)mt_bytes_sleb(b); break;
	case 0xa: value = (uint64_t)mt_bytes_signed(b, 2); break;
	case 0xb: value = (uint64_t)mt_bytes_signed(b, 4); break;
	default: mt_bytes_fail(b); return 0;
	}
	if (value == 0)
		return 0;
	switch (encoding & MT_ENC_BASE) {
	case 0: break;
	case MT_ENC_PCREL: value += place; break;
	case MT_ENC_DATAREL: value += bases->data; break;
	default: mt_bytes_fail(b); return 0;
	}
	if (!(encoding & MT_ENC_INDIRECT))
		return value;
	if (mt_mapped_bytes(bases->image, value, &there) && mt_bytes_left(&there) >= 8)
		return mt_bytes_number(&there, 8);
	mt_bytes_fail(b);
	return 0;
}

/* The bytes of the CIE or FDE at an address, from the id on. */
static bool open_entry(const struct mt_mapped *image, uint64_t address, struct mt_bytes *entry)
{
	struct mt_bytes b;
	uint64_t len;

	if (!mt_mapped_bytes(image, address, &b))
		return false;
	len = mt_bytes_number(&b, 4);
	if (len == 0 || len == 0xffffffff) /* the end; an entry of 64 bits, which nobody writes */
		return false;
	*entry = mt_bytes_part(&b, len);
	return !mt_bytes_failed(entry);
}

/* How long the pointer to a function's exception table is. False: none that can be read without
 * care. */
static bool find_size(uint8_t encoding, uint8_t *size)
{
	switch (encoding) {
	case MT_ENC_OMIT: *size = 0; return true;
	case 0x00: *size = 8; return true;
	case 0x03:
	case 0x0b:
	case MT_ENC_PCREL | 0x0b: *size = 4; return true;
	}
	return false;
}

/* The part of the augmentation that its letters describe. */
static void read_augmentation(const char *letters, struct mt_bytes data,
	const struct mt_cfi_bases *bases, struct mt_cfi_cie *cie)
{
	for (; *letters; letters++) {
		uint8_t encoding = 0;

		switch (*letters) {
		case 'R': cie->encoding = (uint8_t)mt_bytes_number(&data, 1); break;
		case 'L':
			encoding = (uint8_t)mt_bytes_number(&data, 1);
			cie->harmless &= find_size(encoding, &cie->data_size);
			break;
		case 'P':
			/* its place is read, too, which fails where that cannot be */
			encoding = (uint8_t)mt_bytes_number(&data, 1);
			mt_cfi_pointer(&data, encoding, bases);
			break;
		case 'S': cie->signal_frame = true; break;
		case 'B': break;
		default: cie->harmless = false; return;
		}
		if (mt_bytes_failed(&data)) {
			cie->harmless = false;
			return;
		}
	}
}

static bool parse_cie(const struct mt_mapped *image, uint64_t address, struct mt_cfi_cie *cie)
{
	struct mt_cfi_bases bases = {image, 0};
	const char *augmentation;
	struct mt_bytes b, data;
	uint64_t version, column;

	memset(cie, 0, sizeof *cie);
	cie->harmless = true;
	if (!open_entry(image, address, &b) || mt_bytes_number(&b, 4) != 0)
		return false;
	version = mt_bytes_number(&b, 1);
	if (version != 1 && version != 3)
		return false;
	augmentation = (const char *)b.at;
	while (mt_bytes_number(&b, 1))
		;
	cie->code_align = mt_bytes_uleb(&b);
	cie->data_align = mt_bytes_sleb(&b);
	column = version == 1 ? mt_bytes_number(&b, 1) : mt_bytes_uleb(&b);
	if (mt_bytes_failed(&b) || column != MT_DWARF_RETURN_ADDRESS)
		return false;
	if (*augmentation == 'z') {
		cie->augmented = true;
		data = mt_bytes_part(&b, mt_bytes_uleb(&b));
		read_augmentation(augmentation + 1, data, &bases, cie);
	} else if (*augmentation) {
		return false;
	}
	cie->instructions = b;
	return !mt_bytes_failed(&b);
}

/* An FDE, from what follows the range on. */
struct fde {
	struct mt_cfi_cie cie;
	struct mt_bytes rest;
	uint64_t start, range;
};

static bool parse_fde(const struct mt_mapped *image, uint64_t address, struct fde *fde)
{
	struct mt_cfi_bases bases = {image, 0};
	struct mt_bytes b;
	uint64_t id_at, distance;

	if (!open_entry(image, address, &b))
		return false;
	id_at = (uint64_t)b.at;
	distance = mt_bytes_number(&b, 4);
	if (distance == 0 || !parse_cie(image, id_at - distance, &fde->cie))
		return false;
	fde->start = mt_cfi_pointer(&b, fde->cie.encoding, &bases);
	fde->range = mt_cfi_pointer(&b, fde->cie.encoding & MT_ENC_FORM, &bases);
	fde->rest = b;
	return !mt_bytes_failed(&b);
}

bool mt_cfi_next_entry(const struct mt_mapped *image, struct mt_bytes *frames,
	struct mt_cfi_entry *entry)
{
	struct fde fde;
	uint64_t len;

	entry->at = (uint64_t)frames->at;
	len = mt_bytes_number(frames, 4);
	mt_bytes_skip(frames, len);
	if (mt_bytes_failed(frames) || len == 0 || len == 0xffffffff)
		return false;
	entry->is_fde = parse_fde(image, entry->at, &fde);
	entry->start = entry->is_fde ? fde.start : 0;
	return true;
}

/* Interprets one FDE if it covers pc. listed: where the search table says that it starts. */
static int try_fde(const struct mt_mapped *image, uint64_t address, uint64_t pc, uint64_t listed,
	struct mt_cfi_row *row)
{
	struct fde fde;

	if (!parse_fde(image, address, &fde))
		return MT_CFI_UNKNOWN;
	fde.cie.harmless &= fde.start == listed;
	row->harmless = fde.cie.harmless;
	if (pc - fde.start >= fde.range)
		return MT_CFI_NONE;
	if (fde.cie.augmented) {
		uint64_t skip = mt_bytes_uleb(&fde.rest);

		fde.cie.harmless &= skip >= fde.cie.data_size;
		mt_bytes_skip(&fde.rest, skip);
	}
	if (mt_bytes_failed(&fde.rest)
		|| !mt_cfi_run(image, &fde.cie, fde.rest, fde.start, pc, row))
		return MT_CFI_UNKNOWN;
	return MT_CFI_FOUND;
}

int mt_cfi_row(const struct mt_mapped *image, uint64_t pc, struct mt_cfi_row *row)
{
	const struct mt_cfi_table *table = &image->table;
	int64_t wanted = (int64_t)(pc - table->base);
	uint64_t low = 0, count = table->count;
	int32_t pair[2];

	row->harmless = true;
	if (!table->base)
		return image->has_cfi ? MT_CFI_UNKNOWN : MT_CFI_NONE;
	while (count > 1) {
		uint64_t half = count / 2;

		__builtin_memcpy(pair, table->pairs + (low + half) * sizeof pair, sizeof pair);
		if (pair[0] <= wanted) {
			low += half;
			count -= half;
		} else {
			count = half;
		}
	}
	if (count == 0)
		return MT_CFI_NONE;
	memcpy(pair, table->pairs + low * sizeof pair, sizeof pair);
	if (wanted < pair[0])
		return MT_CFI_NONE;
	return try_fde(image, table->base + (uint64_t)(int64_t)pair[1], pc,
		table->base + (uint64_t)(int64_t)pair[0], row);
}
