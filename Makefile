# Two commands for a newcomer, on Debian 12, as root or with sudo: `make run` and `make test`. The build itself is CMake's.
#
# The tests run on the Release build: it is the one that people use, the lock-free code meets its optimised form there, and on two cores a
# second full build would cost more than it finds, since `make asan` and `make tsan` run with the assertions of level 2 and 3.

JOBS ?= $(shell nproc)
PLACES ?= 4
NEWEST ?= 30
export JOBS

.DEFAULT_GOAL := help
# Each module has a folder of its name in src or compat, and one in tests.
MODULES := base os machine pages memory preload rmem fabric cluster launch runtime graph pool spread task heap trees stencil model pim ops
# What `make test` leaves to other targets.
NOT_IN_TEST := ^(nightly|numa|hosts|losses|load|faults|modelled|modelled-some|modelled-long)$$

.PHONY: help run build test $(MODULES:%=test-%) test-numa test-numa-all test-hosts test-losses test-load test-faults test-modelled test-modelled-all test-modelled-some nightly asan tsan asan-core tsan-core build-asan build-tsan build-asan-core build-tsan-core dev reference synthesis format lint tidy tidy-changed clean packages packages-lint

help:  ## this list
	@sed -n 's/^\([A-Za-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 26
	@echo '  MODULE: $(MODULES)'

run: packages build/release/build.ninja  ## install what is missing, build Release, run the main job (PLACES=4)
	@.ci/install_packages --index
	@cmake --build build/release -j $(JOBS) --target situ package_rank
	build/release/bin/situ run -n $(PLACES) package_rank

build: packages build/release/build.ninja  ## build Release: build/release/bin/situ
	@cmake --build build/release -j $(JOBS)

test: build  ## install what is missing, build, run all tests but those of the targets below
	@.ci/run_tests build/release -LE '$(NOT_IN_TEST)'

test-MODULE:  ## build and test one module: its libraries and its tests, nothing else
	@echo 'make: $@: say which module: $(MODULES)' >&2; false

$(MODULES:%=test-%): test-%: packages build/release/build.ninja
	@cmake --build build/release -j $(JOBS) --target tests_of_$*
	@.ci/run_tests build/release/tests/$* -LE '$(subst |modelled-some,,$(NOT_IN_TEST))'

test-numa: packages build/release/build.ninja  ## memory by intent in an emulated machine with four kinds of memory
	@.ci/install_packages --list packages-numa.txt
	@cmake --build build/release -j $(JOBS) --target numa_tests
	@kernel/build_kernel.py --if-affordable
	@kernel/build_kernel.py --if-affordable --unpatched
	@.ci/run_tests build/release -L '^numa$$'

test-numa-all: export SITU_GUEST_KERNEL = build
test-numa-all: export SITU_NONE_SKIPPED = 1
test-numa-all: test-numa  ## the same on all its kernels, which it builds; none is skipped; records that they passed
	@tests/numa/kernel_record.py write build/release

# test-hosts and test-losses configure again: the packages of packages-hosts.txt may have been installed after build/release was configured.
test-hosts: packages build/release/build.ninja  ## jobs over hosts that this machine pretends to have, started by mpirun and by Slurm
	@.ci/install_packages --list packages-hosts.txt
	@cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS) --target situ_network hosts_tests
	@.ci/run_tests build/release -L '^hosts$$'

test-losses: packages build/release/build.ninja  ## 200 killed places and servers, frozen hosts and cut links: some ten minutes
	@.ci/install_packages --list packages-hosts.txt
	@cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS) --target situ_network hosts_tests
	@JOBS=1 .ci/run_tests build/release -L '^losses$$'

test-faults: packages build/release/build.ninja  ## each look at the system made to fail once, in pools, jobs, hosts and remote memory: some minutes
	@cmake --build build/release -j $(JOBS) --target fault_subject
	@JOBS=1 .ci/run_tests build/release -L '^faults$$'

test-load: packages build/release/build.ninja  ## remote memory under load: 2,000 clients at once, 3,000 that misbehave; two minutes
	@cmake --build build/release -j $(JOBS) --target rmem_load
	@JOBS=1 .ci/run_tests build/release -L '^load$$'

test-modelled: packages build/release/build.ninja  ## the tests of places on modelled machines, with coherent caches and without, and those of `situ model`
	@cmake --build build/release -j $(JOBS) --target modelled_tests
	@.ci/run_tests build/release -L '^modelled(-some)?$$'

test-modelled-all: packages build/release/build.ninja  ## the same, those that take minutes, and all once more where only times are the machine's
	@cmake --build build/release -j $(JOBS) --target modelled_tests
	@.ci/run_tests build/release -L '^modelled'

test-modelled-some: packages build/release/build.ninja  ## a handful of these, and the tests of `situ model`: a quarter of the time
	@cmake --build build/release -j $(JOBS) --target some_modelled_tests
	@.ci/run_tests build/release -L '^modelled-some$$'

nightly: build  ## the tests that take minutes to an hour, or gigabytes: one at a time
	@JOBS=1 .ci/run_tests build/release -L '^nightly$$'

asan: build-asan  ## the fast tests under AddressSanitizer and UBSan
	@.ci/run_tests build/asan -L '^fast$$'

tsan: build-tsan  ## the fast tests that have more than one thread under ThreadSanitizer
	@.ci/run_tests build/tsan -L '^fast$$' -LE '^sequential$$'

asan-core: build-asan-core  ## the fast tests that CI runs under AddressSanitizer: of raw memory, bytes from other processes, threads
	@.ci/run_tests build/asan -L '^core$$'

tsan-core: build-tsan-core  ## the same under ThreadSanitizer, without the sequential ones
	@.ci/run_tests build/tsan -L '^core$$' -LE '^sequential$$'

build-asan build-tsan: build-%: packages build/%/build.ninja
	@cmake --build build/$* -j $(JOBS) --target fast_tests

build-asan-core build-tsan-core: build-%-core: packages build/%/build.ninja
	@cmake --build build/$* -j $(JOBS) --target core_tests

dev: packages build/dev/build.ninja  ## build Debug with all assertions: build/dev
	@cmake --build build/dev -j $(JOBS)

reference: packages-lint  ## make the reference out of the headers: build/reference/index.html
	@rm -rf build/reference && mkdir -p build && doxygen docs/reference/Doxyfile

format: packages-lint  ## lay out the sources as .clang-format says
	@git ls-files -co --exclude-standard '*.h' '*.cpp' '*.inl' '*.c' | xargs clang-format-19 -i

synthesis: packages  ## what GAScore and PAMS take of an FPGA, by yosys; their clock rates, where nextpnr-ecp5 is installed
	@.ci/install_packages --list packages-synthesis.txt
	@python3 hw/synth/count_cells.py --check
	@python3 hw/synth/clock_rates.py || [ $$? -eq 77 ]

lint: reference  ## check the layout of the sources, and that every public name is explained
	@.ci/lint

tidy: build packages-lint  ## clang-tidy over all sources but the tests; an hour of a processor
	@.ci/tidy

tidy-changed: packages-lint build/release/build.ninja  ## the same over the sources that changed last; needs what `make build` generates
	@.ci/tidy --newest $(NEWEST)

clean:  ## remove everything that was built
	rm -rf build

packages:
	@.ci/install_packages

packages-lint:
	@.ci/install_packages --list packages-lint.txt

# Ninja configures again by itself when a CMake file changes; a preset that changes must be configured from here.
build/%/build.ninja: CMakePresets.json | packages
	@cmake --preset $*
	@touch $@
