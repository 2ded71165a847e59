/* one_anchor FILE: takes all anchors but the first from a stand-alone recording. */
#include "core/wire.h"

#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
	uint32_t one = 1;

	return fd < 0
		|| pwrite(fd, &one, sizeof one, offsetof(struct mt_wire_header, anchor_count))
		!= sizeof one;
}
