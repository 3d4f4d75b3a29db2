"""Pictures given in Python: sequences, iterators, functions."""

import pickle
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from photographs import noise_picture
from PIL import Image

from fechner.errors import FechnerError, PictureError
from fechner.stimuli import Field, Picture
from fechner.stimuli.given_pictures import virtual_pictures
from fechner.stimuli.picture_sets import PictureSet, known_pictures, open_pictures

FIELD = Field(16, 16, 16.0)
BYTES = np.asarray(noise_picture(5, 24))


def drawn(pictures: PictureSet, label: int = 0, index: int = 0, bits: int | None = 8) -> Any:
    return pictures.picture(label, index).draw(FIELD, bits, "cpu")


def as_float(values: np.ndarray) -> np.ndarray:
    return values / 255.0


FORMS = {
    "image": Image.fromarray(BYTES),
    "array": BYTES,
    "array CHW": np.moveaxis(BYTES, 2, 0),
    "tensor": torch.from_numpy(BYTES.copy()).permute(2, 0, 1),
    "tensor HWC": torch.from_numpy(BYTES.copy()),
    "int64": BYTES.astype(np.int64),
    "float64": as_float(BYTES),
    "float32 tensor": torch.from_numpy(as_float(BYTES)).permute(2, 0, 1).float(),
    "with gradient": torch.from_numpy(as_float(BYTES)).permute(2, 0, 1).requires_grad_(),
    "uint16": BYTES.astype(np.uint16) * 257,
    "with alpha": np.concatenate([BYTES, np.full((24, 24, 1), 255, np.uint8)], axis=2),
    "float with alpha": np.concatenate([as_float(BYTES), np.ones((24, 24, 1))], axis=2),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("how", ["sequence", "iterator"])
def test_pictures_of_every_form_are_the_same(form: str, how: str, tmp_path: Path) -> None:
    Image.fromarray(BYTES).save(tmp_path / "x.png")
    expected = drawn(open_pictures([(tmp_path / "x.png", "a"), (tmp_path / "x.png", "b")]))
    pairs = [(FORMS[form], "a"), (FORMS[form], "b")]
    found = open_pictures(pairs if how == "sequence" else iter(pairs), spool=tmp_path / "spool")
    # Eight bits are scaled as they are, and rounded on the way; fractions are not.
    exact = form not in ("uint16",) and "float" not in form and "gradient" not in form
    torch.testing.assert_close(drawn(found), expected, atol=0 if exact else 2 / 255, rtol=0)


def test_items_may_be_mappings() -> None:
    pairs = [(BYTES, 1), (BYTES, 0)]
    items = [{"image": picture, "label": label, "id": 3} for picture, label in pairs]
    assert open_pictures(items) == open_pictures(pairs)
    assert open_pictures(iter(items)).classes == ("0", "1")


def test_grey_and_fractions_are_kept() -> None:
    ramp = np.linspace(0, 1, 256).reshape(16, 16)
    for thing in (ramp, torch.from_numpy(ramp)[None], ramp[..., None]):
        pixels = drawn(open_pictures([(thing, "a"), (thing, "b")]), bits=None)
        np.testing.assert_array_equal(pixels.numpy(), np.broadcast_to(ramp, (3, 16, 16)))
    half = np.dstack([np.zeros((16, 16, 3)), np.full((16, 16), 0.25)])
    pixels = drawn(open_pictures([(half, "a"), (half, "b")]), bits=None)
    assert pixels.mean() == pytest.approx(0.75)  # white behind it
    white = np.ones((16, 16), bool)
    assert drawn(open_pictures([(white, 0), (white, 1)])).min() == 1


@pytest.mark.parametrize("tiny", [np.zeros((1, 1, 3)), Image.new("RGB", (1, 1))])
def test_what_is_too_small_to_show_anything(tiny: Any) -> None:
    fine = np.zeros((8, 8, 3))
    found = open_pictures([(fine, "a"), (tiny, "a"), (fine, "b")])
    with pytest.raises(PictureError, match="has 1 x 1 pixels, and less than 8 each way"):
        found.picture(0, 1).draw(FIELD, 8, "cpu")


@pytest.mark.parametrize(
    ("thing", "why"),
    [
        (np.full((8, 8, 3), 2.0), "has values from 2 to 2; give values in 0..1 .*normalisation"),
        (torch.randn(3, 8, 8), "has values from -.*; give values in 0..1"),
        (np.full((8, 8, 3), np.nan), "has values from nan to nan"),
        (np.full((8, 8, 3), 300), "has values from 300 to 300, not in 0..255"),
        (np.zeros((2, 8, 8, 3)), r"is a ndarray of shape \(2, 8, 8, 3\); give an image"),
        (torch.zeros(5, 8, 8), r"is a Tensor of shape \(5, 8, 8\)"),
        (np.zeros((0, 8, 3)), "has no pixels"),
        (np.zeros((8, 8, 3), complex), "has values of type complex128"),
        (3.5, "is a float; give an image"),
        (None, "is a NoneType; give an image"),
        (Image.new("F", (8, 8)), "is damaged or of an unknown kind"),
    ],
)
def test_what_is_no_picture_is_one_sentence(thing: Any, why: str, tmp_path: Path) -> None:
    fine = np.zeros((8, 8, 3))
    pairs = [(fine, "a"), (thing, "a"), (fine, "b")]
    found = open_pictures(pairs)
    assert found.counts == (2, 1)
    with pytest.raises(PictureError, match=f"picture 1 of those given {why}"):
        drawn(found, 0, 1)
    spooled = open_pictures(iter(pairs), spool=tmp_path)
    assert spooled.counts == (1, 1)
    first, last = spooled.notes
    assert first.startswith("picture 1 of those given ")
    assert last == "1 of the pictures given were left out."


class Lazy:
    """As data sets of torchvision are: they say which class each picture has."""

    classes = ("tench", ("English springer", "English springer spaniel"))

    def __init__(self, count: int = 100, targets: bool = True) -> None:
        self.count = count
        self.asked: list[int] = []
        if targets:
            self.targets = torch.arange(count) % 2

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, position: int) -> tuple[Image.Image, int]:
        self.asked.append(position)
        return noise_picture(position, 16), position % 2


