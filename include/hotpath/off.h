/*
 * The macros and functions of hotpath.h without -DHOTPATH: declarations stay declarations, expressions stay
 * expressions, no code is generated. Part of hotpath.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_OFF_H
#define HOTPATH_OFF_H

#ifdef __cplusplus /* C, not C++ as some like it */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#ifndef HOTPATH_H
#error "include <hotpath.h>, which includes this"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A conversion in code of the program, which may be compiled with -Wold-style-cast. */
#ifdef __cplusplus
#define HOTPATH_AS_(type, value) type(value)
#else
#define HOTPATH_AS_(type, value) ((type)(value))
#endif

#ifdef __cplusplus
#define HOTPATH_NOTHING_(check) static_assert(check, "hotpath is compiled out")
#define HOTPATH_TEXT_(key) key
#elif defined(__GNUC__)
#define HOTPATH_NOTHING_(check) __extension__ _Static_assert(check, "hotpath is compiled out")
#else
#define HOTPATH_NOTHING_(check) _Static_assert(check, "hotpath is compiled out")
#endif

#ifndef HOTPATH_TEXT_ /* an array of variable length has no constant size; as one side of this it is a pointer */
#define HOTPATH_TEXT_(key) (1 ? (key) : (const char *)0)
#endif

#define HOTPATH_MAIN(...) HOTPATH_NOTHING_(1)
#define HOTPATH_SESSION(...) HOTPATH_NOTHING_(1)
#define HOTPATH_MEASURE(...) HOTPATH_NOTHING_(1)
#define HOTPATH_MEASURE_AS(...) HOTPATH_NOTHING_(HOTPATH_IS_LABEL_(__VA_ARGS__, ))
#define HOTPATH_BLOCK(...) HOTPATH_NOTHING_(HOTPATH_IS_LABEL_(__VA_ARGS__, ))
#define HOTPATH_IS_LABEL_(label, ...) sizeof("" label "") > 0
#define HOTPATH_BLOCK_KEY(label, key) HOTPATH_NOTHING_(sizeof("" label "") > 0 && sizeof(HOTPATH_TEXT_(key)) > 0)
#define HOTPATH_NOTE(...) ((void)sizeof(hotpath_note_nowhere_(__VA_ARGS__)))
#define HOTPATH_BEGIN(zone, label) HOTPATH_NOTHING_(sizeof("" label "") > 0)
#define HOTPATH_END(zone) ((void)0)
#define HOTPATH_EXPR(label, ...) (__VA_ARGS__)
#define HOTPATH_NO_MEASURE
#define HOTPATH_EXPECT_ALLOCS(most) HOTPATH_NOTHING_(sizeof(HOTPATH_AS_(uint64_t, most)) > 0)
#define HOTPATH_EXPECT_CALLS(name, most)                                                                           \
    HOTPATH_NOTHING_(sizeof("" name "") > 0 && sizeof(HOTPATH_AS_(uint64_t, most)) > 0)
#define HOTPATH_EXPECT_INSTRUCTIONS(most) HOTPATH_NOTHING_(sizeof(HOTPATH_AS_(uint64_t, most)) > 0)
#define HOTPATH_FIELD(type, name) __extension__ type name[0]
#define HOTPATH_TASK(task, ...) HOTPATH_TASK_(task, __VA_ARGS__, )
#define HOTPATH_TASK_(task, label, ...) HOTPATH_UNUSED_(label, task)
#define HOTPATH_TASK_POLL(task) HOTPATH_NOTHING_(sizeof(task) + 1 > 0)
#define HOTPATH_TASK_RUN(task) HOTPATH_NOTHING_(sizeof(task) + 1 > 0)
#define HOTPATH_TASK_READY(task) HOTPATH_UNUSED_("", task)
#define HOTPATH_TASK_RESULT(task, ...) HOTPATH_UNUSED_("", ((void)(task), HOTPATH_NOTE(__VA_ARGS__)))
#define HOTPATH_TASK_CANCEL(task) HOTPATH_UNUSED_("", task)
/* Compiled, so that nothing is unused, but never evaluated. */
#define HOTPATH_UNUSED_(key, value) ((void)sizeof("" key ""), 0 ? (void)(value) : (void)0)
#define HOTPATH_UNUSED_KEY_(label, key, value)                                                                     \
    ((void)sizeof("" label ""), 0 ? ((void)HOTPATH_TEXT_(key), (void)(value)) : (void)0)
