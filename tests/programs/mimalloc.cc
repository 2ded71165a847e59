// What mimalloc's functions for C++ allocate, freed as its manual says: nothing is wrong here.
#include <mimalloc.h>
#include <vector>

int main()
{
	for (int i = 0; i < 5; i++) {
		std::vector<int, mi_stl_allocator<int>> numbers;

		for (int j = 0; j < 100; j++)
			numbers.push_back(j);
		mi_free(mi_new(10));
		mi_free(mi_new_nothrow(20));
		mi_free(mi_new_aligned(100, 64));
		mi_free_size(mi_new_n(10, 4), 40);
	}
	return 0;
}
