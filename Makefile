# Front door. Every target first installs the packages it needs (Debian; tools/deps.sh
# does nothing when they are there) and then lets Meson do the work.

BUILD  ?= build
DEMO   := $(BUILD)/demo
JOBS   ?= data/traces/demo.csv
FLEET  ?= data/fleets/heshare.yaml
POLICY ?= joint
IGNITER ?= $(HES_DATA)/igniter_v100
ETF_PROFILES ?= $(HES_DATA)/etf_jetson_tx2

HESHARE := $(abspath $(BUILD))/src/cli/heshare
export HESHARE

# A step of a target whose output is for those who look for a fault.
STEP = @tools/step.sh $(BUILD)-logs/$@-

.DEFAULT_GOAL := all
.PHONY: all build deps demo lab-demo test check sanitized bench papers format lint faults fair-shares check-slurm fuzz tsan mutants golden figures portable portable-check deb check-deb dist install uninstall clean help

help: ## say what the targets do
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 24

all: build ## build everything: the program, its tests and tools
	@ninja -C $(BUILD)

deps: ## install what any target needs and this machine lacks
	@tools/deps.sh build demo check lint

build: ## build the program alone: build/src/cli/heshare
	@tools/deps.sh build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD)
	@ninja -C $(BUILD) src/cli/heshare

demo: ## plan and replay 60 jobs on eight GPUs; leaves reports and a plan in build/demo
	$(STEP)packages.log "Debian packages" tools/deps.sh build demo
	$(STEP)build.log "building heshare" $(MAKE) --no-print-directory build
	@mkdir -p $(DEMO)
	$(STEP)plan.log "planning, as the jobs arrive" $(HESHARE) plan $(JOBS) --fleet $(FLEET) --policy $(POLICY) -o $(DEMO)/plan.json
	@cp $(BUILD)-logs/$@-plan.log $(DEMO)/plan.txt
	$(STEP)arrivals.log "replaying by every policy, as the jobs arrive" $(HESHARE) simulate $(JOBS) --fleet $(FLEET) --policy all --report $(DEMO)/arrivals.html
	@printf '\nBy every policy, all jobs waiting at time 0:\n'
	@$(HESHARE) simulate $(JOBS) --fleet $(FLEET) --policy all --burst --report $(DEMO)/report.html
	@printf '\nThe report: %s\nAs the jobs arrive: %s; the plan: %s\n' $(DEMO)/report.html $(DEMO)/arrivals.html $(DEMO)/plan.txt

lab-demo: ## in the virtual GPU lab: profile, learn, plan, run 60 jobs at 200 x, compare; two minutes
	$(STEP)packages.log "Debian packages" tools/deps.sh build check
	$(STEP)build.log "building heshare, the lab and the tests" $(MAKE) --no-print-directory all
	@HES_LAB=$(abspath $(BUILD))/lab/lab lab/demo

test: ## the tests of one compiler that a change breaks most often: two minutes on two cores after make
	$(STEP)packages.log "Debian packages" tools/deps.sh build demo check
	$(STEP)build.log "building heshare, the lab and the tests" $(MAKE) --no-print-directory all
	@tools/check.sh --quick $(BUILD)

check: ## every test: gcc, clang, AddressSanitizer and UBSan, fuzzers for seconds
	@tools/deps.sh build demo check
	@tools/check.sh

sanitized: ## every test with AddressSanitizer and UBSan; half an hour
	@tools/deps.sh build demo check
	@tools/check.sh --sanitized

papers: build ## reproduce figures of papers, into build-papers (papers/README.md); IGNITER and ETF_PROFILES are folders of measurements, skipped when absent
	@tools/deps.sh build papers
	@test -f build-papers/build.ninja || meson setup build-papers -Dpapers=true
	@ninja -C build-papers
	@meson test -C build-papers --no-rebuild --suite papers --print-errorlogs
	@papers/run build-papers $(IGNITER) $(ETF_PROFILES)

format: ## lay C code out as .clang-format says
	@tools/deps.sh lint
	@git ls-files '*.c' '*.h' | xargs clang-format -i --style=file

lint: ## layers, layout, text, shell scripts, static analysis
	@tools/deps.sh build check lint
	@tools/lint.sh

