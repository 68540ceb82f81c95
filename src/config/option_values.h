/*
 * Parsers for option values, used by the table (option_table.c).
 *
 * A parser writes to the settings if the value is valid, and otherwise gives the end of a sentence that begins with
 * the value: "is not a number". So a value that failed can be parsed again for its message.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONFIG_OPTION_VALUES_H
#define HP_CONFIG_OPTION_VALUES_H

#include "options.h"

#define HP_OPTION_PROBLEM_BYTES 360

/* Entries of the table that are used individually. */
#define HP_RECORD_INDEX 0
#define HP_CPU_INDEX 1

/* For parsers. The first two always return false. */
bool hp_option_complain(struct hp_text *problem, const char *what);
bool hp_option_too_long(struct hp_text *problem, const struct hp_option *option);
/* Where the option is in the settings. */
void *hp_option_place(const struct hp_option *option, struct hp_settings *settings);
/* Writes the bytes of a value so that any terminal and log can show them. */
void hp_option_put_shown(struct hp_text *line, const char *value);

/* Parsers. */
bool hp_option_parse_text(const struct hp_option *option, const char *text, struct hp_settings *settings,
                          struct hp_text *ret_problem);
bool hp_option_parse_pattern(const struct hp_option *option, const char *text, struct hp_settings *settings,
                             struct hp_text *ret_problem);
bool hp_option_parse_percent(const struct hp_option *option, const char *text, struct hp_settings *settings,
                             struct hp_text *ret_problem);
bool hp_option_parse_format(const struct hp_option *option, const char *text, struct hp_settings *settings,
                            struct hp_text *ret_problem);
bool hp_option_parse_by(const struct hp_option *option, const char *text, struct hp_settings *settings,
                        struct hp_text *ret_problem);
bool hp_option_parse_metric(const struct hp_option *option, const char *text, struct hp_settings *settings,
                            struct hp_text *ret_problem);
bool hp_option_parse_engine(const struct hp_option *option, const char *text, struct hp_settings *settings,
                            struct hp_text *ret_problem);
bool hp_option_parse_clock(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem);
bool hp_option_parse_record(const struct hp_option *option, const char *text, struct hp_settings *settings,
                            struct hp_text *ret_problem);
bool hp_option_parse_count(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem);
bool hp_option_parse_cpu_rate(const struct hp_option *option, const char *text, struct hp_settings *settings,
                              struct hp_text *ret_problem);
bool hp_option_parse_limit(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem);
bool hp_option_parse_limit_of_all(const struct hp_option *option, const char *text, struct hp_settings *settings,
                                  struct hp_text *ret_problem);
bool hp_option_parse_sampling_rate(const struct hp_option *option, const char *text, struct hp_settings *settings,
                                   struct hp_text *ret_problem);
bool hp_option_parse_bound(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem);
bool hp_option_parse_alloc_stacks(const struct hp_option *option, const char *text, struct hp_settings *settings,
                                  struct hp_text *ret_problem);
bool hp_option_parse_max_bytes(const struct hp_option *option, const char *text, struct hp_settings *settings,
                               struct hp_text *ret_problem);
bool hp_option_parse_flag(const struct hp_option *option, const char *text, struct hp_settings *settings,
                          struct hp_text *ret_problem);
bool hp_option_parse_no_color(const struct hp_option *option, const char *text, struct hp_settings *settings,
                              struct hp_text *ret_problem);

/* Parsers for lists (option_lists.c). */
bool hp_option_parse_patterns(const struct hp_option *option, const char *text, struct hp_settings *settings,
                              struct hp_text *ret_problem);
bool hp_option_parse_sections(const struct hp_option *option, const char *text, struct hp_settings *settings,
                              struct hp_text *ret_problem);
bool hp_option_parse_columns(const struct hp_option *option, const char *text, struct hp_settings *settings,
                             struct hp_text *ret_problem);
bool hp_option_parse_sort(const struct hp_option *option, const char *text, struct hp_settings *settings,
                          struct hp_text *ret_problem);
bool hp_option_parse_metadata(const struct hp_option *option, const char *text, struct hp_settings *settings,
                              struct hp_text *ret_problem);
bool hp_option_parse_percentiles(const struct hp_option *option, const char *text, struct hp_settings *settings,
                                 struct hp_text *ret_problem);

#endif
