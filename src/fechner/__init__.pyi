from . import experiments as experiments
from . import human as human
from . import observers as observers
from . import physiology as physiology
from . import psychometrics as psychometrics
from . import report as report
from . import scores as scores
from . import stimuli as stimuli
from . import suites as suites
from .errors import FechnerError as FechnerError
from .observers.abilities import Wants as Wants
from .observers.custom import observe as observe
from .psychometrics.fitting import fit as fit
from .report.comparing.comparison import compare as compare
from .report.figures import figure as figure
from .runs.evaluation import evaluate as evaluate
from .runs.run import Run as Run
from .stimuli.display import Display as Display
from .stimuli.field import Field as Field
from .stimuli.stimulus import Stimulus as Stimulus
from .suites.base import Suite as Suite
from .suites.base import Test as Test

__version__: str
