/* Which sanitizer a test is compiled with, by gcc or clang. SPDX-License-Identifier: MIT */
#ifndef HP_UNIT_SANITIZER_H
#define HP_UNIT_SANITIZER_H

#if defined(__has_feature)
#define HP_HAS_FEATURE(name) __has_feature(name)
#else
#define HP_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || HP_HAS_FEATURE(thread_sanitizer)
#define HP_THREAD_SANITIZER 1
#else
#define HP_THREAD_SANITIZER 0
#endif
#define HP_CLANG_THREAD_SANITIZER HP_HAS_FEATURE(thread_sanitizer)
#if defined(__SANITIZE_ADDRESS__) || HP_HAS_FEATURE(address_sanitizer)
#define HP_ADDRESS_SANITIZER 1
#else
#define HP_ADDRESS_SANITIZER 0
#endif

/* For functions that a sanitizer itself calls, which it does where it is linked into the test. */
#if defined(__clang__)
#define HP_NOT_SANITIZED __attribute__((disable_sanitizer_instrumentation))
#else
#define HP_NOT_SANITIZED
#endif

#endif
