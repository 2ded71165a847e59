/* heaptrack's files, plain or compressed, as they become a trace. */
#include "core/convert/convert.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int in = fuzz_file(data, size), out = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct mt_converted converted;
	struct mt_err err = {0};
	char path[40];

	snprintf(path, sizeof path, "/proc/self/fd/%d", in);
	if (in >= 0 && out >= 0)
		mt_convert(path, out, 64u << 20, NULL, NULL, &converted, &err);
	close(in);
	return 0;
}
