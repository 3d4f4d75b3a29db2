"""The metrics that have a name. A new one is one module and one entry here."""

from __future__ import annotations

from typing import Any

from fechner.observers.entry import Entry, Family

_HERE = "fechner.observers.metrics"


def _published(**settings: Any) -> dict[str, Any]:
    """Return what the numbers of Hammou et al. (2025) were made with."""
    return {"published": {"metrics": settings}}


#: Hammou et al. (2025) ran metrics of other people's packages in float32.
_IN_FLOAT32 = {"metrics": {"precision": "float32"}}


def _own(name: str, summary: str, maker: str, reference: str | None = None, **more: Any) -> Entry:
    """Return the entry of a metric of our own."""
    make, declared = f"{_HERE}.own:{maker}", f"{_HERE}.own:ABOUT"
    return Entry(name, summary, "compares", make, reference, declared=declared, **more)


METRICS: tuple[Entry | Family, ...] = (
    _own("psnr-y", "peak signal-to-noise ratio of luma", "psnr_y"),
    _own("ssim", "structural similarity of luma", "ssim", "wang2004"),
    _own(
        "ms-ssim",
        "structural similarity of luma at five scales",
        "ms_ssim",
        "wang2003",
        **_published(odd="black", levels=255),
    ),
    _own("nlpd", "normalised Laplacian pyramid distance of luma", "nlpd", "laparra2016"),
    _own(
        "ciede2000",
        "mean CIEDE2000 colour difference",
        "ciede2000",
        **_published(conversion="published"),
    ),
    _own(
        "hyab",
        "mean HyAB colour difference",
        "hyab_difference",
        **_published(conversion="published"),
    ),
    _own(
        "ictcp",
        "mean colour difference in ICtCp (Delta E ITP)",
        "ictcp_difference",
        "itu2019_bt2124",
        # They took half the square of Ct for the square of its half.
        **_published(tritan=0.5**0.5),
    ),
    _own(
        "scielab",
        "CIELAB differences after the eye's blur",
        "scielab",
        "zhang_wandell1997",
        **_published(version="code", relative=True),
    ),
    _own(
        "speed-qa",
        "difference of spatial and temporal information",
        "speed_qa",
        "bampis2017",
        **_published(precision="float32", pairs="last"),
    ),
    Entry(
        "cvvdp",
        "ColorVideoVDP, a metric that models human vision",
        "compares",
        f"{_HERE}.cvvdp:make",
        reference="mantiuk2024_cvvdp",
        needs=("pycvvdp", "torchvision"),
        extra="cvvdp",
        # Cai et al. (2025) ran it at the geometry of its 4K display whatever was shown.
        published={"encoders": {"geometry": "standard_4k"}},
        declared=f"{_HERE}.cvvdp:ABOUT",
        tour=True,
    ),
    Family(
        "piq/NAME",
        "metrics of piq without weights, such as gmsd, fsim, vsi, vif",
        f"{_HERE}.piq:load",
        "piq/gmsd",
        needs=("piq", "torchvision"),
        extra="piq",
        prefix="piq/",
        published=_IN_FLOAT32,
        ability="compares",
        declared=f"{_HERE}.piq:ABOUT",
    ),
    Entry(
        "flip",
        "FLIP, differences seen when two pictures alternate",
        "compares",
        f"{_HERE}.flip:make",
        reference="andersson2020",
        needs=("flip_evaluator",),
        extra="flip",
        declared=f"{_HERE}.flip:ABOUT",
    ),
    Family(
        "lpips/NETWORK",
        "LPIPS, distance of activations of alex, squeeze or vgg",
        f"{_HERE}.lpips:load",
        "lpips/alex",
        needs=("lpips", "torchvision"),
        extra="lpips",
        prefix="lpips/",
        published=_IN_FLOAT32,
        ability="compares",
        declared=f"{_HERE}.lpips:ABOUT",
    ),
    Family(
        "st-lpips/NETWORK",
        "ST-LPIPS, tolerant of small shifts, of alex or vgg",
        f"{_HERE}.st_lpips:load",
        "st-lpips/alex",
        needs=("stlpips_pytorch", "IPython", "torchsummary", "torchvision"),
        extra="st-lpips",
        prefix="st-lpips/",
        published=_IN_FLOAT32,
        ability="compares",
        declared=f"{_HERE}.st_lpips:ABOUT",
    ),
    Entry(
        "dists",
        "DISTS, structure and texture in activations of VGG16",
        "compares",
        f"{_HERE}.dists:make",
        reference="ding2022",
        needs=("DISTS_pytorch", "torchvision"),
        extra="dists",
        published=_IN_FLOAT32,
        declared=f"{_HERE}.dists:ABOUT",
    ),
    Family(
        "pyiqa/NAME",
        "full-reference metrics of pyiqa (non-commercial licence)",
        f"{_HERE}.pyiqa:load",
        "pyiqa/topiq_fr",
        needs=("pyiqa", "torchvision"),
        extra="pyiqa",
        prefix="pyiqa/",
        published=_IN_FLOAT32,
        ability="compares",
        declared=f"{_HERE}.pyiqa:ABOUT",
    ),
    Entry(
        "fvvdp",
        "FovVideoVDP, a metric that models human vision (non-commercial licence)",
        "compares",
        f"{_HERE}.fvvdp:make",
        reference="mantiuk2021_fvvdp",
        needs=("pyfvvdp",),
        extra="fvvdp",
        declared=f"{_HERE}.fvvdp:ABOUT",
    ),
    Entry(
        "vmaf",
        "VMAF v0.6.1, a fusion of metrics made for streamed video",
        "compares",
        f"{_HERE}.vmaf:make",
        reference="li2018",
        needs=("vmaf_torch",),
        extra="vmaf",
        # Hammou et al. (2025) fed the original with 16 bits of luma by the weights of BT.2020.
        **_published(engine="libvmaf", matrix="bt2020", scores_in="float32"),
        declared=f"{_HERE}.vmaf:ABOUT",
    ),
    Family(
        "cmd:PROGRAM",
        "your own program, given two files for each pair",
        f"{_HERE}.command:load",
        "cmd:./mymetric {test} {reference}",
        needs=(),
        extra="",
        prefix="cmd:",
        ability="compares",
        operational=("timeout",),
    ),
)