def test_a_data_set_that_says_its_classes_is_hardly_looked_at() -> None:
    source = Lazy()
    found = open_pictures(source)
    assert found.classes == ("English springer, English springer spaniel", "tench")
    assert found.counts == (50, 50)
    assert len(source.asked) < 20
    source.asked.clear()
    one = found.picture(1, 3)
    assert source.asked == []
    assert one == found.picture(1, 3)
    expected = torch.from_numpy(np.asarray(noise_picture(6, 16)) / 255).permute(2, 0, 1)
    torch.testing.assert_close(one.draw(FIELD, None, "cpu"), expected)
    assert source.asked == [6]
    assert found.name(1, 3) == "picture 6 of those given"


def test_a_sequence_that_does_not_is_gone_through_once() -> None:
    source = Lazy(targets=False)
    found = open_pictures(source)
    assert found.counts == (50, 50)
    assert source.asked == list(range(100))
    assert open_pictures(Lazy(targets=False)) == found


def test_sequences_are_known_by_their_classes_and_contents() -> None:
    pairs = [(noise_picture(i, 8), "ab"[i % 2]) for i in range(6)]
    found = open_pictures(pairs)
    assert open_pictures(list(pairs)) == found
    assert open_pictures(pairs[::-1]) != found
    assert open_pictures([*pairs[:5], (noise_picture(99, 8), "b")]) != found
    assert open_pictures([(picture, label + "x") for picture, label in pairs]) != found


def test_images_that_are_not_decoded_yet_stay_so(tmp_path: Path) -> None:
    for name in "ab":
        noise_picture(1, 8).save(tmp_path / f"{name}.png")
    images = [Image.open(tmp_path / f"{name}.png") for name in "ab"]
    found = open_pictures([(images[0], "a"), (images[1], "b")])
    drawn(found)
    assert all(image.fp is not None for image in images)  # it is let go when all is read
    for image in images:
        image.close()


