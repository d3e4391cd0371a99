"""Writes a site's folder: a shipped site as the template, filled in with what a probe found."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from roundtrip.errors import UserError
from roundtrip.sites import debian, matrix, yamlfile
from roundtrip.sites.debian import External
from roundtrip.sites.probe import Facts

_CONSTANT = r"^{name} = .*?(?P<comment>  #.*)?$"
_MPIS = ("openmpi", "mpich")


def write(name: str, facts: Facts, checkout: Path) -> Path:
    """The new folder ``site-configs/<name>``; UserError if there is one, or the name is no name."""
    sites = checkout / "site-configs"
    if not re.fullmatch(r"[A-Za-z][\w-]*", name):
        raise UserError(f"'{name}' is no name for a site: letters, digits, - and _ only")
    folder = sites / name
    if folder.exists():
        raise UserError("there is one already; remove it, or choose another name", folder)
    template = choose_template(facts)
    (folder / "spack").mkdir(parents=True)
    source = sites / template
    config = rename((source / "reframe.py").read_text(), template, name)
    unknown: list[str] = []
    if facts.partition:
        config, unknown = fill(config, constants(facts))
        if facts.port is None:
            config = only_tcp(config)
    (folder / "reframe.py").write_text(config)
    unknown += _spack_part(source / "spack", folder, facts)
    (folder / "README.md").write_text(readme(name, template, facts, unknown))
    return folder


def choose_template(facts: Facts) -> str:
    """Without Slurm `spack`; else by the link layer of the port found, InfiniBand by default."""
    if facts.partition is None:
        return "spack"
    return "roce" if facts.port and facts.port.link_layer == "Ethernet" else "infiniband"


def constants(facts: Facts) -> dict[str, object | None]:
    """Values of the constants at the top of a template; None for what is not known."""
    over_ib = bool(facts.port and facts.port.link_layer == "InfiniBand")
    return {
        "FABRIC": None if facts.port else "ethernet",
        "HCA": facts.port.device if facts.port else None,
        "PORT": facts.port.number if facts.port else None,
        "INTERFACE": facts.interface(infiniband=over_ib),
        "PARTITION": facts.partition.name if facts.partition else None,
    }


def fill(text: str, values: Mapping[str, object | None]) -> tuple[str, list[str]]:
    """`text` with constants set, comments kept, and names of those that stay as they were."""
    unknown = []
    for name, value in values.items():
        pattern = re.compile(_CONSTANT.format(name=name), re.MULTILINE)
        if value is None:
            if name != "FABRIC":
                unknown.append(f"`{name}` in `reframe.py`")
            continue
        literal = f'"{value}"' if isinstance(value, str) else str(value)
        match = pattern.search(text)
        if match is None:
            raise UserError(f"the template has no constant {name}")
        line = f"{name} = {literal}{match['comment'] or ''}"
        text = text[: match.start()] + line + text[match.end() :]
    return text, unknown


def rename(text: str, template: str, name: str) -> str:
    """A template's text with its name, description and docstring changed to the new site's."""
    text = re.sub(r'\A""".*?"""', f'"""Site `{name}`: see README.md."""', text, flags=re.DOTALL)
    text = text.replace(f'environments("{template}"', f'environments("{name}"')
    text = text.replace(f'environments(\n    "{template}"', f'environments(\n    "{name}"')
    text = re.sub(r'"name": "' + template + '"', f'"name": "{name}"', text)
    text = re.sub(r'"descr": "(?:Template: )?', '"descr": "', text)
    return re.sub(r"^.*\"hostnames\":.*$", _hosts(name), text, flags=re.MULTILINE)


def only_tcp(text: str) -> str:
    """A template's text without the transports that need an RDMA device."""
    block = re.search(r"^TRANSPORTS = \{\n.*?^\}\n", text, re.DOTALL | re.MULTILINE)
    if block is None:
        raise UserError("the template has no TRANSPORTS")
    lines = [
        line for line in block[0].splitlines() if '"tcp"' in line or not line.startswith('    "')
    ]
    kept = "\n".join(lines).replace('"ipoib-tcp"', '"ethernet-tcp"')
    return text.replace(block[0], kept + "\n")


