/* help.c - the text of fpgrep --help. docs/fpgrep.1 has the long form. */
#include "grep.h"

#include <stdio.h>

void grep_print_help(void) {
    fputs("fpgrep - print the rows of compressed columns that contain a pattern\n"
          "\n"
          "usage: fpgrep [options] PATTERN [FILE.fpc]...\n"
          "       fpgrep [options] -e PATTERN ... -f FILE [FILE.fpc]...\n"
          "Rows are searched compressed. Without a FILE, or with -, standard input is read.\n"
          "\n"
          "Patterns are literal bytes: there are no regular expressions\n"
          "  -e, --pattern PATTERN  a pattern; any of several may match\n"
          "  -f, --file FILE        each line of FILE is a pattern\n"
          "  -x, --whole-row        the row is the pattern\n"
          "      --prefix, --suffix the row begins, or ends, with the pattern\n"
          "      --like             as SQL's LIKE: % is any bytes, _ any character\n"
          "      --escape=C         for --like: C%, C_ and CC stand for %, _ and C\n"
          "  -i, --ignore-case      letters A to Z and a to z are the same\n"
          "  -v, --invert-match     rows that do not match; null rows never do\n"
          "  -F, -a                 taken for habit, without effect\n"
          "\n"
          "Output\n"
          "  -c, --count            how many rows match\n"
          "  -l, --files-with-matches     -L, --files-without-match   names of files alone\n"
          "  -q, --quiet            nothing: the exit code tells\n"
          "  -n, --row-number       numbers of rows, the first is 1\n"
          "  -H, -h                 with, without the names of files\n"
          "  -m, --max-count N      at most N rows per file, then stop reading it\n"
          "  -0, --null             NUL bytes end rows and names\n"
          "      --color[=WHEN]     auto (default), always, never\n"
          "      --json             an object per line, with the row's number from 0\n"
          "\n"
          "Search\n"
          "      --rows=A..B        only rows A up to, not including, B, counted from 0\n"
          "      --check            validate what is searched first, as fastpair -t does\n"
          "  -T, --threads N        threads; 0, the default, means all cores\n"
          "      --backend=NAME     where the search runs: auto (default), cpu, gpu\n"
          "  -V, --version      --help\n"
          "\n"
          "Exit codes: 0 a row matches, 1 none does, 2 something failed.\n",
          stdout);
}
