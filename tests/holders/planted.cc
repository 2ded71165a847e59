// A program with much that is held in every usual way of C++, and 1,000 blocks that are not.
#include "planted.h"

#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <vector>

struct shape {
	virtual ~shape() {}
	std::string name;
};
struct named {
	virtual ~named() {}
	long number;
};
struct circle : shape, named {
	std::vector<double> radii;
};
struct tree {
	std::unique_ptr<tree> left, right;
	std::shared_ptr<std::string> text;
};
static std::map<std::string, std::vector<std::string>> index_of;
static std::unordered_map<long, std::shared_ptr<shape>> shapes;
static std::vector<named *> second_bases;
static std::unique_ptr<tree> root;
static std::deque<std::list<std::string>> queue;
static std::set<std::string> words;
static std::vector<std::function<std::string()>> closures;
static circle *array;

static std::unique_ptr<tree> grow(int depth)
{
	auto t = std::make_unique<tree>();

	t->text = std::make_shared<std::string>(60, 't');
	if (depth) {
		t->left = grow(depth - 1);
		t->right = grow(depth - 1);
	}
	return t;
}

static __attribute__((noinline)) void fill()
{
	for (int i = 0; i < 2000; i++) {
		std::string word = "a word that is longer than what fits inside " + std::to_string(i);
		auto c = std::make_shared<circle>();

		index_of[word].assign(3, word);
		words.insert(word);
		c->radii.resize(10);
		c->name = word;
		shapes[i] = c;
		second_bases.push_back(new circle);
		closures.push_back([word, c] { return word + c->name; });
	}
	for (int i = 0; i < 100; i++)
		queue.emplace_back(5, std::string(100, 'q'));
	root = grow(10);
	array = new circle[50];
}

int main()
{
	fill();
	plant_leaks(1000);
	{
		volatile char room[32 << 10];

		memset((void *)room, 0, sizeof room);
	}
	for (int i = 0; i < 100; i++)
		free(malloc(100 + i));
	puts("ready");
	fflush(stdout);
	getchar();
	_exit(0);
}
