"""The four tables of the lecture notes: tacit confirms what the notes state, and each attack succeeds."""

from __future__ import annotations

import pytest

import tacit as tc
from tacit.anonymity.attacks import AttackKind
from tacit.errors import UnusedOptionError

MICRODATA = {
    "zip": ["47677", "47602", "47678", "47905", "47909", "47906"],
    "age": [29, 22, 27, 43, 52, 47],
    "gen": ["F", "F", "M", "M", "F", "M"],
    "disease": ["Ovarian Cancer", "Ovarian Cancer", "Prostate Cancer", "Flu", "Heart Disease", "Heart Disease"],
}
THREE_ANONYMOUS = {
    "zip": ["476**"] * 3 + ["4790*"] * 3,
    "age": ["2*"] * 3 + ["[43,52]"] * 3,
    "gen": ["*"] * 6,
    "disease": MICRODATA["disease"],
}
PATIENTS = {
    "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
    "age": ["2*"] * 3 + ["≥40"] * 3 + ["3*"] * 3,
    "disease": ["Heart Disease"] * 3 + ["Flu", "Heart Disease", "Cancer", "Heart Disease", "Cancer", "Cancer"],
}
DIVERSE = {
    "zip": PATIENTS["zip"],
    "age": PATIENTS["age"],
    "salary": [20, 30, 40, 50, 100, 70, 60, 80, 90],
    "disease": [
        "Gastric Ulcer", "Gastritis", "Stomach Cancer", "Gastritis", "Flu", "Bronchitis", "Bronchitis",
        "Pneumonia", "Stomach Cancer",
    ],
}  # fmt: skip
STOMACH = [
    *([name, "stomach", "*"] for name in ("Gastric Ulcer", "Gastritis", "Stomach Cancer")),
    *([name, "lung", "*"] for name in ("Bronchitis", "Pneumonia", "Flu")),
]
BOB, CARL = {"zip": ["47678"], "age": [27]}, {"zip": ["47673"], "age": [36]}


def test_the_microdata_is_not_anonymous_and_its_recoding_is_three_anonymous() -> None:
    assert tc.anonymity.check(MICRODATA, quasi=["zip", "age", "gen"], sensitive="disease").k == 1
    found = tc.anonymity.check(THREE_ANONYMOUS, quasi=["zip", "age", "gen"], sensitive="disease")
    assert (found.k, found.distinct_l, found.classes) == (3, 2, {3: 2})
    assert found.risk.prosecutor == pytest.approx(1 / 3)


def test_the_search_finds_a_three_anonymous_table_as_good_as_the_notes() -> None:
    quasi = {
        "zip": tc.anonymity.mask(5),
        "age": tc.anonymity.intervals([10, 20]),
        "gen": tc.anonymity.suppress(),
    }
    out = tc.anonymity.anonymize(MICRODATA, quasi=quasi, sensitive="disease", require=tc.KAnonymity(3))
    assert out.report.k == 3
    assert out.levels == {"zip": 2, "age": 2, "gen": 1}


def test_bob_falls_to_homogeneity() -> None:
    assert tc.anonymity.check(PATIENTS, quasi=["zip", "age"], sensitive="disease").k == 3
    found = tc.anonymity.attack(PATIENTS, kind="homogeneity", quasi=["zip", "age"], sensitive="disease")
    assert (found.fallen, found.succeeds) == (3, True)
    assert found.victims[0].published == {"zip": "476**", "age": "2*"}
    assert found.victims[0].learns == "disease is Heart Disease"
    bob = tc.anonymity.attack(PATIENTS, kind="linkage", quasi=["zip", "age"], sensitive="disease", outside=BOB)
    assert bob.victims[0].learns == "matches 3 rows, and in all of them disease is Heart Disease"


def test_carl_falls_to_what_is_known_of_him() -> None:
    carl = tc.anonymity.attack(PATIENTS, kind="linkage", quasi=["zip", "age"], sensitive="disease", outside=CARL)
    assert not carl.succeeds
    found = tc.anonymity.attack(
        PATIENTS, kind="background", quasi=["zip", "age"], sensitive="disease", excluded=["Heart Disease"]
    )
    assert {tuple(one.published.values()): one.learns for one in found.victims} == {
        ("476**", "3*"): "disease is Cancer"
    }
    counted = tc.anonymity.attack(PATIENTS, kind="background", quasi=["zip", "age"], sensitive="disease", excluded=1)
    assert counted.fallen == 6


@pytest.mark.parametrize("kind", ["linkage", "background"])
def test_linkage_and_background_knowledge_combine_for_carl(kind: AttackKind) -> None:
    """Carl's rows hold Heart Disease and Cancer. He does not have heart disease, so he has cancer."""
    ask = {"quasi": ["zip", "age"], "sensitive": "disease", "outside": {**CARL, "name": ["Carl"]}}
    found = tc.anonymity.attack(PATIENTS, kind=kind, excluded=["Heart Disease"], **ask)  # type: ignore[arg-type]
    assert (found.kind, found.rows, found.fallen) == (kind, 1, 1)
    learns = "matches 3 rows; without Heart Disease, disease is Cancer in all of them"
    assert found.victims[0].learns == learns
    both = tc.anonymity.attack(PATIENTS, kind=kind, excluded=["Heart Disease", "Cancer"], **ask)  # type: ignore[arg-type]
    assert not both.succeeds  # nothing is left: the knowledge contradicts the rows
    counted = tc.anonymity.attack(PATIENTS, kind=kind, excluded=1, **ask)  # type: ignore[arg-type]
    assert counted.victims[0].learns == "matches 3 rows; disease is one of 2: Heart Disease, Cancer"
    none = tc.anonymity.attack(PATIENTS, kind=kind, excluded=0, **ask)  # type: ignore[arg-type]
    assert not none.succeeds


