/*
 * C++ functions, all compiler-instrumented; the source does not mention hotpath. How often each is called is in the
 * loop of main.
 */
#include <cstdio>

#define ROUNDS 10

namespace shop
{
class Basket
{
  public:
    explicit Basket(int first) : sum(first) {}
    ~Basket() { sum = 0; }
    void add(int price) { sum += price; }
    void add(const char *text) { sum += text[0]; }
    int total() const { return sum; }
    Basket &operator+=(int price)
    {
        sum += price;
        return *this;
    }
    explicit operator bool() const { return sum != 0; }
    static int limit() { return 100; }

  private:
    int sum;
};

template <typename T> T largest(T a, T b) { return a < b ? b : a; }

namespace
{
int hidden(int n) { return n + 1; }
} // namespace

static int unseen(int n) { return n + 2; }
} // namespace shop

struct Pair {
    int a, b;
};

static bool operator<(const Pair &one, const Pair &other) { return one.a < other.a; }

int plain(int n) { return n + 3; }
double plain(double n) { return n + 4; }

template <int N> struct Table {
    int at(int n) const { return n % N; }
};

int main()
{
    int sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        shop::Basket basket(i);
        basket.add(i);
        basket.add(i + 1);
        basket.add("x");
        basket += 5;
        sum += basket.total() + (basket ? 1 : 0) + shop::Basket::limit();
        sum += shop::largest(i, 3) + static_cast<int>(shop::largest(1.5, 2.5));
        sum += shop::hidden(i) + shop::unseen(i);
        sum += (Pair{i, 1} < Pair{3, 2}) ? 1 : 0;
        sum += plain(i) + static_cast<int>(plain(1.0)) + static_cast<int>(plain(2.0));
        sum += Table<7>().at(i) + Table<9>().at(i) + Table<9>().at(i);
        auto twice = [](int n) { return 2 * n; };
        sum += twice(i);
    }
    std::printf("sum %d\n", sum);
    return 0;
}
