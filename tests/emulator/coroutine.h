/* coroutine.h - calls that can be left in the middle and gone back to, each on a stack of its own.
 * The address sanitizer is told about every change of stacks. */
#ifndef FP_TESTS_COROUTINE_H
#define FP_TESTS_COROUTINE_H

#include "emulator_asan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Switching by hand is some fifty times faster than swapcontext, which asks the system about
 * signals. */
#if defined(__x86_64__) && !defined(COROUTINE_PORTABLE)
#define COROUTINE_BY_HAND 1
#else
#include <ucontext.h>
#endif

#define COROUTINE_STACK (128u * 1024u)

/* Somewhere to go on: a stack with a call that waits on it. */
typedef struct coroutine {
#ifdef COROUTINE_BY_HAND
    void *stack_pointer;
#else
    ucontext_t context;
#endif
    uint8_t *stack; /* NULL: the stack of the program */
    size_t stack_bytes;
    void *fake_stack; /* the sanitizer's */
} coroutine;

#ifdef COROUTINE_BY_HAND
/* Included by one file of a program. Saves what a call must preserve, leaves the stack pointer at
 * *from, and returns on the other stack. */
extern "C" void coroutine_jump(void **from, void *to);
__asm__(".text\n"
        ".globl coroutine_jump\n"
        ".type coroutine_jump, @function\n"
        "coroutine_jump:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq "
        "%r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size coroutine_jump, .-coroutine_jump\n");
#endif

static inline void coroutine_start(coroutine *c, void (*function)(void)) {
    c->stack_bytes = COROUTINE_STACK;
    if (!c->stack) c->stack = (uint8_t *)malloc(c->stack_bytes);
    if (!c->stack) abort();
    c->fake_stack = NULL;
#ifdef EMULATOR_ASAN
    ASAN_UNPOISON_MEMORY_REGION(c->stack, c->stack_bytes); /* what an abandoned call left there */
#endif
#ifdef COROUTINE_BY_HAND
    /* Six registers, the function to return to, and nothing for it to return to; aligned as after a
     * call. */
    void **top = (void **)(c->stack + c->stack_bytes) - 10;
    memset(top, 0, 10 * sizeof *top);
    top[6] = (void *)function;
    c->stack_pointer = top;
#else
    getcontext(&c->context);
    c->context.uc_stack.ss_sp = c->stack;
    c->context.uc_stack.ss_size = c->stack_bytes;
    c->context.uc_link = NULL;
    makecontext(&c->context, function, 0);
#endif
}

static inline void coroutine_switch(coroutine *from, coroutine *to) {
#ifdef EMULATOR_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
#ifdef COROUTINE_BY_HAND
    coroutine_jump(&from->stack_pointer, to->stack_pointer);
#else
    swapcontext(&from->context, &to->context);
#endif
#ifdef EMULATOR_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

/* To be called first thing in a coroutine: leaves the bounds of the stack it was started from in
 * *from. */
static inline void coroutine_entered(coroutine *from) {
#ifdef EMULATOR_ASAN
    const void *stack;
    __sanitizer_finish_switch_fiber(NULL, &stack, &from->stack_bytes);
    from->stack = (uint8_t *)(uintptr_t)stack;
#else
    (void)from;
#endif
}

#endif
