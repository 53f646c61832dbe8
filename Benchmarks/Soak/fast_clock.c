// Loaded into a server (LD_PRELOAD), this makes its wall clock run FAST_CLOCK_SPEED times as fast as real time from the
// second FAST_CLOCK_START on. Timers use the monotonic clock, and so run in real time.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long number(const char *name) {
    const char *text = getenv(name);
    return text ? atoll(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static long long start, speed;
    long result = syscall(SYS_clock_gettime, clock, now);
    if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return (int)result;
    if (speed == 0) {
        start = number("FAST_CLOCK_START");
        speed = number("FAST_CLOCK_SPEED");
    }
    long long fraction = now->tv_nsec * speed;
    now->tv_sec = start + (now->tv_sec - start) * speed + fraction / 1000000000;
    now->tv_nsec = fraction % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *seconds) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (seconds) *seconds = exact.tv_sec;
    return exact.tv_sec;
}
