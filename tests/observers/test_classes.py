"""Names of classes: synsets, words, and which of an observer's classes is meant."""

import pytest

from fechner.errors import ObserverError
from fechner.observers.classes import (
    class_names,
    imagenet,
    matching_classes,
    readable_names,
    synsets_of_numbers,
)

SYNSETS = [synset for synset, _ in imagenet()]


def test_all_readable_names_of_imagenet_differ() -> None:
    names = readable_names(SYNSETS)
    assert len(set(names)) == 1000
    assert not any(name.startswith("n0") for name in names)
    assert readable_names(["n03710637", "n03710721"]) == ("maillot", "maillot, tank suit")


def test_folders_are_words() -> None:
    assert readable_names(["garbage_truck", "n99999999"]) == ("garbage truck", "n99999999")


@pytest.mark.parametrize(
    "asked",
    [
        ["n01440764", "n02102040", "n03000684"],
        ["tench", "English_springer", "chain-saw"],
        ["Tinca tinca", "English springer spaniel", "chainsaw"],
        ["tench, Tinca tinca", "english springer", "chain saw, chainsaw"],
    ],
)
def test_classes_are_found_by_synset_and_by_any_name(asked: list[str]) -> None:
    expected = tuple(SYNSETS.index(each) for each in ("n01440764", "n02102040", "n03000684"))
    assert matching_classes(class_names(1000), asked) == expected
    # The other way round, too: words of an observer for synsets that are asked.
    own = ["English springer, English springer spaniel", "chain saw", "tench"]
    assert matching_classes(own, ["n01440764", "n02102040", "n03000684"]) == (2, 0, 1)


def test_an_observers_own_words_go_first() -> None:
    assert matching_classes(["dog", "cat"], ["cat", "dog"]) == (1, 0)
    assert matching_classes(["Big Cat", "big_dog"], ["big dog", "big-cat"]) == (1, 0)


def test_numbers_are_places_among_imagenets_classes() -> None:
    assert matching_classes(class_names(1000), ["0", "281", "999"]) == (0, 281, 999)
    assert matching_classes(class_names(1000), ["000", "007", "281"]) == (0, 7, 281)
    # Whatever order an observer has its classes in, and in words, too.
    assert matching_classes(["goldfish", "tench, Tinca tinca"], ["0", "1"]) == (1, 0)
    # Its own numbers go first.
    assert matching_classes(class_names(10), ["03", "9"]) == (3, 9)
    assert synsets_of_numbers(["1", "0"]) == ("n01443537", "n01440764")
    assert synsets_of_numbers(["1", "1000"]) == ("1", "1000")
    assert synsets_of_numbers([]) == ()


@pytest.mark.parametrize(
    ("own", "asked", "why"),
    [
        (class_names(1000), ["0", "1000"], "no class for '0', '1000'"),
        (class_names(1000), ["0", "cat"], "no class for '0', 'cat'"),
        (class_names(1000), ["7", "07"], "one class for"),
        (["cat", "dog"], ["0", "1"], "no class for '0', '1'"),
        (class_names(10), ["0", "10"], "no class for '10'"),
        (class_names(1000), ["1", "²"], "no class for '1', '²'"),
    ],
)
def test_numbers_that_are_no_places(own: list[str], asked: list[str], why: str) -> None:
    with pytest.raises(ObserverError, match=why):
        matching_classes(own, asked)


def test_names_of_two_classes_stand_for_none() -> None:
    with pytest.raises(ObserverError, match=r"'crane' \(did you mean n02012849 or n03126707\?\)"):
        matching_classes(class_names(1000), ["crane", "tench"])
    with pytest.raises(ObserverError, match="one class for 'tench' and 'n01440764'"):
        matching_classes(class_names(1000), ["tench", "n01440764"])


@pytest.mark.parametrize(
    ("own", "asked", "meant"),
    [
        (class_names(1000), "tensch", "tench"),
        (class_names(1000), "Garbage_truk", "garbage truck"),
        (class_names(1000), "n0144076", "n01440764"),
        (["cat", "dog"], "cats", "cat"),
    ],
)
def test_the_nearest_class_is_suggested(own: list[str], asked: str, meant: str) -> None:
    with pytest.raises(ObserverError) as error:
        matching_classes(own, [asked])
    assert f"no class for '{asked}' (did you mean '{meant}'?); name" in str(error.value)


def test_classes_without_a_counterpart_are_named() -> None:
    asked = [f"thing {number}" for number in range(8)]
    with pytest.raises(ObserverError) as error:
        matching_classes(class_names(1000), asked)
    assert str(error.value) == (
        "it has no class for 'thing 0', 'thing 1', 'thing 2', 'thing 3', 'thing 4' and 3 more; "
        "name classes as it does, such as 'n01440764', or by their ImageNet synset."
    )
    with pytest.raises(ObserverError, match="synset; numbers are known only where all are"):
        matching_classes(class_names(1000), ["tench", "949"])
