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
#if defined(__SANITIZE_ADDRESS__) || HP_HAS_FEATURE(address_sanitizer)
#define HP_ADDRESS_SANITIZER 1
#else
#define HP_ADDRESS_SANITIZER 0
#endif

#endif
