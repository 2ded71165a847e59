#include "core/symbol/debug_file.h"

#include "core/base/elf.h"
#include "core/symbol/internal.h"

#include <stdlib.h>

int mt_debug_file_open(int fd, const char *opened, const char *path, pid_t pid)
{
	struct mt_resolver_options options = {.root_pid = (uint32_t)pid};
	struct mt_elf_debug wanted;
	struct mt_finder finder;
	struct mt_naming by;
	char *found = NULL;
	bool refused = false;
	int debug;

	if (!mt_elf_wants_debug(fd, &wanted))
		return -1;
	mt_finder_init(&finder, &options);
	by = (struct mt_naming){finder.rights, &refused};
	debug = mt_finder_debug(&finder, &by, path, opened,
		(struct mt_build_id){wanted.build_id, wanted.build_id_len}, wanted.link, wanted.crc,
		&found);
	free(found);
	mt_finder_free(&finder);
	return debug;
}
