"""The metrics that have a name. A new one is one module and one entry here."""

from __future__ import annotations

from typing import Any

from fechner.observers.entry import Entry, Family

#: Hammou et al. (2025) ran metrics of other people's packages in float32.
_IN_FLOAT32 = {"metrics": {"precision": "float32"}}


def _metric(
    name: str, summary: str, make: str, reference: str | None = None, *, about: str, **more: Any
) -> Entry:
    """Return the entry of a metric; what it declares stands in the module that makes it."""
    make = f"fechner.observers.metrics.{make}"
    declared = f"{make.partition(':')[0]}:{about}"
    return Entry(name, summary, "compares", make, reference, declared=declared, **more)


def _own(
    name: str, summary: str, make: str, reference: str | None = None, **published: Any
) -> Entry:
    """Return the entry of a metric of our own, with what Hammou et al. (2025) set."""
    settings = {"metrics": published} if published else {}
    return _metric(name, summary, make, reference, about="ABOUT", published=settings)


def _package(
    label: str,
    summary: str,
    load: str,
    example: str,
    needs: tuple[str, ...],
    extra: str,
    about: str,
) -> Family:
    """Return the entry of all metrics of a package that are named alike."""
    load = f"fechner.observers.metrics.{load}"
    return Family(
        label,
        summary,
        load,
        example,
        needs=(*needs, "torchvision"),
        extra=extra,
        prefix=label.partition("/")[0] + "/",
        published=_IN_FLOAT32,
        ability="compares",
        declared=f"{load.partition(':')[0]}:{about}",
    )


METRICS: tuple[Entry | Family, ...] = (
    _own("psnr-y", "peak signal-to-noise ratio of luma", "grey:psnr_y"),
    _own("ssim", "structural similarity of luma", "grey:ssim", "wang2004"),
    _own(
        "ms-ssim",
        "structural similarity of luma at five scales",
        "grey:ms_ssim",
        "wang2003",
        odd="black",
        levels=255,
    ),
    _own("nlpd", "normalised Laplacian pyramid distance of luma", "grey:nlpd", "laparra2016"),
    _own(
        "ciede2000", "mean CIEDE2000 colour difference", "colour:ciede2000", conversion="published"
    ),
    _own("hyab", "mean HyAB colour difference", "colour:hyab_difference", conversion="published"),
    _own(
        "ictcp",
        "mean colour difference in ICtCp (Delta E ITP)",
        "colour:ictcp_difference",
        "itu2019_bt2124",
        tritan=0.5**0.5,  # they took half the square of Ct for the square of its half
    ),
    _own(
        "scielab",
        "CIELAB differences after the eye's blur",
        "colour:scielab",
        "zhang_wandell1997",
        version="code",
        relative=True,
    ),
    _own(
        "speed-qa",
        "difference of spatial and temporal information",
        "speed_qa:make",
        "bampis2017",
        precision="float32",
        pairs="last",
    ),
    _metric(
        "cvvdp",
        "ColorVideoVDP, a metric that models human vision",
        "vdp:ColorVideoVDP",
        "mantiuk2024_cvvdp",
        about="ABOUT",
        needs=("pycvvdp", "torchvision"),
        extra="cvvdp",
        # Cai et al. (2025) ran it at the geometry of its 4K display whatever was shown.
        published={"encoders": {"geometry": "standard_4k"}},
        tour=True,
    ),
    _package(
        "piq/NAME",
        "metrics of piq without weights, such as gmsd, fsim, vsi, vif",
        "packages:load_piq",
        "piq/gmsd",
        ("piq",),
        "piq",
        "PIQ",
    ),
    _metric(
        "flip",
        "FLIP, differences seen when two pictures alternate",
        "packages:make_flip",
        "andersson2020",
        about="FLIP",
        needs=("flip_evaluator",),
        extra="flip",
    ),
    _package(
        "lpips/NETWORK",
        "LPIPS, distance of activations of alex, squeeze or vgg",
        "deep:load_lpips",
        "lpips/alex",
        ("lpips",),
        "lpips",
        "LPIPS",
    ),
    _package(
        "st-lpips/NETWORK",
        "ST-LPIPS, tolerant of small shifts, of alex or vgg",
        "deep:load_st_lpips",
        "st-lpips/alex",
        ("stlpips_pytorch", "IPython", "torchsummary"),
        "st-lpips",
        "ST_LPIPS",
    ),
    _metric(
        "dists",
        "DISTS, structure and texture in activations of VGG16",
        "deep:make_dists",
        "ding2022",
        about="DISTS",
        needs=("DISTS_pytorch", "torchvision"),
        extra="dists",
        published=_IN_FLOAT32,
    ),
    _package(
        "pyiqa/NAME",
        "full-reference metrics of pyiqa (non-commercial licence)",
        "packages:load_pyiqa",
        "pyiqa/topiq_fr",
        ("pyiqa",),
        "pyiqa",
        "PYIQA",
    ),
    _metric(
        "fvvdp",
        "FovVideoVDP, a metric that models human vision (non-commercial licence)",
        "vdp:FovVideoVDP",
        "mantiuk2021_fvvdp",
        about="ABOUT",
        needs=("pyfvvdp",),
        extra="fvvdp",
    ),
    _metric(
        "vmaf",
        "VMAF v0.6.1, a fusion of metrics made for streamed video",
        "vmaf:make",
        "li2018",
        about="ABOUT",
        needs=("vmaf_torch",),
        extra="vmaf",
        # Hammou et al. (2025) fed the original with 16 bits of luma by the weights of BT.2020.
        published={"metrics": {"engine": "libvmaf", "matrix": "bt2020", "scores_in": "float32"}},
    ),
    Family(
        "cmd:PROGRAM",
        "your own program, given two files for each pair",
        "fechner.observers.metrics.command:load",
        "cmd:./mymetric {test} {reference}",
        needs=(),
        extra="",
        prefix="cmd:",
        ability="compares",
        operational=("timeout",),
    ),
)