@pytest.mark.parametrize(
    ("argument", "extra"),
    [
        ("outside", {"kind": "homogeneity", "outside": BOB}),
        ("outside", {"kind": "skewness", "outside": BOB}),
        ("excluded", {"kind": "homogeneity", "excluded": 1}),
        ("factor", {"kind": "background", "factor": 3}),
        ("hierarchy", {"kind": "background", "hierarchy": STOMACH}),
        ("level", {"kind": "similarity", "level": 1}),
        ("reach", {"kind": "similarity", "hierarchy": STOMACH, "reach": 0.5}),
        ("hierarchies", {"kind": "background", "hierarchies": {"zip": tc.anonymity.mask(5)}}),
    ],
)
def test_an_argument_without_effect_is_an_error(argument: str, extra: dict[str, object]) -> None:
    given = {"quasi": ["zip", "age"], "sensitive": "disease", **extra}
    with pytest.raises(UnusedOptionError) as refused:
        tc.anonymity.attack(PATIENTS, **given)  # type: ignore[arg-type]
    assert refused.value.option == argument


def test_skewness_succeeds_where_diversity_is_highest_and_closeness_tells_the_two_classes_apart() -> None:
    classes = ["even"] * 100 + ["rest"] * 9900
    status = ["+"] * 50 + ["-"] * 50 + ["+"] * 50 + ["-"] * 9850  # 1 % positive in all
    table = {"class": classes, "hiv": status}
    found = tc.anonymity.check(table, quasi=["class"], sensitive="hiv")
    assert found.distinct_l == 2
    skewed = tc.anonymity.attack(table, kind="skewness", quasi=["class"], sensitive="hiv", factor=10)
    assert skewed.fallen == 100
    assert "50 times" in skewed.victims[0].learns
    mirrored = {"class": ["1"] * 50 + ["2"] * 50, "hiv": ["+"] * 49 + ["-"] + ["+"] + ["-"] * 49}
    both = tc.anonymity.check(mirrored, quasi=["class"], sensitive="hiv")
    one, two = (
        tc.anonymity.check(
            {"class": ["1"] * 50, "hiv": mirrored["hiv"][at : at + 50]}, quasi=["class"], sensitive="hiv"
        )
        for at in (0, 50)
    )
    assert one.entropy_l == two.entropy_l == pytest.approx(1.1030, abs=1e-4)
    assert one.sensitive["hiv"].recursive_c(2) == two.sensitive["hiv"].recursive_c(2) == 49
    reference = {"class": ["all"] * 100, "hiv": ["+"] + ["-"] * 99}
    far = [
        tc.anonymity.check(
            {"class": ["1"] * 50, "hiv": mirrored["hiv"][at : at + 50]},
            quasi=["class"],
            sensitive="hiv",
            reference=reference,
        ).t
        for at in (0, 50)
    ]
    assert far == [pytest.approx(0.97), pytest.approx(0.01)]
    assert both.t == pytest.approx(0.48)


def test_bob_falls_to_similarity_in_a_three_diverse_table() -> None:
    found = tc.anonymity.check(DIVERSE, quasi=["zip", "age"], sensitive=["salary", "disease"])
    assert (found.k, found.distinct_l) == (3, 3)
    by_group = tc.anonymity.attack(
        DIVERSE, kind="similarity", quasi=["zip", "age"], sensitive="disease", hierarchy=STOMACH
    )
    assert {tuple(one.published.values()): one.learns for one in by_group.victims} == {
        ("476**", "2*"): "disease is in stomach"
    }
    by_range = tc.anonymity.attack(DIVERSE, kind="similarity", quasi=["zip", "age"], sensitive="salary")
    assert {tuple(one.published.values()): one.learns for one in by_range.victims} == {
        ("476**", "2*"): "salary is in [20, 40]"
    }


def test_closeness_of_the_diverse_table_is_that_of_the_paper() -> None:
    """Li, Li and Venkatasubramanian (2007), section 4.1: the class of 20K, 30K, 40K is 0.375 away."""
    found = tc.anonymity.check(DIVERSE, quasi=["zip", "age"], sensitive={"salary": None, "disease": STOMACH})
    assert found.sensitive["salary"].t_ordered == pytest.approx(0.375)
    assert found.sensitive["disease"].t_hierarchical is not None


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ("sensitive", {"kind": "homogeneity", "sensitive": None}),
        ("kind", {"kind": "rubber hose"}),
        ("excluded", {"kind": "background", "excluded": -1}),
        ("factor", {"kind": "skewness", "factor": 1}),
        ("level", {"kind": "similarity", "hierarchy": [["Flu", "*"], ["Heart Disease", "*"], ["Cancer", "*"]]}),
        ("outside", {"kind": "linkage"}),
    ],
)
def test_an_attack_that_lacks_something_says_what(words: str, extra: dict[str, object]) -> None:
    given = {"quasi": ["zip", "age"], "sensitive": "disease", **extra}
    with pytest.raises(tc.InvalidError, match=words):
        tc.anonymity.attack(PATIENTS, **given)  # type: ignore[arg-type]
