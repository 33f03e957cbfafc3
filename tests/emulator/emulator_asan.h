/* emulator_asan.h - EMULATOR_ASAN is defined in builds with the address sanitizer, whose calls are
 * declared. */
#ifndef FP_TESTS_EMULATOR_ASAN_H
#define FP_TESTS_EMULATOR_ASAN_H

#if defined(__SANITIZE_ADDRESS__)
#define EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATOR_ASAN 1
#endif
#endif
#ifdef EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#endif
