"""The state of one worker: open datasets, the database of people, threads, counters."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

from tacit.errors import TacitError
from tacit.web import questions
from tacit.web.credentials import Identities
from tacit.web.datasets import Datasets
from tacit.web.jobs import Workshop
from tacit.web.metrics import Metrics
from tacit.web.settings import ServerSettings
from tacit.web.store import WebStore

LOGGER = logging.getLogger("tacit.web")


@dataclass
class Server:
    """The state of one worker. Nothing that workers must share is only here."""

    settings: ServerSettings
    store: WebStore
    datasets: Datasets
    identities: Identities
    workshop: Workshop
    metrics: Metrics

    @property
    def worker(self) -> str:
        """The name of this worker in the rows of questions."""
        return self.workshop.worker

    def clean(self, text: str) -> str:
        """Return a text without the paths and URLs of this server. It raises no error, also if a policy is broken."""
        secrets = self.datasets.secrets() | dict.fromkeys(self.store.names, "the database")
        shown = {secret: text for secret, text in secrets.items() if len(secret) > 1}
        if not shown:
            return text
        pattern = "|".join(re.escape(each) for each in sorted(shown, key=len, reverse=True))
        return re.sub(pattern, lambda match: shown[match[0]], text)

    def close(self) -> None:
        """End the work that runs, drop what waits, and close everything."""
        self.workshop.stop()
        try:
            questions.drop_queued(self.store, self.worker)
        except TacitError:
            LOGGER.warning("the state of waiting questions could not be written")
        self.metrics.stop()
        self.datasets.close()
        self.store.close()


def open_server(settings: ServerSettings) -> Server:
    """Open the datasets and the database of people; raise TacitError if something cannot be opened."""
    datasets = Datasets(settings.policies)
    try:
        store = WebStore(settings.store or store_of(datasets))
    except BaseException:
        datasets.close()
        raise
    workshop = Workshop(store, settings.threads, settings.waiting)
    metrics = Metrics(store, workshop.worker)
    return Server(settings, store, datasets, Identities(store, settings.auth_cache), workshop, metrics)


def store_of(datasets: Datasets) -> str:
    """Return the ledger of the first policy, whose database then holds the people too."""
    first = next(iter(datasets.values()))
    with first.use() as one:
        location = one.policy.ledger_location()
    if location is None:
        raise TypeError("a dataset has a ledger in a database")
    return location
