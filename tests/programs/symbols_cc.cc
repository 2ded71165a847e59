// For symbol_test: C++ with templates, namespaces, lambdas and library code inlined.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace space {
struct thing {
	std::map<std::string, std::vector<int>> map;
	__attribute__((noinline)) int method(int const &x);
};

int thing::method(int const &x)
{
	auto &v = map[std::to_string(x)];

	v.push_back(x);
	std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
	return v.front();
}

template <typename T> __attribute__((noinline)) T twice(T x)
{
	return x + x;
}
} // namespace space

namespace {
__attribute__((noinline)) int hidden(int x)
{
	return std::printf("%d\n", x);
}
struct local {
	__attribute__((noinline)) int member(int x) { return hidden(x) + hidden(x + 1); }
};
} // namespace

int main(int argc, char **)
{
	space::thing t;
	local l;
	auto lambda = [](int x) __attribute__((noinline)) { return std::printf("%x\n", x); };
	auto p = std::make_unique<std::string>(space::twice(std::string("x")));

	for (int i = 0; i < argc; i++)
		hidden(t.method(i) + l.member(i) + lambda(i));
	return space::twice(argc) + (int)p->size();
}
