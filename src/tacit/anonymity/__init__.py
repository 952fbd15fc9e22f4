"""Anonymous microdata: check, recode and attack tables of rows.

>>> import tacit as tc
>>> rows = {"zip": ["47677", "47602", "47678", "47905", "47909", "47906"], "disease": ["O", "O", "P", "Flu", "H", "H"]}
>>> rule = {"zip": tc.anonymity.mask(5)}
>>> out = tc.anonymity.anonymize(rows, quasi=rule, sensitive="disease", require=tc.KAnonymity(3))
>>> out.report.k, out.levels
(3, {'zip': 2})
"""

from tacit.anonymity.attack_results import Attack
from tacit.anonymity.attacks import attack
from tacit.anonymity.drafts import draft
from tacit.anonymity.hierarchies import Hierarchy, hierarchy
from tacit.anonymity.hierarchy_rules import dates, intervals, mask, ordered, suppress
from tacit.anonymity.outcome import Anonymized, transform
from tacit.anonymity.privacy_models import KAnonymity, LDiversity, NTCloseness, TCloseness
from tacit.anonymity.recoding import Recoding
from tacit.anonymity.report import Report, check
from tacit.anonymity.rule_files import load, save
from tacit.anonymity.search import anonymize
from tacit.anonymity.utility import Accuracy, Losses, accuracy, loss_by_k

__all__ = [
    "Accuracy",
    "Anonymized",
    "Attack",
    "Hierarchy",
    "KAnonymity",
    "LDiversity",
    "Losses",
    "NTCloseness",
    "Recoding",
    "Report",
    "TCloseness",
    "accuracy",
    "anonymize",
    "attack",
    "check",
    "dates",
    "draft",
    "hierarchy",
    "intervals",
    "load",
    "loss_by_k",
    "mask",
    "ordered",
    "save",
    "suppress",
    "transform",
]


def __dir__() -> list[str]:
    """Return the public names, without the modules of the package."""
    return __all__
