// methods: a method that many call and that allocates in many ways, as methods do, but is no wrapper of malloc.
// methods wrapper: one that is: it passes on sizes that its callers give.
#include <map>
#include <memory>
#include <string>
#include <vector>

#define SITE __attribute__((noinline, noclone))

struct entry {
	std::string name;
	std::vector<int> numbers;
	entry *next;
};

class registry {
public:
	SITE entry *add(const char *name, int count)
	{
		entry *made = new entry;

		made->name = std::string(40, *name) + name;
		for (int i = 0; i < count; i++)
			made->numbers.push_back(i);
		made->next = all_;
		by_name_[made->name] = made;
		return all_ = made;
	}

private:
	std::map<std::string, entry *> by_name_;
	entry *all_ = nullptr;
};

class pool {
public:
	SITE void *take(std::size_t size)
	{
		char *block = static_cast<char *>(::operator new(size));

		*block = 1;
		return block;
	}
};

static registry *known;
static pool *blocks;
static bool wrapper;

#define CALLER(n) \
	SITE static int caller_##n() { return wrapper ? blocks->take(1000 + n) != nullptr : known->add("caller " #n, n) != nullptr; }
CALLER(1) CALLER(2) CALLER(3) CALLER(4) CALLER(5) CALLER(6)

int main(int argc, char **)
{
	wrapper = argc > 1;
	known = new registry;
	blocks = new pool;
	return caller_1() + caller_2() + caller_3() + caller_4() + caller_5() + caller_6() != 6;
}
