"""Files of `tacit local`: frames that no message can break, outputs that replace nothing by accident."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli_runs import Done, run
from tacit.cli import local_reports, output_files
from tacit.errors import InvalidError, SourceError
from tacit.local import OLH, Aggregator, Protocol, Reports, protocol

PEOPLE = ["tea"] * 60 + ["mate"] * 40
HEAD = b"TLFRAME\x01"  # as the reference says, not as the program does


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "drinks.txt").write_text("tea\ncoffee\nwater\nmate\n", encoding="utf-8")
    (tmp_path / "people.txt").write_text("\n".join(PEOPLE) + "\n", encoding="utf-8")
    for epsilon, name in (("2", "survey.json"), ("3", "other.json")):
        saved = run(tmp_path, "local", "choose", "--domain", "drinks.txt", "--epsilon", epsilon, "--save", name)
        assert saved.returncode == 0
    return tmp_path


def oracle(folder: Path) -> Protocol:
    return protocol((folder / "survey.json").read_text(encoding="utf-8"))


def framed(*messages: bytes) -> bytes:
    return HEAD + b"".join(len(message).to_bytes(8, "little") + message for message in messages)


def counted(done: Done) -> tuple[int, int]:
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    return result["reports"], result["dropped"]


def aggregate(folder: Path, *words: str) -> Done:
    return run(folder, "local", "aggregate", "survey.json", *words, "--json")


def refused(done: Done, *words: str) -> str:
    assert done.returncode in {2, 4}, (done.stdout, done.stderr)
    assert done.stdout == ""
    message = str(json.loads(done.stderr)["error"]["message"])
    assert all(word in message for word in words), message
    return message


def lying(message: bytes, reports: int) -> bytes:
    """Return a message that claims another number of reports."""
    return message[:8] + reports.to_bytes(8, "little") + message[16:]


@pytest.mark.parametrize("claimed", [0, 2, 3, 40, 2**40, 2**64 - 1])
def test_a_message_that_lies_about_its_length_spoils_itself_alone(folder: Path, claimed: int) -> None:
    good = oracle(folder).randomize(PEOPLE).to_bytes()
    liar = lying(oracle(folder).randomize(["tea"]).to_bytes(), claimed)
    (folder / "day.bin").write_bytes(framed(good, liar, good))
    assert counted(aggregate(folder, "day.bin")) == (200, 1)


def test_what_is_malformed_or_strange_is_dropped_alone_and_counted(folder: Path) -> None:
    good = oracle(folder).randomize(PEOPLE).to_bytes()
    strange = OLH(domain=9, epsilon=1).randomize([1, 2]).to_bytes()
    fat = good[:4] + (2).to_bytes(4, "little") + lying(good, 50)[8:]  # a width of 2 bytes, for these very parameters
    high = oracle(folder).randomize(["tea"]).to_bytes()[:-1] + b"\xff"  # a record beyond the domain
    messages = (good, b"", b"TL", b"TL\x01rubbish", strange, fat, high, good[:-1], good + b"\x00", good)
    (folder / "day.bin").write_bytes(framed(*messages))
    assert counted(aggregate(folder, "day.bin")) == (200, 3 + 2 + 50 + 1 + 2)


def test_many_single_reports_are_counted_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_reports, "_BATCH_BYTES", 128)
    chance = oracle(folder)
    ones = [chance.randomize([person]).to_bytes() for person in PEOPLE]
    (folder / "day.bin").write_bytes(framed(*ones * 30))
    assert counted(aggregate(folder, "day.bin")) == (3000, 0)
    joined = Aggregator(chance)
    joined.add_bytes(ones * 30)
    rows = json.loads(aggregate(folder, "day.bin").stdout)["rows"]
    assert {row["value"]: row["count"] for row in rows} == pytest.approx(
        dict(zip(joined.estimate().domain, joined.estimate().counts.tolist(), strict=True))
    )


@pytest.mark.parametrize("lost", [1, 7, 30, 33])
def test_a_truncated_file_is_an_error_with_the_number_of_complete_messages(folder: Path, lost: int) -> None:
    good = [oracle(folder).randomize(["tea"]).to_bytes() for _ in range(3)]
    whole = framed(*good)
    (folder / "day.bin").write_bytes(whole[:-lost])
    end = len(framed(*good[:2]))
    refused(
        aggregate(folder, "day.bin", "--tally", "all.npz"),
        "truncated after 2 complete messages",
        f"head -c {end} day.bin",
    )
    assert not (folder / "all.npz").exists()
    (folder / "part.bin").write_bytes(whole[:end])
    assert counted(aggregate(folder, "part.bin")) == (2, 0)


def test_framed_files_may_be_joined(folder: Path) -> None:
    part = framed(*(oracle(folder).randomize([person]).to_bytes() for person in PEOPLE))
    (folder / "both.bin").write_bytes(part + part)
    assert counted(aggregate(folder, "both.bin")) == (200, 0)


def test_a_file_given_twice_is_refused(folder: Path) -> None:
    run(folder, "local", "randomize", "survey.json", "people.txt", "--out", "day.bin")
    refused(aggregate(folder, "day.bin", "./day.bin"), "twice")


def test_one_bare_message_is_read_and_joined_ones_are_not(folder: Path) -> None:
    good = oracle(folder).randomize(PEOPLE)
    (folder / "one.bin").write_bytes(good.to_bytes())
    assert counted(aggregate(folder, "one.bin")) == (100, 0)
    (folder / "two.bin").write_bytes(good.to_bytes() + good.to_bytes())
    refused(aggregate(folder, "two.bin"), "starts like one message", "0 reports were read")
    (folder / "later.bin").write_bytes(HEAD[:-1] + b"\x02" + framed(good.to_bytes())[8:])
    refused(aggregate(folder, "later.bin"), "another version")


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 200])
def test_random_bytes_are_no_reports_and_no_traceback(folder: Path, length: int) -> None:
    noise = np.random.default_rng(length).bytes(length)
    for head in (b"", b"TL\x01\x02", HEAD):
        (folder / "noise.bin").write_bytes(head + noise)
        refused(aggregate(folder, "noise.bin", "--tally", "all.npz"))
        assert not (folder / "all.npz").exists()


def test_randomize_writes_what_the_reference_says(folder: Path) -> None:
    done = run(folder, "local", "randomize", "survey.json", "people.txt", "--out", "day.bin")
    assert done.returncode == 0
    data = (folder / "day.bin").read_bytes()
    assert data[:8] == HEAD
    assert int.from_bytes(data[8:16], "little") == len(data) - 16
    assert len(Reports.from_bytes(data[16:])) == 100


@pytest.mark.parametrize("name", ["day.bin", "day.jsonl", "day.parquet", "-"])
def test_reports_for_other_parameters_are_named_as_such_and_no_tally_is_saved(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = "day.jsonl" if name == "-" else name
    run(folder, "local", "randomize", "other.json", "people.txt", "--out", out)
    digest = protocol((folder / "other.json").read_text(encoding="utf-8")).digest
    with (folder / "day.jsonl" if name == "-" else folder / "people.txt").open(encoding="utf-8") as lines:
        monkeypatch.setattr("sys.stdin", lines)
        done = aggregate(folder, name, "--tally", "all.npz")
    refused(done, "100 reports, all made for other parameters", digest, "No tally was saved", oracle(folder).digest)
    assert not (folder / "all.npz").exists()


def test_a_tally_stays_as_it_was_when_nothing_counts(folder: Path) -> None:
    run(folder, "local", "randomize", "survey.json", "people.txt", "--out", "day.bin")
    run(folder, "local", "randomize", "other.json", "people.txt", "--out", "strange.jsonl")
    assert counted(aggregate(folder, "day.bin", "--tally", "all.npz")) == (100, 0)
    before = (folder / "all.npz").read_bytes()
    with (folder / "strange.jsonl").open("a", encoding="utf-8") as file:
        file.write("rubbish\n")
    words = ("101 reports, 100 made for other parameters", "1 malformed")
    refused(aggregate(folder, "strange.jsonl", "--tally", "all.npz"), *words)
    (folder / "rubbish.jsonl").write_text("rubbish\n{}\n", encoding="utf-8")
    refused(aggregate(folder, "rubbish.jsonl", "--tally", "all.npz"), "2 reports, all malformed")
    assert (folder / "all.npz").read_bytes() == before
    (folder / "quiet.jsonl").write_text("", encoding="utf-8")
    assert counted(aggregate(folder, "quiet.jsonl", "--tally", "all.npz")) == (100, 0)
    refused(aggregate(folder, "quiet.jsonl", "--tally", "new.npz"), "no report")
    assert not (folder / "new.npz").exists()
    assert counted(aggregate(folder, "day.bin", "strange.jsonl", "--tally", "all.npz")) == (200, 101)


def test_a_tally_that_is_no_tally_or_for_other_parameters_is_named(folder: Path) -> None:
    assert aggregate(folder, "missing.npz").returncode == 4
    run(folder, "local", "randomize", "other.json", "people.txt", "--out", "day.bin")
    run(folder, "local", "aggregate", "other.json", "day.bin", "--tally", "other.npz")
    refused(aggregate(folder, "other.npz"), "'other.npz' is a tally for other parameters", oracle(folder).digest)
    refused(aggregate(folder, "--tally", "other.npz"), "'other.npz' is a tally for other parameters")
    (folder / "no.npz").write_text("no", encoding="utf-8")
    refused(aggregate(folder, "no.npz"), "'no.npz'", "a tally")


@pytest.mark.parametrize(
    "words",
    [
        ("choose", "--domain", "drinks.txt", "--epsilon", "1", "--save", "drinks.txt"),
        ("choose", "--domain", "drinks.txt", "--epsilon", "1", "--save", "x.json", "--chart", "x.json"),
        ("randomize", "survey.json", "people.txt", "--out", "survey.json"),
        ("randomize", "survey.json", "people.txt", "--out", "people.txt"),
        ("randomize", "survey.json", "people.txt", "--out", "./link.txt"),
        ("aggregate", "survey.json", "day.jsonl", "--chart", "survey.json"),
        ("aggregate", "survey.json", "all.npz", "--tally", "all.npz"),
        ("aggregate", "survey.json", "day*.parquet", "--tally", "day1.parquet"),
    ],
    ids=" ".join,
)
def test_an_output_is_never_an_input_even_by_force(folder: Path, words: tuple[str, ...]) -> None:
    (folder / "link.txt").symlink_to("people.txt")
    for out in ("day.jsonl", "day1.parquet"):
        run(folder, "local", "randomize", "survey.json", "people.txt", "--out", out)
    aggregate(folder, "day.jsonl", "--tally", "all.npz")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    for force in ((), ("--force",)):
        refused(run(folder, "local", *words, *force, "--json"))
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@pytest.mark.parametrize(
    "words",
    [
        ("choose", "--domain-size", "4", "--epsilon", "1", "--save", "there"),
        ("choose", "--domain-size", "4", "--epsilon", "1", "--chart", "there.json"),
        ("randomize", "survey.json", "people.txt", "--out", "there"),
        ("randomize", "survey.json", "people.txt", "--out", "there.jsonl"),
        ("aggregate", "survey.json", "day.jsonl", "--chart", "there.json"),
        ("simulate", "--epsilon", "1", "--people", "9", "--protocol", "GRR", "--chart", "there.json"),
    ],
    ids=" ".join,
)
def test_a_file_that_exists_is_replaced_by_force_alone(folder: Path, words: tuple[str, ...]) -> None:
    run(folder, "local", "randomize", "survey.json", "people.txt", "--out", "day.jsonl")
    out = folder / words[-1]
    out.write_text("mine", encoding="utf-8")
    refused(run(folder, "local", *words, "--json"), "already exists", "--force")
    assert out.read_text(encoding="utf-8") == "mine"
    done = run(folder, "local", *words, "--force", "--json")
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() != b"mine"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "reports.bin"
    target.write_text("before", encoding="utf-8")

    def fails() -> None:
        with output_files.atomic(str(target)) as temporary:
            temporary.write_text("half", encoding="utf-8")
            raise OSError

    with pytest.raises(SourceError, match="unchanged"):
        fails()
    assert [file.name for file in tmp_path.iterdir()] == ["reports.bin"]
    assert target.read_text(encoding="utf-8") == "before"
    output_files.write_text(str(target), "after")
    assert target.read_text(encoding="utf-8") == "after"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("out", ["--save", "--out"])
def test_a_device_that_takes_nothing_is_a_clear_error(folder: Path, out: str) -> None:
    choose = ("choose", "--domain-size", "8", "--epsilon", "1", "--save", "/dev/full")
    randomize = ("randomize", "survey.json", "people.txt", "--out", "/dev/full")
    done = run(folder, "local", *(choose if out == "--save" else randomize), "--json")
    refused(done, "/dev/full", "could not be written", "run the command again")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no devices")
def test_a_tally_is_a_regular_file(folder: Path) -> None:
    """Reading a device would never end, and it cannot be replaced."""
    assert run(folder, "local", "randomize", "survey.json", "people.txt", "--out", "r.jsonl").returncode == 0
    for device in ("/dev/full", "/dev/zero"):
        refused(aggregate(folder, "r.jsonl", "--tally", device), "not a regular file")
        with pytest.raises(InvalidError, match="not a regular file"):
            Aggregator.load(device)
        with pytest.raises(InvalidError, match="not a regular file"):
            oracle(folder).aggregator().save(device)
    assert Path("/dev/zero").is_char_device()


def test_a_domain_of_lines_holds_text_alone(folder: Path) -> None:
    (folder / "odd.txt").write_text("\ufeff7\n\n true\r\nfalse\n", encoding="utf-8")
    done = run(folder, "local", "choose", "--domain", "odd.txt", "--epsilon", "1", "--save", "odd.json")
    assert done.returncode == 0
    chosen = protocol((folder / "odd.json").read_text(encoding="utf-8"))
    assert list(chosen.domain) == ["7", " true", "false"]
