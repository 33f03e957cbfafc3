# Sourced by the tools that test in a virtual environment of their own: tools/python-tests and
# tools/engine-tests. They set, in the root of the tree:
#   tool          the tool's name
#   subject       what it tests, as a noun for messages
#   environment   the folder of the environment
#   requirements  files of what it must hold
# An environment is kept, so that a second run downloads nothing. It is made anew when what it should
# hold has changed.

# leave_out REASON: ends the tool with exit code 77.
leave_out() {
    echo "$tool: $subject are left out: $1"
    exit 77
}

make_environment() {
    local python=${PYTHON:-python3} wanted file options=()
    wanted=$(cat "${requirements[@]}")
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || leave_out "no Python from 3.11 on"
    "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
        leave_out "no Python.h (Debian: python3-dev)"
    if [ -f "$environment/wanted" ] && [ "$(cat "$environment/wanted")" = "$wanted" ]; then return; fi
    rm -rf "$environment"
    mkdir -p "$(dirname "$environment")"
    "$python" -m venv "$environment" >/dev/null 2>&1 || leave_out "python3 -m venv does not work (Debian: python3-venv)"
    for file in "${requirements[@]}"; do options+=(-r "$file"); done
    "$environment/bin/pip" install -q --disable-pip-version-check "${options[@]}" ||
        leave_out "pip cannot install what they need"
    printf '%s\n' "$wanted" >"$environment/wanted"
}

# install_package [BUILD]: this tree's package. The library of the build folder is taken if it has one.
install_package() {
    local build=${1-} settings=()
    if [ -n "$build" ] && [ -f "$build/libfastpair.a" ] && [ -x "$build/fastpair" ] && [ -x "$build/fpgrep" ]; then
        settings+=(--config-settings=cmake.define.FASTPAIR_BUILD="$build")
    fi
    # The build requirements are in the environment already: no second one is made for the build.
    PATH=$environment/bin:$PATH "$environment/bin/pip" install -q --disable-pip-version-check --no-build-isolation \
        --force-reinstall --no-deps "${settings[@]}" ./python
}

# run_pytest TITLE ARGUMENT...: ends with one line, TITLE: N passed, N failed, as tools/run-tests does.
run_pytest() {
    local title=$1 log=$environment/tests.log status=0 passed failed errors
    shift
    "$environment/bin/python" -m pytest -q "$@" 2>&1 | tee "$log" || status=$?
    count() { tail -n 1 "$log" | grep -oE "[0-9]+ $1" | head -n 1 | cut -d' ' -f1 || true; }
    passed=$(count passed) failed=$(count failed) errors=$(count error)
    echo "$title: ${passed:-0} passed, $((${failed:-0} + ${errors:-0})) failed"
    return "$status"
}