bench: build ## every figure that the documents quote
	@tools/deps.sh demo check
	@for script in bench/*; do \
		if [ -f "$$script" ] && [ -x "$$script" ]; then echo "== $$script"; "$$script" || exit 1; fi; done

faults: all ## kill a run at 30 moments, and whatever else can go wrong with one, in the lab; every allocation and access of the store failing once
	@HES_ALL_FAULTS=1 $(BUILD)/tests/test_call_faults
	@HES_LAB=$(abspath $(BUILD))/lab/lab tests/lab/faults.py --within 1

fair-shares: all ## programs take turns on a GPU of the lab: shares over 30 s against their slices, kills, arrivals
	@HES_LAB=$(abspath $(BUILD))/lab/lab HES_CUDA_CLIENT=$(abspath $(BUILD))/tests/cuda_client tests/lab/fair_shares.py
	@HES_LAB=$(abspath $(BUILD))/lab/lab HES_CUDA_CLIENT=$(abspath $(BUILD))/tests/cuda_client tests/lab/fair_shares.py --gpu H100-SXM newcomers powers

check-slurm: all ## plans on three nodes in a real Slurm of Debian's packages, with virtual GPUs; its daemons, runners and heads are killed. As root
	@tools/deps.sh build slurm
	@meson test -C $(BUILD) --no-rebuild --suite slurm --print-errorlogs

fuzz: ## every fuzzer for FUZZ_SECONDS (60) each
	@tools/deps.sh build check
	@tools/fuzz.sh

tsan: ## tests of code with threads under ThreadSanitizer; the list is in tests/meson.build, and in that of papers/fairness/scheduler
	@tools/deps.sh build check
	@test -f build-tsan/build.ninja || CC=clang meson setup build-tsan -Dpapers=true -Db_sanitize=thread -Db_lundef=false -Dbuildtype=debugoptimized
	@ninja -C build-tsan --quiet
	@TSAN_OPTIONS=ignore_noninstrumented_modules=1 meson test -C build-tsan --no-rebuild --suite threads --print-errorlogs

mutants: ## change planning, physics, attribution and launch in small ways, see whether tests notice: a known list, then 30 of SEED (1)
	@tools/deps.sh build check
	@tools/mutants.py --list tests/mutants/known --unit
	@tools/mutants.py --seed $(or $(SEED),1)

golden: build ## accept the present output as the golden one; read the diff before committing
	@tools/deps.sh check
	@tests/golden/golden.sh --accept

figures: build ## draw the pictures of README and docs again, into docs/figures
	@tools/deps.sh demo
	$(HESHARE) simulate $(JOBS) --fleet $(FLEET) --policy all --burst --figures docs/figures >/dev/null

portable: ## programs that need the C library alone: build-portable/src/cli/heshare
	@tools/deps.sh build check
	@test -f build-portable/build.ninja || CC=gcc meson setup build-portable -Dportable=true
	@ninja -C build-portable

portable-check: portable ## run them in roots of other Debian releases; as root, makes the roots in build-roots
	@tools/deps.sh roots
	@tools/portable-check.sh

deb: ## Debian packages, in build/deb
	@tools/deps.sh build deb
	@tools/make-deb.sh $(BUILD)/deb

check-deb: all ## lintian; install, try and purge the packages in a new root; install and uninstall. As root, with a network
	@tools/deps.sh build deb
	@BUILD=$(BUILD) tools/check-deb.sh

dist: portable ## a release, in build/dist: source, Debian packages, the portable program, checksums
	@tools/deps.sh build deb
	@tools/dist.sh $(BUILD)/dist build-portable/src/cli/heshare

# Uninstalling removes what every installation of this build placed: folders are in the log of the first one only.
INSTALLED := $(BUILD)/meson-logs/install-log.txt

install: all ## install into PREFIX (/usr/local, or the one of the last time), below DESTDIR if given
	@$(if $(PREFIX),meson configure $(BUILD) --prefix=$(abspath $(PREFIX)) && ninja -C $(BUILD) --quiet)
	@cp $(INSTALLED) $(INSTALLED).before 2>/dev/null || : >$(INSTALLED).before
	@meson install -C $(BUILD) --no-rebuild
	@awk '!seen[$$0]++' $(INSTALLED) $(INSTALLED).before >$(INSTALLED).all && mv $(INSTALLED).all $(INSTALLED)

uninstall: ## remove all that make install placed
	@test -f $(INSTALLED) || { echo "nothing to uninstall: make install was not run in $(BUILD)" >&2; exit 1; }
	@ninja -C $(BUILD) uninstall
	@rm $(INSTALLED)*

clean: ## remove everything that was built
	@rm -rf build build-*
