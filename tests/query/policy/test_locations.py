from __future__ import annotations

from pathlib import Path

import pytest

from tacit.query.policy.locations import holds_secret, location_mistakes, resolve

SECRETS = [
    "postgresql://reader:geheim@db/clinic",
    "postgresql://reader:ge/he?im@db/clinic",
    "postgresql://reader:ge@heim@db:5432/clinic",
    "postgresql://:geheim@db/clinic",
    "postgresql+psycopg://reader:1234@db/clinic",
    "jdbc:postgresql://db/clinic?user=reader&password=geheim",
    "postgresql://db/clinic?sslmode=require&sslpassword=geheim",
    "host=db user=reader PASSWORD = geheim",
    "password=geheim host=db",
    "s3://bucket/x.parquet?s3_secret_access_key=abc",
    "https://store/x.parquet?sv=1&sig=abc",
    "https://store/x.parquet?access_token=abc",
    "postgresql://reader:half${REST}@db/clinic",
]
HARMLESS = [
    "visits.parquet",
    "data/2026/visits-*.parquet",
    "postgresql://reader@db/clinic",
    "postgresql://reader:@db/clinic",
    "postgresql://db:5432/clinic?application_name=a@b",
    "postgresql://[::1]:5432/clinic?application_name=a@b",
    "postgresql://reader:${PASSWORD}@db:5432/clinic",
    "postgresql://db/clinic?password=${PASSWORD}",
    "https://store/a:b@c.parquet",
    "${WHOLE_URL}",
    "passwords.csv",
]


@pytest.mark.parametrize("location", SECRETS)
def test_a_secret_is_refused_and_never_repeated(location: str) -> None:
    assert holds_secret(location)
    (mistake, *_) = location_mistakes(location, {"REST": "x"})
    assert "environment variable" in mistake
    assert "geheim" not in mistake
    assert "abc" not in mistake


@pytest.mark.parametrize("location", HARMLESS)
def test_what_holds_no_secret_is_accepted(location: str) -> None:
    assert not holds_secret(location)
    assert location_mistakes(location, {"PASSWORD": "geheim", "WHOLE_URL": "postgresql://a:b@c"}) == []


def test_each_missing_variable_is_named_once_and_no_value_is() -> None:
    mistakes = location_mistakes("${A}/${B}/${A}/${C}", {"B": "value of b", "C": ""})
    assert [mistake.split()[4].rstrip(",") for mistake in mistakes] == ["A", "C"]
    assert "value" not in "".join(mistakes)


@pytest.mark.parametrize("location", ["${", "${}", "${A B}", "${1}", "a/${A", "${${A}}"])
def test_a_broken_reference_is_a_mistake(location: str) -> None:
    assert any("${NAME}" in mistake for mistake in location_mistakes(location, {"A": "a"}))


def test_a_value_is_not_expanded_again() -> None:
    assert resolve("${A}", Path("/data"), {"A": "${B}", "B": "b"}) == "/data/${B}"


def test_paths_are_relative_to_the_folder_and_urls_stay() -> None:
    folder = Path("/data")
    assert resolve("visits.parquet", folder, {}) == "/data/visits.parquet"
    assert resolve("/else/where.parquet", folder, {}) == "/else/where.parquet"
    assert resolve("s3://bucket/x.parquet", folder, {}) == "s3://bucket/x.parquet"
    assert resolve("${URL}", folder, {"URL": "postgresql://a:b@c/d"}) == "postgresql://a:b@c/d"
    assert resolve("${DIR}/x.csv", folder, {"DIR": "/abs"}) == "/abs/x.csv"
