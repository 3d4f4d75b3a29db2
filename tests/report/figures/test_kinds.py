"""Figures of runs: what is shown of which observers, and what is said when it is not there."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from printed import check_legible, legends, size_mm, words

import fechner.cli.figure
import fechner.scores
from fechner import Run, evaluate
from fechner.errors import FechnerError, UnknownNameError
from fechner.report.comparing.comparison import compare
from fechner.report.figures import KINDS as ALWAYS
from fechner.report.figures import PANELS, figure, save
from fechner.report.figures.style import HEIGHT_MM
from fechner.suites import preset

SURFACE, MATCHING = "masking-coherent", "matching-frequency"
KINDS = [
    (SURFACE, "surface"),
    (SURFACE, "responses"),
    (MATCHING, "matches"),
    (None, "scores"),
    (None, "layers"),
    (MATCHING, "stimuli"),
    (MATCHING, "readouts"),
]
VIT = "timm/vit_small_patch16_224.dino"


def renamed(run: Run, folder: Path, names: list[str]) -> Run:
    """Return a copy of a run in which its observers have other names, again and again."""
    shutil.copytree(run.folder, folder)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    known = list(manifest["observers"].values())
    manifest["observers"] = {name: known[k % len(known)] for k, name in enumerate(names)}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return Run(folder)


# Every kind, in every format


@pytest.mark.parametrize(("test", "kind"), KINDS)
def test_every_kind_is_legible_written_in_every_format_and_the_same_again(
    shown_run: Run, test: str | None, kind: str, tmp_path: Path
) -> None:
    drawn = figure(shown_run, test, kind, columns=1, dpi=60)
    check_legible(drawn)
    width, height = size_mm(drawn)
    assert width == pytest.approx(85, abs=0.01)
    assert 20 < height <= HEIGHT_MM + 1e-6
    again = figure(shown_run.folder, test, kind, columns=1, dpi=60)
    save(again, tmp_path / "again.svg")
    for suffix, start in (("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")):
        content = save(drawn, tmp_path / f"figure.{suffix}").read_bytes()
        assert content.startswith(start)
        if suffix == "svg":
            assert (tmp_path / "again.svg").read_bytes() == content
        if suffix == "pdf":
            assert b"/FontFile2" in content
            assert b"/Type3" not in content


@pytest.mark.parametrize(("test", "kind"), KINDS[::2])
def test_kinds_over_two_columns(shown_run: Run, test: str | None, kind: str) -> None:
    drawn = figure(shown_run, test, kind, dpi=60)
    check_legible(drawn)
    assert size_mm(drawn)[0] == pytest.approx(178, abs=0.01)


def test_defaults_are_all_scores_and_the_first_panel(shown_run: Run) -> None:
    assert {SURFACE, MATCHING} <= set(words(figure(shown_run, dpi=80)))
    assert "observer, at its criterion (number above)" in words(figure(shown_run, SURFACE, dpi=80))
    assert "matched contrast (Michelson)" in words(figure(shown_run, MATCHING, dpi=80))


# What panels show


def test_panels_hold_the_answers_of_the_layer_and_readout_asked_for(shown_run: Run) -> None:
    layer = str(shown_run.data("network", SURFACE)["layer"].values[0])
    drawn = figure(
        shown_run, SURFACE, "responses", observers=["network"], layer=layer, readout="l2"
    )
    axes = drawn.axes[0]
    data = shown_run.data("network", SURFACE).sel(layer=layer, readout="l2")
    kept = data["dropped"].values == 0
    (points,) = axes.collections
    np.testing.assert_allclose(
        np.sort(points.get_offsets()[:, 1]), np.sort(data["response"].values[kept])
    )
    assert f"network l2 at {layer}" in words(drawn)


def test_observers_with_one_place_are_shown_with_it(shown_run: Run) -> None:
    layer = str(shown_run.data("network", SURFACE)["layer"].values[0])
    drawn = figure(shown_run, SURFACE, observers=["pixels", "network"], layer=layer, dpi=80)
    assert "pixels angle" in words(drawn)
    assert f"network angle at {layer}" in words(drawn)


def test_observers_stand_in_the_order_asked_for(shown_run: Run) -> None:
    drawn = figure(shown_run, MATCHING, observers=["network", "pixels"], dpi=80)
    titles = [text for text in words(drawn) if text.endswith(" angle")]
    assert titles == ["network angle", "pixels angle"]
    first, second = (axes.lines[1].get_ydata() for axes in drawn.axes)
    assert not np.array_equal(first, second)


def test_one_observer(shown_run: Run) -> None:
    for columns in (1, 2):
        check_legible(figure(shown_run, SURFACE, observers=["pixels"], columns=columns, dpi=80))


# Scores


def test_all_scores_are_those_of_the_table(shown_run: Run) -> None:
    drawn = figure(shown_run, readout="l2", dpi=80)
    results = [r for r in shown_run.scores() if r.main and r.last and r.score.readout == "l2"]
    for axes, test in zip(drawn.axes, (SURFACE, MATCHING), strict=True):
        dots = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 1]
        assert dots == [result.score.value for result in results if result.test == test]
    assert len(figure(shown_run, SURFACE, "scores", dpi=80).axes) == 1


def test_every_readout_has_a_row_unless_one_is_chosen(shown_run: Run) -> None:
    labels = [text.get_text() for text in figure(shown_run, dpi=80).axes[0].get_yticklabels()]
    assert labels == [
        f"{name} {by}" for name in ("pixels", "network", VIT) for by in ("angle", "l2")
    ]


def test_families_of_published_tables_are_known(shown_run: Run, tmp_path: Path) -> None:
    table = preset("cai2025")
    names = [row.observer for row in (table[0], *table[8:12])]
    drawn = figure(renamed(shown_run, tmp_path / "run", [*names, "mine"]), readout="angle", dpi=60)
    check_legible(drawn)
    labels = {text.get_text(): text.get_fontstyle() for text in drawn.axes[0].get_yticklabels()}
    headings = [label for label, style in labels.items() if style == "italic"]
    assert headings == ["No Encoder", "DINO", "DINOv2", "others"]
    assert len(labels) == 6 + len(headings)


def test_odd_runs_are_drawn_with_what_is_missing(odd_run: Run) -> None:
    unscored = [r for r in odd_run.scores() if r.main and math.isnan(r.score.value)]
    assert {result.test for result in unscored} == {"area", MATCHING}
    drawn = figure(odd_run, columns=1, dpi=60)
    check_legible(drawn)
    assert words(drawn).count("n/a") == len(unscored)
    assert words(drawn).count("–") == 1  # the one that is afraid
    matches = figure(odd_run, MATCHING, dpi=60)
    check_legible(matches)
    assert words(matches).count("not measured") == 1


# Layers


def test_layers_have_a_line_for_every_observer_and_readout(shown_run: Run) -> None:
    drawn = figure(shown_run, kind="layers", dpi=80)
    assert len(drawn.axes) == 2
    names = [f"{name} {by}" for name in ("network", VIT) for by in ("angle", "l2")]
    assert [text.get_text() for text in legends(drawn)[0].get_texts()] == [
        *names,
        "perfectly human",
        "chance",
    ]
    results = {
        (r.observer, r.score.readout, r.score.layer): r.score
        for r in shown_run.scores()
        if r.main and r.test == SURFACE
    }
    lines, guides = drawn.axes[0].lines[:4], drawn.axes[0].lines[4:]
    own = [
        score.value for (name, by, _), score in results.items() if (name, by) == ("network", "l2")
    ]
    np.testing.assert_array_equal(lines[1].get_ydata(), own)
    chance = next(iter(results.values())).chance
    assert [guide.get_ydata()[0] for guide in guides] == [1.0, chance]
    assert len(drawn.axes[0].collections) == 4  # bands
    assert len({line.get_color() for line in lines}) == 4


def test_layers_by_one_readout(shown_run: Run) -> None:
    drawn = figure(shown_run, SURFACE, "layers", readout="l2", dpi=80)
    assert [len(axes.lines) for axes in drawn.axes] == [2 + 2]


# Many observers


def test_read_outs_are_heat_maps_of_the_scores(shown_run: Run) -> None:
    drawn = figure(shown_run, kind="readouts", dpi=80)
    maps = [axes for axes in drawn.axes if axes.get_xlabel() or axes.axison]
    assert len(maps) == 4  # two tests of two observers that have layers
    (mesh,) = figure(shown_run, MATCHING, "readouts", observers=["network"]).axes[0].collections
    by_place = {
        (result.score.readout, result.score.layer): result.score.value
        for result in shown_run.assess()[0]
        if (result.observer, result.test, result.main) == ("network", MATCHING, True)
    }
    np.testing.assert_allclose(np.ravel(mesh.get_array()), list(_by_readout(by_place)))


def _by_readout(values: dict[tuple[str, str], float]) -> list[float]:
    readouts = dict.fromkeys(readout for readout, _ in values)
    layers = dict.fromkeys(layer for _, layer in values)
    return [values[readout, layer] for readout in readouts for layer in layers]


def test_read_outs_need_several(odd_run: Run, shown_run: Run) -> None:
    with pytest.raises(FechnerError, match="several layers by several read-outs"):
        figure(odd_run, kind="readouts")
    with pytest.raises(FechnerError, match="leave --layer and --readout out"):
        figure(shown_run, kind="readouts", readout="l2")


def test_thirty_observers_do_not_fit_into_one_column(shown_run: Run, tmp_path: Path) -> None:
    many = renamed(shown_run, tmp_path / "run", [f"net {number}" for number in range(30)])
    with pytest.raises(FechnerError, match=r"choose at most \d+ observers or take two columns"):
        figure(many, SURFACE, "responses", columns=1)


# Several runs


def test_observers_of_another_run_are_added(shown_run: Run, tmp_path: Path) -> None:
    other = renamed(shown_run, tmp_path / "other", ["pixels", "new"])
    drawn = figure([shown_run, other.folder, other], MATCHING, dpi=80)
    assert len(drawn.axes) == 5  # the same folder twice is once
    titles = [text.replace("\n", " ") for text in words(drawn)]
    assert any("(other)" in text for text in titles)
    one = figure([shown_run, other], MATCHING, observers=["pixels (other)", "new"], dpi=80)
    assert len(one.axes) == 2


def test_runs_that_were_asked_other_things_are_not_mixed(shown_run: Run, tmp_path: Path) -> None:
    other = renamed(shown_run, tmp_path / "other", ["pixels"])
    manifest = json.loads((other.folder / "manifest.json").read_text("utf-8"))
    manifest["options"]["ppd"] = 50.0
    (other.folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(FechnerError, match=r"not asked the same questions \(encoders; encoders, "):
        figure([shown_run, other.folder])


def test_runs_that_differ_in_other_tests_are_put_together(tmp_path: Path) -> None:
    """As in comparisons: what a test does not depend on does not keep its answers apart."""
    settings = {"suite": "encoders", "scores_only": True, "threads": 1, "progress": False}
    first, second = (
        evaluate(
            observer,
            tests=[MATCHING, "frequency-noise"],
            seed=seed,
            out=tmp_path / observer,
            **settings,
        )
        for seed, observer in enumerate(["pixels", "standard-observer"])
    )
    drawn = figure([first, second], MATCHING, dpi=80)
    assert len(drawn.axes) == 2
    found = compare(first, second, tests=[MATCHING])
    assert found.warnings == ()
    with pytest.raises(FechnerError, match=r"not asked the same .*\(encoders; encoders, seed 1\)"):
        figure([first, second], "frequency-noise")
    found = compare(first, second, tests=["frequency-noise"])
    assert "Not all were asked the same questions" in found.warnings[0]


def test_all_observers_on_the_same_axes(tmp_path: Path) -> None:
    """Also of runs that asked in different ways, with people's curves once."""
    asked = {"suite": "verbal", "tests": ["detection"], "progress": False}
    runs = [
        evaluate("pixels", out=tmp_path / "a", trials=4, **asked),
        evaluate("pixels", out=tmp_path / "c", adaptive=False, trials=1, **asked),
    ]
    with pytest.raises(FechnerError, match="not asked the same questions"):
        figure(runs, "detection")
    drawn = figure(runs, "detection", together=True, dpi=60)
    check_legible(drawn)
    labels = {word for word in words(drawn) if word.startswith(("pixels", "Standard", "castle"))}
    assert labels == {"pixels (a)", "pixels (c)", "Standard Spatial Observer", "castleCSF"}
    with pytest.raises(UnknownNameError, match=r"there are csf, psychometric functions"):
        figure(runs, "detection", "wordings", together=True)
    with pytest.raises(FechnerError, match="draws one test"):
        figure(runs, together=True, kind="csf")


