/* Values in C++: types, references, temporaries. SPDX-License-Identifier: MIT */
#include <hotpath.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

enum plain { one = 1 };
enum class scoped : unsigned char { big = 200 };

static int evaluated;

static int &counted()
{
    evaluated++;
    return evaluated;
}

template <typename T> static void show(const char *, T x) { HOTPATH_VALUE("in a template", x); }

int main()
{
    HOTPATH_MAIN();
    std::string name = "first";
    HOTPATH_VALUE("text", name.c_str());
    HOTPATH_VALUE("bool", true);
    HOTPATH_VALUE("char", 'a');
    HOTPATH_VALUE("float", 2.5f);
    HOTPATH_VALUE("size", name.size());
    HOTPATH_VALUE("plain", one);
    HOTPATH_VALUE("scoped", scoped::big);
    HOTPATH_VALUE("null", nullptr);
    HOTPATH_GAUGE_SET("level", -3L);
    HOTPATH_GAUGE_ADD("level", 0.5);
    HOTPATH_COUNT("bytes", 10ull);
    HOTPATH_COUNT_KEY("by key", name.c_str(), 2);
    show("", 1);
    show("", 2.5);
    HOTPATH_DEBUG(counted()) = 40; /* a reference stays one */
    const int after = HOTPATH_DEBUG(counted() + 1);
    const char(&array)[4] = HOTPATH_DEBUG("abc");
    if (after != 42 || evaluated != 41 || sizeof array != 4 || std::strcmp(array, "abc") != 0)
        return 1;
    std::printf("%d\n", after);
    return 0;
}
