# A thin front for CMake. On Debian 12 `make demo` and `make test` need nothing but make and a
# compiler: tools/setup installs what is missing, and is silent when nothing is. `make SETUP=:`
# leaves it out.
BUILD ?= build
JOBS ?= $(shell nproc)
SETUP ?= tools/setup
PREFIX ?= /usr/local
CMAKE_FLAGS ?=
FUZZ_SECONDS ?= 300
BENCH_FLAGS ?=
unexport MAKEFLAGS MFLAGS

all: configure
	@cmake --build $(BUILD) --parallel $(JOBS) -- --no-print-directory

setup:
	@$(SETUP)

configure: setup
	@test -f $(BUILD)/Makefile || cmake -S . -B $(BUILD) -G "Unix Makefiles" $(CMAKE_FLAGS)

demo: configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target fastpair_command -- --no-print-directory
	@$(BUILD)/fastpair --demo

test: all
	@tools/run-tests $(BUILD)
	@tools/python-tests $(BUILD) || test $$? -eq 77

# The Python package and its tests, with the library of this build. Exit code 77: pip cannot install.
python-test: all
	@tools/python-tests $(BUILD) || test $$? -eq 77

# The evaluation: columns, measurements, report. BENCH_FLAGS: see bench/run --help.
bench: all
	@bench/run --build $(BUILD) $(BENCH_FLAGS)

# Build and test with AddressSanitizer and UndefinedBehaviorSanitizer, in build-ci/asan.
test-asan: setup
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan --parallel $(JOBS) -- --no-print-directory
	@tools/run-tests build-ci/asan

fuzz: setup
	@tools/setup ci
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz --parallel $(JOBS) -- --no-print-directory
	@fuzz/run build-ci/fuzz $(FUZZ_SECONDS)

check-format:
	@tools/check-format

format:
	@tools/check-format --fix

lint: all
	@tools/lint $(BUILD)

ci:
	@.ci/run

install: all
	cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf build build-ci

.PHONY: all setup configure demo test python-test bench test-asan fuzz check-format format lint ci install clean