def test_a_test_that_one_run_does_not_have(shown_run: Run, tmp_path: Path) -> None:
    other = renamed(shown_run, tmp_path / "other", ["one", "two"])
    manifest = json.loads((other.folder / "manifest.json").read_text("utf-8"))
    del manifest["tests"][SURFACE]
    (other.folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    drawn = figure([shown_run, other.folder], SURFACE, dpi=80)
    assert words(drawn).count("not measured") == 2
    scores = figure([shown_run, other.folder], readout="angle", dpi=80)
    assert words(scores).count("–") == 2


# Mistakes


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"test": "masking-coherant"}, "did you mean 'masking-coherent'?"),
        ({"observers": ["pixls"]}, "did you mean 'pixels'?"),
        ({"test": MATCHING, "layer": "outptu"}, "did you mean 'output'?"),
        ({"test": MATCHING, "readout": "angel"}, "did you mean 'angle'?"),
        ({"readout": "angel"}, "did you mean 'angle'?"),
        ({"kind": "layers", "readout": "angel"}, "did you mean 'angle'?"),
        ({"layer": "outptu"}, "did you mean 'output'?"),
        ({"test": SURFACE, "kind": "surfaec"}, "did you mean 'surface'?"),
        ({"kind": "scors"}, "did you mean 'scores'?"),
        ({"kind": "surface"}, "name a test for its own"),
        ({"test": MATCHING, "kind": "curves"}, "take matches: it has matches, scores, layers"),
    ],
)
def test_wrong_names_get_the_nearest_and_what_there_is(
    shown_run: Run, asked: dict, sentence: str
) -> None:
    with pytest.raises(UnknownNameError) as error:
        figure(shown_run, **asked)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"columns": 3}, "1 or 2 columns wide, not 3"),
        ({"dpi": 0}, "50 to 2400 dpi, not 0"),
        ({"kind": "layers", "layer": "output"}, "leave --layer out"),
        ({"kind": "layers", "observers": ["pixels"]}, "no observer was measured at several layers"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(shown_run: Run, asked: dict, sentence: str) -> None:
    with pytest.raises(FechnerError) as error:
        figure(shown_run, **asked)
    assert sentence in str(error.value)


def test_panels_of_all_suites_are_known_by_name() -> None:
    """As their makers name them, and as the help and the guide say."""
    makers = Path(fechner.scores.__file__).parent.glob("*.py")
    source = "".join(path.read_text("utf-8") for path in makers)
    assert all(f'"{kind}"' in source for kind in PANELS)
    help_text = " ".join(str(fechner.cli.figure.figure.__doc__).split())
    guide = (Path(__file__).parents[3] / "docs/howto/figures.md").read_text("utf-8")
    for kind in (*PANELS, *ALWAYS):
        assert kind in help_text
        assert f"`{kind}`" in guide


def test_a_surface_that_was_not_measured(odd_run: Run) -> None:
    with pytest.raises(FechnerError, match=r"'area' was measured: run it without --scores-only"):
        figure(odd_run, "area", "surface")
    with pytest.raises(UnknownNameError) as error:
        figure(odd_run, MATCHING, "surface")
    assert "--scores-only" not in str(error.value)  # it has none anyway


def test_a_test_that_nobody_finished(odd_run: Run) -> None:
    with pytest.raises(FechnerError, match=f"no observer has finished test '{MATCHING}' yet"):
        figure(odd_run, MATCHING, observers=["afraid"])
    with pytest.raises(FechnerError, match="there are no scores yet"):
        figure(odd_run, MATCHING, "scores", observers=["afraid"])


def test_a_png_is_a_picture_of_the_figure(shown_run: Run, tmp_path: Path) -> None:
    drawn = figure(shown_run, SURFACE, columns=1, dpi=100)
    with Image.open(save(drawn, tmp_path / "figure.png")) as picture:
        colours = picture.convert("RGB").getcolors(1 << 24)
        width, height = size_mm(drawn)
        assert picture.size == (int(width / 25.4 * 100), int(height / 25.4 * 100))
    assert colours is not None
    purple = sum(n for n, (r, g, b) in colours if b > 1.3 * g and r < b)
    yellow = sum(n for n, (r, g, b) in colours if min(r, g) > 2 * b)
    assert purple > 1000
    assert yellow > 1000


def test_every_row_of_a_published_table_is_there_once() -> None:
    drawn = figure("@cai2025")
    check_legible(drawn)
    assert [len(axes.patches) for axes in drawn.axes] == [45] * 9
    labels = [text.get_text() for text in drawn.axes[0].get_yticklabels()]
    assert labels[:3] == ["No Encoder", "DINO", "ResNet-50"]
    assert labels.count("ResNet-50, OpenAI") == 1
    (pixels,) = preset("cai2025")[:1]
    widths = [axes.patches[0].get_width() for axes in drawn.axes]
    assert widths == list(pixels.scores.values())


def test_some_rows_of_a_published_table() -> None:
    drawn = figure("@hammou2025", "flicker", observers=["cvvdp", "psnr-y"])
    (axes,) = drawn.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["ColorVideoVDP", "PSNR-Y"]
    assert [text.get_text() for text in axes.texts] == ["–"]  # PSNR sees no flicker
