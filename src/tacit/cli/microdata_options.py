"""Options of `tacit check`, `anonymize` and `attack`, grouped. An option without effect is an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, get_args

from tacit.anonymity.attacks import AttackKind
from tacit.anonymity.privacy_models import KAnonymity, LDiversity, Model, NTCloseness, TCloseness
from tacit.cli import microdata_files, output_files
from tacit.errors import ColumnValueError, InvalidError, UnusedOptionError, bad_value

_KINDS: tuple[str, ...] = get_args(AttackKind)
_KINDS_OF_OPTION = {
    "--excluded": ("background", "linkage"),
    "--factor": ("skewness",),
    "--groups": ("similarity",),
    "--outside": ("linkage", "background"),
    "--hierarchies": ("linkage", "background"),
}
_TABLES = (".csv", ".tsv", ".txt", ".parquet")


def check_unused(options: Mapping[str, object], situation: str, *, hint: str | None = None) -> None:
    """Raise UnusedOptionError if one of the options is given: if it is not None, False or empty.

    Args:
        options: values by option.
        situation: the reason why they have no effect, such as "without --t".
        hint: the alternative to removing the option.
    """
    for option, value in options.items():
        if value is not None and value is not False and value not in ((), []):
            raise UnusedOptionError(option, situation, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """The table of a command, and the roles of its columns."""

    path: str
    quasi: Sequence[str]
    sensitive: Sequence[str]
    unit: str | None = None
    sep: str | None = None
    relation: str | None = None

    def check_files(self, other: str | None = None) -> None:
        """Check that this table and a second table can be files, and that --sep and --table have an effect."""
        tables = [self.path] if other is None else [self.path, other]
        microdata_files.check_tables(tables)
        files = filter(microdata_files.is_local_file, tables)
        if all(path.lower().endswith(".parquet") for path in files):
            check_unused({"--sep": self.sep}, "without a CSV file")
        if microdata_files.is_local_file(self.path):
            check_unused({"--table": self.relation}, "without a database")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The privacy models that a published table must meet."""

    k: int | None
    l: float | None  # noqa: E741 - the literature's letter
    kind: str | None
    c: float | None
    t: float | None
    n: int | None

    def models(self) -> list[Model]:
        """Return the models, at least one."""
        models: list[Model] = [] if self.k is None else [KAnonymity(self.k)]
        if self.l is None:
            check_unused({"--kind": self.kind, "--c": self.c}, "without --l")
        else:
            models.append(LDiversity(_whole(self.l), kind=self.kind or "distinct", c=self.c))  # type: ignore[arg-type]  # it checks
        if self.t is None:
            check_unused({"--n": self.n}, "without --t")
        else:
            models.append(TCloseness(self.t) if self.n is None else NTCloseness(self.n, self.t))
        if not models:
            raise InvalidError(
                "There is no requirement.", argument="--k", hint="Give at least one of --k, --l and --t."
            )
        return models


