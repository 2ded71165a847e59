/* A library that loses 1,000 blocks in a program that knows nothing of it. */
#include "planted.h"

void __attribute__((constructor)) plant(void)
{
	volatile char room[16 << 10];

	plant_leaks(1000);
	memset((void *)room, 0, sizeof room);
}