def test_a_sequence_that_is_gone_says_so() -> None:
    found = open_pictures([(BYTES, "a"), (BYTES, "b")])
    sent = pickle.loads(pickle.dumps(found))
    assert sent == found
    torch.testing.assert_close(drawn(sent), drawn(found))
    again = known_pictures(found.plain(), "")
    assert again == found
    assert type(again) is type(found)
    with pytest.raises(PictureError, match="pictures of a were given in Python and are gone; give"):
        drawn(again)
    assert again.name(0, 0) == "a, picture 0"


def test_code_that_fails_is_one_sentence() -> None:
    class Broken(Lazy):
        def __getitem__(self, position: int) -> tuple[Image.Image, int]:
            if position == 3:
                raise KeyError("no such\nkey")
            return super().__getitem__(position)

    found = open_pictures(Broken())
    with pytest.raises(PictureError, match=r"picture 3 of those given could not be had \(KeyErr"):
        drawn(found, 0, 1)
    with pytest.raises(FechnerError, match=r"picture 3 of those given could not be had \(KeyErr"):
        open_pictures(Broken(targets=False))

    def failing() -> Iterator[tuple[np.ndarray, str]]:
        yield BYTES, "a"
        raise OSError("the line is cut")

    with pytest.raises(FechnerError, match=r"picture 1 .*\(OSError: the line is cut\)"):
        open_pictures(failing())


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([BYTES, BYTES], "picture 0 of those given is a ndarray; give pairs of a picture and"),
        ([{"picture": BYTES, "label": 1}], "is a dict; give pairs"),
        ([(BYTES, None), (BYTES, 1)], "a class is a name or a number, not None"),
        ([(BYTES, " "), (BYTES, 1)], "a class is a name or a number, not ' '"),
        ([(BYTES, 0.5), (BYTES, 1)], r"a class is a name or a number, not 0\.5"),
        ([(BYTES, "a")], "two classes are needed, and what was given has 1"),
        ([], "two classes are needed, and what was given has 0"),
    ],
)
@pytest.mark.parametrize("how", [list, iter])
def test_what_is_no_set_is_one_sentence(given: list[Any], why: str, how: Any) -> None:
    with pytest.raises(FechnerError, match=why):
        open_pictures(how(given))


@pytest.mark.parametrize("thing", [3, None, b"abc", {"a": [BYTES]}])
def test_things_that_are_no_sets(thing: Any) -> None:
    with pytest.raises(FechnerError, match=f"a {type(thing).__name__} is no set of pictures; give"):
        open_pictures(thing)


def test_an_iterator_is_written_to_disk_as_it_comes(tmp_path: Path) -> None:
    alive: list[weakref.ref[np.ndarray]] = []

    def pictures() -> Iterator[tuple[np.ndarray, str]]:
        for number in range(40):
            # All but the last two are let go.
            assert sum(each() is not None for each in alive) <= 2
            values = np.asarray(noise_picture(number, 16)).copy()
            alive.append(weakref.ref(values))
            yield values, ("a/b", ".hidden", "50%", "日本")[number % 4]

    found = open_pictures(pictures(), spool=tmp_path)
    assert found.classes == (".hidden", "50%", "a/b", "日本")
    assert found.counts == (10,) * 4
    assert found.notes == ()
    assert found.split == ""
    assert Path(found.place).parent == tmp_path
    expected = torch.from_numpy(np.asarray(noise_picture(6, 16)) / 255).permute(2, 0, 1)
    torch.testing.assert_close(drawn(found, 1, 1, None), expected)
    # What is there is not written twice, and nothing else is left behind.
    assert open_pictures(pictures(), spool=tmp_path) == found
    assert [each.name for each in tmp_path.iterdir()] == [found.digest[:16]]
    again = known_pictures(found.plain(), found.place)
    torch.testing.assert_close(drawn(again, 3, 9), drawn(found, 3, 9))
    assert again.name(3, 0).startswith("日本/00000003-")