def _whole(l: float) -> float:  # noqa: E741 - the literature's letter
    if not isfinite(l):
        raise bad_value("--l", l, "a finite number ≥ 1")
    return int(l) if l == int(l) else l


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyOptions:
    """The files of hierarchies, and the separator of their cells."""

    files: Sequence[str]
    sep: str | None


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The search for a recoding."""

    method: str
    suppression: float | None
    objective: str
    mean: str
    seconds: float | None

    def check(self) -> None:
        """Check the time limit, and that every option has an effect with the method."""
        if self.method in {"local", "mondrian"}:
            situation = f"with --method {self.method}, which suppresses no row"
            check_unused({"--suppression": self.suppression}, situation, hint="Remove it, or use --method optimal.")
        if self.method == "mondrian":
            situation = "with --method mondrian, which does not search"
            check_unused({"--seconds": self.seconds}, situation, hint="Remove it, or use --method optimal or local.")
        if self.seconds is not None and not (self.seconds > 0 and isfinite(self.seconds)):
            raise bad_value("--seconds", self.seconds, "a finite number > 0", hint="Leave it out for no limit.")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """The files that `anonymize` writes."""

    out: str | None
    spreadsheet: bool
    save: str | None
    chart: str | None
    force: bool

    def check(self, inputs: Sequence[str]) -> None:
        """Check that the files can be written and are not among the inputs."""
        files = {"out": self.out, "save": self.save, "chart": self.chart}
        microdata_files.check_paths({f"--{option}": path for option, path in files.items()})
        output_files.check_chart(self.chart)
        output_files.check(files, microdata_files.existing(inputs), force=self.force)
        if self.out is not None and not self.out.lower().endswith(_TABLES):
            raise bad_value("--out", self.out, f"a file that ends in one of {', '.join(_TABLES)}")
        if self.out is not None and self.out.lower().endswith(".parquet"):
            check_unused(
                {"--spreadsheet": self.spreadsheet},
                f"with the Parquet file {self.out!r}",
                hint="Remove it, or write a .csv file.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnonymizeOptions:
    """All options of `tacit anonymize`."""

    table: TableOptions
    models: ModelOptions
    hierarchies: HierarchyOptions
    keep: Sequence[str]
    search: SearchOptions
    output: OutputOptions

    def check_draft(self) -> None:
        """Check that no option is given that has no effect with --draft."""
        models, output = (
            {f"--{name}": value for name, value in asdict(part).items()} for part in (self.models, self.output)
        )
        hierarchies = {"--hierarchies": self.hierarchies.files, "--hierarchy-sep": self.hierarchies.sep}
        search = {"--suppression": self.search.suppression, "--seconds": self.search.seconds}
        roles = {"--sensitive": self.table.sensitive, "--unit": self.table.unit, "--keep": self.keep}
        check_unused({**models, **hierarchies, **search, **roles, **output}, "with --draft")
        if not self.table.quasi:
            raise InvalidError(
                "There is no column to draft a hierarchy for.",
                argument="--quasi",
                hint="Name the columns with --quasi.",
            )

    def rules(self) -> Any:  # noqa: ANN401 - hierarchies by column, or names
        """Return the hierarchies; without files, the names of the columns for which to draft them."""
        files, sep, quasi = self.hierarchies.files, self.hierarchies.sep, self.table.quasi
        if not microdata_files.has_column_files(files):
            check_unused({"--hierarchy-sep": sep}, "without --hierarchies COLUMN=FILE")
        if files:
            return microdata_files.rules_for(files, sep, quasi)
        if not quasi:
            raise InvalidError(
                "There is no quasi-identifier.",
                argument="--quasi",
                hint="Name a column by which others may know a person with --quasi, or give --hierarchies.",
            )
        return quasi

    def required(self) -> list[Model]:
        """Return the models; check that there is a sensitive column if a model needs it."""
        models = self.models.models()
        if not self.table.sensitive and any(not isinstance(model, KAnonymity) for model in models):
            raise InvalidError(
                "There is no sensitive column.",
                argument="--sensitive",
                hint="Name the column of --l and --t with --sensitive.",
            )
        return models


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackOptions:
    """All options of `tacit attack`; an option that is not given is None or empty."""

    table: TableOptions
    kind: str
    excluded: Sequence[str]
    factor: float | None
    groups: str | None
    outside: str | None
    hierarchies: HierarchyOptions

    def check(self) -> None:
        """Check the kind of the attack, and that every option has an effect with it."""
        if self.kind not in _KINDS:
            raise bad_value("--kind", self.kind, f"one of {', '.join(_KINDS)}")
        values = {
            "--excluded": self.excluded,
            "--factor": self.factor,
            "--groups": self.groups,
            "--outside": self.outside,
            "--hierarchies": self.hierarchies.files,
        }
        for option, kinds in _KINDS_OF_OPTION.items():
            if self.kind not in kinds:
                uses = " or ".join(f"--kind {kind}" for kind in kinds)
                check_unused({option: values[option]}, f"with --kind {self.kind}", hint=f"Remove it, or use {uses}.")
        if self.outside is None and self.kind == "background":
            check_unused({"--hierarchies": self.hierarchies.files}, "without --outside")
        if self.groups is None and not microdata_files.has_column_files(self.hierarchies.files):
            situation = "without --groups or --hierarchies COLUMN=FILE"
            check_unused({"--hierarchy-sep": self.hierarchies.sep}, situation)

    def excluded_values(self) -> int | list[str] | None:
        """Return the sensitive values that are ruled out, or their number; None if the option is not given."""
        if len(self.excluded) == 1 and self.excluded[0].isdecimal():
            return int(self.excluded[0])
        return list(self.excluded) or None

    @contextmanager
    def groups_hint(self) -> Iterator[None]:
        """Add a hint about --groups to an error about sensitive values that are not numbers."""
        try:
            yield
        except ColumnValueError as error:
            if self.kind == "similarity" and self.groups is None:
                hint = "Or give groups of its values with --groups."
                error.add_hint(hint)
            raise
