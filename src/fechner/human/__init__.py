"""What people see: contrast sensitivity models as functions, data sets with their source."""

from fechner.human.appearance import (
    brightness,
    colour_difference_2000,
    colour_response,
    von_kries_gain,
    whittle_brightness,
)
from fechner.human.castle import (
    GREY_LMS_PER_CDM2,
    LMS_TO_MECHANISMS,
    castle_csf,
    castle_csf_disc,
    castle_threshold_amplitude,
)
from fechner.human.contrast_response import (
    contrast_increment,
    contrast_response,
    threshold_elevation,
)
from fechner.human.datasets import DATASETS, HUMAN, HumanData, HumanEntry, HumanTable, load
from fechner.human.elatcsf import (
    critical_flicker_frequency,
    elatcsf_disc,
    elatcsf_rectangle,
)
from fechner.human.masking import foley_response, foley_threshold
from fechner.human.matching import colour_matching_ratios, kulikowski_match
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
from fechner.human.spectral import (
    SpectralFields,
    colour_matching,
    jameson_hurvich,
    spectral_fields,
)
from fechner.human.threshold_files import read_thresholds
from fechner.human.thresholds import (
    CSF_ERROR_DB,
    CastleCSF,
    ElaTCSF,
    HumanReference,
    MeasuredThresholds,
    StandardSpatialObserver,
    Target,
    masking_thresholds,
    tabulated_thresholds,
)
from fechner.human.trials import HumanTrial, HumanTrials, read_trials
from fechner.human.units import convert_sensitivity, mullen_contrast

__all__ = [
    "APERTURE_SD_DEG",
    "CSF_ERROR_DB",
    "DATASETS",
    "GREY_LMS_PER_CDM2",
    "HUMAN",
    "LMS_TO_MECHANISMS",
    "MODELFEST_FIELD",
    "POOLING_EXPONENT",
    "CastleCSF",
    "ElaTCSF",
    "HumanData",
    "HumanEntry",
    "HumanReference",
    "HumanTable",
    "HumanTrial",
    "HumanTrials",
    "MeasuredThresholds",
    "SpectralFields",
    "StandardSpatialObserver",
    "Target",
    "brightness",
    "castle_csf",
    "castle_csf_disc",
    "castle_threshold_amplitude",
    "chromatic_rg_csf",
    "chromatic_yb_csf",
    "colour_difference_2000",
    "colour_matching",
    "colour_matching_ratios",
    "colour_response",
    "contrast_increment",
    "contrast_response",
    "convert_sensitivity",
    "critical_flicker_frequency",
    "elatcsf_disc",
    "elatcsf_rectangle",
    "foley_response",
    "foley_threshold",
    "jameson_hurvich",
    "kulikowski_match",
    "load",
    "masking_thresholds",
    "modelfest_patterns",
    "mullen_contrast",
    "oblique_effect",
    "read_thresholds",
    "read_trials",
    "spectral_fields",
    "standard_spatial_observer",
    "tabulated_thresholds",
    "threshold_elevation",
    "von_kries_gain",
    "watson_ahumada_csf",
    "whittle_brightness",
]
