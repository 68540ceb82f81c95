// C++ exceptions pass through zones; the zones close on the way, in the right order and with their time.
#include <hotpath.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace app
{
class Parser
{
  public:
    int parse(int depth)
    {
        HOTPATH_MEASURE();
        if (depth == 0)
            throw std::runtime_error("deep");
        HOTPATH_BLOCK("inside parse");
        return parse(depth - 1) + 1;
    }
};

template <typename T> T twice(T value)
{
    HOTPATH_MEASURE();
    return value + value;
}
} // namespace app

struct Closer {
    // A destructor that runs while the exception passes has zones of its own.
    ~Closer() { HOTPATH_MEASURE(); }
};

static int attempt(int depth)
{
    HOTPATH_MEASURE();
    try {
        Closer closer;
        app::Parser parser;
        return parser.parse(depth);
    } catch (const std::exception &error) {
        return static_cast<int>(std::string(error.what()).size());
    }
}

int main()
{
    HOTPATH_MAIN();
    int sum = 0;
    for (int i = 0; i < 200; i++)
        sum += attempt(i % 5);
    sum += app::twice(3);
    auto lambda = [](int x) {
        HOTPATH_MEASURE_AS("lambda");
        return HOTPATH_EXPR("expression", x * 2);
    };
    sum += lambda(4);
    std::printf("sum %d\n", sum);
    return 0;
}
