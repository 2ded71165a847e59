/* How much memory the compressed parts of an ELF file take once libdw has unpacked them, as the
 * file itself says: libelf reserves that much for a section, and liblzma follows the chunks of
 * .gnu_debugdata to their end. */
#include "core/base/foreign.h"
#include "core/symbol/internal.h"

#include <string.h>
#include <sys/stat.h>

#define UNKNOWN_RATIO 8192 /* what xz reaches, where the data do not say */

static uint64_t big_endian(const uint8_t *bytes, unsigned count)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < count; i++)
		value = value << 8 | bytes[i];
	return value;
}

/* Chunks of LZMA2. *at: moved behind them. Data that break off take what came before. */
static uint64_t lzma2_bytes(const uint8_t *data, size_t len, size_t *at)
{
	uint64_t bytes = 0;

	while (*at < len && data[*at]) {
		const uint8_t *chunk = data + *at;
		bool packed = *chunk & 0x80;
		size_t head = packed ? 5u + (*chunk >= 0xc0) : 3;

		if (head > len - *at)
			break;
		uint64_t size = big_endian(chunk + 1, 2) + 1;

		bytes += size + (packed ? (uint64_t)(*chunk & 0x1f) << 16 : 0);
		size = packed ? big_endian(chunk + 3, 2) + 1 : size;
		*at += head + size < len - *at ? head + size : len - *at;
	}
	*at += *at < len; /* the mark of the end */
	return bytes;
}

/* Blocks of an xz file (xz-file-format.txt): a head, chunks, padding to four bytes, a checksum. */
static uint64_t xz_bytes(const uint8_t *data, size_t len)
{
	static const uint8_t magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};
	static const uint8_t checks[] = {0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64};
	size_t at = 12;
	uint64_t bytes = 0;

	if (len < at || memcmp(data, magic, sizeof magic))
		return (uint64_t)len * UNKNOWN_RATIO;
	while (at < len && data[at]) {
		at += ((size_t)data[at] + 1) * 4;
		if (at >= len)
			break;
		size_t begin = at;

		bytes += lzma2_bytes(data, len, &at);
		at += (begin - at) & 3;
		at += checks[data[7] & 15];
	}
	return bytes;
}

static uint64_t section_bytes(Elf *elf, Elf_Scn *section)
{
	GElf_Shdr header;
	GElf_Chdr packed;
	size_t names;

	if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS
		|| elf_getshdrstrndx(elf, &names) < 0)
		return 0;
	const char *name = elf_strptr(elf, names, header.sh_name);

	if (header.sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &packed) ? packed.ch_size : 0;
	bool zdebug = name && !strncmp(name, ".zdebug", 7);

	if (!zdebug && (!name || strcmp(name, ".gnu_debugdata")))
		return 0;
	const Elf_Data *data = elf_rawdata(section, NULL);

	if (!data || !data->d_buf)
		return 0;
	if (!zdebug)
		return xz_bytes(data->d_buf, data->d_size);
	return data->d_size >= 12 && !memcmp(data->d_buf, "ZLIB", 4)
		? big_endian((const uint8_t *)data->d_buf + 4, 8)
		: 0;
}

bool mt_elf_fits(int fd, uint64_t memory_max)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	uint64_t bytes = 0, most;
	struct stat st;

	if (!elf || fstat(fd, &st) < 0) {
		elf_end(elf);
		return true; /* nothing will be read of it */
	}
	most = mt_foreign_memory((uint64_t)st.st_size, memory_max);
	for (Elf_Scn *s = NULL; bytes <= most && (s = elf_nextscn(elf, s));) {
		uint64_t more = section_bytes(elf, s);

		bytes = more > most ? most + 1 : bytes + more;
	}
	elf_end(elf);
	return bytes <= most;
}
