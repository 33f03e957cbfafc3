/* signals.c - a signal that ends the command leaves no temporary file.
 *
 * In: the path of the one temporary file. Out: the file is gone when a signal ends the program,
 * which then ends as that signal ends programs. The trick: the path has static memory, so no
 * handler can meet a freed one; a state says who owns that memory, and whoever wants it must win
 * the state first. So this holds on any thread, in the middle of anything. SIGPIPE is such a
 * signal: a reader that has seen enough ends the command quietly, as it ends cat. SIGKILL and
 * crashes are not met; a limit on file sizes is a failed write.
 */
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Who owns temporary_path: nobody; the thread that creates the file; the file, which is there; a
 * handler, for ever. */
enum { NONE, CREATING, PRESENT, ENDING };

static atomic_int temporary_state;
static char temporary_path[PATH_MAX];

/* All signals whose default action is to end a program, but for crashes. Real-time signals are
 * added to these. */
static const int ending_signals[] = {
    SIGHUP,    SIGINT,  SIGQUIT,   SIGPIPE, SIGALRM, SIGTERM,
    SIGUSR1,   SIGUSR2, SIGVTALRM, SIGPROF, SIGXCPU, SIGIO,
#ifdef SIGPWR
    SIGPWR,
#endif
#ifdef SIGSTKFLT
    SIGSTKFLT,
#endif
};

static void all_ending_signals(sigset_t *set) {
    sigemptyset(set);
    for (size_t i = 0; i < sizeof(ending_signals) / sizeof(*ending_signals); i++)
        sigaddset(set, ending_signals[i]);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) sigaddset(set, number);
}

/* Waits for the handler on another thread that is about to end the program. */
static void await_end(void) {
    for (;;) pause();
}

/* Gets the path for this handler. A thread that creates the file has signals held back, so it is
 * another thread and will be done. Returns whether there is a file. */
static int take_over(void) {
    int state;
    do {
        state = atomic_load(&temporary_state);
        if (state == ENDING) await_end();
    } while (state == CREATING ||
             !atomic_compare_exchange_strong(&temporary_state, &state, ENDING));
    return state == PRESENT;
}

static void remove_and_end(int number) {
    if (take_over()) unlink(temporary_path);
    sigset_t this_one;
    sigemptyset(&this_one);
    sigaddset(&this_one, number);
    signal(number, SIG_DFL); /* the shell should see what ended the program */
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &this_one, NULL);
    _exit(128 + number);
}

void cli_signals_prepare(void) {
    signal(SIGXFSZ, SIG_IGN);
    struct sigaction action = {.sa_handler = remove_and_end}, old;
    all_ending_signals(&action.sa_mask);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (sigismember(&action.sa_mask, number) == 1 && sigaction(number, NULL, &old) == 0 &&
            old.sa_handler == SIG_DFL) /* ignored as under nohup: stays so */
            sigaction(number, &action, NULL);
}

void cli_signals_hold(sigset_t *before) {
    sigset_t ending;
    all_ending_signals(&ending);
    pthread_sigmask(SIG_BLOCK, &ending, before);
}

void cli_signals_resume(const sigset_t *before) { pthread_sigmask(SIG_SETMASK, before, NULL); }

/* Moves the path from one owner to the next, unless a handler has it. */
static void change_state(int from, int to) {
    if (!atomic_compare_exchange_strong(&temporary_state, &from, to)) await_end();
}

int cli_temporary_create(const char *path) {
    sigset_t before;
    size_t length = strlen(path);
    if (length >= sizeof(temporary_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    cli_signals_hold(&before);
    change_state(NONE, CREATING);
    memcpy(temporary_path, path, length + 1);
    int fd = open(temporary_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), number = errno;
    change_state(CREATING, fd >= 0 ? PRESENT : NONE);
    cli_signals_resume(&before);
    errno = number;
    return fd;
}

void cli_temporary_release(void) { change_state(PRESENT, NONE); }
