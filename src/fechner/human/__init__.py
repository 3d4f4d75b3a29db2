"""What people see: contrast sensitivity models as functions, data sets with their source."""

from fechner.human.castle import (
    GREY_LMS_PER_CDM2,
    LMS_TO_MECHANISMS,
    castle_csf,
    castle_csf_disc,
    castle_threshold_amplitude,
)
from fechner.human.datasets import DATASETS, HUMAN, HumanData, HumanEntry, HumanTable, load
from fechner.human.elatcsf import (
    critical_flicker_frequency,
    elatcsf_disc,
    elatcsf_rectangle,
)
from fechner.human.matching import colour_matching_ratios
from fechner.human.modelfest import MODELFEST_FIELD, modelfest_patterns
from fechner.human.spatial_observer import (
    APERTURE_SD_DEG,
    POOLING_EXPONENT,
    chromatic_rg_csf,
    chromatic_yb_csf,
    oblique_effect,
    standard_spatial_observer,
    watson_ahumada_csf,
)
from fechner.human.units import convert_sensitivity

__all__ = [
    "APERTURE_SD_DEG",
    "DATASETS",
    "GREY_LMS_PER_CDM2",
    "HUMAN",
    "LMS_TO_MECHANISMS",
    "MODELFEST_FIELD",
    "POOLING_EXPONENT",
    "HumanData",
    "HumanEntry",
    "HumanTable",
    "castle_csf",
    "castle_csf_disc",
    "castle_threshold_amplitude",
    "chromatic_rg_csf",
    "chromatic_yb_csf",
    "colour_matching_ratios",
    "convert_sensitivity",
    "critical_flicker_frequency",
    "elatcsf_disc",
    "elatcsf_rectangle",
    "load",
    "modelfest_patterns",
    "oblique_effect",
    "standard_spatial_observer",
    "watson_ahumada_csf",
]
