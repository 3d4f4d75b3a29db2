from .preview import Preview as Preview
from .preview import preview as preview
from .rereading import Reread as Reread
from .rereading import reread as reread
from .run import Result as Result
from .run import Run as Run
from .start import evaluate as evaluate
from .trials import Spent as Spent