def test_contents_of_an_iterator_are_part_of_what_it_is(tmp_path: Path) -> None:
    def pictures(value: float) -> Iterator[tuple[np.ndarray, str]]:
        yield np.full((8, 8, 3), value), "a"
        yield np.zeros((8, 8, 3)), "b"

    found = [open_pictures(pictures(value), spool=tmp_path) for value in (0.25, 0.3)]
    assert found[0] != found[1]
    assert drawn(found[1], bits=None).mean() == pytest.approx(0.3, abs=1e-7)
    assert len(list(tmp_path.iterdir())) == 2


def test_an_iterator_that_stops_midway_leaves_nothing(tmp_path: Path) -> None:
    def pictures() -> Iterator[tuple[np.ndarray, str]]:
        yield BYTES, "a"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_pictures(pictures(), spool=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_files_of_an_iterator_are_copied_as_they_are(tmp_path: Path) -> None:
    noise_picture(3, 32).save(tmp_path / "x.jpg", quality=50)
    pairs = [(tmp_path / "x.jpg", "a"), (str(tmp_path / "x.jpg"), "b"), (tmp_path / "y.jpg", "b")]
    found = open_pictures(iter(pairs), spool=tmp_path / "spool")
    assert found.counts == (1, 1)
    assert found.notes[0] == "y.jpg cannot be read: No such file or directory."
    assert found.name(0, 0).endswith(".jpg")
    direct = open_pictures(pairs)
    torch.testing.assert_close(drawn(found), drawn(direct), atol=0, rtol=0)
    with pytest.raises(PictureError, match=r"y.jpg is no file"):
        drawn(direct, 1, 1)


def grating(label: int, index: int) -> np.ndarray:
    return np.full((16, 16), (label + index % 2) / 4)


def test_a_virtual_set_of_any_size() -> None:
    found = virtual_pictures(grating, ["one", "two", "three"], 10**9, "gratings 1")
    assert len(found) == 3 * 10**9
    assert found.kind == "pictures"
    assert drawn(found, 2, 10**9 - 1, None).mean() == 0.75
    assert found.picture(2, 7) == found.picture(2, 7)
    assert found.picture(2, 7) != found.picture(2, 8)
    assert found.name(1, 5) == "two, picture 5"
    assert found == virtual_pictures(grating, ["one", "two", "three"], [10**9] * 3, "gratings 1")
    assert found != virtual_pictures(grating, ["one", "two", "three"], 10**9, "gratings 2")
    sent = pickle.loads(pickle.dumps(found))
    torch.testing.assert_close(drawn(sent, 1, 1), drawn(found, 1, 1))
    again = known_pictures(found.plain(), "")
    assert again == found
    with pytest.raises(PictureError, match="what makes the pictures of gratings 1 is gone; give"):
        drawn(again)
    assert open_pictures(found) is found


def test_a_function_may_make_pictures_of_any_kind(tmp_path: Path) -> None:
    inner = open_pictures([(BYTES, "a"), (BYTES, "b")]).picture(0, 0)

    def make(label: int, index: int) -> Picture | Path:
        return tmp_path / "x.png" if label else inner

    Image.fromarray(BYTES).save(tmp_path / "x.png")
    found = virtual_pictures(make, ["a", "b"], 1, "both")
    torch.testing.assert_close(drawn(found, 0), drawn(found, 1), atol=0, rtol=0)


@pytest.mark.parametrize(
    ("classes", "counts", "name", "why"),
    [
        (["a", "b"], 0, "x", "at least one picture"),
        (["a", "b"], [1], "x", "at least one picture"),
        (["a", "a"], 1, "x", "different names"),
        (["a", "b"], 1, "", "needs a name"),
    ],
)
def test_virtual_sets_that_are_none(classes: list[str], counts: Any, name: str, why: str) -> None:
    with pytest.raises(FechnerError, match=why):
        virtual_pictures(grating, classes, counts, name)


def test_pairs_the_other_way_round() -> None:
    with pytest.raises(FechnerError, match=r"not an array: give \(picture, class\)"):
        open_pictures([("red", np.zeros((4, 4, 3))), ("green", np.zeros((4, 4, 3)))])
