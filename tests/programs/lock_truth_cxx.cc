/*
 * Locks of C++ that are used and waited for a known number of times: prints these numbers, as lock_truth.c does.
 */
#include "lock_truth.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#define MANY 5003

namespace stock
{
std::mutex shelf, alone;
std::shared_mutex catalog;
std::condition_variable delivery;
std::condition_variable_any notice;
std::recursive_timed_mutex ledger;
} // namespace stock

/* ------------------------------------------------------------------------------------------------------ mutexes */

static NOINLINE void hold_shelf() { stock::shelf.lock(); }
static NOINLINE void give_shelf()
{
    stock::shelf.unlock();
    __asm__ volatile("");
}
static NOINLINE void wait_shelf()
{
    begin_wait();
    std::unique_lock<std::mutex> lock(stock::shelf);
    end_wait();
}

/* Made by no call, in memory of the heap. */
class counter
{
  public:
    NOINLINE void add()
    {
        std::lock_guard<std::mutex> lock(mutex_);
        count_++;
    }

  private:
    std::mutex mutex_;
    int count_ = 0;
};

static NOINLINE void use_alone()
{
    for (int at = 0; at < MANY; at++)
        std::lock_guard<std::mutex> lock(stock::alone);
    if (stock::alone.try_lock())
        stock::alone.unlock();
}

static void count_together()
{
    const std::unique_ptr<counter> shared(new counter);
    std::thread other([&] {
        for (int at = 0; at < MANY; at++)
            shared->add();
    });
    for (int at = 0; at < MANY; at++)
        shared->add();
    other.join();
}

/* ---------------------------------------------------------------------------------------------- shared mutexes */

static NOINLINE void read_catalog() { stock::catalog.lock_shared(); }
static NOINLINE void give_catalog()
{
    stock::catalog.unlock_shared();
    __asm__ volatile("");
}
static NOINLINE void write_catalog()
{
    begin_wait();
    std::unique_lock<std::shared_mutex> lock(stock::catalog);
    end_wait();
}

/* -------------------------------------------------------------------------------------------------- conditions */

static bool is_delivered;
static void order_none() { is_delivered = false; }
static NOINLINE void deliver()
{
    std::lock_guard<std::mutex> lock(stock::shelf);
    is_delivered = true;
    stock::delivery.notify_one();
}
static NOINLINE void wait_for_delivery()
{
    std::unique_lock<std::mutex> lock(stock::shelf);
    begin_wait();
    stock::delivery.wait(lock, [] { return is_delivered; });
    end_wait();
}

/* It gives up before anyone tells it. */
static NOINLINE void wait_in_vain()
{
    std::unique_lock<std::mutex> lock(stock::alone);
    begin_wait();
    stock::notice.wait_for(lock, std::chrono::milliseconds(HOLD_US / 1000), [] { return false; });
    end_wait();
}

/* ---------------------------------------------------------------------------------- recursive and timed mutexes */

static int gave_up;
static NOINLINE void hold_ledger()
{
    __atomic_store_n(&gave_up, 0, __ATOMIC_SEQ_CST);
    stock::ledger.lock();
    stock::ledger.lock();
}
static NOINLINE void give_ledger()
{
    while (__atomic_load_n(&gave_up, __ATOMIC_SEQ_CST) == 0)
        usleep(200);
    let_wait();
    stock::ledger.unlock();
    stock::ledger.unlock();
    __asm__ volatile("");
}
static NOINLINE void wait_ledger()
{
    begin_wait();
    if (stock::ledger.try_lock_for(std::chrono::microseconds(HOLD_US / 2)))
        abort();
    __atomic_store_n(&gave_up, 1, __ATOMIC_SEQ_CST);
    stock::ledger.lock();
    end_wait();
    stock::ledger.unlock();
}

int main()
{
    pthread_barrier_init(&both, NULL, 2);
    use_alone();
    tell("stock::alone", MANY + 3, 0); /* with those of wait_in_vain */
    struct play play = {hold_shelf, wait_shelf, give_shelf};
    run_play(&play);
    tell("stock::shelf", 5 * WAITS, WAITS); /* with those beside the condition */
    count_together();
    tell("counter::add", 2 * MANY, -1);
    play = {read_catalog, write_catalog, give_catalog};
    run_play(&play);
    tell("stock::catalog", 2 * WAITS, WAITS);
    play = {order_none, wait_for_delivery, deliver};
    run_play(&play);
    tell("stock::delivery", 0, WAITS);
    wait_in_vain();
    tell("stock::notice", 0, 1);
    play = {hold_ledger, wait_ledger, give_ledger};
    run_play(&play);
    tell("stock::ledger", 3 * WAITS, WAITS);
    return 0;
}
