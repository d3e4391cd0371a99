"""Which test runs a command of the guides that is not run as it stands."""

from __future__ import annotations

#: Other commands: the test that runs them, often on a site or a campaign of its own, and words by
#: which its file does.  What is no test in Python is run by `make test`.
RUN_ELSEWHERE: dict[str, tuple[str, ...]] = {
    r"\.venv/bin/python -m roundtrip\.studies\.npb\.marks .*": (
        "tests/studies/npb/test_marks.py"
        "::test_the_command_prints_a_file_of_marks_or_one_line_of_what_is_wrong",
        "marks.main(",
    ),
    r"make test": (".ci/run", "make --keep-going test"),
    r"roundtrip run \S+ --site \S+": (
        "tests/end_to_end/test_what_sites_ask.py::test_a_preempted_launch_is_repeated",
        "roundtrip run {file} --site virtual",
    ),
    r"(\.venv/bin/)?roundtrip run smoke --resume": (
        "tests/end_to_end/test_campaign.py"
        "::test_a_campaign_killed_at_any_moment_is_resumed_exactly",
        *('"roundtrip", "run"', '"--resume"'),
    ),
    r"roundtrip history SITE": (
        "tests/history/test_command.py::test_what_regressed_comes_first_with_what_differed_there",
        *('"history"', "history(SITE, "),
    ),
    r"roundtrip history SITE --accept .*": (
        "tests/history/test_command.py::"
        "test_what_is_accepted_is_the_baseline_and_older_news_is_none",
        *('"--accept"', '"--reason"', '"--all"'),
    ),
    r"roundtrip history SITE --since .*": (
        "tests/history/test_command.py::"
        "test_what_is_accepted_is_the_baseline_and_older_news_is_none",
        *('"--since"',),
    ),
    r"roundtrip history SITE nightly --all --series .*": (
        "tests/history/test_command.py::test_all_shows_what_did_not_change",
        *('"--all"', '"--series"'),
    ),
    r"roundtrip nodes SITE --drain-command": (
        "tests/cli/test_nodes.py::test_the_commands_that_drain_nodes_are_printed_for_a_shell",
        *('"nodes", SITE', '"--drain-command"'),
    ),
    r"roundtrip nodes SITE( nightly --json)?": (
        "tests/cli/test_nodes.py::test_a_sick_node_is_named_and_the_status_is_one",
        *('"nodes", SITE', '"--json"'),
    ),
    r"roundtrip import .*": (
        "tests/history/test_import.py::test_what_a_log_a_report_and_a_database_hold_counts_once",
        '"import", *',
    ),
    r"roundtrip publish \S+ --to \S+ --preview": (
        "tests/report/test_signed.py::test_a_preview_names_each_field_and_what_is_new",
        *('"publish"', '"--to"', '"--preview"'),
    ),
    r"roundtrip publish .* --to \S+": (
        "tests/report/test_public.py::test_a_report_is_copied_once_with_an_index",
        *('"publish"', '"--to"'),
    ),
    r"roundtrip ab \S+ \S+( --.*)?": (
        "tests/end_to_end/test_ab.py"
        "::test_two_toolchains_are_distinct_and_the_run_is_an_ordinary_one",
        *('"ab"', '"--checks"', '"--set"', '"--fail-on"'),
    ),
    r"roundtrip schema \S+": (
        "tests/cli/test_schema.py::test_every_key_is_described_and_the_version_is_fixed",
        '"schema"',
    ),
    r"roundtrip compare .*": (
        "tests/cli/test_compare.py::test_two_toolchains_of_a_tree",
        *('"compare"', '"--toolchains"', '"--format"'),
    ),
    r"roundtrip collect .*": (
        "tests/cli/test_collect.py::test_the_one_line_names_a_bundle_that_holds",
        '"collect"',
    ),
    r"roundtrip report .*": (
        "tests/report/test_publish.py::test_the_command_line",
        *('"report"', '"--verify"'),
    ),
    r"(\.venv/bin/)?roundtrip site (new|check) .*": (
        "tests/end_to_end/test_site_live.py::test_a_new_site_is_tried_and_mended_from_what_ran",
        *('"site", "new"', '"site", "check"', '"--live"'),
    ),
    r"roundtrip site lock": (
        "tests/sites/test_check.py::test_a_fault_sets_the_exit_status",
        '"site", "lock"',
    ),
    r"\.venv/bin/python -m tools\.mirror .*": (
        "tests/tools/test_mirror.py::test_the_command_says_what_lacks_and_exits_1",
        "invoke(app, [*words",
    ),
    r"python3 -m venv \.venv": ("site-configs/local/bootstrap", "-m venv --clear"),
    r"\.venv/bin/pip install (--require-hashes -r requirements\.lock|--no-deps .* -e \.)": (
        "site-configs/local/bootstrap",
        *("--require-hashes -r requirements.lock", "--no-deps --no-build-isolation -e ."),
    ),
    r"reframe -c checks -R (-n \w+ )?-r": (
        "tests/end_to_end/test_virtual.py::test_plain_reframe_measures_over_the_link",
        *("reframe -c checks -R", " -n ", " -r"),
    ),
    r"sbatch campaigns/nightly.sbatch": (
        "tests/end_to_end/test_virtual.py::test_a_night_is_submitted_run_and_reported",
        "cluster.submit(",
    ),
    r"sbatch campaigns/nightly.sbatch pairs": (
        "tests/end_to_end/test_pairs.py"
        "::test_nodes_meet_over_the_nights_and_a_drained_one_is_named",
        'cluster.submit(cluster.share / "pairs.toml"',
    ),
    r"sbatch .* campaigns/nightly.sbatch CAMPAIGN": (
        "tests/end_to_end/test_what_sites_ask.py"
        "::test_all_launches_of_a_night_are_steps_of_one_job",
        '"--nodes=2", "--ntasks=2", "--exclusive"',
    ),
    r"testbed/vcluster (up|down)( .*)?": (
        "tests/testbed/test_lifecycle.py::test_down_leaves_nothing",
        *('"up", "--nodes"', '"down"'),
    ),
    r"testbed/vcluster exec squeue": (
        "tests/end_to_end/test_virtual.py::test_nights_do_not_pile_up",
        '"exec", "squeue"',
    ),
    r"testbed/vcluster exec bash -c '.* && sbatch campaigns/nightly\.sbatch'": (
        "tests/end_to_end/test_virtual.py::test_a_night_is_submitted_run_and_reported",
        "cluster.submit(",
    ),
    r"testbed/vcluster exec bash -c '.* && roundtrip run \S+ --site virtual'": (
        "tests/end_to_end/test_what_sites_ask.py::test_a_preempted_launch_is_repeated",
        'f"roundtrip run {file} --site virtual',
    ),
    r"mpirun -n 2 build/.*": (
        "workloads/netpipe/tests/launch_test.cpp",
        *("--samples samples.csv", "--variants mpi", "--exact"),
    ),
    r"\. site-configs/activate (SITE|mycluster)": (
        "tests/spack/test_environment.py::test_activate_asks_for_what_is_left",
        ". site-configs/activate infiniband",
    ),
}
