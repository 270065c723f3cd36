# SPDX-License-Identifier: Apache-2.0
# The front door for people who type make; the build itself is Meson's.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := all
.PHONY: all test test-cgroup2 bench lint format fuzz install clean

all: ## packages, configuration, build/hutch
	@tools/build --verbose

test: ## every suite; ends in "N passed, N failed"
	@tests/run

test-cgroup2: all ## the cgroup v2 tests, in a virtual machine
	@tests/vm/run

bench: ## speed against bwrap, runc, crun, docker and the bare system calls
	@tools/packages bench
	@bench/run --out docs/BENCHMARKS.md

lint: ## formatting, clang-tidy, cppcheck, include directions, shell scripts
	@tools/lint

format: ## apply .clang-format
	@tools/packages lint
	@tools/c_files | xargs clang-format -i

fuzz: ## each fuzzer for FUZZ_SECONDS
	@tools/fuzz $(FUZZ_SECONDS)

install: all ## into PREFIX, beneath DESTDIR when that is set; without scdoc there are no man pages
	@tools/packages docs || true
	@meson configure build -Dprefix=$(PREFIX) -Dlibdir=lib
	@meson install -C build

clean:
	@rm -rf build build-*
