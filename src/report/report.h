/*
 * From snapshots to a finished report: chooses sections, fills them, writes them as a table or as JSON, or passes
 * them to a callback. The exit report of the library and `hotpath report` both use this, so they cannot differ.
 * Allocates nothing from the heap; may run in a signal handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_REPORT_H
#define HP_REPORT_REPORT_H

#include "options.h"
#include "snapshot.h"

/* Receives rendered bytes; returns false to give up (the disk is full). */
typedef bool hp_sink(void *context, const char *bytes, size_t length);

struct hp_report_target {
    hp_sink *sink;
    void *context;
    uint32_t width; /* columns of the terminal; 0: unlimited */
    bool color;
};

/*
 * One report of all snapshots together. Returns HOTPATH_OK, HOTPATH_E_OUTPUT if the sink gave up, HOTPATH_E_SPACE
 * without memory.
 */
int hp_report_render(const struct hp_snapshots *snapshots, const struct hp_settings *settings,
                     const struct hp_report_target *target);

struct hp_model;

/* The same from an existing model. */
int hp_report_render_model(struct hp_model *model, const struct hp_settings *settings,
                           const struct hp_report_target *target);

/* The same rows for a callback. */
int hp_report_hand_over(const struct hp_snapshots *snapshots, const struct hp_settings *settings,
                        hotpath_reporter *reporter, void *context);

#endif
