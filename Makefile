# From a fresh clone: `make campaign` measures this machine and prints where the report is.

BIN := .venv/bin
BOOTSTRAP := site-configs/local/bootstrap
ROUNDTRIP_TOOLCHAINS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/roundtrip/toolchains
# The toolchains of `smoke`; a recipe asks for them once they are set up.
TESTED = $(shell $(BIN)/python -c 'from roundtrip.sites.toolchains.spec import read_catalogue; print(*read_catalogue().smoke_names)')
CXX_FILES = $(shell git ls-files '*.cpp' '*.hpp')
MAKEFLAGS += --no-print-directory
export ROUNDTRIP_TOOLCHAINS

ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
endif

.NOTPARALLEL:
.PHONY: help campaign setup toolchains test bench calibration night card site clean distclean
.PHONY: setup-test lint types cxx-format workloads tidy tidy-all pytest test-all test-part faults fuzz sanitize

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

campaign: setup ## set this machine up, run campaign `smoke`, write its report
	@$(BIN)/roundtrip run smoke --site local

setup: ## only set this machine up: packages, .venv, the toolchains of `smoke`
	@$(BOOTSTRAP) campaign

toolchains: ## set up all toolchains: each MPI with each Boost
	@$(BOOTSTRAP) campaign --all

test: lint types cxx-format workloads tidy pytest ## set up, then the checks that a person waits for: ten minutes

test-all: lint types cxx-format workloads ## every check, the nightly ones too: an hour
	$(BIN)/pytest -m ""

PART := 0/6
test-part: workloads ## part K of N of the nightly checks: PART=K/N
	$(BIN)/pytest -m nightly --part $(PART)

setup-test:
	@$(BOOTSTRAP) test

lint: setup-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/deptry .
	$(BIN)/deptry tests testbed --exclude tests/data --extend-exclude tests/data --ignore DEP002,DEP004

types: setup-test
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests

cxx-format: setup-test
	@echo "clang-format: $(words $(CXX_FILES)) files"
	@clang-format --dry-run -Werror $(CXX_FILES)

# The build folder of campaigns on site `local`, with the tests; pytest runs these.
workloads: setup-test
	@$(MAKE) build-$(firstword $(TESTED))

# The compiler of a toolchain MPI-BOOST by the same path as campaigns have it: they share the folder.
compiler = $(ROUNDTRIP_TOOLCHAINS)/$(firstword $(subst -, ,$1))/bin/mpicxx
with = -D Boost_ROOT='$(ROUNDTRIP_TOOLCHAINS)/$1' -D CMAKE_CXX_COMPILER='$(call compiler,$1)'

build-%:
	@mkdir -p build/$*
	flock build/$*/.lock cmake -S workloads --preset release -B build/$* $(call with,$*)
	flock build/$*/.lock cmake --build build/$*

# clang-tidy does not run the wrapper, so it is told where that finds mpi.h.
MPI_SHOW = '$(call compiler,$(firstword $(TESTED)))' -show
TIDY = run-clang-tidy -quiet -j 2 \
  $(patsubst -I%,-extra-arg=-isystem%,$(filter -I%,$(shell $(MPI_SHOW))))
TIDY_BASE := HEAD~1
tidy: setup-test ## clang-tidy over the sources that differ from TIDY_BASE
	@changed=$$(git diff --name-only --diff-filter=d $(TIDY_BASE) -- '*.cpp' '*.hpp' | \
	  sed 's,\.hpp$$,.cpp,' | sort -u | paste -sd '|'); \
	if [ -z "$$changed" ]; then echo "clang-tidy: no C++ source differs from $(TIDY_BASE)"; exit; fi; \
	$(call tidy-tree,build/tidy-changed,OFF); \
	for tree in build/tidy-changed build/tidy-changed-link; do $(TIDY) -p $$tree "/($$changed)$$" || exit; done

tidy-all: setup-test
	@$(call tidy-tree,build/tidy,ON)
	$(TIDY) -p build/tidy
	$(TIDY) -p build/tidy-link

tidy-tree = set -e; \
  cmake -S workloads --preset tidy -B $1 --log-level=WARNING -D ROUNDTRIP_UNITY=$2 $(call with,$(firstword $(TESTED))); \
  cmake -S testbed/link --preset tidy -B $1-link --log-level=WARNING -D CMAKE_UNITY_BUILD=$2

pytest: setup-test
	$(BIN)/pytest

faults: setup-test ## the fault drill: kill, cut, hold, fill, and count what is lost
	$(BIN)/pytest --drill -m nightly -n 0 tests/faults

FUZZ_CASES := 100000
FUZZ_START := 0
fuzz: setup-test ## mutated input for every reader: 100,000 cases from seed 0, or FUZZ_CASES, FUZZ_START
	cd tests && ../$(BIN)/python -m fuzz --cases $(FUZZ_CASES) --start $(FUZZ_START)

sanitize: setup-test ## the workloads' tests under the address and undefined-behaviour sanitizers; or STUDY's
	cmake -S workloads --preset asan $(call with,$(firstword $(TESTED)))
	cmake --build build/workloads-asan $(if $(STUDY),--target $(STUDY)/all)
	cd workloads && ctest --preset asan --label-exclude nightly --no-tests=error $(if $(STUDY),-R '^$(STUDY)[._]')

# SLICE=openmpi@4.1.4,1.81.0: one MPI and one Boost. CARD: other options of testbed/card.
card: setup ## Spack's MPIs and Boosts on the virtual cluster, to a report; needs SPACK_ROOT; SLICE=MPI,BOOST
	@testbed/card $(if $(SLICE),--slice $(SLICE)) $(CARD)

SERIES := 20000
# REAL=FILE adds what is found in real series: parquet with source, series, night, value.
calibration: setup ## false alarms and power of the detection over nights: 20,000 series a model, or SERIES
	@OMP_NUM_THREADS=1 $(BIN)/python -m tools.calibration --series $(SERIES) $(if $(REAL),--real $(REAL))

night: setup ## real nights on 16 + 16 virtual nodes: are the sick ones named, and no others? NIGHT="--quiet 2"
	@PYTHONPATH=testbed $(BIN)/python -m vclusterlib.night $(NIGHT)

# Pages keep their places, so that links between them hold.
SITE_PAGES = '*.md' '*.toml' docs samples spack_repo/LICENSE-* ':!tests/*/*'
site: setup-test ## docs, samples and their index as a static site: build/site/html
	@rm -rf build/site && mkdir -p build/site/pages
	@git ls-files -z $(SITE_PAGES) | xargs -0 cp --parents -t build/site/pages
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@cp -r samples/reports build/site/html/samples/
	@echo "site: $(CURDIR)/build/site/html/index.html"

bench: setup ## print the benchmark ratios
	@$(BIN)/python -m tools.bench

clean: ## remove what was built here; runs/ and reports/ stay
	rm -rf build .mypy_cache .pytest_cache .ruff_cache .hypothesis

distclean: clean ## also remove .venv; the toolchain cache stays
	rm -rf .venv src/*.egg-info
