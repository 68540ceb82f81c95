/*
 * Numbers in the console: three significant digits and a unit, at most seven columns; estimates are wider.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_FIGURES_H
#define HP_CONSOLE_FIGURES_H

#include "text.h"

#define HP_FIGURE_BYTES 32u

enum hp_figure {
    HP_FIGURE_TEXT,    /* no number */
    HP_FIGURE_NS,      /* "2.51 ms" */
    HP_FIGURE_BYTES_,  /* "7.08 GB" */
    HP_FIGURE_PERCENT, /* "65 %", "2.7 %" */
    HP_FIGURE_THREADS, /* "4.56" */
    HP_FIGURE_COUNT,   /* "4,289", "75.9 k" */
    HP_FIGURE_RATE,    /* the same per second, with decimals below 10 */
    HP_FIGURE_NUMBER,  /* three digits, no unit */
    HP_FIGURE_POINTS,  /* "+4.1", "-12": a change in percentage points */
    HP_FIGURE_ABOUT,   /* an estimated count: "about 15 k" */
};

/* Formats into HP_FIGURE_BYTES bytes; returns them. */
const char *hp_figure(char *bytes, enum hp_figure figure, double number);

/* "1:12", "2:03:04": a time since the beginning. */
const char *hp_figure_clock(char *bytes, double seconds);

#endif
