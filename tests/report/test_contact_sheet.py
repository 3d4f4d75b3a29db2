"""A contact sheet holds the tiles themselves."""

from dataclasses import replace

import numpy as np

from fechner.experiments import NearThreshold
from fechner.report.contact_sheet import contact_sheet
from fechner.report.tiles import tile_rows
from fechner.suites import suite

TESTS = {test.id: test.experiment for test in suite("metrics").build()}


def test_tiles_stand_in_rows_and_columns() -> None:
    wide = TESTS["area"]
    assert isinstance(wide, NearThreshold)
    field = replace(wide.scene.field, width_px=600, height_px=300, ppd=30.0)
    wide = replace(wide, scene=replace(wide.scene, field=field))
    flicker = TESTS["flicker"]
    assert isinstance(flicker, NearThreshold)
    field = replace(flicker.scene.field, width_px=64, height_px=48, ppd=12.0)
    flicker = replace(flicker, scene=replace(flicker.scene, field=field))
    sheet = contact_sheet([wide, flicker])
    pixels = np.asarray(sheet)
    blocks = [tile_rows(experiment) for experiment in (wide, flicker)]
    assert blocks[0][0].shape[1:3] == (150, 300)
    assert pixels.shape[1] == 6 * (300 + 4) + 2 * 16 + 64
    top = 16
    for rows in blocks:
        top += 46
        for tiles in rows:
            height, width = tiles.shape[1:3]
            for number, tile in enumerate(tiles):
                left = 16 + 64 + number * (width + 4)
                found = pixels[top : top + height, left : left + width]
                np.testing.assert_array_equal(found, tile)
            top += height + 4
        top += 34
    assert pixels.shape[0] == top + 16
