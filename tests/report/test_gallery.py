"""Pictures of galleries: as they were shown, once each, or none where the file is gone."""

import numpy as np
from levels import Grey

from fechner.report.gallery import Pictures
from fechner.report.page.panels import Album
from fechner.suites import suite

SCENE = suite("encoders").build()[0].experiment.scene


def test_pixels_are_those_shown_and_smaller_where_asked() -> None:
    whole = Pictures(SCENE)[Grey(0.5)]
    assert whole is not None
    assert whole.shape == (SCENE.field.height_px, SCENE.field.width_px, 3)
    assert np.abs(whole.astype(float) - 127.5).max() <= 1  # dithered
    small = Pictures(SCENE, side_px=100)[Grey(0.5)]
    assert small is not None
    assert small.shape == (100, 100, 3)


def test_what_is_gone_is_none_and_the_others_are_there() -> None:
    pictures = Pictures(SCENE, 64)
    assert pictures[Grey(-1.0)] is None
    assert pictures[Grey(1.0)] is pictures[Grey(1.0)]


def test_an_album_holds_every_picture_once() -> None:
    album = Album()
    found = [album.number(Grey(v), SCENE) for v in (0.1, 0.9, 0.1, -1.0)]
    assert found == [0, 1, 0, None]
    assert len(album.uris) == 2
    assert all(uri.startswith("data:image/webp;base64,") for uri in album.uris)
