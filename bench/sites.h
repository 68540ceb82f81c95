/*
 * Many functions from few lines: BENCH_1024(define, x) expands to define(x_00000) ... define(x_33333), whose names
 * count in digits 0 to 3; BENCH_64(define, x) to define(x_000) ... define(x_333).
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_SITES_H
#define BENCH_SITES_H

#define BENCH_4(define, name) define(name##0) define(name##1) define(name##2) define(name##3)
#define BENCH_16(define, name)                                                                                     \
    BENCH_4(define, name##0) BENCH_4(define, name##1) BENCH_4(define, name##2) BENCH_4(define, name##3)
#define BENCH_64(define, name)                                                                                     \
    BENCH_16(define, name##0) BENCH_16(define, name##1) BENCH_16(define, name##2) BENCH_16(define, name##3)
#define BENCH_256(define, name)                                                                                    \
    BENCH_64(define, name##0) BENCH_64(define, name##1) BENCH_64(define, name##2) BENCH_64(define, name##3)
#define BENCH_1024(define, name)                                                                                   \
    BENCH_256(define, name##0) BENCH_256(define, name##1) BENCH_256(define, name##2) BENCH_256(define, name##3)

#endif
