/* A file of the cache of names. The key is the input's own, so that what lies behind it is read. */
#include "core/symbol/cache.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_cache_key key = {0};

	if (size < sizeof key)
		return 0;
	memcpy(&key, data, sizeof key);
	key.build_id_len %= sizeof key.build_id + 1;
	struct mt_cached *cached = mt_cached_new(&key);

	if (mt_cached_decode(cached, data + sizeof key, size - sizeof key))
		mt_cached_find(cached, data[0]);
	mt_cached_free(cached);
	return 0;
}
