// Methods, templates, lambdas, constructors, exceptions and references, measured.
#include <hotpath.h>
#include <stdexcept>
#include <string>

namespace shop
{
class cart
{
  public:
    explicit cart(int count) : count_(count) { HOTPATH_MEASURE(); }
    ~cart() { HOTPATH_MEASURE(); }
    int total(int price) const
    {
        HOTPATH_MEASURE();
        return count_ * price;
    }
    std::string name() const
    {
        HOTPATH_MEASURE_AS("name", .log(1));
        HOTPATH_NOTE("%d", total(2));
        HOTPATH_BLOCK_KEY("key", std::string("k").c_str());
        return HOTPATH_EXPR("text", std::string("cart"));
    }

  private:
    int count_;
};

template <typename T, int N> T power(T base)
{
    HOTPATH_MEASURE();
    T result = 1;
    for (int i = 0; i < N; i++) {
        HOTPATH_BLOCK("step");
        result = HOTPATH_EXPR("multiply", result * base);
    }
    return result;
}

int guarded(int n)
{
    HOTPATH_MEASURE();
    try {
        HOTPATH_BLOCK("try");
        if (n > 3)
            throw std::runtime_error("too much");
        // Not "return MACRO(n)": g++ -O0 omits a nop of `return` in `try` when it stands in any macro at all.
        int result = HOTPATH_EXPR("template", power<int, 3>(n));
        return result;
    } catch (const std::exception &) {
        HOTPATH_BLOCK("catch");
        return -1;
    }
}
} // namespace shop

int main(int argc, char **)
{
    HOTPATH_MAIN(.limit(20).focus("shop"));
    auto twice = [](int n) {
        HOTPATH_MEASURE();
        return n * 2;
    };
    shop::cart cart(argc);
    HOTPATH_BEGIN(zone, "zone");
    int result = cart.total(twice(argc)) + shop::guarded(argc) + static_cast<int>(cart.name().size());
    HOTPATH_END(zone);
    return result + static_cast<int>(shop::power<long, 2>(argc));
}