def readme(name: str, template: str, facts: Facts, unknown: list[str]) -> str:
    """What was found, and what is left to set."""
    found = "\n".join(f"- {line}" for line in facts.lines())
    left = "\n".join(f"- {item}" for item in unknown) or "- nothing, but read every value once"
    return (
        f"# Site `{name}`\n\nWritten by `roundtrip site new` after the template `{template}`. "
        f"Found:\n\n{found}\n\nNot found, so the template's value stands; set it:\n\n{left}\n\n"
        f"Then `roundtrip site check {name}`.\n"
    )


def packages(externals: list[External]) -> str:
    """``packages.yaml`` for a machine whose MPIs are externals."""
    entries: dict[str, dict[str, object]] = {
        "mpi": {"buildable": False},
        **{language: {"require": ["gcc"]} for language in ("c", "cxx", "fortran")},
    }
    for item in externals:
        entry = entries.setdefault(item.name, {"buildable": False, "externals": []})
        listed = entry["externals"]
        if isinstance(listed, list):
            listed.append({"spec": item.spec, "prefix": item.prefix})
    head = (
        "# Installed already, so Spack builds none of it. Paths of this machine: do not commit.\n"
    )
    return head + yamlfile.dump({"packages": entries})


def definitions(externals: list[External], template: Mapping[str, list[str]]) -> str:
    """``definitions.yaml`` for external MPIs: only what exists, each Boost with its own MPI.

    A Boost external is built for one MPI; the product MPI x Boost holds no other pair then.
    Without any, Spack builds those of the template.
    """
    mpis = [item.spec.split()[0] for item in externals if item.name in _MPIS]
    boosts = [item.spec.split()[0] for item in externals if item.name == "boost"]
    numbers = [{spec for spec in boosts if any(_pairs(externals, spec, mpi))} for mpi in mpis]
    common = sorted(set.intersection(*numbers)) if numbers else []
    lists = [
        {"mpis": mpis},
        {"boosts": [f"{spec} +mpi +serialization" for spec in common] or template["boosts"]},
        {"suites": template["suites"]},
        {"comparators": template["comparators"]},
    ]
    return yamlfile.dump({"definitions": lists})


def _pairs(externals: list[External], boost: str, mpi: str) -> list[External]:
    return [i for i in externals if i.spec.startswith(boost + " ") and i.spec.endswith("^" + mpi)]


def _spack_part(source: Path, folder: Path, facts: Facts) -> list[str]:
    """Write ``spack/``; what is left to set."""
    target = folder / "spack"
    for file in sorted(source.glob("*.yaml")):
        shutil.copyfile(file, target / file.name)
    if facts.partition is None:
        externals = debian.externals(folder / "prefix")
        if any(item.name in _MPIS for item in externals):
            (target / "packages.yaml").write_text(packages(externals))
            chosen = definitions(externals, matrix.definitions(source))
            (target / "definitions.yaml").write_text(chosen)
        return []
    text, unknown = (target / "packages.yaml").read_text(), []
    versions = dict(facts.versions)
    if facts.slurm:
        versions["slurm"] = slurm_version(facts.slurm)
    for name in ("slurm", "rdma-core", "ucx"):
        if name in versions:
            text = re.sub(rf"(spec: {name}@)[\w.-]+", rf"\g<1>{versions[name]}", text)
        else:
            unknown.append(f"version of {name} in `spack/packages.yaml`")
    (target / "packages.yaml").write_text(text)
    if facts.port is None:  # MVAPICH2's device is InfiniBand
        chosen = (target / "definitions.yaml").read_text()
        (target / "definitions.yaml").write_text(re.sub(r"  - mvapich2@.*\n", "", chosen))
    return unknown


def slurm_version(text: str) -> str:
    """Slurm's ``23.11.1`` in Spack's spelling, ``23-11-1-1``."""
    return "-".join(text.split(".")) + ("" if text.count(".") > 2 else "-1")


def _hosts(name: str) -> str:
    return (
        f'            "hostnames": [r"^{name}-login\\\\d*$"],  # chosen by RFM_SYSTEM all the same'
    )
