/*
 * Notes: text that the program attaches to the innermost open call. If the call is kept when it ends, so is its
 * note. Formatted only for calls that may be kept, in the caller's time, not on a path of a zone.
 * SPDX-License-Identifier: MIT
 */
#include "notes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "call_log_memory.h"
#include "holding.h"
#include "thread_context.h"

static uint32_t depth_of(const struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    return (uint32_t)(frame - hp_frame_zero(context));
}

static struct hp_note *find(const struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    const uint32_t depth = depth_of(context, frame);
    if (context->kept == NULL)
        return NULL;
    struct hp_note *note = &context->kept->notes[depth % HP_NOTE_DEPTHS];
    return note->depth == depth && note->start == frame->start ? note : NULL;
}

const struct hp_note *hp_note_of(const struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    return find(context, frame);
}

void hp_note_end(struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    struct hp_note *note = find(context, frame);
    if (note != NULL)
        note->depth = 0; /* the thread's own frame has no note */
}

/* Text that does not fit is cut off, marked by dots. */
static void append(struct hp_note *note, const char *text, size_t length)
{
    const size_t space = HP_NOTE_BYTES - note->length;
    const size_t fitting = length < space ? length : space;
    memcpy(note->text + note->length, text, fitting);
    note->length += (uint32_t)fitting;
    if (length > space)
        memcpy(note->text + HP_NOTE_BYTES - 3, "...", 3);
}

/* A second note of the same call is appended to the first. */
static void attach(struct hp_note *note, uint32_t depth, uint64_t start, const char *text, size_t length)
{
    if (note->depth != depth || note->start != start)
        *note = (struct hp_note){.start = start, .depth = depth};
    if (note->length > 0)
        append(note, ", ", 2);
    append(note, text, length);
}

/* The caller holds the context, so that a signal handler does not use the same memory. */
static void attach_to_top(struct hp_thread_context *context, const char *text, size_t length)
{
    hp_context_hold(&context->hot);
    if (hp_context_is_recording(&context->hot)) {
        const struct hotpath_frame_ *frame = context->hot.top;
        const uint32_t depth = depth_of(context, frame);
        struct hp_call_notes *kept = depth > 0 && frame->stat & HOTPATH_KEPT_ ? hp_call_log_memory(context) : NULL;
        if (kept != NULL)
            attach(&kept->notes[depth % HP_NOTE_DEPTHS], depth, frame->start, text, length);
    }
    hp_context_let_go(&context->hot);
}

void hotpath_v1_note(const char *format, ...)
{
    const int saved = errno;
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    char text[HP_NOTE_BYTES + 2]; /* one extra byte shows that the text is too long */
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* Checked after formatting: formatting may run zones itself (a host's printf extension). */
    if (length > 0 && &context->hot != &hp_no_context && context->thread_id != 0 &&
        !hp_context_is_held(&context->hot))
        attach_to_top(context, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
    errno = saved;
}
