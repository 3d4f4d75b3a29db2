"""Names of classes, which of an observer's classes is meant, and which of them are dogs."""

import json
from pathlib import Path

import pytest

from fechner.errors import FechnerError, ObserverError
from fechner.observers.classes import (
    Categories,
    categories,
    class_names,
    imagenet,
    matching_classes,
    read_categories,
    readable_names,
    synset_of,
    synsets_of_numbers,
)
from fechner.references import reference
from fechner.runs.manifest import parameters

SYNSETS = [synset for synset, _ in imagenet()]
SIXTEEN = categories("16-class")


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
    with pytest.raises(ObserverError, match="no class for 'crane'"):
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
        "name classes as it does, such as 'n01440764', or by their ImageNet synset, or all by "
        "their numbers."
    )
    with pytest.raises(ObserverError, match="or all by their numbers"):
        matching_classes(class_names(1000), ["tench", "949"])


def test_the_sixteen_of_geirhos_and_others() -> None:
    # Numbers of classes, and some of them, as published with the paper (16-class-ImageNet).
    found = SIXTEEN.indices(class_names(1000))
    sizes = {category: len(places) for category, places in found.items()}
    assert sizes == {
        "airplane": 1,
        "bear": 4,
        "bicycle": 2,
        "bird": 49,
        "boat": 5,
        "bottle": 7,
        "car": 3,
        "cat": 6,
        "chair": 4,
        "clock": 3,
        "dog": 109,
        "elephant": 2,
        "keyboard": 2,
        "knife": 1,
        "oven": 1,
        "truck": 8,
    }
    assert found["cat"] == [281, 282, 283, 284, 285, 286]
    assert found["knife"] == [499]
    assert found["bird"][:3] == [8, 10, 11]
    assert found["dog"][0] == 152
    assert found["dog"][-1] == 268
    every = [place for places in found.values() for place in places]
    assert len(set(every)) == len(every) == 207
    assert reference(SIXTEEN.reference).year == 2018


def test_every_member_is_a_class_of_imagenet() -> None:
    synsets = {synset for synset, _ in imagenet()}
    assert all(label in synsets for _, classes in SIXTEEN.members for label in classes)
    # No category has the name of a class that belongs elsewhere.
    for category, classes in SIXTEEN.members:
        assert synset_of(category) in ("", *classes)


@pytest.mark.parametrize(
    ("label", "category"),
    [
        ("n02123045", "cat"),
        ("tabby", "cat"),
        ("tabby, tabby cat", "cat"),
        ("Siamese_cat", "cat"),
        ("cat", "cat"),
        ("Airplane", "airplane"),
        ("airliner", "airplane"),
        ("tench", ""),
        ("n01440764", ""),
        ("281", ""),
        ("", ""),
    ],
)
def test_the_category_of_a_class(label: str, category: str) -> None:
    assert SIXTEEN.category_of(label) == category


def test_numbers_are_places_where_all_are() -> None:
    assert SIXTEEN.categories_of(["281", "0404", "0"]) == ("cat", "airplane", "")
    assert SIXTEEN.categories_of(["281", "dog"]) == ("", "dog")


def test_observers_name_their_classes_as_they_like() -> None:
    names = tuple(name for _, name in imagenet())
    by_name = SIXTEEN.indices(names)
    assert by_name["clock"] == [409, 530, 892]
    assert SIXTEEN.indices(SIXTEEN.names)["dog"] == [SIXTEEN.names.index("dog")]


def test_categories_without_a_class_are_named() -> None:
    with pytest.raises(ObserverError, match=r"no class of airplane, bear, .* '16-class'"):
        SIXTEEN.indices(["tabby", "tench"])
    with pytest.raises(FechnerError, match=r"no set of categories named '16'.*path of a CSV"):
        categories("16")


def test_a_map_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "fruit and fish.csv"
    path.write_text(
        "# mine\nclass,category\nbanana,fruit\ntench,fish\nn01443537,fish\nFuji apple,fruit\n"
    )
    mine = read_categories(path)
    assert mine == Categories(
        "fruit and fish",
        (("fish", ("tench", "n01443537")), ("fruit", ("banana", "Fuji apple"))),
    )
    assert categories(path) == categories(str(path)) == mine
    assert Categories.known(json.loads(json.dumps(parameters(mine)))) == mine
    assert mine.category_of("goldfish") == "fish"
    assert mine.category_of("fuji_apple") == "fruit"
    assert mine.indices(class_names(1000)) == {"fish": [0, 1], "fruit": [954]}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,b\n1,2\n", "needs the columns class and category"),
        ("", "needs the columns class and category"),
        ("class,category\ntench,\n", "class 1 of .* has no name or no category"),
        ("class,category\ntench,fish\n", "fewer than two categories"),
        ("class,category\ntench,fish\ntench,fruit\n", "puts tench into fish and into fruit"),
        ("class,category\ntench,fish\nn01440764,fruit\n", "puts n01440764 into fish and into"),
    ],
)
def test_maps_that_are_none(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "map.csv"
    path.write_text(text)
    with pytest.raises(FechnerError, match=why):
        read_categories(path)


def test_files_that_are_none(tmp_path: Path) -> None:
    for read in (read_categories, categories):
        with pytest.raises(FechnerError, match=r"nowhere.csv cannot be read: No such file"):
            read(tmp_path / "nowhere.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FechnerError, match="cannot be read: it is not text"):
        read_categories(tmp_path / "binary.csv")
