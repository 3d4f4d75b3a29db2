from .dry_run import Preview as Preview
from .dry_run import preview as preview
from .evaluation import evaluate as evaluate
from .replay import Reread as Reread
from .replay import reread as reread
from .run import Result as Result
from .run import Run as Run
from .trials import Spent as Spent
