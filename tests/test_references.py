"""The bibliography: complete, sorted, and clear about what it does not have."""

import re

import pytest

from fechner.errors import FechnerError
from fechner.human import HUMAN
from fechner.references import Reference, reference, references

NEEDED = [
    "ashraf2024",
    "cai2025",
    "carney1999",
    "foley1994",
    "gegenfurtner_kiper1992",
    "georgeson_sullivan1975",
    "jameson_hurvich1957",
    "mantiuk2024_cvvdp",
    "mullen1985",
    "rovamo1993",
    "watson_ahumada2005",
    "watson_malo2002",
]


@pytest.mark.parametrize("key", NEEDED)
def test_the_works_we_build_on_are_there(key: str) -> None:
    work = reference(key)
    assert work.key == key
    assert str(work.year) in key
    assert work.doi


@pytest.mark.parametrize("work", list(references().values()), ids=lambda work: work.key)
def test_an_entry_is_well_formed(work: Reference) -> None:
    assert 1850 < work.year < 2100
    assert not work.title.endswith(".")
    assert not work.where.endswith(".")
    assert work.doi is None or re.fullmatch(r"10\.\d{4,9}/\S+", work.doi)
    assert "\n" not in work.text


def test_keys_are_sorted_and_dois_unique() -> None:
    assert list(references()) == sorted(references())
    dois = [work.doi for work in references().values() if work.doi]
    assert len(dois) == len(set(dois))


def test_text_is_one_citation_line() -> None:
    assert reference("foley1994").text == (
        "Foley JM (1994). Human luminance pattern-vision mechanisms: masking experiments require "
        "a new model. Journal of the Optical Society of America A 11(6):1710-1719. "
        "doi:10.1364/JOSAA.11.001710"
    )


def test_text_after_a_question_mark_and_without_doi() -> None:
    work = Reference("a2000", "A B", 2000, "Why?", "Journal 1:2")
    assert work.text == "A B (2000). Why? Journal 1:2."


def test_the_doi_of_colorvideovdp() -> None:
    assert reference("mantiuk2024_cvvdp").doi == "10.1145/3658144"


def test_unknown_key_is_a_key_error_with_the_nearest_spelling() -> None:
    with pytest.raises(KeyError) as caught:
        reference("foley1995")
    assert str(caught.value) == (
        "there is no reference named 'foley1995'; did you mean 'foley1994'? "
        "add the work to references.toml."
    )
    assert isinstance(caught.value, FechnerError)


def test_the_bibliography_is_read_only_and_read_once() -> None:
    assert references() is references()
    with pytest.raises(TypeError):
        references()["new"] = reference("foley1994")  # type: ignore[index]


def test_every_human_reference_is_in_the_bibliography() -> None:
    for entry in HUMAN:
        assert reference(entry.reference_key)
