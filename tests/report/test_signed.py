"""Signed nights: who signed one, and forgeries that publishing and the history refuse."""

import json
import re
import shutil
import stat
import subprocess
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.bundles import redigest_report
from support.command import run_roundtrip
from support.json_files import edit
from support.nights import CAMPAIGN, ENVIRON, SITE, NightWriter
from support.synthetic import SyntheticTree

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.files import sha256
from roundtrip.history import ledger
from roundtrip.measure import bundle, manifest, signature, store
from roundtrip.report import public, publish
from roundtrip.report.pages import write
from roundtrip.report.pages.write import write_pages

pytestmark = pytest.mark.skipif(
    not shutil.which(signature.KEYGEN_COMMAND),
    reason="no ssh-keygen: apt-get install openssh-client",
)


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two nights of one site, published in ``reports``."""
    folder = tmp_path_factory.mktemp("signed")
    for seed in (1, 2):
        publish.publish(bundle.build_bundle(tree(folder / f"run{seed}", seed)), folder / "reports")
    return folder


def tree(folder: Path, seed: int) -> Path:
    settings: dict[str, Any] = {"launches": 2, "sizes": [1, 64], "samples": 2, "seed": seed}
    settings |= {"environs": (ENVIRON,), "started": f"2026-11-2{seed}T07:00:00Z"}
    return SyntheticTree(folder, **settings).write().path


@pytest.fixture
def reports(master: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(master / "reports", tmp_path / "reports"))


def night(reports: Path, day: int) -> Path:
    return reports / "synthetic" / "local" / f"2026-11-2{day}" / "r1"


def listed_anew(revision: Path, **changes: Any) -> Path:
    """The revision with a manifest of its files as they are now, and its old signature."""
    bundle_path = revision / "bundle"
    facts = {**json.loads((bundle_path / "manifest.json").read_text()), **changes}
    signature_bytes = (bundle_path / manifest.SIGNATURE_FILE).read_bytes()
    manifest.write_unsigned(bundle_path, facts, facts["signer"])
    (bundle_path / manifest.SIGNATURE_FILE).write_bytes(signature_bytes)
    return redigest_report(revision)


def unsigned(revision: Path, **changes: Any) -> Path:
    """The revision as somebody without the key can write it, its page drawn from what is in it."""
    bundle_path = revision / "bundle"
    facts = json.loads((bundle_path / "manifest.json").read_text())
    manifest.write_unsigned(bundle_path, {**facts, **changes})
    for name in ("report.html", "report.md"):
        (revision / name).unlink()
    for name in ("figures", "tables"):
        shutil.rmtree(revision / name)
    publish.write_revision(bundle_path, revision)
    return redigest_report(revision)


def read(reports: Path) -> ledger.Ledger:
    return ledger.read_ledger(reports, "synthetic", "local")


def test_a_night_says_who_signed_it_and_names_the_one_before(reports: Path) -> None:
    first, second = (manifest.verify(night(reports, day) / "bundle") for day in (1, 2))
    assert second.data["before"] == {"digest": first.digest, "started": first.data["started"]}
    assert "before" not in first.data
    for day, bundle_manifest in ((1, first), (2, second)):
        signer = signature.check_signature(night(reports, day) / "bundle", bundle_manifest)
        assert signer.state == "signed" and signer.key.startswith("SHA256:")
        page = (night(reports, day) / "report.html").read_text()
        assert signer.key in page and "unsigned" not in page
        assert publish.verify_revision(night(reports, day)) == []
    assert second.measurement_digest not in (second.digest, first.measurement_digest)
    site_ledger = read(reports)
    assert site_ledger.warnings == site_ledger.remarks == ()
    signatures = signature.describe_signatures(site_ledger.signatures)
    assert signatures == [f"2 nights signed by {signer.key}"]


def test_openssh_verifies_it_with_the_public_half_alone(reports: Path, tmp_path: Path) -> None:
    key = paths.state() / "sites" / "local.signing"
    assert [stat.S_IMODE(key.stat().st_mode), key.stat().st_nlink] == [0o400, 1]
    (tmp_path / "signers").write_text(f"local {key.with_name('local.signing.pub').read_text()}")
    bundle_path = night(reports, 2) / "bundle"
    command = ["ssh-keygen", "-Y", "verify", "-f", str(tmp_path / "signers"), "-I", "local"]
    command += ["-n", signature.SIGNATURE_NAMESPACE]
    command += ["-s", str(bundle_path / manifest.SIGNATURE_FILE)]
    content = (bundle_path / "manifest.json").read_bytes()
    process = subprocess.run(command, input=content, capture_output=True)
    assert process.returncode == 0
    assert b'Good "roundtrip-night" signature for local' in process.stdout
    private = key.read_bytes().splitlines()[2]
    published_files = [file for file in reports.rglob("*") if file.is_file()]
    assert not any(private in file.read_bytes() for file in published_files)


def test_an_edited_page_whose_digest_was_redone_is_refused(reports: Path, tmp_path: Path) -> None:
    page = night(reports, 1) / "report.html"
    page.write_text(page.read_text().replace("</body>", "<script>alert(1)</script></body>"))
    with pytest.raises(UserError, match=r"report\.html \(and 1 more\) differs when rebuilt"):
        public.copy_to_public(redigest_report(night(reports, 1)), tmp_path / "public")
    assert not list((tmp_path / "public").rglob("report.html"))


def test_forged_samples_and_medians_are_refused(reports: Path, tmp_path: Path) -> None:
    revision = night(reports, 2)
    for table, columns in (("samples", ["value"]), ("medians", ["median", "low", "high"])):
        file = revision / "bundle" / f"{table}.parquet"
        pl.read_parquet(file).with_columns(pl.col(columns) * 1.5).write_parquet(file)
    listed_anew(revision)
    for refuse in (
        lambda: public.copy_to_public(revision, tmp_path / "public"),
        lambda: publish.verify_revision(revision),
    ):
        with pytest.raises(UserError, match="changed since it was signed"):
            refuse()
    site_ledger = read(reports)
    assert "changed since it was signed" in site_ledger.warnings[0]
    assert site_ledger.nights["night"].unique().to_list() == ["2026-11-21T07:00:00Z"]


def test_a_signature_that_was_taken_away_is_missed(reports: Path) -> None:
    (night(reports, 2) / "bundle" / manifest.SIGNATURE_FILE).unlink()
    with pytest.raises(UserError, match=r"manifest\.json\.sig: missing"):
        publish.verify_revision(redigest_report(night(reports, 2)))
    bundle_path = night(reports, 1) / "bundle"
    manifest.write_unsigned(bundle_path, json.loads((bundle_path / "manifest.json").read_text()))
    (bundle_path / manifest.SIGNATURE_FILE).write_text("")
    with pytest.raises(UserError, match=r"manifest\.json\.sig is not in the manifest"):
        manifest.verify(bundle_path)


def test_a_cache_with_other_medians_is_not_taken(tmp_path: Path) -> None:
    NightWriter(tmp_path, series=10).write(3)
    old_ledger = ledger.read_ledger(tmp_path, CAMPAIGN, SITE)
    file = tmp_path / CAMPAIGN / SITE / ledger.CACHE_FILE
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    buffer = BytesIO()
    rows = pl.read_parquet(BytesIO(parts["nights.parquet"]))
    rows.with_columns(pl.col("median") * 1.5).write_parquet(buffer)
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in {**parts, "nights.parquet": buffer.getvalue()}.items():
            archive.writestr(name, content)
    assert ledger.load_cache(file.parent).nights.is_empty()
    assert ledger.read_ledger(tmp_path, CAMPAIGN, SITE).nights.equals(old_ledger.nights)
    assert ledger.load_cache(file.parent).nights.height == old_ledger.nights.height


def test_a_history_page_that_somebody_else_wrote_is_written_anew(tmp_path: Path) -> None:
    for revision in NightWriter(tmp_path, series=2).write(2):
        (revision / "report.html").write_text("")
    write_pages(tmp_path)
    page = tmp_path / CAMPAIGN / SITE / "history.html"
    page_bytes = page.read_bytes()
    page.write_bytes(page_bytes + b"<script></script>")
    edit(page.parent / write.HISTORY_SUMMARY_FILE, page=sha256(page.read_bytes()))
    write_pages(tmp_path)
    assert page.read_bytes() == page_bytes


def test_a_manifest_of_another_site_and_year_is_not_this_night(reports: Path) -> None:
    revision = night(reports, 1)
    signer = manifest.verify(revision / "bundle").data["signer"]
    listed_anew(revision, site="elsewhere", started="2019-11-21T07:00:00Z", signer=signer)
    with pytest.raises(UserError, match="changed since it was signed"):
        publish.verify_revision(revision)
    why = "its bundle is of elsewhere, but it lies in the folder of lo"
    with pytest.raises(UserError, match=why):
        publish.verify_revision(unsigned(revision))
    with pytest.raises(UserError, match="its bundle is of 2019-11-21"):
        publish.verify_revision(unsigned(revision, site="local"))


def test_one_bundle_with_several_dates_is_one_night(reports: Path, tmp_path: Path) -> None:
    for day in (0, 3, 4):
        revision = Path(shutil.copytree(night(reports, 1), night(reports, day)))
        unsigned(revision, started=f"2026-11-2{day}T07:00:00Z")
    site_ledger = read(reports)
    assert site_ledger.nights["night"].n_unique() == 2
    other = f"its samples are those of {night(reports, 1)}: one run"
    starts = [f"{night(reports, day)}: {other}" for day in (0, 3, 4)]
    warnings = zip(site_ledger.warnings, starts, strict=True)
    assert all(warning.startswith(start) for warning, start in warnings), site_ledger.warnings
    public.copy_to_public(night(reports, 1), tmp_path / "public")
    why = "its samples are those of .*2026-11-21/r1: one run is one night"
    for put in (
        lambda: public.copy_to_public(night(reports, 3), tmp_path / "public"),
        lambda: publish.publish(night(reports, 3) / "bundle", tmp_path / "public"),
    ):
        with pytest.raises(UserError, match=why):
            put()
    assert len(store.night_folders(tmp_path / "public" / "synthetic" / "local")) == 1


def test_a_night_replaced_after_it_was_named_is_reported(reports: Path) -> None:
    unsigned(night(reports, 1), finished=None)
    site_ledger = read(reports)
    (remark,) = site_ledger.remarks
    assert "is not the one that it names before it" in remark
    states = sorted(signer.state for signer in site_ledger.signatures.values())
    assert states == ["signed", "unsigned"]


def test_a_foreign_key_says_so_until_the_site_lists_it(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision = night(reports, 1)
    bundle_manifest = manifest.verify(revision / "bundle")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    signer = signature.check_signature(revision / "bundle", bundle_manifest)
    assert signer.state == "foreign"
    assert signer.sentence.endswith("a key that the site does not list")
    messages: list[str] = []
    copy = publish.publish(revision / "bundle", tmp_path / "mine", print_line=messages.append)
    assert messages == [f"{signer.sentence}: its report includes no earlier nights"]
    assert manifest.verify(copy / "bundle") == bundle_manifest
    folder = tmp_path / "checkout" / "site-configs" / "local"
    for part in ("campaigns", "checks", "site-configs/local"):
        (tmp_path / "checkout" / part).mkdir(parents=True)
    (folder / signature.ALLOWED_SIGNERS_FILE).write_text(
        f"local {bundle_manifest.data['signer']}\n"
    )
    monkeypatch.chdir(tmp_path / "checkout")
    assert signature.check_signature(revision / "bundle", bundle_manifest).state == "signed"
    (folder / signature.ALLOWED_SIGNERS_FILE).write_text(f"else {bundle_manifest.data['signer']}\n")
    assert signature.check_signature(revision / "bundle", bundle_manifest).state == "foreign"


def test_without_ssh_keygen_a_night_is_unsigned_and_says_so(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    messages: list[str] = []
    bundle_path = bundle.build_bundle(tree(tmp_path / "run3", 3), tell=messages.append)
    why = "this night is not signed: there is no ssh-keygen: install openssh-client"
    assert messages == [why]
    state = signature.check_signature(bundle_path, manifest.verify(bundle_path))
    assert state == signature.UNSIGNED
    signed_path = night(reports, 1) / "bundle"
    assert signature.check_signature(signed_path, manifest.verify(signed_path)).state == "unchecked"
    assert "unsigned" in (publish.publish(bundle_path, tmp_path / "mine") / "report.md").read_text()


def test_a_key_that_others_can_read_signs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    signature.ensure_signing_key("local").chmod(0o440)
    messages: list[str] = []
    bundle_path = bundle.build_bundle(tree(tmp_path / "run", 1), tell=messages.append)
    assert "signer" not in manifest.verify(bundle_path).data
    assert len(messages) == 1 and messages[0].startswith("this night is not signed: ")


def test_the_key_of_a_variable_is_taken_or_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "shared"
    words = ["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-C", "ops@falcon.example.org", "-f", key]
    subprocess.run([str(word) for word in words], check=True)
    monkeypatch.setenv(signature.SIGNING_KEY_VARIABLE, str(key))
    bundle_path = bundle.build_bundle(tree(tmp_path / "run", 1))
    signer = signature.check_signature(bundle_path, manifest.verify(bundle_path))
    assert signer.state == "signed" and signer.key.endswith("([withheld])")
    monkeypatch.setenv(signature.SIGNING_KEY_VARIABLE, str(tmp_path / "none"))
    messages: list[str] = []
    bundle.build_bundle(tree(tmp_path / "other", 2), tell=messages.append)
    why = "missing: ROUNDTRIP_SIGNING_KEY names it; put the key of the site there"
    assert messages[0].endswith(why)


def test_a_preview_names_each_field_and_what_is_new(reports: Path, tmp_path: Path) -> None:
    destination = tmp_path / "public"
    public.copy_to_public(night(reports, 1), destination)
    command = ["publish", night(reports, 2), "--to", destination, "--preview"]
    status, text, _ = run_roundtrip(*command)
    assert status == 0, text
    assert re.match(r"\S+: \d+ fields, \d+ new, \d+ with new values\n", text)
    assert "\n  new      manifest.json before digest = " in text
    assert "\n  changed  manifest.json started = 2026-11-22T07" in text
    assert " cases.parquet boost = 1.81.0\n" in text
    assert len(store.night_folders(destination / "synthetic" / "local")) == 1
    names = {field.name for field in public.disclosed_fields(night(reports, 2), destination)}
    assert {"env/host.json cpu model", "samples.parquet value", "campaign.toml launches"} <= names
    page = night(reports, 2) / "report.html"
    page.write_text("")
    status, _, errors = run_roundtrip(*command)
    assert status == 1 and "would be refused: " in errors
