"""fechner: psychophysics for machine vision.

Show an artificial observer the stimuli that people were shown, ask it the questions that people
were asked, and see how close its answers come.

Examples
--------
>>> import fechner
>>> run = fechner.evaluate("pixels", suite="encoders", tests="area", scores_only=True,
...                        progress=False)
>>> [round(result.score.value, 3) for result in run.scores()]
[0.925]
"""

import lazy_loader

__version__ = "0.2.0"

# Loaded when first used: `import fechner` and the command line answer at once. The file
# `__init__.pyi` beside this one says what there is; those of packages below do the same.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
