#include "core/model/source.h"

void mt_source_lacks_text(struct mt_buffer *out, const struct mt_source_facts *source)
{
	static const char *const words[] = {
#define X(id, words) words,
		MT_SOURCE_LACKS(X)
#undef X
	};
	unsigned left = source->lacks;

	for (unsigned i = 0; left; i++) {
		if (!(left & 1u << i))
			continue;
		left &= ~(1u << i);
		mt_buffer_printf(out, "%s%s", words[i],
			!left                       ? ""
				: left & (left - 1) ? ", "
						    : " and ");
	}
}
