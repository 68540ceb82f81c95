/* Tasks in C++, also as members of an object. SPDX-License-Identifier: MIT */
#include <hotpath.h>

#include <memory>
#include <vector>

class request
{
  public:
    explicit request(int number) : number_(number) { HOTPATH_TASK(task_, "request", .lane(number % 2)); }
    request(const request &) = delete;
    request &operator=(const request &) = delete;
    ~request()
    {
        if (!is_ready_)
            HOTPATH_TASK_CANCEL(task_);
    }
    void poll()
    {
        HOTPATH_TASK_POLL(task_);
        HOTPATH_BLOCK("inside");
        polls_++;
        if (polls_ < 3)
            return;
        is_ready_ = true;
        HOTPATH_TASK_RESULT(task_, "request %d", number_);
    }

  private:
    int number_, polls_ = 0;
    bool is_ready_ = false;
    HOTPATH_FIELD(hotpath_task, task_);
};

int main()
{
    HOTPATH_MAIN();
    std::vector<std::unique_ptr<request>> all;
    for (int at = 0; at < 10; at++)
        all.push_back(std::unique_ptr<request>(new request(at)));
    for (int round = 0; round < 3; round++)
        for (size_t at = 0; at < all.size(); at++)
            if (at != 4 || round < 2)
                all[at]->poll();
    return 0;
}
