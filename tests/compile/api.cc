// The control API in C++, and the options that need no designated initialisers.
#include "api.c"

static_assert(sizeof(hotpath::options) == sizeof(hotpath_options), "the class adds no members");

int api_options();

int api_options()
{
    hotpath::options options;
    options.percentiles("50").format("json").output_path("/dev/null").report("all").columns("self").sort("calls");
    options.by("thread").min_percent(0.5).focus("a");
    options.filter("b").label("c").metadata("d=e").dir("/tmp").record("timing").max_bytes(1 << 20).limit(1);
    options.functions_limit(2).calltree_limit(3).shutdown_ms(4).keep(5).exclude_wrapper(true).time_exclusive(true);
    options.leave_signals(true).reserve(true).logs_limit(6).slowest("f");
    options.alloc_metric("count").alloc_cumulative(true);
    return hotpath_start(&options);
}
