// new and delete reach malloc and free through the C++ library.
#include "alloc_counts.h"

#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

static void *volatile hold;

int main(int argc, char **)
{
    setvbuf(stderr, nullptr, _IONBF, 0);
    struct counts since = read_counts();
    {
        int *one = new int(5);
        hold = one;
        delete one;
        int *many = new int[100];
        hold = many;
        delete[] many;
        int *perhaps = new (std::nothrow) int(7);
        hold = perhaps;
        delete perhaps;
    }
    tell_counts("new", since);
    since = read_counts();
    {
        std::vector<int> numbers;
        numbers.reserve(1000);
        std::string text(500, 'x');
        std::unique_ptr<std::string> other(new std::string(text));
        hold = numbers.data();
    }
    tell_counts("containers", since);
    since = read_counts();
    try {
        throw std::string("a text that does not fit into the string itself");
    } catch (const std::string &text) {
        printf("%s\n", text.c_str());
    }
    tell_counts("exception", since);
    if (argc == 1) { // one allocator ends the program then
        try {
            volatile size_t too_much = static_cast<size_t>(-1) / 4; // the compiler must not know
            hold = new char[too_much];
        } catch (const std::bad_alloc &) {
            printf("bad_alloc\n");
        }
    }
    since = read_counts();
    int *number = new int(3);
    hold = number;
    delete number;
    free(hold = malloc(10));
    tell_counts("after", since);
}
