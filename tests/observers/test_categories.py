"""Categories: which classes of an observer are dogs."""

import json
from pathlib import Path

import pytest

from fechner.errors import FechnerError, ObserverError
from fechner.observers.categories import Categories, categories, read_categories
from fechner.observers.classes import class_names, imagenet, synsets_of
from fechner.references import reference
from fechner.runs.keys import parameters

SIXTEEN = categories("16-class")


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
        assert set(synsets_of(category)) <= set(classes)


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
    assert SIXTEEN.indices(["tench", "goose", "hen"], ["bird"]) == {"bird": [1, 2]}


def test_categories_without_a_class_are_named() -> None:
    with pytest.raises(ObserverError, match=r"no class of airplane, bear, .* '16-class'"):
        SIXTEEN.indices(["tabby", "tench"])
    with pytest.raises(FechnerError, match=r"no category named 'dogs'; did you mean 'dog'\?"):
        SIXTEEN.indices(class_names(1000), ["dogs"])
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