#define HOTPATH_VALUE(key, value) HOTPATH_UNUSED_(key, value)
#define HOTPATH_GAUGE_SET(key, number) HOTPATH_UNUSED_(key, number)
#define HOTPATH_GAUGE_ADD(key, number) HOTPATH_UNUSED_(key, number)
#define HOTPATH_COUNT(key, number) HOTPATH_UNUSED_(key, number)
#define HOTPATH_VALUE_KEY(label, key, value) HOTPATH_UNUSED_KEY_(label, key, value)
#define HOTPATH_GAUGE_SET_KEY(label, key, number) HOTPATH_UNUSED_KEY_(label, key, number)
#define HOTPATH_GAUGE_ADD_KEY(label, key, number) HOTPATH_UNUSED_KEY_(label, key, number)
#define HOTPATH_COUNT_KEY(label, key, number) HOTPATH_UNUSED_KEY_(label, key, number)
#define HOTPATH_DEBUG(...) (__VA_ARGS__)
#define HOTPATH_CHANNEL_SENT(label, channel, ...) HOTPATH_PASSED_(label, channel, __VA_ARGS__, 0, )
#define HOTPATH_CHANNEL_RECEIVED(label, channel, ...) HOTPATH_PASSED_(label, channel, __VA_ARGS__, 0, )
#define HOTPATH_PASSED_(label, channel, items, bytes, length, id, ...)                                             \
    HOTPATH_UNUSED_(label, ((void)(channel), (void)(items), (void)(bytes), (void)(length), (id)))
#define HOTPATH_CHANNEL_REFUSED(label, channel, items) HOTPATH_UNUSED_(label, ((void)(channel), (items)))
#define HOTPATH_CHANNEL_DROPPED(label, channel, items) HOTPATH_UNUSED_(label, ((void)(channel), (items)))
#define HOTPATH_CHANNEL_CAPACITY(label, channel, items) HOTPATH_UNUSED_(label, ((void)(channel), (items)))
#define HOTPATH_CHANNEL_TEXT(label, channel, ...)                                                                  \
    ((void)sizeof(hotpath_note_nowhere_(__VA_ARGS__)), HOTPATH_UNUSED_(label, channel))
#define HOTPATH_CHANNEL_FULL(label, channel) HOTPATH_NOTHING_(sizeof("" label "") > 0 && sizeof(channel) > 0)
#define HOTPATH_CHANNEL_EMPTY(label, channel) HOTPATH_NOTHING_(sizeof("" label "") > 0 && sizeof(channel) > 0)
#define HOTPATH_CHANNEL_END(label, channel) HOTPATH_UNUSED_(label, channel)
#define HOTPATH_LOCK_NAME(lock, name) HOTPATH_UNUSED_(name, lock)
#define HOTPATH_LOCK_WAIT(lock, name) HOTPATH_UNUSED_(name, lock)
#define HOTPATH_LOCK_TAKEN(lock) HOTPATH_UNUSED_("", lock)
#define HOTPATH_LOCK_RELEASED(lock) HOTPATH_UNUSED_("", lock)
#define HOTPATH_IO_NAME(fd, label) HOTPATH_UNUSED_(label, fd)
#define HOTPATH_IO_OP(label, kind, bytes) HOTPATH_UNUSED_(label, ((void)sizeof("" kind ""), (bytes)))
#define HOTPATH_STREAM_NEXT(label, stream) HOTPATH_NOTHING_(sizeof("" label "") > 0 && sizeof(stream) > 0)
#define HOTPATH_STREAM_ITEM(label, stream, items, bytes)                                                           \
    HOTPATH_UNUSED_(label, ((void)(stream), (void)(items), (bytes)))
#define HOTPATH_STREAM_TEXT(label, stream, ...)                                                                    \
    ((void)sizeof(hotpath_note_nowhere_(__VA_ARGS__)), HOTPATH_UNUSED_(label, stream))
#define HOTPATH_STREAM_END(label, stream) HOTPATH_UNUSED_(label, stream)
#define HOTPATH_LOOP_WAIT(label) HOTPATH_NOTHING_(sizeof("" label "") > 0)
#define HOTPATH_LOOP_END(label) ((void)sizeof("" label ""))

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
int hotpath_note_nowhere_(const char *format, ...); /* never called: lets the compiler check the arguments */

