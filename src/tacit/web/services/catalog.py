"""The datasets, and the budget left for a person."""

from __future__ import annotations

from tacit.web.credentials import Person
from tacit.web.server import Server
from tacit.web.services.contents import Content, left_content, table_content


def datasets(server: Server, person: Person) -> list[Content]:
    """Return every dataset, with the names of its tables and what is left."""
    found = []
    for name, dataset in server.datasets.items():
        with dataset.use() as one:
            database = one.database.as_analyst(person.name)
            found.append(
                {"name": name, "tables": list(database.tables), **left_content(one.ledger.standing(person.name))}
            )
    return found


def dataset(server: Server, person: Person, name: str) -> Content:
    """Return a dataset with the public facts about each table; hidden columns are left out."""
    with server.datasets[name].use() as one:
        database = one.database.as_analyst(person.name)
        return {
            "name": name,
            "tables": list(database.tables),
            "schema": [table_content(each) for each in database.tables.values()],
            "data_version": one.policy.data_version or None,
            **left_content(one.ledger.standing(person.name)),
        }