HOTPATH_API_ int hotpath_start(const struct hotpath_options *options)
{
    (void)options;
    return HOTPATH_E_OFF;
}
HOTPATH_API_ int hotpath_stop(void) { return HOTPATH_E_OFF; }
HOTPATH_API_ int hotpath_report(void) { return HOTPATH_E_OFF; }
HOTPATH_API_ void hotpath_set_reporter(hotpath_reporter *reporter, void *context)
{
    (void)reporter;
    (void)context;
}
HOTPATH_API_ const char *hotpath_strerror(int status)
{
    return status == HOTPATH_OK ? "done" : "hotpath is compiled out";
}
HOTPATH_API_ const char *hotpath_version(void) { return HOTPATH_VERSION; }
HOTPATH_API_ const char *hotpath_session_path(void) { return ""; }
HOTPATH_API_ int hotpath_read_allocs(struct hotpath_alloc_counts *ret_counts)
{
    (void)ret_counts;
    return HOTPATH_E_OFF;
}
HOTPATH_API_ void hotpath_set_on_unexpected(hotpath_on_unexpected *on_unexpected, void *context)
{
    (void)on_unexpected;
    (void)context;
}
HOTPATH_API_ void hotpath_alloc_event(const char *label, const void *block, size_t size)
{
    (void)label;
    (void)block;
    (void)size;
}
HOTPATH_API_ void hotpath_free_event(const char *label, const void *block)
{
    (void)label;
    (void)block;
}
HOTPATH_API_ void hotpath_free_all_event(const char *label) { (void)label; }
HOTPATH_API_ hotpath_lane hotpath_lane_begin(void) { return 0; }
HOTPATH_API_ hotpath_task *hotpath_task_of(const void *object)
{
    (void)object;
    return NULL;
}
HOTPATH_API_ hotpath_task *hotpath_task_at(const void *object)
{
    (void)object;
    return NULL;
}
HOTPATH_API_ hotpath_task hotpath_current(void)
{
    hotpath_task none = {0};
    return none;
}
HOTPATH_API_ hotpath_lane hotpath_switch(hotpath_lane to)
{
    (void)to;
    return 0;
}
HOTPATH_API_ void hotpath_lane_end(hotpath_lane lane) { (void)lane; }
HOTPATH_API_ uint64_t hotpath_results_elapsed_ns(const hotpath_results *results)
{
    return (void)results, UINT64_C(0);
}
HOTPATH_API_ const char *hotpath_results_label(const hotpath_results *results) { return (void)results, ""; }
HOTPATH_API_ const char *hotpath_results_headline(const hotpath_results *results) { return (void)results, ""; }
HOTPATH_API_ size_t hotpath_results_sections(const hotpath_results *results) { return (void)results, (size_t)0; }
HOTPATH_API_ const hotpath_section *hotpath_results_section(const hotpath_results *results, size_t index)
{
    (void)results;
    (void)index;
    return NULL;
}
HOTPATH_API_ const char *hotpath_section_name(const hotpath_section *section) { return (void)section, ""; }
HOTPATH_API_ const char *hotpath_section_description(const hotpath_section *section) { return (void)section, ""; }
HOTPATH_API_ size_t hotpath_section_columns(const hotpath_section *section) { return (void)section, (size_t)0; }
HOTPATH_API_ const struct hotpath_column *hotpath_section_column(const hotpath_section *section, size_t index)
{
    (void)section;
    (void)index;
    return NULL;
}
HOTPATH_API_ size_t hotpath_section_rows(const hotpath_section *section) { return (void)section, (size_t)0; }
HOTPATH_API_ size_t hotpath_section_total_rows(const hotpath_section *section) { return (void)section, (size_t)0; }
HOTPATH_API_ int hotpath_section_cell(const hotpath_section *section, size_t row, size_t column,
                                      struct hotpath_cell *ret_cell)
{
    (void)section;
    (void)row;
    (void)column;
    (void)ret_cell;
    return HOTPATH_E_OFF;
}
HOTPATH_API_ int hotpath_section_row(const hotpath_section *section, size_t row, struct hotpath_row *ret_row)
{
    (void)section;
    (void)row;
    (void)ret_row;
    return HOTPATH_E_OFF;
}
HOTPATH_API_ int hotpath_section_histogram(const hotpath_section *section, size_t row, size_t column,
                                           struct hotpath_histogram *ret_histogram)
{
    (void)section;
    (void)row;
    (void)column;
    (void)ret_histogram;
    return HOTPATH_E_OFF;
}
HOTPATH_API_ int hotpath_section_series(const hotpath_section *section, size_t row, size_t column,
                                        struct hotpath_series *ret_series)
{
    (void)section;
    (void)row;
    (void)column;
    (void)ret_series;
    return HOTPATH_E_OFF;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif /* HOTPATH_OFF_H */
